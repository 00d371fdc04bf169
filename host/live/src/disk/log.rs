//! The file of a node: opening, writing, replacing it.

use std::collections::BTreeMap;

use host_model::contract::{DurableMap, DurableState, WrittenKeys};

use crate::checkpoint::Durable;
use crate::disk::changes::{Changes, Hash, ProtocolChange, writes};
use crate::disk::edits;
use crate::disk::records::{
    Content, FILE_MAX, GROWTH, Owner, RECORD_MAX, Wrong, beginning, encoded, encoded_change, hash_of, length, read,
};
use crate::node::{DiskId, Disks, Record};

/// Bytes that the changes of a file may move in the state when it is read: some tenths of a second.
pub(super) const MOVED_MAX: u64 = 1 << 30;
/// The text of the note once a file exists.
const THERE: &str = "There is a data file next to this lock. To start the node without it, remove both.\n";
/// The text after it, before a number, once other nodes know a later start than the file.
const LATER: &str = "Others know of a later start of the node: ";
/// The text after it, before two numbers, once other nodes know the node by another disk.
const OTHER: &str = "Others know the node by another disk: ";

/// The operations on the files of a node: its file, the next file, and a note. A failed operation may have been executed in part.
pub trait Files {
    /// The reason why an operation failed.
    type Error;

    /// The content of the file; none if there is no file.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    fn read(&mut self) -> Result<Option<Vec<u8>>, Self::Error>;

    /// Opens the file and truncates it to this length. Its content and its name are on the disk when this returns.
    ///
    /// # Errors
    ///
    /// The file cannot be opened or changed.
    fn open(&mut self, length: u64) -> Result<(), Self::Error>;

    /// Appends bytes to the open file. They are on the disk after the next [`sync`](Self::sync), and may be there in part before.
    ///
    /// # Errors
    ///
    /// The bytes cannot be written, e.g. because the disk is full.
    fn append(&mut self, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Forces the appended bytes to the disk.
    ///
    /// # Errors
    ///
    /// The bytes may not be on the disk.
    fn sync(&mut self) -> Result<(), Self::Error>;

    /// Writes a next file with these bytes, in place of a leftover one, and forces its content to the disk.
    ///
    /// # Errors
    ///
    /// The file cannot be written, e.g. because the disk is full.
    fn write_next(&mut self, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Renames the next file to the file, opens it for [`append`](Self::append), and forces the name to the disk.
    ///
    /// # Errors
    ///
    /// Either of the two files may have the name.
    fn rename_next(&mut self) -> Result<(), Self::Error>;

    /// The text of the note; empty if there is none.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    fn note(&mut self) -> Result<String, Self::Error>;

    /// Writes the note and forces it to the disk.
    ///
    /// # Errors
    ///
    /// The note may have the text before or this one.
    fn set_note(&mut self, text: &str) -> Result<(), Self::Error>;
}

impl<F: Files> Files for &mut F {
    type Error = F::Error;

    fn read(&mut self) -> Result<Option<Vec<u8>>, F::Error> {
        F::read(self)
    }

    fn open(&mut self, length: u64) -> Result<(), F::Error> {
        F::open(self, length)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), F::Error> {
        F::append(self, bytes)
    }

    fn sync(&mut self) -> Result<(), F::Error> {
        F::sync(self)
    }

    fn write_next(&mut self, bytes: &[u8]) -> Result<(), F::Error> {
        F::write_next(self, bytes)
    }

    fn rename_next(&mut self) -> Result<(), F::Error> {
        F::rename_next(self)
    }

    fn note(&mut self) -> Result<String, F::Error> {
        F::note(self)
    }

    fn set_note(&mut self, text: &str) -> Result<(), F::Error> {
        F::set_note(self, text)
    }
}

/// The reason why a node cannot use its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble<E> {
    /// An operation has failed.
    Files(E),
    /// The file is from another program.
    Foreign,
    /// The file is from another node, or another plugin.
    Other(Box<Owner>),
    /// The file is from another build or another cluster; the text names the differences.
    Changed(String),
    /// The file is missing, although the note says that there was one.
    Lost,
    /// Other nodes know this later start of the node.
    Later(u64),
    /// Other nodes know the node by another disk.
    OtherDisk,
    /// An acknowledged record is damaged; the offset of the damaged record.
    Damaged(usize),
    /// The record is too long to be read back; its length in bytes.
    TooLong(usize),
    /// An earlier write has failed, so the end of the file is unknown.
    Broken,
}

impl<E> From<E> for Trouble<E> {
    fn from(error: E) -> Self {
        Self::Files(error)
    }
}

/// Files to accept at a start that are refused by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ways {
    /// A file from another build or another cluster.
    pub takes_over: bool,
    /// A file with fewer starts than other nodes know, or not the file by which they know the node: the next start has a number above
    /// the known ones, and a disk identity that they accept.
    pub rejoins: bool,
}

/// The knowledge of other nodes about the node, read from the note.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Its latest start; 0 if not in the note.
    start: u64,
    /// Its disk; the default one if not in the note.
    disk: DiskId,
}

/// The way in which a file is older than other nodes know.
enum Behind {
    Start,
    Disk,
}

impl std::fmt::Display for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.start > 0 {
            writeln!(f, "{LATER}{}", self.start)?;
        }
        if self.disk == DiskId::default() {
            return Ok(());
        }
        writeln!(f, "{OTHER}{} {}", self.disk.rejoins, self.disk.drawn)
    }
}

impl Known {
    fn noted(note: &str) -> Self {
        let disk = |words: &str| {
            let (rejoins, drawn) = words.split_once(' ')?;
            Some(DiskId { rejoins: rejoins.parse().ok()?, drawn: drawn.parse().ok()? })
        };
        let start = note.lines().filter_map(|line| line.strip_prefix(LATER)?.parse().ok()).max();
        let disk = note.lines().filter_map(|line| disk(line.strip_prefix(OTHER)?)).max();
        Self { start: start.unwrap_or_default(), disk: disk.unwrap_or_default() }
    }

    /// The way in which a file with this last record is too old; none if it is not.
    fn refuses(&self, last: Option<&Record>) -> Option<Behind> {
        let (start, disk) = last.map_or_else(Default::default, |last| (last.numbers.incarnation, last.disks.own));
        match () {
            () if start < self.start => Some(Behind::Start),
            () if self.disk != DiskId::default() && !disk.succeeds(self.disk) => Some(Behind::Disk),
            () => None,
        }
    }

    /// The record for a start above all that other nodes know.
    fn rejoined(&self, last: Option<Record>) -> Record {
        let mut record = last.unwrap_or(Record {
            numbers: Durable { incarnation: 0, reserved: 0 },
            protocol: None,
            peers: BTreeMap::new(),
            disks: Disks::default(),
            map: DurableMap::default(),
        });
        record.numbers.incarnation = record.numbers.incarnation.max(self.start);
        let rejoins = record.disks.own.max(self.disk).rejoins + 1;
        record.disks.own = DiskId { rejoins, drawn: 0 };
        record
    }
}

/// The last record of a file, which the next one can be a change of.
#[derive(Debug)]
struct Base {
    hash: Hash,
    /// The durable state of the protocol; none where there is no record.
    state: Option<DurableState>,
    /// Bytes that the changes up to it move.
    moved: u64,
}

/// The file of a node.
#[derive(Debug)]
pub struct Disk<F> {
    files: F,
    owner: Owner,
    base: Base,
    bytes: u64,
    file_max: u64,
    changes_always: bool,
    is_broken: bool,
    torn: usize,
}

impl<F: Files> Disk<F> {
    /// Opens the file of a node, or creates it. Also returns the durable state; none at the first start.
    ///
    /// # Errors
    ///
    /// The file is from another node, damaged, lost, or cannot be read or written; or `ways` does not allow that it is from another build
    /// or cluster, or older than what other nodes know.
    pub fn open(mut files: F, owner: &Owner, ways: Ways) -> Result<(Self, Option<Record>), Trouble<F::Error>> {
        let note = files.note()?;
        let there = files.read()?;
        if there.is_none() && !note.is_empty() {
            return Err(Trouble::Lost);
        }
        let content = read(there.as_deref().unwrap_or(&beginning(owner))).map_err(|wrong| match wrong {
            Wrong::Foreign => Trouble::Foreign,
            Wrong::Damaged(at) => Trouble::Damaged(at),
        })?;
        let known = Known::noted(&note);
        let rejoins = known.refuses(content.last.as_ref());
        if let Some(trouble) = rejoins.as_ref().filter(|_| !ways.rejoins) {
            return Err(match trouble {
                Behind::Start => Trouble::Later(known.start),
                Behind::Disk => Trouble::OtherDisk,
            });
        }
        if let Some(other) = &content.owner {
            check(other, owner, ways.takes_over)?;
        }
        let Content { owner: found, is_current, mut last, hash, moved, end } = content;
        let state = last.as_ref().map(state_of);
        let mut disk = Self {
            files,
            owner: owner.clone(),
            base: Base { hash, state, moved },
            bytes: end as u64,
            file_max: FILE_MAX,
            changes_always: false,
            is_broken: false,
            torn: there.as_ref().map_or(0, |bytes| bytes.len() - end),
        };
        if there.is_none() || !is_current || found.as_ref() != Some(owner) {
            // A file of an earlier version, or one that is taken over, is replaced by one with the right owner.
            disk.replace(last.as_ref())?;
        }
        disk.files.open(disk.bytes)?;
        if rejoins.is_some() {
            let record = known.rejoined(last);
            // From then on the file has that start.
            disk.write(&record, &WrittenKeys::default())?;
            last = Some(record);
        }
        disk.say(THERE)?;
        Ok((disk, last))
    }

    /// Replaces the text of the note, if it differs.
    fn say(&mut self, text: &str) -> Result<(), F::Error> {
        if self.files.note()? != text {
            self.files.set_note(text)?;
        }
        Ok(())
    }

    /// Notes that other nodes know this start of the node, and by which disk they know it, if the disk is not the default one. The node
    /// does not start from an older file, unless [`Ways`] allows it.
    ///
    /// # Errors
    ///
    /// The note cannot be written.
    pub fn note_known(&mut self, start: u64, disk: DiskId) -> Result<(), F::Error> {
        let noted = Known::noted(&self.files.note()?);
        let known = Known { start: noted.start.max(start), disk: noted.disk.max(disk) };
        self.say(&format!("{THERE}{known}"))
    }

    /// Bytes of a torn record that was cut off when the file was opened.
    pub fn torn(&self) -> usize {
        self.torn
    }

    /// The files.
    pub fn files_mut(&mut self) -> &mut F {
        &mut self.files
    }

    /// Returns the files, with their content.
    pub fn into_files(self) -> F {
        self.files
    }

    /// Sets the length in bytes from which the file is replaced.
    #[must_use]
    pub fn with_file_max(self, file_max: u64) -> Self {
        Self { file_max, ..self }
    }

    /// Writes changes also where a whole record is shorter, for tests.
    #[must_use]
    pub fn with_changes_always(self) -> Self {
        Self { changes_always: true, ..self }
    }

    /// Writes a record in place of the one before, whose map differs from that in these keys at most: the record itself, or how it differs.
    /// When this returns, the record survives a crash.
    ///
    /// A file is replaced by one with the record alone where it would be longer than 1 MiB and than four such records, or
    /// take long to read. So whole records are at most a third of what changes are.
    ///
    /// # Errors
    ///
    /// The record cannot be written, e.g. because the disk is full. It may then be in the file or not, and further writes fail: the node
    /// must stop.
    pub fn write(&mut self, record: &Record, written: &WrittenKeys) -> Result<(), Trouble<F::Error>> {
        if self.is_broken {
            return Err(Trouble::Broken);
        }
        let length = length(record);
        if length > RECORD_MAX {
            return Err(Trouble::TooLong(length));
        }
        let result = self.try_write(record, written, length);
        self.is_broken = result.is_err();
        Ok(result?)
    }

    fn try_write(&mut self, record: &Record, written: &WrittenKeys, length: usize) -> Result<(), F::Error> {
        let Some((protocol, bytes)) = self.change(record, written, length) else {
            let bytes = encoded(record);
            if self.is_too_long(bytes.len(), length) {
                return self.replace(Some(record));
            }
            self.append(&bytes)?;
            self.base = Base { hash: hash_of(&bytes), state: Some(state_of(record)), moved: 0 };
            return Ok(());
        };
        if self.is_too_long(bytes.len(), length) || self.base.moved > MOVED_MAX {
            return self.replace(Some(record));
        }
        self.append(&bytes)?;
        self.base.hash = hash_of(&bytes);
        let state = self.base.state.get_or_insert_default();
        state.map = record.map.clone();
        self.base.moved += protocol.apply(&mut state.persisted).expect("the edits are those of this state");
        debug_assert_eq!(state.persisted, record.protocol, "the edits lead there");
        Ok(())
    }

    /// A record as a change of the last one, by which the state of the protocol changes so; none where it is written as a whole.
    fn change(&self, record: &Record, written: &WrittenKeys, length: usize) -> Option<(ProtocolChange, Vec<u8>)> {
        let DurableState { persisted, map } = self.base.state.as_ref()?;
        let edits = persisted.as_deref().zip(record.protocol.as_deref()).map(|(old, new)| edits::between(old, new));
        let protocol = match edits.flatten() {
            Some(edits) => ProtocolChange::Edited(edits),
            // Without a map, a whole record is shorter.
            None if record.map.is_empty() => return None,
            None => ProtocolChange::Replaced(record.protocol.clone()),
        };
        let (writes, mut map) = (writes(&record.map, written), map.clone());
        writes.apply(&mut map);
        // Otherwise the file would not have what the node has.
        let leads_there = map == record.map;
        debug_assert!(leads_there, "the map differs in other keys than {written:?}");
        let bytes = encoded_change(record, self.base.hash, &Changes { protocol: &protocol, writes: &writes });
        (leads_there && (self.changes_always || bytes.len() < length)).then_some((protocol, bytes))
    }

    /// Whether the file is replaced instead of growing by these bytes; `length` is that of the record as a whole.
    fn is_too_long(&self, bytes: usize, length: usize) -> bool {
        self.bytes + bytes as u64 > self.file_max.max(GROWTH * length as u64)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), F::Error> {
        self.files.append(bytes)?;
        self.files.sync()?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Replaces the file by a new one with this record alone, if there is one.
    fn replace(&mut self, record: Option<&Record>) -> Result<(), F::Error> {
        let whole = record.map(encoded).unwrap_or_default();
        let bytes = [&beginning(&self.owner)[..], &whole].concat();
        self.files.write_next(&bytes)?;
        self.files.rename_next()?;
        self.bytes = bytes.len() as u64;
        let hash = record.map_or(Hash::default(), |_| hash_of(&whole));
        self.base = Base { hash, state: record.map(state_of), moved: 0 };
        Ok(())
    }
}

/// The durable state of the protocol in a record.
fn state_of(record: &Record) -> DurableState {
    DurableState { persisted: record.protocol.clone(), map: record.map.clone() }
}

/// Checks that a node may use a file of this owner.
pub(super) fn check<E>(owner: &Owner, here: &Owner, takes_over: bool) -> Result<(), Trouble<E>> {
    if (owner.node, &owner.plugin) != (here.node, &here.plugin) {
        return Err(Trouble::Other(Box::new(owner.clone())));
    }
    if takes_over || owner == here {
        return Ok(());
    }
    let digests = (format!("component {}", owner.digest), format!("component {}", here.digest));
    let sizes = (format!("{} nodes in its cluster", owner.nodes), format!("{}", here.nodes));
    let configs = (format!("parameters {:?}", owner.config), format!("{:?}", here.config));
    let networks = (format!("network {}", owner.network), here.network.clone());
    let names = (format!("a cluster with the name {:?}", owner.name), format!("{:?}", here.name));
    let all = [
        (owner.name != here.name, names),
        (owner.digest != here.digest, digests),
        (owner.nodes != here.nodes, sizes),
        (owner.config != here.config, configs),
        (owner.network != here.network, networks),
    ];
    let differing = all.into_iter().filter(|(differs, _)| *differs);
    let what: Vec<String> = differing.map(|(_, (then, now))| format!("{then}, not {now}")).collect();
    Err(Trouble::Changed(what.join("; ")))
}
