//! Random weights for some steps.

use host_model::contract::{LocalKind, NodeId};
use rand_chacha::ChaCha8Rng;

use crate::kernel::dice::{below, draw};
use crate::strategy::random_walk::scheduler::{Candidate, Kind, Scheduler};

/// The factor by which a phase makes events less likely.
const STARVED: u64 = 256;

/// The lengths of phases: from this many steps to the product of both.
const SHORTEST: u64 = 4;
const SCALES: u64 = 4;

/// The events that are unlikely in a phase.
#[derive(Clone, Copy, Debug, Default)]
enum Phase {
    /// None in particular.
    #[default]
    Quiet,
    /// Messages from and to a node.
    Isolated(NodeId),
    /// Events of all other nodes, except deliveries of messages from this one.
    Favoured(NodeId),
    /// Messages on a link.
    Slow(NodeId, NodeId),
    /// Timers.
    NoTimers,
    /// All except deliveries.
    Settling,
    /// All deliveries.
    Silent,
}

/// Phases.
///
/// A walk is a sequence of phases of 4 to 63 steps. Some events are unlikely in each one: the messages of a node, those on a link, all
/// events of other nodes, timers, local events, or deliveries; in some phases no event is unlikely. So a node is cut off for a while, or a
/// round ends before the next timer.
///
/// Source: none; the nemesis of Jepsen (Kingsbury, 2013) makes faults in phases, this scheduler makes orders.
#[derive(Debug, Default)]
pub(super) struct Phases {
    phase: Phase,
    /// Steps of this phase that are left.
    left: u64,
}

impl Phases {
    fn begin(&mut self, dice: &mut ChaCha8Rng, candidates: &[Candidate]) {
        let shortest = SHORTEST << below(dice, SCALES);
        self.left = shortest + below(dice, shortest);
        // A node with an enabled event, and a sender.
        let some = &candidates[below(dice, candidates.len() as u64) as usize];
        self.phase = match below(dice, 8) {
            0 | 1 => Phase::Quiet,
            2 => Phase::Isolated(some.node),
            3 => Phase::Favoured(some.node),
            4 => Phase::Slow(some.from.unwrap_or(some.node), some.node),
            5 => Phase::NoTimers,
            6 => Phase::Settling,
            _ => Phase::Silent,
        };
    }

    fn starves(&self, candidate: &Candidate) -> bool {
        let is_delivery = candidate.kind == Kind::Delivery;
        match self.phase {
            Phase::Quiet => false,
            Phase::Isolated(node) => is_delivery && (candidate.node == node || candidate.from == Some(node)),
            Phase::Favoured(node) => candidate.node != node && candidate.from != Some(node),
            Phase::Slow(from, to) => is_delivery && candidate.from == Some(from) && candidate.node == to,
            Phase::NoTimers => candidate.kind == Kind::Local(LocalKind::Timer),
            Phase::Settling => !is_delivery,
            Phase::Silent => is_delivery,
        }
    }
}

impl Scheduler for Phases {
    fn choose(&mut self, dice: &mut ChaCha8Rng, candidates: &[Candidate]) -> Option<usize> {
        if candidates.is_empty() {
            return None;
        }
        if self.left == 0 {
            self.begin(dice, candidates);
        }
        self.left -= 1;
        let weight = |candidate: &Candidate| candidate.weight * if self.starves(candidate) { 1 } else { STARVED };
        draw(dice, candidates.iter().map(weight))
    }
}
