//! Hold and look ahead: the input of the gate for an event whose effects are held.

use host_model::contract::{Envelope, Snapshot};
use host_model::scenario::FaultState;
use host_model::trace::{Hex, NodeState};

use crate::gate::{Event, Gate, Verdict};
use crate::node::moment::Moment;
use crate::node::refusal::Failure;
use crate::node::runtime::{Node, exported};

impl<G: Gate> Node<'_, G> {
    /// Whether the effects of a handler leave that has led to another state, or to none, by what is about to go wrong there.
    pub(super) fn ask_ahead(
        &mut self,
        event: Event<'_>,
        next: Option<&Moment>,
        sent: &[Envelope],
    ) -> Result<Verdict, Failure> {
        let Some(carried) = &self.carried else { return Ok(Verdict::Pass) };
        // One that changes nothing does no harm.
        if event.substitute().is_none() || (next.is_none() && sent.is_empty()) {
            return Ok(Verdict::Pass);
        }
        let (before, machine, identity) = (&self.moment.snapshot, &mut *self.machine, &self.identity);
        let after = next.map_or(before, |next| &next.snapshot);
        let mut state = |snapshot: &Snapshot| -> Result<NodeState, Failure> {
            let exported = Hex(exported(machine, snapshot, identity)?);
            Ok(NodeState { node: identity.node, exported, fault_state: FaultState::default() })
        };
        let mut trouble: Result<(), Failure> = Ok(());
        let mut fork = || match state(before).and_then(|before| Ok((before, state(after)?))) {
            Ok((before, after)) => carried.fork(before, after, sent),
            Err(failure) => {
                trouble = Err(failure);
                None
            }
        };
        let verdict = self.gate.ahead(self.now, &event, &mut fork);
        trouble?;
        Ok(verdict)
    }
}
