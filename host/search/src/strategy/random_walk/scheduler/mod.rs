//! The choice of the next event of a walk, unless it draws evenly.
//!
//! A choice depends on the contents of events, on the steps of the walk and on its random numbers. It never depends on ids or other walks,
//! so a walk chooses the same in any local transition system and with any number of workers.
//!
//! | module | what it holds |
//! |---|---|
//! | `chains` | the causal chains of the messages in flight on a walk |
//! | `priority` | random priorities with odds by weight |
//! | `pct` | priorities of causal chains |
//! | `pos` | priorities of events |
//! | `fresh` | recently sent messages first |
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
    /// The node where it happens.
    pub(super) node: NodeId,
    /// The kind of the event.
    pub(super) kind: Kind,
    /// The sender of the message.
    pub(super) from: Option<NodeId>,
    /// The first byte of the message, which tells its type in most encodings.
    pub(super) tag: u8,
    /// A hash of its node and its content.
    pub(super) content: u64,
    /// Its causal origin.
    pub(super) origin: Origin,
    /// The weight of its kind.
    pub(super) weight: u64,
}

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A delivery of messages.
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
    /// The choice may depend only on its earlier calls, the numbers that it draws, and the candidates.
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
