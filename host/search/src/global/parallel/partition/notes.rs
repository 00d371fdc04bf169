//! Notes on new states: judgements, and ends where only faults are left.

use host_model::contract::fingerprint::Fingerprint;
use host_model::contract::{ClassId, NodeId};
use host_model::lts::{LocalStateId, MessageId, Step, deadlock};

use crate::global::parallel::partition::{Partition, RECENT};
use crate::global::parallel::round_context::RoundContext;
use crate::global::state::says_more;
use crate::global::visited::shard_of;

/// A note on a child; `classes` are still to be judged together.
pub struct Note {
    /// Index into the children of the partition.
    child: u32,
    /// The node of the event, whose local state may have judgements of its own.
    pub node: NodeId,
    /// The local state of that node.
    pub next: LocalStateId,
    /// One per node.
    pub classes: Vec<ClassId>,
    /// If only faults can happen, and ends are wanted: the local states, one per node, and the nodes that have crashed.
    pub end: Option<(Box<[LocalStateId]>, Vec<NodeId>)>,
}

impl Partition {
    /// Sends the system state of a new state to its shard, and notes its judgements.
    pub(super) fn look_at(&mut self, round: RoundContext<'_>, parent: u32, index: usize) {
        let end = round.crashes_max.and_then(|crashes_max| self.end(round, crashes_max, parent, index));
        let record = self.taken.record(parent as usize);
        let (_, child) = &self.children[index];
        let node = child.step.node as usize;
        let before = record.local(node);
        if child.next == before {
            if end.is_some() {
                let (node, next, classes) = (child.step.node, child.next, Vec::new());
                self.notes.push(Note { child: index as u32, node, next, classes, end });
            }
            return;
        }
        let local = |other: usize| if other == node { child.next } else { record.local(other) };
        let briefs = (0..record.nodes()).map(|other| round.known.brief(local(other)));
        let fingerprint = briefs.clone().fold(0, |sum: Fingerprint, brief| sum.wrapping_add(brief.fingerprint));
        let slot = &mut self.recent[fingerprint as usize % RECENT];
        if *slot != fingerprint {
            *slot = fingerprint;
            self.system_states[shard_of(fingerprint)].push(fingerprint);
            if let Some(collected) = &mut self.collected {
                collected.insert((0..record.nodes()).map(local).collect());
            }
        }
        if !says_more(round.known, before, child.next) && end.is_none() {
            return;
        }
        self.classes.clear();
        self.classes.extend(briefs.map(|brief| brief.class));
        let own = round.known.state(child.next).protocol.judgements.iter();
        let all = round.known.verdict(&self.classes).map(|verdict| own.chain(verdict.iter()));
        if end.is_some() || all.is_none_or(|mut all| all.any(round.is_wanted)) {
            let (node, next, classes) = (child.step.node, child.next, self.classes.clone());
            self.notes.push(Note { child: index as u32, node, next, classes, end });
        }
    }

    /// The local states of a child where only faults can happen, and the nodes that have crashed; none if another event
    /// is possible.
    fn end(
        &self,
        round: RoundContext<'_>,
        crashes_max: u32,
        parent: u32,
        index: usize,
    ) -> Option<(Box<[LocalStateId]>, Vec<NodeId>)> {
        let record = self.taken.record(parent as usize);
        let (_, child) = &self.children[index];
        if crashes_max == 0 && self.in_flight_len(round, parent, child) > 0 {
            return None;
        }
        let Step { node, trigger, outcome } = child.step;
        let local = |other: usize| if other == node as usize { child.next } else { record.local(other) };
        let locals: Box<[LocalStateId]> = (0..record.nodes()).map(local).collect();
        let mut in_flight: Vec<MessageId> = record.copies().collect();
        for taken in round.known.taken(trigger) {
            let at = in_flight.iter().position(|message| *message == taken).expect("what is taken was in flight");
            in_flight.swap_remove(at);
        }
        let sent = round.known.sent(&round.known.edges(child.row)[outcome as usize]);
        let addressees = in_flight.iter().chain(sent).map(|message| round.known.message(*message).to);
        let crashed = deadlock::crashed_in(round.known, &locals, addressees, crashes_max)?;
        Some((locals, crashed))
    }

    /// Number of events on the path to the state of a note.
    pub fn depth_of(&self, note: &Note) -> u32 {
        let (parent, _) = self.children[note.child as usize];
        self.expanded[parent as usize].reached.depth + 1
    }

    /// The index of the start state and the steps to the state of a note of this round.
    pub fn path_of(&self, note: &Note) -> (u32, Vec<Step>) {
        let (parent, child) = &self.children[note.child as usize];
        let (start, mut steps) = self.pending.steps_to(self.expanded[*parent as usize].reached);
        steps.push(child.step);
        (start, steps)
    }
}
