//! The cuts of an execution that can be ends: the execution without some faults and some events of nodes that have crashed.
//!
//! After an end only faults are possible at nodes that have not crashed. So the first events left out of such a cut are faults, or
//! events of nodes that have crashed, and all others left out happen after these. None of these first events happens after another one,
//! and they determine the cut. So each cut comes up once if they are chosen in the order of the execution, and
//! no cut has to be remembered.

use crate::kernel::poll::StopPoll;
use crate::stateless::execution::Execution;

/// The choice of the first events that are left out.
pub(crate) struct LeftOut<'e> {
    execution: &'e Execution,
    crashes_max: usize,
    /// The events chosen, in the order of the execution, and the number of those that are no faults.
    chosen: Vec<usize>,
    crashed: usize,
    /// For each event, the number of chosen events that it equals or happens after.
    after: Vec<u32>,
}

impl<'e> LeftOut<'e> {
    /// A choice that leaves out nothing yet; this many nodes may have crashed.
    pub(crate) fn new(execution: &'e Execution, crashes_max: u32) -> Self {
        let after = vec![0; execution.events().len()];
        Self { execution, crashes_max: crashes_max as usize, chosen: Vec::new(), crashed: 0, after }
    }

    /// Calls `visit` with the events of each cut, until it returns false; returns whether it did. Also ends once `may_continue`, which it
    /// calls regularly, returns false.
    pub(crate) fn for_each<E>(
        mut self,
        may_continue: &mut dyn FnMut() -> bool,
        mut visit: impl FnMut(Kept<'_>) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let mut ask = |_| may_continue();
        let mut poll = StopPoll::new(&mut ask);
        let mut next = 0;
        loop {
            // Each choice is visited when it is made, and then those with one more event.
            if next == 0 && !visit(Kept { after: &self.after, at: 0 })? {
                return Ok(true);
            }
            if poll.is_over_after(1 + self.after.len() as u32) {
                return Ok(false);
            }
            let first = self.chosen.last().map_or(0, |last| last + 1).max(next);
            match (first..self.after.len()).find(|at| self.can_choose(*at)) {
                Some(at) => {
                    self.choose(at);
                    next = 0;
                }
                None => match self.chosen.last().copied() {
                    Some(last) => {
                        self.put_back(last);
                        next = last + 1;
                    }
                    None => return Ok(false),
                },
            }
        }
    }

    fn is_fault(&self, at: usize) -> bool {
        self.execution.events()[at].step.trigger.fault().is_some()
    }

    fn can_choose(&self, at: usize) -> bool {
        self.after[at] == 0 && (self.is_fault(at) || self.crashed < self.crashes_max)
    }

    fn choose(&mut self, at: usize) {
        self.crashed += usize::from(!self.is_fault(at));
        self.count(at, 1);
        self.chosen.push(at);
    }

    fn put_back(&mut self, at: usize) {
        self.chosen.pop();
        self.count(at, u32::MAX);
        self.crashed -= usize::from(!self.is_fault(at));
    }

    fn count(&mut self, chosen: usize, one: u32) {
        for (at, after) in self.after.iter_mut().enumerate().skip(chosen) {
            if at == chosen || self.execution.happens_after(at, chosen) {
                *after = after.wrapping_add(one);
            }
        }
    }
}

/// The events of a cut, as indices in the order of the execution.
#[derive(Clone)]
pub(crate) struct Kept<'k> {
    after: &'k [u32],
    at: usize,
}

impl Iterator for Kept<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let at = self.at + self.after[self.at..].iter().position(|after| *after == 0)?;
        self.at = at + 1;
        Some(at)
    }
}
