//! Filters of one node that prevent all predictions.

use std::collections::BTreeSet;

use host_model::contract::NodeId;

use crate::checker::round::{CheckError, Checker, Round};
use crate::checker::safety::Unsafe;
use crate::filter::{Pattern, smallest_hitting_set};

/// The maximum number of filters that are tried together: more suggest that the node cannot help.
const TOGETHER_MAX: usize = 6;

/// The maximum number of sets of filters of a grain that are tried.
const ATTEMPTS_MAX: usize = 12;

/// The number of steps by which the exact pattern of an event is coarsened, in the order of the search for filters. An event that is
/// possible in many local states needs as many exact filters, or a single one for any state.
const GRAINS: [usize; 3] = [1, 0, 2];

/// The result for one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steering {
    /// The filters; empty if nothing is predicted, or no filters help.
    pub patterns: BTreeSet<Pattern>,
    /// Whether a violation is predicted that no filters of this node prevent without making something worse.
    pub is_unhelpful: bool,
    /// Whether it was stopped. Filters found before that stay valid, but may not be the coarsest; without any, it is unknown whether
    /// some help.
    pub is_cut: bool,
    /// Units of work.
    pub work: u64,
}

impl Checker<'_> {
    /// Searches filters of one node after a round: a smallest set of events that meets all violating paths, earliest first, and that
    /// [passes](Self::check_filters); first of events whatever the local state is, then of those in one state, then of kinds of events.
    /// If the check finds another path, the set must meet that as well. Then the coarsest patterns of these events that pass.
    ///
    /// # Errors
    ///
    /// As for a round.
    pub fn steer(&self, node: NodeId, round: &Round) -> Result<Steering, CheckError> {
        let mut steering = Steering::default();
        if round.predictions.is_empty() {
            return Ok(steering);
        }
        for grain in GRAINS {
            if let Some(patterns) = self.meet(node, grain, round, &mut steering)? {
                steering.patterns = self.coarsest(node, patterns, round, &mut steering)?;
                return Ok(steering);
            }
            if steering.is_cut {
                return Ok(steering);
            }
        }
        steering.is_unhelpful = true;
        Ok(steering)
    }

    /// A smallest set of filters of a grain that passes, if there is one.
    fn meet(
        &self,
        node: NodeId,
        grain: usize,
        round: &Round,
        steering: &mut Steering,
    ) -> Result<Option<BTreeSet<Pattern>>, CheckError> {
        let of_grain = |path: &Vec<Pattern>| path.iter().map(|exact| self.coarsened(exact, grain)).collect();
        let exact = round.filterable.get(node as usize).map_or(&[][..], Vec::as_slice);
        let mut paths: Vec<Vec<Pattern>> = exact.iter().map(of_grain).collect();
        for _ in 0..ATTEMPTS_MAX {
            let Some(patterns) = smallest_hitting_set(&paths, TOGETHER_MAX) else { break };
            let checked = self.check_filters(&round.beginning, node, &patterns)?;
            steering.work += checked.work;
            match checked.refused {
                None => return Ok(Some(patterns)),
                Some(Unsafe::Violated(further)) => paths.extend(further.iter().map(of_grain)),
                Some(Unsafe::Dead(_)) => break,
                Some(Unsafe::Unexplored) => {
                    steering.is_cut = true;
                    break;
                }
            }
        }
        Ok(None)
    }

    /// The coarsest patterns that pass, among the coarser forms of these.
    fn coarsest(
        &self,
        node: NodeId,
        patterns: BTreeSet<Pattern>,
        round: &Round,
        steering: &mut Steering,
    ) -> Result<BTreeSet<Pattern>, CheckError> {
        let mut coarser: Vec<BTreeSet<Pattern>> = Vec::new();
        for grain in 1..=2 {
            let next = patterns.iter().map(|pattern| self.coarsened(pattern, grain)).collect();
            if next != patterns && coarser.last() != Some(&next) {
                coarser.push(next);
            }
        }
        while let Some(tried) = coarser.pop() {
            let checked = self.check_filters(&round.beginning, node, &tried)?;
            steering.work += checked.work;
            match checked.refused {
                None => return Ok(tried),
                Some(Unsafe::Unexplored) => {
                    steering.is_cut = true;
                    break;
                }
                Some(_) => {}
            }
        }
        Ok(patterns)
    }

    /// A pattern coarsened by this many steps, or as far as possible.
    fn coarsened(&self, pattern: &Pattern, times: usize) -> Pattern {
        (0..times).fold(pattern.clone(), |pattern, _| pattern.coarser(&self.kinds).unwrap_or(pattern))
    }
}
