//! Hold and look ahead: the input of the gate for an event whose effects are held.

use host_model::contract::{Envelope, Snapshot};
use host_model::scenario::FaultState;
use host_model::trace::{Hex, NodeState};

use crate::gate::{Event, Gate, Verdict};
use crate::node::moment::{Moment, exported};
use crate::node::refusal::Failure;
use crate::node::runtime::Node;

impl<G: Gate> Node<'_, G> {
    /// The gate's verdict on the effects of a handler, after looking ahead from it. `next` is none if the state did not change.
    pub(super) fn ask_ahead(
        &mut self,
        event: Event<'_>,
        next: Option<&Moment>,
        sent: &[Envelope],
    ) -> Result<Verdict, Failure> {
        let Some(carried) = &self.carried else { return Ok(Verdict::Pass) };
        // An event without effects cannot cause a violation elsewhere.
        if event.substitute().is_none() || (next.is_none() && sent.is_empty()) {
            return Ok(Verdict::Pass);
        }
        let (before, machine, identity) = (&self.moment.snapshot, &mut *self.machine, &self.identity);
        let after = next.map_or(before, |next| &next.snapshot);
        let mut state = |snapshot: &Snapshot| -> Result<NodeState, Failure> {
            let exported = Hex(exported(machine, snapshot, identity)?);
            Ok(NodeState { node: identity.node, exported, fault_state: FaultState::default() })
        };
        let mut result: Result<(), Failure> = Ok(());
        let mut fork = || match state(before).and_then(|before| Ok((before, state(after)?))) {
            Ok((before, after)) => carried.fork(before, after, sent),
            Err(failure) => {
                result = Err(failure);
                None
            }
        };
        let verdict = self.gate.ahead(self.now, &event, &mut fork);
        result?;
        Ok(verdict)
    }
}
