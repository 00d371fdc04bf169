//! Trials of the first three demands: the same behaviour in the same situation.

use std::collections::BTreeSet;

use crate::audit::answers::{Answer, Answered, is_same, shown};
use crate::audit::findings::ContractViolation;
use crate::audit::notes::{Cause, State};
use crate::audit::words;
use crate::contract::{Effects, Fault, Machine, MachineError, NodeId, Property, Snapshot};

/// The observable effects of a handler.
#[derive(Debug, PartialEq, Eq)]
struct Observation {
    effects: Effects,
    end: Result<Vec<u8>, Fault>,
}

impl Observation {
    fn of(machine: &mut dyn Machine, from: &Snapshot, cause: &Cause, script: &[u32]) -> Result<Self, MachineError> {
        machine.restore(Some(from))?;
        let mut effects = Effects::default();
        let end = machine.handle(cause.input(), script, &mut effects).and_then(|()| machine.serialize());
        Ok(Self { effects, end })
    }

    /// Whether a call had the same effects from another memory.
    fn is_same(&self, other: &Self) -> bool {
        match (&self.end, &other.end) {
            (Err(fault), Err(again)) if fault.is_limit() => fault.is_same(again),
            _ => self == other,
        }
    }
}

impl Observation {
    /// For people: the effects of a handler that ran from this memory. Its final state is described if the handler ends there again.
    fn said(&self, machine: &mut dyn Machine, from: &Snapshot, called: Called<'_>) -> String {
        let mut text = String::new();
        for envelope in &self.effects.sent {
            text += &format!("sends {} to node {}, ", words::message(machine, &envelope.payload), envelope.to);
        }
        for choice in &self.effects.choices {
            text += &format!("chooses {} of {}, ", choice.picked, choice.alternatives);
        }
        match &self.end {
            Ok(state) => {
                let again = Self::of(machine, from, called.cause, called.script).ok();
                let memory = again.filter(|again| again.end == self.end).map(|_| machine.capture());
                let said = memory.map_or_else(|| words::bytes(state), |memory| words::state(machine, &memory, state));
                text + &format!("ends in the state {said}")
            }
            Err(fault) => text + &format!("fails: {fault}"),
        }
    }
}

/// The call of a handler.
#[derive(Clone, Copy)]
struct Called<'c> {
    cause: &'c Cause,
    script: &'c [u32],
}

/// The functions that a node answers in a state, with its answers.
fn answers(
    machine: &mut dyn Machine,
    from: &Snapshot,
    properties: usize,
) -> Result<Vec<(&'static str, Answered)>, MachineError> {
    machine.restore(Some(from))?;
    let mut answers = vec![("local-events", machine.local_events().map(Answer::Listed))];
    for property in 0..properties as u32 {
        machine.restore(Some(from))?;
        answers.push(("view", machine.view(property).map(|view| Answer::View(property, view))));
    }
    Ok(answers)
}

/// Promise 1.
pub(crate) fn repeated(machine: &mut dyn Machine, state: &State) -> Result<Option<ContractViolation>, MachineError> {
    for way in &state.ways {
        let one = Observation::of(machine, &way.from.0, &way.cause, &way.script)?;
        let other = Observation::of(machine, &way.from.0, &way.cause, &way.script)?;
        if one != other || one.end.as_ref() != Ok(&state.encoding) {
            let called = Called { cause: &way.cause, script: &way.script };
            let recorded = format!("ended in the state {}", words::state(machine, &state.least.0, &state.encoding));
            return Ok(Some(ContractViolation {
                promise: "the same again",
                function: way.cause.function().to_owned(),
                place: format!("node {}, on {}", state.node, words::cause(machine, &way.cause)),
                one: if one == other { recorded } else { one.said(machine, &way.from.0, called) },
                other: other.said(machine, &way.from.0, called),
                cause: "it depends on something that is no part of the state and of its arguments",
                pair: None,
            }));
        }
    }
    Ok(None)
}

/// Promise 2.
pub(crate) fn ambiguous(
    machine: &mut dyn Machine,
    state: &State,
    messages: &BTreeSet<(NodeId, Vec<u8>)>,
    properties: usize,
) -> Result<Option<ContractViolation>, MachineError> {
    if state.least == state.greatest {
        return Ok(None);
    }
    let at = words::state(machine, &state.least.0, &state.encoding);
    let broken = |function: &str, on: &str, one: String, other: String| ContractViolation {
        promise: "equal bytes, equal behaviour",
        function: function.to_owned(),
        place: format!("node {}, in two states with the bytes {at}{on}", state.node),
        one,
        other,
        cause: "`serialize` leaves out state that this function reads",
        pair: Some([&state.least, &state.greatest].map(Clone::clone)),
    };
    let least = answers(machine, &state.least.0, properties)?;
    let greatest = answers(machine, &state.greatest.0, properties)?;
    let differs = least.iter().zip(&greatest).find(|((_, one), (_, other))| !is_same(one, other));
    if let Some(((function, one), (_, other))) = differs {
        let one = shown(one, machine);
        return Ok(Some(broken(function, "", one, shown(other, machine))));
    }
    let events = match least.into_iter().next() {
        Some((_, Ok(Answer::Listed(events)))) => events,
        _ => Vec::new(),
    };
    let messages = messages.iter().map(|(src, payload)| Cause::Message(*src, payload.clone()));
    for cause in messages.chain(events.into_iter().map(Cause::Local)) {
        let one = Observation::of(machine, &state.least.0, &cause, &[])?;
        let other = Observation::of(machine, &state.greatest.0, &cause, &[])?;
        if !one.is_same(&other) {
            let on = format!(", on {}", words::cause(machine, &cause));
            let called = Called { cause: &cause, script: &[] };
            let one = one.said(machine, &state.least.0, called);
            return Ok(Some(broken(cause.function(), &on, one, other.said(machine, &state.greatest.0, called))));
        }
    }
    Ok(None)
}

/// Promise 3.
pub(crate) fn impure(
    machine: &mut dyn Machine,
    state: &State,
    property: u32,
    views: &[Option<Vec<u8>>],
    properties: &[Property],
) -> Result<Option<ContractViolation>, MachineError> {
    let views: Vec<Option<&[u8]>> = views.iter().map(Option::as_deref).collect();
    let mut ask = |from: Option<&Snapshot>| -> Result<Answered, MachineError> {
        machine.restore(from)?;
        Ok(machine.invariant(property, &views).map(Answer::Judged))
    };
    let (one, other) = (ask(None)?, ask(Some(&state.least.0))?);
    if is_same(&one, &other) {
        return Ok(None);
    }
    let at = words::state(machine, &state.least.0, &state.encoding);
    Ok(Some(ContractViolation {
        promise: "an invariant reads its views alone",
        function: "invariant".to_owned(),
        place: format!(
            "property `{}`, asked before `init` and in the state {at} of node {}",
            properties[property as usize].name, state.node
        ),
        one: shown(&one, machine),
        other: shown(&other, machine),
        cause: "it reads the state of the node that it is asked at; `view` must contain all that it needs",
        pair: None,
    }))
}
