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

/// Incompressible bytes.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut dice = Dice(seed);
    (0..length).map(|_| dice.below(256) as u8).collect()
}

/// A node that requests checkpoints, and one that answers.
#[derive(Default)]
struct Two {
    asking: Differences,
    answering: Differences,
}

impl Two {
    /// Node 0 sends a request.
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

    /// Delivers the answer.
    fn take(&mut self, bytes: &[u8]) -> Result<Packet, Unreadable> {
        let (packet, news) = self.asking.unpack(1, bytes)?;
        self.asking.learn(1, news);
        Ok(packet)
    }

    /// Sends a request and delivers the answer. Returns the length of the answer, in bytes.
    fn exchange(&mut self, content: &[u8]) -> usize {
        self.ask();
        let bytes = self.answer(content);
        assert_eq!(self.take(&bytes), Ok(answer(content)));
        bytes.len()
    }
}

/// Random schedules with losses, duplicates, reordering and resets: each packet decodes to the one sent, and an answer that cannot be
/// decoded is one that no node waits for. So snapshots are the same as with whole checkpoints.
#[test]
fn differences_decode_to_the_checkpoints_sent() {
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

/// Content in the dictionary takes no bytes, however long it is and wherever it has moved; the figures leave room for the lengths of
/// pieces, the digest, and the surroundings of changes.
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
    // A checkpoint too long to be a dictionary is compressed by itself, and so is the next one.
    let mut two = Two::default();
    let long = noise(1 << 20, 1);
    assert!(two.exchange(&long) > 1 << 20 && two.exchange(&long) > 1 << 20);
    // Repetitions are short even without a dictionary.
    assert!(Two::default().exchange(&noise(200, 1).repeat(1_000)) < 3_000);
}

/// A node that has restarted receives a whole checkpoint, and differences from then on. After any loss, the next answer can be decoded.
#[test]
fn a_restarted_node_receives_a_whole_checkpoint() {
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

/// Two requests name one checkpoint, and both answers are differences from it. The second answer can be decoded after the first one has
/// arrived; an answer to an earlier request may be unreadable, and is refused.
#[test]
fn the_checkpoint_named_in_the_latest_request_is_kept() {
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

/// A difference with every bit changed, and cut at every length.
#[test]
fn damaged_differences_are_refused_or_another_packet() {
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
        // The digest names an unknown checkpoint.
        if (8..17 * 8).contains(&place) {
            assert_eq!(two.asking.unpack(1, &lie), Err(Unreadable::NoBase));
        }
    }
    assert!(refused > bytes.len() * 4, "{refused}");
    for end in 0..bytes.len() {
        assert!(two.asking.unpack(1, &bytes[..end]).is_err(), "{end}");
    }
    assert!(two.asking.unpack(1, &[&bytes[..], &[0]].concat()).is_err());
    // Node 2 has sent no checkpoint that could be a dictionary.
    assert_eq!(two.asking.unpack(2, &bytes), Err(Unreadable::NoBase));
    // Only requests name a checkpoint.
    let message = packet(Body::Message { sequence: 1, payload: vec![] });
    let naming = [vec![2; 17], postcard::to_allocvec(&message).expect("it has an encoding")].concat();
    assert_eq!(two.asking.unpack(1, &naming), Err(Unreadable::Damaged));
    // A request that names an unknown checkpoint is answered with a whole one.
    let request = [vec![2; 17], postcard::to_allocvec(&packet(Body::Request { number: 1 })).expect("as well")].concat();
    let (_, news) = two.answering.unpack(0, &request).expect("it is a request");
    assert_eq!(news, News::Has(Some([2; 16])));
    two.answering.learn(0, news);
    assert_eq!(two.answer(&[3; 40])[0], 1);
}

/// An answer of 16 MiB that consists of five million empty messages, compressed to some ten thousand bytes. Each message would take more
/// than a hundred bytes in memory. It is refused for its cost, and an answer with as many bytes of content is decoded.
#[test]
fn an_answer_of_many_elements_is_refused_for_its_cost() {
    let kept = |count: usize| {
        let channel = Channel { sent: 1, ..Channel::default() };
        let channels = BTreeMap::from([(0, channel)]);
        let checkpoint = Checkpoint { number: 1, incarnation: 1, content: vec![], channels };
        let bytes = postcard::to_allocvec(&packet(Body::Answer { request: 1, checkpoint: Box::new(checkpoint) }));
        let mut bytes = bytes.expect("it has an encoding");
        // The last four bytes are the length of `kept`, `forgotten`, `unaddressed` and `is_open`.
        bytes.truncate(bytes.len() - 4);
        bytes.extend(postcard::to_allocvec(&count).expect("it has an encoding"));
        bytes.extend([1, 0, 0].repeat(count));
        bytes.extend([0, 0, 0]);
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

/// A node decodes two answers per request, and at most eight after many unanswered requests; without a request, none.
#[test]
fn decoded_answers_are_bounded_by_requests() {
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

/// A short packet that claims to be 16 MB long, with one valid piece of 32 KiB: memory is allocated for the expanded pieces, and for one
/// more.
#[test]
fn memory_is_allocated_for_expanded_bytes_and_not_for_claims() {
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
