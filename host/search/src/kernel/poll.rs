//! Polls the monitor during long enumerations.

/// Steps between two questions, at least.
const STEPS: u32 = 65_536;

/// Asks after this many steps whether to continue, and remembers a no.
pub struct StopPoll<'q> {
    steps: u32,
    /// Given the steps since the last question.
    go_on: &'q mut dyn FnMut(u32) -> bool,
    is_over: bool,
}

impl<'q> StopPoll<'q> {
    /// Nothing done yet.
    pub fn new(go_on: &'q mut dyn FnMut(u32) -> bool) -> Self {
        Self { steps: 0, go_on, is_over: false }
    }

    /// Whether it is over after this many more steps.
    #[inline]
    pub fn is_over_after(&mut self, steps: u32) -> bool {
        self.steps = self.steps.saturating_add(steps);
        if self.steps >= STEPS {
            let steps = std::mem::take(&mut self.steps);
            self.is_over |= !(self.go_on)(steps);
        }
        self.is_over
    }
}
