//! Nodes with a checker, which may be slow or dead.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use host_live::time::Share;
use host_live::watcher::Counts;
use host_model::contract::{MachineFactory, NodeId};
use host_model::scenario::Network;
use host_model::toys::Toy;

use super::trial::{LAST, Panics, Sleeps, Trial, Trialed, at_once, counter};
use crate::{Ended, Watched};

/// Node 0 reaching the last number is a violation.
fn trial(network: Network, checked: Option<Arc<dyn MachineFactory>>) -> Trial {
    let mut trial = Trial::new(counter().forbid(&[Some(LAST), None, None]), network);
    trial.checked = checked.or(trial.checked);
    trial
}

/// Runs the nodes until all have the last number, and these metrics of each node reach these values.
fn to_the_end(trial: &Trial, counted: &[(&str, u64)]) -> Trialed {
    trial.run(|running| {
        trial.running.iter().for_each(|node| running.wait(*node, LAST));
        for node in &trial.running {
            counted.iter().for_each(|(name, least)| running.wait_for(*node, name, *least));
        }
    })
}

/// The nodes behave alike, whatever the checker does.
fn check_counts(ended: &[Ended]) {
    assert_eq!([0, 1, 2].map(|node: usize| ended[node].counts.local), [u64::from(LAST), 0, 0]);
    assert_eq!([0, 1, 2].map(|node: usize| ended[node].counts.messages), [0, LAST.into(), LAST.into()]);
    assert!(ended.iter().all(|ended| ended.counts.instead.is_empty()));
}

#[test]
fn a_node_reports_predicted_and_present_violations() {
    at_once([Network::Ordered, Network::Unordered], |network| {
        let Trialed { ended, predictions, .. } =
            to_the_end(&trial(network, None), &[("predictions_total", 1), ("violated_rounds_total", 1)]);
        check_counts(&ended);
        let mut predicted = 0;
        for ended in ended {
            let watched = ended.watched.expect("it was watched");
            assert!(
                watched.checker.predictions > 0 && watched.checker.violated > 0 && !watched.is_ended,
                "{watched:?}"
            );
            assert!(
                watched.snapshots.complete >= watched.checker.rounds
                    && watched.snapshots.bytes > 4 * watched.snapshots.complete,
                "{watched:?}"
            );
            assert_eq!(ended.steered, None);
            predicted += watched.checker.predictions;
        }
        assert_eq!(predictions, predicted);
    });
}

/// A node also collects no snapshots for a checker that wants none.
#[test]
fn no_node_waits_for_its_checker() {
    let with = |steered: &[NodeId], checked: Option<Arc<dyn MachineFactory>>, ends: bool| {
        let trial = match steered {
            [] => trial(Network::Ordered, None),
            steered => Trial::steering(counter(), Network::Ordered, steered),
        };
        let trial = Trial { checked, ..trial };
        let ended = trial.run(|running| {
            (0..3).for_each(|node| running.wait(node, LAST));
            (0..3).filter(|_| ends).for_each(|node| running.wait_until(node, "checker_up", |up| up == 0));
        });
        let ended = ended.ended;
        check_counts(&ended);
        ended.into_iter().filter_map(|ended| ended.watched).collect::<Vec<_>>()
    };
    // Without properties where nodes are steered: the immediate check works without a checker.
    let steered: [&[NodeId]; 2] = [&[], &[0, 1, 2]];
    thread::scope(|scope| {
        scope.spawn(move || assert!(with(&[], None, false).is_empty()));
        for steered in steered {
            scope.spawn(move || {
                for watched in with(steered, Some(Arc::new(Sleeps)), false) {
                    assert!(watched == Watched::default(), "{watched:?}");
                }
            });
            scope.spawn(move || {
                for watched in with(steered, Some(Arc::new(Panics)), true) {
                    assert!(watched == Watched { is_ended: true, ..Watched::default() }, "{watched:?}");
                }
            });
        }
    });
}

/// No node counts back: the promise that node 0 is at 0 is dead from its first step on. It is reported only if rounds check promises.
#[test]
fn a_node_says_that_a_promise_will_be_dead() {
    let dead = |promises: bool| {
        let mut trial = Trial::new(counter().promise("stays", &[&[Some(0), None, None]]), Network::Unordered);
        trial.limits.promises = promises.then(Default::default);
        let ended = to_the_end(&trial, &[("check_rounds_total", 1)]).ended;
        check_counts(&ended);
        ended.iter().map(|ended| ended.watched.expect("it was watched").checker.dead).sum::<u64>()
    };
    at_once([true, false], |promises| assert_eq!(dead(promises) > 0, promises));
}

/// Without time for a single step ahead, each round is cut short, counts as such, and predicts nothing, also if it looks for filters.
#[test]
fn rounds_without_time_are_cut_short_and_the_checker_continues() {
    // As above, steered nodes have no properties.
    let steered = Trial::steering(counter(), Network::Unordered, &[0, 1, 2]);
    at_once([trial(Network::Unordered, None), steered], |trial| {
        let Trialed { ended, predictions, seen } =
            to_the_end(&Trial { round_time: Duration::ZERO, ..trial }, &[("check_rounds_total", 4)]);
        check_counts(&ended);
        assert!(predictions == 0 && seen.len() > 10, "{seen:?}");
        for Watched { checker, is_ended, .. } in ended.into_iter().filter_map(|ended| ended.watched) {
            let Counts { rounds, cut, violated, .. } = checker;
            assert!(rounds > 3 && cut == rounds - violated && !is_ended, "{cut} of {rounds}, {violated} violated");
        }
    });
}

#[test]
fn a_checker_with_a_small_share_works_less() {
    let rounds = |share, least| {
        // Rounds that were cut short are repeated even for an unchanged snapshot.
        let trial = Trial { share, round_time: Duration::ZERO, ..trial(Network::Unordered, None) };
        let ended = to_the_end(&trial, &[("check_rounds_total", least)]).ended;
        ended.iter().map(|ended| ended.watched.expect("it was watched").checker.rounds).sum::<u64>()
    };
    // A checker that may work a millionth of the time rests for seconds after the shortest round, on any machine.
    let [all, few] = thread::scope(|scope| {
        let each = [(Share::ALL, 10), (Share(1), 1)].map(|(share, least)| scope.spawn(move || rounds(share, least)));
        each.map(|rounds| rounds.join().expect("it does not panic"))
    });
    assert!(few >= 3 && few * 2 < all, "{few} and {all} rounds");
}

/// Node 2 does not run. Over UDP its absence is unknown, and every other snapshot waits for it in vain; over TCP an unreachable node is
/// absent at once. In both cases the checker explores from the other nodes, and predicts their violations.
#[test]
fn a_silent_node_is_left_out_of_a_snapshot() {
    at_once([Network::Ordered, Network::Unordered], |network| {
        let trial = Trial { running: vec![0, 1], ..trial(network, None) };
        let late = u64::from(network != Network::Ordered);
        let counted = [
            ("snapshots_total{result=\"complete\"}", 4),
            ("snapshots_total{result=\"timed_out\"}", late),
            ("predictions_total", 1),
        ];
        let Trialed { ended, predictions, seen } = to_the_end(&trial, &counted);
        assert!(predictions > 0 && seen.len() > 3 && seen.iter().all(|nodes| !nodes.contains(&2)), "{seen:?}");
        assert!(seen.contains(&vec![0, 1]), "{network:?}: {seen:?}");
        for watched in ended.iter().filter_map(|ended| ended.watched) {
            assert!(
                watched.snapshots.complete > 3 && (network == Network::Ordered || watched.snapshots.timed_out > 0),
                "{watched:?}"
            );
        }
    });
}

/// Nodes 0 and 1 name each other as neighbours, and node 2 names both: other nodes are not asked, and the actions of the two are
/// predicted.
#[test]
fn nodes_ask_their_neighbours() {
    let near = |toy: Toy, node, named: &[NodeId]| (0..=LAST).fold(toy, |toy, state| toy.near(node, state, Some(named)));
    let near = [(0, &[1][..]), (1, &[0]), (2, &[0, 1])]
        .into_iter()
        .fold(counter(), |toy, (node, named)| near(toy, node, named));
    let toy = near.forbid(&[Some(LAST), None, None]);
    let Trialed { ended, predictions, seen } =
        to_the_end(&Trial::new(toy, Network::Unordered), &[("check_rounds_total", 2)]);
    check_counts(&ended);
    assert!(predictions > 0 && seen.contains(&vec![0, 1]) && seen.contains(&vec![0, 1, 2]), "{seen:?}");
    let watched: Vec<Watched> = ended.iter().filter_map(|ended| ended.watched).collect();
    let of_all = seen.iter().filter(|nodes| nodes.contains(&2)).count() as u64;
    assert_eq!(of_all, watched[2].checker.rounds, "{seen:?}");
    // On a busy machine a node may answer late, and the next snapshot is then taken without it.
    let late: u64 = watched.iter().map(|watched| watched.snapshots.timed_out).sum();
    let partial = seen.iter().filter(|nodes| !nodes.starts_with(&[0, 1])).count() as u64;
    assert!(partial <= late, "{late} were late: {seen:?}");
}

/// Nodes with almost no bandwidth for checkpoints refuse requests for them, and the requesting nodes wait 100 ms, 200 ms and so on: ten
/// refusals would take more than a minute. The protocol is not affected.
#[test]
fn who_gets_no_checkpoints_asks_less_often() {
    at_once([Network::Ordered, Network::Unordered], |network| {
        let counted = [("snapshots_total{result=\"capped\"}", 1), ("checkpoints_capped_total", 1)];
        let ended = to_the_end(&Trial { bandwidth: Some(1), ..trial(network, None) }, &counted).ended;
        check_counts(&ended);
        for ended in ended {
            let watched = ended.watched.expect("it was watched");
            assert!((1..10).contains(&watched.snapshots.capped) && ended.counts.checkpoints_capped > 0, "{watched:?}");
        }
    });
}
