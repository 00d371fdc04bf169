//! Damaged traces, scenarios and checkpoints, through the command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use host::exit::{Exit, TABLE};
use host_model::trace::{Flight, Hex, Trace, TraceEvent, TraceStep};
use host_sandbox::fixtures;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::mutate::damage;
use super::{Dice, Fate};
use crate::live;

/// A folder with a guest in it, for this process.
fn place() -> &'static TempDir {
    static PLACE: OnceLock<TempDir> = OnceLock::new();
    PLACE.get_or_init(|| {
        let place = TempDir::new().expect("a temporary folder");
        std::fs::write(place.path().join("guest.wasm"), fixtures::ping_pong()).expect("writable");
        let guests =
            [("pairs", fixtures::pairs()), ("far", fixtures::ping_pong_too_far()), ("traps", fixtures::traps())];
        for (name, bytes) in guests {
            std::fs::write(place.path().join(format!("{name}.wasm")), bytes).expect("writable");
        }
        place
    })
}

/// Runs a command line there; its exit code must be a documented one, and never an internal error of the host.
fn host(arguments: &[&str], seed: u64) -> Fate {
    host_until(arguments, seed, false)
}

/// A clock that interrupts once a search has begun.
fn interrupting(interrupted: &Arc<AtomicBool>) -> host::Clock {
    let (asked, interrupted) = (AtomicU64::new(0), Arc::clone(interrupted));
    Arc::new(move || {
        interrupted.fetch_or(asked.fetch_add(1, Ordering::Relaxed) >= 40, Ordering::Relaxed);
        Duration::ZERO
    })
}

/// The same, interrupted soon after the search has begun if asked for.
fn host_until(arguments: &[&str], seed: u64, is_interrupted: bool) -> Fate {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let interrupted = Arc::new(AtomicBool::new(false));
    let mut environment = host::Environment {
        stdout: &mut stdout,
        stderr: &mut stderr,
        stdin: &mut std::io::empty(),
        stdin_is_terminal: false,
        colours: false,
        stderr_columns: None,
        directory: place().path().to_owned(),
        cache: Some(place().path().join("cache")),
        clock: if is_interrupted { interrupting(&interrupted) } else { host::system_clock() },
        builds: Default::default(),
        interrupted,
    };
    let words = std::iter::once("host").chain(arguments.iter().copied()).map(OsString::from);
    let code = host::run(words, &mut environment);
    let text = String::from_utf8_lossy(&stderr).into_owned();
    let known = TABLE.iter().find(|(exit, _)| exit.code() == code).map(|(exit, _)| *exit);
    match known {
        Some(Exit::Ok) => Fate::Fine,
        Some(Exit::Configuration | Exit::Plugin) => {
            assert!(text.starts_with("error: ") && text.lines().count() <= 2, "case {seed}: {text}");
            Fate::Refused
        }
        None | Some(Exit::System | Exit::Usage) => panic!("case {seed} ends with {code}: {text}"),
        Some(_) => Fate::Faulty,
    }
}

fn file(name: &str, seed: u64) -> (String, PathBuf) {
    // Tests run at the same time in one folder.
    let name = format!("{seed}-{name}");
    let path = place().path().join(&name);
    (name, path)
}

/// Traces of faulty guests, as `host run` writes them, and traces that begin in exported states: guest and content.
fn corpus() -> &'static [(&'static str, Vec<u8>)] {
    static CORPUS: OnceLock<Vec<(&str, Vec<u8>)>> = OnceLock::new();
    CORPUS.get_or_init(|| {
        let runs: [(&str, &str, &[&str]); 5] = [
            ("far.wasm", "bdfs", &[]),
            ("far.wasm", "bdfs", &["--network", "unordered-duplicating", "--duplicates", "1", "--set", "a=b"]),
            (
                "far.wasm",
                "bdfs",
                &["--network", "ordered", "--breaks", "1", "--resets", "1", "--limit", "fuel=1000000"],
            ),
            ("far.wasm", "walk", &["--walks", "3"]),
            ("traps.wasm", "unfold", &["--resets", "1"]),
        ];
        let mut corpus: Vec<(&str, Vec<u8>)> = Vec::new();
        let trace = |(guest, algo, options): (&'static str, &str, &[&str])| {
            let run = [&["run", guest, "--nodes", "2", "--algo", algo, "--quiet", "--out", "corpus"], options].concat();
            assert_eq!(host(&run, 0), Fate::Faulty, "{run:?} finds something");
            (guest, std::fs::read(place().path().join("corpus/trace.json")).expect("a finding leaves a trace"))
        };
        corpus.extend(runs.map(trace));
        // Their states half-way, as another process would export them; the rest after a loss; without a node.
        for (guest, bytes) in corpus.clone() {
            let trace: Trace = serde_json::from_slice(&bytes).expect("`host` wrote it");
            let component = std::fs::read(place().path().join(guest)).expect("it is there");
            let half = trace.steps.len() / 2;
            let live = live::exported(&component, &trace, half);
            let whole = Trace { steps: trace.steps[half..].to_vec(), finding: trace.finding.clone(), ..live.clone() };
            corpus.push((guest, serde_json::to_vec(&whole).expect("a document")));
            let in_flight = live.beginning.iter().flat_map(|beginning| beginning.in_flight.iter());
            let loss = |flight: &Flight| {
                let event = TraceEvent::Lose { from: flight.from, payload: flight.payload.clone() };
                TraceStep { node: flight.to, event, choices: Vec::new(), sent: None, state: None }
            };
            let steps = in_flight.filter(|flight| !flight.notice).take(1).map(loss).collect();
            let lossy = Trace { steps, ..live.clone() };
            corpus.push((guest, serde_json::to_vec(&lossy).expect("a document")));
            let mut alone = live;
            alone.scenario.absent.insert(1);
            let beginning = alone.beginning.as_mut().expect("it begins there");
            beginning.states.truncate(1);
            beginning.in_flight.retain(|flight| flight.to == 0);
            corpus.push((guest, serde_json::to_vec(&alone).expect("a document")));
        }
        corpus
    })
}

/// Damages an exported state and repairs the hash at its end, so that the code behind the check runs.
fn damage_state(trace: &mut Value, dice: &mut Dice) {
    const HASH_BYTES: usize = 32;
    let Some(states) = trace.pointer_mut("/beginning/states").and_then(Value::as_array_mut) else { return };
    let at = dice.below(states.len());
    let Some(Value::String(digits)) = states.get_mut(at).and_then(|state| state.get_mut("exported")) else { return };
    let Ok(Hex(mut bytes)) = serde_json::from_value(Value::String(digits.clone())) else { return };
    let Some(len) = bytes.len().checked_sub(HASH_BYTES) else { return };
    bytes.truncate(len);
    match dice.below(3) {
        0 => bytes.truncate(dice.below(len + 1)),
        1 => bytes.extend_from_within(dice.below(len + 1)..),
        _ => {
            for _ in 0..1 + dice.below(3) {
                let at = dice.below(len);
                bytes[at] = *dice.pick(&[0, 1, 2, 0x7f, 0x80, 0xff]);
            }
        }
    }
    let hash = blake3::hash(&bytes);
    bytes.extend_from_slice(hash.as_bytes());
    *digits = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
}

/// A damaged trace: as a document, or as bytes.
pub fn traces(seed: u64) -> Fate {
    let mut dice = Dice::new(seed);
    let (guest, content) = dice.pick(corpus());
    let mut trace: Value = serde_json::from_slice(content).expect("a trace is JSON");
    for _ in 0..dice.below(4) {
        change(&mut trace, &mut dice);
    }
    if dice.below(4) == 0 {
        damage_state(&mut trace, &mut dice);
    }
    let mut bytes = trace.to_string().into_bytes();
    if dice.below(2) == 0 {
        let (_, other) = dice.pick(corpus());
        damage(&mut bytes, other, &mut dice);
    }
    let (name, path) = file("trace.json", seed);
    std::fs::write(&path, bytes).expect("writable");
    let replayed = host(&["replay", &name, "--plugin", guest, "--any-plugin"], seed);
    let searched = host(
        &["run", guest, "--prefix", &name, "--any-plugin", "--algo", "bdfs", "--depth", "3", "--out", "found"],
        seed,
    );
    std::fs::remove_file(&path).expect("writable");
    replayed.max(searched)
}

/// Values where others are expected.
fn change(value: &mut Value, dice: &mut Dice) {
    match value {
        Value::Object(map) if dice.below(4) > 0 && !map.is_empty() => {
            let keys: Vec<String> = map.keys().cloned().collect();
            let key = dice.pick(&keys);
            if dice.below(8) == 0 {
                map.remove(key);
            } else {
                change(&mut map[key.as_str()], dice);
            }
        }
        Value::Array(list) if dice.below(4) > 0 && !list.is_empty() => {
            let at = dice.below(list.len());
            match dice.below(6) {
                0 => drop(list.remove(at)),
                1 => list.insert(at, list[at].clone()),
                _ => change(&mut list[at], dice),
            }
        }
        Value::Number(_) => value.clone_from(dice.pick(&[
            json!(0),
            json!(1),
            json!(1024),
            json!(u32::MAX),
            json!(u64::MAX),
            json!(-1),
            json!(1e300),
        ])),
        Value::String(_) => value.clone_from(dice.pick(&[
            json!(""),
            json!("0"),
            json!("00"),
            json!("go"),
            json!("\u{0}\u{1b}[2J"),
            json!("../../x"),
            json!("a".repeat(10_000)),
        ])),
        _ => value.clone_from(dice.pick(&[json!(null), json!([]), json!({}), json!(true), json!([[[[[[]]]]]])])),
    }
}

/// Lines of scenarios, right and wrong.
const LINES: [&str; 52] = [
    "nodes = 2",
    "nodes = 3",
    "nodes = 0x10",
    "nodes = 1_024",
    "nodes = 99999999999999999999",
    "network = \"unordered\"",
    "network = \"unordered-duplicating\"",
    "network = \"ordered\"",
    "prefix = \"none.json\"",
    "prefix = \".\"",
    "plugin = \"../guest.wasm\"",
    "deadlock = true",
    "continue = true",
    "max-violations = 3",
    "audit = \"full\"",
    "plugin = \"pairs.wasm\"",
    "[parameters]",
    "a = 1",
    "\"\" = 1",
    "\"b\\n\" = \"c\"",
    "[faults]",
    "resets = 1",
    "duplicates = 1",
    "breaks = 1",
    "refusals = 1",
    "crashes = 1",
    "partitions = 1",
    "refusals = 99",
    "[bounds]",
    "depth = 2",
    "local-events = 0",
    "states = 5",
    "time = \"1s\"",
    "memory = \"1GiB\"",
    "[strategy]",
    "algo = \"unfold\"",
    "algo = \"walk\"",
    "algo = \"dpor\"",
    "algo = \"lmc-opt\"",
    "algo = \"consequence\"",
    "reduce = true",
    "seed = 3",
    "[limits]",
    "fuel = 10000",
    "memory = \"64KiB\"",
    "[[node]]",
    "id = 1",
    "adversary = true",
    "twins = [0]",
    "[expect.counts]",
    "global_states = 5",
    "[expect]",
];

/// A scenario of right and wrong lines, or a damaged one.
pub fn scenarios(seed: u64) -> Fate {
    let mut dice = Dice::new(seed);
    let mut lines =
        vec!["plugin = \"guest.wasm\"", "nodes = 2", "[strategy]", "algo = \"bdfs\"", "[bounds]", "depth = 3"];
    for _ in 0..dice.below(5) {
        let at = dice.below(lines.len() + 1);
        lines.insert(at, LINES[dice.below(LINES.len())]);
    }
    let mut bytes = lines.join("\n").into_bytes();
    if dice.below(3) == 0 {
        let other = LINES.join("\n").into_bytes();
        damage(&mut bytes, &other, &mut dice);
    }
    let (name, path) = file("scenario.toml", seed);
    std::fs::write(&path, bytes).expect("writable");
    // These bounds override those of the scenario.
    let fate = host(&["run", &name, "--time", "2s", "--out", "found", "--quiet", "--json"], seed);
    std::fs::remove_file(&path).expect("writable");
    fate
}

/// A checkpoint of a search with messages, quorums and choices of order that was stopped on its way.
fn checkpoint() -> &'static [u8] {
    static CHECKPOINT: OnceLock<Vec<u8>> = OnceLock::new();
    CHECKPOINT.get_or_init(|| {
        let run = ["run", "pairs.wasm", "--nodes", "5", "--algo", "bdfs", "--quiet", "--checkpoint", "whole"];
        host_until(&run, 0, true);
        // A few waves more, so that there is something in it.
        for _ in 0..3 {
            host_until(&["run", "--resume", "whole", "--quiet"], 0, true);
        }
        std::fs::read(place().path().join("whole/checkpoint")).expect("an interrupted search leaves a checkpoint")
    })
}

/// Puts the hash of the header right: it follows the header, which follows its length and the name of the format.
fn mend_header(bytes: &mut [u8]) {
    const NAME_BYTES: usize = b"host checkpoint 7\n".len();
    let Some(&len) = bytes.get(NAME_BYTES..).and_then(|rest| rest.first_chunk::<8>()) else { return };
    let begin = NAME_BYTES + 8;
    let Some(end) = usize::try_from(u64::from_le_bytes(len)).ok().and_then(|len| len.checked_add(begin)) else {
        return;
    };
    if let Some(hash) = bytes.get(begin..end).map(blake3::hash)
        && let Some(there) = bytes.get_mut(end..).and_then(|rest| rest.first_chunk_mut::<32>())
    {
        *there = *hash.as_bytes();
    }
}

/// A damaged checkpoint; for most of them the hash at its end is repaired, so that the code behind the check runs.
pub fn checkpoints(seed: u64) -> Fate {
    const HASH_BYTES: usize = 32;
    let mut dice = Dice::new(seed);
    let whole = checkpoint();
    let mut bytes = whole.to_vec();
    if dice.below(4) > 0 {
        bytes.truncate(bytes.len() - HASH_BYTES);
        if dice.below(2) == 0 {
            // Most of it are integers.
            for _ in 0..1 + dice.below(3) {
                let at = dice.below(bytes.len() / 4) * 4;
                let word = *dice.pick(&[0, 1, 2, 3, 5, 7, 11, 64, 1 << 16, 1 << 30, u32::MAX - 1, u32::MAX]);
                bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
            }
        } else {
            damage(&mut bytes, whole, &mut dice);
        }
        if dice.below(2) == 0 {
            mend_header(&mut bytes);
        }
        let hash = blake3::hash(&bytes);
        bytes.extend_from_slice(hash.as_bytes());
    } else {
        damage(&mut bytes, whole, &mut dice);
    }
    let folder = format!("{seed}-kept");
    let path = place().path().join(&folder);
    std::fs::create_dir_all(&path).expect("writable");
    std::fs::write(path.join("checkpoint"), bytes).expect("writable");
    let fate = host(&["run", "--resume", &folder, "--time", "2s", "--quiet", "--json"], seed);
    std::fs::remove_dir_all(&path).expect("writable");
    fate
}
