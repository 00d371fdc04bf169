//! The operations on one object, as the search needs them: events in order, and what no order can need left out.

use rustc_hash::FxHashMap;

use crate::dequeues::Dequeues;
use crate::events::{Event, NEVER, Op, OpId};
use crate::history::{Instant, Operation};
use crate::model::Action;
use crate::object::Object;
use crate::value::{ValueId, Values};

/// The open calls of one class.
#[derive(Debug)]
pub(crate) struct Class {
    pub(crate) action: Action,
    /// In the order of the calls.
    pub(crate) open: Vec<OpId>,
    /// The position after which no open call of the class can matter.
    pub(crate) horizon: u32,
}

/// The operations on one object.
#[derive(Debug)]
pub(crate) struct Timeline {
    pub(crate) ops: Vec<Op>,
    /// Each operation at its call, and again at its return.
    pub(crate) events: Vec<Event>,
    /// The maximum number of operations that run at the same time, without open calls.
    pub(crate) slots: usize,
    pub(crate) classes: Vec<Class>,
    pub(crate) class_of: FxHashMap<Action, u32>,
    /// The classes with open calls.
    pub(crate) open_classes: Vec<u32>,
    /// Those of a register by the value that they make.
    pub(crate) makers: FxHashMap<ValueId, Vec<u32>>,
    /// Open calls that no result needs: they count only for the values that are possible at a place.
    pub(crate) unneeded: Vec<Op>,
    /// Whether all that changes the object commutes, and nothing is undone: counters, sets without removal.
    pub(crate) is_commuting: bool,
    /// The order in which a queue has received its values.
    pub(crate) dequeues: Dequeues,
}

impl Timeline {
    /// Of the operations of a history with these numbers; `elements` has those of all reads of sets. Open calls that no result
    /// needs can be kept.
    pub(crate) fn new(all: &[Operation], chosen: &[u32], elements: &Elements, keeps_all: bool) -> Self {
        let mut moments: Vec<(Instant, bool, u32)> = Vec::with_capacity(2 * chosen.len());
        for source in chosen {
            let operation = &all[*source as usize];
            let is_open = operation.returned.is_none();
            if operation.action == Action::Nothing || (is_open && operation.action.only_reads()) {
                continue;
            }
            moments.push((operation.called, false, *source));
            moments.extend(operation.returned.map(|returned| (returned, true, *source)));
        }
        moments.sort_unstable();
        let horizons = Horizons::new(all, &moments, elements);
        let mut new = Self {
            ops: Vec::with_capacity(chosen.len()),
            events: Vec::with_capacity(moments.len()),
            slots: 0,
            classes: Vec::new(),
            class_of: FxHashMap::default(),
            open_classes: Vec::new(),
            makers: FxHashMap::default(),
            unneeded: Vec::new(),
            is_commuting: false,
            dequeues: Dequeues::default(),
        };
        let mut numbers: FxHashMap<u32, OpId> = FxHashMap::default();
        let mut free: Vec<u32> = Vec::new();
        for (position, (_, is_return, source)) in moments.iter().enumerate() {
            let at = new.events.len() as u32;
            if *is_return {
                let op = numbers[source];
                new.ops[op as usize].returned = at;
                free.push(new.ops[op as usize].slot);
                new.events.push(Event { op, is_return: true });
                continue;
            }
            let operation = &all[*source as usize];
            let action = operation.action;
            let mut op = Op { action, source: *source, call: at, returned: NEVER, slot: NEVER, class: NEVER };
            let horizon = if keeps_all { NEVER } else { horizons.of(action) };
            if operation.returned.is_none() && horizon <= position as u32 {
                new.unneeded.push(op);
                continue;
            }
            op.class = new.class(action, horizon);
            let number = new.ops.len() as OpId;
            if operation.returned.is_some() {
                op.slot = free.pop().unwrap_or_else(|| {
                    new.slots += 1;
                    new.slots as u32 - 1
                });
                numbers.insert(*source, number);
            } else {
                new.classes[op.class as usize].open.push(number);
            }
            new.ops.push(op);
            new.events.push(Event { op: number, is_return: false });
        }
        new.note_horizons(&moments);
        new.note_classes();
        new.dequeues = Dequeues::new(&new.ops, &new.events);
        new
    }

    fn class(&mut self, action: Action, horizon: u32) -> u32 {
        *self.class_of.entry(action).or_insert_with(|| {
            self.classes.push(Class { action, open: Vec::new(), horizon });
            self.classes.len() as u32 - 1
        })
    }

    /// Horizons were positions among all moments; now they are positions among the events that are left.
    fn note_horizons(&mut self, moments: &[(Instant, bool, u32)]) {
        if self.unneeded.is_empty() {
            return;
        }
        let mut left = vec![0u32; moments.len() + 1];
        let dropped: std::collections::BTreeSet<u32> = self.unneeded.iter().map(|op| op.source).collect();
        for (position, (_, _, source)) in moments.iter().enumerate() {
            left[position + 1] = left[position] + u32::from(!dropped.contains(source));
        }
        for class in &mut self.classes {
            class.horizon = left.get(class.horizon as usize).copied().unwrap_or(NEVER);
        }
    }

    fn note_classes(&mut self) {
        for (index, class) in self.classes.iter().enumerate() {
            if class.open.is_empty() {
                continue;
            }
            self.open_classes.push(index as u32);
            if let Some(made) = class.action.makes() {
                self.makers.entry(made).or_default().push(index as u32);
            }
        }
        let commutes = |op: &Op| op.action.only_reads() || matches!(op.action, Action::Add(_) | Action::Insert(_));
        self.is_commuting = self.ops.iter().all(commutes);
    }

    /// Replaces the elements that reads of a set have returned by the states that they are of.
    pub(crate) fn number_sets(&mut self, elements: &Elements, object: &mut Object<'_>) {
        for op in &mut self.ops {
            if let Action::Elements(list) = op.action {
                op.action = Action::Elements(object.set_state(&elements[&list]));
            }
        }
    }
}

/// The elements of each list that a read of a set has returned, as sorted numbers.
pub(crate) type Elements = FxHashMap<ValueId, Vec<ValueId>>;

/// The elements of all lists of a history.
pub(crate) fn elements(all: &[Operation], values: &mut Values) -> Elements {
    let mut found = Elements::default();
    for operation in all {
        if let Action::Elements(list) = operation.action
            && !found.contains_key(&list)
        {
            let elements = values.get(list).elements().unwrap_or_default().to_vec();
            let mut numbers: Vec<ValueId> = elements.into_iter().map(|element| values.intern(element)).collect();
            numbers.sort_unstable();
            found.insert(list, numbers);
        }
    }
    found
}

/// The last positions at which open calls can matter.
///
/// An open call may never happen. So it is in an order only for a result that needs its effect, and an order without it is
/// one for the rest. The position of the last such result is its horizon.
struct Horizons {
    /// Of a value of a register or queue, or of an element that is found in a set.
    needed: FxHashMap<ValueId, u32>,
    /// Of an element that is not found in a set.
    missed: FxHashMap<ValueId, u32>,
    /// Of all values.
    any: u32,
    /// Whether there are reads of whole sets, which miss all other elements.
    has_sets: bool,
}

impl Horizons {
    fn new(all: &[Operation], moments: &[(Instant, bool, u32)], elements: &Elements) -> Self {
        let mut new = Self { needed: FxHashMap::default(), missed: FxHashMap::default(), any: 0, has_sets: false };
        let mut open_cas: Vec<(ValueId, ValueId)> = Vec::new();
        for (position, (_, is_return, source)) in moments.iter().enumerate() {
            let operation = &all[*source as usize];
            let position = position as u32 + 1;
            // Positions grow, so the last one stays.
            match (operation.action, operation.returned.is_none(), *is_return) {
                (Action::Cas(old, made), true, _) => open_cas.push((old, made)),
                (Action::Append(_), true, _) => new.any = NEVER,
                (_, false, false) | (_, true, _) => {}
                (Action::Read(value) | Action::Cas(value, _) | Action::Dequeue(value), ..) => {
                    new.needed.insert(value, position);
                }
                (Action::CasRefused(_) | Action::Append(_) | Action::DequeueAny | Action::Is(_), ..) => {
                    new.any = new.any.max(position);
                }
                (Action::Contains(value, true), ..) => {
                    new.needed.insert(value, position);
                }
                (Action::Contains(value, false), ..) => {
                    new.missed.insert(value, position);
                }
                (Action::Elements(list), ..) => {
                    new.has_sets = true;
                    new.needed.extend(elements[&list].iter().map(|element| (*element, position)));
                }
                _ => {}
            }
        }
        // The value that an open cas needs matters as long as the one that it makes.
        open_cas.sort_unstable();
        open_cas.dedup();
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for (old, made) in &open_cas {
                let horizon = new.needed.get(made).copied().unwrap_or_default();
                let before = new.needed.entry(*old).or_default();
                has_changed |= *before < horizon;
                *before = horizon.max(*before);
            }
        }
        new
    }

    /// The position behind the last result that an open call of this action can matter for.
    fn of(&self, action: Action) -> u32 {
        let of = |map: &FxHashMap<ValueId, u32>, value| map.get(&value).copied().unwrap_or_default().max(self.any);
        match action {
            Action::Write(value) | Action::Cas(_, value) | Action::Enqueue(value) | Action::Insert(value) => {
                of(&self.needed, value)
            }
            Action::Remove(value) if !self.has_sets => of(&self.missed, value),
            _ => NEVER,
        }
    }
}
