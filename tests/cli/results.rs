//! Verdicts and counts on the bundled plugins. The counts are derived in the READMEs of the plugins.

use host_sandbox::fixtures::{self, Guest};
use serde_json::{Value, json};

use super::{Place, bundled, folder};

fn counts<'v>(json: &'v Value, names: &[&str]) -> Vec<&'v Value> {
    names.iter().map(|name| &json["counts"][name]).collect()
}

#[test]
fn paxos_has_the_counts_of_the_paper() {
    let place = Place::new();
    let of = ["global_states", "transitions", "system_states"];
    let boot = place.run_json("paxos", &["--algo", "bdfs"]);
    assert_eq!(boot["result"], "ok");
    assert_eq!(counts(&boot, &of), [7_068, 37_012, 993]);
    let event = place.run_json("paxos", &["--algo", "bdfs", "--set", "init=event", "--safety-only"]);
    assert_eq!(event["result"], "ok");
    assert_eq!(counts(&event, &of), [15_648, 73_933, 1_069]);
    assert_eq!(place.list(), [""; 0], "an ok run leaves no file");
}

#[test]
fn local_model_checking_builds_no_system_state_of_correct_paxos() {
    let result = Place::new().run_json("paxos", &["--algo", "lmc", "--safety-only"]);
    assert_eq!((&result["result"], &result["algo"]), (&json!("ok"), &json!("lmc-opt")));
    assert_eq!(result.get("decided_by"), None, "that is the strategy itself");
    assert_eq!(counts(&result, &["system_states", "preliminary_violations"]), [0, 0]);
}

/// The portfolio is the default of `--algo`; its answer is that of a member, with the guarantees and counts of that one.
#[test]
fn the_default_says_who_had_the_answer() {
    let place = Place::new();
    let result = place.run_json("paxos", &["--set", "init=event", "--safety-only"]);
    assert_eq!(
        (&result["result"], &result["algo"], &result["decided_by"]),
        (&json!("ok"), &json!("auto"), &json!("bdfs"))
    );
    assert_eq!(counts(&result, &["global_states", "transitions"]), [15_648, 73_933]);
    let text = place.host(&["run", bundled("paxos"), "--set", "init=event", "--safety-only"]).exits(0).out;
    let row = "auto, decided by bdfs: every state is reached; complete within the bounds\n";
    assert!(text.contains(row), "no {row:?} in {text}");
    // 67 million global states are too many for one turn, and few with a reduction.
    let two = place.run_json("paxos", &["--set", "proposers=2", "--safety-only"]);
    assert_eq!((&two["result"], &two["decided_by"]), (&json!("ok"), &json!("bdfs --reduce")));
    assert_eq!((&two["assumed"]["reduced"], &two["unreached"]), (&json!(true), &Value::Null));
    let agreement = two["properties"].as_array().expect("a list").iter().find(|it| it["name"] == "agreement");
    assert_eq!(agreement.expect("it is there")["status"], "holds");
    // No member has an answer.
    let none = place.run_json("paxos", &["--set", "proposers=2", "--states", "1000"]);
    assert_eq!(
        (&none["result"], &none["end"], none.get("decided_by")),
        (&json!("incomplete"), &json!("state-bound"), None)
    );
}

#[test]
fn the_time_of_the_soundness_verification_is_part_of_that_of_the_search() {
    let place = Place::new();
    // Something preliminary is found on the tree: the state ----r, which its README derives.
    let verified = place.run_json("tree", &["--algo", "lmc-gen"]);
    assert!(verified["counts"]["soundness_checks"].as_u64() > Some(0), "{verified}");
    let seconds = |name: &str| verified["seconds"][name].as_f64().expect("a number");
    assert!(0.0 < seconds("verification") && seconds("verification") <= seconds("search"), "{verified}");
    let ran = place.host(&["run", bundled("tree"), "--algo", "lmc-gen"]).exits(0);
    assert!(ran.out.contains(" s of it verification), memory"), "{ran:?}");
    for algo in ["bdfs", "unfold", "dpor"] {
        let result = place.run_json("tree", &["--algo", algo]);
        assert_eq!(result["seconds"]["verification"], Value::Null, "{algo} verifies nothing afterwards");
    }
}

/// The basis of an answer is reported if it differs from the exploration of the strategy: of a receiver that counts equal messages, the
/// local states have no end; under a bound on local events that leaves nothing out, they say so themselves.
#[test]
fn the_report_says_what_the_answer_rests_on() {
    let place = Place::new();
    let forget = ["--algo", "lmc", "--set", "bug=forget"];
    let once = ["--algo", "lmc", "--set", "init=event", "--local-events", "2"];
    let cases = [
        ("retransmission", &forget[..], json!("unfolding"), Some("answer from the causal unfolding, ")),
        ("paxos", &once, json!("local-states"), Some("answer complete under --local-events: ")),
        ("paxos", &["--algo", "lmc"], Value::Null, None),
        ("paxos", &["--algo", "unfold"], Value::Null, None),
    ];
    for (plugin, options, basis, row) in cases {
        assert_eq!(place.run_json(plugin, options)["basis"], basis, "{plugin} {options:?}");
        let out = place.host(&[&["run", bundled(plugin)], options].concat()).out;
        let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
        let rows = ["answer from ", "answer complete "];
        assert_eq!(rows.iter().any(|row| words.contains(row)), row.is_some(), "{plugin} {options:?}: {out}");
        assert!(row.is_none_or(|row| words.contains(row)), "{plugin} {options:?}: {out}");
    }
}

#[test]
fn query_tree_and_fanout_have_their_counts() {
    let place = Place::new();
    let of = ["global_states", "transitions"];
    assert_eq!(counts(&place.run_json("query", &["--algo", "bdfs"]), &of), [16, 24]);
    assert_eq!(counts(&place.run_json("fanout", &["--algo", "bdfs", "--nodes", "10"]), &of), [1_024, 5_120]);
    assert_eq!(place.run_json("tree", &["--algo", "bdfs"])["counts"]["global_states"], 9);
    assert_eq!(place.run_json("tree", &["--algo", "lmc-gen"])["counts"]["system_states"], 4);
}

#[test]
fn every_strategy_accepts_every_correct_plugin() {
    let place = Place::new();
    for plugin in ["fanout", "paxos", "query", "tree"] {
        for algo in ["bdfs", "lmc", "lmc-opt", "unfold"] {
            let result = place.run_json(plugin, &["--algo", algo, "--require-complete", "--safety-only"]);
            assert_eq!(result["result"], "ok", "{algo} on {plugin}");
        }
    }
}

#[test]
fn the_object_has_all_keys_and_null_for_what_a_strategy_does_not_count() {
    let result = Place::new().run_json("query", &["--algo", "bdfs"]);
    let keys: Vec<&String> = result.as_object().expect("an object").keys().collect();
    let expected = [
        "result_version",
        "result",
        "end",
        "exit_code",
        "command",
        "algo",
        "plugin",
        "scenario",
        "assumed",
        "counts",
        "levels",
        "symmetry",
        "depth",
        "seconds",
        "memory_peak_bytes",
        "properties",
        "not_covered",
        "unreached",
        "never",
        "deadlock",
        "violations",
        "audit",
    ];
    // Keys are sorted here because this crate reads JSON into a sorted map; the text has them in this order.
    let mut sorted = expected;
    sorted.sort_unstable();
    let mut keys: Vec<&str> = keys.into_iter().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, sorted);
    assert_eq!(result["end"], "space-exhausted");
    assert_eq!(counts(&result, &["events", "preliminary_violations", "soundness_checks"]), [&Value::Null; 3]);
    assert_eq!(result["scenario"], json!({ "nodes": 2, "parameters": {}, "network": "unordered" }));
    assert!(result["plugin"]["digest"].as_str().is_some_and(|digest| digest.starts_with("blake3:")));
}

#[test]
fn the_same_command_gives_the_same_result() {
    let place = Place::new();
    for algo in ["auto", "bdfs", "lmc", "lmc-gen", "unfold"] {
        let run = || {
            let mut result = place.run_json("paxos", &["--algo", algo]);
            for key in ["seconds", "memory_peak_bytes"] {
                result[key] = Value::Null;
            }
            result
        };
        assert_eq!(run(), run(), "{algo}");
    }
}

#[test]
fn the_text_begins_with_the_verdict_and_says_what_was_assumed() {
    let run = ["run", bundled("paxos"), "--algo", "bdfs", "--safety-only", "--set", "init=event", "-v"];
    let ran = Place::new().host(&run).exits(0);
    assert!(ran.out.starts_with("ok: "), "{ran:?}");
    assert_eq!(ran.out.lines().next(), ran.out.lines().last(), "the verdict is the first and the last line");
    assert!(
        ran.out
            .lines()
            .nth(1)
            .is_some_and(|it| it.starts_with("explored 15,648 global states, 73,933 transitions in ")),
        "{ran:?}"
    );
    for line in [
        "  global states  15,648\n",
        "  transitions    73,933\n",
        "  nodes       3\n",
        "bug=none (default), init=event, learners=1 (default), model=lmc (default), proposers=auto (default), quorum=off (default)\n",
        "  bounds      none\n",
        "--algo bdfs --safety-only --set init=event -v\n",
        "not covered\n  resets      try --resets 1\n  duplicates  try --network unordered-duplicating\n  breaks      try --network ordered --breaks 1\n",
        "  chosen                       sometimes   reached\n",
    ] {
        assert!(ran.out.contains(line), "no {line:?} in {}", ran.out);
    }
    assert_eq!(ran.err, "");
}

#[test]
fn a_bound_makes_a_result_incomplete() {
    let place = Place::new();
    let two = ["--set", "proposers=2"];
    let cases: [(&[&str], &str, &str); 6] = [
        (&["--algo", "bdfs", "--depth", "3"], "depth-bound", "--depth"),
        (&["--algo", "unfold", "--local-events", "0"], "local-event-bound", "--local-events"),
        (&["--algo", "bdfs", "--states", "10"], "state-bound", "--states"),
        (&["--algo", "bdfs", "--time", "20ms"], "time-bound", "--time"),
        (&["--algo", "unfold", "--memory", "1MiB"], "memory-bound", "--memory"),
        (&["--algo", "lmc", "--time", "20ms"], "time-bound", "--time"),
    ];
    for (options, end, option) in cases {
        let options = [options, &two].concat();
        let result = place.run_json("paxos", &options);
        assert_eq!((&result["result"], &result["end"]), (&json!("incomplete"), &json!(end)), "{options:?}");
        assert_eq!(result["exit_code"], 0);
        assert_eq!(place.run_json("paxos", &[&options[..], &["--require-complete"]].concat())["exit_code"], 152);
        let ran = place.host(&[&["run", bundled("paxos")], &options[..]].concat()).exits(0);
        let verdict = ran.out.lines().next().expect("there is a verdict");
        assert!(verdict.starts_with("incomplete: ") && verdict.contains(option), "{ran:?}");
    }
}

#[test]
fn an_interrupted_search_reports_what_it_has() {
    let place = Place { interrupted: Some(40), ..Place::new() };
    let result = place.run_json("paxos", &["--algo", "bdfs", "--set", "proposers=2"]);
    assert_eq!((&result["result"], &result["end"]), (&json!("incomplete"), &json!("interrupted")));
    assert!(result["counts"]["global_states"].as_u64().is_some_and(|number| number > 0), "{result}");
}

#[test]
fn progress_is_shown_on_request() {
    let place = Place::new();
    let arguments = ["run", bundled("paxos"), "--algo", "bdfs", "--set", "proposers=2", "--time", "2s", "--progress"];
    let ran = place.host(&arguments).exits(0);
    assert!(ran.err.contains("   1 s: ") && ran.err.contains(" global states, "), "{ran:?}");
    assert!(ran.err.contains(" waiting, depth "), "{ran:?}");
}

#[test]
fn a_folder_is_built_first_and_says_so() {
    let place = Place::new();
    let folder = folder("query");
    let folder = folder.to_str().expect("text");
    let ran = place.host(&["run", folder, "--algo", "bdfs"]).exits(0);
    assert!(ran.out.starts_with("ok: ") && ran.err.starts_with("build: "), "{ran:?}");
    assert_eq!(place.host(&["run", folder, "--quiet"]).exits(0).err, "");
    let ran = place.host(&["build", folder]).exits(0);
    assert!(ran.out.trim_end().ends_with("plugins/query.wasm"), "{ran:?}");
}

#[test]
fn inspect_shows_what_a_plugin_is_made_of() {
    let place = Place::new();
    let ran = place.host(&["inspect", bundled("paxos")]).exits(0);
    for words in ["paxos 0.1.0: Single-decree Paxos", "blake3:", "proposers=auto", "agreement", "always, system scope"]
    {
        assert!(ran.out.contains(words), "no {words:?} in {}", ran.out);
    }
    let json = place.host(&["inspect", bundled("paxos"), "--json"]).exits(0).json();
    assert_eq!(json["about"]["nodes"], 3);
    let optional = [
        "clients",
        "completion",
        "defaults",
        "describe",
        "durable",
        "events",
        "names",
        "neighbourhood",
        "quorum",
        "symmetry",
        "timing",
        "transport",
        "views",
    ];
    assert_eq!(json["optional"], json!(optional));
    assert_eq!(json["modules"][0]["memories"][0]["pages_min"], 2, "128 KiB: the stack of a guest is small");
}

#[test]
fn inspect_names_globals_tables_and_second_memories() {
    let place = Place::new();
    place.put("globals.wasm", fixtures::global_counter()).put("two.wasm", fixtures::two_memories());
    let globals = place.host(&["inspect", "globals.wasm", "--json"]).exits(0).json();
    assert!(globals["snapshot"]["captured_globals"].as_u64().is_some_and(|number| number > 0), "{globals}");
    let two = place.host(&["inspect", "two.wasm", "--json"]).exits(0).json();
    assert_eq!(two["modules"][0]["memories"].as_array().map(Vec::len), Some(2));
}

#[test]
fn list_names_strategies_and_plugins() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("plugins/ring")).expect("writable");
    place.put("plugins/ring/Cargo.toml", "").put("plugins/ring/README.md", "# ring\n\nA token goes\nround. More.\n");
    let ran = place.host(&["list"]).exits(0);
    assert!(ran.out.contains("  plugins/ring  A token goes round.\n"), "{ran:?}");
    let json = place.host(&["list", "--json"]).exits(0).json();
    let names: Vec<&Value> = json["strategies"].as_array().expect("a list").iter().map(|row| &row["name"]).collect();
    let table: Vec<&str> = host_search::strategy::STRATEGIES.iter().map(|strategy| strategy.name).collect();
    assert_eq!(names, table);
    assert_eq!(json["plugins"][0], json!({ "name": "ring", "path": "plugins/ring", "summary": "A token goes round." }));
}

#[test]
fn help_teaches_exit_codes_and_examples() {
    let place = Place::new();
    for arguments in [&["--help"][..], &["run", "--help"], &["replay", "--help"]] {
        let ran = place.host(arguments).exits(0);
        assert!(ran.out.contains("Examples:\n"), "{ran:?}");
        for (exit, meaning) in host::exit::TABLE {
            assert!(ran.out.contains(&format!("{:>5}  {meaning}", exit.code())), "{meaning} in {ran:?}");
        }
    }
    assert!(place.host(&["--version"]).exits(0).out.starts_with("host "));
}

#[test]
fn time_bounds_hold_where_handlers_are_slow() {
    let place = Place::new();
    // Each event takes some milliseconds and leads to another state, without end.
    let local = "
        (i32.store (i32.const 1040) (i32.add (i32.load (i32.const 1040)) (i32.const 1)))
        (i32.store (i32.const 1048) (i32.const 5000000))
        (loop $again
          (i32.store (i32.const 1048) (i32.sub (i32.load (i32.const 1048)) (i32.const 1)))
          (br_if $again (i32.load (i32.const 1048))))
        (call $list (i32.const 0) (i32.const 0))";
    place.put("guest.wasm", Guest { local: local.into(), ..Guest::default() }.component());
    for algo in ["bdfs", "lmc", "unfold"] {
        let run = ["run", "guest.wasm", "--nodes", "1", "--algo", algo, "--time", "300ms", "--json"];
        let result = place.host(&run).exits(0).json();
        assert_eq!(result["end"], "time-bound");
        // Thousands of such handlers would take tens of seconds.
        assert!(result["seconds"]["search"].as_f64().is_some_and(|seconds| seconds < 5.0), "{algo}: {result:#}");
    }
}

#[test]
fn unreached_events_are_reported() {
    let place = Place::new();
    place.put("ping.wasm", fixtures::ping_pong()).put("chooser.wasm", fixtures::chooser());
    let cases = [
        // Nothing can happen without the one local event.
        (&["ping.wasm", "--nodes", "2", "--algo", "bdfs", "--local-events", "0"][..], json!(["go"]), 0, Value::Null),
        // Its message has no time to arrive.
        (&["ping.wasm", "--nodes", "2", "--algo", "bdfs", "--depth", "1"], json!([]), 1, Value::Null),
        (&["ping.wasm", "--nodes", "2", "--algo", "bdfs"], json!([]), 0, Value::Null),
        // One of three times two answers.
        (&["chooser.wasm", "--nodes", "1", "--algo", "walk", "--walks", "1", "--depth", "1"], json!([]), 0, json!(5)),
    ];
    for (run, local_events, messages, outcomes) in cases {
        let run = [&["run"], run].concat();
        let unreached = json!({ "local_events": local_events, "messages": messages, "outcomes": outcomes });
        let report = place.host(&[&run[..], &["--json"]].concat()).exits(0).json();
        assert_eq!((&report["unreached"], &report["never"]), (&unreached, &unreached), "{run:?}");
        let all = unreached == json!({ "local_events": [], "messages": 0, "outcomes": null });
        assert_eq!(place.host(&run).exits(0).out.contains("never reached\n"), !all, "{run:?}");
    }
    // A reduced search proves nothing about the states that it leaves out.
    let reduced = ["run", "ping.wasm", "--nodes", "2", "--algo", "bdfs", "--reduce", "--json"];
    assert_eq!(place.host(&reduced).exits(0).json()["unreached"], Value::Null);
}

/// Twice 65,536 is one choice of two too many.
#[test]
fn a_handler_with_too_many_outcomes_is_a_finding_with_a_remedy() {
    let place = Place::new();
    for (choices, exit) in [(16, 0), (17, 14)] {
        let local = format!(
            "{} (call $list (i32.const 0) (i32.const 0))",
            "(drop (call $choose (i32.const 2)))".repeat(choices)
        );
        place.put("guest.wasm", Guest { local, ..Guest::default() }.component());
        let ran = place.host(&["run", "guest.wasm", "--nodes", "1", "--algo", "bdfs"]).exits(exit);
        assert_eq!(
            ran.out.contains("have more than 65536 resolutions; offer fewer alternatives"),
            exit == 14,
            "{}",
            ran.out
        );
    }
}

#[test]
fn a_checkpoint_is_gone_on_from() {
    let mut place = Place { interrupted: Some(40), ..Place::new() };
    let event = ["--algo", "bdfs", "--set", "init=event", "--safety-only"];
    let stopped = place.run_json("paxos", &[&event[..], &["--checkpoint", "kept"]].concat());
    assert_eq!((&stopped["result"], &stopped["end"]), (&json!("incomplete"), &json!("interrupted")));
    place.interrupted = None;
    let resumed = place.host(&["run", "--resume", "kept", "--json", "--workers", "2"]).exits(0).json();
    let whole = place.run_json("paxos", &event);
    for what in ["result", "end", "scenario", "counts", "depth", "properties"] {
        assert_eq!(resumed[what], whole[what], "{what}");
    }

    place.host(&["run", "--resume", "elsewhere"]).exits(151).says(&["no checkpoint in elsewhere", "--checkpoint"]);
    let auto = ["run", bundled("paxos"), "--checkpoint", "kept"];
    place.host(&auto).exits(151).says(&["auto keeps no checkpoints", "bdfs"]);
    let file = place.path("kept").join("checkpoint");
    let content = std::fs::read(&file).expect("there is a checkpoint");
    for damage in [&content[..content.len() - 1], &content[..20], &[], &[&content[..], &[0]].concat()] {
        std::fs::write(&file, damage).expect("it can be written");
        place.host(&["run", "--resume", "kept"]).exits(151).says(&["kept is damaged", "start a new search"]);
    }
}

/// With state in globals, or memory that grows while the protocol runs, another process resumes from the checkpoint in fresh
/// instances, and has the same result.
#[test]
fn searches_with_globals_and_growing_memory_resume() {
    let mut place = Place::new();
    place.put("globals.wasm", fixtures::global_counter()).put("growing.wasm", fixtures::growing());
    // `go` counts up: 21 states a node with at most 20 of them. Or it adds a page, from 1 to 8: 8 states a node. Nothing is sent,
    // so the two nodes are independent of each other.
    let cases = [("globals.wasm", &["--local-events", "20"][..], 21 * 21), ("growing.wasm", &[], 8 * 8)];
    for (plugin, bounds, global_states) in cases {
        let run = [&["run", plugin, "--nodes", "2", "--algo", "bdfs", "--json"], bounds].concat();
        let whole = place.host(&run).exits(0).json();
        assert_eq!(whole["counts"]["global_states"], global_states, "{plugin}");
        place.resumes_to_the_same(&run, &whole);
    }
}

#[test]
fn the_doctor_says_whether_a_plugin_is_fit() {
    let place = Place::new();
    let fit = place.host(&["doctor", bundled("fanout"), "--json", "--nodes", "4"]).exits(0).json();
    // Four times `init`, and each node receives the message that it sends to itself.
    assert_eq!((&fit["result"], &fit["steps"], &fit["findings"]), (&json!("fit"), &json!(8), &json!([])));
    let text = place.host(&["doctor", bundled("fanout")]).exits(0).out;
    assert!(text.starts_with("fit: ") && text.contains("hazards\n  none"), "{text}");
    place.put("traps.wasm", fixtures::traps());
    let unfit = place.host(&["doctor", "traps.wasm", "--nodes", "2"]).exits(14).out;
    assert!(unfit.starts_with("unfit: it ends in a fault") && unfit.contains("trap"), "{unfit}");
}

/// The reductions keep the verdict and are reported; cases that they would get wrong are refused.
#[test]
fn reductions_keep_the_verdict() {
    let place = Place::new();
    let two = ["--algo", "bdfs", "--set", "proposers=2", "--safety-only"];
    let reduced = place.run_json("paxos", &[&two[..], &["--reduce"]].concat());
    assert_eq!((&reduced["result"], &reduced["end"]), (&json!("ok"), &json!("space-exhausted")));
    assert_eq!((&reduced["assumed"]["reduced"], &reduced["counts"]["system_states"]), (&json!(true), &Value::Null));
    // Without the reductions there are 67,152,530.
    assert!(reduced["counts"]["global_states"].as_u64().is_some_and(|states| states < 10_000), "{reduced}");
    let bug = [&two[..], &["--set", "bug=last-response", "--reduce"]].concat();
    assert_eq!(place.run_json("paxos", &bug)["exit_code"], 12);
    place.host(&["run", bundled("paxos"), "--algo", "bdfs", "--reduce", "--depth", "9"]).exits(2);
    assert_eq!(reduced["symmetry"], Value::Null, "of three nodes two propose, each with its own value");
    // With one proposer, the other two nodes can be renamed in 2! ways.
    let one = ["run", bundled("paxos"), "--algo", "bdfs", "--reduce"];
    let symmetric = place.host(&one).exits(0);
    assert!(symmetric.out.contains("distinguished up to 2 renamings of nodes"), "{symmetric:?}");
    let symmetric = place.host(&[&one[..], &["--json"]].concat()).exits(0).json();
    let each = place.host(&[&one[..], &["--no-symmetry", "--json"]].concat()).exits(0).json();
    assert_eq!((&symmetric["symmetry"]["renamings"], &each["symmetry"]), (&json!(2), &Value::Null));
    let states = |run: &Value| run["counts"]["global_states"].as_u64();
    assert!(states(&symmetric) < states(&each), "{symmetric} {each}");
    place.host(&["run", bundled("paxos"), "--algo", "unfold", "--reduce"]).exits(151).says(&["`--reduce`", "bdfs"]);
}

/// Both nodes have finished after more than five events: within five nothing is decided, and no report claims it.
#[test]
fn an_unfolding_within_a_bound_decides_nothing_beyond_it() {
    let place = Place::new();
    let within = place.run_json("query", &["--algo", "unfold", "--depth", "5"]);
    let of = |result: &Value, what: &str| {
        let properties = result["properties"].as_array().expect("a list");
        properties.iter().find(|property| property["name"] == "both-finished").expect("it is there")[what].clone()
    };
    assert_eq!((&within["result"], &within["end"]), (&json!("incomplete"), &json!("depth-bound")), "{within:#}");
    assert_eq!(of(&within, "status"), "unknown", "{within:#}");
    let run = ["run", bundled("query"), "--algo", "unfold", "--depth", "5"];
    place.host(&[&run[..], &["--require-complete"]].concat()).exits(152);
    let all = place.run_json("query", &["--algo", "unfold", "--safety-only"]);
    assert_eq!((&all["result"], of(&all, "status")), (&json!("ok"), json!("reached")), "{all:#}");
}
