//! The places of texts in drawings, by the drawings' own coordinates: never overlapping, near their subjects, inside the drawing.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use host_inspect::draw::{Context, Form, draw};
use host_inspect::recording::Recording;
use host_model::contract::NodeId;
use host_model::scenario::NodeNames;
use host_model::toys::Toy;
use host_model::trace::{BreachClass, BrokenPromise, Finding, Hex, Sent};
use serde_json::json;

use super::boxes::{Text, check, number, texts};
use super::walks;

/// The maximum distance in pixels between a text and its subject: 62 next to a lifeline and 24 above or below a step make 67.
const AWAY_MAX: f64 = 67.0;

/// The distance in pixels from a text to a point; none if it is inside.
fn away(text: &Text, (x, y): (f64, f64)) -> f64 {
    let beyond = |low: f64, at: f64, high: f64| (low - at).max(at - high).max(0.0);
    beyond(text.left, x, text.right).hypot(beyond(text.top, y, text.bottom))
}

/// The steps: each sign, with its texts.
fn steps(svg: &str) -> Vec<((f64, f64), Vec<Text>)> {
    let groups = svg.split("<g class=\"event\">").skip(1).filter_map(|rest| rest.split("</g>").next());
    let groups = groups.filter(|group| !group.contains("class=\"name"));
    groups.map(|group| (sign(group), texts(group))).collect()
}

/// The place of the sign of a step.
fn sign(group: &str) -> (f64, f64) {
    let (_, drawn) = group.split_once("</title>").expect("a step has a hover text");
    if let Some((_, rest)) = drawn.split_once("<rect") {
        return (number(rest, "x") + 5.0, number(rest, "y") + 5.0);
    }
    if let Some((_, rest)) = drawn.split_once("<path class=\"hollow") {
        let (_, path) = rest.split_once(" d=\"M").expect("a path");
        let mut numbers = path.split(' ').map(|number| number.parse::<f64>().unwrap_or_default());
        let (x, y) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
        return (x, y + 7.0);
    }
    let (_, rest) = drawn.split_once("<circle").expect("a step has a sign");
    (number(rest, "cx"), number(rest, "cy"))
}

/// The ends of undelivered messages.
fn crosses(svg: &str) -> Vec<(f64, f64)> {
    let crosses = svg.split("<path class=\"cross\" d=\"M").skip(1);
    let crosses = crosses.map(|rest| {
        let mut numbers = rest.split(' ').map(|number| number.parse::<f64>().unwrap_or_default());
        (numbers.next().unwrap_or_default() + 3.0, numbers.next().unwrap_or_default() + 3.0)
    });
    crosses.collect()
}

/// Checks that texts of steps and of messages are near their subjects.
fn check_distances(svg: &str, which: &str) {
    let steps = steps(svg);
    for (at, texts) in &steps {
        assert!(!texts.is_empty(), "{which}: a step at {at:?} has no text");
        let nearest = texts.iter().map(|text| away(text, *at)).fold(f64::INFINITY, f64::min);
        assert!(nearest <= AWAY_MAX, "{which}: {texts:?} are {nearest} from {at:?}");
        // The text of a step is not nearer to another step of the same node.
        let apart =
            |at: f64| texts.iter().map(|text| (text.top - at).max(at - text.bottom)).fold(f64::INFINITY, f64::min);
        for (other, _) in steps.iter().filter(|(other, _)| other.0 == at.0 && other.1 != at.1) {
            let is_nearer = apart(other.1) > apart(at.1).max(0.0);
            assert!(is_nearer, "{which}: {texts:?} of {at:?} are nearer to {other:?}");
        }
    }
    let crosses = crosses(svg);
    let is_named = |text: &&Text| text.class.contains("faint") && text.class.contains("halo") && text.said != "again";
    for text in texts(svg).iter().filter(is_named) {
        let nearest = crosses.iter().map(|cross| away(text, *cross)).fold(f64::INFINITY, f64::min);
        assert!(nearest <= 32.0, "{which}: {text:?} is {nearest} from the end of a message");
    }
}

/// A random system with states, names, messages and findings that take room.
fn recording(seed: u64) -> Recording {
    let toy = Arc::new(Toy::random(seed, 3));
    let mut recording = walks::executed(&toy, &walks::trace(&toy, seed));
    if !seed.is_multiple_of(4) {
        super::sample::described(&mut recording);
    }
    if seed % 4 > 1 {
        let name = |node: u64| Some(format!("replica {node} of the {} shard", "n".repeat((seed % 7) as usize * 3)));
        recording.names = NodeNames::new((0..3).map(name));
    }
    // More undelivered messages, some of them equal, also from the start.
    for (number, observed) in (0..).zip(recording.init.iter_mut().chain(&mut recording.steps)) {
        for message in 0..(seed + number) % 6 * 2 {
            let payload = Hex(json!({ "Promise": { "ballot": message / 2, "value": seed } }).to_string().into_bytes());
            observed.sent.push(Sent { to: ((seed + message) % 3) as NodeId, payload });
        }
    }
    if seed % 5 == 1 {
        recording.trace.scenario.absent.insert(2);
    }
    if seed % 5 == 2 {
        recording.crashed.push((seed % 3) as NodeId);
    }
    if seed % 5 == 3 && recording.steps.len() > 2 {
        recording.trace.finding = Some(Finding::Promise(BrokenPromise {
            name: "served".to_owned(),
            node: None,
            class: BreachClass::Lasso,
            message: "no client is served".to_owned(),
            fairness: Default::default(),
            timers: Default::default(),
            recovery: Default::default(),
            loop_start: Some(1),
            critical: None,
            sibling: Vec::new(),
        }));
    }
    recording
}

#[test]
fn texts_are_never_on_one_another_and_stand_at_their_events() {
    let mut texts = 0;
    for seed in 0..400 {
        let recording = recording(seed);
        let prefix = (seed % 9) as usize;
        let context = Context { replay: Some("host replay found/trace.json"), prefix, ..Context::default() };
        let svg = draw(&recording, Form::Svg, context);
        texts += check(&svg, &format!("seed {seed}"));
        check_distances(&svg, &format!("seed {seed}"));
    }
    assert!(texts > 25_000, "{texts} texts test little");
}

/// The drawings of all deliberate mistakes in the tree.
#[test]
fn drawings_of_bundled_protocols_have_texts_at_their_events() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let mut drawings = 0;
    for folder in fs::read_dir(golden).expect("the folder is there") {
        let file = folder.expect("it can be read").path().join("trace.svg");
        let Ok(svg) = fs::read_to_string(&file) else { continue };
        let which = file.display().to_string();
        check(&svg, &which);
        check_distances(&svg, &which);
        drawings += 1;
    }
    assert!(drawings > 30, "{drawings} drawings");
}
