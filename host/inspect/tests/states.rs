//! Drawings of state graphs: foreign texts stay texts, and are bounded.

use std::thread;

#[path = "pages/boxes.rs"]
mod boxes;

use host_inspect::draw::{DrawnEdge, DrawnState, StateGraph, StatesForm, draw_states};
use host_model::toys::Dice;

/// Texts with which a plugin could try to break out of a drawing.
const HOSTILE: [&str; 6] = [
    "\"]; evil [label=\"",
    "</title><script>alert(1)</script>",
    "line\nbreak\u{1b}[31m",
    "\u{202e}reversed",
    "back\\slash\\",
    "]]>&amp;<!--",
];

fn graph() -> StateGraph {
    let state = |(depth, text): (u32, &&str)| DrawnState {
        depth,
        lines: vec![(*text).to_owned()],
        details: vec![(*text).to_owned()],
        ..DrawnState::default()
    };
    let edge =
        |(from, text): (usize, &&str)| DrawnEdge { from, to: (from + 1) % HOSTILE.len(), event: (*text).to_owned() };
    StateGraph {
        title: HOSTILE.concat(),
        states: (0..).zip(&HOSTILE).map(state).collect(),
        edges: (0..).zip(&HOSTILE).map(edge).collect(),
        left_out: Some(HOSTILE.concat()),
    }
}

#[test]
fn hostile_texts_stay_texts() {
    for form in StatesForm::ALL {
        let drawn = draw_states(&graph(), form);
        for letter in ['\u{1b}', '\u{202e}'] {
            assert!(!drawn.contains(letter), "{form:?}: {letter:?} in {drawn}");
        }
    }
    let svg = draw_states(&graph(), StatesForm::Svg);
    assert!(!svg.contains("<script") && !svg.contains("<!--") && svg.contains("&lt;script"), "{svg}");
    for line in draw_states(&graph(), StatesForm::Dot).lines() {
        // Unescaped quotes come in pairs, and no part of a text stands outside of them.
        let mut outside = String::new();
        let (mut is_quoted, mut letters) = (false, line.chars());
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => drop(letters.next()),
                '"' => is_quoted = !is_quoted,
                _ if !is_quoted => outside.push(letter),
                _ => {}
            }
        }
        assert!(!is_quoted, "{line}");
        assert!(!outside.contains("evil") && !outside.contains("script"), "{line}");
    }
}

#[test]
fn texts_without_end_are_cut_where_they_are_drawn() {
    let mut graph = graph();
    graph.states[0].lines = vec!["a".repeat(100_000)];
    graph.edges[0].event = "b".repeat(100_000);
    graph.title = "c".repeat(100_000);
    let svg = draw_states(&graph, StatesForm::Svg);
    // Hover texts do not count.
    let shown = svg.split("<title>").map(|part| part.split_once("</title>").map_or(part, |(_, shown)| shown));
    let longest = shown.flat_map(str::lines).map(str::len).max();
    assert!(longest < Some(1_000), "{longest:?}");
    let width = svg.split_once("width=\"").and_then(|(_, rest)| rest.split('"').next()?.parse::<f64>().ok());
    // 160 letters of the title are the longest line.
    assert!(width.is_some_and(|width| width < 1_500.0), "{width:?}");
}

/// If states or arrows are cut off, the drawing says so; otherwise it does not.
#[test]
fn a_drawing_that_is_too_large_says_so() {
    const BYTES_MAX: usize = 64 << 20;
    let long = "a".repeat(1 << 20);
    let state = |number: usize| DrawnState {
        details: vec![if number > 0 { long.clone() } else { String::new() }],
        ..DrawnState::default()
    };
    let edge = |_| DrawnEdge { from: 0, to: 0, event: "b".to_owned() };
    let cut = |states: usize, edges: usize, form: StatesForm| {
        let graph = StateGraph {
            states: (0..states).map(state).collect(),
            edges: (0..edges).map(edge).collect(),
            ..StateGraph::default()
        };
        let drawn = draw_states(&graph, form);
        assert!(drawn.len() < BYTES_MAX + (4 << 20), "{} bytes", drawn.len());
        drawn.contains("the rest is left out")
    };
    thread::scope(|scope| {
        for form in StatesForm::ALL {
            scope.spawn(move || {
                assert!(!cut(2, 1, form), "{form:?}");
                assert!(cut(80, 0, form), "{form:?}: states");
                assert!(cut(80, 1, form), "{form:?}: the arrows come after them, or before");
            });
        }
    });
}

/// Each pair of states has one arrow, with each of its events once.
#[test]
fn events_between_two_states_share_an_arrow() {
    let edge = |event: &str| DrawnEdge { from: 0, to: 1, event: event.to_owned() };
    let state = |depth| DrawnState { depth, ..DrawnState::default() };
    let graph = StateGraph {
        states: vec![state(0), state(1)],
        edges: ["a", "b", "a", "c", "d"].map(edge).to_vec(),
        ..StateGraph::default()
    };
    let dot = draw_states(&graph, StatesForm::Dot);
    assert!(dot.contains("s0 -> s1 [label=\"a\\nb\\nc\\nand 1 more\", tooltip=\"a\\nb\\nc\\nd\"];"), "{dot}");
    assert_eq!(draw_states(&graph, StatesForm::Svg).matches("class=\"arrow\"").count(), 1);
}

/// Random graphs: several arrows per state, also back, to the same row and to the state itself.
#[test]
fn labels_of_arrows_are_apart_from_states_and_from_one_another() {
    let (mut labels, mut without) = (0, 0);
    for seed in 0..200u64 {
        let mut dice = Dice(seed);
        let mut below = |bound: usize| dice.below(bound as u32) as usize;
        let states = 2 + below(16);
        let state = |number: usize, depth: usize| DrawnState {
            depth: depth as u32,
            lines: vec!["x".repeat(5 + number * 7 % 40)],
            is_start: number == 0,
            ..DrawnState::default()
        };
        let states: Vec<DrawnState> = (0..states).map(|number| state(number, below(1 + number / 2))).collect();
        let edges = (0..states.len() * 2).map(|number| DrawnEdge {
            from: below(states.len()),
            to: below(states.len()),
            event: format!("node {} <- node {}: {}", number % 3, number % 2, "m".repeat(below(30))),
        });
        let graph = StateGraph { title: "a graph".to_owned(), edges: edges.collect(), states, left_out: None };
        let svg = draw_states(&graph, StatesForm::Svg);
        labels += boxes::check(&svg, &format!("seed {seed}"));
        let arrows = svg.split("<path class=\"arrow\"").skip(1).filter_map(|rest| rest.split("</g>").next());
        without += arrows.filter(|arrow| !arrow.contains("<text class=\"event\"")).count();
        let states = rects(&svg, "box");
        for text in boxes::texts(&svg).iter().filter(|text| text.class == "event") {
            assert!(
                !text.said.is_empty() && !states.iter().any(|state| text.overlaps(state)),
                "seed {seed}: {text:?} is on a state"
            );
        }
    }
    assert!(labels > 5_000 && without == 0, "{labels} texts, {without} arrows have no label");
}

/// The rectangles of this class.
fn rects(svg: &str, class: &str) -> Vec<boxes::Text> {
    let tags = svg.split("<rect").skip(1).filter_map(|rest| rest.split("/>").next());
    let has =
        |tag: &&str| boxes::attribute(tag, "class").is_some_and(|classes| classes.split(' ').any(|one| one == class));
    let rect = |tag: &str| {
        let (left, top) = (boxes::number(tag, "x"), boxes::number(tag, "y"));
        let (right, bottom) = (left + boxes::number(tag, "width"), top + boxes::number(tag, "height"));
        boxes::Text { class: class.to_owned(), said: String::new(), left, top, right, bottom }
    };
    tags.filter(has).map(rect).collect()
}
