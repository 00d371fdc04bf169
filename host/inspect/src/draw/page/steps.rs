//! The steps as a list, for reading without a script and on paper.

use std::fmt::Write;

use crate::course;
use crate::draw::Context;
use crate::draw::parts::LEFT_OUT;
use crate::escape::xml;
use crate::explain;
use crate::recording::Recording;
use crate::words::clipped;

use super::PAGE_BYTES_MAX;

/// The maximum size in bytes of a list.
const LIST_BYTES_MAX: usize = PAGE_BYTES_MAX / 16;

/// The maximum length in letters of a line.
const LETTERS_MAX: usize = 1_000;

/// The standings of the properties at the end.
pub(super) fn properties(recording: &Recording) -> String {
    let mut html = "<ul>\n".to_owned();
    for (name, course) in course::grouped(&recording.courses, &recording.properties, &recording.names) {
        if html.len() > LIST_BYTES_MAX {
            let _ = writeln!(html, "<li>{LEFT_OUT}</li>");
            break;
        }
        let standing = course.after(recording.steps.len());
        let (word, why) = (course::word(standing), course::why(standing));
        let why = if why.is_empty() { String::new() } else { format!(": {}", xml(why)) };
        let _ = writeln!(html, "<li>{}: {word}{why}</li>", xml(&clipped(&name, LETTERS_MAX)));
    }
    html.push_str("</ul>\n");
    html
}

/// The steps of the trace.
pub(super) fn list(recording: &Recording, context: Context<'_>) -> String {
    let loop_start = explain::loop_start(recording);
    let critical = recording.trace.promise().and_then(|promise| promise.critical);
    let mut html = "<ol>\n".to_owned();
    let divider = |html: &mut String, text: &str| {
        let _ = writeln!(html, "<li value=\"0\"><em>{text}</em></li>");
    };
    let start = explain::start(recording);
    let mut lines = start.lines().map(|line| xml(&clipped(line.trim_start(), LETTERS_MAX)));
    let head = lines.next().unwrap_or_default();
    let _ = writeln!(html, "<li value=\"0\">{head}<ul>");
    for line in lines {
        if html.len() > LIST_BYTES_MAX {
            break;
        }
        let _ = writeln!(html, "<li>{line}</li>");
    }
    html.push_str("</ul></li>\n");
    for number in 1..=recording.steps.len() {
        if html.len() > LIST_BYTES_MAX {
            divider(&mut html, LEFT_OUT);
            break;
        }
        if number == context.prefix + 1 && context.prefix > 0 {
            divider(&mut html, "end of the prefix");
        }
        if loop_start == Some(number - 1) {
            divider(&mut html, "what follows happens again and again");
        }
        let note = if critical == Some(number) { " <strong>the critical step</strong>" } else { "" };
        let _ = write!(html, "<li value=\"{number}\">{}{note}", xml(&clipped(&recording.event(number), LETTERS_MAX)));
        effects(&mut html, recording, number);
        html.push_str("</li>\n");
    }
    if let Some(start) = loop_start {
        divider(&mut html, &format!("and again from step {} on, for ever", start + 1));
    }
    html.push_str("</ol>\n");
    html
}

fn effects(html: &mut String, recording: &Recording, number: usize) {
    html.push_str("<ul>");
    for line in explain::lines(recording, number) {
        let _ = write!(html, "<li>{}</li>", xml(&clipped(&line, LETTERS_MAX)));
    }
    html.push_str("</ul>");
}

/// The steps in place of the critical one that keep the promise; empty without a critical step.
pub(super) fn sibling(recording: &Recording, context: Context<'_>) -> String {
    let critical = recording.trace.promise().and_then(|promise| promise.critical);
    let Some((sibling, critical)) = context.sibling.zip(critical) else { return String::new() };
    let head = explain::sibling_head(sibling.steps.len(), critical);
    let mut html = format!("<h2>{head}</h2>\n<ol start=\"{critical}\">\n");
    for number in critical..=sibling.steps.len() {
        if html.len() > LIST_BYTES_MAX {
            let _ = writeln!(html, "<li>{LEFT_OUT}</li>");
            break;
        }
        let _ = write!(html, "<li>{}", xml(&clipped(&sibling.event(number), LETTERS_MAX)));
        effects(&mut html, sibling, number);
        html.push_str("</li>\n");
    }
    html.push_str("</ol>\n");
    html
}
