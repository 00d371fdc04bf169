//! Claims about the length of a path, for each strategy by each of its bounds: a finding whose path is called the shortest
//! is as far from the start as in the reference, within the bounds; and a search that calls a missing finding decided is right.

use std::collections::BTreeMap;

use host_agreement::effort;
use host_agreement::reference::{self, System, Words};
use host_agreement::toys;
use host_model::toys::Toy;
use host_search::kernel::{EndCondition, SearchBounds};
use host_search::strategy::{Bound, STRATEGIES, Strategy};

/// The maximum number of global states: executions are many more than states.
const STATES_MAX: usize = 150;

/// The number of random systems; `HOST_FUZZ_SYSTEMS` sets another one.
fn systems() -> u64 {
    effort::systems(120)
}

/// Values of a bound, around the needed one; each with its name.
fn bounded(needed: u32, farthest: u32) -> Vec<(Option<Bound>, SearchBounds)> {
    let none = SearchBounds::default();
    let depth = |depth| (Some(Bound::Depth), SearchBounds { depth: Some(depth), ..none });
    let local_events = |max| (Some(Bound::LocalEvents), SearchBounds { local_events: Some(max), ..none });
    let violations = |max| (Some(Bound::Violations), SearchBounds { violations: Some(max), ..none });
    let states = |max| (Some(Bound::States), SearchBounds { states: Some(max), ..none });
    let mut all = vec![(None, none)];
    all.extend([needed.saturating_sub(1), needed, needed + 1, farthest].map(depth));
    all.extend([0, 1, 2].map(local_events));
    all.extend([2, u64::MAX].map(violations));
    all.extend([1, 10, 40].map(states));
    all.push((Some(Bound::Walks), SearchBounds { walks: Some(5), seed: Some(7), ..none }));
    all.push((Some(Bound::Reduce), SearchBounds { reduce: true, ..none }));
    all.push((Some(Bound::Deadlock), SearchBounds { deadlock: true, ..none }));
    all
}

/// By strategy and bound, the number of findings, and the number of those whose path was called the shortest.
type Claims = BTreeMap<(&'static str, &'static str), (u64, u64)>;

fn name(bound: Option<Bound>) -> &'static str {
    bound.map_or("no bound", Bound::option)
}

/// The bounds on depth and on local events, and whether deadlocks are looked for.
type Asked = (Option<u32>, Option<u32>, bool);

/// The reference's findings in a system within bounds, which several strategies share.
struct Expected<'s> {
    system: &'s System,
    within: BTreeMap<Asked, BTreeMap<Words, u32>>,
}

impl Expected<'_> {
    fn findings(&mut self, bounds: SearchBounds) -> &BTreeMap<Words, u32> {
        let SearchBounds { depth, local_events, deadlock, .. } = bounds;
        self.within.entry((depth, local_events, deadlock)).or_insert_with(|| {
            let reached = reference::search(self.system, depth, local_events, usize::MAX);
            reached.expect("there is no bound").findings(self.system.toy.nodes, deadlock)
        })
    }
}

fn check(
    expected: &mut Expected<'_>,
    row: &'static Strategy,
    (bound, bounds): (Option<Bound>, SearchBounds),
    claims: &mut Claims,
) {
    // Some executions have cycles.
    let states = bounds.states.or(row.name.starts_with("dpor").then_some(300));
    let bounds = SearchBounds { states, ..bounds };
    let within = expected.findings(bounds).clone();
    let ran = toys::run(expected.system, bounds, row.run, false);
    let found = toys::findings(&ran.report);
    let what = format!("{} with {bounds:?}: {found:?} of {within:?}", row.name);
    for (words, (length, is_shortest)) in &found {
        let least = match bounds.violations {
            None => within.values().min(),
            Some(_) => within.get(words),
        };
        assert!(!is_shortest || least == Some(length), "{what}");
        let said = claims.entry((row.name, name(bound))).or_default();
        *said = (said.0 + 1, said.1 + u64::from(*is_shortest));
    }
    if ran.report.end == EndCondition::SpaceExhausted {
        let all = expected.findings(SearchBounds { deadlock: bounds.deadlock, ..SearchBounds::default() });
        assert!(found.keys().eq(all.keys()), "it says that it has decided everything: {what}");
    }
}

#[test]
fn claims_about_lengths_are_true() {
    let mut claims = Claims::new();
    let mut tried = 0;
    for seed in 0.. {
        let toy = Toy::random(seed, 2 + seed as u32 % 2).with_random_done(seed);
        let system = System::new(if seed % 4 == 0 { toy.with_random_starts(seed) } else { toy });
        let Some(reached) = reference::search(&system, None, None, STATES_MAX) else { continue };
        let Some(needed) = reached.violation_depth.filter(|needed| *needed > 0) else { continue };
        let mut expected = Expected { system: &system, within: BTreeMap::new() };
        for row in STRATEGIES {
            for (bound, bounds) in bounded(needed, reached.farthest) {
                if bound.is_none_or(|bound| row.honours.contains(&bound)) {
                    check(&mut expected, row, (bound, bounds), &mut claims);
                }
            }
        }
        tried += 1;
        if tried == systems() {
            break;
        }
    }
    let said = |strategy, bound| claims.get(&(strategy, name(bound))).copied().unwrap_or_default();
    // Strategies that search nearer states first know it, under any bound; those that go anywhere never claim it.
    for bound in [None, Some(Bound::Depth), Some(Bound::LocalEvents)] {
        for strategy in ["auto", "bdfs", "unfold"] {
            let (found, shortest) = said(strategy, bound);
            assert!(found > 0 && shortest == found, "{strategy}, {bound:?}: {shortest} of {found}; {claims:?}");
        }
    }
    for bound in [None, Some(Bound::Walks)] {
        let (found, shortest) = said("walk", bound);
        assert!(found > 0 && shortest == 0, "walk, {bound:?}: {shortest} of {found}; {claims:?}");
    }
}
