//! The scopes of a run with `--grow`.

use host_search::verdict::Verdict;
use serde::Serialize;

use crate::base::text::{count, grouped};

/// The maximum number of scopes that a text lists.
const LISTED_MAX: usize = 16;

/// A scope in a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScopeReport {
    /// Its values, as `elections=1, resets=0`.
    pub scope: String,
    /// The verdict of its last search; none if it was not searched.
    pub result: Option<&'static str>,
    /// The reason why that search ended.
    pub end: Option<&'static str>,
    /// The number of searches, each with twice the time of the one before.
    pub searches: u32,
    /// Global states of its last search; none for strategies that count other things.
    pub global_states: Option<u64>,
}

impl ScopeReport {
    /// A scope that was not searched.
    pub fn new(scope: &impl ToString) -> Self {
        Self { scope: scope.to_string(), result: None, end: None, searches: 0, global_states: None }
    }

    /// Adds a search.
    pub fn note(&mut self, result: Verdict, end: &'static str, global_states: Option<u64>) {
        (self.result, self.end, self.global_states) = (Some(result.name()), Some(end), global_states);
        self.searches += 1;
    }

    /// The outcome in words.
    fn words(&self) -> String {
        let Some(result) = self.result else { return "not searched".to_owned() };
        let states = self.global_states.map(|states| format!(", {}", count(states, "global state")));
        format!("{result}{}", states.unwrap_or_default())
    }

    /// Rows for people: the smallest scopes, and how many others there are.
    pub fn rows(all: &[Self]) -> Vec<(String, String)> {
        let listed = if all.len() > LISTED_MAX + 1 { LISTED_MAX } else { all.len() };
        let mut rows: Vec<(String, String)> =
            all[..listed].iter().map(|scope| (scope.scope.clone(), scope.words())).collect();
        let others = &all[listed..];
        if !others.is_empty() {
            let decided =
                others.iter().filter(|scope| scope.result.is_some_and(|name| name != Verdict::Incomplete.name()));
            rows.push((
                format!("{} more", grouped(others.len() as u64)),
                format!("{} of them decided", decided.count()),
            ));
        }
        rows
    }
}
