//! The parts of a trace that are tried.

use host_model::contract::MachineError;

use crate::minimize::trial::Trial;
use crate::minimize::trials::{Goal, Trials};
use crate::traced_state::{Cause, Event, MatchRule};

/// The maximum number of rounds over everything; each but the last one makes the trace shorter.
const ROUNDS_MAX: usize = 64;

/// The maximum length of a trace for which every pair of events is tried.
const PAIRS_LENGTH_MAX: usize = 80;

/// The maximum length of a trace for which every three events are tried.
const TRIPLES_LENGTH_MAX: usize = 30;

/// The end of the trace where the removal begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The last events, which have caused the least.
    End,
    /// The first events, which may have happened long before the mistake.
    Beginning,
}

impl Trials<'_, '_> {
    /// Removes unneeded events: faults, local events with all their effects,
    /// then events of every kind, then few at a time.
    pub(super) fn shorten(&mut self, mut best: Trial, side: Side) -> Result<Trial, MachineError> {
        for _ in 0..ROUNDS_MAX {
            let length = best.events.len();
            self.without(&mut best, side, |event| matches!(event.action.cause, Cause::Fault(_)))?;
            self.without(&mut best, side, |event| matches!(event.action.cause, Cause::Local(_)))?;
            self.without(&mut best, side, |_| true)?;
            self.without_rounds(&mut best)?;
            self.without_few(&mut best)?;
            if best.events.len() == length || self.is_exhausted() {
                break;
            }
        }
        Ok(best)
    }

    /// Removes parts of the events that `may_go` accepts: first half of them, in the end single ones.
    fn without(&mut self, best: &mut Trial, side: Side, may_go: impl Fn(&Event) -> bool) -> Result<(), MachineError> {
        let candidates = |run: &Trial| -> Vec<usize> {
            let indices = run.events.iter().enumerate().filter(|(_, event)| may_go(event));
            indices.map(|(index, _)| index).collect()
        };
        let mut size = candidates(best).len().div_ceil(2);
        while size > 0 {
            let mut done = 0;
            loop {
                let indices = candidates(best);
                if done >= indices.len() || self.is_exhausted() {
                    break;
                }
                let (from, to) = match side {
                    Side::End => (indices.len().saturating_sub(done + size), indices.len() - done),
                    Side::Beginning => (done, indices.len().min(done + size)),
                };
                let part = &indices[from..to];
                let rest = (0..).zip(&best.events).filter(|(index, _)| part.binary_search(index).is_err());
                let rest: Vec<Event> = rest.map(|(_, event)| event.clone()).collect();
                if !self.improve(&rest, best)? {
                    done += size;
                }
            }
            size /= 2;
        }
        Ok(())
    }

    /// Removes the events between any two events of a trace with a broken promise: repeated rounds of a cycle, or parts of the path
    /// to it.
    fn without_rounds(&mut self, best: &mut Trial) -> Result<(), MachineError> {
        if matches!(self.goal, Goal::State(..)) {
            return Ok(());
        }
        'again: loop {
            let length = best.events.len();
            for size in (1..length.min(PAIRS_LENGTH_MAX)).rev() {
                for first in 0..=length - size {
                    if self.is_exhausted() {
                        return Ok(());
                    }
                    let rest = [&best.events[..first], &best.events[first + size..]].concat();
                    if self.improve(&rest, best)? {
                        continue 'again;
                    }
                }
            }
            return Ok(());
        }
    }

    /// Removes every two and every three events.
    fn without_few(&mut self, best: &mut Trial) -> Result<(), MachineError> {
        'again: loop {
            let length = best.events.len();
            if length > PAIRS_LENGTH_MAX || self.is_exhausted() {
                return Ok(());
            }
            for first in (0..length).rev() {
                for second in 0..first {
                    let thirds = if length <= TRIPLES_LENGTH_MAX { second } else { 0 };
                    // If the third one equals the second one, only two events are removed.
                    for third in (0..thirds).chain([second]) {
                        let without = [first, second, third];
                        let rest = best.events.iter().enumerate().filter(|(index, _)| !without.contains(index));
                        let rest: Vec<Event> = rest.map(|(_, event)| event.clone()).collect();
                        if self.improve(&rest, best)? {
                            continue 'again;
                        }
                        if self.is_exhausted() {
                            return Ok(());
                        }
                    }
                }
            }
            return Ok(());
        }
    }

    /// Replaces answers to `choose` by 0 where that keeps the finding.
    pub(super) fn with_plain_choices(&mut self, best: &mut Trial) -> Result<(), MachineError> {
        for index in 0..best.events.len() {
            let Some(event) = best.events.get(index) else { return Ok(()) };
            for choice in 0..event.action.choices.len() {
                let mut events = best.events.clone();
                let Some(answer) = events[index].action.choices.get_mut(choice) else { break };
                if std::mem::replace(&mut answer.picked, 0) == 0 || self.is_exhausted() {
                    continue;
                }
                // The first answer can determine the next question; then the handler's first outcome is taken.
                if let Some(run) = self.run(&events, MatchRule::Content)?
                    && run.events.len() <= best.events.len()
                    && picked(&run) < picked(best)
                {
                    self.replace(best, run);
                }
                if index >= best.events.len() || choice >= best.events[index].action.choices.len() {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// The number of calls of `choose` with another answer than 0.
fn picked(run: &Trial) -> usize {
    let choices = run.events.iter().flat_map(|event| event.action.choices.iter());
    choices.filter(|choice| choice.picked != 0).count()
}
