//! Single executions, the effect of each mistake, and behaviour of the simulator that connections of the host do not have.

use std::panic::{AssertUnwindSafe, catch_unwind};

use guest_sdk::test::Cluster;
use tcp_simulator::{End, Note, State, TcpSimulator, Upcall};

/// The simulator after these events. The first delivery of a message is followed by a socket error.
fn after(parameters: &[(&str, &str)], events: &[&str]) -> Cluster<TcpSimulator> {
    let mut cluster = Cluster::scripted(1, parameters, &[1]).expect("the parameters fit");
    events.iter().for_each(|event| cluster.happen(0, event));
    cluster
}

fn end(cluster: &Cluster<TcpSimulator>, node: usize) -> &End {
    match cluster.state(0) {
        State::World(world) => &world.ends[node],
        State::Node(_) => unreachable!("the network is simulated"),
    }
}

fn can_happen(cluster: &Cluster<TcpSimulator>, name: &str) -> bool {
    cluster.local_events(0).iter().any(|event| event.name == name)
}

/// Each end has sent none, one or two of its messages, and this many of these have arrived: 6 cases for each end, 36 together. In 3 of
/// the 6 it can send and in 3 deliver, so there are 2 * 6 * 6 transitions; and none is refused, since the queue has room for all.
#[test]
fn ends_are_independent_where_nothing_breaks() {
    let found = after(&[], &[]).explore(100);
    assert_eq!((found.global_states, found.transitions, found.broken), (36, 72, None));
}

/// Difference 1: refusals depend on the queue alone.
#[test]
fn what_does_not_fit_into_the_queue_is_refused() {
    let mut cluster = after(&[("queue", "1")], &["send-0", "send-0"]);
    assert!(end(&cluster, 0).app.was_refused);
    assert!(!can_happen(&cluster, "send-0"));
    cluster.happen(0, "deliver-0");
    cluster.happen(0, "send-0");
    assert_eq!((end(&cluster, 0).app.sent, cluster.check()), (2, Ok(())));
}

/// Differences 2 to 4: a message has to arrive before the connection breaks; then only the errors can arrive, and both do. A message in
/// flight is lost.
#[test]
fn errors_overtake_messages_and_reach_both_ends() {
    for errors in [["deliver-0", "deliver-1"], ["deliver-1", "deliver-0"]] {
        let mut cluster = after(&[("breaks", "1")], &["send-0", "send-0", "deliver-0"]);
        assert_eq!(end(&cluster, 1).app.log, [Upcall::Received(Note { life: 0, number: 1 })]);
        errors.iter().for_each(|event| cluster.happen(0, event));
        assert!((0..2).all(|node| end(&cluster, node).app.log.last() == Some(&Upcall::Error)));
        assert!((0..2).all(|node| end(&cluster, node).queue.is_empty()));
        assert_eq!((cluster.check(), cluster.holds("told")), (Ok(()), Ok(())));
    }
}

/// Difference 5: every peer with a connection to a node that is reset hears of it, before anything of its new life.
#[test]
fn a_reset_is_reported_before_what_follows() {
    let mut cluster = after(&[("resets", "1")], &["send-0", "deliver-0", "reset-0", "send-0"]);
    cluster.happen(0, "deliver-0");
    assert_eq!(end(&cluster, 1).app.log.last(), Some(&Upcall::Error));
    cluster.happen(0, "deliver-0");
    assert_eq!(end(&cluster, 1).app.log.last(), Some(&Upcall::Received(Note { life: 1, number: 1 })));
    assert_eq!(cluster.check(), Ok(()));
}

#[test]
fn simtcp1_breaks_the_connection_to_a_node_that_was_reset() {
    for bug in ["none", "SIMTCP1"] {
        let mut cluster = after(&[("bug", bug), ("resets", "1")], &["send-0", "deliver-0", "reset-0"]);
        assert_eq!(cluster.holds("flags").is_err(), bug == "SIMTCP1");
        cluster.happen(0, "deliver-0");
        // The reset node gets an error on a socket that is closed.
        let is_stopped = can_happen(&cluster, "deliver-1")
            && catch_unwind(AssertUnwindSafe(|| cluster.happen(0, "deliver-1"))).is_err();
        assert_eq!(is_stopped, bug == "SIMTCP1");
    }
}

#[test]
fn simtcp2_clears_the_flag_of_another_node() {
    for bug in ["none", "SIMTCP2"] {
        let cluster = after(&[("bug", bug), ("breaks", "1")], &["send-0", "deliver-0", "deliver-0"]);
        assert_eq!(end(&cluster, 0).local_error, bug == "SIMTCP2");
        assert_eq!(cluster.holds("flags").is_err(), bug == "SIMTCP2");
    }
}

#[test]
fn simtcp3_waits_for_an_error_that_is_gone() {
    for bug in ["none", "SIMTCP3"] {
        let cluster = after(&[("bug", bug), ("breaks", "1"), ("resets", "1")], &["send-0", "deliver-0", "reset-0"]);
        assert_eq!(end(&cluster, 0).remote_error, bug == "SIMTCP3");
        assert_eq!(cluster.holds("flags").is_err(), bug == "SIMTCP3");
    }
}

#[test]
fn mistakes_are_combined_with_commas() {
    assert!(Cluster::<TcpSimulator>::new(1, &[("bug", "SIMTCP1,SIMTCP3")]).is_ok());
    let refused = Cluster::<TcpSimulator>::new(1, &[("bug", "SIMTCP4")]).err().expect("there is no such mistake");
    assert!(refused.to_string().contains("\"SIMTCP4\""), "{refused}");
    assert!(Cluster::<TcpSimulator>::new(1, &[("queue", "0")]).is_err());
    assert!(Cluster::<TcpSimulator>::new(2, &[]).is_err());
    assert!(Cluster::<TcpSimulator>::new(1, &[("network", "host")]).is_err());
}
