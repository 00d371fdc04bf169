//! The forks that a node gives its gate for an event whose effects are held.

use std::collections::BTreeSet;

use host_model::contract::NodeId;
use host_model::scenario::Network;
use host_model::toys::{Dice, Toy, ToyTrigger};
use host_model::trace::{Beginning, NodeState};

use super::pair::{Pair, message};
use crate::carried::Fork;
use crate::gate::{Event, Gate, Judge, Substitute, Verdict};
use crate::time::Time;

/// A gate that records the forks of node 0, and refuses the events that a test selects.
struct Forks {
    node: NodeId,
    seen: Vec<Fork>,
    refuses: bool,
}

impl Forks {
    fn new(node: NodeId) -> Self {
        Self { node, seen: Vec::new(), refuses: false }
    }
}

impl Gate for Forks {
    fn judges(&self) -> bool {
        false
    }

    fn before(&mut self, _: Time, _: &Event<'_>) -> Verdict {
        Verdict::Pass
    }

    fn after(&mut self, _: Time, _: &Event<'_>, _: &mut Judge<'_>) -> Verdict {
        Verdict::Pass
    }

    fn looks_ahead(&self) -> bool {
        self.node == 0
    }

    fn ahead(&mut self, _: Time, event: &Event<'_>, fork: &mut dyn FnMut() -> Option<Fork>) -> Verdict {
        self.seen.extend(fork());
        let substitute = Substitute::of(event.cause).filter(|_| self.refuses);
        substitute.map_or(Verdict::Pass, Verdict::Instead)
    }
}

type Message = (NodeId, NodeId, Vec<u8>);

/// The messages in flight, sorted.
fn on_their_way(pair: &Pair<Forks>) -> Vec<Message> {
    let of_link = |((from, to), link): (&(NodeId, NodeId), &std::collections::VecDeque<Vec<u8>>)| {
        let messages = link.iter().filter_map(|frame| message(*to, frame));
        messages.map(|payload| (*from, *to, payload)).collect::<Vec<_>>()
    };
    let mut all: Vec<Message> = pair.links.iter().flat_map(of_link).collect();
    all.sort();
    all
}

fn in_flight(beginning: &Beginning) -> Vec<Message> {
    let mut all: Vec<Message> =
        beginning.in_flight.iter().map(|flight| (flight.from, flight.to, flight.payload.0.clone())).collect();
    all.sort();
    all
}

fn write(pair: &mut Pair<Forks>) {
    while pair.writing.iter().any(Option::is_some) {
        (0..2).for_each(|node| pair.write(node));
    }
}

/// Delivers the first frame on a link that is a message, or that is none. Returns false if there is none such.
fn deliver(pair: &mut Pair<Forks>, (from, to): (NodeId, NodeId), is_message: bool) -> bool {
    let Some(link) = pair.links.get_mut(&(from, to)) else { return false };
    let Some(place) = link.iter().position(|frame| message(to, frame).is_some() == is_message) else { return false };
    let frame = link.remove(place).expect("it is there");
    pair.nodes[to as usize].receive(pair.now, &frame).expect("nodes understand each other");
    pair.execute_outputs(to);
    write(pair);
    true
}

fn state(pair: &Pair<Forks>, node: NodeId) -> Vec<u8> {
    pair.nodes[node as usize].moment.snapshot.words().iter().map(|word| *word as u8).collect()
}

fn exported(states: &[NodeState], node: NodeId) -> &[u8] {
    &states[node as usize].exported.0
}

/// On random systems: while a snapshot of two nodes is collected, and after it, only node 0 takes steps. Then its forks equal the true
/// global state, message for message.
#[test]
fn forks_are_the_true_global_state() {
    let (mut forks, mut late, mut sends) = (0, 0, 0);
    for seed in 0..800 {
        let mut dice = Dice(seed);
        let mut pair = Pair::new(Toy::random(seed, 2), Network::Unordered, Forks::new);
        write(&mut pair);
        for _ in 0..dice.below(12) {
            match dice.below(4) {
                0 => pair.wait(1_000),
                _ => drop(deliver(&mut pair, (dice.below(2), dice.below(2)), true)),
            }
            write(&mut pair);
        }
        pair.nodes[0].gather(pair.now, &BTreeSet::new());
        pair.execute_outputs(0);
        write(&mut pair);
        let completes_at = dice.below(4);
        for step in 0..10 {
            if step == completes_at {
                while [(0, 1), (1, 0)].into_iter().any(|link| deliver(&mut pair, link, false)) {}
                assert_eq!(pair.gathered.len(), 1, "seed {seed}");
            }
            let (before, there) = (state(&pair, 0), on_their_way(&pair));
            let from = dice.below(2);
            if !deliver(&mut pair, (from, 0), true) {
                continue;
            }
            let is_known = step >= completes_at;
            let seen = std::mem::take(&mut pair.nodes[0].gate_mut().seen);
            assert!(is_known || seen.is_empty(), "seed {seed}");
            let Some(Fork { node: 0, after, instead }) = seen.into_iter().next() else { continue };
            let left = in_flight(&instead);
            assert_eq!(left.len() + 1, there.len(), "seed {seed}: {left:?} {there:?}");
            let mut with_taken: Vec<Message> = left.clone();
            with_taken.extend(
                there
                    .iter()
                    .find(|message| {
                        let count = |all: &[Message]| all.iter().filter(|other| other == message).count();
                        count(&there) > count(&left)
                    })
                    .cloned(),
            );
            with_taken.sort();
            assert_eq!((with_taken, &*before), (there, exported(&instead.states, 0)), "seed {seed}");
            assert_eq!((in_flight(&after), &*state(&pair, 0)), (on_their_way(&pair), exported(&after.states, 0)));
            assert_eq!(exported(&after.states, 1), state(&pair, 1));
            sends += u32::from(in_flight(&after).len() > left.len());
            late += u32::from(completes_at > 0);
            forks += 1;
        }
    }
    assert!(forks > 150 && late > 80 && sends > 50, "{forks} {late} {sends}");
}

/// A refused event has no effects: its message is lost, and nothing leaves the node.
#[test]
fn a_refused_event_only_loses_its_message() {
    let toy = Toy::new(2).start(1, 0, &[(0, 1), (0, 1)]).rule(0, 0, ToyTrigger::Message(1, 1), 1, &[(1, 5)]);
    for refuses in [true, false] {
        let mut pair = Pair::new(toy.clone(), Network::Unordered, Forks::new);
        write(&mut pair);
        pair.nodes[0].gather(pair.now, &BTreeSet::new());
        pair.execute_outputs(0);
        while [(0, 1), (1, 0)].into_iter().any(|link| deliver(&mut pair, link, false)) {}
        pair.nodes[0].gate_mut().refuses = refuses;
        assert!(deliver(&mut pair, (1, 0), true));
        assert_eq!(pair.nodes[0].counts().foreseen, u64::from(refuses));
        assert_eq!(on_their_way(&pair).len(), if refuses { 1 } else { 2 });
        assert_eq!(state(&pair, 0)[1], u8::from(!refuses));
    }
}
