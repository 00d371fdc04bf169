//! Why an event is not enabled, and the writer of a field.

use host_inspect::debug::{Asked, Place};
use host_inspect::page::clean;
use host_inspect::page::shapes::Why;
use host_inspect::words;
use host_model::contract::NodeId;
use regex_lite::Regex;
use serde_json::Value;

use super::Engine;
use crate::refused::{Answer, Refused};

impl Engine<'_> {
    /// Why a message in flight is not delivered here.
    pub fn why_message(&mut self, place: Place, message: usize) -> Answer {
        let place = self.place(place)?;
        let Some(flying) = self.moments.traced(place).in_flight().get(message).copied() else {
            return Err(Refused::missing(format_args!("there is no message {message} in flight at place {place}")));
        };
        let to = self.moments.stepper().message(flying.message).to;
        let stuck = self.moments.stepper().known().stuck(self.moments.traced(place).locals());
        let stuck =
            stuck.map(|(node, fault)| format!("{} is stuck in a fault: {fault}", self.moments.names().of(node)));
        let is_next = self.moments.losses(place).iter().any(|loss| loss.cause.taken().contains(&flying));
        let is_notice = self.moments.stepper().message(flying.message).is_notice;
        let text = match stuck {
            Some(stuck) => stuck,
            None if !is_next && !is_notice => {
                format!("an earlier message on the same link is delivered to {} first", self.moments.names().of(to))
            }
            None => match self.moments.not_alone(place, flying.message)? {
                Some(why) => why,
                None => "it is enabled".to_owned(),
            },
        };
        let sent = self.flying(&flying).sent;
        super::json(&Why { text: clean(&text), places: vec![sent] })
    }

    /// Why no event that fits is enabled: at each node with a reason.
    pub fn why_event(&mut self, place: Place, wanted: &str) -> Answer {
        let place = self.place(place)?;
        // The text of the user is a part of the event, regardless of case.
        let pattern = format!("(?i){}", regex_lite::escape(wanted.trim()));
        let wanted = Regex::new(&pattern).map_err(Refused::wrong)?;
        let (line, at) = (self.line_through(place), self.moments.depth_of(place));
        let mut lines = Vec::new();
        for node in 0..self.moments.nodes() {
            let mut asked = Asked { moments: &mut self.moments, line: &line, at };
            lines.extend(asked.why(node, &wanted));
        }
        let says_nothing = |line: &String| line.starts_with("no message to ");
        if lines.iter().any(|line| !says_nothing(line)) {
            lines.retain(|line| !says_nothing(line));
        }
        lines.dedup();
        let lines: Vec<String> = lines.iter().map(|line| clean(line)).collect();
        super::json(&Why { text: lines.join("\n"), places: Vec::new() })
    }

    /// The last step of the branch to a place that wrote a field of a node, and the steps that sent what it received.
    pub fn writer(&mut self, place: Place, node: NodeId, path: &str) -> Answer {
        let place = self.place(place)?;
        if node >= self.moments.nodes() {
            return Err(Refused::missing(format_args!("there is no node {node}")));
        }
        let now = field(&self.moments.state(place, node), path).cloned();
        let mut last = place;
        while let Some(parent) = self.moments.parent(last) {
            let before = field(&self.moments.state(parent, node), path).cloned();
            if before != now {
                return self.written(last, path, before, now);
            }
            last = parent;
        }
        let name = self.moments.names().of(node);
        let text = match now {
            Some(_) => format!("{path} of {name} is as it was at the beginning"),
            None => format!("{name} has no {path}"),
        };
        super::json(&Why { text: clean(&text), places: vec![0] })
    }

    fn written(&mut self, place: Place, path: &str, before: Option<Value>, now: Option<Value>) -> Answer {
        let step = self.step(place);
        let [before, now] =
            [before, now].map(|value| value.map_or("nothing".to_owned(), |value| words::value_on_one_line(&value)));
        let event = step.event.as_ref().map(|event| event.text.clone()).unwrap_or_default();
        let text = format!("step {} wrote {path}: {before} -> {now}. It is {event}", step.depth);
        let received = step.event.into_iter().flat_map(|event| event.received).filter(|message| !message.lost);
        let places = std::iter::once(place).chain(received.map(|message| message.sent)).collect();
        super::json(&Why { text: clean(&text), places })
    }
}

/// The part of a state at a path: names and numbers of elements with points between them.
fn field<'v>(state: &'v Value, path: &str) -> Option<&'v Value> {
    let mut value = state;
    for name in path.split('.').filter(|name| !name.is_empty()) {
        value = match value {
            Value::Object(fields) => fields.get(name)?,
            Value::Array(items) => items.get(name.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(value)
}
