//! Traces against `docs/trace.schema.json`, and the output of `host run --json` against `docs/result.schema.json`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::golden::repository;
use super::{Place, bundled, folder};

/// The errors of a value under a schema: the keywords that ours uses, from their definition in draft 2020-12. A keyword
/// that is missing here is a mistake of this test.
fn wrong(schema: &Value, value: &Value, root: &Value, path: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (keyword, argument) in schema.as_object().expect("a schema is an object") {
        let complain = |what: String| vec![format!("{path}: {what}")];
        found.extend(match keyword.as_str() {
            "$schema" | "title" | "description" | "$defs" => Vec::new(),
            "$ref" => {
                let pointer = argument.as_str().and_then(|text| text.strip_prefix('#')).expect("a reference within");
                wrong(root.pointer(pointer).expect("what is referred to is there"), value, root, path)
            }
            "type" => {
                let types = argument.as_array().map_or(std::slice::from_ref(argument), Vec::as_slice);
                let is = |name: &Value| match name.as_str().expect("a name") {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "number" => value.is_number(),
                    "null" => value.is_null(),
                    other => panic!("the type {other} is not known here"),
                };
                if types.iter().any(is) { Vec::new() } else { complain(format!("is no {argument}")) }
            }
            "const" if value != argument => complain(format!("is not {argument}")),
            "enum" if !argument.as_array().expect("a list").contains(value) => {
                complain(format!("is none of {argument}"))
            }
            "minimum" if value.is_number() && value.as_f64() < argument.as_f64() => complain("is too small".to_owned()),
            "maximum" if value.is_number() && value.as_f64() > argument.as_f64() => complain("is too large".to_owned()),
            "const" | "enum" | "minimum" | "maximum" => Vec::new(),
            "pattern" => {
                // The only one: an even number of hexadecimal digits.
                assert_eq!(argument, "^([0-9a-f]{2})*$");
                let text = value.as_str().unwrap_or_default();
                let is_hex =
                    text.len().is_multiple_of(2) && text.bytes().all(|digit| b"0123456789abcdef".contains(&digit));
                if is_hex { Vec::new() } else { complain("is not in hexadecimal digits".to_owned()) }
            }
            "required" => {
                let missing = argument
                    .as_array()
                    .expect("a list")
                    .iter()
                    .filter(|name| value.is_object() && value.get(name.as_str().expect("a name")).is_none());
                missing.map(|name| format!("{path}: {name} is missing")).collect()
            }
            "properties" => {
                let known = argument.as_object().expect("an object").iter();
                let there = known.filter_map(|(name, schema)| Some((name, schema, value.get(name)?)));
                there.flat_map(|(name, schema, value)| wrong(schema, value, root, &format!("{path}/{name}"))).collect()
            }
            "additionalProperties" => {
                let others = value.as_object().into_iter().flatten();
                let others = others.filter(|(name, _)| schema["properties"].get(name).is_none());
                let check = |(name, value): (&String, &Value)| match argument {
                    Value::Bool(false) => vec![format!("{path}: there is no {name}")],
                    schema => wrong(schema, value, root, &format!("{path}/{name}")),
                };
                others.flat_map(check).collect()
            }
            "items" => {
                let items = value.as_array().into_iter().flatten().enumerate();
                items.flat_map(|(index, item)| wrong(argument, item, root, &format!("{path}/{index}"))).collect()
            }
            "not" if wrong(argument, value, root, path).is_empty() => complain(format!("is one of {argument}")),
            "not" => Vec::new(),
            "oneOf" => {
                let fits = |schema: &&Value| wrong(schema, value, root, path).is_empty();
                match argument.as_array().expect("a list").iter().filter(fits).count() {
                    1 => Vec::new(),
                    count => complain(format!("fits {count} of the alternatives")),
                }
            }
            other => panic!("the keyword {other} is not known here"),
        });
    }
    found
}

/// The errors of a trace.
pub fn misfits(trace: &Value) -> Vec<String> {
    let schema = schema();
    wrong(&schema, trace, &schema, "")
}

fn schema() -> Value {
    read("trace.schema.json")
}

fn read(name: &str) -> Value {
    let text = std::fs::read_to_string(folder(&format!("../docs/{name}"))).expect("the schema is there");
    serde_json::from_str(&text).expect("a schema is JSON")
}

/// Asserts that the output of `host run --json` fits its schema. Every test that runs it comes through here. A run that had to
/// print something else, or nothing, has no object to look at.
pub fn check_result(out: &str, words: &[&str]) {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    let schema = SCHEMA.get_or_init(|| read("result.schema.json"));
    let Ok(result) = serde_json::from_str::<Value>(out) else { return };
    // The error of the intended alternative is more precise than that the object fits neither.
    let pointer = if result["error"].is_object() { "/$defs/error" } else { "/$defs/report" };
    let meant = schema.pointer(pointer).expect("both are there");
    assert_eq!(wrong(meant, &result, schema, ""), [""; 0], "{words:?}: {result:#}");
    assert_eq!(wrong(schema, &result, schema, ""), [""; 0], "{words:?}");
}

/// A schema that accepts everything would prove nothing: each missing field, and each unknown one, is refused.
#[test]
fn what_is_no_result_does_not_fit_the_schema() {
    let (schema, place) = (read("result.schema.json"), repository());
    let good = place.run_json("paxos", &["--set", "bug=last-response"]);
    let is_good = |result: &Value| wrong(&schema, result, &schema, "").is_empty();
    assert!(is_good(&good), "{good:#}");
    let fields = good.as_object().expect("an object").keys();
    let optional = ["decided_by", "never", "curve", "levels"];
    for field in fields.filter(|field| !optional.contains(&field.as_str())) {
        let mut bad = good.clone();
        bad.as_object_mut().expect("an object").remove(field);
        assert!(!is_good(&bad), "without {field}");
    }
    for (pointer, damage) in [
        ("/result_version", json!(2)),
        ("/result", json!("fine")),
        ("/end", json!("bored")),
        ("/exit_code", json!(3)),
        ("/counts/handler_calls", json!(-1)),
        ("/properties/0/status", json!("nice")),
        ("/violations/0/length", json!(null)),
        ("/violations/0", json!({ "property": "agreement" })),
        ("/assumed/bounds", json!({})),
        ("/seconds/search", json!("1.5")),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer} in {good:#}")) = damage;
        assert!(!is_good(&bad), "{pointer}");
    }
}

#[test]
fn what_is_written_fits_the_schema() {
    let (place, schema) = (repository(), schema());
    let bug = |bug: &str| ["run".to_owned(), bundled("paxos").to_owned(), "--set".to_owned(), format!("bug={bug}")];
    let runs = [
        (bug("last-response"), Vec::new()),
        (bug("forget-accepted"), vec!["--resets", "1", "--safety-only", "--limit", "fuel=1000000"]),
        (bug("last-response"), vec!["--link", "0-1=ordered", "--link", "2>0=unordered-duplicating"]),
    ];
    for (index, (run, options)) in runs.iter().enumerate() {
        let out = format!("found{index}");
        let words: Vec<&str> = run.iter().map(String::as_str).chain(options.iter().copied()).collect();
        place.host(&[&words[..], &["--out", &out]].concat()).exits(12);
        let text = std::fs::read_to_string(place.path(&format!("{out}/trace.json"))).expect("the trace is there");
        let trace: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(wrong(&schema, &trace, &schema, ""), [""; 0]);
        // Executed again and written again, it is the same to the last byte.
        let export = ["export", &format!("{out}/trace.json"), "--plugin", bundled("paxos"), "--format", "json"];
        assert_eq!(place.host(&export).exits(0).out, text);
        // Through the format of another tool as well.
        let itf = format!("{out}/trace.itf.json");
        let there =
            ["export", &format!("{out}/trace.json"), "--plugin", bundled("paxos"), "--format", "itf", "--out", &itf];
        place.host(&there).exits(0);
        let back = ["export", &itf, "--plugin", bundled("paxos"), "--format", "json"];
        assert_eq!(place.host(&back).exits(0).out, text);
    }
    let live = std::fs::read_to_string(folder("paxos/scenarios/live-state.json")).expect("the trace is there");
    assert_eq!(wrong(&schema, &serde_json::from_str(&live).expect("JSON"), &schema, ""), [""; 0]);
}

/// The schema refuses every trace that the reader refuses, or it would prove nothing.
#[test]
fn what_is_damaged_does_not_fit_the_schema() {
    let (place, schema) = (repository(), schema());
    let live = std::fs::read_to_string(folder("paxos/scenarios/live-state.json")).expect("the trace is there");
    let good: Value = serde_json::from_str(&live).expect("JSON");
    for (pointer, damage) in [
        ("/trace_version", json!(3)),
        ("/plugin", json!({})),
        ("/steps/0/node", json!(-1)),
        ("/steps/0/event/kind", json!("teleport")),
        ("/steps/0/event/cause", json!("boredom")),
        ("/steps/0/event", json!({ "kind": "deliver" })),
        ("/steps/0/event", json!({ "kind": "reset", "peers": 1 })),
        ("/steps/0/sent/0/payload", json!("0g")),
        ("/steps/0/sent/0", json!({ "to": 1 })),
        ("/scenario", json!({ "nodes": 3, "colour": "red" })),
        ("/scenario", json!({ "nodes": 3, "links": [{ "from": 0, "to": 1, "network": "telegraph" }] })),
        ("/scenario", json!({ "nodes": 3, "links": [{ "between": [0, 1], "network": "ordered" }] })),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).expect("it is there") = damage;
        assert!(!wrong(&schema, &bad, &schema, "").is_empty(), "{pointer}");
        place.put("bad.json", bad.to_string());
        place.host(&["replay", "bad.json", "--plugin", bundled("paxos")]).exits(151);
    }
}

/// A document in TOML as the schema has it.
fn toml_value(text: &str) -> Value {
    let table: toml::Table = toml::from_str(text).expect("TOML");
    serde_json::to_value(table).expect("no dates are in it")
}

/// The schemas of scenarios and clusters know the same keys and words as the program, which lists them where one is wrong.
#[test]
fn schemas_of_files_know_what_the_program_knows() {
    let (scenario, cluster) = (read("scenario.schema.json"), read("cluster.schema.json"));
    let place = Place::new();
    let names = |object: &Value| -> Vec<String> {
        let mut names: Vec<String> = object["properties"].as_object().expect("properties").keys().cloned().collect();
        names.sort_unstable();
        names
    };
    let listed = |words: &[&str], text: &str, before: &str| -> Vec<String> {
        place.put("wrong.toml", text);
        let err = place.host(&[words, &["wrong.toml"]].concat()).exits(151).err;
        let (_, list) = err.rsplit_once(before).unwrap_or_else(|| panic!("{text:?}: {err}"));
        let list = list.lines().next().expect("a line").split(", ").map(|name| name.trim_matches('`').to_owned());
        let mut list: Vec<String> = list.collect();
        list.sort_unstable();
        list
    };
    for (section, pointer) in [
        ("", ""),
        ("[faults]\n", "/properties/faults"),
        ("[strategy]\n", "/properties/strategy"),
        ("[bounds]\n", "/properties/bounds"),
        ("[limits]\n", "/properties/limits"),
        ("[[link]]\n", "/properties/link/items"),
        ("[[node]]\n", "/properties/node/items"),
        ("[expect]\n", "/properties/expect"),
        ("[expect.counts]\n", "/properties/expect/properties/counts"),
    ] {
        let known = names(scenario.pointer(pointer).expect("a table"));
        assert_eq!(listed(&["run"], &format!("{section}zz = 1\n"), "there are: "), known, "{section}");
    }
    for (section, key, before) in [
        ("", "network", "possible values: "),
        ("", "audit", "possible values: "),
        ("faults", "outage-writes", "possible values: "),
        ("strategy", "algo", "possible values: "),
        ("strategy", "fairness", "possible values: "),
        ("strategy", "timers", "possible values: "),
        ("strategy", "recover-by", "possible values: "),
    ] {
        let table = if section.is_empty() { &scenario } else { &scenario["properties"][section] };
        let words = table["properties"][key]["enum"].as_array().expect("words").iter();
        let mut words: Vec<String> = words.map(|word| word.as_str().expect("a word").to_owned()).collect();
        words.sort_unstable();
        let section = if section.is_empty() { String::new() } else { format!("[{section}]\n") };
        assert_eq!(listed(&["run"], &format!("{section}{key} = \"zz\"\n"), before), words, "{key}");
    }
    let begin = "plugin = \".\"\n[[node]]\naddress = \"127.0.0.1:1\"\n";
    for (text, pointer) in [
        ("zz = 1\n".to_owned() + begin, ""),
        (begin.to_owned() + "zz = 1\n", "/properties/node/items"),
        (begin.to_owned() + "[operations]\nzz = 1\n", "/properties/operations"),
    ] {
        let known = names(cluster.pointer(pointer).expect("a table"));
        assert_eq!(listed(&["live", "up"], &text, "expected one of "), known, "{text}");
    }
    assert_eq!(names(&cluster["properties"]["limits"]), names(&scenario["properties"]["limits"]));
}

/// All scenarios and clusters of the repository fit, and each damage does not.
#[test]
fn files_of_the_repository_fit_their_schemas() {
    let root = folder("..");
    let files = |part: &str| -> Vec<PathBuf> {
        let below = |top: &str| std::fs::read_dir(Path::new(&root).join(top)).expect("a folder");
        let folders = below("plugins").chain(below("examples")).map(|entry| entry.expect("an entry").path().join(part));
        let entries = folders.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
        entries
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension() == Some("toml".as_ref()))
            .collect()
    };
    let scenario = read("scenario.schema.json");
    let scenarios = files("scenarios");
    assert!(scenarios.len() > 200, "{}", scenarios.len());
    for path in scenarios {
        let value = toml_value(&std::fs::read_to_string(&path).expect("a scenario"));
        assert_eq!(wrong(&scenario, &value, &scenario, ""), [""; 0], "{}", path.display());
    }
    let cluster = read("cluster.schema.json");
    let texts = files("").into_iter().map(|path| std::fs::read_to_string(path).expect("a file"));
    let clusters: Vec<Value> =
        texts.filter(|text| text.contains("\n[[node]]\naddress")).map(|text| toml_value(&text)).collect();
    assert!(clusters.len() >= 2);
    for value in &clusters {
        assert_eq!(wrong(&cluster, value, &cluster, ""), [""; 0], "{value:#}");
    }
    for (schema, text) in [
        (&scenario, "nods = 3"),
        (&scenario, "nodes = \"three\""),
        (&scenario, "[faults]\nresets = -1"),
        (&scenario, "[faults]\nresets = \"often\""),
        (&scenario, "[faults]\nresets = 200"),
        (&scenario, "[faults]\nresets = \"unlimited\""),
        (&scenario, "[strategy]\nalgo = \"magic\""),
        (&scenario, "[expect]\nresult = \"fine\""),
        (&scenario, "[[node]]\nplugin = \"a\""),
        (&scenario, "[[link]]\nbetween = [0, 1]"),
        (&cluster, "plugin = \".\""),
        (&cluster, "plugin = \".\"\n[[node]]\nclients = \"127.0.0.1:1\""),
        (&cluster, "plugin = \".\"\ntls = {}\n[[node]]\naddress = \"127.0.0.1:1\""),
    ] {
        assert_ne!(wrong(schema, &toml_value(text), schema, ""), [""; 0], "{text}");
    }
}

#[test]
fn the_program_prints_its_schemas() {
    let place = Place::new();
    for of in ["scenario", "cluster", "result", "trace"] {
        let printed: Value = serde_json::from_str(&place.host(&["schema", of]).exits(0).out).expect("JSON");
        assert_eq!(printed, read(&format!("{of}.schema.json")));
    }
}
