//! Common properties of protocols, ready to declare, and common parts of wrappers around libraries.
//!
//! Each property takes a claim, which gives it its name and kind, and a function that returns the part of a node's state that it reads:
//! none if the node is irrelevant. Linearizability is in [`linearizability`](crate::linearizability).
//!
//! ```
//! # use guest_sdk::{Properties, Protocol, ready_made};
//! # #[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
//! # struct State { term: u32, leads: bool, log: Vec<u32>, commit: usize }
//! # fn properties<P: Protocol<State = State>>(claims: &mut Properties<P>) {
//! ready_made::one_leader_per_term(claims.always("one-leader"), |_, state| state.leads.then_some(state.term));
//! ready_made::logs_agree(claims.always("logs-agree"), |_, state| Some(state.log[..state.commit].to_vec()));
//! # }
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `budgets` | bounds on local events |
//! | `tests` | a toy store with a mistake for each property |

mod budgets;

use std::collections::BTreeSet;
use std::fmt::{Debug, Display};

use serde::{Deserialize, Serialize};

use crate::{Canonical, Claim, NodeId, Protocol};

pub use budgets::{Budgets, Spent};

/// No two nodes lead in the same term; `term` returns the term in which a node leads.
pub fn one_leader_per_term<P: Protocol, T: Canonical + PartialEq + Display>(
    claim: Claim<'_, '_, P>,
    term: impl FnOnce(&P, &P::State) -> Option<T>,
) {
    claim.system(term, |terms| {
        of_pairs(terms, |(one, term), (other, same)| match term == same {
            true => Err(format!("nodes {one} and {other} both lead in term {term}")),
            false => Ok(()),
        })
    });
}

/// No two nodes have different entries at one place of their logs: one log is the beginning of the other. `log` returns the part that
/// counts, such as the committed entries.
pub fn logs_agree<P: Protocol, E: PartialEq>(claim: Claim<'_, '_, P>, log: impl FnOnce(&P, &P::State) -> Option<Vec<E>>)
where
    Vec<E>: Canonical,
{
    claim.system(log, |logs| {
        of_pairs(logs, |(one, log), (other, its)| match log.iter().zip(its).position(|(one, other)| one != other) {
            None => Ok(()),
            Some(place) => Err(format!("nodes {one} and {other} have different entries at {}", place + 1)),
        })
    });
}

/// The values at a node, as [`acknowledged_is_durable`] reads them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Kept<V: Ord> {
    /// The values whose writes the node has acknowledged to clients.
    pub acknowledged: BTreeSet<V>,
    /// The values on its disk, or in its memory if that is the measure.
    pub stored: BTreeSet<V>,
}

/// More than half of the nodes store each value that any node has acknowledged.
pub fn acknowledged_is_durable<P: Protocol, V: Ord + Debug>(
    claim: Claim<'_, '_, P>,
    kept: impl FnOnce(&P, &P::State) -> Option<Kept<V>>,
) where
    Kept<V>: Canonical,
{
    claim.system(kept, |nodes| {
        for value in nodes.iter().flatten().flat_map(|kept| &kept.acknowledged) {
            let holders = nodes.iter().flatten().filter(|kept| kept.stored.contains(value)).count();
            if holders * 2 <= nodes.len() {
                return Err(format!("{value:?} was acknowledged, and {holders} of {} nodes have it", nodes.len()));
            }
        }
        Ok(())
    });
}

/// The log of a node, as [`committed_is_on_a_majority`] reads it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Replica<E> {
    /// Its log.
    pub entries: Vec<E>,
    /// The number of committed entries, as far as the node knows.
    pub committed: usize,
}

/// The logs of more than half of the nodes have each entry that a node has committed.
pub fn committed_is_on_a_majority<P: Protocol, E: PartialEq>(
    claim: Claim<'_, '_, P>,
    replica: impl FnOnce(&P, &P::State) -> Option<Replica<E>>,
) where
    Replica<E>: Canonical,
{
    claim.system(replica, |nodes| {
        for (node, replica) in nodes.iter().enumerate().filter_map(|(node, view)| Some((node, view.as_ref()?))) {
            for (place, entry) in replica.entries.iter().enumerate().take(replica.committed) {
                let holders = nodes.iter().flatten().filter(|its| its.entries.get(place) == Some(entry)).count();
                if holders * 2 <= nodes.len() {
                    return Err(format!(
                        "node {node} has committed entry {}, and {holders} of {} nodes have it",
                        place + 1,
                        nodes.len()
                    ));
                }
            }
        }
        Ok(())
    });
}

/// All nodes have the same value; usually an `eventually` property. Nodes without a value are ignored.
pub fn replicas_converge<P: Protocol, V: Canonical + PartialEq>(
    claim: Claim<'_, '_, P>,
    value: impl FnOnce(&P, &P::State) -> Option<V>,
) {
    claim.system(value, |values| {
        of_pairs(values, |(one, value), (other, its)| match value == its {
            true => Ok(()),
            false => Err(format!("nodes {one} and {other} have different values")),
        })
    });
}

/// Checks every pair of nodes with views, once, in the order of their numbers.
fn of_pairs<V>(
    views: &[Option<V>],
    check: impl Fn((NodeId, &V), (NodeId, &V)) -> Result<(), String>,
) -> Result<(), String> {
    let named = || (0..).zip(views).filter_map(|(node, view)| Some((node, view.as_ref()?)));
    named().try_for_each(|one| named().filter(|other| other.0 > one.0).try_for_each(|other| check(one, other)))
}

/// A disk with a write cache: reads see a write at once, and it survives a reset once it is flushed.
///
/// The disk is part of the state. [`Protocol::persist`] returns a copy of [`durable`](Self::durable), and `init` begins with
/// [`Disk::new`] of it: writes that a library has not flushed are lost in a crash. A local event that flushes lets the checker
/// choose when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Disk<T> {
    durable: T,
    /// The content with the unflushed writes; none if all writes are flushed.
    written: Option<T>,
}

impl<T: Clone + PartialEq> Disk<T> {
    /// A disk with this content.
    pub fn new(content: T) -> Self {
        Self { durable: content, written: None }
    }

    /// The content that a read sees.
    pub fn content(&self) -> &T {
        self.written.as_ref().unwrap_or(&self.durable)
    }

    /// Changes the content; until the next flush, only reads see the change.
    pub fn write(&mut self, change: impl FnOnce(&mut T)) {
        let mut content = self.content().clone();
        change(&mut content);
        self.written = (content != self.durable).then_some(content);
    }

    /// Makes all writes durable.
    pub fn flush(&mut self) {
        if let Some(written) = self.written.take() {
            self.durable = written;
        }
    }

    /// Whether writes are not durable yet.
    pub fn is_dirty(&self) -> bool {
        self.written.is_some()
    }

    /// The content that survives a reset.
    pub fn durable(&self) -> &T {
        &self.durable
    }
}

#[cfg(test)]
mod tests;
