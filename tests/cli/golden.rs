//! The report on each seeded bug, word for word.
//!
//! `HOST_BLESS=1` writes the files in `tests/golden` instead of comparing them. Read them, and look at the drawings,
//! before they are committed.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use super::{Place, folder};

/// A bug, the search for it (options, or a scenario), and the length of the shortest path to it.
struct Seeded {
    name: &'static str,
    plugin: &'static str,
    options: &'static [&'static str],
    length: usize,
}

const SEEDED: &[Seeded] = &[
    // Twice the nine events of a proposal that ends in a choice.
    Seeded {
        name: "paxos-last-response",
        plugin: "paxos",
        options: &["--algo", "unfold", "--set", "bug=last-response", "--set", "proposers=2"],
        length: 18,
    },
    // The same nine events once more after those of the live state.
    Seeded {
        name: "paxos-live-state",
        plugin: "paxos",
        options: &["--algo", "unfold", "--prefix", "plugins/paxos/scenarios/live-state.json"],
        length: 18,
    },
    // Two proposals, and a reset of the acceptor that voted for both. A proposer that is reset does not try again, so resets break the
    // promise as well; of the default's members a walk can be the first to prove that.
    Seeded {
        name: "paxos-forget-accepted",
        plugin: "paxos",
        options: &["--set", "bug=forget-accepted", "--resets", "1", "--algo", "bdfs", "--reduce"],
        length: 19,
    },
    // `begin`, three times Prepare, two votes for it and the one against it: the coordinator decides when all have voted.
    Seeded {
        name: "two-phase-commit-majority",
        plugin: "two-phase-commit",
        options: &["--algo", "unfold", "--set", "bug=majority", "--nodes", "4"],
        length: 7,
    },
    // Found by the search for a shortest way, which leaves nothing out below that length.
    Seeded {
        name: "register-no-write-back",
        plugin: "register",
        options: &["--algo", "bdfs", "--set", "bug=no-write-back", "--set", "reads=2"],
        length: 12,
    },
    // `write`, its own copy stored, one answer: one of three is no majority.
    Seeded {
        name: "register-one-ack",
        plugin: "register",
        options: &["--algo", "bdfs", "--set", "bug=one-ack", "--set", "reads=0"],
        length: 3,
    },
    // Node 0 passes the token on, node 1 receives it.
    Seeded { name: "template-keep", plugin: "template", options: &["--algo", "bdfs", "--set", "bug=keep"], length: 2 },
];

/// Bugs that a scenario finds, which derives the length of the shortest path, if that is known: plugin, scenario, and
/// the exit code.
const SCENARIOS: &[(&str, &str, u8)] = &[
    ("echo-multicast", "echo-all", 12),
    ("echo-multicast", "forget-echo", 12),
    ("echo-multicast", "majority", 12),
    ("echo-multicast", "too-many", 12),
    ("echo-multicast", "unchecked", 12),
    ("linearizable-register", "forget-copy", 12),
    ("linearizable-register", "no-query", 12),
    ("linearizable-register", "no-write-back", 12),
    ("linearizable-register", "one-ack", 12),
    ("linearizable-register", "quiet-store", 13),
    ("lock", "dead", 13),
    ("lock", "holding", 13),
    ("lock", "lost", 13),
    ("lock", "lost-again", 13),
    ("lock", "starving", 13),
    ("lock", "unfair", 13),
    ("multi-paxos", "first-vote", 13),
    ("multi-paxos", "forget-accepted-live", 12),
    ("multi-paxos", "last-response-live", 12),
    ("one-acceptor", "as-printed", 12),
    ("one-acceptor", "post-increment", 12),
    ("one-acceptor", "post-increment-roles", 12),
    ("one-acceptor", "uncommitted", 12),
    ("paxos", "strict-accept", 13),
    ("query", "busy", 13),
    ("raft", "answer-before-write", 12),
    ("raft", "commit-older-term", 12),
    ("raft", "no-backtrack", 13),
    ("raft", "no-log-check", 12),
    ("raft", "term-not-persisted", 12),
    ("raft", "vote-not-persisted", 12),
    ("raft-compaction", "previous-zero", 12),
    ("regular-storage", "forget-value", 12),
    ("regular-storage", "last-reply", 12),
    ("regular-storage", "one-ack", 12),
    ("regular-storage", "only-newest", 13),
    ("retransmission", "forget", 12),
    ("retransmission", "last-only", 12),
    ("retransmission", "no-memory", 12),
    ("shadow-map", "forget-refused", 11),
    ("synod", "duel", 13),
    ("synod", "no-retry", 13),
    ("two-phase-commit", "coordinator-stops", 11),
    ("two-phase-commit", "coordinator-stops-blocks", 13),
    ("two-phase-commit", "crash", 11),
    ("two-phase-commit", "impatient", 12),
    ("two-phase-commit", "lost-error", 11),
    ("two-phase-commit", "participant-stops", 11),
    ("two-phase-commit", "participant-stops-blocks", 13),
];

/// Scenarios and traces that take more than three seconds of processor time each, two thirds of that of all, and explore in full, or
/// with more nodes, a space that others of their plugins explore in part. `.ci/run long bundled` runs them.
const LONG: &[&str] = &[
    "broken-tree/scenarios/four-wide.toml",
    "bullet-prime/scenarios/all-faults-of-two.toml",
    "bullet-prime/scenarios/bul1-in-a-mesh.toml",
    "bullet-prime/scenarios/refusals-in-a-mesh.toml",
    "chord/scenarios/all-faults-of-two.toml",
    "chord/scenarios/resets.toml",
    "echo-multicast/scenarios/byzantine-quorum.toml",
    "mace-transport/scenarios/all-faults.toml",
    "multi-paxos/scenarios/figure-3-8.json",
    "one-acceptor/scenarios/as-printed-goal.toml",
    "one-acceptor/scenarios/defaults.toml",
    "overcast/scenarios/four.toml",
    "pastry/scenarios/cut.toml",
    "pastry/scenarios/pastry5.toml",
    "raft/scenarios/answer-before-write-reduced.toml",
    "raft-compaction/scenarios/snapshot-term.toml",
    "rand-tree/scenarios/all-faults-of-two.toml",
    "rand-tree/scenarios/rt4.toml",
    "synod/scenarios/alone.toml",
    "tcp-simulator/scenarios/break-and-resets.toml",
];

/// Nothing else keeps the drawing equal to the output of the command.
#[test]
fn the_readme_shows_a_drawing_of_the_command_above_it() {
    let readme = std::fs::read_to_string(folder("../README.md")).expect("the README is there");
    let (before, after) = readme.split_once("](tests/golden/").expect("the README shows a drawing");
    let name = after.strip_suffix("/trace.svg)").or_else(|| after.split_once("/trace.svg)").map(|(name, _)| name));
    let seeded = SEEDED.iter().find(|seeded| Some(seeded.name) == name).expect("a test makes the drawing");
    let command = format!("$ host run plugins/{} {}", seeded.plugin, seeded.options.join(" "));
    let shown = before.lines().rfind(|line| line.starts_with("$ host "));
    assert_eq!(shown, Some(command.as_str()));
    assert!(after.contains("](docs/first-violation.html)"), "the README links to the page of that violation");
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name)
}

/// Compares a text with a golden file, or writes it.
#[track_caller]
fn compare(name: &str, text: &str) {
    compare_file(&golden(name), text);
}

#[track_caller]
pub(super) fn compare_file(path: &Path, text: &str) {
    if std::env::var_os("HOST_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("golden files are in folders")).expect("the tree can be written");
        std::fs::write(path, text).expect("the tree can be written");
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    let name = path.display();
    let differs = expected.lines().zip(text.lines()).position(|(one, other)| one != other);
    let line = differs.unwrap_or_else(|| expected.lines().count().min(text.lines().count()));
    assert!(
        expected == text,
        "{name} differs in line {}:\n  expected {:?}\n  is       {:?}\nHOST_BLESS=1 rewrites it",
        line + 1,
        expected.lines().nth(line),
        text.lines().nth(line)
    );
}

/// A place where the plugins are where they are in the repository, each built by the first command that asks for it.
pub(super) fn repository() -> Place {
    let place = Place { builds: Some(RefCell::default()), ..Place::new() };
    let plugins = folder("paxos").join("..").canonicalize().expect("the plugins are there");
    std::os::unix::fs::symlink(plugins, place.path("plugins")).expect("a temporary folder can be written");
    place
}

fn read(place: &Place, path: &str) -> String {
    std::fs::read_to_string(place.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A drawing without the digests of components: each compiler makes another one.
fn without_digests(drawing: &str) -> String {
    let mut parts = drawing.split("blake3:");
    let before = parts.next().unwrap_or_default().to_owned();
    let digits = |part: &str| part.bytes().take_while(u8::is_ascii_hexdigit).count();
    parts.fold(before, |before, part| {
        assert_eq!(digits(part), 64, "a digest is not cut");
        before + "blake3:\u{2026}" + &part[64..]
    })
}

/// Compares the files that a run has left in a folder of the place with the golden files of a name.
fn compare_all(place: &Place, (name, folder): (&str, &str), plugin: &str) {
    compare(&format!("{name}/trace.txt"), &read(place, &format!("{folder}/trace.txt")));
    compare(&format!("{name}/trace.svg"), &without_digests(&read(place, &format!("{folder}/trace.svg"))));
    let trace = format!("{folder}/trace.json");
    let draw = ["draw", &trace, "--plugin", plugin, "--quiet", "--out", "x.mmd", "--out", "x.dot"];
    place.host(&draw).exits(0);
    compare(&format!("{name}/trace.mmd"), &read(place, "x.mmd"));
    compare(&format!("{name}/trace.dot"), &read(place, "x.dot"));
}

#[test]
fn each_bug_is_reported_and_drawn_as_it_was() {
    let place = repository();
    for seeded @ Seeded { name, plugin, options, length } in SEEDED {
        let plugin = format!("plugins/{plugin}");
        let run = [&["run", "--quiet", "--out", name, &plugin][..], options].concat();
        let ran = place.host(&run).exits(12);
        assert!(ran.out.contains(&format!("after {length} steps")), "{name}: {}", ran.out);
        compare_all(&place, (name, name), &plugin);
        if std::ptr::eq(seeded, &SEEDED[0]) {
            // The README and the book link to it: what a click on the first violation opens is what the program writes today.
            let page = without_digests(&read(&place, &format!("{name}/trace.html")));
            assert!(page.len() < 400_000, "{} bytes", page.len());
            compare_file(&folder("../docs").join("first-violation.html"), &page);
        }
    }
}

/// Most scenarios and traces of the plugins: the results are those derived in the READMEs, and each bug is reported and drawn as
/// it was.
#[test]
fn the_scenarios_of_the_bundled_plugins_are_as_they_say() {
    let place = repository();
    let skipped = LONG.iter().flat_map(|scenario| ["--skip", scenario]);
    let words = ["test", "plugins/", "--junit", "results.xml", "--quiet", "--out", "kept"];
    let ran = place.host(&words.into_iter().chain(skipped).collect::<Vec<_>>()).exits(0);
    assert!(ran.out.contains(&format!(" tests, {} skipped\n", LONG.len())), "{ran:?}");
    assert!(ran.out.contains("plugins/paxos/scenarios/one-proposal.toml"), "{ran:?}");
    assert!(ran.out.contains("plugins/paxos/scenarios/live-state.json"), "{ran:?}");
    assert!(ran.out.contains(" passed, 0 failed in "), "{ran:?}");
    let xml = read(&place, "results.xml");
    assert!(xml.contains("failures=\"0\" errors=\"0\"") && xml.contains("one-proposal.toml\""), "{xml}");
    assert_eq!(place.list(), ["kept", "plugins", "results.xml"]);
    for (plugin, scenario, exit) in SCENARIOS {
        let (name, plugin) = (format!("{plugin}-{scenario}"), format!("plugins/{plugin}"));
        let folder = format!("kept/{plugin}/scenarios/{scenario}");
        let stats: serde_json::Value =
            serde_json::from_str(&read(&place, &format!("{folder}/stats.json"))).expect("JSON");
        assert_eq!(stats["exit_code"], *exit, "{name}");
        compare_all(&place, (&name, &folder), &plugin);
    }
}

/// The cause of the bug, found by a session: the proposer of ballot 2 has seen a value that may be chosen, and proposes its
/// own.
#[test]
fn a_recorded_session_finds_the_cause() {
    let place = repository();
    let script = std::fs::read_to_string(golden("debug-last-response/session.txt")).expect("the session is there");
    let run = ["run", "plugins/paxos", "--quiet", "--out", "found"];
    place.host(&[&run[..], SEEDED[0].options].concat()).exits(12);
    let debug = ["debug", "found/trace.json", "--plugin", "plugins/paxos", "--quiet"];
    let ran = place.host_reading(&debug, &script).exits(0);
    compare("debug-last-response/output.txt", &ran.out);
    // The surviving path was saved, and replays.
    let lives = place.host(&["replay", "lives.json", "--plugin", "plugins/paxos", "--quiet"]).exits(0);
    assert!(lives.out.ends_with("replayed: no property is violated at the end\n"));
}

/// Bytes as digits, such as `0105`: a word of an even number of hexadecimal digits that is no number, no colour and no word of English.
pub(super) fn shown_bytes(text: &str) -> Option<&str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '#' || letter == '_' || letter == '-';
    text.split(|letter| !is_part(letter)).find(|word| {
        let is_hex =
            word.len() >= 4 && word.len() % 2 == 0 && word.bytes().all(|byte| b"0123456789abcdef".contains(&byte));
        let has = |is: fn(&u8) -> bool| word.as_bytes().iter().any(is);
        is_hex && has(u8::is_ascii_digit) && (has(u8::is_ascii_lowercase) || word.starts_with('0'))
    })
}

/// Plugins that describe themselves are shown in words: in every report and drawing of a deliberate mistake, and by the
/// debugger, which lists states, messages and possible events for a while.
#[test]
fn what_describes_itself_is_never_shown_as_bytes() {
    assert_eq!(["expire (timer, 0105)", "#7b7b7b, 1000 steps, dead"].map(shown_bytes), [Some("0105"), None]);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let mut read = 0;
    for case in std::fs::read_dir(golden).expect("it is there") {
        for file in std::fs::read_dir(case.expect("readable").path()).expect("a folder") {
            let path = file.expect("readable").path();
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            assert_eq!(shown_bytes(&text), None, "{}", path.display());
            read += 1;
        }
    }
    assert!(read > 100, "{read} files");
    let place = repository();
    let look = "enabled\nstate\nmessages\n";
    let script: String = (0..12).map(|step| format!("{look}take {}\n", step % 2)).collect();
    for plugin in
        ["linearizable-register", "lock", "multi-paxos", "query", "raft", "raft-kv", "rand-tree", "shadow-map"]
    {
        let folder = format!("plugins/{plugin}");
        let ran = place.host_reading(&["debug", &folder, "--quiet"], &script);
        assert!(ran.out.matches("> enabled\n").count() > 5, "{plugin}: {ran:?}");
        assert_eq!(shown_bytes(&ran.out), None, "{plugin}: {}", ran.out);
    }
}
