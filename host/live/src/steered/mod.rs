//! The gate of a steered node: its filters, and the immediate check.
//!
//! | module | what it holds |
//! |---|---|
//! | `tests` | the gate as a protocol, explored exhaustively |

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::filter::{FilterTable, Filtered};
use crate::gate::{Event, Gate, Judge, Side, Verdict};
use crate::time::Time;

/// The gate of a steered node. Before an event, its filters decide. After it, the immediate check decides: whether a property fails for
/// the node alone, or together with the other nodes in their states of the latest snapshot. An event is not refused for a violation
/// before it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Steered<V> {
    /// The filters.
    pub table: FilterTable,
    /// The latest known states of the nodes, by node; none for an unknown one.
    pub latest: Vec<Option<V>>,
}

impl<V> Steered<V> {
    /// A gate with these filters and known states.
    pub fn new(table: FilterTable, latest: Vec<Option<V>>) -> Self {
        Self { table, latest }
    }

    /// Takes over the states in a snapshot. For nodes that are not in it, the known states stay.
    pub fn take_views(&mut self, views: impl IntoIterator<Item = Option<V>>) {
        for (latest, view) in self.latest.iter_mut().zip(views) {
            if view.is_some() {
                *latest = view;
            }
        }
    }

    /// The verdict on an event that the gate refuses after its handler has run.
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
