//! Scripts: phases of a run. In each, some nodes are cut off, some messages are lost and some nodes are called.

use host_model::contract::NodeId;

use crate::gate::Gate;
use crate::simulator::Phase;
use crate::time::Time;
use crate::world::chance::Purpose;
use crate::world::driver::World;
use crate::world::input::Input;

impl<G: Gate> World<'_, G> {
    /// The present phase, if there is a script.
    pub(super) fn phase(&self) -> Option<&Phase> {
        self.plan.script.get(self.phase?)
    }

    /// Whether the application calls a node now.
    pub(super) fn lets_call(&self, node: NodeId) -> bool {
        self.phase().is_none_or(|phase| phase.lets_call(node))
    }

    /// Applies the reachability and the calls of this phase from now on, if there is one.
    pub(super) fn enter_phase(&mut self, place: usize) {
        let Some(lasts) = self.plan.script.get(place).map(|phase| phase.lasts) else { return };
        (self.phase, self.phase_end) = (Some(place), Time::NEVER);
        if place + 1 < self.plan.script.len() {
            let end = self.now.after(self.chance.within(Purpose::Phases, lasts));
            self.agenda.add(end, Input::Phase(place + 1));
            self.phase_end = end;
        }
        for node in 0..self.plan.nodes {
            let is_called = self.lets_call(node);
            if let Some(running) = self.running(node) {
                running.node.gate_mut().set_called(is_called);
            }
        }
    }

    /// Begins a phase, with its resets.
    pub(super) fn begin_phase(&mut self, place: usize) -> Result<(), String> {
        if self.phase != Some(place) {
            self.enter_phase(place);
        }
        let resets = self.phase().map_or_else(Vec::new, |phase| phase.resets.clone());
        resets.into_iter().try_for_each(|node| self.kill_if_allowed(node))
    }
}
