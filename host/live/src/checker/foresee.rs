//! Hold and look ahead: whether an event whose effects are held leads to a violation.

use std::collections::BTreeSet;

use crate::carried::Fork;
use crate::checker::round::{CheckError, Checker, Limits, Prediction};
use crate::filter::{Pattern, What};

/// The result of looking ahead from an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreseen {
    /// A violation ahead after the event, if its substitute leads to none.
    pub prediction: Option<Prediction>,
    /// Whether it was stopped before it reached its limits. Then a missing prediction proves nothing.
    pub is_cut: bool,
    /// Units of work.
    pub work: u64,
}

impl Limits {
    /// The limits of looking ahead from a single event while its effects are held: this many events of the unfolding, and no search for
    /// depth.
    pub fn of_an_event(events_max: u64) -> Self {
        Self {
            events_max,
            states_max: 0,
            walks_max: 0,
            violations_max: 1,
            past_max: 0,
            promises: None,
            ..Self::default()
        }
    }
}

impl Checker<'_> {
    /// Looks ahead from an event, which this exact pattern matches, and from its substitute: a message is lost, and a local event waits
    /// while the filter matches. A violation after both is not caused by the event, and a violation in the state right after it is left
    /// to the immediate check.
    ///
    /// `turns` is called between the two, so that the owner of the deadline can give the second as much time as the first.
    ///
    /// # Errors
    ///
    /// As for a round.
    pub fn foresee(&mut self, event: &Pattern, fork: &Fork, turns: &dyn Fn()) -> Result<Foreseen, CheckError> {
        let mut round = self.round(&fork.after)?;
        let mut foreseen = Foreseen { prediction: None, is_cut: round.is_cut, work: round.work };
        if round.predictions.is_empty() {
            return Ok(foreseen);
        }
        turns();
        let is_better = match event.what {
            What::Local { .. } | What::Name(_) => {
                let filters = BTreeSet::from([event.clone()]);
                let checked = self.check_filters(&fork.instead, fork.node, &filters)?;
                foreseen.work += checked.work;
                checked.refused.is_none()
            }
            What::Message { .. } | What::Kind { .. } => {
                let instead = self.round(&fork.instead)?;
                foreseen.work += instead.work;
                foreseen.is_cut |= instead.is_cut;
                instead.predictions.is_empty() && instead.violated.is_empty() && !instead.is_cut
            }
        };
        foreseen.prediction = is_better.then(|| round.predictions.swap_remove(0));
        Ok(foreseen)
    }
}
