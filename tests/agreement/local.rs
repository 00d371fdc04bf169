//! Local model checking where the local states are many more than the reachable ones, or without end: it ends, with the answers of the
//! reference.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use host_agreement::growing::{self, Factory, Growing, Number};
use host_agreement::reference::{self, System};
use host_agreement::toys;
use host_model::contract::Judgement;
use host_model::lts::{Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::toys::Toy;
use host_model::trace::start;
use host_search::kernel::{
    Basis, EndCondition, FoundViolation, Monitor, Progress, Report, Search, SearchBounds, SearchError,
};
use host_search::strategy::lmc::alongside::Turns;
use host_search::strategy::{self, lmc};

use crate::global::{STATES_MAX, systems};

/// More polls than any search here needs: a search that exceeds them does not end.
const QUESTIONS_MAX: u64 = 20_000;

/// Ends a search after this many polls, and remembers its reports.
struct Patient {
    left: AtomicU64,
    bytes: AtomicU64,
    /// Local states, and those that are known to be reachable.
    local_states: AtomicU64,
    reachable: AtomicU64,
}

impl Patient {
    fn new(questions: u64) -> Self {
        Self {
            left: AtomicU64::new(questions),
            bytes: AtomicU64::new(0),
            local_states: AtomicU64::new(0),
            reachable: AtomicU64::new(0),
        }
    }
}

impl Monitor for Patient {
    fn check(&self, progress: &Progress) -> Option<EndCondition> {
        self.bytes.fetch_max(progress.bytes, Ordering::Relaxed);
        self.local_states.fetch_max(progress.counts.local_states.unwrap_or(0), Ordering::Relaxed);
        self.reachable.fetch_max(progress.counts.reachable_local_states.unwrap_or(0), Ordering::Relaxed);
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        (left == 0).then_some(EndCondition::Interrupted)
    }
}

/// Whether the variant is the general one, and when the unfolding takes its turns.
type Way = (bool, Turns);

/// Both variants: as they are, with turns from the beginning, and without.
fn ways() -> impl Iterator<Item = Way> {
    let turns = [Turns::default(), Turns { first: 1, least: 8 }, ALONE];
    turns.into_iter().flat_map(|turns| [false, true].map(|is_general| (is_general, turns)))
}

/// Without turns.
const ALONE: Turns = Turns { first: u64::MAX, least: 0 };

/// The ways that end for any local states.
fn endless_ways() -> impl Iterator<Item = Way> {
    ways().filter(|(_, turns)| turns.first < u64::MAX)
}

fn search_with(system: &Arc<Growing>, bounds: SearchBounds, (is_general, turns): Way, monitor: &Patient) -> Report {
    let factory = Factory(Arc::clone(system));
    let lts = Lts::new(&factory, Scenario::new(system.nodes)).expect("it lists its properties");
    let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("it starts");
    let search = Search { lts: &lts, starts: &starts, bounds, monitor, collect_system_states: false };
    lmc::run_with(&search, is_general, turns).expect("there are no host faults")
}

/// Runs a way to its end.
fn search(system: &Arc<Growing>, bounds: SearchBounds, way: Way) -> Report {
    let monitor = Patient::new(QUESTIONS_MAX);
    let report = search_with(system, bounds, way, &monitor);
    assert!(monitor.left.load(Ordering::Relaxed) > 0, "{way:?} does not end: {:?}", report.counts);
    report
}

/// Without turns a search of this system would not end soon.
fn does_not_end_alone(system: &Arc<Growing>) {
    for is_general in [false, true] {
        let report = search_with(system, SearchBounds::default(), (is_general, ALONE), &Patient::new(60));
        assert_eq!(report.end, EndCondition::Interrupted, "the test says little");
    }
}

fn words(found: &FoundViolation) -> String {
    match &found.judgement {
        Judgement::Violated { message, .. } => message.clone(),
        Judgement::Fault(fault) => format!("{:?}: {}", found.node, fault.message),
        other => panic!("{other:?}"),
    }
}

/// Node 1 counts received messages, and node 0 has sent it the same one twice: one delivery, then another. The network that keeps every
/// message delivers it without end.
#[test]
fn a_content_that_is_sent_twice_is_not_counted_for_ever() {
    let twice = Growing::new(2).in_flight(0, 1, 0).in_flight(0, 1, 0);
    let counting = (0..=4).fold(twice, |system, state| system.rule(1, state, Some(0), Number::Own(1), &[]));
    let never = Arc::new(counting.forbid(&[None, Some(3)]));
    assert_eq!(growing::search(&never, u32::MAX, 10).expect("three").global_states, 3);
    does_not_end_alone(&never);
    for way in endless_ways() {
        let report = search(&never, SearchBounds::default(), way);
        assert_eq!((report.end, report.basis), (EndCondition::SpaceExhausted, Some(Basis::Unfolding)), "{way:?}");
        assert_eq!(report.violations.len(), 0, "{way:?}");
        assert!(report.counts.events.is_some(), "{way:?}");
    }
    // A stopped search reports how few of its local states are reachable: these four at most.
    let mut told = 0;
    for questions in 1..40 {
        let report = search_with(
            &never,
            SearchBounds::default(),
            (false, Turns { first: 1, least: 1 }),
            &Patient::new(questions),
        );
        let counts = report.counts;
        assert!(report.end == EndCondition::Interrupted || counts.reachable_local_states.is_none(), "{counts:?}");
        assert!(counts.reachable_local_states <= Some(4), "{counts:?}");
        told += u64::from(counts.reachable_local_states.is_some());
    }
    assert!(told > 5, "{told}");
    let twice = Growing { forbidden: vec![vec![None, Some(2)]], ..Arc::into_inner(never).expect("no search is left") };
    let twice = Arc::new(twice);
    for way in endless_ways() {
        let report = search(&twice, SearchBounds::default(), way);
        assert_eq!((report.end, report.violations[0].path.len()), (EndCondition::Violation, 2), "{way:?}");
    }
}

/// The leader sends a beat and does not change, so another event is always possible. Two others exchange a number, and are in a
/// forbidden pair of states after 8 events. Other forbidden pairs are only there because the network keeps every message, and to
/// ask whether they are reachable has no end.
#[test]
fn a_heartbeat_does_not_keep_the_verification_from_ending() {
    let beat = Growing::new(3).rule(0, 0, None, Number::Is(0), &[(1, Number::Is(4))]);
    let begin = beat.rule(1, 0, None, Number::Is(1), &[(2, Number::Is(0))]);
    let passed = [1, 2].into_iter().fold(begin, |system, node| {
        (0..4).fold(system, |system, state| {
            let to = 3 - node;
            system.rule(
                node,
                state,
                Some(state.saturating_sub(u64::from(node == 1))),
                Number::Own(1),
                &[(to, Number::Own(0))],
            )
        })
    });
    let forbidden = [vec![None, Some(3), Some(0)], vec![None, Some(0), Some(1)], vec![None, Some(4), Some(4)]];
    let system = Arc::new(Growing { forbidden: forbidden.into(), ..passed });
    let depth =
        *growing::search(&system, 8, 100_000).expect("few within the bound").violations.values().min().expect("one");
    assert_eq!(depth, 8, "by the search of global states");
    for way in endless_ways() {
        let report = search(&system, SearchBounds::default(), way);
        assert_eq!((report.end, report.violations[0].path.len()), (EndCondition::Violation, 8), "{way:?}");
    }
}

/// Node 0 takes one of two branches for good. Each sends messages that the other one would answer with more, so together they never stop.
#[test]
fn branches_that_exclude_each_other_end() {
    let system = Arc::new(exclusive_branches(2));
    let reached = growing::search(&system, u32::MAX, 100).expect("a few");
    assert!(reached.violations.is_empty() && reached.global_states < 10);
    does_not_end_alone(&system);
    for way in endless_ways() {
        let report = search(&system, SearchBounds::default(), way);
        assert_eq!((report.end, report.basis), (EndCondition::SpaceExhausted, Some(Basis::Unfolding)), "{way:?}");
        assert!(report.counts.local_states > Some(10 * reached.local_states as u64) || way.1.first == 1, "{way:?}");
    }
}

/// With a third node that sends itself beats, nothing ends. From the first turn on, the progress says that few of the local states
/// are in an execution.
#[test]
fn it_is_seen_that_most_local_states_are_not_reachable() {
    let reached = growing::search(&exclusive_branches(2), u32::MAX, 100).expect("a few");
    let beating = exclusive_branches(3).rule(2, 0, None, Number::Is(0), &[(2, Number::Is(4))]);
    let beating = Arc::new(Growing { forbidden: Vec::new(), ..beating });
    for way in endless_ways() {
        let monitor = Patient::new(6_000);
        let report = search_with(&beating, SearchBounds::default(), way, &monitor);
        assert_eq!(report.end, EndCondition::Interrupted, "{way:?}");
        let (all, reachable) =
            (monitor.local_states.load(Ordering::Relaxed), monitor.reachable.load(Ordering::Relaxed));
        assert!((1..=reached.local_states as u64 + 1).contains(&reachable), "{way:?}: {reachable}");
        assert!(all > 4 * reachable, "{way:?}: {all} local states, {reachable} of them known to be reachable");
    }
}

/// The first branch and the second one, and a node that answers.
fn exclusive_branches(nodes: u32) -> Growing {
    let system = Growing::new(nodes)
        .rule(0, 0, None, Number::Is(1), &[(1, Number::Is(0))])
        .rule(0, 0, None, Number::Is(2), &[(1, Number::Is(1))])
        .rule(1, 0, Some(0), Number::Own(1), &[(0, Number::Own(4))]);
    // The second branch alone: it answers every number that comes back, and node 1 continues to count.
    let system =
        (1..=4).fold(system, |system, state| system.rule(1, state, Some(4), Number::Own(1), &[(0, Number::Own(4))]));
    system.rule(0, 2, Some(4), Number::Is(2), &[(1, Number::Given(1))]).forbid(&[Some(2), Some(1)])
}

/// Random protocols whose numbers grow: each ends, with the findings of the search of global states.
#[test]
fn random_protocols_that_grow_end_as_the_search_of_global_states_does() {
    let (mut tried, mut grown, mut violated, mut several) = (0, 0, 0, 0);
    for seed in 0.. {
        let system = Arc::new(Growing::random(seed));
        let Some(reached) = growing::search(&system, u32::MAX, 400) else { continue };
        if reached.global_states < 6 {
            continue;
        }
        let mut is_grown = false;
        for way in endless_ways() {
            let report = search(&system, SearchBounds::default(), way);
            let found = report.violations.first();
            assert_eq!(report.end == EndCondition::Violation, found.is_some(), "seed {seed}, {way:?}");
            assert!(
                matches!(report.end, EndCondition::Violation | EndCondition::SpaceExhausted),
                "seed {seed}, {way:?}"
            );
            let least = reached.violations.values().min();
            assert_eq!(found.is_some(), least.is_some(), "seed {seed}, {way:?}");
            if let Some(found) = found {
                let length = found.path.len() as u32;
                assert!(reached.violations[&words(found)] <= length, "seed {seed}, {way:?}");
                assert!(!found.shortest || Some(&length) == least, "seed {seed}, {way:?}");
            }
            let all = search(&system, SearchBounds { violations: Some(u64::MAX), ..SearchBounds::default() }, way);
            assert_eq!(all.end, EndCondition::SpaceExhausted, "seed {seed}, {way:?}");
            let expected: BTreeSet<&String> = reached.violations.keys().collect();
            let words: Vec<(String, &FoundViolation)> =
                all.violations.iter().map(|found| (words(found), found)).collect();
            assert_eq!(words.len(), expected.len(), "seed {seed}, {way:?}");
            for (words, found) in &words {
                let least = reached.violations.get(words).copied();
                let length = found.path.len() as u32;
                assert!(Some(length) >= least && least.is_some(), "seed {seed}, {way:?}");
                assert!(!found.shortest || Some(length) == least, "seed {seed}, {way:?}: {words}");
            }
            assert_eq!(all.witnessed, [None, Some(reached.goal)], "seed {seed}, {way:?}");
            is_grown |= all.basis == Some(Basis::Unfolding) && way.1 == Turns::default();
        }
        tried += 1;
        grown += u64::from(is_grown);
        violated += u64::from(!reached.violations.is_empty());
        several += u64::from(reached.violations.len() > 1);
        if tried >= systems() / 2 {
            break;
        }
    }
    assert!(grown * 50 > tried, "{grown} of {tried} systems have local states without end: the test says little");
    assert!(violated * 5 > tried && several * 20 > tried, "{violated} and {several} of {tried}: the test says little");
}

/// Calls `check` with random toys, some with several starts, and the states that the reference reaches within a bound on local events.
fn for_random_toys(local_events: Option<u32>, mut check: impl FnMut(u64, &System, &reference::Reached)) {
    let mut tried = 0;
    for seed in 0.. {
        let toy = Toy::random(seed, 2 + (seed % 2) as u32);
        let toy = if seed % 3 == 0 { toy.with_random_starts(seed) } else { toy };
        let system = System::new(toy);
        if let Some(reached) = reference::search(&system, None, local_events, STATES_MAX / 4)
            && reached.global_states > 20
        {
            check(seed, &system, &reached);
            tried += 1;
        }
        if tried >= systems() / 2 {
            return;
        }
    }
}

/// A way as a strategy.
fn as_run<const GENERAL: bool, const FIRST: u64, const LEAST: u64>(search: &Search<'_>) -> Result<Report, SearchError> {
    lmc::run_with(search, GENERAL, Turns { first: FIRST, least: LEAST })
}

const RUNS: [(&str, toys::Run); 6] = [
    ("general, one turn", as_run::<true, 1, 1_000_000>),
    ("optimised, one turn", as_run::<false, 1, 1_000_000>),
    ("general, turns", as_run::<true, 8, 32>),
    ("optimised, turns", as_run::<false, 8, 32>),
    ("general alone", as_run::<true, { u64::MAX }, 0>),
    ("optimised alone", as_run::<false, { u64::MAX }, 0>),
];

/// The answer is that of the reference for either search, also under a bound on local events: the same violations, no longer
/// path reported as shortest, and if a complete exploration is reported, the bound changes nothing.
#[test]
fn the_answer_of_each_search_agrees_with_the_reference() {
    let mut by_basis: BTreeMap<Option<u8>, u64> = BTreeMap::new();
    let (mut claimed, mut tried) = (0, 0);
    for local_events in [None, Some(0), Some(1), Some(2)] {
        for_random_toys(local_events, |seed, system, reached| {
            let unbounded = reference::search(system, None, None, STATES_MAX);
            for (name, strategy) in RUNS {
                let context = format!("seed {seed}, {local_events:?}, {name}");
                let bounds = SearchBounds { local_events, violations: Some(u64::MAX), ..SearchBounds::default() };
                let report = toys::run(system, bounds, strategy, false).report;
                let expected = reached.findings(system.toy.nodes, false);
                let found: BTreeMap<_, _> =
                    report.violations.iter().map(|found| ((found.node, words(found)), found)).collect();
                assert!(found.keys().eq(expected.keys()), "{context}");
                for (words, found) in &found {
                    let (length, least) = (found.path.len() as u32, expected[words]);
                    assert!(length >= least && (!found.shortest || length == least), "{context}: {words:?}");
                    claimed += u64::from(found.shortest);
                }
                match report.end {
                    EndCondition::SpaceExhausted if let Some(unbounded) = &unbounded => {
                        let all = unbounded.findings(system.toy.nodes, false);
                        assert!(all.keys().eq(expected.keys()), "{context}: it says that everything was explored");
                    }
                    EndCondition::SpaceExhausted => {}
                    end => {
                        assert_eq!(end, EndCondition::LocalEventBound, "{context}");
                        assert!(reached.is_cut, "{context}: it does not say that everything was explored");
                    }
                }
                let is_bounded = local_events.is_some() && report.end == EndCondition::SpaceExhausted;
                assert!(report.basis.is_some() || !is_bounded, "{context}: it does not say why it is complete");
                tried += 1;
                *by_basis.entry(report.basis.map(|basis| basis as u8)).or_default() += 1;

                let one = toys::run(system, SearchBounds { violations: None, ..bounds }, strategy, false);
                assert_eq!(one.report.violations.len(), usize::from(!expected.is_empty()), "{context}");
                let claims = one.report.violations.iter().filter(|found| found.shortest);
                let least = expected.values().min().copied();
                claims.for_each(|found| assert_eq!(Some(found.path.len() as u32), least, "{context}"));
            }
        });
    }
    assert!(by_basis.len() == 3 && by_basis.values().all(|times| times * 20 > tried), "{by_basis:?}: it says little");
    assert!(claimed * 20 > tried, "{claimed} claims of a shortest way: the test says little");
}

/// Every number of violations that can be wanted is found, each of them once.
fn as_many_as_wanted_are_found(system: &System, reached: &reference::Reached, context: &str) {
    let expected = reached.findings(system.toy.nodes, false);
    let strategies =
        ["lmc-gen", "lmc-opt", "unfold"].map(|name| (name, strategy::find(name).expect("it is there").run));
    for (name, strategy) in RUNS.into_iter().chain(strategies) {
        for wanted in 1..=expected.len() {
            let context = format!("{context}, {name}, {wanted} of {}", expected.len());
            let bounds = SearchBounds { violations: Some(wanted as u64), ..SearchBounds::default() };
            // Words that are there twice are refused.
            let found = toys::findings(&toys::run(system, bounds, strategy, false).report);
            assert_eq!(found.len(), wanted, "{context}: {found:?}");
            let is_there = |(words, (length, _)): (_, &(u32, bool))| expected.get(words).is_some_and(|it| it <= length);
            assert!(found.iter().all(is_there), "{context}: {found:?} of {expected:?}");
        }
    }
}

/// Of several start states each can have the same violation: reported ones do not reduce the number that is
/// still wanted.
#[test]
fn as_many_violations_as_are_wanted_are_found_from_several_starts() {
    use host_model::toys::ToyTrigger::Local;
    // From both start states the first one is an event away; the second one only from one of them, and behind events that no
    // event has both of in its past.
    let toy = Toy::new(2).start(0, 0, &[]).start(0, 1, &[]).rule(0, 1, Local(0), 2, &[]);
    let toy = toy.rule(1, 0, Local(0), 1, &[]).rule(1, 1, Local(0), 2, &[]);
    let system = System::new(toy.forbid(&[None, Some(1)]).forbid(&[Some(2), Some(2)]));
    let reached = reference::search(&system, None, None, 20).expect("nine");
    assert_eq!(reached.violations.values().collect::<Vec<_>>(), [&2, &3, &1], "by the states of both nodes");
    as_many_as_wanted_are_found(&system, &reached, "by hand");

    let (mut tried, mut several) = (0, 0);
    for seed in 0.. {
        let mut toy = Toy::random(seed, 2 + seed as u32 % 2).with_random_starts(seed);
        toy.forbidden.extend((1..4).flat_map(|other| Toy::random(seed + other, toy.nodes).forbidden));
        let system = System::new(toy);
        let Some(reached) = reference::search(&system, None, None, STATES_MAX / 20) else { continue };
        let there = reached.findings(system.toy.nodes, false).len();
        if there < 2 {
            continue;
        }
        as_many_as_wanted_are_found(&system, &reached, &format!("seed {seed}"));
        tried += 1;
        several += u64::from(there > 2);
        if tried >= systems() / 5 {
            break;
        }
    }
    assert!(several * 2 > tried, "{several} of {tried}: the test says little");
}

/// Under a bound on local events the same system states are accepted as the reference has.
#[test]
fn bounded_local_events_are_those_of_the_reference() {
    for_random_toys(Some(1), |seed, system, reached| {
        let system = System::new(Toy { forbidden: Vec::new(), ..system.toy.clone() });
        for (name, strategy) in RUNS {
            let bounds = SearchBounds { local_events: Some(1), ..SearchBounds::default() };
            let ran = toys::run(&system, bounds, strategy, true);
            if ran.report.end == EndCondition::LocalEventBound {
                assert_eq!(ran.system_states, reached.system_states, "seed {seed}, {name}");
            }
        }
    });
}

/// Two nodes begin in several states; from one of them the violation is one event away, from the other one two.
#[test]
fn no_way_is_called_a_shortest_one_if_another_start_has_a_shorter_one() {
    use host_model::toys::ToyTrigger::Local;
    let toy = Toy::new(2)
        .start(0, 0, &[])
        .start(0, 1, &[])
        .rule(0, 0, Local(0), 1, &[])
        .rule(0, 1, Local(0), 2, &[])
        .forbid(&[Some(2), None]);
    let system = System::new(toy);
    assert_eq!(reference::search(&system, None, None, 10).expect("five").violation_depth, Some(1));
    for (name, strategy) in RUNS {
        for violations in [None, Some(5)] {
            let bounds = SearchBounds { violations, ..SearchBounds::default() };
            let report = toys::run(&system, bounds, strategy, false).report;
            let found = &report.violations[0];
            assert!(!found.shortest || found.path.len() == 1, "{name}: {} events", found.path.len());
        }
    }
}

/// Three nodes that count to 60, each state a class of its own: 216,000 tuples. The search ends soon after a request, and
/// counts what it keeps.
#[test]
fn the_combination_of_classes_hears_the_monitor() {
    let count = |system: Growing, node| {
        let up = (0..=4).fold(system, |system, state| system.rule(node, state, Some(0), Number::Own(1), &[]));
        (0..60).fold(up, |system, _| system.in_flight(node, node, 0))
    };
    let system = Arc::new((0..3).fold(Growing::new(3), count).forbid(&[Some(61), Some(61), Some(61)]));
    for is_general in [false, true] {
        for questions in [100, 400] {
            let monitor = Patient::new(questions);
            let before = system.evaluations.load(Ordering::Relaxed);
            let report = search_with(&system, SearchBounds::default(), (is_general, ALONE), &monitor);
            assert_eq!(report.end, EndCondition::Interrupted);
            let evaluated = system.evaluations.load(Ordering::Relaxed) - before;
            assert!(evaluated <= 16 * questions, "{evaluated} evaluations, {questions} questions");
            let bytes = monitor.bytes.load(Ordering::Relaxed);
            assert!(bytes > 12 * evaluated, "{bytes} bytes are reported for {evaluated} tuples");
        }
    }
}
