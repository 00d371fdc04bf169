//! Backups: the durable state of a node at one moment.
//!
//! A backup is a data file with one record, so a file that is cut anywhere, or damaged, is none.

use std::collections::BTreeMap;

use crate::checkpoint::Durable;
use crate::disk::log::{Trouble, check};
use crate::disk::records::{Content, Owner, Wrong, beginning, encoded, read};
use crate::node::{Disks, Record};

/// The durable state of a node at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    owner: Owner,
    record: Record,
}

/// Why bytes are no backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoBackup {
    /// They are of another program, or of a version before data files had an owner.
    Foreign,
    /// They are damaged, or cut, at this offset.
    Damaged(usize),
    /// The node had not started when they were copied.
    Empty,
}

impl Backup {
    /// The state in the data file of a node that may be running: a record at the end that is not complete was not acknowledged.
    ///
    /// # Errors
    ///
    /// The bytes are no data file with a record.
    pub fn of_file(bytes: &[u8]) -> Result<Self, NoBackup> {
        Self::of(read(bytes))
    }

    /// A backup, as [`to_bytes`](Self::to_bytes) has written it; or the data file of a node that has ended.
    ///
    /// # Errors
    ///
    /// The bytes are no backup, or not all of one.
    pub fn read(bytes: &[u8]) -> Result<Self, NoBackup> {
        match read(bytes) {
            Ok(Content { end, .. }) if end < bytes.len() => Err(NoBackup::Damaged(end)),
            content => Self::of(content),
        }
    }

    fn of(content: Result<Content, Wrong>) -> Result<Self, NoBackup> {
        match content {
            Ok(Content { owner: Some(owner), last: Some(record), .. }) => Ok(Self { owner, record }),
            Ok(Content { owner: None, .. }) | Err(Wrong::Foreign) => Err(NoBackup::Foreign),
            Ok(Content { last: None, .. }) => Err(NoBackup::Empty),
            Err(Wrong::Damaged(at)) => Err(NoBackup::Damaged(at)),
        }
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        [beginning(&self.owner), encoded(&self.record)].concat()
    }

    /// The node that it was taken from.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// The start of that node.
    pub fn start(&self) -> u64 {
        self.record.numbers.incarnation
    }

    /// The number of entries of its durable map.
    pub fn entries(&self) -> usize {
        self.record.map.len()
    }

    /// Refuses a cluster whose nodes would read a state that they have not written: that of another component, or with other parameters. The
    /// name of the cluster and the node do not matter: a restored cluster is a new one.
    ///
    /// # Errors
    ///
    /// The backup is of another protocol; or it differs otherwise, and is not taken over.
    pub fn check<E>(&self, here: &Owner, takes_over: bool) -> Result<(), Trouble<E>> {
        let here = Owner { node: self.owner.node, name: self.owner.name.clone(), ..here.clone() };
        check(&self.owner, &here, takes_over)
    }

    /// The record of a node of a new cluster that begins with this state: it has never started, and knows no other node.
    pub fn restored(&self) -> Record {
        Record {
            numbers: Durable { incarnation: 0, reserved: 0 },
            protocol: self.record.protocol.clone(),
            peers: BTreeMap::new(),
            disks: Disks::default(),
            map: self.record.map.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use host_model::contract::DurableMap;

    use super::*;
    use crate::node::DiskId;

    fn owner() -> Owner {
        Owner {
            node: 2,
            plugin: "store".to_owned(),
            digest: "blake3:1".to_owned(),
            nodes: 3,
            config: "kept=20\n".to_owned(),
            network: "ordered".to_owned(),
            name: "east".to_owned(),
        }
    }

    fn record(number: u8) -> Record {
        let map: DurableMap = [(&b"a"[..], vec![number; 3]), (b"b", vec![])].into_iter().collect();
        Record {
            numbers: Durable { incarnation: 7, reserved: 9 },
            protocol: Some(vec![number; 20]),
            peers: BTreeMap::from([(1, 300)]),
            disks: Disks { own: DiskId { rejoins: 1, drawn: 5 }, peers: BTreeMap::from([(1, DiskId::default())]) },
            map,
        }
    }

    /// The file of a node with some records, the last one cut off anywhere, has the state of the last one that is complete.
    #[test]
    fn a_backup_of_a_running_node_has_its_last_complete_record() {
        let begun = beginning(&owner());
        assert_eq!(Backup::of_file(&begun), Err(NoBackup::Empty));
        let two = [&begun[..], &encoded(&record(1)), &encoded(&record(2))].concat();
        let third = encoded(&record(3));
        for cut in 0..third.len() {
            let backup = Backup::of_file(&[&two[..], &third[..cut]].concat()).expect("two records are complete");
            assert_eq!(backup, Backup { owner: owner(), record: record(2) }, "{cut}");
            assert_eq!(Backup::read(&backup.to_bytes()), Ok(backup));
        }
    }

    /// A backup that is cut, or has a wrong bit, anywhere is none.
    #[test]
    fn a_damaged_backup_is_refused() {
        let backup = Backup { owner: owner(), record: record(1) };
        let bytes = backup.to_bytes();
        assert_eq!(Backup::read(&bytes).as_ref(), Ok(&backup));
        for cut in 0..bytes.len() {
            assert!(Backup::read(&bytes[..cut]).is_err(), "{cut} of {}", bytes.len());
        }
        for bit in 0..8 * bytes.len() {
            let mut wrong = bytes.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(Backup::read(&wrong).is_err(), "bit {bit}");
        }
        assert!(Backup::read(&[&bytes[..], b"x"].concat()).is_err());
        assert_eq!(Backup::read(b"something else"), Err(NoBackup::Foreign));
    }

    /// A restored cluster is a new one: its nodes know nothing of the former one but the state of the protocol.
    #[test]
    fn a_restored_node_has_the_state_and_no_past() {
        let backup = Backup { owner: owner(), record: record(4) };
        let restored = backup.restored();
        assert_eq!((restored.durable(), restored.peers.len()), (record(4).durable(), 0));
        assert_eq!((restored.numbers.incarnation, restored.disks), (0, Disks::default()));
        for (here, takes_over, fits) in [
            (owner(), false, true),
            (Owner { node: 0, name: "west".to_owned(), ..owner() }, false, true),
            (Owner { digest: "blake3:2".to_owned(), ..owner() }, false, false),
            (Owner { digest: "blake3:2".to_owned(), ..owner() }, true, true),
            (Owner { nodes: 5, ..owner() }, false, false),
            (Owner { config: String::new(), ..owner() }, false, false),
            (Owner { plugin: "lock".to_owned(), ..owner() }, true, false),
        ] {
            assert_eq!(backup.check::<()>(&here, takes_over).is_ok(), fits, "{here:?}");
        }
    }
}
