//! Polls the monitor during long enumerations.

/// Minimum number of steps between two polls.
const STEPS: u32 = 65_536;

/// Polls regularly whether to continue, and remembers a no.
pub struct StopPoll<'q> {
    steps: u32,
    /// The poll; its argument is the number of steps since the last poll.
    may_continue: &'q mut dyn FnMut(u32) -> bool,
    is_over: bool,
}

impl<'q> StopPoll<'q> {
    /// A poll before the first step.
    pub fn new(may_continue: &'q mut dyn FnMut(u32) -> bool) -> Self {
        Self { steps: 0, may_continue, is_over: false }
    }

    /// Whether to stop, after this many more steps.
    #[inline]
    pub fn is_over_after(&mut self, steps: u32) -> bool {
        self.steps = self.steps.saturating_add(steps);
        if self.steps >= STEPS {
            let steps = std::mem::take(&mut self.steps);
            self.is_over |= !(self.may_continue)(steps);
        }
        self.is_over
    }
}
