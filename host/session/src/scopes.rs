//! The same run in scopes of growing size, the smallest one first.
//!
//! Bounds inside a protocol, such as a number of elections, make a search deep or shallow, and the best ones are not known in advance.
//! Small scopes are decided soon; larger ones get the time that remains. Each scope is searched for a slice of time, and a scope that is
//! not decided is searched again for twice the time, so all its earlier searches together take less time than the last one may take.

use std::collections::BTreeSet;
use std::time::Duration;

use host_model::scenario::faults;
use host_search::kernel::EndCondition;
use host_search::verdict::Verdict;

use crate::base::Failure;
use crate::base::context::Clock;
use crate::base::text::grouped;
use crate::report::{RunReport, ScopeReport};
use crate::spec::RunSpec;

/// The time of the first search in each scope.
const SLICE: Duration = Duration::from_secs(1);

/// The maximum number of scopes.
const SCOPES_MAX: usize = 1_000;

/// The time of a search when the time is up.
const SLICE_MIN: Duration = Duration::from_millis(1);

/// A parameter of the protocol, a budget of faults, `nodes` or `local-events`, with its values from the smallest to the largest one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    name: String,
    from: u32,
    to: u32,
}

/// `elections=1..6` into its parts.
///
/// # Errors
///
/// It has another form, or its end comes before its start.
pub fn range(text: &str) -> Result<Range, String> {
    let parts = text.split_once('=').and_then(|(name, values)| {
        let (from, to) = values.split_once("..")?;
        Some(Range { name: name.to_owned(), from: from.parse().ok()?, to: to.parse().ok()? })
    });
    match parts {
        Some(range) if range.from <= range.to && !range.name.is_empty() && !text.contains(['\n', '\r']) => Ok(range),
        _ => Err("expected KEY=FROM..TO with whole numbers, the smaller one first, such as elections=1..6".to_owned()),
    }
}

/// One value for each range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope(Vec<(String, u32)>);

impl Scope {
    /// The run in this scope.
    #[must_use]
    pub fn run(&self, given: RunSpec) -> RunSpec {
        let mut scope = RunSpec::default();
        for (name, value) in &self.0 {
            match name.as_str() {
                "nodes" => scope.cluster.nodes = Some(*value),
                "local-events" => scope.search.local_events = Some(*value),
                fault if is_fault(fault) => _ = scope.cluster.faults.insert(fault.to_owned(), *value),
                parameter => scope.cluster.parameters.push((parameter.to_owned(), value.to_string())),
            }
        }
        scope.over(given)
    }
}

impl Scope {
    /// The options of `host run` for it.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let words = self.0.iter().flat_map(|(name, value)| match name.as_str() {
            "nodes" | "local-events" => [format!("--{name}"), value.to_string()],
            fault if is_fault(fault) => [format!("--{fault}"), value.to_string()],
            parameter => ["--set".to_owned(), format!("{parameter}={value}")],
        });
        words.collect()
    }
}

impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let values: Vec<String> = self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        f.write_str(&values.join(", "))
    }
}

fn is_fault(name: &str) -> bool {
    faults::budgets().any(|(fault, _)| fault == name)
}

/// All scopes of these ranges: those with the smallest values first, of equal ones those whose last ranges are smaller.
///
/// # Errors
///
/// A range is given twice or has a value in the request, or there are more than a thousand scopes.
pub fn scopes(ranges: &[Range], given: &RunSpec) -> Result<Vec<Scope>, Failure> {
    let mut names = BTreeSet::new();
    for Range { name, .. } in ranges {
        let refused = |why: &str| {
            let failure = Failure::configuration(format_args!("`--grow {name}`: {why}"));
            Err(failure.help("leave one of the two out"))
        };
        if !names.insert(name) {
            return refused("the range is given twice");
        }
        let cluster = &given.cluster;
        let has_value = match name.as_str() {
            "nodes" => cluster.nodes.is_some(),
            "local-events" => given.search.local_events.is_some(),
            fault if is_fault(fault) => cluster.faults.contains_key(fault),
            parameter => cluster.parameters.iter().any(|(key, _)| key == parameter),
        };
        if has_value {
            return refused("another option gives it one value");
        }
    }
    let number =
        ranges.iter().try_fold(1_usize, |number, range| number.checked_mul((range.to - range.from) as usize + 1));
    if number.is_none_or(|number| number > SCOPES_MAX) {
        let failure =
            Failure::configuration(format_args!("`--grow`: these are more than {} scopes", grouped(SCOPES_MAX as u64)));
        return Err(failure.help("give fewer ranges, or shorter ones"));
    }
    let mut offsets: Vec<Vec<u32>> = vec![Vec::new()];
    for Range { from, to, .. } in ranges {
        offsets = offsets
            .into_iter()
            .flat_map(|before| {
                (0..=to - from).map(move |offset| {
                    let mut with = before.clone();
                    with.push(offset);
                    with
                })
            })
            .collect();
    }
    offsets
        .sort_by_cached_key(|offsets| (offsets.iter().sum::<u32>(), offsets.iter().rev().copied().collect::<Vec<_>>()));
    let scope = |offsets: Vec<u32>| {
        Scope(ranges.iter().zip(offsets).map(|(range, offset)| (range.name.clone(), range.from + offset)).collect())
    };
    Ok(offsets.into_iter().map(scope).collect())
}

/// The end of a search in a scope, with the data that the caller keeps of it.
#[derive(Debug)]
pub struct Searched<T> {
    /// The verdict.
    pub result: Verdict,
    /// The reason why it ended.
    pub end: &'static str,
    /// Its global states; none for strategies that count other things.
    pub global_states: Option<u64>,
    /// Anything else.
    pub rest: T,
}

impl<T> Searched<T> {
    /// With the facts of its report.
    pub fn new(rest: T, report: impl FnOnce(&T) -> &RunReport) -> Self {
        let report = report(&rest);
        Self { result: report.result, end: report.end, global_states: report.counts.0.global_states, rest }
    }

    /// Whether it decides all scopes.
    fn is_decisive(&self) -> bool {
        matches!(self.result, Verdict::Violation | Verdict::Error) || self.end == EndCondition::Interrupted.name()
    }

    /// Whether a search with more time could decide it.
    fn is_cut(&self) -> bool {
        self.end == EndCondition::TimeBound.name() && !self.is_decisive()
    }
}

/// Searches the scopes in turns until there is a finding, each scope is decided, or the time is up. `search` searches one for at most
/// this time.
///
/// The result is that of the scope with the finding; without one, of the largest scope that is not decided; and if all are, of the
/// largest one, since a smaller one may exclude the events that a `sometimes` property needs.
///
/// # Errors
///
/// That of a search.
pub fn grow<T>(
    scopes: &[Scope],
    time: Option<Duration>,
    clock: &Clock,
    mut search: impl FnMut(&Scope, Duration) -> Result<Searched<T>, Failure>,
) -> Result<(T, Vec<ScopeReport>), Failure> {
    let began = clock();
    let left = || time.map(|time| time.saturating_sub(clock().saturating_sub(began)));
    let mut reports: Vec<ScopeReport> = scopes.iter().map(ScopeReport::new).collect();
    let mut all: Vec<Option<Searched<T>>> = scopes.iter().map(|_| None).collect();
    let is_cut = |searched: &Option<Searched<T>>| searched.as_ref().is_some_and(Searched::is_cut);
    let mut slice = SLICE;
    let decisive = 'search: loop {
        for (index, scope) in scopes.iter().enumerate() {
            if all[index].is_some() && !is_cut(&all[index]) {
                continue;
            }
            let left = left();
            // Without time, a scope may still be decided at once; the result is that of one that was not.
            if left.is_some_and(|left| left.is_zero()) && all.iter().any(is_cut) {
                break 'search None;
            }
            let searched = search(scope, left.map_or(slice, |left| left.clamp(SLICE_MIN, slice)))?;
            let is_decisive = searched.is_decisive();
            reports[index].note(searched.result, searched.end, searched.global_states);
            all[index] = Some(searched);
            if is_decisive {
                break 'search Some(index);
            }
        }
        if !all.iter().any(is_cut) {
            break None;
        }
        slice *= 2;
    };
    let is_open = |searched: &Option<Searched<T>>| {
        searched.as_ref().is_some_and(|searched| searched.result == Verdict::Incomplete)
    };
    let chosen = decisive.or_else(|| all.iter().rposition(is_open)).unwrap_or(scopes.len() - 1);
    let chosen =
        all.into_iter().nth(chosen).flatten().expect("it is the last scope, after all others, or was searched");
    Ok((chosen.rest, reports))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeMap;
    use std::rc::Rc;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    fn parsed(texts: &[&str]) -> Vec<Range> {
        texts.iter().map(|text| range(text).expect("a range")).collect()
    }

    fn names(scopes: &[Scope]) -> Vec<String> {
        scopes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_range_has_a_name_and_two_numbers() {
        assert_eq!(range("a.b=0..3"), Ok(Range { name: "a.b".to_owned(), from: 0, to: 3 }));
        assert_eq!(range("a=2..2"), Ok(Range { name: "a".to_owned(), from: 2, to: 2 }));
        for wrong in ["", "a", "a=", "a=1", "=1..2", "a=2..1", "a=-1..2", "a=1..x", "a=1..=2", "a=1..2..3", "a\n=1..2"]
        {
            assert!(range(wrong).is_err_and(|why| why.contains("KEY=FROM..TO")), "{wrong:?}");
        }
    }

    #[test]
    fn the_smallest_scopes_come_first() {
        let given = RunSpec::default();
        let all = scopes(&parsed(&["a=1..3", "resets=0..1"]), &given).expect("six scopes");
        let expected =
            ["a=1, resets=0", "a=2, resets=0", "a=1, resets=1", "a=3, resets=0", "a=2, resets=1", "a=3, resets=1"];
        assert_eq!(names(&all), expected);
    }

    #[test]
    fn a_scope_sets_what_the_request_leaves_open() {
        let mut given = RunSpec::default();
        given.cluster.parameters = vec![("b".to_owned(), "x".to_owned())];
        given.cluster.faults = BTreeMap::from([("losses".to_owned(), 1)]);
        let all = scopes(&parsed(&["a=4..4", "resets=1..1", "nodes=2..2", "local-events=3..3"]), &given);
        let run = all.expect("a scope")[0].run(given.clone());
        assert_eq!(
            run.cluster.parameters,
            [("b", "x"), ("a", "4")].map(|(key, value)| (key.to_owned(), value.to_owned()))
        );
        assert_eq!(run.cluster.faults, BTreeMap::from([("losses".to_owned(), 1), ("resets".to_owned(), 1)]));
        assert_eq!((run.cluster.nodes, run.search.local_events), (Some(2), Some(3)));
        given.cluster.nodes = Some(3);
        given.search.local_events = Some(3);
        for (ranges, why) in [
            (&["b=1..2"][..], "`--grow b`: another option gives it one value"),
            (&["losses=1..2"], "`--grow losses`: another option gives it one value"),
            (&["nodes=1..2"], "`--grow nodes`: another option gives it one value"),
            (&["local-events=1..2"], "`--grow local-events`: another option gives it one value"),
            (&["a=1..2", "a=1..3"], "`--grow a`: the range is given twice"),
            (&["a=0..1000"], "`--grow`: these are more than 1,000 scopes"),
            (&["a=0..4294967295", "c=0..4294967295"], "`--grow`: these are more than 1,000 scopes"),
        ] {
            assert_eq!(scopes(&parsed(ranges), &given).expect_err(why).message, why);
        }
        assert_eq!(scopes(&parsed(&["a=1..1000"]), &given).expect("a thousand scopes").len(), 1_000);
    }

    /// Scopes `a=1` and so on that take these times to decide; the time advances as searches take it.
    fn grown(needed: &[(u64, Verdict)], time: Option<u64>) -> (usize, Vec<ScopeReport>, u64) {
        let now = Arc::new(AtomicU64::new(7));
        let clock: Clock = {
            let now = Arc::clone(&now);
            Arc::new(move || Duration::from_millis(now.load(Ordering::Relaxed)))
        };
        let to = needed.len();
        let all = scopes(&parsed(&[&format!("a=1..{to}")]), &RunSpec::default()).expect("scopes");
        let next = Rc::new(Cell::new(None));
        let (chosen, reports) = grow(&all, time.map(Duration::from_millis), &clock, |scope, time| {
            let index = all.iter().position(|other| other == scope).expect("one of them");
            next.set(Some(index));
            let (needed, verdict) = needed[index];
            let time = u64::try_from(time.as_millis()).expect("a short time");
            now.fetch_add(needed.min(time), Ordering::Relaxed);
            let (result, end) = match needed <= time {
                true => (verdict, if verdict == Verdict::Violation { "violation" } else { "space-exhausted" }),
                false => (Verdict::Incomplete, "time-bound"),
            };
            Ok(Searched { result, end, global_states: Some(time), rest: index })
        })
        .expect("no search fails");
        (chosen, reports, now.load(Ordering::Relaxed) - 7)
    }

    fn searches(reports: &[ScopeReport]) -> Vec<u32> {
        reports.iter().map(|report| report.searches).collect()
    }

    #[test]
    fn the_first_finding_is_reported() {
        let needed = [(10, Verdict::Ok), (9_000, Verdict::Ok), (1_500, Verdict::Violation), (1, Verdict::Violation)];
        let (chosen, reports, _) = grown(&needed, None);
        assert_eq!(chosen, 3, "the last scope has its finding within the first slice");
        assert_eq!(searches(&reports), [1, 1, 1, 1]);
        let (chosen, reports, took) = grown(&needed[..3], None);
        assert_eq!((chosen, took), (2, 10 + 1_000 + 1_000 + 2_000 + 1_500));
        assert_eq!(searches(&reports), [1, 2, 2]);
        assert_eq!(
            reports.iter().map(|report| report.result).collect::<Vec<_>>(),
            ["ok", "incomplete", "violation"].map(Some)
        );
    }

    #[test]
    fn all_are_decided_or_the_result_is_not_ok() {
        let needed = [(10, Verdict::NeverReached), (5_000, Verdict::Ok), (20, Verdict::Ok)];
        let (chosen, reports, took) = grown(&needed, None);
        // A state that the smallest scope never reaches is reached in the largest one.
        assert_eq!((chosen, took), (2, 10 + 1_000 + 20 + 2_000 + 4_000 + 5_000));
        assert_eq!(searches(&reports), [1, 4, 1]);
        // The chosen result is incomplete as long as some scope is, at any limit of time.
        for time in (1..13_000).step_by(97) {
            let (chosen, reports, took) = grown(&needed, Some(time));
            let is_decided = reports.iter().all(|report| report.result.is_some_and(|result| result != "incomplete"));
            assert_eq!(reports[chosen].result == Some("incomplete"), !is_decided, "{time} ms: {reports:?}");
            assert!(took <= time + 1 + 20, "{time} ms: took {took}");
        }
        let (chosen, reports, _) =
            grown(&[(1, Verdict::Ok), (2, Verdict::Ok), (50, Verdict::Ok), (3, Verdict::Ok)], Some(3));
        assert_eq!((chosen, searches(&reports)), (2, vec![1, 1, 1, 0]));
    }
}
