//! The gate of a node that is steered: its filters, and the immediate check.
//!
//! | module | what it holds |
//! |---|---|
//! | `tests` | the gate as a protocol, explored in every schedule |

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::filter::{FilterTable, Filtered};
use crate::gate::{Event, Gate, Judge, Side, Verdict};
use crate::time::Time;

/// The gate of a node that is steered. Before an event, its filters decide; after it, the immediate check: whether the node is wrong by
/// itself, or together with the others as they were in its latest snapshot. What was wrong before is none of the event's doing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Steered<V> {
    /// The filters.
    pub table: FilterTable,
    /// The nodes in the latest snapshot; nodes missing from it have no state.
    pub latest: Vec<Option<V>>,
}

impl<V> Steered<V> {
    /// The gate of a node with these filters, and what it knows of the nodes.
    pub fn new(table: FilterTable, latest: Vec<Option<V>>) -> Self {
        Self { table, latest }
    }

    /// Takes over what a snapshot says of the nodes. Of one that is not in it, the gate knows what it knew before.
    pub fn take_views(&mut self, views: impl IntoIterator<Item = Option<V>>) {
        for (latest, view) in self.latest.iter_mut().zip(views) {
            if view.is_some() {
                *latest = view;
            }
        }
    }

    /// What becomes of an event that is to be kept from happening once its handler has run.
    pub fn refuse(&mut self, now: Time, event: &Event<'_>) -> Verdict {
        verdict(self.table.judge_immediate(now, event))
    }
}

impl<V> Gate<V> for Steered<V> {
    fn before(&mut self, now: Time, event: &Event<'_>) -> Verdict {
        verdict(self.table.judge(now, event))
    }

    fn after(&mut self, now: Time, event: &Event<'_>, judge: &mut Judge<'_, V>) -> Verdict {
        let can_refuse = event.substitute().is_some() && self.table.is_active(now);
        if !can_refuse || !judge(Side::After, &self.latest) || judge(Side::Before, &self.latest) {
            return Verdict::Pass;
        }
        self.refuse(now, event)
    }
}

fn verdict(filtered: Filtered) -> Verdict {
    match filtered {
        Filtered::Yes(substitute) => Verdict::Instead(substitute),
        Filtered::No | Filtered::Suspended => Verdict::Pass,
    }
}
