//! The states of a sequential object, as small numbers, and what operations do to them.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::model::{Action, Start};
use crate::value::{NIL, Value, ValueId, Values};

/// The number of a state.
pub(crate) type State = u32;

/// The states of an object that were met, and its steps.
pub(crate) struct Object<'a> {
    values: &'a mut Values,
    states: States,
}

enum States {
    /// A state is the value; appending has made these.
    Register(FxHashMap<(State, ValueId), State>),
    Counter(Table<i64>),
    /// A state has the values from the first to the last.
    Queue(Table<Rc<[ValueId]>>),
    /// A state has the elements in the order of their numbers.
    Set(Table<Rc<[ValueId]>>),
    /// A state is 1 if the mutex is held.
    Mutex,
}

/// Numbers for contents.
pub(crate) struct Table<T> {
    ids: FxHashMap<T, State>,
    all: Vec<T>,
    bytes: usize,
}

impl<T: Clone + Eq + std::hash::Hash> Table<T> {
    fn new() -> Self {
        Self { ids: FxHashMap::default(), all: Vec::new(), bytes: 0 }
    }

    fn intern(&mut self, content: T, bytes: usize) -> State {
        if let Some(id) = self.ids.get(&content) {
            return *id;
        }
        let id = self.all.len() as State;
        self.bytes += bytes + 3 * size_of::<T>() + 16;
        self.all.push(content.clone());
        self.ids.insert(content, id);
        id
    }

    fn get(&self, state: State) -> &T {
        &self.all[state as usize]
    }
}

impl Table<Rc<[ValueId]>> {
    fn list(&mut self, list: &[ValueId]) -> State {
        self.intern(list.into(), size_of_val(list) + 16)
    }
}

/// The start of an object is none that its model has.
#[derive(Debug)]
pub(crate) struct NoStart(pub(crate) &'static str);

impl<'a> Object<'a> {
    /// An object, and its state at the start: the one of its model, or the given one.
    pub(crate) fn new(start: &Start, given: Option<&Value>, values: &'a mut Values) -> Result<(Self, State), NoStart> {
        let (states, state) = match start {
            Start::Nil => {
                let state = given.map_or(NIL, |value| values.intern(value.clone()));
                (States::Register(FxHashMap::default()), state)
            }
            Start::Zero => {
                let value = match given {
                    None => 0,
                    Some(Value::Integer(value)) => *value,
                    Some(_) => return Err(NoStart("a counter begins with an integer")),
                };
                let mut table = Table::new();
                let state = table.intern(value, 8);
                (States::Counter(table), state)
            }
            Start::Queue | Start::Set => {
                let list = match given {
                    None => &[],
                    Some(value) => value.elements().ok_or(NoStart("a queue or set begins with a list"))?,
                };
                let mut list: Vec<ValueId> = list.iter().map(|value| values.intern(value.clone())).collect();
                let mut table = Table::new();
                if *start == Start::Queue {
                    let state = table.list(&list);
                    (States::Queue(table), state)
                } else {
                    list.sort_unstable();
                    list.dedup();
                    let state = table.list(&list);
                    (States::Set(table), state)
                }
            }
            Start::Free => match given {
                None | Some(Value::Bool(false)) => (States::Mutex, 0),
                Some(Value::Bool(true)) => (States::Mutex, 1),
                Some(_) => return Err(NoStart("a mutex begins with true, if it is held, or false")),
            },
        };
        Ok((Self { values, states }, state))
    }

    /// Whether it is a register.
    pub(crate) fn is_register(&self) -> bool {
        matches!(self.states, States::Register(_))
    }

    /// Whether it is a queue.
    pub(crate) fn is_queue(&self) -> bool {
        matches!(self.states, States::Queue(_))
    }

    /// The memory of the values and states, in bytes, roughly.
    pub(crate) fn bytes(&self) -> usize {
        self.values.bytes
            + match &self.states {
                States::Register(appended) => appended.len() * 32,
                States::Counter(table) => table.bytes,
                States::Queue(table) | States::Set(table) => table.bytes,
                States::Mutex => 0,
            }
    }

    /// The state after an operation; none if its result is impossible in this state.
    pub(crate) fn step(&mut self, state: State, action: Action) -> Option<State> {
        if let Action::Is(expected) = action {
            return (state == expected).then_some(state);
        }
        match &mut self.states {
            States::Register(made) => step_register(self.values, made, state, action),
            States::Counter(table) => match action {
                Action::Add(amount) => {
                    let total = table.get(state).checked_add(amount)?;
                    Some(table.intern(total, 8))
                }
                Action::Total(total) => (*table.get(state) == total).then_some(state),
                _ => Some(state),
            },
            States::Queue(table) => step_queue(table, state, action),
            States::Set(table) => step_set(table, state, action),
            States::Mutex => match action {
                Action::Acquire => (state == 0).then_some(1),
                Action::Release => (state == 1).then_some(0),
                _ => Some(state),
            },
        }
    }

    /// The elements of a queue or set in this state.
    pub(crate) fn elements(&self, state: State) -> &[ValueId] {
        match &self.states {
            States::Queue(table) | States::Set(table) => table.get(state),
            _ => &[],
        }
    }

    /// The total of a counter in this state.
    pub(crate) fn total(&self, state: State) -> i64 {
        match &self.states {
            States::Counter(table) => *table.get(state),
            _ => 0,
        }
    }

    /// The number of the state of a set that has these elements, which are sorted.
    pub(crate) fn set_state(&mut self, elements: &[ValueId]) -> State {
        match &mut self.states {
            States::Set(table) => table.list(elements),
            _ => 0,
        }
    }

    /// A state in words.
    pub(crate) fn show(&self, state: State) -> String {
        match &self.states {
            States::Register(_) => self.values.get(state).to_string(),
            States::Counter(table) => table.get(state).to_string(),
            States::Queue(table) => list(self.values, table.get(state)),
            States::Set(table) => {
                // In the order of the values, not of their numbers.
                let mut elements = table.get(state).to_vec();
                elements.sort_by_key(|element| self.values.get(*element));
                list(self.values, &elements)
            }
            States::Mutex => if state == 0 { "free" } else { "held" }.to_owned(),
        }
    }
}

fn step_register(
    values: &mut Values,
    appended: &mut FxHashMap<(State, ValueId), State>,
    state: State,
    action: Action,
) -> Option<State> {
    match action {
        Action::Read(value) => (state == value).then_some(state),
        Action::Write(value) => Some(value),
        Action::Cas(old, new) => (state == old).then_some(new),
        Action::CasRefused(old) => (state != old).then_some(state),
        Action::Append(value) => {
            if let Some(made) = appended.get(&(state, value)) {
                return Some(*made);
            }
            let made = append(values.get(state), values.get(value));
            let made = values.intern(made);
            appended.insert((state, value), made);
            Some(made)
        }
        _ => Some(state),
    }
}

/// Texts are joined; anything else becomes, or joins, a list.
fn append(to: &Value, value: &Value) -> Value {
    match (to, value) {
        (Value::Nil, Value::Text(_)) => value.clone(),
        (Value::Text(first), Value::Text(second)) => Value::Text(format!("{first}{second}")),
        (Value::Nil, _) => Value::List(vec![value.clone()]),
        (Value::List(list), _) => Value::List(list.iter().chain([value]).cloned().collect()),
        (to, _) => Value::List(vec![to.clone(), value.clone()]),
    }
}

fn step_queue(table: &mut Table<Rc<[ValueId]>>, state: State, action: Action) -> Option<State> {
    let list = Rc::clone(table.get(state));
    match action {
        Action::Enqueue(value) => {
            let mut longer = list.to_vec();
            longer.push(value);
            Some(table.list(&longer))
        }
        Action::Dequeue(value) => (list.first() == Some(&value)).then(|| table.list(&list[1..])),
        Action::DequeueAny => Some(if list.is_empty() { state } else { table.list(&list[1..]) }),
        Action::QueueEmpty => list.is_empty().then_some(state),
        _ => Some(state),
    }
}

fn step_set(table: &mut Table<Rc<[ValueId]>>, state: State, action: Action) -> Option<State> {
    let list = Rc::clone(table.get(state));
    match action {
        Action::Insert(value) => match list.binary_search(&value) {
            Ok(_) => Some(state),
            Err(place) => {
                let mut longer = list.to_vec();
                longer.insert(place, value);
                Some(table.list(&longer))
            }
        },
        Action::Remove(value) => match list.binary_search(&value) {
            Err(_) => Some(state),
            Ok(place) => {
                let mut shorter = list.to_vec();
                shorter.remove(place);
                Some(table.list(&shorter))
            }
        },
        Action::Contains(value, has) => (list.binary_search(&value).is_ok() == has).then_some(state),
        // The timeline has made a state of the elements.
        Action::Elements(elements) => (state == elements).then_some(state),
        _ => Some(state),
    }
}

/// The most elements of a list that are shown.
const SHOWN_MAX: usize = 12;

/// A list of values in brackets, cut where it is long.
fn list(values: &Values, all: &[ValueId]) -> String {
    let mut shown: Vec<Value> = all.iter().take(SHOWN_MAX).map(|id| values.get(*id).clone()).collect();
    if all.len() > SHOWN_MAX {
        shown.push(Value::Symbol(format!("and {} more", all.len() - SHOWN_MAX)));
    }
    Value::List(shown).to_string()
}
