//! Bounds on depth below, at and above the needed one, from one start state or several: the findings and the claims.

use host_agreement::effort;
use host_agreement::reference::{self, System};
use host_agreement::toys;
use host_model::scenario::{Faults, Network};
use host_model::toys::{Toy, ToyTrigger};
use host_search::kernel::rules::Rules;
use host_search::kernel::{EndCondition, SearchBounds};
use host_search::strategy::{Bound, STRATEGIES, Strategy, bdfs, unfold};

use crate::traps::FAMILIES;

/// The maximum number of global states: executions are many more than states.
const STATES_MAX: usize = 200;

/// The maximum number of explored executions.
const EXECUTIONS_MAX: u64 = 500;

/// The number of random systems; `HOST_FUZZ_SYSTEMS` sets another one.
fn systems() -> u64 {
    effort::systems(200)
}

/// The strategies whose bound on depth is tried here; strategies that search global states keep it state by state.
fn bounded() -> impl Iterator<Item = &'static Strategy> {
    let is_exact = |row: &&Strategy| row.is_complete && row.honours.contains(&Bound::Depth);
    STRATEGIES.iter().filter(is_exact)
}

/// A bounded search finds everything that the reference finds within the bound. Where it reports a complete exploration, the unbounded
/// reference finds no more, no less and nothing sooner.
#[test]
fn what_a_bound_leaves_out_is_reported() {
    let (mut tried, mut complete, mut cut, mut larger) = (0, 0, 0, 0);
    // Searches of executions, and the complete ones among them.
    let (mut executed, mut whole) = (0, 0);
    for seed in 0.. {
        let system = FAMILIES[seed as usize % FAMILIES.len()](seed);
        // Every third system also has a bound on local events, which may leave something out.
        let local_events = [None, None, Some(seed as u32 / 3 % 4)][seed as usize % 3];
        let Some(all) = reference::search(&system, None, None, STATES_MAX) else { continue };
        if all.global_states < 20 {
            continue;
        }
        let deadlock = seed.is_multiple_of(2);
        let nodes = system.toy.nodes;
        let expected = all.findings(nodes, deadlock);
        let needed = expected.values().max().copied().unwrap_or(all.farthest);
        for depth in [0, needed / 2, needed.saturating_sub(1), needed, all.farthest, 2 * all.farthest + 4] {
            let within = reference::search(&system, Some(depth), local_events, usize::MAX).expect("there is no bound");
            let within = within.findings(nodes, deadlock);
            let bounds = SearchBounds { depth: Some(depth), local_events, deadlock, ..SearchBounds::default() };
            for row in bounded() {
                let is_stateless = row.name.starts_with("dpor");
                let states = is_stateless.then_some(EXECUTIONS_MAX);
                let bounds = SearchBounds { states, violations: Some(u64::MAX), ..bounds };
                let ran = toys::run(&system, bounds, row.run, false);
                let name = format!("seed {seed}, {} to depth {depth}", row.name);
                let found = toys::findings(&ran.report);
                executed += u64::from(is_stateless);
                if ran.report.end == EndCondition::StateBound {
                    let is_there = found.keys().all(|words| within.contains_key(words));
                    assert!(is_there, "{name}: {found:?} of {within:?}");
                    continue;
                }
                whole += u64::from(is_stateless);
                assert!(found.keys().eq(within.keys()), "{name}: {found:?} of {within:?}");
                assert!(found.values().all(|(length, _)| *length <= depth), "{name}: {found:?}");
                let is_least = |(words, (length, shortest)): (&_, &(u32, bool))| !shortest || *length == within[words];
                assert!(found.iter().all(is_least), "{name}: {found:?} of {within:?}");
                match ran.report.end {
                    EndCondition::SpaceExhausted => {
                        assert_eq!(within, expected, "{name}: it says that it has left nothing out");
                        complete += 1;
                    }
                    _ => cut += 1,
                }
                larger +=
                    u64::from(row.name == "unfold" && ran.report.end == EndCondition::DepthBound && depth >= needed);
            }
        }
        tried += 1;
        if tried == systems() {
            break;
        }
    }
    assert!(
        complete > tried && cut > tried && larger > 0,
        "{complete} complete, {cut} cut, {larger} larger than needed"
    );
    assert!(whole * 3 > executed * 2, "only {whole} of {executed} searches of executions came to their end");
}

/// Three nodes with a local event each: configurations have up to three events, and each event is its own cause.
fn three_events() -> Toy {
    (0..3).fold(Toy::new(3), |toy, node| toy.rule(node, 0, ToyTrigger::Local(0), 1, &[]))
}

/// All three events together are forbidden: no bound below three finds that, and only a bound of three makes a search complete.
#[test]
fn independent_events_beyond_the_bound_are_reported() {
    let three = three_events().forbid(&[Some(1), Some(1), Some(1)]);
    let two = three_events().forbid(&[Some(1), Some(1), None]);
    for network in [Network::Unordered, Network::Ordered] {
        for row in bounded() {
            for (toy, needed) in [(&three, 3), (&two, 2)] {
                let system = System { network, ..System::new(toy.clone()) };
                for depth in 0..5 {
                    let ran = toys::run(
                        &system,
                        SearchBounds { depth: Some(depth), ..SearchBounds::default() },
                        row.run,
                        false,
                    );
                    let expected = if depth < needed { EndCondition::DepthBound } else { EndCondition::Violation };
                    assert_eq!(ran.report.end, expected, "{} to depth {depth}", row.name);
                }
            }
        }
    }
    // Without a forbidden state, the unfolding is complete after the single events.
    let ran = toys::run(
        &System::new(three_events()),
        SearchBounds { depth: Some(1), ..SearchBounds::default() },
        unfold::run,
        false,
    );
    assert_eq!(ran.report.end, EndCondition::SpaceExhausted);
}

/// System states beyond the bound are reported if they are counted.
#[test]
fn a_count_within_a_bound_says_so() {
    for (depth, states, end) in
        [(1, 4, EndCondition::DepthBound), (2, 7, EndCondition::DepthBound), (3, 8, EndCondition::SpaceExhausted)]
    {
        let bounds = SearchBounds { depth: Some(depth), count_system_states: true, ..SearchBounds::default() };
        let report = toys::run(&System::new(three_events()), bounds, unfold::run, false).report;
        assert_eq!((report.counts.system_states, report.end), (Some(states), end));
    }
}

/// From the first start state the forbidden state is three events away, from the second one a single event.
#[test]
fn a_later_start_can_have_the_shorter_way() {
    let mut toy = Toy::new(2).start(0, 0, &[]).start(0, 2, &[]).forbid(&[Some(3), None]);
    for state in 0..3 {
        toy = toy.rule(0, state, ToyTrigger::Local(0), state + 1, &[]);
    }
    for violations in [None, Some(5)] {
        let ran = toys::run(
            &System::new(toy.clone()),
            SearchBounds { violations, ..SearchBounds::default() },
            unfold::run,
            false,
        );
        let found: Vec<_> = toys::findings(&ran.report).into_values().collect();
        assert_eq!(found, [(1, true)]);
        // If the search ends before it has examined all start states, it claims nothing.
        let bounds = SearchBounds { violations, states: Some(2), ..SearchBounds::default() };
        let ran = toys::run(&System::new(toy.clone()), bounds, unfold::run, false);
        assert!(toys::findings(&ran.report).values().all(|(length, shortest)| *length == 1 || !shortest));
    }
}

/// If only a local event can happen, and neither bound allows any, one of the two is reported.
#[test]
fn a_start_without_a_step_is_not_everything() {
    let toy = Toy::new(2).rule(0, 0, ToyTrigger::Local(0), 1, &[]);
    let bounds = |local_events| SearchBounds { depth: Some(0), local_events, ..SearchBounds::default() };
    for row in bounded() {
        for local_events in [None, Some(0), Some(1)] {
            if local_events.is_some() && !row.honours.contains(&Bound::LocalEvents) {
                continue;
            }
            let end = |toy: &Toy| toys::run(&System::new(toy.clone()), bounds(local_events), row.run, false).report.end;
            assert_ne!(end(&toy), EndCondition::SpaceExhausted, "{}, {local_events:?}", row.name);
            assert_eq!(end(&Toy::new(2)), EndCondition::SpaceExhausted, "{}, {local_events:?}", row.name);
        }
    }
}

/// Only one event can happen; afterwards messages wait for a quorum that is declined, or are held for good, or a reset would
/// change nothing.
#[test]
fn what_is_no_event_lies_beyond_no_bound() {
    let message = |toy: Toy| (0..3).fold(toy, |toy, node| toy.keep(node, 0, 0)).in_flight(0, 2, 1);
    let mut declined = message(Toy::new(3).in_flight(0, 0, 0).in_flight(1, 0, 0).collect((0, 0), &[0], 2, 1, &[]));
    declined.quorums.clear();
    let held = message(Toy::new(3).in_flight(0, 0, 0).hold(0, 0, 0));
    let resets = Faults { resets: 1, ..Faults::default() };
    let heuristic = STRATEGIES.iter().filter(|row| row.name == "consequence");
    for row in bounded().chain(heuristic) {
        for (toy, faults) in [(&declined, Faults::default()), (&held, resets), (&message(Toy::new(3)), resets)] {
            let system = System { faults, ..System::new(toy.clone()) };
            for (depth, end) in [(0, EndCondition::DepthBound), (1, EndCondition::SpaceExhausted)] {
                let bounds = SearchBounds { depth: Some(depth), ..SearchBounds::default() };
                let ran = toys::run(&system, bounds, row.run, false);
                assert_eq!(ran.report.end, end, "{} to depth {depth}, {toy:?}", row.name);
            }
        }
    }
}

/// The same on random systems, around the number of events of the whole space, with either search of global states.
#[test]
fn a_bound_leaves_something_out_exactly_if_an_event_could_follow() {
    let (mut whole, mut cut, mut waiting) = (0, 0, 0);
    for seed in 0.. {
        let toy = Toy::random(seed, 2 + seed as u32 % 2).with_random_durable(seed).with_random_quorums(seed);
        // The promise always holds, and makes the search breadth-first.
        let kept: Vec<Vec<_>> =
            (0..16).map(|state| [vec![Some(state)], vec![None; toy.nodes as usize - 1]].concat()).collect();
        let kept: Vec<_> = kept.iter().map(Vec::as_slice).collect();
        let toy = toy.promise("kept", &kept);
        let faults = Faults { resets: seed as u32 % 2, ..Faults::default() };
        let system = System { faults, ..System::new(toy) };
        let Some(all) = reference::search(&system, None, None, STATES_MAX) else { continue };
        if all.global_states < 20 {
            continue;
        }
        for depth in all.farthest - 1..=all.farthest + 1 {
            let within = reference::search(&system, Some(depth), None, usize::MAX).expect("there is no bound");
            let expected = if within.is_depth_cut { EndCondition::DepthBound } else { EndCondition::SpaceExhausted };
            for promises in [None, Some(Rules::default())] {
                let violations = Some(u64::MAX);
                let bounds = SearchBounds { depth: Some(depth), violations, promises, ..SearchBounds::default() };
                let end = toys::run(&system, bounds, bdfs::run, false).report.end;
                assert_eq!(end, expected, "seed {seed} to depth {depth}, promises {}", promises.is_some());
            }
            match expected {
                EndCondition::DepthBound => cut += 1,
                _ => whole += 1,
            }
            waiting += u64::from(depth == all.farthest && !within.is_depth_cut);
        }
        if whole + cut >= systems() {
            break;
        }
    }
    let is_enough = cut > effort::enough(50) && waiting > effort::enough(20);
    effort::telling(is_enough, format_args!("{cut} cut, {whole} whole, {waiting} of these at the bound"));
}
