//! Single managers: limits, and forged packets.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::checkpoint::{Body, Dropped, Durable, Header, Limits, Manager, Outcome, Output, Packet, Rule};
use crate::time::Time;

fn manager(limits: Limits, durable: Option<Durable>) -> (Manager, Vec<Output>) {
    let mut outputs = Vec::new();
    let manager = Manager::new(0, Rule::SOUND, limits, durable, vec![], &mut outputs);
    (manager, outputs)
}

fn header(number: u64, incarnation: u64, addressee: u64) -> Header {
    Header { number, incarnation, addressee, acknowledged: None }
}

fn message(header: Header, sequence: u64) -> Packet {
    Packet { header, body: Body::Message { sequence, payload: vec![7] } }
}

/// With blocks of 10, the first record has 10, and number 11 needs the next one.
#[test]
fn numbers_are_on_the_disk_before_they_are_used() {
    let limits = Limits { block: 10, ..Limits::default() };
    let (mut manager, mut outputs) = manager(limits, None);
    for _ in 2..=11 {
        manager.checkpoint(vec![], &mut outputs);
    }
    let durable = |reserved| Output::Persist(Durable { incarnation: 1, reserved });
    assert_eq!(outputs, [durable(10), durable(20)]);
    let (manager, outputs) = self::manager(limits, Some(Durable { incarnation: 1, reserved: 20 }));
    assert_eq!((manager.number(), manager.incarnation()), (21, 2));
    assert_eq!(outputs, [Output::Persist(Durable { incarnation: 2, reserved: 30 })]);
}

/// Eight checkpoints are kept, or fewer if their states are long; the latest one is kept whatever its length. A request for a discarded one
/// is refused.
#[test]
fn checkpoints_are_kept_by_number_and_by_bytes() {
    for (length, kept) in [(0, 8), (10, 8), (12, 8), (13, 7), (34, 2), (50, 2), (51, 1), (101, 1)] {
        let limits = Limits { checkpoints_bytes_max: 100, ..Limits::default() };
        let (mut manager, mut outputs) = manager(limits, None);
        (2..=20).for_each(|_| manager.checkpoint(vec![0; length], &mut outputs));
        let answers = (1..=20).filter(|number| {
            outputs.clear();
            let packet = Packet { header: header(1, 1, 0), body: Body::Request { number: *number } };
            assert_eq!(manager.receive(1, packet, Vec::new, &mut outputs), Ok(None));
            matches!(&outputs[..], [Output::Send { packet: Packet { body: Body::Answer { .. }, .. }, .. }])
        });
        assert_eq!(answers.count(), kept, "{length}");
    }
}

#[test]
fn packets_that_make_no_sense_change_nothing() {
    let (mut manager, mut outputs) = manager(Limits::default(), Some(Durable { incarnation: 1, reserved: 5 }));
    assert_eq!(
        manager.receive(1, message(header(1, 2, 2), 3), || panic!("6 is above 1"), &mut outputs),
        Ok(Some(vec![7]))
    );
    outputs.clear();
    let request = Body::Request { number: 1 };
    let cases = [
        (1, message(header(1, 2, 2), 3), Dropped::Repeated),
        (1, message(header(1, 1, 2), 4), Dropped::FormerSender),
        (1, message(header(1, 2, 1), 4), Dropped::FormerAddressee),
        (1, message(header(1, 2, 3), 4), Dropped::LaterStart(3)),
        (1, message(header(1, 2, 2 + (1 << 16)), 4), Dropped::LaterStart(2 + (1 << 16))),
        (1, message(header(1, 2, 3 + (1 << 16)), 4), Dropped::Malformed),
        (1, message(header(1, 3 + (1 << 16), 2), 4), Dropped::Malformed),
        (1, message(header(1, 1 << 60, 2), 4), Dropped::Malformed),
        (1, message(header(1, u64::MAX, u64::MAX), 4), Dropped::Malformed),
        (2, message(header(1, (1 << 32) + 1, 2), 4), Dropped::Malformed),
        (2, message(header(1, 1 << 60, 0), 4), Dropped::Malformed),
        (0, message(header(1, 2, 3), 4), Dropped::Malformed),
        (1, message(header(1, 0, 2), 4), Dropped::Malformed),
        (1, message(header(1, 2, 2), 0), Dropped::Malformed),
        (1, message(header((1 << 63) + 1, 2, 2), 4), Dropped::Malformed),
        (1, message(header(u64::MAX, 2, 2), 4), Dropped::Malformed),
        (0, message(header(1, 1, 2), 4), Dropped::FormerSender),
        (0, message(header(1, 3, 2), 4), Dropped::Malformed),
        (0, Packet { header: header(1, 2, 2), body: request }, Dropped::Malformed),
    ];
    let before = manager.clone();
    for (from, packet, why) in cases {
        let said = manager.receive(from, packet.clone(), || panic!("no checkpoint"), &mut outputs);
        assert_eq!(said, Err(why), "{packet:?}");
        assert!(manager == before, "{packet:?}");
        // A sender that knows a former start of the node is answered with the present one; others are not answered.
        let heard: Vec<_> =
            outputs.drain(..).map(|output| matches!(output, Output::Send { to, .. } if to == from)).collect();
        assert_eq!(heard, vec![true; usize::from(why == Dropped::FormerAddressee)], "{packet:?}");
    }
}

/// A forged packet claims start 2^32 of node 1, or 65,536 starts after the known one. Node 1 itself is refused from then on, learns of the
/// claim from the next packet, and continues with a later start: however often this happens, a number is left.
#[test]
fn a_forged_start_separates_no_nodes_for_good() {
    let (mut other, mut outputs) = manager(Limits::default(), None);
    let take = |other: &mut Manager, incarnation, sequence| {
        other.receive(1, message(header(1, incarnation, 0), sequence), Vec::new, &mut Vec::new())
    };
    assert_eq!(take(&mut other, 3, 1), Ok(Some(vec![7])));
    let mut start = 3;
    for _ in 0..100 {
        let forged = start + (1 << 16);
        assert_eq!(take(&mut other, forged, 1), Ok(Some(vec![7])));
        assert_eq!(take(&mut other, start, 2), Err(Dropped::FormerSender));
        other.send(1, vec![7], &mut outputs);
        let Some(Output::Send { packet, .. }) = outputs.pop() else { panic!("it is sent at once") };
        let durable = Durable { incarnation: start - 1, reserved: 5 };
        let mut node = Manager::new(1, Rule::SOUND, Limits::default(), Some(durable), vec![], &mut outputs);
        let said = node.receive(0, packet, Vec::new, &mut outputs);
        assert_eq!(said, Err(Dropped::LaterStart(forged)));
        start = forged + 1;
        assert_eq!(take(&mut other, start, 1), Ok(Some(vec![7])));
    }
}

/// Sends three messages to a second manager, which takes all but the first one, and the first one, too, if its number is within reach.
fn understands(mut sender: Manager, is_within_reach: bool) {
    let (mut other, mut outputs) = manager(Limits::default(), None);
    for sequence in 1..=3 {
        let mut sent = Vec::new();
        sender.send(1, vec![7], &mut sent);
        let Some(Output::Send { packet, .. }) = sent.pop() else { panic!("it is sent at once") };
        let said = other.receive(1, packet, Vec::new, &mut outputs);
        let is_taken = is_within_reach || sequence > 1;
        assert_eq!(said, if is_taken { Ok(Some(vec![7])) } else { Err(Dropped::FarAhead) }, "{sequence}");
    }
}

/// A packet with any number leaves its receiver able to communicate: other nodes still accept its messages, now and after a restart. From
/// 2^62 on, that costs one packet.
#[test]
fn a_number_far_ahead_separates_no_nodes() {
    for (number, reached) in [(1 << 48, 1 << 48), (1 << 62, 1 << 62), (1 << 63, 1 << 62)] {
        let (mut ahead, mut outputs) = manager(Limits::default(), None);
        let said = ahead.receive(1, message(header(number, 1, 0), 1), Vec::new, &mut outputs);
        assert_eq!(said, if number == reached { Ok(Some(vec![7])) } else { Err(Dropped::FarAhead) });
        assert_eq!(ahead.number(), reached);
        let Some(Output::Persist(durable)) = outputs.pop() else { panic!("{outputs:?}") };
        ahead.checkpoint(vec![], &mut outputs);
        assert_eq!(ahead.number(), reached + 1);
        understands(ahead, reached < 1 << 62);
        understands(manager(Limits::default(), Some(durable)).0, reached < 1 << 62);
    }
}

/// From 2^62 on, a packet raises a node by 2^24.
#[test]
fn no_packet_raises_a_node_to_the_largest_number() {
    let (mut manager, mut outputs) = manager(Limits::default(), None);
    for count in 0..100 {
        let said = manager.receive(1, message(header(1 << 63, 1, 0), 1), Vec::new, &mut outputs);
        assert_eq!(said, Err(Dropped::FarAhead));
        assert_eq!(manager.number(), (1 << 62) + (count << 24));
    }
    let number = manager.number() + (1 << 24);
    assert_eq!(manager.receive(1, message(header(number, 1, 0), 1), Vec::new, &mut outputs), Ok(Some(vec![7])));
    assert_eq!(manager.number(), number);
}

/// Two checkpoints with the same message in flight share it in memory.
#[test]
fn checkpoints_share_the_messages_in_them() {
    let (mut manager, mut outputs) = manager(Limits::default(), None);
    manager.send(2, vec![7; 100], &mut outputs);
    outputs.clear();
    for number in [2, 3] {
        let request = Packet { header: header(number, 1, 0), body: Body::Request { number } };
        manager.receive(1, request, Vec::new, &mut outputs).expect("it makes sense");
    }
    let answers = outputs.iter().filter_map(|output| match output {
        Output::Send { packet: Packet { body: Body::Answer { checkpoint, .. }, .. }, .. } => Some(checkpoint),
        _ => None,
    });
    let payloads: Vec<_> = answers.map(|checkpoint| &checkpoint.channels[&2].kept[0].payload).collect();
    let [first, second] = payloads[..] else { panic!("{outputs:?}") };
    assert!(first[..] == [7; 100] && Arc::ptr_eq(first, second));
}

/// Node 0 requests checkpoints of nodes 1 and 2. One is unreachable, and the snapshot completes without it; or neither answers in time.
#[test]
fn a_snapshot_does_without_nodes_that_cannot_be_reached() {
    let limits = Limits { timeout: Duration::from_secs(2), ..Limits::default() };
    let (mut manager, mut outputs) = manager(limits, None);
    manager.gather(BTreeSet::from([1, 2]), Time(5), vec![], &mut outputs);
    outputs.clear();
    manager.lose(1, &mut outputs);
    manager.lose(1, &mut outputs);
    let mut late = manager.clone();
    assert!(outputs.is_empty());
    manager.lose(2, &mut outputs);
    let [Output::Gathered(Outcome::Complete(snapshot))] = &outputs[..] else { panic!("{outputs:?}") };
    assert_eq!(snapshot.absent, BTreeSet::from([1, 2]));
    assert_eq!(snapshot.checkpoints.keys().collect::<Vec<_>>(), [&0]);

    outputs.clear();
    let deadline = Time(5).after(limits.timeout);
    assert_eq!(late.deadline(), Some(deadline));
    late.expire(Time(deadline.0 - 1), &mut outputs);
    assert!(outputs.is_empty());
    late.expire(deadline, &mut outputs);
    assert_eq!(outputs, [Output::Gathered(Outcome::TimedOut(BTreeSet::from([2])))]);
    assert_eq!(late.deadline(), None);
}

/// A node that always refuses gets three requests.
#[test]
fn a_snapshot_is_given_up_after_some_refusals() {
    let (mut manager, mut outputs) = manager(Limits { attempts_max: 3, ..Limits::default() }, None);
    manager.gather(BTreeSet::from([1]), Time(0), vec![], &mut outputs);
    for attempt in 1..=3 {
        let requests = outputs.iter().filter_map(|output| match output {
            Output::Send { packet: Packet { body: Body::Request { number }, .. }, .. } => Some(*number),
            _ => None,
        });
        let requests: Vec<u64> = requests.collect();
        assert_eq!(requests.len(), attempt, "{outputs:?}");
        let number = 10 * attempt as u64;
        let refusal = Packet { header: header(number, 1, 0), body: Body::Refusal { request: requests[attempt - 1] } };
        manager.receive(1, refusal, Vec::new, &mut outputs).expect("it makes sense");
    }
    assert_eq!(outputs.last(), Some(&Output::Gathered(Outcome::Refused)));
}

/// A node that sends no more for now ends the snapshot and gets no further request; such a packet without a request is ignored.
#[test]
fn a_snapshot_ends_where_a_node_sends_no_more() {
    let (mut manager, mut outputs) = manager(Limits::default(), None);
    manager.gather(BTreeSet::from([1, 2]), Time(0), vec![], &mut outputs);
    let number = manager.number();
    outputs.clear();
    let capped = |request| Packet { header: header(1, 1, 0), body: Body::Capped { request } };
    for (from, request) in [(3, number), (1, number - 1), (1, number + 1)] {
        assert_eq!(manager.receive(from, capped(request), Vec::new, &mut outputs), Ok(None));
        assert_eq!((outputs.len(), manager.deadline().is_some()), (0, true));
    }
    assert_eq!(manager.receive(1, capped(number), Vec::new, &mut outputs), Ok(None));
    assert_eq!((&outputs[..], manager.deadline()), (&[Output::Gathered(Outcome::Capped(1))][..], None));
}
