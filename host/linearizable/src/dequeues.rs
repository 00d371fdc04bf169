//! The order in which a queue has received its values, as far as dequeues reveal it.

use rustc_hash::FxHashMap;

use crate::events::{Event, NEVER, Op};
use crate::model::Action;
use crate::value::ValueId;

/// The dequeues of a history: those that have returned a value, and open ones.
///
/// The value that is dequeued as number `n` was enqueued as number `n`. So a value can be enqueued as number `n` only if a
/// dequeue of it can have this number, or if fewer dequeues can explain the history.
#[derive(Debug, Default)]
pub(crate) struct Dequeues {
    /// The exits of values that enter a queue once, and leave it at most once.
    exits: FxHashMap<ValueId, Exit>,
    /// By value, the numbers that its dequeues can have: sorted by the least, with the end of all up to there.
    numbers: FxHashMap<ValueId, Vec<Numbers>>,
    /// The same of dequeues without a known value.
    unknown: Vec<Numbers>,
    /// The number of dequeues that have returned a value.
    certain: u32,
    /// Per position, how many of them returned before it.
    returned: Vec<u32>,
    /// Whether all numbers are known: not if a dequeue returned and does not say what.
    is_numbered: bool,
}

/// The positions between which a value leaves a queue.
#[derive(Clone, Copy, Debug)]
struct Exit {
    from: u32,
    to: u32,
}

#[derive(Clone, Copy, Debug)]
struct Numbers {
    from: u32,
    /// The number behind the last one, of this dequeue and of all with a smaller `from`.
    to: u32,
}

impl Dequeues {
    pub(crate) fn new(ops: &[Op], events: &[Event]) -> Self {
        let mut new = Self::default();
        if !ops.iter().any(|op| matches!(op.action, Action::Enqueue(_))) {
            return new;
        }
        new.note_exits(ops);
        new.note_numbers(ops, events);
        new
    }

    fn note_exits(&mut self, ops: &[Op]) {
        let is_certain = !ops.iter().any(|op| op.action == Action::DequeueAny);
        let mut often: Vec<ValueId> = Vec::new();
        let mut entered = FxHashMap::default();
        for op in ops {
            match op.action {
                Action::Enqueue(value) => {
                    if entered.insert(value, ()).is_some() {
                        often.push(value);
                    } else if is_certain {
                        self.exits.entry(value).or_insert(Exit { from: NEVER, to: NEVER });
                    }
                }
                Action::Dequeue(value) => {
                    let exit = self.exits.entry(value).or_insert(Exit { from: NEVER, to: NEVER });
                    if exit.from != NEVER {
                        often.push(value);
                    }
                    *exit = Exit { from: op.call, to: op.returned };
                }
                _ => {}
            }
        }
        for value in often {
            self.exits.remove(&value);
        }
    }

    fn note_numbers(&mut self, ops: &[Op], events: &[Event]) {
        let (mut called, mut returned, mut open) = (0, 0, 0);
        let mut called_before = Vec::with_capacity(events.len() + 1);
        for event in events {
            called_before.push(called + open);
            self.returned.push(returned);
            let op = &ops[event.op as usize];
            match (op.action, event.is_return) {
                (Action::Dequeue(_) | Action::DequeueAny, false) if op.returned == NEVER => open += 1,
                (Action::Dequeue(_), false) => called += 1,
                (Action::Dequeue(_), true) => returned += 1,
                _ => {}
            }
        }
        self.returned.push(returned);
        self.certain = called;
        self.is_numbered = !ops.iter().any(|op| op.action == Action::DequeueAny && op.returned != NEVER);
        for op in ops {
            let to = if op.returned == NEVER { NEVER } else { called_before[op.returned as usize] };
            let numbers = Numbers { from: self.returned[op.call as usize], to };
            match op.action {
                Action::Dequeue(value) => self.numbers.entry(value).or_default().push(numbers),
                Action::DequeueAny => self.unknown.push(numbers),
                _ => {}
            }
        }
        let values: Vec<ValueId> = ops
            .iter()
            .filter_map(|op| match op.action {
                Action::Dequeue(value) => Some(value),
                _ => None,
            })
            .collect();
        for value in values {
            if let Some(all) = self.numbers.get_mut(&value) {
                accumulate(all);
            }
        }
        accumulate(&mut self.unknown);
    }

    /// Whether the first value has to leave a queue before the second one does, so that a queue must have received them in
    /// this order.
    pub(crate) fn leaves_before(&self, first: ValueId, second: ValueId) -> bool {
        match (self.exits.get(&first), self.exits.get(&second)) {
            (Some(first), Some(second)) => first.to < second.from,
            _ => false,
        }
    }

    /// Whether a value enters the queue once, and leaves it by one dequeue.
    pub(crate) fn leaves_once(&self, value: ValueId) -> bool {
        self.exits.get(&value).is_some_and(|exit| exit.from != NEVER)
    }

    /// Whether a value can enter a queue of this length. `taken` counts the values that have left it, except for dequeues that
    /// returned before this position.
    pub(crate) fn can_enter(&self, value: ValueId, position: u32, taken: u32, length: usize) -> bool {
        if !self.is_numbered {
            return true;
        }
        let number = self.returned[position as usize] + taken + length as u32;
        let can_be = |all: &Vec<Numbers>| {
            let before = all.partition_point(|numbers| numbers.from <= number);
            before > 0 && all[before - 1].to > number
        };
        number >= self.certain || self.numbers.get(&value).is_some_and(can_be) || can_be(&self.unknown)
    }
}

/// Sorts the numbers, and lets each end be that of all before it, too.
fn accumulate(all: &mut [Numbers]) {
    all.sort_unstable_by_key(|numbers| numbers.from);
    let mut last = 0;
    for numbers in all {
        last = numbers.to.max(last);
        numbers.to = last;
    }
}
