use std::path::Path;

use super::*;
use crate::domain::message::Role;
use crate::domain::tool::Tool;
use crate::engine::Engine;
use crate::engine::testing::{engine_in, say};

const CONFIG: &str = r#"
prompts_dir = "."
default_profile = "main"
[profiles.main]
backend = "demo"
model = "m-main"
parameters = { temperature = 0.9, seed = 7 }
[profiles.other]
backend = "demo"
model = "m-other"
[profiles.prompted]
backend = "demo"
model = "m-prompted"
[backends.demo]
kind = "scripted"
[contracts.person]
schema = '{"type":"object"}'
"#;

const PROMPT: &str = "---
profile: prompted
contract: person
session: 's-{{ name }}'
parameters: { temperature: 0.5, top_p: 0.25 }
tools: [{name: look}]
variables: [{name: name}]
---
system:
Help {{ name }}.
user:
Hi
";

fn engine(config: &str) -> Engine {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("greet.prompt"), PROMPT).unwrap();
    engine_in(folder.path(), config)
}

fn greet() -> Asked {
    let input = PromptInput { prompt_id: "greet".to_owned(), vars_json: r#"{"name":"Ada"}"#.to_owned() };
    Asked { prompt: Some(input), ..Asked::default() }
}

fn later() -> Context {
    let namespace = Namespace::default_namespace();
    Context { thread: None, inherited_tools: None, at_root: false, namespace }
}

fn root() -> Context {
    Context { at_root: true, ..later() }
}

fn on_thread(defaults: ThreadDefaults) -> Context {
    Context { thread: Some(defaults), ..later() }
}

fn tools(names: &[&str]) -> ToolSet {
    let tool = |name: &&str| Tool {
        name: (*name).to_owned(),
        description: String::new(),
        input_schema_json: r#"{"type":"object"}"#.to_owned(),
        side_effects: false,
        requires_human: false,
    };
    ToolSet { tools: names.iter().map(tool).collect() }
}

fn names(set: &ToolSet) -> Vec<&str> {
    set.tools.iter().map(|tool| tool.name.as_str()).collect()
}

fn setting<'a>(plan: &'a Plan, name: &str) -> Option<(&'a str, Source)> {
    plan.settings.iter().find(|setting| setting.name == name).map(|s| (s.value_json.as_str(), s.source))
}

#[test]
fn the_configured_default_is_used_when_nothing_else_names_a_profile() {
    let plan = engine(CONFIG).resolve(say("x"), root()).unwrap();
    assert_eq!((plan.profile_id.as_str(), plan.model.as_str()), ("main", "m-main"));
    assert_eq!(setting(&plan, "profile_id"), Some(("\"main\"", Source::Default)));
    assert_eq!(setting(&plan, "backend_id"), Some(("\"demo\"", Source::Profile)));
    assert_eq!(setting(&plan, "model"), Some(("\"m-main\"", Source::Profile)));
    assert_eq!(setting(&plan, "parameters.temperature"), Some(("0.9", Source::Profile)));
    assert_eq!(setting(&plan, "contract"), Some((r#"{"text":{}}"#, Source::Default)));
    assert_eq!(setting(&plan, "tool_choice"), Some(("\"auto\"", Source::Default)));
    assert_eq!(setting(&plan, "tools"), Some(("[]", Source::Default)));
    assert_eq!(setting(&plan, "standing_tools"), Some(("[]", Source::Default)));
    assert_eq!((setting(&plan, "session_id"), setting(&plan, "prompt")), (None, None));
}

#[test]
fn s4_32_the_prompt_goes_before_the_thread_and_the_request_before_both() {
    let engine = engine(CONFIG);
    let thread = ThreadDefaults {
        profile_id: Some("other".to_owned()),
        model: Some("m-thread".to_owned()),
        standing_tools: None,
    };
    let plan = engine.resolve(greet(), on_thread(thread.clone())).unwrap();
    assert_eq!(setting(&plan, "profile_id"), Some(("\"prompted\"", Source::Prompt)));
    // The thread's model belongs to the thread's profile.
    assert_eq!(setting(&plan, "model"), Some(("\"m-prompted\"", Source::Profile)));
    assert_eq!(setting(&plan, "session_id"), Some(("\"s-Ada\"", Source::Prompt)));
    assert_eq!(setting(&plan, "parameters.temperature"), Some(("0.5", Source::Prompt)));
    assert_eq!(setting(&plan, "parameters.top_p"), Some(("0.25", Source::Prompt)));
    assert_eq!(setting(&plan, "prompt"), Some(("\"greet\"", Source::Request)));
    assert!(
        matches!(setting(&plan, "contract"), Some((value, Source::Prompt)) if value.contains("\"contract_id\":\"person\""))
    );
    assert_eq!(setting(&plan, "tools"), Some((r#"["look"]"#, Source::Prompt)));

    let asked = Asked {
        profile_id: Some("main".to_owned()),
        model: Some("m-asked".to_owned()),
        parameters: Parameters { temperature: Some(0.1), ..Parameters::default() },
        contract: Some(ContractChoice::Inline(Contract::Json)),
        session_id: Some("mine".to_owned()),
        tools: Some(ToolSet::default()),
        ..greet()
    };
    let plan = engine.resolve(asked, on_thread(thread)).unwrap();
    assert_eq!(setting(&plan, "profile_id"), Some(("\"main\"", Source::Request)));
    assert_eq!(setting(&plan, "model"), Some(("\"m-asked\"", Source::Request)));
    assert_eq!(setting(&plan, "session_id"), Some(("\"mine\"", Source::Request)));
    assert_eq!(
        (plan.parameters.temperature, plan.parameters.top_p, plan.parameters.seed),
        (Some(0.1), Some(0.25), Some(7))
    );
    // S4-33: a contract replaces the other completely.
    assert_eq!((plan.contract, plan.offer.offered.tools.len()), (Contract::Json, 0));
}

#[test]
fn the_thread_goes_before_the_configured_default() {
    let engine = engine(CONFIG);
    let thread =
        ThreadDefaults { profile_id: Some("other".to_owned()), model: Some("m-t".to_owned()), standing_tools: None };
    let plan = engine.resolve(say("x"), on_thread(thread)).unwrap();
    assert_eq!(setting(&plan, "profile_id"), Some(("\"other\"", Source::Thread)));
    assert_eq!(setting(&plan, "model"), Some(("\"m-t\"", Source::Thread)));
    let only_model = ThreadDefaults { model: Some("m-t".to_owned()), ..ThreadDefaults::default() };
    assert_eq!(engine.resolve(say("x"), on_thread(only_model)).unwrap().model, "m-t");
}

#[test]
fn s4_35_no_profile_is_an_error_that_lists_them_even_when_there_is_but_one() {
    let fault = engine(&CONFIG.replace("default_profile", "#")).resolve(say("x"), root()).unwrap_err();
    assert_eq!(
        (fault.reason, fault.metadata["known_profiles"].as_str()),
        (Reason::ProfileMissing, "main,other,prompted")
    );
}

#[test]
fn unknown_names_are_told_with_the_nearest() {
    let engine = engine(CONFIG);
    let fault = engine.resolve(Asked { profile_id: Some("mian".to_owned()), ..say("x") }, root()).unwrap_err();
    assert_eq!(fault.reason, Reason::ProfileUnknown);
    assert!(fault.message.contains("`mian` (did you mean `main`?)"), "{}", fault.message);
    let prompt = Some(PromptInput { prompt_id: "gret".to_owned(), vars_json: String::new() });
    let fault = engine.resolve(Asked { prompt, ..Asked::default() }, root()).unwrap_err();
    assert_eq!((fault.reason, fault.metadata["known_prompts"].as_str()), (Reason::PromptUnknown, "greet"));
    let contract = Some(ContractChoice::Named("persn".to_owned()));
    let fault = engine.resolve(Asked { contract, ..say("x") }, root()).unwrap_err();
    assert_eq!((fault.reason, fault.resource.unwrap().kind), (Reason::ContractUnknown, "contract"));
    let gone = ThreadDefaults { profile_id: Some("gone".to_owned()), ..ThreadDefaults::default() };
    let fault = engine.resolve(say("x"), on_thread(gone)).unwrap_err();
    assert!(fault.message.contains("thread's defaults"), "{}", fault.message);
}

#[test]
fn s4_40_the_prompts_messages_come_before_the_appended_ones() {
    let mut asked = greet();
    asked.messages = vec![Message::text(Role::User, "{{ name }} {% raw %}")];
    let plan = engine(CONFIG).resolve(asked, root()).unwrap();
    let said: Vec<_> = plan.messages.iter().map(|message| (message.role, message.joined_text())).collect();
    assert_eq!(
        said,
        [
            (Role::System, "Help Ada.".to_owned()),
            (Role::User, "Hi".to_owned()),
            (Role::User, "{{ name }} {% raw %}".to_owned()),
        ]
    );
}

#[test]
fn nothing_to_say_is_refused() {
    let fault = engine(CONFIG).resolve(Asked::default(), root()).unwrap_err();
    assert_eq!((fault.reason, fault.fields[0].path.as_str()), (Reason::InvalidFields, "messages"));
}

#[test]
fn s0_5_to_s0_7_tools_stand_or_are_offered_for_one_turn() {
    let engine = engine(CONFIG);
    let stood = || Context { inherited_tools: Some(tools(&["a"])), ..later() };
    let resolve = |asked: Asked, context: Context| engine.resolve(asked, context).unwrap();

    let plan = resolve(say("x"), stood());
    assert_eq!((names(&plan.offer.offered), names(&plan.offer.standing)), (vec!["a"], vec!["a"]));
    assert_eq!(setting(&plan, "tools"), Some((r#"["a"]"#, Source::Inherited)));

    let plan = resolve(Asked { tools: Some(tools(&[])), ..say("x") }, stood());
    assert_eq!((names(&plan.offer.offered), names(&plan.offer.standing)), (vec![], vec!["a"]));

    let plan = resolve(Asked { tools: Some(tools(&["b"])), ..say("x") }, stood());
    assert_eq!((names(&plan.offer.offered), names(&plan.offer.standing)), (vec!["b"], vec!["a"]));
    assert_eq!(setting(&plan, "standing_tools"), Some((r#"["a"]"#, Source::Inherited)));

    let plan = resolve(Asked { standing_tools: Some(tools(&["c"])), ..say("x") }, stood());
    assert_eq!((names(&plan.offer.offered), names(&plan.offer.standing)), (vec!["c"], vec!["c"]));
    assert_eq!(setting(&plan, "tools"), Some((r#"["c"]"#, Source::Request)));
}

#[test]
fn a_history_without_standing_tools_is_not_a_root() {
    let engine = engine(CONFIG);
    let asked = || Asked { tools: Some(tools(&["b"])), ..say("x") };
    assert_eq!(names(&engine.resolve(asked(), root()).unwrap().offer.standing), ["b"]);
    assert!(engine.resolve(asked(), later()).unwrap().offer.standing.tools.is_empty());
}

#[test]
fn what_the_thread_lets_stand_goes_before_the_history() {
    let thread = ThreadDefaults { standing_tools: Some(tools(&["t"])), ..ThreadDefaults::default() };
    let context = Context { thread: Some(thread), inherited_tools: Some(tools(&["h"])), ..later() };
    let plan = engine(CONFIG).resolve(say("x"), context).unwrap();
    assert_eq!(setting(&plan, "tools"), Some((r#"["t"]"#, Source::Thread)));
}

#[test]
fn b114_b115_schemas_are_refused_before_any_call_with_their_place() {
    let engine = engine(CONFIG);
    let mut wrong = tools(&["ok", "bad"]);
    wrong.tools[1].input_schema_json = r#"{"$ref":"http://127.0.0.1:1/s.json"}"#.to_owned();
    let fault = engine.resolve(Asked { tools: Some(wrong), ..say("x") }, root()).unwrap_err();
    assert_eq!(
        (fault.reason, fault.fields[0].path.as_str()),
        (Reason::SchemaInvalid, "tools.tools[1].input_schema_json")
    );
    let schema = Contract::JsonSchema { name: "x".to_owned(), schema_json: r#"{"type":"strng"}"#.to_owned() };
    let contract = Some(ContractChoice::Inline(schema));
    let fault = engine.resolve(Asked { contract, ..say("x") }, root()).unwrap_err();
    assert_eq!((fault.reason, fault.metadata["pointer"].as_str()), (Reason::SchemaInvalid, "/type"));
    let twice = Asked { standing_tools: Some(tools(&["a", "a"])), ..say("x") };
    assert_eq!(engine.resolve(twice, root()).unwrap_err().fields[0].path, "standing_tools.tools[1].name");
}

#[test]
fn a_tool_choice_that_cannot_be_kept_is_refused() {
    let engine = engine(CONFIG);
    let choose = |choice: ToolChoice, names: &[&str]| {
        engine.resolve(Asked { tool_choice: Some(choice), tools: Some(tools(names)), ..say("x") }, root())
    };
    assert!(choose(ToolChoice::Required, &[]).is_err());
    assert!(
        choose(ToolChoice::Named("look".to_owned()), &["lok"]).unwrap_err().message.contains("did you mean `lok`?")
    );
    assert!(choose(ToolChoice::Named("look".to_owned()), &["look"]).is_ok());
}

#[test]
fn a_run_goes_on_with_the_settings_it_began_with() {
    let before = engine(CONFIG);
    let asked = Asked { tools: Some(tools(&["a"])), ..greet() };
    let first = before.resolve(asked, root()).unwrap();
    // The configuration changed in between: the profile has another model, and the prompt's contract is gone.
    let after = engine_in(
        Path::new("."),
        "[profiles.main]\nbackend = \"demo\"\nmodel = \"new\"\n[backends.demo]\nkind = \"scripted\"",
    );
    let next = after.resume(first.settings.clone(), first.offer.clone(), first.messages.clone()).unwrap();
    let bodies = [(&before, &first), (&after, &next)]
        .map(|(engine, plan)| engine.outbound(plan, Vec::new(), false).unwrap().body);
    assert_eq!(bodies[0], bodies[1]);
    assert_eq!((next.settings, next.model.as_str()), (first.settings, "m-prompted"));
}

#[test]
fn a_run_whose_backend_is_gone_cannot_go_on() {
    let first = engine(CONFIG).resolve(say("x"), root()).unwrap();
    let after = engine_in(Path::new("."), "");
    let fault = after.resume(first.settings, first.offer, first.messages).unwrap_err();
    assert_eq!((fault.reason, fault.resource.unwrap().kind), (Reason::ResourceNotFound, "backend"));
}
