//! What many protocols promise, ready to be declared, and what many wrappers of a library need around it.
//!
//! Each property takes a claim, which gives it its name and kind, and a function that says what it reads of a node: none where the node
//! cannot matter. Linearizability is in [`linearizability`](crate::linearizability).
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

/// No two nodes lead in the same term; `term` is that in which a node leads.
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

/// No two nodes have different entries at one place of their logs: one log is the beginning of the other. `log` is what counts of it, such
/// as what is committed.
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

/// What a node has, as [`acknowledged_is_durable`] reads it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Kept<V: Ord> {
    /// What it has told clients to be done.
    pub acknowledged: BTreeSet<V>,
    /// What it has on its disk, or in its memory where that is what counts.
    pub stored: BTreeSet<V>,
}

/// What was acknowledged by any node is stored by more than half of them.
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

/// What a node has, as [`committed_is_on_a_majority`] reads it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Replica<E> {
    /// Its log.
    pub entries: Vec<E>,
    /// How many of the entries are committed, as far as the node knows.
    pub committed: usize,
}

/// What a node has committed is in the logs of more than half of the nodes.
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

/// All nodes have the same value; most often of the kind `eventually`. A node without one is left out.
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

/// Every two nodes with a view, once, in the order of their numbers.
fn of_pairs<V>(
    views: &[Option<V>],
    check: impl Fn((NodeId, &V), (NodeId, &V)) -> Result<(), String>,
) -> Result<(), String> {
    let named = || (0..).zip(views).filter_map(|(node, view)| Some((node, view.as_ref()?)));
    named().try_for_each(|one| named().filter(|other| other.0 > one.0).try_for_each(|other| check(one, other)))
}

/// A disk with a cache of writes: what is written can be read at once, and survives a reset once it is flushed.
///
/// It is part of the state. [`Protocol::persist`] returns a copy of [`durable`](Self::durable), and `init` begins with [`Disk::new`] of
/// that: what a library has written and not flushed is lost in a crash, which is what its documentation is about. A local event that
/// flushes lets the checker choose when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Disk<T> {
    durable: T,
    /// The content with the writes since; none if there are none.
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

    /// Changes the content, until the next flush only for reads.
    pub fn write(&mut self, change: impl FnOnce(&mut T)) {
        let mut content = self.content().clone();
        change(&mut content);
        self.written = (content != self.durable).then_some(content);
    }

    /// Makes what was written durable.
    pub fn flush(&mut self) {
        if let Some(written) = self.written.take() {
            self.durable = written;
        }
    }

    /// Whether something was written that is not durable.
    pub fn is_dirty(&self) -> bool {
        self.written.is_some()
    }

    /// What survives a reset.
    pub fn durable(&self) -> &T {
        &self.durable
    }
}

#[cfg(test)]
mod tests;
