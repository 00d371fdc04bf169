//! The state between handlers, if the memory identifies states: reading calls must not change it.

use host_model::contract::Snapshot;

/// The state between handlers.
#[derive(Default)]
pub(crate) struct Rest {
    /// The captured or restored state, an inner none for the pristine one; an outer none if it was not needed.
    state: Option<Option<Snapshot>>,
    /// Whether a reading call may have changed memory.
    is_disturbed: bool,
}

impl Rest {
    /// At rest in a restored state.
    pub(crate) fn at(state: Option<Snapshot>) -> Self {
        Self { state: Some(state), is_disturbed: false }
    }

    /// Notes that a reading call begins, in a state that is at rest.
    pub(crate) fn disturb(&mut self, capture: impl FnOnce() -> Snapshot) {
        self.state.get_or_insert_with(|| Some(capture()));
        self.is_disturbed = true;
    }

    /// The state to restore, if a call may have changed memory since.
    pub(crate) fn take_back(&mut self) -> Option<Option<Snapshot>> {
        let is_disturbed = std::mem::take(&mut self.is_disturbed);
        is_disturbed.then(|| self.state.clone().expect("it was captured before it was disturbed"))
    }
}
