//! The data that all partitions read while they expand states.

use host_model::contract::Judgement;
use host_model::lts::LtsCache;

use crate::global::state::Budgets;

/// The context of a round.
#[derive(Clone, Copy)]
pub struct RoundContext<'w> {
    /// The local transition system as far as it is known.
    pub known: &'w LtsCache,
    /// The bounds that are part of a state.
    pub budgets: &'w Budgets,
    /// The bound on depth.
    pub bound: u32,
    /// Whether a judgement is still to be reported: one witness per property is enough.
    pub is_wanted: &'w (dyn Fn(&Judgement) -> bool + Sync),
    /// Whether some node takes quorums.
    pub has_quorums: bool,
    /// The number of nodes that may have crashed in a noted state where only faults can happen; none if no such state is noted.
    pub crashes_max: Option<u32>,
}
