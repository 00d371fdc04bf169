//! Entries of a history: what one line or form says, whatever the format.

use crate::error::{HistoryError, Place};
use crate::value::Value;

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A client calls.
    Invoke,
    /// The call has happened, with this result.
    Ok,
    /// The call did not happen, and is not going to.
    Fail,
    /// The call may have happened, may happen later, or never.
    Info,
}

impl Kind {
    fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "invoke" => Self::Invoke,
            "ok" => Self::Ok,
            "fail" => Self::Fail,
            "info" => Self::Info,
            _ => return None,
        })
    }
}

/// When an entry happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// An event, with its time if it has one.
    Event(Kind, Option<i64>),
    /// A whole operation: its call, its return unless it is open, and its kind.
    Whole(i64, Option<i64>, Kind),
}

/// An entry.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) place: Place,
    pub(crate) when: When,
    pub(crate) process: Value,
    pub(crate) function: String,
    pub(crate) key: Option<Value>,
    pub(crate) value: Option<Value>,
    pub(crate) result: Option<Value>,
}

/// The names of each field.
const PROCESS: &[&str] = &["process", "client", "client_id", "clientId"];
const FUNCTION: &[&str] = &["f", "op"];
const RESULT: &[&str] = &["result", "output"];

impl Entry {
    /// The entry of a map; none for events of other processes than clients.
    pub(crate) fn of_map(map: Value, place: Place) -> Result<Option<Self>, HistoryError> {
        let Value::Map(fields) = map else {
            return Err(HistoryError::at(place, format!("{map} is no operation"), OPERATION));
        };
        let mut fields = Fields { fields, place };
        let process = fields.take(PROCESS).ok_or_else(|| fields.missing("process"))?;
        if process.name() == Some("nemesis") {
            return Ok(None);
        }
        let when = fields.when()?;
        let function = fields.take(FUNCTION).ok_or_else(|| fields.missing("f"))?;
        let function = function.name().map(str::to_owned);
        let function = function.ok_or_else(|| HistoryError::at(place, "`f` is no name of a function", OPERATION))?;
        let [key, value, result] = [&["key"][..], &["value"], RESULT].map(|names| fields.take(names));
        Ok(Some(Self { place, when, process, function, key, value, result }))
    }

    /// The entry of a line of words: process, type, function, value. None for other processes than clients.
    pub(crate) fn of_words(words: Vec<Value>, place: Place) -> Result<Option<Self>, HistoryError> {
        let mut words = words.into_iter();
        let (Some(process), Some(kind)) = (words.next(), words.next()) else {
            return Err(HistoryError::at(place, "this line has no process and type", WORDS));
        };
        if process.name() == Some("nemesis") {
            return Ok(None);
        }
        let kind = kind.name().and_then(Kind::of_name);
        let kind = kind.ok_or_else(|| HistoryError::at(place, "the second word of this line is no type", WORDS))?;
        let function = words.next().and_then(|word| word.name().map(str::to_owned));
        let function = function.ok_or_else(|| HistoryError::at(place, "this line has no function", WORDS))?;
        let value = words.next();
        if value.is_none() && kind == Kind::Ok {
            return Err(HistoryError::at(place, "this line ends before its value", WORDS));
        }
        Ok(Some(Self { place, when: When::Event(kind, None), process, function, key: None, value, result: None }))
    }
}

const OPERATION: &str = "an operation is a map with `process`, `type` and `f`, such as \
    {\"process\": 0, \"type\": \"invoke\", \"f\": \"read\", \"value\": null}";

const WORDS: &str =
    "a line of such a history has a process, a type, a function and a value, such as `0 :invoke :write 3`";

struct Fields {
    fields: Vec<(Value, Value)>,
    place: Place,
}

impl Fields {
    fn take(&mut self, names: &[&str]) -> Option<Value> {
        let found = self.fields.iter().position(|(key, _)| key.name().is_some_and(|name| names.contains(&name)))?;
        Some(self.fields.swap_remove(found).1)
    }

    fn missing(&self, name: &str) -> HistoryError {
        HistoryError::at(self.place, format!("this operation has no `{name}`"), OPERATION)
    }

    fn kind(&mut self) -> Result<Option<Kind>, HistoryError> {
        let Some(kind) = self.take(&["type"]) else { return Ok(None) };
        let known = kind.name().and_then(Kind::of_name);
        let unknown = || {
            let remedy = "the types are invoke, ok, fail (it did not happen) and info (it may have happened)";
            HistoryError::at(self.place, format!("{kind} is no type of an operation"), remedy)
        };
        known.ok_or_else(unknown).map(Some)
    }

    fn time(&mut self, name: &'static str) -> Result<Option<i64>, HistoryError> {
        match self.take(&[name]) {
            None | Some(Value::Nil) => Ok(None),
            Some(Value::Integer(time)) => Ok(Some(time)),
            Some(other) => {
                let remedy = "write times as integers of one unit, such as nanoseconds";
                Err(HistoryError::at(self.place, format!("`{name}` is {other}, which is no integer"), remedy))
            }
        }
    }

    fn when(&mut self) -> Result<When, HistoryError> {
        let kind = self.kind()?;
        let Some(call) = self.time("call")? else {
            let time = self.time("time")?;
            return kind.map(|kind| When::Event(kind, time)).ok_or_else(|| self.missing("type"));
        };
        let returned = self.time("return")?;
        if returned.is_some_and(|returned| returned < call) {
            let returned = returned.unwrap_or_default();
            let problem = format!("the operation returns at {returned}, before its call at {call}");
            return Err(HistoryError::at(self.place, problem, "`call` and `return` are times of one clock"));
        }
        let kind = match (kind, returned) {
            (Some(Kind::Invoke), _) | (None | Some(Kind::Ok), None) => Kind::Info,
            (Some(kind), _) => kind,
            (None, Some(_)) => Kind::Ok,
        };
        Ok(When::Whole(call, returned, kind))
    }
}
