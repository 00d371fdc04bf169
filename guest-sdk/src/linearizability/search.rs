//! The search for an order that explains a history.

use std::collections::BTreeSet;
use std::fmt::{self, Debug};

use super::{ClientId, History, Operation, SequentialObject, completed};

/// An operation's identifier: the client, and the number of the operation among those of the client, from 1.
pub type OperationId = (ClientId, usize);

/// No order of the operations explains their results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotLinearizable {
    /// The operations in words.
    operations: Vec<String>,
    /// The longest beginning of an order that explains its part.
    longest: Vec<OperationId>,
}

impl NotLinearizable {
    /// The longest beginning of an order that explains its part; the first of several.
    pub fn longest(&self) -> &[OperationId] {
        &self.longest
    }
}

impl fmt::Display for NotLinearizable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no order of the operations explains what they returned: {}; ", self.operations.join("; "))?;
        if self.longest.is_empty() {
            return f.write_str("none can be the first");
        }
        let longest: Vec<String> = self.longest.iter().map(|(client, number)| format!("{client}.{number}")).collect();
        write!(f, "nothing fits after {}", longest.join(", "))
    }
}

impl std::error::Error for NotLinearizable {}

impl<C, R> History<C, R> {
    /// An order that explains the history, without pending operations that need not have taken effect.
    /// Deterministic.
    ///
    /// The cost is the number of sets of operations that can come first, times the possible states of the object after each:
    /// at most the product over the clients of one more than their operations, times those states.
    ///
    /// # Errors
    ///
    /// No order explains the history.
    pub fn linearize<O>(&self, object: &O) -> Result<Vec<OperationId>, NotLinearizable>
    where
        O: SequentialObject<Call = C, Return = R>,
        C: Debug,
        R: Debug + PartialEq,
    {
        let clients: Vec<Timeline<'_, C, R>> = self.clients.iter().map(|(id, all)| (*id, all.as_slice())).collect();
        let goal: Vec<usize> = clients.iter().map(|(_, all)| completed(all) as usize).collect();
        let is_goal = |done: &[usize]| done.iter().zip(&goal).all(|(done, goal)| done >= goal);

        let start = Node { done: vec![0; clients.len()], state: object.start(), next: 0 };
        let mut seen = BTreeSet::from([(start.done.clone(), start.state.clone())]);
        // An explicit stack, since the stack of a guest is small.
        let mut path = vec![start];
        let mut order: Vec<OperationId> = Vec::new();
        let mut longest: Vec<OperationId> = Vec::new();
        while let Some(node) = path.last_mut() {
            if is_goal(&node.done) {
                return Ok(order);
            }
            let Some(client) = (node.next..clients.len()).find(|client| is_minimal(&clients, &node.done, *client))
            else {
                path.pop();
                order.pop();
                continue;
            };
            node.next = client + 1;
            let (id, operations) = clients[client];
            let operation = &operations[node.done[client]];
            let mut state = node.state.clone();
            let value = object.apply(&mut state, &operation.call);
            if operation.returned.as_ref().is_some_and(|returned| *returned != value) {
                continue;
            }
            let mut done = node.done.clone();
            done[client] += 1;
            if !seen.insert((done.clone(), state.clone())) {
                continue;
            }
            order.push((id, done[client]));
            if order.len() > longest.len() {
                longest.clone_from(&order);
            }
            path.push(Node { done, state, next: 0 });
        }
        let numbered = |(client, all): Timeline<'_, C, R>| {
            all.iter().zip(1..).map(move |(operation, number)| operation.show(client, number)).collect::<Vec<_>>()
        };
        Err(NotLinearizable { operations: clients.into_iter().flat_map(numbered).collect(), longest })
    }
}

/// A client with its operations.
type Timeline<'a, C, R> = (ClientId, &'a [Operation<C, R>]);

/// A beginning of an order: the number of operations of each client in it, always the first ones since clients are
/// sequential; the object after it; the client to try next.
struct Node<S> {
    done: Vec<usize>,
    state: S,
    next: usize,
}

/// Whether the next operation of a client comes after no other remaining operation.
fn is_minimal<C, R>(clients: &[Timeline<'_, C, R>], done: &[usize], client: usize) -> bool {
    let Some(operation) = clients[client].1.get(done[client]) else { return false };
    operation.after.iter().all(|(other, count)| match clients.binary_search_by_key(other, |(id, _)| *id) {
        Ok(index) => done[index] >= (*count as usize).min(clients[index].1.len()),
        Err(_) => true,
    })
}
