//! Sequential objects that many protocols implement.

use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use super::SequentialObject;

/// A register with this initial value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register<V>(pub V);

/// An operation on a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RegisterCall<V> {
    /// Returns the value.
    Read,
    /// Replaces it.
    Write(V),
}

/// The result of an operation on a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RegisterReturn<V> {
    /// The value that was read.
    Value(V),
    /// It is written.
    Written,
}

impl<V: Clone + Ord> SequentialObject for Register<V> {
    type State = V;
    type Call = RegisterCall<V>;
    type Return = RegisterReturn<V>;

    fn start(&self) -> V {
        self.0.clone()
    }

    fn apply(&self, state: &mut V, call: &RegisterCall<V>) -> RegisterReturn<V> {
        match call {
            RegisterCall::Read => RegisterReturn::Value(state.clone()),
            RegisterCall::Write(value) => {
                *state = value.clone();
                RegisterReturn::Written
            }
        }
    }
}

/// A log, empty at the start, that only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Log<E>(PhantomData<E>);

impl<E> Default for Log<E> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

/// An operation on a log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LogCall<E> {
    /// Adds an entry at the end.
    Append(E),
    /// Returns all entries.
    Read,
}

/// The result of an operation on a log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LogReturn<E> {
    /// The place of the entry, from 0.
    Appended(u32),
    /// The entries from the first to the last.
    Entries(Vec<E>),
}

impl<E: Clone + Ord> SequentialObject for Log<E> {
    type State = Vec<E>;
    type Call = LogCall<E>;
    type Return = LogReturn<E>;

    fn start(&self) -> Vec<E> {
        Vec::new()
    }

    fn apply(&self, state: &mut Vec<E>, call: &LogCall<E>) -> LogReturn<E> {
        match call {
            LogCall::Append(entry) => {
                state.push(entry.clone());
                LogReturn::Appended(state.len() as u32 - 1)
            }
            LogCall::Read => LogReturn::Entries(state.clone()),
        }
    }
}
