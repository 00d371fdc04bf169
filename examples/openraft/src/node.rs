//! The part of a node that its tasks share with its properties: the library's node, and what clients at this node know.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::rc::Rc;

use guest_sdk::tasks::{self, Network};
use guest_sdk::{BySerde, LocalEvents};
use openraft::async_runtime::watch::WatchReceiver;
use openraft::raft::ReadPolicy;
use openraft::{ChangeMembers, Raft, ServerState};
use serde::{Deserialize, Serialize};

use crate::network::Message;
use crate::store::Store;
use crate::{Command, Config, Limits};

/// A call of the application.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Call {
    /// An election begins.
    Elect,
    /// A heartbeat is sent to all.
    Heartbeat,
    /// A client writes a command.
    Write,
    /// A client reads.
    Read,
    /// A snapshot is taken, and the log before it is purged.
    Snapshot,
    /// A voter becomes a learner.
    Remove(u64),
    /// All nodes become voters.
    Restore,
    /// Another node is to lead.
    Transfer(u64),
}

/// The events of a node that clients and properties remember.
#[derive(Debug, Default)]
pub struct Record {
    spent: Limits,
    /// The term and the command at each acknowledged index.
    acknowledged: BTreeMap<u64, (u64, Command)>,
    /// The greatest index of a command that some client has seen before now.
    seen: u64,
    /// Reads that have returned.
    pub reads: u32,
    out_of_order: String,
}

/// The part of a node that its tasks share with its properties.
pub struct Node {
    limits: Limits,
    network: Network<BySerde<Message>>,
    /// None until the node is started.
    pub raft: RefCell<Option<(Raft<Config, Store>, Store)>>,
    pub record: RefCell<Record>,
}

/// An entry: its index and its term.
type Place = (u64, u64);

/// The part of a node that a property sees: entries that it knows as committed, and the log of one that leads.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct View {
    committed: Vec<Place>,
    leads: Option<u64>,
    /// The first index that is not purged.
    start: u64,
    log: Vec<Place>,
}

impl View {
    /// Refuses a leader without an entry that was acknowledged or applied in an earlier term.
    pub fn lost(views: &[Option<Self>]) -> Result<(), String> {
        let views = || (0..).zip(views).filter_map(|(node, view)| Some((node, view.as_ref()?)));
        for (at, view) in views() {
            for (index, term) in &view.committed {
                let later = |leader: &Self| leader.leads.filter(|leads| leads > term);
                let lacks = |leader: &Self| *index >= leader.start && !leader.log.contains(&(*index, *term));
                let found: Option<(u32, u64)> = views()
                    .find_map(|(node, leader)| later(leader).filter(|_| lacks(leader)).map(|later| (node, later)));
                if let Some((node, later)) = found {
                    return Err(format!(
                        "node {node} leads term {later} without entry {index} of term {term}, which node {at} knows as committed"
                    ));
                }
            }
        }
        Ok(())
    }
}

impl Node {
    /// A node that is not started.
    pub fn new(limits: Limits, network: Network<BySerde<Message>>) -> Self {
        Self { limits, network, raft: RefCell::default(), record: RefCell::default() }
    }

    /// The term in which the node leads.
    pub fn leads(&self) -> Option<u64> {
        let raft = self.raft.borrow();
        let metrics = raft.as_ref()?.0.metrics();
        let metrics = metrics.borrow_watched();
        (metrics.state == ServerState::Leader && metrics.running_state.is_ok()).then_some(metrics.current_term)
    }

    /// The voters that the node knows.
    pub fn voters(&self) -> BTreeSet<u64> {
        let raft = self.raft.borrow();
        let metrics = raft.as_ref().map(|(raft, _)| raft.metrics());
        metrics
            .iter()
            .flat_map(|metrics| metrics.borrow_watched().membership_config.voter_ids().collect::<Vec<_>>())
            .collect()
    }

    /// The applied commands with their indices.
    pub fn applied(&self) -> Vec<(u64, Command)> {
        let raft = self.raft.borrow();
        raft.as_ref().map(|(_, store)| store.machine(|machine| machine.commands.clone())).unwrap_or_default()
    }

    /// The view of the property of committed entries.
    pub fn view(&self) -> Option<View> {
        let record = self.record.borrow();
        let mut committed: Vec<Place> = record.acknowledged.iter().map(|(index, (term, _))| (*index, *term)).collect();
        let raft = self.raft.borrow();
        let (_, store) = raft.as_ref()?;
        committed
            .extend(store.machine(|machine| machine.applied).map(|applied| (applied.index, applied.leader_id.term)));
        let leads = self.leads();
        let (start, log) = if leads.is_some() { store.log() } else { Default::default() };
        (leads.is_some() || !committed.is_empty()).then_some(View { committed, leads, start, log })
    }

    /// An operation that was answered against the order of time.
    pub fn out_of_order(&self) -> Option<String> {
        Some(self.record.borrow().out_of_order.clone()).filter(|found| !found.is_empty())
    }

    /// A client has seen the command at this index.
    pub fn learn(&self, index: u64) {
        let mut record = self.record.borrow_mut();
        record.seen = record.seen.max(index);
    }

    /// A client here has an answer that shows the command at this index. Where there are reads, clients elsewhere hear of it.
    fn saw(&self, index: u64) {
        self.learn(index);
        if self.limits.reads > 0 {
            for other in self.network.others() {
                self.network.send_to(other, BySerde(Message::Seen(index)));
            }
        }
    }

    /// Lists the calls that are possible now.
    pub fn list(&self, calls: &mut LocalEvents<Call>) {
        let [spent, limits] = [self.record.borrow().spent, self.limits];
        let is_leader = self.leads().is_some();
        if spent.elections < limits.elections && !is_leader {
            calls.timer("elect", Call::Elect);
        }
        if spent.snapshots < limits.snapshots {
            calls.internal("snapshot", Call::Snapshot);
        }
        if !is_leader {
            return;
        }
        if spent.heartbeats < limits.heartbeats {
            calls.timer("heartbeat", Call::Heartbeat);
        }
        if spent.writes < limits.writes {
            calls.application("write", Call::Write);
        }
        if spent.reads < limits.reads {
            calls.application("read", Call::Read);
        }
        let others: Vec<u64> = self.network.others().map(u64::from).collect();
        if spent.changes < limits.changes {
            let voters = self.voters();
            if voters.len() > others.len() {
                // The leader itself can be removed as well.
                (0..=others.len() as u64).for_each(|node| calls.application("remove", Call::Remove(node)));
            } else {
                calls.application("restore", Call::Restore);
            }
        }
        if spent.transfers < limits.transfers {
            others.iter().for_each(|other| calls.application("transfer", Call::Transfer(*other)));
        }
    }

    /// The application makes a call.
    pub fn call(self: &Rc<Self>, call: Call, pre_vote: bool, policy: ReadPolicy) {
        let (raft, store) = self.raft.borrow().clone().expect("only a node that is started lists calls");
        let mut record = self.record.borrow_mut();
        let number = record.spent.writes;
        *record.spent.of(&call) += 1;
        let seen = record.seen;
        drop(record);
        let node = Rc::clone(self);
        tasks::spawn(async move {
            match call {
                Call::Elect => drop(raft.trigger().elect(pre_vote).await),
                Call::Heartbeat => drop(raft.trigger().heartbeat().await),
                Call::Write => {
                    let command = Command { node: u64::from(node.network.me()), starts: store.starts, number };
                    if let Ok(written) = raft.client_write(command).await {
                        let mut record = node.record.borrow_mut();
                        record.acknowledged.insert(written.log_id.index, (written.log_id.leader_id.term, command));
                        if written.log_id.index <= seen {
                            record.out_of_order =
                                format!("a command is written at {}, and {seen} was seen before", written.log_id.index);
                        }
                        drop(record);
                        node.saw(written.log_id.index);
                    }
                }
                Call::Read => {
                    if raft.ensure_linearizable(policy).await.is_ok() {
                        let last = store.machine(|machine| machine.last());
                        let mut record = node.record.borrow_mut();
                        record.reads += 1;
                        if last < seen {
                            record.out_of_order =
                                format!("a read shows commands up to {last}, and {seen} was seen before");
                        }
                        drop(record);
                        node.saw(last);
                    }
                }
                // The log before it is purged by the configuration, when no request that is under way has a part of it.
                Call::Snapshot => drop(raft.trigger().snapshot().await),
                Call::Remove(voter) => {
                    let change = ChangeMembers::RemoveVoters(BTreeSet::from([voter]));
                    drop(raft.change_membership(change, true).await);
                }
                Call::Restore => {
                    let all = (0..u64::from(node.network.nodes())).collect();
                    drop(raft.change_membership(ChangeMembers::AddVoterIds(all), true).await);
                }
                Call::Transfer(to) => drop(raft.trigger().transfer_leader(to).await),
            }
        });
    }
}

impl Limits {
    fn of(&mut self, call: &Call) -> &mut u32 {
        match call {
            Call::Elect => &mut self.elections,
            Call::Heartbeat => &mut self.heartbeats,
            Call::Write => &mut self.writes,
            Call::Read => &mut self.reads,
            Call::Snapshot => &mut self.snapshots,
            Call::Remove(_) | Call::Restore => &mut self.changes,
            Call::Transfer(_) => &mut self.transfers,
        }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let raft = self.raft.borrow();
        let mut shown = f.debug_struct("Node");
        if let Some((raft, _)) = raft.as_ref() {
            let metrics = raft.metrics();
            let metrics = metrics.borrow_watched();
            shown
                .field("state", &metrics.state)
                .field("term", &metrics.current_term)
                .field("last", &metrics.last_log_index);
        }
        let record = self.record.borrow();
        shown.field("applied", &self.applied()).field("acknowledged", &record.acknowledged);
        shown.field("seen", &record.seen).field("reads", &record.reads).finish()
    }
}
