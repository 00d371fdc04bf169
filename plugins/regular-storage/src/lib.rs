//! Regular storage: one writer and several readers share a value that a majority of objects keeps. Node 0 writes, the nodes
//! after it read, the others are objects.
//!
//! Source: Attiya, Bar-Noy, Dolev, "Sharing Memory Robustly in Message-Passing Systems", JACM 42(1), 1995, without the
//! write-back of reads, so that the register is regular and not atomic; one of the protocols of Bokor, Kinder, Serafini and
//! Suri, "Efficient Model Checking of Fault-Tolerant Distributed Protocols", DSN 2011, with single-message transitions or with
//! quorum transitions.

mod spec;

use std::collections::BTreeSet;

use guest_sdk::{About, Context, LocalEvents, NodeId, ParameterError, Parameters, Place, Properties, Protocol, Role};
use serde::{Deserialize, Serialize};

/// The write that a value comes from; 0 is the initial value. Write `k` writes the value `k`.
pub type Version = u32;

/// The configuration of a run.
#[derive(Clone, Debug)]
pub struct RegularStorage {
    readers: u32,
    writes: u32,
    notices: bool,
    quorum: bool,
    bug: Bug,
}

/// The deliberate mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// A write is complete when one object has it.
    OneAck,
    /// A read takes the value of the reply that completes the majority, not the newest.
    LastReply,
    /// Objects keep their value in memory only.
    ForgetValue,
    /// A read counts only replies with the newest value that it knows of.
    OnlyNewest,
}

/// The messages between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Writer to objects: keep this unless yours is newer.
    Write(Version),
    /// Object to writer: kept, or a newer one.
    Written(Version),
    /// Reader to objects: what do you have? With the number of the read.
    Read(u32),
    /// Object to reader: the number of the read, and the value.
    Value(u32, Version),
    /// Writer to readers: this write is complete. No part of the protocol; it is how a reader can know that a write came
    /// before its read.
    Complete(Version),
}

/// The local events of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// The application writes the next value.
    Write,
    /// The application reads.
    Read,
}

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum State {
    /// Node 0.
    Writer(Writer),
    /// One of the nodes after it.
    Reader(Reader),
    /// One of the others: the newest value that it has received.
    Object(Version),
}

/// The writer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Writer {
    /// The write that was begun last.
    pub begun: Version,
    /// The objects that have it; none without a current write.
    pub acks: Option<BTreeSet<NodeId>>,
    /// The write that was completed last.
    pub complete: Version,
}

/// A reader.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reader {
    /// The number of reads begun. Replies to earlier ones are ignored.
    pub begun: u32,
    /// The newest write that it knows to be complete.
    pub known: Version,
    /// Its only read, if it has begun.
    pub read: Option<Read>,
}

/// A read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Read {
    /// Waits for a majority of objects.
    Waiting {
        /// The newest write that was known to be complete when the read began.
        floor: Version,
        /// The objects that have replied.
        replies: BTreeSet<NodeId>,
        /// The newest value so far.
        newest: Version,
    },
    /// Over.
    Returned {
        /// As above.
        floor: Version,
        /// The value returned to the application.
        value: Version,
    },
}

impl Protocol for RegularStorage {
    const ABOUT: About = guest_sdk::about!().nodes(5);
    type State = State;
    type Message = Message;
    type Local = Local;
    /// The durable state: the value of an object, the number of writes or reads begun.
    type Durable = u32;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let readers = parameters.get("readers", 1u32, "how many nodes read, once each; the nodes left are objects")?;
        let writes = parameters.get("writes", 1, "how many values the writer writes, one after the other")?;
        let notices = parameters.choice(
            "notices",
            &[("on", true), ("off", false)],
            "whether readers are told of complete writes; what property `regular` is about",
        )?;
        let quorum = parameters.choice(
            "quorum",
            &[("off", false), ("on", true)],
            "whether the answers of a majority are taken at once",
        )?;
        let bugs = &[
            ("none", Bug::None),
            ("one-ack", Bug::OneAck),
            ("last-reply", Bug::LastReply),
            ("forget-value", Bug::ForgetValue),
            ("only-newest", Bug::OnlyNewest),
        ];
        let bug = parameters.choice("bug", bugs, "what is wrong on purpose")?;
        match parameters.nodes().checked_sub(readers.saturating_add(1)) {
            None | Some(0) => Err(parameters.reject_nodes("there is a writer, the readers, and at least one object")),
            Some(_) => Ok(Self { readers, writes, notices, quorum, bug }),
        }
    }

    fn init(&self, ctx: &mut Context<Message>, durable: Option<u32>) -> State {
        let kept = durable.unwrap_or_default();
        if ctx.me() == WRITER {
            State::Writer(Writer { begun: kept, acks: None, complete: 0 })
        } else if ctx.me() <= self.readers {
            State::Reader(Reader { begun: kept, known: 0, read: None })
        } else {
            State::Object(kept)
        }
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        match (message, state) {
            (Message::Write(version), State::Object(value)) => {
                *value = version.max(*value);
                ctx.send(WRITER, Message::Written(version));
            }
            (Message::Read(number), State::Object(value)) => ctx.send(from, Message::Value(number, *value)),
            (Message::Written(version), State::Writer(writer)) => self.written(ctx, writer, from, version),
            (Message::Value(number, value), State::Reader(reader)) if number == reader.begun => {
                self.value(ctx, reader, from, value);
            }
            (Message::Value(..), State::Reader(_)) => {}
            (Message::Complete(version), State::Reader(reader)) => reader.known = version.max(reader.known),
            (message, state) => unreachable!("{message:?} is never sent to {state:?}"),
        }
    }

    fn takes_quorums(&self) -> bool {
        self.quorum
    }

    /// Answers to the current operation are taken together. Later ones are of no use, and stay in flight.
    fn role(&self, place: Place, state: &State, _from: NodeId, message: &Message) -> Role {
        match (message, state) {
            (Message::Written(version), State::Writer(Writer { begun, acks: Some(_), .. })) if version == begun => {
                Role::Member { name: "acks", size: self.needed(place.nodes) as u32 }
            }
            (Message::Value(number, _), State::Reader(Reader { begun, read: Some(Read::Waiting { .. }), .. }))
                if number == begun =>
            {
                Role::Member { name: "values", size: self.majority(place.nodes) as u32 }
            }
            (Message::Written(_) | Message::Value(..), _) => Role::Held,
            _ => Role::Alone,
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        match state {
            State::Writer(writer) if writer.acks.is_none() && writer.begun < self.writes => {
                events.application("write", Local::Write);
            }
            State::Reader(Reader { read: None, .. }) => events.application("read", Local::Read),
            _ => {}
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, event: Local) {
        match (event, state) {
            (Local::Write, State::Writer(writer)) => {
                writer.begun += 1;
                writer.acks = Some(BTreeSet::new());
                self.to_objects(ctx, Message::Write(writer.begun));
            }
            (Local::Read, State::Reader(reader)) => {
                reader.begun += 1;
                reader.read = Some(Read::Waiting { floor: reader.known, replies: BTreeSet::new(), newest: 0 });
                self.to_objects(ctx, Message::Read(reader.begun));
            }
            (event, state) => unreachable!("{event:?} is not possible in {state:?}"),
        }
    }

    fn persist(&self, state: &State) -> Option<u32> {
        match state {
            State::Writer(writer) => Some(writer.begun),
            State::Reader(reader) => Some(reader.begun),
            State::Object(_) if self.bug == Bug::ForgetValue => None,
            State::Object(value) => Some(*value),
        }
    }

    fn interchangeable(&self, nodes: u32) -> Vec<Vec<NodeId>> {
        vec![(1..=self.readers).collect(), (1 + self.readers..nodes).collect()]
    }

    fn node_name(&self, place: Place) -> Option<String> {
        Some(match place.me {
            WRITER => "writer".to_owned(),
            reader if reader <= self.readers => format!("reader {reader}"),
            object => format!("object {object}"),
        })
    }

    fn properties(claims: &mut Properties<Self>) {
        spec::properties(claims);
    }
}

/// The node that writes.
const WRITER: NodeId = 0;

impl RegularStorage {
    fn written(&self, ctx: &mut Context<Message>, writer: &mut Writer, from: NodeId, version: Version) {
        let Some(acks) = &mut writer.acks else { return };
        if version != writer.begun {
            return;
        }
        acks.insert(from);
        if acks.len() >= self.needed(ctx.nodes()) {
            writer.acks = None;
            writer.complete = version;
            if self.notices {
                (1..=self.readers).for_each(|reader| ctx.send(reader, Message::Complete(version)));
            }
        }
    }

    fn value(&self, ctx: &Context<Message>, reader: &mut Reader, from: NodeId, value: Version) {
        let Some(Read::Waiting { floor, replies, newest }) = &mut reader.read else { return };
        if self.bug == Bug::OnlyNewest && value != *newest {
            if value < *newest {
                return;
            }
            replies.clear();
        }
        replies.insert(from);
        *newest = value.max(*newest);
        if replies.len() >= self.majority(ctx.nodes()) {
            let value = if self.bug == Bug::LastReply { value } else { *newest };
            reader.read = Some(Read::Returned { floor: *floor, value });
        }
    }

    fn to_objects(&self, ctx: &mut Context<Message>, message: Message) {
        (1 + self.readers..ctx.nodes()).for_each(|object| ctx.send(object, message));
    }

    /// More than half of the objects.
    fn majority(&self, nodes: u32) -> usize {
        (nodes - 1 - self.readers) as usize / 2 + 1
    }

    /// The number of objects that must have a value before its write is complete.
    fn needed(&self, nodes: u32) -> usize {
        if self.bug == Bug::OneAck { 1 } else { self.majority(nodes) }
    }
}

guest_sdk::export!(RegularStorage);
