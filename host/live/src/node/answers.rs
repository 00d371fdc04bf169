//! The answers to `choose` and `can-send`.

use std::collections::BTreeSet;

use host_model::contract::{Effects, Fault, Input, Likelihood, Machine, MachineError, NodeId, Snapshot};
use host_search::kernel::dice::below;
use rand_chacha::ChaCha8Rng;

/// Draws per handler whose answers are unlikely by their weights. After that, the last answers of positive weight are taken.
const DRAWS_MAX: u32 = 1_000;

/// Runs a handler from a state, with random answers: uniform for `choose`, by weight for `choose-weighted`. `can-send` is false for the
/// nodes in `full`.
///
/// A machine reports only the probability of all answers together, not the weights. So this is rejection sampling: answers are drawn
/// uniformly and accepted with that probability, which gives the right distribution. A handler without choices runs once.
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

/// One execution with uniformly drawn answers. Each question takes another run up to it.
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
        // A question beyond the script was answered with 0. If 0 is drawn as well, the execution stands.
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

/// Whether uniformly drawn answers are accepted: with the probability given by their weights.
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
