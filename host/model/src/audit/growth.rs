//! Trials of the fourth demand: memory that does not grow without bound.

use std::collections::BTreeMap;

use crate::audit::findings::ContractViolation;
use crate::audit::notes::{State, Way};
use crate::audit::words;
use crate::contract::{Effects, Machine, MachineError};

/// The number of times that a handler without effects is repeated.
const REPETITIONS: usize = 64;

/// Maximum number of repetitions, which doubles while each doubling takes more memory: languages with garbage collection keep
/// garbage for a while.
const REPETITIONS_MAX: usize = 8192;

/// Minimum number of repetitions before the growth per repetition counts as small.
const REPETITIONS_SURE: usize = 1024;

/// Bytes that such a handler may take in total without a finding.
const GROWTH_MAX: usize = 2048;

/// Bytes that it may take each time without a finding, in the long run: the runtimes of some languages leak the memory of each
/// result, and the author of a plugin cannot prevent that. A path of a million events still fits into the default limit.
const LOSS_MAX: usize = 256;

/// Promise 4, for at most this many handlers. Repeats only handlers that lead back to their first state: others may need more memory.
pub(crate) fn growing<'n>(
    machine: &mut dyn Machine,
    states: impl Iterator<Item = &'n State>,
    handlers_max: usize,
) -> Result<Option<ContractViolation>, MachineError> {
    let mut loops = Vec::new();
    for state in states {
        loops.extend(loops_at(machine, state)?.into_iter().map(|way| (state, way)));
    }
    for (state, way) in in_turns(loops).into_iter().take(handlers_max) {
        let found = grows(machine, state, way)?;
        machine.confirm_fault()?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The handlers that lead from a state back to it. One of the memories of the state is enough.
fn loops_at<'n>(machine: &mut dyn Machine, state: &'n State) -> Result<Vec<&'n Way>, MachineError> {
    let mut loops: Vec<&Way> = Vec::new();
    for way in &state.ways {
        if loops.last().is_some_and(|last| (&last.cause, &last.script) == (&way.cause, &way.script)) {
            continue;
        }
        machine.restore(Some(&way.from.0))?;
        if machine.serialize().as_ref() == Ok(&state.encoding) {
            loops.push(way);
        }
    }
    Ok(loops)
}

/// Takes turns between the kinds of handlers, so that a frequent kind does not displace another one.
fn in_turns<'n>(loops: Vec<(&'n State, &'n Way)>) -> Vec<(&'n State, &'n Way)> {
    let mut turns: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let next = |(state, way): (&'n State, &'n Way)| {
        let turn = turns.entry(way.cause.kind()).or_default();
        *turn += 1;
        (*turn, state, way)
    };
    let mut loops: Vec<_> = loops.into_iter().map(next).collect();
    loops.sort_by_key(|(turn, ..)| *turn);
    loops.into_iter().map(|(_, state, way)| (state, way)).collect()
}

/// Repeats a handler.
fn grows(machine: &mut dyn Machine, state: &State, way: &Way) -> Result<Option<ContractViolation>, MachineError> {
    machine.restore(Some(&way.from.0))?;
    let mut sizes = vec![way.from.0.memory_bytes()];
    let mut effects = Effects::default();
    for repetition in 1..=REPETITIONS {
        machine.ask_stop()?;
        if machine.handle(way.cause.input(), &way.script, &mut effects).is_err() {
            break;
        }
        if repetition % (REPETITIONS / 4) == 0 {
            sizes.push(machine.capture().memory_bytes());
        }
    }
    let grows = sizes.len() == 5 && sizes.windows(2).skip(1).all(|pair| pair[0] < pair[1]);
    if !grows || sizes[4] <= sizes[0] + GROWTH_MAX {
        return Ok(None);
    }
    let grown = keeps_growing(machine, way, sizes[0], sizes[4])?;
    let Some((repetitions, last)) = grown else { return Ok(None) };
    let cause = words::cause(machine, &way.cause);
    let at = words::state(machine, &state.least.0, &state.encoding);
    Ok(Some(ContractViolation {
        promise: "memory does not grow without end",
        function: way.cause.function().to_owned(),
        place: format!("node {}, on {cause} again and again, in the state {at}", state.node),
        one: format!("a snapshot of {} bytes", sizes[0]),
        other: format!("after {repetitions} times, in a state with the same bytes, one of {last} bytes"),
        cause: "it allocates and never frees, or collects unused data",
        pair: None,
    }))
}

/// Repeats a handler that has taken more and more memory so far. If that continues, returns the number of executions and the size of
/// the last snapshot; none if it ends.
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
            // A fault here means that the guest ran out of memory.
            if machine.handle(way.cause.input(), &way.script, &mut effects).is_err() {
                break 'repeated;
            }
        }
        repetitions *= 2;
        let size = machine.capture().memory_bytes();
        // A leak in each call doubles the total with the number of calls. Less than half of that is a heap that settles.
        let more = size.saturating_sub(last);
        if more < last.saturating_sub(first) / 2 {
            return Ok(None);
        }
        // Growth that is far below the limit now will not exceed it in the end.
        if repetitions >= REPETITIONS_SURE && more <= LOSS_MAX / 2 * (repetitions / 2) {
            return Ok(None);
        }
        last = size;
    }
    let is_much = last.saturating_sub(first) > LOSS_MAX * repetitions;
    Ok(is_much.then_some((repetitions, last)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::audit::notes::{Cause, Kept};
    use crate::contract::{LocalEvent, LocalKind, Snapshot};

    /// One `tick` among many messages, and one election.
    #[test]
    fn what_is_rare_has_its_turn_before_what_is_frequent_has_its_second() {
        let kept = || Kept(Snapshot::new(&[0, 0]));
        let local = |name: &str| {
            Cause::Local(LocalEvent { name: name.to_owned(), payload: Vec::new(), kind: LocalKind::Timer })
        };
        let messages = (0..100).map(|byte| Cause::Message(1, vec![byte]));
        let causes = messages.chain([local("tick"), local("elect"), local("tick")]);
        let state = State { node: 0, encoding: Vec::new(), least: kept(), greatest: kept(), ways: BTreeSet::new() };
        let ways: Vec<Way> = causes.map(|cause| Way { cause, script: Vec::new(), from: kept() }).collect();
        let turns = in_turns(ways.iter().map(|way| (&state, way)).collect());
        let causes: Vec<&Cause> = turns.iter().map(|(_, way)| &way.cause).collect();
        assert_eq!(causes.len(), 103);
        assert_eq!(
            causes[..6],
            [
                &Cause::Message(1, vec![0]),
                &local("tick"),
                &local("elect"),
                &Cause::Message(1, vec![1]),
                &local("tick"),
                &Cause::Message(1, vec![2])
            ]
        );
    }
}
