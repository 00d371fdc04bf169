//! Hold and look ahead: whether an event whose effects are held leads to what is about to go wrong.

use std::collections::BTreeSet;

use crate::carried::Fork;
use crate::checker::round::{CheckError, Checker, Limits, Prediction};
use crate::filter::{Pattern, What};

/// What looking ahead from an event has reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreseen {
    /// What is about to go wrong after the event, and is not where its substitute takes its place.
    pub prediction: Option<Prediction>,
    /// Whether it was stopped before it had come as far as it may go. Then what it has not found is not known.
    pub is_cut: bool,
    /// Units of work.
    pub work: u64,
}

impl Limits {
    /// How far to look ahead from a single event, while its effects wait: this many events of the unfolding, and nothing for depth.
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
    /// Looks ahead from an event, which this exact pattern matches, and from its substitute: a message is lost, and a local event waits, for
    /// as long as that helps. What goes wrong in both is none of the event's doing, and what is wrong already after it is the business of
    /// the immediate check.
    ///
    /// `turns` is called between the two, so that the owner of the deadline can give the second as long as the first.
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
