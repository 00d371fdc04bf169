//! The answers to `choose` and `can-send`.

use std::collections::BTreeSet;

use host_model::contract::{Effects, Fault, Input, Likelihood, Machine, MachineError, NodeId, Snapshot};
use host_search::kernel::dice::below;
use rand_chacha::ChaCha8Rng;

/// How often answers are drawn for one handler whose weights make them unlikely; then the last likely ones are taken.
const DRAWS_MAX: u32 = 1_000;

/// Runs a handler from a state, with answers that are drawn as the protocol says: those to `choose` evenly, those to `choose-weighted` by
/// their weights. The transport takes messages to all nodes but those in `full`.
///
/// A machine does not say the weights, only how likely all answers together are. So they are drawn evenly, and drawn again unless as
/// many as their weights say are let through: the result has the right distribution. A handler that chooses nothing runs once.
pub(super) fn run(
    machine: &mut dyn Machine,
    state: Option<&Snapshot>,
    input: Input<'_>,
    dice: &mut ChaCha8Rng,
    full: &BTreeSet<NodeId>,
    effects: &mut Effects,
) -> Result<Result<(), Fault>, MachineError> {
    let mut likely = None;
    for _ in 0..DRAWS_MAX {
        let (script, result) = attempt(machine, state, input, dice, full, effects)?;
        if is_let_through(dice, effects) {
            return Ok(result);
        }
        if effects.likelihood.parts() > 0 {
            likely = Some(script);
        }
    }
    machine.restore(state)?;
    Ok(machine.handle(input, &likely.unwrap_or_default(), effects))
}

/// One execution, with answers that are drawn evenly. Each question takes another run up to it.
fn attempt(
    machine: &mut dyn Machine,
    state: Option<&Snapshot>,
    input: Input<'_>,
    dice: &mut ChaCha8Rng,
    full: &BTreeSet<NodeId>,
    effects: &mut Effects,
) -> Result<(Vec<u32>, Result<(), Fault>), MachineError> {
    let mut script: Vec<u32> = Vec::new();
    loop {
        machine.restore(state)?;
        let result = machine.handle(input, &script, effects);
        // A question that was answered with 0 for want of another answer, and should have had that answer, changes nothing.
        let mut asked = effects.choices.iter().skip(script.len());
        let Some(other) = asked.position(|choice| {
            let answer = match choice.to {
                Some(to) => u32::from(full.contains(&to)),
                None => below(dice, choice.alternatives.into()) as u32,
            };
            script.push(answer);
            answer > 0
        }) else {
            return Ok((script, result));
        };
        debug_assert!(other < effects.choices.len(), "one of them");
    }
}

/// Whether answers that were drawn evenly are kept: with the probability that their weights have together.
fn is_let_through(dice: &mut ChaCha8Rng, effects: &Effects) -> bool {
    if effects.draws.are_none() {
        return true;
    }
    let even = |index: usize| effects.draws.is_likely(index).is_none();
    let chosen = effects.choices.iter().enumerate().filter(|(index, _)| even(*index));
    let parts = chosen.fold(u128::from(effects.likelihood.parts()), |parts, (_, choice)| {
        parts.saturating_mul(choice.alternatives.into())
    });
    u128::from(below(dice, Likelihood::CERTAIN.parts())) < parts
}
