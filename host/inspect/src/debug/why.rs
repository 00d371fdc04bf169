//! Explains why an event is not enabled.

use std::collections::BTreeSet;

use host_model::contract::NodeId;
use host_model::trace::TraceStep;
use regex_lite::Regex;

use crate::debug::moments::{Moments, Place, taken};
use crate::words;

/// A state of a branch, as the subject of a question.
pub struct Asked<'a, 'l> {
    /// The tree.
    pub moments: &'a mut Moments<'l>,
    /// The branch, from the beginning to its end.
    pub line: &'a [Place],
    /// The number of steps before the state.
    pub at: usize,
}

/// A message, standing for all equal ones.
struct Sought {
    from: NodeId,
    to: NodeId,
    payload: Vec<u8>,
}

impl Asked<'_, '_> {
    /// Reasons why matching messages to a node, and its matching local events, can or cannot happen; a sentence each.
    pub fn why(&mut self, node: NodeId, wanted: &Regex) -> Vec<String> {
        let traced = self.moments.traced(self.here()).clone();
        if let Some((node, fault)) = self.moments.stepper().known().stuck(traced.locals()) {
            return vec![format!("{} is stuck in a fault: {fault}", self.name(node))];
        }
        let mut reasons = Vec::new();
        let possible = self.local_events(self.at, node);
        for name in possible.iter().filter(|name| wanted.is_match(name)) {
            reasons.push(format!("the local event `{name}` is enabled at {}", self.name(node)));
        }
        self.messages(node, wanted, &mut reasons);
        if reasons.is_empty() {
            reasons.extend(self.local_event(node, wanted));
        }
        if reasons.is_empty() {
            let events = if possible.is_empty() { "none".to_owned() } else { possible.join(", ") };
            reasons.push(format!(
                "no message to {} that fits was sent on any branch; its local events here: {events}",
                self.name(node)
            ));
        }
        reasons
    }

    fn here(&self) -> Place {
        self.line[self.at]
    }

    fn name(&self, node: NodeId) -> String {
        self.moments.names().of(node)
    }

    /// The step of the branch with this number, counted from 1.
    fn step(&self, number: usize) -> Option<&TraceStep> {
        self.moments.step_at(*self.line.get(number)?)
    }

    /// The names of the local events enabled at a node after this many steps.
    fn local_events(&self, depth: usize, node: NodeId) -> Vec<String> {
        let Some(place) = self.line.get(depth) else { return Vec::new() };
        let stepper = self.moments.stepper();
        let state = stepper.state(self.moments.traced(*place).locals()[node as usize]);
        state.protocol.local_events.iter().map(|event| stepper.lts().local_event(*event).name.clone()).collect()
    }

    /// The fates of the matching messages.
    fn messages(&mut self, node: NodeId, wanted: &Regex, reasons: &mut Vec<String>) {
        let mut known: BTreeSet<(NodeId, Vec<u8>)> = BTreeSet::new();
        for place in 0..self.moments.places() {
            for flying in self.moments.traced(place).in_flight() {
                let message = self.moments.stepper().message(flying.message);
                if message.to == node && !message.is_notice {
                    known.insert((message.from, message.payload.clone()));
                }
            }
        }
        for (from, payload) in known {
            let text = self.moments.message(&payload);
            if wanted.is_match(&text) {
                let sought = Sought { from, to: node, payload };
                let reason = self.message(&sought, &text);
                reasons.push(reason);
            }
        }
    }

    /// The fate of a message.
    fn message(&mut self, sought: &Sought, text: &str) -> String {
        let Sought { from, to, payload } = sought;
        let is_there = |this: &Self, place: Place| {
            this.moments.traced(place).in_flight().iter().any(|flying| {
                let message = this.moments.stepper().message(flying.message);
                !message.is_notice && message.from == *from && message.to == *to && message.payload == *payload
            })
        };
        let what = format!("{text} from {}", self.name(*from));
        if is_there(self, self.here()) {
            return match self.not_alone(sought) {
                Some(why) => format!("{what} is in flight: {why}"),
                None => format!("{what} is in flight: it is enabled"),
            };
        }
        let ended = |number: usize| Some((taken(self.step(number)?, *from, *to, payload)?, number));
        let ended = (1..=self.at).rev().find_map(ended);
        let later = (self.at + 1..self.line.len()).find(|number| is_there(self, self.line[*number]));
        match (ended, later) {
            (Some((how, step)), Some(again)) => {
                format!("{what} was {how} in step {step}, and is sent again in step {again}")
            }
            (Some((how, step)), None) => format!("{what} was {how} in step {step}"),
            (None, Some(step)) => {
                let event = self.moments.event(self.line[step]);
                format!("{what} is not sent yet: step {step} sends it ({event})")
            }
            (None, None) => format!("{what} is sent on another branch only"),
        }
    }

    /// The reason why a message in flight cannot be delivered alone, if it cannot.
    fn not_alone(&mut self, sought: &Sought) -> Option<String> {
        let here = self.here();
        let in_flight = self.moments.traced(here).in_flight().iter().map(|flying| flying.message);
        let in_flight: Vec<_> = in_flight.collect();
        let found = in_flight.into_iter().find(|id| {
            let message = self.moments.stepper().message(*id);
            let is_meant = (message.from, message.to) == (sought.from, sought.to);
            !message.is_notice && is_meant && message.payload == sought.payload
        })?;
        self.moments.not_alone(here, found).ok().flatten()
    }

    /// The steps at which a local event with this name was or becomes enabled, and the reason why it is not enabled here.
    fn local_event(&mut self, node: NodeId, wanted: &Regex) -> Vec<String> {
        let possible =
            |this: &Self, depth: usize| this.local_events(depth, node).into_iter().find(|name| wanted.is_match(name));
        let last = (0..self.at).rev().find_map(|number| Some((number, possible(self, number)?)));
        if let Some((last, name)) = last {
            let ended = self.line.get(last + 1).map(|place| self.moments.event(*place)).unwrap_or_default();
            return vec![format!("`{name}` was possible at {} until step {}: {ended}", self.name(node), last + 1)];
        }
        let next = (self.at + 1..self.line.len()).find_map(|number| Some((number, possible(self, number)?)));
        if let Some((next, name)) = next {
            let makes = self.moments.event(self.line[next]);
            return vec![format!(
                "`{name}` becomes possible at {} with step {next}: {}",
                self.name(node),
                words::on_one_line(&makes)
            )];
        }
        Vec::new()
    }
}
