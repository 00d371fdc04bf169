//! Global states that are still to be expanded, each with the path that leads to it: a stack that reads and makes states in place,
//! without one allocation per state.

use host_model::contract::fingerprint::Fingerprint;
use host_model::lts::{LocalStateId, LtsCache, MessageId, Step, Trigger};
use host_model::trace::start::Start;

use crate::global::parallel::path_forest::{PathForest, PathId};
use crate::global::state::{Budgets, Child, GlobalState};
use crate::kernel::checkpoint_codec::{Reader, Writer};

/// The path to a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    /// The events from a start state up to the last one, which is `step`.
    pub path: PathId,
    /// The last event; without a trigger in a start state.
    pub step: Step,
    /// The number of events.
    pub depth: u32,
    /// Whether the state was never expanded before, so that its edges count.
    pub first: bool,
    /// Whether its expansion decides if the bound on depth leaves out an event in it: this counts for a state at the bound, until a
    /// shorter path reaches it.
    pub is_open: bool,
}

/// A stack of global states.
pub struct PackedStack {
    nodes: usize,
    /// One record per state: local states, local events, edges, messages in flight, and a tail of fixed length.
    words: Vec<u32>,
    len: usize,
    paths: PathForest,
    /// The messages that a step sends, sorted.
    sent: Vec<MessageId>,
}

/// The bit of a message word that says that the delivery is asleep.
const ASLEEP: u32 = 1 << 31;

/// The bit of the depth word that says that the state is open.
const OPEN: u32 = 1 << 31;

/// Words at the end of each record: fingerprint, path, last step, depth with bits for `first` and `is_open`, and number of messages.
const TAIL: usize = 10;

/// The place of the path in the tail.
const PATH: usize = 4;

/// The step of a start state.
const NO_STEP: Step = Step { node: 0, trigger: Trigger::NONE, outcome: 0 };

/// A packed state.
#[derive(Clone, Copy, Debug)]
pub struct PackedState<'r> {
    nodes: usize,
    words: &'r [u32],
}

impl<'r> PackedState<'r> {
    /// Number of nodes.
    #[inline]
    pub fn nodes(self) -> usize {
        self.nodes
    }

    /// The local state of a node.
    #[inline]
    pub fn local(self, node: usize) -> LocalStateId {
        LocalStateId(self.words[node])
    }

    /// Local events of each node on the path.
    #[inline]
    pub fn local_events(self) -> &'r [u32] {
        &self.words[self.nodes..2 * self.nodes]
    }

    /// For each node the number of edges of its events in the state before the last event.
    #[inline]
    pub fn edges(self) -> &'r [u32] {
        &self.words[2 * self.nodes..3 * self.nodes]
    }

    #[inline]
    fn in_flight(self) -> &'r [u32] {
        &self.words[3 * self.nodes..self.words.len() - TAIL]
    }

    /// Bytes of the record.
    #[inline]
    pub fn bytes(self) -> u64 {
        size_of_val(self.words) as u64
    }

    /// Number of messages in flight.
    #[inline]
    pub fn in_flight_len(self) -> usize {
        self.in_flight().len()
    }

    /// The messages in flight in the order of their ids, each once per copy.
    pub fn copies(self) -> impl Iterator<Item = MessageId> + 'r {
        self.in_flight().iter().map(|word| MessageId(word & !ASLEEP))
    }

    /// The distinct messages in flight in the order of their ids, without those asleep.
    #[inline]
    pub fn awake(self) -> impl Iterator<Item = MessageId> + 'r {
        let mut last = u32::MAX;
        self.in_flight().iter().filter_map(move |word| {
            let is_same = std::mem::replace(&mut last, word & !ASLEEP) == word & !ASLEEP;
            (!is_same && word & ASLEEP == 0).then_some(MessageId(*word))
        })
    }

    /// The distinct messages in flight in the order of their ids, each with whether it is asleep.
    #[inline]
    pub fn messages(self) -> impl Iterator<Item = (MessageId, bool)> + 'r {
        let messages = self.in_flight().chunk_by(|one, other| one & !ASLEEP == other & !ASLEEP);
        messages.map(|same| (MessageId(same[0] & !ASLEEP), same[0] & ASLEEP != 0))
    }

    #[inline]
    fn tail(self) -> &'r [u32; TAIL] {
        self.words.last_chunk().expect("a record ends in a tail")
    }

    /// The fingerprint.
    #[inline]
    pub fn fingerprint(self) -> Fingerprint {
        let [a, b, c, d, ..] = *self.tail();
        [d, c, b, a].iter().fold(0, |sum: Fingerprint, part| sum << 32 | Fingerprint::from(*part))
    }

    /// Whether this is a record of `state`.
    fn is_of(self, state: &GlobalState) -> bool {
        // The number of edges is unknown without expanding the state before; their sum must not overflow.
        let edges_max = u32::MAX / 2 / self.nodes as u32;
        self.words[..self.nodes].iter().eq(state.locals.iter().map(|id| &id.0))
            && self.local_events() == state.local_events
            && self.edges().iter().all(|edges| *edges <= edges_max)
            && self.in_flight().iter().map(|word| word & !ASLEEP).eq(state.in_flight.iter().map(|id| id.0))
            && self.fingerprint() == state.fingerprint
    }

    /// The path to the state.
    #[inline]
    pub fn reached(self) -> Reached {
        let [.., path, node, trigger, outcome, depth, _] = *self.tail();
        let step = Step { node, trigger: Trigger::from_raw(trigger), outcome };
        let (first, is_open) = (depth & 1 == 1, depth & OPEN != 0);
        Reached { path: PathId(path), step, depth: (depth & !OPEN) >> 1, first, is_open }
    }
}

/// States that were taken off a stack together.
#[derive(Default)]
pub struct PackedBatch {
    nodes: usize,
    words: Vec<u32>,
    /// The end of each record; the state pushed last comes first.
    ends: Vec<usize>,
}

impl PackedBatch {
    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        (self.words.capacity() * size_of::<u32>() + self.ends.capacity() * size_of::<usize>()) as u64
    }

    /// Their numbers.
    pub fn numbers(&self) -> std::ops::Range<usize> {
        0..self.ends.len()
    }

    /// A state by its number, from the one pushed last.
    #[inline]
    pub fn record(&self, index: usize) -> PackedState<'_> {
        let start = self.ends.get(index + 1).copied().unwrap_or(0);
        PackedState { nodes: self.nodes, words: &self.words[start..self.ends[index]] }
    }
}

/// A successor of a state in the making.
pub struct Successor<'r> {
    /// The state before.
    pub parent: PackedState<'r>,
    /// For each node the number of edges of its events in that state.
    pub edges: &'r [u32],
    /// The step.
    pub child: &'r Child,
    /// The path to the successor.
    pub reached: Reached,
}

impl PackedStack {
    /// An empty stack for states of this many nodes.
    pub fn new(nodes: usize) -> Self {
        Self { nodes, words: Vec::new(), len: 0, paths: PathForest::default(), sent: Vec::new() }
    }

    /// Number of states.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no states.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        (self.words.capacity() * size_of::<u32>()) as u64 + self.paths.bytes()
    }

    /// Pushes a start state, which has this index.
    pub fn push_start(&mut self, state: &GlobalState, index: u32) {
        let path = self.paths.root(index);
        self.words.extend(state.locals.iter().map(|id| id.0));
        self.words.extend(&state.local_events);
        self.words.extend(state.locals.iter().map(|_| 0));
        self.words.extend(state.in_flight.iter().map(|id| id.0));
        let reached = Reached { path, step: NO_STEP, depth: 0, first: true, is_open: false };
        self.push_tail(state.fingerprint, reached, state.in_flight.len());
    }

    /// Pushes a successor; its path belongs to it from now on.
    ///
    /// The deliveries at nodes before that of the event fall asleep, unless the event has sent the message and it was not
    /// in flight before. A quorum falls asleep if all its messages do.
    #[inline]
    pub fn push(&mut self, known: &LtsCache, budgets: &Budgets, successor: &Successor<'_>) {
        let Successor { parent, edges, child, reached } = successor;
        let Step { node, trigger, outcome } = child.step;
        let edge = &known.edges(child.row)[outcome as usize];
        self.make_room(parent.words.len() + edge.sent_len());
        let start = self.words.len();
        self.words.extend_from_slice(&parent.words[..2 * self.nodes]);
        self.words[start + node as usize] = child.next.0;
        self.words[start + self.nodes + node as usize] += u32::from(trigger.local_event().is_some());
        self.words.extend_from_slice(edges);
        self.sent.clear();
        self.sent.extend_from_slice(known.sent(edge));
        self.sent.sort_unstable();
        let mut sent = self.sent.iter().peekable();
        let mut consumed = trigger.message().or(trigger.lost());
        let mut consumed_together = known.taken_together(trigger);
        let first = self.words.len();
        for word in parent.in_flight() {
            let message = MessageId(word & !ASLEEP);
            if consumed == Some(message) {
                consumed = None;
                continue;
            }
            if let Some((first, rest)) = consumed_together.split_first()
                && *first == message
            {
                consumed_together = rest;
                continue;
            }
            while let Some(new) = sent.next_if(|new| **new < message) {
                self.words.push(new.0);
            }
            let is_asleep = known.destination(message) < node;
            self.words.push(if is_asleep { message.0 | ASLEEP } else { message.0 });
        }
        self.words.extend(sent.map(|new| new.0));
        let in_flight = self.words.len() - first;
        let added = edge.delta.wrapping_add(budgets.of_step(node, trigger));
        self.push_tail(parent.fingerprint().wrapping_add(added), *reached, in_flight);
    }

    /// Makes room for this many words, growing by a quarter instead of doubling: a stack can have most of the memory.
    fn make_room(&mut self, words: usize) {
        if self.words.capacity() - self.words.len() < words {
            self.words.reserve_exact(words.max(self.words.len() / 4));
        }
    }

    fn push_tail(&mut self, fingerprint: Fingerprint, reached: Reached, in_flight: usize) {
        let part = |shift: u32| (fingerprint >> shift) as u32;
        let Step { node, trigger, outcome } = reached.step;
        let open = if reached.is_open { OPEN } else { 0 };
        let depth = reached.depth << 1 | u32::from(reached.first) | open;
        let [path, in_flight] = [reached.path.0, in_flight as u32];
        let [a, b, c, d] = [part(0), part(32), part(64), part(96)];
        self.words.extend_from_slice(&[a, b, c, d, path, node, trigger.raw(), outcome, depth, in_flight]);
        self.len += 1;
    }

    /// Pushes a state that was taken and not expanded; its path belongs to it again.
    pub fn put_back(&mut self, record: PackedState<'_>) {
        self.make_room(record.words.len());
        self.words.extend_from_slice(record.words);
        self.len += 1;
    }

    /// Takes up to `quota` states, those pushed last, and after the first one only as many as fit in `bytes_max`; their paths
    /// belong to the caller, who must [`release`](Self::release) them.
    pub fn take(&mut self, quota: usize, bytes_max: usize, taken: &mut PackedBatch) {
        taken.ends.clear();
        let mut start = self.words.len();
        while taken.ends.len() < quota.min(self.len) {
            let first = start - (3 * self.nodes + TAIL + self.words[start - 1] as usize);
            if !taken.ends.is_empty() && (self.words.len() - first) * size_of::<u32>() > bytes_max {
                break;
            }
            taken.ends.push(start);
            start = first;
        }
        let quota = taken.ends.len();
        taken.ends.iter_mut().for_each(|end| *end -= start);
        taken.nodes = self.nodes;
        taken.words.clear();
        taken.words.extend_from_slice(&self.words[start..]);
        self.words.truncate(start);
        self.len -= quota;
    }

    /// Saves all states with their paths.
    pub fn save(&self, out: &mut Writer<'_>) {
        out.words(&self.words);
        out.number(self.len as u64);
        self.paths.save(out);
    }

    /// The states that were saved; none if the path of one does not lead to it, so that nothing can go wrong later.
    pub fn load(known: &LtsCache, budgets: &Budgets, starts: &[Start], saved: &mut Reader<'_>) -> Option<Self> {
        let (words, len) = (saved.words()?, usize::try_from(saved.number()?).ok()?);
        let mut pending = Self { words, len, paths: PathForest::load(saved)?, ..Self::new(budgets.nodes()) };
        let mut end = pending.words.len();
        for _ in 0..len {
            let in_flight = *pending.words[..end].last()? as usize;
            let start = end.checked_sub((3 * pending.nodes + TAIL).checked_add(in_flight)?)?;
            let record = PackedState { nodes: pending.nodes, words: &pending.words[start..end] };
            let reached = record.reached();
            let is_start = reached.step == NO_STEP;
            let before = (reached.depth as usize).checked_sub(usize::from(!is_start))?;
            let (first, mut steps) = pending.paths.adopt(reached.path, before)?;
            steps.extend((!is_start).then_some(reached.step));
            let state = GlobalState::after(known, budgets, starts.get(first as usize)?, &steps)?;
            if !record.is_of(&state) {
                return None;
            }
            end = start;
        }
        pending.paths.sweep();
        (end == 0).then_some(pending)
    }

    /// Moves the state pushed last, and its path, to another stack.
    pub fn give(&mut self, other: &mut Self, scratch: &mut PackedBatch) {
        self.take(1, 0, scratch);
        let record = scratch.record(0);
        let (start, steps) = self.paths.steps(record.reached().path);
        self.release(record.reached().path);
        let root = other.paths.root(start);
        let path = steps.into_iter().fold(root, |path, step| other.paths.extend(path, step));
        other.put_back(record);
        let tail = other.words.len() - TAIL;
        other.words[tail + PATH] = path.0;
    }

    /// The path to a state that was taken, including its last step. Replaces `reached.path`, which the caller no longer
    /// owns.
    pub fn path_to(&mut self, reached: Reached) -> PathId {
        if reached.step == NO_STEP { reached.path } else { self.paths.extend(reached.path, reached.step) }
    }

    /// Adds a user of a path.
    pub fn share(&mut self, path: PathId) {
        self.paths.share(path);
    }

    /// Removes a user of a path.
    pub fn release(&mut self, path: PathId) {
        self.paths.release(path);
    }

    /// The index of the start state, and the steps to a state that was taken.
    pub fn steps_to(&self, reached: Reached) -> (u32, Vec<Step>) {
        let (start, mut steps) = self.paths.steps(reached.path);
        if reached.step != NO_STEP {
            steps.push(reached.step);
        }
        (start, steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(seed: u32) -> GlobalState {
        GlobalState {
            locals: vec![LocalStateId(seed), LocalStateId(seed + 1)],
            in_flight: (0..seed % 4).map(|message| MessageId(message / 2)).collect::<Vec<_>>().into(),
            local_events: vec![0, seed],
            fingerprint: Fingerprint::from(seed) << 96 | 7,
        }
    }

    fn check(record: PackedState<'_>, seed: u32) {
        let expected = state(seed);
        assert_eq!((0..2).map(|node| record.local(node)).collect::<Vec<_>>(), expected.locals);
        assert_eq!((record.local_events(), record.edges()), (&*expected.local_events, &[0, 0][..]));
        assert_eq!((record.fingerprint(), record.in_flight_len()), (expected.fingerprint, expected.in_flight.len()));
        let mut distinct = expected.in_flight.to_vec();
        distinct.dedup();
        assert_eq!(record.awake().collect::<Vec<_>>(), distinct);
        assert_eq!((record.reached().depth, record.reached().first), (0, true));
    }

    #[test]
    fn states_come_back_in_parts_from_any_stack_they_were_given_to() {
        let (mut pending, mut other, mut taken) = (PackedStack::new(2), PackedStack::new(2), PackedBatch::default());
        (0..50).for_each(|seed| pending.push_start(&state(seed), seed));
        (0..20).for_each(|_| pending.give(&mut other, &mut taken));
        // States come off in reverse order, and giving reverses them.
        for (stack, seeds) in [(&mut pending, (0..30).rev().collect::<Vec<u32>>()), (&mut other, (30..50).collect())] {
            for part in seeds.chunks(7) {
                stack.take(7, usize::MAX, &mut taken);
                assert_eq!(taken.numbers(), 0..part.len());
                for (index, seed) in part.iter().enumerate() {
                    check(taken.record(index), *seed);
                    let reached = taken.record(index).reached();
                    assert_eq!(stack.steps_to(reached), (*seed, Vec::new()));
                    stack.release(reached.path);
                }
            }
            assert!(stack.is_empty());
        }
    }
}
