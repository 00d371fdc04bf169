//! Single executions, and the effect of each mistake. `none` is the transport without a mistake, on the same path.

use std::panic::{AssertUnwindSafe, catch_unwind};

use guest_sdk::test::Cluster;
use mace_transport::{Application, Data, Wire};

fn with(parameters: &[(&str, &str)]) -> Cluster<Application> {
    Cluster::new(2, parameters).expect("the parameters fit")
}

/// Delivers the segment of this number that was sent first, of those in flight.
#[track_caller]
fn segment(cluster: &mut Cluster<Application>, number: u16) {
    cluster.deliver_where(|flight| matches!(&flight.message, Wire::Data(Data { seq, .. }) if *seq == number));
}

/// Delivers an acknowledgement.
#[track_caller]
fn ack(cluster: &mut Cluster<Application>, number: u16) {
    cluster.deliver_where(|flight| matches!(flight.message, Wire::Ack { seq, .. } if seq == number));
}

/// The numbers of the messages that node 1 has received from node 0.
fn received(cluster: &Cluster<Application>) -> Vec<u8> {
    cluster.state(1).received.get(&0).into_iter().flatten().map(|note| note.number).collect()
}

/// The segment that node 1 expects next.
fn next(cluster: &Cluster<Application>) -> u16 {
    cluster.state(1).end.incoming[&0].next
}

/// Node 0 has sent three messages: the first one is acknowledged, the others are in flight.
fn two_in_flight(parameters: &[(&str, &str)]) -> Cluster<Application> {
    let mut cluster = with(&[&[("messages", "4")], parameters].concat());
    for _ in 0..3 {
        cluster.happen(0, "send");
    }
    segment(&mut cluster, 0);
    ack(&mut cluster, 0);
    assert_eq!(cluster.in_flight().len(), 2);
    cluster
}

/// Node 0 has given up its first connection, whose SYN is still in flight, and its next one is open.
fn late_syn(parameters: &[(&str, &str)]) -> Cluster<Application> {
    let mut cluster = with(&[&[("messages", "4"), ("retries", "0")], parameters].concat());
    cluster.happen(0, "send");
    cluster.happen(0, "retransmit");
    cluster.happen(0, "send");
    segment(&mut cluster, 64);
    ack(&mut cluster, 64);
    assert_eq!((received(&cluster), cluster.in_flight().len()), (vec![2], 1));
    cluster
}

/// Nothing sent is one state. One message is in flight, delivered or acknowledged, 3 states; with the second one in the queue, the first
/// two of them, 2; once the first is acknowledged the second goes the same way, 3. Of the 10 transitions 4 send, the first message from
/// one state and the second from three; 2 deliver and acknowledge the first alone, 2 with the second in the queue, 2 the second.
#[test]
fn two_messages_have_nine_states() {
    let found = with(&[("early", "0")]).explore(100);
    assert_eq!((found.global_states, found.transitions, found.broken), (9, 10, None));
    assert_eq!(found.terminal_states, 1);
}

/// The counts of scenarios, by another enumeration than that of the host.
#[test]
fn scenarios_have_these_counts() {
    for (parameters, counts) in [
        (&[] as &[(&str, &str)], (34, 53)),
        (&[("senders", "2")], (2448, 8060)),
        (&[("senders", "2"), ("retries", "0")], (4077, 9972)),
        (&[("messages", "3"), ("loss", "chance")], (2035, 5753)),
    ] {
        let found = with(parameters).explore(10_000);
        assert_eq!(
            (found.global_states, found.transitions, found.broken),
            (counts.0, counts.1, None),
            "{parameters:?}"
        );
    }
    let broken = with(&[("senders", "2"), ("retries", "0"), ("bug", "MT7")]).explore(10_000);
    assert_eq!(broken.depth, 8, "no shorter way breaks `one-way`");
    assert!(broken.broken.is_some_and(|property| property.starts_with("one-way")));
}

#[test]
fn messages_come_in_order_whatever_the_network_does() {
    let mut cluster = two_in_flight(&[]);
    segment(&mut cluster, 2);
    assert_eq!(received(&cluster), [1]);
    segment(&mut cluster, 1);
    assert_eq!(received(&cluster), [1, 2, 3]);
    cluster.settle();
    for property in ["flushed", "matched", "arrived"] {
        assert_eq!(cluster.holds(property), Ok(()), "{property}");
    }
}

#[test]
fn what_is_lost_is_sent_again_or_reported() {
    let mut cluster = two_in_flight(&[("early", "2")]);
    cluster.lose_all();
    cluster.happen(0, "retransmit");
    assert!(
        cluster.in_flight().is_empty(),
        "there is room for one segment, which is in flight as far as the sender knows"
    );
    cluster.happen(0, "retransmit");
    cluster.settle();
    assert_eq!(received(&cluster), [1, 2, 3]);

    let mut cluster = two_in_flight(&[("retries", "0")]);
    cluster.lose_all();
    cluster.happen(0, "retransmit");
    assert_eq!(Vec::from_iter(cluster.state(0).failed.clone()), [2, 3]);
    assert_eq!(cluster.holds("arrived"), Ok(()));
}

#[test]
fn mt1_delivers_a_first_message_twice() {
    for (bug, messages) in [("none", vec![1]), ("MT1", vec![1, 1])] {
        let mut cluster = with(&[("bug", bug)]);
        cluster.happen(0, "send");
        cluster.happen(0, "retransmit");
        segment(&mut cluster, 0);
        segment(&mut cluster, 0);
        assert_eq!(received(&cluster), messages, "{bug}");
        assert_eq!(cluster.holds("order").is_err(), bug == "MT1");
    }
}

#[test]
fn mt2_leaves_timers_of_a_closed_connection() {
    for bug in ["none", "MT2"] {
        let mut cluster = two_in_flight(&[("bug", bug), ("retries", "0")]);
        cluster.happen(0, "retransmit");
        assert_eq!(cluster.holds("timers").is_err(), bug == "MT2");
        assert_eq!(cluster.local_events(0).iter().any(|event| event.name == "retransmit"), bug == "MT2");
    }
}

#[test]
fn mt3_goes_back_to_a_connection_of_old() {
    for (bug, expected) in [("none", 65), ("MT3", 1), ("MT3-clause", 1)] {
        let mut cluster = late_syn(&[("bug", bug)]);
        segment(&mut cluster, 0);
        assert_eq!(next(&cluster), expected, "{bug}");
        assert_eq!(cluster.holds("matched").is_err(), expected == 1);
    }
}

/// The receiver gives up its own connection, and closes both directions; then the SYN comes again.
#[test]
fn mt3_forgets_what_it_has_heard_with_the_connection() {
    for (bug, messages) in [("none", vec![1]), ("MT3-forgets", vec![1, 1])] {
        let mut cluster = with(&[("bug", bug), ("retries", "0"), ("senders", "2")]);
        cluster.happen(0, "send");
        cluster.duplicate(0);
        segment(&mut cluster, 0);
        cluster.happen(1, "send");
        cluster.happen(1, "retransmit");
        cluster.deliver_to(1, |wire| matches!(wire, Wire::Data(_)));
        assert_eq!(received(&cluster), messages, "{bug}");
    }
}

#[test]
fn mt4_does_not_count_segments_from_the_buffer() {
    for (bug, expected) in [("none", 3), ("MT4", 2)] {
        let mut cluster = two_in_flight(&[("bug", bug)]);
        segment(&mut cluster, 2);
        segment(&mut cluster, 1);
        assert_eq!((received(&cluster), next(&cluster)), (vec![1, 2, 3], expected), "{bug}");
    }
}

#[test]
fn mt5_and_mt9_acknowledge_other_segments() {
    for (bug, early, late) in [("none", 0, 2), ("MT5", 1, 2), ("MT9", 0, 1)] {
        let mut cluster = two_in_flight(&[("bug", bug)]);
        segment(&mut cluster, 2);
        assert_eq!(cluster.state(1).end.incoming[&0].acknowledged, early, "{bug}");
        segment(&mut cluster, 1);
        assert_eq!(cluster.state(1).end.incoming[&0].acknowledged, late, "{bug}");
    }
}

/// Both segments have arrived, and the second waits for room in the window, since both timers have fired.
#[test]
fn mt6_ignores_the_acknowledgement_of_more_than_is_in_flight() {
    for (bug, is_flushed) in [("none", true), ("MT6", false)] {
        let mut cluster = two_in_flight(&[("bug", bug), ("early", "2"), ("retries", "2")]);
        segment(&mut cluster, 2);
        segment(&mut cluster, 1);
        cluster.happen(0, "retransmit");
        cluster.happen(0, "retransmit");
        ack(&mut cluster, 2);
        assert_eq!(cluster.holds("flushed").is_ok(), is_flushed, "{bug}");
    }
}

/// A Reset that is about the connection before: the present one stays, and so does that in the other direction, unless both are closed.
/// Node 1 then gets an error although its connection was fine: slow, but no promise is broken.
#[test]
fn mt7_closes_both_directions_for_a_reset_of_old() {
    for (bug, failed) in [("none", vec![]), ("MT7", vec![2])] {
        let mut cluster = late_syn(&[("bug", bug), ("senders", "2")]);
        cluster.happen(1, "send");
        cluster.deliver_to(0, |wire| matches!(wire, Wire::Data(_)));
        cluster.deliver_to(1, |wire| matches!(wire, Wire::Ack { .. }));
        segment(&mut cluster, 0);
        cluster.deliver_to(0, |wire| matches!(wire, Wire::Reset { .. }));
        assert_eq!(cluster.state(0).end.outgoing.contains_key(&1), bug == "none");
        assert_eq!(cluster.check().is_err(), bug == "MT7", "node 1 has a connection that node 0 has closed");
        cluster.happen(1, "send");
        cluster.settle();
        assert_eq!(Vec::from_iter(cluster.state(1).failed.clone()), failed, "{bug}");
        assert_eq!((cluster.check(), cluster.holds("arrived")), (Ok(()), Ok(())));
    }
}

/// The third fragment of three comes twice, and the message is complete as far as it is counted.
#[test]
fn mt8_counts_a_fragment_twice() {
    for bug in ["none", "MT8"] {
        let mut cluster = with(&[("bug", bug), ("fragments", "3"), ("window", "3")]);
        for _ in 0..2 {
            cluster.happen(0, "send");
        }
        for number in 0..3 {
            segment(&mut cluster, number);
            ack(&mut cluster, number);
        }
        assert_eq!(received(&cluster), [1]);
        segment(&mut cluster, 3);
        let third =
            cluster.in_flight().iter().position(|flight| matches!(&flight.message, Wire::Data(data) if data.part == 2));
        cluster.duplicate(third.expect("it is in flight"));
        segment(&mut cluster, 5);
        assert_eq!(cluster.state(1).end.incoming[&0].buffer[&3].arrived, 2);
        let again = catch_unwind(AssertUnwindSafe(|| segment(&mut cluster, 5)));
        assert_eq!(again.is_err(), bug == "MT8");
    }
}

/// The application waits for room, and the connection is given up: that is the answer.
#[test]
fn mt10_tells_of_room_after_an_error() {
    for bug in ["none", "MT10"] {
        let mut cluster = with(&[("bug", bug), ("buffer", "1"), ("retries", "0")]);
        cluster.happen(0, "send");
        cluster.happen(0, "send");
        assert!(cluster.state(0).is_waiting);
        cluster.happen(0, "retransmit");
        assert!(!cluster.state(0).is_waiting);
        cluster.happen(0, "send");
        cluster.settle();
        let is_clear = cluster.local_events(0).iter().any(|event| event.name == "clear-to-send");
        assert_eq!(is_clear, bug == "MT10");
        if is_clear {
            cluster.happen(0, "clear-to-send");
        }
        assert_eq!(cluster.holds("asked").is_err(), bug == "MT10");
    }
}

/// The receiver is started again; the SYN of an old connection opens it, and segments of the new one fit nothing.
#[test]
fn mt11_keeps_what_will_never_fit() {
    for (bug, is_reset) in [("none", true), ("MT11", false)] {
        let mut cluster = late_syn(&[("bug", bug)]);
        cluster.reset(1);
        segment(&mut cluster, 0);
        cluster.happen(0, "send");
        for _ in 0..4 {
            cluster.settle();
            if cluster.local_events(0).iter().any(|event| event.name == "retransmit") {
                cluster.happen(0, "retransmit");
            }
        }
        cluster.settle();
        assert_eq!(cluster.holds("flushed").is_ok(), is_reset, "{bug}");
    }
}

#[test]
fn mistakes_are_combined_with_commas() {
    assert!(Cluster::<Application>::new(2, &[("bug", "MT1,MT3-forgets,MT11")]).is_ok());
    let refused = Cluster::<Application>::new(2, &[("bug", "MT12")]).err().expect("there is no such mistake");
    assert!(refused.to_string().contains("\"MT12\""), "{refused}");
    for parameter in ["window", "buffer", "fragments"] {
        assert!(Cluster::<Application>::new(2, &[(parameter, "0")]).is_err(), "{parameter}");
    }
}
