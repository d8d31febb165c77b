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
        "backends.demo.capacity: must be 1",
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
        "d.prompt: tool 2 has no name of its own",
    ] {
        assert!(told.contains(expected), "{expected}\nis not in\n{told}");
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
        ("[\"a\", \"a\", \"a\", \"a\", \"a\", \"a\", \"a\", \"a\", \"a\"]", "has 9 profiles, the limit is 8"),
    ] {
        let problems = load(fallback).unwrap_err();
        assert_eq!((problems[0].at.as_str(), problems[0].what.as_str()), ("profiles.main.fallback", what));
    }
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
