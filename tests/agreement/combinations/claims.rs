//! The claims of a search, as a table: each row is a claim that is never false, for any options.

use std::collections::{BTreeMap, BTreeSet};

use host_agreement::reference::Words;
use host_model::trace::BreachClass;
use host_search::kernel::{EndCondition, SymmetryUse};
use host_search::strategy::{Promises, find};

use crate::combinations::case::{Case, Truth, is_stateless};
use crate::combinations::run::{Ran, Runs};
use crate::combinations::verdicts::a_verdict_is_that_of_the_reference;

/// A run with the facts about it.
pub struct Facts<'f> {
    pub case: &'f Case,
    pub truth: &'f Truth,
    pub ran: &'f Ran,
    /// Whether memory ran out at some point.
    pub is_starved: bool,
    /// The findings within the bounds, with the shortest length of each.
    pub within: BTreeMap<Words, u32>,
    /// The same without bounds.
    pub all: BTreeMap<Words, u32>,
}

/// Returns the error, if the claim is false.
type Claim = fn(&Facts<'_>) -> Result<(), String>;

/// The claims about each run by itself.
pub const CLAIMS: &[(&str, Claim)] = &[
    ("what is found is there", what_is_found_is_there),
    ("what is found replays", what_is_found_replays),
    ("what is found is found once", what_is_found_is_found_once),
    ("what is found lies within the bounds", what_is_found_lies_within_the_bounds),
    ("no path is shorter than one reported as shortest", no_path_is_shorter_than_one_reported_as_shortest),
    ("as much is found as is wanted", as_much_is_found_as_is_wanted),
    ("as many of a kind are found as are wanted", as_many_of_a_kind_are_found_as_are_wanted),
    ("a goal that is reached is reachable", a_goal_that_is_reached_is_reachable),
    ("a goal that is not reached is not reachable", a_goal_that_is_not_reached_is_not_reachable),
    ("everything was explored", everything_was_explored),
    ("a bound that ended the search was there to be hit", a_bound_was_there_to_be_hit),
    ("a bound that cuts nothing ends nothing", a_bound_that_cuts_nothing_ends_nothing),
    ("system states", system_states_are_those_of_the_reference),
    ("global states and transitions", global_states_are_those_of_the_reference),
    ("executions", executions_are_those_of_the_reference),
    ("walks", walks_are_as_many_as_wanted),
    ("promises", promises_are_decided_as_the_reference_says),
    ("broken promises", broken_promises_are_broken),
    ("the verdict", a_verdict_is_that_of_the_reference),
];

/// Checks all claims about all runs of a case; returns the first false claim with the reason.
pub fn check(case: &Case, truth: &Truth, runs: &Runs) -> Result<(), (String, String)> {
    let named = [("whole", Some(&runs.whole)), ("stopped", runs.stopped.as_ref()), ("resumed", runs.resumed.as_ref())];
    for (which, ran) in named.into_iter().filter_map(|(which, ran)| Some((which, ran?))) {
        let is_starved = which == "stopped" && case.stop.is_starved();
        let facts = Facts { is_starved, ..Facts::new(case, truth, ran) };
        for (name, claim) in CLAIMS {
            claim(&facts).map_err(|what| (format!("{name} ({which} run)"), what))?;
        }
    }
    same(&runs.whole, &runs.other).map_err(|what| ("the same for any number of workers".to_owned(), what))?;
    if let Some(resumed) = &runs.resumed {
        same_answer(&runs.whole, resumed).map_err(|what| ("the same after a stop".to_owned(), what))?;
    }
    Ok(())
}

impl<'f> Facts<'f> {
    /// The facts about a run that never ran out of memory.
    pub fn new(case: &'f Case, truth: &'f Truth, ran: &'f Ran) -> Self {
        let (nodes, deadlock) = (case.system.toy.nodes, case.bounds.deadlock);
        let (within, all) = (truth.within.findings(nodes, deadlock), truth.all.findings(nodes, deadlock));
        Self { case, truth, ran, is_starved: false, within, all }
    }
}

impl Facts<'_> {
    fn end(&self) -> EndCondition {
        self.ran.report.end
    }

    /// The strategy that has the answer, and whether it reduced the state space.
    fn decider(&self) -> (&'static str, bool) {
        let report = &self.ran.report;
        let decided = report.decided_by.map(|decider| decider.strategy);
        (decided.unwrap_or(self.case.strategy.name), report.is_reduced(self.case.bounds.reduce))
    }

    fn found(&self) -> BTreeSet<&Words> {
        self.ran.findings.iter().map(|found| &found.words).collect()
    }

    fn wanted(&self) -> u64 {
        self.case.bounds.violations.unwrap_or(1)
    }

    /// The number of findings, as [`wanted`](Self::wanted) counts them: kinds of findings if variants are bounded.
    fn count<'w>(&self, findings: impl Iterator<Item = &'w Words>) -> u64 {
        match self.case.bounds.variants {
            None => findings.count() as u64,
            Some(_) => kinds(findings).len() as u64,
        }
    }

    /// Whether the strategy promises to miss nothing within the bounds, and nothing else ended the search. A portfolio makes the promise of
    /// the member that has the answer.
    fn is_exact(&self) -> bool {
        let is_over = matches!(
            self.end(),
            EndCondition::SpaceExhausted | EndCondition::LocalEventBound | EndCondition::Violation
        );
        // Without a bound, a limit of their own cuts executions.
        let is_cut = self.end() == EndCondition::DepthBound && self.case.bounds.depth.is_some();
        let is_complete = find(self.decider().0).is_some_and(|decider| decider.is_complete);
        self.case.strategy.is_complete && is_complete && (is_over || is_cut)
    }

    /// Whether promises are left open because the only member of a portfolio that decides them has reached the bound on states, or ran
    /// out of memory, and another member has the better answer.
    fn is_outdone(&self) -> bool {
        let (case, report) = (self.case, &self.ran.report);
        let is_ended = case.bounds.states.is_some() || self.is_starved;
        case.strategy.name == "auto" && is_ended && report.promises.is_empty()
    }

    /// Whether the bounds count from the ends of walks instead of the start states.
    fn begins_far_away(&self) -> bool {
        self.case.strategy.name == "prefix"
    }

    /// Whether findings also stand for those of renamed states.
    fn is_up_to_renaming(&self) -> bool {
        matches!(self.ran.report.symmetry, Some(SymmetryUse::Renamings(2..)))
    }
}

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

fn what_is_found_is_there(facts: &Facts<'_>) -> Result<(), String> {
    facts.ran.findings.iter().try_for_each(|found| {
        let least = facts.all.get(&found.words);
        ensure(least.is_some_and(|least| found.length >= *least), || format!("{found:?}; there is {:?}", facts.all))
    })
}

fn what_is_found_replays(facts: &Facts<'_>) -> Result<(), String> {
    facts.ran.findings.iter().try_for_each(|found| ensure(found.replayed.is_ok(), || format!("{found:?}")))
}

fn what_is_found_is_found_once(facts: &Facts<'_>) -> Result<(), String> {
    ensure(facts.found().len() == facts.ran.findings.len(), || format!("{:?}", facts.ran.findings))
}

fn what_is_found_lies_within_the_bounds(facts: &Facts<'_>) -> Result<(), String> {
    if facts.begins_far_away() {
        return Ok(());
    }
    let depth = facts.case.bounds.depth.unwrap_or(u32::MAX);
    facts.ran.findings.iter().try_for_each(|found| {
        let is_within = found.length <= depth && facts.within.contains_key(&found.words);
        ensure(is_within, || format!("{found:?}; within the bounds there is {:?}", facts.within))
    })
}

/// Of several findings, each is the shortest of its kind; a single one is the shortest of all. A shorter one may exist with more local
/// events than the bound allows, as the report says.
fn no_path_is_shorter_than_one_reported_as_shortest(facts: &Facts<'_>) -> Result<(), String> {
    facts.ran.findings.iter().filter(|found| found.is_shortest).try_for_each(|found| {
        let least = match facts.wanted() {
            1 if facts.case.bounds.variants.is_none() => facts.within.values().min(),
            _ => facts.within.get(&found.words),
        };
        ensure(least == Some(&found.length), || format!("{found:?}; there is {:?}", facts.within))
    })
}

fn as_much_is_found_as_is_wanted(facts: &Facts<'_>) -> Result<(), String> {
    let (found, there) = (facts.count(facts.found().into_iter()), facts.count(facts.within.keys()));
    let what = || format!("{:?}, end {:?}; there is {:?}", facts.found(), facts.end(), facts.within);
    ensure((facts.end() == EndCondition::Violation) == (found >= facts.wanted()) || !facts.is_exact(), what)?;
    if !facts.is_exact() {
        return Ok(());
    }
    match facts.is_up_to_renaming() {
        true => ensure((found > 0) == (there > 0), what),
        false => ensure(found >= facts.wanted().min(there), what),
    }
}

/// A search finds all variants of each wanted kind, up to the bound on variants, and none of the other kinds.
fn as_many_of_a_kind_are_found_as_are_wanted(facts: &Facts<'_>) -> Result<(), String> {
    let Some(variants) = facts.case.bounds.variants else { return Ok(()) };
    let (found, there) = (kinds(facts.found().into_iter()), kinds(facts.within.keys()));
    let what = || format!("{found:?}, end {:?}; there is {there:?}", facts.end());
    ensure(found.values().all(|count| *count <= variants), what)?;
    let is_over = facts.is_exact() && facts.end() != EndCondition::Violation && !facts.is_up_to_renaming();
    let wanted = there.iter().map(|(kind, count)| (kind.clone(), (*count).min(variants)));
    ensure(!is_over || found == wanted.collect(), what)
}

/// The findings by kind: their words with one sign for each number of any length. A number right behind a letter is part of the
/// name of a property.
fn kinds<'w>(findings: impl Iterator<Item = &'w Words>) -> BTreeMap<String, u64> {
    let mut kinds = BTreeMap::new();
    for (_, words) in findings {
        let (mut kind, mut before) = (String::new(), ' ');
        for letter in words.chars() {
            let is_value = letter.is_ascii_digit() && !before.is_alphabetic();
            kind.push(if is_value { '\u{2116}' } else { letter });
            before = if is_value { '\u{2116}' } else { letter };
        }
        // A number of several digits becomes one sign.
        while kind.contains("\u{2116}\u{2116}") {
            kind = kind.replace("\u{2116}\u{2116}", "\u{2116}");
        }
        *kinds.entry(kind).or_default() += 1;
    }
    kinds
}

fn a_goal_that_is_reached_is_reachable(facts: &Facts<'_>) -> Result<(), String> {
    let reachable = if facts.begins_far_away() { &facts.truth.all.witnessed } else { &facts.truth.within.witnessed };
    goals(facts).iter().try_for_each(|goal| ensure(reachable.contains(goal), || format!("{goal} of {reachable:?}")))
}

fn a_goal_that_is_not_reached_is_not_reachable(facts: &Facts<'_>) -> Result<(), String> {
    let is_over = facts.is_exact() && facts.end() != EndCondition::Violation;
    let (reached, reachable) = (goals(facts), &facts.truth.within.witnessed);
    ensure(!is_over || reached == *reachable, || format!("{reached:?} of {reachable:?}, end {:?}", facts.end()))
}

/// The properties of kind `sometimes` that the search has reached.
fn goals(facts: &Facts<'_>) -> BTreeSet<u32> {
    let witnessed = (0..).zip(&facts.ran.report.witnessed);
    witnessed.filter(|(_, reached)| **reached == Some(true)).map(|(index, _)| index).collect()
}

/// An exploration that is called complete has left nothing out, for any strategy and any bounds.
fn everything_was_explored(facts: &Facts<'_>) -> Result<(), String> {
    if facts.end() != EndCondition::SpaceExhausted {
        return Ok(());
    }
    let (found, there): (BTreeSet<&Words>, BTreeSet<&Words>) = (facts.found(), facts.all.keys().collect());
    let is_same = match facts.is_up_to_renaming() {
        true => found.is_empty() == there.is_empty(),
        // The number of each kind is a separate claim.
        false if facts.case.bounds.variants.is_some() => {
            kinds(found.iter().copied()).keys().eq(kinds(there.iter().copied()).keys())
        }
        false => found == there,
    };
    ensure(is_same, || format!("{found:?} of {there:?}"))?;
    let (reached, reachable) = (goals(facts), &facts.truth.all.witnessed);
    ensure(reached == *reachable, || format!("the goals {reached:?} of {reachable:?}"))
}

fn a_bound_was_there_to_be_hit(facts: &Facts<'_>) -> Result<(), String> {
    let bounds = &facts.case.bounds;
    let counts = &facts.ran.report.counts;
    let is_right = match facts.end() {
        EndCondition::DepthBound => bounds.depth.is_some() || is_stateless(facts.case.strategy),
        EndCondition::LocalEventBound => bounds.local_events.is_some(),
        EndCondition::StateBound => bounds.states.is_some_and(|max| {
            let counted = match facts.case.strategy.name {
                "lmc-gen" => counts.system_states,
                "unfold" => counts.events,
                // The bound ends each of several members.
                "auto" => counts.global_states.or(counts.events),
                name if name.starts_with("dpor") => counts.executions,
                _ => counts.global_states,
            };
            counted.is_some_and(|counted| counted >= max)
        }),
        EndCondition::Pruned => !facts.case.strategy.is_complete,
        EndCondition::WalksDone => matches!(facts.case.strategy.name, "walk" | "guided" | "prefix"),
        EndCondition::SpaceExhausted => !matches!(facts.case.strategy.name, "walk" | "guided" | "prefix"),
        EndCondition::Violation => !facts.ran.findings.is_empty() || !facts.ran.breaches.is_empty(),
        EndCondition::TimeBound | EndCondition::MemoryBound | EndCondition::Interrupted => true,
    };
    ensure(is_right, || format!("{:?} under {bounds:?} with {counts:?}", facts.end()))
}

/// In a search that knows all global states, a bound ends the search exactly if it leaves something out.
fn a_bound_that_cuts_nothing_ends_nothing(facts: &Facts<'_>) -> Result<(), String> {
    if facts.decider() != ("bdfs", false) {
        return Ok(());
    }
    let within = &facts.truth.within;
    match facts.end() {
        EndCondition::LocalEventBound => ensure(within.is_local_cut, || "no local event is left out".to_owned()),
        EndCondition::DepthBound => {
            ensure(within.is_depth_cut, || "no event lies beyond the bound on depth".to_owned())
        }
        EndCondition::SpaceExhausted => ensure(!within.is_cut, || "something is left out".to_owned()),
        _ => Ok(()),
    }
}

fn system_states_are_those_of_the_reference(facts: &Facts<'_>) -> Result<(), String> {
    let (counted, is_over) = (facts.ran.report.counts.system_states, facts.end() != EndCondition::Violation);
    let reachable = &facts.truth.within.system_states;
    if let Some(states) = &facts.ran.system_states {
        let strange: Vec<_> = states.difference(reachable).collect();
        ensure(strange.is_empty(), || format!("{strange:?} is not reachable"))?;
        let missing: Vec<_> = reachable.difference(states).collect();
        ensure(!(facts.is_exact() && is_over) || missing.is_empty(), || format!("{missing:?} is missing"))?;
    }
    // Local model checking counts the local states that it builds.
    let is_count = !facts.decider().0.starts_with("lmc") && !is_stateless(facts.case.strategy);
    if is_count && facts.is_exact() && is_over {
        let expected = reachable.len() as u64;
        ensure(counted.is_none_or(|counted| counted == expected), || format!("{counted:?} of {expected}"))?;
        let is_there = counted.is_some() || !facts.case.bounds.count_system_states;
        ensure(is_there, || "they are not counted".to_owned())?;
    }
    Ok(())
}

fn global_states_are_those_of_the_reference(facts: &Facts<'_>) -> Result<(), String> {
    let counts = &facts.ran.report.counts;
    let is_global = matches!(facts.decider(), ("bdfs" | "consequence", false));
    let is_over = match facts.case.strategy.is_complete {
        true => facts.is_exact() && facts.end() != EndCondition::Violation,
        false => facts.end() == EndCondition::SpaceExhausted,
    };
    if !is_global || !is_over {
        return Ok(());
    }
    let expected = &facts.truth.within;
    let what = || {
        let Some((states, edges)) = counts.global_states.zip(counts.transitions) else { return "none".to_owned() };
        format!("{states} and {edges}, not {} and {}", expected.global_states, expected.transitions)
    };
    let is_same =
        counts.global_states == Some(expected.global_states) && counts.transitions == Some(expected.transitions);
    ensure(is_same, what)
}

/// Each happens-before once; repeated executions are counted apart.
fn executions_are_those_of_the_reference(facts: &Facts<'_>) -> Result<(), String> {
    let counts = &facts.ran.report.counts;
    let is_over = matches!(facts.end(), EndCondition::SpaceExhausted | EndCondition::LocalEventBound);
    // Events after a trap at another node are not part of an execution.
    if !is_over || facts.case.bounds.depth.is_some() || !facts.truth.all.traps.is_empty() {
        return Ok(());
    }
    let (Some(expected), Some(executions)) = (facts.truth.executions, counts.executions) else { return Ok(()) };
    let redundant = counts.redundant.unwrap_or(0);
    let is_right = executions - redundant == expected && (facts.case.strategy.name != "dpor" || redundant == 0);
    ensure(is_right, || format!("{executions}, {redundant} of them redundant, not {expected}"))
}

fn walks_are_as_many_as_wanted(facts: &Facts<'_>) -> Result<(), String> {
    let (walks, bounds) = (facts.ran.report.counts.walks, &facts.case.bounds);
    let is_done = facts.end() == EndCondition::WalksDone;
    ensure(!is_done || walks == bounds.walks.or(Some(host_search::strategy::random_walk::WALKS_DEFAULT)), || {
        format!("{walks:?}")
    })
}

/// If promises are decided and the search ended, all outcomes are those of the reference; otherwise no claim exceeds
/// the truth.
fn promises_are_decided_as_the_reference_says(facts: &Facts<'_>) -> Result<(), String> {
    let report = &facts.ran.report;
    let Some(expected) = &facts.truth.promises else {
        let is_open = report.promises.iter().all(|it| it.decided.is_none());
        return ensure(is_open, || "the search decides none".to_owned());
    };
    let is_over = facts.is_exact() && facts.end() != EndCondition::Violation;
    let is_decided = report.promises.len() == expected.len() && report.promises.iter().all(|it| it.decided.is_some());
    let is_reported = is_decided || facts.is_outdone() || report.promises_end.is_some();
    ensure(!is_over || is_reported, || format!("{:?} are open", report.promises))?;
    let decided = report.promises.iter().zip(expected).filter_map(|(it, outcome)| Some((it.decided?, outcome)));
    decided.into_iter().try_for_each(|(decided, (outcome, is_whole))| {
        let states = (decided.live_states, decided.dead_states, decided.unknown_states);
        let others = (decided.critical_edges, decided.stuck_states);
        let class = outcome.ways().first().map(|(class, _)| *class);
        let found = decided.class.filter(|class| *is_whole || *class != BreachClass::Lasso);
        let is_fair = !is_whole || decided.fair_components == outcome.fair.len() as u64;
        let is_right = match is_over {
            true => {
                is_fair && (states, others, found) == (outcome.states, (outcome.critical_edges, outcome.stuck), class)
            }
            false => {
                states.0 <= outcome.states.0 && states.1 <= outcome.states.1 && decided.stuck_states <= outcome.stuck
            }
        };
        ensure(is_right, || format!("{decided:?} of {outcome:?}"))
    })
}

fn broken_promises_are_broken(facts: &Facts<'_>) -> Result<(), String> {
    let (breaches, report) = (&facts.ran.breaches, &facts.ran.report);
    let Some(expected) = &facts.truth.promises else {
        // Walks, and a search after them, show some broken promises; `liveness` compares these.
        let shows = facts.case.strategy.promises != Promises::Unchecked;
        return ensure(shows || breaches.is_empty(), || "the search decides none".to_owned());
    };
    let is_over = facts.is_exact() && facts.end() != EndCondition::Violation && report.promises_end.is_none();
    for breach in breaches {
        let promise = breach.promise.and_then(|promise| expected.get(promise));
        let (outcome, is_whole) = promise.ok_or_else(|| format!("{breach:?} is about no promise"))?;
        let ways = outcome.ways();
        let least = ways.iter().find(|(class, _)| *class == breach.class).map(|(_, length)| *length as u32);
        let is_unknown = breach.class == BreachClass::Lasso && !is_whole;
        // If the search ended early, the promise may be broken in another way as well, and nearer.
        let is_there = is_unknown || if is_over { least == Some(breach.length) } else { !ways.is_empty() || !is_whole };
        let is_shortest = !breach.is_shortest || least == Some(breach.length);
        ensure(is_there && is_shortest && breach.replayed.is_ok(), || format!("{breach:?}; there is {ways:?}"))?;
    }
    if !is_over || facts.is_outdone() || !expected.iter().all(|(_, is_whole)| *is_whole) {
        return Ok(());
    }
    let wanted = facts.wanted().saturating_sub(facts.count(facts.found().into_iter())) as usize;
    let Some(variants) = facts.case.bounds.variants else {
        let all: usize = expected.iter().map(|(outcome, _)| outcome.ways().len()).sum();
        return ensure(breaches.len() == all.min(wanted), || format!("{} of {all}, {wanted} wanted", breaches.len()));
    };
    // The nodes of a promise have the same words, except for numbers.
    let kind = |promise: usize, class| (report.promises[promise].promise.property, class);
    let (mut all, mut found) = (BTreeMap::<_, u64>::new(), BTreeMap::<_, u64>::new());
    for (promise, (outcome, _)) in expected.iter().enumerate() {
        outcome.ways().iter().for_each(|(class, _)| *all.entry(kind(promise, *class)).or_default() += 1);
    }
    for breach in breaches {
        *found.entry(kind(breach.promise.expect("it was looked at above"), breach.class)).or_default() += 1;
    }
    let is_right = found.len() == all.len().min(wanted)
        && found.iter().all(|(kind, count)| all.get(kind).is_some_and(|there| *count == variants.min(*there)));
    ensure(is_right, || format!("{found:?} of {all:?}, {wanted} kinds wanted"))
}

/// Everything but times.
fn same(one: &Ran, other: &Ran) -> Result<(), String> {
    same_answer(one, other)?;
    let (a, b) = (&one.report, &other.report);
    ensure((a.counts, a.depth) == (b.counts, b.depth), || {
        format!("{:?} in depth {}, and {:?} in depth {}", a.counts, a.depth, b.counts, b.depth)
    })?;
    ensure(a.violations == b.violations && a.system_states == b.system_states, || "other paths or states".to_owned())
}

/// The verdict and its reasons.
fn same_answer(one: &Ran, other: &Ran) -> Result<(), String> {
    let (a, b) = (&one.report, &other.report);
    ensure(a.end == b.end, || format!("{:?} and {:?}", a.end, b.end))?;
    ensure(a.witnessed == b.witnessed || a.end == EndCondition::Violation, || {
        format!("{:?} and {:?}", a.witnessed, b.witnessed)
    })?;
    let is_counted = a.end != EndCondition::Violation && a.end != EndCondition::StateBound;
    let counts = |ran: &Ran| (ran.report.counts.global_states, ran.report.counts.transitions);
    ensure(!is_counted || counts(one) == counts(other), || format!("{:?} and {:?}", counts(one), counts(other)))?;
    let lengths = |ran: &Ran| ran.findings.iter().map(|found| (found.length, found.is_shortest)).collect::<Vec<_>>();
    ensure(lengths(one) == lengths(other), || format!("{:?} and {:?}", lengths(one), lengths(other)))
}
