//! Log, vote and snapshot of a node on its disk, and a state machine in memory.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::io;
use std::ops::RangeBounds;
use std::rc::Rc;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use guest_sdk::tasks::fs::{self, File};
use guest_sdk::{BySerde, Encoding, Payload, tasks};
use openraft::entry::RaftEntry;
use openraft::storage::{EntryResponder, IOFlushed, RaftLogStorage, RaftStateMachine};
use openraft::type_config::alias::{EntryOf, LogIdOf, SnapshotMetaOf, SnapshotOf, StoredMembershipOf, VoteOf};
use openraft::{EmptyNode, EntryPayload, LogId, LogState, Membership, RaftLogReader, RaftSnapshotBuilder};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Command, Config};

/// Mistakes on purpose, in the implementations of the library's traits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing.
    None,
    /// A vote is saved before it is certainly on disk.
    UnsyncedVote,
    /// Entries are reported as flushed before they are.
    EarlyFlush,
    /// The format of a vote has no place for whether a quorum has granted it; each that is read counts as granted.
    VoteAsGranted,
    /// The network takes each answer to a request for votes for a granted vote.
    RefusalAsGrant,
}

/// The moment at which entries are on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// Before `append` returns.
    AtOnce,
    /// After an event of its own.
    Later,
}

/// The ways of a disk.
#[derive(Clone, Copy, Debug)]
pub struct Ways {
    pub mistake: Mistake,
    pub flush: Flush,
    /// Whether the committed log id is saved.
    pub saves_committed: bool,
    /// Reads of the log that can fail, between two starts.
    pub read_errors: u32,
}

/// The log, the vote and the state machine of a node. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Store {
    ways: Ways,
    /// Starts of the node up to now.
    pub starts: u32,
    content: Rc<RefCell<Content>>,
}

#[derive(Debug, Default)]
struct Content {
    vote: Option<VoteOf<Config>>,
    committed: Option<LogIdOf<Config>>,
    purged: Option<LogIdOf<Config>>,
    log: BTreeMap<u64, EntryOf<Config>>,
    machine: Machine,
    snapshot: Option<Machine>,
    is_open: bool,
    failed_reads: u32,
}

/// The state machine: all commands in their order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Machine {
    pub applied: Option<LogIdOf<Config>>,
    pub membership: StoredMembershipOf<Config>,
    /// The index and the command of each entry.
    pub commands: Vec<(u64, Command)>,
}

impl Machine {
    /// The index of the last command; 0 without one.
    pub fn last(&self) -> u64 {
        self.commands.last().map_or(0, |(index, _)| *index)
    }

    fn snapshot(self) -> SnapshotOf<Config, Self> {
        let meta = SnapshotMetaOf::<Config> { last_log_id: self.applied, last_membership: self.membership.clone() };
        SnapshotOf::<Config, Self> { meta, snapshot: self }
    }
}

fn entry_name(index: u64) -> String {
    format!("entry-{index}")
}

/// Writes a value as the content of a file.
async fn write<T: Serialize + DeserializeOwned + Debug + 'static>(name: &str, value: T) -> io::Result<()> {
    let fresh = format!("{name}.new");
    fs::write(&fresh, &BySerde(value).to_bytes(Encoding::Json)).await?;
    fs::rename(&fresh, name).await
}

/// The value that is the content of a file, if there is one.
async fn read<T: Serialize + DeserializeOwned + Debug + 'static>(name: &str) -> io::Result<Option<T>> {
    if !fs::try_exists(name).await? {
        return Ok(None);
    }
    let BySerde(value) =
        BySerde::from_bytes(&fs::read(name).await?, Encoding::Json).ok_or(io::ErrorKind::InvalidData)?;
    Ok(Some(value))
}

/// Waits until all that was written is on disk.
async fn sync() -> io::Result<()> {
    File::open("starts").await?.sync_data().await
}

impl Store {
    /// Opens the disk of a node. An empty one gets the entry with the first members, as `Raft::initialize` writes it: all nodes
    /// are initialised.
    pub async fn open(ways: Ways, members: BTreeSet<u64>) -> io::Result<Self> {
        let starts = read::<u32>("starts").await?.unwrap_or(0) + 1;
        write("starts", starts).await?;
        if starts == 1 {
            let nodes: BTreeMap<u64, EmptyNode> = members.iter().map(|member| (*member, EmptyNode {})).collect();
            let members = Membership::new(vec![members], nodes).map_err(io::Error::other)?;
            write(&entry_name(0), EntryOf::<Config>::new_membership(LogId::new_term_index(0, 0), members)).await?;
        }
        sync().await?;
        let mut content = Content {
            vote: read("vote").await?,
            committed: read("committed").await?,
            purged: read("purged").await?,
            snapshot: read("snapshot").await?,
            ..Content::default()
        };
        if let (Some(vote), Mistake::VoteAsGranted) = (&mut content.vote, ways.mistake) {
            vote.committed = true;
        }
        let mut index = content.purged.map_or(0, |purged| purged.index + 1);
        while let Some(entry) = read::<EntryOf<Config>>(&entry_name(index)).await? {
            content.log.insert(index, entry);
            index += 1;
        }
        Ok(Self { ways, starts, content: Rc::new(RefCell::new(content)) })
    }

    /// The node runs from now on: reads can fail.
    pub fn is_started(&self) {
        self.content.borrow_mut().is_open = true;
    }

    /// The state machine.
    pub fn machine<R>(&self, see: impl FnOnce(&Machine) -> R) -> R {
        see(&self.content.borrow().machine)
    }

    /// The first index that is not purged, and index and term of each entry.
    pub fn log(&self) -> (u64, Vec<(u64, u64)>) {
        let content = self.content.borrow();
        let start = content.purged.map_or(0, |purged| purged.index + 1);
        (start, content.log.iter().map(|(index, entry)| (*index, entry.log_id().leader_id.term)).collect())
    }

    /// Whether a read of the log fails: the checker decides.
    async fn fails(&self) -> bool {
        let can = {
            let content = self.content.borrow();
            content.is_open && content.failed_reads < self.ways.read_errors
        };
        let fails = can && tasks::choose(2).await == 1;
        if fails {
            self.content.borrow_mut().failed_reads += 1;
        }
        fails
    }
}

impl RaftLogReader<Config> for Store {
    async fn try_get_log_entries<R: RangeBounds<u64> + Clone + Debug>(
        &mut self,
        range: R,
    ) -> Result<Vec<EntryOf<Config>>, io::Error> {
        if self.fails().await {
            return Err(io::Error::other("a sector cannot be read"));
        }
        Ok(self.content.borrow().log.range(range).map(|(_, entry)| entry.clone()).collect())
    }

    async fn read_vote(&mut self) -> Result<Option<VoteOf<Config>>, io::Error> {
        Ok(self.content.borrow().vote)
    }
}

impl RaftLogStorage<Config> for Store {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> Result<LogState<Config>, io::Error> {
        let content = self.content.borrow();
        let last = content.log.last_key_value().map(|(_, entry)| entry.log_id());
        Ok(LogState { last_purged_log_id: content.purged, last_log_id: last.or(content.purged) })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &VoteOf<Config>) -> Result<(), io::Error> {
        write("vote", *vote).await?;
        if self.ways.mistake != Mistake::UnsyncedVote {
            sync().await?;
        }
        self.content.borrow_mut().vote = Some(*vote);
        Ok(())
    }

    async fn save_committed(&mut self, committed: Option<LogIdOf<Config>>) -> Result<(), io::Error> {
        if let Some(committed) = committed.filter(|_| self.ways.saves_committed) {
            write("committed", committed).await?;
            sync().await?;
            self.content.borrow_mut().committed = Some(committed);
        }
        Ok(())
    }

    async fn read_committed(&mut self) -> Result<Option<LogIdOf<Config>>, io::Error> {
        Ok(self.content.borrow().committed)
    }

    async fn append<I>(&mut self, entries: I, callback: IOFlushed<Config>) -> Result<(), io::Error>
    where
        I: IntoIterator<Item = EntryOf<Config>>,
    {
        for entry in entries {
            write(&entry_name(entry.index()), entry.clone()).await?;
            self.content.borrow_mut().log.insert(entry.index(), entry);
        }
        let is_early = self.ways.mistake == Mistake::EarlyFlush;
        if self.ways.flush == Flush::AtOnce && !is_early {
            callback.io_completed(sync().await);
            return Ok(());
        }
        let mut callback = Some(callback);
        if is_early && let Some(callback) = callback.take() {
            callback.io_completed(Ok(()));
        }
        tasks::spawn(async move {
            tasks::sleep_named("disk", Duration::from_millis(1)).await;
            let flushed = sync().await;
            if let Some(callback) = callback {
                callback.io_completed(flushed);
            }
        });
        Ok(())
    }

    async fn truncate_after(&mut self, last: Option<LogIdOf<Config>>) -> Result<(), io::Error> {
        let end = last.map_or(0, |last| last.index + 1);
        let removed = self.content.borrow_mut().log.split_off(&end);
        for index in removed.keys().rev() {
            fs::remove_file(&entry_name(*index)).await?;
        }
        sync().await
    }

    async fn purge(&mut self, last: LogIdOf<Config>) -> Result<(), io::Error> {
        write("purged", last).await?;
        let removed = {
            let mut content = self.content.borrow_mut();
            content.purged = Some(last);
            let kept = content.log.split_off(&(last.index + 1));
            std::mem::replace(&mut content.log, kept)
        };
        for index in removed.keys() {
            fs::remove_file(&entry_name(*index)).await?;
        }
        sync().await
    }
}

impl RaftStateMachine<Config> for Store {
    type SnapshotData = Machine;
    type SnapshotBuilder = Builder;

    async fn applied_state(&mut self) -> Result<(Option<LogIdOf<Config>>, StoredMembershipOf<Config>), io::Error> {
        Ok(self.machine(|machine| (machine.applied, machine.membership.clone())))
    }

    async fn apply<S>(&mut self, mut entries: S) -> Result<(), io::Error>
    where
        S: Stream<Item = Result<EntryResponder<Config>, io::Error>> + Unpin,
    {
        while let Some(next) = entries.next().await {
            let (entry, responder) = next?;
            let mut content = self.content.borrow_mut();
            let machine = &mut content.machine;
            machine.applied = Some(entry.log_id);
            match entry.payload {
                EntryPayload::Blank => {}
                EntryPayload::Normal(command) => machine.commands.push((entry.log_id.index, command)),
                EntryPayload::Membership(members) => {
                    machine.membership = StoredMembershipOf::<Config>::new(Some(entry.log_id), members);
                }
            }
            drop(content);
            if let Some(responder) = responder {
                responder.send(String::new());
            }
        }
        Ok(())
    }

    async fn get_snapshot_builder(&mut self) -> Builder {
        Builder { store: self.clone(), machine: self.machine(Machine::clone) }
    }

    async fn install_snapshot(&mut self, _: &SnapshotMetaOf<Config>, machine: Machine) -> Result<(), io::Error> {
        write("snapshot", machine.clone()).await?;
        sync().await?;
        let mut content = self.content.borrow_mut();
        content.snapshot = Some(machine.clone());
        content.machine = machine;
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<SnapshotOf<Config, Machine>>, io::Error> {
        Ok(self.content.borrow().snapshot.clone().map(Machine::snapshot))
    }
}

/// Makes a snapshot of the state machine as it was.
pub struct Builder {
    store: Store,
    machine: Machine,
}

impl RaftSnapshotBuilder<Config> for Builder {
    type SnapshotData = Machine;

    async fn build_snapshot(&mut self) -> Result<SnapshotOf<Config, Machine>, io::Error> {
        write("snapshot", self.machine.clone()).await?;
        sync().await?;
        self.store.content.borrow_mut().snapshot = Some(self.machine.clone());
        Ok(self.machine.clone().snapshot())
    }
}
