//! A machine that looks handlers up instead of running them.
//!
//! The nodes of a world execute the same handlers in the same local states again and again, over all runs. A [`Memo`] asks a
//! [`Stepper`] for the step of the model that a handler is, and runs the handler once for the effects of each outcome, such as timers
//! that it restarts. So what a node does is a path of the model.
//!
//! | module | what it holds |
//! |---|---|
//! | `aspects` | the optional interfaces of such a machine |
//! | `ends` | the ends of connections, as nodes have them now |
//! | `model` | what a world asks the memory |

mod aspects;
mod ends;
mod model;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use host_model::contract::aspects::{Aspect, AspectName};
use host_model::contract::{
    DurableState, Effects, Fault, Input, LocalEvent, Machine, MachineError, MachineFactory, NodeId, Property, Snapshot,
    Span,
};
use host_model::lts::{LocalEventId, LocalStateId, Lts, Outcome, Stepper, Trigger};
use host_model::scenario::FaultEvent;

use crate::gate::Happened;
use crate::world::ends::Notice;
pub(super) use crate::world::memo::model::Model;

/// A step of the model that a handler is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its event; none for the first `init`.
    pub trigger: Option<Trigger>,
    /// The place among its outcomes.
    pub outcome: u32,
    /// The local state that it leads to.
    pub next: LocalStateId,
}

/// The known facts about a local state, except for its steps.
struct Known {
    encoding: Vec<u8>,
    durable: Option<Vec<u8>>,
    local_events: Vec<(LocalEventId, LocalEvent)>,
    /// The duration of each local event, if it was requested.
    spans: Vec<Option<Option<Span>>>,
    /// The state as bytes, if it was requested.
    exported: Option<Vec<u8>>,
    /// Its views by property, if they were requested and there were any.
    views: BTreeMap<u32, Option<Vec<u8>>>,
}

/// The place of a handler: the local state, none before `init`; its event, none for the first `init`; and the index of the outcome.
type Place = (NodeId, Option<LocalStateId>, Option<Trigger>, u32);

/// The effects of a handler, and its fault.
type Ran = Arc<(Effects, Result<(), Fault>)>;

/// The knowledge that all machines of a world share.
pub struct Memory<'l> {
    stepper: Stepper<'l>,
    /// Answers the questions that steps do not answer.
    machine: Box<dyn Machine>,
    /// The outcomes of the first `init` of each node.
    starts: BTreeMap<NodeId, Vec<Outcome>>,
    known: BTreeMap<LocalStateId, Known>,
    ran: BTreeMap<Place, Ran>,
    /// The local state of each node after all its events, with its faults.
    present: BTreeMap<NodeId, LocalStateId>,
    /// The steps so far.
    path: Vec<(NodeId, Taken)>,
    /// The step of the last handler, with the node and the local state before it.
    latest: Option<(NodeId, Option<LocalStateId>, Taken)>,
    /// The notices to peers since the last call.
    notices: Vec<Notice>,
    /// A node that takes a notice of a peer now, if one does.
    noticed: Option<(NodeId, NodeId)>,
    keeps_log: bool,
    /// The first handler that has failed or has led to a state that says nothing: its node, the local state before it, and its step.
    failed: Option<(NodeId, Option<LocalStateId>, Taken)>,
    /// Why the host cannot continue.
    failure: Option<MachineError>,
    /// The same, also once it was said.
    trouble: Option<MachineError>,
}

impl<'l> Memory<'l> {
    /// Begins with no knowledge.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn new(stepper: Stepper<'l>, factory: &dyn MachineFactory) -> Result<Self, MachineError> {
        Ok(Self {
            stepper,
            machine: factory.machine()?,
            starts: BTreeMap::new(),
            known: BTreeMap::new(),
            ran: BTreeMap::new(),
            present: BTreeMap::new(),
            path: Vec::new(),
            latest: None,
            notices: Vec::new(),
            noticed: None,
            keeps_log: false,
            failed: None,
            failure: None,
            trouble: None,
        })
    }

    /// The model.
    pub fn lts(&self) -> &Lts<'l> {
        self.stepper.lts()
    }

    /// The steps of the model.
    pub fn stepper(&mut self) -> &mut Stepper<'l> {
        &mut self.stepper
    }

    /// Forgets the steps so far: another world begins.
    pub fn begin(&mut self) {
        self.present.clear();
        self.path.clear();
        self.notices.clear();
        (self.latest, self.failed, self.trouble) = (None, None, None);
    }

    /// The first step since then whose handler has failed, with its node: its effects have not happened.
    pub fn failed(&self) -> Option<(NodeId, Taken)> {
        self.failed.map(|(node, _, taken)| (node, taken))
    }

    /// Why the host could not continue, if it could not.
    pub fn trouble(&self) -> Option<&MachineError> {
        self.trouble.as_ref()
    }

    /// An outcome of the first `init` of a node that has started.
    pub fn started(&self, node: NodeId, outcome: u32) -> Option<&Outcome> {
        self.starts.get(&node)?.get(outcome as usize)
    }

    /// The steps of the model that have happened since, each with its node; a restart that changes nothing is no step.
    pub fn path(&self) -> &[(NodeId, Taken)] {
        &self.path
    }

    /// A start of a node has ended in a state that a machine has captured.
    #[cfg(test)]
    pub(super) fn end(&mut self, node: NodeId, captured: &Snapshot) {
        self.present.insert(node, released(captured));
    }

    /// An event has happened at a node.
    fn follow(&mut self, node: NodeId, happened: &Happened<'_>) {
        let choices = happened.choices;
        let answer = |index: usize| choices.get(index).map_or(0, |choice| choice.picked);
        let from = self.present.get(&node).copied();
        // The last handler is the one of this event, unless faults have changed the local state of the node since.
        let latest = self.latest.take().filter(|(of, before, _)| (*of, *before) == (node, from));
        let taken = match latest {
            Some((_, _, taken)) => Ok(Some(taken)),
            // The machine has looked it up, so it is there.
            None => self.step(node, from, &happened.input, &answer),
        };
        if let Ok(Some(taken)) = taken {
            self.take(node, taken);
        }
    }

    /// A node has taken a step.
    fn take(&mut self, node: NodeId, taken: Taken) {
        let from = self.present.insert(node, taken.next);
        self.path.push((node, taken));
        let Some(from) = from.filter(|_| taken.trigger.is_some_and(|trigger| trigger.fault().is_some())) else {
            return;
        };
        // Nothing follows a fault of the guest, so no peer gets a notice.
        if self.stepper.state(taken.next).fault().is_some() {
            return;
        }
        let (before, after) = (&self.stepper.state(from).fault_state, &self.stepper.state(taken.next).fault_state);
        for to in (0..self.stepper.lts().scenario().nodes).filter(|peer| *peer != node) {
            let incarnation = after.incarnation(to);
            if incarnation > before.incarnation(to) {
                self.notices.push(Notice { from: node, to, incarnation });
            }
        }
    }

    /// Whether a node may be killed and start again.
    fn can_restart(&self, node: NodeId) -> bool {
        let Some(present) = self.present.get(&node) else { return false };
        let faults = &self.stepper.state(*present).faults;
        faults.iter().any(|trigger| trigger.fault().is_some_and(FaultEvent::is_restart))
    }

    /// The restart of a node that has found this on its disk. A running node has in memory what was not synced, so a kill loses it unless a
    /// record was due for another reason.
    fn restart(&self, here: LocalStateId, durable: Option<&DurableState>) -> Trigger {
        let state = self.stepper.state(here);
        let map = durable.map(|durable| durable.map.clone()).unwrap_or_default();
        let outage = Trigger::from(FaultEvent::outage(state.fault_state.changes_behind(&map)));
        if state.faults.contains(outage) { outage } else { Trigger::from(FaultEvent::restart()) }
    }

    /// A captured local state with the present faults of its node, if the protocol state is the same: an event can change the faults
    /// alone, and then the node continues with its earlier capture.
    fn by_now(&self, node: NodeId, captured: LocalStateId) -> LocalStateId {
        let protocol = |local| &self.stepper.state(local).protocol;
        let present = self.present.get(&node).copied();
        present.filter(|present| Arc::ptr_eq(protocol(*present), protocol(captured))).unwrap_or(captured)
    }

    /// Remembers why the host cannot continue, for the machine to report.
    fn told<T>(&mut self, result: Result<T, MachineError>) -> Result<T, Fault> {
        result.map_err(|error| {
            let fault = Fault::new(host_model::contract::FaultKind::Trap, error.to_string());
            self.trouble.get_or_insert_with(|| error.clone());
            self.failure = Some(error);
            fault
        })
    }

    /// Goes to a local state in which the node is not stuck, to ask the protocol about it.
    fn at(&mut self, here: LocalStateId) -> Result<&mut dyn Machine, MachineError> {
        self.machine.restore(self.stepper.state(here).protocol.snapshot.as_ref())?;
        Ok(&mut *self.machine)
    }

    fn known(&mut self, here: LocalStateId) -> Result<&mut Known, Fault> {
        if let Some(fault) = self.stepper.state(here).fault() {
            return Err(fault.clone());
        }
        if !self.known.contains_key(&here) {
            let at = self.at(here).map(|_| ());
            self.told(at)?;
            let (encoding, durable) = (self.machine.serialize()?, self.machine.persist()?);
            let ids = self.stepper.state(here).protocol.local_events.clone();
            let local_events: Vec<_> =
                ids.iter().map(|id| (*id, LocalEvent::clone(&self.stepper.lts().local_event(*id)))).collect();
            let spans = vec![None; local_events.len()];
            let (exported, views) = (None, BTreeMap::new());
            self.known.insert(here, Known { encoding, durable, local_events, spans, exported, views });
        }
        match self.known.get_mut(&here) {
            Some(known) => Ok(known),
            None => unreachable!("it was put there"),
        }
    }

    /// The event of the model that an input is; none for the first `init`.
    fn trigger(&mut self, here: Option<LocalStateId>, input: &Input<'_>) -> Result<Option<Trigger>, Fault> {
        let Some(here) = here else { return Ok(None) };
        Ok(match input {
            Input::Init { durable, .. } => Some(self.restart(here, *durable)),
            Input::Message { src, payload } => Some(Trigger::deliver(self.stepper.arriving(here, *src, Some(payload)))),
            Input::Local(event) => {
                let known = self.known(here)?.local_events.iter().find(|(_, listed)| listed == *event);
                known.map(|(id, _)| Trigger::local(*id))
            }
            Input::TransportError { peer } => {
                let own = Trigger::from(FaultEvent::disconnect(*peer));
                let (state, noticed) = (self.stepper.state(here), self.noticed);
                let is_noticed = noticed == Some((state.protocol.node, *peer));
                Some(match !is_noticed && state.faults.contains(own) {
                    true => own,
                    false => Trigger::deliver(self.stepper.arriving(here, *peer, None)),
                })
            }
            Input::Quorum { .. } => None,
        })
    }

    /// The step of the model for a handler of a node, from a local state, or without one at the first start; `is_start` says whether it
    /// is `init`. None of a restart that changes nothing, which is no step.
    ///
    /// # Errors
    ///
    /// The model has no such step, or the host cannot continue: then the [machine](Memo) says why.
    fn step(
        &mut self,
        node: NodeId,
        from: Option<LocalStateId>,
        input: &Input<'_>,
        answer: &dyn Fn(usize) -> u32,
    ) -> Result<Option<Taken>, Fault> {
        let trigger = self.trigger(from, input)?;
        let outcomes = match (from, trigger) {
            (Some(from), Some(trigger)) => {
                let row = self.stepper.step(from, trigger);
                let row = self.told(row)?;
                self.stepper.outcomes(row)
            }
            (None, None) => {
                if !self.starts.contains_key(&node) {
                    let outcomes = self.stepper.init(node);
                    let outcomes = self.told(outcomes)?;
                    self.starts.insert(node, outcomes);
                }
                &self.starts[&node]
            }
            _ => {
                let why = "a handler runs with an event that its local state does not list".to_owned();
                return self.told(Err(MachineError::Host(why)));
            }
        };
        let is_taken = |outcome: &&Outcome| {
            !outcome.is_lost && (0..).zip(&outcome.choices).all(|(index, choice)| choice.picked == answer(index))
        };
        let found = (0..).zip(outcomes).find(|(_, outcome)| is_taken(outcome));
        let found = found.map(|(place, outcome)| Taken { trigger, outcome: place, next: outcome.next });
        let is_restart = from.is_some() && matches!(input, Input::Init { .. });
        match found {
            None if !is_restart => {
                let all: Vec<_> = outcomes.iter().map(|outcome| (&outcome.choices, outcome.is_lost)).collect();
                let why = format!("the model has no outcome of {input:?} with these answers: {all:?}");
                self.told(Err(MachineError::Host(why)))
            }
            found => Ok(found),
        }
    }

    /// Looks a handler up, or executes it; one without a local state is a start.
    fn handle(
        &mut self,
        node: NodeId,
        here: Option<LocalStateId>,
        input: &Input<'_>,
        script: &[u32],
    ) -> Result<(Ran, LocalStateId), Fault> {
        let from = here.or(self.present.get(&node).copied());
        let found = self.step(node, from, input, &|index| script.get(index).copied().unwrap_or(0))?;
        self.latest = found.map(|taken| (node, from, taken));
        let (trigger, outcome, next) = match (found, from) {
            (Some(Taken { trigger, outcome, next }), _) => (trigger, outcome, next),
            // The state before is the one after.
            (None, Some(from)) => (None, u32::MAX, from),
            (None, None) => unreachable!("only a restart is no step"),
        };
        let (place, taken) = ((node, from, trigger, outcome), Taken { trigger, outcome, next });
        // The same handler runs again with other answers.
        self.failed.take_if(|(of, at, other)| (*of, *at, other.trigger) == (node, from, trigger));
        if self.stepper.state(next).fault().is_some() {
            self.failed.get_or_insert((node, from, taken));
        }
        if let Some(ran) = self.ran.get(&place) {
            return Ok((Arc::clone(ran), next));
        }
        let restored = match here {
            Some(here) => self.at(here).map(|_| ()),
            None => self.machine.restore(None),
        };
        self.told(restored)?;
        let mut effects = Effects::default();
        let result = self.machine.handle(*input, script, &mut effects);
        if result.is_err() {
            let confirmed = self.machine.confirm_fault();
            self.told(confirmed)?;
        }
        let ran = Arc::new((effects, result));
        self.ran.insert(place, Arc::clone(&ran));
        Ok((ran, next))
    }
}

/// The machine of one start of a node: it looks handlers up, and executes only new ones.
pub struct Memo<'m, 'l> {
    memory: &'m Mutex<Memory<'l>>,
    node: NodeId,
    here: Option<LocalStateId>,
}

impl<'m, 'l> Memo<'m, 'l> {
    /// A machine of a node.
    pub fn new(memory: &'m Mutex<Memory<'l>>, node: NodeId) -> Self {
        Self { memory, node, here: None }
    }

    fn memory(&self) -> MutexGuard<'m, Memory<'l>> {
        lock(self.memory)
    }

    fn here(&self) -> LocalStateId {
        match self.here {
            Some(here) => here,
            None => unreachable!("a node is asked after `init`"),
        }
    }

    /// Asks the protocol in the present state.
    fn ask<R>(&self, question: impl FnOnce(&mut dyn Machine) -> Result<R, Fault>) -> Result<R, Fault> {
        let (mut memory, here) = (self.memory(), self.here());
        let at = memory.at(here).map(|_| ());
        memory.told(at)?;
        question(&mut *memory.machine)
    }

    /// Asks the protocol before `init`.
    fn ask_before<R>(&self, question: impl FnOnce(&mut dyn Machine) -> Result<R, Fault>) -> Result<R, Fault> {
        let mut memory = self.memory();
        let restored = memory.machine.restore_to_judge();
        memory.told(restored)?;
        question(&mut *memory.machine)
    }
}

/// Held for as long as a question takes.
pub(super) fn lock<'m, 'l>(memory: &'m Mutex<Memory<'l>>) -> MutexGuard<'m, Memory<'l>> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The snapshot that a machine of this kind captures.
fn captured(here: LocalStateId) -> Snapshot {
    Snapshot::new(&[u64::from(here.0)])
}

fn released(snapshot: &Snapshot) -> LocalStateId {
    LocalStateId(snapshot.words()[0] as u32)
}

impl Machine for Memo<'_, '_> {
    fn restore(&mut self, snapshot: Option<&Snapshot>) -> Result<(), MachineError> {
        self.here = snapshot.map(|snapshot| self.memory().by_now(self.node, released(snapshot)));
        Ok(())
    }

    fn confirm_fault(&self) -> Result<(), MachineError> {
        self.memory().failure.take().map_or(Ok(()), Err)
    }

    fn handle(&mut self, input: Input<'_>, script: &[u32], effects: &mut Effects) -> Result<(), Fault> {
        let ran = self.memory().handle(self.node, self.here, &input, script);
        let (ran, next) = ran?;
        self.here = Some(next);
        let (done, result) = &*ran;
        effects.clone_from(done);
        result.clone()
    }

    fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
        Ok(self.memory().known(self.here())?.encoding.clone())
    }

    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
        Ok(self.memory().known(self.here())?.local_events.iter().map(|(_, event)| event.clone()).collect())
    }

    fn view(&mut self, property: u32) -> Result<Option<Vec<u8>>, Fault> {
        let here = self.here();
        if let Some(view) = self.memory().known(here)?.views.get(&property) {
            return Ok(view.clone());
        }
        let view = self.ask(|machine| machine.view(property))?;
        self.memory().known(here)?.views.insert(property, view.clone());
        Ok(view)
    }

    fn capture(&mut self) -> Snapshot {
        captured(self.here())
    }

    fn properties(&mut self) -> Result<Vec<Property>, Fault> {
        Ok(self.memory().stepper.lts().properties().to_vec())
    }

    fn invariant(&mut self, property: u32, views: &[Option<&[u8]>]) -> Result<Result<(), String>, Fault> {
        self.ask_before(|machine| machine.invariant(property, views))
    }

    fn aspect(&mut self, name: AspectName) -> Option<Aspect<'_>> {
        match name {
            AspectName::Durable => Some(Aspect::Durable(self)),
            AspectName::Quorums => Some(Aspect::Quorums(self)),
            AspectName::Completion => Some(Aspect::Completion(self)),
            AspectName::Timing => Some(Aspect::Timing(self)),
            AspectName::Clients => Some(Aspect::Clients(self)),
            AspectName::Neighbourhood => Some(Aspect::Neighbourhood(self)),
            AspectName::Transfer => Some(Aspect::Transfer(self)),
            AspectName::Judging => Some(Aspect::Judging(self)),
            AspectName::Logging => Some(Aspect::Logging(self)),
            AspectName::Storage => Some(Aspect::Storage(self)),
            _ => None,
        }
    }
}
