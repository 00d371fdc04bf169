//! The steps as a list, for reading without a script and on paper.

use std::fmt::Write;

use crate::draw::Context;
use crate::draw::kinds::Kinds;
use crate::draw::marks::marks;
use crate::draw::parts::LEFT_OUT;
use crate::escape::xml;
use crate::explain;
use crate::recording::Recording;
use crate::words::clipped;

use super::BYTES_MAX;

/// Bytes of the list.
const LIST_BYTES_MAX: usize = BYTES_MAX / 8;

/// Letters of a line.
const LETTERS_MAX: usize = 1_000;

/// The steps of the trace; each is the place that `#step-N` leads to.
pub(super) fn list(recording: &Recording, kinds: &Kinds, context: Context<'_>) -> String {
    let (marks, loop_start) = (marks(recording), explain::loop_start(recording));
    let critical = recording.trace.promise().and_then(|promise| promise.critical);
    let mut html = "<ol id=\"steps\">\n".to_owned();
    let divider = |html: &mut String, text: &str| {
        let _ = writeln!(html, "<li class=\"divider\">{text}</li>");
    };
    let start = explain::start(recording);
    let mut lines = start.lines().map(|line| xml(&clipped(line.trim_start(), LETTERS_MAX)));
    let head = lines.next().unwrap_or_default();
    let _ = writeln!(html, "<li value=\"0\" id=\"step-0\" data-step=\"0\"><a href=\"#step-0\">{head}</a><ul>");
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
        let kind = kinds.of_step(recording, number).map(|kind| format!(" data-kind=\"{kind}\"")).unwrap_or_default();
        let mark = if marks[number - 1].is_some() { " class=\"marked\"" } else { "" };
        let note = if critical == Some(number) { " <strong>the critical step</strong>" } else { "" };
        let _ = write!(
            html,
            "<li value=\"{number}\" id=\"step-{number}\" data-step=\"{number}\"{kind}{mark}><a href=\"#step-{number}\">{}</a>{note}",
            xml(&clipped(&recording.event(number), LETTERS_MAX))
        );
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

/// The steps in place of the critical one that lead to where a promise is kept; empty without a critical step.
pub(super) fn sibling(recording: &Recording, context: Context<'_>) -> String {
    let critical = recording.trace.promise().and_then(|promise| promise.critical);
    let Some((sibling, critical)) = context.sibling.zip(critical) else { return String::new() };
    let head = explain::sibling_head(sibling, critical);
    let mut html = format!("<section class=\"text\" id=\"sibling\"><h2>{head}</h2>\n<ol start=\"{critical}\">\n");
    for number in critical..=sibling.steps.len() {
        if html.len() > LIST_BYTES_MAX {
            let _ = writeln!(html, "<li>{LEFT_OUT}</li>");
            break;
        }
        let _ = write!(html, "<li>{}", xml(&clipped(&sibling.event(number), LETTERS_MAX)));
        effects(&mut html, sibling, number);
        html.push_str("</li>\n");
    }
    html.push_str("</ol></section>\n");
    html
}
