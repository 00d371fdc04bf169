//! Global states that are still to be expanded, each with the path that led to it: a stack without a single allocation
//! for each state.

use host_model::fingerprint::Fingerprint;
use host_model::lts::{LocalStateId, MessageId, Step, Trigger};

use crate::codec::{Reader, Writer};
use crate::global_state::GlobalState;

/// A path, kept as long as a state at its end or on it is still to be expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathId(u32);

const NONE: u32 = u32::MAX;

/// How a state was reached.
#[derive(Clone, Copy, Debug)]
pub struct Reached {
    /// The events from a start state up to the last one, which is `step`.
    pub path: PathId,
    /// The last event; without a trigger in a start state.
    pub step: Step,
    /// Their number.
    pub depth: u32,
    /// Whether the state was never expanded before, so that its edges count.
    pub first: bool,
}

/// A stack of global states.
pub struct Pending {
    nodes: usize,
    /// One record a state: local states, local events, messages in flight with a bit for those asleep, and a tail of
    /// fixed length with their number.
    words: Vec<u32>,
    len: usize,
    paths: Paths,
}

/// Of the word for a message in flight: whether its delivery is asleep.
const ASLEEP: u32 = 1 << 31;

/// Words at the end of each record: fingerprint, path, last step, depth with a bit for `first`, and number of messages.
const TAIL: usize = 10;

/// How a start state was reached.
const NO_STEP: Step = Step { node: 0, trigger: Trigger::NONE, outcome: 0 };

impl Pending {
    /// An empty stack for states of so many nodes.
    pub fn new(nodes: usize) -> Self {
        Self { nodes, words: Vec::new(), len: 0, paths: Paths::default() }
    }

    /// Number of states.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        (self.words.capacity() * size_of::<u32>() + self.paths.nodes.capacity() * size_of::<PathNode>()) as u64
    }

    /// Pushes a state with the messages in flight whose delivery is asleep; `reached.path` belongs to it from now on.
    pub fn push(&mut self, state: &GlobalState, asleep: &[MessageId], reached: Reached) {
        self.words.extend(state.locals.iter().map(|id| id.0));
        self.words.extend(&state.local_events);
        let mut asleep = asleep.iter().peekable();
        self.words.extend(state.in_flight.iter().map(|id| {
            while asleep.next_if(|other| *other < id).is_some() {}
            if asleep.peek() == Some(&id) { id.0 | ASLEEP } else { id.0 }
        }));
        let part = |shift: u32| (state.fingerprint >> shift) as u32;
        let depth = reached.depth << 1 | u32::from(reached.first);
        let Step { node, trigger, outcome } = reached.step;
        self.words.extend([part(0), part(32), part(64), part(96), reached.path.0]);
        self.words.extend([node, trigger.raw(), outcome, depth, state.in_flight.len() as u32]);
        self.len += 1;
    }

    /// Takes the state that was pushed last; its path belongs to the caller, who must [`release`](Self::release) it.
    pub fn pop(&mut self, state: &mut GlobalState, asleep: &mut Vec<MessageId>) -> Option<Reached> {
        let tail = self.words.len().checked_sub(TAIL)?;
        let [a, b, c, d, path, node, trigger, outcome, depth, in_flight] = self.words[tail..] else {
            unreachable!("a tail has this length")
        };
        let first = tail - in_flight as usize - 2 * self.nodes;
        let (locals, rest) = self.words[first..tail].split_at(self.nodes);
        let (local_events, in_flight) = rest.split_at(self.nodes);
        state.locals.clear();
        state.locals.extend(locals.iter().map(|id| LocalStateId(*id)));
        state.local_events.clear();
        state.local_events.extend(local_events);
        state.in_flight.clear();
        state.in_flight.extend(in_flight.iter().map(|id| MessageId(*id & !ASLEEP)));
        asleep.clear();
        asleep.extend(in_flight.iter().filter(|id| **id & ASLEEP != 0).map(|id| MessageId(*id & !ASLEEP)));
        state.fingerprint = [d, c, b, a].iter().fold(0, |sum: Fingerprint, part| sum << 32 | Fingerprint::from(*part));
        self.words.truncate(first);
        self.len -= 1;
        let step = Step { node, trigger: Trigger::from_raw(trigger), outcome };
        Some(Reached { path: PathId(path), step, depth: depth >> 1, first: depth & 1 == 1 })
    }

    /// Saves all states with their paths.
    pub fn save(&self, out: &mut Writer<'_>) {
        out.words(&self.words);
        out.number(self.len as u64);
        let node =
            |node: &PathNode| [node.parent, node.users, node.step.node, node.step.trigger.raw(), node.step.outcome];
        out.words(&self.paths.nodes.iter().flat_map(node).collect::<Vec<_>>());
        out.words(&self.paths.free);
    }

    /// The states that were saved.
    pub fn load(nodes: usize, saved: &mut Reader<'_>) -> Option<Self> {
        let (words, len) = (saved.words()?, saved.number()? as usize);
        let node = |[parent, users, node, trigger, outcome]: &[u32; 5]| {
            let step = Step { node: *node, trigger: Trigger::from_raw(*trigger), outcome: *outcome };
            PathNode { parent: *parent, users: *users, step }
        };
        let paths = saved.words()?.as_chunks().0.iter().map(node).collect();
        Some(Self { nodes, words, len, paths: Paths { nodes: paths, free: saved.words()? } })
    }

    /// Moves the state pushed last, and its path, to another stack.
    pub fn give(&mut self, other: &mut Self, (state, asleep): &mut (GlobalState, Vec<MessageId>)) {
        let Some(reached) = self.pop(state, asleep) else { return };
        let (start, steps) = self.path(reached.path);
        self.release(reached.path);
        let path = steps.into_iter().fold(other.root(start), |path, step| other.extend(path, step));
        other.push(state, asleep, Reached { path, ..reached });
    }

    /// Pushes a start state, which has this index.
    pub fn push_start(&mut self, state: &GlobalState, index: u32) {
        let path = self.root(index);
        self.push(state, &[], Reached { path, step: NO_STEP, depth: 0, first: true });
    }

    /// The path to a state that was popped, its last step included. Takes the place of `reached.path`, which is the
    /// caller's no more.
    pub fn path_to(&mut self, reached: &Reached) -> PathId {
        if reached.step == NO_STEP { reached.path } else { self.extend(reached.path, reached.step) }
    }

    /// Makes a path belong to one user more.
    pub fn share(&mut self, path: PathId) {
        self.paths.nodes[path.0 as usize].users += 1;
    }

    /// Gives a path back.
    pub fn release(&mut self, path: PathId) {
        self.paths.release(path.0);
    }

    /// The index of the start state, and the steps to a state that was popped.
    pub fn steps_to(&self, reached: &Reached) -> (u32, Vec<Step>) {
        let (start, mut steps) = self.path(reached.path);
        if reached.step != NO_STEP {
            steps.push(reached.step);
        }
        (start, steps)
    }

    fn root(&mut self, start: u32) -> PathId {
        self.paths.add(PathNode { parent: NONE, users: 1, step: Step { node: start, ..NO_STEP } })
    }

    /// The path becomes part of a longer one.
    fn extend(&mut self, path: PathId, step: Step) -> PathId {
        self.paths.add(PathNode { parent: path.0, users: 1, step })
    }

    fn path(&self, path: PathId) -> (u32, Vec<Step>) {
        let mut steps = Vec::new();
        let mut at = &self.paths.nodes[path.0 as usize];
        while at.parent != NONE {
            steps.push(at.step);
            at = &self.paths.nodes[at.parent as usize];
        }
        steps.reverse();
        (at.step.node, steps)
    }
}

/// All paths as a forest whose nodes point to their parents and are freed with their last user.
#[derive(Default)]
struct Paths {
    nodes: Vec<PathNode>,
    /// Nodes to be used again.
    free: Vec<u32>,
}

struct PathNode {
    parent: u32,
    /// States and longer paths that end here.
    users: u32,
    /// The last step; at a root, its node is the index of the start state.
    step: Step,
}

impl Paths {
    fn add(&mut self, node: PathNode) -> PathId {
        if let Some(index) = self.free.pop() {
            self.nodes[index as usize] = node;
            return PathId(index);
        }
        self.nodes.push(node);
        PathId(u32::try_from(self.nodes.len() - 1).expect("fewer than four billion states are pending"))
    }

    fn release(&mut self, path: u32) {
        let mut at = path;
        while at != NONE {
            let node = &mut self.nodes[at as usize];
            node.users -= 1;
            if node.users > 0 {
                return;
            }
            self.free.push(at);
            at = node.parent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(seed: u32) -> GlobalState {
        GlobalState {
            locals: vec![LocalStateId(seed), LocalStateId(seed + 1)],
            in_flight: (0..seed % 4).map(MessageId).collect(),
            local_events: vec![0, seed],
            fingerprint: Fingerprint::from(seed) << 96 | 7,
        }
    }

    /// Every other message in flight.
    fn asleep(seed: u32) -> Vec<MessageId> {
        state(seed).in_flight.into_iter().filter(|id| id.0 % 2 == 1).collect()
    }

    fn step(seed: u32) -> Step {
        Step { node: seed % 2, trigger: Trigger::deliver(MessageId(seed)), outcome: seed }
    }

    #[test]
    fn states_come_back_with_their_paths() {
        let mut pending = Pending::new(2);
        let mut path = pending.root(3);
        for seed in 0..50 {
            path = pending.extend(path, step(seed));
            pending.share(path);
            let reached = Reached { path, step: step(100), depth: seed, first: seed % 3 == 0 };
            pending.push(&state(seed), &asleep(seed), reached);
        }
        pending.release(path);
        let mut other = Pending::new(2);
        for _ in 0..20 {
            pending.give(&mut other, &mut Default::default());
        }
        let (mut popped, mut popped_asleep) = (GlobalState::default(), Vec::new());
        for (stack, seeds) in [(&mut pending, (0..30).rev().collect::<Vec<u32>>()), (&mut other, (30..50).collect())] {
            for seed in seeds {
                let reached = stack.pop(&mut popped, &mut popped_asleep).expect("a state is left");
                let expected = state(seed);
                assert_eq!((&popped.locals, &popped.in_flight), (&expected.locals, &expected.in_flight));
                assert_eq!((&popped.local_events, popped.fingerprint), (&expected.local_events, expected.fingerprint));
                assert_eq!(popped_asleep, asleep(seed));
                assert_eq!((reached.depth, reached.first), (seed, seed % 3 == 0));
                let expected = (3, (0..=seed).map(step).chain([step(100)]).collect::<Vec<_>>());
                assert_eq!(stack.steps_to(&reached), expected);
                let path = stack.path_to(&reached);
                assert_eq!(stack.path(path), expected);
                stack.release(path);
            }
            assert!(stack.is_empty() && stack.paths.free.len() == stack.paths.nodes.len(), "every path is given back");
        }
    }
}
