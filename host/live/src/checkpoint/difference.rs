//! The encoding of packets: checkpoints as differences where possible.
//!
//! A request names the last checkpoint of its destination that the requesting node still has, and the answer is compressed with it as
//! dictionary, if its sender still has it as well. Each side keeps two checkpoints per peer for that, and relies on no copy at the
//! other side: after a restart, a loss or a limit, the next answer is a whole one.
//!
//! The [`Manager`](crate::checkpoint::Manager) does not know of differences, so its decisions cannot depend on them. An undecodable
//! answer is a lost packet, and its receiver no longer waits for it: it waits only for the answer to its latest request, and keeps the
//! checkpoint that this one has named.

use std::collections::BTreeMap;
use std::sync::Arc;

use host_model::contract::NodeId;
use lz4_flex::block;

use crate::checkpoint::cost::{Cost, Shape};
use crate::checkpoint::packet::{Body, Checkpoint, Header, Packet};

/// The maximum length of a packet that is compressed.
const PACKET_MAX: usize = 16 << 20;
/// The maximum length of a checkpoint that is kept as a dictionary.
const BASE_MAX: usize = 1 << 20;
/// The maximum memory of a decoded packet, in bytes.
pub const COST_MAX: usize = 2 * PACKET_MAX;
/// Decoded answers per request: one, and its possible duplicate.
const ANSWERS_PER_REQUEST: u8 = 2;
/// The maximum number of decoded answers before the next request: answers to earlier requests may be late.
const ANSWERS_MAX: u8 = 8;
/// The maximum length of the bytes before the checkpoint in an answer.
const ANSWER_HEAD_MAX: usize = 128;
/// The numbers of [`Body::Message`] and [`Body::Answer`] on the wire.
const MESSAGE: u8 = 0;
const ANSWER: u8 = 2;
/// The length of a piece that is compressed at once: half of LZ4's window.
const PIECE: usize = 32 << 10;
/// The number of bytes before and behind a piece in its dictionary: together with the piece they fill LZ4's window.
const AROUND: usize = 16 << 10;

/// The first byte of a packet: the plain packet follows; its length and compressed pieces; a digest, and then the plain packet, or its
/// length and compressed pieces.
const PLAIN: u8 = 0;
const COMPRESSED: u8 = 1;
const NAMING: u8 = 2;
const DIFFERENCE: u8 = 3;

/// The identity of a checkpoint.
type Digest = [u8; 16];

/// The reason why a packet is not decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It is no packet.
    Damaged,
    /// It is a difference from an unknown checkpoint.
    NoBase,
    /// It is an answer without a request, or beyond [`ANSWERS_MAX`].
    Unasked,
    /// It would take more memory than [`COST_MAX`].
    Costly,
}

/// The information in a packet about checkpoints that can be dictionaries. It counts once the manager has accepted the packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Nothing.
    Nothing,
    /// Its sender has this checkpoint, or none that can be a dictionary.
    Has(Option<Digest>),
    /// It contains a checkpoint.
    Brings(Base),
}

/// A checkpoint as a dictionary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    digest: Digest,
    bytes: Vec<u8>,
}

impl Base {
    fn new(checkpoint: &Checkpoint) -> Self {
        let bytes =
            postcard::to_allocvec(checkpoint).expect("serde derives their encoding, and memory takes every byte");
        let mut digest = Digest::default();
        digest.copy_from_slice(&blake3::hash(&bytes).as_bytes()[..size_of::<Digest>()]);
        Self { digest, bytes }
    }
}

/// The checkpoints that a peer has, as far as known, and copies of some.
#[derive(Debug, Default)]
struct Peer {
    /// The last one received from it.
    latest: Option<Arc<Base>>,
    /// The one that the last request to it named.
    named: Option<Arc<Base>>,
    /// The last one sent to it.
    sent: Option<Arc<Base>>,
    /// The one that its last request named.
    confirmed: Option<Arc<Base>>,
    /// The number of its answers that may still be decoded.
    answers_left: u8,
}

/// The dictionaries of one node.
#[derive(Debug, Default)]
pub struct Differences(BTreeMap<NodeId, Peer>);

impl Differences {
    /// The header, the sequence number and the content of an encoded message of the protocol; none for any other packet.
    pub(crate) fn message(bytes: &[u8]) -> Option<(Header, u64, &[u8])> {
        let (&PLAIN, rest) = bytes.split_first()? else { return None };
        let (header, rest) = postcard::take_from_bytes::<Header>(rest).ok()?;
        let ((kind, sequence, payload), _) = postcard::take_from_bytes::<(u32, u64, &[u8])>(rest).ok()?;
        (kind == u32::from(MESSAGE)).then_some((header, sequence, payload))
    }

    /// Encodes a packet to a peer. An answer is compressed; messages are short, and frequent.
    pub fn pack(&mut self, to: NodeId, packet: &Packet) -> Vec<u8> {
        let mut start = vec![PLAIN];
        let peer = self.0.entry(to).or_default();
        if let Body::Request { .. } = packet.body {
            peer.named.clone_from(&peer.latest);
            peer.answers_left = ANSWERS_MAX.min(peer.answers_left + ANSWERS_PER_REQUEST);
            if let Some(base) = &peer.named {
                start = [&[NAMING], &base.digest[..]].concat();
            }
        }
        let whole =
            postcard::to_extend(packet, start).expect("serde derives their encoding, and memory takes every byte");
        if !matches!(packet.body, Body::Answer { .. }) || whole.len() > PACKET_MAX {
            return whole;
        }
        let compressed = compressed(&whole[1..], peer.confirmed.as_deref());
        if compressed.len() < whole.len() { compressed } else { whole }
    }

    /// Admits bytes of a peer for [decoding](Self::unpack): an answer takes far more time and memory than it cost its sender, so a node
    /// decodes only as many as it has requested.
    ///
    /// # Errors
    ///
    /// It is an [unrequested](Unreadable::Unasked) answer.
    pub fn admit(&mut self, from: NodeId, bytes: &[u8]) -> Result<(), Unreadable> {
        let is_answer = match bytes.split_first() {
            Some((&(COMPRESSED | DIFFERENCE), _)) => true,
            Some((&PLAIN, rest)) => {
                postcard::take_from_bytes::<Header>(rest).is_ok_and(|(_, body)| body.first() == Some(&ANSWER))
            }
            _ => false,
        };
        if !is_answer {
            return Ok(());
        }
        let left = self.0.get_mut(&from).map(|peer| &mut peer.answers_left).filter(|left| **left > 0);
        *left.ok_or(Unreadable::Unasked)? -= 1;
        Ok(())
    }

    /// Decodes a packet of a peer. Memory grows with the decoded content, and is at most [`COST_MAX`].
    ///
    /// # Errors
    ///
    /// The bytes are no packet that can be decoded.
    pub fn unpack(&self, from: NodeId, bytes: &[u8]) -> Result<(Packet, News), Unreadable> {
        let (kind, rest) = bytes.split_first().ok_or(Unreadable::Damaged)?;
        let (digest, rest) = match *kind {
            NAMING | DIFFERENCE => rest.split_first_chunk().map(|(digest, rest)| (Some(*digest), rest)),
            _ => Some((None, rest)),
        }
        .ok_or(Unreadable::Damaged)?;
        let mut expanded = Vec::new();
        let plain = match *kind {
            PLAIN | NAMING => rest,
            COMPRESSED | DIFFERENCE => {
                let base = digest.map(|digest| self.base_of(from, &digest).ok_or(Unreadable::NoBase)).transpose()?;
                expand(rest, base, &mut expanded).ok_or(Unreadable::Damaged)?;
                &expanded
            }
            _ => return Err(Unreadable::Damaged),
        };
        let Ok((Shape { body, .. }, [])) = postcard::take_from_bytes(plain) else { return Err(Unreadable::Damaged) };
        if body.cost() > COST_MAX {
            return Err(Unreadable::Costly);
        }
        let is_kept = plain.len() <= BASE_MAX + ANSWER_HEAD_MAX;
        let packet: Packet = postcard::from_bytes(plain).map_err(|_| Unreadable::Damaged)?;
        let news = match (*kind, &packet.body) {
            (PLAIN | NAMING, Body::Request { .. }) => News::Has(digest),
            (PLAIN | COMPRESSED | DIFFERENCE, Body::Answer { .. }) if !is_kept => News::Nothing,
            (PLAIN | COMPRESSED | DIFFERENCE, Body::Answer { checkpoint, .. }) => News::Brings(Base::new(checkpoint)),
            (PLAIN, _) => News::Nothing,
            _ => return Err(Unreadable::Damaged),
        };
        Ok((packet, news))
    }

    /// Learns the news of a packet that the manager has accepted.
    pub fn learn(&mut self, from: NodeId, news: News) {
        match news {
            News::Nothing => {}
            News::Has(digest) => {
                let peer = self.0.entry(from).or_default();
                let is_named = |base: &&Arc<Base>| Some(base.digest) == digest;
                let named = [&peer.sent, &peer.confirmed].into_iter().flatten().find(is_named).cloned();
                peer.confirmed = named;
            }
            News::Brings(base) => {
                if base.bytes.len() <= BASE_MAX {
                    self.0.entry(from).or_default().latest = Some(Arc::new(base));
                }
            }
        }
    }

    /// Notes that a checkpoint was sent to a peer, which may receive it.
    pub fn sent(&mut self, to: NodeId, checkpoint: &Checkpoint) {
        let base = Base::new(checkpoint);
        if base.bytes.len() <= BASE_MAX {
            self.0.entry(to).or_default().sent = Some(Arc::new(base));
        }
    }

    /// The checkpoint with this digest, if a peer may have used it as a dictionary.
    fn base_of(&self, from: NodeId, digest: &Digest) -> Option<&Base> {
        let peer = self.0.get(&from)?;
        [&peer.named, &peer.latest].into_iter().flatten().find(|base| base.digest == *digest).map(AsRef::as_ref)
    }
}

pub(super) fn compressed(plain: &[u8], base: Option<&Base>) -> Vec<u8> {
    let mut bytes = match base {
        Some(base) => [&[DIFFERENCE], &base.digest[..]].concat(),
        None => vec![COMPRESSED],
    };
    bytes.extend(u32::try_from(plain.len()).unwrap_or(u32::MAX).to_le_bytes());
    for (place, piece) in plain.chunks(PIECE).enumerate() {
        let start = place * PIECE;
        let compressed = block::compress_with_dict(piece, dictionary(base, &plain[..start]));
        bytes.extend(u16::try_from(compressed.len()).expect("no piece is so long").to_le_bytes());
        bytes.extend(compressed);
    }
    bytes
}

/// Decompresses the pieces. Memory is allocated for one piece at a time, after the last one had its full length: a claimed length alone
/// allocates nothing.
pub(super) fn expand(bytes: &[u8], base: Option<&Base>, plain: &mut Vec<u8>) -> Option<()> {
    let (length, mut rest) = bytes.split_first_chunk()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok().filter(|length| *length <= PACKET_MAX)?;
    while plain.len() < length {
        let (size, more) = rest.split_first_chunk()?;
        let (piece, more) = more.split_at_checked(u16::from_le_bytes(*size).into())?;
        let start = plain.len();
        plain.resize(length.min(start + PIECE), 0);
        let (past, room) = plain.split_at_mut(start);
        let written = block::decompress_into_with_dict(piece, room, dictionary(base, past)).ok()?;
        if written < room.len() {
            return None;
        }
        rest = more;
    }
    rest.is_empty().then_some(())
}

/// The dictionary of the piece behind this past: its surroundings in the base, or without a base the end of the past.
fn dictionary<'b>(base: Option<&'b Base>, past: &'b [u8]) -> &'b [u8] {
    let start = past.len();
    let Some(Base { bytes, .. }) = base else { return &past[start.saturating_sub(PIECE + 2 * AROUND)..] };
    let end = bytes.len().min(start + PIECE + AROUND);
    &bytes[start.saturating_sub(AROUND).min(end)..end]
}
