//! The soundness verification: its questions to the unfolding, and its memory of the answers.

use std::cell::RefCell;
use std::collections::BTreeSet;

use host_model::lts::{LocalStateId, Stepper};
use rustc_hash::FxHashSet;

use super::Round;
use crate::kernel::{EndCondition, Phase, Progress, Report, Search, SearchBounds, SearchError};
use crate::local::space::Index;
use crate::strategy::lmc::alongside::{Metered, combined};
use crate::strategy::unfold::{self, UnfoldSearch};
use crate::unfolding::{Everything, Relevance};

/// The budget of a verification in all rounds but the last: this many units of work per step of a local state, and at least the second
/// number. It then takes about as long as the steps. A verification without an answer by then may have no end, and later ones have more
/// to verify.
const VERIFICATION_SHARE: u64 = 16;
const VERIFICATION_MIN: u64 = 65_536;

impl Round<'_, '_, '_> {
    /// Verifies with the unfolding whether the findings on over-approximated states are reachable.
    pub(super) fn verify(&mut self, stepper: &mut Stepper<'_>, is_complete: bool) -> Result<(), SearchError> {
        self.is_inconclusive = false;
        if !self.wanted.is_empty() {
            let wanted: Vec<u32> = self.wanted.iter().copied().collect();
            // The place of a witness is not known, so no event is left out; but the first witnesses suffice.
            self.ask(stepper, Relevant::everything(), &wanted, is_complete)?;
            let report = &self.report;
            self.wanted.retain(|property| report.wants_witness(*property));
        }
        if self.end.is_none() && self.violating.len() + self.violating_locals.len() > 0 {
            let relevant = self.relevant(stepper);
            self.ask(stepper, relevant, &[], is_complete)?;
        }
        Ok(())
    }

    /// One run of the unfolding, unless an earlier one has the answer.
    fn ask(
        &mut self,
        stepper: &mut Stepper<'_>,
        relevant: Relevant,
        until_witnessed: &[u32],
        is_complete: bool,
    ) -> Result<(), SearchError> {
        let bounds = self.bounds();
        let holds = |refuted: &&Refutation| refuted.still_holds(&relevant, bounds);
        if let Some(refuted) = self.refuted.iter().flatten().find(holds) {
            self.is_inconclusive |= refuted.is_cut;
            return Ok(());
        }
        self.soundness_checks += match until_witnessed.len() {
            0 => self.violating.len() + self.violating_locals.len(),
            wanted => wanted,
        } as u64;
        let (before, progress, alongside) = (self.work(), self.progress(), self.alongside);
        let snapshots = self.search.lts.counts().bytes;
        let ask = |work: u64, own: &Progress| {
            let progress = combined(&progress, own, snapshots);
            // It is mostly smaller than the full unfolding, which therefore waits for some time.
            if work < before {
                alongside.check_without_turn(&progress)
            } else {
                alongside.check(before + work, &progress)
            }
        };
        let is_last =
            is_complete && (!self.space.local_events_cut() || Some(self.bound) == self.search.bounds.local_events);
        let work_max = (self.space.transitions() * VERIFICATION_SHARE).max(VERIFICATION_MIN);
        let metered = Metered::new(&ask, if is_last { u64::MAX } else { work_max });
        let search = Search { bounds, monitor: &metered, collect_system_states: false, ..*self.search };
        let (end_before, known) = (self.report.end, self.report.violations.len());
        let mut run = UnfoldSearch { until_witnessed, ..UnfoldSearch::new(&search, self.start, self.report) };
        let explored = run.explore(stepper, &relevant, &mut BTreeSet::new());
        self.work += metered.work();
        let end = std::mem::replace(&mut self.report.end, end_before);
        explored?;
        // A shorter one may need more local events, or violate a tuple that is not known yet.
        let is_shortest = is_complete && !self.space.local_events_cut();
        for found in &mut self.report.violations[known..] {
            found.shortest &= is_shortest;
        }
        match end {
            EndCondition::Violation => self.end = Some(EndCondition::Violation),
            // It may continue once there is more to verify, or in a round with more local events.
            _ if metered.is_spent() => self.is_inconclusive = true,
            // The verification itself ran out of time or memory, so the absence of an answer proves nothing.
            EndCondition::TimeBound | EndCondition::MemoryBound | EndCondition::Interrupted => {
                self.end = self.end.or(Some(end));
            }
            // The witnesses were found, and no other question was open.
            EndCondition::Pruned => {}
            _ => {
                let is_cut = end == EndCondition::LocalEventBound;
                self.is_inconclusive |= is_cut;
                let is_partial = !relevant.is_everything();
                self.refuted[usize::from(is_partial)] = Some(Refutation::new(relevant, bounds, is_cut));
            }
        }
        Ok(())
    }

    /// Asks the unfolding whether the user's bound on local events leaves any out; returns why to stop, or that bound. The local space
    /// cannot decide that: a path that reaches the bound there may be in no execution.
    pub(super) fn local_events_cut(&mut self, stepper: &mut Stepper<'_>) -> Result<Option<EndCondition>, SearchError> {
        self.soundness_checks += 1;
        let (progress, snapshots) = (self.progress(), self.search.lts.counts().bytes);
        let ask = |_: u64, own: &Progress| self.search.monitor.check(&combined(&progress, own, snapshots));
        let metered = Metered::new(&ask, u64::MAX);
        let search = Search { bounds: self.bounds(), monitor: &metered, ..*self.search };
        self.alongside.enter(Phase::Verifying);
        let end = unfold::end_of_local_events(&search, self.start, stepper);
        self.alongside.enter(Phase::Exploring);
        Ok(Some(end?).filter(|end| *end != EndCondition::SpaceExhausted))
    }

    /// The bounds of the unfolding. The space can be complete although some executions have more local events than the bound of the
    /// round, in a cycle for example. Then only the user's bound applies.
    fn bounds(&self) -> SearchBounds {
        let of_round = self.space.local_events_cut().then_some(self.bound);
        SearchBounds { local_events: of_round.or(self.search.bounds.local_events), ..SearchBounds::default() }
    }

    /// The local states that can lead to one to be verified.
    fn relevant(&self, stepper: &mut Stepper<'_>) -> Relevant {
        if !self.violating_locals.is_empty() {
            // The messages on the path to a single local state may come from anywhere.
            return Relevant::everything();
        }
        let mut classes = vec![FxHashSet::default(); self.classes.len()];
        #[expect(clippy::iter_over_hash_type, reason = "only fills sets")]
        for tuple in &self.violating {
            for (classes, class) in classes.iter_mut().zip(tuple) {
                classes.insert(*class);
            }
        }
        let mut targets = Vec::new();
        for (index, reached) in (0u32..).zip(self.space.states()) {
            if classes[reached.node as usize].contains(&stepper.state(reached.state).protocol.class) {
                targets.push(Index(index));
            }
        }
        Relevant::only(self.space.ancestors(targets.into_iter()))
    }

    /// The built system states that the soundness verification accepts; all of them if the unfolding alongside had
    /// the answer.
    pub(super) fn collect(
        &self,
        stepper: &mut Stepper<'_>,
        accepted: &mut BTreeSet<Box<[LocalStateId]>>,
    ) -> Result<(), SearchError> {
        let is_all = self.alongside.is_over();
        let bounds = match is_all {
            true => SearchBounds { local_events: self.search.bounds.local_events, ..SearchBounds::default() },
            false => self.bounds(),
        };
        let search = Search { bounds, collect_system_states: true, ..*self.search };
        // A violation must not end this unfolding.
        let mut report = Report { violations_max: u64::MAX, ..Report::new(self.search.lts) };
        let mut run = UnfoldSearch::new(&search, self.start, &mut report);
        let mut valid = BTreeSet::new();
        run.explore(stepper, &Everything, &mut valid)?;
        let is_built = |(state, states): (&LocalStateId, &Vec<LocalStateId>)| {
            states.contains(state) || stepper.state(*state).is_stuck()
        };
        accepted.extend(valid.into_iter().filter(|tuple| is_all || tuple.iter().zip(&self.states).all(is_built)));
        Ok(())
    }
}

/// The ancestors of the states to be verified; all states if any may matter.
pub struct Relevant {
    states: Option<FxHashSet<LocalStateId>>,
    /// The states without relevance that an event would have reached.
    left_out: RefCell<FxHashSet<LocalStateId>>,
}

impl Relevant {
    /// All states are relevant.
    pub fn everything() -> Self {
        Self { states: None, left_out: RefCell::default() }
    }

    /// Only these states are relevant.
    pub fn only(states: FxHashSet<LocalStateId>) -> Self {
        Self { states: Some(states), left_out: RefCell::default() }
    }

    /// Whether all states are relevant.
    pub fn is_everything(&self) -> bool {
        self.states.is_none()
    }
}

impl Relevance for Relevant {
    fn is_relevant(&self, state: LocalStateId) -> bool {
        let is_relevant = self.states.as_ref().is_none_or(|states| states.contains(&state));
        if !is_relevant {
            self.left_out.borrow_mut().insert(state);
        }
        is_relevant
    }
}

/// A verification that was complete and reached no violation.
pub struct Refutation {
    left_out: FxHashSet<LocalStateId>,
    bounds: SearchBounds,
    /// Whether the bound on local events left some out, so that it holds within the bound only.
    pub is_cut: bool,
}

impl Refutation {
    /// A refutation with these parameters.
    pub fn new(relevant: Relevant, bounds: SearchBounds, is_cut: bool) -> Self {
        Self { left_out: relevant.left_out.into_inner(), bounds, is_cut }
    }

    /// Whether a new verification would run exactly the same: no state that was left out is relevant now. So although
    /// predecessors arrive all the time, only the relevant ones cost anything.
    pub fn still_holds(&self, relevant: &Relevant, bounds: SearchBounds) -> bool {
        let is_relevant = |states: &FxHashSet<LocalStateId>| !states.is_disjoint(&self.left_out);
        self.bounds == bounds && !relevant.states.as_ref().map_or(!self.left_out.is_empty(), is_relevant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(states: &[u32]) -> Relevant {
        Relevant::only(states.iter().map(|state| LocalStateId(*state)).collect())
    }

    #[test]
    fn a_refutation_holds_until_something_left_out_matters() {
        let asked = only(&[1, 2]);
        assert!(asked.is_relevant(LocalStateId(1)) && !asked.is_relevant(LocalStateId(3)));
        let refutation = Refutation::new(asked, SearchBounds::default(), false);
        assert!(refutation.still_holds(&only(&[1, 2, 4]), SearchBounds::default()), "4 was not met");
        assert!(!refutation.still_holds(&only(&[1, 3]), SearchBounds::default()), "3 was left out");
        assert!(!refutation.still_holds(&Relevant::everything(), SearchBounds::default()), "3 was left out");
        let bounded = SearchBounds { local_events: Some(1), ..SearchBounds::default() };
        assert!(!refutation.still_holds(&only(&[1]), bounded), "under other bounds");
        let nothing_left_out = Refutation::new(Relevant::everything(), SearchBounds::default(), false);
        assert!(nothing_left_out.still_holds(&Relevant::everything(), SearchBounds::default()));
        assert!(nothing_left_out.still_holds(&only(&[1]), SearchBounds::default()));
    }
}
