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
    pub fn rows(&self) -> [(&'static str, Option<u64>); 15] {
        // Without `..`, so that a new count cannot be forgotten here.
        macro_rules! rows {
            ($($name:ident)+) => {{
                // The number of reachable states is shown as progress only.
                let Counts { $($name,)+ reachable_local_states: _ } = self.0;
                [$((stringify!($name), $name)),+]
            }};
        }
        rows!(
            global_states transitions local_states system_states messages events executions redundant walks walks_ended prefixes
            outcomes handler_calls preliminary_violations soundness_checks
        )
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
