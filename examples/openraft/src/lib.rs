//! The crate openraft, unmodified: its tasks, timers and channels run in the plugin, and its log is on the disk of the node.

mod network;
mod node;
mod runtime;
mod store;

use std::collections::BTreeSet;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use guest_sdk::tasks::{self, Network, Program, Tasks};
use guest_sdk::{
    About, By, BySerde, LocalEvents, Never, ParameterError, Parameters, Properties, Randomness, ready_made,
};
use openraft::raft::ReadPolicy;
use openraft::{EmptyNode, Raft, SnapshotPolicy, impls::leader_id_std};
use serde::{Deserialize, Serialize};

use crate::network::{Message, Requests, answer};
use crate::node::{Call, Node, View};
use crate::runtime::{Runtime, Sleeping};
use crate::store::{Flush, Mistake, Store, Ways};

/// A command, which no other one equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Command {
    /// The node that was given it.
    pub node: u64,
    /// Starts of that node up to then.
    pub starts: u32,
    /// Its number since then.
    pub number: u32,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.node, self.starts, self.number)
    }
}

openraft::declare_raft_types!(
    /// The types of the checked cluster. A term has one leader.
    pub Config:
        D = Command,
        R = String,
        NodeId = u64,
        Node = EmptyNode,
        LeaderId = leader_id_std::LeaderId<u64, u64>,
        AsyncRuntime = Runtime
);

/// Numbers of calls of a node, between two starts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Elections that it begins by a call. With none, the timers of the library begin them.
    pub elections: u32,
    pub heartbeats: u32,
    pub writes: u32,
    pub reads: u32,
    pub snapshots: u32,
    pub changes: u32,
    pub transfers: u32,
}

/// The checked cluster.
#[derive(Clone, Copy, Debug)]
pub struct Checked {
    limits: Limits,
    ways: Ways,
    pre_vote: bool,
    lease: bool,
    short_sleeps: bool,
}

impl Program for Checked {
    const ABOUT: About = guest_sdk::about!().nodes(3);
    const RANDOMNESS: Randomness = Randomness::Constant;
    // Each node reads its clock at each step, so hardly any two states are equal.
    const IDENTITY: By = By::History;
    type Message = BySerde<Message>;
    type Call = Call;
    type Durable = Never;
    type Shared = Rc<Node>;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let limits = Limits {
            writes: parameters.get("writes", 1, "commands that each node is given while it leads")?,
            elections: parameters.get(
                "elections",
                0,
                "elections that each node begins by calls; 0 leaves them to the timers of the library",
            )?,
            heartbeats: parameters.get("heartbeats", 0, "heartbeats that each node sends by calls")?,
            reads: parameters.get("reads", 0, "linearizable reads that each node serves while it leads")?,
            snapshots: parameters.get(
                "snapshots",
                0,
                "snapshots that each node takes, after which it purges its log",
            )?,
            changes: parameters.get("changes", 0, "changes of the voters that each node makes while it leads")?,
            transfers: parameters.get("transfers", 0, "transfers of its leadership that each node begins")?,
        };
        let mistakes = [
            ("none", Mistake::None),
            ("unsynced-vote", Mistake::UnsyncedVote),
            ("early-flush", Mistake::EarlyFlush),
            ("vote-as-granted", Mistake::VoteAsGranted),
            ("refusal-as-grant", Mistake::RefusalAsGrant),
        ];
        let ways = Ways {
            mistake: parameters.choice("bug", &mistakes, "a mistake on purpose")?,
            flush: parameters.choice(
                "flush",
                &[("at-once", Flush::AtOnce), ("later", Flush::Later)],
                "the moment at which entries are on disk: when they are appended, or after an event",
            )?,
            saves_committed: parameters.choice(
                "committed",
                &[("saved", true), ("lost", false)],
                "the committed log id is on disk, or lost at a reset",
            )?,
            read_errors: parameters.get("read-errors", 0, "reads of its log that can fail on each node")?,
        };
        Ok(Self {
            limits,
            ways,
            pre_vote: parameters.get("pre-vote", false, "elections begin with a pre-vote")?,
            lease: parameters.choice(
                "read-policy",
                &[("read-index", false), ("lease", true)],
                "a read asks a quorum, or relies on the lease of the leader",
            )?,
            short_sleeps: parameters.get("short-sleeps", false, "sleeping for a microsecond is an event")?,
        })
    }

    fn start(&self, network: Network<BySerde<Message>>, _: Option<Never>) -> Rc<Node> {
        Sleeping { short: self.short_sleeps, ticks: self.limits.elections == 0 }.set();
        let node = Rc::new(Node::new(self.limits, network.clone()));
        tasks::spawn(run(*self, Rc::clone(&node), network));
        node
    }

    fn calls(&self, node: &Rc<Node>, calls: &mut LocalEvents<Call>) {
        node.list(calls);
    }

    fn call(&self, node: &Rc<Node>, call: Call) {
        let policy = if self.lease { ReadPolicy::LeaseRead } else { ReadPolicy::ReadIndex };
        node.call(call, self.pre_vote, policy);
    }

    fn properties(claims: &mut Properties<Tasks<Self>>) {
        ready_made::one_leader_per_term(claims.always("one-leader-per-term"), |_, node| node.leads());
        ready_made::logs_agree(claims.always("applied-commands-agree"), |_, node| {
            Some(node.applied()).filter(|commands| !commands.is_empty())
        });
        claims.always("committed-is-kept").system(|_, node| node.view(), View::lost);
        claims
            .always("operations-in-their-order")
            .node(|_, node| node.out_of_order(), |found| if found.is_empty() { Ok(()) } else { Err(found.clone()) });
        claims.sometimes("elected").node(
            |_, node| Some(node.leads().is_some()),
            |leads| if *leads { Ok(()) } else { Err("does not lead".to_owned()) },
        );
        claims.sometimes("committed").node(
            |_, node| Some(node.applied().len()),
            |commands| if *commands > 0 { Ok(()) } else { Err("nothing is committed".to_owned()) },
        );
        claims.sometimes("read").node(
            |_, node| Some(node.record.borrow().reads),
            |reads| if *reads > 0 { Ok(()) } else { Err("no read has returned".to_owned()) },
        );
    }
}

/// A server: opens the disk, makes the node of openraft, and answers the requests of the others.
async fn run(checked: Checked, node: Rc<Node>, network: Network<BySerde<Message>>) {
    let members: BTreeSet<u64> = (0..u64::from(network.nodes())).collect();
    let store = Store::open(checked.ways, members).await.expect("the disk has what this program writes");
    let by_calls = checked.limits.elections > 0;
    let config = openraft::Config {
        // Queues this long are enough, and short ones are quickly read.
        api_channel_size: Some(16),
        notification_channel_size: Some(16),
        state_machine_channel_size: Some(16),
        enable_tick: !by_calls,
        enable_pre_vote: Some(checked.pre_vote),
        snapshot_policy: SnapshotPolicy::Never,
        max_in_snapshot_log_to_keep: 0,
        ..openraft::Config::default()
    };
    let config = Arc::new(config.validate().expect("the configuration is valid"));
    let requests = Requests::new(network.clone(), checked.ways.mistake, store.starts);
    let raft = Raft::new(u64::from(network.me()), config, requests.clone(), store.clone(), store.clone()).await;
    let raft = raft.expect("it starts");
    store.is_started();
    node.raft.replace(Some((raft.clone(), store)));
    if by_calls {
        tasks::spawn(async move {
            for _ in 0..checked.limits.elections {
                // Longer than the lease of a leader.
                tasks::sleep_named("pause", Duration::from_millis(400)).await;
            }
        });
    }
    loop {
        let (from, BySerde(message)) = network.recv_from().await;
        match message {
            Message::Seen(index) => node.learn(index),
            Message::Reply(number, reply) => requests.answered(number, reply),
            Message::Request(number, request) => {
                let (raft, network) = (raft.clone(), network.clone());
                tasks::spawn(async move {
                    if let Some(reply) = answer(&raft, request).await {
                        network.send_to(from, BySerde(Message::Reply(number, reply)));
                    }
                });
            }
        }
    }
}

guest_sdk::arena!();
guest_sdk::export!(Tasks<Checked>);

#[cfg(test)]
mod tests;
