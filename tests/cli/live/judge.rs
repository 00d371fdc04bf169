//! The linearizability of the answers to clients.

use std::collections::{BTreeMap, BTreeSet};

use std::fmt::Write;

use guest_sdk::linearizability::{History, SequentialObject};
use host_linearizable::{Accepted, Bounds, Model, Order, Read, Reading, Verdict, judge, read};

/// The request of a client for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    Get(String),
    Put(String, Vec<u8>),
    Delete(String),
}

/// Its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Value(Option<Vec<u8>>),
    Done,
}

/// One key of a store, without relying on the protocol's own properties.
struct OneKey;

impl SequentialObject for OneKey {
    type State = Option<Vec<u8>>;
    type Call = Operation;
    type Return = Outcome;

    fn start(&self) -> Self::State {
        None
    }

    fn apply(&self, value: &mut Self::State, call: &Operation) -> Outcome {
        match call {
            Operation::Get(_) => return Outcome::Value(value.clone()),
            Operation::Put(_, new) => *value = Some(new.clone()),
            Operation::Delete(_) => *value = None,
        }
        Outcome::Done
    }
}

/// An answer, or the knowledge without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is done, with this result.
    Outcome(Outcome),
    /// It did not happen and is not going to.
    Refused,
    /// It may have happened, or happen later.
    Unknown,
}

/// Calls and answers in the order in which they happened.
#[derive(Default)]
pub struct Judge {
    calls: Vec<(Operation, Option<Answer>)>,
    /// Indexes of calls, each at its call and again, with `true`, at its answer.
    order: Vec<(usize, bool)>,
}

/// The counts of a judgement.
#[derive(Debug)]
pub struct Told {
    pub answered: usize,
    pub unknown: usize,
    pub keys: usize,
}

fn key_of(operation: &Operation) -> &String {
    let (Operation::Get(key) | Operation::Put(key, _) | Operation::Delete(key)) = operation;
    key
}

impl Judge {
    /// Records a call of a client.
    pub fn call(&mut self, operation: Operation) -> usize {
        self.calls.push((operation, None));
        self.order.push((self.calls.len() - 1, false));
        self.calls.len() - 1
    }

    /// Records the answer to a call.
    pub fn told(&mut self, call: usize, answer: Answer) {
        self.calls[call].1 = Some(answer);
        self.order.push((call, true));
    }

    /// The number of calls with an outcome so far.
    pub fn answered(&self) -> usize {
        self.calls.iter().filter(|(_, answer)| matches!(answer, Some(Answer::Outcome(_)))).count()
    }

    /// Reads every key.
    pub fn read_all(&mut self, mut ask: impl FnMut(&Operation) -> Outcome) {
        let keys: BTreeSet<String> = self.calls.iter().map(|(operation, _)| key_of(operation).clone()).collect();
        for key in keys {
            let operation = Operation::Get(key);
            let call = self.call(operation.clone());
            let outcome = ask(&operation);
            self.told(call, Answer::Outcome(outcome));
        }
    }

    /// Whether there is an order that explains the answers, by two checkers that share nothing.
    pub fn verdict(&self) -> Result<Told, String> {
        let verdict = self.verdict_of_the_sdk();
        assert_eq!(verdict.is_ok(), self.is_linearizable(), "the checkers differ: {verdict:?}, of\n{}", self.lines());
        verdict
    }

    /// The history as `host linearizable` reads it.
    fn lines(&self) -> String {
        let mut lines = String::new();
        for (call, is_answer) in &self.order {
            let (operation, answer) = &self.calls[*call];
            let text = |bytes: &[u8]| serde_json::Value::from(String::from_utf8_lossy(bytes));
            let (function, argument) = match operation {
                Operation::Get(_) => ("get", serde_json::Value::Null),
                Operation::Put(_, value) => ("put", text(value)),
                Operation::Delete(_) => ("delete", serde_json::Value::Null),
            };
            let (kind, value) = match answer.as_ref().filter(|_| *is_answer) {
                None => ("invoke", argument),
                Some(Answer::Outcome(Outcome::Value(value))) => {
                    ("ok", value.as_deref().map_or_else(Default::default, text))
                }
                Some(Answer::Outcome(Outcome::Done)) => ("ok", argument),
                Some(Answer::Refused) => ("fail", argument),
                Some(Answer::Unknown) => ("info", argument),
            };
            // Each call is a client of its own, since some calls have no outcome.
            let line = serde_json::json!({
                "process": call, "type": kind, "f": function, "key": key_of(operation), "value": value,
            });
            writeln!(lines, "{line}").expect("a string takes every line");
        }
        lines
    }

    /// Whether the checker of `host linearizable` finds an order.
    fn is_linearizable(&self) -> bool {
        const MEMORY_BYTES: usize = 1 << 30;
        let lines = self.lines();
        if lines.is_empty() {
            return true;
        }
        let model = Model::of_name("kv").expect("it is a model");
        let how = Reading {
            model,
            accepted: Accepted::Lines,
            order: Order::File,
            is_independent: false,
            memory_bytes: MEMORY_BYTES,
        };
        let Ok(Read::Whole(mut history)) = read(&mut lines.as_bytes(), &how, &mut || false) else {
            panic!("the history is small and well formed:\n{lines}")
        };
        let begun = std::time::Instant::now();
        let bounds = Bounds {
            memory_bytes: MEMORY_BYTES,
            elapsed: &|| begun.elapsed(),
            time: std::time::Duration::from_secs(60),
            is_interrupted: &|| false,
        };
        match judge(&mut history, None, &bounds).expect("a store begins empty").verdict {
            Verdict::Linearizable => true,
            Verdict::NotLinearizable(_) => false,
            Verdict::Undecided { bound, .. } => panic!("{bound:?} was hit by\n{lines}"),
        }
    }

    /// The verdict of the SDK: key by key, since objects are linearizable together if each is.
    fn verdict_of_the_sdk(&self) -> Result<Told, String> {
        let mut histories: BTreeMap<&String, History<Operation, Outcome>> = BTreeMap::new();
        let mut told = Told { answered: 0, unknown: 0, keys: 0 };
        for (call, is_answer) in &self.order {
            let (operation, answer) = &self.calls[*call];
            let history = histories.entry(key_of(operation)).or_default();
            match (is_answer, answer.as_ref().expect("each call has an answer")) {
                (_, Answer::Refused) => {}
                // A read without an answer has no effect.
                (_, Answer::Unknown) if matches!(operation, Operation::Get(_)) => {}
                // Each call is a client of its own, since some calls have no outcome.
                (false, _) => history.call(*call as u32, operation.clone()),
                (true, Answer::Outcome(outcome)) => {
                    history.returned(*call as u32, outcome.clone());
                    told.answered += 1;
                }
                (true, Answer::Unknown) => told.unknown += 1,
            }
        }
        told.keys = histories.len();
        for (key, history) in histories {
            history.linearize(&OneKey).map_err(|why| format!("{key}: {why}"))?;
        }
        Ok(told)
    }
}
