//! The happens-before of a recording: for each message its sender, and the steps of sending and delivery.

use host_model::contract::NodeId;
use host_model::trace::TraceEvent;

use crate::recording::Recording;

/// A message from its sending to its delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// The sender.
    pub from: NodeId,
    /// The step that has sent it, counted from 1; 0 is `init`.
    pub sent: usize,
    /// The destination.
    pub to: NodeId,
    /// The step that received it; none if it never arrived.
    pub delivered: Option<usize>,
    /// The step in which it was lost, if a step says so.
    pub lost: Option<usize>,
    /// The content.
    pub payload: Vec<u8>,
}

impl Arrow {
    fn is_in_flight(&self) -> bool {
        self.delivered.is_none() && self.lost.is_none()
    }
}

/// All messages in the order of sending.
///
/// Of several equal messages the one that was sent first is delivered first: they are indistinguishable.
pub fn arrows(recording: &Recording) -> Vec<Arrow> {
    let mut arrows = Vec::new();
    for (node, observed) in (0..).zip(&recording.init) {
        send(&mut arrows, recording, node, 0, &observed.sent);
    }
    for (number, step) in (1..).zip(&recording.trace.steps) {
        for (from, payload) in step.event.received() {
            let is_same = |arrow: &&mut Arrow| {
                arrow.is_in_flight() && arrow.from == from && arrow.to == step.node && arrow.payload == payload
            };
            if let Some(arrow) = arrows.iter_mut().find(is_same) {
                arrow.delivered = Some(number);
            }
        }
        if let TraceEvent::Lose { from, payload } = &step.event {
            let is_same = |arrow: &&mut Arrow| {
                arrow.is_in_flight() && (arrow.from, arrow.to, &arrow.payload) == (*from, step.node, &payload.0)
            };
            if let Some(arrow) = arrows.iter_mut().find(is_same) {
                arrow.lost = Some(number);
            }
        }
        send(&mut arrows, recording, step.node, number, &recording.steps[number - 1].sent);
    }
    arrows
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
        delivered: None,
        lost: None,
        payload: message.payload.0.clone(),
    }));
}

/// The vector clock of each step, and of `init` in place 0 of each: how many events of each node happened before it or are
/// it. `init` counts as an event.
pub fn clocks(recording: &Recording) -> Vec<Vec<u64>> {
    let nodes = recording.nodes() as usize;
    let arrows = arrows(recording);
    let init = |node: usize| -> Vec<u64> { (0..nodes).map(|other| u64::from(other == node)).collect() };
    let mut now: Vec<Vec<u64>> = (0..nodes).map(init).collect();
    let mut clocks = Vec::with_capacity(recording.steps.len());
    for (number, step) in (1..).zip(&recording.trace.steps) {
        let node = step.node as usize;
        for arrow in arrows.iter().filter(|arrow| arrow.delivered == Some(number)) {
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
