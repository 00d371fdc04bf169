//! The file of a node: opened, written, replaced.

use std::collections::BTreeMap;

use crate::checkpoint::Durable;
use crate::disk::records::{Content, Owner, RECORD_MAX, Wrong, beginning, encoded, kept, read};
use crate::mutant::{Mutant, is_present};
use crate::node::{DiskId, Disks, Record};

/// Bytes of a file from which on a new one takes its place.
const FILE_MAX: u64 = 1 << 20;
/// What the note says once there is a file.
const THERE: &str = "There is a data file beside this lock. To start the node without it, remove both.\n";
/// What follows it, before the number, once others know of a later start than the file.
const LATER: &str = "Others know of a later start of the node: ";
/// What follows it, before two numbers, once others know the node by another disk.
const OTHER: &str = "Others know the node by another disk: ";

/// The operations on the files of a node: its file, the next one, and a note. An operation that has failed may have been executed in
/// part.
pub trait Files {
    /// Why an operation failed.
    type Error;

    /// The content of the file; none if there is no file.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    fn read(&mut self) -> Result<Option<Vec<u8>>, Self::Error>;

    /// Opens the file and cuts it down to this length. Its content and its name are on the disk when this returns.
    ///
    /// # Errors
    ///
    /// The file cannot be opened or changed.
    fn open(&mut self, length: u64) -> Result<(), Self::Error>;

    /// Adds bytes at the end of the open file. They are on the disk after the next [`sync`](Self::sync), and may be there in part before.
    ///
    /// # Errors
    ///
    /// The disk is full, say.
    fn append(&mut self, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Brings to the disk what was appended.
    ///
    /// # Errors
    ///
    /// It may not be there.
    fn sync(&mut self) -> Result<(), Self::Error>;

    /// Writes a next file with these bytes, in place of one that was left over, and brings its content to the disk.
    ///
    /// # Errors
    ///
    /// The disk is full, say.
    fn write_next(&mut self, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Renames the next file to the file, opens it for [`append`](Self::append), and brings the name to the disk.
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

    /// Writes the note and brings it to the disk.
    ///
    /// # Errors
    ///
    /// It may say either text.
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

/// Why a node has no disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble<E> {
    /// An operation has failed.
    Files(E),
    /// The file is that of another program.
    Foreign,
    /// It is the file of another node, or of another plugin.
    Other(Box<Owner>),
    /// It was written under another build or in another cluster: what differs.
    Changed(String),
    /// There was a file.
    Lost,
    /// Other nodes have met this later start of the node.
    Later(u64),
    /// Other nodes know the node by another disk.
    OtherDisk,
    /// Something that was acknowledged is gone: where the damaged record begins.
    Damaged(usize),
    /// The record has this many bytes, more than could be read back.
    TooLong(usize),
    /// A write has failed before: nothing is known about the end of the file.
    Broken,
}

impl<E> From<E> for Trouble<E> {
    fn from(error: E) -> Self {
        Self::Files(error)
    }
}

/// What is taken at a start that is refused otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ways {
    /// A file that was written under another build or in another cluster.
    pub takes_over: bool,
    /// A file that knows of fewer starts of the node than others do, or is not the one by which they know the node: the next start is one that
    /// they have yet to meet, with an identity that they take.
    pub rejoins: bool,
}

/// What other nodes know of the node, as the note says.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Its latest start; 0 if that is not noted.
    start: u64,
    /// Its disk; the default one if that is not noted.
    disk: DiskId,
}

/// In what a file is behind what other nodes know.
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

    /// In what a file with this last record is behind.
    fn refuses(&self, last: Option<&Record>) -> Option<Behind> {
        let (start, disk) = last.map_or_else(Default::default, |last| (last.numbers.incarnation, last.disks.own));
        match () {
            () if start < self.start => Some(Behind::Start),
            () if self.disk != DiskId::default() && !disk.succeeds(self.disk) => Some(Behind::Disk),
            () => None,
        }
    }

    /// The record with which the node starts again as one that others have yet to meet.
    fn rejoined(&self, last: Option<Record>) -> Record {
        let mut record = last.unwrap_or(Record {
            numbers: Durable { incarnation: 0, reserved: 0 },
            protocol: None,
            peers: BTreeMap::new(),
            disks: Disks::default(),
        });
        record.numbers.incarnation = record.numbers.incarnation.max(self.start);
        let rejoins = record.disks.own.max(self.disk).rejoins + 1;
        record.disks.own = DiskId { rejoins, drawn: 0 };
        record
    }
}

/// The file of a node.
#[derive(Debug)]
pub struct Disk<F> {
    files: F,
    owner: Owner,
    bytes: u64,
    file_max: u64,
    is_broken: bool,
    torn: usize,
}

impl<F: Files> Disk<F> {
    /// Opens the file of a node, and makes it if there is none. Also returns the durable state; none at the first start.
    ///
    /// # Errors
    ///
    /// The file is of another node, damaged, lost, or not to be read and written; or it was written under another build or in another
    /// cluster, or older than what other nodes know, unless that is to be taken.
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
        let Content { owner: found, mut last, end } = content;
        let end = if is_present(Mutant::KeepsTail) { there.as_ref().map_or(end, Vec::len) } else { end };
        let torn = there.as_ref().map_or(0, |bytes| bytes.len() - end);
        let mut disk =
            Self { files, owner: owner.clone(), bytes: end as u64, file_max: FILE_MAX, is_broken: false, torn };
        if there.is_none() || found.as_ref() != Some(owner) {
            // One of an earlier version, or one that is taken over, is replaced by one with the right owner.
            disk.replace(&last.as_ref().map(encoded).unwrap_or_default())?;
        }
        disk.files.open(disk.bytes)?;
        if rejoins.is_some() {
            let record = known.rejoined(last);
            // From then on the file knows of that start.
            disk.write(&record)?;
            last = Some(record);
        }
        disk.say(THERE)?;
        Ok((disk, last))
    }

    /// Has the note say this and nothing else.
    fn say(&mut self, text: &str) -> Result<(), F::Error> {
        if self.files.note()? != text {
            self.files.set_note(text)?;
        }
        Ok(())
    }

    /// Others know of this start of the node, and if the disk is not the default one, know the node by it: where the file is behind that, the node
    /// does not start again with it, unless that is asked for.
    ///
    /// # Errors
    ///
    /// That cannot be written.
    pub fn note_known(&mut self, start: u64, disk: DiskId) -> Result<(), F::Error> {
        let noted = Known::noted(&self.files.note()?);
        let known = Known { start: noted.start.max(start), disk: noted.disk.max(disk) };
        self.say(&format!("{THERE}{known}"))
    }

    /// Bytes of a record that was not complete when the file was opened.
    pub fn torn(&self) -> usize {
        self.torn
    }

    /// The files.
    pub fn files_mut(&mut self) -> &mut F {
        &mut self.files
    }

    /// Takes the files back; what is on them stays.
    pub fn into_files(self) -> F {
        self.files
    }

    /// The same with a file that is replaced from another length on.
    #[must_use]
    pub fn with_file_max(self, file_max: u64) -> Self {
        Self { file_max, ..self }
    }

    /// Writes a record in place of those before it. When this returns, it is there whatever happens.
    ///
    /// # Errors
    ///
    /// The disk is full, say. Nothing is known of this record then, and nothing more is written: a node must not continue.
    pub fn write(&mut self, record: &Record) -> Result<(), Trouble<F::Error>> {
        if self.is_broken {
            return Err(Trouble::Broken);
        }
        let bytes = encoded(record);
        if kept(bytes.len()) > RECORD_MAX {
            return Err(Trouble::TooLong(kept(bytes.len())));
        }
        let result = match self.bytes + bytes.len() as u64 > self.file_max {
            true => self.replace(&bytes),
            false => self.append(&bytes),
        };
        self.is_broken = result.is_err();
        Ok(result?)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), F::Error> {
        self.files.append(bytes)?;
        self.files.sync()?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// A new file with this record alone takes the place of the present one.
    fn replace(&mut self, records: &[u8]) -> Result<(), F::Error> {
        let bytes = [&beginning(&self.owner), records].concat();
        self.files.write_next(&bytes)?;
        self.files.rename_next()?;
        self.bytes = bytes.len() as u64;
        Ok(())
    }
}

/// Whether a node may have a file of this owner.
fn check<E>(owner: &Owner, here: &Owner, takes_over: bool) -> Result<(), Trouble<E>> {
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
