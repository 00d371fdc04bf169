//! Trials of the fourth promise: memory that does not grow without end.

use crate::audit::findings::ContractViolation;
use crate::audit::notes::{State, Way, hex};
use crate::contract::{Effects, Machine, MachineError};

/// How often a handler that changes nothing is repeated.
const REPETITIONS: usize = 64;

/// How often at most, while it takes more memory each time the number doubles: languages that collect garbage let some of it
/// lie for a while.
const REPETITIONS_MAX: usize = 8192;

/// Bytes that such a handler may take in all without a word.
const GROWTH_MAX: usize = 2048;

/// Bytes that it may take each time without a word, in the long run: the runtimes of some languages lose the room of each
/// result, which the author of a plugin cannot help. A path of a million events fits into the default limit all the same.
const LOSS_MAX: usize = 256;

/// Promise 4. Only handlers that lead back to where they began are repeated: others may well need more memory.
pub(crate) fn growing(machine: &mut dyn Machine, state: &State) -> Result<Option<ContractViolation>, MachineError> {
    for way in &state.ways {
        machine.restore(Some(&way.from.0))?;
        if machine.serialize().as_ref() != Ok(&state.encoding) {
            continue;
        }
        machine.restore(Some(&way.from.0))?;
        let mut sizes = vec![way.from.0.bytes()];
        let mut effects = Effects::default();
        for repetition in 1..=REPETITIONS {
            machine.ask_stop()?;
            if machine.handle(way.cause.input(), &way.script, &mut effects).is_err() {
                break;
            }
            if repetition % (REPETITIONS / 4) == 0 {
                sizes.push(machine.capture().bytes());
            }
        }
        let grows = sizes.len() == 5 && sizes.windows(2).skip(1).all(|pair| pair[0] < pair[1]);
        if !grows || sizes[4] <= sizes[0] + GROWTH_MAX {
            continue;
        }
        if let Some((repetitions, last)) = keeps_growing(machine, way, sizes[0], sizes[4])? {
            return Ok(Some(ContractViolation {
                promise: "memory does not grow without end",
                function: way.cause.function().to_owned(),
                place: format!(
                    "node {}, on {} again and again, in the state {}",
                    state.node,
                    way.cause,
                    hex(&state.encoding)
                ),
                one: format!("a snapshot of {} bytes", sizes[0]),
                other: format!("after {repetitions} times, in a state with the same bytes, one of {last} bytes"),
                cause: "it allocates and never frees, or collects what nobody reads",
            }));
        }
    }
    Ok(None)
}

/// Repeats a handler that has taken more and more memory so far. Returns how often it was executed and the size of the last
/// snapshot if that goes on; none if it comes to an end.
fn keeps_growing(
    machine: &mut dyn Machine,
    way: &Way,
    first: usize,
    size: usize,
) -> Result<Option<(usize, usize)>, MachineError> {
    let mut effects = Effects::default();
    let (mut repetitions, mut last) = (REPETITIONS, size);
    'repeated: while repetitions < REPETITIONS_MAX {
        for _ in 0..repetitions {
            machine.ask_stop()?;
            // A fault, here, is that of a guest without memory.
            if machine.handle(way.cause.input(), &way.script, &mut effects).is_err() {
                break 'repeated;
            }
        }
        repetitions *= 2;
        let size = machine.capture().bytes();
        // What is lost in each call doubles what was lost so far. Less than half of that is a heap that settles.
        if size.saturating_sub(last) < last.saturating_sub(first) / 2 {
            return Ok(None);
        }
        last = size;
    }
    let is_much = last.saturating_sub(first) > LOSS_MAX * repetitions;
    Ok(is_much.then_some((repetitions, last)))
}
