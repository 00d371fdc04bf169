//! Specifications from outside, `--spec`: the verdicts of properties of the plugin, traces, checkpoints, and refusals.

use host_sandbox::fixtures::{self, Stated};
use serde_json::{Value, json};

use super::{Place, bundled, folder};

/// The property `one-value` of the specification of Paxos, as an expression.
const AGREEMENT: &str = "outside=size(unique(flatten(nodes.map(n, n.Running.learner.chosen)))) <= 1";

/// The part of a run that does not depend on the origin of its only property.
fn found(place: &Place, options: &[&str], property: &[&str]) -> [Value; 5] {
    let run = place.run_json("paxos", &[options, property].concat());
    let fields = |names: &[&str]| {
        let all = run["violations"].as_array().expect("a list").iter();
        all.map(|it| names.iter().map(|name| it[*name].clone()).collect::<Value>()).collect::<Value>()
    };
    let status = run["properties"].as_array().expect("a list").iter().find(|it| it["status"] != "not-checked");
    [
        run["result"].clone(),
        run["counts"].clone(),
        run["depth"].clone(),
        fields(&["length", "class", "critical"]),
        status.map_or(Value::Null, |it| it["status"].clone()),
    ]
}

fn of_spec(name: &'static str) -> [&'static str; 4] {
    ["--property", name, "--spec", bundled("paxos-spec")]
}

/// All three read the same of each state, so all counts are equal, and so is the way.
#[test]
fn a_specification_has_the_verdicts_of_the_plugin_and_of_an_expression() {
    let place = Place::new();
    let mut violated = 0;
    let mut compare = |options: &[&str]| {
        let stated = found(&place, options, &of_spec("one-value"));
        assert_eq!(stated, found(&place, options, &["--property", "agreement"]), "{options:?}");
        assert_eq!(stated, found(&place, options, &["--property", "outside", "--always", AGREEMENT]), "{options:?}");
        violated += usize::from(stated[0] == "violation");
    };
    for algo in ["bdfs", "lmc-gen", "lmc", "unfold", "consequence", "walk", "prefix"] {
        compare(&["--algo", algo]);
    }
    compare(&["--algo", "bdfs", "--reduce"]);
    compare(&["--algo", "dpor", "--nodes", "2"]);
    let wrong = ["--set", "proposers=2", "--set", "bug=last-response"];
    let unfold = &["--algo", "unfold"][..];
    let three = &["--algo", "unfold", "--max-violations", "3"];
    for algo in [unfold, three, &["--algo", "bdfs", "--reduce", "--continue"]] {
        compare(&[algo, &wrong].concat());
    }
    for algo in [&["dpor", "--states", "1000"][..], &["walk", "--walks", "3000"]] {
        compare(&[&["--algo"], algo, &wrong].concat());
    }
    // Nine events before the violation.
    let live = folder("paxos").join("scenarios/live-state.json");
    let live = ["--prefix", live.to_str().expect("text"), "--set", "bug=last-response"];
    compare(&[&["--algo", "lmc"], &live[..]].concat());
    assert_eq!(violated, 5, "each but dpor, which ends at its bound, finds the mistake");
}

#[test]
fn what_must_be_possible_and_what_must_happen_are_as_in_the_plugin() {
    let place = Place::new();
    for algo in ["bdfs", "unfold", "lmc"] {
        let stated = found(&place, &["--algo", algo], &of_spec("some-chosen"));
        assert_eq!(stated, found(&place, &["--algo", algo], &["--property", "chosen"]), "{algo}");
        assert_eq!(stated[4], "reached", "{algo}");
    }
    let mut verdicts = Vec::new();
    for options in [&[][..], &["--set", "bug=strict-accept", "--set", "proposers=1"]] {
        let options = [&["--algo", "bdfs"], options].concat();
        let stated = found(&place, &options, &of_spec("learns"));
        assert_eq!(stated, found(&place, &options, &["--property", "decided"]), "{options:?}");
        verdicts.push(stated[4].clone());
    }
    assert_eq!(verdicts, ["holds", "violated"]);
}

#[test]
fn a_specification_is_judged_together_with_all_others() {
    let place = Place::new();
    let options = ["--algo", "bdfs", "--always", AGREEMENT, "--spec", bundled("paxos-spec")];
    let run = place.run_json("paxos", &options);
    let of = |name: &str| run["properties"].as_array().expect("a list").iter().find(|it| it["name"] == name).cloned();
    for (name, status) in [("agreement", "holds"), ("outside", "holds"), ("one-value", "holds"), ("learns", "holds")] {
        assert_eq!(of(name).expect(name)["status"], status, "{name}");
    }
    assert_eq!(of("one-value").expect("it is judged")["spec"], "paxos-spec");
    assert_eq!(of("agreement").expect("it is judged").get("spec"), None);
    let component = std::fs::read(bundled("paxos-spec")).expect("it is built");
    let digest = format!("blake3:{}", blake3::hash(&component).to_hex());
    assert_eq!(run["assumed"]["specs"], json!([{ "name": "paxos-spec", "digest": digest }]));
    assert_eq!(run["counts"]["global_states"], place.run_json("paxos", &["--algo", "bdfs"])["counts"]["global_states"]);
}

/// The path of a property that is violated where something is chosen.
fn recorded(place: &Place) {
    let wrong = ["--set", "proposers=2", "--set", "bug=last-response", "--property", "one-value"];
    let run = ["run", bundled("paxos"), "--algo", "unfold", "--spec", bundled("paxos-spec"), "--out", "o"];
    let ran = place.host(&[&run[..], &wrong].concat()).exits(12);
    let replay = format!("host replay o/trace.json --plugin {} --spec {}", bundled("paxos"), bundled("paxos-spec"));
    assert!(ran.out.contains(&replay), "{ran:?}");
}

#[test]
fn a_trace_is_executed_with_the_specification_that_it_names() {
    let place = Place::new();
    recorded(&place);
    let (paxos, spec) = (bundled("paxos"), bundled("paxos-spec"));
    let with_plugin = |command: &str| place.host(&[command, "o/trace.json", "--plugin", paxos]);
    for command in ["replay", "minimize", "draw"] {
        with_plugin(command).exits(151).says(&["needs the spec paxos-spec", "--spec"]);
    }
    let with_spec =
        |command: &[&str]| place.host(&[command, &["o/trace.json", "--plugin", paxos, "--spec", spec]].concat());
    let replayed = with_spec(&["replay"]).exits(12).out;
    assert!(replayed.contains("one-value is violated: node 0 has chosen"), "{replayed}");
    with_spec(&["minimize"]).exits(0);
    with_spec(&["draw"]).exits(0);
    // ITF brings it along as well.
    with_spec(&["export", "--format", "itf", "--out", "t.itf.json"]).exits(0);
    place.host(&["replay", "t.itf.json", "--plugin", paxos, "--spec", spec]).exits(12);
    place.put("other.wasm", Stated::default().component());
    let other = ["replay", "o/trace.json", "--plugin", paxos, "--spec", "other.wasm"];
    place
        .host(&other)
        .exits(151)
        .says(&["was recorded with the spec paxos-spec, blake3:", "here it is other, blake3:"]);
    let twice = ["replay", "o/trace.json", "--plugin", paxos, "--spec", spec, "--spec", spec];
    place.host(&twice).exits(151).says(&["2 specs are given", "recorded with 1", "paxos-spec"]);
}

#[test]
fn a_checkpoint_belongs_to_its_specification() {
    let mut place = Place::new();
    std::fs::copy(bundled("paxos-spec"), place.path("stated.wasm")).expect("writable");
    let search = ["--algo", "bdfs", "--property", "one-value", "--spec", "stated.wasm"];
    let whole = place.run_json("paxos", &search);
    let run = [&["run", bundled("paxos"), "--json"], &search[..]].concat();
    place.resumes_to_the_same(&run, &whole);
    place.interrupted = Some(20);
    assert_eq!(place.host(&[&run[..], &["--checkpoint", "kept"]].concat()).json()["end"], "interrupted");
    place.interrupted = None;
    place.host(&["run", "--resume", "kept"]).exits(0);
    let other = Stated::default().component();
    std::fs::copy(place.path("stated.wasm"), place.path("kept.wasm")).expect("writable");
    // The same properties in another file: a byte of a section that no one reads.
    let mut bytes = std::fs::read(place.path("stated.wasm")).expect("it is there");
    bytes.extend([0, 2, 1, b'x']);
    place.put("stated.wasm", bytes);
    place.interrupted = Some(20);
    place.host(&[&run[..], &["--checkpoint", "again"]].concat());
    place.interrupted = None;
    std::fs::copy(place.path("kept.wasm"), place.path("stated.wasm")).expect("writable");
    place
        .host(&["run", "--resume", "again"])
        .exits(151)
        .says(&["made with the property learns of the spec stated blake3:", "now of the spec stated blake3:"]);
    place.put("stated.wasm", other);
    place.host(&["run", "--resume", "again"]).exits(151);
}

#[test]
fn what_is_no_specification_is_refused() {
    let place = Place::new();
    place.put("plugin.wasm", fixtures::ping_pong()).put("stated.wasm", Stated::default().component());
    place.put("bare.wasm", fixtures::no_exports()).put("text.wasm", "text");
    let run = |options: &[&str]| place.host(&[&["run", bundled("paxos")], options].concat());
    let twice = ["--spec", "stated.wasm", "--spec", "stated.wasm"];
    let cases: [(&[&str], u8, &[&str]); 6] = [
        (&["--spec", "none.wasm"], 150, &["cannot load none.wasm"]),
        (&["--spec", "text.wasm"], 150, &["cannot load text.wasm", "text, not webassembly"]),
        (&["--spec", "bare.wasm"], 150, &["does not export `host:protocol/outside@0.1.0`"]),
        (&["--spec", "plugin.wasm"], 150, &["cannot load plugin.wasm", "is a plugin, and no spec"]),
        (&twice, 151, &["`--spec stated.wasm`: there is another property of the name \"stated\""]),
        (&["--spec", "stated.wasm", "--twin", "1"], 151, &["`--spec stated.wasm`: not with adversaries, twins"]),
    ];
    for (options, code, words) in cases {
        run(options).exits(code).says(words);
    }
    place.host(&["run", "stated.wasm"]).exits(150).says(&["the component is a spec", "`--spec`"]);
    let silent = ["run", "plugin.wasm", "--nodes", "2", "--spec", "stated.wasm"];
    place.host(&silent).exits(151).says(&["plugin does not describe its states"]);
}

/// Neither a violation nor a fault of the protocol, and the report has the path to it.
#[test]
fn a_specification_that_fails_is_a_property_that_cannot_be_evaluated() {
    let place = Place::new();
    let explained = "(call $log (i32.const 3000) (i32.const 6)) unreachable";
    let cases = [
        (Stated { view: "unreachable", ..Stated::default() }, "the spec stated: `view` trapped"),
        (Stated { invariant: explained, ..Stated::default() }, "the spec stated: `invariant` trapped"),
        (Stated { view: "(loop (br 0)) unreachable", ..Stated::default() }, "`view` does not end within 1000000 units"),
        (
            Stated { invariant: "(call $tagged (i32.const 7) (i32.const 0) (i32.const 0))", ..Stated::default() },
            "the spec stated: `invariant` gives a malformed value",
        ),
    ];
    for (stated, words) in cases {
        place.put("stated.wasm", stated.component());
        for algo in ["bdfs", "unfold", "lmc", "walk"] {
            let options = ["--algo", algo, "--spec", "stated.wasm", "--limit", "fuel=1000000", "--out", "o"];
            let ran = place.host(&[&["run", bundled("paxos")], &options[..]].concat()).exits(75);
            assert!(ran.out.contains("stated cannot be evaluated") && ran.out.contains(words), "{algo}: {ran:?}");
        }
        let replay = ["replay", "o/trace.json", "--plugin", bundled("paxos"), "--spec", "stated.wasm"];
        let replayed = place.host(&[&replay[..], &["--limit", "fuel=1000000"]].concat()).exits(75);
        assert!(replayed.out.contains(words), "{replayed:?}");
    }
}

/// A specification counts within one call only: a search that calls it repeatedly, by several workers, has the same end.
#[test]
fn a_specification_remembers_nothing_in_a_search() {
    let place = Place::new();
    place.put("stated.wasm", fixtures::stated_with_memory());
    for options in [&["--algo", "bdfs", "--workers", "1"], &["--algo", "bdfs", "--workers", "2"]] {
        let run = place.run_json("paxos", &[&options[..], &["--spec", "stated.wasm", "--property", "stated"]].concat());
        assert_eq!((&run["result"], &run["properties"][4]["status"]), (&"ok".into(), &"holds".into()), "{run}");
    }
}

/// After any number of polls the end is an interrupt, and neither a finding nor an error.
#[test]
fn a_search_with_a_specification_can_be_interrupted_anywhere() {
    let mut place = Place::new();
    let run = ["run", bundled("paxos"), "--algo", "bdfs", "--json", "--spec", bundled("paxos-spec"), "--audit", "off"];
    place.interrupted = Some(u64::MAX);
    place.host(&run).exits(0);
    let asked = place.asked.load(std::sync::atomic::Ordering::Relaxed);
    for twelfth in 1..12 {
        place.interrupted = Some(asked * twelfth / 12);
        let ran = place.host(&run);
        assert_eq!(ran.code, 130, "after {twelfth}/12 of {asked}: {ran:?}");
        assert!(!ran.out.contains("\"broken\""), "{ran:?}");
    }
}

#[test]
fn a_scenario_names_its_specifications_and_builds_none_from_elsewhere() {
    let place = Place::new();
    std::fs::copy(bundled("paxos-spec"), place.path("stated.wasm")).expect("writable");
    place.put("evil.txt", "");
    let scenario = |spec: &str| {
        let expect = "[expect]\nresult = \"ok\"\n[expect.properties]\none-value = \"holds\"\n";
        format!("plugin = \"{}\"\nspec = {spec}\n[strategy]\nalgo = \"bdfs\"\n{expect}", bundled("paxos"))
    };
    for spec in ["\"stated.wasm\"", "[\"stated.wasm\"]"] {
        place.put("s.toml", scenario(spec));
        place.host(&["test", "s.toml"]).exits(0);
    }
    place.put("s.toml", scenario("3"));
    place.host(&["run", "s.toml"]).exits(151).says(&["s.toml:2: `spec` must be a text in quotes"]);
    std::fs::create_dir(place.path("evil")).expect("writable");
    place.put("evil/host.toml", "[build]\ncommand = \"touch ../built\"\noutput = \"guest.wasm\"\n");
    place.put("s.toml", scenario("\"evil\""));
    place.host(&["run", "s.toml"]).exits(151).says(&["s.toml:2: evil would have to be built", "host build evil"]);
    assert!(!place.path("built").exists());
    // A failure about it leads to its line.
    place.put("s.toml", scenario("[\"stated.wasm\", \"stated.wasm\"]"));
    place.host(&["run", "s.toml"]).exits(151).says(&["s.toml:2: `--spec stated.wasm`: there is another property"]);
}
