//! The events of the next size: extensions compete, and survivors become events.

use std::cmp::Ordering;
use std::collections::hash_map::Entry;

use host_model::contract::fingerprint::Fingerprint;
use host_model::contract::{ClassId, MachineError};
use host_model::lts::Step;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::unfolding::view::{Extension, Instance, InstanceId, NONE, Offer, Staged};
use crate::unfolding::{Event, EventId, Unfolding, class_bit};

/// The result of [`Unfolding::grow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grown {
    /// There may be larger events.
    More,
    /// There are no larger events.
    Complete,
    /// `may_continue` has returned false.
    Stopped,
}

/// Number of extensions or events that are processed between two polls.
const PART: usize = 16_384;

/// Number of events in the first part, whose results take an unknown amount of memory.
const FIRST_PART: usize = 64;

/// Bytes that the results of a part may take, about: the length of the next part follows from them.
const PART_BYTES: usize = 16 << 20;

/// Number of extensions that a worker takes at a time.
const GRAIN: usize = 256;

impl Unfolding<'_, '_> {
    /// Adds all events of the next size; they are the last in [`events`](Self::events). Calls `may_continue` regularly; once it has
    /// returned false, the unfolding cannot grow any more, and the events that it has stay valid.
    pub fn grow(&mut self, may_continue: &mut dyn FnMut(&Self) -> bool) -> Result<Grown, MachineError> {
        while self.queue.get(self.size).is_none_or(Vec::is_empty) {
            if self.size >= self.queue.len() {
                return Ok(Grown::Complete);
            }
            self.size += 1;
        }
        if self.bounds.depth.is_some_and(|depth| self.size as u32 > depth) {
            return Ok(Grown::Complete);
        }
        let extensions = std::mem::take(&mut self.queue[self.size]);
        self.queued -= extensions.len() as u64;
        self.at_hand = extensions.capacity() * size_of::<Extension>();
        let Some(staged) = self.compete(&extensions, may_continue)? else { return Ok(Grown::Stopped) };
        drop(extensions);
        self.at_hand = staged.capacity() * size_of::<Staged>();
        let first = self.events.len();
        // A past has an entry per node.
        let part_max = (PART_BYTES / (self.nodes * size_of::<EventId>())).clamp(1, PART);
        for part in staged.chunks(part_max) {
            let view = self.view();
            let pasts: Vec<Box<[EventId]>> = part.par_iter().map(|staged| view.past_of(staged.extension)).collect();
            for (staged, past) in part.iter().zip(pasts) {
                self.seen.insert(staged.fingerprint, 0);
                self.add(staged, &past);
            }
            if staged.len() > part_max && !may_continue(self) {
                return Ok(Grown::Stopped);
            }
        }
        drop(staged);
        // All events of this size inherit first: an offer must not meet an incomplete event.
        let added: Vec<EventId> = (first..self.events.len()).map(|id| EventId(id as u32)).collect();
        self.at_hand = added.capacity() * size_of::<EventId>();
        let mut parts = Parts::new(&added);
        while let Some(part) = parts.next_part() {
            let view = self.view();
            let inherited: Vec<Vec<InstanceId>> = part.par_iter().map(|id| view.inherited(*id)).collect();
            let looked_at = part.iter().map(|id| view.candidates[self.chains.prev(*id).0 as usize].len() as u64);
            self.steps += looked_at.sum::<u64>();
            let room: usize = inherited.iter().map(Vec::capacity).sum();
            self.candidate_room += room;
            for (id, inherited) in part.iter().zip(inherited) {
                self.candidates[id.0 as usize] = inherited;
                self.schedule(*id)?;
            }
            if parts.is_question_due(room * size_of::<InstanceId>()) && !may_continue(self) {
                return Ok(Grown::Stopped);
            }
        }
        let mut parts = Parts::new(&added);
        while let Some(part) = parts.next_part() {
            let view = self.view();
            let offers: Vec<(Vec<Offer>, u64)> = part.par_iter().map(|id| view.offers(*id)).collect();
            let room: usize = offers.iter().map(|(offers, _)| offers.capacity()).sum();
            self.steps += offers.iter().map(|(_, looked_at)| looked_at).sum::<u64>();
            for offer in offers.into_iter().flat_map(|(offers, _)| offers) {
                self.accept(offer)?;
            }
            if parts.is_question_due(room * size_of::<Offer>()) && !may_continue(self) {
                return Ok(Grown::Stopped);
            }
        }
        self.at_hand = 0;
        self.size += 1;
        Ok(Grown::More)
    }

    /// Executes extensions of one size; of those that reach the same global state only the least survives, and none
    /// if a smaller one has reached it. None after a request to stop.
    fn compete(
        &mut self,
        extensions: &[Extension],
        may_continue: &mut dyn FnMut(&Self) -> bool,
    ) -> Result<Option<Vec<Staged>>, MachineError> {
        let mut survivors: Vec<Staged> = Vec::new();
        let mut by_state: FxHashMap<Fingerprint, usize> = FxHashMap::default();
        for part in extensions.chunks(PART) {
            let pairs: Vec<_> = part.iter().map(|one| (self.event(one.prev).state, one.trigger)).collect();
            self.stepper.prepare(&pairs)?;
            let (view, seen) = (self.view(), &self.seen);
            let mut executed = 0;
            let reached = |part: &[Extension]| {
                let mut staged = Vec::with_capacity(part.len());
                let executed: usize =
                    part.iter().map(|one| view.execute(*one, self.base, &self.budgets, &mut staged)).sum();
                staged.retain(|staged| !seen.contains(staged.fingerprint));
                (executed, staged)
            };
            let reached: Vec<(usize, Vec<Staged>)> = part.par_chunks(GRAIN).map(reached).collect();
            for (outcomes, staged) in reached {
                executed += outcomes as u64;
                for one in staged {
                    if !self.relevance.is_relevant(one.next) {
                        continue;
                    }
                    match by_state.entry(one.fingerprint) {
                        Entry::Vacant(entry) => {
                            entry.insert(survivors.len());
                            survivors.push(one);
                        }
                        Entry::Occupied(entry) => {
                            let rival = &mut survivors[*entry.get()];
                            let (past, past_of_rival) = (view.past_of(one.extension), view.past_of(rival.extension));
                            let (words, words_of_rival) = (one.words(&past), rival.words(&past_of_rival));
                            if words.compare(&words_of_rival, view.chains, view.events) == Ordering::Less {
                                *rival = one;
                            }
                        }
                    }
                }
            }
            self.executed += executed;
            if !may_continue(self) {
                return Ok(None);
            }
        }
        Ok(Some(survivors))
    }

    fn add(&mut self, staged: &Staged, past: &[EventId]) {
        let Staged { extension, outcome, .. } = *staged;
        let id = self.chains.push(extension.prev);
        let prev = self.event(extension.prev).clone();
        let row = self.stepper.step(prev.state, extension.trigger).expect("the step was executed before");
        let executed = self.stepper.outcomes(row)[outcome as usize].clone();
        let is_local = extension.trigger.local_event().is_some();
        let delta = match self.stepper.known().is_ordered() {
            true => {
                let consumed = extension.consumed.instances(&self.quorums).iter();
                let consumed = consumed.map(|instance| self.instances[instance.0 as usize].message);
                self.view().unordered_delta(&executed.sent, consumed)
            }
            false => executed.delta.wrapping_add(self.budgets.of_step(prev.node, extension.trigger)),
        };
        let class = self.stepper.state(executed.next).protocol.class;
        let size = self.chains.config_size(past) + 1;
        let first_sent = self.instances.len() as u32;
        self.events.push(Event {
            node: prev.node,
            state: executed.next,
            class,
            size,
            classes_below: 0,
            step: Step { node: prev.node, trigger: extension.trigger, outcome },
            consumed: extension.consumed,
            first_child: NONE,
            next_sibling: prev.first_child,
            local_events: prev.local_events + u32::from(is_local),
            sent: (first_sent, first_sent + executed.sent.len() as u32),
            chain: prev.chain.wrapping_add(delta),
        });
        self.events[extension.prev.0 as usize].first_child = id.0;
        self.pasts.extend_from_slice(past);
        let own = self.pasts.len() - self.nodes + prev.node as usize;
        self.pasts[own] = id;
        if class != prev.class {
            self.note_class(id, class);
        }
        if self.stepper.known().is_ordered() {
            self.send_in_order(id, extension.prev, extension.consumed, &executed.sent);
            self.candidates.push(Vec::new());
            return;
        }
        for (message, older) in executed.sent.iter().zip(self.find_older(id, &executed.sent)) {
            self.instances.push(Instance { message: *message, sender: id, older, before: NONE, position: 0 });
        }
        self.candidates.push(Vec::new());
    }

    /// Marks an event and all before it as leading to a class.
    fn note_class(&mut self, event: EventId, class: ClassId) {
        let bit = class_bit(class);
        let mut at = event;
        while self.event(at).classes_below & bit == 0 {
            self.events[at.0 as usize].classes_below |= bit;
            at = self.chains.prev(at);
        }
    }
}

/// Events in parts that take about equal memory each, whatever the size of their results.
struct Parts<'e> {
    events: &'e [EventId],
    len: usize,
    /// Events and bytes since the last poll.
    events_since: usize,
    bytes_since: usize,
}

impl<'e> Parts<'e> {
    fn new(events: &'e [EventId]) -> Self {
        Self { events, len: FIRST_PART, events_since: 0, bytes_since: 0 }
    }

    fn next_part(&mut self) -> Option<&'e [EventId]> {
        let (part, rest) = self.events.split_at(self.len.min(self.events.len()));
        self.events = rest;
        self.events_since += part.len();
        (!part.is_empty()).then_some(part)
    }

    /// Whether to poll now: after this many events or bytes, and at the end. The last part has taken this many bytes.
    fn is_question_due(&mut self, bytes: usize) -> bool {
        self.len = match bytes {
            0..PART_BYTES => (2 * self.len).min(PART),
            _ => (self.len / 2).max(1),
        };
        self.bytes_since += bytes;
        let is_due = self.events.is_empty() || self.events_since >= PART || self.bytes_since >= PART_BYTES;
        if is_due {
            (self.events_since, self.bytes_since) = (0, 0);
        }
        is_due
    }
}
