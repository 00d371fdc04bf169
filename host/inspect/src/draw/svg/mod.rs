//! Drawings as SVG.
//!
//! | module | what it holds |
//! |---|---|
//! | `layout` | where columns and rows are, and the texts of the steps |
//! | `frame` | title, lifelines, and what stands below them |
//! | `notes` | notes at lifelines in addition to the texts of steps |
//! | `arrows` | messages |

mod arrows;
mod frame;
mod layout;
mod notes;

use std::fmt::Write;

use host_model::contract::NodeId;
use host_model::trace::TraceEvent;

use crate::draw::Context;
use crate::draw::ground::{Area, Ground};
use crate::draw::parts::{LEFT_OUT, details, title};
use crate::escape::xml;
use crate::explain::{self, TEXT_BYTES_MAX};
use crate::graph::Arrow;
use crate::recording::Recording;

use layout::{Layout, StepText};
use notes::LINE;

/// The style sheet of lines and texts.
const STYLE: &str = include_str!("svg.css");

/// The distance in pixels between a lifeline and the texts next to it, the maximum by which they move away from it, and the number of
/// steps.
const ASIDE: f64 = 14.0;
const MOVED_MAX: f64 = 48.0;
const SHIFTS: u32 = 8;

/// The number of colours; further nodes reuse them.
const COLOURS: u32 = 8;

/// A diagram in progress.
struct Painter<'d> {
    recording: &'d Recording,
    arrows: &'d [Arrow],
    context: Context<'d>,
    layout: Layout,
    ground: Ground,
    svg: String,
}

/// A picture.
pub(super) fn draw(recording: &Recording, context: Context<'_>) -> String {
    let arrows = &crate::graph::arrows(recording)[..];
    let title = title(recording);
    let layout = Layout::new(recording, arrows, &title, context.prefix);
    let (svg, ground) = (String::new(), Ground::default());
    let mut painter = Painter { recording, arrows, context, layout, ground, svg };
    painter.reserve();
    let lines = painter.routes();
    painter.columns();
    painter.prefix();
    painter.mark_loop();
    painter.messages(&lines);
    painter.events();
    painter.names(&lines);
    let height = painter.end();
    painter.within(height)
}

impl Painter<'_> {
    /// Whether the drawing has reached its maximum size, so that the rest is left out.
    fn is_full(&self) -> bool {
        self.svg.len() > TEXT_BYTES_MAX
    }

    /// Reserves the fixed places of the nodes' names and the notes; texts of steps have a home right of their sign.
    fn reserve(&mut self) {
        let (top, width) = (self.layout.y(0) - 44.0, self.layout.width);
        self.ground.add_text(Area { left: 0.0, top, width, height: 18.0 });
        for note in &self.layout.notes {
            self.ground.add_text(self.layout.area(note));
        }
        for number in 1..=self.layout.steps() {
            self.ground.add_home(self.home(number), number);
        }
    }

    /// The reserved area of the text of a step.
    fn home(&self, number: usize) -> Area {
        let (node, text) = (self.recording.trace.steps[number - 1].node, &self.layout.texts[number - 1]);
        let (left, top) = (self.layout.x(node) + ASIDE, self.layout.y(number) - 7.0);
        Area { left, top, width: text.width(), height: text.height() }
    }

    fn prefix(&mut self) {
        let prefix = self.context.prefix;
        if prefix > 0 && prefix < self.layout.steps() {
            let (y, right) = (self.layout.y(prefix + 1) - 20.0, self.layout.width - 24.0);
            self.ground.add_line([(24.0, y), (right, y)]);
            let _ = writeln!(
                self.svg,
                "<line class=\"prefix\" x1=\"68\" y1=\"{y:.1}\" x2=\"{right:.1}\" y2=\"{y:.1}\"/>\
                 <text class=\"halo\" x=\"24\" y=\"{:.1}\">prefix</text>",
                y + 4.0
            );
        }
    }

    /// Draws a bracket along the steps of the loop, with an arrow back to the first one.
    fn mark_loop(&mut self) {
        let Some(start) = explain::loop_start(self.recording) else { return };
        let first = self.layout.y((start + 1).min(self.layout.steps()));
        let (top, bottom) = (first - 12.0, self.layout.bottom() + 6.0);
        let _ = writeln!(
            self.svg,
            "<path class=\"warn\" d=\"M24 {bottom:.1} H10 V{top:.1} H22 m-6 -4 l6 4 l-6 4\"/>\
             <text class=\"halo bad\" x=\"28\" y=\"{:.1}\">again and again</text>",
            bottom + 4.0
        );
    }

    fn events(&mut self) {
        for number in 1..=self.layout.steps() {
            if self.is_full() {
                let _ = writeln!(self.svg, "<text class=\"bad\" x=\"24\" y=\"16\">{LEFT_OUT}</text>");
                break;
            }
            self.event(number);
        }
    }

    fn event(&mut self, number: usize) {
        let step = &self.recording.trace.steps[number - 1];
        let (x, y) = (self.layout.x(step.node), self.layout.y(number));
        let is_fault = self.recording.steps[number - 1].fault.is_some();
        let (fill, stroke) = match is_fault {
            true => ("fault".to_owned(), "fault".to_owned()),
            false => (format!("f{}", step.node % COLOURS), format!("s{}", step.node % COLOURS)),
        };
        let shape = match &step.event {
            TraceEvent::Deliver { .. } | TraceEvent::Quorum { .. } => {
                format!("<circle class=\"{fill}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"/>")
            }
            // The node restarts, or loses a connection or a message.
            TraceEvent::Fault { .. } | TraceEvent::TransportError { .. } | TraceEvent::Lose { .. } => {
                format!("<path class=\"hollow {stroke}\" d=\"M{x:.1} {:.1} l7 7 l-7 7 l-7 -7 z\"/>", y - 7.0)
            }
            TraceEvent::Local { .. } => {
                let (left, top) = (x - 5.0, y - 5.0);
                format!("<rect class=\"{fill}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"10\" height=\"10\" rx=\"2\"/>")
            }
        };
        let is_marked = self.layout.texts[number - 1].is_marked;
        let ring = match is_marked {
            true => format!("<circle class=\"warn\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"9\"/>"),
            false => String::new(),
        };
        let said = self.step_text(number, step.node, is_fault);
        let details = xml(&details(self.recording, number));
        let _ = writeln!(self.svg, "<g class=\"event\"><title>{details}</title>{ring}{shape}{said}</g>");
    }

    /// Draws the text of a step where lines leave room for it.
    fn step_text(&mut self, number: usize, node: NodeId, is_fault: bool) -> String {
        let (x, y) = (self.layout.x(node), self.layout.y(number));
        let right = self.layout.column(node);
        let left = if node == 0 { 0.0 } else { self.layout.column(node - 1) };
        let text = &self.layout.texts[number - 1];
        let (before, after) = self.layout.neighbours(number);
        let mut places = places(text, x, y, left, right);
        // A text must not be nearer to another sign of its node than to its own.
        let away = |area: Area, y: f64| (area.top - y).max(y - area.top - area.height).max(0.0);
        places.retain(|Place { area, .. }| away(*area, y) <= away(*area, before).min(away(*area, after)));
        let lines = |Place { area, price, is_left }: &Place| (*area, text.lines(*area, *is_left), *price);
        let chosen = self.ground.place_lines(Some(number), places.iter().map(lines));
        let Some(chosen) = chosen else { return String::new() };
        let Place { area, is_left, .. } = places[chosen];
        let at = if is_left { area.left + area.width } else { area.left };
        let side = if is_left { " left" } else { "" };
        let (fault, mark) = (if is_fault { " bad" } else { "" }, if text.is_marked { " mark" } else { "" });
        let classes = std::iter::repeat_n(format!("halo{side}{fault}"), text.event.len());
        let classes = classes.chain(std::iter::repeat_n(format!("halo change{side}{mark}"), text.change.len()));
        let mut said = String::new();
        for ((line, class), row) in text.event.iter().chain(&text.change).zip(classes).zip(0..) {
            let baseline = area.top + 9.5 + LINE * f64::from(row);
            let _ = write!(said, "<text class=\"{class}\" x=\"{at:.1}\" y=\"{baseline:.1}\">{}</text>", xml(line));
        }
        said
    }

    /// The whole document around the drawing.
    fn within(self, height: f64) -> String {
        let width = self.layout.width;
        let name = xml(&title(self.recording));
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<title>{name}</title>\n<style>{STYLE}</style>\n<defs>\n"
        );
        for colour in 0..COLOURS {
            let _ = writeln!(
                svg,
                "<marker id=\"head{colour}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" \
                 orient=\"auto-start-reverse\"><path class=\"f{colour}\" d=\"M0 0 L10 5 L0 10 z\"/></marker>"
            );
        }
        svg.push_str("</defs>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
        svg + &self.svg + "</svg>\n"
    }
}

/// A place for the text of a step.
#[derive(Clone, Copy)]
struct Place {
    area: Area,
    price: f64,
    is_left: bool,
}

/// Places for a text next to a lifeline at (x, y): right of it, and left of it if the last column has room.
fn places(text: &StepText, x: f64, y: f64, left: f64, right: f64) -> Vec<Place> {
    let (width, height) = (text.width(), text.height());
    if width == 0.0 {
        return Vec::new();
    }
    let mut tops = vec![(y - 7.0, 0.0), (y - 6.0 - height, 0.5), (y + 6.0, 0.6)];
    // A little further away, in case an arrow begins or ends nearly level.
    let further = [4.0, 8.0, 12.0, 16.0];
    tops.extend(further.map(|away| (y - 6.0 - height - away, 1.0 + away / 8.0)));
    tops.extend(further.map(|away| (y + 6.0 + away, 1.1 + away / 8.0)));
    let free = (right - 44.0 - width).clamp(0.0, MOVED_MAX);
    let mut places = Vec::new();
    for (top, price) in tops {
        for shift in 0..=SHIFTS {
            let part = f64::from(shift) / f64::from(SHIFTS);
            let area = Area { left: x + ASIDE + free * part, top, width, height };
            places.push(Place { area, price: price + 4.0 * part, is_left: false });
        }
        if left - 44.0 > width {
            let area = Area { left: x - ASIDE - width, top, width, height };
            places.push(Place { area, price: price + 4.0, is_left: true });
        }
    }
    places
}
