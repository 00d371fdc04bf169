//! The crate openraft, unmodified: its tasks, timers and channels run in the plugin.

mod runtime;
mod store;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use guest_sdk::tasks::{self, Network, Program, Tasks};
use guest_sdk::{
    About, By, BySerde, LocalEvents, Never, NodeId, ParameterError, Parameters, Properties, Randomness, ready_made,
};
use openraft::async_runtime::oneshot::{Oneshot, OneshotSender};
use openraft::async_runtime::watch::WatchReceiver;
use openraft::errors::{RPCError, ReplicationClosed, StreamingError, Unreachable};
use openraft::network::RPCOption;
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, VoteRequest, VoteResponse};
use openraft::type_config::alias::{SnapshotOf, VoteOf};
use openraft::{EmptyNode, Raft, RaftNetworkFactory, RaftNetworkV2, ServerState};
use serde::{Deserialize, Serialize};

use crate::runtime::{Channels, OneSender, Runtime};
use crate::store::Store;

/// A command: its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Command(pub u32);

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

openraft::declare_raft_types!(
    /// The types of the checked cluster.
    pub Config: D = Command, R = String, NodeId = u64, Node = EmptyNode, AsyncRuntime = Runtime
);

/// A request of a node to another one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    Append(AppendEntriesRequest<Config>),
    Vote(VoteRequest<Config>),
    PreVote(VoteRequest<Config>),
}

/// The answer to a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    Append(AppendEntriesResponse<Config>),
    Vote(VoteResponse<Config>),
}

/// A request or an answer, with the number of the request at its sender.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    Request(u32, Request),
    Reply(u32, Reply),
}

/// The requests of a node that wait for answers.
#[derive(Clone)]
struct Requests {
    network: Network<BySerde<Message>>,
    next: Rc<Cell<u32>>,
    waiting: Rc<RefCell<BTreeMap<u32, OneSender<Reply>>>>,
}

/// A request that waits, until it is answered or dropped.
struct Waits<'r>(&'r Requests, u32);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.waiting.borrow_mut().remove(&self.1);
    }
}

impl Requests {
    async fn ask(&self, to: u64, request: Request, option: RPCOption) -> Result<Reply, RPCError<Config>> {
        let number = self.next.replace(self.next.get() + 1);
        let (sender, receiver) = Channels::channel();
        self.waiting.borrow_mut().insert(number, sender);
        let _waits = Waits(self, number);
        self.network.send_to(to as NodeId, BySerde(Message::Request(number, request)));
        match tasks::timeout(option.hard_ttl(), receiver).await {
            Ok(Ok(reply)) => Ok(reply),
            _ => Err(RPCError::Unreachable(Unreachable::from_string("no answer in time"))),
        }
    }
}

/// A node as the target of requests.
struct Peer {
    requests: Requests,
    target: u64,
}

impl RaftNetworkFactory<Config> for Requests {
    type Network = Peer;

    async fn new_client(&mut self, target: u64, _: &EmptyNode) -> Peer {
        Peer { requests: self.clone(), target }
    }
}

impl RaftNetworkV2<Config> for Peer {
    type SnapshotData = ();

    async fn append_entries(
        &mut self,
        rpc: AppendEntriesRequest<Config>,
        option: RPCOption,
    ) -> Result<AppendEntriesResponse<Config>, RPCError<Config>> {
        match self.requests.ask(self.target, Request::Append(rpc), option).await? {
            Reply::Append(reply) => Ok(reply),
            Reply::Vote(_) => unreachable!("a request has one kind of answer"),
        }
    }

    async fn vote(
        &mut self,
        rpc: VoteRequest<Config>,
        option: RPCOption,
    ) -> Result<VoteResponse<Config>, RPCError<Config>> {
        match self.requests.ask(self.target, Request::Vote(rpc), option).await? {
            Reply::Vote(reply) => Ok(reply),
            Reply::Append(_) => unreachable!("a request has one kind of answer"),
        }
    }

    async fn pre_vote(
        &mut self,
        rpc: VoteRequest<Config>,
        option: RPCOption,
    ) -> Result<VoteResponse<Config>, RPCError<Config>> {
        match self.requests.ask(self.target, Request::PreVote(rpc), option).await? {
            Reply::Vote(reply) => Ok(reply),
            Reply::Append(_) => unreachable!("a request has one kind of answer"),
        }
    }

    async fn full_snapshot(
        &mut self,
        _: VoteOf<Config>,
        _: SnapshotOf<Config, ()>,
        _: impl Future<Output = ReplicationClosed> + 'static,
        _: RPCOption,
    ) -> Result<SnapshotResponse<Config>, StreamingError<Config>> {
        unreachable!("no node takes a snapshot")
    }
}

/// The part of a node that its tasks share with its properties.
pub struct Node {
    raft: RefCell<Option<Raft<Config, Store>>>,
    store: Store,
    written: Cell<u32>,
    acknowledged: RefCell<BTreeSet<Command>>,
}

impl Node {
    /// The term in which the node leads.
    fn leads(&self) -> Option<u64> {
        let raft = self.raft.borrow();
        let metrics = raft.as_ref()?.metrics();
        let metrics = metrics.borrow_watched();
        (metrics.state == ServerState::Leader).then_some(metrics.current_term)
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let raft = self.raft.borrow();
        let mut shown = f.debug_struct("Node");
        if let Some(raft) = raft.as_ref() {
            let metrics = raft.metrics();
            let metrics = metrics.borrow_watched();
            shown
                .field("state", &metrics.state)
                .field("term", &metrics.current_term)
                .field("last", &metrics.last_log_index);
        }
        shown.field("commands", &self.store.0.borrow().commands);
        shown.field("acknowledged", &self.acknowledged.borrow()).finish()
    }
}

/// A call of a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Call {
    /// It writes a command.
    Write,
}

/// The checked cluster.
pub struct Checked {
    writes: u32,
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
        Ok(Self { writes: parameters.get("writes", 1, "how many commands each node is given while it leads")? })
    }

    fn start(&self, network: Network<BySerde<Message>>, _: Option<Never>) -> Rc<Node> {
        let node = Rc::new(Node {
            raft: RefCell::default(),
            store: Store::default(),
            written: Cell::new(0),
            acknowledged: RefCell::default(),
        });
        tasks::spawn(run(Rc::clone(&node), network));
        node
    }

    fn calls(&self, node: &Rc<Node>, calls: &mut LocalEvents<Call>) {
        if node.written.get() < self.writes && node.leads().is_some() {
            calls.application("write", Call::Write);
        }
    }

    fn call(&self, node: &Rc<Node>, Call::Write: Call) {
        let command = Command(node.written.replace(node.written.get() + 1));
        let node = Rc::clone(node);
        tasks::spawn(async move {
            let raft = node.raft.borrow().clone().expect("it leads");
            if raft.client_write(command).await.is_ok() {
                node.acknowledged.borrow_mut().insert(command);
            }
        });
    }

    fn properties(claims: &mut Properties<Tasks<Self>>) {
        ready_made::one_leader_per_term(claims.always("one-leader-per-term"), |_, node| node.leads());
        ready_made::logs_agree(claims.always("applied-commands-agree"), |_, node| {
            Some(node.store.0.borrow().commands.clone()).filter(|commands| !commands.is_empty())
        });
        claims.sometimes("elected").node(
            |_, node| Some(node.leads().is_some()),
            |leads| if *leads { Ok(()) } else { Err("does not lead".to_owned()) },
        );
        claims.sometimes("committed").node(
            |_, node| Some(node.store.0.borrow().commands.len()),
            |commands| if *commands > 0 { Ok(()) } else { Err("nothing is committed".to_owned()) },
        );
    }
}

/// A server: makes the node of openraft, and answers the requests of the others.
async fn run(node: Rc<Node>, network: Network<BySerde<Message>>) {
    let requests = Requests { network: network.clone(), next: Rc::default(), waiting: Rc::default() };
    let config = openraft::Config {
        // Queues this long are enough, and short ones are quickly read.
        api_channel_size: Some(16),
        notification_channel_size: Some(16),
        state_machine_channel_size: Some(16),
        ..openraft::Config::default()
    };
    let config = Arc::new(config.validate().expect("the configuration is valid"));
    let me = u64::from(network.me());
    let store = node.store.clone();
    let raft = Raft::new(me, config, requests.clone(), store.clone(), store).await.expect("it starts");
    node.raft.replace(Some(raft.clone()));
    if me == 0 {
        let all: BTreeMap<u64, EmptyNode> = (0..u64::from(network.nodes())).map(|node| (node, EmptyNode {})).collect();
        raft.initialize(all).await.expect("it is new");
    }
    loop {
        let (from, BySerde(message)) = network.recv_from().await;
        match message {
            Message::Reply(number, reply) => {
                // A request that has timed out waits no longer.
                let waiting = requests.waiting.borrow_mut().remove(&number);
                drop(waiting.map(|sender| sender.send(reply)));
            }
            Message::Request(number, request) => {
                let (raft, network) = (raft.clone(), network.clone());
                tasks::spawn(async move {
                    let reply = match request {
                        Request::Append(rpc) => raft.append_entries(rpc).await.map(Reply::Append),
                        Request::Vote(rpc) => raft.vote(rpc).await.map(Reply::Vote),
                        Request::PreVote(rpc) => raft.pre_vote(rpc).await.map(Reply::Vote),
                    };
                    network.send_to(from, BySerde(Message::Reply(number, reply.expect("the node runs"))));
                });
            }
        }
    }
}

guest_sdk::arena!();
guest_sdk::export!(Tasks<Checked>);

#[cfg(test)]
mod tests {
    use guest_sdk::test::Cluster;

    use super::*;

    /// Nodes take turns: all messages arrive, a node that leads is given a command, and its next timer fires.
    #[test]
    fn a_leader_is_elected_and_a_command_commits() {
        let mut cluster = Cluster::<Tasks<Checked>>::new(3, &[("writes", "100")]).expect("the parameters fit");
        let applied =
            |cluster: &Cluster<Tasks<Checked>>, node: NodeId| cluster.state(node).store.0.borrow().commands.len();
        for node in (0..3).cycle().take(300) {
            cluster.settle();
            if cluster.state(node).leads().is_some() {
                cluster.happen(node, "write");
                cluster.settle();
            }
            if let Some(timer) = cluster.local_events(node).first().map(|event| event.name) {
                cluster.happen(node, timer);
            }
        }
        let counts = [0, 1, 2].map(|node| applied(&cluster, node));
        assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
        let acknowledged = (0..3).any(|node| !cluster.state(node).acknowledged.borrow().is_empty());
        assert!(acknowledged, "no client has an answer");
        assert_eq!(cluster.check(), Ok(()));
    }
}
