//! A protocol's descriptions of a replay for people: messages, views and the names of nodes. They do not change the rest of the replay.

use crate::contract::{LocalEvent, Machine, MachineError};
use crate::lts::{LocalStateId, Stepper};
use crate::scenario::NodeNames;
use crate::trace::replay::Replay;

/// The names that nodes give themselves in these local states, one per node; nodes that are absent or stuck give
/// none. The machine is in no particular state afterwards.
///
/// # Errors
///
/// The host cannot continue.
pub fn node_names(
    machine: &mut dyn Machine,
    stepper: &Stepper<'_>,
    locals: &[LocalStateId],
) -> Result<NodeNames, MachineError> {
    let absent = &stepper.lts().scenario().absent;
    let mut said = Vec::with_capacity(locals.len());
    for (node, local) in (0..).zip(locals) {
        let state = stepper.state(*local);
        // An absent node has a snapshot that no machine can restore.
        let snapshot = state.protocol.snapshot.as_ref().filter(|_| !state.is_stuck() && !absent.contains(&node));
        let Some(snapshot) = snapshot else {
            said.push(None);
            continue;
        };
        machine.restore(Some(snapshot))?;
        said.push(machine.node_name().ok().flatten());
    }
    Ok(NodeNames::new(said))
}

impl Replay {
    /// A message as JSON for people, if the plugin describes itself.
    pub fn describe_message(&mut self, payload: &[u8]) -> Option<String> {
        self.judge.restore(None).ok()?;
        self.judge.describe_message(payload).ok().flatten()
    }

    /// A local event as JSON for people, if the plugin describes its local events.
    pub fn describe_local(&mut self, event: &LocalEvent) -> Option<String> {
        self.judge.restore(None).ok()?;
        self.judge.describe_local(event).ok().flatten()
    }

    /// A view of a property as JSON for people, if the plugin describes its views.
    pub fn describe_view(&mut self, property: u32, view: &[u8]) -> Option<String> {
        self.judge.restore(None).ok()?;
        self.judge.describe_view(property, view).ok().flatten()
    }

    /// The names that nodes give themselves in their current states; nodes that are absent or stuck give none. The call
    /// does not change the replay.
    ///
    /// # Errors
    ///
    /// The host cannot continue.
    pub fn names(&mut self) -> Result<NodeNames, MachineError> {
        let mut said = Vec::with_capacity(self.machines.len());
        for (node, machine) in (0..).zip(&mut self.machines) {
            if self.rules.is_absent(node) || self.faults.iter().any(|(stuck, _)| *stuck == node) {
                said.push(None);
                continue;
            }
            let before = machine.capture();
            said.push(machine.node_name().ok().flatten());
            machine.restore(Some(&before))?;
        }
        Ok(NodeNames::new(said))
    }
}
