//! The states along a recording, as places of a session.

use std::collections::BTreeSet;

use host_model::contract::NodeId;

use crate::course::Course;
use crate::explain;
use crate::graph::{Arrow, Fate, arrows};
use crate::page::shapes::{Event, EventKind, Flying, Received, Row, Sent, Standing, Step};
use crate::page::{self, Story};
use crate::recording::{Observed, Recording};
use crate::rows::{self, Mark};
use crate::words::{clipped, shortened};

/// The maximum length in letters of a message, and of a state without description.
const LETTERS_MAX: usize = 400;

/// A recording and the places of its steps.
pub(super) struct Line<'r> {
    pub(super) recording: &'r Recording,
    pub(super) story: Story,
    /// The place after each step, from the beginning.
    pub(super) places: Vec<usize>,
    arrows: Vec<Arrow>,
    /// By step, the messages whose flight begins there, and those whose flight ends there.
    began: Vec<Vec<usize>>,
    ended: Vec<Vec<usize>>,
}

impl<'r> Line<'r> {
    pub(super) fn new(recording: &'r Recording, story: Story, places: Vec<usize>) -> Self {
        let arrows = arrows(recording);
        let mut began = vec![Vec::new(); places.len()];
        let mut ended = vec![Vec::new(); places.len()];
        for (index, arrow) in arrows.iter().enumerate() {
            // The flight of a copy that is delivered again begins at the end of the copy before it.
            began[arrow.again.unwrap_or(arrow.sent)].push(index);
            if let Some(end) = arrow.end() {
                ended[end].push(index);
            }
        }
        Self { recording, story, places, arrows, began, ended }
    }

    /// The step with this number; 0 is the beginning.
    pub(super) fn step(&self, number: usize) -> Step {
        Step {
            place: self.places[number],
            parent: number.checked_sub(1).map(|before| self.places[before]),
            depth: number,
            event: (number > 0).then(|| self.event(number)),
            name: None,
            lines: self.story.lines.get(number).cloned().unwrap_or_default(),
        }
    }

    fn event(&self, number: usize) -> Event {
        let step = &self.recording.trace.steps[number - 1];
        let ended = self.ended[number].iter().map(|index| &self.arrows[*index]);
        let received = ended.map(|arrow| Received {
            from: arrow.from,
            to: arrow.to,
            sent: self.places[arrow.sent],
            text: self.message(&arrow.payload),
            lost: matches!(arrow.fate, Fate::Lost(_)),
        });
        let sent = self.recording.steps[number - 1].sent.iter();
        let sent = sent.map(|sent| Sent { from: step.node, to: sent.to, text: self.message(&sent.payload.0) });
        Event {
            node: step.node,
            kind: EventKind::from(&step.event),
            text: page::clean(&self.recording.event(number)),
            received: received.collect(),
            sent: sent.collect(),
            fault: page::fault(&step.event),
        }
    }

    /// Updates the messages in flight by a step.
    pub(super) fn follow(&self, number: usize, flight: &mut BTreeSet<usize>) {
        flight.extend(&self.began[number]);
        // Last: a message can be lost in the step that sends it.
        for gone in &self.ended[number] {
            flight.remove(gone);
        }
    }

    /// A message in flight.
    pub(super) fn flying(&self, index: usize) -> Flying {
        let arrow = &self.arrows[index];
        let (text, sent) = (self.message(&arrow.payload), self.places[arrow.sent]);
        Flying { from: arrow.from, to: arrow.to, text, sent }
    }

    /// The standings of the properties after a step.
    pub(super) fn standings(&self, number: usize) -> Vec<Standing> {
        let shown = |course: &Course| page::standing(course.property, course.node, course.after(number));
        self.recording.courses.iter().map(shown).collect()
    }

    /// The state of a node after a step, compared with the state before it.
    pub(super) fn rows(&self, number: usize, node: NodeId) -> Vec<Row> {
        let now = self.recording.observed(node, self.since(number, node));
        let before = match number.checked_sub(1) {
            Some(before) => self.recording.observed(node, self.since(before, node)),
            None => now,
        };
        rows(before, now).into_iter().map(Row::from).collect()
    }

    /// The step since which a node has had its state after a step.
    pub(super) fn since(&self, number: usize, node: NodeId) -> usize {
        self.recording.step_before(number + 1, node)
    }

    /// The fault in which a node is stuck after a step.
    pub(super) fn stuck(&self, number: usize, node: NodeId) -> Option<String> {
        let observed = self.recording.observed(node, self.since(number, node));
        observed.fault.as_ref().map(|fault| page::clean(&fault.to_string()))
    }

    fn message(&self, payload: &[u8]) -> String {
        clipped(&shortened(self.recording.message(payload)), LETTERS_MAX)
    }
}

fn rows(before: &Observed, after: &Observed) -> Vec<rows::Row> {
    if let (Some(before), Some(after)) = (&before.description, &after.description) {
        return rows::rows(before, after);
    }
    let [old, new] = [before, after].map(|observed| clipped(&explain::state(observed), LETTERS_MAX));
    let is_same = old == new;
    let mark = if is_same { Mark::Same } else { Mark::Changed };
    vec![rows::Row { depth: 0, mark, name: String::new(), value: new, old: (!is_same).then_some(old) }]
}
