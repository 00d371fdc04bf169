//! The format of a node's file: its owner, then records. Only the last record is valid.
//!
//! Each record has a head (its length, a check of that, and a hash of the content) and ends with a mark that is not zero. A record is
//! *torn* if the file ends before the record does, or has only zeros from some byte on, as an unwritten block has: it was never
//! acknowledged. Any other malformed record is *damaged*: it was once complete, since it has its mark, or it was overwritten.

use std::collections::BTreeMap;

use host_model::scenario::Network;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::checkpoint::Durable;
use crate::node::{Disks, Identity, Record};

/// The length of the longest record, in bytes.
pub const RECORD_MAX: usize = 64 << 20;
/// The length of a record's head: the length of the content, a check of that, and a hash of the content.
const HEAD: usize = 4 + 4 + 8;
/// The mark at the end of a record.
const END: [u8; 8] = *b"\xffHLEND\n\xff";
/// The first bytes of a file.
const MAGIC: [u8; 8] = *b"HLDISK\0\x02";
/// The first bytes of a file of an earlier version. Its records have a length and a hash, and it names no owner.
const MAGIC_1: [u8; 8] = *b"HLDISK\0\x01";
const HEAD_1: usize = 4 + 8;

/// The owner of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The number of the node.
    pub node: u32,
    /// The name of its component.
    pub plugin: String,
    /// The digest of its component.
    pub digest: String,
    /// The size of its cluster.
    pub nodes: u32,
    /// The parameters of its cluster.
    pub config: String,
    /// The network between its nodes.
    pub network: String,
    /// The name of its cluster; empty if it has none.
    pub name: String,
}

/// An owner as written before clusters had names.
#[derive(Deserialize)]
struct Nameless {
    node: u32,
    plugin: String,
    digest: String,
    nodes: u32,
    config: String,
    network: String,
}

impl From<Nameless> for Owner {
    fn from(Nameless { node, plugin, digest, nodes, config, network }: Nameless) -> Self {
        Self { node, plugin, digest, nodes, config, network, name: String::new() }
    }
}

/// A record as written before it had the starts of peers.
#[derive(Deserialize)]
struct Alone {
    numbers: Durable,
    protocol: Option<Vec<u8>>,
}

impl From<Alone> for Record {
    fn from(Alone { numbers, protocol }: Alone) -> Self {
        Self { numbers, protocol, peers: BTreeMap::new(), disks: Disks::default() }
    }
}

/// A record as written before disks had identities.
#[derive(Deserialize)]
struct Unnamed {
    numbers: Durable,
    protocol: Option<Vec<u8>>,
    peers: BTreeMap<u32, u64>,
}

impl From<Unnamed> for Record {
    fn from(Unnamed { numbers, protocol, peers }: Unnamed) -> Self {
        Self { numbers, protocol, peers, disks: Disks::default() }
    }
}

/// Decodes a value, or its former version without the fields added at its end, if the encoding ends too early.
fn decoded<T: DeserializeOwned + From<Before>, Before: DeserializeOwned>(body: &[u8]) -> Option<T> {
    postcard::from_bytes(body).ok().or_else(|| postcard::from_bytes::<Before>(body).ok().map(T::from))
}

/// Decodes a record of this version or a former one.
fn record(body: &[u8]) -> Option<Record> {
    decoded::<Record, Unnamed>(body).or_else(|| decoded::<Record, Alone>(body))
}

impl Owner {
    /// The owner for a node on a network, with a component of this name and digest.
    pub fn new(identity: &Identity, network: Network, component: &(String, String)) -> Self {
        let Identity { node, nodes, config, name, .. } = identity.clone();
        let (plugin, digest) = component.clone();
        Self { node, plugin, digest, nodes, config, network: network.to_string(), name }
    }
}

/// The content of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Content {
    /// The owner; none in a file of an earlier version.
    pub owner: Option<Owner>,
    /// The last record.
    pub last: Option<Record>,
    /// The offset of its end.
    pub end: usize,
}

/// The reason why the bytes are not a file of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// They are from another program.
    Foreign,
    /// A record is damaged; its offset.
    Damaged(usize),
}

/// The first bytes of a file, with its owner.
pub fn beginning(owner: &Owner) -> Vec<u8> {
    let owner = postcard::to_allocvec(owner).expect("serde derives their encoding, and memory takes every byte");
    [&MAGIC[..], &framed(&owner)].concat()
}

/// Encodes a record for a file.
pub fn encoded(record: &Record) -> Vec<u8> {
    framed(&postcard::to_allocvec(record).expect("serde derives their encoding, and memory takes every byte"))
}

/// The length of the content of a record of this many bytes.
pub fn kept(encoded: usize) -> usize {
    encoded - HEAD - END.len()
}

fn framed(body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes();
    [&length[..], &hash::<4>(&length), &hash::<8>(body), body, &END].concat()
}

fn hash<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut short = [0; N];
    short.copy_from_slice(&blake3::hash(bytes).as_bytes()[..N]);
    short
}

/// Reads the bytes of a file.
pub fn read(bytes: &[u8]) -> Result<Content, Wrong> {
    if bytes.starts_with(&MAGIC_1) {
        return read_1(bytes);
    }
    if !bytes.starts_with(&MAGIC) {
        // An empty file, or one whose first bytes were never written.
        let is_cut = MAGIC.starts_with(bytes) || bytes.iter().all(|byte| *byte == 0);
        return Err(if is_cut { Wrong::Damaged(0) } else { Wrong::Foreign });
    }
    // A file is created together with its owner.
    let Next::Whole(owner, mut end) = next(&bytes[MAGIC.len()..]) else { return Err(Wrong::Damaged(MAGIC.len())) };
    let owner = decoded::<Owner, Nameless>(owner).ok_or(Wrong::Damaged(MAGIC.len()))?;
    end += MAGIC.len();
    let mut last = None;
    loop {
        match next(&bytes[end..]) {
            Next::Whole(body, length) => {
                last = Some(record(body).ok_or(Wrong::Damaged(end))?);
                end += length;
            }
            Next::Torn => return Ok(Content { owner: Some(owner), last, end }),
            Next::Damaged => return Err(Wrong::Damaged(end)),
        }
    }
}

/// The content at an offset of a file.
enum Next<'b> {
    /// The content of a complete record, and the length of the record.
    Whole(&'b [u8], usize),
    /// The end, or a record that was not acknowledged.
    Torn,
    /// A damaged record.
    Damaged,
}

fn next(rest: &[u8]) -> Next<'_> {
    let is_zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    let Some((head, behind)) = rest.split_at_checked(HEAD) else { return Next::Torn };
    let (length, check) = head[..8].split_at(4);
    if hash::<4>(length) != check {
        return if is_zero(behind) { Next::Torn } else { Next::Damaged };
    }
    let length = u32::from_le_bytes(length.try_into().expect("a slice of four bytes fits four bytes")) as usize;
    if length > RECORD_MAX {
        return Next::Damaged;
    }
    let Some((body, behind)) = behind.split_at_checked(length) else { return Next::Torn };
    let Some((end, behind)) = behind.split_at_checked(END.len()) else { return Next::Torn };
    match hash::<8>(body) == head[8..] && end == END {
        true => Next::Whole(body, HEAD + length + END.len()),
        // The last byte of the mark is not zero, so a zero there was never written.
        false if is_zero(&end[END.len() - 1..]) && is_zero(behind) => Next::Torn,
        false => Next::Damaged,
    }
}

/// Reads a file of an earlier version, in which torn and damaged records look alike: it is accepted if it ends with a complete record.
fn read_1(bytes: &[u8]) -> Result<Content, Wrong> {
    let (mut last, mut end) = (None, MAGIC_1.len());
    while end < bytes.len() {
        let damaged = Wrong::Damaged(end);
        let (head, behind) = bytes[end..].split_at_checked(HEAD_1).ok_or(damaged)?;
        let length = u32::from_le_bytes(head[..4].try_into().expect("a slice of four bytes fits four bytes")) as usize;
        let body = behind.get(..length).filter(|body| hash::<8>(body) == head[4..]).ok_or(damaged)?;
        last = Some(record(body).ok_or(damaged)?);
        end += HEAD_1 + length;
    }
    Ok(Content { owner: None, last, end })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::DiskId;

    /// A file of an earlier version with these records.
    fn of_version_1(records: &[Record]) -> Vec<u8> {
        let framed = records.iter().flat_map(|record| {
            let body =
                postcard::to_allocvec(record).expect("serde derives their encoding, and memory takes every byte");
            let length = u32::try_from(body.len()).expect("it is short").to_le_bytes();
            [&length[..], &hash::<8>(&body), &body].concat()
        });
        MAGIC_1.into_iter().chain(framed).collect()
    }

    fn record(number: u8) -> Record {
        let numbers = Durable { incarnation: 1, reserved: 1 };
        let id = |rejoins, drawn| DiskId { rejoins, drawn };
        let disks = Disks { own: id(0, u64::MAX), peers: BTreeMap::from([(1, id(1, 7)), (2, id(0, 300))]) };
        Record { numbers, protocol: Some(vec![number; 20]), peers: BTreeMap::from([(1, 300), (2, 1)]), disks }
    }

    fn owner() -> Owner {
        let [plugin, digest, config, network] = ["store", "ab", "kept=1", "ordered"].map(str::to_owned);
        Owner { node: 0, plugin, digest, nodes: 3, config, network, name: "east".to_owned() }
    }

    /// Each bit of a file changed: an error in each case, in the last record as in those before.
    #[test]
    fn no_changed_bit_is_taken_for_a_torn_record() {
        let whole = [beginning(&owner()), encoded(&record(1)), encoded(&record(0))].concat();
        let content = read(&whole).expect("it is one");
        assert_eq!((content.owner, content.last, content.end), (Some(owner()), Some(record(0)), whole.len()));
        for place in 0..whole.len() * 8 {
            let mut changed = whole.clone();
            changed[place / 8] ^= 1 << (place % 8);
            assert!(read(&changed).is_err(), "{place}");
        }
    }

    /// A file cut anywhere in the last record, with and without zeros after the cut, has a torn record. A file cut within its owner is
    /// damaged, since no file is written so.
    #[test]
    fn what_was_not_written_is_torn() {
        let start = beginning(&owner()).len();
        let before = start + encoded(&record(1)).len();
        let whole = [beginning(&owner()), encoded(&record(1)), encoded(&record(2))].concat();
        for end in 0..whole.len() {
            let zeros = |count: usize| [&whole[..end], &vec![0; count]].concat();
            for torn in [zeros(0), zeros(whole.len() - end), zeros(4_096)] {
                match read(&torn) {
                    Ok(content) if end >= before => assert_eq!((content.last, content.end), (Some(record(1)), before)),
                    Ok(content) => assert_eq!((content.last, content.end, end >= start), (None, start, true), "{end}"),
                    Err(_) => assert!(end < start, "{end}"),
                }
            }
        }
    }

    /// Files without a cluster name, and records without the starts of peers or without disks, are read as such.
    #[test]
    fn files_of_former_versions_of_the_records_are_read() {
        let Owner { node, plugin, digest, nodes, config, network, .. } = owner();
        let nameless = (node, &plugin, &digest, nodes, &config, &network);
        let alone = (Durable { incarnation: 3, reserved: 9 }, Some(vec![7_u8; 20]));
        let framed = |value: Vec<u8>| framed(&value);
        let whole = [
            MAGIC.to_vec(),
            framed(postcard::to_allocvec(&nameless).expect("it has an encoding")),
            framed(postcard::to_allocvec(&alone).expect("it has an encoding")),
        ];
        let content = read(&whole.concat()).expect("it is one");
        assert_eq!(content.owner, Some(Owner { name: String::new(), ..owner() }));
        let before = Record { numbers: alone.0, protocol: alone.1, peers: BTreeMap::new(), disks: Disks::default() };
        assert_eq!(content.last, Some(before.clone()));
        for peers in
            [BTreeMap::new(), BTreeMap::from([(0_u32, 1_u64)]), BTreeMap::from([(1, 300), (2, 1), (7, u64::MAX)])]
        {
            let unnamed = (&before.numbers, &before.protocol, &peers);
            let body = postcard::to_allocvec(&unnamed).expect("it has an encoding");
            let content = read(&[beginning(&owner()), framed(body)].concat()).expect("it is one");
            assert_eq!(content.last, Some(Record { peers, ..before.clone() }));
        }
    }

    #[test]
    fn a_file_of_an_earlier_version_is_taken_if_it_is_whole() {
        let whole = of_version_1(&[record(1), record(2)]);
        assert_eq!(read(&whole), Ok(Content { owner: None, last: Some(record(2)), end: whole.len() }));
        assert_eq!(read(&of_version_1(&[])), Ok(Content { owner: None, last: None, end: 8 }));
        let second = of_version_1(&[record(1)]).len();
        for end in second + 1..whole.len() {
            assert_eq!(read(&whole[..end]), Err(Wrong::Damaged(second)));
        }
        assert_eq!([read(b""), read(&[0; 9])], [Err(Wrong::Damaged(0)), Err(Wrong::Damaged(0))]);
        assert_eq!(read(b"a text of another program"), Err(Wrong::Foreign));
    }
}
