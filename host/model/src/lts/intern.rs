//! Interns what came out of handlers.

use crate::contract::fingerprint::{self, Fingerprint};
use crate::contract::{ClassId, Judgement, NodeId};
use crate::lts::handler::{Ended, Execution};
use crate::lts::ids::{LocalEventId, LocalStateId};
use crate::lts::protocol_step::ProtocolOutcome;
use crate::lts::state::{LocalState, Outcome};
use crate::lts::tables::Tables;
use crate::scenario::FaultState;
use crate::scenario::fault_state::Rules;

impl Tables {
    /// The outcomes of executions, where nothing can go wrong: `before` is the fingerprint of what they take away.
    pub(crate) fn intern_outcomes(
        &mut self,
        rules: &Rules,
        node: NodeId,
        before: Fingerprint,
        executions: Vec<Execution>,
    ) -> Vec<Outcome> {
        let mut outcomes = Vec::with_capacity(executions.len());
        for Execution { next, effects } in executions {
            let next = match self.local_state(node, next) {
                Ok(id) => LocalStateId(id),
                Err(state) => self.intern_state(*state),
            };
            let sent = self.send(rules, node, &mut FaultState::default(), &effects.sent);
            outcomes.push(self.outcome(before, next, sent, (effects.choices.into(), effects.likelihood)));
        }
        outcomes
    }

    /// The protocol states in which executions ended.
    pub(crate) fn intern_protocol_outcomes(
        &mut self,
        node: NodeId,
        executions: Vec<Execution>,
    ) -> Vec<ProtocolOutcome> {
        let mut outcomes = Vec::with_capacity(executions.len());
        for Execution { next, effects } in executions {
            let protocol_state = match self.local_state(node, next) {
                Ok(id) => id,
                Err(state) => self.intern_protocol_state(*state),
            };
            let sent = effects.sent.iter().map(|envelope| size_of_val(envelope) + envelope.payload.len());
            self.grow(size_of::<ProtocolOutcome>() + sent.sum::<usize>() + size_of_val(&*effects.choices));
            outcomes.push(ProtocolOutcome {
                protocol_state,
                sent: effects.sent,
                choices: effects.choices,
                likelihood: effects.likelihood,
            });
        }
        outcomes
    }

    /// The id of a state that is known, or a new one.
    fn local_state(&mut self, node: NodeId, ended: Ended) -> Result<u32, Box<LocalState>> {
        let observed = match ended {
            Ended::Known(id) => return Ok(id),
            Ended::New(observed) => observed,
            Ended::Fault(fault) => {
                return Err(Box::new(LocalState {
                    node,
                    fingerprint: fingerprint::of_fault(node, &fault),
                    encoding_bytes: 0,
                    local_events: Box::default(),
                    faults: Box::default(),
                    class: ClassId::STUCK,
                    judgements: Box::new([Judgement::Fault(fault)]),
                    snapshot: None,
                    protocol_state: 0,
                    fault_state: FaultState::default(),
                }));
            }
        };
        let mut local_events: Vec<LocalEventId> = Vec::new();
        for event in &observed.local_events {
            let id = self.intern_local_event(event);
            if !local_events.contains(&id) {
                local_events.push(id);
            }
        }
        let views = observed.views.iter().map(|view| Some(self.intern_view(view.as_deref()?))).collect();
        let class = self.intern_class(views);
        Err(Box::new(LocalState {
            node,
            fingerprint: observed.fingerprint,
            encoding_bytes: observed.encoding_bytes,
            local_events: local_events.into(),
            faults: Box::default(),
            class,
            judgements: observed.judgements.into(),
            snapshot: Some(observed.snapshot),
            protocol_state: 0,
            fault_state: FaultState::default(),
        }))
    }
}
