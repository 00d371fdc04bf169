//! The nodes that a node asks for a snapshot, and the nodes whose states its gate reads.

use std::collections::BTreeSet;
use std::time::Duration;

use host_model::contract::{LocalKind, NodeId};
use host_model::scenario::Network;
use host_model::toys::{Toy, ToyTrigger};

use super::pair::Pair;
use crate::checkpoint::Outcome;
use crate::gate::{Event, Gate, Judge, Open, Side, Substitute, Verdict};
use crate::time::Time;

/// Node 0 of a toy collects a snapshot, some nodes left out. Returns the nodes in it, and the count of unusable neighbour lists.
fn gathered(toy: &Toy, left_out: &[NodeId]) -> (Vec<NodeId>, u64) {
    gathered_by(Pair::open(toy.clone(), Network::Unordered), left_out)
}

fn gathered_by(mut pair: Pair<Open>, left_out: &[NodeId]) -> (Vec<NodeId>, u64) {
    pair.wait(2_000);
    pair.nodes[0].gather(pair.now, &left_out.iter().copied().collect());
    pair.execute_outputs(0);
    pair.settle();
    let Some(Outcome::Complete(snapshot)) = pair.gathered.pop() else { panic!("{:?}", pair.gathered) };
    assert_eq!((pair.gathered.len(), &pair.failures[..]), (0, &[][..]));
    assert!(snapshot.absent.is_empty(), "every node that was asked has answered");
    (snapshot.checkpoints.into_keys().collect(), pair.nodes[0].counts().neighbours_unusable)
}

#[test]
fn a_node_asks_its_neighbours_and_all_where_it_names_none_that_are_of_use() {
    let toy = Toy::new(2);
    assert_eq!(gathered(&toy, &[]), (vec![0, 1], 0));
    assert_eq!(gathered(&toy, &[1]), (vec![0], 0));
    let cases = [
        (Some(&[][..]), vec![0], 0),
        (Some(&[0]), vec![0], 0),
        (Some(&[1, 1]), vec![0, 1], 0),
        (Some(&[2]), vec![0, 1], 1),
        (None, vec![0, 1], 1),
    ];
    for (named, asked, unusable) in cases {
        // The neighbours that the other node names make no difference.
        let toy = toy.clone().near(0, 0, named).near(1, 0, Some(&[]));
        assert_eq!(gathered(&toy, &[]), (asked, unusable), "{named:?}");
    }
    assert_eq!(gathered(&toy.clone().near(0, 0, Some(&[1])), &[1]), (vec![0], 0));
    // With the setting off, the neighbours of the protocol are ignored.
    for named in [Some(&[][..]), None] {
        let mut pair = Pair::open(toy.clone().near(0, 0, named), Network::Unordered);
        pair.nodes[0].settings.neighbours = false;
        assert_eq!(gathered_by(pair, &[]), (vec![0, 1], 0), "{named:?}");
    }
    // The neighbours are those named in its present state.
    let moves = toy.rule(0, 0, ToyTrigger::Local(0), 1, &[]).of_kind(0, LocalKind::Timer);
    assert_eq!(gathered(&moves.near(0, 0, Some(&[])).near(0, 1, Some(&[1])), &[]), (vec![0, 1], 0));
}

/// A gate that knows node 1 in state 5, and refuses events that violate a property together with it.
struct Knows;

impl Gate for Knows {
    fn before(&mut self, _: Time, _: &Event<'_>) -> Verdict {
        Verdict::Pass
    }

    fn after(&mut self, _: Time, _: &Event<'_>, judge: &mut Judge<'_>) -> Verdict {
        let is_wrong = judge(Side::After, &[None, Some(vec![Some(vec![5])])]);
        if is_wrong { Verdict::Instead(Substitute::Postpone) } else { Verdict::Pass }
    }
}

/// The gate uses the known state of a node until a snapshot is collected without that node, because it is no longer a neighbour.
#[test]
fn a_gate_is_asked_about_the_neighbours_of_the_last_snapshot() {
    let toy =
        Toy::new(2).rule(0, 0, ToyTrigger::Local(0), 1, &[]).of_kind(0, LocalKind::Timer).forbid(&[Some(1), Some(5)]);
    let refused = |toy: Toy, snapshots: usize| {
        let mut pair = Pair::new(toy, Network::Unordered, |_| Knows);
        for _ in 0..snapshots {
            pair.nodes[0].gather(pair.now, &BTreeSet::new());
        }
        pair.wait(2_000);
        pair.nodes[0].counts().discarded
    };
    let alone = toy.clone().near(0, 0, Some(&[]));
    assert_eq!([refused(alone.clone(), 0), refused(alone, 1)], [1, 0]);
    assert_eq!([refused(toy.clone(), 1), refused(toy.near(0, 0, Some(&[1])), 1)], [1, 1]);
}

/// Node 1 answers after 3 s, and the snapshot ended after 1 s: the delay is reported once. An answer to a snapshot in progress is not
/// late, and neither is one without a request.
#[test]
fn an_answer_that_is_late_says_how_long_it_took() {
    let second = Duration::from_secs(1);
    let mut pair = Pair::open(Toy::new(2), Network::Unordered);
    pair.wait(2_000);
    pair.nodes[0].gather_within(second, pair.now, &BTreeSet::new());
    pair.execute_outputs(0);
    pair.write(0);
    pair.execute_outputs(0);
    let asked = pair.now;
    pair.now = asked.after(second);
    pair.nodes[0].elapse(pair.now);
    pair.execute_outputs(0);
    assert_eq!(pair.gathered.pop(), Some(Outcome::TimedOut([1].into())));
    pair.now = asked.after(second * 3);
    pair.settle();
    assert_eq!(std::mem::take(&mut pair.late), [second * 3]);
    pair.nodes[0].gather_within(second, pair.now, &BTreeSet::new());
    pair.execute_outputs(0);
    pair.settle();
    assert!(matches!(pair.gathered.pop(), Some(Outcome::Complete(_))));
    assert_eq!(pair.late, []);
}
