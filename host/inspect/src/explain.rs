//! A trace in words: events, changes, messages, and the reason for the verdict.

use std::fmt::Write;

use host_model::contract::NodeId;
use host_model::trace::replay::LostMessage;
use host_model::trace::{BreachClass, Finding, Sent};

use crate::diff;
use crate::recording::{Observed, Recording};
use crate::words;

/// The maximum length in letters of a line; longer effects of a step take several lines.
const WIDTH: usize = 108;

/// The maximum number of changes of a node's view that are shown, the last ones.
const VIEWS_MAX: usize = 6;

/// The maximum number of changes of a step that are shown individually.
const CHANGES_MAX: usize = 12;

/// The maximum size in bytes of a text or drawing; the rest is omitted with a note. Longer ones are not read.
pub const TEXT_BYTES_MAX: usize = 64 << 20;

/// The end of a truncated text.
const LEFT_OUT: &str = "  -- the rest is left out, the text would be too long --\n";

/// Colours for terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Plain text.
    Plain,
    /// With escape sequences.
    Coloured,
}

impl Paint {
    /// Each node has its own colour everywhere.
    fn node(self, node: NodeId, text: &str) -> String {
        const COLOURS: [u8; 6] = [36, 33, 35, 32, 34, 31];
        self.with(COLOURS[node as usize % COLOURS.len()], text)
    }

    /// Text that is less important than the rest.
    pub fn faint(self, text: &str) -> String {
        self.with(2, text)
    }

    /// Text that must not be missed.
    pub fn bad(self, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Coloured => format!("\u{1b}[1;31m{text}\u{1b}[0m"),
        }
    }

    fn with(self, code: u8, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Coloured => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}

/// The states in which the nodes start; nodes with equal ones share a line.
pub fn start(recording: &Recording) -> String {
    let mut groups: Vec<(Vec<NodeId>, Vec<String>)> = Vec::new();
    for (node, observed) in (0..).zip(&recording.init) {
        let mut lines = vec![state(observed) + &words::choices(&observed.choices, &recording.names)];
        lines.extend(match recording.trace.beginning {
            None => sends(recording, &observed.sent),
            Some(_) => in_flight(recording, node, &observed.sent),
        });
        lines.extend(logs(observed));
        match groups.iter_mut().find(|(_, other)| *other == lines) {
            Some((nodes, _)) => nodes.push(node),
            None => groups.push((vec![node], lines)),
        }
    }
    let from = if recording.trace.beginning.is_some() { " in states from elsewhere" } else { "" };
    let mut text = format!("start{from}\n");
    for (nodes, lines) in groups {
        if text.len() > TEXT_BYTES_MAX {
            text.push_str(LEFT_OUT);
            break;
        }
        let _ = writeln!(text, "  {}: {}", group(recording, &nodes), lines.join("\n    "));
    }
    text
}

/// Nodes with their numbers, as a heading of their common states.
fn group(recording: &Recording, nodes: &[NodeId]) -> String {
    let names = &recording.names;
    match nodes.iter().any(|node| names.get(*node).is_some()) {
        true => nodes.iter().map(|node| names.with_number(*node)).collect::<Vec<_>>().join(", "),
        false => names.list(nodes),
    }
}

/// The steps with their numbers. The first `prefix` of them are set apart from the rest.
pub fn steps(recording: &Recording, prefix: usize, paint: Paint) -> String {
    let mut text = steps_from(recording, 1, prefix, paint);
    if let Some(start) = loop_start(recording) {
        let _ = writeln!(text, "  -- and again from step {} on, for ever --", start + 1);
    }
    text
}

/// The steps from this number on.
pub fn steps_from(recording: &Recording, first: usize, prefix: usize, paint: Paint) -> String {
    let width = recording.steps.len().to_string().len();
    let mut text = String::new();
    for number in first..=recording.steps.len() {
        if text.len() > TEXT_BYTES_MAX {
            text.push_str(LEFT_OUT);
            break;
        }
        if number == prefix + 1 && prefix > 0 {
            text.push_str("  -- end of the prefix --\n");
        }
        if loop_start(recording) == Some(number - 1) {
            text.push_str("  -- what follows happens again and again --\n");
        }
        let node = recording.trace.steps[number - 1].node;
        let event = paint.node(node, &recording.event(number));
        let _ = writeln!(text, "  {} {event}", paint.faint(&format!("{number:>width$}.")));
        for line in lines(recording, number) {
            let _ = writeln!(text, "  {:width$}  {line}", "");
        }
    }
    text
}

/// The step after which a loop begins, in a trace that shows one.
pub fn loop_start(recording: &Recording) -> Option<usize> {
    recording.trace.promise().and_then(|promise| promise.loop_start)
}

/// The finding of a trace in one line; a broken promise includes its critical step.
pub fn verdict(recording: &Recording, finding: &Finding, node: Option<NodeId>) -> String {
    let Finding::Promise(promise) = finding else { return words::finding(finding, node, &recording.names) };
    let (steps, sibling) = (recording.steps.len(), promise.sibling.len());
    let since = match (promise.class, steps) {
        (BreachClass::Lasso, _) => String::new(),
        (_, 0) => " from the start".to_owned(),
        _ if promise.critical.is_some() => format!(" since step {steps}"),
        // The promise may have been stuck before.
        (_, 1) => " after 1 step".to_owned(),
        _ => format!(" after {steps} steps"),
    };
    let before = match (promise.critical, sibling) {
        (None, _) => None,
        (Some(_), 0) => Some("it holds".to_owned()),
        (Some(_), 1) => Some("1 step leads to progress".to_owned()),
        (Some(_), _) => Some(format!("{sibling} steps lead to progress")),
    };
    let critical =
        before.map(|before| format!(", {}; before it, {before}", recording.event(steps))).unwrap_or_default();
    let way = leads_on(recording);
    let text = format!("{}{critical}{way}: {}", words::broken(promise, &recording.names, &since), promise.message);
    words::shortened(words::on_one_line(&text))
}

/// The calls of the application that alone continue from a stuck state; empty without any.
fn leads_on(recording: &Recording) -> String {
    let at = |(node, name): &(NodeId, String)| format!("{} at {}", words::on_one_line(name), recording.names.of(*node));
    let mut calls: Vec<String> = recording.calls.iter().map(at).collect();
    calls.dedup();
    match calls.is_empty() {
        true => String::new(),
        false => format!(", only calls of the application lead on ({})", calls.join(", ")),
    }
}

/// One continuation after a promise is dead, of a recording with more steps than the trace.
pub fn way_on(recording: &Recording, trace_steps: usize, is_over: bool, paint: Paint) -> String {
    let steps = steps_from(recording, trace_steps + 1, 0, paint);
    let what = "nothing has to happen any more";
    match (recording.steps.len() - trace_steps, is_over) {
        (0, _) => format!("after step {trace_steps} {what}\n"),
        (_, true) => format!("one way on, to where {what}\n{steps}"),
        (_, false) => format!("the beginning of one way on\n{steps}"),
    }
}

/// The heading of the steps from the critical one on, on the path with this many steps that keeps a promise.
pub fn sibling_head(steps: usize, critical: usize) -> String {
    match steps + 1 - critical {
        0 => format!("before step {critical} the promise is kept"),
        1 => format!("in place of step {critical}, this one keeps the promise"),
        number => format!("in place of step {critical}, these {number} keep the promise"),
    }
}

/// The effects of a step, in one or several lines.
pub fn lines(recording: &Recording, number: usize) -> Vec<String> {
    let (changes, observed) = (changes(recording, number), &recording.steps[number - 1]);
    let sent = sends(recording, &observed.sent);
    let mut parts: Vec<String> = Vec::new();
    let shown: Vec<String> = changes.iter().take(CHANGES_MAX).cloned().collect();
    parts.extend((!shown.is_empty()).then(|| shown.join(", ")));
    if changes.len() > CHANGES_MAX {
        parts.push(format!("and {} more changes", changes.len() - CHANGES_MAX));
    }
    parts.extend(sent);
    parts.extend(losses(recording, observed));
    parts.extend(logs(observed));
    parts.extend(observed.fault.as_ref().map(|fault| {
        format!(
            "fault: {}",
            words::shortened(words::on_one_line(&format!("{} ({})", fault.message, words::name(fault.kind))))
        )
    }));
    if parts.is_empty() {
        parts.push("changes nothing".to_owned());
    }
    let together = parts.join("; ");
    if together.chars().count() <= WIDTH { vec![together] } else { parts }
}

/// The changes of a step, counted from 1, to the state of its node; empty if none.
pub fn changes(recording: &Recording, number: usize) -> Vec<String> {
    let node = recording.trace.steps[number - 1].node;
    let before = recording.observed(node, recording.step_before(number, node));
    let after = &recording.steps[number - 1];
    if after.state == before.state || after.fault.is_some() {
        return Vec::new();
    }
    match field_changes(recording, number) {
        Some(changes) if changes.is_empty() => vec!["changes what its description leaves out".to_owned()],
        Some(changes) => changes.iter().map(|change| words::shortened(change.to_string())).collect(),
        None => vec![format!("state: {}", state(after))],
    }
}

/// The same field by field, if the plugin describes both states.
pub fn field_changes(recording: &Recording, number: usize) -> Option<Vec<diff::Change>> {
    let node = recording.trace.steps[number - 1].node;
    let before = recording.observed(node, recording.step_before(number, node)).description.as_ref()?;
    let after = recording.steps[number - 1].description.as_ref()?;
    Some(diff::changes(before, after))
}

/// The finding at the end, and the views that the property reads.
pub fn end(recording: &Recording) -> String {
    match recording.finding() {
        Some((node, finding)) => format!("{}\n{}", verdict(recording, finding, node), views(recording)),
        None => "no property is violated at the end\n".to_owned(),
    }
}

/// The views of each node that the property of the finding reads, each with its first step; empty if it reads nothing. For a
/// deadlock, the states of all nodes.
pub fn views(recording: &Recording) -> String {
    if recording.finding().is_some_and(|(_, finding)| matches!(finding, Finding::Deadlock { .. })) {
        return last_states(recording);
    }
    let views = recording.views();
    let is_property = recording
        .finding()
        .is_some_and(|(_, finding)| matches!(finding, Finding::Property { .. } | Finding::Promise(_)));
    if views.is_empty() || !is_property {
        return String::new();
    }
    let mut text = "the property reads\n".to_owned();
    for (node, history) in views {
        // The first view is of interest only if it never changed.
        let skipped = history.len().saturating_sub(VIEWS_MAX).max(usize::from(history.len() > 1));
        let mut head = recording.names.with_number(node);
        for (since, view) in &history[skipped..] {
            let _ = writeln!(text, "  {head}: {}", viewed(recording, node, *since, *view));
            head = " ".repeat(head.chars().count().saturating_sub(4)) + "then";
        }
    }
    text
}

/// The view of a property at a node since a step, 0 for `init`. Unreadable bytes are replaced by the changes of the description if the
/// plugin describes the state.
fn viewed(recording: &Recording, node: NodeId, since: usize, view: Option<&[u8]>) -> String {
    let observed = recording.observed(node, since);
    let said = match view {
        None => Some("nothing".to_owned()),
        Some(bytes) if let Some(said) = recording.view(bytes) => Some(match &*said {
            // A view without content, such as `()`.
            "null" => "that it is there".to_owned(),
            said => words::clipped(said, WIDTH),
        }),
        Some(bytes) if observed.description.is_some() => words::readable(bytes),
        Some(bytes) => Some(words::view(bytes)),
    };
    if since == 0 {
        return said.unwrap_or_else(|| format!("{} at the start", words::clipped(&state(observed), WIDTH)));
    }
    let why = words::clipped(&changes(recording, since).join(", "), WIDTH).to_string();
    let why = if why.is_empty() { why } else { format!(", {why}") };
    said.map_or_else(String::new, |said| said + " ") + &format!("since step {since}{why}")
}

/// The states of the nodes at the end, each with its first step.
fn last_states(recording: &Recording) -> String {
    let mut text = "at the end\n".to_owned();
    for node in 0..recording.nodes() {
        let since = recording.step_before(recording.steps.len() + 1, node);
        let state = words::clipped(&state(recording.observed(node, since)), WIDTH).to_string();
        let since = if since > 0 { format!(" since step {since}") } else { String::new() };
        let _ = writeln!(text, "  {}: {state}{since}", recording.names.with_number(node));
    }
    text
}

/// A node's state in words.
pub fn state(observed: &Observed) -> String {
    match (&observed.fault, &observed.description, &observed.state) {
        (Some(fault), ..) => format!("stuck in a fault: {}", words::shortened(words::on_one_line(&fault.message))),
        (None, Some(description), _) => words::value_on_one_line(description),
        (None, None, Some(state)) => words::payload(state),
        (None, None, None) => words::ABSENT.to_owned(),
    }
}

/// The messages of a node in flight at the beginning of a trace, a line for each, equal ones together.
fn in_flight(recording: &Recording, from: NodeId, sent: &[Sent]) -> Vec<String> {
    let groups = sent.chunk_by(|one, other| one.payload == other.payload);
    let line = |group: &[Sent]| {
        let nodes: Vec<NodeId> = group.iter().map(|sent| sent.to).collect();
        let message = recording.message(&group[0].payload.0);
        format!("in flight from {} to {}: {message}", recording.names.of(from), recording.names.list(&nodes))
    };
    groups.map(line).collect()
}

/// A line for each message, equal ones together.
fn sends(recording: &Recording, sent: &[Sent]) -> Vec<String> {
    let groups = sent.chunk_by(|one, other| one.payload == other.payload);
    let line = |group: &[Sent]| {
        let nodes: Vec<NodeId> = group.iter().map(|sent| sent.to).collect();
        format!("sends {} to {}", recording.message(&group[0].payload.0), recording.names.list(&nodes))
    };
    groups.map(line).collect()
}

/// The messages lost with a broken connection, a line for each link and content.
fn losses(recording: &Recording, observed: &Observed) -> Vec<String> {
    let alike = |one: &LostMessage, other: &LostMessage| (one.is_sent, &one.payload) == (other.is_sent, &other.payload);
    let line = |group: &[LostMessage]| {
        let LostMessage { from, payload, is_sent, .. } = &group[0];
        let to: Vec<NodeId> = group.iter().map(|lost| lost.to).collect();
        let (message, names) = (recording.message(payload), &recording.names);
        match is_sent {
            true => format!("{message} to {} is lost, the connection is broken", names.list(&to)),
            false => format!("{message} from {} is lost with the connection", names.of(*from)),
        }
    };
    observed.lost.chunk_by(alike).map(line).collect()
}

fn logs(observed: &Observed) -> impl Iterator<Item = String> {
    observed.log.iter().map(|line| format!("logs: {}", words::shortened(words::on_one_line(line))))
}
