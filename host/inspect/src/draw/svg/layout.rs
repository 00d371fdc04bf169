//! The layout of a diagram: a column per node as wide as its texts, and a row per step as high as its texts.

use std::collections::BTreeMap;

use host_model::contract::NodeId;

use crate::draw::ground::Area;
use crate::draw::parts::label;
use crate::explain;
use crate::graph::Arrow;
use crate::marks::marks;
use crate::recording::Recording;
use crate::words::{ABSENT, clipped};

use super::notes::{LETTER, LINE, Note, notes};

/// Pixels above the first step, for the names of the nodes.
pub(super) const HEAD: f64 = 64.0;

/// Pixels left of the first node, for the numbers of the steps.
pub(super) const LEFT: f64 = 76.0;

/// The width in pixels of a letter of a change.
pub(super) const SMALL_LETTER: f64 = 6.1;

/// The minimum distance in pixels between two steps, and between two columns.
const ROW_MIN: f64 = 32.0;
const COLUMN_MIN: f64 = 130.0;

/// The maximum length in letters of a node's name above its lifeline, and the width in pixels of a letter.
const HEAD_LETTERS: usize = 26;
const HEAD_LETTER: f64 = 7.4;

/// Pixels above the names of the nodes, without a title.
const TOP: f64 = 28.0;

/// The distance in pixels between two texts in one column.
const BETWEEN: f64 = 22.0;

/// The distance in pixels between the prefix and the other steps.
const PREFIX: f64 = 16.0;

/// The maximum length in letters of a line, and the maximum number of lines of an event and of its changes.
const LETTERS_MAX: usize = 48;
const LINES_MAX: usize = 3;

/// The minimum width in pixels of the drawing: the legend needs it.
const WIDTH_MIN: f64 = 640.0;

/// The text next to a step.
pub(super) struct StepText {
    /// The event.
    pub(super) event: Vec<String>,
    /// The change, the one that matters to the property first.
    pub(super) change: Vec<String>,
    /// Whether it has such a change.
    pub(super) is_marked: bool,
}

impl StepText {
    fn new(recording: &Recording, number: usize, mark: Option<&String>) -> Self {
        let change = mark.cloned().unwrap_or_else(|| explain::changes(recording, number).join(", "));
        Self {
            event: wrapped(&label(recording, number), LETTERS_MAX, LINES_MAX),
            change: wrapped(&change, LETTERS_MAX, LINES_MAX),
            is_marked: mark.is_some(),
        }
    }

    pub(super) fn width(&self) -> f64 {
        let widest = |lines: &[String]| lines.iter().map(|line| line.chars().count()).max().unwrap_or(0) as f64;
        (widest(&self.event) * LETTER).max(widest(&self.change) * SMALL_LETTER)
    }

    /// The areas of the lines of the text, each as wide as its line.
    pub(super) fn lines(&self, area: Area, is_left: bool) -> Vec<Area> {
        let event = self.event.iter().map(|line| LETTER * line.chars().count() as f64);
        let change = self.change.iter().map(|line| SMALL_LETTER * line.chars().count() as f64);
        let line = |(width, row): (f64, u32)| {
            let left = if is_left { area.left + area.width - width } else { area.left };
            Area { left, top: area.top + LINE * f64::from(row), width, height: LINE }
        };
        event.chain(change).zip(0..).map(line).collect()
    }

    pub(super) fn height(&self) -> f64 {
        LINE * (self.event.len() + self.change.len()) as f64
    }
}

/// The layout of a diagram.
pub(super) struct Layout {
    /// The lifeline of each node, and the right end of the last column.
    columns: Vec<f64>,
    /// The height of each step; the first one is the start.
    rows: Vec<f64>,
    /// The texts of the steps.
    pub(super) texts: Vec<StepText>,
    /// The nodes of the steps.
    nodes: Vec<NodeId>,
    /// The notes.
    pub(super) notes: Vec<Note>,
    /// The names of the nodes.
    pub(super) heads: Vec<String>,
    /// The width in pixels of the drawing.
    pub(super) width: f64,
    /// Lines above the names of the nodes.
    pub(super) title: Vec<String>,
}

impl Layout {
    /// The layout of a recording with this many steps in its prefix.
    pub(super) fn new(recording: &Recording, arrows: &[Arrow], title: &str, prefix: usize) -> Self {
        let marks = marks(recording).steps;
        let text = |(number, mark): (usize, &Option<String>)| StepText::new(recording, number, mark.as_ref());
        let texts: Vec<StepText> = (1..).zip(&marks).map(text).collect();
        let notes = notes(recording, arrows);
        let heads: Vec<String> = (0..recording.nodes()).map(|node| head(recording, node)).collect();
        let nodes = recording.trace.steps.iter().map(|step| step.node).collect();
        let (columns, rows, width) = (Vec::new(), Vec::new(), 0.0);
        let mut layout = Self { columns, rows, texts, nodes, notes, heads, width, title: Vec::new() };
        layout.set_columns();
        layout.title = wrapped(title, letters(layout.width - 48.0, 8.2), 4);
        layout.set_rows(arrows, prefix);
        layout
    }

    /// Makes room for the names of the nodes, for the texts right of each lifeline, and for the notes left of the next one.
    fn set_columns(&mut self) {
        let half =
            |node: usize| self.heads.get(node).map_or(16.0, |head| HEAD_LETTER * head.chars().count() as f64 / 2.0);
        let nodes = self.heads.len();
        let mut needed: Vec<f64> = (0..nodes).map(|node| COLUMN_MIN.max(half(node) + half(node + 1) + 16.0)).collect();
        let mut need = |column: usize, width: f64| needed[column] = needed[column].max(width);
        for (node, text) in self.nodes.iter().zip(&self.texts) {
            need(*node as usize, text.width() + 60.0);
        }
        // For each step, and for the start, where all nodes may send: notes right of a lifeline, and left of the next one.
        let mut aside: BTreeMap<(usize, NodeId), [f64; 2]> = BTreeMap::new();
        for note in &self.notes {
            // No note is left of the first lifeline.
            let column = if note.is_left { note.node.saturating_sub(1) } else { note.node };
            let widest = &mut aside.entry((note.row, column)).or_default()[usize::from(note.is_left)];
            *widest = widest.max(note.width());
        }
        for ((_, column), [right, left]) in aside {
            need(column as usize, right + left + 40.0);
        }
        let first = (LEFT + 34.0).max(half(0) + 8.0);
        self.columns = vec![first];
        self.columns.extend(needed.iter().scan(first, |x, width| {
            *x += width;
            Some(*x)
        }));
        self.width = self.columns.last().expect("the first column begins somewhere").max(WIDTH_MIN);
    }

    /// Makes room for the texts and notes of each step, and above a step for its text if messages leave to the right.
    fn set_rows(&mut self, arrows: &[Arrow], prefix: usize) {
        let start = TOP + 17.0 * self.title.len() as f64 + HEAD - 20.0;
        let mut leaves_right = vec![false; self.texts.len() + 1];
        for arrow in arrows.iter().filter(|arrow| arrow.to > arrow.from && arrow.end().is_some()) {
            leaves_right[arrow.sent] = true;
        }
        let mut notes = vec![0.0f64; self.texts.len() + 1];
        for note in &self.notes {
            let below = self.above_notes(note) + LINE * (note.place + 1) as f64;
            notes[note.row] = notes[note.row].max(below);
        }
        let (mut y, mut rows) = (start, vec![start]);
        for step in 1..=self.texts.len() {
            let text = self.texts[step - 1].height();
            let before = if step > 1 { self.texts[step - 2].height() } else { 0.0 };
            let below = notes[step - 1].max(before);
            let is_same = step == 1 || self.nodes[step - 1] == self.nodes[step - 2];
            let above = if is_same && leaves_right[step] { text } else { 0.0 };
            let divider = if step == prefix + 1 && prefix > 0 { PREFIX } else { 0.0 };
            let gap = ROW_MIN.max(below.max(text) + BETWEEN).max(below + above + BETWEEN);
            y += gap + divider;
            rows.push(y);
        }
        let last = self.texts.last().map_or(0.0, StepText::height);
        self.rows = rows;
        self.rows.push(self.y(self.steps()) + ROW_MIN.max(last.max(notes[self.steps()]) + 16.0));
    }

    /// The distance in pixels from the top of a step's text to the notes of that step.
    fn above_notes(&self, note: &Note) -> f64 {
        let is_below = note.row > 0 && !note.is_left && self.nodes[note.row - 1] == note.node;
        if is_below { self.texts[note.row - 1].height() + 1.0 } else { 10.0 }
    }

    /// The top of the group of notes with this one.
    pub(super) fn notes_top(&self, note: &Note) -> f64 {
        self.y(note.row) - 7.0 + self.above_notes(note)
    }

    /// The area of the text of a note.
    pub(super) fn area(&self, note: &Note) -> Area {
        note.area(self.x(note.node), self.notes_top(note))
    }

    /// The position of the lifeline of a node.
    pub(super) fn x(&self, node: NodeId) -> f64 {
        self.columns[node as usize]
    }

    /// The distance in pixels between the lifeline of a node and the next one.
    pub(super) fn column(&self, node: NodeId) -> f64 {
        self.columns[node as usize + 1] - self.x(node)
    }

    /// The height of a step; 0 is `init`.
    pub(super) fn y(&self, step: usize) -> f64 {
        self.rows[step]
    }

    /// The number of steps.
    pub(super) fn steps(&self) -> usize {
        self.texts.len()
    }

    /// The bottom of the lifelines.
    pub(super) fn bottom(&self) -> f64 {
        *self.rows.last().expect("the end is a row")
    }

    /// The heights of the previous and the next step of a step's node.
    pub(super) fn neighbours(&self, step: usize) -> (f64, f64) {
        let node = self.nodes[step - 1];
        let before = self.nodes[..step - 1].iter().rposition(|other| *other == node);
        let after = self.nodes[step..].iter().position(|other| *other == node);
        let before = before.map_or(f64::NEG_INFINITY, |index| self.y(index + 1));
        (before, after.map_or(f64::INFINITY, |index| self.y(step + 1 + index)))
    }
}

/// The name of a node above its lifeline.
fn head(recording: &Recording, node: NodeId) -> String {
    let name = recording.names.with_number(node);
    match recording.trace.scenario.absent.contains(&node) {
        true => format!("{}, {ABSENT}", clipped(&name, HEAD_LETTERS - ABSENT.len() - 2)),
        false => clipped(&name, HEAD_LETTERS),
    }
}

/// The number of letters that fit into a width.
pub(super) fn letters(width: f64, letter: f64) -> usize {
    (width / letter) as usize
}

/// A text in lines; a text that does not fit is cut off, which its end shows.
pub(super) fn wrapped(text: &str, letters_max: usize, lines_max: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    // Only as much text as can fit is examined.
    for word in clipped(text, letters_max * lines_max + 1).split(' ') {
        let mut rest: Vec<char> = word.chars().collect();
        let room = letters_max.saturating_sub(line.chars().count() + 1);
        if !line.is_empty() && rest.len() > room {
            lines.push(std::mem::take(&mut line));
        }
        while rest.len() > letters_max {
            lines.push(rest.drain(..letters_max).collect());
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(rest);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    if lines.len() > lines_max {
        lines.truncate(lines_max);
        let last = lines.last_mut().expect("there is room for a line");
        *last = clipped(&format!("{last}  "), letters_max.min(last.chars().count() + 1));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_take_several_lines() {
        assert_eq!(wrapped("one two three", 7, 3), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghij k", 4, 3), ["abcd", "efgh", "ij k"]);
        assert!(wrapped("", 7, 3).is_empty());
        let cut = wrapped("one two three four", 7, 2);
        assert_eq!((cut.len(), &*cut[0]), (2, "one two"));
        assert!(cut[1].ends_with('\u{2026}') && cut[1].chars().count() <= 7, "{cut:?}");
    }
}
