use super::*;

fn config(text: &str) -> Config {
    Config::from_table(text.parse().unwrap()).unwrap()
}

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).unwrap();
}

#[test]
fn everything_is_loaded_and_checked_together() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    std::fs::create_dir(base.join("prompts")).unwrap();
    std::fs::create_dir(base.join("contracts")).unwrap();
    write(&base.join("prompts"), "greet.prompt", "---\nprofile: main\ncontract: person\n---\nhi");
    write(&base.join("prompts"), "b.prompt.md", "---\ncontract: json\n---\nhi");
    write(&base.join("prompts"), "README.md", "not a prompt");
    write(&base.join("contracts"), "person.json", r#"{"title":"A person","type":"object"}"#);
    let config = config(
        r#"
        default_profile = "main"
        prompts_dir = "prompts"
        contracts_dir = "contracts"
        [profiles.main]
        backend = "demo"
        model = "m"
        parameters = { temperature = 0.5 }
        [backends.demo]
        kind = "scripted"
        capacity = 2
        [contracts."v1.list"]
        description = "A list"
        schema = '{"type":"array"}'
        "#,
    );
    let catalog = Catalog::load(&config, base).unwrap();
    assert_eq!(catalog.prompts.keys().collect::<Vec<_>>(), ["b", "greet"]);
    assert_eq!(catalog.contracts.keys().collect::<Vec<_>>(), ["json", "person", "text", "v1.list"]);
    assert_eq!(catalog.contracts["person"].description, "A person");
    assert!(matches!(&catalog.contracts["v1.list"].contract, Contract::JsonSchema { name, .. } if name == "v1_list"));
    assert_eq!(catalog.profiles["main"].parameters.temperature, Some(0.5));
}

#[test]
fn every_mistake_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    write(base, "a.prompt", "---\nid: same\nprofile: mian\ncontract: persn\n---\nhi");
    write(base, "b.prompt", "---\nid: same\n---\nhi");
    write(base, "c.prompt", "no front matter");
    write(base, "d.prompt", "---\ntools: [{name: t, input_schema: {$ref: 'http://x/y'}}, {name: t}]\n---\nhi");
    let config = config(
        r#"
        default_profile = "mian"
        prompts_dir = "."
        contracts_dir = "missing"
        [profiles.main]
        backend = "dmo"
        model = " "
        parameters = { temperature = 9.0 }
        [backends.demo]
        kind = "scripted"
        capacity = 0
        [backends.typo]
        kind = "opnai"
        [contracts.person]
        schema = '{"type":"strng"}'
        [contracts.neither]
        [contracts.text]
        schema = '{}'
        "#,
    );
    let problems = Catalog::load(&config, base).unwrap_err();
    let told = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    for expected in [
        "backends.demo.capacity: is 0: it must be 1 to 100000",
        "backends.typo.kind: there is no backend kind `opnai` (did you mean `openai`?)",
        "profiles.main.backend: there is no backend `dmo` (did you mean `demo`?)",
        "profiles.main.model: must not be empty",
        "profiles.main.parameters.temperature: must be 0 to 2",
        "contracts.person: the schema is not usable: at /type",
        "contracts.neither: needs one of `schema` and `schema_file`",
        "contracts.text: there is another contract `text`",
        "contracts_dir: ",
        "default_profile: there is no profile `mian` (did you mean `main`?)",
        "a.prompt: asks for the profile `mian`, which there is not (did you mean `main`?)",
        "a.prompt: asks for the contract `persn`",
        "b.prompt: another file has a prompt with the id `same`",
        "c.prompt:1: has no front matter",
        "the input schema of tool `t` is not usable",
        "d.prompt: `tools[1].name` is the name of another one too",
    ] {
        assert!(told.contains(expected), "{expected}\nis not in\n{told}");
    }
}

/// Once they were taken as they were, and a call that offered them failed at the provider.
#[test]
fn tools_of_prompts_keep_the_limits_of_those_of_requests() {
    let load = |tools: &str| {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "p.prompt", &format!("---\ntools: {tools}\n---\nhi"));
        Catalog::load(&config("prompts_dir = \".\""), folder.path()).map_err(|problems| problems[0].to_string())
    };
    let tools =
        |count: usize| format!("[{}]", (0..count).map(|n| format!("{{name: t{n}}}")).collect::<Vec<_>>().join(", "));
    let one = |name: usize, description: usize| {
        format!("[{{name: {}, description: {}}}]", "n".repeat(name), "d".repeat(description))
    };
    // What the schema has besides its description is 18 bytes long.
    let schema = |bytes: usize| format!("[{{name: t, input_schema: {{description: {}}}}}]", "s".repeat(bytes - 18));
    let deep = |levels: usize| {
        format!("[{{name: t, input_schema: {}{{}}{}}}]", "{not: ".repeat(levels - 1), "}".repeat(levels - 1))
    };
    for (most, more, said) in [
        (tools(128), tools(129), "`tools` has 129 tools: at most 128 are taken; offer fewer"),
        (
            one(64, 1),
            one(65, 1),
            "`tools[0].name` must be 1 to 64 characters of A-Z, a-z, 0-9, `_`, `-` and `.`, and has 65",
        ),
        (
            one(1, 16_384),
            one(1, 16_385),
            "`tools[0].description` is 16385 bytes long: at most 16384 are taken; shorten it",
        ),
        (
            schema(65_536),
            schema(65_537),
            "`tools[0].input_schema` is 65537 bytes long: at most 65536 are taken; shorten it",
        ),
        (
            deep(64),
            deep(65),
            "the input schema of tool `t` is not usable: is nested 65 levels deep: at most 64 are taken; make it flatter",
        ),
    ] {
        load(&most).unwrap_or_else(|problem| panic!("{problem}"));
        let problem = load(&more).unwrap_err();
        assert!(problem.ends_with(&format!("p.prompt: {said}")), "{problem}");
    }
}

#[test]
fn a_single_profile_is_no_default() {
    let config = config("[profiles.only]\nbackend = \"b\"\nmodel = \"m\"\n[backends.b]\nkind = \"scripted\"");
    assert_eq!(Catalog::load(&config, Path::new(".")).unwrap().default_profile, None);
}

#[test]
fn a_fallback_is_another_profile_that_the_server_can_call() {
    let text = |fallback: &str| {
        format!(
            "[profiles.main]\nbackend = \"demo\"\nmodel = \"m\"\nfallback = {fallback}\n[profiles.spare]\nbackend = \"demo\"\n\
             model = \"n\"\n[profiles.mine]\nbackend = \"mine\"\nmodel = \"o\"\n[backends.demo]\nkind = \"scripted\"\n\
             [backends.mine]\nkind = \"client\"\n"
        )
    };
    let load = |fallback| Catalog::load(&config(&text(fallback)), Path::new("."));
    assert_eq!(load("[\"spare\"]").unwrap().profiles["main"].fallback, ["spare"]);
    for (fallback, what) in [
        ("[\"main\"]", "names the profile itself"),
        ("[\"spare\", \"spare\"]", "names `spare` twice"),
        ("[\"spar\"]", "there is no profile `spar` (did you mean `spare`?)"),
        ("[\"mine\"]", "`mine` has a backend of the kind `client`, whose calls the client makes"),
        ("[\"a\", \"a\", \"a\", \"a\", \"a\", \"a\", \"a\", \"a\", \"a\"]", "has 9 profiles: at most 8 are taken"),
    ] {
        let problems = load(fallback).unwrap_err();
        assert_eq!((problems[0].at.as_str(), problems[0].what.as_str()), ("profiles.main.fallback", what));
    }
}

#[test]
fn so_many_fallbacks_and_no_more() {
    let load = |count: usize| {
        let names: Vec<String> = (0..count).map(|number| format!("\"s{number}\"")).collect();
        let mut text =
            format!("[profiles.main]\nbackend = \"demo\"\nmodel = \"m\"\nfallback = [{}]\n", names.join(", "));
        for number in 0..count {
            text.push_str(&format!("[profiles.s{number}]\nbackend = \"demo\"\nmodel = \"m\"\n"));
        }
        text.push_str("[backends.demo]\nkind = \"scripted\"\n");
        Catalog::load(&config(&text), Path::new("."))
    };
    assert_eq!(load(8).unwrap().profiles["main"].fallback.len(), 8);
    let told = load(9).unwrap_err()[0].to_string();
    assert_eq!(told, "profiles.main.fallback: has 9 profiles: at most 8 are taken; name fewer");
}

#[test]
fn as_many_repairs_as_are_made_can_be_configured() {
    let load = |attempts: u32, most: &str| {
        let text = format!(
            "{most}[profiles.main]\nbackend = \"demo\"\nmodel = \"m\"\nrepair = {{ attempts = {attempts} }}\n\
             [backends.demo]\nkind = \"scripted\"\n"
        );
        Catalog::load(&config(&text), Path::new(".")).map_err(|problems| problems[0].to_string())
    };
    assert!(load(5, "").is_ok() && load(2, "max_repair_attempts = 2\n").is_ok());
    let told = load(6, "").unwrap_err();
    assert!(
        told.starts_with("profiles.main.repair.attempts: is 6; at most 5 are made; take fewer, or raise"),
        "{told}"
    );
    assert!(load(3, "max_repair_attempts = 2\n").unwrap_err().contains("is 3; at most 2 are made"));
}

/// What a call cost is told by its backend and model, so that two profiles cannot say different prices for it.
#[test]
fn prices_of_one_model_are_the_same_in_all_profiles() {
    let load = |second: &str, output: &str| {
        let prices = |output: &str| {
            format!(
                "prices = {{ currency = \"USD\", input_per_million = \"2.50\", output_per_million = \"{output}\" }}\n"
            )
        };
        let text = format!(
            "[profiles.a]\nbackend = \"demo\"\nmodel = \"m\"\n[profiles.b]\nbackend = \"demo\"\nmodel = \"m\"\n{}\
             [profiles.c]\nbackend = \"demo\"\nmodel = \"{second}\"\n{}[backends.demo]\nkind = \"scripted\"\n",
            prices("10"),
            prices(output)
        );
        Catalog::load(&config(&text), Path::new("."))
    };
    assert!(load("m", "10").is_ok() && load("m", "10.0").is_ok() && load("n", "11").is_ok());
    let problems = load("m", "11").unwrap_err();
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert!(told.len() == 1 && told[0].starts_with("profiles.c.prices: ") && told[0].contains("`b`"), "{told:?}");
}
