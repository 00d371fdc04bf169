//! Sketches of what a search has seen, for reports on many of them.

use host_model::contract::Sketch;
use host_model::lts::Lts;
use serde_json::json;

use crate::base::text::json_text;

/// The local states and messages that a search has seen, since it last forgot some: one JSON object.
pub fn sketches(lts: &Lts<'_>) -> String {
    let text = |fingerprints: Vec<_>| fingerprints.into_iter().collect::<Sketch>().to_text();
    json_text(&json!({
        "local_states": text(lts.state_fingerprints()),
        "messages": text(lts.message_fingerprints()),
    }))
}
