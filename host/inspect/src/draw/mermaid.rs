//! Drawings as sequence diagrams for Mermaid.
//!
//! A sequence diagram has no message that others overtake: an arrow stands at the delivery of the message, with the
//! number of the sending step.

use std::fmt::Write;

use host_model::trace::TraceEvent;

use crate::draw::parts::{LEFT_OUT, is_full, label, title, undelivered, verdict};
use crate::explain;
use crate::graph::{Arrow, Fate, arrows};
use crate::marks::marks;
use crate::recording::Recording;
use crate::words::clipped;

const LETTERS_MAX: usize = 80;

pub(super) fn draw(recording: &Recording, prefix: usize) -> String {
    let mut text = format!("---\ntitle: {}\n---\nsequenceDiagram\n", quoted(&title(recording)));
    for node in 0..recording.nodes() {
        let _ = writeln!(text, "  participant n{node} as {}", escaped(&recording.names.with_number(node)));
    }
    let (arrows, marks) = (arrows(recording), marks(recording).steps);
    let last = recording.nodes().saturating_sub(1);
    crosses(&mut text, recording, &arrows, 0);
    let start = explain::loop_start(recording);
    let mut is_inside = false;
    for (number, step) in (1..).zip(&recording.trace.steps) {
        if is_full(&text) {
            let _ = writeln!(text, "  Note over n0,n{last}: {LEFT_OUT}");
            break;
        }
        let node = step.node;
        if number == prefix + 1 && prefix > 0 {
            let _ = writeln!(text, "  Note over n0,n{last}: end of the prefix");
        }
        if start == Some(number - 1) {
            text.push_str("  loop again and again\n");
            is_inside = true;
        }
        let is_delivered = |arrow: &&Arrow| arrow.fate == Fate::Delivered(number);
        let label = escaped(&clipped(&label(recording, number), LETTERS_MAX));
        match &step.event {
            TraceEvent::Deliver { from, .. } => {
                let sent = arrows.iter().find(|arrow| is_delivered(arrow)).map_or(0, |arrow| arrow.sent);
                let _ = writeln!(text, "  n{from}->>n{node}: {number}. {label} ({})", when(recording, sent));
            }
            TraceEvent::Quorum { .. } => {
                for arrow in arrows.iter().filter(is_delivered) {
                    let message = escaped(&clipped(&recording.message(&arrow.payload), LETTERS_MAX));
                    let (from, when) = (arrow.from, when(recording, arrow.sent));
                    let _ = writeln!(text, "  n{from}->>n{node}: {number}. {message} ({when})");
                }
                let _ = writeln!(text, "  Note over n{node}: {number}. {label}");
            }
            _ => {
                let _ = writeln!(text, "  Note over n{node}: {number}. {label}");
            }
        }
        if let Some(mark) = &marks[number - 1] {
            let _ = writeln!(text, "  Note right of n{node}: {}", escaped(&clipped(mark, LETTERS_MAX)));
        }
        crosses(&mut text, recording, &arrows, number);
    }
    if is_inside {
        text.push_str("  end\n");
    }
    if let Some(verdict) = verdict(recording) {
        let _ = writeln!(text, "  Note over n0,n{last}: {}", escaped(&clipped(&verdict, 160)));
    }
    text
}

/// The undelivered messages that a step sends, 0 for those sent before.
fn crosses(text: &mut String, recording: &Recording, arrows: &[Arrow], sent: usize) {
    for arrow in arrows.iter().filter(|arrow| arrow.sent == sent && arrow.delivered().is_none()) {
        if is_full(text) {
            break;
        }
        let message = escaped(&clipped(&recording.message(&arrow.payload), LETTERS_MAX));
        let _ = writeln!(text, "  n{}--xn{}: {message}, {}", arrow.from, arrow.to, undelivered(arrow));
    }
}

/// When a message was sent.
fn when(recording: &Recording, sent: usize) -> String {
    match (sent, &recording.trace.beginning) {
        (0, Some(_)) => "sent before the start".to_owned(),
        _ => format!("sent in {sent}"),
    }
}

/// Text without special meaning in Mermaid: no end of a statement, no comment, no markup.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '#' | ';' | '<' | '>' | '"' | '%' => {
                let _ = write!(escaped, "#{};", letter as u32);
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "/").replace('"', "'"))
}
