//! Commands that show something without moving the cursor.

use std::fmt::Write;

use host_model::contract::{Judgement, NodeId};
use host_model::lts::MessageId;
use host_model::lts::deadlock::with_names;

use crate::debug::commands::{Answer, Reply, regex};
use crate::debug::console::Console;
use crate::debug::moments::Place;
use crate::debug::questions::Told;
use crate::debug::why::Asked;
use crate::words;

/// The number of steps that `list` shows around the present one without a search text.
const LIST_MAX: usize = 40;

/// A text, or a substitute for an empty one.
fn text_or(text: String, nothing: &str) -> Reply {
    Reply::Text(if text.is_empty() { format!("{nothing}\n") } else { text })
}

impl Console<'_> {
    /// The changes and messages of the step between a state and its successor.
    pub(super) fn effects(&mut self, parent: Place, place: Place) -> String {
        let mut text = String::new();
        for change in self.cursor.moments.diff(parent, place).iter().flat_map(|(_, changes)| changes) {
            let _ = writeln!(text, "      {change}");
        }
        let step = self.cursor.moments.step_at(place).cloned();
        let sent = step.and_then(|step| step.sent).unwrap_or_default();
        for group in sent.chunk_by(|one, other| one.payload == other.payload) {
            let nodes: Vec<NodeId> = group.iter().map(|sent| sent.to).collect();
            let message = self.cursor.moments.message(&group[0].payload.0);
            let _ = writeln!(text, "      sends {message} to {}", self.cursor.moments.names().list(&nodes));
        }
        if text.is_empty() { "      changes nothing\n".to_owned() } else { text }
    }

    pub(super) fn list(&mut self, rest: &str) -> Answer {
        let wanted = if rest.is_empty() { None } else { Some(regex(rest)?) };
        let (depth, length) = (self.cursor.depth(), self.cursor.length());
        let first = if wanted.is_none() { depth.saturating_sub(LIST_MAX / 2) } else { 0 };
        let last = if wanted.is_none() { length.min(first + LIST_MAX) } else { length };
        let mut text = String::new();
        for number in first..=last {
            let place = self.cursor.place(number).expect("the branch is that long");
            let event = self.cursor.moments.event(place);
            if wanted.as_ref().is_none_or(|wanted| wanted.is_match(&event)) {
                let _ = writeln!(text, "{}{number:>4}. {event}", if number == depth { ">" } else { " " });
            }
        }
        if first > 0 || last < length {
            let _ = writeln!(text, "steps {first} to {last} of {length}; `list REGEX` looks at all");
        }
        Ok(Reply::Text(text))
    }

    pub(super) fn enabled(&mut self) -> Answer {
        let mut text = String::new();
        let next = self.cursor.place(self.cursor.depth() + 1);
        let next = next.map(|place| self.cursor.moments.event(place));
        let enabled = self.cursor.moments.enabled(self.cursor.here())?;
        let events = self.cursor.moments.told(self.cursor.here(), &enabled);
        for (index, (action, Told { event, full: shown })) in enabled.iter().zip(&events).enumerate() {
            let outcomes = self.cursor.moments.outcomes(self.cursor.here(), action)?;
            let choices = if outcomes > 1 { format!(", {outcomes} outcomes") } else { String::new() };
            let is_next = next.as_ref().is_some_and(|next| next.starts_with(event));
            let _ = writeln!(text, "{}{index:>4}. {shown}{choices}", if is_next { ">" } else { " " });
        }
        Ok(text_or(text, "nothing can happen here"))
    }

    pub(super) fn list_branches(&mut self) -> Reply {
        self.renumber();
        let shared = self.cursor.branches();
        let mut text = String::new();
        for (index, leaf) in self.branches.clone().into_iter().enumerate() {
            let depth = self.cursor.moments.depth_of(leaf);
            let event = self.cursor.moments.event(leaf);
            let from = shared.iter().find(|(other, _)| *other == leaf).map_or(0, |(_, shared)| *shared);
            let is_here = self.cursor.is_end_of_line(leaf);
            let how = if is_here { "this one".to_owned() } else { format!("leaves this one after step {from}") };
            let mark = if is_here { ">" } else { " " };
            let _ = writeln!(text, "{mark}{index:>4}. {depth} steps, ends with {event}; {how}");
        }
        Reply::Text(text)
    }

    pub(super) fn state(&mut self, rest: &str) -> Answer {
        let here = self.cursor.here();
        if rest.is_empty() {
            let nodes = 0..self.cursor.moments.nodes();
            let line = |node| {
                let state = words::value_on_one_line(&self.cursor.moments.state(here, node));
                format!("{}: {state}\n", self.cursor.moments.names().with_number(node))
            };
            return Ok(Reply::Text(nodes.map(line).collect()));
        }
        let node = self.node(rest)?;
        let json = serde_json::to_string_pretty(&self.cursor.moments.state(here, node)).expect("JSON can be written");
        Ok(Reply::Text(words::without_controls(&json) + "\n"))
    }

    pub(super) fn messages(&mut self) -> Reply {
        let ids = self.in_flight(self.cursor.here());
        text_or(ids.into_iter().map(|id| self.message(id) + "\n").collect(), "nothing is in flight")
    }

    /// The messages in flight at a place, in the order of sending.
    fn in_flight(&self, place: Place) -> Vec<MessageId> {
        self.cursor.moments.traced(place).in_flight().iter().map(|flying| flying.message).collect()
    }

    fn message(&mut self, id: MessageId) -> String {
        let message = self.cursor.moments.stepper().message(id).clone();
        let said = (!message.is_notice).then(|| self.cursor.moments.message(&message.payload));
        let names = self.cursor.moments.names();
        let Some(said) = said else {
            // A notice has no content: the network makes it, not the protocol.
            return format!(
                "notice to {}: the connection to {} is broken",
                names.of(message.to),
                names.of(message.from)
            );
        };
        format!("{} -> {}: {said}", names.of(message.from), names.of(message.to))
    }

    pub(super) fn diff(&mut self, rest: &str) -> Answer {
        let mut points = rest.split_whitespace();
        let one = self.point(points.next().ok_or("diff needs a POINT: N, or K:N for step N of branch K")?)?;
        let other = match points.next() {
            Some(point) => self.point(point)?,
            None => self.cursor.here(),
        };
        let mut text = String::new();
        for (node, changes) in self.cursor.moments.diff(one, other) {
            let _ = writeln!(text, "{}", self.cursor.moments.names().with_number(node));
            for change in changes {
                let _ = writeln!(text, "      {change}");
            }
        }
        let [mut before, mut after] = [one, other].map(|place| self.in_flight(place));
        before.sort_unstable();
        after.sort_unstable();
        for (sign, these, those) in [('-', &before, &after), ('+', &after, &before)] {
            let mut rest = those.clone();
            for id in these {
                match rest.iter().position(|other| other == id) {
                    Some(index) => drop(rest.remove(index)),
                    None => text += &format!("in flight {sign} {}\n", self.message(*id)),
                }
            }
        }
        Ok(text_or(text, "no difference"))
    }

    pub(super) fn why(&mut self, rest: &str) -> Answer {
        let (node, wanted) = self.node_and(rest, "why needs NODE REGEX")?;
        let wanted = regex(wanted)?;
        let (line, at) = (self.cursor.line().to_vec(), self.cursor.depth());
        let mut asked = Asked { moments: &mut self.cursor.moments, line: &line, at };
        let lines = asked.why(node, &wanted);
        Ok(Reply::Text(lines.iter().map(|line| format!("{line}\n")).collect()))
    }

    pub(super) fn check(&mut self) -> Answer {
        let judgements = self.cursor.moments.judge(self.cursor.here())?;
        let properties = self.cursor.moments.stepper().lts().properties().to_vec();
        let name = |index: u32| words::on_one_line(&properties[index as usize].name);
        let mut text = String::new();
        for judgement in judgements {
            let line = match &judgement {
                Judgement::Violated { property, message } => format!("{} is violated: {message}", name(*property)),
                Judgement::Witnessed { property } => format!("{} is reached", name(*property)),
                Judgement::Broken { property, fault } => format!("{} cannot be evaluated: {fault}", name(*property)),
                Judgement::Fault(fault) => format!("a node is stuck in a fault: {fault}"),
                Judgement::Deadlock { message } => {
                    format!("deadlock: {}", with_names(message, self.cursor.moments.names()))
                }
            };
            let line = words::shortened(words::on_one_line(&line));
            if !text.contains(&line) {
                let _ = writeln!(text, "{line}");
            }
        }
        for (property, node, message) in self.cursor.moments.owed(self.cursor.here())? {
            let at = node.map(|node| format!(" at {}", self.cursor.moments.names().of(node))).unwrap_or_default();
            let line = words::shortened(words::on_one_line(&message));
            let _ = writeln!(text, "{} does not hold here{at}: {line}", name(property));
        }
        Ok(text_or(text, "every property holds here"))
    }
}
