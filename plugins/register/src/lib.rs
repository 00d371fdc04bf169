//! A register kept by a majority of the nodes: one node writes, another reads.
//!
//! Attiya, Bar-Noy and Dolev, "Sharing Memory Robustly in Message-Passing Systems", JACM 1995. The same protocol is in
//! `plugins/register-*` in other languages, with the same bytes for states and messages.

use std::collections::BTreeSet;

use guest_sdk::{
    About, Context, Encoding, LocalEvents, Never, NodeId, ParameterError, Parameters, Properties, Protocol,
};
use serde::{Deserialize, Serialize};

/// The configuration.
#[derive(Clone, Copy, Debug)]
pub struct Register {
    writes: u32,
    reads: u32,
    bug: Bug,
}

/// The deliberate mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// A read returns its value without making sure that a majority has it.
    NoWriteBack,
    /// One answer is enough for everything.
    OneAck,
}

/// A value with the number of the write that it comes from; 0 is the value before all writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Copy {
    /// The written value.
    pub value: u32,
    /// The number of the write.
    pub version: u32,
}

/// The role of a node in addition to keeping a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Node 0.
    Writer,
    /// The last node.
    Reader,
    /// The others.
    Replica,
}

/// The phase of a client's operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// No operation is pending.
    Idle,
    /// The copies of a majority.
    Query,
    /// A majority that has stored the best copy.
    Store,
}

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct State {
    /// The nodes that have answered in this phase.
    pub acks: BTreeSet<NodeId>,
    /// The copy that this operation has found, or writes.
    pub best: Copy,
    /// The copy that this node keeps for the others.
    pub copy: Copy,
    /// The number of operations that this node has begun.
    pub op: u32,
    /// The phase of the last operation.
    pub phase: Phase,
    /// The versions that reads have returned.
    pub returned: Vec<u32>,
    /// The role of this node.
    pub role: Role,
}

/// The messages between nodes; `op` numbers the operations of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Message {
    /// What is your copy?
    Query {
        /// The operation.
        op: u32,
    },
    /// This is my copy.
    Reply {
        /// The operation.
        op: u32,
        /// The written value.
        value: u32,
        /// The number of the write.
        version: u32,
    },
    /// Keep this unless yours is newer.
    Store {
        /// The operation.
        op: u32,
        /// The written value.
        value: u32,
        /// The number of the write.
        version: u32,
    },
    /// I have it, or a newer one.
    Stored {
        /// The operation.
        op: u32,
    },
}

/// A request of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Local {
    /// Write the next value.
    Write,
    /// Read.
    Read,
}

/// The part of a node that `stored-by-majority` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stored {
    /// The last write that is complete.
    pub complete: u32,
    /// The version of the node's copy.
    pub version: u32,
}

impl Protocol for Register {
    const ABOUT: About = guest_sdk::about!().nodes(3);
    const ENCODING: Encoding = Encoding::Json;
    type State = State;
    type Message = Message;
    type Local = Local;
    type Durable = Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let writes = parameters.get("writes", 1, "how often node 0 writes")?;
        let reads = parameters.get("reads", 2, "how often the last node reads")?;
        let bugs = [("none", Bug::None), ("no-write-back", Bug::NoWriteBack), ("one-ack", Bug::OneAck)];
        let bug = parameters.choice("bug", &bugs, "what is wrong on purpose")?;
        Ok(Self { writes, reads, bug })
    }

    fn init(&self, ctx: &mut Context<Message>, _: Option<Never>) -> State {
        let role = match ctx.me() {
            0 => Role::Writer,
            me if me + 1 == ctx.nodes() => Role::Reader,
            _ => Role::Replica,
        };
        let nothing = Copy::default();
        State {
            acks: BTreeSet::new(),
            best: nothing,
            copy: nothing,
            op: 0,
            phase: Phase::Idle,
            returned: Vec::new(),
            role,
        }
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        match message {
            Message::Query { op } => {
                let Copy { value, version } = state.copy;
                ctx.send(from, Message::Reply { op, value, version });
            }
            Message::Store { op, value, version } => {
                if version > state.copy.version {
                    state.copy = Copy { value, version };
                }
                ctx.send(from, Message::Stored { op });
            }
            Message::Reply { op, value, version } if state.phase == Phase::Query && op == state.op => {
                state.acks.insert(from);
                if version > state.best.version {
                    state.best = Copy { value, version };
                }
                if state.acks.len() < self.quorum(ctx) {
                } else if self.bug == Bug::NoWriteBack {
                    state.finish();
                } else {
                    state.store(ctx);
                }
            }
            Message::Stored { op } if state.phase == Phase::Store && op == state.op => {
                state.acks.insert(from);
                if state.acks.len() >= self.quorum(ctx) {
                    state.finish();
                }
            }
            // An answer to a phase that is over.
            Message::Reply { .. } | Message::Stored { .. } => {}
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        match state.role {
            _ if state.phase != Phase::Idle => {}
            Role::Writer if state.op < self.writes => events.application("write", Local::Write),
            Role::Reader if state.op < self.reads => events.application("read", Local::Read),
            _ => {}
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, event: Local) {
        state.op += 1;
        match event {
            Local::Write => {
                state.best = Copy { value: 100 + state.op, version: state.op };
                state.store(ctx);
            }
            Local::Read => {
                state.phase = Phase::Query;
                ctx.broadcast(Message::Query { op: state.op });
            }
        }
    }

    fn properties(claims: &mut Properties<Self>) {
        claims.always("monotone").node(
            |_, state| (state.returned.len() > 1).then(|| state.returned.clone()),
            |returned| match returned.windows(2).find(|pair| pair[1] < pair[0]) {
                None => Ok(()),
                Some(pair) => Err(format!("a read returned version {} after {}", pair[1], pair[0])),
            },
        );
        claims.always("stored-by-majority").system(
            |_, state| {
                let complete = match (state.role, state.phase) {
                    (Role::Writer, Phase::Idle) => state.op,
                    (Role::Writer, _) => state.op - 1,
                    _ => 0,
                };
                let version = state.copy.version;
                (complete > 0 || version > 0).then_some(Stored { complete, version })
            },
            |views| {
                let complete = views.iter().flatten().map(|view| view.complete).max().unwrap_or(0);
                let holders = views.iter().filter(|view| view.map_or(0, |view| view.version) >= complete).count();
                match holders > views.len() / 2 {
                    true => Ok(()),
                    false => {
                        Err(format!("write {complete} is complete, and {holders} of {} nodes have it", views.len()))
                    }
                }
            },
        );
        claims
            .sometimes("write-is-read")
            .node(|_, state| state.returned.iter().max().copied().filter(|version| *version > 0), |_| Ok(()));
    }
}

impl Register {
    /// The number of answers that a phase waits for.
    fn quorum(&self, ctx: &Context<'_, Message>) -> usize {
        if self.bug == Bug::OneAck { 1 } else { ctx.majority() }
    }
}

impl State {
    /// Sends the best copy to all nodes.
    fn store(&mut self, ctx: &mut Context<Message>) {
        self.acks.clear();
        self.phase = Phase::Store;
        let Copy { value, version } = self.best;
        ctx.broadcast(Message::Store { op: self.op, value, version });
    }

    /// Ends the operation.
    fn finish(&mut self) {
        if self.role == Role::Reader {
            self.returned.push(self.best.version);
        }
        self.acks.clear();
        self.best = Copy::default();
        self.phase = Phase::Idle;
    }
}

guest_sdk::export!(Register);

#[cfg(test)]
mod tests {
    use guest_sdk::test::Cluster;

    use super::*;

    #[test]
    fn a_read_returns_what_was_written() {
        let mut cluster = Cluster::<Register>::new(3, &[]).expect("the defaults fit");
        cluster.happen(2, "read");
        cluster.settle();
        cluster.happen(0, "write");
        cluster.settle();
        cluster.happen(2, "read");
        cluster.settle();
        assert_eq!(cluster.state(2).returned, [0, 1]);
        assert_eq!(cluster.state(1).copy, Copy { value: 101, version: 1 });
        assert_eq!(cluster.check(), Ok(()));
    }

    /// Every global state of one write and one read.
    #[test]
    fn the_properties_hold_with_one_read() {
        let cluster = Cluster::<Register>::new(3, &[("reads", "1")]).expect("the parameter is known");
        let explored = cluster.explore(1_000_000);
        assert_eq!(explored.broken, None);
        // The counts of the scenarios are compared with this enumeration; the strategies share no code with it.
        let local_states: usize = explored.local_states.iter().sum();
        let counts = (explored.global_states, explored.transitions, explored.system_states, local_states);
        assert_eq!(counts, (14_588, 69_154, 380, 46));
    }

    #[test]
    fn each_bug_is_noticed() {
        for (bug, reads, property) in [("no-write-back", "2", "monotone"), ("one-ack", "0", "stored-by-majority")] {
            let cluster = Cluster::<Register>::new(3, &[("bug", bug), ("reads", reads)]).expect("the bug is known");
            let broken = cluster.explore(1_000_000).broken.expect("the bug shows");
            assert!(broken.contains(property), "{bug}: {broken}");
        }
    }
}
