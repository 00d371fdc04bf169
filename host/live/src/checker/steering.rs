//! What one node can filter so that none of the predictions comes true.

use std::collections::BTreeSet;

use host_model::contract::NodeId;

use crate::checker::round::{CheckError, Checker, Round};
use crate::checker::safety::Unsafe;
use crate::filter::{Pattern, smallest_hitting_set};

/// Filters that are tried together at most: more at once are a sign that the node cannot help.
const TOGETHER_MAX: usize = 6;

/// Sets of filters that are tried before the node gives up.
const ATTEMPTS_MAX: usize = 12;

/// What comes out for one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steering {
    /// The filters; none if there is nothing to filter, or nothing helps.
    pub patterns: BTreeSet<Pattern>,
    /// Whether something is predicted, and no filters of this node keep it from happening without making anything worse.
    pub is_unhelpful: bool,
    /// Units of work.
    pub work: u64,
}

impl Checker<'_> {
    /// Looks for filters of one node after a round: a smallest set of events that meets all violating paths, earliest first, which
    /// [passes](Self::check_filters). Where another path comes to light, it has to be met, too. Then the coarsest patterns of these
    /// events that pass.
    ///
    /// # Errors
    ///
    /// As for a round.
    pub fn steer(&self, node: NodeId, round: &Round) -> Result<Steering, CheckError> {
        let mut steering = Steering::default();
        if round.predictions.is_empty() {
            return Ok(steering);
        }
        let mut paths = round.filterable.get(node as usize).cloned().unwrap_or_default();
        for _ in 0..ATTEMPTS_MAX {
            let Some(exact) = smallest_hitting_set(&paths, TOGETHER_MAX) else { break };
            let checked = self.check_filters(&round.beginning, (node, &exact))?;
            steering.work += checked.work;
            match checked.refused {
                None => {
                    self.coarsen((node, exact), round, &mut steering)?;
                    return Ok(steering);
                }
                Some(Unsafe::Violated(further)) => paths.extend(further),
                Some(Unsafe::Dead(_)) => break,
            }
        }
        steering.is_unhelpful = true;
        Ok(steering)
    }

    /// Takes the coarsest patterns that pass, of which the exact ones do.
    fn coarsen(
        &self,
        (node, exact): (NodeId, BTreeSet<Pattern>),
        round: &Round,
        steering: &mut Steering,
    ) -> Result<(), CheckError> {
        let coarser = |patterns: &BTreeSet<Pattern>| -> BTreeSet<Pattern> {
            patterns.iter().map(|pattern| pattern.coarser().unwrap_or_else(|| pattern.clone())).collect()
        };
        let anywhere = coarser(&exact);
        let kinds = coarser(&anywhere);
        for patterns in [kinds, anywhere] {
            let checked = self.check_filters(&round.beginning, (node, &patterns))?;
            steering.work += checked.work;
            if checked.refused.is_none() {
                steering.patterns = patterns;
                return Ok(());
            }
        }
        steering.patterns = exact;
        Ok(())
    }
}
