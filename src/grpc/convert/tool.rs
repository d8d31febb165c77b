//! Tools, lists of them and how freely they are called. It must not compile a schema: whether one is of use, the engine decides.

use std::collections::BTreeMap;

use super::message::all;
use super::problem::{self, filled};
use super::{Path, Problems, json};
use crate::domain::id::Hash;
use crate::domain::json::depth;
use crate::domain::settings::ToolChoice;
use crate::domain::tool::{Tool, ToolSet};
use crate::grpc::pb;

/// A list of tools; an empty one is not the same as none.
pub fn list_from_pb(list: pb::ToolList, at: &Path<'_>, problems: &mut Problems) -> Option<ToolSet> {
    let at = &at.field("tools");
    let most = problems.bounds().tools;
    if let Some(what) = ToolSet::too_many(list.tools.len(), most) {
        problems.beyond(most.beyond(list.tools.len()));
        problems.add(at, what);
        return None;
    }
    let names: Vec<String> = list.tools.iter().map(|tool| tool.name.clone()).collect();
    let tools = all(list.tools, at, problems, from_pb);
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    let mut distinct = true;
    for (index, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
        let before = *first.entry(name).or_insert(index);
        if before != index {
            problems.add(&at.index(index).field("name"), format!("is the name of tool {before} of the list too"));
            distinct = false;
        }
    }
    tools.filter(|_| distinct).map(|tools| ToolSet { tools })
}

/// A list of tools that may be absent.
pub fn optional_list_from_pb(
    list: Option<pb::ToolList>,
    at: &Path<'_>,
    problems: &mut Problems,
) -> Option<Option<ToolSet>> {
    match list {
        None => Some(None),
        Some(list) => list_from_pb(list, at, problems).map(Some),
    }
}

fn from_pb(tool: pb::Tool, at: &Path<'_>, problems: &mut Problems) -> Option<Tool> {
    let tool = Tool {
        name: tool.name,
        description: tool.description,
        input_schema_json: tool.input_schema_json,
        side_effects: tool.side_effects,
        requires_human: tool.requires_human,
    };
    let bounds = problems.bounds();
    let wrong = tool.problems(&bounds);
    let mut good = wrong.is_empty();
    for (field, what) in wrong {
        problems.add(&at.field(field), what);
    }
    let beyond = bounds.tool_schema.beyond(tool.input_schema_json.len());
    problems.beyond(beyond);
    // One that is too long is not read.
    if beyond.is_none() {
        good &= is_schema(&tool.input_schema_json, &at.field("input_schema_json"), problems);
    }
    good.then_some(tool)
}

/// Whether a text can be a tool's schema: JSON, an object, not too deep.
fn is_schema(text: &str, at: &Path<'_>, problems: &mut Problems) -> bool {
    if text.is_empty() {
        problems.add(at, "must not be empty: {\"type\":\"object\"} when there are no arguments");
        return false;
    }
    let most = problems.bounds().schema_levels;
    let why = match json::kind(text, most.max) {
        Ok(json::Kind::Object) => return true,
        Ok(json::Kind::Array | json::Kind::Scalar) => "must be a JSON object, such as {\"type\":\"object\"}".to_owned(),
        Err(why) => why,
    };
    problems.beyond(most.beyond(depth(text)));
    problems.schema(at, why);
    false
}

/// How freely tools may be called.
pub fn choice_from_pb(choice: pb::ToolChoice, at: &Path<'_>, problems: &mut Problems) -> Option<ToolChoice> {
    match problem::required(choice.choice, "`auto`, `none`, `required` or `named`", at, problems)? {
        pb::tool_choice::Choice::Auto(pb::ToolChoiceAuto {}) => Some(ToolChoice::Auto),
        pb::tool_choice::Choice::None(pb::ToolChoiceNone {}) => Some(ToolChoice::None),
        pb::tool_choice::Choice::Required(pb::ToolChoiceRequired {}) => Some(ToolChoice::Required),
        pb::tool_choice::Choice::Named(named) => {
            filled(named.name, &at.field("named").field("name"), problems).map(ToolChoice::Named)
        }
    }
}

/// How freely tools may be called, in an answer; absent leaves it to the model.
pub fn choice_to_pb(choice: ToolChoice) -> Option<pb::ToolChoice> {
    let choice = match choice {
        ToolChoice::Auto => return None,
        ToolChoice::None => pb::tool_choice::Choice::None(pb::ToolChoiceNone {}),
        ToolChoice::Required => pb::tool_choice::Choice::Required(pb::ToolChoiceRequired {}),
        ToolChoice::Named(name) => pb::tool_choice::Choice::Named(pb::ToolChoiceNamed { name }),
    };
    Some(pb::ToolChoice { choice: Some(choice) })
}

/// A tool in an answer.
pub fn to_pb(tool: Tool) -> pb::Tool {
    pb::Tool {
        schema_hash: tool.schema_hash().to_string(),
        name: tool.name,
        description: tool.description,
        input_schema_json: tool.input_schema_json,
        side_effects: tool.side_effects,
        requires_human: tool.requires_human,
    }
}

/// A list of tools in an answer.
pub fn list_to_pb(set: ToolSet) -> pb::ToolList {
    pb::ToolList { tools: set.tools.into_iter().map(to_pb).collect() }
}

/// A set of tools in an answer.
pub fn set_to_pb(set: ToolSet) -> pb::ToolSet {
    pb::ToolSet {
        tool_set_id: set.hash().as_ref().map(Hash::to_string).unwrap_or_default(),
        tools: set.tools.into_iter().map(to_pb).collect(),
    }
}

/// What a call offered and what stands after it.
pub fn use_to_pb(offered: ToolSet, standing: ToolSet) -> pb::ToolUse {
    pb::ToolUse { offered: Some(set_to_pb(offered)), standing: Some(set_to_pb(standing)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fault::{Fault, Reason};
    use crate::domain::tool::MAX_DESCRIPTION;
    use crate::grpc::convert::problem::whole;

    fn tool(name: &str, schema: &str) -> pb::Tool {
        pb::Tool { name: name.to_owned(), input_schema_json: schema.to_owned(), ..pb::Tool::default() }
    }

    fn read(tools: Vec<pb::Tool>) -> Result<ToolSet, Fault> {
        whole(|at, problems| list_from_pb(pb::ToolList { tools }, &at.field("tools"), problems))
    }

    fn paths(fault: Fault) -> Vec<String> {
        fault.fields.into_iter().map(|field| field.path).collect()
    }

    #[test]
    fn tools_come_back_as_they_went_out() {
        let set = ToolSet {
            tools: vec![Tool {
                name: "a.b-c_D".to_owned(),
                description: "does".to_owned(),
                input_schema_json: "{ \"type\" : \"object\" }".to_owned(),
                side_effects: true,
                requires_human: true,
            }],
        };
        assert_eq!(read(list_to_pb(set.clone()).tools), Ok(set.clone()));
        assert_eq!(set_to_pb(set.clone()).tool_set_id, set.hash().unwrap().to_string());
        assert_eq!(set_to_pb(ToolSet::default()), pb::ToolSet::default());
        assert_eq!(read(Vec::new()), Ok(ToolSet::default()));
    }

    #[test]
    fn every_wrong_tool_is_named() {
        let long = tool("c", &format!("{{\"a\":\"{}\"}}", "x".repeat(64 * 1024)));
        let wordy = pb::Tool { description: "x".repeat(MAX_DESCRIPTION + 1), ..tool("d", "{}") };
        let fault = read(vec![tool("a", "{}"), tool("a", "{}"), tool("b c", ""), long, wordy]).unwrap_err();
        assert_eq!(fault.reason, Reason::InvalidFields);
        let expected = [
            "tools.tools[2].name",
            "tools.tools[2].input_schema_json",
            "tools.tools[3].input_schema_json",
            "tools.tools[4].description",
            "tools.tools[1].name",
        ];
        assert_eq!(paths(fault), expected);
        let many = (0..129).map(|n| tool(&format!("t{n}"), "{}")).collect();
        assert_eq!(paths(read(many).unwrap_err()), ["tools.tools"]);
    }

    #[test]
    fn an_unusable_schema_has_a_reason_of_its_own() {
        let deep = format!("{}{}", "{\"a\":".repeat(65), "1".to_owned() + &"}".repeat(65));
        for schema in ["true", "[]", "{", "not JSON", &deep] {
            let fault = read(vec![tool("a", schema)]).unwrap_err();
            assert_eq!(fault.reason, Reason::SchemaInvalid, "{schema}");
            assert_eq!(fault.metadata["field"], "tools.tools[0].input_schema_json");
        }
    }

    #[test]
    fn a_choice_is_one_of_four() {
        let read = |choice| {
            whole(|at, problems| choice_from_pb(pb::ToolChoice { choice }, &at.field("tool_choice"), problems))
        };
        assert_eq!(paths(read(None).unwrap_err()), ["tool_choice"]);
        let named = |name: &str| pb::tool_choice::Choice::Named(pb::ToolChoiceNamed { name: name.to_owned() });
        assert_eq!(read(Some(named("a"))), Ok(ToolChoice::Named("a".to_owned())));
        assert_eq!(paths(read(Some(named(""))).unwrap_err()), ["tool_choice.named.name"]);
        let required = pb::tool_choice::Choice::Required(pb::ToolChoiceRequired {});
        assert_eq!(read(Some(required)), Ok(ToolChoice::Required));
    }
}
