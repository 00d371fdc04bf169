//! Single executions, effects of the timers, and the number of global states by an enumeration that shares no code with the host.

use guest_sdk::test::{Cluster, Explored};
use retransmission::{Client, End, Retransmission, State};

fn cluster(parameters: &[(&str, &str)]) -> Cluster<Retransmission> {
    Cluster::new(2, parameters).expect("the parameters are known")
}

fn explore(parameters: &[(&str, &str)]) -> Explored {
    cluster(parameters).explore(200_000)
}

fn client(cluster: &Cluster<Retransmission>) -> &Client {
    match cluster.state(0) {
        State::Client(client) => client,
        State::Server(_) => panic!("node 0 is the client"),
    }
}

fn events(cluster: &Cluster<Retransmission>) -> Vec<&'static str> {
    cluster.local_events(0).iter().map(|event| event.name).collect()
}

#[test]
fn a_request_that_is_dropped_is_sent_again() {
    let mut cluster = cluster(&[]);
    cluster.happen(0, "request");
    // The server is busy.
    cluster.answer(&[1]);
    cluster.settle();
    assert_eq!(events(&cluster), ["retry"]);
    cluster.happen(0, "retry");
    cluster.settle();
    assert_eq!(client(&cluster).end, Some(End::Answered));
    assert_eq!(events(&cluster), ["request"]);
    assert_eq!(cluster.check(), Ok(()));
}

/// 100 ms and 250 ms: the first of three retries comes before the end of patience, the others before or after it.
#[test]
fn timers_fire_in_order_if_they_are_timed() {
    let mut timed = cluster(&[("retries", "3")]);
    timed.happen(0, "request");
    assert_eq!(events(&timed), ["retry"]);
    timed.happen(0, "retry");
    assert_eq!(events(&timed), ["retry", "give-up"]);
    // Timers may be late, and `give-up` may have been set some time after the first `retry`.
    timed.happen(0, "retry");
    assert_eq!(events(&timed), ["retry", "give-up"]);
    timed.happen(0, "retry");
    assert_eq!(events(&timed), ["give-up"]);
    timed.happen(0, "give-up");
    assert_eq!((client(&timed).end, events(&timed)), (Some(End::GaveUp(4)), vec!["request"]));

    let mut untimed = cluster(&[("timers", "untimed")]);
    untimed.happen(0, "request");
    assert_eq!(events(&untimed), ["retry", "give-up"]);
    untimed.happen(0, "give-up");
    let expected = "retry-before-giving-up: node 0: the client gave up without trying again";
    assert_eq!(untimed.check(), Err(expected.to_owned()));
}

/// The counts of the README and of the scenarios.
#[test]
fn counts() {
    let found = explore(&[]);
    assert_eq!((found.global_states, found.transitions, found.broken), (825, 3_136, None));
}

/// The events that the scenarios count.
#[test]
fn each_bug_is_noticed() {
    for (parameter, property, depth) in [
        (("bug", "no-memory"), "at-most-once", 4),
        (("bug", "last-only"), "at-most-once", 7),
        (("bug", "forget"), "at-most-once", 4),
        (("timers", "untimed"), "retry-before-giving-up", 2),
    ] {
        let found = explore(&[parameter]);
        let broken = found.broken.unwrap_or_default();
        assert!(broken.starts_with(property), "{parameter:?}: {broken}");
        assert_eq!(found.depth, depth, "{parameter:?}");
    }
}
