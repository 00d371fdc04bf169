//! Linearizability of the operations of clients.
//!
//! Source: Herlihy and Wing, "Linearizability: A Correctness Condition for Concurrent Objects", TOPLAS 12(3), 1990. A history
//! is linearizable if its operations can be put into one order that a sequential object explains, and that keeps every
//! operation after those that had returned before it was called. One that has not returned may have taken effect or not.
//!
//! [`History::linearize`] searches for such an order: Wing and Gong, "Testing and Verifying Concurrent Objects", JPDC 17,
//! 1993, with the memory of Lowe, "Testing for Linearizability", CCPE 29(4), 2017: the explained operations and the state of
//! the object determine the rest of the search, so no such pair is tried twice.
//!
//! # Where a history comes from
//!
//! "Before" refers to time, which no node sees. There are two ways to observe it exactly.
//!
//! 1. One node stands for all clients and keeps one [`History`], where calls and returns have an order. Clients share nothing
//!    but the network, so their placement makes no difference to the protocol, and the property is one of a node.
//! 2. Every node is a client of its own, keeps its operations in a [`Client`], and tells the others when one is complete: they
//!    call [`Client::learn`]. The history loses no order, because some execution delivers a notice of a return before any
//!    later call; and it invents none, because an operation that a client has heard of did come before. The view is
//!    [`Client::operations`], and [`History::of`] puts the views together.
//!
//! ```
//! use guest_sdk::linearizability::{History, Register, RegisterCall::*, RegisterReturn::*};
//!
//! let mut history = History::default();
//! history.call(0, Write(7));
//! history.call(1, Read);
//! history.returned(1, Value(7)); // The write has not returned, but it can have taken effect.
//! assert!(history.linearize(&Register(0)).is_ok());
//! history.call(1, Read);
//! history.returned(1, Value(0)); // It cannot be undone.
//! assert!(history.linearize(&Register(0)).is_err());
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `search` | the search for an order that explains a history |
//! | `objects` | sequential objects: a register, a log |

mod objects;
mod search;

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::{Deserialize, Serialize};

pub use objects::{Log, LogCall, LogReturn, Register, RegisterCall, RegisterReturn};
pub use search::NotLinearizable;

/// Names a client within a history. Clients are sequential: one that calls again without waiting for the return of its
/// last operation, after it gave up or was reset, continues under another number.
pub type ClientId = u32;

/// The sequential specification of an object: its behaviour without concurrency. Deterministic.
pub trait SequentialObject {
    /// The state of the object.
    type State: Clone + Ord;
    /// An operation with its arguments.
    type Call;
    /// The result of an operation.
    type Return: PartialEq;

    /// The object before all operations.
    fn start(&self) -> Self::State;

    /// Executes an operation.
    fn apply(&self, state: &mut Self::State, call: &Self::Call) -> Self::Return;
}

/// An operation of a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Operation<C, R> {
    /// The operations that had returned before the call: the first ones of each client, as a number; clients whose
    /// operations had not returned are left out.
    after: BTreeMap<ClientId, u32>,
    call: C,
    returned: Option<R>,
}

/// The operations of some clients: of each client, in the order in which it called them.
///
/// Canonical: histories with the same operations and the same order between them are equal, whatever the order of events that do
/// not see each other was, such as two calls without a return between them. So states that keep a history differ only where
/// linearizability can distinguish them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct History<C, R> {
    clients: BTreeMap<ClientId, Vec<Operation<C, R>>>,
}

impl<C, R> Default for History<C, R> {
    fn default() -> Self {
        Self { clients: BTreeMap::new() }
    }
}

impl<C, R> History<C, R> {
    /// A client calls an operation, after all that have returned.
    ///
    /// # Panics
    ///
    /// The last operation of the client is pending.
    pub fn call(&mut self, client: ClientId, call: C) {
        assert!(!self.is_pending(client), "client {client} calls before its last operation has returned");
        let returned = |(id, operations): (&ClientId, &Vec<Operation<C, R>>)| (*id, completed(operations));
        let after = self.clients.iter().map(returned).filter(|(_, count)| *count > 0).collect();
        self.clients.entry(client).or_default().push(Operation { after, call, returned: None });
    }

    /// Returns from the last operation that a client called.
    ///
    /// # Panics
    ///
    /// The operation has returned already, or there is none.
    pub fn returned(&mut self, client: ClientId, value: R) {
        complete(client, self.clients.get_mut(&client).and_then(|operations| operations.last_mut()), value);
    }

    /// Whether the last operation of a client is pending.
    pub fn is_pending(&self, client: ClientId) -> bool {
        self.operations(client).last().is_some_and(|operation| operation.returned.is_none())
    }

    /// The next operation of a client's program, in order; none while an operation is pending, and after the last one.
    pub fn next_of<'p, O>(&self, client: ClientId, program: &'p [O]) -> Option<&'p O> {
        program.get(self.operations(client).len()).filter(|_| !self.is_pending(client))
    }

    /// The operations of a client, in the order in which it called them.
    pub fn operations(&self, client: ClientId) -> &[Operation<C, R>] {
        self.clients.get(&client).map_or(&[], Vec::as_slice)
    }

    /// The history of clients that each keep their own operations, such as the views of nodes.
    ///
    /// The parts need not be of one moment: an operation that a client has heard of counts if it is in the history, and
    /// it is in every reachable system state.
    pub fn of(clients: impl IntoIterator<Item = (ClientId, Vec<Operation<C, R>>)>) -> Self {
        Self { clients: clients.into_iter().filter(|(_, operations)| !operations.is_empty()).collect() }
    }
}

/// The operations of one client that keeps them itself, and its knowledge of the other clients.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Client<C, R> {
    id: ClientId,
    known: BTreeMap<ClientId, u32>,
    operations: Vec<Operation<C, R>>,
}

impl<C, R> Client<C, R> {
    /// A client without operations.
    pub fn new(id: ClientId) -> Self {
        Self { id, known: BTreeMap::new(), operations: Vec::new() }
    }

    /// Calls an operation, after all that this client knows to have returned.
    ///
    /// # Panics
    ///
    /// The last operation is pending.
    pub fn call(&mut self, call: C) {
        assert!(!self.is_pending(), "client {} calls before its last operation has returned", self.id);
        self.operations.push(Operation { after: self.known.clone(), call, returned: None });
    }

    /// The last operation returns. The result is the number of returned operations: send it to all other clients, for
    /// [`learn`](Self::learn).
    ///
    /// # Panics
    ///
    /// The operation has returned already, or there is none.
    #[must_use = "the other clients have to learn of it"]
    pub fn returned(&mut self, value: R) -> u32 {
        complete(self.id, self.operations.last_mut(), value);
        let completed = self.operations.len() as u32;
        self.known.insert(self.id, completed);
        completed
    }

    /// Notes that the first `completed` operations of another client have returned. News may arrive late, and twice.
    pub fn learn(&mut self, client: ClientId, completed: u32) {
        let known = self.known.entry(client).or_default();
        *known = completed.max(*known);
    }

    /// Whether the last operation is pending.
    pub fn is_pending(&self) -> bool {
        self.operations.last().is_some_and(|operation| operation.returned.is_none())
    }

    /// The operations in the order of the calls.
    pub fn operations(&self) -> &[Operation<C, R>] {
        &self.operations
    }
}

impl<C, R> Operation<C, R> {
    /// The operation and its arguments.
    pub fn call(&self) -> &C {
        &self.call
    }

    /// Its result; none while it is pending.
    pub fn returned(&self) -> Option<&R> {
        self.returned.as_ref()
    }
}

/// The number of operations of a client that have returned: all, or all but the last.
fn completed<C, R>(operations: &[Operation<C, R>]) -> u32 {
    operations.iter().filter(|operation| operation.returned.is_some()).count() as u32
}

fn complete<C, R>(client: ClientId, operation: Option<&mut Operation<C, R>>, value: R) {
    let waiting = operation.filter(|operation| operation.returned.is_none());
    waiting.unwrap_or_else(|| panic!("client {client} has no operation that could return")).returned = Some(value);
}

impl<C: Debug, R: Debug> Operation<C, R> {
    fn show(&self, client: ClientId, number: usize) -> String {
        let call = format!("{client}.{number} {:?}", self.call);
        let call = match &self.returned {
            Some(value) => format!("{call} -> {value:?}"),
            None => format!("{call} (pending)"),
        };
        // A client is sequential, so its own operations are left out.
        let others = self.after.iter().filter(|(other, _)| **other != client);
        let after: Vec<String> = others.map(|(other, count)| format!("{other}.{count}")).collect();
        match after.is_empty() {
            true => call,
            false => format!("{call} after {}", after.join(", ")),
        }
    }
}
