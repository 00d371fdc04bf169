//! Notes at a lifeline, in addition to the texts of the steps, each on its own
//! line: undelivered messages, and the end of a node.

use std::collections::BTreeMap;

use host_model::contract::NodeId;

use crate::draw::ground::Area;
use crate::draw::kinds;
use crate::graph::{Arrow, Fate};
use crate::recording::Recording;
use crate::words::clipped;

/// The width in pixels of a letter of an event or a note, and the distance between the lines of a text.
pub(super) const LETTER: f64 = 6.7;
pub(super) const LINE: f64 = 12.5;

/// The maximum length in letters of a message; a longer one is named by its kind. The same of the list of its destinations, and of a
/// whole note.
const LETTERS_MAX: usize = 30;
const NOTE_LETTERS_MAX: usize = 48;

/// The maximum number of notes on one side of a lifeline at one step; the last one stands for all others.
const NOTES_MAX: usize = 8;

/// The distances in pixels between a lifeline and the crosses of its notes, and from a cross to its text.
const CROSS: f64 = 12.0;
const GAP: f64 = 8.0;

/// The text of a crashed node's note.
const CRASHED: &str = "crashed";

/// A line at a lifeline.
pub(super) struct Note {
    /// The lifeline.
    pub(super) node: NodeId,
    /// The step; 0 is the start.
    pub(super) row: usize,
    /// Whether it stands left of the lifeline.
    pub(super) is_left: bool,
    /// The number of notes of its step above it.
    pub(super) place: usize,
    /// The text.
    pub(super) text: String,
    /// The messages as indices into the list of all; none for the end of a node.
    pub(super) arrows: Vec<usize>,
}

impl Note {
    /// The distance in pixels from its lifeline to its end.
    pub(super) fn width(&self) -> f64 {
        CROSS + GAP + LETTER * self.text.chars().count() as f64
    }

    /// The area of its text, at a lifeline at `x` whose notes begin at `top`.
    pub(super) fn area(&self, x: f64, top: f64) -> Area {
        let left = if self.is_left { x - self.width() } else { x + CROSS + GAP };
        Area { left, top: top + LINE * self.place as f64, width: self.width() - CROSS - GAP, height: LINE }
    }

    /// The place of its cross, next to its text.
    pub(super) fn cross(&self, x: f64, top: f64) -> (f64, f64) {
        (if self.is_left { x - CROSS } else { x + CROSS }, top + LINE * (self.place as f64 + 0.5))
    }

    /// Whether it marks the end of a node.
    pub(super) fn is_end(&self) -> bool {
        self.arrows.is_empty()
    }
}

/// Whether an arrow ends at no step of its destination, so that a note replaces it.
fn is_noted(arrow: &Arrow) -> bool {
    arrow.fate == Fate::InFlight || (arrow.delivered().is_none() && arrow.from == arrow.to)
}

/// For each step of a node, the number of arrows that begin or end on its left, and on its right.
fn touching(arrows: &[Arrow]) -> BTreeMap<(usize, NodeId), [usize; 2]> {
    let mut touching: BTreeMap<(usize, NodeId), [usize; 2]> = BTreeMap::new();
    for arrow in arrows.iter().filter(|arrow| !is_noted(arrow) && arrow.from != arrow.to) {
        let end = arrow.end().map(|end| (end, arrow.to, arrow.from));
        for (step, node, other) in [(arrow.sent, arrow.from, arrow.to)].into_iter().chain(end) {
            touching.entry((step, node)).or_default()[usize::from(other > node)] += 1;
        }
    }
    touching
}

/// All notes of a recording, each on the side of its lifeline with fewer arrows, or else on the side of its destination. Equal
/// messages of one step to several nodes on one side share a note.
pub(super) fn notes(recording: &Recording, arrows: &[Arrow]) -> Vec<Note> {
    let touching = touching(arrows);
    // Groups of equal messages, by step and side.
    let mut sides: BTreeMap<(usize, NodeId, bool), Vec<Vec<usize>>> = BTreeMap::new();
    for (index, arrow) in arrows.iter().enumerate().filter(|(_, arrow)| is_noted(arrow)) {
        let [left, right] = touching.get(&(arrow.sent, arrow.from)).copied().unwrap_or_default();
        let is_left = arrow.from > 0 && (left < right || (left == right && arrow.to < arrow.from));
        let groups = sides.entry((arrow.sent, arrow.from, is_left)).or_default();
        let is_same = |group: &&mut Vec<usize>| {
            let other = &arrows[group[0]];
            (&other.payload, other.fate, other.again) == (&arrow.payload, arrow.fate, arrow.again)
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    let mut notes = Vec::new();
    for ((row, node, is_left), mut groups) in sides {
        let rest: Vec<usize> = groups.drain(groups.len().min(NOTES_MAX - 1)..).flatten().collect();
        let is_rest = |place: usize| place == NOTES_MAX - 1;
        groups.extend((!rest.is_empty()).then_some(rest));
        for (place, group) in groups.into_iter().enumerate() {
            let is_one = group.iter().all(|index| arrows[*index].payload == arrows[group[0]].payload);
            let text = match is_rest(place) && !is_one {
                true => format!("{} more never delivered", group.len()),
                false => said(recording, arrows, &group),
            };
            notes.push(Note { node, row, is_left, place, text, arrows: group });
        }
    }
    for node in &recording.crashed {
        let row = recording.step_before(recording.steps.len() + 1, *node);
        let is_above = |note: &&Note| (note.row, note.node, note.is_left) == (row, *node, false);
        let place = notes.iter().filter(is_above).count();
        let text = CRASHED.to_owned();
        notes.push(Note { node: *node, row, is_left: false, place, text, arrows: Vec::new() });
    }
    notes
}

/// The text of equal messages with their destinations, or their fate.
fn said(recording: &Recording, arrows: &[Arrow], group: &[usize]) -> String {
    let arrow = &arrows[group[0]];
    let name = name(recording, arrow);
    if matches!(arrow.fate, Fate::Lost(_)) {
        return format!("{name} lost");
    }
    let names = &recording.names;
    let to = group.iter().map(|index| arrows[*index].to);
    let to = to.map(|node| names.get(node).map_or_else(|| node.to_string(), str::to_owned));
    let to = clipped(&to.collect::<Vec<_>>().join(", "), LETTERS_MAX);
    clipped(&format!("{name} to {to}"), NOTE_LETTERS_MAX)
}

/// A message, shortened.
pub(super) fn name(recording: &Recording, arrow: &Arrow) -> String {
    let message = recording.message(&arrow.payload);
    let is_short = message.chars().count() <= LETTERS_MAX;
    if is_short { message } else { format!("{} \u{2026}", kinds::name(recording, &arrow.payload)) }
}
