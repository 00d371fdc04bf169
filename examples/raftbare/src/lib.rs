//! The crate raftbare, unmodified: nodes agree on a log of commands. `../noraft` is the same with its successor.

mod wire;

use guest_sdk::ready_made::{self, Budgets, Spent};
use guest_sdk::{
    About, By, Context, Distinguish, LocalEvents, NodeId, Opaque, ParameterError, Parameters, Properties, Protocol,
};
use library::{Action, ClusterConfig, Log, LogEntries, LogEntry, LogPosition, Node, Term};
#[cfg(not(feature = "raftbare"))]
use noraft as library;
#[cfg(feature = "raftbare")]
use raftbare as library;
use serde::{Deserialize, Serialize};

pub use wire::{Entry, Kind, Packet, Position};

/// A node of the library, its disk and its timer.
#[derive(Debug)]
pub struct Replica {
    node: Node,
    disk: Disk,
    is_timer_set: bool,
    spent: Spent,
}

/// The library derives `Debug` for all that it has; metrics are counters for people.
impl Distinguish for Replica {
    const BY: By = By::Debug { without: &["metrics"] };
}

/// The contents of the disk. The log begins with its first entry: nothing is compacted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Disk {
    term: u64,
    voted_for: Option<u64>,
    log: Vec<Entry>,
}

/// A local event of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// Its timer fires: an election, or the heartbeat of a leader.
    Timeout,
    /// A client asks the leader.
    Propose,
    /// A request to the leader to add or remove a node.
    Change,
}

/// The checked protocol, with limits on its local events.
pub struct Checked {
    budgets: Budgets<Local>,
    is_running: bool,
}

fn id(node: NodeId) -> library::NodeId {
    library::NodeId::new(u64::from(node))
}

impl Disk {
    /// A cluster that the first node has created and leads in term 1, as all others know.
    fn of_a_cluster(nodes: u32) -> Self {
        let config = Entry::Config { voters: (0..nodes).map(u64::from).collect(), new_voters: Vec::new() };
        Self { term: 1, voted_for: Some(0), log: vec![config, Entry::Term(1)] }
    }
}

impl Replica {
    /// A node that starts. The first of a new cluster creates it.
    fn start(me: NodeId, nodes: u32, disk: Option<Disk>) -> Self {
        let node = match &disk {
            None => {
                let mut node = Node::start(id(me));
                if me == 0 {
                    node.create_cluster(&(0..nodes).map(id).collect::<Vec<_>>());
                }
                node
            }
            Some(disk) => {
                let entries = disk.log.iter().cloned().map(LogEntry::from);
                let log = Log::new(ClusterConfig::new(), LogEntries::from_iter(LogPosition::ZERO, entries));
                Node::restart(id(me), Term::new(disk.term), disk.voted_for.map(library::NodeId::new), log)
            }
        };
        Self { node, disk: disk.unwrap_or_default(), is_timer_set: false, spent: Spent::default() }
    }

    /// Executes the library's actions. Writes are on disk when the handler ends; messages leave only then.
    fn act(&mut self, ctx: &mut Context<Packet>) {
        while let Some(action) = self.node.actions_mut().next() {
            match action {
                Action::SetElectionTimeout => self.is_timer_set = true,
                Action::SaveCurrentTerm => self.disk.term = self.node.current_term().get(),
                Action::SaveVotedFor => self.disk.voted_for = self.node.voted_for().map(library::NodeId::get),
                Action::AppendLogEntries(entries) => {
                    self.disk.log.truncate(entries.prev_position().index.get() as usize);
                    self.disk.log.extend(entries.iter().map(Entry::from));
                }
                Action::BroadcastMessage(message) => {
                    self.node.peers().for_each(|peer| ctx.send(peer.get() as NodeId, Packet::new(&message)));
                }
                Action::SendMessage(to, message) => ctx.send(to.get() as NodeId, Packet::new(&message)),
                // No snapshot exists to install.
                Action::InstallSnapshot(_) => {}
            }
        }
    }

    /// The leader adds a node to the voters, or removes it if it is one.
    fn change(&mut self, node: library::NodeId) {
        let config = self.node.config();
        let new = match config.voters.contains(&node) {
            true => config.to_joint_consensus(&[], &[node]),
            false => config.to_joint_consensus(&[node], &[]),
        };
        if !new.new_voters.is_empty() {
            self.node.propose_config(new);
        }
    }

    /// The committed entries, in order, each with its term.
    pub fn committed(&self) -> Vec<(u64, Entry)> {
        let all = self.node.log().entries().iter_with_positions();
        let committed = all.take_while(|(position, _)| position.index <= self.node.commit_index());
        committed.map(|(position, entry)| (position.term.get(), entry.into())).collect()
    }
}

impl Protocol for Checked {
    const ABOUT: About = guest_sdk::about!().nodes(3);
    type State = Opaque<Replica>;
    type Message = Packet;
    type Local = Local;
    type Durable = Disk;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let timeouts = parameters.get("timeouts", 2, "how often the timer of each node fires")?;
        let proposals = parameters.get("proposals", 1, "how many commands each leader takes")?;
        let changes = parameters.get("changes", 0, "how often each leader takes a node in or out")?;
        let budgets = Budgets::new().timer("timeout", Local::Timeout, timeouts);
        let budgets = budgets.application("propose", Local::Propose, proposals);
        let starts = [("running", true), ("created", false)];
        let start =
            "whether all nodes come back from what is on disk once a cluster was created, or the first one creates it";
        Ok(Self {
            budgets: budgets.application("change", Local::Change, changes),
            is_running: parameters.choice("start", &starts, start)?,
        })
    }

    fn init(&self, ctx: &mut Context<Packet>, disk: Option<Disk>) -> Opaque<Replica> {
        let disk = disk.or_else(|| self.is_running.then(|| Disk::of_a_cluster(ctx.nodes())));
        let mut replica = Replica::start(ctx.me(), ctx.nodes(), disk);
        replica.act(ctx);
        Opaque::new(replica)
    }

    fn handle_message(&self, ctx: &mut Context<Packet>, replica: &mut Opaque<Replica>, from: NodeId, packet: Packet) {
        #[cfg(feature = "raftbare")]
        replica.node.handle_message(packet.into_message(from));
        #[cfg(not(feature = "raftbare"))]
        replica.node.handle_message(&packet.into_message(from)).expect("no snapshot conflicts with a log");
        replica.act(ctx);
    }

    fn local_events(&self, replica: &Opaque<Replica>, events: &mut LocalEvents<Local>) {
        let leads = replica.node.role().is_leader();
        self.budgets.list(&replica.spent, events, |event| match event {
            Local::Timeout => replica.is_timer_set,
            Local::Propose => leads,
            Local::Change => leads && !replica.node.config().is_joint_consensus(),
        });
    }

    fn handle_local(&self, ctx: &mut Context<Packet>, replica: &mut Opaque<Replica>, event: Local) {
        self.budgets.spend(&mut replica.spent, &event);
        match event {
            Local::Timeout => {
                replica.is_timer_set = false;
                replica.node.handle_election_timeout();
            }
            Local::Propose => {
                replica.node.propose_command();
            }
            Local::Change => replica.change(id(ctx.choose(ctx.nodes()))),
        }
        replica.act(ctx);
    }

    fn persist(&self, replica: &Opaque<Replica>) -> Option<Disk> {
        Some(replica.disk.clone())
    }

    /// The properties of Raft; the library calls itself "a very straightforward (yet efficient) implementation".
    fn properties(claims: &mut Properties<Self>) {
        ready_made::one_leader_per_term(claims.always("election-safety"), |_, replica| {
            replica.node.role().is_leader().then(|| replica.node.current_term().get())
        });
        // "Commands up to this index are safely applied to the state machine."
        ready_made::logs_agree(claims.always("state-machine-safety"), |_, replica| {
            Some(replica.committed()).filter(|committed| !committed.is_empty())
        });
        claims.sometimes("committed").node(
            |_, replica| replica.committed().iter().any(|(_, entry)| *entry == Entry::Command).then_some(()),
            |()| Ok(()),
        );
    }
}

guest_sdk::export!(Checked);
