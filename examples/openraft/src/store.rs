//! Log and state machine in memory.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;
use std::ops::RangeBounds;
use std::rc::Rc;

use futures_util::{Stream, StreamExt};
use openraft::entry::RaftEntry;
use openraft::storage::{EntryResponder, IOFlushed, RaftLogStorage, RaftStateMachine};
use openraft::type_config::alias::{EntryOf, LogIdOf, SnapshotMetaOf, SnapshotOf, StoredMembershipOf, VoteOf};
use openraft::{EntryPayload, LogState, RaftLogReader, RaftSnapshotBuilder};

use crate::{Command, Config};

/// The log, the vote and the state machine of a node. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Store(pub Rc<RefCell<Content>>);

#[derive(Debug, Default)]
pub struct Content {
    vote: Option<VoteOf<Config>>,
    log: BTreeMap<u64, EntryOf<Config>>,
    applied: Option<LogIdOf<Config>>,
    membership: StoredMembershipOf<Config>,
    /// The index and the command of each entry that the state machine has taken.
    pub commands: Vec<(u64, Command)>,
}

impl RaftLogReader<Config> for Store {
    async fn try_get_log_entries<R: RangeBounds<u64> + Clone + Debug>(
        &mut self,
        range: R,
    ) -> Result<Vec<EntryOf<Config>>, io::Error> {
        Ok(self.0.borrow().log.range(range).map(|(_, entry)| entry.clone()).collect())
    }

    async fn read_vote(&mut self) -> Result<Option<VoteOf<Config>>, io::Error> {
        Ok(self.0.borrow().vote)
    }
}

impl RaftLogStorage<Config> for Store {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> Result<LogState<Config>, io::Error> {
        let last_log_id = self.0.borrow().log.last_key_value().map(|(_, entry)| entry.log_id());
        Ok(LogState { last_purged_log_id: None, last_log_id })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &VoteOf<Config>) -> Result<(), io::Error> {
        self.0.borrow_mut().vote = Some(*vote);
        Ok(())
    }

    async fn append<I>(&mut self, entries: I, callback: IOFlushed<Config>) -> Result<(), io::Error>
    where
        I: IntoIterator<Item = EntryOf<Config>>,
    {
        self.0.borrow_mut().log.extend(entries.into_iter().map(|entry| (entry.index(), entry)));
        callback.io_completed(Ok(()));
        Ok(())
    }

    async fn truncate_after(&mut self, last: Option<LogIdOf<Config>>) -> Result<(), io::Error> {
        let end = last.map_or(0, |last| last.index + 1);
        self.0.borrow_mut().log.split_off(&end);
        Ok(())
    }

    async fn purge(&mut self, _: LogIdOf<Config>) -> Result<(), io::Error> {
        Err(io::Error::other("a log this short is not purged"))
    }
}

impl RaftStateMachine<Config> for Store {
    type SnapshotData = ();
    type SnapshotBuilder = Self;

    async fn applied_state(&mut self) -> Result<(Option<LogIdOf<Config>>, StoredMembershipOf<Config>), io::Error> {
        let content = self.0.borrow();
        Ok((content.applied, content.membership.clone()))
    }

    async fn apply<S>(&mut self, mut entries: S) -> Result<(), io::Error>
    where
        S: Stream<Item = Result<EntryResponder<Config>, io::Error>> + Unpin,
    {
        while let Some(next) = entries.next().await {
            let (entry, responder) = next?;
            let mut content = self.0.borrow_mut();
            content.applied = Some(entry.log_id);
            match entry.payload {
                EntryPayload::Blank => {}
                EntryPayload::Normal(command) => content.commands.push((entry.log_id.index, command)),
                EntryPayload::Membership(members) => {
                    content.membership = StoredMembershipOf::<Config>::new(Some(entry.log_id), members);
                }
            }
            drop(content);
            if let Some(responder) = responder {
                responder.send(String::new());
            }
        }
        Ok(())
    }

    async fn get_snapshot_builder(&mut self) -> Self {
        self.clone()
    }

    async fn install_snapshot(&mut self, _: &SnapshotMetaOf<Config>, _: ()) -> Result<(), io::Error> {
        Err(io::Error::other("no node takes a snapshot"))
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<SnapshotOf<Config, ()>>, io::Error> {
        Ok(None)
    }
}

impl RaftSnapshotBuilder<Config> for Store {
    type SnapshotData = ();

    async fn build_snapshot(&mut self) -> Result<SnapshotOf<Config, ()>, io::Error> {
        Err(io::Error::other("no node takes a snapshot"))
    }
}
