//! Answers of functions that read, distinguished and shown.

use crate::audit::notes::hex;
use crate::contract::{Fault, LocalEvent, Quorum, Role};

/// An answer of a function that changes nothing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Listed(Vec<LocalEvent>),
    /// Of a property.
    View(u32, Option<Vec<u8>>),
    Judged(Result<(), String>),
    /// The encoding of the state.
    State(Vec<u8>),
    /// What a disk would hold.
    Durable(Option<Vec<u8>>),
    /// Of a message.
    Taken(Role<Quorum>),
    /// Whether nothing has to happen any more.
    Done(bool),
}

/// An answer, or why there is none.
pub(crate) type Answered = Result<Answer, Fault>;

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Listed(events) => {
                let events = events.iter().map(|event| format!("`{}` ({})", event.name, hex(&event.payload)));
                write!(f, "lists {}", events.collect::<Vec<_>>().join(", "))
            }
            Self::View(property, Some(view)) => write!(f, "of property {property}: {}", hex(view)),
            Self::View(property, None) => write!(f, "of property {property}: none"),
            Self::State(encoding) => write!(f, "the bytes {}", hex(encoding)),
            Self::Durable(Some(durable)) => write!(f, "the bytes {}", hex(durable)),
            Self::Durable(None) => f.write_str("nothing"),
            Self::Taken(Role::Alone) => f.write_str("the message is taken alone"),
            Self::Taken(Role::Held) => f.write_str("the message is not taken now"),
            Self::Taken(Role::Member(Quorum { name, size })) => {
                write!(f, "the message is one of {size} of the quorum `{name}`")
            }
            Self::Done(is_done) => write!(f, "{is_done}"),
            Self::Judged(Ok(())) => f.write_str("it holds"),
            Self::Judged(Err(why)) => write!(f, "it does not hold: {why}"),
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

pub(crate) fn shown(answered: &Answered) -> String {
    answered.as_ref().map_or_else(|fault| format!("fails: {fault}"), Answer::to_string)
}
