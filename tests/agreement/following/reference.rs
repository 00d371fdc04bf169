//! Whether an execution explains a log, straight from the definition.
//!
//! Each line is *placed*: a line about an event or a message at an event of its node, one about a state behind an event of its node or behind
//! `init`. Lines of a node are placed in their order: within an event, the line about the event first, then those about its messages in
//! their order, then those about the state. A line about a reset that would change nothing is placed behind an event as well. Events that their node does not notice have no line. Without a line are those between the
//! places of two lines that follow each other, before the first line and after the last one.

use host_agreement::reference::executions::{Effects, Execution};
use host_model::contract::NodeId;
use host_model::trace::TraceEvent;
use serde_json::Value;

use crate::describing::{of_local, of_message, of_state};
use host_follow::{Content, Event, Line, LineId, Log, Sending};

/// An event of a node, or its `init`.
struct OfNode<'e> {
    /// Its number in the execution, from 1; 0 for `init`.
    at: usize,
    event: Option<&'e TraceEvent>,
    sent: &'e [(NodeId, u8)],
    state: Option<u8>,
    /// Whether a reset would change nothing at some moment before the next event of the node.
    is_idle: bool,
}

/// A place in an event of a node.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Part {
    Before,
    Begin,
    Sent(usize),
    State,
    /// A reset behind the event that changes nothing.
    Idle,
}

/// Whether an execution explains a log with at most this many events without a line in a row.
pub fn explains(log: &Log, execution: &Execution, missing_max: Option<u32>) -> bool {
    let mut placings = Vec::new();
    for (node, lines) in (0..).zip(&log.by_node) {
        let events = of_node(execution, node);
        let missing_max = missing_max.filter(|_| !lines.is_empty()).unwrap_or(u32::MAX);
        let mut found = Vec::new();
        let placing = Placing { log, lines, events: &events, missing_max };
        placing.place(0, (0, Part::Before), 0, &mut Vec::new(), &mut found);
        if found.is_empty() {
            return false;
        }
        // Where no line names others, one placing is as good as any.
        if log.lines.iter().all(|line| line.after.is_empty()) {
            found.truncate(1);
        }
        placings.push(found);
    }
    combine(log, execution, &placings, &mut Vec::new())
}

/// The events of a node that it notices, and its `init`.
fn of_node(execution: &Execution, node: NodeId) -> Vec<OfNode<'_>> {
    let Effects { sent, state } = &execution.init[node as usize];
    let mut events = vec![OfNode { at: 0, event: None, sent, state: *state, is_idle: execution.idle.contains(&node) }];
    for (at, occurrence) in (1..).zip(&execution.events) {
        let event = &occurrence.step.event;
        let is_idle = occurrence.idle.contains(&node);
        if occurrence.step.node == node && !event.is_lost() && !matches!(event, TraceEvent::Lose { .. }) {
            events.push(OfNode {
                at,
                event: Some(event),
                sent: &occurrence.effects.sent,
                state: occurrence.effects.state,
                is_idle,
            });
        } else if let Some(last) = events.last_mut() {
            last.is_idle |= is_idle;
        }
    }
    events
}

struct Placing<'p> {
    log: &'p Log,
    lines: &'p [LineId],
    events: &'p [OfNode<'p>],
    missing_max: u32,
}

/// The index of an event among those of its node.
type Placed = Vec<usize>;

impl Placing<'_> {
    /// All ways to place the lines from this one on, from this place on; `missing` events in a row before the present one have none.
    fn place(&self, line: usize, from: (usize, Part), missing: u32, placed: &mut Placed, found: &mut Vec<Placed>) {
        let (at, part) = from;
        if let Some(id) = self.lines.get(line) {
            for next in self.parts(self.log.line(*id), at, part) {
                // The event before a reset that changes nothing may have no line itself.
                let is_missing = next == Part::Idle && part == Part::Before && at > 0;
                if missing + u32::from(is_missing) > self.missing_max {
                    continue;
                }
                placed.push(at);
                self.place(line + 1, (at, next), 0, placed, found);
                placed.pop();
            }
        }
        // `init` is no event that could be missing.
        let has_line = part != Part::Before || at == 0;
        let missing = if has_line { 0 } else { missing + 1 };
        if missing > self.missing_max {
            return;
        }
        if at + 1 < self.events.len() {
            self.place(line, (at + 1, Part::Before), missing, placed, found);
        } else if line == self.lines.len() {
            found.push(placed.clone());
        }
    }

    /// The parts of an event behind this part that fit a line.
    fn parts(&self, line: &Line, at: usize, part: Part) -> Vec<Part> {
        let event = &self.events[at];
        let is_in =
            || line.state.as_ref().is_none_or(|wanted| event.state.is_some_and(|it| fits(wanted, &of_state(it))));
        let sends_nothing = line.sent.as_ref().is_none_or(Vec::is_empty);
        match &line.event {
            Event::State if is_in() => vec![Part::State],
            Event::State => Vec::new(),
            Event::Send(sending) => {
                let parts = (0..event.sent.len()).filter(|index| Part::Sent(*index) > part && part != Part::State);
                parts.filter(|index| sends(sending, event.sent[*index])).map(Part::Sent).collect()
            }
            Event::Fault { kind, .. } if event.is_idle && kind == "reset" && is_in() && sends_nothing => {
                let begins = part == Part::Before && begins(line, event);
                [Part::Idle].into_iter().chain(begins.then_some(Part::Begin)).collect()
            }
            _ if part != Part::Before => Vec::new(),
            _ if begins(line, event) && is_in() => vec![Part::Begin],
            _ => Vec::new(),
        }
    }
}

fn begins(line: &Line, event: &OfNode<'_>) -> bool {
    let is = |wanted: &Option<NodeId>, found: NodeId| wanted.is_none_or(|wanted| wanted == found);
    let has_sent = line.sent.as_ref().is_none_or(|wanted| {
        wanted.len() == event.sent.len() && wanted.iter().zip(event.sent).all(|(wanted, sent)| sends(wanted, *sent))
    });
    let Some(found) = event.event else { return matches!(line.event, Event::Start) };
    has_sent
        && match (&line.event, found) {
            (Event::Any, _) => true,
            (Event::Deliver { from, message }, TraceEvent::Deliver { from: sender, payload }) => {
                is(from, *sender) && is_content(message, &payload.0, of_message)
            }
            (Event::Quorum { name }, TraceEvent::Quorum { name: found, .. }) => {
                name.as_ref().is_none_or(|name| name == found)
            }
            (Event::Local { name, cause, argument }, TraceEvent::Local { name: found, cause: kind, payload }) => {
                name.as_ref().is_none_or(|name| name == found)
                    && cause.is_none_or(|cause| cause == *kind)
                    && is_content(argument, &payload.0, of_local)
            }
            (Event::TransportError { peer }, TraceEvent::TransportError { peer: found, .. }) => is(peer, *found),
            (Event::Fault { kind, peer }, TraceEvent::Fault { event, .. }) => {
                kind == event.kind() && peer.is_none_or(|peer| event.peer() == Some(peer))
            }
            _ => false,
        }
}

fn sends(wanted: &Sending, sent: (NodeId, u8)) -> bool {
    wanted.to.is_none_or(|to| to == sent.0) && is_content(&wanted.message, &[sent.1], of_message)
}

fn is_content(wanted: &Content, payload: &[u8], describe: fn(u8) -> String) -> bool {
    wanted.payload.as_ref().is_none_or(|wanted| wanted == payload)
        && wanted.description.as_ref().is_none_or(|wanted| fits(wanted, &describe(payload[0])))
}

/// Whether a description has all that a line has.
fn fits(wanted: &Value, found: &str) -> bool {
    fn has(wanted: &Value, found: &Value) -> bool {
        match wanted {
            Value::Object(fields) => fields.iter().all(|(key, value)| found.get(key).is_some_and(|it| has(value, it))),
            Value::Array(items) => found.as_array().is_some_and(|others| {
                items.len() == others.len() && items.iter().zip(others).all(|(one, other)| has(one, other))
            }),
            other => other == found,
        }
    }
    has(wanted, &serde_json::from_str(found).expect("it is JSON"))
}

/// Whether some choice of placings has the lines in the order that they name: each line has a moment, an event that of the event, a
/// state one from its event on and before the next one of its node.
fn combine(log: &Log, execution: &Execution, placings: &[Vec<Placed>], chosen: &mut Vec<usize>) -> bool {
    if chosen.len() < placings.len() {
        return (0..placings[chosen.len()].len()).any(|index| {
            chosen.push(index);
            let is_possible = combine(log, execution, placings, chosen);
            chosen.pop();
            is_possible
        });
    }
    // The unit is a thousandth of an event, so that states between two events have moments of their own.
    let (mut earliest, mut latest) = (vec![0; log.lines.len()], vec![usize::MAX; log.lines.len()]);
    for (node, lines) in (0..).zip(&log.by_node) {
        let events = of_node(execution, node);
        let placed = &placings[node as usize][chosen[node as usize]];
        for (id, at) in lines.iter().zip(placed) {
            earliest[*id as usize] = events[*at].at * 1000;
            latest[*id as usize] = match log.line(*id).event {
                // Events that the node does not notice leave its state alone.
                Event::State => events.get(at + 1).map_or(usize::MAX, |next| next.at * 1000 - 1),
                _ => events[*at].at * 1000,
            };
        }
    }
    for _ in 0..=log.lines.len() {
        for (node, lines) in (0..).zip(&log.by_node) {
            let _: NodeId = node;
            for pair in lines.windows(2) {
                earliest[pair[1] as usize] = earliest[pair[1] as usize].max(earliest[pair[0] as usize]);
            }
        }
        for (id, line) in log.lines.iter().enumerate() {
            for before in &line.after {
                earliest[id] = earliest[id].max(earliest[*before as usize] + 1);
            }
        }
    }
    earliest.iter().zip(&latest).all(|(earliest, latest)| earliest <= latest)
}
