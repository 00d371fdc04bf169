//! Clocks that jump, and processes that pause.

use crate::gate::Gate;
use crate::world::chance::Purpose;
use crate::world::driver::World;
use crate::world::input::Input;
use crate::world::plan::Trouble;

impl<G: Gate> World<'_, G> {
    /// A clock jumps. The node reads it before, too: a clock that goes back stands still, for a time that must not depend on checkers.
    pub(super) fn jump(&mut self, trouble: Trouble) -> Result<(), String> {
        self.add_around(Purpose::Jumps, trouble.every, Input::Jump(trouble));
        let node = self.some_node(Purpose::Jumps);
        self.reach(node, Input::Wake(node))?;
        let by = self.chance.within(Purpose::Jumps, trouble.lasting).as_nanos() as i64;
        let is_back = self.chance.below(Purpose::Jumps, 2) > 0;
        self.places[node as usize].ahead += if is_back { -by } else { by };
        self.count("jump");
        self.reach(node, Input::Wake(node))
    }

    /// A process does nothing for a while.
    pub(super) fn pause(&mut self, trouble: Trouble) -> Result<(), String> {
        self.add_around(Purpose::Pauses, trouble.every, Input::Pause(trouble));
        let node = self.some_node(Purpose::Pauses);
        self.reach(node, Input::Wake(node))?;
        let end = self.now.after(self.chance.within(Purpose::Pauses, trouble.lasting));
        if let Some(running) = &mut self.places[node as usize].running
            && running.paused.is_none()
        {
            running.paused = Some(Vec::new());
            self.agenda.add(end, Input::Resume(node));
            self.count("pause");
        }
        Ok(())
    }
}
