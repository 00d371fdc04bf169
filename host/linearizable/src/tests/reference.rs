//! The definition of linearizability, executed: every order of every choice of open calls.
//!
//! Objects are written again here, over values instead of numbers.

use std::collections::{BTreeMap, BTreeSet};

use crate::Value;

/// A call of a random history.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) process: u32,
    pub(super) key: &'static str,
    pub(super) function: &'static str,
    /// The argument: one value, or two of a cas.
    pub(super) arguments: Vec<i64>,
    pub(super) end: End,
    /// The places of its events among those of the history.
    pub(super) called: usize,
    pub(super) returned: usize,
}

/// The end of a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum End {
    Ok(Output),
    Fail,
    Info,
    /// There is no event.
    Never,
}

/// A result.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Output {
    Nothing,
    Unknown,
    Nil,
    Bool(bool),
    Number(i64),
    /// Appended numbers, or the elements of a set.
    List(Vec<i64>),
}

/// An object of every model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Object {
    Register(Option<i64>),
    List(Vec<i64>),
    Counter(i64),
    Queue(Vec<i64>),
    Set(BTreeSet<i64>),
    Mutex(bool),
}

impl Object {
    pub(super) fn start(model: &str) -> Self {
        match model {
            "queue" => Self::Queue(Vec::new()),
            "counter" => Self::Counter(0),
            "set" => Self::Set(BTreeSet::new()),
            "mutex" => Self::Mutex(false),
            _ => Self::Register(None),
        }
    }

    /// The object and the result after a call; none if the call cannot succeed.
    pub(super) fn after(&self, call: &Call) -> Option<(Self, Output)> {
        let first = call.arguments.first().copied().unwrap_or_default();
        let mut next = self.clone();
        let output = match (&mut next, call.function) {
            (Self::Register(value), "read") => value.map_or(Output::Nil, Output::Number),
            (Self::List(list), "read") => Output::List(list.clone()),
            (Self::Register(_) | Self::List(_), "write") => {
                next = Self::Register(Some(first));
                Output::Nothing
            }
            (Self::Register(_) | Self::List(_), "delete") => {
                next = Self::Register(None);
                Output::Nothing
            }
            (Self::Register(None), "append") => {
                next = Self::List(vec![first]);
                Output::Nothing
            }
            (Self::Register(Some(value)), "append") => {
                next = Self::List(vec![*value, first]);
                Output::Nothing
            }
            (Self::List(list), "append") => {
                list.push(first);
                Output::Nothing
            }
            (Self::Register(value), "cas") if *value == Some(first) => {
                *value = Some(call.arguments[1]);
                Output::Nothing
            }
            // A cas that returns false has compared; any other one that fails is no call.
            (Self::Register(_) | Self::List(_), "cas") if call.end == End::Ok(Output::Bool(false)) => {
                Output::Bool(false)
            }
            (Self::Register(_) | Self::List(_), "cas") => return None,
            (Self::Counter(total), "read") => Output::Number(*total),
            (Self::Counter(total), "add") => {
                *total += first;
                Output::Nothing
            }
            (Self::Queue(list), "enqueue") => {
                list.push(first);
                Output::Nothing
            }
            (Self::Queue(list), "dequeue") if list.is_empty() => Output::Nil,
            (Self::Queue(list), "dequeue") => Output::Number(list.remove(0)),
            (Self::Set(all), "add") => {
                all.insert(first);
                Output::Nothing
            }
            (Self::Set(all), "remove") => {
                all.remove(&first);
                Output::Nothing
            }
            (Self::Set(all), "contains") => Output::Bool(all.contains(&first)),
            (Self::Set(all), "read") => Output::List(all.iter().copied().collect()),
            (Self::Mutex(held), "acquire") if !*held => {
                *held = true;
                Output::Nothing
            }
            (Self::Mutex(held), "release") if *held => {
                *held = false;
                Output::Nothing
            }
            (Self::Mutex(_), _) => return None,
            (object, function) => unreachable!("{function} of {object:?}"),
        };
        Some((next, output))
    }

    /// The object as explanations show it.
    pub(super) fn shown(&self) -> String {
        let list = |all: &mut dyn Iterator<Item = i64>| Value::List(all.map(Value::Integer).collect()).to_string();
        match self {
            Self::Register(None) => "nil".to_owned(),
            Self::Register(Some(value)) | Self::Counter(value) => value.to_string(),
            Self::List(all) | Self::Queue(all) => list(&mut all.iter().copied()),
            Self::Set(all) => list(&mut all.iter().copied()),
            Self::Mutex(held) => if *held { "held" } else { "free" }.to_owned(),
        }
    }

    /// Whether a call can take effect with the result that it has.
    pub(super) fn explains(&self, call: &Call) -> Option<Self> {
        let (next, output) = self.after(call)?;
        match &call.end {
            End::Ok(Output::Unknown | Output::Nothing) | End::Info | End::Never => Some(next),
            End::Ok(known) => (*known == output).then_some(next),
            End::Fail => None,
        }
    }
}

/// The judgement of one object.
#[derive(Debug, PartialEq)]
pub(super) enum Judged {
    Linearizable,
    /// The place of the first return that nothing explains, and the objects that are possible before it.
    Not {
        returned: usize,
        possible: BTreeSet<Object>,
    },
}

/// Judges the calls for one key.
pub(super) fn judge(model: &str, calls: &[Call]) -> Judged {
    let calls: Vec<&Call> = calls.iter().filter(|call| call.end != End::Fail).collect();
    let mut returns: Vec<usize> =
        calls.iter().filter(|call| matches!(call.end, End::Ok(_))).map(|call| call.returned).collect();
    returns.sort_unstable();
    let mut ends = BTreeMap::new();
    for returned in returns {
        // Everything up to this return, and it.
        let mut possible = BTreeSet::new();
        if !explains(&calls, &mut vec![false; calls.len()], &Object::start(model), returned + 1, &mut possible) {
            let mut before = BTreeSet::new();
            let blocked = calls.iter().position(|call| call.returned == returned && matches!(call.end, End::Ok(_)));
            let others: Vec<&Call> =
                calls.iter().enumerate().filter(|(index, _)| Some(*index) != blocked).map(|(_, call)| *call).collect();
            explains(&others, &mut vec![false; others.len()], &Object::start(model), returned, &mut before);
            return Judged::Not { returned, possible: before };
        }
        ends.insert(returned, possible);
    }
    Judged::Linearizable
}

/// Whether an order of calls that were called before `until` has all that returned before it; adds the objects after each
/// such order. Calls that return later can be in it.
fn explains(
    calls: &[&Call],
    done: &mut [bool],
    object: &Object,
    until: usize,
    possible: &mut BTreeSet<Object>,
) -> bool {
    let must = |call: &Call| matches!(call.end, End::Ok(_)) && call.returned < until;
    let mut is_explained = (0..calls.len()).all(|index| done[index] || !must(calls[index]));
    if is_explained {
        possible.insert(object.clone());
    }
    for index in 0..calls.len() {
        let call = calls[index];
        if done[index] || call.called >= until {
            continue;
        }
        // It cannot come before a call that returned before it was called.
        let is_late =
            (0..calls.len()).any(|other| !done[other] && must(calls[other]) && calls[other].returned < call.called);
        if is_late {
            continue;
        }
        if let Some(next) = object.explains(call) {
            done[index] = true;
            is_explained |= explains(calls, done, &next, until, possible);
            done[index] = false;
        }
    }
    is_explained
}
