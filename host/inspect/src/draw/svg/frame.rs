//! The frame of a diagram: title, rows and lifelines, and below them the finding, a legend, the component and the command.

use std::fmt::Write;

use host_model::contract::NodeId;
use host_model::trace::TraceEvent;

use crate::draw::parts::{components, verdict};
use crate::escape::xml;
use crate::explain;
use crate::graph::Fate;

use super::layout::{LEFT, letters, wrapped};
use super::notes::LETTER;
use super::{COLOURS, Painter};

/// The maximum number of lines of the finding and of the command, and of named components.
const LINES_MAX: usize = 6;
const COMPONENTS_MAX: usize = 8;

/// The interruption of a lifeline.
#[derive(Clone, Copy, PartialEq)]
enum Cut {
    /// The node restarts.
    Restart,
    /// A connection breaks.
    Break,
    /// The node takes no further step.
    End,
}

impl Painter<'_> {
    /// Draws the lines of nodes and steps, and their names.
    pub(super) fn columns(&mut self) {
        for (line, text) in self.layout.title.clone().iter().enumerate() {
            let y = 28.0 + 17.0 * line as f64;
            let _ = writeln!(self.svg, "<text class=\"title\" x=\"24\" y=\"{y:.1}\">{}</text>", xml(text));
        }
        for number in 1..=self.layout.steps() {
            if self.is_full() {
                break;
            }
            let (y, right) = (self.layout.y(number), self.layout.width - 24.0);
            let _ = writeln!(
                self.svg,
                "<line class=\"row\" x1=\"{LEFT:.1}\" y1=\"{y:.1}\" x2=\"{right:.1}\" y2=\"{y:.1}\"/>\
                 <text class=\"number\" x=\"{:.1}\" y=\"{:.1}\">{number}</text>",
                LEFT - 36.0,
                y + 4.0
            );
        }
        let mut cuts = vec![Vec::new(); self.recording.nodes() as usize];
        for (number, step) in (1..).zip(&self.recording.trace.steps) {
            cuts[step.node as usize].extend(self.cut(number).map(|cut| (self.layout.y(number), cut)));
        }
        for note in self.layout.notes.iter().filter(|note| note.is_end()) {
            cuts[note.node as usize].push((self.cross(note).1 - 14.0, Cut::End));
        }
        for (node, cuts) in (0..).zip(cuts) {
            if self.is_full() {
                break;
            }
            self.column(node, &cuts);
        }
    }

    fn cut(&self, number: usize) -> Option<Cut> {
        if self.recording.steps[number - 1].fault.is_some() {
            return Some(Cut::End);
        }
        match &self.recording.trace.steps[number - 1].event {
            TraceEvent::Fault { event, .. } if event.peer().is_none() => Some(Cut::Restart),
            TraceEvent::Fault { .. } | TraceEvent::TransportError { .. } => Some(Cut::Break),
            _ => None,
        }
    }

    /// A lifeline with its interruptions.
    fn column(&mut self, node: NodeId, cuts: &[(f64, Cut)]) {
        let (x, top) = (self.layout.x(node), self.layout.y(0) - 20.0);
        let is_absent = self.recording.trace.scenario.absent.contains(&node);
        let name = self.name(node, top - 10.0);
        let _ = write!(self.svg, "<g class=\"event\">{}{name}", self.start(node));
        let class = if is_absent { "life absent" } else { "life" };
        let (mut from, bottom) = (top, self.layout.bottom());
        let mut pieces = Vec::new();
        for (y, cut) in cuts {
            pieces.push((from, y - 11.0));
            from = y + 11.0;
            let (above, below) = (y - 11.0, y + 11.0);
            let _ = match cut {
                Cut::Restart => write!(
                    self.svg,
                    "<path class=\"cut\" d=\"M{:.1} {above:.1} h12 M{:.1} {below:.1} h12\"/>",
                    x - 6.0,
                    x - 6.0
                ),
                Cut::Break => write!(
                    self.svg,
                    "<path class=\"cut\" d=\"M{:.1} {:.1} l12 -6 M{:.1} {:.1} l12 -6\"/>",
                    x - 6.0,
                    above + 3.0,
                    x - 6.0,
                    below + 3.0
                ),
                Cut::End => {
                    from = bottom;
                    write!(
                        self.svg,
                        "<path class=\"warn\" d=\"M{:.1} {:.1} l12 12 m0 -12 l-12 12\"/>",
                        x - 6.0,
                        y + 8.0
                    )
                }
            };
        }
        pieces.push((from, bottom));
        for (from, to) in pieces.into_iter().filter(|(from, to)| from < to) {
            self.ground.add_line([(x, from), (x, to)]);
            let _ = write!(
                self.svg,
                "<line class=\"{class}\" x1=\"{x:.1}\" y1=\"{from:.1}\" x2=\"{x:.1}\" y2=\"{to:.1}\"/>"
            );
        }
        self.svg.push_str("</g>\n");
    }

    /// The hover text of a lifeline: the state of its node at the start.
    fn start(&self, node: NodeId) -> String {
        let (name, state) = (self.recording.names.with_number(node), &self.recording.init[node as usize]);
        format!("<title>{}</title>", xml(&format!("{name} at the start\n{}", explain::state(state))))
    }

    /// The name of a node above its lifeline.
    fn name(&self, node: NodeId, y: f64) -> String {
        let (x, head) = (self.layout.x(node), xml(&self.layout.heads[node as usize]));
        format!("<text class=\"name f{}\" x=\"{x:.1}\" y=\"{y:.1}\">{head}</text>", node % COLOURS)
    }

    /// Draws the finding under the last step, with crosses at the nodes that the property reads; then the legend, the components
    /// and the command. Returns the height of the drawing.
    pub(super) fn end(&mut self) -> f64 {
        let mut y = self.layout.bottom() + 8.0;
        if explain::loop_start(self.recording).is_some() {
            y += 14.0;
        }
        let verdict = verdict(self.recording);
        if verdict.is_some() {
            for (node, history) in self.recording.views() {
                if history.last().is_some_and(|(_, view)| view.is_some()) {
                    let (x, y) = (self.layout.x(node) - 6.0, y - 14.0);
                    let _ = writeln!(self.svg, "<path class=\"warn\" d=\"M{x:.1} {y:.1} l12 12 m0 -12 l-12 12\"/>");
                }
            }
        }
        y += 22.0;
        let room = letters(self.layout.width - 48.0, 7.4);
        for line in verdict.iter().flat_map(|verdict| wrapped(verdict, room, LINES_MAX)) {
            let _ = writeln!(self.svg, "<text class=\"bad\" x=\"24\" y=\"{y:.1}\">{}</text>", xml(&line));
            y += 15.0;
        }
        y = self.legend(y + 10.0);
        let components = components(self.recording);
        let named = components.iter().take(COMPONENTS_MAX).cloned();
        let more = components.len().saturating_sub(COMPONENTS_MAX);
        let more = (more > 0).then(|| format!("and {more} more components"));
        let replay = self.context.replay.map(|command| format!("replay with: {command}"));
        for text in named.chain(more).chain(replay) {
            for line in wrapped(&text, letters(self.layout.width - 48.0, LETTER), LINES_MAX) {
                let _ = writeln!(self.svg, "<text class=\"faint\" x=\"24\" y=\"{y:.1}\">{}</text>", xml(&line));
                y += 15.0;
            }
        }
        y + 9.0
    }

    /// The signs that occur in the drawing, side by side.
    fn legend(&mut self, y: f64) -> f64 {
        let (mut x, mut y) = (24.0, y);
        for (sign, meaning) in self.signs() {
            let width = 26.0 + LETTER * meaning.chars().count() as f64 + 18.0;
            if x + width > self.layout.width - 24.0 && x > 24.0 {
                (x, y) = (24.0, y + 18.0);
            }
            let _ = writeln!(
                self.svg,
                "<g transform=\"translate({:.1} {:.1})\">{sign}</g><text class=\"faint\" x=\"{:.1}\" y=\"{y:.1}\">{meaning}</text>",
                x + 9.0,
                y - 4.0,
                x + 24.0
            );
            x += width;
        }
        y + 20.0
    }

    fn signs(&self) -> Vec<(&'static str, &'static str)> {
        let events = || self.recording.trace.steps.iter().map(|step| &step.event);
        let is_fault =
            |event: &TraceEvent| matches!(event, TraceEvent::Fault { .. } | TraceEvent::TransportError { .. });
        let has = |is_it: fn(Fate) -> bool| self.arrows.iter().any(|arrow| is_it(arrow.fate));
        let all = [
            (
                events().any(|event| matches!(event, TraceEvent::Local { .. })),
                ("<rect class=\"f0\" x=\"-5\" y=\"-5\" width=\"10\" height=\"10\" rx=\"2\"/>", "local event"),
            ),
            (
                events().any(|event| !event.received().is_empty()),
                ("<circle class=\"f0\" r=\"5\"/>", "message received"),
            ),
            (
                events().any(|event| is_fault(event) || matches!(event, TraceEvent::Lose { .. })),
                ("<path class=\"hollow s0\" d=\"M0 -7 l7 7 l-7 7 l-7 -7 z\"/>", "fault"),
            ),
            (
                self.layout.texts.iter().any(|text| text.is_marked),
                ("<circle class=\"warn\" r=\"8\"/>", "changes what the property reads"),
            ),
            (
                has(|fate| matches!(fate, Fate::Lost(_) | Fate::InFlight)),
                (
                    "<path class=\"lost\" d=\"M-9 0 h12\"/><path class=\"cross\" d=\"M3 -3 l6 6 m0 -6 l-6 6\"/>",
                    match (has(|fate| matches!(fate, Fate::Lost(_))), has(|fate| fate == Fate::InFlight)) {
                        (true, true) => "lost, or never delivered",
                        (true, false) => "lost",
                        _ => "never delivered",
                    },
                ),
            ),
            (
                self.arrows.iter().any(|arrow| arrow.again.is_some()),
                ("<path class=\"message again s0\" d=\"M-9 0 h18\"/>", "delivered again"),
            ),
            (
                events().any(is_fault),
                ("<path class=\"cut\" d=\"M-6 -4 h12 M-6 4 h12\"/>", "interrupted by a reset or a break"),
            ),
        ];
        all.into_iter().filter_map(|(is_there, sign)| is_there.then_some(sign)).collect()
    }
}
