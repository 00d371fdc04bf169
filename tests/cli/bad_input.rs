//! Every wrong file, option and trace: the exit code, and one sentence that names the thing.

use host_model::scenario::faults;
use host_sandbox::fixtures;
use serde_json::{Value, json};

use super::{Place, bundled};

#[test]
fn a_wrong_file_is_named_with_what_is_wrong() {
    let cases: [(&str, Vec<u8>, &str); 16] = [
        ("empty.wasm", fixtures::empty_file(), "empty"),
        ("text.wasm", fixtures::text_file(), "text"),
        ("elf.wasm", fixtures::not_wasm(), "not webassembly"),
        ("truncated.wasm", fixtures::truncated(), "cut off"),
        ("bare.wasm", fixtures::no_exports(), "does not export"),
        ("wasi.wasm", fixtures::imports_wasi(), "wasi:clocks/monotonic-clock@0.2.0"),
        ("import.wasm", fixtures::imports_unknown(), "acme:tools/dice@1.0.0"),
        ("version.wasm", fixtures::wrong_version(), "@0.2.0"),
        ("type.wasm", fixtures::wrong_type(), "serialize"),
        ("function.wasm", fixtures::missing_function(), "serialize"),
        ("loop.wasm", fixtures::loops_at_start(), "starts"),
        ("trap.wasm", fixtures::traps_at_start(), "starts"),
        ("memory.wasm", fixtures::huge_memory(), "memory"),
        ("table.wasm", fixtures::huge_table(), "table"),
        ("memory64.wasm", fixtures::memory64(), "64-bit"),
        ("bomb.wasm", fixtures::memory_bomb_at_start(), "memory"),
    ];
    let place = Place::new();
    for (name, bytes, words) in cases {
        place.put(name, bytes);
        for command in [&["run", name, "--nodes", "2"][..], &["inspect", name]] {
            let ran = place.host(command).exits(150);
            assert_eq!(ran.out, "");
            ran.says(&[&format!("cannot load {name}"), words]);
        }
        std::fs::remove_file(place.path(name)).expect("writable");
    }
    assert_eq!(place.list(), [""; 0]);
}

/// A core module is no component, and becomes one.
#[test]
fn a_core_module_is_made_a_component_if_it_fits() {
    let place = Place::new();
    place.put("core.wasm", fixtures::core_module());
    place.host(&["run", "core.wasm", "--nodes", "2"]).exits(0);
    place.put("empty.wasm", b"\0asm\x01\0\0\0");
    place.host(&["run", "empty.wasm"]).exits(150).says(&["cannot build empty.wasm", "host:protocol/node@0.1.0"]);
}

#[test]
fn a_path_that_leads_to_no_plugin_is_named() {
    let place = Place::new();
    place.put("a file", "x");
    std::fs::create_dir(place.path("folder")).expect("writable");
    place.host(&["run", "none.wasm"]).exits(150).says(&["none.wasm"]);
    place.host(&["inspect", "none"]).exits(150).says(&["none"]);
    place.host(&["run", "folder"]).exits(150).says(&["folder", "Cargo.toml"]);
    place.host(&["build", "none"]).exits(150).says(&["there is no folder or file none"]);
    place.host(&["build", "a file"]).exits(150).says(&["a file", "nothing to build", "host.toml"]);
    for command in ["run", "build", "inspect", "doctor"] {
        place.host(&[command]).exits(150).says(&["cannot build .: nothing to build"]);
    }
}

/// The error for a folder above a plugin, or for a file in it, names the plugin.
#[test]
fn a_path_near_a_plugin_gets_advice() {
    let place = Place::new();
    for name in ["one", "two"] {
        place.host(&["new", "text", name]).exits(0);
    }
    let source = place.path("one/src/lib.rs");
    std::fs::create_dir(place.path("one/src")).expect("writable");
    std::fs::write(&source, "fn main() {}").expect("writable");
    std::fs::create_dir(place.path("empty")).expect("writable");
    for command in ["run", "build", "inspect", "doctor"] {
        place.host(&[command, "."]).exits(150).says(&["help: name one of the plugins in it: one, two"]);
        let ran = place.host(&[command, "one/src/lib.rs"]).exits(150);
        ran.says(&["help: it is part of the plugin ", "one; name that folder"]);
        let ran = place.host(&[command, "empty"]).exits(150);
        assert!(!ran.err.contains("name one of"), "{ran:?}");
    }
    // Where languages differ, the sources below look like those of one plugin in TypeScript without a beginning.
    std::fs::create_dir(place.path("mixed")).expect("writable");
    for (language, name) in [("typescript", "three"), ("python", "four")] {
        place.host(&["new", language, name]).exits(0);
        std::fs::rename(place.path(name), place.path(&format!("mixed/{name}"))).expect("writable");
    }
    for command in ["run", "build", "inspect", "doctor"] {
        place.host(&[command, "mixed"]).exits(150).says(&["help: name one of the plugins in it: four, three"]);
    }
    std::fs::create_dir(place.path("mixed/src")).expect("writable");
    let ran = place.host(&["build", "mixed"]).exits(150);
    assert!(ran.err.contains("cannot tell where") && !ran.err.contains("name one of"), "{ran:?}");
}

#[test]
fn a_command_line_that_is_not_understood_ends_with_2() {
    let place = Place::new();
    let cases: [(&[&str], &str); 31] = [
        (&["new"], "<LANGUAGE>"),
        (&["fly"], "fly"),
        (&["run", "x", "--algo", "magic"], "magic"),
        (&["run", "x", "--nodes", "0"], "--nodes"),
        (&["run", "x", "--nodes", "5000000000"], "--nodes"),
        (&["run", "x", "--nodes", "three"], "three"),
        (&["run", "x", "--set", "proposers"], "KEY=VALUE"),
        (&["run", "x", "--set", "=2"], "KEY=VALUE"),
        (&["run", "x", "--set", "a=1\nb=2"], "KEY=VALUE"),
        (&["run", "x", "--network", "telegraph"], "telegraph"),
        (&["run", "x", "--link", "0-1"], "A-B=KIND"),
        (&["run", "x", "--link", "0-1=telegraph"], "there are: unordered, unordered-duplicating, ordered"),
        (&["run", "x", "--depth", "-1"], "invalid value '-1' for '--depth <N>'"),
        (&["run", "x", "--states", "0"], "--states"),
        (&["run", "x", "--walks", "0"], "--walks"),
        (&["run", "x", "--weights", "reset=1"], "there is no kind of event `reset`"),
        (&["run", "x", "--schedule", "fast"], "there is no schedule `fast`"),
        (&["run", "x", "--schedule", "pct:0"], "the depth of `pct` is a number from 1 to 100"),
        (&["run", "x", "--time", "60"], "with a unit"),
        (&["run", "x", "--memory", "0GiB"], "more than zero"),
        (&["run", "x", "--limit", "fuel"], "NAME=VALUE"),
        (&["run", "x", "--limit", "magic=1"], "there is no limit `magic`; there are: fuel"),
        (&["replay", "x", "--limit", "stack=1GiB"], "must be between 16KiB and 1MiB"),
        (&["run", "x", "--resets", "many"], "--resets"),
        (&["run", "x", "--watch", "--out", "d"], "'--watch' cannot be used with '--out <DIR>'"),
        (&["run", "--watch", "--resume", "d"], "--resume"),
        (&["run", "x", "--watch", "--checkpoint", "d"], "--checkpoint"),
        (&["run", "x", "--duplicates", "101"], "--duplicates"),
        (&["run", "x", "--resets", "101"], "--resets"),
        (&["run", "x", "--any-plugin"], "--prefix"),
        (&["run", "x", "--every", "3s"], "<--checkpoint <DIR>|--resume <DIR>>"),
    ];
    for (arguments, words) in cases {
        let ran = place.host(arguments).exits(2);
        assert!(ran.err.starts_with("error: ") && ran.err.contains(words), "no {words:?} in {ran:?}");
        assert_eq!(ran.out, "");
    }
}

#[test]
fn options_that_do_not_fit_end_with_151() {
    let place = Place::new();
    place.put("a file", "x").put("refuses.wasm", fixtures::refuses_config()).put("guest.wasm", fixtures::ping_pong());
    let run = |options: &[&str]| place.host(&[&["run", bundled("paxos")], options].concat()).exits(151);
    run(&["--algo", "lmc", "--depth", "3"]).says(&["lmc-opt has no option `--depth`", "bdfs, unfold"]);
    run(&["--algo", "lmc", "--states", "3"]).says(&["--states"]);
    run(&["--reduce"]).says(&["the strategy auto has no option `--reduce`", "bdfs"]);
    run(&["--walks", "3"]).says(&["the strategy auto has no option `--walks`", "walk"]);
    run(&["--algo", "bdfs", "--seed", "3"]).says(&["bdfs has no option `--seed`", "walk"]);
    run(&["--set", "colour=red"])
        .says(&["paxos has no parameter `colour`", "proposers, attempts, init, quorum, bug, model, learners"]);
    run(&["--set", "bug=none", "--set", "bug=none"]).says(&["`--set bug` is given twice"]);
    run(&["--set", "proposers=many"]).says(&["paxos", "proposers"]);
    run(&["--set", "proposers=4"]).says(&["proposers", "3 nodes"]);
    run(&["--set", "bug="]).says(&["bug"]);
    run(&["--outages", "1"]).says(&["`--outages`: paxos does not call `sync`", "an outage is a reset", "--resets"]);
    run(&["--breaks", "1"]).says(&["`--breaks`: the network unordered has no connections", "--network ordered"]);
    run(&["--duplicates", "1"])
        .says(&["`--duplicates`: the network unordered never delivers", "unordered-duplicating"]);
    run(&["--network", "ordered", "--algo", "bdfs", "--reduce"]).says(&["`--reduce`", "in the way", "--algo unfold"]);
    let link = "0-1=ordered";
    run(&["--link", "0-3=ordered"]).says(&["`--link 0-3`: there is no node 3 in a cluster of 3", "from 0 to 2"]);
    run(&["--link", link, "--link", "1>0=unordered"])
        .says(&["`--link 1>0`: the network from node 1 to node 0 is given"]);
    run(&["--link", link, "--duplicates", "1"])
        .says(&["`--duplicates`: every link never delivers", "--link A-B=unordered-duplicating"]);
    run(&["--link", "0>1=ordered", "--breaks", "1"])
        .says(&["`--breaks`: messages from node 0 to node 1 are", "0-1=KIND"]);
    run(&["--link", "0>1=ordered", "--resets", "1"])
        .says(&["`--resets`: messages from node 0 to node 1 are", "0-1=KIND"]);
    run(&["--link", link, "--algo", "bdfs", "--reduce"]).says(&[
        "`--reduce`",
        "wrong on ordered links",
        "--algo unfold",
    ]);
    run(&["--link", "2>1=ordered", "--set", "quorum=on"]).says(&[
        "node 1 takes messages together",
        "node 2 come in order",
        "--link 2-1=unordered",
    ]);
    run(&["--out", "a file"]).says(&["`--out a file` is a file"]);
    place.host(&["run", "guest.wasm"]).exits(151).says(&["guest does not say how many nodes it wants", "--nodes"]);
    place.host(&["run", "refuses.wasm", "--nodes", "2"]).exits(151).says(&["refuses"]);
    place.host(&["run", bundled("tree"), "--set", "x=1"]).exits(151).says(&["it has no parameters at all"]);
}

/// An option without an effect is refused, behind `--` too.
#[test]
fn an_option_after_dashes_that_has_no_effect_is_refused_by_its_name() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::ping_pong());
    let of_a_run: [&[&str]; 27] = [
        &["--algo", "walk"],
        &["--reduce"],
        &["--states", "5"],
        &["--walks", "5"],
        &["--seed", "1"],
        &["--weights", "fault=3"],
        &["--schedule", "mix"],
        &["--fairness", "none"],
        &["--timers", "late"],
        &["--recover-by", "events"],
        &["--safety-only"],
        &["--count-system-states"],
        &["--continue"],
        &["--max-violations", "2"],
        &["--require-complete"],
        &["--no-minimize"],
        &["--workers", "2"],
        &["--audit", "full"],
        &["--checkpoint", "c"],
        &["--resume", "c"],
        &["--json"],
        &["--out", "d"],
        &["--verbose"],
        &["--progress"],
        &["--watch"],
        &["--quiet"],
        &["--no-install"],
    ];
    let of_a_search: [&[&str]; 3] = [&["--depth", "2"], &["--local-events", "1"], &["--deadlock"]];
    let of_a_process: [&[&str]; 2] = [&["--time", "1m"], &["--memory", "1GiB"]];
    let rows = [
        ("graph", of_a_run.to_vec()),
        ("simulate", [&of_a_run[..], &of_a_search].concat()),
        ("debug", [&of_a_run[..], &of_a_search, &of_a_process].concat()),
        // Sessions take `--continue`, `--max-violations` and `--deadlock` for their searches.
        ("explore", [&of_a_run[..12], &of_a_run[14..], &of_a_search[..2], &of_a_process].concat()),
    ];
    for (command, refused) in rows {
        for option in refused {
            let ran = place.host(&[&[command, "guest.wasm", "--", "--nodes", "2"], option].concat()).exits(151);
            assert_eq!(ran.out, "", "{command} {option:?}");
            ran.says(&[&format!("`host {command}`"), &format!("after `--` no `{}`", option[0])]);
        }
    }
    assert_eq!(place.list(), ["guest.wasm"]);
}

#[test]
fn an_error_is_an_object_too_where_json_is_asked_for() {
    let ran = Place::new().host(&["run", "none.wasm", "--json"]).exits(150);
    assert_eq!((&ran.json()["result"], &ran.json()["exit_code"]), (&json!("error"), &json!(150)));
    assert!(ran.json()["error"]["message"].as_str().is_some_and(|message| message.contains("none.wasm")));
    ran.says(&["none.wasm"]);
}

/// A trace of ping-pong: node 0 goes, node 1 receives.
fn trace() -> Value {
    json!({
        "trace_version": 1,
        "plugin": { "name": "guest" },
        "scenario": { "nodes": 2, "parameters": {}, "network": "unordered" },
        "steps": [
            { "node": 0, "event": { "kind": "local", "name": "go", "cause": "internal", "payload": "" } },
            { "node": 1, "event": { "kind": "deliver", "from": 0, "payload": "01" } },
        ],
    })
}

#[test]
fn a_file_that_is_no_trace_is_named_with_the_place_in_it() {
    let place = Place::new();
    let check = |content: &str, words: &[&str]| {
        place.put("guest.wasm", fixtures::ping_pong()).put("t.json", content);
        let words = [&["t.json"], words].concat();
        place.host(&["replay", "t.json", "--plugin", "guest.wasm"]).exits(151).says(&words);
        place.host(&["run", "guest.wasm", "--prefix", "t.json"]).exits(151).says(&words);
    };
    check("", &["is not JSON", "line 1 column 0"]);
    check("{\n  \"trace_version\": 1,", &["is not JSON", "line 2"]);
    check("\u{0}\u{1}", &["is not JSON"]);
    check("[]", &["line 1"]);
    check("{}", &["trace_version"]);
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut trace = trace();
        change(&mut trace);
        trace.to_string()
    };
    check(&changed(&|trace| trace["trace_version"] = json!(3)), &["trace format 3", "understands 1 and 2"]);
    check(
        &changed(&|trace| trace["scenario"]["absent"] = json!([1])),
        &["it has absent nodes, which format 1 does not have"],
    );
    let second = |change: &dyn Fn(&mut Value)| {
        changed(&|trace| {
            trace["trace_version"] = json!(2);
            change(trace);
        })
    };
    check(&second(&|trace| trace["scenario"]["absent"] = json!([7])), &["nodes {7} are absent of 2"]);
    check(&second(&|trace| trace["scenario"]["absent"] = json!([0, 1])), &["some node must be there"]);
    check(&second(&|trace| trace["beginning"] = json!({ "states": [] })), &["it begins with states of the nodes []"]);
    let states = json!([{ "node": 0, "exported": "00" }, { "node": 1, "exported": "00" }]);
    let flight = json!([{ "from": 0, "to": 9, "payload": "00" }]);
    check(
        &second(&|trace| trace["beginning"] = json!({ "states": states, "in_flight": flight })),
        &["a message from node 0 to node 9 cannot be in flight: there is no such node"],
    );
    check(&changed(&|trace| trace["trace_version"] = json!("1")), &["line 1 column"]);
    check(&changed(&|trace| trace["extra"] = json!(1)), &["unknown field `extra`", "line 1 column"]);
    check(&changed(&|trace| trace["steps"][0]["event"]["kind"] = json!("fly")), &["fly", "line 1 column"]);
    check(&changed(&|trace| trace["steps"][1]["event"]["payload"] = json!("0g")), &["0g"]);
    check(&changed(&|trace| trace["scenario"]["network"] = json!("telegraph")), &["telegraph"]);
    let link = |from: u32, to: u32| json!({ "from": from, "to": to, "network": "ordered" });
    let linked = |links: Value| changed(&|trace: &mut Value| trace["scenario"]["links"] = links.clone());
    check(&linked(json!([link(0, 2)])), &["the link from node 0 to node 2: there is no node 2, but 2"]);
    check(&linked(json!([link(0, 1), link(0, 1)])), &["from node 0 to node 1 is given twice"]);
    check(&linked(json!([link(1, 0), link(0, 1)])), &["from node 0 to node 1 is not in its place"]);
    check(&linked(json!([{ "from": 0, "to": 1 }])), &["missing field `network`"]);
    for (kind, _) in faults::budgets().filter(|(name, _)| *name != faults::PARTITIONS) {
        // That many copies of each message would take all memory.
        let many = json!({ kind: 4_294_967_294_u32 });
        let words = format!("4294967294 {kind} are more than 100 of a kind");
        check(&changed(&|trace| trace["scenario"]["faults"] = many.clone()), &[&words]);
    }
    check(&changed(&|trace| trace["scenario"]["nodes"] = json!(0)), &["0 nodes"]);
    check(&changed(&|trace| trace["scenario"]["nodes"] = json!(4_000_000_000_u32)), &["4000000000 nodes"]);
    check(&changed(&|trace| trace["scenario"]["parameters"]["a\nb"] = json!("1")), &["line break"]);
    check(&changed(&|trace| trace["limits"] = json!({ "magic": 1 })), &["there is no limit `magic`"]);
    check(&changed(&|trace| trace["limits"] = json!({ "fuel": 1 })), &["the limit `fuel` must be between"]);
    check(&changed(&|trace| trace["init_choices"] = json!([[]])), &["choices in `init` for 1 nodes of 2"]);
    place.host(&["replay", "none.json", "--plugin", "guest.wasm"]).exits(151).says(&["none.json"]);
    place.host(&["replay", ".", "--plugin", "guest.wasm"]).exits(151).says(&["it is a folder"]);
}

#[test]
fn a_trace_that_cannot_happen_is_named_with_its_step() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::ping_pong());
    let check = |change: &dyn Fn(&mut Value), words: &[&str]| {
        let mut trace = trace();
        change(&mut trace);
        place.put("t.json", trace.to_string());
        let words = [&["t.json"], words].concat();
        place.host(&["replay", "t.json", "--plugin", "guest.wasm"]).exits(151).says(&words);
        place.host(&["run", "guest.wasm", "--algo", "bdfs", "--prefix", "t.json"]).exits(151).says(&words);
    };
    check(&|trace| trace["steps"][1]["event"]["payload"] = json!("02"), &["step 2", "in flight"]);
    check(&|trace| trace["steps"][0]["event"]["name"] = json!("stop"), &["step 1", "`stop`"]);
    check(&|trace| trace["steps"][1]["node"] = json!(7), &["step 2", "node 7"]);
    check(&|trace| trace["steps"][0]["choices"] = json!([{ "picked": 5, "alternatives": 2 }]), &["step 1", "choices"]);
    // The messages that a step sends decide nothing when a trace is followed, as one without a build is.
    let mut other = trace();
    other["steps"][0]["sent"] = json!([]);
    place.put("t.json", other.to_string());
    place.host(&["replay", "t.json", "--plugin", "guest.wasm"]).exits(0);
    let prefix = ["run", "guest.wasm", "--algo", "bdfs", "--prefix", "t.json"];
    place.host(&prefix).exits(151).says(&["t.json", "step 1"]);
}

#[test]
fn a_trace_whose_finding_is_not_there_does_not_replay() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::ping_pong());
    let run = ["run", "guest.wasm", "--nodes", "2", "--json"];
    // The same build: in another one it is followed instead.
    let plugin = place.host(&run).exits(0).json()["plugin"].clone();
    let mut trace = trace();
    trace["finding"] = json!({ "what": "property", "name": "bounded", "kind": "always", "message": "too large" });
    place.put("t.json", trace.to_string());
    let gone = place.host(&["replay", "t.json", "--plugin", "guest.wasm"]).exits(0);
    assert!(gone.out.ends_with("gone: the same events happen, and no property is violated at the end\n"), "{gone:?}");
    trace["plugin"] = plugin.clone();
    place.put("t.json", trace.to_string());
    let ran = place.host(&["replay", "t.json", "--plugin", "guest.wasm"]).exits(151);
    ran.says(&["every property holds, but the trace says that bounded is violated: too large"]);
    let mut trace = self::trace();
    trace["plugin"] = plugin;
    trace["steps"][1]["state"] = json!("ffff");
    place.put("t.json", trace.to_string());
    place.host(&["replay", "t.json", "--plugin", "guest.wasm"]).exits(151).says(&["step 2 differs"]);
}

#[test]
fn a_trace_that_cannot_be_written_is_reported_with_the_violation() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::traps());
    std::fs::create_dir_all(place.path("kept/trace.json")).expect("writable");
    let ran = place.host(&["run", "guest.wasm", "--nodes", "1", "--out", "kept"]).exits(14);
    assert!(ran.out.starts_with("violation: trap of node 0"), "{ran:?}");
    let ran = ran.says(&["cannot write kept/trace.json", "it is in out/guest-auto-"]);
    let replay = ran.out.lines().find_map(|line| line.split_once("host replay ")).expect("a command").1;
    let words: Vec<&str> = std::iter::once("replay").chain(replay.split(' ')).collect();
    // It is kept in the folder that is used without `--out`.
    assert!(words[1].starts_with("out/guest-auto-"), "{replay}");
    place.host(&words).exits(14);
    // Without a violation nothing else is kept, and the run is no success.
    place.put("good.wasm", fixtures::ping_pong());
    std::fs::create_dir_all(place.path("result/stats.json")).expect("writable");
    let ran = place.host(&["run", "good.wasm", "--nodes", "2", "--out", "result"]).exits(153);
    assert!(ran.out.starts_with("ok: "), "{ran:?}");
    ran.says(&["cannot write result/stats.json"]);
}

/// A folder that cannot be made is noticed before any search or build.
#[test]
fn a_folder_that_cannot_be_written_is_refused_before_the_search() {
    let place = Place::new();
    place.put("a file", "x");
    for command in [&["run", "none.wasm"][..], &["simulate", "none.wasm"]] {
        let ran = place.host(&[command, &["--out", "a file/below/deep"]].concat()).exits(153);
        assert_eq!(ran.out, "");
        ran.says(&["cannot write into a file/below/deep: "]);
        // An attempt that could make one leaves nothing behind.
        place.host(&[command, &["--out", "new/deep"]].concat()).exits(150);
    }
    assert_eq!(place.list(), ["a file"]);
}

/// Running clusters are refused before anything is built or opened.
#[test]
fn a_wrong_cluster_to_run_is_named_with_its_place() {
    let node = |rest: &str| format!("plugin = \"guest.wasm\"\n[[node]]\naddress = {rest}\n");
    let cases = [
        ("plugin = ", "c.toml:1: "),
        ("plugin = \"guest.wasm\"\n", "c.toml:1: missing field `node`"),
        ("plugin = \"guest.wasm\"\nport = 1\nnode = []\n", "c.toml:2: unknown field `port`"),
        ("plugin = \"guest.wasm\"\nnode = []\n", "a cluster has between 1 and 1024 nodes"),
        (&node("\"localhost\""), "c.toml:3: "),
        (
            &node("\"127.0.0:17102\""),
            "c.toml:3: \"127.0.0:17102\" is neither an IP address nor the name of a host with a port",
        ),
        (&node("\"node-1.example:17102\""), "node 0: node-1.example:17102 is no loopback address"),
        (&node("\"127.0.0:17102\""), "write 127.0.0.1:17102"),
        (
            &(node("\"127.0.0.1:7101\"") + "[operations]\nstatus = \"/s\"\n"),
            "`status` under `[operations]` is a request of a client, and nodes have no address for clients",
        ),
        (
            &(node("\"127.0.0.1:7101\"") + "[operations]\nready = \"/-/ready\"\n"),
            "`ready` under `[operations]`: a path of requests to the protocol begins with `/` and not with `/-/`",
        ),
        (
            &(node("\"127.0.0.1:7101\"") + "[operations]\nhand-over = \"a b\"\n"),
            "`hand-over` under `[operations]`: a path",
        ),
        (
            &(node("\"127.0.0.1:7101\"") + "[operations]\nprogress = \"commit\"\n"),
            "`progress` under `[operations]` names a member of the answer to `status`",
        ),
        (
            "digest = [1]\nplugin = \"guest.wasm\"\nnode = []\n",
            "c.toml:1: `digest` is the digest of a component, or a list of digests",
        ),
        (&node("\"127.0.0.1:7101\"\nclients = \"x:y\""), "c.toml:4: \"x:y\" is no IP address with a port"),
        (
            &node("\"0.0.0.0:7101\""),
            "node 0: 0.0.0.0:7101 is no loopback address, and nothing here proves who a peer is",
        ),
        (&node("\"192.168.1.7:7101\""), "node 0: 192.168.1.7:7101 is no loopback address"),
        (&node("\"127.0.0.1:0\""), "node 0: 127.0.0.1:0 has no port by which others find it"),
        (&node("\"127.0.0.1:7101\"\nclients = \"127.0.0.1:7101\""), "node 0: 127.0.0.1:7101 is there twice"),
        (
            &(node("\"127.0.0.1:7101\"\nclients = \"127.0.0.1:7102\"") + "[[node]]\naddress = \"127.0.0.1:7103\"\n"),
            "some nodes have an address for clients and others do not",
        ),
        (&(node("\"127.0.0.1:7101\"") + "[parameters]\nx = [1]\n"), "the parameter `x` must be a text on one line"),
        (
            &node("\"127.0.0.1:7101\"").replacen('\n', "\nnetwork = \"tcp\"\n", 1),
            "`network = \"tcp\"`: possible values: ",
        ),
    ];
    let place = Place::new();
    place.put("guest.wasm", fixtures::ping_pong());
    for (text, words) in cases {
        place.put("c.toml", text);
        for command in [&["live", "up", "c.toml"][..], &["live", "node", "c.toml", "--id", "0"]] {
            place.host(command).exits(151).says(&["c.toml", words]);
        }
    }
    place.put("c.toml", node("\"127.0.0.1:7101\""));
    place.host(&["live", "node", "c.toml", "--id", "1"]).exits(151).says(&["c.toml has 1 nodes, numbered from 0"]);
    place.host(&["live", "node", "c.toml"]).exits(2);
    place.host(&["live", "node", "none.toml", "--id", "0"]).exits(151).says(&["cannot read none.toml"]);
    place.host(&["live", "up", "."]).exits(151).says(&["cannot read .: it is a folder", "./cluster.toml"]);
    place.put("c.toml", node("\"127.0.0.1:7101\"").replace("guest", "none"));
    place.host(&["live", "node", "c.toml", "--id", "0"]).exits(150).says(&["none.wasm"]);
    assert_eq!(place.list(), ["c.toml", "guest.wasm"]);
}
