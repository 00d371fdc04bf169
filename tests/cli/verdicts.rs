//! One verdict in every report of a run: headline and last line, JSON, exit code, `host test`, JUnit, annotations.

use host_sandbox::fixtures;
use serde_json::{Value, json};

use super::audits::leaves_state_out;
use super::{Place, bundled};

/// A run and its end.
struct Case {
    plugin: &'static str,
    /// The lines of a scenario.
    lines: &'static str,
    result: &'static str,
    code: u8,
}

const fn case(plugin: &'static str, lines: &'static str, result: &'static str, code: u8) -> Case {
    Case { plugin, lines, result, code }
}

/// Every status of a property, of faults and of deadlocks, decides some of these; the reasons for `incomplete` are complete.
const CASES: &[Case] = &[
    // Decided and good.
    case("lock", "[parameters]\nlocked = \"queue\"\n", "ok", 0),
    case("lock", "[strategy]\nsafety-only = true\n", "ok", 0),
    case("lock", "ignore = [\"served\"]\n[strategy]\nalgo = \"unfold\"\n", "ok", 0),
    case("lock", "property = [\"exclusive\"]\n[strategy]\nalgo = \"lmc\"\n", "ok", 0),
    case("lock", "ignore = [\"served\"]\n[sometimes]\ntwo = \"size(nodes) == 2\"\n", "ok", 0),
    // Violated: an `always`, an `eventually`, a deadlock, a fault.
    case("lock", "ignore = [\"served\"]\n[always]\nnone = \"size(nodes) == 0\"\n", "violation", 12),
    case("lock", "", "violation", 13),
    case("two-phase-commit", STOPPED, "violation", 11),
    case("traps.wasm", "nodes = 2\n", "violation", 14),
    // A `sometimes` that is in no state, with all else decided, and with something open.
    case("lock", "ignore = [\"served\"]\n[sometimes]\nthree = \"size(nodes) == 3\"\n", "never-reached", 15),
    case("lock", "[sometimes]\nthree = \"size(nodes) == 3\"\n[strategy]\nalgo = \"lmc\"\n", "never-reached", 15),
    // Not to be evaluated, or not to be trusted.
    case("lock", "ignore = [\"served\"]\n[always]\nodd = \"nodes.all(n, n.nope == 1)\"\n", "error", 75),
    case(
        "restless.wasm",
        "nodes = 2\naudit = \"full\"\n[strategy]\nalgo = \"bdfs\"\n[bounds]\ndepth = 2\n",
        "error",
        14,
    ),
    case(
        "counting.wasm",
        "nodes = 2\naudit = \"full\"\n[strategy]\nalgo = \"bdfs\"\n[bounds]\ndepth = 2\n",
        "error",
        14,
    ),
    // Not decided: by a bound, by a strategy, by an option, since nodes differ.
    case("lock", "[parameters]\nlocked = \"queue\"\n[bounds]\ndepth = 2\n", "incomplete", 0),
    case("lock", "[parameters]\nlocked = \"queue\"\n[bounds]\nstates = 3\n", "incomplete", 0),
    case("lock", "[parameters]\nlocked = \"queue\"\n[bounds]\nlocal-events = 0\n", "incomplete", 0),
    case("lock", "[strategy]\nalgo = \"lmc\"\n", "incomplete", 0),
    case("lock", "[strategy]\nalgo = \"unfold\"\n", "incomplete", 0),
    case("lock", "[parameters]\nlocked = \"queue\"\n[strategy]\nalgo = \"walk\"\nwalks = 9\n", "incomplete", 0),
    case("lock", "[strategy]\nalgo = \"consequence\"\n", "incomplete", 0),
    case("lock", "[strategy]\nalgo = \"bdfs\"\nreduce = true\n", "incomplete", 0),
    case("lock", "twins = [1]\n[strategy]\nalgo = \"bdfs\"\n[bounds]\ndepth = 3\n", "incomplete", 0),
    case("lock", DOUBLED, "incomplete", 0),
];

/// All ends are deadlocks but one.
const STOPPED: &str =
    "nodes = 3\ndeadlock = true\n[parameters]\nstops = \"coordinator\"\n[strategy]\nsafety-only = true\n";

/// Copies of messages.
const DOUBLED: &str =
    "network = \"unordered-duplicating\"\n[faults]\nduplicates = 1\n[strategy]\nalgo = \"bdfs\"\n[bounds]\ndepth = 3\n";

/// The statuses with their verdicts, the one that decides first.
const VERDICTS: [(&str, &[&str]); 5] = [
    ("violation", &["violated"]),
    ("error", &["broken"]),
    ("never-reached", &["never-reached"]),
    ("incomplete", &["unknown"]),
    ("ok", &["holds", "reached", "not-checked"]),
];

/// The verdict by the properties of a run alone.
fn by_properties(run: &Value) -> &'static str {
    let statuses: Vec<&str> =
        run["properties"].as_array().expect("a list").iter().map(|it| it["status"].as_str().expect("a word")).collect();
    let known = VERDICTS.iter().flat_map(|(_, statuses)| *statuses);
    assert!(statuses.iter().all(|status| known.clone().any(|it| it == status)), "{statuses:?}");
    let decides = |names: &[&str]| statuses.iter().any(|status| names.contains(status));
    VERDICTS.iter().find(|(_, names)| decides(names)).map_or("ok", |(verdict, _)| verdict)
}

/// The verdict of a run, and the statuses of its properties.
fn told(place: &Place, case: &Case) -> Value {
    let text = place.host(&["run", "s.toml", "--quiet"]).exits(case.code).out;
    let first = text.lines().next().expect("a headline");
    assert!(first.starts_with(&format!("{}: ", case.result)), "{}: {text}", case.lines);
    assert_eq!(text.lines().last(), Some(first), "the last line says it again");
    let run = place.host(&["run", "s.toml", "--quiet", "--json"]).exits(case.code).json();
    assert_eq!((&run["result"], &run["exit_code"]), (&json!(case.result), &json!(case.code)), "{run:#}");
    let strict = place.host(&["run", "s.toml", "--quiet", "--require-complete", "--json"]);
    let code = if case.result == "incomplete" { 152 } else { case.code };
    assert_eq!(strict.exits(code).json()["result"], case.result);
    run
}

/// Whether `host test` passes with these lines of `[expect]`, as every output of it says.
fn passes(place: &Place, scenario: &str, expect: &str) -> bool {
    place.put("t.scenario.toml", format!("{scenario}{expect}"));
    let ran = place.host(&[
        "test",
        "t.scenario.toml",
        "--annotations",
        "github",
        "--junit",
        "junit.xml",
        "--sarif",
        "out.sarif",
    ]);
    let has_passed = ran.out.contains("\n1 passed, 0 failed");
    let xml = std::fs::read_to_string(place.path("junit.xml")).expect("it is written");
    assert_eq!(has_passed, xml.contains("tests=\"1\" failures=\"0\" errors=\"0\""), "{xml}");
    assert_eq!(has_passed, !xml.contains("<failure "), "{xml}");
    let sarif = std::fs::read_to_string(place.path("out.sarif")).expect("it is written");
    let sarif: Value = serde_json::from_str(&sarif).expect("it is JSON");
    assert_eq!(has_passed, sarif["runs"][0]["results"] == json!([]), "{sarif}");
    assert_eq!(has_passed, !ran.out.contains("::error file=t.scenario.toml"), "{ran:?}");
    assert_eq!(has_passed, ran.out.contains("ok      t.scenario.toml"), "{ran:?}");
    ran.exits(u8::from(!has_passed));
    has_passed
}

#[test]
fn every_output_has_the_verdict_of_the_statuses() {
    let place = Place::new();
    place.put("traps.wasm", fixtures::traps()).put("restless.wasm", leaves_state_out().component());
    place.put("counting.wasm", fixtures::never_the_same());
    let mut seen = Vec::new();
    for case in CASES {
        let plugin = if case.plugin.ends_with(".wasm") { case.plugin } else { bundled(case.plugin) };
        let scenario = format!("plugin = {plugin:?}\n{}", case.lines);
        place.put("s.toml", &scenario);
        let run = told(&place, case);
        // Faults, deadlocks and the search as a whole are no properties.
        let (by_properties, is_whole) = (by_properties(&run), run["end"] == "space-exhausted");
        let is_found = matches!(case.code, 11 | 14);
        assert!(by_properties == case.result || is_found || !is_whole, "{scenario}: {run:#}");
        assert!(case.result != "ok" || is_whole && by_properties == "ok", "{scenario}: {run:#}");
        // Without an expectation a test passes if the run does not end badly, with one if the verdict is the expected one.
        assert_eq!(passes(&place, &scenario, ""), case.code == 0, "{scenario}");
        assert_eq!(passes(&place, &scenario, "[expect.counts]\n"), case.code == 0, "{scenario}");
        for (verdict, _) in VERDICTS {
            let expect = format!("[expect]\nresult = \"{verdict}\"\n");
            assert_eq!(passes(&place, &scenario, &expect), verdict == case.result, "{scenario}{expect}");
        }
        seen.push(case.result);
    }
    assert!(VERDICTS.iter().all(|(verdict, _)| seen.contains(verdict)), "{seen:?}");
}

/// With any other expectation, a run that ends badly is no success unless the scenario expects it.
#[test]
fn an_expectation_without_a_result_expects_a_good_end() {
    let place = Place::new();
    let scenario = format!("plugin = {:?}\n[strategy]\nalgo = \"bdfs\"\n", bundled("lock"));
    assert!(!passes(&place, &scenario, "[expect.properties]\nexclusive = \"holds\"\n"));
    for said in [
        "[expect]\nproperty = \"served\"\n",
        "[expect]\nclass = \"dead\"\n",
        "[expect.properties]\nserved = \"violated\"\n",
    ] {
        assert!(passes(&place, &scenario, said), "{said}");
    }
}

/// The case that was reported as `ok`: by default, with a bound that ends the one member that decides the promise.
#[test]
fn the_default_is_not_ok_where_a_promise_is_open() {
    let place = Place::new();
    let states = ["run", bundled("two-phase-commit"), "--states", "100", "--quiet"];
    for (strict, code) in [(&[][..], 0), (&["--require-complete"], 152)] {
        let ran = place.host(&[&states[..], strict].concat()).exits(code);
        let last = ran.out.lines().last().expect("a verdict");
        assert!(last.starts_with("incomplete: ") && last.contains("not decided: ended"), "{last}");
    }
}
