//! Tips in errors.

use host_sandbox::fixtures;

use super::Place;

/// What new users write, and the words that lead on; what would lead astray is not said.
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
