//! Facts about messages, proven from the local transition system, for a search that leaves messages out.
//!
//! A message is *dead* in a local state if delivering it changes nothing and sends nothing, (or it is held), there and in
//! every successor. It is a *sink* there if its delivery sends nothing and commutes with everything else that can
//! happen at the node, there and in every successor: then it can be deferred for any time.
//!
//! "Successor" refers to the graph of those local steps that the search has taken, so facts hold for the steps known so
//! far and can be refuted by further ones. Each fact that was used is remembered; if one of them falls, the search
//! is repeated with all facts known by then. Knowledge only grows, so this ends, and the last search has
//! used no fact that is wrong about the steps it has taken itself, see [`reduced_search`](crate::reduction::reduced_search).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use host_model::contract::{MachineError, Role};
use host_model::lts::{LocalStateId, MessageId, Stepper, Trigger};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::kernel::table_bytes;

/// If sinks lead to more local states than this together, they do not count as sinks.
const CLOSURE_MAX: usize = 4096;

/// A local state and a message to its node.
type Pair = (LocalStateId, MessageId);

/// A local state and sinks in flight to it.
type Sinks = (LocalStateId, Box<[MessageId]>);

/// The facts about a local state.
#[derive(Default)]
struct Site {
    next: BTreeSet<LocalStateId>,
    before: BTreeSet<LocalStateId>,
    /// Messages that were in flight here or in an earlier local state.
    considered: BTreeSet<MessageId>,
    /// Messages that were deferred here.
    put_off: BTreeSet<MessageId>,
    /// The sets of sinks that were in flight together, none inside another one.
    together: Vec<Box<[MessageId]>>,
    /// The sets that were proven to be sinks, and the number of considered messages at that time.
    validated: (Vec<Box<[MessageId]>>, usize),
}

/// The facts, and the steps on which they rest.
#[derive(Default)]
pub struct MessageFacts {
    sites: BTreeMap<LocalStateId, Site>,
    /// Messages that are not dead.
    live: FxHashSet<Pair>,
    /// Messages that are no sinks.
    no_sinks: FxHashSet<Pair>,
    used_dead: FxHashSet<Pair>,
    /// None for too many local states.
    closures: FxHashMap<Sinks, Option<Arc<Closure>>>,
    /// Whether a fact that was used has fallen.
    is_stale: bool,
    /// Number of entries in the sets of the sites that stay from search to search.
    held: usize,
    /// Heap bytes of the closures.
    closure_bytes: usize,
}

/// The local states that follow one when deferred messages are delivered.
pub struct Closure {
    /// Each with the messages delivered on the path, in their order; few messages first.
    pub states: Vec<(LocalStateId, Vec<MessageId>)>,
}

impl MessageFacts {
    /// Bytes kept. B-trees are at least half full, so their entries are counted twice; the sets of messages deferred at each local
    /// state last for one search only, and are left out.
    pub fn bytes(&self) -> usize {
        let pairs = self.live.capacity() + self.no_sinks.capacity() + self.used_dead.capacity();
        let trees = 2 * (self.sites.len() * size_of::<(LocalStateId, Site)>() + self.held * size_of::<u32>());
        let tables = table_bytes::<Pair>(pairs) + table_bytes::<(Sinks, usize)>(self.closures.capacity());
        trees + tables + self.closure_bytes
    }

    /// Begins a search: no fact is used yet.
    pub fn begin(&mut self) {
        self.used_dead.clear();
        for site in self.sites.values_mut() {
            site.put_off.clear();
            site.together.clear();
        }
        self.is_stale = false;
    }

    /// Whether a fact has fallen that was used since the search began. Checks all sinks again.
    pub fn is_stale(&mut self, stepper: &mut Stepper<'_>) -> Result<bool, MachineError> {
        let sites: Vec<LocalStateId> = self.sites.keys().copied().collect();
        for state in sites {
            self.validate(stepper, state)?;
        }
        Ok(self.is_stale)
    }

    /// Notes a step from one local state to another.
    pub fn note_step(
        &mut self,
        stepper: &mut Stepper<'_>,
        before: LocalStateId,
        next: LocalStateId,
    ) -> Result<(), MachineError> {
        if before == next || !self.sites.entry(before).or_default().next.insert(next) {
            return Ok(());
        }
        self.sites.entry(next).or_default().before.insert(before);
        self.held += 2;
        let inherited: Vec<MessageId> = self.sites[&before].considered.iter().copied().collect();
        for message in inherited {
            self.consider(stepper, next, message)?;
            if self.live.contains(&(next, message)) {
                self.revive((before, message));
            }
            if self.no_sinks.contains(&(next, message)) {
                self.unsink((before, message));
            }
        }
        Ok(())
    }

    /// Finds out the effect of a message in a local state and in all that follow.
    fn consider(
        &mut self,
        stepper: &mut Stepper<'_>,
        state: LocalStateId,
        message: MessageId,
    ) -> Result<(), MachineError> {
        let mut stack = vec![state];
        while let Some(at) = stack.pop() {
            let site = self.sites.entry(at).or_default();
            if !site.considered.insert(message) {
                continue;
            }
            self.held += 1;
            // Known facts about a following local state have spread back only along the steps noted by then; a step noted later has
            // passed on only the messages considered before it.
            let following: Vec<LocalStateId> = site.next.iter().copied().collect();
            for next in &following {
                if self.live.contains(&(*next, message)) {
                    self.revive((at, message));
                }
                if self.no_sinks.contains(&(*next, message)) {
                    self.unsink((at, message));
                }
            }
            stack.extend(following);
            if stepper.state(at).is_stuck() {
                // No event happens at a node that is stuck in a fault.
                continue;
            }
            let row = stepper.step(at, Trigger::deliver(message))?;
            if stepper.known().takes_quorums(stepper.known().destination(message)) {
                // A sink would have to commute with quorums, too, so no message is deferred here.
                self.unsink((at, message));
                if stepper.known().role(at, message) == Role::Held {
                    continue;
                }
            }
            let [outcome] = stepper.outcomes(row) else {
                self.revive((at, message));
                self.unsink((at, message));
                continue;
            };
            let is_silent = outcome.sent.is_empty();
            if outcome.next != at || !is_silent {
                let is_fault = stepper.state(outcome.next).is_stuck();
                self.revive((at, message));
                if !is_silent || is_fault {
                    self.unsink((at, message));
                }
            }
        }
        Ok(())
    }

    /// Marks a message as not dead here, nor in the local states before.
    fn revive(&mut self, pair: Pair) {
        let mut stack = vec![pair.0];
        while let Some(at) = stack.pop() {
            let pair = (at, pair.1);
            if !self.live.insert(pair) {
                continue;
            }
            self.is_stale |= self.used_dead.contains(&pair);
            stack.extend(self.sites.get(&at).into_iter().flat_map(|site| site.before.iter().copied()));
        }
    }

    /// Marks a message as no sink here, nor in the local states before.
    fn unsink(&mut self, pair: Pair) {
        let mut stack = vec![pair.0];
        while let Some(at) = stack.pop() {
            let pair = (at, pair.1);
            if !self.no_sinks.insert(pair) {
                continue;
            }
            let Some(site) = self.sites.get(&at) else { continue };
            self.is_stale |= site.put_off.contains(&pair.1);
            stack.extend(site.before.iter().copied());
        }
    }

    /// Whether a message in flight can be left out of a global state whose destination is in this local state. The
    /// fact then counts as used.
    pub fn is_dead(
        &mut self,
        stepper: &mut Stepper<'_>,
        state: LocalStateId,
        message: MessageId,
    ) -> Result<bool, MachineError> {
        self.consider(stepper, state, message)?;
        let is_dead = !self.live.contains(&(state, message));
        if is_dead {
            self.used_dead.insert((state, message));
        }
        Ok(is_dead)
    }

    /// Whether a message in flight can be deferred in a local state; [`is_dead`](Self::is_dead) must have been called for it
    /// before. The fact then counts as used.
    pub fn is_sink(&mut self, state: LocalStateId, message: MessageId) -> bool {
        let is_sink = !self.no_sinks.contains(&(state, message));
        if is_sink {
            self.sites.entry(state).or_default().put_off.insert(message);
        }
        is_sink
    }

    /// The local states that follow `state` when some of `sinks` are delivered; none if there are too many, and then
    /// these are no sinks.
    pub fn closure(
        &mut self,
        stepper: &mut Stepper<'_>,
        state: LocalStateId,
        sinks: &[MessageId],
    ) -> Result<Option<Arc<Closure>>, MachineError> {
        let together = &mut self.sites.entry(state).or_default().together;
        if !together.iter().any(|known| is_subset(sinks, known)) {
            together.retain(|known| !is_subset(known, sinks));
            together.push(sinks.into());
        }
        if let Some(known) = self.closures.get(&(state, sinks.into())) {
            return Ok(known.clone());
        }
        let mut states: Vec<(LocalStateId, Vec<MessageId>)> = vec![(state, Vec::new())];
        // Keyed by local state and by the messages delivered, in any order.
        let mut seen: FxHashSet<(LocalStateId, Vec<MessageId>)> = states.iter().cloned().collect();
        let mut index = 0;
        while index < states.len() && states.len() <= CLOSURE_MAX {
            let (at, delivered) = states[index].clone();
            index += 1;
            for message in left_of(sinks, &delivered) {
                let row = stepper.step(at, Trigger::deliver(message))?;
                let [outcome] = stepper.outcomes(row) else { continue };
                let next = outcome.next;
                if stepper.state(next).is_stuck() || next == at {
                    continue;
                }
                let longer: Vec<MessageId> = delivered.iter().copied().chain([message]).collect();
                let mut sorted = longer.clone();
                sorted.sort_unstable();
                if seen.insert((next, sorted)) {
                    states.push((next, longer));
                }
            }
        }
        let closure = if states.len() > CLOSURE_MAX {
            sinks.iter().for_each(|message| self.unsink((state, *message)));
            None
        } else {
            let delivered: usize = states.iter().map(|(_, delivered)| delivered.capacity()).sum();
            self.closure_bytes += states.capacity() * size_of::<(LocalStateId, Vec<MessageId>)>()
                + (delivered + sinks.len()) * size_of::<MessageId>();
            Some(Arc::new(Closure { states }))
        };
        self.closures.insert((state, sinks.into()), closure.clone());
        Ok(closure)
    }

    /// Checks that the messages deferred in a local state commute with everything else there, also after some
    /// of them were delivered; a message that does not is no sink any more.
    fn validate(&mut self, stepper: &mut Stepper<'_>, state: LocalStateId) -> Result<(), MachineError> {
        let site = self.sites.entry(state).or_default();
        if site.validated.1 != site.considered.len() {
            site.validated = (Vec::new(), site.considered.len());
        }
        let validated = &site.validated.0;
        let is_known = |sinks: &[MessageId]| validated.iter().any(|known| is_subset(sinks, known));
        let sets: Vec<_> = site.together.iter().filter(|sinks| !is_known(sinks)).cloned().collect();
        let others: Vec<Trigger> = site.considered.iter().map(|message| Trigger::deliver(*message)).collect();
        let mut checked: FxHashSet<Pair> = FxHashSet::default();
        for sinks in sets {
            let Some(closure) = self.closure(stepper, state, &sinks)? else { continue };
            let mut is_valid = true;
            for (at, delivered) in &closure.states {
                for sink in left_of(&sinks, delivered) {
                    if checked.insert((*at, sink)) && !commutes(stepper, *at, sink, &others)? {
                        self.unsink((state, sink));
                        is_valid = false;
                    }
                }
            }
            if is_valid && let Some(site) = self.sites.get_mut(&state) {
                site.validated.0.push(sinks);
            }
        }
        Ok(())
    }
}

/// The messages of a sorted list that were not delivered yet; each content once.
fn left_of(all: &[MessageId], delivered: &[MessageId]) -> Vec<MessageId> {
    let count = |list: &[MessageId], message| list.iter().filter(|other| **other == message).count();
    let mut left = all.to_vec();
    left.dedup();
    left.retain(|message| count(all, *message) > count(delivered, *message));
    left
}

/// Whether the delivery of a message is silent at `at`, and has the same effect before and after each of the messages and
/// local events there.
fn commutes(
    stepper: &mut Stepper<'_>,
    at: LocalStateId,
    sink: MessageId,
    others: &[Trigger],
) -> Result<bool, MachineError> {
    let deliver = Trigger::deliver(sink);
    let Some(after) = silent(stepper, at, deliver)? else { return Ok(false) };
    if after == at {
        // Its delivery here changes nothing: the search keeps it in flight, which covers more.
        return Ok(true);
    }
    let local = |state: LocalStateId, stepper: &Stepper<'_>| -> BTreeSet<Trigger> {
        let state = stepper.state(state);
        state.protocol.local_events.iter().map(|event| Trigger::local(*event)).chain(state.faults.iter()).collect()
    };
    let local_events = local(at, stepper);
    if local_events != local(after, stepper) {
        return Ok(false);
    }
    for event in others.iter().copied().chain(local_events).filter(|event| *event != deliver) {
        let (one, other) = (stepper.step(at, event)?, stepper.step(after, event)?);
        if stepper.outcomes(one).len() != stepper.outcomes(other).len() {
            return Ok(false);
        }
        for index in 0..stepper.outcomes(one).len() {
            let (before, later) = (&stepper.outcomes(one)[index], &stepper.outcomes(other)[index]);
            if before.sent != later.sent || before.choices != later.choices {
                return Ok(false);
            }
            let (from, expected) = (before.next, later.next);
            if silent(stepper, from, deliver)? != Some(expected) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// The local state after an event that has one outcome, sends nothing and is no fault.
fn silent(stepper: &mut Stepper<'_>, at: LocalStateId, event: Trigger) -> Result<Option<LocalStateId>, MachineError> {
    if stepper.state(at).is_stuck() {
        return Ok(None);
    }
    let row = stepper.step(at, event)?;
    let [outcome] = stepper.outcomes(row) else { return Ok(None) };
    let is_silent = outcome.sent.is_empty() && !stepper.state(outcome.next).is_stuck();
    Ok(is_silent.then_some(outcome.next))
}

/// Whether a sorted multiset is contained in another one.
pub fn is_subset(small: &[MessageId], large: &[MessageId]) -> bool {
    if small.len() > large.len() {
        return false;
    }
    let mut large = large.iter();
    small.iter().all(|message| large.find(|other| *other >= message) == Some(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multisets_are_compared_with_their_repetitions() {
        let set = |ids: &[u32]| ids.iter().map(|id| MessageId(*id)).collect::<Vec<_>>();
        for (small, large, expected) in [
            (&[][..], &[][..], true),
            (&[1], &[1], true),
            (&[1, 1], &[1], false),
            (&[1, 1], &[1, 2], false),
            (&[1, 1, 3], &[1, 1, 2, 3], true),
            (&[2], &[1, 3], false),
            (&[1, 4], &[1, 3], false),
        ] {
            assert_eq!(is_subset(&set(small), &set(large)), expected, "{small:?} in {large:?}");
        }
    }
}
