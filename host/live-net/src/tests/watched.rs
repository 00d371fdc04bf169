//! Nodes with a checker beside them, which may be slow or dead.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use host_model::contract::MachineFactory;
use host_model::scenario::Network;

use super::trial::{LAST, Panics, Sleeps, Trial, Trialed, counter};
use crate::Ended;

/// That node 0 comes to the last number is a violation.
fn trial(network: Network, checked: Option<Arc<dyn MachineFactory>>) -> Trial {
    let mut trial = Trial::new(counter().forbid(&[Some(LAST), None, None]), network);
    trial.checked = checked.or(trial.checked);
    trial
}

/// Until node 0 has counted to the end, and for a second more.
fn to_the_end(trial: &Trial) -> Trialed {
    trial.run(|trial| {
        trial.wait(0, LAST);
        thread::sleep(Duration::from_secs(1));
    })
}

/// Whatever the checker does, the nodes do the same.
fn check_counts(ended: &[Ended]) {
    assert_eq!([0, 1, 2].map(|node: usize| ended[node].counts.local), [u64::from(LAST), 0, 0]);
    assert_eq!([0, 1, 2].map(|node: usize| ended[node].counts.messages), [0, LAST.into(), LAST.into()]);
    assert!(ended.iter().all(|ended| ended.counts.instead.is_empty()));
}

#[test]
fn a_node_predicts_what_comes_and_sees_what_has_come() {
    for network in [Network::Ordered, Network::Unordered] {
        let Trialed { ended, predictions, .. } = to_the_end(&trial(network, None));
        check_counts(&ended);
        let mut predicted = 0;
        for ended in ended {
            let watched = ended.watched.expect("it was watched");
            assert!(watched.predictions > 0 && watched.violated > 0 && !watched.is_ended, "{watched:?}");
            assert!(watched.complete >= watched.rounds && watched.bytes >= 6 * watched.complete, "{watched:?}");
            assert_eq!(ended.steered, None);
            predicted += watched.predictions;
        }
        assert_eq!(predictions, predicted);
    }
}

#[test]
fn nobody_waits_for_a_checker() {
    let ended = to_the_end(&Trial { checked: None, ..trial(Network::Ordered, None) }).ended;
    check_counts(&ended);
    assert!(ended.iter().all(|ended| ended.watched.is_none()));
    for steered in [&[][..], &[0, 1, 2]] {
        // What a steered node is checked for immediately takes no checker, so nothing is forbidden then.
        let with = |checked: Arc<dyn MachineFactory>| Trial {
            checked: Some(checked),
            ..if steered.is_empty() {
                trial(Network::Ordered, None)
            } else {
                Trial::steering(counter(), Network::Ordered, steered)
            }
        };
        let ended = to_the_end(&with(Arc::new(Sleeps))).ended;
        check_counts(&ended);
        for watched in ended.iter().filter_map(|ended| ended.watched) {
            assert!(watched.rounds == 0 && watched.replaced > 3 && !watched.is_ended, "{watched:?}");
        }
        let ended = to_the_end(&with(Arc::new(Panics))).ended;
        check_counts(&ended);
        for watched in ended.iter().filter_map(|ended| ended.watched) {
            assert!(watched.rounds == 0 && watched.complete > 3 && watched.is_ended, "{watched:?}");
        }
    }
}

/// Node 2 does not run. Over UDP nobody knows, and it is waited for in vain every other time; over TCP a node that cannot be reached is
/// absent at once. In both cases the others are looked at, and what they can do is predicted.
#[test]
fn a_silent_node_is_left_out_of_a_snapshot() {
    for network in [Network::Ordered, Network::Unordered] {
        let trial = Trial { running: vec![0, 1], ..trial(network, None) };
        let Trialed { ended, predictions, seen } = to_the_end(&trial);
        assert!(predictions > 0 && seen.len() > 3 && seen.iter().all(|nodes| !nodes.contains(&2)), "{seen:?}");
        assert!(seen.contains(&vec![0, 1]), "{network:?}: {seen:?}");
        for watched in ended.iter().filter_map(|ended| ended.watched) {
            assert!(watched.complete > 3 && (network == Network::Ordered || watched.timed_out > 0), "{watched:?}");
        }
    }
}
