//! Gates: filters before a handler, and the immediate check after it.

use std::sync::Arc;
use std::time::Duration;

use host_model::contract::{Judgement, LocalKind, MachineFactory, NodeId, PropertyKind, Snapshot};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{FaultState, Network, Scenario};
use host_model::toys::{Feature, Toy, ToyTrigger};
use host_model::trace::{Beginning, Hex, NodeState, start};
use host_search::kernel::judge_system_state;

use super::pair::{Pair, message};
use crate::filter::{FilterTable, Pattern, Quota, What};
use crate::gate::{Event, Gate, Judge, Side, Substitute, Verdict, Views};
use crate::node::NotNow;
use crate::node::judge::{self, Sides};
use crate::steered::Steered;
use crate::time::Time;

/// A gate that filters the events of node 1 before they are handled.
struct Before(NodeId);

impl Gate for Before {
    fn before(&mut self, _: Time, event: &Event<'_>) -> Verdict {
        let substitute = Substitute::of(event.cause).filter(|_| self.0 == 1);
        substitute.map_or(Verdict::Pass, Verdict::Instead)
    }

    fn after(&mut self, _: Time, _: &Event<'_>, _: &mut Judge<'_>) -> Verdict {
        Verdict::Pass
    }
}

/// A gate that evaluates the property on the state to which a handler of node 1 has led.
struct After(NodeId);

impl Gate for After {
    fn before(&mut self, _: Time, _: &Event<'_>) -> Verdict {
        Verdict::Pass
    }

    fn after(&mut self, _: Time, event: &Event<'_>, judge: &mut Judge<'_>) -> Verdict {
        if self.0 == 1 && judge(Side::After, &[None, None]) {
            return Verdict::Instead(Substitute::of(event.cause).expect("nothing internal happens"));
        }
        Verdict::Pass
    }
}

/// Two messages; the second one is fatal: state 2 of node 1 violates the property. Node 1 reports its state in a message.
fn second_is_fatal() -> Toy {
    Toy::new(2)
        .start(0, 0, &[(1, 1), (1, 2)])
        .rule(1, 0, ToyTrigger::Message(0, 1), 1, &[(0, 1)])
        .rule(1, 1, ToyTrigger::Message(0, 2), 2, &[(0, 2)])
        .keep(1, 1, 1)
        .keep(1, 2, 2)
        .forbid(&[None, Some(2)])
}

#[test]
fn effects_of_a_handler_that_is_discarded_reach_neither_disk_nor_network() {
    for (network, breaks) in [(Network::Ordered, 1), (Network::Unordered, 0)] {
        let mut pair = Pair::new(second_is_fatal(), network, After);
        let mut told = Vec::new();
        while pair.links.values().any(|link| !link.is_empty()) || pair.writing.iter().any(Option::is_some) {
            (0..2).for_each(|node| pair.write(node));
            pair.deliver(0, 1);
            told.extend(pair.deliver(1, 0));
        }
        assert_eq!(told, [[1]], "{network:?}");
        assert_eq!(pair.disks[1].as_ref().and_then(|record| record.protocol.clone()), Some(vec![1]));
        assert_eq!((pair.nodes[1].counts().discarded, pair.disconnects.len()), (1, breaks), "{network:?}");
        // Without the gate, the violation happens.
        let mut pair = Pair::open(second_is_fatal(), network);
        pair.settle();
        assert_eq!(pair.disks[1].as_ref().and_then(|record| record.protocol.clone()), Some(vec![2]));
    }
}

/// The gate of a steered node, without filters.
fn steered(node: NodeId) -> Steered<Views> {
    Steered::new(FilterTable::new(node, Quota::default(), Duration::from_secs(3_600)), vec![None, None])
}

/// The same gate with a filter for the second message.
fn filtering(node: NodeId) -> Steered<Views> {
    let mut gate = steered(node);
    let what = What::Message { from: 0, payload: vec![2] };
    gate.table.replace(Time(0), node, [Pattern { state: None, what }]);
    gate
}

/// The second message is fatal: a filter withholds it, or the immediate check discards the effects of its handler. On ordered links
/// neither happens, since the gate may not break the connection.
#[test]
fn the_gate_of_a_steered_node_keeps_the_second_message_from_being_fatal() {
    for (gate, expected) in [(steered as fn(NodeId) -> Steered<Views>, (0, 1)), (filtering, (1, 0))] {
        let mut pair = Pair::new(second_is_fatal(), Network::Unordered, gate);
        pair.settle();
        assert_eq!(pair.disks[1].as_ref().and_then(|record| record.protocol.clone()), Some(vec![1]));
        let counts = pair.nodes[1].counts();
        assert_eq!((counts.filtered, counts.discarded), expected);
    }
    let mut pair = Pair::new(second_is_fatal(), Network::Ordered, steered);
    pair.settle();
    assert_eq!((pair.nodes[1].counts().discarded, pair.disconnects.len()), (0, 0));
}

/// A node judges views as a search judges local states, for properties of all kinds and scopes, including some that trap. Without views
/// of others, a node judges only itself, and only `always` properties.
#[test]
fn what_is_wrong_at_a_node_is_what_a_search_finds_there() {
    let mut seen = [0, 0];
    for seed in 0..200 {
        let toy = [Feature::Properties, Feature::Broken]
            .into_iter()
            .fold(Toy::random(seed, 2), |toy, feature| toy.with_random(feature, seed, false));
        let factory = Arc::new(toy);
        let lts = Lts::new(&factory, Scenario::new(2)).expect("it is native");
        let mut stepper = Stepper::new(&lts).expect("it is native");
        let mut machine = factory.machine().expect("it is native");
        let mut judge = judge::Judge::new(&factory).expect("a toy has properties");
        for states in (0..4_u8).flat_map(|one| (0..4).map(move |other| [one, other])) {
            let exported = |(node, state): (NodeId, u8)| NodeState {
                node,
                exported: Hex(vec![node as u8, state]),
                fault_state: FaultState::default(),
            };
            let states = (0..).zip(states).map(exported).collect();
            let beginning = Arc::new(Beginning { states, in_flight: Vec::new() });
            let start = start::adopt(&mut stepper, &beginning).expect("they are states of the toy");
            let judged = judge_system_state(&mut stepper, &start.locals).all().expect("it is native");
            let views: Vec<Option<Views>> = start
                .locals
                .iter()
                .map(|local| {
                    let snapshot = stepper.state(*local).protocol.snapshot.clone().expect("no node is stuck");
                    machine.restore(Some(&snapshot)).expect("it is native");
                    judge::read(&mut *machine, &judge.properties).expect("toys show themselves")
                })
                .collect();
            let views: Vec<Option<&Views>> = views.iter().map(Option::as_ref).collect();
            for own in [0, 1] {
                let is_found = |(node, judgement): &(Option<NodeId>, Judgement)| {
                    let (Judgement::Violated { property, .. } | Judgement::Broken { property, .. }) = judgement else {
                        return false;
                    };
                    let is_always = judge.properties[*property as usize].kind == PropertyKind::Always;
                    is_always && node.is_none_or(|node| node == own)
                };
                let expected = judged.iter().any(is_found);
                let is_wrong = judge.is_wrong(&|_| true, own, &views).expect("it is native");
                assert_eq!(is_wrong, expected, "toy {seed}, node {own} at {beginning:?}");
                seen[usize::from(is_wrong)] += 1;
            }
        }
    }
    assert!(seen.iter().all(|count| *count > 500), "{seen:?}");
}

#[test]
fn what_is_filtered_before_is_not_handled() {
    for (network, breaks) in [(Network::Ordered, 2), (Network::Unordered, 0)] {
        let mut pair = Pair::new(second_is_fatal(), network, Before);
        pair.settle();
        let counts = pair.nodes[1].counts();
        assert_eq!((counts.messages, counts.filtered, pair.disconnects.len()), (2, 2, breaks), "{network:?}");
        assert_eq!(pair.disks[1].as_ref().and_then(|record| record.protocol.clone()), None);
    }
}

/// A local event at node 1, which is offered once.
fn once(kind: LocalKind) -> Toy {
    Toy::new(2).of_kind(0, kind).rule(1, 0, ToyTrigger::Local(0), 1, &[(0, 5)])
}

#[test]
fn timers_are_armed_again_and_calls_wait() {
    let mut pair = Pair::new(once(LocalKind::Timer), Network::Ordered, Before);
    pair.settle();
    (0..3).for_each(|_| pair.wait(1_000));
    assert_eq!((pair.nodes[1].counts().local, pair.nodes[1].counts().filtered), (3, 3));

    let mut pair = Pair::new(once(LocalKind::Application), Network::Ordered, Before);
    pair.settle();
    pair.wait(60_000);
    assert_eq!(pair.nodes[1].counts().local, 0, "clients make calls");
    let call = pair.nodes[1].offers().next().expect("it is offered").clone();
    assert_eq!(pair.nodes[1].call(pair.now, &call), Ok(()));
    assert_eq!(pair.nodes[1].counts().filtered, 1);
    pair.wait(1_000);
    assert_eq!(pair.nodes[1].counts().filtered, 2, "it is not lost");
}

/// An event that does not change the state still has its effects: its messages leave, and the local events of the state happen again.
#[test]
fn an_event_that_leads_nowhere_has_its_effects_each_time() {
    let toy = || Toy::new(2).of_kind(0, LocalKind::Timer).rule(1, 0, ToyTrigger::Local(0), 0, &[(0, 5)]).keep(1, 0, 3);
    let sent =
        |pair: &Pair<_>| pair.links.values().flatten().filter(|frame| message(0, frame) == Some(vec![5])).count();
    let mut pair = Pair::new(toy(), Network::Unordered, steered);
    pair.settle();
    for happened in 1..=3 {
        pair.wait(1_000);
        assert_eq!((sent(&pair), pair.nodes[1].counts().local), (happened, happened as u64));
    }
}

#[test]
fn a_call_happens_once_where_it_is_offered() {
    let mut pair = Pair::open(once(LocalKind::Application), Network::Ordered);
    pair.settle();
    let call = pair.nodes[1].offers().next().expect("it is offered").clone();
    assert_eq!(pair.nodes[0].call(pair.now, &call), Err(NotNow::NotOffered));
    assert_eq!(pair.nodes[1].call(pair.now, &call), Ok(()));
    pair.execute_outputs(1);
    assert_eq!(pair.deliver(1, 0), Some(vec![5]));
    assert_eq!(pair.nodes[1].call(pair.now, &call), Err(NotNow::NotOffered));
}

/// An event is refused if a property fails after it and none failed before. The verdict depends neither on the properties that the node
/// skips after the event, nor on whether it has already read the state before, whatever the states of the other nodes.
#[test]
fn what_an_event_does_not_change_is_not_asked_and_changes_no_verdict() {
    let (mut refused, mut wrong_before, mut left_out) = (0, 0, 0);
    for seed in 0..200 {
        let toy = [Feature::Properties, Feature::Broken]
            .into_iter()
            .fold(Toy::random(seed, 2), |toy, feature| toy.with_random(feature, seed, false));
        let factory = Arc::new(toy);
        let mut machine = factory.machine().expect("it is native");
        let mut judge = judge::Judge::new(&factory).expect("a toy has properties");
        let snapshot = |node: NodeId, state: u64| Snapshot::new(&[node.into(), state]);
        let mut read = |node: NodeId, state: u64| {
            machine.restore(Some(&snapshot(node, state))).expect("it is native");
            judge::read(&mut *machine, &judge.properties).expect("it is native").expect("toys show themselves")
        };
        let all: Vec<[Views; 2]> = (0..4).map(|state| [read(0, state), read(1, state)]).collect();
        for [before, after, other] in (0..64).map(|number| [number % 4, number / 4 % 4, number / 16]) {
            let others = || vec![None, Some(&all[other][1])];
            let mut wrong = |own: usize| {
                judge.is_wrong(&|_| true, 0, &[Some(&all[own][0]), Some(&all[other][1])]).expect("it is native")
            };
            let (was, is) = (wrong(before), wrong(after));
            let snapshots = [before, after].map(|state| snapshot(0, state as u64));
            let is_read = Some(all[before][0].clone());
            let blamed = [Some(&is_read), None].map(|read| {
                machine.restore(Some(&snapshots[1])).expect("it is native");
                let mut sides = Sides::new(&mut *machine, snapshots.each_ref(), read);
                let mut blames = |side| judge.causes_violation(&mut sides, side, 0, others()).expect("it is native");
                let (blamed, refused) = (blames(Side::After), blames(Side::After) && !blames(Side::Before));
                let place = format!("toy {seed}: {before} to {after} with {other}, read before: {}", read.is_some());
                assert_eq!(refused, is && !was, "{place}");
                // A second query has the same result; both states have been read by then.
                assert_eq!(
                    (blames(Side::Before), sides.into_after()),
                    (was, Some(Some(all[after][0].clone()))),
                    "{place}"
                );
                blamed
            });
            refused += u32::from(is && !was);
            wrong_before += u32::from(blamed[0] && was);
            left_out += u32::from(is && !blamed[0]);
            assert_eq!(blamed[1], is, "nothing is left out where nothing has been read");
        }
    }
    assert!(refused > 100 && wrong_before > 100 && left_out > 100, "{refused} {wrong_before} {left_out}");
}

/// Reading a state takes time, so none is read where nothing can be refused: after a message on an ordered link that may not be broken, or
/// without a gate that judges.
#[test]
fn nothing_is_read_of_a_node_whose_gate_can_refuse_nothing() {
    fn is_read<G: Gate>(mut pair: Pair<G>) -> bool {
        pair.settle();
        assert!(pair.nodes[1].counts().messages > 0);
        pair.nodes[1].moment.reading.is_some()
    }
    let toy = || Toy::new(2).start(0, 0, &[(1, 1)]).rule(1, 0, ToyTrigger::Message(0, 1), 1, &[]);
    assert!(is_read(Pair::new(toy(), Network::Unordered, steered)));
    assert!(!is_read(Pair::new(toy(), Network::Ordered, steered)));
    assert!(!is_read(Pair::open(toy(), Network::Unordered)));
    let killed = |node| {
        let mut gate = steered(node);
        gate.table.kill();
        gate
    };
    assert!(!is_read(Pair::new(toy(), Network::Unordered, killed)));
}

/// A state that cannot be read counts as a violation, like a property that cannot be evaluated: an event that leads there is refused.
#[test]
fn a_node_does_not_get_to_where_a_property_cannot_be_read() {
    let toy = |concealed: &[u8]| concealed.iter().fold(second_is_fatal(), |toy, state| toy.conceal(1, *state));
    let state_of = |toy: Toy, network: Network| {
        let mut pair = Pair::new(Toy { forbidden: Vec::new(), ..toy }, network, steered);
        pair.settle();
        assert!(pair.failures.is_empty());
        (pair.nodes[1].moment.snapshot.words()[1], pair.nodes[1].counts().discarded)
    };
    assert_eq!(state_of(toy(&[]), Network::Unordered), (2, 0));
    assert_eq!(state_of(toy(&[2]), Network::Unordered), (1, 1));
    assert_eq!(state_of(toy(&[1, 2]), Network::Unordered), (0, 1));
    assert_eq!(state_of(toy(&[0, 1, 2]), Network::Unordered), (2, 0), "it was wrong before");
    assert_eq!(state_of(toy(&[2]), Network::Ordered), (2, 0), "nothing is read");
}
