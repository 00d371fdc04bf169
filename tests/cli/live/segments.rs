//! Recordings of single nodes, which are replayed where their files were moved, changed and lost.

use std::collections::BTreeMap;

use host_live::disk::Owner;
use host_live::gate::Open;
use host_live::node::{Identity, Node, Output, Settings};
use host_live::recording::{Head, Recorded, Tape};
use host_live::time::Time;
use host_model::scenario::Network;
use host_sandbox::fixtures::{self, Guest};
use host_sandbox::{Plugin, Sandbox, SandboxConfig};
use serde_json::{Value, json};

use crate::cli::{Place, Ran};

/// A fuel under which the start of [`slow`] fails, and one above the default.
const FUEL: [u64; 2] = [10_000, 1_000_000_000];

/// A guest whose start takes more than the least fuel.
fn slow() -> Vec<u8> {
    let init = "
        (loop $again
          (i32.store (i32.const 1040) (i32.add (i32.load (i32.const 1040)) (i32.const 1)))
          (br_if $again (i32.lt_u (i32.load (i32.const 1040)) (i32.const 20000))))
        (call $tagged (i32.const 0) (i32.const 0) (i32.const 0))";
    Guest { init: init.into(), ..Guest::default() }.component()
}

/// The segments of a start of a node, recorded by a node that runs: one with its start and an event, and a further one with another event.
/// The second one is empty if the start fails, as it does with little fuel.
fn segments(guest: &[u8], node: u32, begun: u64, fuel: Option<u64>) -> [Vec<u8>; 2] {
    let mut config = SandboxConfig::default();
    config.limits.fuel_per_call = fuel.unwrap_or(config.limits.fuel_per_call);
    let sandbox = Sandbox::new(config, None).expect("an engine");
    let plugin = Plugin::load(&sandbox, guest).expect("a plugin");
    let identity =
        Identity { node, nodes: 2, config: String::new(), name: String::new(), cluster: [7; 16], session: 1 };
    let component = ("guest".to_owned(), plugin.digest().to_owned());
    let limits: BTreeMap<String, u64> = fuel.into_iter().map(|fuel| ("fuel".to_owned(), fuel)).collect();
    let head = Head::of_start(Owner::new(&identity, Network::Unordered, &component), limits, begun);
    let gate = Recorded { gate: Open, tape: Some(Tape::new(head)) };
    let settings = Settings { network: Network::Unordered, ..Settings::default() };
    let taken = |gate: &mut Recorded<Open>| gate.tape.as_mut().expect("it is recorded").take();
    let mut started = match Node::start_or_return(&plugin, identity, settings, gate, None, Time(0)) {
        Ok(started) => started,
        Err(mut failed) => return [taken(&mut failed.gate), Vec::new()],
    };
    let mut turn = |seconds: u64| {
        while let Some(output) = started.next_output() {
            if let Output::Persist { ticket, .. } = output {
                started.persisted(ticket);
            }
        }
        started.elapse(Time(seconds * 1_000_000_000));
        let state = started.export().expect("it is exported");
        let tape = started.gate_mut();
        let segment = taken(tape);
        tape.tape.as_mut().expect("it is recorded").turn(state);
        segment
    };
    [turn(1), turn(2)]
}

/// A folder with the segments of node 0, and the guest that was recorded.
fn recorded(segments: &[&[u8]]) -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path("recording")).expect("writable");
    for (number, segment) in (1..).zip(segments) {
        place.put(&format!("recording/node-0.{number:06}.rec"), segment);
    }
    place.put("guest.wasm", slow());
    place
}

fn replay(place: &Place, more: &[&str]) -> Ran {
    place.host(&[&["live", "replay", "recording", "--plugin", "guest.wasm", "--json"], more].concat())
}

/// The node of a replay.
fn node(ran: &Ran) -> Value {
    ran.json()["nodes"][0].clone()
}

/// Each start is replayed under the limits that it had: one that has failed for its limit, before and behind one that has not.
#[test]
fn each_start_has_its_own_limits() {
    let ([fails, _], [starts, continues]) = (segments(&slow(), 0, 1, Some(FUEL[0])), segments(&slow(), 0, 2, None));
    for order in [[&fails, &starts, &continues], [&starts, &continues, &fails]] {
        let place = recorded(&order.map(Vec::as_slice));
        let replayed = node(&replay(&place, &[]).exits(0));
        assert_eq!((&replayed["starts"], &replayed["differs"]), (&json!(2), &Value::Null), "{replayed}");
        let failed = replayed["failed"].as_array().expect("a list");
        let says = |words: &str| failed.len() == 1 && failed[0].as_str().is_some_and(|failed| failed.contains(words));
        assert!(says("start: `init` does not end within 10000 units of fuel"), "{replayed}");
        // With more fuel for all, the start that failed does not fail.
        let other = node(&replay(&place, &["--limit", "fuel=50000000"]).exits(14));
        assert!(other["differs"]["what"].as_str().is_some_and(|what| what.contains("and does not now")), "{other}");
    }
}

/// A recording raises no limit by itself.
#[test]
fn a_limit_above_the_default_must_be_given() {
    let [first, second] = segments(&slow(), 0, 1, Some(FUEL[1]));
    let place = recorded(&[&first, &second]);
    let words = ["node-0.000001.rec raises a limit: fuel=1000000000", "allow it with `--limit fuel=1000000000`"];
    replay(&place, &[]).exits(151).says(&words);
    assert_eq!(node(&replay(&place, &["--limit", "fuel=1000000000"]).exits(0))["differs"], Value::Null);
    replay(&place, &["--limit", "fuel=500000000"]).exits(0);
}

/// A node that cannot start has recorded why.
#[test]
fn a_start_that_fails_is_recorded() {
    let place = Place::new();
    for (name, component) in [("trap", fixtures::traps_in_init()), ("events", fixtures::loops_in("local-events"))] {
        let file = format!("{name}.wasm");
        place.put(&file, component);
        let nodes = "[[node]]\naddress = \"127.0.0.1:7101\"\n[[node]]\naddress = \"127.0.0.1:7102\"\n";
        place.put("c.toml", format!("plugin = {file:?}\ndata = {name:?}\nnetwork = \"ordered\"\n{nodes}"));
        let folder = format!("{name}-recording");
        place.host(&["live", "node", "c.toml", "--id", "0", "--quiet", "--record", &folder]).exits(14);
        let ran = place.host(&["live", "replay", &folder, "--plugin", &file, "--json"]).exits(0);
        let replayed = node(&ran);
        assert_eq!((&replayed["events"], &replayed["differs"]), (&json!(0), &Value::Null), "{replayed}");
        let failed = replayed["failed"][0].as_str().expect("it has failed");
        assert!(failed.starts_with("after event 0: start: `"), "{failed}");
    }
}

/// A segment with the name of another node, and another version that cannot read the state at which a recording begins.
#[test]
fn segments_in_other_places_are_named() {
    let [first, second] = segments(&slow(), 0, 1, None);
    let place = recorded(&[&first, &second]);
    place.put("recording/node-1.000001.rec", &first);
    let words = ["node-1.000001.rec has the name of node 1 and is of node 0", "their former names"];
    replay(&place, &[]).exits(151).says(&words);
    let single = |more: &[&str]| {
        let words = ["live", "replay", "recording/node-1.000001.rec", "--plugin", "guest.wasm", "--json"];
        place.host(&[&words[..], more].concat())
    };
    assert_eq!(node(&single(&[]).exits(0))["node"], 0, "a file by itself may have any name");
    single(&["--id", "1"]).exits(151).says(&["has no recording of node 1"]);
    std::fs::remove_file(place.path("recording/node-1.000001.rec")).expect("it is there");
    std::fs::remove_file(place.path("recording/node-0.000001.rec")).expect("it is there");
    place.put("other.wasm", fixtures::ping_pong());
    let compared = replay(&place, &["--against", "other.wasm"]).exits(1);
    assert_eq!(node(&compared)["not_compared"], true, "{compared:?}");
    let same = replay(&place, &["--against", "guest.wasm"]).exits(0);
    assert_eq!(node(&same)["not_compared"], false, "{same:?}");
}

/// A log is ordered by the clocks of the nodes, and replaces its file whole or not at all.
#[test]
fn a_log_is_written_whole_or_not_at_all() {
    let [[first, second], [other, _]] = [segments(&slow(), 0, 7, None), segments(&slow(), 1, 5, None)];
    let place = recorded(&[&first, &second]);
    place.put("recording/node-1.000001.rec", &other);
    replay(&place, &["--log", "log.ndjson"]).exits(0);
    let log = std::fs::read_to_string(place.path("log.ndjson")).expect("it is there");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let starts: Vec<&Value> = lines.iter().filter(|line| line["event"] == "start").map(|line| &line["node"]).collect();
    assert_eq!(starts, [1, 0], "{log}");
    assert!(lines.len() > 3, "{log}");
    let mut damaged = second.clone();
    *damaged.last_mut().expect("it has bytes") ^= 1;
    place.put("recording/node-0.000002.rec", &damaged);
    replay(&place, &["--log", "log.ndjson"]).exits(151).says(&["is damaged at byte"]);
    assert_eq!(std::fs::read_to_string(place.path("log.ndjson")).expect("it is there"), log);
    let files = std::fs::read_dir(place.path("")).expect("it is there").count();
    assert_eq!(files, 3, "nothing else is left");
}
