//! Why an input is refused, and the counts of a node.

use std::collections::BTreeMap;

use host_model::contract::{Fault, MachineError, NodeId};

use crate::checkpoint::{Dropped, Unreadable};
use crate::node::disks::DiskId;

/// The reason why a frame is not processed. The node is unchanged, except for its checkpoint number if the frame is too far ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is shorter or longer than its head says.
    #[error("the frame has another length than it says")]
    Length,
    /// It is longer than a frame can be.
    #[error("the frame is longer than the limit")]
    TooLong,
    /// It is from another program.
    #[error("it is no frame of a node")]
    Magic,
    /// It has another version of the format.
    #[error("the frame has version {0} of the format; all nodes have to run the same version of the program")]
    Version(u16),
    /// It is from another cluster.
    #[error(
        "it is from another cluster: another name, another component, other parameters, another network or another number of nodes"
    )]
    Cluster,
    /// It is for another node.
    #[error("it is for node {0}")]
    Addressee(NodeId),
    /// It is from a node that does not exist.
    #[error("it is from node {0}, which the cluster does not have")]
    Sender(NodeId),
    /// Its sender is not proven: the node at the address of the named sender denies it.
    #[error("it says that it is from node {0}, and what is at the address of that node has not sent it")]
    Unproven(NodeId),
    /// It arrived over a connection with another node.
    #[error("it says that it is from node {0}, and its connection is with another one")]
    Impostor(NodeId),
    /// Its content was changed on the way.
    #[error("its content is damaged")]
    Damaged,
    /// It has a checkpoint as a difference from one that this node does not have, or no longer has: it is late or forged.
    #[error("it is the difference from a checkpoint that is not there")]
    NoBase,
    /// It is a checkpoint that this node has not requested: it is late or forged.
    #[error("it is a checkpoint that this node has not asked for")]
    Unasked,
    /// It takes too much memory when decoded.
    #[error("it takes too much memory once it is read")]
    Costly,
    /// Two processes have the identity of one node.
    #[error("two processes are node {0}")]
    TwoOfOne(NodeId),
    /// Its sender had another disk: its data file was lost, or two processes have the identity of one node.
    #[error(
        "node {0} had another data file before: that was lost, or two processes are node {0}; restore the file, or start node {0} again \
         with `--rejoin`"
    )]
    OtherDisk(NodeId),
    /// Other nodes know this node by another disk.
    #[error(
        "other nodes know this node by another data file, up to start {start}: that was lost, or two processes are this node; restore the \
         file, or start the node again with `--rejoin`, as one that knows nothing"
    )]
    LostDisk {
        /// The disk that they know.
        disk: DiskId,
        /// The latest start of the node with it.
        start: u64,
    },
    /// On an ordered link, a frame of a newer connection has overtaken it.
    #[error("a later message of its sender was processed")]
    Overtaken,
    /// It is too late, or was received before.
    #[error(transparent)]
    Dropped(#[from] Dropped),
    /// There is no room left for frames of its sender.
    #[error("there is no room left for frames of its sender")]
    OverBudget,
    /// Too many outputs wait for the disk.
    #[error("too much waits for the disk")]
    Full,
    /// The node has failed.
    #[error("the node has failed")]
    Failed,
}

impl Refusal {
    /// The latest start and the disk of this node that another node knows, if its own data is older. The default disk stands for its
    /// own.
    pub fn known(&self) -> Option<(u64, DiskId)> {
        match *self {
            Self::Dropped(Dropped::LaterStart(start)) => Some((start, DiskId::default())),
            Self::LostDisk { disk, start } => Some((start, disk)),
            _ => None,
        }
    }

    /// Its name, for metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::TooLong => "too-long",
            Self::Magic => "magic",
            Self::Version(_) => "version",
            Self::Cluster => "cluster",
            Self::Addressee(_) => "addressee",
            Self::Sender(_) => "sender",
            Self::Unproven(_) => "unproven",
            Self::Impostor(_) => "impostor",
            Self::Damaged => "damaged",
            Self::NoBase => "no-base",
            Self::Unasked => "unasked",
            Self::Costly => "costly",
            Self::TwoOfOne(_) => "two-of-one",
            Self::OtherDisk(_) => "other-disk",
            Self::LostDisk { .. } => "lost-disk",
            Self::Overtaken => "overtaken",
            Self::Dropped(Dropped::FormerSender) => "former-sender",
            Self::Dropped(Dropped::FormerAddressee) => "former-addressee",
            Self::Dropped(Dropped::Repeated) => "repeated",
            Self::Dropped(Dropped::FarAhead) => "far-ahead",
            Self::Dropped(Dropped::LaterStart(_)) => "later-start",
            Self::Dropped(Dropped::Malformed) => "malformed",
            Self::OverBudget => "over-budget",
            Self::Full => "full",
            Self::Failed => "failed",
        }
    }
}

impl From<Unreadable> for Refusal {
    fn from(why: Unreadable) -> Self {
        match why {
            Unreadable::Damaged => Self::Damaged,
            Unreadable::NoBase => Self::NoBase,
            Unreadable::Unasked => Self::Unasked,
            Unreadable::Costly => Self::Costly,
        }
    }
}

/// The reason why the call of a client is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotNow {
    /// The protocol does not offer it in its present state.
    #[error("the node does not offer this call now")]
    NotOffered,
    /// Too many outputs wait for the disk.
    #[error("too much waits for the disk")]
    Full,
    /// The node has failed.
    #[error("the node has failed")]
    Failed,
}

/// The cause of a handler that hit a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// A message has arrived.
    Message,
    /// A local event is due: a timer, or a step of the protocol.
    Local,
    /// A request of a client.
    Request,
    /// A connection is broken.
    Break,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Message, Self::Local, Self::Request, Self::Break];

    /// Its name, for metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Local => "local",
            Self::Request => "request",
            Self::Break => "break",
        }
    }
}

/// A handler that has hit a limit of the plugin and was undone: the node keeps its state, and nothing was sent, written or answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is undone: {fault}", cause.name())]
pub struct Undone {
    /// Its cause.
    pub cause: Cause,
    /// The name of the limit.
    pub limit: &'static str,
    /// The fault, with the remedy.
    pub fault: Fault,
}

/// The reason why a node stops.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The protocol has failed: a finding.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The host has failed.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

/// Counts of the events at a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages handled.
    pub messages: u64,
    /// Local events handled.
    pub local: u64,
    /// Requests of clients.
    pub requests: u64,
    /// Broken connections handled.
    pub breaks: u64,
    /// Events that the gate filtered.
    pub filtered: u64,
    /// Handlers whose effects the gate discarded.
    pub discarded: u64,
    /// Handlers whose effects it discarded because a violation was ahead.
    pub foreseen: u64,
    /// Substitutes of all of these, by name.
    pub instead: BTreeMap<&'static str, u64>,
    /// Checkpoints sent on request.
    pub checkpoints: u64,
    /// Bytes of the frames with them.
    pub checkpoint_bytes: u64,
    /// Checkpoints not sent because of the bandwidth limit.
    pub checkpoints_capped: u64,
    /// Snapshots of all nodes, because the neighbours that the protocol named were unusable.
    pub neighbours_unusable: u64,
    /// Frames refused, by the name of the reason.
    pub refused: BTreeMap<&'static str, u64>,
    /// Handlers undone at a limit, by their cause and the name of the limit.
    pub undone: BTreeMap<(Cause, &'static str), u64>,
    /// The number of times that the clock went backwards.
    pub backwards: u64,
}
