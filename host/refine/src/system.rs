//! The global states of a system, and their successors.

use std::rc::Rc;

use host_model::contract::{MachineError, NodeId};
use host_model::lts::{LocalStateId, MessageId, Step, Stepper, enabled};
use host_model::scenario::InFlight;
use host_model::trace::start::Start;
use rustc_hash::FxHashMap;

use crate::views::{GlobalView, NodeView, View, Views};

/// A system, and the states where it begins.
pub struct Side<'s, 'l> {
    /// Its local transition system.
    pub stepper: &'s mut Stepper<'l>,
    /// The states where it begins.
    pub starts: &'s [Start],
}

/// The number of a global state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct StateId(pub(crate) u32);

/// A step, and the state behind it.
pub(crate) type Successor = (Step, StateId);

struct State {
    locals: Box<[LocalStateId]>,
    in_flight: InFlight<MessageId>,
    view: GlobalView,
    /// None as long as nothing has asked for them.
    successors: Option<Rc<[Successor]>>,
}

/// The global states of a system, as far as they were reached.
pub(crate) struct System<'s, 'l> {
    side: Side<'s, 'l>,
    states: Vec<State>,
    ids: FxHashMap<u128, StateId>,
    views: FxHashMap<LocalStateId, NodeView>,
    /// Whether some state is described.
    pub(crate) is_described: bool,
    pub(crate) bytes: usize,
}

impl<'s, 'l> System<'s, 'l> {
    pub(crate) fn new(side: Side<'s, 'l>) -> Self {
        Self {
            side,
            states: Vec::new(),
            ids: FxHashMap::default(),
            views: FxHashMap::default(),
            is_described: false,
            bytes: 0,
        }
    }

    /// The number of states that were reached.
    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }

    /// The view of a state.
    pub(crate) fn view(&self, id: StateId) -> GlobalView {
        self.states[id.0 as usize].view
    }

    /// The states where it begins, in their order.
    pub(crate) fn starts(&mut self, views: &mut Views) -> Result<Vec<StateId>, MachineError> {
        let starts = self.side.starts;
        starts.iter().map(|start| self.state(start.locals.clone().into(), start.in_flight.clone(), views)).collect()
    }

    /// The steps from a state, in a fixed order, each with the state behind it.
    pub(crate) fn successors(&mut self, id: StateId, views: &mut Views) -> Result<Rc<[Successor]>, MachineError> {
        if let Some(known) = &self.states[id.0 as usize].successors {
            return Ok(Rc::clone(known));
        }
        let State { locals, in_flight, .. } = &self.states[id.0 as usize];
        let (locals, in_flight) = (locals.clone(), in_flight.clone());
        let mut successors: Vec<Successor> = Vec::new();
        for (node, triggers) in (0..).zip(enabled(self.side.stepper, &locals, &in_flight)?) {
            for trigger in triggers {
                let row = self.side.stepper.step(locals[node as usize], trigger)?;
                for outcome in 0..self.side.stepper.outcomes(row).len() {
                    let taken = self.side.stepper.outcomes(row)[outcome].clone();
                    let (mut locals, mut in_flight) = (locals.clone(), in_flight.clone());
                    locals[node as usize] = taken.next;
                    let known = self.side.stepper.known();
                    let links = known.links(&locals);
                    in_flight.step(&links, node, known.taken(trigger), taken.sent.iter().copied());
                    let step = Step { node, trigger, outcome: outcome as u32 };
                    successors.push((step, self.state(locals, in_flight, views)?));
                }
            }
        }
        self.bytes += successors.len() * size_of::<Successor>();
        let successors: Rc<[Successor]> = successors.into();
        self.states[id.0 as usize].successors = Some(Rc::clone(&successors));
        Ok(successors)
    }

    fn state(
        &mut self,
        locals: Box<[LocalStateId]>,
        in_flight: InFlight<MessageId>,
        views: &mut Views,
    ) -> Result<StateId, MachineError> {
        let key = key(&locals, &in_flight);
        if let Some(known) = self.ids.get(&key) {
            return Ok(*known);
        }
        let nodes = locals.iter().map(|local| self.node(*local, views)).collect::<Result<Vec<_>, _>>()?;
        let view = views.state(&nodes);
        let id = StateId(self.states.len() as u32);
        let entry = size_of::<State>() + 2 * (size_of::<u128>() + size_of::<StateId>());
        self.bytes += entry + size_of_val(&*locals) + in_flight.len() * size_of::<MessageId>();
        self.states.push(State { locals, in_flight, view, successors: None });
        self.ids.insert(key, id);
        Ok(id)
    }

    fn node(&mut self, local: LocalStateId, views: &mut Views) -> Result<NodeView, MachineError> {
        if let Some(known) = self.views.get(&local) {
            return Ok(*known);
        }
        let view = match self.side.stepper.known().brief(local).is_stuck {
            true => views.failed(),
            false => views.described(self.side.stepper.described(local)?),
        };
        self.is_described |= matches!(views.view(view), View::Described(_));
        self.bytes += 2 * (size_of::<LocalStateId>() + size_of::<NodeView>());
        self.views.insert(local, view);
        Ok(view)
    }
}

/// A hash of a global state. Ids stand for contents: all states are of one local transition system.
fn key(locals: &[LocalStateId], in_flight: &InFlight<MessageId>) -> u128 {
    let mut hasher = blake3::Hasher::new();
    for local in locals {
        hasher.update(&local.0.to_le_bytes());
    }
    for message in in_flight {
        hasher.update(&message.0.to_le_bytes());
    }
    let bytes: [u8; 32] = hasher.finalize().into();
    u128::from_le_bytes(std::array::from_fn(|index| bytes[index]))
}

/// The node whose view a step has changed.
pub(crate) fn changed(before: &[NodeView], after: &[NodeView]) -> NodeId {
    before.iter().zip(after).position(|(before, after)| before != after).unwrap_or_default() as NodeId
}
