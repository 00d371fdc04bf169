//! The library's network: requests and answers as messages.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;

use guest_sdk::tasks::{self, Network};
use guest_sdk::{BySerde, NodeId};
use openraft::async_runtime::oneshot::{Oneshot, OneshotSender};
use openraft::errors::{RPCError, ReplicationClosed, StreamingError, Unreachable};
use openraft::network::RPCOption;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, TransferLeaderRequest, TransferLeaderResponse,
    VoteRequest, VoteResponse,
};
use openraft::type_config::alias::{SnapshotMetaOf, SnapshotOf, VoteOf};
use openraft::{EmptyNode, Raft, RaftNetworkFactory, RaftNetworkV2};
use serde::{Deserialize, Serialize};

use crate::Config;
use crate::runtime::{Channels, OneSender};
use crate::store::{Machine, Mistake, Store};

/// A request of a node to another one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    Append(AppendEntriesRequest<Config>),
    Vote(VoteRequest<Config>),
    PreVote(VoteRequest<Config>),
    Snapshot(VoteOf<Config>, Machine),
    Transfer(TransferLeaderRequest<Config>),
}

/// The answer to a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    Append(AppendEntriesResponse<Config>),
    Vote(VoteResponse<Config>),
    Snapshot(SnapshotResponse<Config>),
    Transfer(TransferLeaderResponse<Config>),
}

/// A request at its sender: after how many starts, and its place among those since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Number {
    starts: u32,
    place: u32,
}

/// A message between two nodes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    Request(Number, Request),
    Reply(Number, Reply),
    /// A client at the sender has an answer that shows the command at this index.
    Seen(u64),
}

/// The requests of a node that wait for answers.
#[derive(Clone)]
pub struct Requests {
    network: Network<BySerde<Message>>,
    mistake: Mistake,
    next: Rc<Cell<Number>>,
    waiting: Rc<RefCell<BTreeMap<Number, OneSender<Reply>>>>,
}

/// A request that waits, until it is answered or dropped.
struct Waits<'r>(&'r Requests, Number);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.waiting.borrow_mut().remove(&self.1);
    }
}

impl Requests {
    /// No requests. `starts` differs between all starts of this node, so that an answer from before a reset is none to a request after it.
    pub fn new(network: Network<BySerde<Message>>, mistake: Mistake, starts: u32) -> Self {
        Self { network, mistake, next: Rc::new(Cell::new(Number { starts, place: 0 })), waiting: Rc::default() }
    }

    /// An answer has arrived. A request that has timed out waits no longer.
    pub fn answered(&self, number: Number, reply: Reply) {
        let waiting = self.waiting.borrow_mut().remove(&number);
        if let Some(sender) = waiting {
            let _ = sender.send(reply);
        }
    }

    async fn ask(&self, to: u64, request: Request, option: &RPCOption) -> Result<Reply, Unreachable<Config>> {
        let number = self.next.get();
        self.next.set(Number { place: number.place + 1, ..number });
        let (sender, receiver) = Channels::channel();
        self.waiting.borrow_mut().insert(number, sender);
        let _waits = Waits(self, number);
        self.network.send_to(to as NodeId, BySerde(Message::Request(number, request)));
        match tasks::timeout(option.hard_ttl(), receiver).await {
            Ok(Ok(reply)) => Ok(reply),
            _ => Err(Unreachable::from_string("no answer in time")),
        }
    }
}

/// Answers a request; nothing if the node has ended.
pub async fn answer(raft: &Raft<Config, Store>, request: Request) -> Option<Reply> {
    Some(match request {
        Request::Append(rpc) => Reply::Append(raft.append_entries(rpc).await.ok()?),
        Request::Vote(rpc) => Reply::Vote(raft.vote(rpc).await.ok()?),
        Request::PreVote(rpc) => Reply::Vote(raft.pre_vote(rpc).await.ok()?),
        Request::Snapshot(vote, machine) => {
            let meta =
                SnapshotMetaOf::<Config> { last_log_id: machine.applied, last_membership: machine.membership.clone() };
            let snapshot = SnapshotOf::<Config, Machine> { meta, snapshot: machine };
            Reply::Snapshot(raft.install_full_snapshot(vote, snapshot).await.ok()?)
        }
        Request::Transfer(rpc) => Reply::Transfer(raft.handle_transfer_leader(rpc).await.ok()?),
    })
}

/// A node as the target of requests.
pub struct Peer {
    requests: Requests,
    target: u64,
}

impl RaftNetworkFactory<Config> for Requests {
    type Network = Peer;

    async fn new_client(&mut self, target: u64, _: &EmptyNode) -> Peer {
        Peer { requests: self.clone(), target }
    }
}

impl Peer {
    async fn ask_for_vote(
        &self,
        request: Request,
        rpc: &VoteRequest<Config>,
        option: &RPCOption,
    ) -> Result<VoteResponse<Config>, RPCError<Config>> {
        match self.requests.ask(self.target, request, option).await? {
            Reply::Vote(_) if self.requests.mistake == Mistake::RefusalAsGrant => {
                Ok(VoteResponse::new(rpc.vote, None, true))
            }
            Reply::Vote(reply) => Ok(reply),
            other => unreachable!("a request has one kind of answer, and not {other:?}"),
        }
    }
}

impl RaftNetworkV2<Config> for Peer {
    type SnapshotData = Machine;

    async fn append_entries(
        &mut self,
        rpc: AppendEntriesRequest<Config>,
        option: RPCOption,
    ) -> Result<AppendEntriesResponse<Config>, RPCError<Config>> {
        match self.requests.ask(self.target, Request::Append(rpc), &option).await? {
            Reply::Append(reply) => Ok(reply),
            other => unreachable!("a request has one kind of answer, and not {other:?}"),
        }
    }

    async fn vote(
        &mut self,
        rpc: VoteRequest<Config>,
        option: RPCOption,
    ) -> Result<VoteResponse<Config>, RPCError<Config>> {
        self.ask_for_vote(Request::Vote(rpc.clone()), &rpc, &option).await
    }

    async fn pre_vote(
        &mut self,
        rpc: VoteRequest<Config>,
        option: RPCOption,
    ) -> Result<VoteResponse<Config>, RPCError<Config>> {
        self.ask_for_vote(Request::PreVote(rpc.clone()), &rpc, &option).await
    }

    async fn full_snapshot(
        &mut self,
        vote: VoteOf<Config>,
        snapshot: SnapshotOf<Config, Machine>,
        _: impl Future<Output = ReplicationClosed> + 'static,
        option: RPCOption,
    ) -> Result<SnapshotResponse<Config>, StreamingError<Config>> {
        match self.requests.ask(self.target, Request::Snapshot(vote, snapshot.snapshot), &option).await? {
            Reply::Snapshot(reply) => Ok(reply),
            other => unreachable!("a request has one kind of answer, and not {other:?}"),
        }
    }

    async fn transfer_leader(
        &mut self,
        rpc: TransferLeaderRequest<Config>,
        option: RPCOption,
    ) -> Result<TransferLeaderResponse<Config>, RPCError<Config>> {
        match self.requests.ask(self.target, Request::Transfer(rpc), &option).await? {
            Reply::Transfer(reply) => Ok(reply),
            other => unreachable!("a request has one kind of answer, and not {other:?}"),
        }
    }
}
