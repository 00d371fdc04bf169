//! The operations that can come next in an order.

use crate::config::Config;
use crate::events::{Op, OpId};
use crate::model::Action;
use crate::search::{HIDDEN, NO_OP, Search};
use crate::value::ValueId;

impl Search<'_, '_> {
    /// The operations that can take effect next, given the one that has to return.
    pub(crate) fn candidates(&mut self, config: &Config, blocked: OpId) -> Vec<OpId> {
        let op = *self.op(blocked);
        let can_be_next = self.object.step(config.state, op.action).is_some() && self.is_allowed(config, op.action);
        if self.timeline.is_commuting {
            let mut reads = self.running(config).filter(|other| self.op(*other).action.only_reads());
            let (first, second) = (reads.next(), reads.next());
            drop(reads);
            if !op.action.only_reads() && first.is_none() {
                // Nothing sees the order of what commutes.
                return vec![blocked];
            }
            let is_alone = op.action.only_reads() && second.is_none();
            if let Some(found) = self.needed_of_set(config, op.action, is_alone) {
                return found;
            }
        }
        let wanted = Wanted::new(self, config);
        if !self.is_reachable(config, &op, &wanted) {
            return Vec::new();
        }
        let mut found = Vec::new();
        if can_be_next && !(config.is_unseen && op.action.overwrites()) {
            found.push(blocked);
        }
        if config.is_covered(op.slot) {
            // The more probable of both first.
            let is_needed = op.action.makes().is_some() && op.action.makes() == self.next_needed(config);
            found.insert(if is_needed { found.len() } else { 0 }, HIDDEN);
        }
        let mut others = self.running_candidates(config, blocked, &wanted);
        others.sort_by_key(|other| self.op(*other).returned);
        found.extend(others);
        self.open_candidates(config, &wanted, &mut found);
        found
    }

    /// Those that will return.
    fn running_candidates(&mut self, config: &Config, blocked: OpId, wanted: &Wanted) -> Vec<OpId> {
        let running: Vec<OpId> = self.running(config).filter(|other| *other != blocked).collect();
        let mut found: Vec<OpId> = Vec::new();
        for number in running {
            let op = *self.op(number);
            let is_covered = config.is_covered(op.slot);
            let is_unwanted =
                op.action.overwrites() && (config.is_unseen || !op.action.makes().is_some_and(|made| wanted.has(made)));
            if op.action.only_reads() || is_unwanted {
                continue;
            }
            // Of equal operations, the one that returns first: it has the least time to wait.
            let equal = found.iter().position(|other| {
                let other = self.op(*other);
                other.class == op.class && config.is_covered(other.slot) == is_covered
            });
            let first = self.op(blocked);
            if first.class == op.class && is_covered == config.is_covered(first.slot) {
                continue;
            }
            if self.object.step(config.state, op.action).is_none() || !self.is_allowed(config, op.action) {
                continue;
            }
            match equal {
                Some(index) if self.op(found[index]).returned > op.returned => found[index] = number,
                Some(_) => {}
                None => found.push(number),
            }
        }
        found
    }

    /// Open calls.
    fn open_candidates(&mut self, config: &Config, wanted: &Wanted, found: &mut Vec<OpId>) {
        let is_register = self.object.is_register();
        let classes: Vec<u32> = match is_register && !wanted.is_any {
            true => {
                wanted.values.iter().filter_map(|value| self.timeline.makers.get(value)).flatten().copied().collect()
            }
            false => self.timeline.open_classes.clone(),
        };
        for class in classes {
            let Some(number) = self.open_call(config, class) else { continue };
            let action = self.op(number).action;
            let is_running = self.running(config).any(|other| self.op(other).class == class);
            if is_running || (action.overwrites() && config.is_unseen) || found.contains(&number) {
                continue;
            }
            let changes = self.object.step(config.state, action).is_some_and(|state| state != config.state);
            // A write of the same value still covers what runs.
            let covers = action.overwrites()
                && self.running(config).any(|other| {
                    let other = self.op(other);
                    other.action.is_total() && !config.is_covered(other.slot)
                });
            if (changes || covers) && self.is_allowed(config, action) {
                found.push(number);
            }
        }
    }

    /// The value that the next return needs, of those that do.
    fn next_needed(&self, config: &Config) -> Option<ValueId> {
        const EVENTS_MAX: usize = 32;
        let next = self.timeline.events[config.position as usize..].iter().skip(1).take(EVENTS_MAX);
        next.filter(|event| event.is_return).find_map(|event| self.op(event.op).action.needs())
    }

    /// For a set that only grows: the next element that a read lacks, if no other read watches the order; nothing if the
    /// set has an element too many, or no operation adds what it lacks.
    fn needed_of_set(&self, config: &Config, action: Action, is_alone: bool) -> Option<Vec<OpId>> {
        let Action::Elements(goal) = action else { return None };
        let (has, goal) = (self.object.elements(config.state), self.object.elements(goal));
        if !has.iter().all(|element| goal.binary_search(element).is_ok()) {
            return Some(Vec::new());
        }
        let lacking: Vec<ValueId> =
            goal.iter().copied().filter(|element| has.binary_search(element).is_err()).collect();
        let mut found = Vec::new();
        for element in lacking {
            let class = self.timeline.class_of.get(&Action::Insert(element)).copied();
            let running = || self.running(config).find(|other| Some(self.op(*other).class) == class);
            let adding = class.and_then(|class| running().or_else(|| self.open_call(config, class)));
            match adding {
                Some(adding) => found.push(adding),
                None => return Some(Vec::new()),
            }
        }
        if is_alone {
            found.truncate(1);
        }
        Some(found)
    }

    /// Whether the operation that has to return can become possible: whether what it needs is being made.
    fn is_reachable(&self, config: &Config, op: &Op, wanted: &Wanted) -> bool {
        if let Some(needed) = op.action.needs() {
            let is_open = |class: &u32| self.open_call(config, *class).is_some();
            return config.state == needed
                || wanted.appends
                || self.running(config).any(|other| self.op(other).action.makes() == Some(needed))
                || self.timeline.makers.get(&needed).is_some_and(|classes| classes.iter().any(is_open));
        }
        match op.action {
            Action::Total(total) => self.is_total_reachable(config, total),
            Action::Dequeue(value) => {
                let queue = self.object.elements(config.state);
                let class = self.timeline.class_of.get(&Action::Enqueue(value)).copied();
                let place = queue.iter().position(|other| *other == value);
                let is_entering = || {
                    self.running(config).any(|other| self.op(other).action == Action::Enqueue(value))
                        || class.is_some_and(|class| self.open_call(config, class).is_some())
                };
                (place.is_some() || is_entering()) && self.can_leave(config, &queue[..place.unwrap_or(queue.len())])
            }
            Action::QueueEmpty => self.can_leave(config, self.object.elements(config.state)),
            _ => true,
        }
    }

    /// Whether each of these values of a queue is taken by a running or open dequeue.
    fn can_leave(&self, config: &Config, values: &[ValueId]) -> bool {
        let taking: Vec<ValueId> = self
            .running(config)
            .filter_map(|other| match self.op(other).action {
                Action::Dequeue(value) => Some(value),
                _ => None,
            })
            .collect();
        let lacking = values.iter().filter(|value| !taking.contains(value)).count() as u32;
        if lacking == 0 {
            return true;
        }
        // Open dequeues take any value, or the one that they return after the end of this part of the history.
        let takes = |action: Action| matches!(action, Action::Dequeue(_) | Action::DequeueAny);
        let left = |class: &u32| match takes(self.timeline.classes[*class as usize].action) {
            true => self.available[*class as usize] - config.used_of(*class),
            false => 0,
        };
        let open: u32 = self.timeline.open_classes.iter().map(left).sum();
        let running = self.running(config).filter(|other| self.op(*other).action == Action::DequeueAny);
        lacking <= open + running.count() as u32
    }

    /// Whether the total of a counter is within what running and open operations can add.
    fn is_total_reachable(&self, config: &Config, total: i64) -> bool {
        let lacking = i128::from(total) - i128::from(self.object.total(config.state));
        let (mut least, mut most) = (0i128, 0i128);
        let mut add = |amount: i64, count: u32| match amount < 0 {
            true => least += i128::from(amount) * i128::from(count),
            false => most += i128::from(amount) * i128::from(count),
        };
        for other in self.running(config) {
            if let Action::Add(amount) = self.op(other).action {
                add(amount, 1);
            }
        }
        for class in &self.timeline.open_classes {
            if let Action::Add(amount) = self.timeline.classes[*class as usize].action {
                add(amount, self.available[*class as usize] - config.used_of(*class));
            }
        }
        (least..=most).contains(&lacking)
    }

    /// Whether a queue may get a value now, considering when it leaves the queue: after those before it.
    fn is_allowed(&self, config: &Config, action: Action) -> bool {
        let Action::Enqueue(value) = action else { return true };
        let (timeline, dequeues) = (self.timeline, &self.timeline.dequeues);
        let entering = |other: Action| match other {
            Action::Enqueue(other) => dequeues.leaves_before(other, value),
            _ => false,
        };
        let queue = self.object.elements(config.state);
        let is_late = queue.last().is_some_and(|last| dequeues.leaves_before(value, *last));
        !is_late
            && dequeues.can_enter(value, config.position, self.taken(config), queue.len())
            && !self.running(config).any(|other| entering(self.op(other).action))
            && !timeline.open_classes.iter().any(|class| {
                entering(timeline.classes[*class as usize].action) && self.open_call(config, *class).is_some()
            })
    }

    /// The number of values that have left a queue, without those whose dequeues have returned.
    fn taken(&self, config: &Config) -> u32 {
        let takes = |action: Action| matches!(action, Action::Dequeue(_) | Action::DequeueAny);
        let running = self
            .occupants
            .iter()
            .filter(|op| **op != NO_OP && takes(self.op(**op).action) && config.is_done(self.op(**op).slot));
        let open = config.used.iter().filter(|entry| takes(self.timeline.classes[(**entry >> 32) as usize].action));
        running.count() as u32 + open.map(|entry| *entry as u32).sum::<u32>()
    }
}

/// The values of a register that running operations need.
struct Wanted {
    values: Vec<ValueId>,
    /// Whether some operation can follow on any value.
    is_any: bool,
    /// Whether a running or open operation appends.
    appends: bool,
}

impl Wanted {
    fn new(search: &Search<'_, '_>, config: &Config) -> Self {
        let mut new = Self { values: Vec::new(), is_any: false, appends: false };
        if !search.object.is_register() {
            return new;
        }
        for other in search.running(config) {
            new.add(search.op(other).action);
        }
        for class in &search.timeline.open_classes {
            let action = search.timeline.classes[*class as usize].action;
            if matches!(action, Action::Cas(..) | Action::Append(_)) && search.open_call(config, *class).is_some() {
                new.add(action);
            }
        }
        new.values.sort_unstable();
        new.values.dedup();
        new
    }

    fn add(&mut self, action: Action) {
        self.values.extend(action.needs());
        self.appends |= matches!(action, Action::Append(_));
        self.is_any |= matches!(action, Action::Append(_) | Action::CasRefused(_) | Action::Is(_));
    }

    fn has(&self, value: ValueId) -> bool {
        self.is_any || self.values.contains(&value)
    }
}
