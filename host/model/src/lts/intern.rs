//! Interns the outcomes of handlers.

use crate::contract::fingerprint;
use crate::contract::{ClassId, Judgement, NodeId};
use crate::lts::handler::{Ended, Execution, Observed};
use crate::lts::ids::{LocalEventId, ProtocolStateId};
use crate::lts::protocol_step::ProtocolOutcome;
use crate::lts::state::ProtocolState;
use crate::lts::tables::Tables;

impl Tables {
    /// The executions of a handler, each with the protocol state in which it ended.
    pub(crate) fn intern_executions(&mut self, node: NodeId, executions: Vec<Execution>) -> Vec<ProtocolOutcome> {
        let intern = |Execution { next, effects, of_sent }| ProtocolOutcome {
            next: self.intern_end(node, next),
            sent: effects.sent.into_iter().zip(of_sent).collect(),
            choices: effects.choices,
            likelihood: effects.likelihood,
            draws: effects.draws,
            synced: effects.synced,
            written: effects.written,
        };
        executions.into_iter().map(intern).collect()
    }

    fn intern_end(&mut self, node: NodeId, ended: Ended) -> ProtocolStateId {
        let state = match ended {
            Ended::Known(id) => return id,
            Ended::New(observed) => self.protocol_state(node, *observed),
            Ended::Fault(fault) => ProtocolState {
                node,
                fingerprint: fingerprint::of_fault(node, &fault),
                encoding_bytes: 0,
                local_events: Box::default(),
                class: ClassId::STUCK,
                judgements: Box::new([Judgement::Fault(fault)]),
                owed: Box::default(),
                snapshot: None,
            },
        };
        self.intern_protocol_state(state)
    }

    fn protocol_state(&mut self, node: NodeId, observed: Observed) -> ProtocolState {
        let mut local_events: Vec<LocalEventId> = Vec::new();
        for event in &observed.local_events {
            let id = self.intern_local_event(event);
            if !local_events.contains(&id) {
                local_events.push(id);
            }
        }
        let views = observed.views.iter().map(|view| Some(self.intern_view(view.as_deref()?))).collect();
        ProtocolState {
            node,
            fingerprint: observed.fingerprint,
            encoding_bytes: observed.encoding_bytes,
            local_events: local_events.into(),
            class: self.intern_class(views),
            judgements: observed.judgements.into(),
            owed: observed.owed.into(),
            snapshot: Some(observed.snapshot),
        }
    }
}
