//! Promises of progress: dead states, critical steps, stuck states and fair lassos against the reference.
//!
//! | module | what it holds |
//! |---|---|
//! | `checks` | from the search to an execution that breaks a promise: replayed, stopped, refused |
//! | `graphs` | small graphs as the reference and as the analysis have them |
//! | `searches` | the reports of `bdfs` about promises, under bounds, after prefixes, for any number of workers |
//! | `toys` | toys whose graphs are recorded while they are explored |
//! | `counted` | systems whose promises are counted by hand |
//! | `minimising` | traces of broken promises made short |
//! | `outlooks` | the possible outcomes of each state of a graph, computed without the graph |
//! | `walks` | the reports of random walks about promises |
//! | `prefixes` | the reports of a search after walks about promises |
//! | `scale` | the time and memory of the analysis of a large graph |
//! | `workers` | graphs of many states, judged by any number of workers |

mod checks;
mod counted;
mod graphs;
mod minimising;
mod outlooks;
mod prefixes;
mod scale;
pub(crate) mod searches;
mod toys;
mod walks;
mod workers;

use std::collections::BTreeSet;

use host_agreement::effort::{enough, systems, telling};
use host_agreement::reference::promises::{self, Outcome, State};
use host_model::toys::Dice;
use host_search::kernel::rules::{Fairness, Recovery, Rules, Timers};
use host_search::liveness::{Edge, Verdict};

use self::graphs::Built;

/// All rules.
fn all_rules() -> Vec<Rules> {
    let mut all = Vec::new();
    for fairness in [Fairness::Stable, Fairness::FairLossy, Fairness::None] {
        for timers in [Timers::Free, Timers::Late] {
            for recovery in [Recovery::Events, Recovery::Resets] {
                all.push(Rules { fairness, timers, recovery });
            }
        }
    }
    all
}

/// The difference between a verdict and the reference, if any.
fn difference(verdict: &Verdict, expected: &Outcome) -> Option<String> {
    let states = (verdict.live_states, verdict.dead_states, verdict.unknown_states);
    let death = verdict.death.as_ref();
    let sibling = death.and_then(|death| Some((death.critical?.first.from, death.sibling.len())));
    let found = (
        states,
        verdict.critical_edges(),
        death.map(|death| death.path.len()),
        (verdict.stuck.states, verdict.stop.as_ref().map(Vec::len)),
        (verdict.fair_components, verdict.lasso.as_ref().map(|lasso| lasso.prefix.len())),
    );
    let wanted = (
        expected.states,
        expected.critical_edges,
        expected.death,
        (expected.stuck, expected.stop),
        (expected.fair.len() as u64, expected.lasso),
    );
    if found != wanted {
        return Some(format!("{found:?} is not {wanted:?}"));
    }
    None.or_else(|| {
        let (from, length) = sibling?;
        let nearest = expected.distances.get(from as usize)?;
        (*nearest != Some(length)).then(|| format!("the sibling of {length} from {from} is not {nearest:?}"))
    })
}

/// The error in the paths of a verdict on a graph, if any: each must be a path, and the cycle fair by the definition and not all dead.
fn wrong_path(
    built: &Built,
    states: &[State],
    (promise, expected): (usize, &Outcome),
    rules: Rules,
    verdict: &Verdict,
) -> Option<String> {
    let is_path = |path: &[Edge], from_start: bool| {
        let is_edge = |edge: &Edge| {
            let (from, edge) = built.edge(edge);
            states[from].edges.contains(&edge)
        };
        let begins = path.first().is_none_or(|edge| !from_start || states[edge.from as usize].is_start);
        begins && path.iter().all(is_edge) && path.windows(2).all(|two| two[0].to == two[1].from)
    };
    let prefixes = [verdict.death.as_ref().map(|death| &death.path), verdict.stop.as_ref()];
    let lasso_prefix = verdict.lasso.as_ref().map(|lasso| &lasso.prefix);
    for path in prefixes.into_iter().flatten().chain(lasso_prefix) {
        if !is_path(path, true) {
            return Some(format!("{path:?} is no path"));
        }
    }
    if let Some(death) = &verdict.death
        && !is_path(&death.sibling, false)
    {
        return Some(format!("{:?} is no path", death.sibling));
    }
    let cycle = &verdict.lasso.as_ref()?.cycle;
    let prefix = lasso_prefix?;
    let joins = prefix.last().map_or(states[cycle[0].from as usize].is_start, |last| last.to == cycle[0].from);
    if !is_path(cycle, false) || cycle[0].from != cycle[cycle.len() - 1].to || !joins {
        return Some(format!("{cycle:?} is no cycle"));
    }
    let taken: Vec<_> = cycle.iter().map(|edge| built.edge(edge)).collect();
    let set: BTreeSet<usize> = taken.iter().map(|(from, _)| *from).collect();
    let taken: Vec<_> = taken.iter().map(|(from, edge)| (*from, edge)).collect();
    let is_owed = set.iter().all(|state| states[*state].owed[promise]);
    let is_kept = taken.iter().all(|(from, edge)| promises::can_repeat(&states[*from], edge, rules));
    let is_fair = rules.fairness == Fairness::None || promises::is_fair_set(states, (&set, &taken), rules);
    let is_dead = set.is_subset(&expected.dead);
    (!is_owed || !is_kept || !is_fair || is_dead).then(|| format!("{cycle:?} is no fair cycle, or a dead one"))
}

/// The statistics of the comparison of random graphs.
#[derive(Debug, Default)]
struct Seen {
    tried: u64,
    dead: u64,
    unknown: u64,
    stuck: u64,
    fair: u64,
    long: u64,
}

/// Compares on this many random graphs.
fn compare(graphs: u64) -> Seen {
    let rules = all_rules();
    let mut seen = Seen::default();
    for seed in 0..graphs {
        let (states, expanded) = graphs::random(seed, 4 + (seed % 8) as u32);
        let built = Built::new(&states, expanded);
        let rules = rules[Dice(seed).below(rules.len() as u32) as usize];
        for promise in 0..2 {
            let Some(expected) = promises::decide(&states, promise, rules) else { continue };
            let verdict = built.judge(promise, rules);
            let wrong = difference(&verdict, &expected);
            let wrong = wrong.or_else(|| wrong_path(&built, &states, (promise, &expected), rules, &verdict));
            assert_eq!(wrong, None, "seed {seed}, promise {promise}, {rules:?}: {states:#?}");
            seen.tried += 1;
            seen.dead += u64::from(expected.death.is_some());
            seen.unknown += u64::from(expected.states.2 > 0);
            seen.stuck += u64::from(expected.stop.is_some());
            seen.fair += u64::from(expected.lasso.is_some());
            seen.long += u64::from(verdict.lasso.is_some_and(|lasso| lasso.cycle.len() > 3));
        }
    }
    seen
}

#[test]
fn random_graphs_are_judged_by_the_definitions() {
    let seen = compare(systems(10_000));
    let Seen { tried, dead, unknown, stuck, fair, long } = seen;
    let is_telling = [dead, unknown, stuck, fair].iter().all(|count| count * 40 > tried) && long > enough(50);
    telling(is_telling, format_args!("{seen:?}"));
}
