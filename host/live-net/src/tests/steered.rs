//! Nodes that their checkers steer. A step that depends on a snapshot waits at a [`Gate`] until its checker has one, however long that takes.

use std::sync::Arc;
use std::time::Duration;

use host_live::checker::{Limits, Round};
use host_live::filter::Quota;
use host_model::contract::LocalKind;
use host_model::scenario::Network;
use host_model::toys::{Toy, ToyTrigger};
use host_model::trace::{Hex, TraceEvent, TraceStep};

use super::certificates::Authority;
use super::encrypted;
use super::gated::Gate;
use super::trial::{LAST, Sleeps, Trial, at_once, counter};
use crate::{Ended, SteeringCounts};

/// Node 0 reaching the last number is a violation.
fn forbidden() -> Toy {
    counter().forbid(&[Some(LAST), None, None])
}

fn steered(ended: &Ended) -> SteeringCounts {
    ended.steered.expect("it was steered")
}

fn predicts(round: &Round) -> bool {
    !round.predictions.is_empty()
}

fn is_whole(round: &Round) -> bool {
    round.beginning.states.len() == 3
}

fn substitutes(ended: &Ended) -> Vec<(&'static str, u64)> {
    ended.counts.instead.clone().into_iter().collect()
}

/// The timer of node 0 is postponed while the node is steered: five times, each for longer than the timer takes.
#[test]
fn a_timer_that_leads_to_a_violation_is_postponed_until_the_switch_is_pulled() {
    at_once([Network::Ordered, Network::Unordered], |network| {
        let gate = Gate::new(0, LAST - 1, 0, predicts);
        let trial = Trial { gates: vec![Arc::clone(&gate)], ..Trial::steering(forbidden(), network, &[0, 1, 2]) };
        let ended = trial.run(|trial| {
            trial.wait_for(0, "filtered_total", 5);
            assert!(trial.count(0) < LAST, "{}", trial.count(0));
            trial.pull_the_switch();
            trial.wait(0, LAST);
            trial.wait(1, LAST);
        });
        let node = &ended.ended[0];
        let kept = node.counts.filtered + node.counts.discarded;
        assert_eq!(node.counts.local, kept + gate.waited() + u64::from(LAST));
        assert_eq!(substitutes(node), [("postpone", kept)]);
        assert!(ended.ended.iter().all(|ended| steered(ended).is_off));
        assert!([1, 2].into_iter().all(|node: usize| ended.ended[node].counts.instead.is_empty()));
    });
}

/// Node 1 receiving the number 2 is a violation that only node 1 can prevent: it drops that message, and receives the next ones. On an
/// ordered link, the substitute of a message is a broken connection, so the filter has no effect unless breaks are allowed.
#[test]
fn a_message_that_leads_to_a_violation_is_dropped_if_the_network_may_lose_it() {
    let rows = [
        (Network::Unordered, false, false, &[("drop", 1)][..]),
        (Network::Ordered, false, false, &[]),
        (Network::Ordered, true, false, &[("break", 1)]),
        (Network::Ordered, true, true, &[("break", 1)]),
    ];
    at_once(rows, |(network, breaks, is_encrypted, expected)| {
        let forbidden = counter().forbid(&[None, Some(2), None]);
        let mut gates = vec![Gate::new(0, 1, 1, predicts)];
        if expected.is_empty() {
            gates.push(Gate::new(0, 2, 1, |round| !round.violated.is_empty()));
        }
        let trial = Trial { gates, breaks, ..Trial::steering(forbidden, network, &[1]) };
        let trial = if is_encrypted { Trial { tls: encrypted::trial(&Authority::new()).tls, ..trial } } else { trial };
        let trialed = trial.run(|trial| trial.wait(1, LAST));
        let node = &trialed.ended[1];
        assert_eq!(substitutes(node), expected, "{network:?} {breaks}");
        // Messages in flight on a connection that breaks are lost.
        assert!(breaks || node.counts.messages == u64::from(LAST), "{:?}", node.counts);
        let (violated, unhelpful) = (node.watched.expect("it is").checker.violated, steered(node).unhelpful);
        assert_eq!([violated == 0, unhelpful == 0], [!expected.is_empty(); 2], "{network:?} {breaks}");
    });
}

/// Nodes 0 and 1 must not both have taken their step. The checkers do not look ahead, so node 1 knows the step of node 0 only from its
/// snapshots.
#[test]
fn the_immediate_check_judges_a_node_with_the_others_in_its_snapshot() {
    let toy = [0, 1].into_iter().fold(Toy::new(3).of_kind(0, LocalKind::Timer), |toy, node| {
        toy.rule(node, 0, ToyTrigger::Local(0), 1, &[]).keep(node, 1, 1)
    });
    let trial = Trial {
        limits: Limits { events_max: 0, states_max: 0, ..Limits::default() },
        gates: vec![Gate::new(1, 0, 1, |round| round.beginning.states.iter().any(|state| state.exported.0 == [0, 1]))],
        ..Trial::steering(toy.forbid(&[Some(1), Some(1), None]), Network::Unordered, &[0, 1, 2])
    };
    let ended = trial.run(|trial| {
        trial.wait(0, 1);
        trial.wait_for(1, "discarded_total", 2);
        assert_eq!(trial.count(1), 0);
        trial.pull_the_switch();
        trial.wait(1, 1);
    });
    let node = &ended.ended[1];
    assert!(node.counts.discarded > 0 && node.counts.filtered == 0, "{:?}", node.counts);
    assert_eq!(substitutes(node), [("postpone", node.counts.discarded)]);
}

/// The checker ends with its first filters, which postpone the first steps; then they expire, and only the immediate check remains,
/// which refuses the last step only.
#[test]
fn filters_of_a_checker_that_has_ended_are_over_soon() {
    let trial = Trial {
        ends_with_filters: true,
        // Filters last for twice this time.
        every: Duration::from_secs(2),
        gates: vec![Gate::new(0, 0, 0, predicts)],
        ..Trial::steering(forbidden(), Network::Ordered, &[0])
    };
    let ended = trial.run(|trial| {
        trial.wait(0, LAST - 1);
        trial.wait_for(0, "discarded_total", 3);
        assert_eq!(trial.count(0), LAST - 1);
    });
    let node = &ended.ended[0];
    assert!(node.counts.filtered > 0 && node.counts.discarded > 0, "{:?}", node.counts);
    assert!(node.watched.expect("it was watched").is_ended);
    assert_eq!(steered(node).filters, 0);
}

/// The quota is zero.
#[test]
fn beyond_its_quota_steering_suspends_itself_and_everything_happens() {
    let mut trial = Trial::steering(forbidden(), Network::Ordered, &[0]);
    trial.steered.1 = Quota { percent: 0, always: 0 };
    let ended = trial.run(|trial| trial.wait(0, LAST));
    let SteeringCounts { suspensions, is_active, is_off, .. } = steered(&ended.ended[0]);
    assert_eq!((suspensions, is_active, is_off), (1, false, false));
}

/// Node 0 takes a step by a timer and sends to node 1, which must not receive the message. Only node 0 is steered, no checker has
/// filters, and the immediate check finds nothing wrong at node 0: only looking ahead from the held effects finds the violation.
fn fatal_message() -> Trial {
    let toy = Toy::new(3)
        .of_kind(0, LocalKind::Timer)
        .rule(0, 0, ToyTrigger::Local(0), 1, &[(1, 7)])
        .rule(1, 0, ToyTrigger::Message(0, 7), 1, &[])
        .keep(0, 1, 1)
        .keep(1, 1, 1)
        .forbid(&[None, Some(1), None]);
    Trial {
        limits: Limits { events_max: 0, states_max: 0, ..Limits::default() },
        gates: vec![Gate::new(0, 0, 0, is_whole)],
        ..Trial::steering(toy, Network::Unordered, &[0])
    }
}

#[test]
fn an_event_is_held_while_its_node_looks_ahead_from_it() {
    at_once([true, false], |holds| {
        let trial = Trial { hold: holds.then_some(Duration::from_secs(60)), ..fatal_message() };
        let ended = trial.run(|trial| {
            if holds {
                trial.wait_for(0, "foreseen_total", 2);
                assert_eq!((trial.count(0), trial.count(1)), (0, 0));
                trial.pull_the_switch();
            }
            trial.wait(1, 1);
        });
        let (counts, hold) = (&ended.ended[0].counts, steered(&ended.ended[0]).hold);
        assert_eq!((counts.foreseen > 0, counts.discarded + counts.filtered), (holds, 0), "{counts:?}");
        assert_eq!(hold.map(|hold| (hold.looked >= counts.foreseen, hold.is_ended)), holds.then_some((true, false)));
    });
}

/// Without time to look ahead, the effects leave.
#[test]
fn effects_are_not_held_for_long() {
    let trial = Trial { hold: Some(Duration::ZERO), ..fatal_message() };
    let ended = trial.run(|trial| trial.wait(1, 1));
    let (counts, hold) = (&ended.ended[0].counts, steered(&ended.ended[0]).hold.expect("it was to hold effects"));
    assert_eq!((counts.foreseen, hold.looked, hold.is_ended), (0, 0, false));
    assert!(hold.cut > 0, "{hold:?}");
}

/// Predictions of earlier processes arm a node at its start: without any round, its timer waits for the time of two rounds. With the switch
/// pulled before the start, no timer waits. Connections under TLS make no difference.
#[test]
fn what_was_predicted_arms_a_node_at_its_start_unless_steering_is_off() {
    let event = TraceEvent::Local { name: "local0".to_owned(), cause: LocalKind::Timer, payload: Hex(vec![0]) };
    let tick = TraceStep { node: 0, event, choices: Vec::new(), sent: None, state: None };
    let networks = [(Network::Ordered, true), (Network::Ordered, false), (Network::Unordered, false)];
    at_once(networks.into_iter().flat_map(|of| [(of, false), (of, true)]), |((network, is_encrypted), is_off)| {
        let trial = Trial {
            // No checker ends its first round.
            checked: Some(Arc::new(Sleeps)),
            every: Duration::from_secs(3_600),
            timers: [Duration::from_millis(100); 3],
            kept: vec![vec![tick.clone()]],
            ..Trial::steering(counter(), network, &[0, 1, 2])
        };
        let trial = if is_encrypted { Trial { tls: encrypted::trial(&Authority::new()).tls, ..trial } } else { trial };
        let ended = trial.run_after(
            |trial| {
                if is_off {
                    trial.pull_the_switch();
                }
            },
            |trial| {
                if !is_off {
                    trial.wait_for(0, "filtered_total", 3);
                    assert_eq!(trial.count(0), 0);
                    trial.pull_the_switch();
                }
                trial.wait(1, LAST);
            },
        );
        let Ended { counts, .. } = &ended.ended[0];
        assert_eq!((counts.filtered > 0, counts.discarded), (!is_off, 0), "{network:?} {is_encrypted} {is_off}");
        assert!(steered(&ended.ended[0]).is_off);
    });
}
