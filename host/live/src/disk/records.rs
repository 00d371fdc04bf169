//! The bytes of a file of a node: its owner, and records, the last of which counts.
//!
//! Each record has a head (its length, a check of that, and a hash of what follows) and ends with a mark that is not zero. A record is *torn*
//! if the file ends before the record does, or has nothing but zeros from some byte on, as a block that was never written has: it was not
//! acknowledged. All else that is no record is *damaged*: it was there completely, since its mark is, or something else stands in its place.

use std::collections::BTreeMap;

use host_model::scenario::Network;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::checkpoint::Durable;
use crate::mutant::{Mutant, is_present};
use crate::node::{Disks, Identity, Record};

/// Bytes of the longest record.
pub const RECORD_MAX: usize = 64 << 20;
/// Length, a check of it, and a hash of what follows.
const HEAD: usize = 4 + 4 + 8;
/// What a record ends with.
const END: [u8; 8] = *b"\xffHLEND\n\xff";
/// What a file begins with.
const MAGIC: [u8; 8] = *b"HLDISK\0\x02";
/// What a file of an earlier version begins with. Its records have a length and a hash, and no owner is named.
const MAGIC_1: [u8; 8] = *b"HLDISK\0\x01";
const HEAD_1: usize = 4 + 8;

/// Whose file it is.
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
    /// The name of its cluster; empty if that has none.
    pub name: String,
}

/// The same as written before clusters had names.
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

/// A value as it is written now, or as it was before something was added at its end, where the encoding ends too early.
fn decoded<T: DeserializeOwned + From<Before>, Before: DeserializeOwned>(body: &[u8]) -> Option<T> {
    postcard::from_bytes(body).ok().or_else(|| postcard::from_bytes::<Before>(body).ok().map(T::from))
}

/// A record of this version or of one before.
fn record(body: &[u8]) -> Option<Record> {
    decoded::<Record, Unnamed>(body).or_else(|| decoded::<Record, Alone>(body))
}

impl Owner {
    /// A node over a network, of a component of this name and digest.
    pub fn new(identity: &Identity, network: Network, component: &(String, String)) -> Self {
        let Identity { node, nodes, config, name, .. } = identity.clone();
        let (plugin, digest) = component.clone();
        Self { node, plugin, digest, nodes, config, network: network.to_string(), name }
    }
}

/// What is in a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Content {
    /// Whose it is; none in a file of an earlier version.
    pub owner: Option<Owner>,
    /// The last record.
    pub last: Option<Record>,
    /// Where that ends.
    pub end: usize,
}

/// Why the bytes are no file of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Something else is in it.
    Foreign,
    /// Something is not there any more that was; where.
    Damaged(usize),
}

/// The beginning of a file.
pub fn beginning(owner: &Owner) -> Vec<u8> {
    let owner = postcard::to_allocvec(owner).expect("owners have an encoding");
    [&MAGIC[..], &framed(&owner)].concat()
}

/// A record as it stands in a file.
pub fn encoded(record: &Record) -> Vec<u8> {
    framed(&postcard::to_allocvec(record).expect("records have an encoding"))
}

/// Bytes of what a node keeps in a record of this many bytes.
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

/// What is in a file with these bytes.
pub fn read(bytes: &[u8]) -> Result<Content, Wrong> {
    if bytes.starts_with(&MAGIC_1) {
        return read_1(bytes);
    }
    if !bytes.starts_with(&MAGIC) {
        // An empty file, or one whose beginning is not there.
        let is_cut = MAGIC.starts_with(bytes) || bytes.iter().all(|byte| *byte == 0);
        return Err(if is_cut { Wrong::Damaged(0) } else { Wrong::Foreign });
    }
    // A file is there with its owner, or not at all.
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

/// What a place in a file begins with.
enum Next<'b> {
    /// A record, and its length with all that is around it.
    Whole(&'b [u8], usize),
    /// Nothing, or what was not acknowledged.
    Torn,
    /// What is not what it was.
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
    match is_present(Mutant::TakesTorn) || (hash::<8>(body) == head[8..] && end == END) {
        true => Next::Whole(body, HEAD + length + END.len()),
        // Whatever a block brought in time: the last byte of the mark is not zero.
        false if is_present(Mutant::TornIsDamaged) => Next::Damaged,
        false if is_zero(&end[END.len() - 1..]) && is_zero(behind) => Next::Torn,
        false => Next::Damaged,
    }
}

/// A file of an earlier version, in which what is torn cannot be told from what is damaged: it is taken if it ends with a whole record.
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
            let body = postcard::to_allocvec(record).expect("records have an encoding");
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

    /// Every bit of a file changed: an error in each case, in the last record as in all before it.
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

    /// Cut anywhere in the last record, and with zeros behind: what was not written is torn. A file that ends before its owner does is
    /// damaged, since it never was so.
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

    /// Files whose owner has no name, and whose records no starts of peers or no disks, are read as such.
    #[test]
    fn what_was_written_before_something_was_added_is_read() {
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
