//! A proof from local states alone that a promise of progress cannot be kept any more.
//!
//! The local states that messages from anywhere can lead to, from a global state on, are more than can be reached from there. If no
//! combination of them keeps the promise, nothing that is reached does. The proof needs no search, and there can be one where the
//! global states are without end.

use host_model::contract::{ClassId, MachineError};
use host_model::lts::{Promise, Stepper};
use host_model::trace::start::Start;
use rustc_hash::FxHashSet;

use crate::kernel::rules::Recovery;
use crate::kernel::{EndCondition, tuples};
use crate::local::space::LocalSpace;

/// Units of work after which there is no certificate: half a second where all of them are handlers that are executed for the first time.
const WORK_MAX: u64 = 20_000;

/// Combinations of view classes after which there is none.
const COMBINATIONS_MAX: u64 = 20_000;

/// The answer, and what it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Certified {
    /// Whether it is proven that the promise cannot be kept. If not, nothing is known.
    pub is_dead: bool,
    /// Units of work.
    pub work: u64,
}

/// Tries to prove that no event on which progress can rely ever leads from a state to where a promise is kept.
///
/// Guarantee: what is proven is so, on any network, also where the global states are without end. Complete: no. Ends after
/// a fixed amount of work. `ask` is told how many bytes are taken and says why to stop.
///
/// # Errors
///
/// The host cannot provide an instance, or it is told to stop.
pub fn certify(
    stepper: &mut Stepper<'_>,
    state: &Start,
    (promise, recovery): (Promise, Recovery),
    ask: &mut dyn FnMut(u64) -> Option<EndCondition>,
) -> Result<Certified, MachineError> {
    let mut space = LocalSpace::of(stepper, state, u32::MAX, recovery == Recovery::Resets);
    let mut combined = Combined::new(state.locals.len(), promise);
    let mut stopped = None;
    loop {
        let is_kept = combined.is_kept(stepper, &space)?;
        let work = space.work() + combined.evaluated;
        if is_kept != Some(false) || work >= WORK_MAX {
            return Ok(Certified { is_dead: false, work });
        }
        let is_complete = !space.pass(stepper, &mut |space| {
            stopped = ask(space.bytes());
            stopped.is_none() && space.work() < WORK_MAX
        })?;
        if let Some(end) = stopped {
            return Err(super::stop(end));
        }
        if is_complete {
            return Ok(Certified { is_dead: true, work });
        }
    }
}

/// The local states that were looked at.
struct Combined {
    promise: Promise,
    /// How many of them.
    seen: usize,
    /// For each node the view classes met so far.
    classes: Vec<Vec<ClassId>>,
    met: FxHashSet<(u32, ClassId)>,
    evaluated: u64,
}

impl Combined {
    fn new(nodes: usize, promise: Promise) -> Self {
        Self { promise, seen: 0, classes: vec![Vec::new(); nodes], met: FxHashSet::default(), evaluated: 0 }
    }

    /// Whether a combination with a local state that was not looked at before keeps the promise; none if there are too many.
    fn is_kept(&mut self, stepper: &mut Stepper<'_>, space: &LocalSpace<'_>) -> Result<Option<bool>, MachineError> {
        for reached in &space.states()[self.seen..] {
            let local_state = stepper.state(reached.state);
            // Where a node traps the execution is over, and owes nothing.
            if local_state.is_stuck() {
                return Ok(Some(true));
            }
            let class = local_state.protocol.class;
            match self.promise.node {
                Some(node) => {
                    let is_owed = local_state.protocol.owed.contains(&self.promise.property);
                    if node == reached.node && !is_owed {
                        return Ok(Some(true));
                    }
                }
                None if self.met.insert((reached.node, class)) => {
                    for tuple in tuples::with_fixed(&self.classes, reached.node as usize, class) {
                        self.evaluated += 1;
                        if self.evaluated > COMBINATIONS_MAX {
                            return Ok(None);
                        }
                        if !stepper.owed(&tuple)?.contains(&self.promise.property) {
                            return Ok(Some(true));
                        }
                    }
                    self.classes[reached.node as usize].push(class);
                }
                None => {}
            }
        }
        self.seen = space.states().len();
        Ok(Some(false))
    }
}
