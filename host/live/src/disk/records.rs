//! The format of a node's file: its owner, then records. The last one is valid.
//!
//! A record is whole, or a *change*: the state of the protocol is then given by edits of that in the record before, and its durable map by
//! the entries that differ. A change names the record before by its hash, so that it counts behind no other one.
//!
//! Each record has a head (its length, a check of that, and a hash of the content) and ends with a mark that is not zero and says which
//! of the two it is. A record is
//! *torn* if the file ends before the record does, or has only zeros from some byte on, as an unwritten block has: it was never
//! acknowledged. Any other malformed record is *damaged*: it was once complete, since it has its mark, or it was overwritten.

use std::collections::BTreeMap;

use host_model::contract::DurableMap;
use host_model::scenario::Network;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::checkpoint::Durable;
use crate::disk::changes::{self, Change, Changes, Hash};
use crate::node::{Disks, Identity, Record};

/// The most bytes of a protocol's state in a record, with the host's own data, without its map.
pub const PROTOCOL_MAX: usize = 64 << 20;
/// The most bytes of the keys and values of a map in a record, and the most entries.
pub const MAP_MAX: usize = 64 << 20;
/// See [`MAP_MAX`].
pub const ENTRIES_MAX: usize = 1 << 20;
/// The length of the longest record, in bytes: each entry has two lengths of four bytes.
pub const RECORD_MAX: usize = PROTOCOL_MAX + MAP_MAX + 8 * ENTRIES_MAX;
/// The length from which a file is replaced, in bytes, and from how many times the length of its record.
pub(super) const FILE_MAX: u64 = 1 << 20;
pub(super) const GROWTH: u64 = 4;
/// The length of the longest file in bytes: no record is longer than one that is whole.
pub const FILE_LONGEST: u64 = GROWTH * (RECORD_MAX as u64 + FILE_MAX);
/// The length of a record's head: the length of the content, a check of that, and a hash of the content.
const HEAD: usize = 4 + 4 + HASH;
/// The length of the hash in it.
const HASH: usize = size_of::<Hash>();
/// The mark at the end of the owner and of a whole record.
const END: [u8; 8] = *b"\xffHLEND\n\xff";
/// The mark at the end of a change.
const END_OF_CHANGE: [u8; 8] = *b"\xffHLDIF\n\xff";
/// The first bytes of a file.
const MAGIC: [u8; 8] = *b"HLDISK\0\x04";
/// The first bytes of a file of the version before: its changes have no map.
const MAGIC_3: [u8; 8] = *b"HLDISK\0\x03";
/// The first bytes of a file of the second version: it has no changes.
const MAGIC_2: [u8; 8] = *b"HLDISK\0\x02";
/// The first bytes of a file of the first version. Its records have a length and a hash, and it names no owner.
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
        let (peers, disks, map) = Default::default();
        Self { numbers, protocol, peers, disks, map }
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
        Self { numbers, protocol, peers, disks: Disks::default(), map: DurableMap::default() }
    }
}

/// A record as written before protocols had maps.
#[derive(Deserialize)]
struct Mapless {
    numbers: Durable,
    protocol: Option<Vec<u8>>,
    peers: BTreeMap<u32, u64>,
    disks: Disks,
}

impl From<Mapless> for Record {
    fn from(Mapless { numbers, protocol, peers, disks }: Mapless) -> Self {
        Self { numbers, protocol, peers, disks, map: DurableMap::default() }
    }
}

/// Decodes a value, or its former version without the fields added at its end, if the encoding ends too early.
fn decoded<T: DeserializeOwned + From<Before>, Before: DeserializeOwned>(body: &[u8]) -> Option<T> {
    postcard::from_bytes(body).ok().or_else(|| postcard::from_bytes::<Before>(body).ok().map(T::from))
}

/// Decodes a record of this version or a former one.
fn record(body: &[u8]) -> Option<Record> {
    let unnamed = || decoded::<Record, Unnamed>(body).or_else(|| decoded::<Record, Alone>(body));
    decoded::<Record, Mapless>(body).or_else(unnamed)
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
    /// The owner; none in a file of the first version.
    pub owner: Option<Owner>,
    /// Whether the file is of this version.
    pub is_current: bool,
    /// The last record.
    pub last: Option<Record>,
    /// Its hash; that of nothing in a file of the first version.
    pub(super) hash: Hash,
    /// Bytes that the changes behind the last whole record move.
    pub(super) moved: u64,
    /// The offset of the end of the last record.
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
    [&MAGIC[..], &framed(&bytes_of(owner), END)].concat()
}

/// Encodes a record for a file, whole.
pub fn encoded(record: &Record) -> Vec<u8> {
    framed(&bytes_of(record), END)
}

/// Encodes a record as a change of the one with this hash.
pub(super) fn encoded_change(record: &Record, behind: Hash, changes: &Changes<'_>) -> Vec<u8> {
    framed(&bytes_of(&Change::new(record, behind, changes)), END_OF_CHANGE)
}

pub(crate) fn bytes_of(value: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(value).expect("serde derives their encoding, and memory takes every byte")
}

/// The length of the content of a whole record.
pub(super) fn length(record: &Record) -> usize {
    let Record { numbers, protocol, peers, disks, map } = record;
    let rest = bytes_of(&(numbers, peers, disks)).len();
    let with_length = |bytes: usize| bytes_of(&bytes).len() + bytes;
    rest + 1 + protocol.as_ref().map_or(0, |state| with_length(state.len())) + with_length(map.bytes_len())
}

/// The hash in the head of an encoded record.
pub(super) fn hash_of(encoded: &[u8]) -> Hash {
    let mut hash = Hash::default();
    hash.copy_from_slice(&encoded[HEAD - HASH..HEAD]);
    hash
}

fn framed(body: &[u8], end: [u8; 8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes();
    [&length[..], &hash::<4>(&length), &hash::<HASH>(body), body, &end].concat()
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
    let (is_second, is_third) = (bytes.starts_with(&MAGIC_2), bytes.starts_with(&MAGIC_3));
    let is_current = !is_second && !is_third;
    if is_current && !bytes.starts_with(&MAGIC) {
        // An empty file, or one whose first bytes were never written.
        let is_cut = MAGIC.starts_with(bytes) || bytes.iter().all(|byte| *byte == 0);
        return Err(if is_cut { Wrong::Damaged(0) } else { Wrong::Foreign });
    }
    // A file is created together with its owner.
    let Next::Whole(owner, mut end) = next(&bytes[MAGIC.len()..]) else { return Err(Wrong::Damaged(MAGIC.len())) };
    let owner = decoded::<Owner, Nameless>(owner).ok_or(Wrong::Damaged(MAGIC.len()))?;
    end += MAGIC.len();
    let (mut last, mut hash, mut moved) = (None, Hash::default(), 0);
    loop {
        let damaged = Wrong::Damaged(end);
        let length = match next(&bytes[end..]) {
            Next::Whole(body, length) => {
                (last, moved) = (Some(record(body).ok_or(damaged)?), 0);
                length
            }
            Next::Change(body, length) if !is_second => {
                let changed = last.as_mut().and_then(|last| changes::execute(last, hash, body, is_third));
                moved += changed.ok_or(damaged)?;
                length
            }
            Next::Torn => return Ok(Content { owner: Some(owner), is_current, last, hash, moved, end }),
            Next::Change(..) | Next::Damaged => return Err(damaged),
        };
        hash = hash_of(&bytes[end..]);
        end += length;
    }
}

/// The content at an offset of a file.
enum Next<'b> {
    /// The content of a complete whole record, and the length of the record.
    Whole(&'b [u8], usize),
    /// The same of a change.
    Change(&'b [u8], usize),
    /// The end, or a record that was not acknowledged.
    Torn,
    /// A damaged record.
    Damaged,
}

fn next(rest: &[u8]) -> Next<'_> {
    let is_zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    let Some((head, behind)) = rest.split_at_checked(HEAD) else { return Next::Torn };
    let (length, check) = head[..HEAD - HASH].split_at(4);
    if hash::<4>(length) != check {
        return if is_zero(behind) { Next::Torn } else { Next::Damaged };
    }
    let length = u32::from_le_bytes(length.try_into().expect("a slice of four bytes fits four bytes")) as usize;
    if length > RECORD_MAX {
        return Next::Damaged;
    }
    let Some((body, behind)) = behind.split_at_checked(length) else { return Next::Torn };
    let Some((end, behind)) = behind.split_at_checked(END.len()) else { return Next::Torn };
    let is_intact = hash::<HASH>(body) == head[HEAD - HASH..];
    match () {
        () if is_intact && end == END => Next::Whole(body, HEAD + length + END.len()),
        () if is_intact && end == END_OF_CHANGE => Next::Change(body, HEAD + length + END.len()),
        // The last byte of the mark is not zero, so a zero there was never written.
        () if is_zero(&end[END.len() - 1..]) && is_zero(behind) => Next::Torn,
        () => Next::Damaged,
    }
}

/// Reads a file of the first version, in which torn and damaged records look alike: it is accepted if it ends with a complete record.
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
    Ok(Content { owner: None, is_current: false, last, hash: Hash::default(), moved: 0, end })
}

#[cfg(test)]
mod tests {
    use host_model::contract::WrittenKeys;

    use super::*;
    use crate::disk::changes::{ProtocolChange, writes};
    use crate::disk::edits::Edit;
    use crate::node::DiskId;

    /// A file of the first version with these records.
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
        let map = [(&b"a"[..], &[number, 1][..]), (b"b", &[]), (&[b'c', number], b"7")].into_iter().collect();
        Record { numbers, protocol: Some(vec![number; 20]), peers: BTreeMap::from([(1, 300), (2, 1)]), disks, map }
    }

    fn without_map(record: Record) -> Record {
        Record { map: DurableMap::default(), ..record }
    }

    /// A record after another one, and that as a change of it.
    fn change(before: &Record, number: u8) -> (Record, Vec<u8>) {
        let after = Record { numbers: Durable { incarnation: 1, reserved: number.into() }, ..record(number) };
        let protocol = ProtocolChange::Edited(vec![Edit::replacing(20, vec![number; 20])]);
        let mut keys = WrittenKeys::default();
        before.map.iter().chain(after.map.iter()).for_each(|(key, _)| keys.add(key));
        let writes = writes(&after.map, &keys);
        let bytes =
            encoded_change(&after, hash_of(&encoded(before)), &Changes { protocol: &protocol, writes: &writes });
        (after, bytes)
    }

    /// The same as a change of the third version, without the map.
    fn change_3(before: &[u8], number: u8) -> (Record, Vec<u8>) {
        let after = without_map(record(number));
        let edits = vec![Edit::replacing(20, vec![number; 20])];
        let parts = (hash_of(before), after.numbers, edits, &after.peers, &after.disks);
        let bytes = framed(&bytes_of(&parts), END_OF_CHANGE);
        (after, bytes)
    }

    /// A whole record of the third version.
    fn whole_3(number: u8) -> Vec<u8> {
        let Record { numbers, protocol, peers, disks, .. } = record(number);
        framed(&bytes_of(&(numbers, protocol, peers, disks)), END)
    }

    fn owner() -> Owner {
        let [plugin, digest, config, network] = ["store", "ab", "kept=1", "ordered"].map(str::to_owned);
        Owner { node: 0, plugin, digest, nodes: 3, config, network, name: "east".to_owned() }
    }

    /// Each bit of a file changed: an error in each case, in the last record as in those before.
    #[test]
    fn no_changed_bit_is_taken_for_a_torn_record() {
        let (third, change) = change(&record(0), 2);
        let whole = [beginning(&owner()), encoded(&record(1)), encoded(&record(0)), change].concat();
        let content = read(&whole).expect("it is one");
        assert_eq!((content.owner, content.last, content.end), (Some(owner()), Some(third), whole.len()));
        for place in 0..whole.len() * 8 {
            let mut changed = whole.clone();
            changed[place / 8] ^= 1 << (place % 8);
            assert!(read(&changed).is_err(), "{place}");
        }
    }

    /// A change counts behind the record that it is one of: not at the start, behind another record, or twice; and not in a file of the
    /// version before.
    #[test]
    fn a_change_counts_behind_its_own_record_alone() {
        let (first, start) = (encoded(&record(1)), beginning(&owner()));
        let (after, change) = change(&record(1), 2);
        let content = read(&[&start[..], &first, &change].concat()).expect("it is one");
        assert_eq!((content.last, content.is_current), (Some(after), true));
        let other = encoded(&record(3));
        for records in [&[&change][..], &[&other, &change], &[&first, &other, &change], &[&first, &change, &change]] {
            let records = records.iter().map(|bytes| &bytes[..]).collect::<Vec<_>>();
            let before: usize = records[..records.len() - 1].iter().map(|bytes| bytes.len()).sum();
            let read = read(&[&start[..], &records.concat()].concat());
            assert_eq!(read, Err(Wrong::Damaged(start.len() + before)));
        }
        let former = |records: &[&[u8]]| [&MAGIC_2[..], &start[MAGIC.len()..], &records.concat()].concat();
        let content = read(&former(&[&first])).expect("it is one");
        assert_eq!((content.owner, content.last, content.is_current), (Some(owner()), Some(record(1)), false));
        assert_eq!(read(&former(&[&first, &change])), Err(Wrong::Damaged(start.len() + first.len())));
    }

    /// A file of the version before, with changes, is read; and a change of either version counts in a file of that version alone.
    #[test]
    fn a_file_of_the_version_before_is_read() {
        let start = beginning(&owner());
        let of = |magic: [u8; 8], records: &[&[u8]]| [&magic[..], &start[MAGIC.len()..], &records.concat()].concat();
        let first = whole_3(1);
        let (after, change_3) = change_3(&first, 2);
        let content = read(&of(MAGIC_3, &[&first, &change_3])).expect("it is one");
        assert_eq!((content.owner, content.last, content.is_current), (Some(owner()), Some(after), false));
        let damaged = Err(Wrong::Damaged(start.len() + first.len()));
        assert_eq!(read(&of(MAGIC, &[&first, &change_3])), damaged);
        for place in 0..change_3.len() * 8 {
            let mut changed = of(MAGIC_3, &[&first, &change_3]);
            changed[start.len() + first.len() + place / 8] ^= 1 << (place % 8);
            assert_eq!(read(&changed), damaged, "{place}");
        }
    }

    /// A file cut anywhere in the last record, with and without zeros after the cut, has a torn record. A file cut within its owner is
    /// damaged, since no file is written so.
    #[test]
    fn what_was_not_written_is_torn() {
        let start = beginning(&owner()).len();
        let before = start + encoded(&record(1)).len();
        let second = [encoded(&record(2)), change(&record(1), 2).1];
        for whole in second.map(|second| [beginning(&owner()), encoded(&record(1)), second].concat()) {
            check_torn(&whole, start, before);
        }
    }

    fn check_torn(whole: &[u8], start: usize, before: usize) {
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
        let whole = [MAGIC.to_vec(), framed(&bytes_of(&nameless), END), framed(&bytes_of(&alone), END)];
        let content = read(&whole.concat()).expect("it is one");
        assert_eq!(content.owner, Some(Owner { name: String::new(), ..owner() }));
        let (peers, disks, map) = Default::default();
        let before = Record { numbers: alone.0, protocol: alone.1, peers, disks, map };
        assert_eq!(content.last, Some(before.clone()));
        for peers in
            [BTreeMap::new(), BTreeMap::from([(0_u32, 1_u64)]), BTreeMap::from([(1, 300), (2, 1), (7, u64::MAX)])]
        {
            let unnamed = (&before.numbers, &before.protocol, &peers);
            let content = read(&[beginning(&owner()), framed(&bytes_of(&unnamed), END)].concat()).expect("it is one");
            assert_eq!(content.last, Some(Record { peers, ..before.clone() }));
        }
    }

    #[test]
    fn a_file_of_the_first_version_is_taken_if_it_is_whole() {
        let whole = of_version_1(&[record(1), record(2)]);
        let content = |last, end| Content { owner: None, is_current: false, last, hash: [0; HASH], moved: 0, end };
        assert_eq!(read(&whole), Ok(content(Some(record(2)), whole.len())));
        assert_eq!(read(&of_version_1(&[])), Ok(content(None, 8)));
        let second = of_version_1(&[record(1)]).len();
        for end in second + 1..whole.len() {
            assert_eq!(read(&whole[..end]), Err(Wrong::Damaged(second)));
        }
        assert_eq!([read(b""), read(&[0; 9])], [Err(Wrong::Damaged(0)), Err(Wrong::Damaged(0))]);
        assert_eq!(read(b"a text of another program"), Err(Wrong::Foreign));
    }
}
