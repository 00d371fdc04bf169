//! Judgement of a whole history: object by object, within bounds of memory and time.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::error::HistoryError;
use crate::explain::{Explanation, Possible, possible};
use crate::history::{History, NO_KEY, Operation};
use crate::model::Action;
use crate::object::{NoStart, Object, State};
use crate::search::{Bound, Found, Search};
use crate::timeline::{Elements, Timeline, elements};
use crate::value::{Value, ValueId};

/// The bounds of a judgement.
pub struct Bounds<'a> {
    /// The most memory, in bytes, that the history and the search occupy.
    pub memory_bytes: usize,
    /// The time since the beginning.
    pub elapsed: &'a dyn Fn() -> Duration,
    /// The most time.
    pub time: Duration,
    /// Whether the user wants it to end.
    pub is_interrupted: &'a dyn Fn() -> bool,
}

/// The answer.
#[derive(Debug)]
pub enum Verdict {
    /// One order of the operations on each object explains all results.
    Linearizable,
    /// No order of the operations on this object does.
    NotLinearizable(Box<Explanation>),
    /// A bound was hit first.
    Undecided {
        /// The bound.
        bound: Bound,
        /// The objects that are linearizable.
        decided: usize,
    },
}

/// A judgement.
#[derive(Debug)]
pub struct Judgement {
    /// The answer.
    pub verdict: Verdict,
    /// The number of objects: of keys, or 1.
    pub objects: usize,
    /// The number of configurations that were entered.
    pub configurations: u64,
}

/// Judges a history, whose object begins as its model says, or with the given value.
///
/// Objects are linearizable together if each is (Herlihy and Wing, "Linearizability", TOPLAS 12(3), 1990, theorem 1), so
/// each has a search of its own: those with few operations first, each with its share of the time that is left. So one
/// hard object does not hide a violation of another.
///
/// # Errors
///
/// The object cannot begin with the given value.
pub fn judge(history: &mut History, start: Option<&Value>, bounds: &Bounds<'_>) -> Result<Judgement, HistoryError> {
    let objects = objects(history);
    let mut judgement = Judgement { verdict: Verdict::Linearizable, objects: objects.len(), configurations: 0 };
    let lists = elements(&history.operations, &mut history.values);
    let (mut decided, mut hit) = (0, None);
    for (index, numbers) in objects.iter().enumerate() {
        let now = (bounds.elapsed)();
        let share = bounds.time.saturating_sub(now) / (objects.len() - index) as u32;
        let until = now + share;
        let occupied = history.operations.len() * (size_of::<Operation>() + 4);
        let mut bound = |bytes: usize| match () {
            () if occupied + bytes > bounds.memory_bytes => Some(Bound::Memory),
            () if (bounds.is_interrupted)() => Some(Bound::Interrupted),
            () if (bounds.elapsed)() >= until => Some(Bound::Time),
            () => None,
        };
        let mut timeline = Timeline::new(&history.operations, numbers, &lists, false);
        let no_start = |NoStart(why): NoStart| HistoryError::Start(why);
        let (mut object, state) = Object::new(&history.model.start, start, &mut history.values).map_err(no_start)?;
        timeline.number_sets(&lists, &mut object);
        let mut search = Search::new(&timeline, &mut object);
        let found = search.run(state, &mut bound);
        judgement.configurations += search.configurations;
        match found {
            Found::Order(order) => {
                let returned = timeline.events.iter().filter(|event| event.is_return).count();
                debug_assert!(order.len() >= returned, "an order has everything that has returned");
                decided += 1;
            }
            Found::Bound(found) => hit = hit.or(Some(found)),
            Found::Nothing { position } => {
                let mut case = Case { history: &history.operations, lists: &lists, numbers, start: state, object };
                let blocked = timeline.ops[timeline.events[position as usize].op as usize].source;
                let answer = case.explain(blocked, &mut bound);
                let explanation = Explanation::new(history, numbers, answer.blocked);
                let explanation = explanation.with_values(answer.values, answer.has_more);
                let explanation = explanation.with_order(history, &answer.order);
                judgement.verdict = Verdict::NotLinearizable(Box::new(explanation));
                return Ok(judgement);
            }
        }
    }
    if let Some(bound) = hit {
        judgement.verdict = Verdict::Undecided { bound, decided };
    }
    Ok(judgement)
}

/// The most states that are examined whether they are possible.
const POSSIBLE_MAX: usize = 64;

/// An object whose operations no order explains.
struct Case<'a, 'v> {
    history: &'a [Operation],
    lists: &'a Elements,
    numbers: &'a [u32],
    start: State,
    object: Object<'v>,
}

/// The parts of an explanation.
struct Answer {
    blocked: u32,
    values: BTreeSet<String>,
    has_more: bool,
    /// The operations of an order of what returned before, as numbers of the history.
    order: Vec<u32>,
}

/// The end of a part of a history.
enum Last {
    /// The return of this operation.
    Return(u32),
    /// The last moment before that return.
    Before(u32),
    /// The same moment, at which the object is found in this state.
    Finding(u32, State),
}

type Bounded<'b> = &'b mut dyn FnMut(usize) -> Option<Bound>;

impl Case<'_, '_> {
    /// The events up to an end. A later return leaves its call open: it can have taken effect, with the result that it has later.
    fn part(&mut self, last: &Last) -> Timeline {
        let (Last::Return(blocked) | Last::Before(blocked) | Last::Finding(blocked, _)) = *last;
        let operation = &self.history[blocked as usize];
        let until = operation.returned.unwrap_or(operation.called);
        let mut numbers = Vec::new();
        let mut operations = Vec::new();
        for number in self.numbers {
            let operation = self.history[*number as usize];
            let returned = operation.returned.filter(|returned| *returned <= until);
            let part = match last {
                Last::Before(_) if *number == blocked => continue,
                // It sees the object at its return, not at any time since its call.
                Last::Finding(_, state) if *number == blocked => {
                    Operation { action: Action::Is(*state), called: until, returned, ..operation }
                }
                _ if operation.called >= until => continue,
                _ => Operation { returned, ..operation },
            };
            numbers.push(*number);
            operations.push(part);
        }
        let chosen: Vec<u32> = (0..operations.len() as u32).collect();
        // A value that nothing needs can be among those of a queue or set, or before what is appended; otherwise, a register has it at
        // the end only.
        let appends = operations.iter().any(|operation| matches!(operation.action, Action::Append(_)));
        let keeps_all = matches!(last, Last::Before(_)) && (appends || !self.object.is_register());
        let mut timeline = Timeline::new(&operations, &chosen, self.lists, keeps_all);
        timeline.number_sets(self.lists, &mut self.object);
        for op in timeline.ops.iter_mut().chain(&mut timeline.unneeded) {
            op.source = numbers[op.source as usize];
        }
        timeline
    }

    /// Whether no order explains a part; false if a bound is hit before that is known.
    fn is_wrong(&mut self, last: &Last, bound: Bounded<'_>) -> bool {
        let timeline = self.part(last);
        matches!(Search::new(&timeline, &mut self.object).run(self.start, bound), Found::Nothing { .. })
    }

    /// The first operation at whose return no order explains what returned so far. A search can fail before it, since it
    /// considers when a value will leave a queue.
    fn first_wrong(&mut self, failed: u32, bound: Bounded<'_>) -> u32 {
        let from = self.history[failed as usize].returned;
        let returned = |number: &u32| self.history[*number as usize].returned;
        let mut later: Vec<u32> = self.numbers.iter().copied().filter(|number| returned(number) >= from).collect();
        later.sort_by_key(returned);
        // If no order explains the events up to a return, none explains more.
        let (mut right, mut wrong) = (0, later.len() - 1);
        while right < wrong {
            let middle = usize::midpoint(right, wrong);
            match self.is_wrong(&Last::Return(later[middle]), bound) {
                true => wrong = middle,
                false => right = middle + 1,
            }
        }
        later[wrong]
    }

    fn explain(&mut self, failed: u32, bound: Bounded<'_>) -> Answer {
        let blocked = if self.object.is_queue() { self.first_wrong(failed, bound) } else { failed };
        let timeline = self.part(&Last::Before(blocked));
        let ends = Search::new(&timeline, &mut self.object).ends(self.start, bound);
        let Possible { states, has_more } = possible(&timeline, &mut self.object, &ends);
        let has_more = has_more || states.len() > POSSIBLE_MAX;
        let mut values = BTreeSet::new();
        for state in states.into_iter().take(POSSIBLE_MAX) {
            if !self.is_wrong(&Last::Finding(blocked, state), bound) {
                values.insert(self.object.show(state));
            }
        }
        let order = ends.order.iter().map(|number| timeline.ops[*number as usize].source).collect();
        Answer { blocked, values, has_more, order }
    }
}

/// An order that explains the results of each object, as the numbers of its operations; for tests, which execute them.
#[cfg(test)]
pub(crate) fn orders(history: &mut History, start: Option<&Value>) -> Vec<Option<Vec<u32>>> {
    let lists = elements(&history.operations, &mut history.values);
    let objects = objects(history);
    let order = |numbers: &Vec<u32>| {
        let mut timeline = Timeline::new(&history.operations, numbers, &lists, false);
        let (mut object, state) = Object::new(&history.model.start, start, &mut history.values).ok()?;
        timeline.number_sets(&lists, &mut object);
        match Search::new(&timeline, &mut object).run(state, &mut |_| None) {
            Found::Order(order) => Some(order.iter().map(|op| timeline.ops[*op as usize].source).collect()),
            _ => None,
        }
    };
    objects.iter().map(order).collect()
}

/// The operations of each object: by their number, then by their key.
fn objects(history: &History) -> Vec<Vec<u32>> {
    let key = |number: &u32| history.operations[*number as usize].key;
    let mut all: Vec<u32> = (0..history.operations.len() as u32).collect();
    all.sort_by_key(key);
    let mut objects: Vec<Vec<u32>> =
        all.chunk_by(|first, second| key(first) == key(second)).map(<[u32]>::to_vec).collect();
    objects.sort_by_key(Vec::len);
    objects
}

impl History {
    /// The key of an object in words; none if there is only one object.
    pub(crate) fn key_name(&self, key: ValueId) -> Option<String> {
        (key != NO_KEY).then(|| self.values.get(key).to_string())
    }
}
