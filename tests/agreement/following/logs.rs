//! Logs made from executions, with holes and lies.

use host_agreement::reference::System;
use host_agreement::reference::executions::{Effects, Execution, Occurrence};
use host_model::contract::{LocalKind, NodeId};
use host_model::scenario::{Faults, Network};
use host_model::toys::{Dice, Toy};
use host_model::trace::TraceEvent;
use serde_json::Value;

use crate::describing::{of_local, of_message, of_state};
use host_follow::{Content, Event, Line, Log, Place, Sending};

/// A random system with some features, by its number.
pub fn system(seed: u64) -> System {
    let nodes = 2 + seed as u32 % 2;
    let plain = Toy::random(seed, nodes);
    let mut system = match seed / 2 % 11 {
        0 | 1 => System::new(plain),
        2 => System { network: Network::Ordered, ..System::new(plain) },
        3 => {
            let faults = Faults { resets: 1, ..Faults::default() };
            System { faults, ..System::new(plain.with_random_durable(seed)) }
        }
        4 => {
            let faults = Faults { duplicates: 1, ..Faults::default() };
            System { network: Network::UnorderedDuplicating, faults, ..System::new(plain) }
        }
        5 => System::new(plain.with_random_quorums(seed)),
        6 => System::new(plain.with_random_starts(seed)),
        7 => System::new(plain.with_random_traps(seed)),
        8 => {
            let faults = Faults { losses: 1 + seed as u32 % 2, ..Faults::default() };
            let network = if (seed / 22).is_multiple_of(2) { Network::Ordered } else { Network::Unordered };
            System { network, faults, ..System::new(plain) }
        }
        9 => {
            let faults = Faults { breaks: 1, resets: seed as u32 / 22 % 2, ..Faults::default() };
            let toy = plain.with_random_durable(seed).with_random_errors(seed);
            System { network: Network::Ordered, faults, ..System::new(toy) }
        }
        _ => {
            let faults = Faults { refusals: 1, ..Faults::default() };
            System { faults, ..System::new(plain.with_random_refusals(seed)) }
        }
    };
    system.toy.forbidden.clear();
    system
}

/// The way in which a log is made of an execution.
#[derive(Clone, Copy, Debug)]
pub struct Making {
    /// Lines that are left out, per hundred.
    pub lines_lost: u32,
    /// Fields that are left out, per hundred.
    pub fields_lost: u32,
    /// Whether a field is changed afterwards.
    pub has_lie: bool,
    /// Whether lines name others of other nodes that they follow.
    pub has_after: bool,
}

/// A log of an execution, in the order of the events or with the nodes one after the other.
pub fn log(system: &System, execution: &Execution, making: Making, dice: &mut Dice) -> Log {
    let mut lines: Vec<Line> = Vec::new();
    // The number of the event of each line, to know what is after what.
    let mut events: Vec<usize> = Vec::new();
    let mut keep = |line: Line, event: usize, dice: &mut Dice| {
        if dice.below(100) >= making.lines_lost {
            lines.push(line);
            events.push(event);
        }
    };
    for (node, Effects { sent, state }) in (0..).zip(&execution.init) {
        if dice.below(3) == 0 {
            keep(line(node, Event::Start, described(*state, making, dice)), 0, dice);
            for sent in sent {
                keep(line(node, Event::Send(sending(*sent, making, dice)), None), 0, dice);
            }
        }
    }
    for (number, occurrence) in (1..).zip(&execution.events) {
        for line in lines_of(occurrence, making, dice) {
            keep(line, number, dice);
        }
    }
    if making.has_after {
        for _ in 0..2 {
            let count = lines.len() as u32;
            let (one, other) = (dice.below(count) as usize, dice.below(count) as usize);
            if count > 0 && lines[one].node != lines[other].node && events[one] < events[other] {
                lines[other].after.push(one as u32);
            }
        }
    } else if dice.below(2) == 0 {
        lines.sort_by_key(|line| line.node);
    }
    if making.has_lie && !lines.is_empty() {
        lie(system, &mut lines, dice);
    }
    Log::new(lines, system.toy.nodes)
}

fn line(node: NodeId, event: Event, state: Option<Value>) -> Line {
    Line { place: Place::default(), node, event, sent: None, state, after: Vec::new() }
}

/// The lines of an event: one, or with its messages and its state apart.
fn lines_of(occurrence: &Occurrence, making: Making, dice: &mut Dice) -> Vec<Line> {
    let known = |dice: &mut Dice| dice.below(100) >= making.fields_lost;
    let node = occurrence.step.node;
    let event = match &occurrence.step.event {
        TraceEvent::Deliver { from, payload } => Event::Deliver {
            from: known(dice).then_some(*from),
            message: content(payload.0[0], of_message, making, dice),
        },
        TraceEvent::Quorum { name, .. } => Event::Quorum { name: known(dice).then(|| name.clone()) },
        TraceEvent::Local { name, cause, payload } => Event::Local {
            name: known(dice).then(|| name.clone()),
            cause: known(dice).then_some(*cause),
            argument: content(payload.0[0], of_local, making, dice),
        },
        TraceEvent::TransportError { lost: true, .. }
        | TraceEvent::Lose { .. }
        | TraceEvent::Fault { lost: true, .. } => {
            return Vec::new();
        }
        TraceEvent::TransportError { peer, .. } => Event::TransportError { peer: known(dice).then_some(*peer) },
        TraceEvent::Fault { event, .. } => {
            Event::Fault { kind: event.kind().to_owned(), peer: event.peer().filter(|_| known(dice)) }
        }
    };
    let event = if known(dice) { event } else { Event::Any };
    match dice.below(4) {
        // The event alone has everything.
        0 | 1 => {
            let mut whole = line(node, event, described(occurrence.effects.state, making, dice));
            let all = || occurrence.effects.sent.iter().copied();
            whole.sent = known(dice).then(|| all().map(|sent| sending(sent, making, dice)).collect());
            vec![whole]
        }
        // Only the state.
        2 => described(occurrence.effects.state, making, dice)
            .map(|state| line(node, Event::State, Some(state)))
            .into_iter()
            .collect(),
        _ => {
            let mut lines = vec![line(node, event, None)];
            lines.extend(
                occurrence.effects.sent.iter().map(|sent| line(node, Event::Send(sending(*sent, making, dice)), None)),
            );
            let state = described(occurrence.effects.state, making, dice);
            lines.extend(state.map(|state| line(node, Event::State, Some(state))));
            lines
        }
    }
}

fn described(state: Option<u8>, making: Making, dice: &mut Dice) -> Option<Value> {
    let state = state.filter(|_| dice.below(100) >= making.fields_lost)?;
    Some(thinned(&of_state(state), making, dice))
}

fn content(byte: u8, describe: fn(u8) -> String, making: Making, dice: &mut Dice) -> Content {
    let known = |dice: &mut Dice| dice.below(100) >= making.fields_lost;
    Content {
        payload: known(dice).then(|| vec![byte]),
        description: known(dice).then(|| thinned(&describe(byte), making, dice)),
    }
}

fn sending(sent: (NodeId, u8), making: Making, dice: &mut Dice) -> Sending {
    let to = (dice.below(100) >= making.fields_lost).then_some(sent.0);
    Sending { to, message: content(sent.1, of_message, making, dice) }
}

/// A description without some of its fields.
fn thinned(text: &str, making: Making, dice: &mut Dice) -> Value {
    fn thin(value: &mut Value, lost: u32, dice: &mut Dice) {
        if let Value::Object(fields) = value {
            fields.retain(|_, _| dice.below(100) >= lost);
            fields.iter_mut().for_each(|(_, value)| thin(value, lost, dice));
        }
    }
    let mut value = serde_json::from_str(text).expect("it is JSON");
    thin(&mut value, making.fields_lost, dice);
    value
}

/// Changes a field of a line, or exchanges two lines of a node.
fn lie(system: &System, lines: &mut [Line], dice: &mut Dice) {
    let count = lines.len() as u32;
    let nodes = system.toy.nodes;
    let (at, other) = (dice.below(count) as usize, dice.below(count) as usize);
    let wrong_state = || serde_json::from_str(&of_state(3)).expect("it is JSON");
    match dice.below(6) {
        0 => {
            lines[at].state = (!matches!(lines[at].event, Event::Send(_))).then(wrong_state).or(lines[at].state.take());
        }
        1 if lines[at].node == lines[other].node && at != other => {
            let (one, two) = (lines[at].clone(), lines[other].clone());
            (lines[at], lines[other]) = (two, one);
        }
        2 if !lines[at].is_effect() => lines[at].sent = Some(vec![Sending::default(); dice.below(3) as usize]),
        3 => lines[at].node = dice.below(nodes),
        _ => {
            let byte = dice.below(4) as u8;
            let message = Content { payload: Some(vec![byte]), description: None };
            lines[at].event = match &lines[at].event {
                Event::Deliver { .. } => Event::Deliver { from: Some(dice.below(nodes)), message },
                Event::Send(_) => Event::Send(Sending { to: Some(dice.below(nodes)), message }),
                Event::Local { .. } => Event::Local {
                    name: None,
                    cause: (dice.below(4) == 0).then_some(LocalKind::Timer),
                    argument: message,
                },
                other => other.clone(),
            };
        }
    }
    // A line that changed its node follows no line of its own.
    let nodes: Vec<NodeId> = lines.iter().map(|line| line.node).collect();
    for line in lines {
        let node = line.node;
        line.after.retain(|before| nodes[*before as usize] != node);
    }
}
