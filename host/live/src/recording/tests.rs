//! Damaged and torn segments, and their order.

use std::collections::BTreeMap;

use host_model::contract::fingerprint::of_local_state;
use host_model::contract::{Envelope, Fault, FaultKind, Input, LocalEvent, LocalKind};

use crate::disk::Owner;
use crate::gate::{Failed, Gate, Happened, Open};
use crate::recording::{Break, Entry, Head, Next, Recorded, Segment, Sequence, Tape, Wrong};
use crate::time::Time;

fn owner(node: u32) -> Owner {
    let [plugin, digest, config, network] = ["store", "ab", "kept=1", "ordered"].map(str::to_owned);
    Owner { node, plugin, digest, nodes: 3, config, network, name: "east".to_owned() }
}

/// A recorder with a start, and then a message, a failure, a local event and a record.
fn recorded() -> Recorded<Open> {
    let tape = Tape::new(Head::of_start(owner(1), BTreeMap::from([("fuel".to_owned(), 7)]), 9));
    let mut recorded = Recorded { gate: Open, tape: Some(tape) };
    let input = Input::Init { node: 1, nodes: 3, config: "kept=1", durable: None };
    happen(&mut recorded, input, 1);
    happen(&mut recorded, Input::Message { src: 2, payload: &[0, 0] }, 2);
    let fault = Fault::new(FaultKind::Trap, "a trap");
    recorded.failed(&Failed { input: Input::TransportError { peer: 0 }, choices: &[], fault: &fault });
    let event = LocalEvent { name: "tick".to_owned(), kind: LocalKind::Timer, payload: vec![9; 300] };
    happen(&mut recorded, Input::Local(&event), 3);
    recorded.persisted(2);
    recorded
}

fn happen(recorded: &mut Recorded<Open>, input: Input<'_>, number: u8) {
    let sent = [Envelope { to: 0, payload: vec![number; 3] }];
    let (at, state) = (Time(number.into()), of_local_state(1, &[number]));
    recorded.happened(&Happened { at, input, choices: &[], sent: &sent, state, ticket: 1 });
}

fn taken(recorded: &mut Recorded<Open>) -> Vec<u8> {
    recorded.tape.as_mut().expect("it has one").take()
}

/// The entries of a segment, and the place of a torn one.
fn read(bytes: &[u8]) -> Result<(Vec<Entry>, Option<usize>), Wrong> {
    let Some((mut segment, _)) = Segment::open(bytes)? else { return Ok((Vec::new(), Some(0))) };
    let mut entries = Vec::new();
    loop {
        match segment.read()? {
            Next::Entry(entry) => entries.push(entry),
            Next::End => return Ok((entries, None)),
            Next::Torn { at, .. } => return Ok((entries, Some(at))),
        }
    }
}

/// Each changed bit of a segment is an error, in its last entry as in those before.
#[test]
fn no_changed_bit_is_read() {
    let whole = taken(&mut recorded());
    let (entries, torn) = read(&whole).expect("it is intact");
    assert_eq!((entries.len(), torn), (5, None));
    for place in 0..whole.len() * 8 {
        let mut changed = whole.clone();
        changed[place / 8] ^= 1 << (place % 8);
        assert!(read(&changed).is_err(), "{place}");
    }
}

/// A segment cut anywhere, with and without zeros behind the cut, has the entries before the cut, and names the place of the torn one.
#[test]
fn a_torn_segment_has_the_entries_before() {
    let whole = taken(&mut recorded());
    let (entries, _) = read(&whole).expect("it is intact");
    let (mut segment, _) = Segment::open(&whole).expect("it is intact").expect("it has a head");
    let mut ends = vec![segment.offset()];
    while let Next::Entry(_) = segment.read().expect("it is intact") {
        ends.push(segment.offset());
    }
    for cut in 0..whole.len() {
        for zeros in [0, 1, whole.len() - cut, 4_096] {
            let torn = [&whole[..cut], &vec![0; zeros]].concat();
            let (found, at) = read(&torn).expect("it is torn, and not damaged");
            let count = ends.iter().filter(|end| **end <= cut).count().saturating_sub(1);
            assert_eq!(found, entries[..count], "{cut}");
            let is_clean = zeros == 0 && ends.contains(&cut);
            let expected = if cut < ends[0] { Some(0) } else { (!is_clean).then_some(ends[count]) };
            assert_eq!(at, expected, "{cut} {zeros}");
        }
    }
    assert_eq!(read(b"a text of another program"), Err(Wrong::Foreign));
}

/// An entry that is missing, repeated or of another segment is damage.
#[test]
fn entries_count_in_their_place_alone() {
    let mut recorded = recorded();
    let whole = taken(&mut recorded);
    let (mut segment, _) = Segment::open(&whole).expect("it is intact").expect("it has a head");
    let first = segment.offset();
    segment.read().expect("it is intact");
    let second = segment.offset();
    let [head, one, rest] = [&whole[..first], &whole[first..second], &whole[second..]];
    assert_eq!(read(&[head, rest].concat()), Err(Wrong::Damaged(first)));
    assert_eq!(read(&[head, one, one, rest].concat()), Err(Wrong::Damaged(second)));
}

/// Segments follow each other by number, of the same node, and one that continues begins where the one before ends.
#[test]
fn segments_follow_each_other() {
    let mut recorded = recorded();
    let first = taken(&mut recorded);
    recorded.tape.as_mut().expect("it has one").turn(vec![1, 2, 3]);
    happen(&mut recorded, Input::Message { src: 2, payload: &[] }, 4);
    let second = taken(&mut recorded);
    let head = |bytes: &[u8]| Segment::open(bytes).expect("it is intact").expect("it has a head").1;
    let end = |bytes: &[u8]| {
        let (mut segment, _) = Segment::open(bytes).expect("it is intact").expect("it has a head");
        while let Next::Entry(_) = segment.read().expect("it is intact") {}
        segment.chain()
    };
    let after = |first: &[u8], is_torn: bool| {
        let mut sequence = Sequence::default();
        sequence.begin(3, &head(first)).expect("any can be the first one");
        if !is_torn {
            sequence.end(end(first));
        }
        sequence
    };
    assert_eq!(after(&first, false).begin(4, &head(&second)), Ok(()));
    assert_eq!(after(&first, true).begin(4, &head(&second)), Err(Break::Behind));
    assert_eq!(after(&first, false).begin(5, &head(&second)), Err(Break::Missing(4)));
    // A start follows a torn segment as well as a whole one.
    for is_torn in [false, true] {
        assert_eq!(after(&first, is_torn).begin(4, &head(&first)), Ok(()));
    }
    let mut skipped = after(&first, false);
    assert_eq!(skipped.skip(4), Ok(()));
    assert_eq!(skipped.begin(5, &head(&second)), Err(Break::Behind));
    let other = Head::of_start(owner(2), BTreeMap::new(), 9);
    assert_eq!(after(&first, false).begin(4, &other), Err(Break::Other(Box::new(owner(2)))));
}
