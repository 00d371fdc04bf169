//! Explains why an event is not enabled.

use std::collections::BTreeSet;

use host_model::contract::NodeId;
use regex_lite::Regex;

use crate::debug::cursor::{Cursor, Place, taken};
use crate::words;

/// Reasons why the messages to a node whose description fits, and its local events, can or cannot happen; a sentence each.
pub(super) fn why(cursor: &mut Cursor<'_>, node: NodeId, wanted: &Regex) -> Vec<String> {
    let here = cursor.here();
    let traced = cursor.traced(here).clone();
    if let Some((node, fault)) = cursor.stepper().known().stuck(traced.locals()) {
        return vec![format!("{} is stuck in a fault: {fault}", cursor.names().of(node))];
    }
    let state = cursor.stepper().state(traced.locals()[node as usize]).clone();
    let mut reasons = Vec::new();
    let possible: Vec<String> = state
        .protocol
        .local_events
        .iter()
        .map(|event| cursor.stepper().lts().local_event(*event).name.clone())
        .collect();
    for name in possible.iter().filter(|name| wanted.is_match(name)) {
        reasons.push(format!("the local event `{name}` is enabled at {}", cursor.names().of(node)));
    }
    messages(cursor, here, node, wanted, &mut reasons);
    if reasons.is_empty() {
        reasons.extend(local_event(cursor, node, wanted));
    }
    if reasons.is_empty() {
        let events = if possible.is_empty() { "none".to_owned() } else { possible.join(", ") };
        reasons.push(format!(
            "no message to {} that fits was sent on any branch; its local events here: {events}",
            cursor.names().of(node)
        ));
    }
    reasons
}

/// The fate of the messages that fit.
fn messages(cursor: &mut Cursor<'_>, here: Place, node: NodeId, wanted: &Regex, reasons: &mut Vec<String>) {
    let mut known: BTreeSet<(NodeId, Vec<u8>)> = BTreeSet::new();
    for place in 0..cursor.places() {
        for flying in cursor.traced(place).in_flight() {
            let message = cursor.stepper().message(flying.message);
            if message.to == node && !message.is_notice {
                known.insert((message.from, message.payload.clone()));
            }
        }
    }
    let line: Vec<Place> = (0..=cursor.length()).filter_map(|depth| cursor.place(depth)).collect();
    for (from, payload) in known {
        let text = cursor.message(&payload);
        if !wanted.is_match(&text) {
            continue;
        }
        let is_there = |cursor: &Cursor<'_>, place: Place| {
            cursor.traced(place).in_flight().iter().any(|flying| {
                let message = cursor.stepper().message(flying.message);
                !message.is_notice && message.from == from && message.to == node && message.payload == payload
            })
        };
        let what = format!("{text} from {}", cursor.names().of(from));
        if is_there(cursor, here) {
            reasons.push(match not_alone(cursor, (from, node), &payload) {
                Some(why) => format!("{what} is in flight: {why}"),
                None => format!("{what} is in flight: it is enabled"),
            });
            continue;
        }
        let depth = cursor.depth();
        let ended = |number: usize| Some((taken(cursor.step(number)?, from, node, &payload)?, number));
        let ended = (1..=depth).rev().find_map(ended);
        let later = (depth + 1..line.len()).find(|number| is_there(cursor, line[*number]));
        reasons.push(match (ended, later) {
            (Some((how, step)), Some(again)) => {
                format!("{what} was {how} in step {step}, and is sent again in step {again}")
            }
            (Some((how, step)), None) => format!("{what} was {how} in step {step}"),
            (None, Some(step)) => {
                let event = cursor.event(line[step]);
                format!("{what} is not sent yet: step {step} sends it ({event})")
            }
            (None, None) => format!("{what} is sent on another branch only"),
        });
    }
}

/// Why a message in flight cannot be delivered alone, if it cannot.
fn not_alone(cursor: &mut Cursor<'_>, (from, to): (NodeId, NodeId), payload: &[u8]) -> Option<String> {
    let in_flight = cursor.traced(cursor.here()).in_flight().iter().map(|flying| flying.message);
    let in_flight: Vec<_> = in_flight.collect();
    let found = in_flight.into_iter().find(|id| {
        let message = cursor.stepper().message(*id);
        !message.is_notice && (message.from, message.to) == (from, to) && message.payload == payload
    })?;
    cursor.not_alone(found).ok().flatten()
}

/// When a local event with this name was or becomes possible, and why it is not here.
fn local_event(cursor: &mut Cursor<'_>, node: NodeId, wanted: &Regex) -> Vec<String> {
    let is_possible = |cursor: &Cursor<'_>, depth: usize| {
        let place = cursor.place(depth)?;
        let state = cursor.stepper().state(cursor.traced(place).locals()[node as usize]);
        let names =
            state.protocol.local_events.iter().map(|event| cursor.stepper().lts().local_event(*event).name.clone());
        names.into_iter().find(|name| wanted.is_match(name))
    };
    let depth = cursor.depth();
    if let Some(last) = (0..depth).rev().find(|number| is_possible(cursor, *number).is_some()) {
        let name = is_possible(cursor, last).unwrap_or_default();
        let ended = cursor.place(last + 1).map(|place| cursor.event(place)).unwrap_or_default();
        return vec![format!("`{name}` was possible at {} until step {}: {ended}", cursor.names().of(node), last + 1)];
    }
    if let Some(next) = (depth + 1..=cursor.length()).find(|number| is_possible(cursor, *number).is_some()) {
        let name = is_possible(cursor, next).unwrap_or_default();
        let makes = cursor.place(next).map(|place| cursor.event(place)).unwrap_or_default();
        return vec![format!(
            "`{name}` becomes possible at {} with step {next}: {}",
            cursor.names().of(node),
            words::on_one_line(&makes)
        )];
    }
    Vec::new()
}
