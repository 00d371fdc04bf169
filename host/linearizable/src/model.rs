//! The objects that a history can be about, and the functions that clients call on them.

use crate::value::{Value, ValueId};

/// A sequential object: its behaviour without concurrency.
#[derive(Debug, PartialEq, Eq)]
pub struct Model {
    /// The name in options.
    pub name: &'static str,
    /// A description of half a line.
    pub summary: &'static str,
    /// The names of each function; the first one is the usual one.
    pub(crate) functions: &'static [(&'static [&'static str], Function)],
    /// Whether an operation needs a key.
    pub(crate) needs_key: bool,
    /// The object at the start.
    pub(crate) start: Start,
}

/// The object at the start, unless the user says otherwise.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// A register that holds nil.
    Nil,
    /// A counter at 0.
    Zero,
    /// An empty queue.
    Queue,
    /// An empty set.
    Set,
    /// A mutex that is free.
    Free,
}

/// A function that a client calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Read,
    Write,
    Cas,
    Append,
    Delete,
    Enqueue,
    Dequeue,
    Increase,
    Decrease,
    Total,
    Insert,
    Remove,
    Contains,
    Elements,
    Acquire,
    Release,
}

const READ: (&[&str], Function) = (&["read", "get", "r"], Function::Read);
const WRITE: (&[&str], Function) = (&["write", "put", "set", "w"], Function::Write);
const CAS: (&[&str], Function) = (&["cas", "compare-and-set", "compare-and-swap"], Function::Cas);

/// The models.
pub const MODELS: &[Model] = &[
    Model {
        name: "register",
        summary: "one value: read, write",
        functions: &[READ, WRITE],
        needs_key: false,
        start: Start::Nil,
    },
    Model {
        name: "cas-register",
        summary: "one value: read, write, cas with [old, new]",
        functions: &[READ, WRITE, CAS],
        needs_key: false,
        start: Start::Nil,
    },
    Model {
        name: "kv",
        summary: "a value per key: get, put, append, delete, cas",
        functions: &[
            READ,
            WRITE,
            CAS,
            (&["append"], Function::Append),
            (&["delete", "del", "remove"], Function::Delete),
        ],
        needs_key: true,
        start: Start::Nil,
    },
    Model {
        name: "queue",
        summary: "first in, first out: enqueue, dequeue, which returns nil if it is empty",
        functions: &[
            (&["enqueue", "enq", "offer"], Function::Enqueue),
            (&["dequeue", "deq", "poll"], Function::Dequeue),
        ],
        needs_key: false,
        start: Start::Queue,
    },
    Model {
        name: "counter",
        summary: "a sum: add, decrement, read",
        functions: &[
            (&["add", "increment", "inc"], Function::Increase),
            (&["decrement", "dec", "subtract"], Function::Decrease),
            (&["read", "get"], Function::Total),
        ],
        needs_key: false,
        start: Start::Zero,
    },
    Model {
        name: "set",
        summary: "elements: add, remove, contains, read, which returns all",
        functions: &[
            (&["add", "insert"], Function::Insert),
            (&["remove", "delete"], Function::Remove),
            (&["contains", "member"], Function::Contains),
            (&["read", "get"], Function::Elements),
        ],
        needs_key: false,
        start: Start::Set,
    },
    Model {
        name: "mutex",
        summary: "held by at most one: acquire, release",
        functions: &[(&["acquire", "lock"], Function::Acquire), (&["release", "unlock"], Function::Release)],
        needs_key: false,
        start: Start::Free,
    },
];

impl Model {
    /// The model of this name.
    pub fn of_name(name: &str) -> Option<&'static Self> {
        MODELS.iter().find(|model| model.name == name)
    }

    /// The function of this name.
    pub(crate) fn function(&self, name: &str) -> Option<Function> {
        self.functions.iter().find(|(names, _)| names.contains(&name)).map(|(_, function)| *function)
    }

    /// The usual names of the functions: `read, write, cas`.
    pub(crate) fn function_names(&self) -> String {
        self.functions.iter().map(|(names, _)| names[0]).collect::<Vec<_>>().join(", ")
    }
}

impl Function {
    /// Whether its invocation has an argument, and the completion no result of use.
    pub(crate) fn takes_argument(self) -> bool {
        !matches!(
            self,
            Self::Read | Self::Dequeue | Self::Total | Self::Elements | Self::Acquire | Self::Release | Self::Delete
        )
    }

    /// Whether it changes nothing, whatever the object.
    pub(crate) fn only_reads(self) -> bool {
        matches!(self, Self::Read | Self::Total | Self::Contains | Self::Elements)
    }
}

/// An operation with argument and result, as far as they are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    /// It constrains nothing and changes nothing: a read without a known result.
    Nothing,
    /// The register has this value.
    Read(ValueId),
    /// The register gets this value.
    Write(ValueId),
    /// The register has the first value and gets the second one.
    Cas(ValueId, ValueId),
    /// The register has another value than this one.
    CasRefused(ValueId),
    /// The register gets this value behind what it has.
    Append(ValueId),
    /// The queue gets this value.
    Enqueue(ValueId),
    /// The queue loses this value, its first.
    Dequeue(ValueId),
    /// The queue loses its first value, whichever it is.
    DequeueAny,
    /// The queue is empty.
    QueueEmpty,
    /// The counter grows by so much.
    Add(i64),
    /// The counter has this value.
    Total(i64),
    /// The set gets this element.
    Insert(ValueId),
    /// The set loses this element if it has it.
    Remove(ValueId),
    /// The set has this element, or has not.
    Contains(ValueId, bool),
    /// The set has these elements: the number of a list or set.
    Elements(ValueId),
    /// The object is in this state: a question of an explanation, no operation of a client.
    Is(u32),
    /// The mutex is free, and then held.
    Acquire,
    /// The mutex is held, and then free.
    Release,
}

impl Action {
    /// Whether it changes nothing, whatever the object.
    pub(crate) fn only_reads(self) -> bool {
        matches!(
            self,
            Self::Nothing
                | Self::Read(_)
                | Self::CasRefused(_)
                | Self::QueueEmpty
                | Self::Total(_)
                | Self::Contains(..)
                | Self::Elements(_)
                | Self::Is(_)
        )
    }

    /// Whether the object after it is the same, whatever it was before. Such an operation is always possible.
    pub(crate) fn overwrites(self) -> bool {
        matches!(self, Self::Write(_))
    }

    /// Whether it is possible on any register.
    pub(crate) fn is_total(self) -> bool {
        matches!(self, Self::Write(_) | Self::Append(_))
    }

    /// The value that a register has after it; none if that depends on the register, or there is no register.
    pub(crate) fn makes(self) -> Option<ValueId> {
        match self {
            Self::Write(value) | Self::Cas(_, value) => Some(value),
            _ => None,
        }
    }

    /// The value that a register must have for it.
    pub(crate) fn needs(self) -> Option<ValueId> {
        match self {
            Self::Read(value) | Self::Cas(value, _) => Some(value),
            _ => None,
        }
    }
}

/// The amount of a counter's function: of `add 5`, of `increment` without one.
pub(crate) fn amount(function: Function, value: Option<&Value>) -> Option<i64> {
    let amount = match value {
        None | Some(Value::Nil) => 1,
        Some(Value::Integer(amount)) => *amount,
        Some(_) => return None,
    };
    if function == Function::Decrease { amount.checked_neg() } else { Some(amount) }
}
