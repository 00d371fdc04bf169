//! What calls that read may have left in memory.

use host_model::contract::Snapshot;

/// The state between handlers, where the memory tells states apart.
#[derive(Default)]
pub(crate) struct Rest {
    /// As it was captured or restored, pristine if there is none in it; nothing if nobody needed it.
    pub state: Option<Option<Snapshot>>,
    /// Whether a call that reads may have left something.
    pub is_disturbed: bool,
}
