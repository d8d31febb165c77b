//! Local commands as tools: how they are typed, what is offered to the model, and one call of one of them. It must not know streams.

use std::time::Instant;

use indexmap::IndexMap;
use tokio::sync::mpsc::UnboundedSender;

use super::super::chat;
use super::super::failure::Failure;
use super::super::request::{pair, pairs};
use super::shell;
use crate::grpc::pb;

/// The schema of a tool that nobody described.
const ANY_ARGUMENTS: &str = r#"{"type":"object"}"#;

/// Options of commands that run tools.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Tools")]
pub(crate) struct ToolOptions {
    /// A command that is the tool NAME: the arguments are JSON on its input, its output is the result. May be given again; --tools
    /// FILE describes the tools, and one that it does not describe takes any arguments
    #[arg(long = "tool", value_name = "NAME=COMMAND", value_parser = pair, conflicts_with = "no_tools")]
    commands: Vec<String>,
}

/// Commands by the names of the tools that they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tools {
    commands: IndexMap<String, String>,
}

/// A call that is done.
#[derive(Debug)]
pub(crate) struct Called {
    /// What the model is told.
    pub(crate) result: pb::ToolResult,
    /// The same, for people.
    pub(crate) text: String,
    /// The tool.
    pub(crate) name: String,
    /// When it was begun.
    pub(crate) begun: Instant,
    /// Ctrl-C ended it.
    pub(crate) interrupted: bool,
}

impl ToolOptions {
    /// The tools, none of them twice.
    pub(crate) fn build(&self) -> Result<Tools, Failure> {
        Ok(Tools { commands: pairs(&self.commands, "--tool")? })
    }
}

impl Tools {
    /// Offers them in a request, besides what it offers already.
    pub(crate) fn offer(&self, request: &mut pb::ExecutionRequest) {
        if self.commands.is_empty() {
            return;
        }
        let offered = &mut request.tools.get_or_insert_default().tools;
        for name in self.commands.keys() {
            if !offered.iter().any(|tool| tool.name == *name) {
                let input_schema_json = ANY_ARGUMENTS.to_owned();
                offered.push(pb::Tool { name: name.clone(), input_schema_json, ..pb::Tool::default() });
            }
        }
    }

    /// There is a command for this tool.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.commands.contains_key(name)
    }

    /// Makes a call. Whatever goes wrong is a result that says so.
    pub(crate) fn call(
        &self,
        call: pb::ToolCall,
        mut variables: Vec<(&'static str, String)>,
        errors: UnboundedSender<String>,
    ) -> impl Future<Output = Called> + 'static {
        let command = self.commands.get(&call.name).cloned();
        variables.push(("ANTIPHON_TOOL", call.name.clone()));
        variables.push(("ANTIPHON_CALL_ID", call.call_id.clone()));
        async move {
            let begun = Instant::now();
            let (text, is_error, interrupted) = match command {
                None => (format!("there is no command for the tool `{}` here", call.name), true, false),
                Some(command) => match shell::run(&command, &variables, call.arguments_json, errors).await {
                    Err(error) => (format!("the command could not be run: {error}"), true, false),
                    Ok(said) if said.succeeded() => (said.out, false, false),
                    Ok(said) => {
                        let told = [said.out.as_str(), said.errors.as_str()].into_iter().find(|text| !text.is_empty());
                        let text = told.map_or_else(|| said.ending(), str::to_owned);
                        (text, true, said.interrupted)
                    }
                },
            };
            let result = pb::ToolResult { is_error, ..chat::result(call.call_id, text.clone()) };
            Called { result, text, name: call.name, begun, interrupted }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn called(command: &str, name: &str) -> (String, bool) {
        let options = ToolOptions { commands: vec![format!("look={command}")] };
        let (errors, _kept) = tokio::sync::mpsc::unbounded_channel();
        let call = pb::ToolCall {
            call_id: "c".into(),
            name: name.into(),
            arguments_json: r#"{"a":1}"#.into(),
            ..Default::default()
        };
        let done = options.build().unwrap().call(call, Vec::new(), errors).await;
        assert_eq!(done.result.call_id, "c");
        (done.text, done.result.is_error)
    }

    #[tokio::test]
    async fn a_failing_or_unknown_tool_is_an_error_result() {
        assert_eq!(called("cat; echo; echo $ANTIPHON_TOOL", "look").await, ("{\"a\":1}\nlook".to_owned(), false));
        assert_eq!(called("echo aside >&2; echo why; exit 1", "look").await, ("why".to_owned(), true));
        assert_eq!(called("echo why >&2; exit 1", "look").await, ("why".to_owned(), true));
        assert_eq!(called("exit 4", "look").await, ("its exit code is 4".to_owned(), true));
        assert!(called("true", "other").await.0.contains("no command for the tool `other`"));
    }

    #[test]
    fn what_a_file_describes_is_not_described_again() {
        let tools = ToolOptions { commands: vec!["a=x".into(), "b=y".into()] }.build().unwrap();
        let described = pb::Tool { name: "b".into(), description: "d".into(), ..Default::default() };
        let mut request =
            pb::ExecutionRequest { tools: Some(pb::ToolList { tools: vec![described.clone()] }), ..Default::default() };
        tools.offer(&mut request);
        let offered = request.tools.unwrap().tools;
        assert_eq!(offered[0], described);
        assert_eq!((offered[1].name.as_str(), offered[1].input_schema_json.as_str()), ("a", ANY_ARGUMENTS));
        let mut none = pb::ExecutionRequest::default();
        Tools::default().offer(&mut none);
        assert_eq!(none, pb::ExecutionRequest::default(), "what stands is left as it is");
        assert!(tools.has("a") && !tools.has("c"));
    }
}
