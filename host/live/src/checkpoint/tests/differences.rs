//! Packets as bytes.

use std::collections::BTreeMap;

use host_model::toys::Dice;

use super::world::World;
use crate::checkpoint::difference::{compressed, expand};
use crate::checkpoint::{
    Body, Channel, Checkpoint, Differences, Header, Limits, News, Outcome, Packet, Rule, Unreadable,
};

fn packet(body: Body) -> Packet {
    Packet { header: Header { number: 1, incarnation: 1, addressee: 1, acknowledged: None }, body }
}

fn answer(content: &[u8]) -> Packet {
    let checkpoint = Checkpoint { number: 1, incarnation: 1, content: content.to_vec(), channels: BTreeMap::new() };
    packet(Body::Answer { request: 1, checkpoint: Box::new(checkpoint) })
}

/// Bytes that nothing compresses.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut dice = Dice(seed);
    (0..length).map(|_| dice.below(256) as u8).collect()
}

/// A node that asks and one that answers.
#[derive(Default)]
struct Two {
    asking: Differences,
    answering: Differences,
}

impl Two {
    /// Node 0 asks.
    fn ask(&mut self) {
        let bytes = self.asking.pack(1, &packet(Body::Request { number: 1 }));
        let (_, news) = self.answering.unpack(0, &bytes).expect("it is a request");
        self.answering.learn(0, news);
    }

    /// Node 1 answers with a checkpoint of this content.
    fn answer(&mut self, content: &[u8]) -> Vec<u8> {
        let packet = answer(content);
        let bytes = self.answering.pack(0, &packet);
        let Body::Answer { checkpoint, .. } = &packet.body else { unreachable!("it is one") };
        self.answering.sent(0, checkpoint);
        bytes
    }

    /// The answer arrives.
    fn take(&mut self, bytes: &[u8]) -> Result<Packet, Unreadable> {
        let (packet, news) = self.asking.unpack(1, bytes)?;
        self.asking.learn(1, news);
        Ok(packet)
    }

    /// All of it; how many bytes the answer takes.
    fn exchange(&mut self, content: &[u8]) -> usize {
        self.ask();
        let bytes = self.answer(content);
        assert_eq!(self.take(&bytes), Ok(answer(content)));
        bytes.len()
    }
}

/// Random schedules with loss, duplicates, another order and resets: what is read is what was sent, and what cannot be read is no answer
/// that anybody waits for. So the snapshots are those of nodes that send whole checkpoints.
#[test]
fn the_same_checkpoints_come_out_as_without_differences() {
    let (mut snapshots, mut unreadable, mut bytes) = (0, 0, (0, 0));
    for seed in 0..100 {
        let mut dice = Dice(seed);
        let limits = Limits { checkpoints_max: 2, ..Limits::default() };
        let mut world = World::new(3, Rule::SOUND, limits).with_differences();
        for _ in 0..200 {
            let (node, other) = (dice.below(3), dice.below(3));
            match dice.below(40) {
                0..4 => world.send(node, other),
                4..32 => world.deliver(&mut dice, false),
                32 | 33 => world.deliver(&mut dice, true),
                34 => world.duplicate(&mut dice),
                35 if dice.below(4) == 0 => world.reset(node),
                _ => world.gather(node),
            }
        }
        snapshots += world.outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Complete(_))).count();
        let wire = world.wire.expect("it has one");
        unreadable += wire.unreadable;
        bytes = (bytes.0 + wire.bytes.0, bytes.1 + wire.bytes.1);
    }
    assert!(snapshots > 100 && unreadable > 0, "{snapshots} {unreadable}");
    assert!(3 * bytes.0 < 2 * bytes.1, "{bytes:?}");
}

/// What the dictionary has takes nothing, however long the content is and wherever it has moved to; the figures leave room for the
/// lengths of pieces, the digest, and what stands around the changes.
#[test]
fn an_answer_is_the_difference_from_what_the_asking_node_has() {
    for (length, difference) in [(1_440, 100), (300_000, 2_500)] {
        let mut two = Two::default();
        let mut content = noise(length, 1);
        assert!(two.exchange(&content) > length);
        (content[700], content[1_300]) = (content[700] ^ 1, content[1_300] ^ 1);
        assert!(two.exchange(&content) < difference, "{length}");
        content.splice(5..5, [7; 200]);
        assert!(two.exchange(&content) < difference, "{length}");
    }
    // What is too long to be kept is compressed by itself, and so is the next one.
    let mut two = Two::default();
    let long = noise(1 << 20, 1);
    assert!(two.exchange(&long) > 1 << 20 && two.exchange(&long) > 1 << 20);
    // Without a dictionary as with one, what repeats itself is short.
    assert!(Two::default().exchange(&noise(200, 1).repeat(1_000)) < 3_000);
}

/// A node that has forgotten its checkpoint gets a whole one, and from then on differences again; whatever is lost, the next answer can
/// be read.
#[test]
fn who_starts_again_gets_a_whole_checkpoint() {
    let content = noise(2_000, 1);
    let mut two = Two::default();
    let exchange = |two: &mut Two| two.exchange(&content) > 2_000;
    assert_eq!([(); 3].map(|()| exchange(&mut two)), [true, false, false]);
    two.asking = Differences::default();
    assert_eq!([(); 3].map(|()| exchange(&mut two)), [true, false, false]);
    two.answering = Differences::default();
    assert_eq!([(); 3].map(|()| exchange(&mut two)), [true, false, false]);
    for _ in 0..5 {
        two.ask();
        two.answer(&content);
    }
    assert!(!exchange(&mut two));
}

/// Two requests name one checkpoint, and both answers are differences from it. The second one can be read although the first one has
/// arrived; an answer to a former request may be unreadable, and is refused.
#[test]
fn what_the_latest_request_has_named_stays() {
    let mut two = Two::default();
    two.exchange(&noise(2_000, 1));
    let answers = [2, 3, 4].map(|seed| {
        two.ask();
        two.answer(&[noise(2_000, 1), noise(100, seed)].concat())
    });
    assert!(answers.iter().all(|bytes| bytes.len() < 300), "{}", answers[0].len());
    assert!(two.take(&answers[0]).is_ok() && two.take(&answers[1]).is_ok());
    let mut late = Two { asking: two.asking, ..Two::default() };
    late.ask();
    assert_eq!(late.take(&answers[2]), Err(Unreadable::NoBase));
}

/// Every byte of a difference changed in every bit, and every way to cut it.
#[test]
fn lies_are_refused_or_another_packet() {
    let mut two = Two::default();
    two.exchange(&noise(60, 1));
    two.ask();
    let bytes = two.answer(&[noise(60, 1), vec![3; 40]].concat());
    assert_eq!(bytes[0], 3, "it is a difference");
    let mut refused = 0;
    for place in 0..bytes.len() * 8 {
        let mut lie = bytes.clone();
        lie[place / 8] ^= 1 << (place % 8);
        refused += usize::from(two.asking.unpack(1, &lie).is_err());
        // The digest names none that is there.
        if (8..17 * 8).contains(&place) {
            assert_eq!(two.asking.unpack(1, &lie), Err(Unreadable::NoBase));
        }
    }
    assert!(refused > bytes.len() * 4, "{refused}");
    for end in 0..bytes.len() {
        assert!(two.asking.unpack(1, &bytes[..end]).is_err(), "{end}");
    }
    assert!(two.asking.unpack(1, &[&bytes[..], &[0]].concat()).is_err());
    // Node 2 has sent nothing, so nothing of it can be a dictionary.
    assert_eq!(two.asking.unpack(2, &bytes), Err(Unreadable::NoBase));
    // Only what a node asks for names what it has.
    let message = packet(Body::Message { sequence: 1, payload: vec![] });
    let naming = [vec![2; 17], postcard::to_allocvec(&message).expect("it has an encoding")].concat();
    assert_eq!(two.asking.unpack(1, &naming), Err(Unreadable::Damaged));
    // Who names what was never sent gets a whole checkpoint.
    let request = [vec![2; 17], postcard::to_allocvec(&packet(Body::Request { number: 1 })).expect("as well")].concat();
    let (_, news) = two.answering.unpack(0, &request).expect("it is a request");
    assert_eq!(news, News::Has(Some([2; 16])));
    two.answering.learn(0, news);
    assert_eq!(two.answer(&[3; 40])[0], 1);
}

/// An answer whose 16 MiB are five million messages without content; each would take more than a hundred bytes; compressed it has
/// some ten thousand bytes. It is refused by its cost, and an answer with as many bytes of content is read.
#[test]
fn an_answer_that_is_all_elements_is_refused_by_its_cost() {
    let kept = |count: usize| {
        let channel = Channel { sent: 1, ..Channel::default() };
        let channels = BTreeMap::from([(0, channel)]);
        let checkpoint = Checkpoint { number: 1, incarnation: 1, content: vec![], channels };
        let bytes = postcard::to_allocvec(&packet(Body::Answer { request: 1, checkpoint: Box::new(checkpoint) }));
        let mut bytes = bytes.expect("it has an encoding");
        // The last three numbers are those of the kept messages, and of the two that stand for others.
        bytes.truncate(bytes.len() - 3);
        bytes.extend(postcard::to_allocvec(&count).expect("it has an encoding"));
        bytes.extend([1, 0, 0].repeat(count));
        bytes.extend([0, 0]);
        bytes
    };
    let read = |plain: &[u8]| Differences::default().unpack(1, &[&[0], plain].concat()).map(|(packet, _)| packet);
    let Ok(Packet { body: Body::Answer { checkpoint, .. }, .. }) = read(&kept(1_000)) else { panic!("it is one") };
    assert_eq!(checkpoint.channels[&0].kept.len(), 1_000);
    let forged = kept(5_500_000);
    assert!(forged.len() < 16 << 20);
    assert_eq!(read(&forged), Err(Unreadable::Costly));
    let compressed = compressed(&forged, None);
    assert!(compressed.len() < 300_000, "{}", compressed.len());
    assert_eq!(Differences::default().unpack(1, &compressed), Err(Unreadable::Costly));
    let honest = postcard::to_allocvec(&answer(&vec![1; 15 << 20])).expect("it has an encoding");
    assert!(read(&honest).is_ok());
}

/// Each request has two answers read, and many that were not answered have eight; without one, none is.
#[test]
fn answers_are_read_as_often_as_was_asked() {
    let mut two = Two::default();
    let bytes = two.answer(&noise(60, 1));
    let whole = [vec![0], postcard::to_allocvec(&answer(&[1])).expect("it has an encoding")].concat();
    for answer in [&bytes, &whole] {
        assert_eq!(two.asking.admit(1, answer), Err(Unreadable::Unasked));
        two.ask();
        assert_eq!([(); 3].map(|()| two.asking.admit(1, answer).is_ok()), [true, true, false]);
        (0..9).for_each(|_| two.ask());
        assert_eq!((0..20).filter(|_| two.asking.admit(1, answer).is_ok()).count(), 8);
        assert_eq!(two.asking.admit(2, answer), Err(Unreadable::Unasked), "another node was not asked");
    }
    for body in [Body::Request { number: 1 }, Body::Message { sequence: 1, payload: vec![2; 9] }] {
        let bytes = two.answering.pack(0, &packet(body));
        assert!((0..9).all(|_| two.asking.admit(1, &bytes).is_ok()));
    }
}

/// A short packet that says that it is 16 MB long, with a piece of 32 KiB that is as long as it should be: there is room for what has arrived
/// out, and for one piece more.
#[test]
fn room_is_made_for_what_comes_out_and_not_for_what_is_said() {
    let piece = lz4_flex::block::compress(&[0; 32 << 10]);
    let lie = |length: u32| {
        let size = u16::try_from(piece.len()).expect("it is short");
        [&length.to_le_bytes()[..], &size.to_le_bytes(), &piece, &[1, 0, 0]].concat()
    };
    let mut plain = Vec::new();
    assert_eq!(expand(&lie(16 << 20), None, &mut plain), None);
    assert!((32 << 10..=64 << 10).contains(&plain.capacity()), "{}", plain.capacity());
    let mut plain = Vec::new();
    assert_eq!(expand(&lie((16 << 20) + 1), None, &mut plain), None);
    assert_eq!(plain.capacity(), 0);
}
