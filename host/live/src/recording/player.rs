//! Replays the events of a node, one handler after the other.

use host_model::contract::fingerprint::{self, Fingerprint};
use host_model::contract::{
    DurableState, Effects, Envelope, Fault, Input, LocalEvent, Machine, MachineError, NodeId, Response, Snapshot,
    StateOwner, TransferError,
};
use host_model::scenario::Network;

use crate::disk::Owner;
use crate::recording::entry::{Answer, Failure, Handled, Occurrence};

/// Replays the events of a node.
pub struct Player<'m> {
    machine: Box<dyn Machine + 'm>,
    owner: Owner,
    effects: Effects,
    /// The state of the node; none before its start.
    snapshot: Option<Snapshot>,
}

/// The result of a handler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// The questions of the handler, with the answers.
    pub answers: Vec<Answer>,
    /// The messages sent.
    pub sent: Vec<Envelope>,
    /// The answers to clients, by the numbers of their requests.
    pub responses: Vec<(u64, Response)>,
    /// The encoding of the state after it.
    pub encoding: Vec<u8>,
    /// The fault of the handler, which leaves the node in the state before.
    pub fault: Option<Fault>,
}

/// The first aspect in which a handler did something else than recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deviation {
    /// It has failed.
    Fault(Fault),
    /// It has asked other questions.
    Answers,
    /// It has sent other messages, from this one on.
    Sent(usize),
    /// It has led to another state.
    State,
}

impl<'m> Player<'m> {
    /// A player for a node, before its start.
    pub fn new(machine: Box<dyn Machine + 'm>, owner: Owner) -> Self {
        Self { machine, owner, effects: Effects::default(), snapshot: None }
    }

    /// Goes to an exported state.
    ///
    /// # Errors
    ///
    /// The bytes are no state of this component, or the host cannot continue.
    pub fn import(&mut self, state: &[u8]) -> Result<(), TransferError> {
        let Owner { node, nodes, config, .. } = &self.owner;
        let owner = StateOwner { node: *node, nodes: *nodes, config };
        self.snapshot = Some(self.machine.import(state, owner)?);
        Ok(())
    }

    /// Runs a handler with recorded answers. None if the recording has no state before it, or bytes that are no durable map.
    ///
    /// # Errors
    ///
    /// The host cannot continue.
    pub fn play(&mut self, input: &Handled, answers: &[Answer]) -> Result<Option<Played>, MachineError> {
        let script: Vec<u32> = answers.iter().map(|answer| answer.picked).collect();
        let (durable, local);
        let before = match input {
            Handled::Start { .. } => None,
            _ if self.snapshot.is_none() => return Ok(None),
            _ => self.snapshot.as_ref(),
        };
        let Owner { node, nodes, config, .. } = &self.owner;
        let input = match input {
            Handled::Start { durable: kept } => {
                durable = match kept.as_ref().map(|kept| kept.durable()) {
                    Some(None) => return Ok(None),
                    Some(durable) => durable,
                    None => None,
                };
                Input::Init { node: *node, nodes: *nodes, config, durable: durable.as_ref() }
            }
            Handled::Message { from, payload } => Input::Message { src: *from, payload },
            Handled::Local { name, kind, payload } => {
                local = LocalEvent { name: name.clone(), kind: *kind, payload: payload.clone() };
                Input::Local(&local)
            }
            Handled::Error { peer } => Input::TransportError { peer: *peer },
        };
        self.machine.restore(before)?;
        let result = self.machine.handle(input, &script, &mut self.effects);
        let network = Network::ALL.into_iter().find(|network| network.name() == self.owner.network);
        let result = result.and_then(|()| network.map_or(Ok(()), |network| network.check_lengths(&self.effects.sent)));
        let result = result.and_then(|()| self.machine.serialize());
        let Effects { sent, choices, aside, .. } = std::mem::take(&mut self.effects);
        let answers = choices.iter().map(Answer::from).collect();
        Ok(Some(match result {
            Ok(encoding) => {
                self.snapshot = Some(self.machine.capture());
                Played { answers, sent, responses: aside.answers, encoding, fault: None }
            }
            Err(fault) => {
                self.machine.confirm_fault()?;
                Played { answers, fault: Some(fault), ..Played::default() }
            }
        }))
    }

    /// Runs a handler that has failed, and stays in the state before. Returns its fault; none if it does not fail here.
    ///
    /// # Errors
    ///
    /// The host cannot continue.
    pub fn fault(&mut self, failed: &Failure) -> Result<Option<Fault>, MachineError> {
        let before = self.snapshot.clone();
        let played = self.play(&failed.input, &failed.answers)?.unwrap_or_default();
        let is_fine = played.fault.is_none() && self.snapshot.is_some();
        // A node reads more of the state after a handler, and that can fail as well.
        let read = match is_fine {
            true => self.machine.durable_state().and_then(|_| self.machine.local_events()).err(),
            false => played.fault,
        };
        if is_fine && read.is_some() {
            self.machine.confirm_fault()?;
        }
        self.snapshot = before;
        Ok(read)
    }

    /// The durable state of the node now.
    ///
    /// # Errors
    ///
    /// The component has failed, or the host cannot continue.
    pub fn durable(&mut self) -> Result<Option<DurableState>, Trouble> {
        self.machine.restore(self.snapshot.as_ref()).map_err(Trouble::Machine)?;
        self.machine.durable_state().map_err(Trouble::Fault)
    }

    /// The description of the present state, if the component describes it.
    ///
    /// # Errors
    ///
    /// The host cannot continue.
    pub fn describe_state(&mut self) -> Result<Option<String>, MachineError> {
        self.machine.restore(self.snapshot.as_ref())?;
        Ok(self.machine.describe_state().ok().flatten())
    }

    /// The description of a message, if the component describes it.
    ///
    /// # Errors
    ///
    /// The host cannot continue.
    pub fn describe_message(&mut self, payload: &[u8]) -> Result<Option<String>, MachineError> {
        self.machine.restore(None)?;
        Ok(self.machine.describe_message(payload).ok().flatten())
    }

    /// The node that is replayed.
    pub fn node(&self) -> NodeId {
        self.owner.node
    }
}

/// The reason why a state cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Trouble {
    /// The component has failed.
    #[error("{0}")]
    Fault(Fault),
    /// The host cannot continue.
    #[error(transparent)]
    Machine(MachineError),
}

impl Played {
    /// The fingerprint of the state after it.
    pub fn state(&self, node: NodeId) -> Fingerprint {
        fingerprint::of_local_state(node, &self.encoding)
    }

    /// The first aspect in which this differs from what was recorded; none if it is the same.
    pub fn deviation(&self, recorded: &Occurrence, node: NodeId) -> Option<Deviation> {
        let sent = || {
            let differs = |index: &usize| self.sent.get(*index) != recorded.sent.get(*index);
            (0..self.sent.len().max(recorded.sent.len())).find(differs).map(Deviation::Sent)
        };
        let fault = self.fault.clone().map(Deviation::Fault);
        let answers = || (self.answers != recorded.answers).then_some(Deviation::Answers);
        let state = || (self.state(node) != recorded.state).then_some(Deviation::State);
        fault.or_else(answers).or_else(sent).or_else(state)
    }
}
