//! What the script of a page knows: steps, states, messages and properties as one JSON object.
//!
//! Every text in it is one that can be shown as it is: letters that act on others are escaped before the JSON is made.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::course;
use crate::draw::Context;
use crate::draw::kinds::Kinds;
use crate::escape;
use crate::explain;
use crate::graph::{Arrow, Fate};
use crate::recording::{Observed, Recording};
use crate::rows::{self, Mark, Row};
use crate::words::{clipped, shortened};

use super::BYTES_MAX;
use super::strips::Strips;

/// Bytes of the trees, of the messages, and of the effects of steps; what follows is left out, which the page says.
const PART_BYTES_MAX: usize = BYTES_MAX / 8;

/// Letters of a message, and of a line about a step.
const LETTERS_MAX: usize = 400;

/// The object, as it can stand in an element of the page.
pub(super) fn json(
    recording: &Recording,
    arrows: &[Arrow],
    kinds: &Kinds,
    strips: &Strips<'_>,
    context: Context<'_>,
) -> String {
    let mut trees = Trees::default();
    let init: Vec<Value> = recording.init.iter().map(|observed| trees.add(observed, observed)).collect();
    let mut lines_bytes = 0;
    let steps = (1..).zip(&recording.trace.steps).map(|(number, step)| {
        let before = recording.observed(step.node, recording.step_before(number, step.node));
        let tree = trees.add(before, &recording.steps[number - 1]);
        let mut lines: Vec<String> = Vec::new();
        if lines_bytes < PART_BYTES_MAX {
            lines = explain::lines(recording, number).iter().map(|line| clipped(line, LETTERS_MAX)).collect();
            lines_bytes += lines.iter().map(String::len).sum::<usize>();
        }
        let text = clipped(&recording.event(number), LETTERS_MAX);
        let kind = kinds.of_step(recording, number);
        json!({ "node": step.node, "text": text, "kind": kind, "lines": lines, "tree": tree })
    });
    let steps: Vec<Value> = steps.collect();
    let (texts, flights) = messages(recording, arrows, kinds);
    let courses = strips.iter().map(|(_, course)| {
        let changes = course.standings.iter();
        changes.map(|(since, standing)| json!([since, course::word(standing), course::why(standing)])).collect()
    });
    let promise = recording.trace.promise();
    let data = json!({
        "nodes": recording.nodes(),
        "names": (0..recording.nodes()).map(|node| recording.names.with_number(node)).collect::<Vec<_>>(),
        "prefix": context.prefix,
        "loop": explain::loop_start(recording),
        "critical": promise.and_then(|promise| promise.critical),
        "init": init,
        "steps": steps,
        "trees": trees.rows,
        "texts": texts,
        "arrows": flights,
        "arrows_left_out": arrows.len() - flights.len(),
        "kinds": kinds.names(),
        "courses": courses.collect::<Vec<Value>>(),
    });
    escape::json_in_markup(&data.to_string())
}

/// Trees of states, each once.
#[derive(Default)]
struct Trees {
    rows: Vec<Value>,
    places: BTreeMap<String, usize>,
    bytes: usize,
}

impl Trees {
    /// The place of the tree of a node's state after something, or null if there is no room for it.
    fn add(&mut self, before: &Observed, after: &Observed) -> Value {
        if self.bytes > PART_BYTES_MAX {
            return Value::Null;
        }
        let rows: Value = rows(before, after).into_iter().map(row_json).collect();
        let text = rows.to_string();
        if let Some(place) = self.places.get(&text) {
            return json!(place);
        }
        self.bytes += text.len();
        self.places.insert(text, self.rows.len());
        self.rows.push(rows);
        json!(self.rows.len() - 1)
    }
}

fn rows(before: &Observed, after: &Observed) -> Vec<Row> {
    if let (Some(before), Some(after)) = (&before.description, &after.description) {
        return rows::rows(before, after);
    }
    let (old, new) = (explain::state(before), explain::state(after));
    let [old, new] = [old, new].map(|state| clipped(&state, LETTERS_MAX));
    let is_same = old == new;
    let mark = if is_same { Mark::Same } else { Mark::Changed };
    vec![Row { depth: 0, mark, name: String::new(), value: new, old: (!is_same).then_some(old) }]
}

fn row_json(row: Row) -> Value {
    let mut fields = vec![json!(row.depth), json!(row.mark as u8), json!(row.name), json!(row.value)];
    fields.extend(row.old.map(Value::String));
    Value::Array(fields)
}

/// The texts of messages, each once, and the messages: sender, destination, the step that has sent it, since when it can be
/// received, its end, its fate, text and kind.
fn messages(recording: &Recording, arrows: &[Arrow], kinds: &Kinds) -> (Vec<String>, Vec<Value>) {
    let mut places: BTreeMap<&[u8], usize> = BTreeMap::new();
    let (mut texts, mut flights, mut bytes) = (Vec::new(), Vec::new(), 0);
    for arrow in arrows {
        if bytes > PART_BYTES_MAX {
            break;
        }
        let text = *places.entry(&arrow.payload).or_insert_with(|| {
            texts.push(clipped(&shortened(recording.message(&arrow.payload)), LETTERS_MAX));
            bytes += texts.last().map_or(0, String::len);
            texts.len() - 1
        });
        // A few numbers each.
        bytes += 40;
        let since = arrow.again.unwrap_or(arrow.sent);
        let fate = match arrow.fate {
            Fate::InFlight => 0,
            Fate::Delivered(_) => 1,
            Fate::Lost(_) => 2,
        };
        let kind = kinds.of(recording, &arrow.payload);
        flights.push(json!([arrow.from, arrow.to, arrow.sent, since, arrow.end(), fate, text, kind]));
    }
    (texts, flights)
}
