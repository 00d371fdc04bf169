//! Limits of the plugin: a handler that hits one is undone, and the node survives.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use host_model::contract::aspects::{self, Clients, Storage, Timing, Transfer};
use host_model::contract::{
    DurableMap, Effects, Envelope, Fault, FaultKind, Input, LocalEvent, LocalKind, Machine, MachineError,
    MachineFactory, NodeMap, Request, Response, Snapshot, Span, StateOwner, TransferError,
};
use host_model::scenario::Network;

use super::pair::{identity, settings};
use crate::carried::Fork;
use crate::checkpoint::Durable;
use crate::gate::{Event, Gate, Happened, Judge, Open, Side, Verdict};
use crate::node::{Cause, DiskId, Disks, Failure, Identity, Node, Output, Record};
use crate::time::Time;

/// The limits that a call can hit, and the kind of the fault.
const LIMITS: [(&str, FaultKind); 10] = [
    ("fuel", FaultKind::Divergence),
    ("memory", FaultKind::MemoryLimit),
    ("table", FaultKind::MemoryLimit),
    ("output", FaultKind::OutputLimit),
    ("message", FaultKind::OutputLimit),
    ("text", FaultKind::OutputLimit),
    ("items", FaultKind::OutputLimit),
    ("choices", FaultKind::Choose),
    ("alternatives", FaultKind::Choose),
    ("stack", FaultKind::Trap),
];

/// The calls that a node makes around an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Handle,
    Serialize,
    Persist,
    LocalEvents,
    Duration,
    Request,
}

const CALLS: [Call; 6] =
    [Call::Handle, Call::Serialize, Call::Persist, Call::LocalEvents, Call::Duration, Call::Request];

/// The parameters with which a start sends a message that is longer than any datagram.
const LONG: &str = "long=true\n";

/// The call that fails from now on, if any.
type Plan = Arc<Mutex<Option<(Call, Fault)>>>;

/// Counts all events on its disk, in its map as well, sends each count to the other node, and answers its clients. The count is the argument of its timer, so
/// each count arms another one.
struct Counter {
    me: u32,
    count: u64,
    storage: NodeMap,
    plan: Plan,
}

/// The key of the count.
const COUNT: &[u8] = b"count";

struct Counters(Plan);

impl MachineFactory for Counters {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        Ok(Box::new(Counter { me: 0, count: 0, storage: NodeMap::default(), plan: Arc::clone(&self.0) }))
    }

    fn hears_errors(&self) -> bool {
        true
    }
}

impl Counter {
    fn call(&self, call: Call) -> Result<(), Fault> {
        match &*self.plan.lock().expect("no test panics with it in hand") {
            Some((planned, fault)) if *planned == call => Err(fault.clone()),
            _ => Ok(()),
        }
    }
}

fn event(name: &str, kind: LocalKind, number: u64) -> LocalEvent {
    LocalEvent { name: name.to_owned(), kind, payload: number.to_le_bytes().to_vec() }
}

impl Machine for Counter {
    fn restore(&mut self, snapshot: Option<&Snapshot>) -> Result<(), MachineError> {
        (self.count, self.me) = snapshot.map_or((0, 0), |snapshot| (snapshot.words()[0], snapshot.words()[1] as u32));
        self.storage = NodeMap::new(snapshot.and_then(Snapshot::map).cloned().unwrap_or_default());
        Ok(())
    }

    fn handle(&mut self, input: Input<'_>, _: &[u32], effects: &mut Effects) -> Result<(), Fault> {
        *effects = Effects::default();
        self.count += 1;
        self.storage.put(COUNT, &[self.count as u8]);
        effects.written = self.storage.take_written();
        match input {
            Input::Init { node, config, .. } => {
                self.me = node;
                if config == LONG {
                    let payload = vec![0; Network::Unordered.message_max() + 1];
                    effects.sent.push(Envelope { to: 1 - node, payload });
                }
            }
            _ => effects.sent.push(Envelope { to: 1 - self.me, payload: vec![self.count as u8] }),
        }
        if let Input::Local(event) = input
            && event.kind == LocalKind::Application
        {
            let number = u64::from_le_bytes(event.payload[..].try_into().expect("there are eight"));
            effects.aside.answers = vec![(number, Response::words(200, self.count.to_string()))];
        }
        // The change so far must be undone.
        self.call(Call::Handle)
    }

    fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
        self.call(Call::Serialize).map(|()| vec![self.count as u8])
    }

    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
        self.call(Call::LocalEvents).map(|()| vec![event("tick", LocalKind::Timer, self.count)])
    }

    fn capture(&mut self) -> Snapshot {
        self.storage.in_snapshot(Snapshot::new(&[self.count, self.me.into()]))
    }

    host_model::without_properties!();

    host_model::offers!(Durable, Storage, Timing, Clients, Transfer);
}

impl aspects::Durable for Counter {
    fn persist(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        self.call(Call::Persist).map(|()| Some(vec![self.count as u8]))
    }
}

impl Storage for Counter {
    fn map(&mut self) -> DurableMap {
        self.storage.map().clone()
    }
}

impl Timing for Counter {
    fn duration(&mut self, _: &LocalEvent) -> Result<Option<Span>, Fault> {
        let second = Duration::from_secs(1);
        self.call(Call::Duration).map(|()| Some((second, second)))
    }
}

impl Clients for Counter {
    fn request(&mut self, number: u64, _: &Request) -> Result<Result<LocalEvent, Response>, Fault> {
        self.call(Call::Request).map(|()| Ok(event("ask", LocalKind::Application, number)))
    }
}

impl Transfer for Counter {
    fn export(&mut self, state: &Snapshot, _: StateOwner<'_>) -> Result<Vec<u8>, TransferError> {
        Ok(vec![state.words()[0] as u8])
    }
}

/// The outputs of a node.
#[derive(Debug, Default, PartialEq, Eq)]
struct Left {
    /// The counts written to disk.
    written: Vec<u8>,
    frames: Vec<Vec<u8>>,
    answers: Vec<(u64, u16)>,
    disconnects: usize,
    undone: usize,
}

fn left(node: &mut Node<'static, Option<Careful>>) -> Left {
    let mut left = Left::default();
    while let Some(output) = node.next_output() {
        match output {
            Output::Persist { ticket, record, written } => {
                assert_eq!(record.map.get(COUNT).map(<[u8]>::to_vec), record.protocol);
                // Of two handlers, one is undone.
                assert!(written.iter().all(|key| key == COUNT) && written.bytes() <= COUNT.len());
                left.written.extend(record.protocol.into_iter().flatten());
                node.persisted(ticket);
            }
            Output::Send { frame, .. } => left.frames.push(frame),
            Output::Answer { number, response } => left.answers.push((number, response.status)),
            Output::Disconnect { peer } => left.disconnects += usize::from(peer == 1),
            Output::Undone(undone) => {
                assert!(undone.to_string().contains("allows more"), "{undone}");
                left.undone += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    left.written.sort_unstable();
    left.written.dedup();
    left
}

/// A gate that judges and looks ahead, as steering with `--hold` does, and lets every event pass.
#[derive(Default)]
struct Careful {
    happened: u64,
}

impl Gate for Careful {
    fn breaks(&self) -> bool {
        true
    }

    fn before(&mut self, _: Time, _: &Event<'_>) -> Verdict {
        Verdict::Pass
    }

    fn after(&mut self, _: Time, _: &Event<'_>, judge: &mut Judge<'_>) -> Verdict {
        assert!(![Side::After, Side::Before].map(|side| judge(side, &[None, None])).contains(&true));
        Verdict::Pass
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    fn ahead(&mut self, _: Time, _: &Event<'_>, fork: &mut dyn FnMut() -> Option<Fork>) -> Verdict {
        fork();
        Verdict::Pass
    }

    fn happened(&mut self, _: &Happened<'_>) {
        self.happened += 1;
    }
}

/// Two nodes on this network that have counted their start, with or without a gate.
fn started(network: Network, plan: &Plan, is_steered: bool) -> [Node<'static, Option<Careful>>; 2] {
    [0, 1].map(|node| {
        let gate = is_steered.then(Careful::default);
        let (identity, settings) = (identity(node, node.into()), settings(network));
        // It already knows the other node, so that the first message from there writes no record.
        let numbers = Durable { incarnation: 0, reserved: 0 };
        // Both have drawn 1 for their disks.
        let disks = Disks { peers: BTreeMap::from([(1 - node, DiskId { rejoins: 0, drawn: 1 })]), ..Disks::default() };
        let record = Record {
            numbers,
            protocol: None,
            peers: BTreeMap::from([(1 - node, 1)]),
            disks,
            map: DurableMap::default(),
        };
        let mut node = Node::start(&Counters(Arc::clone(plan)), identity, settings, gate, Some(record), Time(0))
            .expect("it starts");
        assert_eq!(left(&mut node).written, [1]);
        node
    })
}

/// Triggers an event at the first of two nodes, by a fresh frame of the other one if it is a message. Returns the number of the request.
fn happen(nodes: &mut [Node<'static, Option<Careful>>; 2], cause: Cause, now: Time, plan: &Plan) -> Option<u64> {
    let [node, other] = nodes;
    let request = Request { method: "GET".into(), path: "/".into(), body: Vec::new() };
    match cause {
        Cause::Message => {
            // Only the first one hits limits.
            let planned = plan.lock().expect("no test panics with it in hand").take();
            other.request(now, &request).expect("it is taken");
            let frames = left(other).frames;
            *plan.lock().expect("no test panics with it in hand") = planned;
            assert_eq!(node.receive(now, &frames[0]), Ok(()));
        }
        Cause::Local => node.elapse(now),
        Cause::Break => {
            // As after a message over the connection.
            node.manager.open(1);
            node.disconnected(now, 1);
        }
        Cause::Request => return Some(node.request(now, &request).expect("it is taken")),
    }
    None
}

fn seconds(at: u64) -> Time {
    Time(at * 1_000_000_000)
}

/// Each limit, in each call, for each kind of event, on each network, with and without a gate that judges, holds and looks ahead: the node
/// survives, nothing leaves it, the limit is counted, the client is answered, and the same event succeeds afterwards from the state before.
#[test]
fn what_hits_a_limit_is_undone_whatever_it_was_for() {
    let networks = [Network::Ordered, Network::Unordered].into_iter();
    for ((network, is_steered), cause) in networks
        .flat_map(|network| [false, true].map(|is_steered| (network, is_steered)))
        .flat_map(|before| Cause::ALL.map(|cause| (before, cause)))
    {
        // Only connections break.
        if cause == Cause::Break && network != Network::Ordered {
            continue;
        }
        for call in CALLS.into_iter().filter(|call| *call != Call::Request || cause == Cause::Request) {
            for (limit, kind) in LIMITS {
                let what = format!("{limit} in {call:?} of a {} over {network}, {is_steered}", cause.name());
                let plan = Plan::default();
                let mut nodes = started(network, &plan, is_steered);
                let seen = |nodes: &[Node<'static, Option<Careful>>; 2]| {
                    nodes[0].gate().as_ref().map_or(0, |gate| gate.happened)
                };
                let fault = Fault::at_limit(kind, limit, "it needs too much");
                *plan.lock().expect("no test panics with it in hand") = Some((call, fault));
                let is_timer = cause == Cause::Local;
                let asked = happen(&mut nodes, cause, seconds(u64::from(is_timer)), &plan);
                let status = if call == Call::Request { 413 } else { 507 };
                let expected = Left {
                    answers: asked.into_iter().map(|number| (number, status)).collect(),
                    disconnects: usize::from(cause == Cause::Message && network == Network::Ordered),
                    undone: 1,
                    ..Left::default()
                };
                assert_eq!(left(&mut nodes[0]), expected, "{what}");
                let counted = &nodes[0].counts().undone;
                assert_eq!(counted.iter().collect::<Vec<_>>(), [(&(cause, limit), &1)], "{what}");
                // The gate has seen the start, and no event that was undone.
                assert_eq!(seen(&nodes), u64::from(is_steered), "{what}");
                // A timer is not retried at once.
                let again = if is_timer { 2 } else { 1 };
                assert_eq!(nodes[0].deadline(), Some(seconds(again)), "{what}");

                *plan.lock().expect("no test panics with it in hand") = None;
                let asked = happen(&mut nodes, cause, seconds(if is_timer { 2 } else { 0 }), &plan);
                let usual = left(&mut nodes[0]);
                assert_eq!((usual.written, usual.frames.len()), (vec![2], 1), "{what}");
                assert_eq!(usual.answers, asked.map(|number| (number, 200)).into_iter().collect::<Vec<_>>(), "{what}");
                assert_eq!(nodes[0].counts().undone.len(), 1, "{what}");
                assert_eq!(seen(&nodes), 2 * u64::from(is_steered), "{what}");
            }
        }
    }
}

/// At the start there is no state to return to: each limit in each call ends the node, and is named with its remedy.
#[test]
fn a_limit_at_the_start_ends_the_node_and_is_named() {
    for (network, call) in
        [Network::Ordered, Network::Unordered].into_iter().flat_map(|network| CALLS.map(|call| (network, call)))
    {
        for (limit, kind) in LIMITS.into_iter().filter(|_| call != Call::Request) {
            let fault = Fault::at_limit(kind, limit, format_args!("`{call:?}` needs too much"));
            let plan = Arc::new(Mutex::new(Some((call, fault.clone()))));
            let failure = Node::start(&Counters(plan), identity(0, 0), settings(network), Open, None, Time(0)).err();
            assert_eq!(failure, Some(Failure::Fault(fault.clone())), "{limit} in {call:?}");
            assert_eq!(fault.limit(), Some(limit));
        }
    }
}

/// A message of `init` longer than a frame is a fault of `init`, and its text names `init`.
#[test]
fn a_message_at_the_start_that_is_too_long_names_init() {
    let start = |network| {
        let identity = Identity { config: LONG.to_owned(), ..identity(0, 0) };
        Node::start(&Counters(Plan::default()), identity, settings(network), Open, None, Time(0)).err()
    };
    assert_eq!(start(Network::Ordered), None);
    let Some(Failure::Fault(fault)) = start(Network::Unordered) else { panic!("no datagram holds it") };
    assert!(fault.message.starts_with("`init` sends a message of "), "{fault}");
    assert_eq!(fault.limit(), Some("message"));
}

/// A trap is a defect of the protocol, and so is a malformed result: both end the node.
#[test]
fn what_is_no_limit_ends_the_node() {
    for kind in [FaultKind::Trap, FaultKind::Malformed, FaultKind::Choose, FaultKind::Platform] {
        let plan = Plan::default();
        let mut nodes = started(Network::Ordered, &plan, kind == FaultKind::Trap);
        let fault = Fault::new(kind, "`handle-message` trapped: unreachable");
        *plan.lock().expect("no test panics with it in hand") = Some((Call::Handle, fault.clone()));
        happen(&mut nodes, Cause::Message, seconds(0), &plan);
        assert_eq!(nodes[0].next_output(), Some(Output::Failed(fault.into())));
        assert_eq!((nodes[0].next_output(), nodes[0].counts().undone.len()), (None, 0));
    }
}
