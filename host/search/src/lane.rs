//! One of the fixed number of stacks that a parallel search expands side by side.

use std::collections::BTreeSet;

use host_model::fingerprint::Fingerprint;
use host_model::known::Known;
use host_model::lts::{LocalStateId, MessageId, Step, Trigger};
use host_model::machine::NodeId;
use host_model::property::{ClassId, Judgement};
use host_model::stepper::OutcomesRef;

use crate::codec::{Reader, Writer};
use crate::global_state::{Budgets, Child, GlobalState};
use crate::pending::{PathId, Pending, Reached};
use crate::visited::{SHARDS, Seen, Shard, shard_of};

/// A state that was found, on its way to its shard.
struct Arrival {
    /// The fingerprint in halves, which keeps the whole at 24 bytes.
    high: u64,
    low: u64,
    /// Index into the children of the lane.
    child: u32,
    depth: u32,
}

impl Arrival {
    #[inline]
    fn new(fingerprint: Fingerprint, child: u32, depth: u32) -> Self {
        Self { high: (fingerprint >> 64) as u64, low: fingerprint as u64, child, depth }
    }

    #[inline]
    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::from(self.high) << 64 | Fingerprint::from(self.low)
    }
}

/// A state that was taken off the stack in this wave.
#[derive(Default)]
struct Expanded {
    state: GlobalState,
    /// The messages in flight whose delivery is asleep, sorted.
    asleep: Vec<MessageId>,
    reached: Option<Reached>,
    /// The path to the state itself, once a child of it is pushed.
    path: Option<PathId>,
    /// Whether handlers have to be executed before it can be expanded.
    is_stalled: bool,
}

/// Something to say about a child; `classes` are still to be judged together.
pub struct Note {
    /// Index into the children of the lane.
    child: u32,
    /// The node of the event, whose local state may have judgements of its own.
    pub node: NodeId,
    /// The local state of that node.
    pub next: LocalStateId,
    /// One a node.
    pub classes: Vec<ClassId>,
}

/// A lane: a stack of states to expand, and what the current wave makes of them.
pub struct Lane {
    /// What is still to be expanded.
    pub pending: Pending,
    /// Kept from wave to wave to spare allocations; the first `live` belong to the current one.
    expanded: Vec<Expanded>,
    live: usize,
    /// The index of the expanded state, and the child.
    children: Vec<(u32, Child)>,
    /// The children on their way, one list a shard.
    arrivals: Vec<Vec<Arrival>>,
    /// What the shards said of each child.
    seen: Vec<Seen>,
    /// The fingerprints of system states on their way, one list a shard.
    system_states: Vec<Vec<Fingerprint>>,
    /// System states that were sent lately: most are met again and again.
    recent: Box<[Fingerprint]>,
    enabled: Vec<(NodeId, Trigger)>,
    rows: Vec<OutcomesRef>,
    classes: Vec<ClassId>,
    next: GlobalState,
    next_asleep: Vec<MessageId>,
    /// Handlers that have to be executed before the stalled states can be expanded.
    pub missing: Vec<(LocalStateId, Trigger)>,
    /// What there is to say about new states.
    pub notes: Vec<Note>,
    /// New system states by content, if they are asked for.
    pub collected: Option<BTreeSet<Box<[LocalStateId]>>>,
    /// Executed edges.
    pub transitions: u64,
    /// States at the bound that have successors and were not reached by a shorter path; a lane may count one down that
    /// another one has counted.
    pub cut: i64,
    /// Whether a local event was left out by its bound.
    pub local_events_cut: bool,
    /// The longest path.
    pub depth: u32,
}

/// What a wave needs to know.
#[derive(Clone, Copy)]
pub struct Wave<'w> {
    /// The local transition system as far as it is known.
    pub known: &'w Known,
    /// The bounds that are part of a state.
    pub budgets: &'w Budgets,
    /// The bound on depth.
    pub bound: u32,
    /// Witnesses that are not wanted any more, by property.
    pub is_wanted: &'w (dyn Fn(&Judgement) -> bool + Sync),
}

/// How many system states are remembered as sent.
const RECENT: usize = 1024;

impl Lane {
    /// An empty lane.
    pub fn new(nodes: usize, collect: bool) -> Self {
        Self {
            pending: Pending::new(nodes),
            expanded: Vec::new(),
            live: 0,
            children: Vec::new(),
            arrivals: (0..SHARDS).map(|_| Vec::new()).collect(),
            seen: Vec::new(),
            system_states: (0..SHARDS).map(|_| Vec::new()).collect(),
            recent: vec![0; RECENT].into(),
            enabled: Vec::new(),
            rows: Vec::new(),
            classes: Vec::new(),
            next: GlobalState::default(),
            next_asleep: Vec::new(),
            missing: Vec::new(),
            notes: Vec::new(),
            collected: collect.then(BTreeSet::new),
            transitions: 0,
            cut: 0,
            local_events_cut: false,
            depth: 0,
        }
    }

    /// Saves the lane as it is between two waves.
    pub fn save(&self, out: &mut Writer<'_>) {
        self.pending.save(out);
        for on_the_way in &self.system_states {
            out.wide(on_the_way.len() as u64, on_the_way.iter().copied());
        }
        out.number(self.transitions);
        out.number(self.cut as u64);
        out.number(u64::from(self.local_events_cut));
        out.number(u64::from(self.depth));
    }

    /// The lane that was saved.
    pub fn load(nodes: usize, saved: &mut Reader<'_>) -> Option<Self> {
        let mut lane = Self { pending: Pending::load(nodes, saved)?, ..Self::new(nodes, false) };
        for on_the_way in &mut lane.system_states {
            saved.wide(|system_state| on_the_way.push(system_state))?;
        }
        lane.transitions = saved.number()?;
        lane.cut = saved.number()? as i64;
        lane.local_events_cut = saved.number()? != 0;
        lane.depth = saved.word()?;
        Some(lane)
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        let arrivals: usize = self.arrivals.iter().map(Vec::capacity).sum();
        let buffers = self.children.capacity() * size_of::<(u32, Child)>() + arrivals * size_of::<Arrival>();
        self.pending.bytes() + buffers as u64
    }

    /// First step of a wave: takes up to `quota` states off the stack and finds their successors.
    pub fn expand(&mut self, wave: Wave<'_>, quota: usize) {
        self.live = 0;
        self.children.clear();
        self.missing.clear();
        self.arrivals.iter_mut().for_each(Vec::clear);
        while self.live < quota {
            if self.expanded.len() == self.live {
                self.expanded.push(Expanded::default());
            }
            let Expanded { state, asleep, reached, path, is_stalled } = &mut self.expanded[self.live];
            let Some(popped) = self.pending.pop(state, asleep) else { break };
            *reached = Some(popped);
            *path = None;
            *is_stalled = false;
            let is_cut = state.enabled(wave.known, wave.budgets, &mut self.enabled);
            if popped.depth >= wave.bound {
                // Only the start state under a bound of zero: other states at the bound are not pushed.
                self.cut += i64::from(!self.enabled.is_empty());
                self.enabled.clear();
            }
            let missing = self.missing.len();
            self.rows.clear();
            for (node, trigger) in &self.enabled {
                let local = state.locals[*node as usize];
                match wave.known.row(local, *trigger) {
                    Some(row) => self.rows.push(row),
                    None => self.missing.push((local, *trigger)),
                }
            }
            if self.missing.len() > missing {
                *is_stalled = true;
                self.live += 1;
                continue;
            }
            self.local_events_cut |= is_cut && popped.depth < wave.bound;
            let mut asleep = asleep.iter().peekable();
            let mut edges = 0;
            for (&(node, trigger), row) in self.enabled.iter().zip(&self.rows) {
                let outcomes = wave.known.edges(*row);
                edges += outcomes.len() as u64;
                let is_asleep = match trigger.message() {
                    Some(message) => {
                        while asleep.next_if(|other| **other < message).is_some() {}
                        asleep.peek() == Some(&&message)
                    }
                    None => node < popped.step.node,
                };
                if is_asleep {
                    continue;
                }
                let base = state.fingerprint.wrapping_add(wave.budgets.of_step(node, trigger));
                for (outcome, edge) in (0..).zip(outcomes) {
                    let step = Step { node, trigger, outcome };
                    let fingerprint = base.wrapping_add(edge.delta);
                    let index = self.children.len() as u32;
                    self.children.push((self.live as u32, Child { step, row: *row, next: edge.next }));
                    self.arrivals[shard_of(fingerprint)].push(Arrival::new(fingerprint, index, popped.depth + 1));
                }
            }
            self.transitions += if popped.first { edges } else { 0 };
            self.depth = self.depth.max(popped.depth + u32::from(edges > 0));
            self.live += 1;
        }
    }

    /// Third step: takes the new states in, judges them, and pushes what has to be expanded. If there is nothing to say
    /// about any of them, the wave is over for this lane; otherwise it has to be [closed](Self::close).
    pub fn enter(&mut self, wave: Wave<'_>, this: usize, shards: &[WaveShard]) {
        self.seen.clear();
        self.seen.resize(self.children.len(), Seen::Already);
        self.system_states.iter_mut().for_each(Vec::clear);
        for shard in shards {
            for (child, seen) in &shard.fresh[this] {
                self.seen[*child as usize] = *seen;
            }
        }
        for (index, seen) in self.seen.iter().enumerate() {
            if *seen == Seen::Already {
                continue;
            }
            let (parent, child) = &self.children[index];
            let Expanded { state, reached: Some(reached), path, .. } = &mut self.expanded[*parent as usize] else {
                unreachable!("an expanded state was reached");
            };
            let depth = reached.depth + 1;
            let mut first = true;
            match *seen {
                Seen::Deeper(before) => {
                    first = u32::from(before) >= wave.bound;
                    if first && depth < wave.bound && state.has_successors(wave.known, child) {
                        self.cut -= 1;
                    }
                }
                _ => {
                    if depth == wave.bound && state.has_successors(wave.known, child) {
                        self.cut += 1;
                    }
                    if child.next != state.locals[child.step.node as usize] {
                        note_system_state(
                            wave.known,
                            state,
                            child,
                            &mut self.recent,
                            &mut self.system_states,
                            self.collected.as_mut(),
                        );
                        if state.is_worth_judging(wave.known, child) {
                            state.classes_of(wave.known, child, &mut self.classes);
                            let own = wave.known.state(child.next).judgements.iter();
                            let all = wave.known.verdict(&self.classes).map(|verdict| own.chain(verdict.iter()));
                            if all.is_none_or(|mut all| all.any(wave.is_wanted)) {
                                let (node, next) = (child.step.node, child.next);
                                let classes = self.classes.clone();
                                self.notes.push(Note { child: index as u32, node, next, classes });
                            }
                        }
                    }
                }
            }
            if depth < wave.bound {
                self.next.clone_from(state);
                self.next.take(wave.known, wave.budgets, child.step, child.row);
                note_asleep(wave.known, child, &self.next, &mut self.next_asleep);
                let path = *path.get_or_insert_with(|| self.pending.path_to(reached));
                self.pending.share(path);
                let reached = Reached { path, step: child.step, depth, first };
                self.pending.push(&self.next, &self.next_asleep, reached);
            }
        }
        if self.notes.is_empty() {
            self.close();
        }
    }

    /// Drops what is on its way to the visited set; the system states stay.
    pub fn forget_arrivals(&mut self) {
        self.arrivals.iter_mut().for_each(Vec::clear);
    }

    /// Number of events on the path to the state of a note.
    pub fn depth_of(&self, note: &Note) -> u32 {
        let (parent, _) = self.children[note.child as usize];
        self.expanded[parent as usize].reached.map_or(0, |reached| reached.depth) + 1
    }

    /// The index of the start state and the steps to the state of a note of this wave.
    pub fn path_of(&self, note: &Note) -> (u32, Vec<Step>) {
        let (parent, child) = &self.children[note.child as usize];
        let reached = self.expanded[*parent as usize].reached.expect("an expanded state was reached");
        let (start, mut steps) = self.pending.steps_to(&reached);
        steps.push(child.step);
        (start, steps)
    }

    /// Ends the wave: stalled states go back on the stack, the others and the notes are forgotten.
    pub fn close(&mut self) {
        for Expanded { state, asleep, reached, path, is_stalled } in self.expanded[..self.live].iter_mut().rev() {
            let Some(reached) = reached.take() else { continue };
            if *is_stalled {
                self.pending.push(state, asleep, reached);
            } else {
                self.pending.release(path.unwrap_or(reached.path));
            }
        }
        self.live = 0;
        self.notes.clear();
    }
}

/// Puts the messages whose delivery is asleep in `state`, reached as `child`, into `asleep`: their node is before that of
/// the child's event, and the event did not send them.
fn note_asleep(known: &Known, child: &Child, state: &GlobalState, asleep: &mut Vec<MessageId>) {
    let Step { node, outcome, .. } = child.step;
    let sent = known.sent(&known.edges(child.row)[outcome as usize]);
    asleep.clear();
    for same in state.in_flight.chunk_by(|one, other| one == other) {
        let message = same[0];
        let sent = sent.iter().filter(|other| **other == message).count();
        if known.destination(message) < node && same.len() > sent {
            asleep.push(message);
        }
    }
}

/// Sends the system state of a child to its shard, unless that was done lately.
fn note_system_state(
    known: &Known,
    state: &GlobalState,
    child: &Child,
    recent: &mut [Fingerprint],
    system_states: &mut [Vec<Fingerprint>],
    collected: Option<&mut BTreeSet<Box<[LocalStateId]>>>,
) {
    let node = child.step.node as usize;
    let local = |other: usize| if other == node { child.next } else { state.locals[other] };
    let nodes = 0..state.locals.len();
    let fingerprint =
        nodes.clone().fold(0, |sum: Fingerprint, node| sum.wrapping_add(known.brief(local(node)).fingerprint));
    let slot = &mut recent[fingerprint as usize % RECENT];
    if *slot == fingerprint {
        return;
    }
    *slot = fingerprint;
    system_states[shard_of(fingerprint)].push(fingerprint);
    if let Some(collected) = collected {
        collected.insert(nodes.map(local).collect());
    }
}

/// The visited states and the system states whose fingerprints have the same highest bits.
pub struct WaveShard {
    /// Visited global states.
    pub visited: Shard,
    /// System states; their depth is always zero.
    pub system_states: Shard,
    /// For each lane the children of the current wave that have to be looked at.
    fresh: Vec<Vec<(u32, Seen)>>,
}

impl WaveShard {
    /// An empty shard for so many lanes.
    pub fn new(lanes: usize) -> Self {
        Self {
            visited: Shard::default(),
            system_states: Shard::default(),
            fresh: (0..lanes).map(|_| Vec::new()).collect(),
        }
    }

    /// Saves the shard as it is between two waves.
    pub fn save(&self, out: &mut Writer<'_>) {
        self.visited.save(out);
        self.system_states.save(out);
    }

    /// The shard that was saved.
    pub fn load(lanes: usize, saved: &mut Reader<'_>) -> Option<Self> {
        let (visited, system_states) = (Shard::load(saved)?, Shard::load(saved)?);
        Some(Self { visited, system_states, ..Self::new(lanes) })
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        self.visited.bytes() + self.system_states.bytes()
    }

    /// Second step of a wave: takes in what the lanes have for this shard, lane by lane, so that of equal states the
    /// same one is new whoever does the work.
    pub fn admit(&mut self, this: usize, lanes: &[Lane]) {
        for lane in lanes {
            self.visited.warm(lane.arrivals[this].iter().map(Arrival::fingerprint));
            self.system_states.warm(lane.system_states[this].iter().copied());
        }
        for (lane, fresh) in lanes.iter().zip(&mut self.fresh) {
            fresh.clear();
            for system_state in &lane.system_states[this] {
                self.system_states.insert(*system_state, 0);
            }
            for arrival in &lane.arrivals[this] {
                let seen = self.visited.insert(arrival.fingerprint(), arrival.depth);
                if seen != Seen::Already {
                    fresh.push((arrival.child, seen));
                }
            }
        }
    }
}
