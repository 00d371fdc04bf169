//! A position in a tree of executions, with undo.

use host_model::contract::MachineFactory;
use host_model::lts::Stepper;
use host_model::trace::{Trace, TraceStep};

use crate::debug::moments::{CursorError, Moments, Place};
use crate::traced_state::Action;

/// The position of the cursor: a branch, from the beginning to its end, and an index into it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Position {
    line: Vec<Place>,
    at: usize,
}

/// A cursor over executions of one cluster.
pub struct Cursor<'l> {
    /// The tree.
    pub(super) moments: Moments<'l>,
    now: Position,
    undo: Vec<Position>,
}

impl<'l> Cursor<'l> {
    /// A cursor at the beginning of a trace, or in the start state of a
    /// cluster: `trace` then has no steps.
    ///
    /// # Errors
    ///
    /// The trace cannot be followed, or the host cannot provide an instance.
    pub fn new(factory: &dyn MachineFactory, stepper: Stepper<'l>, trace: &Trace) -> Result<Self, CursorError> {
        let moments = Moments::new(factory, stepper, trace)?;
        let mut cursor = Self { moments, now: Position { line: vec![0], at: 0 }, undo: Vec::new() };
        cursor.open(trace)?;
        cursor.undo.clear();
        Ok(cursor)
    }

    /// Adds the steps of another trace as a branch, and moves to its beginning.
    ///
    /// # Errors
    ///
    /// The trace cannot be followed; its possible part is then a branch.
    pub fn open(&mut self, trace: &Trace) -> Result<(), CursorError> {
        let (line, result) = match self.moments.open(trace) {
            Ok(line) => (line, Ok(())),
            // No part of it is a branch, or the host itself cannot continue.
            Err((_, error @ (CursorError::Elsewhere(_) | CursorError::Machine(_)))) => return Err(error),
            Err((line, error)) => (line, Err(error)),
        };
        self.move_to(Position { line, at: 0 });
        result
    }

    /// The tree of the executions.
    pub fn moments(&self) -> &Moments<'l> {
        &self.moments
    }

    /// The present state.
    pub fn here(&self) -> Place {
        self.now.line[self.now.at]
    }

    /// Number of steps before the present state.
    pub fn depth(&self) -> usize {
        self.now.at
    }

    /// Number of steps of the present branch.
    pub fn length(&self) -> usize {
        self.now.line.len() - 1
    }

    /// The places of the present branch, from the beginning to its end.
    pub fn line(&self) -> &[Place] {
        &self.now.line
    }

    /// The place after this many steps of the present branch.
    pub fn place(&self, depth: usize) -> Option<Place> {
        self.now.line.get(depth).copied()
    }

    /// Moves along the present branch; false if it is not that long.
    pub fn jump(&mut self, depth: usize) -> bool {
        if depth >= self.now.line.len() {
            return false;
        }
        self.move_to(Position { line: self.now.line.clone(), at: depth });
        true
    }

    /// The number of the first fitting step behind the present state on the present branch.
    pub fn find(&mut self, mut fits: impl FnMut(&mut Self, usize) -> bool) -> Option<usize> {
        (self.now.at + 1..self.now.line.len()).find(|depth| fits(self, *depth))
    }

    /// The step of the present branch with this number, counted from 1.
    pub fn step(&self, number: usize) -> Option<&TraceStep> {
        self.moments.step_at(self.place(number)?)
    }

    /// Takes an action that is enabled in the present state, with the outcome of this number. If it is the next step of
    /// the present branch, the rest of the branch stays; else a new branch begins.
    ///
    /// # Errors
    ///
    /// As for [`Moments::take`].
    pub fn take(&mut self, action: &Action, outcome: usize) -> Result<(), CursorError> {
        let Some(next) = self.moments.take(self.here(), action, outcome)? else { return Ok(()) };
        let mut line = self.now.line.clone();
        if line.get(self.now.at + 1) != Some(&next) {
            line.truncate(self.now.at + 1);
            line.push(next);
            // Continues along the steps that were explored before.
            while let Some(child) = self.moments.children(line[line.len() - 1]).first() {
                line.push(*child);
            }
        }
        self.move_to(Position { line, at: self.now.at + 1 });
        Ok(())
    }

    /// Undoes the last move; false if there is none.
    pub fn undo(&mut self) -> bool {
        match self.undo.pop() {
            Some(position) => {
                self.now = position;
                true
            }
            None => false,
        }
    }

    /// The ends of all branches in the order of their creation, with the steps that each shares with the present branch.
    pub fn branches(&self) -> Vec<(Place, usize)> {
        let leaves = (0..self.moments.places()).filter(|place| self.moments.children(*place).is_empty());
        leaves.map(|leaf| (leaf, self.shared(&self.moments.line_to(leaf)))).collect()
    }

    /// The number of steps that a line shares with the present one.
    fn shared(&self, line: &[Place]) -> usize {
        line.iter().zip(&self.now.line).take_while(|(one, other)| one == other).count() - 1
    }

    /// Whether the present branch ends here.
    pub fn is_end_of_line(&self, place: Place) -> bool {
        self.now.line.last() == Some(&place)
    }

    /// Switches to the branch that ends at a place, at the point where it leaves the present one.
    pub fn switch(&mut self, leaf: Place) {
        let line = self.moments.line_to(leaf);
        let at = self.shared(&line).min(self.now.at);
        self.move_to(Position { line, at });
    }

    /// The steps to the present state.
    pub fn path(&self) -> Vec<TraceStep> {
        self.moments.path(self.here())
    }

    fn move_to(&mut self, position: Position) {
        if position != self.now {
            self.undo.push(std::mem::replace(&mut self.now, position));
        }
    }
}
