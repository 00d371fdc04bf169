//! Scenarios in files, and `host test`.

use host_sandbox::fixtures;
use serde_json::{Value, json};

use super::{Place, bundled};

/// A place with ping-pong and a scenario for it. From two fresh nodes ping-pong has 5 global states in a line.
fn ping_pong(more: &str) -> Place {
    let place = Place::new();
    place.put("guest.wasm", fixtures::ping_pong());
    place.put("s.toml", format!("plugin = \"guest.wasm\"\nnodes = 2\n[strategy]\nalgo = \"bdfs\"\n{more}"));
    place
}

#[test]
fn a_scenario_stands_for_options_and_options_stand_above_it() {
    let place =
        ping_pong("[bounds]\ndepth = 3\n[expect]\nresult = \"incomplete\"\n[expect.counts]\nglobal_states = 4\n");
    let ran = place.host(&["run", "s.toml"]).exits(0);
    assert!(ran.out.contains("bounds      depth 3\n") && ran.out.contains("as the scenario says"), "{ran:?}");
    let json = place.host(&["run", "s.toml", "--json"]).exits(0).json();
    assert_eq!((&json["algo"], &json["unmet"]), (&json!("bdfs"), &json!([])));
    // The option applies, and the expectation of the scenario is still compared.
    let ran = place.host(&["run", "s.toml", "--depth", "9", "--algo", "unfold"]).exits(1);
    assert!(ran.out.contains("  algorithm   unfold: ") && ran.out.contains("bounds      depth 9\n"), "{ran:?}");
    assert!(ran.out.contains("not as the scenario expects\n  the result is ok, expected incomplete\n"), "{ran:?}");
}

#[test]
fn parameters_and_limits_of_a_scenario_are_replaced_one_by_one() {
    let place = Place::new();
    place.put(
        "s.toml",
        format!(
            "plugin = {:?}\n[parameters]\nproposers = 2\nbug = \"last-response\"\n[limits]\nfuel = 1000000\nitems = 3\n\
             [strategy]\nalgo = \"bdfs\"\n[bounds]\ndepth = 1\n",
            bundled("paxos")
        ),
    );
    let json = place.host(&["run", "s.toml", "--set", "bug=none", "--limit", "items=9", "--json"]).exits(0).json();
    assert_eq!(json["scenario"]["parameters"], json!({ "proposers": "2" }));
    assert_eq!(json.get("unmet"), None, "it expects nothing");
}

#[test]
fn a_violation_has_its_own_exit_code_whatever_is_expected() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::traps());
    let scenario = |expect: &str| {
        let text = format!("plugin = \"guest.wasm\"\nnodes = 1\n[expect]\nresult = \"{expect}\"\n");
        place.put("s.toml", text);
        place.host(&["run", "s.toml", "--out", "found"]).exits(14).out.contains("not as the scenario expects")
    };
    assert!(scenario("ok"));
    assert!(!scenario("violation"));
}

#[test]
fn what_is_wrong_in_a_scenario_is_named_with_file_line_and_key() {
    let check = |more: &str, words: &[&str]| ping_pong(more).host(&["run", "s.toml"]).exits(151).says(words);
    check("algo = \"bdfs\"", &["s.toml:5: ", "not TOML", "duplicate key"]);
    check("seeed = 3", &["s.toml:5: [strategy] has no key `seeed`", "there are: algo"]);
    check("[bounds]\ntime = \"5\"", &["s.toml:6: ", "with a unit"]);
    check("[faults]\nfires = 1", &["s.toml:6: [faults] has no key `fires` in this version", "there are: resets"]);
    for said in ["plugin = \"guest.wasm\"", "parameters = { a = \"1\" }"] {
        let words = ["s.toml:6: there is no node 5 in a cluster of 2", "from 0 to 1"];
        check(&format!("[[node]]\nid = 5\n{said}"), &words);
    }
    check(
        "[[node]]\nid = 1\nplugin = \"guest.wasm\"\n[[node]]\nid = 2\nplugin = \"guest.wasm\"",
        &["s.toml:9: there is no node 2"],
    );
    // Errors that only the plugin or the strategy can detect.
    let place = ping_pong("");
    place.put("s.toml", "plugin = \"guest.wasm\"\nnodes = 2\n\n[bounds]\ndepth = 3\n[strategy]\nalgo = \"lmc\"\n");
    place.host(&["run", "s.toml"]).exits(151).says(&["s.toml:5: the strategy lmc-opt has no option `--depth`"]);
    place.put("s.toml", format!("plugin = {:?}\n[parameters]\ncolour = \"red\"\n", bundled("paxos")));
    place.host(&["run", "s.toml"]).exits(151).says(&["s.toml:3: paxos has no parameter `colour`"]);
    place.put("s.toml", "nodes = 3\n");
    place.host(&["run", "s.toml"]).exits(151).says(&["s.toml: it does not say which plugin", "plugin = "]);
    place.put("s.toml", "plugin = \"none.wasm\"\n");
    place.host(&["run", "s.toml"]).exits(150).says(&["none.wasm"]);
    place.host(&["run", "none.toml"]).exits(151).says(&["cannot read the scenario none.toml"]);
    let json = place.host(&["run", "none.toml", "--json"]).exits(151).json();
    assert_eq!(json["result"], "error");
}

/// A property with an expectation must exist, for any result of the search.
#[test]
fn an_expectation_of_a_property_that_is_not_there_is_refused() {
    let known = "it has: monotone, stored-by-majority, write-is-read";
    for (expect, line) in [("[expect]\nproperty = \"monotome\"", 3), ("[expect.properties]\nmonotome = \"holds\"", 3)] {
        let place = Place::new();
        place.put("s.toml", format!("plugin = {:?}\n{expect}\n", bundled("register")));
        let what = format!("s.toml:{line}: `[expect]`: register has no property \"monotome\"");
        place.host(&["run", "s.toml"]).exits(151).says(&[&what, known]);
        let ran = place.host(&["test", "s.toml"]).exits(1);
        assert!(ran.out.contains(&what) && ran.out.contains(known), "{ran:?}");
    }
}

/// A failed test reports the verdict of `host run` in place of the expected one.
#[test]
fn a_test_that_fails_reports_its_result() {
    let place = Place::new();
    place.put("traps.wasm", fixtures::traps()).put("far.wasm", fixtures::ping_pong_too_far());
    let failed = |scenario: &str| {
        place.put("s.toml", scenario);
        let ran = place.host(&["test", "s.toml"]).exits(1);
        let wrong: Vec<String> = ran.out.lines().skip(3).map(str::to_owned).collect();
        (wrong[0].trim().to_owned(), wrong[1].trim().to_owned())
    };
    let trap = failed("plugin = \"traps.wasm\"\nnodes = 1\n[expect]\nresult = \"ok\"\n");
    assert_eq!(trap.0, "the result is violation, expected ok");
    assert!(trap.1.starts_with("`host run s.toml` shows it: violation: trap of node 0"), "{trap:?}");
    let far = failed("plugin = \"far.wasm\"\nnodes = 2\n[expect]\nresult = \"ok\"\n").1;
    let run = place.host(&["run", "s.toml"]).exits(12).out;
    let verdict = run.lines().next().expect("a verdict");
    assert_eq!(far, format!("`host run s.toml` shows it: {verdict}"));
    let error = failed(&format!(
        "plugin = {:?}\n[expect]\nresult = \"ok\"\n[always]\na = \"node.nope == 1\"\n",
        bundled("paxos")
    ));
    assert_eq!(error.0, "the result is error, expected ok");
    assert!(error.1.contains("shows it: error: a cannot be evaluated") && error.1.contains("`nope`"), "{error:?}");
}

#[test]
fn tests_that_fail_say_why_and_the_others_run() {
    let place = ping_pong("[expect]\nresult = \"ok\"\n[expect.counts]\nglobal_states = 5\n");
    std::fs::create_dir_all(place.path("deep/scenarios")).expect("writable");
    let scenario = |name: &str, text: &str| {
        place.put(name, format!("plugin = \"../../guest.wasm\"\nnodes = 2\n{text}"));
    };
    scenario("deep/scenarios/count.toml", "[strategy]\nalgo = \"bdfs\"\n[expect.counts]\nglobal_states = 6\n");
    scenario("deep/scenarios/quiet.toml", "");
    scenario("deep/scenarios/wrong.toml", "[bounds]\nwidth = 1\n");
    scenario("deep/not-a-test.toml", "[bounds]\nwidth = 1\n");
    place.put("traps.wasm", fixtures::traps());
    place.put("deep/trap.scenario.toml", "plugin = \"../traps.wasm\"\nnodes = 1\n");
    place.host(&["run", "traps.wasm", "--nodes", "1", "--out", "out"]).exits(14);
    let ran = place.host(&["test", "s.toml", "deep", "--junit", "r.xml", "--sarif", "r.sarif"]).exits(1);
    assert!(ran.out.starts_with("running 5 tests\n"), "{ran:?}");
    for words in [
        "ok      s.toml ",
        "ok      deep/scenarios/quiet.toml ",
        "FAILED  deep/scenarios/count.toml ",
        "        global states is 5, expected 6\n",
        "        deep/scenarios/wrong.toml:4: [bounds] has no key `width` in this version\n",
        "        violation: `handle-local` trapped",
        "\n2 passed, 3 failed in ",
    ] {
        assert!(ran.out.contains(words), "no {words:?} in {}", ran.out);
    }
    let xml = std::fs::read_to_string(place.path("r.xml")).expect("the results are there");
    assert!(xml.contains("tests=\"5\" failures=\"2\" errors=\"1\""), "{xml}");
    let sarif = std::fs::read_to_string(place.path("r.sarif")).expect("the failures are there");
    let sarif: Value = serde_json::from_str(&sarif).expect("it is JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("a list of results");
    let rules: Vec<&Value> = results.iter().map(|result| &result["ruleId"]).collect();
    assert_eq!(rules, ["unexpected-result", "not-run", "unexpected-result"], "{sarif}");
    // The trap comes with its events, and the count without.
    let flow = &results[2]["codeFlows"][0]["threadFlows"][0]["locations"];
    assert!(
        flow[0]["location"]["message"]["text"].as_str().is_some_and(|text| text.starts_with("1. node 0")),
        "{sarif}"
    );
    assert!(results[0].get("codeFlows").is_none(), "{sarif}");
}

/// A test keeps the same files as `host run --out`, and none unless requested.
#[test]
fn what_tests_leave_behind_is_kept_on_demand() {
    let place = ping_pong("");
    place.put("traps.wasm", fixtures::traps());
    std::fs::create_dir_all(place.path("deep/scenarios")).expect("writable");
    place.put("deep/scenarios/trap.toml", "plugin = \"../../traps.wasm\"\nnodes = 1\n");
    let before = place.list();
    let ran = place.host(&["test", "deep", "s.toml"]).exits(1);
    assert_eq!(place.list(), before, "{ran:?}");
    place.host(&["test", "deep", "s.toml", "--out", "kept"]).exits(1);
    place.host(&["run", "deep/scenarios/trap.toml", "--out", "run"]).exits(14);
    let read = |path: &str| std::fs::read_to_string(place.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    for file in ["trace.json", "trace.txt"] {
        assert_eq!(read(&format!("kept/deep/scenarios/trap/{file}")), read(&format!("run/{file}")));
    }
    let stats = |path: &str| serde_json::from_str::<Value>(&read(path)).expect("JSON");
    let (kept, run) = (stats("kept/deep/scenarios/trap/stats.json"), stats("run/stats.json"));
    assert_eq!((&kept["result"], &kept["command"]), (&run["result"], &json!("host run deep/scenarios/trap.toml")));
    assert_eq!(stats("kept/s/stats.json")["result"], "ok");
    // The drawing says how to replay it from here.
    assert!(read("kept/deep/scenarios/trap/trace.svg").contains("kept/deep/scenarios/trap/trace.json"));
}

/// A saved trace is a test: it passes while it shows what it recorded. Without a plugin next to it, its plugin is looked
/// for in `plugins`.
#[test]
fn a_saved_trace_is_a_test() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::traps());
    place.host(&["run", "guest.wasm", "--nodes", "1", "--out", "out/one"]).exits(14);
    let ran = place.host(&["test", "out/one"]).exits(1);
    assert!(ran.out.contains("FAILED  out/one/trace.json") && ran.out.contains("no plugin plugins/guest"), "{ran:?}");
    let ran = place.host(&["test", "out/one", "--plugin", "guest.wasm"]).exits(0);
    assert!(ran.out.contains("ok      out/one/trace.json "), "{ran:?}");
    // From above, a trace that a run has written to `out` is no test.
    place.host(&["test"]).exits(151).says(&["no scenario and no trace in ."]);
}

/// In any folder, files of a run are no tests from above: a counterexample of an old build is no promise of this one.
#[test]
fn what_runs_leave_is_no_test() {
    let place = Place::new();
    place.put("traps.wasm", fixtures::traps()).put("guest.wasm", fixtures::ping_pong());
    for folder in ["scenarios", "ring/scenarios"] {
        std::fs::create_dir_all(place.path(folder)).expect("writable");
        let up = if folder == "scenarios" { "../" } else { "../../" };
        place.put(&format!("{folder}/quiet.toml"), format!("plugin = \"{up}guest.wasm\"\nnodes = 2\n"));
    }
    place.put("scenarios.toml", "plugin = \"traps.wasm\"\nnodes = 1\n[expect]\nresult = \"violation\"\n");
    place.put("ring/ring.wat", "(module)");
    let all = |paths: &[&str], running: usize| {
        let ran = place.host(&[&["test"], paths].concat()).exits(0);
        assert!(ran.out.starts_with(&format!("running {running} test")), "{paths:?}: {}", ran.out);
    };
    all(&["."], 2);
    for out in ["found", "deep/er/found", "trace", "found/scenarios.old", "ring", "ring/found", "ring/out", "out/x"] {
        place.host(&["run", "traps.wasm", "--nodes", "1", "--out", out]).exits(14);
        place.host(&["simulate", "traps.wasm", "--time", "1s", "--out", out, "--", "--nodes", "1"]).exits(14);
        place.host(&["run", "traps.wasm", "--nodes", "1", "--continue", "--out", out]).exits(14);
        assert!(place.path(out).join("trace.json").is_file(), "{out}");
        all(&["."], 2);
        all(&["ring"], 1);
    }
    // By default it is a folder in `out`; of tests, one for each of them below the folder that is named.
    place.host(&["run", "traps.wasm", "--nodes", "1"]).exits(14);
    place.host(&["test", ".", "scenarios.toml", "--out", "kept"]).exits(0);
    assert!(place.path("kept/scenarios.toml/trace.json").is_file());
    assert!(place.path("kept/ring/scenarios/quiet/stats.json").is_file());
    all(&["."], 2);
    // Into `scenarios` itself: the trace is one then, and the result in the same folder none.
    place.host(&["run", "guest.wasm", "--nodes", "2", "--algo", "bdfs", "--out", "scenarios"]).exits(0);
    all(&["."], 2);
    // A named path is a test.
    for named in [&["found"][..], &["found/trace.json"], &["found/trace.json", "found"]] {
        all(&[named, &["--plugin", "traps.wasm"]].concat(), 1);
    }
    place.host(&["test", "deep"]).exits(151).says(&["no scenario and no trace in deep", "named"]);
}

/// A folder holds the files of one run. Files that the user has changed there, and the start of the run, stay.
#[test]
fn a_folder_that_is_used_again_has_no_old_counterexample() {
    let place = Place::new();
    place.put("traps.wasm", fixtures::traps()).put("guest.wasm", fixtures::ping_pong());
    let list = |folder: &str| {
        let entries = std::fs::read_dir(place.path(folder)).expect("the folder is there");
        let names = entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        names
    };
    let fine = ["run", "guest.wasm", "--nodes", "2", "--algo", "bdfs"];
    let trap = ["run", "traps.wasm", "--nodes", "1"];
    let simulated = |out| place.host(&["simulate", "traps.wasm", "--time", "1s", "--out", out, "--", "--nodes", "1"]);
    for first in ["run", "simulate"] {
        match first {
            "run" => place.host(&[&trap[..], &["--out", "found"]].concat()).exits(14),
            _ => simulated("found").exits(14),
        };
        assert!(list("found").contains(&"trace.json".to_owned()), "{first}");
        place.host(&[&fine[..], &["--out", "found"]].concat()).exits(0);
        assert_eq!(list("found"), ["stats.json"], "{first}");
    }
    // Other files, changed ones and the prefix of the run stay.
    place.host(&[&trap[..], &["--out", "found"]].concat()).exits(14);
    place.put("found/mine.json", "{}").put("found/trace.txt", "what I think of it");
    place.host(&[&fine[..], &["--out", "found"]].concat()).exits(0);
    assert_eq!(list("found"), ["mine.json", "stats.json", "trace.txt"]);
    place.host(&["run", "guest.wasm", "--nodes", "2", "--property", "nothing", "--out", "found"]).exits(151);
    assert_eq!(list("found"), ["mine.json", "stats.json", "trace.txt"], "a run that is refused changes nothing");
    let paxos = bundled("paxos");
    place.host(&["run", paxos, "--set", "bug=last-response", "--out", "p"]).exits(12);
    let mut trace: Value =
        serde_json::from_str(&std::fs::read_to_string(place.path("p/trace.json")).expect("there")).expect("JSON");
    trace["finding"].take();
    trace["steps"].as_array_mut().expect("a list").truncate(2);
    trace.as_object_mut().expect("an object").remove("finding");
    place.put("prefix.json", trace.to_string());
    place.host(&["run", paxos, "--prefix", "p/trace.json", "--depth", "0", "--set", "bug=last-response", "--out", "p"]);
    assert!(place.path("p/trace.json").is_file(), "the prefix is there");
}

/// For any number of tests that need it: also if it fails.
#[test]
fn a_plugin_is_built_once_for_all_tests() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("ring/scenarios")).expect("writable");
    place.put("ring/made.wasm", fixtures::ping_pong());
    for (nth, name) in ["a", "b", "c"].iter().enumerate() {
        let up = ["..", "../../ring", "../scenarios/.."][nth];
        place.put(&format!("ring/scenarios/{name}.toml"), format!("plugin = \"{up}\"\nnodes = 2\n"));
    }
    for (command, code) in [("cp made.wasm built.wasm", 0), ("false", 1)] {
        let command = format!("echo built >> log.txt; {command}");
        place.put("ring/host.toml", format!("[build]\ncommand = \"{command}\"\noutput = \"built.wasm\"\n"));
        place.put("ring/log.txt", "");
        let ran = place.host(&["test", "ring"]).exits(code);
        assert!(ran.out.starts_with("running 3 tests\n"), "{ran:?}");
        let log = std::fs::read_to_string(place.path("ring/log.txt")).expect("it was written");
        assert_eq!(log, "built\n", "{ran:?}");
    }
}

#[test]
fn a_folder_without_tests_is_an_error() {
    let place = Place::new();
    std::fs::create_dir(place.path("empty")).expect("writable");
    place.host(&["test", "empty"]).exits(151).says(&["no scenario and no trace in empty", "scenarios"]);
    place.host(&["test", "none"]).exits(151).says(&["cannot read none"]);
    // Without a path it is the folder here.
    place.host(&["test"]).exits(151).says(&["no scenario and no trace in ."]);
}

#[test]
fn tests_are_left_out_by_what_their_paths_contain() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::ping_pong());
    for name in ["short", "long", "longer"] {
        place
            .put(&format!("{name}.scenario.toml"), "plugin = \"guest.wasm\"\nnodes = 2\n[strategy]\nalgo = \"bdfs\"\n");
    }
    let test = |options: &[&str]| place.host(&[&["test", "."], options].concat());
    let all = test(&[]).exits(0).out;
    assert!(all.starts_with("running 3 tests\n") && all.contains("\n3 passed, 0 failed in"), "{all}");
    let some = test(&["--skip", "long", "--skip", "./longer."]).exits(0).out;
    assert!(some.starts_with("running 1 test, 2 skipped\n") && some.contains("\n1 passed, 0 failed in"), "{some}");
    assert!(some.contains("short.scenario.toml") && !some.contains("long"), "{some}");
    test(&["--skip", "long", "--skip", "lond"]).exits(151).says(&["`--skip lond` fits no test"]);
    test(&["--skip", "o"]).exits(151).says(&["`--skip` leaves no test"]);
}
