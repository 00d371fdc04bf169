//! `host doctor --why-different`: states that look the same and are distinguished.

use host_model::contract::{MachineFactory, NodeId};
use host_model::lts::{LocalStateId, Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::trace::start;
use host_sandbox::fixtures::{self, Hidden, Identity, hides};
use host_sandbox::{Plugin, Sandbox, SandboxConfig};
use host_search::graph::{self, GraphEdge, GraphSink, GraphState};
use host_search::kernel::{Search, SearchBounds, Unmonitored};
use serde_json::{Value, json};

use super::{Place, bundled};

/// Runs the command with JSON, for a guest.
#[track_caller]
fn asked(place: &Place, guest: &str, options: &[&str]) -> Value {
    let ran = place.host(&[&["doctor", guest, "--why-different", "--json"], options].concat());
    let said = ran.json();
    let code = u8::from(said["result"] == "different");
    assert_eq!(ran.code, code, "{ran:?}");
    said
}

fn hiding(hidden: Hidden, identity: Identity) -> Value {
    let place = Place::new();
    place.put("guest.wasm", hides(hidden, identity));
    asked(&place, "guest.wasm", &[])
}

/// Each of two nodes has six states, in 36 global states. Where the second number is not described there are two descriptions per node,
/// so four of its states look like one before. The third state of node 0 is the first such one in an exploration level by level; it looks
/// like that at the start, and two events lead to it.
#[test]
fn what_a_description_hides_is_found_with_its_place() {
    let places = [
        (Hidden::Data, Identity::Serialized, json!({ "in": "encoding", "byte": 26 })),
        (Hidden::Data, Identity::Memory, json!({ "in": "memory", "memory": 0, "address": 1050, "part": "data" })),
        (Hidden::Heap, Identity::Memory, json!({ "in": "memory", "memory": 0, "address": 20_000, "part": "heap" })),
        (Hidden::Stack, Identity::Memory, json!({ "in": "memory", "memory": 0, "address": 130, "part": "stack" })),
        (Hidden::Global, Identity::Memory, json!({ "in": "global", "instance": 0, "index": 2, "name": "hidden" })),
    ];
    for (hidden, identity, place) in places {
        let said = hiding(hidden, identity);
        let found = &said["found"];
        assert_eq!(found["place"], place, "{hidden:?}: {said}");
        // The bytes from there on: only the first one is not zero. A global is one number.
        let length = if hidden == Hidden::Global { 4 } else { 8 };
        let bytes = [0, 2].map(|first| format!("{first:02x}{}", "00".repeat(length - 1)));
        assert_eq!(found["bytes"], json!(bytes), "{hidden:?}: {said}");
        assert_eq!((&found["node"], &found["description"]), (&json!("node 0"), &json!(r#"{"shown":0}"#)), "{said}");
        assert_eq!(found["ways"], json!([[], ["node 0: go (internal, 30)", "node 0: go (internal, 31)"]]), "{said}");
        let counts = [&said["local_states"], &said["alike"], &said["undescribed"]];
        assert_eq!((counts, &said["cut"]), ([&json!(12), &json!(8), &json!(0)], &Value::Null), "{hidden:?}: {said}");
        let name = if identity == Identity::Memory { "memory" } else { "serialized" };
        assert_eq!(said["identity"], name);
    }
}

/// All of a state is described, so states that look the same are the same.
#[test]
fn where_a_description_is_whole_there_is_nothing_to_find() {
    for identity in [Identity::Serialized, Identity::Memory] {
        let said = hiding(Hidden::Nothing, identity);
        let counts = [&said["local_states"], &said["alike"], &said["undescribed"]];
        assert_eq!((&said["result"], counts), (&json!("none"), [&json!(12), &json!(0), &json!(0)]), "{said}");
        assert_eq!((&said["found"], &said["cut"]), (&Value::Null, &Value::Null), "{said}");
    }
    let place = Place::new();
    for plugin in ["fanout", "lock", "two-phase-commit"] {
        let said = asked(&place, bundled(plugin), &[]);
        assert_eq!(
            (&said["result"], &said["alike"], &said["cut"]),
            (&json!("none"), &json!(0), &Value::Null),
            "{said}"
        );
    }
}

#[test]
fn the_text_explains_the_difference() {
    let place = Place::new();
    place.put("guest.wasm", hides(Hidden::Data, Identity::Memory));
    let said = place.host(&["doctor", "guest.wasm", "--why-different"]).exits(1).out;
    let lines = [
        "different: two states of node 0 look the same but count as different",
        "",
        "the states",
        "  both         {shown: 0}",
        "  identity     memory",
        "  differ at    address 0x41a, in the data of the program",
        "  bytes there  00 00 00 00 00 00 00 00 in the first, 02 00 00 00 00 00 00 00 in the second",
        "",
        "the first is there at the start",
        "",
        "the second is there after 2 events",
        "  1. node 0: go (internal, 30)",
        "  2. node 0: go (internal, 31)",
        "",
        "8 look like an earlier one but count as different, among 12 local states of 2 nodes",
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), lines);
    place.put("whole.wasm", hides(Hidden::Nothing, Identity::Memory));
    let none = place.host(&["doctor", "whole.wasm", "--why-different"]).exits(0).out;
    assert_eq!(none, "none: no two states look the same but count as different, among 12 local states of 2 nodes\n");
}

/// Of three global states, the start and the two after it, each node has been in two local states.
#[test]
fn a_cut_is_reported() {
    let place = Place::new();
    place.put("guest.wasm", hides(Hidden::Data, Identity::Serialized));
    let said = asked(&place, "guest.wasm", &["--states", "3"]);
    let expected = json!(["none", 4, "the bound on states was reached"]);
    assert_eq!(json!([said["result"], said["local_states"], said["cut"]]), expected, "{said}");
    let text = place.host(&["doctor", "guest.wasm", "--why-different", "--states", "3"]).exits(0).out;
    let cut = "among 4 local states of 2 nodes; the bound on states was reached: there may be more\n";
    assert!(text.ends_with(cut), "{text}");
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let place = Place::new();
    place.put("silent.wasm", fixtures::ping_pong());
    let refused = place.host(&["doctor", "silent.wasm", "--nodes", "2", "--why-different"]).exits(151);
    refused.says(&["does not describe its states", "export the interface `describe`"]);
    place.host(&["doctor", "silent.wasm", "--why-different", "--steps", "5"]).exits(2);
    place.host(&["doctor", "silent.wasm", "--states", "5"]).exits(2);
    place.put("trap.wasm", fixtures::optional("describe: trap"));
    let said = asked(&place, "trap.wasm", &["--nodes", "2"]);
    assert_eq!((&said["result"], &said["undescribed"]), (&json!("none"), &said["local_states"]), "{said}");
    let text = place.host(&["doctor", "trap.wasm", "--nodes", "2", "--why-different"]).exits(0).out;
    assert!(text.ends_with("without a description\n"), "{text}");
}

/// The global states in the order in which an exploration level by level meets them.
#[derive(Default)]
struct Listed(Vec<(u32, Vec<LocalStateId>)>);

impl GraphSink for Listed {
    fn state(&mut self, state: &GraphState<'_>) {
        self.0.push((state.depth, state.locals.to_vec()));
    }

    fn edge(&mut self, _: &GraphEdge<'_>) {}
}

/// The result over all pairs of states: the number that look like an earlier one, and of the first pair the node, its description, the
/// encodings and the numbers of events on the paths.
type Compared = (usize, Option<(NodeId, String, [Vec<u8>; 2], [u32; 2])>);

/// The number of explored global states: one of the guests sends ever more messages.
const STATES: u64 = 300;

/// Compares each local state with each one before, in the order of the exploration.
fn compared(bytes: &[u8], nodes: u32) -> Compared {
    let sandbox = Sandbox::new(SandboxConfig::default(), None).expect("an engine");
    let plugin = Plugin::load(&sandbox, bytes).expect("a plugin");
    let lts = Lts::new(&plugin, Scenario::new(nodes)).expect("it lists its properties");
    let starts = start::initial(&mut Stepper::new(&lts).expect("an instance")).expect("it starts");
    let bounds = SearchBounds { states: Some(STATES), violations: Some(u64::MAX), ..SearchBounds::default() };
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
    let mut listed = Listed::default();
    graph::explore(&search, &mut listed).expect("no host fault");
    let mut machine = plugin.machine().expect("an instance");
    // Each state where it is met first, unless the node is stuck.
    let mut seen: Vec<(NodeId, String, Vec<u8>, u32)> = Vec::new();
    for (depth, locals) in &listed.0 {
        for (node, local) in (0..).zip(locals) {
            let state = lts.state(*local);
            let Some(snapshot) = &state.protocol.snapshot else { continue };
            machine.restore(Some(snapshot)).expect("it can be restored");
            let encoding = machine.serialize().expect("no fault");
            if seen.iter().all(|(other, _, bytes, _)| (*other, bytes) != (node, &encoding)) {
                let said = machine.describe_state().expect("no fault").expect("it describes itself");
                seen.push((node, said, encoding, *depth));
            }
        }
    }
    let (mut alike, mut first) = (0, None);
    for (place, (node, said, encoding, depth)) in seen.iter().enumerate() {
        let mut before = seen[..place].iter().filter(|(other, text, ..)| (other, text) == (node, said));
        if let Some((_, _, bytes, shallow)) = before.next() {
            alike += 1;
            first.get_or_insert((*node, said.clone(), [bytes.clone(), encoding.clone()], [*shallow, *depth]));
        }
    }
    (alike, first)
}

/// On small guests; most describe all their states alike.
#[test]
fn all_pairs_one_by_one_give_the_same_first_pair() {
    let place = Place::new();
    let guests = [
        (hides(Hidden::Data, Identity::Serialized), 2),
        (hides(Hidden::Heap, Identity::Memory), 2),
        (hides(Hidden::Global, Identity::Memory), 1),
        (hides(Hidden::Nothing, Identity::Memory), 2),
        (fixtures::identified_by(Identity::Serialized), 4),
        (fixtures::identified_by(Identity::Memory), 5),
        (fixtures::pairs(), 4),
        (fixtures::names_itself("nothing"), 1),
        (std::fs::read(bundled("lock")).expect("it was built"), 3),
        (std::fs::read(bundled("fanout")).expect("it was built"), 3),
    ];
    let mut found = 0;
    for (number, (guest, nodes)) in guests.iter().enumerate() {
        place.put("guest.wasm", guest);
        let options = ["--nodes", &nodes.to_string(), "--states", &STATES.to_string()];
        let said = asked(&place, "guest.wasm", &options);
        let (alike, first) = compared(guest, *nodes);
        assert_eq!(said["alike"], alike, "{number}: {said}");
        let Some((node, description, encodings, depths)) = first else {
            assert_eq!(said["found"], Value::Null, "{number}: {said}");
            continue;
        };
        found += 1;
        let pair = &said["found"];
        assert_eq!(
            (&pair["description"], pair["node"].as_str()),
            (&json!(description), Some(&*format!("node {node}")))
        );
        let lengths: Vec<usize> =
            pair["ways"].as_array().expect("two ways").iter().map(|way| way.as_array().expect("a way").len()).collect();
        assert_eq!(lengths, depths.map(|depth| depth as usize), "{number}: {said}");
        if said["identity"] == "serialized" {
            let [one, other] = &encodings;
            let at = (0..).find(|at| one.get(*at) != other.get(*at)).expect("they differ");
            assert_eq!(pair["place"], json!({ "in": "encoding", "byte": at }), "{number}: {said}");
        }
    }
    assert!(found >= 6, "{found}");
}
