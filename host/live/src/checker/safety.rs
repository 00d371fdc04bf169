//! The check that filters make nothing worse.

use std::collections::BTreeSet;
use std::sync::Arc;

use host_model::contract::{Muffled, NodeId, Stop};
use host_model::lts::{Lts, Stepper};
use host_model::trace::Beginning;
use host_model::trace::start::{self, Start};
use host_search::kernel::rules::Rules;
use host_search::kernel::{Monitor, Progress, Search, SearchBounds, SearchError, stopped_end};
use host_search::outlook::Outlook;
use host_search::outlook::certificate::certify;
use host_search::outlook::nearby::look_around;

use crate::checker::candidates::candidates;
use crate::checker::round::{CheckError, Checker, Limits, look_ahead, new_lts};
use crate::checker::stopping::Asking;
use crate::filter::{Pattern, Patterns};

/// The reason why filters must not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsafe {
    /// With them a violation remains, or a new one appears: the events that the node could filter on each path to it, earliest first.
    Violated(Vec<Vec<Pattern>>),
    /// A promise of progress that could be kept is dead with them, by its number among all.
    Dead(usize),
    /// The check was stopped before it reached its limits: it proves nothing.
    Unexplored,
}

/// The result of a check, and its cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The reason why they must not be used; none if they are safe within the budget.
    pub refused: Option<Unsafe>,
    /// Whether all executions with them were explored.
    pub is_complete: bool,
    /// Units of work.
    pub work: u64,
}

impl Checker<'_> {
    /// Explores ahead from a state with filters in force at one node, whose substitutes replace the matching events, by the same
    /// strategies and within the same budget as a [round](Self::round). Filters pass if no violation is found, and if no promise of
    /// progress that can be kept without them is dead with them.
    ///
    /// # Errors
    ///
    /// As for a round.
    pub fn check_filters(
        &self,
        beginning: &Arc<Beginning>,
        node: NodeId,
        patterns: &BTreeSet<Pattern>,
    ) -> Result<Checked, CheckError> {
        let ignores = Arc::new(Patterns { node, patterns: patterns.clone(), kinds: Arc::clone(&self.kinds) });
        let muffled = Muffled::new(self.factory, Arc::clone(&ignores) as _);
        let lts = new_lts(&muffled, self.lts.scenario().clone(), &self.limits)?.breaking(ignores);
        let mut stepper = Stepper::new(&lts)?;
        let start = start::adopt(&mut stepper, beginning)?;
        let ahead = look_ahead(&lts, self.stop, &start, &self.limits)?;
        let (is_complete, mut work) = (ahead.is_complete, ahead.work);
        if !ahead.found.is_empty() {
            let mut paths = Vec::with_capacity(ahead.found.len());
            for found in &ahead.found {
                let mut path = candidates(&mut stepper, node, self.limits.breaks, found)?;
                // Filtered events cannot be filtered again.
                path.retain(|pattern| !patterns.iter().any(|filter| filter.covers(pattern, &self.kinds)));
                paths.push(path);
            }
            return Ok(Checked { refused: Some(Unsafe::Violated(paths)), is_complete, work });
        }
        if ahead.is_cut {
            return Ok(Checked { refused: Some(Unsafe::Unexplored), is_complete, work });
        }
        let mut refused = None;
        if let Some(rules) = self.limits.promises {
            match self.find_dead(&lts, &mut stepper, &start, beginning, rules) {
                Ok((dead, taken)) => {
                    refused = dead.map(Unsafe::Dead);
                    work += taken;
                }
                Err(error) => {
                    stopped_end(error)?;
                    refused = Some(Unsafe::Unexplored);
                }
            }
        }
        Ok(Checked { refused, is_complete, work })
    }

    /// The first promise of progress that is dead with the filters and not without them.
    fn find_dead(
        &self,
        lts: &Lts<'_>,
        stepper: &mut Stepper<'_>,
        start: &Start,
        beginning: &Arc<Beginning>,
        rules: Rules,
    ) -> Result<(Option<usize>, u64), SearchError> {
        let mut work = 0;
        for promise in 0..lts.promises().len() {
            let (dead, taken) = is_dead(lts, stepper, self.stop, start, promise, rules)?;
            work += taken;
            if !dead {
                continue;
            }
            let mut without = Stepper::new(&self.lts)?;
            let start = start::adopt(&mut without, beginning)?;
            let (was_dead, taken) = is_dead(&self.lts, &mut without, self.stop, &start, promise, rules)?;
            work += taken;
            if !was_dead {
                return Ok((Some(promise), work));
            }
        }
        Ok((None, work))
    }
}

/// Whether a promise of progress is proven to be dead, and the cost of the proof. An error if the proof was stopped.
fn is_dead(
    lts: &Lts<'_>,
    stepper: &mut Stepper<'_>,
    stop: &dyn Stop,
    start: &Start,
    promise: usize,
    rules: Rules,
) -> Result<(bool, u64), SearchError> {
    let starts = std::slice::from_ref(start);
    let (bounds, monitor) = (SearchBounds::default(), Asking::new(stop).holding(Limits::default().round_bytes_max));
    let search = Search { lts, starts, bounds, monitor: &monitor, collect_system_states: false };
    let progress = Progress::default();
    let (outlook, work) = look_around(&search, start, promise, rules, &progress)?;
    match outlook {
        Outlook::Dead => Ok((true, work)),
        Outlook::Alive(_) => Ok((false, work)),
        Outlook::Open => {
            let ask = &mut |_| monitor.check(&progress);
            let certified = certify(stepper, start, lts.promises()[promise], rules.recovery, ask)?;
            Ok((certified.is_dead, work + certified.work))
        }
    }
}
