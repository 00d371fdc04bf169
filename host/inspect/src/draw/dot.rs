//! Drawings as graphs for Graphviz: events are nodes of the graph, and happens-before gives its edges.

use std::fmt::Write;

use crate::draw::parts::{LEFT_OUT, details, is_full, label, title, undelivered, verdict};
use crate::explain;
use crate::graph::arrows;
use crate::marks::marks;
use crate::recording::Recording;
use crate::words::clipped;

const LETTERS_MAX: usize = 60;

pub(super) fn draw(recording: &Recording) -> String {
    let mut text = format!(
        "digraph trace {{\n  label={};\n  labelloc=t;\n  node [shape=box, style=rounded, fontname=monospace, fontsize=10];\n  \
         edge [fontname=monospace, fontsize=9];\n",
        quoted(&match verdict(recording) {
            Some(verdict) => format!("{}\n{}", title(recording), clipped(&verdict, 160)),
            None => title(recording),
        })
    );
    let marks = marks(recording).steps;
    for node in 0..recording.nodes() {
        if is_full(&text) {
            break;
        }
        let name = quoted(&recording.names.with_number(node));
        let _ = writeln!(text, "  subgraph cluster_{node} {{\n    label={name};\n    n{node}_0 [label=start];");
        let steps = (1..).zip(&recording.trace.steps).filter(|(_, step)| step.node == node);
        let mut last = 0;
        for (number, _) in steps {
            if is_full(&text) {
                break;
            }
            let mut shown = format!("{number}. {}", clipped(&label(recording, number), LETTERS_MAX));
            let mut style = String::new();
            if let Some(mark) = &marks[number - 1] {
                let _ = write!(shown, "\n{}", clipped(mark, LETTERS_MAX));
                style.push_str(", color=red, penwidth=2");
            }
            let tooltip = quoted(&details(recording, number));
            let _ = writeln!(text, "    n{node}_{number} [label={}, tooltip={tooltip}{style}];", quoted(&shown));
            let _ = writeln!(text, "    n{node}_{last} -> n{node}_{number} [weight=8, arrowhead=none];");
            last = number;
        }
        text.push_str("  }\n");
    }
    for (index, arrow) in arrows(recording).iter().enumerate() {
        if is_full(&text) {
            let _ = writeln!(text, "  rest [label={}];", quoted(LEFT_OUT));
            break;
        }
        let message = clipped(&recording.message(&arrow.payload), LETTERS_MAX);
        let from = format!("n{}_{}", arrow.from, arrow.sent);
        match arrow.delivered() {
            Some(delivered) => {
                let to = format!("n{}_{delivered}", arrow.to);
                let _ = writeln!(text, "  {from} -> {to} [label={}, color=blue];", quoted(&message));
            }
            None => {
                let lost = quoted(&format!("{message} to {}, {}", recording.names.of(arrow.to), undelivered(arrow)));
                let _ = writeln!(text, "  lost{index} [shape=point, tooltip={lost}];");
                let _ = writeln!(text, "  {from} -> lost{index} [style=dashed, color=gray, tooltip={lost}];");
            }
        }
    }
    if let Some(start) = explain::loop_start(recording) {
        let name = |number: usize| format!("n{}_{number}", recording.trace.steps[number - 1].node);
        let (last, first) = (name(recording.steps.len()), name(start + 1));
        let _ = writeln!(
            text,
            "  {last} -> {first} [label=\"again and again\", color=red, style=dashed, constraint=false];"
        );
    }
    text.push_str("}\n");
    text
}

/// A text in the syntax of Graphviz.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
