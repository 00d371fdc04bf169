//! The writes of nodes in a replay, as far as a power outage can lose them.

use crate::contract::{DurableMap, NodeId};
use crate::scenario::Writes;
use crate::trace::effects::StepReport;
use crate::trace::held::present;
use crate::trace::replay::{Replay, ReplayError};

impl Replay {
    /// The number of changes that an outage of a node must lose to leave this durable map; 0 if it leaves no such map in place of the
    /// present one.
    pub fn changes_behind(&self, node: NodeId, map: &DurableMap) -> u32 {
        self.fault_states[node as usize].changes_behind(map)
    }

    /// Notes the writes of a handler that began with a durable map. If an outage could leave too many disks, the node is stuck in that fault.
    pub(super) fn note_writes(
        &mut self,
        node: NodeId,
        before: &DurableMap,
        report: &mut StepReport,
    ) -> Result<(), ReplayError> {
        let after = present(&mut *self.machines[node as usize]);
        let writes = Writes { synced: &report.effects.synced, keys: &report.effects.written, after: &after };
        let writes = report.fault.is_none().then_some(&writes);
        if let Err(fault) = self.fault_states[node as usize].write(before, writes, &self.rules) {
            self.stick(node, &fault)?;
            (report.fault, report.state) = (Some(fault), None);
        }
        Ok(())
    }
}
