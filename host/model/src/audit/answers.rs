//! The answers of functions that read: compared and shown.

use crate::audit::words;
use crate::contract::{Fault, LocalEvent, Machine, Quorum, Role};

/// An answer of a function that changes nothing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Listed(Vec<LocalEvent>),
    /// A property's view of the state.
    View(u32, Option<Vec<u8>>),
    Judged(Result<(), String>),
    /// The encoding of the state.
    State(Vec<u8>),
    /// The durable state, as a disk would hold it.
    Durable(Option<Vec<u8>>),
    /// The role of a message.
    Taken(Role<Quorum>),
    /// Whether the node is done.
    Done(bool),
}

/// An answer, or the fault in its place.
pub(crate) type Answered = Result<Answer, Fault>;

impl Answer {
    /// For people. Shows a state as bytes: two different answers differ in these, while the described memory may be the same.
    fn said(&self, machine: &mut dyn Machine) -> String {
        match self {
            Self::Listed(events) => {
                let events: Vec<String> = events.iter().map(|event| words::local(machine, event)).collect();
                format!("lists {}", events.join(", "))
            }
            Self::View(property, Some(view)) => {
                format!("of property {property}: {}", words::view(machine, *property, view))
            }
            Self::View(property, None) => format!("of property {property}: none"),
            Self::State(encoding) => format!("the bytes {}", words::bytes(encoding)),
            Self::Durable(Some(durable)) => format!("the bytes {}", words::bytes(durable)),
            Self::Durable(None) => "nothing".to_owned(),
            Self::Taken(Role::Alone) => "the message is taken alone".to_owned(),
            Self::Taken(Role::Held) => "the message is not taken now".to_owned(),
            Self::Taken(Role::Member(Quorum { name, size })) => {
                format!("the message is one of {size} of the quorum `{name}`")
            }
            Self::Done(is_done) => is_done.to_string(),
            Self::Judged(Ok(())) => "it holds".to_owned(),
            Self::Judged(Err(why)) => format!("it does not hold: {why}"),
        }
    }
}

/// Whether a function gave the same answer in another memory.
pub(crate) fn is_same(one: &Answered, other: &Answered) -> bool {
    match (one, other) {
        (Err(fault), Err(again)) => fault.is_same(again),
        _ => one == other,
    }
}

/// An answer for people.
pub(crate) fn shown(answered: &Answered, machine: &mut dyn Machine) -> String {
    match answered {
        Ok(answer) => answer.said(machine),
        Err(fault) => format!("fails: {fault}"),
    }
}
