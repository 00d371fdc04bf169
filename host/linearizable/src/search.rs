//! The search for an order that explains the results of the operations on one object.
//!
//! Wing and Gong, "Testing and Verifying Concurrent Objects", JPDC 17, 1993, try every operation that can come next. Lowe,
//! "Testing for Linearizability", CCPE 29(4), 2017, adds the memory of configurations and *just-in-time* linearization:
//! an operation takes effect only when the return that comes next needs it, at the latest its own. This search differs:
//!
//! - Reads take effect as soon as the object has their value: that changes nothing for the others.
//! - A write that no operation sees is *covered*: it stands right before another write, and is no step of the search. So two
//!   writes never follow each other without a reader between them, except for the one that has to return.
//! - Of operations that are equal, the one that returns first takes effect first, and open calls last, in their order.
//! - Open calls may never happen, so a configuration that has used more of them is no better ([`Memo`]); those that no
//!   result needs are not tried at all ([`Timeline`]).
//! - What a return needs must be there: the value that a read has returned is that of a running write, the missing
//!   elements of a set are being added, a queue gets its values in an order in which they can leave it.

use crate::config::Config;
use crate::events::{Event, NEVER, Op, OpId};
use crate::memo::Memo;
use crate::model::Action;
use crate::object::{Object, State};
use crate::timeline::Timeline;

/// A bound that ends a judgement without a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// That on memory.
    Memory,
    /// That on time.
    Time,
    /// A request of the user to stop.
    Interrupted,
}

/// The result of a search.
#[derive(Debug)]
pub(crate) enum Found {
    /// An order of all operations.
    Order(Vec<OpId>),
    /// No order explains the event at this position, together with those before it.
    Nothing { position: u32 },
    /// A bound was hit.
    Bound(Bound),
}

/// A step of an order: the operation, and the number of events before it.
#[derive(Clone, Copy, Debug)]
struct Step {
    op: OpId,
    at: u32,
}

struct Frame {
    config: Config,
    candidates: Vec<OpId>,
    next: usize,
    path: usize,
}

/// The most ends of orders that are collected.
const ENDS_MAX: usize = 4096;

/// Orders of all operations.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    /// The first one that was found; empty without one.
    pub(crate) order: Vec<OpId>,
    pub(crate) configs: Vec<Config>,
    /// Whether there can be more.
    pub(crate) has_more: bool,
}

pub(crate) struct Search<'a, 'v> {
    pub(crate) timeline: &'a Timeline,
    pub(crate) object: &'a mut Object<'v>,
    /// The number of events.
    end: u32,
    /// The operation in each slot at `cursor`.
    pub(crate) occupants: Vec<OpId>,
    /// Per class, the number of open calls before `cursor`.
    pub(crate) available: Vec<u32>,
    cursor: u32,
    path: Vec<Step>,
    memo: Memo,
    furthest: u32,
    /// All orders are wanted, not only the first.
    ends: Option<Ends>,
    /// The number of configurations that were entered.
    pub(crate) configurations: u64,
}

pub(crate) const NO_OP: OpId = OpId::MAX;

/// As a candidate: the operation that has to return stays hidden right before a write that took effect while it ran.
pub(crate) const HIDDEN: OpId = OpId::MAX;

impl<'a, 'v> Search<'a, 'v> {
    /// A search for an order that explains all events.
    pub(crate) fn new(timeline: &'a Timeline, object: &'a mut Object<'v>) -> Self {
        Self {
            timeline,
            object,
            end: timeline.events.len() as u32,
            occupants: vec![NO_OP; timeline.slots],
            available: vec![0; timeline.classes.len()],
            cursor: 0,
            path: Vec::new(),
            memo: Memo::default(),
            furthest: 0,
            ends: None,
            configurations: 0,
        }
    }

    /// Searches, and polls the bound, given the memory in bytes.
    pub(crate) fn run(&mut self, start: State, bound: &mut dyn FnMut(usize) -> Option<Bound>) -> Found {
        let start = Config::start(start, self.timeline.slots);
        let mut frames: Vec<Frame> = Vec::new();
        let frame_bytes = size_of::<Frame>() + 8 * start.slots.len() + 64;
        let mut entering = Some(start);
        loop {
            if let Some(config) = entering.take() {
                self.configurations += 1;
                if self.configurations.is_multiple_of(64)
                    && let Some(bound) = bound(self.bytes() + frames.len() * frame_bytes)
                {
                    return Found::Bound(bound);
                }
                match self.enter(config) {
                    Entered::End(config) => match &mut self.ends {
                        None => return Found::Order(self.order()),
                        Some(ends) if ends.configs.len() == ENDS_MAX => {
                            ends.has_more = true;
                            return Found::Nothing { position: self.furthest };
                        }
                        Some(ends) => {
                            let is_first = ends.configs.is_empty();
                            ends.configs.push(config);
                            if is_first {
                                let order = self.order();
                                self.ends.get_or_insert_default().order = order;
                            }
                        }
                    },
                    Entered::Dead => {}
                    Entered::Open(frame) => frames.push(frame),
                }
            }
            let Some(frame) = frames.last_mut() else {
                return Found::Nothing { position: self.furthest };
            };
            let (position, path) = (frame.config.position, frame.path);
            let next = frame.candidates.get(frame.next).copied();
            frame.next += 1;
            let child = next.map(|op| (op, frame.config.clone()));
            self.rewind(position);
            self.path.truncate(path);
            match child {
                Some((op, config)) => entering = Some(self.take(config, op)),
                None => {
                    frames.pop();
                }
            }
        }
    }

    /// Searches for the ends of all orders.
    pub(crate) fn ends(mut self, start: State, bound: &mut dyn FnMut(usize) -> Option<Bound>) -> Ends {
        self.ends = Some(Ends::default());
        let found = self.run(start, bound);
        let mut ends = self.ends.take().unwrap_or_default();
        ends.has_more |= matches!(found, Found::Bound(_));
        ends
    }

    fn bytes(&self) -> usize {
        self.memo.bytes + self.object.bytes() + self.path.capacity() * size_of::<Step>()
    }

    pub(crate) fn op(&self, op: OpId) -> &'a Op {
        &self.timeline.ops[op as usize]
    }

    /// The operations that run now and will return, without those that took effect.
    pub(crate) fn running<'s>(&'s self, config: &'s Config) -> impl Iterator<Item = OpId> + 's {
        let occupied = self.occupants.iter().copied().filter(|op| *op != NO_OP);
        occupied.filter(|op| !config.is_done(self.op(*op).slot))
    }

    /// The open calls of a class that did not take effect: the first of them.
    pub(crate) fn open_call(&self, config: &Config, class: u32) -> Option<OpId> {
        let count = config.used_of(class);
        let of = &self.timeline.classes[class as usize];
        let is_there = count < self.available[class as usize] && of.horizon > config.position;
        is_there.then(|| of.open[count as usize])
    }

    // Steps.

    /// Moves over the events that a configuration explains.
    fn enter(&mut self, mut config: Config) -> Entered {
        let begin = config.position;
        while config.position < self.end {
            let Event { op: number, is_return } = self.timeline.events[config.position as usize];
            let op = *self.op(number);
            if is_return {
                if !config.is_done(op.slot) {
                    break;
                }
                config.clear(op.slot);
                self.occupants[op.slot as usize] = NO_OP;
            } else if op.returned == NEVER {
                self.available[op.class as usize] += 1;
            } else {
                self.occupants[op.slot as usize] = number;
                if self.is_free(config.state, op.action) {
                    let at = config.position + 1;
                    self.settle(&mut config, at);
                }
            }
            config.position += 1;
            self.cursor = config.position;
        }
        if config.position == self.end {
            return Entered::End(config);
        }
        if config.position > begin {
            config.is_unseen = false;
            let (timeline, position) = (self.timeline, config.position);
            config.used.retain(|entry| timeline.classes[(entry >> 32) as usize].horizon > position);
        }
        self.furthest = self.furthest.max(config.position);
        let blocked = self.timeline.events[config.position as usize].op;
        let candidates = self.candidates(&config, blocked);
        if candidates.is_empty() {
            return Entered::Dead;
        }
        let mut key = Vec::with_capacity(config.slots.len() + 1);
        key.push(u64::from(config.position) << 33 | u64::from(config.is_unseen) << 32 | u64::from(config.state));
        key.extend_from_slice(&config.slots);
        if !self.memo.insert(&key, &config.used) {
            return Entered::Dead;
        }
        Entered::Open(Frame { config, candidates, next: 0, path: self.path.len() })
    }

    /// Moves back to the events before a position.
    fn rewind(&mut self, position: u32) {
        while self.cursor > position {
            self.cursor -= 1;
            let Event { op: number, is_return } = self.timeline.events[self.cursor as usize];
            let op = self.op(number);
            if op.returned == NEVER {
                self.available[op.class as usize] -= 1;
            } else {
                self.occupants[op.slot as usize] = if is_return { number } else { NO_OP };
            }
        }
    }

    /// An operation takes effect, which is possible, and then all that see it or follow from it.
    fn take(&mut self, mut config: Config, number: OpId) -> Config {
        if number == HIDDEN {
            let blocked = self.timeline.events[config.position as usize].op;
            config.set_done(self.op(blocked).slot);
            return config;
        }
        let op = *self.op(number);
        let at = config.position;
        self.path.push(Step { op: number, at });
        if let Some(state) = self.object.step(config.state, op.action) {
            config.state = state;
        }
        let is_open = op.returned == NEVER;
        if is_open {
            config.use_one(op.class);
        } else {
            config.set_done(op.slot);
        }
        if op.action.overwrites() {
            for slot in 0..self.occupants.len() {
                let other = self.occupants[slot];
                if other != NO_OP && other != number && self.op(other).action.is_total() {
                    config.set_covered(slot as u32);
                }
            }
        }
        config.is_unseen = self.object.is_register() && (is_open || op.action.is_total());
        self.settle(&mut config, at);
        config
    }

    /// All running operations take effect that can do so without a difference to the others.
    fn settle(&mut self, config: &mut Config, at: u32) {
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for slot in 0..self.occupants.len() {
                let number = self.occupants[slot];
                if number == NO_OP || config.is_done(slot as u32) {
                    continue;
                }
                let action = self.op(number).action;
                if !self.is_free(config.state, action) {
                    continue;
                }
                if let Some(state) = self.object.step(config.state, action) {
                    has_changed |= state != config.state;
                    config.state = state;
                }
                config.set_done(slot as u32);
                self.path.push(Step { op: number, at });
                config.is_unseen &= !action.only_reads();
            }
        }
    }

    /// Whether an operation can take effect without a difference to the others.
    fn is_free(&mut self, state: State, action: Action) -> bool {
        match action {
            Action::Insert(_) => self.timeline.is_commuting && self.object.step(state, action) == Some(state),
            // No other operation can take this value, and nothing needs it to stay.
            Action::Dequeue(value) => {
                self.object.elements(state).first() == Some(&value) && self.timeline.dequeues.leaves_once(value)
            }
            _ => action.only_reads() && self.object.step(state, action).is_some(),
        }
    }

    /// The operations in the order that the path describes.
    fn order(&self) -> Vec<OpId> {
        let explained = |op: &Op| op.returned < self.end;
        let in_path: std::collections::BTreeSet<OpId> = self.path.iter().map(|step| step.op).collect();
        let mut covered: Vec<OpId> = (0..self.timeline.ops.len() as OpId)
            .filter(|number| explained(self.op(*number)) && !in_path.contains(number))
            .collect();
        covered.sort_by_key(|number| self.op(*number).call);
        let mut order = Vec::with_capacity(self.path.len() + covered.len());
        let mut left = covered.into_iter().peekable();
        for step in &self.path {
            // Each covered operation stands before the first write behind its call.
            if self.op(step.op).action.overwrites() {
                while let Some(number) = left.next_if(|number| self.op(*number).call < step.at) {
                    order.push(number);
                }
            }
            order.push(step.op);
        }
        order.extend(left);
        order
    }
}

enum Entered {
    End(Config),
    Dead,
    Open(Frame),
}
