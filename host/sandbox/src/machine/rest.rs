//! The state between handlers, where the memory tells states apart: what calls that read leave behind must not.

use host_model::contract::Snapshot;

/// The state between handlers.
#[derive(Default)]
pub(crate) struct Rest {
    /// As it was captured or restored, pristine if there is none in it; nothing if it was not needed.
    state: Option<Option<Snapshot>>,
    /// Whether a call that reads may have left something.
    is_disturbed: bool,
}

impl Rest {
    /// At rest in a state that was restored.
    pub(crate) fn at(state: Option<Snapshot>) -> Self {
        Self { state: Some(state), is_disturbed: false }
    }

    /// A call that reads begins, in a state that is at rest.
    pub(crate) fn disturb(&mut self, capture: impl FnOnce() -> Snapshot) {
        self.state.get_or_insert_with(|| Some(capture()));
        self.is_disturbed = true;
    }

    /// The state to restore, if a call may have left something since.
    pub(crate) fn take_back(&mut self) -> Option<Option<Snapshot>> {
        let is_disturbed = std::mem::take(&mut self.is_disturbed);
        is_disturbed.then(|| self.state.clone().expect("it was captured before it was disturbed"))
    }
}
