//! A toy as a machine.

use std::sync::Arc;

use crate::contract::aspects::{
    Aspect, AspectName, Completion, Durable, Neighbourhood, Quorums, Storage, Symmetry, Transfer,
};
use crate::contract::{
    Choice, DurableMap, Effects, Envelope, Fault, FaultKind, Input, LocalEvent, Machine, MachineError, MachineFactory,
    NodeId, Property, PropertyKind, PropertyScope, Quorum, Role, Snapshot, StateOwner, Synced, TransferError,
};
use crate::toys::property::ToyProperty;
use crate::toys::renaming::renamed;
use crate::toys::rule::{ToyOutcome, ToyState, ToyTrigger};
use crate::toys::stored::Stored;
use crate::toys::toy::{Medium, Toy, ToySync};

impl MachineFactory for Arc<Toy> {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        Ok(Box::new(ToyMachine { toy: Self::clone(self), node: 0, state: 0, stored: Stored::default() }))
    }

    fn hears_errors(&self) -> bool {
        true
    }
}

struct ToyMachine {
    toy: Arc<Toy>,
    node: NodeId,
    state: ToyState,
    stored: Stored,
}

impl Machine for ToyMachine {
    fn restore(&mut self, snapshot: Option<&Snapshot>) -> Result<(), MachineError> {
        (self.node, self.state) = snapshot.map_or((0, 0), |snapshot| {
            let words = snapshot.words();
            (words[0] as NodeId, words[1] as ToyState)
        });
        self.stored = Stored::at(snapshot.and_then(Snapshot::map));
        if self.toy.medium == Medium::WholeMap {
            self.state = self.stored.state();
        }
        Ok(())
    }

    fn handle(&mut self, input: Input<'_>, script: &[u32], effects: &mut Effects) -> Result<(), Fault> {
        *effects = Effects::default();
        let durable = match input {
            Input::Init { durable: Some(durable), .. } => self.toy.medium.read(durable),
            _ => None,
        };
        // Messages of the first `init` are never refused.
        let is_careful = self.toy.is_careful && (durable.is_some() || !matches!(input, Input::Init { .. }));
        let mut outcomes = match input {
            Input::Init { node, durable: given, .. } => {
                self.node = node;
                self.stored = Stored::at(given.map(|given| &given.map));
                self.toy.restart(node, durable)
            }
            Input::Message { src, payload } => {
                self.toy.outcomes(self.node, self.state, ToyTrigger::Message(src, payload[0]))
            }
            Input::Quorum { name, messages } => {
                let messages: Vec<(NodeId, u8)> = messages.iter().map(|(src, payload)| (*src, payload[0])).collect();
                let name = name.parse().expect("its names are numbers");
                self.toy.quorum(self.node, self.state, name, &messages)
            }
            Input::Local(event) => self.toy.outcomes(self.node, self.state, ToyTrigger::Local(event.payload[0])),
            Input::TransportError { peer } => self.toy.outcomes(self.node, self.state, ToyTrigger::Error(peer)),
        };
        if outcomes.is_empty() {
            effects.is_declined = true;
            return Ok(());
        }
        let is_drawn = self.toy.drawn.contains(&(self.node, self.state)) && !matches!(input, Input::Init { .. });
        let picked = self.toy.pick((outcomes.len(), is_drawn), script, effects);
        let (next, sent) = match outcomes.swap_remove(picked) {
            ToyOutcome::Go(next, sent) => (Some(next), sent),
            ToyOutcome::Trap(sent) => (None, sent),
        };
        let mut is_refused = false;
        for (to, content) in sent {
            if is_careful {
                let answer = script.get(effects.choices.len()).copied().unwrap_or(0);
                effects.choices.push(Choice::sending(to, answer));
                if answer > 0 {
                    is_refused = true;
                    continue;
                }
            }
            let mut payload = vec![content];
            payload.resize(self.toy.lengths.get(&content).copied().unwrap_or(1), 0);
            effects.sent.push(Envelope { to, payload });
        }
        let Some(next) = next else {
            // It writes before it traps; nothing of this is ever seen.
            self.write(self.state.wrapping_add(1));
            effects.written = self.stored.0.take_written();
            return Err(Fault::new(FaultKind::Trap, trap_words(self.state)));
        };
        self.state = if is_refused { self.toy.after_refusal(self.node, next) } else { next };
        effects.synced = self.write_and_sync();
        effects.written = self.stored.0.take_written();
        Ok(())
    }

    fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
        Ok(match self.toy.medium {
            Medium::Persisted => vec![self.state],
            Medium::Map | Medium::Digits => [&[self.state], &self.stored.0.map().fingerprint()[..]].concat(),
            Medium::WholeMap => self.stored.0.map().fingerprint().to_vec(),
        })
    }

    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
        let names = self.toy.local_events(self.node, self.state).into_iter();
        let event = |name| LocalEvent { name: format!("local{name}"), kind: self.toy.kind(name), payload: vec![name] };
        Ok(names.map(event).collect())
    }

    fn view(&mut self, property: u32) -> Result<Option<Vec<u8>>, Fault> {
        if self.toy.concealed.contains(&(self.node, self.state)) {
            return Err(Fault::new(FaultKind::Trap, trap_words(self.state)));
        }
        Ok(match self.toy.more(property) {
            None => self.toy.matters(self.node, self.state).then(|| vec![self.state]),
            Some(more) => more.view(self.node, self.state),
        })
    }

    fn capture(&mut self) -> Snapshot {
        let snapshot = Snapshot::new(&[u64::from(self.node), u64::from(self.state)]);
        match self.toy.medium {
            Medium::Persisted => snapshot,
            Medium::Map | Medium::WholeMap | Medium::Digits => self.stored.0.in_snapshot(snapshot),
        }
    }

    fn properties(&mut self) -> Result<Vec<Property>, Fault> {
        let (kind, scope) = (PropertyKind::Always, PropertyScope::System);
        let forbidden = Property { name: "forbidden".to_owned(), kind, scope };
        Ok(std::iter::once(forbidden).chain(self.toy.properties.iter().map(ToyProperty::property)).collect())
    }

    fn invariant(&mut self, property: u32, views: &[Option<&[u8]>]) -> Result<Result<(), String>, Fault> {
        if let Some(more) = self.toy.more(property) {
            return more.evaluate(views);
        }
        // A state that no tuple names is like any other such state: 255 is never named.
        let states: Vec<ToyState> = views.iter().map(|view| view.map_or(u8::MAX, |view| view[0])).collect();
        Ok(if self.toy.is_forbidden(&states) { Err(forbidden_words(&states)) } else { Ok(()) })
    }

    fn aspect(&mut self, name: AspectName) -> Option<Aspect<'_>> {
        match name {
            AspectName::Durable => Some(Aspect::Durable(self)),
            AspectName::Quorums => Some(Aspect::Quorums(self)),
            AspectName::Symmetry => Some(Aspect::Symmetry(self)),
            AspectName::Completion => Some(Aspect::Completion(self)),
            AspectName::Neighbourhood => Some(Aspect::Neighbourhood(self)),
            AspectName::Transfer => Some(Aspect::Transfer(self)),
            AspectName::Storage if self.toy.medium != Medium::Persisted => Some(Aspect::Storage(self)),
            _ => None,
        }
    }
}

impl Durable for ToyMachine {
    fn persist(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let is_here = self.toy.medium == Medium::Persisted;
        Ok(self.kept(self.state).filter(|_| is_here).map(|durable| vec![durable]))
    }
}

impl Storage for ToyMachine {
    fn map(&mut self) -> DurableMap {
        self.stored.0.map().clone()
    }
}

impl ToyMachine {
    /// The durable state of this node in a state.
    fn kept(&self, state: ToyState) -> Option<u8> {
        self.toy.durable.get(&(self.node, state)).copied()
    }

    /// Writes the map of the state, with the calls of `sync` of the toy.
    fn write_and_sync(&mut self) -> Synced {
        let at = self.toy.syncs.as_ref().map(|syncs| syncs.get(&(self.node, self.state)).copied());
        let sync = |stored: &mut Stored, place| {
            if at.flatten() == Some(place) {
                stored.0.sync();
            }
        };
        sync(&mut self.stored, ToySync::First);
        self.write(self.state);
        sync(&mut self.stored, ToySync::Last);
        match (at, self.toy.medium) {
            (Some(_), Medium::Map | Medium::WholeMap | Medium::Digits) => self.stored.0.take_synced(),
            // The result of `persist` is always durable.
            _ => Synced::AtTheEnd,
        }
    }

    /// Writes the map of a state.
    fn write(&mut self, state: ToyState) {
        let kept = self.kept(state);
        match self.toy.medium {
            Medium::Persisted => {}
            Medium::Map => self.stored.write(kept, None),
            Medium::WholeMap => self.stored.write(kept, Some(state)),
            Medium::Digits => self.stored.write_digits(kept),
        }
    }
}

impl Quorums for ToyMachine {
    fn takes_quorums(&mut self) -> Result<bool, Fault> {
        Ok(self.toy.takes_quorums(self.node))
    }

    fn role(&mut self, _src: NodeId, payload: &[u8]) -> Result<Role<Quorum>, Fault> {
        Ok(match self.toy.roles.get(&(self.node, self.state, payload[0])) {
            None => Role::Alone,
            Some(None) => Role::Held,
            Some(Some((name, size))) => Role::Member(Quorum { name: name.to_string(), size: *size }),
        })
    }
}

impl Symmetry for ToyMachine {
    fn interchangeable(&mut self) -> Result<Vec<Vec<NodeId>>, Fault> {
        Ok(self.toy.interchangeable.clone())
    }

    fn rename_message(&mut self, payload: &[u8], renaming: &[NodeId]) -> Result<Vec<u8>, Fault> {
        Ok(payload.iter().map(|content| renamed(*content, renaming)).collect())
    }

    /// Names of local events name no nodes.
    fn rename_local(&mut self, payload: &[u8], _: &[NodeId]) -> Result<Vec<u8>, Fault> {
        Ok(payload.to_vec())
    }
}

impl Completion for ToyMachine {
    fn is_done(&mut self) -> Result<bool, Fault> {
        Ok(self.toy.done.contains(&(self.node, self.state)))
    }
}

impl Neighbourhood for ToyMachine {
    fn neighbours(&mut self) -> Result<Option<Vec<NodeId>>, Fault> {
        match self.toy.neighbours.get(&(self.node, self.state)) {
            Some(None) => Err(Fault::new(FaultKind::Trap, trap_words(self.state))),
            named => Ok(named.cloned().flatten()),
        }
    }
}

impl Transfer for ToyMachine {
    fn export(&mut self, snapshot: &Snapshot, _owner: StateOwner<'_>) -> Result<Vec<u8>, TransferError> {
        let words = snapshot.words().iter().map(|word| *word as u8);
        Ok(words.chain(snapshot.map().into_iter().flat_map(DurableMap::to_bytes)).collect())
    }

    fn import(&mut self, exported: &[u8], owner: StateOwner<'_>) -> Result<Snapshot, TransferError> {
        let node = owner.node;
        match exported {
            [of, state, map @ ..] if NodeId::from(*of) == node && self.toy.medium.has(map) => {
                let snapshot = Snapshot::new(&[u64::from(node), u64::from(*state)]);
                let map = DurableMap::from_bytes(map).unwrap_or_default();
                Ok(if self.toy.medium == Medium::Persisted {
                    snapshot
                } else {
                    Stored::at(Some(&map)).0.in_snapshot(snapshot)
                })
            }
            _ => Err(TransferError::Refused(format!("this is no state of node {node} of a toy"))),
        }
    }
}

impl Toy {
    /// The property with this index, unless it is `forbidden`, the first one.
    pub fn more(&self, property: u32) -> Option<&ToyProperty> {
        (property as usize).checked_sub(1).map(|index| &self.properties[index])
    }

    /// The answers to `choose` that lead to one of this many outcomes.
    pub fn answers(&self, outcome: usize, outcomes: usize) -> Vec<Choice> {
        let number = |count: usize| u32::try_from(count).expect("tables are small");
        match outcomes {
            0 | 1 => Vec::new(),
            _ if self.is_stepwise => {
                let asked = (outcome + 1).min(outcomes - 1);
                (0..asked).map(|at| Choice::among(2, u32::from(at < outcome))).collect()
            }
            _ => vec![Choice::among(number(outcomes), number(outcome))],
        }
    }

    /// The outcome that a script selects, among this many, which may be drawn.
    pub(crate) fn pick(&self, (outcomes, is_drawn): (usize, bool), script: &[u32], effects: &mut Effects) -> usize {
        let mut ask = |alternatives: usize| {
            let alternatives = u32::try_from(alternatives).expect("tables are small");
            let answer = script.get(effects.choices.len()).copied().unwrap_or(0);
            if is_drawn {
                effects.draws.note(effects.choices.len(), u32::from(answer < 2));
            }
            effects.choices.push(Choice::among(alternatives, answer));
            effects.likelihood = effects.likelihood.and(1, alternatives.into());
            answer as usize
        };
        match outcomes {
            0 | 1 => 0,
            // "This one, or a later one?" The answers have the order of the outcomes.
            _ if self.is_stepwise => (0..outcomes - 1).find(|_| ask(2) == 0).unwrap_or(outcomes - 1),
            _ => ask(outcomes),
        }
    }
}

/// The answer of the property to a forbidden tuple of states, as it sees them: a state that no tuple names is 255.
pub fn forbidden_words(views: &[ToyState]) -> String {
    format!("{views:?} is forbidden")
}

/// The message of a toy that traps in a state; after a reset, and in the first `init`, that is state 0.
pub fn trap_words(state: ToyState) -> String {
    format!("toy trap in {state}")
}
