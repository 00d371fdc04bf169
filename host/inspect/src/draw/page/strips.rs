//! The properties over time, a strip for each.

use std::fmt::Write;

use crate::course::{self, Course};
use crate::escape::xml;
use crate::recording::Recording;
use crate::words::clipped;

/// Strips of a page, and changes of all of them; what is more is left out, which the page says.
const STRIPS_MAX: usize = 64;
const CHANGES_MAX: usize = 8_192;

/// Letters of a name.
const LETTERS_MAX: usize = 120;

/// The properties over time: those of a property that are the same at several nodes once.
pub(super) struct Strips<'r> {
    shown: Vec<(String, &'r Course)>,
    left_out: usize,
}

impl<'r> Strips<'r> {
    pub(super) fn new(recording: &'r Recording) -> Self {
        let mut shown = course::grouped(&recording.courses, &recording.properties, &recording.names);
        let all = shown.len();
        let mut changes = 0;
        let has_room = shown.iter().take_while(|(_, course)| {
            changes += course.standings.len();
            changes <= CHANGES_MAX
        });
        let room = has_room.count().min(STRIPS_MAX);
        shown.truncate(room);
        Self { left_out: all - shown.len(), shown }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(String, &'r Course)> {
        self.shown.iter()
    }

    /// The element, which says without a script how each property stands at the end.
    pub(super) fn html(&self, steps: usize) -> String {
        let mut html = String::new();
        for (name, course) in &self.shown {
            let name = xml(&clipped(name, LETTERS_MAX));
            let _ = write!(
                html,
                "<div class=\"strip\"><span class=\"name\">{name}</span><svg viewBox=\"0 0 {} 10\" preserveAspectRatio=\"none\" \
                 role=\"img\" aria-label=\"{name} over time\">",
                steps + 1
            );
            for (index, (since, standing)) in course.standings.iter().enumerate() {
                let until = course.standings.get(index + 1).map_or(steps + 1, |(next, _)| *next);
                let (word, why) = (course::word(standing), course::why(standing));
                let why = if why.is_empty() { String::new() } else { format!(": {}", xml(why)) };
                let when = if *since == 0 { "from the start".to_owned() } else { format!("from step {since}") };
                let _ = write!(
                    html,
                    "<rect class=\"{}\" x=\"{since}\" y=\"0\" width=\"{}\" height=\"10\"><title>{word} {when}{why}</title></rect>",
                    class(word),
                    until - since
                );
            }
            let standing = course.after(steps);
            let (word, why) = (course::word(standing), course::why(standing));
            let why = if why.is_empty() { String::new() } else { format!(": {}", xml(why)) };
            let _ = writeln!(
                html,
                "<rect class=\"cursor\" x=\"{steps}\" y=\"0\" width=\"1\" height=\"10\"/></svg><span class=\"now {}\">{word}{why}</span></div>",
                class(word)
            );
        }
        if self.left_out > 0 {
            let _ = writeln!(html, "<p class=\"note\">{} more are left out</p>", self.left_out);
        }
        html
    }
}

/// The class of a standing.
fn class(word: &str) -> String {
    word.replace(' ', "-")
}
