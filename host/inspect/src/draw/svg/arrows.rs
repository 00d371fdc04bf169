//! Messages as arrows: to their delivery, or to a note if they are not delivered.

use std::fmt::Write;

use crate::draw::ground::{Area, Line};
use crate::draw::parts::undelivered;
use crate::escape::xml;
use crate::graph::{Arrow, Fate};

use super::layout::LEFT;
use super::notes::{LETTER, LINE, Note, name};
use super::{COLOURS, Painter};

/// The maximum number of messages in the hover text of one note.
const TITLES_MAX: usize = 20;

/// The way of an arrow, or of all arrows that one note stands for.
pub(super) struct Route<'d> {
    arrow: &'d Arrow,
    /// The messages, as indices into the list of all.
    arrows: Vec<usize>,
    /// The corners of the way.
    points: Vec<(f64, f64)>,
}

impl<'d> Painter<'d> {
    /// Routes all messages and enters their ways into the ground.
    pub(super) fn routes(&mut self) -> Vec<Route<'d>> {
        let mut routes: Vec<Route<'d>> = Vec::new();
        let mut is_noted = vec![false; self.arrows.len()];
        for note in self.layout.notes.iter().filter(|note| !note.is_end()) {
            note.arrows.iter().for_each(|index| is_noted[*index] = true);
            let points = vec![(self.layout.x(note.node), self.layout.y(note.row)), self.cross(note)];
            routes.push(Route { arrow: &self.arrows[note.arrows[0]], arrows: note.arrows.clone(), points });
        }
        let others = self.arrows.iter().enumerate().filter(|(index, _)| !is_noted[*index]);
        for (index, arrow) in others {
            let points = self.points(arrow);
            routes.push(Route { arrow, arrows: vec![index], points });
        }
        for route in &routes {
            for line in lines(&route.points) {
                self.ground.add_line(line);
            }
        }
        routes
    }

    /// The place of the cross of a note.
    pub(super) fn cross(&self, note: &Note) -> (f64, f64) {
        note.cross(self.layout.x(note.node), self.layout.notes_top(note))
    }

    /// The way of an arrow to the step that ends it.
    fn points(&self, arrow: &Arrow) -> Vec<(f64, f64)> {
        let end = arrow.end().expect("an arrow without an end has a note in its place");
        let (from, to) =
            ((self.layout.x(arrow.from), self.layout.y(arrow.sent)), (self.layout.x(arrow.to), self.layout.y(end)));
        if arrow.from == arrow.to {
            // A bulge to the left of the lifeline; the longer the message is in flight, the wider.
            let bulge = 12.0 + ((end - arrow.sent) as f64).min(10.0);
            let bend = 12.0f64.min((to.1 - from.1) / 2.0);
            return vec![from, (from.0 - bulge, from.1 + bend), (to.0 - bulge, to.1 - bend), (to.0 - 7.0, to.1)];
        }
        // The way ends at the rim of the step's sign.
        let length = ((to.0 - from.0).powi(2) + (to.1 - from.1).powi(2)).sqrt();
        let rim = if arrow.delivered().is_some() { 7.0 } else { 16.0 };
        let (dx, dy) = ((to.0 - from.0) / length * rim, (to.1 - from.1) / length * rim);
        vec![from, (to.0 - dx, to.1 - dy)]
    }

    pub(super) fn messages(&mut self, routes: &[Route<'_>]) {
        for route in routes {
            if self.is_full() {
                break;
            }
            let arrow = route.arrow;
            let again = if arrow.again.is_some() { " again" } else { "" };
            let points: Vec<String> = route.points.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
            let (colour, points) = (arrow.from % COLOURS, points.join(" L"));
            let (title, line) = match arrow.delivered() {
                Some(delivered) => (
                    format!(
                        "{}, delivered{again} to {} in step {delivered}",
                        self.head(arrow),
                        self.recording.names.of(arrow.to)
                    ),
                    format!(
                        "<path class=\"message{again} s{colour}\" marker-end=\"url(#head{colour})\" d=\"M{points}\"/>"
                    ),
                ),
                None => {
                    let (x, y) = *route.points.last().expect("a way has two ends at least");
                    let cross = format!("M{:.1} {:.1} l6 6 m0 -6 l-6 6", x - 3.0, y - 3.0);
                    (
                        self.undelivered(&route.arrows),
                        format!("<path class=\"lost\" d=\"M{points}\"/><path class=\"cross\" d=\"{cross}\"/>"),
                    )
                }
            };
            let _ = writeln!(self.svg, "<g class=\"arrow\"><title>{}</title>{line}</g>", xml(&title));
        }
    }

    /// The text of a message, its sender and the sending step.
    fn head(&self, arrow: &Arrow) -> String {
        let (from, sent) = (self.recording.names.of(arrow.from), self.recording.sent(arrow.sent));
        format!("{}\nsent by {from} {sent}", self.recording.message(&arrow.payload))
    }

    /// The hover text of undelivered messages: equal ones once, with all destinations.
    fn undelivered(&self, all: &[usize]) -> String {
        let mut said: Vec<(&Arrow, Vec<u32>)> = Vec::new();
        for arrow in all.iter().map(|index| &self.arrows[*index]) {
            let is_same =
                |(other, _): &(&Arrow, Vec<u32>)| (&other.payload, other.fate) == (&arrow.payload, arrow.fate);
            match said.iter().position(is_same) {
                Some(place) => said[place].1.push(arrow.to),
                None if said.len() < TITLES_MAX => said.push((arrow, vec![arrow.to])),
                None => {}
            }
        }
        let line = |(arrow, to): &(&Arrow, Vec<u32>)| {
            format!("{} to {}, {}", self.head(arrow), self.recording.names.list(to), undelivered(arrow))
        };
        said.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Draws the notes, and next to other arrows, if there is room, the word at repeated deliveries and the names of lost messages: the
    /// text of the losing step names them, too.
    pub(super) fn names(&mut self, routes: &[Route<'_>]) {
        for index in 0..self.layout.notes.len() {
            if self.is_full() {
                return;
            }
            let note = &self.layout.notes[index];
            let (area, text) = (self.layout.area(note), note.text.clone());
            let is_left = note.is_left;
            let class = if note.is_end() { "bad" } else { "faint" };
            self.text(area, is_left, class, &text);
        }
        for route in routes {
            if self.is_full() {
                break;
            }
            let arrow = route.arrow;
            let (text, spots) = match arrow.fate {
                Fate::Delivered(_) if arrow.again.is_some() => ("again".to_owned(), along(&route.points)),
                Fate::Lost(_) if arrow.from != arrow.to => {
                    let end = *route.points.last().expect("a way has two ends at least");
                    (format!("{} lost", name(self.recording, arrow)), vec![end])
                }
                _ => continue,
            };
            let width = LETTER * text.chars().count() as f64;
            let places: Vec<(Area, f64)> = spots.iter().flat_map(|spot| around(spot.0, spot.1, width)).collect();
            let places: Vec<(Area, f64)> =
                places.into_iter().filter(|(area, _)| area.left + area.width < self.layout.width).collect();
            let Some(chosen) = self.ground.place(None, places.iter().copied()) else { continue };
            self.text(places[chosen].0, false, "faint", &text);
        }
    }

    /// A line of text in its area.
    fn text(&mut self, area: Area, is_left: bool, class: &str, text: &str) {
        let (side, at) = if is_left { (" left", area.left + area.width) } else { ("", area.left) };
        let (class, text) = (format!("halo{side} {class}"), xml(text));
        let _ = writeln!(self.svg, "<text class=\"{class}\" x=\"{at:.1}\" y=\"{:.1}\">{text}</text>", area.top + 9.5);
    }
}

fn lines(points: &[(f64, f64)]) -> impl Iterator<Item = Line> {
    points.windows(2).map(|ends| [ends[0], ends[1]])
}

/// Spots near the end of a way, then towards its beginning.
fn along(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let [from, to] = [points[points.len() - 2], points[points.len() - 1]];
    let spot = |part: f64| (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part);
    [0.8, 0.65, 0.5, 0.35, 0.2].map(spot).to_vec()
}

/// Places around a spot, cheapest first.
fn around(x: f64, y: f64, width: f64) -> Vec<(Area, f64)> {
    let mut places = Vec::new();
    for (row, price) in [(0.0, 0.0), (0.6, 0.4), (-0.6, 0.5), (1.2, 0.8), (-1.2, 1.0), (2.0, 2.0), (-2.0, 2.4)] {
        let top = y - 6.0 + LINE * row;
        let side = |left: f64, own: f64| (Area { left, top, width, height: LINE }, price + own);
        for (away, own) in [(8.0, 0.0), (20.0, 1.0)] {
            places.push(side(x + away, own));
            places.push(side(x - away - width, own + 0.2));
        }
        if row != 0.0 {
            places.push(side(x - width / 2.0, 0.3));
        }
    }
    // The numbers of the steps stand left of it.
    places.retain(|(area, _)| area.left > LEFT - 32.0);
    places
}
