//! Trials of the first three promises: the same behaviour where it must be the same.

use std::collections::BTreeSet;

use crate::audit::findings::ContractViolation;
use crate::audit::notes::{Cause, State, hex};
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
}

impl std::fmt::Display for Observation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for envelope in &self.effects.sent {
            write!(f, "sends {} to node {}, ", hex(&envelope.payload), envelope.to)?;
        }
        for choice in &self.effects.choices {
            write!(f, "chooses {} of {}, ", choice.picked, choice.alternatives)?;
        }
        match &self.end {
            Ok(state) => write!(f, "ends in the state {}", hex(state)),
            Err(fault) => write!(f, "fails: {fault}"),
        }
    }
}

/// Promise 1.
pub(crate) fn repeated(machine: &mut dyn Machine, state: &State) -> Result<Option<ContractViolation>, MachineError> {
    for way in &state.ways {
        let one = Observation::of(machine, &way.from.0, &way.cause, &way.script)?;
        let other = Observation::of(machine, &way.from.0, &way.cause, &way.script)?;
        if one != other || one.end.as_ref() != Ok(&state.encoding) {
            let recorded = format!("ended in the state {}", hex(&state.encoding));
            return Ok(Some(ContractViolation {
                promise: "the same again",
                function: way.cause.function().to_owned(),
                place: format!("node {}, on {}", state.node, way.cause),
                one: if one == other { recorded } else { one.to_string() },
                other: other.to_string(),
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
    let broken = |function: &str, on: &str, one: String, other: String| ContractViolation {
        promise: "equal bytes, equal behaviour",
        function: function.to_owned(),
        place: format!("node {}, in two states with the bytes {}{on}", state.node, hex(&state.encoding)),
        one,
        other,
        cause: "`serialize` leaves out state that this function reads",
        pair: Some([&state.least, &state.greatest].map(Clone::clone)),
    };
    let mut questions: Vec<(&str, Vec<String>)> = Vec::new();
    let mut events = Vec::new();
    for kept in [&state.least, &state.greatest] {
        machine.restore(Some(&kept.0))?;
        let listed = machine.local_events();
        let shown = match &listed {
            Ok(listed) => format!(
                "lists {}",
                listed
                    .iter()
                    .map(|event| format!("`{}` ({})", event.name, hex(&event.payload)))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            Err(fault) => format!("fails: {fault}"),
        };
        events = listed.unwrap_or_default();
        push(&mut questions, "local-events", shown);
        for property in 0..properties as u32 {
            machine.restore(Some(&kept.0))?;
            push(&mut questions, "view", format!("of property {property}: {:?}", machine.view(property)));
        }
    }
    for (function, answers) in questions {
        let (one, other) = answers.split_at(answers.len() / 2);
        if let Some((one, other)) = one.iter().zip(other).find(|(one, other)| one != other) {
            return Ok(Some(broken(function, "", one.clone(), other.clone())));
        }
    }
    let messages = messages.iter().map(|(src, payload)| Cause::Message(*src, payload.clone()));
    for cause in messages.chain(events.into_iter().map(Cause::Local)) {
        let one = Observation::of(machine, &state.least.0, &cause, &[])?;
        let other = Observation::of(machine, &state.greatest.0, &cause, &[])?;
        if one != other {
            let on = format!(", on {cause}");
            return Ok(Some(broken(cause.function(), &on, one.to_string(), other.to_string())));
        }
    }
    Ok(None)
}

pub(crate) fn push(questions: &mut Vec<(&'static str, Vec<String>)>, function: &'static str, answer: String) {
    match questions.iter_mut().find(|(known, _)| *known == function) {
        Some((_, answers)) => answers.push(answer),
        None => questions.push((function, vec![answer])),
    }
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
    let mut answers = Vec::new();
    for from in [None, Some(&state.least.0)] {
        machine.restore(from)?;
        answers.push(match machine.invariant(property, &views) {
            Ok(Ok(())) => "it holds".to_owned(),
            Ok(Err(why)) => format!("it does not hold: {why}"),
            Err(fault) => format!("fails: {fault}"),
        });
    }
    let (other, one) = (answers.pop().unwrap_or_default(), answers.pop().unwrap_or_default());
    if one == other {
        return Ok(None);
    }
    Ok(Some(ContractViolation {
        promise: "an invariant reads its views alone",
        function: "invariant".to_owned(),
        place: format!(
            "property `{}`, asked before `init` and in the state {} of node {}",
            properties[property as usize].name,
            hex(&state.encoding),
            state.node
        ),
        one,
        other,
        cause: "it reads the state of the node that it is asked at; `view` must contain all that it needs",
        pair: None,
    }))
}
