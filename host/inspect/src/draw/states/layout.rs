//! The place of each state of a graph: rows by depth, and in a row an order with few crossings.
//!
//! Source: Sugiyama, Tagawa, Toda, "Methods for visual understanding of hierarchical system structures", 1981; the rows are given, and
//! arrows across several rows are straight.

use std::collections::BTreeMap;

use super::StateGraph;
use crate::draw::ground::Area;

/// Units per letter and line, and between boxes.
pub(super) const LETTER: f64 = 6.7;
pub(super) const LINE: f64 = 14.0;
const PADDING: f64 = 10.0;
const GAP: f64 = 36.0;
const ROW_GAP: f64 = 84.0;
const MARGIN: f64 = 28.0;

/// The height of the title.
const TOP: f64 = 64.0;

/// The number of sweeps over all rows, down and up.
const SWEEPS: usize = 4;

/// All rectangles, and the size of the drawing.
pub(super) struct Layout {
    pub boxes: Vec<Area>,
    /// The bottom of each row of states, and the top of the next one.
    pub gaps: Vec<(f64, f64)>,
    /// The right end of the widest row.
    pub right: f64,
    pub width: f64,
    pub height: f64,
}

impl Layout {
    /// The layout of a graph whose title has `title` letters, with extra room below some rows and right of some states.
    pub(super) fn new(graph: &StateGraph, title: usize, room: &Room) -> Self {
        let rows = ordered(graph);
        let mut boxes = vec![Area::default(); graph.states.len()];
        for (state, place) in boxes.iter_mut().enumerate() {
            let lines = graph.lines(state);
            let letters = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
            place.width = letters as f64 * LETTER + 2.0 * PADDING;
            place.height = lines.len() as f64 * LINE + 2.0 * PADDING - 4.0;
        }
        let right_of = |state: usize| room.right_of.get(&state).copied().unwrap_or_default();
        let row_width = |row: &Vec<usize>| {
            let widths = row.iter().map(|state| boxes[*state].width + right_of(*state));
            widths.sum::<f64>() + GAP * row.len().saturating_sub(1) as f64
        };
        let widest = rows.values().map(row_width).fold(title as f64 * LETTER, f64::max);
        let (mut top, mut gaps) = (TOP, Vec::with_capacity(rows.len()));
        let lefts: Vec<f64> = rows.values().map(|row| MARGIN + (widest - row_width(row)) / 2.0).collect();
        for (number, (row, mut left)) in rows.values().zip(lefts).enumerate() {
            let height = row.iter().map(|state| boxes[*state].height).fold(0.0, f64::max);
            for state in row {
                let place = &mut boxes[*state];
                (place.left, place.top) = (left, top + (height - place.height) / 2.0);
                left += place.width + right_of(*state) + GAP;
            }
            let is_last = number + 1 == rows.len();
            let usual = if is_last { 0.0 } else { ROW_GAP };
            let gap = usual + room.below.get(&number).copied().unwrap_or_default();
            gaps.push((top + height, top + height + gap));
            top += height + gap;
        }
        // Arrows back bend to the right.
        let right = widest + MARGIN;
        Self { boxes, gaps, right, width: right + MARGIN + ROW_GAP + room.right, height: top + MARGIN }
    }

    /// The row whose gap below is at this height, or next to it.
    pub(super) fn row_at(&self, y: f64) -> usize {
        let below = self.gaps.iter().position(|(_, end)| y <= *end);
        below.unwrap_or(self.gaps.len().saturating_sub(1))
    }
}

/// The room for labels, in addition to a drawing without them.
#[derive(Default)]
pub(super) struct Room {
    /// Below rows.
    pub below: BTreeMap<usize, f64>,
    /// Right of states.
    pub right_of: BTreeMap<usize, f64>,
    /// Right of all states.
    pub right: f64,
}

/// The states of each row by depth, from left to right.
fn ordered(graph: &StateGraph) -> BTreeMap<u32, Vec<usize>> {
    let mut rows = BTreeMap::<u32, Vec<usize>>::new();
    for (state, drawn) in graph.states.iter().enumerate() {
        rows.entry(drawn.depth).or_default().push(state);
    }
    let mut neighbours = vec![Vec::new(); graph.states.len()];
    for ((from, to), _) in graph.arrows() {
        neighbours[from].push(to);
        neighbours[to].push(from);
    }
    let mut places = vec![0.0; graph.states.len()];
    let settle = |row: &[usize], places: &mut Vec<f64>| {
        let of = |index: usize| (index as f64 + 0.5) / row.len() as f64;
        row.iter().enumerate().for_each(|(index, state)| places[*state] = of(index));
    };
    rows.values().for_each(|row| settle(row, &mut places));
    for sweep in 0..SWEEPS {
        let is_down = sweep % 2 == 0;
        let depths: Vec<u32> = rows.keys().copied().collect();
        let depths: Vec<u32> = if is_down { depths } else { depths.into_iter().rev().collect() };
        for depth in depths {
            let row = rows.get_mut(&depth).expect("the depths are the keys of the rows");
            // The middle of the neighbours in rows that are ordered already; without any, a state stays.
            let wish = |state: usize| {
                let settled = neighbours[state].iter().filter(|other| {
                    let theirs = graph.states[**other].depth;
                    if is_down { theirs < depth } else { theirs > depth }
                });
                let (sum, count) = settled.fold((0.0, 0), |(sum, count), other| (sum + places[*other], count + 1));
                if count == 0 { places[state] } else { sum / f64::from(count) }
            };
            let mut wishes: Vec<(u32, f64, usize)> =
                row.iter().map(|state| (graph.states[*state].part, wish(*state), *state)).collect();
            wishes.sort_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
            *row = wishes.into_iter().map(|(.., state)| state).collect();
            let row = row.clone();
            settle(&row, &mut places);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::states::{DrawnEdge, DrawnState};

    fn graph(depths: &[u32], edges: &[(usize, usize)]) -> StateGraph {
        let edge = |(from, to): &(usize, usize)| DrawnEdge { from: *from, to: *to, event: "e".to_owned() };
        StateGraph {
            states: depths.iter().map(|depth| DrawnState { depth: *depth, ..DrawnState::default() }).collect(),
            edges: edges.iter().map(edge).collect(),
            ..StateGraph::default()
        }
    }

    #[test]
    fn arrows_between_rows_do_not_cross_if_they_need_not() {
        // 0 and 1 above 2 and 3, each with an arrow to the farther one.
        let crossed = graph(&[0, 0, 1, 1], &[(0, 3), (1, 2)]);
        assert_eq!(ordered(&crossed)[&1], [3, 2]);
    }

    #[test]
    fn boxes_do_not_overlap() {
        let graph = graph(&[0, 1, 1, 1, 2, 2], &[(0, 1), (0, 2), (0, 3), (1, 4), (3, 5), (5, 0), (2, 2)]);
        let Layout { boxes, width, height, .. } = Layout::new(&graph, 10, &Room::default());
        for (index, one) in boxes.iter().enumerate() {
            assert!(one.left >= 0.0 && one.left + one.width <= width && one.top + one.height <= height, "{one:?}");
            for other in &boxes[index + 1..] {
                let is_apart = one.left + one.width < other.left || other.left + other.width < one.left;
                let is_below = one.top + one.height < other.top || other.top + other.height < one.top;
                assert!(is_apart || is_below, "{one:?} and {other:?}");
            }
        }
    }
}
