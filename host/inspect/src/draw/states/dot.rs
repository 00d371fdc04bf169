//! State graphs for Graphviz.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::{StateGraph, short};
use crate::draw::dot::quoted;
use crate::draw::parts::{LEFT_OUT, is_full};
use crate::escape::on_one_line;

pub(super) fn draw(graph: &StateGraph) -> String {
    let said = graph.left_out.iter().map(|left_out| format!("\n{}", on_one_line(left_out)));
    let mut text = format!(
        "digraph states {{\n  label={};\n  labelloc=t;\n  node [shape=box, style=rounded, fontname=monospace, fontsize=10];\n  \
         edge [fontname=monospace, fontsize=9];\n",
        quoted(&(on_one_line(&graph.title) + &said.collect::<String>()))
    );
    let mut is_cut = false;
    for part in graph.states.iter().map(|state| state.part).collect::<BTreeSet<u32>>() {
        let _ = writeln!(text, "  subgraph cluster_{part} {{\n    style=invis;");
        for (number, state) in graph.states.iter().enumerate().filter(|(_, state)| state.part == part) {
            if is_full(&text) {
                is_cut = true;
                break;
            }
            let mut style = String::new();
            style += if state.is_start { ", color=darkgreen, penwidth=2" } else { "" };
            style += if state.is_violating { ", style=\"rounded,filled\", fillcolor=\"#ffd6d6\"" } else { "" };
            style += if state.is_terminal { ", peripheries=2" } else { "" };
            style += if state.is_open { ", style=dashed" } else { "" };
            let (label, tooltip) = (quoted(&graph.lines(number).join("\n")), quoted(&graph.details(number)));
            let _ = writeln!(text, "    s{number} [label={label}, tooltip={tooltip}{style}];");
        }
        text.push_str("  }\n");
    }
    for ((from, to), events) in graph.arrows() {
        if is_full(&text) {
            is_cut = true;
            break;
        }
        let (label, tooltip) = (quoted(&short(&events)), quoted(&events.join("\n")));
        let _ = writeln!(text, "  s{from} -> s{to} [label={label}, tooltip={tooltip}];");
    }
    if is_cut {
        let _ = writeln!(text, "  rest [label={}];", quoted(LEFT_OUT));
    }
    text.push_str("}\n");
    text
}
