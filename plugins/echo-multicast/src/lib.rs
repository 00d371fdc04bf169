//! Echo multicast: an initiator sends a message to a group, and no two correct receivers deliver different ones, even if
//! the initiator and some receivers are Byzantine. Node 0 is the initiator, all others receive, the last ones of them Byzantine.
//!
//! Source: Reiter, "Secure Agreement Protocols: Reliable and Atomic Group Multicast in Rampart", CCS 1994; one of the
//! protocols of Bokor, Kinder, Serafini and Suri, "Efficient Model Checking of Fault-Tolerant Distributed Protocols", DSN
//! 2011, with single-message transitions or with quorum transitions.

mod byzantine;
mod spec;

use std::collections::{BTreeMap, BTreeSet};

use guest_sdk::{
    About, Context, LocalEvents, NodeId, ParameterError, Parameters, Place, Properties, Protocol, Renaming, Role,
};
use serde::{Deserialize, Serialize};

/// The multicast value. A correct initiator sends 0; a Byzantine one 0 to some and 1 to others.
pub type Value = u8;

/// The configuration of a run.
#[derive(Clone, Debug)]
pub struct EchoMulticast {
    initiator: Nature,
    /// The number of Byzantine receivers.
    byzantine: u32,
    /// The number of Byzantine receivers that the quorum tolerates.
    tolerated: u32,
    quorum: bool,
    bug: Bug,
}

/// Whether a node follows the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nature {
    Correct,
    Byzantine,
}

/// The deliberate mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// A majority of receivers is a quorum, as if nodes could only stop.
    Majority,
    /// A receiver echoes every message, not only the first.
    EchoAll,
    /// A receiver does not check the signatures of a commit.
    Unchecked,
    /// A receiver forgets in a reset that it has echoed.
    ForgetEcho,
}

/// The messages between nodes. Channels are authenticated; an echo is signed, so no node can claim one that was not sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Initiator to receivers: I want to multicast this.
    Init(Value),
    /// Receiver to initiator: I have seen this, and will echo nothing else.
    Echo(Value),
    /// Initiator to receivers: these have signed it, so deliver it.
    Commit {
        /// The value to deliver.
        value: Value,
        /// The receivers whose signed echoes come with it.
        signatures: BTreeSet<NodeId>,
    },
}

/// The application of the initiator multicasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Multicast;

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum State {
    /// Node 0 before its multicast.
    Idle,
    /// Node 0 afterwards: the echoes of each value that it wants to commit.
    Initiator(BTreeMap<Value, BTreeSet<NodeId>>),
    /// A correct receiver.
    Receiver(Receiver),
    /// A Byzantine receiver, which need not remember anything.
    Byzantine,
}

/// The state of a correct receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Receiver {
    /// The only value that it echoes.
    pub echoed: Option<Value>,
    /// The only value that it delivers.
    pub delivered: Option<Value>,
}

impl Protocol for EchoMulticast {
    const ABOUT: About = guest_sdk::about!().nodes(5);
    type State = State;
    type Message = Message;
    type Local = Multicast;
    /// Everything: a correct node must not contradict what it has signed.
    type Durable = State;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let initiator = parameters.choice(
            "initiator",
            &[("byzantine", Nature::Byzantine), ("correct", Nature::Correct)],
            "whether node 0 sends two values or one",
        )?;
        let byzantine = parameters.get("byzantine", 1u32, "how many receivers are Byzantine: the last ones")?;
        let tolerated = parameters.get("tolerated", 1u32, "how many Byzantine receivers the quorum is made for")?;
        let quorum = parameters.choice(
            "quorum",
            &[("off", false), ("on", true)],
            "whether the initiator takes the echoes of a quorum at once",
        )?;
        let bugs = &[
            ("none", Bug::None),
            ("majority", Bug::Majority),
            ("echo-all", Bug::EchoAll),
            ("unchecked", Bug::Unchecked),
            ("forget-echo", Bug::ForgetEcho),
        ];
        let bug = parameters.choice("bug", bugs, "what is wrong on purpose")?;
        let receivers = parameters.nodes().saturating_sub(1);
        if byzantine > receivers {
            return Err(parameters.reject("byzantine", format_args!("there are only {receivers} receivers")));
        }
        if tolerated >= receivers {
            return Err(parameters.reject("tolerated", format_args!("there are only {receivers} receivers")));
        }
        Ok(Self { initiator, byzantine, tolerated, quorum, bug })
    }

    fn init(&self, ctx: &mut Context<Message>, durable: Option<State>) -> State {
        durable.unwrap_or_else(|| match ctx.me() {
            INITIATOR => State::Idle,
            me if me >= self.first_byzantine(ctx.nodes()) => State::Byzantine,
            _ => State::Receiver(Receiver::default()),
        })
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        match (message, state) {
            (Message::Init(value), State::Receiver(receiver)) => self.echo(ctx, receiver, value),
            (Message::Commit { value, signatures }, State::Receiver(receiver)) => {
                if self.bug == Bug::Unchecked || signatures.len() >= self.quorum(ctx.nodes()) {
                    receiver.delivered.get_or_insert(value);
                }
            }
            (Message::Echo(value), State::Initiator(echoes)) => self.collect(ctx, echoes, from, value),
            (message, State::Byzantine) => byzantine::receive(ctx, &message),
            (message, state) => unreachable!("{message:?} is never sent to {state:?}"),
        }
    }

    fn takes_quorums(&self) -> bool {
        self.quorum
    }

    /// Echoes of a value that it wants to commit are taken together. Others stay in flight.
    fn role(&self, place: Place, state: &State, _from: NodeId, message: &Message) -> Role {
        match (message, state) {
            (Message::Echo(value), State::Initiator(echoes)) if echoes.contains_key(value) => {
                Role::Member { name: "echoes", size: self.quorum(place.nodes) as u32 }
            }
            (Message::Echo(_), _) => Role::Held,
            _ => Role::Alone,
        }
    }

    /// Declines echoes of different values.
    fn handle_quorum(
        &self,
        ctx: &mut Context<Message>,
        state: &mut State,
        _name: &str,
        messages: Vec<(NodeId, Message)>,
    ) -> bool {
        let is_same = messages.windows(2).all(|pair| pair[0].1 == pair[1].1);
        is_same && self.handle_one_by_one(ctx, state, messages)
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Multicast>) {
        if *state == State::Idle {
            events.application("multicast", Multicast);
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, _: Multicast) {
        let values: &[Value] = match self.initiator {
            Nature::Correct => &[0],
            Nature::Byzantine => &byzantine::VALUES,
        };
        *state = State::Initiator(values.iter().map(|value| (*value, BTreeSet::new())).collect());
        for value in values {
            to_receivers(ctx, &Message::Init(*value));
        }
        if self.initiator == Nature::Byzantine && self.bug == Bug::Unchecked {
            byzantine::commit_without_signatures(ctx);
        }
    }

    fn persist(&self, state: &State) -> Option<State> {
        Some(match state {
            State::Receiver(Receiver { delivered, .. }) if self.bug == Bug::ForgetEcho => {
                State::Receiver(Receiver { echoed: None, delivered: *delivered })
            }
            state => state.clone(),
        })
    }

    /// The correct receivers, and the Byzantine ones.
    fn interchangeable(&self, nodes: u32) -> Vec<Vec<NodeId>> {
        let first_byzantine = self.first_byzantine(nodes);
        vec![(1..first_byzantine).collect(), (first_byzantine..nodes).collect()]
    }

    fn rename_message(message: Message, renaming: &Renaming) -> Message {
        match message {
            Message::Commit { value, signatures } => {
                Message::Commit { value, signatures: signatures.into_iter().map(|node| renaming.of(node)).collect() }
            }
            message => message,
        }
    }

    fn properties(claims: &mut Properties<Self>) {
        spec::properties(claims);
    }
}

/// The node that multicasts.
const INITIATOR: NodeId = 0;

impl EchoMulticast {
    fn echo(&self, ctx: &mut Context<Message>, receiver: &mut Receiver, value: Value) {
        if receiver.echoed.is_none() || self.bug == Bug::EchoAll {
            receiver.echoed = Some(value);
            ctx.send(INITIATOR, Message::Echo(value));
        }
    }

    fn collect(
        &self,
        ctx: &mut Context<Message>,
        echoes: &mut BTreeMap<Value, BTreeSet<NodeId>>,
        from: NodeId,
        value: Value,
    ) {
        // A value that it has not sent, or that is committed.
        let Some(signatures) = echoes.get_mut(&value) else { return };
        signatures.insert(from);
        if signatures.len() >= self.quorum(ctx.nodes()) {
            let signatures = echoes.remove(&value).unwrap_or_default();
            to_receivers(ctx, &Message::Commit { value, signatures });
        }
    }

    /// Enough receivers that any two quorums have more receivers in common than can be Byzantine: more than half of all and
    /// the tolerated ones together.
    fn quorum(&self, nodes: u32) -> usize {
        let receivers = nodes - 1;
        let counted = if self.bug == Bug::Majority { receivers } else { receivers + self.tolerated };
        counted as usize / 2 + 1
    }

    fn first_byzantine(&self, nodes: u32) -> NodeId {
        nodes - self.byzantine
    }
}

fn to_receivers(ctx: &mut Context<Message>, message: &Message) {
    (1..ctx.nodes()).for_each(|receiver| ctx.send(receiver, message.clone()));
}

guest_sdk::export!(EchoMulticast);
