//! A proof from local states alone that a promise of progress cannot be kept any more.
//!
//! The local states that messages from anywhere can lead to, from a global state on, include all that are reachable from there. If no
//! combination of them keeps the promise, no reachable state does. The proof needs no search, and works even if there are
//! infinitely many global states.

use host_model::contract::MachineError;
use host_model::lts::{Promise, Stepper};
use host_model::trace::start::Start;

use crate::kernel::rules::Recovery;
use crate::outlook::Ask;
use crate::outlook::combinations::{Combinations, pass, space_of};

/// Units of work, and combinations of view classes, after which the proof is given up: less than five milliseconds even if each unit is a
/// handler executed for the first time. Most proofs take less than 50; the guided search has a larger limit.
const WORK_MAX: u64 = 200;

/// The answer, and the work for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Certified {
    /// Whether the promise provably cannot be kept. If not, nothing is known.
    pub is_dead: bool,
    /// Units of work.
    pub work: u64,
}

/// Tries to prove that no event on which progress can rely ever leads from a state to one where a promise is kept.
///
/// Guarantee: a proof is valid, on any network, also for infinitely many global states. Complete: no. Ends after
/// a fixed amount of work. `ask` gets the number of bytes taken and returns the reason to stop.
///
/// # Errors
///
/// The host cannot provide an instance, or has to stop.
pub fn certify(
    stepper: &mut Stepper<'_>,
    state: &Start,
    promise: Promise,
    recovery: Recovery,
    ask: &mut Ask<'_>,
) -> Result<Certified, MachineError> {
    let mut space = space_of(stepper, state, recovery, WORK_MAX);
    let mut combinations = Combinations::new(state.locals.len(), promise, WORK_MAX);
    loop {
        let is_kept_nowhere = combinations.look(stepper, &space, &mut |_| false)?;
        let work = space.work() + combinations.evaluated();
        if !is_kept_nowhere || work >= WORK_MAX {
            return Ok(Certified { is_dead: false, work });
        }
        if pass(&mut space, stepper, ask)? {
            return Ok(Certified { is_dead: true, work });
        }
    }
}
