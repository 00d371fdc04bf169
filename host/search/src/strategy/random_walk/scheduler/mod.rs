//! How a walk chooses its next event, unless it draws evenly.
//!
//! A choice depends on the contents of events, on what the walk has done and on its random numbers. Nothing here sees an id or another walk, so
//! a walk chooses the same in any local transition system and with any number of workers.
//!
//! | module | what it holds |
//! |---|---|
//! | `chains` | the causal chains of the messages in flight on a walk |
//! | `priority` | random priorities with odds by weight |
//! | `pct` | priorities of causal chains |
//! | `pos` | priorities of events |
//! | `fresh` | messages that were sent lately first |
//! | `swarm` | random weights for each walk |
//! | `phases` | random weights for some steps |
//! | `mix` | another scheduler for each walk |

mod chains;
mod fresh;
mod mix;
mod pct;
mod phases;
mod pos;
mod priority;
mod swarm;

use host_model::contract::{LocalKind, NodeId};
use rand_chacha::ChaCha8Rng;

use crate::kernel::schedule::Schedule;

pub(super) use crate::strategy::random_walk::scheduler::chains::{Chains, Origin, content};

/// An enabled event, as a scheduler sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// Where it happens.
    pub(super) node: NodeId,
    /// What it is.
    pub(super) kind: Kind,
    /// The sender of the message.
    pub(super) from: Option<NodeId>,
    /// The first byte of the message, which tells its type in most encodings.
    pub(super) tag: u8,
    /// Made of its node and its content.
    pub(super) content: u64,
    /// Where it comes from.
    pub(super) origin: Origin,
    /// The weight of its kind.
    pub(super) weight: u64,
}

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Messages are delivered.
    Delivery,
    /// A local event.
    Local(LocalKind),
    /// A fault.
    Fault,
}

/// Chooses the events of one walk.
pub(super) trait Scheduler {
    /// Chooses one of the events that are enabled at a step; none if all of them have the weight 0.
    ///
    /// What it chooses may depend on nothing but its earlier calls, the numbers that it draws, and the candidates.
    fn choose(&mut self, dice: &mut ChaCha8Rng, candidates: &[Candidate]) -> Option<usize>;
}

/// The scheduler of a walk that has at most this many steps; none if it draws evenly.
pub(super) fn scheduler(schedule: Schedule, dice: &mut ChaCha8Rng, steps_max: u32) -> Option<Box<dyn Scheduler>> {
    match schedule {
        Schedule::Uniform => None,
        Schedule::Pct(depth) => Some(Box::new(pct::Pct::new(dice, depth, steps_max))),
        Schedule::Pos => Some(Box::new(pos::Pos::new(dice))),
        Schedule::Fresh => Some(Box::new(fresh::Fresh)),
        Schedule::Swarm => Some(Box::new(swarm::Swarm::new(dice))),
        Schedule::Phases => Some(Box::new(phases::Phases::default())),
        Schedule::Mix => scheduler(mix::drawn(dice), dice, steps_max),
    }
}

/// Mixes two numbers into one, each bit of it dependent on all bits of both (the finalizer of SplitMix64: Steele, Lea, Flood, "Fast
/// splittable pseudorandom number generators", 2014).
pub(super) fn mixed(one: u64, other: u64) -> u64 {
    let mut mixed = one.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32).wrapping_add(other);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
