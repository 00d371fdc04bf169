//! The writes of nodes in a replay, as far as a power outage can lose them.

use crate::contract::{DurableMap, Fault, NodeId};
use crate::scenario::Writes;
use crate::trace::effects::StepReport;
use crate::trace::held::present;
use crate::trace::replay::Replay;

impl Replay {
    /// The number of changes that an outage of a node must lose to leave this durable map; 0 if it leaves no such map in place of the
    /// present one.
    pub fn changes_behind(&self, node: NodeId, map: &DurableMap) -> u32 {
        self.fault_states[node as usize].changes_behind(map)
    }

    /// Notes the writes of a handler that began with a durable map.
    ///
    /// # Errors
    ///
    /// An outage could leave too many disks: the node is stuck.
    pub(super) fn note_writes(&mut self, node: NodeId, before: &DurableMap, report: &StepReport) -> Result<(), Fault> {
        let after = present(&mut *self.machines[node as usize]);
        let writes = Writes { synced: &report.effects.synced, keys: &report.effects.written, after: &after };
        self.fault_states[node as usize].write(before, report.fault.is_none().then_some(&writes), &self.rules)
    }
}
