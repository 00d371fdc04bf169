//! Tips in errors.

use host_sandbox::fixtures;

use super::{Place, bundled};

/// Mistakes of new users, and the words that lead on; misleading words are absent.
#[test]
fn tips_lead_to_a_command_line_that_is_understood() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::ping_pong());
    let scenario = |text: &str| format!("plugin = \"guest.wasm\"\nnodes = 3\n{text}\n");
    for (name, text) in [
        ("letters.toml", "depht = 3"),
        ("section.toml", "depth = 3"),
        ("plural.toml", "[parameter]\na = 1"),
        ("bound.toml", "[bounds]\ndept = 3"),
        ("other.toml", "[bounds]\nalgo = \"bdfs\""),
        ("top.toml", "[bounds]\nnetwork = \"ordered\""),
    ] {
        place.put(name, scenario(text));
    }
    place.put("cluster.toml", "nodse = 3\n");
    let behind = |line: &str| format!("tip: options of `host run` stand behind `--`: {line}");
    let digits = "this is no whole number; write digits alone, such as 1000000";
    let cases: Vec<(&[&str], String)> = vec![
        (&["simulate", "p", "--set", "a=1"], behind("host simulate p -- --set a=1")),
        (&["simulate", "p", "--set=a=1", "--runs", "3"], behind("host simulate p --runs 3 -- --set=a=1")),
        (&["simulate", "p", "--network", "tcp"], behind("host simulate p -- --network tcp")),
        (&["simulate", "p", "--nodes", "3", "--", "--set", "a=1"], behind("host simulate p -- --nodes 3 --set a=1")),
        (&["graph", "p", "--deadlock"], behind("host graph p -- --deadlock")),
        (&["debug", "p", "--set", "a=b c"], behind("host debug p -- --set 'a=b c'")),
        (&["test", "p", "--set", "a=1"], "tip: `--set` is an option of `host run`; a scenario says".to_owned()),
        (&["replay", "p", "--nodes", "3"], "tip: `--nodes` is an option of `host run`; the trace says".to_owned()),
        (&["live", "up", "p", "--set", "a=1"], "tip: `--set` is an option of `host run`; the file of".to_owned()),
        (&["run", "p", "--network", "tcp"], "tip: a TCP connection delivers in order: `--network ordered`".to_owned()),
        (&["run", "p", "--network", "UDP"], "`--network unordered-duplicating`, and `--losses N`".to_owned()),
        (&["simulate", "p", "--", "--network", "tcp"], "invalid value 'tcp'".to_owned()),
        (&["run", "p", "--alog", "bdfs"], "a similar argument exists: '--algo'".to_owned()),
        (&["run", "p", "--depth", "1e6"], digits.to_owned()),
        (&["run", "p", "--states", "1,000,000"], digits.to_owned()),
        (&["simulate", "p", "--runs", "1k"], digits.to_owned()),
        (&["simulate", "p", "--", "--depth", "ten"], digits.to_owned()),
        (&["run", "p", "--depth", "99999999999"], "99999999999 is not in 0..=4294967295".to_owned()),
        (&["run", "letters.toml"], "help: write `depth` under [bounds]".to_owned()),
        (&["run", "section.toml"], "help: write `depth` under [bounds]".to_owned()),
        (&["run", "plural.toml"], "help: write `parameters`; there are".to_owned()),
        (&["run", "bound.toml"], "help: write `depth`; there are".to_owned()),
        (&["run", "other.toml"], "help: write `algo` under [strategy]; there are".to_owned()),
        (&["run", "top.toml"], "help: write `network` above all sections; there are".to_owned()),
        (&["live", "up", "cluster.toml"], "help: write `node`".to_owned()),
        (&["graph", "guest.wasm", "--local", "--node", "3", "--", "--nodes", "3"], "numbered from 0 to 2".to_owned()),
        (&["run", "guest.wasm", "--nodes", "3", "--twin", "3"], "numbered from 0 to 2".to_owned()),
        (&["run", "guest.wasm", "--nodes", "3", "--set-on", "3:a=1"], "numbered from 0 to 2".to_owned()),
        (&["run", "guest.wasm", "--nodes", "3", "--link", "0-3=ordered"], "numbered from 0 to 2".to_owned()),
    ];
    for (command, words) in cases {
        let ran = place.host(command);
        assert!([2, 151].contains(&ran.code) && ran.err.contains(&words), "{command:?}: no {words:?} in {ran:?}");
        for astray in ["as a value, use", "invalid digit", "'--safety-only'", "'--spec'", "'--node'"] {
            assert!(!ran.err.contains(astray), "{command:?}: {astray:?} in {ran:?}");
        }
    }
}

/// Where nodes have names, a number that no node has is answered with both.
#[test]
fn nodes_that_are_not_there_are_answered_with_the_names_of_those_that_are() {
    let place = Place::new();
    let lock = bundled("lock");
    let names = "help: the nodes are 0 (server), 1 (client 1), 2 (client 2)";
    for words in [
        &["graph", lock, "--local", "--node", "3", "--", "--nodes", "3"][..],
        &["run", lock, "--nodes", "3", "--twin", "3"],
        &["run", lock, "--nodes", "3", "--set-on", "3:locked=deny"],
        &["run", lock, "--nodes", "3", "--node", &format!("3={lock}")],
        &["run", lock, "--nodes", "3", "--link", "0-3=ordered"],
    ] {
        place.host(words).exits(151).says(&["there is no node 3 in a cluster of 3", names]);
    }
    // Nothing starts under such parameters, and of many nodes the numbers are enough.
    let ran = place.host(&["run", lock, "--nodes", "3", "--set", "locked=what", "--link", "0-3=ordered"]);
    assert!(ran.code == 151 && !ran.err.contains("client 1"), "{ran:?}");
    let ran = place.host(&["run", lock, "--nodes", "9", "--link", "0-9=ordered"]).exits(151);
    assert!(ran.err.contains("nodes are numbered from 0 to 8"), "{ran:?}");
}

/// A path or a name with one wrong letter, in any place, is answered with the existing one.
#[test]
fn mistyped_paths_and_names_are_answered_with_those_that_are_there() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::ping_pong());
    place.put("cluster.toml", "");
    for command in ["run", "inspect", "doctor", "graph", "debug", "explore", "simulate"] {
        place
            .host(&[command, "gest.wasm"])
            .exits(150)
            .says(&["cannot load gest.wasm", "help: there is guest.wasm; give"]);
    }
    for command in ["replay", "draw", "minimize"] {
        place.host(&[command, "clustr.toml"]).exits(151).says(&["help: there is cluster.toml; give a trace.json"]);
    }
    place.host(&["test", "clustre.toml"]).exits(151).says(&["help: there is cluster.toml; give a folder"]);
    place.host(&["live", "up", "clustre.toml"]).exits(151).says(&["help: there is cluster.toml; give the file"]);
    // A name that resembles no file has the remedy alone.
    place.host(&["live", "up", "else.toml"]).exits(151).says(&["help: give the file of a cluster"]);
    let paxos = bundled("paxos");
    place
        .host(&["run", paxos, "--set", "proposer=2"])
        .exits(151)
        .says(&["help: write `proposers`; it has: proposers, "]);
    place.host(&["run", paxos, "--set-on", "0:proposer=2"]).exits(151).says(&["help: write `proposers`; it has: "]);
    place
        .host(&["run", paxos, "--set", "proposers=two"])
        .exits(151)
        .says(&["cannot be \"two\": this is no whole number"]);
    let ran = place.host(&["simulate", paxos, "--runs", "0"]).exits(2);
    assert!(ran.err.contains("0 is too small, it must be at least 1"), "{ran:?}");
}

/// Omissions and forbidden calls of authors in Rust, as their build reports them.
#[test]
fn mistakes_in_rust_are_named_by_the_build() {
    let place = Place::new();
    place.host(&["new", "rust", "ring", "--bare"]).exits(0);
    place.shares_what_is_compiled("ring");
    let source = std::fs::read_to_string(place.path("ring/src/lib.rs")).expect("it was made");
    let table = "{\n    seen: std::collections::HashMap<u32, u32>,\n}";
    let edited = |edits: &[(&str, &str)]| {
        edits.iter().fold(source.clone(), |text, (from, to)| {
            assert!(text.contains(from), "no {from:?} in {text}");
            text.replace(from, to)
        })
    };
    for (edits, said) in [
        (
            &[("guest_sdk::export!(Greeting);", "")][..],
            "ring compiles but is no plugin: it exports nothing of the contract; does it call `guest_sdk::export!`",
        ),
        (&[("{\n    heard: u32,\n}", table)], "what to do about a `HashMap` in a state or message: its order"),
        (
            &[("struct Hello;", &format!("struct Hello {}", table.replace("Map<u32, u32>", "Set<u32>")))],
            "what to do about a `HashSet` in a state or message: its order",
        ),
    ] {
        place.put("ring/src/lib.rs", edited(edits));
        let ran = place.host(&["build", "ring", "--no-examine", "--quiet", "--no-install"]);
        if ran.err.contains("no Rust toolchain") {
            return;
        }
        assert!(ran.code == 150 && ran.err.contains(said), "no {said:?} in {ran:?}");
    }
}
