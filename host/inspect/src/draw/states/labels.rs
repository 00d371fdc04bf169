//! Arrows between states, and the places of their events: along the arrow, apart from states and from one another.

use crate::draw::ground::{Area, Ground};

use super::layout::{Layout, Room};
use super::{StateGraph, TEXTS_MAX, short};

/// The size in pixels of a letter and of a line of a label, and the margin around it.
const LETTER: f64 = 6.1;
pub(super) const LINE: f64 = 12.0;
const AROUND: f64 = 3.0;

/// The maximum number of times that the drawing grows for labels without room, by more each time.
const ROUNDS_MAX: usize = 12;

/// The number of places tried along a way.
const PLACES: u32 = 80;

/// Pixels between a state and the label of an arrow to itself, and between the states and the arrows back.
const LOOP: f64 = 32.0;
const BACK: f64 = 40.0;

/// A cubic Bézier curve: start, two control points, and end.
#[derive(Clone, Copy)]
pub(super) struct Way([(f64, f64); 4]);

impl Way {
    /// The path in the syntax of SVG.
    pub(super) fn path(self) -> String {
        let [(x, y), (x1, y1), (x2, y2), (x3, y3)] = self.0;
        format!("M{x:.1} {y:.1} C{x1:.1} {y1:.1} {x2:.1} {y2:.1} {x3:.1} {y3:.1}")
    }

    /// The point at a fraction of the curve.
    fn at(self, part: f64) -> (f64, f64) {
        let rest = 1.0 - part;
        let weights = [rest.powi(3), 3.0 * rest * rest * part, 3.0 * rest * part * part, part.powi(3)];
        let points = self.0.iter().zip(weights);
        points.fold((0.0, 0.0), |(x, y), (point, weight)| (x + point.0 * weight, y + point.1 * weight))
    }
}

/// An arrow with its events.
pub(super) struct Arrow {
    pub way: Way,
    /// All events.
    pub events: Vec<String>,
    /// The label, and the middle of its top edge; none if it has no room.
    pub label: Vec<String>,
    pub at: Option<(f64, f64)>,
}

/// The layout of a graph with room for the labels of its arrows, and the arrows.
pub(super) fn arranged(graph: &StateGraph, title: usize) -> (Layout, Vec<Arrow>) {
    let arrows = graph.arrows();
    // Where states are drawn only with their numbers, events are only in hover texts.
    let label = |events: &Vec<String>| match graph.states.len() > TEXTS_MAX {
        true => Vec::new(),
        false => short(events).lines().map(str::to_owned).collect::<Vec<_>>(),
    };
    let labels: Vec<Vec<String>> = arrows.iter().map(|(_, events)| label(events)).collect();
    let mut room = Room::default();
    for (((from, to), _), label) in arrows.iter().zip(&labels) {
        if from == to {
            room.right_of.insert(*from, LOOP + 8.0 + width(label));
        } else if graph.states[*from].depth > graph.states[*to].depth {
            room.right = room.right.max(width(label));
        }
    }
    let mut round = 0;
    loop {
        let layout = Layout::new(graph, title, &room);
        let ways: Vec<Way> = arrows.iter().map(|((from, to), _)| way(&layout, *from, *to)).collect();
        let places = place(&layout, &arrows, &ways, &labels);
        let is_without = |index: &usize| places[*index].is_none() && !labels[*index].is_empty();
        let without: Vec<usize> = (0..arrows.len()).filter(is_without).collect();
        if without.is_empty() || round == ROUNDS_MAX {
            let all = arrows.into_iter().zip(ways).zip(labels.into_iter().zip(places));
            let all = all.map(|(((_, events), way), (label, at))| Arrow { way, events, label, at });
            return (layout, all.collect());
        }
        for index in without {
            let (_, y) = ways[index].at(0.5);
            *room.below.entry(layout.row_at(y)).or_default() += 1.5 * height(&labels[index]);
        }
        round += 1;
    }
}

/// The way of an arrow from state to state.
fn way(layout: &Layout, from: usize, to: usize) -> Way {
    let (start, end): (Area, Area) = (layout.boxes[from], layout.boxes[to]);
    let ((x, y), (to_x, to_y)) = (start.center(), end.center());
    if from == to {
        let right = start.left + start.width;
        return Way([(right, y - 8.0), (right + 34.0, y - 22.0), (right + 34.0, y + 22.0), (right + 2.0, y + 10.0)]);
    }
    if to_y > y + 1.0 {
        let (top, bottom) = (start.top + start.height, end.top);
        let bend = (bottom - top) / 2.0;
        return Way([(x, top), (x, top + bend), (to_x, bottom - bend), (to_x, bottom)]);
    }
    let row = layout.row_at(start.top + start.height / 2.0);
    if (to_y - y).abs() < 1.0 && layout.gaps[row].1 > layout.gaps[row].0 {
        // Within a row: through the gap below it.
        let (top, other) = (start.top + start.height, end.top + end.height);
        let below = layout.gaps[row].1 - 8.0;
        return Way([(x, top), (x, below), (to_x, below), (to_x, other)]);
    }
    // Back to an earlier row: around the right side.
    let (right, other) = (start.left + start.width, end.left + end.width);
    let out = layout.right + BACK;
    Way([(right, y), (out, y), (out, to_y), (other, to_y)])
}

/// The middle of the top edge of each label with room. Arrows from a state to itself have theirs next to the state, so they come first.
fn place(
    layout: &Layout,
    arrows: &[((usize, usize), Vec<String>)],
    ways: &[Way],
    labels: &[Vec<String>],
) -> Vec<Option<(f64, f64)>> {
    let mut ground = Ground::default();
    for state in &layout.boxes {
        ground.add_text(*state);
    }
    // The area of title and legend.
    ground.add_text(Area { left: 0.0, top: 0.0, width: layout.width, height: 58.0 });
    let mut order: Vec<usize> = (0..arrows.len()).filter(|index| !labels[*index].is_empty()).collect();
    order.sort_by_key(|index| arrows[*index].0.0 != arrows[*index].0.1);
    let mut places = vec![None; arrows.len()];
    for index in order {
        let areas = areas(layout, arrows[index].0, ways[index], &labels[index]);
        let prices = areas.iter().zip(0..).map(|(area, number)| (*area, f64::from(number) / 10.0));
        let chosen = ground.place(None, prices).map(|chosen| areas[chosen]);
        places[index] = chosen.map(|area| (area.left + area.width / 2.0, area.top + AROUND));
    }
    places
}

/// Places of a label along its arrow, from the middle to both ends.
fn areas(layout: &Layout, ends: (usize, usize), way: Way, label: &[String]) -> Vec<Area> {
    let (from, to) = ends;
    let (width, height) = (width(label) + 2.0 * AROUND, height(label));
    let is_back = layout.boxes[from].top > layout.boxes[to].top;
    let area = |number: u32| {
        let off = f64::from(number.div_ceil(2)) / f64::from(PLACES) * if number.is_multiple_of(2) { 1.0 } else { -1.0 };
        let (x, y) = way.at(0.5 + off);
        let left = match from == to {
            true => layout.boxes[from].left + layout.boxes[from].width + LOOP,
            false if is_back && x > layout.right => x,
            false => x - width / 2.0,
        };
        let left = left.clamp(0.0, (layout.width - width).max(0.0));
        Area { left, top: (y - height / 2.0).clamp(0.0, (layout.height - height).max(0.0)), width, height }
    };
    (0..PLACES).map(area).collect()
}

fn width(label: &[String]) -> f64 {
    LETTER * label.iter().map(|line| line.chars().count()).max().unwrap_or(0) as f64
}

fn height(label: &[String]) -> f64 {
    LINE * label.len() as f64 + 2.0 * AROUND
}
