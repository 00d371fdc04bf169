//! Packets on a wire.
//!
//! A frame is a head (magic, version, cluster, sender, destination, session, length, the disks of both ends), a packet in postcard (the
//! number of the checkpoint, incarnations, sequence, content), and a hash of both. So it can travel alone or in a stream. A packet with a
//! checkpoint is compressed, as a difference from one that its destination has, see [`Differences`](crate::checkpoint::Differences).

use host_model::contract::NodeId;

use crate::checkpoint::{Body, Differences, Header, Packet};
use crate::node::disks::{DiskId, Ends};
use crate::node::refusal::Refusal;
use crate::node::settings::Identity;

/// The version of the format.
pub const VERSION: u16 = 7;

/// Bytes of the longest frame: checkpoints are in frames as well.
pub const FRAME_MAX: usize = 16 << 20;

const MAGIC: [u8; 4] = *b"HLIV";
const LENGTH_AT: usize = 4 + 2 + 16 + 4 + 4 + 8;
const DISKS_AT: usize = LENGTH_AT + 4;
/// Bytes of the head of a frame: magic, version, cluster, sender, destination, session, length, and the disks of both ends.
pub const HEAD: usize = DISKS_AT + 2 * DiskId::LENGTH;
const HASH: usize = 8;

/// A decoded frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame<'b> {
    pub(super) from: NodeId,
    pub(super) session: u64,
    pub(super) ends: Ends,
    /// The encoded packet.
    pub(super) body: &'b [u8],
}

/// The information in the head of a frame, before the rest arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    /// Bytes of the whole frame.
    pub length: usize,
    /// The sender that it names, or the reason why the rest of the frame must be discarded.
    pub from: Result<NodeId, Refusal>,
}

/// Judges the head of a frame to this node.
///
/// # Errors
///
/// It is no head of a frame, so the start of the next frame is unknown.
pub fn announced(identity: &Identity, head: &[u8; HEAD]) -> Result<Announced, Refusal> {
    let length = length(head)?.expect("a head says how long its frame is");
    Ok(Announced { length, from: addressed(identity, head) })
}

/// The sender of a complete frame to this node.
///
/// # Errors
///
/// The bytes are no frame to this node.
pub fn sender(identity: &Identity, bytes: &[u8]) -> Result<NodeId, Refusal> {
    decode(identity, bytes).map(|frame| frame.from)
}

/// Encodes a packet of this node to another one as a frame.
pub(super) fn encode(identity: &Identity, to: NodeId, ends: Ends, body: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEAD + body.len() + HASH);
    frame.extend(MAGIC);
    frame.extend(VERSION.to_le_bytes());
    frame.extend(identity.cluster);
    frame.extend(identity.node.to_le_bytes());
    frame.extend(to.to_le_bytes());
    frame.extend(identity.session.to_le_bytes());
    frame.extend(u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
    frame.extend(ends.sender.to_bytes());
    frame.extend(ends.destination.to_bytes());
    frame.extend(body);
    let hash = hash(&frame);
    frame.extend(hash);
    frame
}

/// The sender that a frame names, and its encoded packet. The bytes must be a valid frame.
pub(crate) fn opened(frame: &[u8]) -> Option<(NodeId, &[u8])> {
    sender_of(frame).zip(frame.get(HEAD..frame.len().saturating_sub(HASH)))
}

/// A frame with a message as one for any start of its destination; none of any other frame.
pub(crate) fn for_any_start(frame: &[u8]) -> Option<Vec<u8>> {
    let (_, body) = opened(frame)?;
    let (header, sequence, payload) = Differences::message(body)?;
    let body = Body::Message { sequence, payload: payload.to_vec() };
    let packet = Packet { header: Header { addressee: 0, ..header }, body };
    // The destination does not matter to a message.
    let body = Differences::default().pack(0, &packet);
    let mut again = frame[..LENGTH_AT].to_vec();
    again.extend(u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
    again.extend(&frame[DISKS_AT..HEAD]);
    again.extend(body);
    again.extend(hash(&again));
    Some(again)
}

/// Decodes a frame to this node.
pub(super) fn decode<'b>(identity: &Identity, bytes: &'b [u8]) -> Result<Frame<'b>, Refusal> {
    if length(bytes)? != Some(bytes.len()) {
        return Err(Refusal::Length);
    }
    let (content, tail) = bytes.split_at(bytes.len() - HASH);
    if hash(content) != tail {
        return Err(Refusal::Damaged);
    }
    let from = addressed(identity, content)?;
    let session = u64::from_le_bytes(content[30..38].try_into().expect("a slice of eight bytes fits eight bytes"));
    let (head, body) = content.split_at(HEAD);
    let (sender, destination) = head[DISKS_AT..].split_at(DiskId::LENGTH);
    let ends = Ends { sender: DiskId::from_bytes(sender), destination: DiskId::from_bytes(destination) };
    Ok(Frame { from, session, ends, body })
}

/// The sender that a head names, if that is a node of the cluster and the frame is for this node.
fn addressed(identity: &Identity, head: &[u8]) -> Result<NodeId, Refusal> {
    if head[6..22] != identity.cluster {
        return Err(Refusal::Cluster);
    }
    let word =
        |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("a slice of four bytes fits four bytes"));
    let (from, to) = (word(22), word(26));
    if to != identity.node {
        return Err(Refusal::Addressee(to));
    }
    if from >= identity.nodes {
        return Err(Refusal::Sender(from));
    }
    Ok(from)
}

/// The sender that a frame names, unchecked; none if the frame is too short to name one.
pub fn sender_of(frame: &[u8]) -> Option<NodeId> {
    frame.get(22..26).map(|word| u32::from_le_bytes(word.try_into().expect("a slice of four bytes fits four bytes")))
}

/// The length of the frame that begins with these bytes; none if they are too few.
fn length(bytes: &[u8]) -> Result<Option<usize>, Refusal> {
    let start = bytes.len().min(MAGIC.len());
    if bytes[..start] != MAGIC[..start] {
        return Err(Refusal::Magic);
    }
    let Some(version) = bytes.get(4..6) else { return Ok(None) };
    let version = u16::from_le_bytes([version[0], version[1]]);
    if version != VERSION {
        return Err(Refusal::Version(version));
    }
    let Some(length) = bytes.get(LENGTH_AT..DISKS_AT) else { return Ok(None) };
    let body = u32::from_le_bytes(length.try_into().expect("a slice of four bytes fits four bytes")) as usize;
    match HEAD.saturating_add(body).saturating_add(HASH) {
        length if length > FRAME_MAX => Err(Refusal::TooLong),
        length => Ok(Some(length)),
    }
}

fn hash(bytes: &[u8]) -> [u8; HASH] {
    let mut short = [0; HASH];
    short.copy_from_slice(&blake3::hash(bytes).as_bytes()[..HASH]);
    short
}
