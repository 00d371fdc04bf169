//! The texts of steps, messages and the finding in all drawings.

use crate::explain;
use crate::graph::{Arrow, Fate};
use crate::page;
use crate::recording::Recording;
use crate::words;

/// The last line of a drawing that was cut off.
pub(super) const LEFT_OUT: &str = "the rest is left out, the drawing would be too large";

/// The event of a step, without its node.
pub(super) fn label(recording: &Recording, number: usize) -> String {
    let event = recording.event(number);
    let label = event.split_once(": ").map_or(event.as_str(), |(_, label)| label);
    label.to_owned()
}

/// Whether a drawing has reached its maximum size, so that the rest is left out.
pub(super) fn is_full(drawing: &str) -> bool {
    drawing.len() > explain::TEXT_BYTES_MAX
}

/// The full text of a step.
pub(super) fn details(recording: &Recording, number: usize) -> String {
    let mut lines = vec![format!("{number}. {}", recording.event(number))];
    lines.extend(explain::lines(recording, number));
    lines.join("\n")
}

/// The fate of an undelivered message.
pub(super) fn undelivered(arrow: &Arrow) -> String {
    match arrow.fate {
        Fate::Lost(step) => format!("lost in step {step}"),
        Fate::InFlight | Fate::Delivered(_) => "never delivered".to_owned(),
    }
}

/// The finding at the end, if there is one.
pub(super) fn verdict(recording: &Recording) -> Option<String> {
    recording.finding().map(|(node, finding)| explain::verdict(recording, finding, node))
}

/// The cluster on one line.
pub(super) fn title(recording: &Recording) -> String {
    let trace = &recording.trace;
    let (scenario, name) = (&trace.scenario, &trace.plugin.name);
    let (absent, network) = (words::absent(scenario), words::network(scenario));
    let mut title = format!("{name}, {} nodes{absent}, network {network}", scenario.nodes);
    title.extend(trace.scenario.parameters.iter().map(|(key, value)| format!(", {key}={value}")));
    words::shortened(words::on_one_line(&title))
}

/// The components that the trace was recorded with, one per line.
pub(super) fn components(recording: &Recording) -> Vec<String> {
    page::components(&recording.trace)
        .into_iter()
        .map(|it| words::shortened(format!("{}: {}", it.name, it.value)))
        .collect()
}
