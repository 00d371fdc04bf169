//! Drawings as SVG.

use std::fmt::Write;

use host_model::contract::NodeId;
use host_model::trace::TraceEvent;

use crate::draw::{LEFT_OUT, details, is_full, label, marks, title, undelivered, verdict};
use crate::escape::xml;
use crate::explain;
use crate::graph::{Arrow, arrows};
use crate::recording::Recording;
use crate::words::clipped;

/// Pixels between two steps.
const ROW: f64 = 30.0;

/// Pixels above the first step: title and names of the nodes.
const HEAD: f64 = 92.0;

/// Pixels left of the first node: numbers of the steps.
const LEFT: f64 = 76.0;

/// Letters of a label.
const LETTERS_MAX: usize = 46;

/// Pixels that a letter of a label takes.
const LETTER: f64 = 6.7;

/// A colour for each node; more nodes begin again.
const COLOURS: [&str; 8] = ["#2563eb", "#c2410c", "#047857", "#9333ea", "#b45309", "#0e7490", "#be185d", "#4d7c0f"];

const STYLE: &str = "\
text { font: 11px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #1e293b; }
.halo { paint-order: stroke; stroke: #ffffff; stroke-width: 4px; stroke-linejoin: round; }
.title { font-weight: bold; font-size: 13px; }
.name { font-weight: bold; font-size: 12px; text-anchor: middle; }
.number { fill: #94a3b8; text-anchor: end; }
.life { stroke: #cbd5e1; stroke-width: 2; }
.row { stroke: #f1f5f9; stroke-width: 1; }
.message { fill: none; stroke-width: 1.6; }
.lost { fill: none; stroke: #94a3b8; stroke-width: 1.2; stroke-dasharray: 3 3; }
.cross { stroke: #94a3b8; stroke-width: 1.4; }
.change { fill: #475569; font-size: 10px; }
.mark { font-weight: bold; }
.bad { fill: #b91c1c; font-weight: bold; }
.prefix { stroke: #64748b; stroke-dasharray: 8 4; }
g.event:hover circle, g.event:hover rect.local { stroke: #000000; stroke-width: 3; }
g.arrow:hover .message { stroke-width: 4; }
g.arrow:hover .lost { stroke: #0f172a; }";

/// Where things are.
struct Layout {
    column: f64,
    width: f64,
    height: f64,
    rows: usize,
}

impl Layout {
    fn new(recording: &Recording, labels: &[String], verdict: Option<&str>) -> Self {
        let letters = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
        let column = (letters as f64 * LETTER + 56.0).clamp(130.0, 370.0);
        let rows = recording.steps.len();
        // Nothing is cut off: title and verdict may be wider than the columns.
        let text = [Some(title(recording)), verdict.map(str::to_owned)].into_iter().flatten();
        let text = text.map(|text| text.chars().count()).max().unwrap_or(0) as f64 * 8.2 + 48.0;
        let width = (LEFT + column * f64::from(recording.nodes()) + 24.0).max(text);
        Self { column, width, height: HEAD + ROW * (rows as f64 + 1.0) + 64.0, rows }
    }

    fn x(&self, node: NodeId) -> f64 {
        LEFT + 34.0 + self.column * f64::from(node)
    }

    /// The height of a step; 0 is `init`.
    fn y(&self, step: usize) -> f64 {
        HEAD + ROW * step as f64
    }
}

pub(super) fn draw(recording: &Recording, prefix: usize) -> String {
    let labels: Vec<String> =
        (1..=recording.steps.len()).map(|number| clipped(&label(recording, number), LETTERS_MAX)).collect();
    let verdict = verdict(recording).map(|verdict| clipped(&verdict, 160));
    let layout = Layout::new(recording, &labels, verdict.as_deref());
    let (width, height) = (layout.width, layout.height);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<title>{}</title>\n<style>\n{STYLE}\n</style>\n<defs>\n",
        xml(&title(recording))
    );
    for (index, colour) in COLOURS.iter().enumerate() {
        let _ = writeln!(
            svg,
            "<marker id=\"head{index}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" \
             orient=\"auto-start-reverse\"><path d=\"M0 0 L10 5 L0 10 z\" fill=\"{colour}\"/></marker>"
        );
    }
    let _ = writeln!(svg, "</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>");
    let _ = writeln!(svg, "<text class=\"title\" x=\"24\" y=\"28\">{}</text>", xml(&title(recording)));
    columns(&mut svg, recording, &layout);
    if prefix > 0 && prefix < layout.rows {
        let y = layout.y(prefix) + ROW / 2.0;
        let _ = writeln!(
            svg,
            "<line class=\"prefix\" x1=\"24\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"halo\" x=\"24\" y=\"{:.1}\">prefix</text>",
            width - 24.0,
            y - 4.0
        );
    }
    if let Some(start) = explain::loop_start(recording) {
        mark_loop(&mut svg, &layout, start);
    }
    for arrow in &arrows(recording) {
        if is_full(&svg) {
            break;
        }
        draw_arrow(&mut svg, recording, &layout, arrow);
    }
    let marks = marks(recording);
    for (index, label) in labels.iter().enumerate() {
        if is_full(&svg) {
            let _ = writeln!(svg, "<text class=\"bad\" x=\"24\" y=\"52\">{LEFT_OUT}</text>");
            break;
        }
        event(&mut svg, recording, &layout, index + 1, (label, marks[index].as_deref()));
    }
    end(&mut svg, recording, &layout, verdict.as_deref());
    svg.push_str("</svg>\n");
    svg
}

/// Lines for nodes and steps, and their names.
fn columns(svg: &mut String, recording: &Recording, layout: &Layout) {
    for number in 1..=layout.rows {
        if is_full(svg) {
            break;
        }
        let y = layout.y(number);
        let _ = writeln!(
            svg,
            "<line class=\"row\" x1=\"{LEFT:.1}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"number\" x=\"{:.1}\" y=\"{:.1}\">{number}</text>",
            layout.width - 24.0,
            LEFT - 36.0,
            y + 4.0
        );
    }
    for node in 0..recording.nodes() {
        let (x, bottom) = (layout.x(node), layout.y(layout.rows) + ROW);
        let state = explain::state(&recording.init[node as usize]);
        let _ = writeln!(
            svg,
            "<g class=\"event\"><title>{}</title><text class=\"name\" x=\"{x:.1}\" y=\"{:.1}\" style=\"fill:{}\">node {node}</text>\
             <line class=\"life\" x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/></g>",
            xml(&format!("node {node} at the start\n{state}")),
            HEAD - 30.0,
            colour(node),
            HEAD - 20.0,
        );
    }
}

/// A bracket beside the steps that happen again and again, with an arrow back to the first of them.
fn mark_loop(svg: &mut String, layout: &Layout, start: usize) {
    let (top, bottom) = (layout.y(start) + ROW / 2.0, layout.y(layout.rows) + ROW / 2.0);
    let _ = writeln!(
        svg,
        "<path d=\"M24 {bottom:.1} H10 V{top:.1} H22 m-6 -4 l6 4 l-6 4\" fill=\"none\" stroke=\"#b91c1c\" stroke-width=\"2\"/>\
         <text class=\"halo bad\" x=\"24\" y=\"{:.1}\">again and again</text>",
        bottom + 4.0
    );
}

fn draw_arrow(svg: &mut String, recording: &Recording, layout: &Layout, arrow: &Arrow) {
    let message = recording.message(&arrow.payload);
    let (x1, y1) = (layout.x(arrow.from), layout.y(arrow.sent));
    let head = format!("{message}\nsent by node {} {}", arrow.from, recording.sent(arrow.sent));
    let Some(delivered) = arrow.delivered() else {
        // A short way towards its destination, with a cross at the end.
        let (dx, dy) = match arrow.to.cmp(&arrow.from) {
            std::cmp::Ordering::Less => (-26.0, 13.0),
            std::cmp::Ordering::Equal => (-12.0, 16.0),
            std::cmp::Ordering::Greater => (26.0, 13.0),
        };
        let (x2, y2) = (x1 + dx, y1 + dy);
        let _ = writeln!(
            svg,
            "<g class=\"arrow\"><title>{}</title><line class=\"lost\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>\
             <path class=\"cross\" d=\"M{:.1} {:.1} l6 6 m0 -6 l-6 6\"/></g>",
            xml(&format!("{head} to node {}, {}", arrow.to, undelivered(arrow))),
            x2 - 3.0,
            y2 - 3.0,
        );
        return;
    };
    let (x2, y2) = (layout.x(arrow.to), layout.y(delivered));
    let path = if arrow.from == arrow.to {
        // Beside the node's line, the further the longer it takes.
        let bulge = 18.0 + 3.0 * ((delivered - arrow.sent) as f64).min(10.0);
        format!("M{x1:.1} {y1:.1} C{:.1} {y1:.1} {:.1} {y2:.1} {:.1} {y2:.1}", x1 - bulge, x1 - bulge, x2 - 7.0)
    } else {
        // Up to the rim of the dot.
        let length = ((x2 - x1).powi(2) + (y2 - y1).powi(2)).sqrt();
        let (dx, dy) = ((x2 - x1) / length * 7.0, (y2 - y1) / length * 7.0);
        format!("M{x1:.1} {y1:.1} L{:.1} {:.1}", x2 - dx, y2 - dy)
    };
    let _ = writeln!(
        svg,
        "<g class=\"arrow\"><title>{}</title><path class=\"message\" stroke=\"{}\" marker-end=\"url(#head{})\" d=\"{path}\"/></g>",
        xml(&format!("{head}, delivered to node {} in step {delivered}", arrow.to)),
        colour(arrow.from),
        arrow.from as usize % COLOURS.len(),
    );
}

fn event(svg: &mut String, recording: &Recording, layout: &Layout, number: usize, (label, mark): (&str, Option<&str>)) {
    let step = &recording.trace.steps[number - 1];
    let (x, y) = (layout.x(step.node), layout.y(number));
    let is_fault = recording.steps[number - 1].fault.is_some();
    let fill = if is_fault { "#b91c1c" } else { colour(step.node) };
    let shape = match &step.event {
        TraceEvent::Deliver { .. } | TraceEvent::Quorum { .. } => {
            format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{fill}\"/>")
        }
        // The node breaks off and begins anew, or loses a connection.
        TraceEvent::Fault { .. } | TraceEvent::TransportError { .. } | TraceEvent::Lose { .. } => {
            format!(
                "<path d=\"M{:.1} {:.1} l7 7 l-7 7 l-7 -7 z\" fill=\"#ffffff\" stroke=\"{fill}\" stroke-width=\"3\"/>",
                x,
                y - 7.0
            )
        }
        TraceEvent::Local { .. } => format!(
            "<rect class=\"local\" x=\"{:.1}\" y=\"{:.1}\" width=\"10\" height=\"10\" rx=\"2\" fill=\"{fill}\"/>",
            x - 5.0,
            y - 5.0
        ),
    };
    let ring = mark.map_or(String::new(), |_| {
        format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"9\" fill=\"none\" stroke=\"#b91c1c\" stroke-width=\"2\"/>")
    });
    let _ = write!(
        svg,
        "<g class=\"event\"><title>{}</title>{ring}{shape}<text class=\"halo{}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        xml(&details(recording, number)),
        if is_fault { " bad" } else { "" },
        x + 14.0,
        y + 4.0,
        xml(label)
    );
    // Under the label what changed, the change that matters to the property first.
    let changes = explain::changes(recording, number);
    let (class, change) = match mark {
        Some(mark) => ("halo change mark", mark.to_owned()),
        None => ("halo change", changes.join(", ")),
    };
    if !change.is_empty() {
        let letters = ((layout.column - 30.0) / 6.1) as usize;
        let _ = write!(
            svg,
            "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + 14.0,
            y + 15.0,
            xml(&clipped(&change, letters))
        );
    }
    svg.push_str("</g>\n");
}

/// The verdict under the last step, and rings where the property reads something.
fn end(svg: &mut String, recording: &Recording, layout: &Layout, verdict: Option<&str>) {
    let Some(verdict) = verdict else { return };
    let y = layout.y(layout.rows) + ROW;
    for (node, history) in recording.views() {
        if history.last().is_some_and(|(_, view)| view.is_some()) {
            let x = layout.x(node);
            let _ = writeln!(
                svg,
                "<path d=\"M{:.1} {:.1} l12 12 m0 -12 l-12 12\" stroke=\"#b91c1c\" stroke-width=\"3\"/>",
                x - 6.0,
                y - 6.0
            );
        }
    }
    let _ = writeln!(svg, "<text class=\"bad\" x=\"24\" y=\"{:.1}\">{}</text>", y + 30.0, xml(verdict));
}

fn colour(node: NodeId) -> &'static str {
    COLOURS[node as usize % COLOURS.len()]
}
