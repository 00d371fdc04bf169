//! The counts of a run.

use host_search::kernel::Counts;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// The counts of distinct things that random walks come across.
pub const DISTINCT: &[&str] = &["local_states", "messages", "outcomes"];

/// All counts in the order in which they are shown. A strategy that does not have one leaves it `None`.
#[derive(Clone, Copy, Debug)]
pub struct CountsReport(pub Counts);

impl CountsReport {
    /// Names, as in JSON, and numbers.
    pub fn rows(&self) -> [(&'static str, Option<u64>); 14] {
        // Without `..`, so that a new count cannot be forgotten here.
        let Counts {
            global_states,
            transitions,
            local_states,
            system_states,
            messages,
            events,
            executions,
            redundant,
            walks,
            walks_ended,
            outcomes,
            handler_calls,
            preliminary_violations,
            soundness_checks,
            // For progress alone.
            reachable_local_states: _,
        } = self.0;
        [
            ("global_states", global_states),
            ("transitions", transitions),
            ("local_states", local_states),
            ("system_states", system_states),
            ("messages", messages),
            ("events", events),
            ("executions", executions),
            ("redundant", redundant),
            ("walks", walks),
            ("walks_ended", walks_ended),
            ("outcomes", outcomes),
            ("handler_calls", handler_calls),
            ("preliminary_violations", preliminary_violations),
            ("soundness_checks", soundness_checks),
        ]
    }
}

impl Serialize for CountsReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = self.rows();
        let mut map = serializer.serialize_map(Some(rows.len()))?;
        for (name, number) in &rows {
            map.serialize_entry(name, number)?;
        }
        map.end()
    }
}
