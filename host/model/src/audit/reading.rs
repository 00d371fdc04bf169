//! Trials of the fifth demand: functions that read change nothing.

use std::collections::BTreeSet;

use crate::audit::answers::{Answer, Answered, is_same, shown};
use crate::audit::findings::ContractViolation;
use crate::audit::notes::State;
use crate::audit::words;
use crate::contract::{Machine, MachineError, NodeId};

/// A function that reads, and that a search calls.
enum Reader<'n> {
    Serialize,
    LocalEvents,
    View(u32),
    Persist,
    IsDone,
    RoleOf(&'n (NodeId, Vec<u8>)),
}

impl Reader<'_> {
    fn function(&self) -> &'static str {
        match self {
            Self::Serialize => "serialize",
            Self::LocalEvents => "local-events",
            Self::View(_) => "view",
            Self::Persist => "persist",
            Self::IsDone => "is-done",
            Self::RoleOf(_) => "role-of",
        }
    }

    fn ask(&self, machine: &mut dyn Machine) -> Answered {
        match self {
            Self::Serialize => machine.serialize().map(Answer::State),
            Self::LocalEvents => machine.local_events().map(Answer::Listed),
            Self::View(property) => machine.view(*property).map(|view| Answer::View(*property, view)),
            Self::Persist => machine.persist().map(Answer::Durable),
            Self::IsDone => machine.is_done().map(Answer::Done),
            Self::RoleOf((src, payload)) => machine.role(*src, payload).map(Answer::Taken),
        }
    }
}

/// Promise 5.
pub(crate) fn writing(
    machine: &mut dyn Machine,
    state: &State,
    messages: &BTreeSet<(NodeId, Vec<u8>)>,
    properties: usize,
) -> Result<Option<ContractViolation>, MachineError> {
    let readers = [Reader::Serialize, Reader::LocalEvents, Reader::Persist, Reader::IsDone];
    let views = (0..properties as u32).map(Reader::View);
    for reader in readers.into_iter().chain(views).chain(messages.iter().map(Reader::RoleOf)) {
        if let Some([one, other]) = changes(machine, state, &reader)? {
            return Ok(Some(ContractViolation {
                promise: "what reads changes nothing",
                function: reader.function().to_owned(),
                place: format!(
                    "node {}, called twice in the state {}",
                    state.node,
                    words::state(machine, &state.least.0, &state.encoding)
                ),
                one,
                other,
                cause: "it writes where it only reads; move what it changes into a handler",
                pair: None,
            }));
        }
    }
    Ok(None)
}

/// Two answers that differ although only a reading function was called between them: its own answers, or the states before and after it.
fn changes(machine: &mut dyn Machine, state: &State, reader: &Reader<'_>) -> Result<Option<[String; 2]>, MachineError> {
    // The memory was kept after `serialize` had been called once.
    machine.restore(Some(&state.least.0))?;
    let one = match reader {
        Reader::Serialize => Ok(Answer::State(state.encoding.clone())),
        _ => reader.ask(machine),
    };
    // A machine that failed can only be restored; the search finds failures of handlers.
    if one.is_err() {
        return Ok(None);
    }
    let other = reader.ask(machine);
    if !is_same(&one, &other) {
        return Ok(Some([&one, &other].map(|answer| shown(answer, machine))));
    }
    let before = Ok(Answer::State(state.encoding.clone()));
    let after = machine.serialize().map(Answer::State);
    if is_same(&before, &after) {
        return Ok(None);
    }
    let one = shown(&one, machine);
    Ok(Some([&before, &after].map(|state| format!("{one}; the state is {}", shown(state, machine)))))
}
