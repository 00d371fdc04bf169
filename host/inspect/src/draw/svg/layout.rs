//! Where things are in a diagram: a column per node as wide as its texts, and a row per step as high as its texts.

use std::collections::{BTreeMap, BTreeSet};

use host_model::contract::NodeId;

use crate::draw::marks::marks;
use crate::draw::parts::label;
use crate::explain;
use crate::graph::{Arrow, Fate};
use crate::recording::Recording;
use crate::words::clipped;

/// Pixels above the first step: names of the nodes.
pub(super) const HEAD: f64 = 64.0;

/// Pixels left of the first node: numbers of the steps.
pub(super) const LEFT: f64 = 76.0;

/// Pixels that a letter takes, of an event and of a change.
pub(super) const LETTER: f64 = 6.7;
pub(super) const SMALL_LETTER: f64 = 6.1;

/// Pixels between the lines of a text.
pub(super) const LINE: f64 = 12.5;

/// Pixels between two steps at least, and those of a column.
const ROW_MIN: f64 = 32.0;
const COLUMN_MIN: f64 = 130.0;

/// Letters of the name of a node above its lifeline, and the pixels of each.
pub(super) const HEAD_LETTERS: usize = 26;
const HEAD_LETTER: f64 = 8.2;

/// Letters of a line, and lines of an event and of its changes.
const LETTERS_MAX: usize = 48;
const LINES_MAX: usize = 3;

/// Pixels of the whole drawing at least: the legend has room in it.
const WIDTH_MIN: f64 = 640.0;

/// The text beside a step.
pub(super) struct StepText {
    /// The event.
    pub(super) event: Vec<String>,
    /// What changed, the change that matters to the property before all others.
    pub(super) change: Vec<String>,
    /// Whether it is such a change.
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

    pub(super) fn height(&self) -> f64 {
        LINE * (self.event.len() + self.change.len()) as f64
    }
}

/// Where things are.
pub(super) struct Layout {
    /// The lifeline of each node, and the right end of the last column.
    columns: Vec<f64>,
    /// The height of each step; the first one is the start.
    rows: Vec<f64>,
    /// The texts of the steps.
    pub(super) texts: Vec<StepText>,
    /// Pixels of the whole drawing.
    pub(super) width: f64,
    /// Lines above the names of the nodes.
    pub(super) title: Vec<String>,
}

impl Layout {
    pub(super) fn new(recording: &Recording, arrows: &[Arrow], title: &str) -> Self {
        let marks = marks(recording);
        let text = |(number, mark): (usize, &Option<String>)| StepText::new(recording, number, mark.as_ref());
        let texts: Vec<StepText> = (1..).zip(&marks).map(text).collect();
        let mut needed = vec![COLUMN_MIN; recording.nodes() as usize];
        for (node, needs) in (0..).zip(&mut needed) {
            if recording.names.get(node).is_some() {
                let letters = recording.names.with_number(node).chars().count().min(HEAD_LETTERS);
                *needs = needs.max(HEAD_LETTER * letters as f64 + 20.0);
            }
        }
        for (step, text) in recording.trace.steps.iter().zip(&texts) {
            let needs = &mut needed[step.node as usize];
            *needs = needs.max(text.width() + 60.0);
        }
        let mut columns = vec![LEFT + 34.0];
        columns.extend(needed.iter().scan(LEFT + 34.0, |x, width| {
            *x += width;
            Some(*x)
        }));
        let width = columns.last().expect("there is the end").max(WIDTH_MIN);
        let title = wrapped(title, letters(width - 48.0, 8.2), 4);
        let top = 28.0 + 17.0 * title.len() as f64 + HEAD - 20.0;
        let mut rows = vec![top];
        let (mut above, names) = (0.0, names(arrows));
        for (before, text) in texts.iter().enumerate() {
            // Room for the text of this step above its line, or for that of the last step below it, and for the names of the messages
            // of the last step that go nowhere.
            let gap = ROW_MIN.max(text.height().max(above) + 14.0);
            let named = LINE * names.get(&before).copied().unwrap_or_default() as f64;
            rows.push(rows.last().expect("there is the start") + gap + named);
            above = text.height();
        }
        Self { columns, rows, texts, width, title }
    }

    /// The lifeline of a node.
    pub(super) fn x(&self, node: NodeId) -> f64 {
        self.columns[node as usize]
    }

    /// Pixels between the lifeline of a node and the next one.
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

    /// Where the lifelines end.
    pub(super) fn bottom(&self) -> f64 {
        let below = self.texts.last().map_or(0.0, StepText::height);
        self.rows.last().expect("there is the start") + ROW_MIN.max(below + 16.0)
    }
}

/// How many names of messages that are never delivered stand at each step.
fn names(arrows: &[Arrow]) -> BTreeMap<usize, usize> {
    let lost = arrows.iter().filter(|arrow| arrow.fate == Fate::InFlight);
    let named: BTreeSet<_> = lost.map(|arrow| (arrow.sent, arrow.to.cmp(&arrow.from), &arrow.payload)).collect();
    let mut names = BTreeMap::new();
    for (sent, ..) in named {
        *names.entry(sent).or_default() += 1;
    }
    names
}

/// Letters of a width.
pub(super) fn letters(width: f64, letter: f64) -> usize {
    (width / letter) as usize
}

/// A text in lines; what does not fit is cut off, which its end shows.
pub(super) fn wrapped(text: &str, letters_max: usize, lines_max: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    // No more than fits is looked at.
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
