//! A history: operations, each from its call to its return.

use std::io::BufRead;

use rustc_hash::FxHashMap;

use crate::entry::{Entry, Kind, When};
use crate::error::{HistoryError, Place};
use crate::formats::{Accepted, Entries, Format};
use crate::model::{Action, Function, Model};
use crate::results::Outcome;
use crate::value::{Value, ValueId, Values};

/// The choices of a reader.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// The object that it is about.
    pub model: &'static Model,
    /// The formats that it can have.
    pub accepted: Accepted,
    /// The order of its events.
    pub order: Order,
    /// Whether each value is a pair of a key and the value, as of Jepsen's independent keys.
    pub is_independent: bool,
    /// The most memory that its operations may occupy, in bytes.
    pub memory_bytes: usize,
}

/// The order of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// That of the history. A time that goes back in JSON lines is an error: one of the two orders is wrong.
    #[default]
    Checked,
    /// That of the history, whatever the times.
    File,
    /// That of the times; events of one time are in the order of the history.
    Time,
}

/// When an event happened: compared by time, then by the rank within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instant {
    pub(crate) time: i64,
    pub(crate) rank: u32,
}

/// An operation of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) process: ValueId,
    /// The key; [`NO_KEY`] without one.
    pub(crate) key: ValueId,
    pub(crate) action: Action,
    pub(crate) function: Function,
    pub(crate) called: Instant,
    /// None for an open call: it may happen at any later time, or never.
    pub(crate) returned: Option<Instant>,
    pub(crate) call_line: u32,
    /// The line of its completion; 0 without one.
    pub(crate) end_line: u32,
}

/// The key of operations without one.
pub(crate) const NO_KEY: ValueId = ValueId::MAX;

/// A history.
#[derive(Debug)]
pub struct History {
    pub(crate) model: &'static Model,
    pub(crate) values: Values,
    pub(crate) operations: Vec<Operation>,
    /// Its format.
    pub format: Format,
    /// The number of calls that did not happen.
    pub failed: usize,
    /// The number of lines.
    pub lines: u32,
}

impl History {
    /// The number of operations that happened or may have happened.
    pub fn operations(&self) -> usize {
        self.operations.len()
    }

    /// The number of operations without a known end.
    pub fn open(&self) -> usize {
        self.operations.iter().filter(|operation| operation.returned.is_none()).count()
    }

    /// The number of processes.
    pub fn processes(&self) -> usize {
        let mut all: Vec<_> = self.operations.iter().map(|operation| operation.process).collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    }
}

/// The result of reading.
#[derive(Debug)]
pub enum Read {
    /// The whole history.
    Whole(Box<History>),
    /// The bound on memory was hit.
    TooLarge {
        /// The lines that were read.
        lines: u32,
    },
    /// The caller stopped it.
    Stopped {
        /// The lines that were read.
        lines: u32,
    },
}

/// Reads a history, at most until `stop` says so.
///
/// # Errors
///
/// The history cannot be read, is not in a known format, or its events contradict each other.
pub fn read(input: &mut dyn BufRead, how: &Reading, stop: &mut dyn FnMut() -> bool) -> Result<Read, HistoryError> {
    let entries = Entries::new(input, how.accepted)?;
    let mut reader = Reader::new(*how, entries.format);
    let mut entries = entries;
    let mut count = 0u32;
    while let Some(entry) = entries.next()? {
        reader.lines = entry.place.line;
        reader.take(entry)?;
        count = count.wrapping_add(1);
        if reader.bytes() > how.memory_bytes {
            return Ok(Read::TooLarge { lines: reader.lines });
        }
        if count.is_multiple_of(4096) && stop() {
            return Ok(Read::Stopped { lines: reader.lines });
        }
    }
    reader.finish()
}

/// A call without its completion so far.
struct Call {
    function: Function,
    key: Option<Value>,
    value: Option<Value>,
    called: Instant,
    place: Place,
}

/// The end of a call.
#[derive(Default)]
struct End {
    /// None if it is open.
    returned: Option<Instant>,
    value: Option<Value>,
    result: Option<Value>,
    place: Place,
}

struct Reader {
    how: Reading,
    history: History,
    /// By process.
    open: FxHashMap<ValueId, Call>,
    /// The shape of the entries, once known: whether each is a whole operation.
    is_whole: Option<bool>,
    last: Option<i64>,
    rank: u32,
    lines: u32,
}

impl Reader {
    fn new(how: Reading, format: Format) -> Self {
        let history =
            History { model: how.model, values: Values::new(), operations: Vec::new(), format, failed: 0, lines: 0 };
        Self { how, history, open: FxHashMap::default(), is_whole: None, last: None, rank: 0, lines: 0 }
    }

    /// The memory that the history occupies, in bytes: the list of operations can have twice the place that it needs.
    fn bytes(&self) -> usize {
        let list = self.history.operations.capacity() * size_of::<Operation>();
        list + self.history.values.bytes + self.open.len() * (size_of::<Call>() + 128)
    }

    fn take(&mut self, entry: Entry) -> Result<(), HistoryError> {
        let is_whole = matches!(entry.when, When::Whole(..));
        if *self.is_whole.get_or_insert(is_whole) != is_whole {
            let problem = "some lines of this history are events, with `type`, and others operations, with `call`";
            return Err(HistoryError::at(entry.place, problem, "write all lines in one of the two shapes"));
        }
        match entry.when {
            When::Event(kind, time) => self.event(entry, kind, time),
            When::Whole(call, returned, kind) => self.whole(entry, call, returned, kind),
        }
    }

    fn instant(&mut self, place: Place, time: Option<i64>) -> Result<Instant, HistoryError> {
        let rank = self.rank;
        self.rank =
            rank.checked_add(1).ok_or_else(|| HistoryError::at(place, "more than 4,294,967,295 events", "split it"))?;
        if self.how.order == Order::Time {
            let untimed = || HistoryError::at(place, "this operation has no `time`", "without times, use --order file");
            return Ok(Instant { time: time.ok_or_else(untimed)?, rank });
        }
        if self.how.order == Order::Checked && self.history.format == Format::Lines {
            if let (Some(last), Some(time)) = (self.last, time)
                && time < last
            {
                let remedy =
                    "use --order file if the lines are in the order of the events, --order time if their times are";
                return Err(HistoryError::at(place, format!("the time goes back from {last} to {time}"), remedy));
            }
            self.last = time.or(self.last);
        }
        Ok(Instant { time: 0, rank })
    }

    fn event(&mut self, entry: Entry, kind: Kind, time: Option<i64>) -> Result<(), HistoryError> {
        let place = entry.place;
        let at = self.instant(place, time)?;
        let function = self.function(&entry)?;
        let process = self.history.values.intern(entry.process.clone());
        if kind == Kind::Invoke {
            if let Some(call) = self.open.get(&process) {
                let problem = format!(
                    "process {} calls again before its call in line {} has ended",
                    entry.process, call.place.line
                );
                let remedy = "end the call with `info` if its outcome is unknown, or give concurrent calls processes of their own";
                return Err(HistoryError::at(place, problem, remedy));
            }
            let (key, value) = self.split(&entry, entry.key.clone(), entry.value.clone(), true)?;
            self.open.insert(process, Call { function, key, value, called: at, place });
            return Ok(());
        }
        let Some(call) = self.open.remove(&process) else {
            // Jepsen's own processes report with `info` what was no call of a client.
            if kind == Kind::Info {
                return Ok(());
            }
            let problem = format!("process {} ends a call that it did not begin", entry.process);
            return Err(HistoryError::at(
                place,
                problem,
                "the line of its `invoke` is missing, or stands behind this one",
            ));
        };
        if call.function != function {
            let problem =
                format!("process {} ends a call of another function than in line {}", entry.process, call.place.line);
            return Err(HistoryError::at(place, problem, "the lines of a call have the same `f`"));
        }
        match kind {
            Kind::Fail => self.history.failed += 1,
            Kind::Info => self.push(process, &call, &End { place, ..End::default() })?,
            Kind::Ok | Kind::Invoke => {
                let (_, value) = self.split(&entry, call.key.clone(), entry.value.clone(), false)?;
                self.push(process, &call, &End { returned: Some(at), value, result: entry.result, place })?;
            }
        }
        Ok(())
    }

    fn whole(&mut self, entry: Entry, call: i64, returned: Option<i64>, kind: Kind) -> Result<(), HistoryError> {
        let place = entry.place;
        let function = self.function(&entry)?;
        let process = self.history.values.intern(entry.process.clone());
        // A clock cannot order a call and a return of the same time, so they run together.
        let called = Instant { time: call, rank: 0 };
        let (key, value) = self.split(&entry, entry.key.clone(), entry.value.clone(), function.takes_argument())?;
        let call = Call { function, key, value, called, place };
        match (kind, returned) {
            (Kind::Fail, _) => self.history.failed += 1,
            (Kind::Ok, Some(time)) => {
                let value = if function.takes_argument() { None } else { call.value.clone() };
                let returned = Some(Instant { time, rank: 1 });
                self.push(process, &call, &End { returned, value, result: entry.result, place })?;
            }
            _ => self.push(process, &call, &End { place, ..End::default() })?,
        }
        Ok(())
    }

    fn function(&self, entry: &Entry) -> Result<Function, HistoryError> {
        let model = self.how.model;
        model.function(&entry.function).ok_or_else(|| {
            let others: Vec<&str> = crate::model::MODELS
                .iter()
                .filter(|other| other.function(&entry.function).is_some())
                .map(|other| other.name)
                .collect();
            let problem = format!(
                "`{}` is no function of a {}, which has {}",
                entry.function,
                model.name,
                model.function_names()
            );
            let remedy = match others.is_empty() {
                true => "no model has it: leave these operations out, or rename them".to_owned(),
                false => format!("--model {} has it", others.join(" or ")),
            };
            HistoryError::at(entry.place, problem, remedy)
        })
    }

    /// The key of an operation and what is left of its value.
    fn split(
        &self,
        entry: &Entry,
        key: Option<Value>,
        value: Option<Value>,
        is_call: bool,
    ) -> Result<(Option<Value>, Option<Value>), HistoryError> {
        let has_pairs = self.how.is_independent || (self.how.model.needs_key && entry.key.is_none());
        if !has_pairs || (!is_call && entry.key.is_some()) {
            return Ok((key, value));
        }
        match value {
            Some(Value::List(pair)) if pair.len() == 2 => {
                let [first, second] = <[Value; 2]>::try_from(pair).unwrap_or([Value::Nil, Value::Nil]);
                Ok((Some(first), Some(second)))
            }
            // A completion may leave out what the call has said.
            other if !is_call && key.is_some() => Ok((key, other)),
            _ => {
                let problem = format!("this {} has no key", entry.function);
                let remedy = "give it a field `key`, or as `value` a pair of key and value, such as [\"x\", 3]";
                Err(HistoryError::at(entry.place, problem, remedy))
            }
        }
    }

    fn push(&mut self, process: ValueId, call: &Call, end: &End) -> Result<(), HistoryError> {
        let outcome = Outcome {
            function: call.function,
            argument: call.value.as_ref(),
            called: call.place,
            value: end.value.as_ref(),
            result: end.result.as_ref(),
            ended: end.place,
        };
        let values = &mut self.history.values;
        let returned = end.returned;
        let action = if returned.is_some() { outcome.known(values)? } else { outcome.unknown(values)? };
        let key = call.key.clone().map_or(NO_KEY, |key| self.history.values.intern(key));
        let end_line = if self.is_whole == Some(true) { 0 } else { end.place.line };
        self.history.operations.push(Operation {
            process,
            key,
            action,
            function: call.function,
            called: call.called,
            returned,
            call_line: call.place.line,
            end_line,
        });
        Ok(())
    }

    /// The calls that never ended may have happened.
    fn finish(mut self) -> Result<Read, HistoryError> {
        let mut open: Vec<(ValueId, Call)> = std::mem::take(&mut self.open).into_iter().collect();
        open.sort_by_key(|(_, call)| call.called);
        for (process, call) in open {
            self.push(process, &call, &End::default())?;
        }
        self.history.lines = self.lines;
        self.history.operations.shrink_to_fit();
        if self.history.operations.is_empty() && self.history.failed == 0 {
            return Err(HistoryError::Empty);
        }
        Ok(Read::Whole(Box::new(self.history)))
    }
}
