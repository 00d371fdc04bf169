//! State graphs as pictures for browsers: a hover text for each state and arrow, no scripts.

use std::fmt::Write;

use super::StateGraph;
use super::labels::{self, Arrow, arranged};
use super::layout::LINE;
use crate::draw::ground::Area;
use crate::draw::parts::{LEFT_OUT, is_full};
use crate::escape::{on_one_line, xml};
use crate::words::clipped;

/// The maximum length in letters of the title.
const TITLE_LETTERS: usize = 160;

const STYLE: &str = "text{font:11px monospace;fill:#222}.title{font-size:13px;font-weight:bold}.note{fill:#a33}\
    .box{fill:#fff;stroke:#555}.start{stroke:#177a3c;stroke-width:3}.violation{fill:#ffd6d6;stroke:#c22}\
    .open{stroke-dasharray:4 3}.inner{fill:none;stroke:#555}.arrow{fill:none;stroke:#5577aa;stroke-width:1.2}\
    .event{font-size:10px;fill:#335;text-anchor:middle;paint-order:stroke;stroke:#fff;stroke-width:3px}\
    g:hover .arrow{stroke:#c60;stroke-width:2.5}";

pub(super) fn draw(graph: &StateGraph) -> String {
    let title = clipped(&on_one_line(&graph.title), TITLE_LETTERS);
    let note = graph.left_out.as_ref().map(|note| clipped(&on_one_line(note), TITLE_LETTERS)).unwrap_or_default();
    let legend = "green: start, red: violation, double: terminal, dashed: not explored";
    let letters = [&title, &note, legend].map(|line| line.chars().count()).into_iter().max().unwrap_or(0);
    let (layout, arrows) = arranged(graph, letters);
    let (width, height) = (layout.width, layout.height);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n\
         <defs><marker id=\"end\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
         <path d=\"M0 0 L8 4 L0 8 z\" fill=\"#5577aa\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text class=\"title\" x=\"16\" y=\"20\">{}</text><text x=\"16\" y=\"36\">{legend}</text>\
         <text class=\"note\" x=\"16\" y=\"52\">{}</text>\n",
        xml(&title),
        xml(&title),
        xml(&note)
    );
    let mut is_cut = false;
    for drawn in &arrows {
        if is_full(&svg) {
            is_cut = true;
            break;
        }
        arrow(&mut svg, drawn);
    }
    for (number, place) in layout.boxes.iter().enumerate() {
        if is_full(&svg) {
            is_cut = true;
            break;
        }
        state(&mut svg, graph, number, *place);
    }
    if is_cut {
        let _ = writeln!(svg, "<text class=\"note\" x=\"16\" y=\"{:.0}\">{LEFT_OUT}</text>", height - 8.0);
    }
    svg.push_str("</svg>\n");
    svg
}

/// An arrow, with its events if they have room.
fn arrow(svg: &mut String, Arrow { way, events, label, at }: &Arrow) {
    let _ = write!(
        svg,
        "<g><title>{}</title><path class=\"arrow\" d=\"{}\" marker-end=\"url(#end)\"/>",
        xml(&events.join("\n")),
        way.path()
    );
    for ((x, top), (line, row)) in at.iter().flat_map(|at| std::iter::repeat(at).zip(label.iter().zip(0..))) {
        let y = top + 9.0 + labels::LINE * f64::from(row);
        let _ = write!(svg, "<text class=\"event\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", xml(line));
    }
    svg.push_str("</g>\n");
}

/// Draws a state with its texts.
fn state(svg: &mut String, graph: &StateGraph, number: usize, place: Area) {
    let drawn = &graph.states[number];
    let mut class = "box".to_owned();
    for (is_set, name) in [(drawn.is_start, " start"), (drawn.is_violating, " violation"), (drawn.is_open, " open")] {
        class += if is_set { name } else { "" };
    }
    let Area { left, top, width, height } = place;
    let rect = |class: &str, inset: f64| {
        format!(
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"5\"/>",
            left + inset,
            top + inset,
            width - 2.0 * inset,
            height - 2.0 * inset
        )
    };
    let _ = write!(svg, "<g><title>{}</title>{}", xml(&graph.details(number)), rect(&class, 0.0));
    if drawn.is_terminal {
        svg.push_str(&rect("inner", 3.0));
    }
    for (index, line) in graph.lines(number).iter().enumerate() {
        let y = top + 17.0 + index as f64 * LINE;
        let _ = write!(svg, "<text x=\"{:.1}\" y=\"{y:.1}\">{}</text>", left + 10.0, xml(line));
    }
    svg.push_str("</g>\n");
}
