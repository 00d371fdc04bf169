//! Explanations: why no order explains a history.

use std::collections::BTreeSet;

use crate::config::Config;
use crate::history::{History, Instant, Operation};
use crate::model::{Action, Function};
use crate::object::{Object, State};
use crate::search::Ends;
use crate::timeline::Timeline;
use crate::value::{ValueId, Values};

/// Why no order explains the operations on one object.
///
/// The events up to, and without, the return of `blocked` have an order that explains them; with it they have none.
#[derive(Debug)]
pub struct Explanation {
    /// The key of the object, if it has one.
    pub key: Option<String>,
    /// The number of operations on the object.
    pub operations: usize,
    /// The operation whose result nothing explains.
    pub blocked: Shown,
    /// The object as it can be before the operation, after all that has returned: in the order of their texts.
    pub possible: Vec<String>,
    /// Whether there are more such values.
    pub has_more: bool,
    /// The number of operations that returned before, which are explained.
    pub explained: usize,
    /// An order that explains them: its last operations. Empty if a bound was hit before it was found.
    pub order: Vec<Shown>,
    /// The number of operations in the order before these.
    pub earlier: usize,
    /// The operations that were running, or open, when this one returned.
    pub running: Vec<Shown>,
}

/// An operation in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The process, as the history names it.
    pub process: String,
    /// The function with its argument and its result, such as `read -> 3`.
    pub text: String,
    /// The line of its call.
    pub call_line: u32,
    /// The line of its return; none if the call is open, or has one line for both.
    pub return_line: Option<u32>,
    /// Whether it is not known to have happened.
    pub is_open: bool,
}

/// The most operations of an order, and values, that are shown.
const SHOWN_MAX: usize = 12;

/// The most configurations of running operations whose values are listed.
const STATES_MAX: usize = 20_000;

/// The states of an object at a place, and an order that leads there.
pub(crate) struct Possible {
    pub(crate) states: BTreeSet<State>,
    pub(crate) has_more: bool,
}

/// The states that are possible at the end of orders: after what has returned, any of the open calls can have taken effect. There
/// can be too many, since a search forgets which open calls it has used.
pub(crate) fn possible(timeline: &Timeline, object: &mut Object<'_>, ends: &Ends) -> Possible {
    let mut open: Vec<Config> = ends.configs.clone();
    let (mut states, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let mut has_more = ends.has_more;
    while let Some(config) = open.pop() {
        states.insert(config.state);
        if seen.len() > STATES_MAX {
            has_more = true;
            break;
        }
        let mut more = Vec::new();
        for class in &timeline.open_classes {
            let of = &timeline.classes[*class as usize];
            if config.used_of(*class) < of.open.len() as u32
                && let Some(state) = object.step(config.state, of.action).filter(|state| *state != config.state)
            {
                more.push(config.after(*class, state));
            }
        }
        for (index, op) in timeline.unneeded.iter().enumerate() {
            if let Some(state) = object.step(config.state, op.action).filter(|state| *state != config.state) {
                more.extend(config.after_unneeded(index as u32, state));
            }
        }
        open.extend(more.into_iter().filter(|next| seen.insert(next.identity())));
    }
    Possible { states, has_more }
}

impl Explanation {
    /// The explanation for an operation of a history, among those with these numbers.
    pub(crate) fn new(history: &History, numbers: &[u32], blocked: u32) -> Self {
        let show = |source: u32| Shown::new(&history.operations[source as usize], &history.values);
        let operation = &history.operations[blocked as usize];
        let until = operation.returned.unwrap_or(operation.called);
        let returned = |source: &&u32| history.operations[**source as usize].returned.is_some_and(|at| at < until);
        let is_running =
            |other: &Operation| other.called < until && other.returned.is_none_or(|at: Instant| at > until);
        let running = numbers.iter().filter(|source| **source != blocked);
        let running = running.filter(|source| is_running(&history.operations[**source as usize]));
        Self {
            key: history.key_name(operation.key),
            operations: numbers.len(),
            blocked: show(blocked),
            possible: Vec::new(),
            has_more: false,
            explained: numbers.iter().filter(returned).count(),
            order: Vec::new(),
            earlier: 0,
            running: running.map(|source| show(*source)).collect(),
        }
    }

    /// Adds the values that are possible.
    pub(crate) fn with_values(mut self, values: BTreeSet<String>, has_more: bool) -> Self {
        self.has_more = has_more || values.len() > SHOWN_MAX;
        self.possible = values.into_iter().take(SHOWN_MAX).collect();
        self
    }

    /// Adds an order of the operations before.
    pub(crate) fn with_order(mut self, history: &History, order: &[u32]) -> Self {
        self.earlier = order.len().saturating_sub(SHOWN_MAX);
        let shown = |source: &u32| Shown::new(&history.operations[*source as usize], &history.values);
        self.order = order[self.earlier..].iter().map(shown).collect();
        self
    }
}

impl Shown {
    fn new(operation: &Operation, values: &Values) -> Self {
        let is_open = operation.returned.is_none();
        Self {
            process: values.get(operation.process).to_string(),
            text: text(operation, values),
            call_line: operation.call_line,
            return_line: Some(operation.end_line).filter(|line| *line > 0 && !is_open),
            is_open,
        }
    }
}

fn text(operation: &Operation, values: &Values) -> String {
    let value = |id: ValueId| values.get(id).to_string();
    match operation.action {
        Action::Nothing | Action::Is(_) => match operation.function {
            Function::Contains => "contains".to_owned(),
            _ => "read".to_owned(),
        },
        Action::Read(id) | Action::Elements(id) => format!("read -> {}", value(id)),
        Action::Write(_) if operation.function == Function::Delete => "delete".to_owned(),
        Action::Write(id) => format!("write {}", value(id)),
        Action::Cas(old, new) => format!("cas {} to {}", value(old), value(new)),
        Action::CasRefused(old) => format!("cas from {} -> false", value(old)),
        Action::Append(id) => format!("append {}", value(id)),
        Action::Enqueue(id) => format!("enqueue {}", value(id)),
        Action::Dequeue(id) => format!("dequeue -> {}", value(id)),
        Action::DequeueAny => "dequeue".to_owned(),
        Action::QueueEmpty => "dequeue -> nil".to_owned(),
        Action::Add(amount) if amount < 0 => format!("decrement {}", amount.unsigned_abs()),
        Action::Add(amount) => format!("add {amount}"),
        Action::Total(total) => format!("read -> {total}"),
        Action::Insert(id) => format!("add {}", value(id)),
        Action::Remove(id) => format!("remove {}", value(id)),
        Action::Contains(id, has) => format!("contains {} -> {has}", value(id)),
        Action::Acquire => "acquire".to_owned(),
        Action::Release => "release".to_owned(),
    }
}
