//! A checkpoint belongs to one search: options that define another search are refused, options of the process are not, and the file
//! never causes a build.

use host_sandbox::fixtures;
use serde_json::{Value, json};

use super::{Place, bundled};

/// The name of the format, the length of the header.
const BEFORE_HEADER: usize = b"host checkpoint 7\n".len() + 8;

const HASH_BYTES: usize = 32;

/// A place with a checkpoint in `kept` of a search of Paxos with some options, stopped at once; and the whole search.
fn stopped(options: &[&str]) -> (Place, Value) {
    let mut place = Place::new();
    let whole = place.run_json("paxos", options);
    place.interrupted = Some(20);
    let run = [options, &["--checkpoint", "kept"]].concat();
    assert_eq!(place.run_json("paxos", &run)["end"], "interrupted");
    place.interrupted = None;
    (place, whole)
}

const SEARCH: [&str; 9] = ["--algo", "bdfs", "--resets", "1", "--depth", "6", "--set", "init=event", "--safety-only"];

#[test]
fn what_sets_up_another_search_is_refused_with_what_differs() {
    let (place, _) = stopped(&SEARCH);
    let cases: [(&[&str], &str); 19] = [
        (&["--resets", "2"], "was made with resets 1, now 2"),
        (&["--resets=0"], "was made with resets 1, now 0"),
        (&["--refusals", "1"], "was made with refusals 0, now 1"),
        (&["--crashes", "1"], "was made with crashes 0, now 1"),
        (&["--network", "unordered-duplicating"], "was made with duplicates 0, now 1"),
        (&["--depth", "7"], "was made with --depth 6, now 7"),
        (&["--local-events", "1"], "was made with --local-events not set, now 1"),
        (&["--states", "100"], "was made with --states not set, now 100"),
        (&["--deadlock"], "was made with --deadlock not set, now on"),
        (&["--count-system-states"], "was made with --count-system-states not set, now on"),
        (&["--nodes", "4"], "was made with nodes 3, now 4"),
        (&["--set", "bug=last-response"], "was made with the parameter bug none, now last-response"),
        (&["--set", "init=boot"], "init"),
        (&["--limit", "fuel=1000000"], "was made with the limit fuel not set, now 1000000"),
        (&["--twin", "0"], "was made with"),
        (&["--algo", "unfold"], "the strategy unfold keeps no checkpoints"),
        (&["--link", "0-1=unordered-duplicating"], "was made with"),
        (&["--continue"], "a checkpoint keeps no violations"),
        (&["--max-violations", "2"], "a checkpoint keeps no violations"),
    ];
    for (options, words) in cases {
        let ran = place.host(&[&["run", "--resume", "kept"], options].concat());
        ran.exits(151).says(&[words]);
    }
    // Options that exclude each other are no command line.
    place.host(&["run", "--resume", "kept", "--reduce"]).exits(151).says(&["cannot be gone on from in this way"]);
    place.host(&["run", "--resume", "kept", "--checkpoint", "other"]).exits(2);
}

#[test]
fn what_belongs_to_the_process_can_be_anything() {
    let cases: [&[&str]; 12] = [
        &[],
        &["--no-minimize"],
        &["--require-complete"],
        &["--out", "elsewhere"],
        &["--workers", "1"],
        &["--every", "1h"],
        &["--time", "10m"],
        &["--memory", "3GiB"],
        &["--quiet", "--no-install"],
        &["--audit", "off"],
        &["--audit", "full"],
        // Repeating an option unchanged is no difference.
        &["--resets", "1", "--set", "init=event", "--algo", "bdfs"],
    ];
    let (place, whole) = stopped(&SEARCH);
    let kept = std::fs::read(place.path("kept/checkpoint")).expect("there is a checkpoint");
    for options in cases {
        place.put("kept/checkpoint", &kept);
        let ran = place.host(&[&["run", "--resume", "kept", "--json"], options].concat());
        let resumed = ran.json();
        for what in ["result", "end", "counts", "depth", "scenario", "properties"] {
            assert_eq!(resumed[what], whole[what], "{options:?}: {what}");
        }
        assert_eq!(ran.code, if options.contains(&"--require-complete") { 152 } else { 0 }, "{ran:?}");
    }
    place.put("kept/checkpoint", &kept);
    assert!(place.host(&["run", "--resume", "kept", bundled("paxos")]).exits(0).out.starts_with("incomplete"));
}

/// So are searches that proceed by levels: on ordered links, and by consequence prediction.
#[test]
fn a_search_by_levels_is_continued() {
    for search in [
        &["--algo", "bdfs", "--network", "ordered", "--set", "proposers=2", "--depth", "9"][..],
        &["--algo", "consequence"],
    ] {
        let (place, whole) = stopped(&[search, &["--safety-only"]].concat());
        let resumed = place.host(&["run", "--resume", "kept", "--json"]).json();
        for what in ["result", "end", "counts", "depth", "scenario", "properties", "levels"] {
            assert_eq!(resumed[what], whole[what], "{search:?}: {what}");
        }
    }
}

/// A checkpoint of one plugin is refused for another plugin.
#[test]
fn another_plugin_is_refused() {
    let (place, _) = stopped(&SEARCH);
    place.host(&["run", "--resume", "kept", bundled("query")]).exits(151);
    place.put("guest.wasm", fixtures::ping_pong()).put("other.wasm", fixtures::ping_pong_too_far());
    let mut place = Place { interrupted: Some(11), ..place };
    place.host(&["run", "guest.wasm", "--nodes", "2", "--algo", "bdfs", "--checkpoint", "ping"]).exits(130);
    place.interrupted = None;
    let words = "was made with the plugin blake3:";
    place.host(&["run", "--resume", "ping", "other.wasm"]).exits(151).says(&[words, ", now blake3:"]);
    place.put("guest.wasm", fixtures::ping_pong_too_far());
    place.host(&["run", "--resume", "ping"]).exits(151).says(&[words]);
    place.put("guest.wasm", fixtures::ping_pong());
    place.host(&["run", "--resume", "ping"]).exits(0);
}

/// With one reset the states are others than without; a search that continued after the edit would call the old ones complete.
#[test]
fn an_edited_scenario_is_refused() {
    let mut place = Place::new();
    let scenario = |rest: &str| {
        format!(
            "plugin = \"{}\"\n[strategy]\nalgo = \"bdfs\"\n[parameters]\ninit = \"event\"\n{rest}",
            bundled("paxos")
        )
    };
    let faults = |resets: u32| scenario(&format!("[bounds]\ndepth = 6\n[faults]\nresets = {resets}\n"));
    place.put("s.toml", faults(0));
    place.interrupted = Some(20);
    place.host(&["run", "s.toml", "--checkpoint", "kept"]).exits(130);
    place.interrupted = None;
    let kept = std::fs::read(place.path("kept/checkpoint")).expect("there is a checkpoint");
    let resume = || place.host(&["run", "--resume", "kept", "--json"]);
    place.put("s.toml", faults(1));
    resume().exits(151).says(&["kept was made with resets 0, now 1"]);
    place.put("s.toml", scenario("[bounds]\ndepth = 7\n"));
    resume().exits(151).says(&["kept was made with --depth 6, now 7"]);
    place.put("s.toml", scenario(""));
    resume().exits(151).says(&["kept was made with --depth 6, now not set"]);
    place.host(&["run", "--resume", "kept", "--resets", "1"]).exits(151).says(&["now"]);
    place.put("s.toml", faults(0).replace("\"event\"", "\"boot\""));
    resume().exits(151).says(&["kept was made with the parameter init event, now boot"]);
    std::fs::remove_file(place.path("s.toml")).expect("writable");
    resume().exits(151).says(&["cannot read the scenario s.toml"]);
    // Expectations and the time limit are no part of the search.
    place.put("s.toml", faults(0) + "[expect]\nresult = \"ok\"\n").put("kept/checkpoint", &kept);
    let resumed = resume().json();
    assert_eq!(resumed["unmet"].as_array().map(Vec::len), Some(1), "{resumed}");
    place.put("s.toml", faults(0));
    let whole = place.host(&["run", "s.toml", "--json"]).exits(0).json();
    assert_eq!((&resumed["counts"], &resumed["end"]), (&whole["counts"], &whole["end"]));
}

#[test]
fn an_edited_prefix_is_refused() {
    let mut place = Place::new();
    let go = json!({ "node": 0, "event": { "kind": "local", "name": "go", "cause": "internal", "payload": "" } });
    let trace = |steps: Value| {
        let scenario = json!({ "nodes": 2, "parameters": {}, "network": "unordered" });
        json!({ "trace_version": 1, "plugin": { "name": "guest" }, "scenario": scenario, "steps": steps }).to_string()
    };
    place.put("guest.wasm", fixtures::ping_pong()).put("t.json", trace(json!([])));
    place.interrupted = Some(11);
    let run = ["run", "guest.wasm", "--algo", "bdfs", "--prefix", "t.json", "--any-plugin", "--checkpoint", "kept"];
    place.host(&run).exits(130);
    place.interrupted = None;
    place.put("t.json", trace(json!([go])));
    place.host(&["run", "--resume", "kept"]).exits(151).says(&["kept was made with start states "]);
    place.put("t.json", trace(json!([])));
    place.host(&["run", "--resume", "kept"]).exits(0);
}

#[test]
fn a_checkpoint_of_an_older_format_is_refused_as_one() {
    let (place, _) = stopped(&["--algo", "bdfs"]);
    let mut content = std::fs::read(place.path("kept/checkpoint")).expect("there is a checkpoint");
    content[b"host checkpoint ".len()] = b'6';
    place.put("kept/checkpoint", content);
    place.host(&["run", "--resume", "kept"]).exits(151).says(&["another version of the program", "start a new search"]);
}

/// A checkpoint with another header, and hashes that are right.
fn forged(kept: &[u8], change: impl Fn(&mut Value)) -> Vec<u8> {
    let len = kept[BEFORE_HEADER - 8..BEFORE_HEADER].try_into().expect("eight bytes");
    let end = BEFORE_HEADER + u64::from_le_bytes(len) as usize;
    let mut header: Value = serde_json::from_slice(&kept[BEFORE_HEADER..end]).expect("a header is JSON");
    change(&mut header);
    let header = header.to_string().into_bytes();
    let mut forged = kept[..BEFORE_HEADER - 8].to_vec();
    forged.extend((header.len() as u64).to_le_bytes());
    forged.extend(&header);
    forged.extend(blake3::hash(&header).as_bytes());
    forged.extend(&kept[end + HASH_BYTES..kept.len() - HASH_BYTES]);
    let hash = blake3::hash(&forged);
    forged.extend(hash.as_bytes());
    forged
}

/// A plugin folder whose build leaves a mark.
fn put_trap(place: &Place, name: &str) {
    std::fs::create_dir_all(place.path(name)).expect("writable");
    place.put(&format!("{name}/host.toml"), "[build]\ncommand = \"touch ../built\"\noutput = \"guest.wasm\"\n");
    place.put(&format!("{name}/guest.wasm"), fixtures::ping_pong());
}

#[test]
fn a_forged_checkpoint_builds_nothing() {
    let mut place = Place { interrupted: Some(11), ..Place::new() };
    place.put("guest.wasm", fixtures::ping_pong());
    put_trap(&place, "evil");
    place.host(&["run", "guest.wasm", "--nodes", "2", "--algo", "bdfs", "--checkpoint", "kept"]).exits(130);
    place.interrupted = None;
    let kept = std::fs::read(place.path("kept/checkpoint")).expect("there is a checkpoint");
    place.put("s.toml", "plugin = \"evil\"\nnodes = 2\n[strategy]\nalgo = \"bdfs\"\n");
    let resume = |change: &dyn Fn(&mut Value)| {
        place.put("kept/checkpoint", forged(&kept, change));
        place.host(&["run", "--resume", "kept"])
    };
    resume(&|_| {}).exits(0);
    for plugin in ["evil", "s.toml"] {
        resume(&|header| header["spec"]["cluster"]["plugin"] = json!(plugin))
            .exits(150)
            .says(&["evil", "have to be built"]);
    }
    let cluster =
        |name: &str, value: Value| resume(&|header: &mut Value| header["spec"]["cluster"][name] = value.clone());
    cluster("placement", json!({ "node": [[1, "evil"]] })).exits(150).says(&["evil", "have to be built"]);
    cluster("limits", json!({ "memory": 3_u64 << 30 })).exits(151).says(&["the limit memory not set, now 3221225472"]);
    // It tells only which search it is.
    cluster("no-such-option", json!(1)).exits(151).says(&["cannot be gone on from in this way", "no-such-option"]);
    for (name, value) in [("process", json!({ "keep": "other" })), ("search", json!(["--help"])), ("cluster", json!(1))]
    {
        resume(&|header| header["spec"][name] = value.clone()).exits(151).says(&["cannot be gone on from in this way"]);
    }
    let none = resume(&|header| header["spec"] = json!(null)).exits(151);
    none.says(&["cannot be gone on from in this way"]);
    assert!(!place.path("built").exists(), "{:?}", place.list());
    // A command that names the folder builds it.
    place.put("kept/checkpoint", &kept);
    place.host(&["run", "--resume", "kept", "evil", "--quiet"]).exits(0);
    assert!(place.path("built").exists());
}

#[test]
fn a_plugin_folder_is_taken_as_it_was_built() {
    let mut place = Place { interrupted: Some(11), ..Place::new() };
    std::fs::create_dir(place.path("plug")).expect("writable");
    place.put("plug/guest.wasm", fixtures::ping_pong());
    let run = ["run", "plug", "--nodes", "2", "--algo", "bdfs", "--checkpoint", "kept", "--quiet"];
    place.host(&run).exits(130);
    place.interrupted = None;
    let kept = std::fs::read(place.path("kept/checkpoint")).expect("there is a checkpoint");
    // Edited since then; but the built component is there.
    place.put("plug/guest.wasm", fixtures::ping_pong_too_far());
    let ran = place.host(&["run", "--resume", "kept"]).exits(0);
    assert!(ran.out.starts_with("ok") && ran.err.contains("as it was built"), "{ran:?}");
    place.put("kept/checkpoint", &kept);
    let ran = place.host(&["run", "--resume", "kept", "plug", "--quiet"]).exits(151);
    ran.says(&["was made with the plugin blake3:"]);
    std::fs::remove_dir_all(place.path("plug/target")).expect("writable");
    place.host(&["run", "--resume", "kept"]).exits(150).says(&["plug", "have to be built", "host build plug"]);
}

#[test]
fn a_file_from_elsewhere_builds_nothing_and_raises_nothing() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::ping_pong());
    put_trap(&place, "evil");
    // A scenario next to its plugin may; one that lies somewhere else names the folder in vain.
    place.put("s.toml", "plugin = \"evil\"\nnodes = 2\n");
    place.host(&["run", "s.toml"]).exits(151).says(&["s.toml", "evil would have to be built", "host build evil"]);
    place.put("s.toml", "plugin = \"guest.wasm\"\nnodes = 2\n[[node]]\nid = 1\nplugin = \"evil\"\n");
    place.host(&["run", "s.toml"]).exits(151).says(&["s.toml:", "evil would have to be built"]);
    place.host(&["test", "s.toml"]).exits(1);
    std::fs::create_dir(place.path("plugins")).expect("writable");
    put_trap(&place, "plugins/evil");
    place.put("plugins/evil/host.toml", "[build]\ncommand = \"touch ../../built\"\noutput = \"guest.wasm\"\n");
    let trace = json!({
        "trace_version": 1,
        "plugin": { "name": "evil" },
        "scenario": { "nodes": 2, "parameters": {}, "network": "unordered" },
        "steps": [],
    });
    place.put("t.json", trace.to_string());
    for command in ["replay", "minimize", "draw", "debug"] {
        place.host(&[command, "t.json"]).exits(150).says(&["plugins/evil", "have to be built"]);
    }
    let mut mixed = trace.clone();
    mixed["placements"] = json!([{ "node": 1, "plugin": { "name": "evil", "digest": "x" } }]);
    place.put("m.json", mixed.to_string());
    place.host(&["replay", "m.json", "--plugin", "guest.wasm", "--any-plugin"]).exits(150).says(&["plugins/evil"]);
    assert!(!place.path("built").exists(), "{:?}", place.list());

    let mut greedy = trace;
    greedy["limits"] = json!({ "memory": 3_u64 << 30, "fuel": 20_000 });
    place.put("g.json", greedy.to_string());
    let replay = ["replay", "g.json", "--plugin", "guest.wasm", "--any-plugin"];
    let words = ["g.json raises a limit: memory=3221225472", "--limit memory=3221225472"];
    place.host(&replay).exits(151).says(&words);
    let run = ["run", "guest.wasm", "--prefix", "g.json", "--any-plugin"];
    place.host(&run).exits(151).says(&words);
    for memory in ["3221225472", "64MiB"] {
        place.host(&[&replay[..], &["--limit", &format!("memory={memory}")]].concat()).exits(0);
    }
    place.put("s.toml", "plugin = \"guest.wasm\"\nnodes = 2\n[limits]\nmemory = \"1GiB\"\nfuel = 20000\n");
    let ran = place.host(&["run", "s.toml"]).exits(0);
    assert!(ran.err.contains("limits: s.toml raises memory=1073741824\n"), "{ran:?}");
    assert!(ran.out.contains("  limits      fuel=20000, memory=1073741824\n"), "{ran:?}");
    assert_eq!(place.host(&["run", "s.toml", "--limit", "memory=64MiB"]).exits(0).err, "");
    let tested = place.host(&["test", "s.toml"]).exits(0);
    assert_eq!(tested.err, "limits: s.toml raises memory=1073741824\n");
    assert_eq!(place.host(&["test", "s.toml", "--quiet"]).exits(0).err, "");
    // Steps of a build are shown as they begin, and a plugin is built once for all its tests.
    std::fs::create_dir_all(place.path("mine/scenarios")).expect("writable");
    for name in ["a", "b"] {
        place.put(&format!("mine/scenarios/{name}.toml"), "nodes = 2\n");
    }
    place.put("mine/host.toml", "[build]\ncommand = \"cp ../guest.wasm target\"\noutput = \"target/guest.wasm\"\n");
    let tested = place.host(&["test", "mine"]).exits(0);
    let steps: Vec<&str> = tested.err.lines().collect();
    assert_eq!(steps.first(), Some(&"build: running cp ../guest.wasm target"), "{tested:?}");
    assert!(steps.len() == 2 && steps[1].starts_with("build: wrote "), "{tested:?}");
}

/// Set for a process that may write only little into a file.
const TINY: &str = "HOST_TEST_OF_A_FULL_DISK";

/// The work of the process below.
#[test]
fn on_a_full_disk() {
    let Some(folder) = std::env::var_os(TINY) else { return };
    let mut place = Place { interrupted: Some(11), ..Place::new() };
    let plugin = |name: &str| std::path::Path::new(&folder).join(name).to_string_lossy().into_owned();
    let run = ["run", &plugin("guest.wasm"), "--nodes", "2", "--algo", "bdfs", "--checkpoint", "kept"];
    let ran = place.host(&run).exits(130);
    assert!(ran.err.contains("warning: the last checkpoint could not be written"), "{ran:?}");
    place.interrupted = None;
    let run = ["run", &plugin("traps.wasm"), "--nodes", "2", "--algo", "bdfs", "--out", "found"];
    let ran = place.host(&run).exits(14);
    ran.says(&["cannot write found/trace.json"]);
    assert_eq!(place.list(), ["kept"]);
    assert_eq!(std::fs::read_dir(place.path("kept")).expect("readable").count(), 0);

    let (guest, traps, trace) = (plugin("guest.wasm"), plugin("traps.wasm"), plugin("found/trace.json"));
    let of = ["--plugin", traps.as_str(), "--out"];
    let writers: [(&[&str], u8); 9] = [
        (&[&["minimize", &trace], &of[..], &["short.json"]].concat(), 153),
        (&[&["draw", &trace], &of[..], &["d.svg"]].concat(), 153),
        (&[&["export", &trace, "--format", "itf"], &of[..], &["t.itf.json"]].concat(), 153),
        (&["graph", &guest, "--out", "g.dot", "--", "--nodes", "2"], 153),
        (&["test", &plugin("s.toml"), "--junit", "junit.xml"], 153),
        (&["test", &plugin("s.toml"), "--sarif", "test.sarif"], 153),
        (&["man", "--out", "pages"], 153),
        (&["new", "rust", "my-protocol"], 151),
        (&["build", &plugin("text")], 150),
    ];
    for (command, exit) in writers {
        let ran = place.host(command).exits(exit);
        assert!(ran.err.contains("File too large"), "{ran:?}");
        assert_eq!(place.list(), ["kept"], "{command:?}");
    }
    let built = std::fs::read_dir(plugin("text/target/plugins")).map_or(0, Iterator::count);
    assert_eq!(built, 0, "neither a component nor its stamp");
    // Failing to write the cache does not stop this run.
    place.cache = Some(place.path("cache"));
    place.host(&["run", &guest, "--nodes", "2", "--algo", "bdfs"]).exits(0);
    let left = std::fs::read_dir(place.path("cache/compiled")).expect("a folder");
    let left: Vec<_> = left
        .map(|entry| entry.expect("readable").file_name())
        .filter(|name| name.to_string_lossy().contains(".tmp"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A limit on the size of files is for a process what a full disk is for all.
#[cfg(unix)]
#[test]
fn nothing_is_left_of_what_cannot_be_written() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::ping_pong()).put("traps.wasm", fixtures::traps());
    // Compiled code is in the cache from now on.
    place.host(&["inspect", "guest.wasm"]).exits(0);
    place.host(&["inspect", "traps.wasm"]).exits(0);
    place.host(&["run", "traps.wasm", "--nodes", "2", "--algo", "bdfs", "--out", "found"]).exits(14);
    place.put("s.toml", "plugin = \"guest.wasm\"\nnodes = 2\n");
    std::fs::create_dir(place.path("text")).expect("writable");
    place.put("text/guest.wasm", fixtures::ping_pong());
    let program = std::env::current_exe().expect("this is a program");
    let output = std::process::Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" --exact cli::checkpoints::on_a_full_disk --nocapture"])
        .arg(program)
        .env(TINY, place.folder.path())
        .output()
        .expect("there is a shell");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}
