//! Polls the monitor during long enumerations.

/// Steps between two questions.
const STEPS: u32 = 65_536;

/// Asks after so many steps whether to go on, and remembers a no.
pub struct StopPoll<'q> {
    steps: u32,
    go_on: &'q mut dyn FnMut() -> bool,
    is_over: bool,
}

impl<'q> StopPoll<'q> {
    /// Nothing done yet.
    pub fn new(go_on: &'q mut dyn FnMut() -> bool) -> Self {
        Self { steps: 0, go_on, is_over: false }
    }

    /// Whether it is over after so many more steps.
    #[inline]
    pub fn is_over_after(&mut self, steps: u32) -> bool {
        self.steps += steps;
        if self.steps >= STEPS {
            self.steps = 0;
            self.is_over |= !(self.go_on)();
        }
        self.is_over
    }
}
