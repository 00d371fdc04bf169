//! Messages as arrows: to where they are delivered, or a short way to where they are not.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write;

use host_model::contract::NodeId;

use crate::draw::kinds;
use crate::draw::parts::undelivered;
use crate::escape::xml;
use crate::graph::{Arrow, Fate};
use crate::words::clipped;

use super::ground::{Area, Line};
use super::layout::{LETTER, LINE};
use super::{COLOURS, Painter};

/// Letters of a message that is not delivered; of a longer one the kind is named. Letters of the list of its destinations.
const LETTERS_MAX: usize = 30;

/// The way of an arrow, or of several equal ones that end nowhere.
pub(super) struct Route<'d> {
    arrow: &'d Arrow,
    /// The destinations.
    to: Vec<NodeId>,
    /// Its corners.
    points: Vec<(f64, f64)>,
}

impl<'d> Painter<'d> {
    /// The ways of all messages, which are taken on the ground.
    pub(super) fn routes(&mut self) -> Vec<Route<'d>> {
        let mut routes: Vec<Route<'d>> = Vec::new();
        // Equal messages that are never delivered go a short way together: those of one step, in one direction.
        let mut stubs: BTreeMap<(NodeId, usize, Ordering), Vec<usize>> = BTreeMap::new();
        for arrow in self.arrows {
            let direction = arrow.to.cmp(&arrow.from);
            let is_stub = arrow.fate == Fate::InFlight || (arrow.delivered().is_none() && direction == Ordering::Equal);
            if !is_stub {
                let points = self.points(arrow);
                routes.push(Route { arrow, to: vec![arrow.to], points });
                continue;
            }
            let beside = stubs.entry((arrow.from, arrow.sent, direction)).or_default();
            let is_same = |index: &&usize| {
                let other = routes[**index].arrow;
                (&other.payload, other.fate, other.again) == (&arrow.payload, arrow.fate, arrow.again)
            };
            if let Some(index) = beside.iter().find(is_same).copied() {
                routes[index].to.push(arrow.to);
                continue;
            }
            let (x, y) = (self.layout.x(arrow.from), self.layout.y(arrow.sent));
            let down = 12.0 + 9.0 * (beside.len() as f64).min(6.0);
            let points = match direction {
                Ordering::Less => vec![(x, y), (x - 26.0, y + down)],
                Ordering::Equal => vec![(x, y), (x - 12.0, y + down + 4.0)],
                Ordering::Greater => vec![(x, y), (x + 26.0, y + down)],
            };
            beside.push(routes.len());
            routes.push(Route { arrow, to: vec![arrow.to], points });
        }
        for route in &routes {
            for line in lines(&route.points) {
                self.ground.add_line(line);
            }
        }
        routes
    }

    /// The way of an arrow to the step in which it ends.
    fn points(&self, arrow: &Arrow) -> Vec<(f64, f64)> {
        let end = arrow.end().expect("it ends in a step");
        let (from, to) =
            ((self.layout.x(arrow.from), self.layout.y(arrow.sent)), (self.layout.x(arrow.to), self.layout.y(end)));
        if arrow.from == arrow.to {
            // Beside the node's line, the further the longer it takes.
            let bulge = 12.0 + ((end - arrow.sent) as f64).min(10.0);
            let bend = 12.0f64.min((to.1 - from.1) / 2.0);
            return vec![from, (from.0 - bulge, from.1 + bend), (to.0 - bulge, to.1 - bend), (to.0 - 7.0, to.1)];
        }
        // Up to the rim of the sign of the step.
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
            let sent = format!("sent by {} {}", self.recording.names.of(arrow.from), self.recording.sent(arrow.sent));
            let head = format!("{}\n{sent}", self.recording.message(&arrow.payload));
            let again = if arrow.again.is_some() { " again" } else { "" };
            let points: Vec<String> = route.points.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
            let (colour, points) = (arrow.from % COLOURS, points.join(" L"));
            let (title, line) = match arrow.delivered() {
                Some(delivered) => (
                    format!("{head}, delivered{again} to {} in step {delivered}", self.recording.names.of(arrow.to)),
                    format!(
                        "<path class=\"message{again} s{colour}\" marker-end=\"url(#head{colour})\" d=\"M{points}\"/>"
                    ),
                ),
                None => {
                    let (x, y) = *route.points.last().expect("it ends somewhere");
                    let cross = format!("M{:.1} {:.1} l6 6 m0 -6 l-6 6", x - 3.0, y - 3.0);
                    (
                        format!("{head} to {}, {}", self.recording.names.list(&route.to), undelivered(arrow)),
                        format!("<path class=\"lost\" d=\"M{points}\"/><path class=\"cross\" d=\"{cross}\"/>"),
                    )
                }
            };
            let kind = self.kind(arrow);
            let _ = writeln!(self.svg, "<g class=\"arrow\"{kind}><title>{}</title>{line}</g>", xml(&title));
        }
    }

    /// The names of messages that are not delivered, and the word at those that are delivered again.
    pub(super) fn names(&mut self, routes: &[Route<'_>]) {
        for route in routes {
            if self.is_full() {
                break;
            }
            let arrow = route.arrow;
            let name = || {
                let message = self.recording.message(&arrow.payload);
                let is_short = message.chars().count() <= LETTERS_MAX;
                if is_short { message } else { format!("{} \u{2026}", kinds::name(self.recording, &arrow.payload)) }
            };
            let (text, spots) = match arrow.fate {
                Fate::Delivered(_) if arrow.again.is_none() => continue,
                Fate::Delivered(_) => ("again".to_owned(), along(&route.points)),
                Fate::Lost(_) => (format!("{} lost", name()), vec![*route.points.last().expect("it ends somewhere")]),
                Fate::InFlight => {
                    let names = &self.recording.names;
                    let to =
                        route.to.iter().map(|node| names.get(*node).map_or_else(|| node.to_string(), str::to_owned));
                    let to = clipped(&to.collect::<Vec<_>>().join(", "), LETTERS_MAX);
                    (format!("{} to {to}", name()), vec![*route.points.last().expect("it ends somewhere")])
                }
            };
            let width = LETTER * text.chars().count() as f64;
            let places: Vec<(Area, f64)> = spots.iter().flat_map(|spot| around(*spot, width)).collect();
            let Some(chosen) = self.ground.place(places.iter().copied()) else { continue };
            let (area, _) = places[chosen];
            let kind = self.kind(arrow);
            let _ = writeln!(
                self.svg,
                "<text class=\"halo faint\" x=\"{:.1}\" y=\"{:.1}\"{kind}>{}</text>",
                area.left,
                area.top + 9.5,
                xml(&text)
            );
        }
    }

    /// The attribute with the kind of a message, in a page.
    fn kind(&self, arrow: &Arrow) -> String {
        let kind = self.kinds.map(|kinds| kinds.of(self.recording, &arrow.payload));
        kind.map(|kind| format!(" data-kind=\"{kind}\"")).unwrap_or_default()
    }
}

fn lines(points: &[(f64, f64)]) -> impl Iterator<Item = Line> {
    points.windows(2).map(|ends| [ends[0], ends[1]])
}

/// Spots near the end of a way, then nearer to its beginning.
fn along(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let [from, to] = [points[points.len() - 2], points[points.len() - 1]];
    let spot = |part: f64| (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part);
    [0.8, 0.65, 0.5, 0.35, 0.2].map(spot).to_vec()
}

/// Places around a spot, the best ones first.
fn around((x, y): (f64, f64), width: f64) -> Vec<(Area, f64)> {
    let mut places = Vec::new();
    for (row, price) in
        [(0.0, 0.0), (0.6, 0.4), (-0.6, 0.5), (1.2, 0.8), (-1.2, 1.0), (2.0, 2.0), (-2.0, 2.4), (3.0, 3.0), (-3.0, 3.4)]
    {
        let top = y - 6.0 + LINE * row;
        let side = |left: f64, own: f64| (Area { left, top, width, height: LINE }, price + own);
        for (away, own) in [(8.0, 0.0), (30.0, 1.5), (60.0, 3.5)] {
            places.push(side(x + away, own));
            places.push(side(x - away - width, own + 0.2));
        }
        if row != 0.0 {
            places.push(side(x - width / 2.0, 0.3));
        }
    }
    places.retain(|(area, _)| area.left > 0.0);
    places
}
