//! A disk for the library: its trait for storage, over a value that survives a reset.

use omnipaxos::ballot_leader_election::Ballot;
use omnipaxos::storage::{StopSign, Storage, StorageResult};
use serde::{Deserialize, Serialize};

use crate::Command;

#[cfg(feature = "outgoing-messages")]
type Index = u64;
#[cfg(not(feature = "outgoing-messages"))]
type Index = usize;

/// The result of an append.
#[cfg(feature = "outgoing-messages")]
type Appended = Index;
#[cfg(not(feature = "outgoing-messages"))]
type Appended = ();

/// The log and the numbers of a server. Nothing is trimmed, and there are no snapshots.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Disk {
    log: Vec<Command>,
    promise: Option<Ballot>,
    accepted_round: Option<Ballot>,
    decided: Index,
    stop_sign: Option<StopSign>,
}

impl Disk {
    #[cfg(feature = "outgoing-messages")]
    fn appended(&self) -> StorageResult<Appended> {
        self.get_log_len()
    }

    #[cfg(not(feature = "outgoing-messages"))]
    fn appended(&self) -> StorageResult<Appended> {
        Ok(())
    }
}

impl Storage<Command> for Disk {
    #[cfg(not(feature = "outgoing-messages"))]
    fn write_atomically(&mut self, operations: Vec<omnipaxos::storage::StorageOp<Command>>) -> StorageResult<()> {
        use omnipaxos::storage::StorageOp;
        operations.into_iter().try_for_each(|operation| match operation {
            StorageOp::AppendEntry(entry) => self.append_entry(entry),
            StorageOp::AppendEntries(entries) => self.append_entries(entries),
            StorageOp::AppendOnPrefix(from, entries) => self.append_on_prefix(from, entries),
            StorageOp::SetPromise(ballot) => self.set_promise(ballot),
            StorageOp::SetDecidedIndex(index) => self.set_decided_idx(index),
            StorageOp::SetAcceptedRound(ballot) => self.set_accepted_round(ballot),
            StorageOp::SetCompactedIdx(index) => self.set_compacted_idx(index),
            StorageOp::Trim(index) => self.trim(index),
            StorageOp::SetStopsign(sign) => self.set_stopsign(sign),
            StorageOp::SetSnapshot(snapshot) => self.set_snapshot(snapshot),
        })
    }

    fn append_entry(&mut self, entry: Command) -> StorageResult<Appended> {
        self.log.push(entry);
        self.appended()
    }

    fn append_entries(&mut self, entries: Vec<Command>) -> StorageResult<Appended> {
        self.log.extend(entries);
        self.appended()
    }

    fn append_on_prefix(&mut self, from: Index, entries: Vec<Command>) -> StorageResult<Appended> {
        self.log.truncate(from as usize);
        self.append_entries(entries)
    }

    fn set_promise(&mut self, ballot: Ballot) -> StorageResult<()> {
        self.promise = Some(ballot);
        Ok(())
    }

    fn set_decided_idx(&mut self, index: Index) -> StorageResult<()> {
        self.decided = index;
        Ok(())
    }

    fn get_decided_idx(&self) -> StorageResult<Index> {
        Ok(self.decided)
    }

    fn set_accepted_round(&mut self, ballot: Ballot) -> StorageResult<()> {
        self.accepted_round = Some(ballot);
        Ok(())
    }

    fn get_accepted_round(&self) -> StorageResult<Option<Ballot>> {
        Ok(self.accepted_round)
    }

    fn get_entries(&self, from: Index, to: Index) -> StorageResult<Vec<Command>> {
        Ok(self.log.get(from as usize..to as usize).unwrap_or_default().to_vec())
    }

    fn get_log_len(&self) -> StorageResult<Index> {
        Ok(self.log.len() as Index)
    }

    fn get_suffix(&self, from: Index) -> StorageResult<Vec<Command>> {
        Ok(self.log.get(from as usize..).unwrap_or_default().to_vec())
    }

    fn get_promise(&self) -> StorageResult<Option<Ballot>> {
        Ok(self.promise)
    }

    fn set_stopsign(&mut self, sign: Option<StopSign>) -> StorageResult<()> {
        self.stop_sign = sign;
        Ok(())
    }

    fn get_stopsign(&self) -> StorageResult<Option<StopSign>> {
        Ok(self.stop_sign.clone())
    }

    fn trim(&mut self, _: Index) -> StorageResult<()> {
        Err("nothing is trimmed".into())
    }

    fn set_compacted_idx(&mut self, _: Index) -> StorageResult<()> {
        Err("nothing is trimmed".into())
    }

    fn get_compacted_idx(&self) -> StorageResult<Index> {
        Ok(0)
    }

    fn set_snapshot(&mut self, _: Option<omnipaxos::storage::NoSnapshot>) -> StorageResult<()> {
        Err("there are no snapshots".into())
    }

    fn get_snapshot(&self) -> StorageResult<Option<omnipaxos::storage::NoSnapshot>> {
        Ok(None)
    }
}
