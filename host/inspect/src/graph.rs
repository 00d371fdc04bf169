//! The happens-before of a recording: for each message its sender, and the steps of sending and delivery.

use host_model::contract::NodeId;
use host_model::trace::TraceEvent;

use crate::recording::Recording;

/// The fate of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is in flight at the end.
    InFlight,
    /// This step receives it.
    Delivered(usize),
    /// It is lost in this step: by itself, or with a connection.
    Lost(usize),
}

/// A message from its sending to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// The sender.
    pub from: NodeId,
    /// The step that has sent it, counted from 1; 0 is `init`.
    pub sent: usize,
    /// The destination.
    pub to: NodeId,
    /// Its fate.
    pub fate: Fate,
    /// The content.
    pub payload: Vec<u8>,
    /// For a message that is delivered again, the step that ended the previous copy.
    pub again: Option<usize>,
}

impl Arrow {
    /// The step that receives it, if any.
    pub fn delivered(&self) -> Option<usize> {
        if let Fate::Delivered(step) = self.fate { Some(step) } else { None }
    }

    /// The step that ends it, if any.
    pub fn end(&self) -> Option<usize> {
        match self.fate {
            Fate::InFlight => None,
            Fate::Delivered(step) | Fate::Lost(step) => Some(step),
        }
    }

    /// Whether it is in flight after this step.
    pub fn is_in_flight_after(&self, step: usize) -> bool {
        self.sent <= step && self.end().is_none_or(|gone| gone > step)
    }
}

/// All messages in the order of sending.
///
/// Equal messages are delivered in the order of sending: they are indistinguishable. A message that is delivered again has
/// an arrow for each delivery.
pub fn arrows(recording: &Recording) -> Vec<Arrow> {
    let mut arrows = Vec::new();
    for (node, observed) in (0..).zip(&recording.init) {
        send(&mut arrows, recording, node, 0, &observed.sent);
    }
    for (number, step) in (1..).zip(&recording.trace.steps) {
        for (from, payload) in step.event.received() {
            end(&mut arrows, from, step.node, payload, Fate::Delivered(number));
        }
        if let TraceEvent::Lose { from, payload } = &step.event {
            end(&mut arrows, *from, step.node, &payload.0, Fate::Lost(number));
        }
        let observed = &recording.steps[number - 1];
        for lost in observed.lost.iter().filter(|lost| !lost.is_sent) {
            end(&mut arrows, lost.from, lost.to, &lost.payload, Fate::Lost(number));
        }
        let before = arrows.len();
        send(&mut arrows, recording, step.node, number, &observed.sent);
        for lost in observed.lost.iter().filter(|lost| lost.is_sent) {
            let is_it = |arrow: &&mut Arrow| {
                arrow.fate == Fate::InFlight && (arrow.to, &arrow.payload) == (lost.to, &lost.payload)
            };
            if let Some(arrow) = arrows[before..].iter_mut().find(is_it) {
                arrow.fate = Fate::Lost(number);
            }
        }
    }
    arrows
}

/// Ends the first of these messages in flight. Without one, a message is delivered again: it gets another arrow.
fn end(arrows: &mut Vec<Arrow>, from: NodeId, to: NodeId, payload: &[u8], fate: Fate) {
    let is_same = |arrow: &Arrow| (arrow.from, arrow.to, &*arrow.payload) == (from, to, payload);
    if let Some(arrow) = arrows.iter_mut().find(|arrow| arrow.fate == Fate::InFlight && is_same(arrow)) {
        arrow.fate = fate;
    } else if let Some(first) = arrows.iter().position(is_same) {
        let before = arrows.iter().filter(|arrow| is_same(arrow) && arrow.sent == arrows[first].sent);
        let again = before.filter_map(Arrow::end).max();
        arrows.insert(first + 1, Arrow { fate, again, ..arrows[first].clone() });
    }
}

fn send(
    arrows: &mut Vec<Arrow>,
    recording: &Recording,
    from: NodeId,
    sent: usize,
    messages: &[host_model::trace::Sent],
) {
    debug_assert!(from < recording.nodes());
    arrows.extend(messages.iter().map(|message| Arrow {
        from,
        sent,
        to: message.to,
        fate: Fate::InFlight,
        payload: message.payload.0.clone(),
        again: None,
    }));
}

/// The vector clock of each step: for each node the number of its events that happened before the step, or are the step.
/// `init` counts as an event.
pub fn clocks(recording: &Recording) -> Vec<Vec<u64>> {
    let nodes = recording.nodes() as usize;
    let arrows = arrows(recording);
    let init = |node: usize| -> Vec<u64> { (0..nodes).map(|other| u64::from(other == node)).collect() };
    let mut now: Vec<Vec<u64>> = (0..nodes).map(init).collect();
    let mut clocks = Vec::with_capacity(recording.steps.len());
    for (number, step) in (1..).zip(&recording.trace.steps) {
        let node = step.node as usize;
        for arrow in arrows.iter().filter(|arrow| arrow.fate == Fate::Delivered(number)) {
            let sender = match arrow.sent {
                0 => init(arrow.from as usize),
                sent => Vec::clone(&clocks[sent - 1]),
            };
            for (mine, theirs) in now[node].iter_mut().zip(sender) {
                *mine = (*mine).max(theirs);
            }
        }
        now[node][node] += 1;
        clocks.push(now[node].clone());
    }
    clocks
}
