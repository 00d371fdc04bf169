//! A proof from local states alone that a promise of progress cannot be kept any more.
//!
//! The local states that messages from anywhere can lead to, from a global state on, are more than can be reached from there. If no
//! combination of them keeps the promise, nothing that is reached does. The proof needs no search, and there can be one where the
//! global states are without end.

use host_model::contract::MachineError;
use host_model::lts::{Promise, Stepper};
use host_model::trace::start::Start;

use crate::kernel::rules::Recovery;
use crate::outlook::Ask;
use crate::outlook::combinations::{Combinations, pass, space_of};

/// Units of work, and combinations of view classes, after which there is no proof: less than five milliseconds where all of them are handlers
/// that are executed for the first time. Most proofs take less than 50; the guided search continues to more.
const WORK_MAX: u64 = 200;

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
/// a fixed amount of work. `ask` gets the number of bytes taken and returns why to stop.
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
