//! The properties of a plugin and their results.

use host_inspect::words;
use host_model::contract::{NodeId, PropertyKind};
use host_model::trace::BreachClass;
use host_search::kernel::{Decided, EndCondition, PromiseReport, Sampled};
use host_search::verdict::{Status, Statuses};
use serde::{Serialize, Serializer};

use crate::base::text::count;
use crate::cluster::judged::not_judged;
use crate::report::run::FinishedRun;
use crate::search::promises;

/// A property and its result.
#[derive(Debug, Serialize)]
pub struct PropertyReport {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: PropertyKind,
    /// Its scope.
    pub scope: String,
    /// Its status: one of those that a scenario can expect.
    #[serde(serialize_with = "by_name")]
    pub status: Status,
    /// The expression of a property from outside; none for a property of the plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
    /// The specification from outside that states it; none for any other property.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
    /// The file with the trace of a witness, for a `sometimes` property that is reached; none if none was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness: Option<String>,
    /// The option that leaves it out, in a phrase; none without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_checked: Option<String>,
    /// The reason why it is open whether an `eventually` property holds; none for any other property, and if it is decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
    /// `never-kept` if an `eventually` property holds in no state at all, `never-owed` if it holds in all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vacuous: Option<&'static str>,
    /// The decision about an `eventually` property, at each node if it is of node scope.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub promises: Vec<PromiseCounts>,
    /// The observations of random walks about an `eventually` property, at each node if it is of node scope.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sampled: Vec<PromiseWalks>,
    /// The states that were met so far, where it is open whether an `eventually` property holds, at each node if it is of node scope.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub so_far: Vec<PromiseStates>,
}

/// The states that a search has met before it was ended, for a promise of progress.
#[derive(Debug, Serialize)]
pub struct PromiseStates {
    /// The node that it is about; null for a property of system scope.
    pub node: Option<NodeId>,
    /// The number of states.
    pub states: u64,
    /// The number of states in which it is kept.
    pub kept_states: u64,
}

/// The decision about a promise of progress.
#[derive(Debug, Serialize)]
pub struct PromiseCounts {
    /// The node that it is about; null for a property of system scope.
    pub node: Option<NodeId>,
    /// The most certain way in which it is broken; null if it is not.
    pub class: Option<BreachClass>,
    /// States in which it is kept.
    pub kept_states: u64,
    /// States from which it can be kept.
    pub live_states: u64,
    /// States from which it cannot be kept.
    pub dead_states: u64,
    /// States for which neither is known.
    pub unknown_states: u64,
    /// States in which it is not kept, and nothing has to happen.
    pub stuck_states: u64,
    /// Steps from a live state to a dead one.
    pub critical_edges: u64,
    /// The same, with those of one event and the same local states before and after counted once.
    pub critical_kinds: u64,
    /// Parts of the graph in which an execution can stay for ever, never keep it, and be fair.
    pub fair_components: u64,
}

/// The observations of random walks about a promise of progress.
#[derive(Debug, Serialize)]
pub struct PromiseWalks {
    /// The node that it is about; null for a property of system scope.
    pub node: Option<NodeId>,
    /// Walks that have ended, other than by a violation.
    pub walks: u64,
    /// Of these, walks at whose end it is not kept.
    pub owing: u64,
    /// Of these, walks from whose end a way to a state that keeps it was found.
    pub alive: u64,
    /// Walks from whose end there is provably no such way.
    pub dead: u64,
    /// Walks from whose end none was found, although there may be one.
    pub open: u64,
    /// Walks that were not examined.
    pub unexamined: u64,
    /// The number of unsuccessful trials from the end of each open walk.
    pub trials: u64,
    /// The confidence that a walk from any open end leads to a state that keeps it no more often than `probability_max`; null if none is
    /// open.
    pub confidence: Option<f64>,
    /// The probability.
    pub probability_max: Option<f64>,
}

/// The confidence in the conclusion from unsuccessful walks about all ends together.
const CONFIDENCE: f64 = 0.95;

impl PromiseWalks {
    fn new(report: &PromiseReport, sampled: Sampled) -> Self {
        // Without `..`, so that a new count cannot be forgotten here.
        let Sampled { walks, owing, alive, dead, open, unexamined, trials } = sampled;
        // If a walk leads there with probability p, this number of walks misses it with probability (1 - p)^trials. That holds for each
        // examined end; the sum over all of them bounds the probability that one or more of them mislead.
        let examined = (alive + dead + open) as f64;
        let missed = |trials: u64| ((1.0 - CONFIDENCE) / examined).powf(1.0 / trials as f64);
        let probability_max = (open > 0).then(|| 1.0 - missed(trials));
        let confidence = probability_max.map(|_| CONFIDENCE);
        Self {
            node: report.promise.node,
            walks,
            owing,
            alive,
            dead,
            open,
            unexamined,
            trials,
            confidence,
            probability_max,
        }
    }
}

impl PromiseCounts {
    fn new(report: &PromiseReport, decided: Decided) -> Self {
        // Without `..`, so that a new count cannot be forgotten here.
        let Decided {
            class,
            kept_states,
            live_states,
            dead_states,
            unknown_states,
            stuck_states,
            critical_edges,
            critical_kinds,
            fair_components,
        } = decided;
        Self {
            node: report.promise.node,
            class,
            kept_states,
            live_states,
            dead_states,
            unknown_states,
            stuck_states,
            critical_edges,
            critical_kinds,
            fair_components,
        }
    }

    fn states(&self) -> u64 {
        self.live_states + self.dead_states + self.unknown_states
    }
}

fn by_name<S: Serializer>(status: &Status, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(status.name())
}

/// The properties of a run, in their order, with the statuses of those that are judged. `undecided` is the reason why the search as a
/// whole is not.
pub fn properties(run: &FinishedRun<'_>, statuses: &Statuses, undecided: Option<&'static str>) -> Vec<PropertyReport> {
    let properties = (0..).zip(&run.cluster.properties).map(|(index, property)| {
        let place = run.cluster.place_of(index);
        let status = place.map_or(Status::NotChecked, |place| statuses.properties[place as usize]);
        let report = PropertyReport {
            name: property.name.clone(),
            kind: property.kind,
            scope: words::name(property.scope),
            status,
            expression: run
                .cluster
                .expressed
                .iter()
                .find(|it| it.name == property.name)
                .map(|it| it.expression.clone()),
            spec: run.cluster.spec_of(&property.name).map(|spec| spec.reference.name.clone()),
            witness: run.witnesses.get(&property.name).cloned(),
            not_checked: None,
            undecided: None,
            vacuous: None,
            promises: Vec::new(),
            sampled: Vec::new(),
            so_far: Vec::new(),
        };
        match (place, property.kind) {
            (None, _) => {
                let why = not_judged(&run.spec.cluster, &property.name).to_owned();
                PropertyReport { not_checked: Some(why), ..report }
            }
            (Some(_), PropertyKind::Eventually) if status == Status::NotChecked => {
                let why = promises::excluded(run.spec).expect("nothing else leaves it out").to_owned();
                PropertyReport { not_checked: Some(why), ..report }
            }
            (Some(place), PropertyKind::Eventually) => promised(run, place, undecided, report),
            _ => report,
        }
    });
    properties.collect()
}

/// The decision about an `eventually` property.
fn promised(
    run: &FinishedRun<'_>,
    index: u32,
    undecided: Option<&'static str>,
    report: PropertyReport,
) -> PropertyReport {
    let found = &run.outcome.report;
    let of_it = found.promises.iter().filter(|other| other.promise.property == index);
    let sampled: Vec<PromiseWalks> = of_it.clone().filter_map(|it| Some(PromiseWalks::new(it, it.sampled?))).collect();
    let promises: Vec<PromiseCounts> = of_it.filter_map(|it| Some(PromiseCounts::new(it, it.decided?))).collect();
    let undecided = (report.status == Status::Unknown).then(|| why_open(run, undecided, &sampled));
    let is_never_kept = promises
        .iter()
        .any(|it| it.class.is_some() && it.kept_states == 0 && found.end == EndCondition::SpaceExhausted);
    let is_never_owed = !promises.is_empty() && promises.iter().all(|it| it.kept_states == it.states());
    let vacuous = match (is_never_kept, is_never_owed && report.status == Status::Holds) {
        (true, _) => Some("never-kept"),
        (false, true) => Some("never-owed"),
        (false, false) => None,
    };
    let of_it = found.promises.iter().filter(|other| other.promise.property == index && undecided.is_some());
    let so_far = of_it.filter_map(|it| Some((it.promise.node, it.met?)));
    let so_far = so_far.map(|(node, met)| PromiseStates { node, states: met.states, kept_states: met.kept }).collect();
    PropertyReport { undecided, vacuous, promises, sampled, so_far, ..report }
}

/// The reason why an `eventually` property is not decided; a phrase.
fn why_open(run: &FinishedRun<'_>, undecided: Option<&'static str>, sampled: &[PromiseWalks]) -> String {
    if let Some(why) = promises::left_out(run.spec, run.cluster, run.lts) {
        return why;
    }
    let report = &run.outcome.report;
    let may_be_dead = sampled.iter().any(|it| it.open > 0);
    let open = may_be_dead.then_some("some walks may have led to where it cannot be kept");
    let open = open.or(undecided).or_else(|| report.promises_end.map(ended_by)).map(str::to_owned);
    open.or_else(|| overtaken(run)).unwrap_or_else(|| "the search ended before it was decided".to_owned())
}

/// The bound or event that ended the decision of `eventually` properties; a phrase.
fn ended_by(end: EndCondition) -> &'static str {
    match end {
        EndCondition::TimeBound => "--time ended the decision",
        EndCondition::MemoryBound => "the decision takes more memory (see --memory)",
        _ => "the decision was interrupted",
    }
}

/// The reason why the portfolio member with the answer does not report more; a phrase. None if it does.
fn overtaken(run: &FinishedRun<'_>) -> Option<String> {
    let report = &run.outcome.report;
    let is_decided = report.promises.iter().any(|promise| promise.decided.is_some());
    let decider = report.decided_by.filter(|_| !is_decided)?;
    Some(match run.spec.search.states {
        Some(_) => format!("--states ended bdfs, which decides it, and {decider} had the answer to all else"),
        None => {
            format!("bdfs, which decides it, was not done when {decider} had the answer to all else; use --algo bdfs")
        }
    })
}

/// The number and the names of the properties that are meant.
pub fn named(properties: &[PropertyReport], is_meant: &dyn Fn(&PropertyReport) -> bool) -> (usize, String) {
    let names: Vec<&str> = properties.iter().filter(|it| is_meant(it)).map(|it| it.name.as_str()).collect();
    (names.len(), words::on_one_line(&names.join(", ")))
}

/// Notes that the verdict needs: a promise that is never owed or never kept is hardly the intended one, and properties that the user
/// left out are not decided.
pub fn notes(properties: &[PropertyReport]) -> String {
    let named = |is_meant: &dyn Fn(&PropertyReport) -> bool| named(properties, is_meant);
    let mut notes = String::new();
    match named(&|it| it.vacuous == Some("never-kept")) {
        (0, _) => {}
        (_, names) => notes += &format!("; there is no state at all in which this holds: {names}"),
    }
    match named(&|it| it.vacuous == Some("never-owed")) {
        (0, _) => {}
        (_, names) => notes += &format!("; in every state this holds anyway: {names}"),
    }
    match named(&|it| it.status == Status::NotChecked) {
        (0, _) => {}
        (_, names) => notes += &format!("; not checked: {names}"),
    }
    notes + &unexamined(properties)
}

/// The ends of walks that may be violations, and that there was no time or memory to examine; empty if there are none.
fn unexamined(properties: &[PropertyReport]) -> String {
    let open = properties.iter().filter(|it| it.status == Status::Unknown);
    let ends = open.map(|it| (it, it.sampled.iter().map(|walks| walks.unexamined).sum::<u64>()));
    let notes = ends.filter(|(_, ends)| *ends > 0).map(|(property, ends)| {
        let (name, walks) = (words::on_one_line(&property.name), count(ends, "walk"));
        format!("; at the end of {walks} {name} is owed, and whether it can still be kept was not examined")
    });
    notes.collect()
}

#[cfg(test)]
mod tests {
    use host_model::lts::Promise;

    use super::*;

    #[test]
    fn what_was_not_examined_is_in_the_last_line_while_it_is_open() {
        let report = |status, unexamined: u64| {
            let promise = Promise { property: 0, node: None };
            let promise = PromiseReport { promise, decided: None, sampled: None, met: None };
            let sampled = Sampled { walks: 9, owing: 5, alive: 5 - unexamined, unexamined, ..Sampled::default() };
            PropertyReport {
                name: "served".to_owned(),
                kind: PropertyKind::Eventually,
                scope: "system".to_owned(),
                status,
                expression: None,
                spec: None,
                witness: None,
                not_checked: None,
                undecided: None,
                vacuous: None,
                promises: Vec::new(),
                sampled: vec![PromiseWalks::new(&promise, sampled)],
                so_far: Vec::new(),
            }
        };
        let said = "; at the end of 2 walks served is owed, and whether it can still be kept was not examined";
        assert_eq!(notes(&[report(Status::Unknown, 2)]), said);
        assert_eq!([notes(&[report(Status::Unknown, 0)]), notes(&[report(Status::Violated, 2)])], ["", ""]);
    }

    /// The bound for this number of open ends, and this number with a way out.
    fn bound(open: u64, alive: u64) -> f64 {
        let sampled = Sampled { walks: 100, owing: open + alive, open, alive, trials: 40, ..Sampled::default() };
        let promise = Promise { property: 0, node: None };
        let report = PromiseReport { promise, decided: None, sampled: Some(sampled), met: None };
        let walks = PromiseWalks::new(&report, sampled);
        assert_eq!(walks.confidence, Some(0.95));
        walks.probability_max.expect("some are open")
    }

    /// With the stated probability, walks from each of m ends miss it with (1 - p)^40, and the m probabilities together are 5 %.
    #[test]
    fn a_confidence_is_one_for_all_ends_together() {
        assert!((bound(1, 0) - 0.072_157).abs() < 1e-6, "{}", bound(1, 0));
        for (open, alive) in [(1, 0), (1, 9), (5, 5), (100, 900)] {
            let ends = (open + alive) as f64;
            assert!((ends * (1.0 - bound(open, alive)).powi(40) - 0.05).abs() < 1e-9, "{open} of {ends}");
        }
        assert!(bound(10, 0) > bound(1, 0));
    }
}
