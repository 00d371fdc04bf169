//! The portfolio: the bounds of its members, the member that has the answer, and the bounds on all of them together.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use host_agreement::effort;
use host_agreement::reference::{self, System};
use host_agreement::toys::{self, Run};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Network, Scenario};
use host_model::toys::{Toy, ToyTrigger};
use host_model::trace::start;
use host_search::kernel::goals::Goals;
use host_search::kernel::schedule::Schedule;
use host_search::kernel::weights::Weights;
use host_search::kernel::{EndCondition, Monitor, Progress, Report, Search, SearchBounds, SearchError, Unmonitored};
use host_search::strategy::auto::{self, Member, Turns};
use host_search::strategy::{Bound, bdfs, find};

use crate::workers::same;

/// Members take turns after each question.
fn in_short_turns(search: &Search<'_>) -> Result<Report, SearchError> {
    auto::run_with(search, Turns { shortest: 0, only: None })
}

/// Each bound that is set is forwarded, but only to members that honour it.
#[test]
fn members_honour_what_they_are_asked() {
    let goals = Goals::new(&[0]).expect("one");
    let set = |bits: u32| {
        let is_set = |bit: u32| bits & (1 << bit) > 0;
        SearchBounds {
            depth: is_set(0).then_some(7),
            local_events: is_set(1).then_some(2),
            states: is_set(2).then_some(100),
            seed: is_set(3).then_some(5),
            violations: is_set(4).then_some(if is_set(6) { 1 } else { 3 }),
            deadlock: is_set(5),
            schedule: is_set(7).then_some(Schedule::Pos),
            goals: if is_set(8) { goals } else { Goals::default() },
            ..SearchBounds::default()
        }
    };
    let auto = find("auto").expect("it is in the table");
    assert_eq!(auto.honours.len(), 8, "each has a bit of its own");
    let mut asked = 0;
    for (bounds, is_ordered) in (0..512).map(set).flat_map(|bounds| [(bounds, false), (bounds, true)]) {
        let network = if is_ordered { Network::Ordered } else { Network::Unordered };
        let members = Member::of(&bounds, &Scenario { network, ..Scenario::new(2) });
        assert!(members.starts_with(&[Member::Bdfs, Member::Unfold]), "{members:?}");
        for member in members {
            let (given, row) = (member.bounds(&bounds), find(member.decider().strategy).expect("it is in the table"));
            for bound in Bound::ALL {
                let is_passed = bound.is_set(&given);
                assert!(!is_passed || row.honours.contains(&bound), "{member:?} {bound:?}");
                // Only walks are random, and a walk looks for one violation.
                let is_walk = matches!(member, Member::Walk | Member::Guided);
                let is_of_walks = matches!(bound, Bound::Seed | Bound::Schedule) && !is_walk;
                let is_of_cells = bound == Bound::Goal && member != Member::Guided;
                let may_go = is_of_walks || is_of_cells || (is_walk && bound == Bound::Violations);
                assert!(!bound.is_set(&bounds) || is_passed || may_go, "{member:?} {bound:?}");
                asked += 1;
            }
            assert!(!given.reduce || !(is_ordered || bounds.deadlock || bounds.depth.is_some()), "{member:?}");
            assert!(
                !matches!(member, Member::Walk | Member::Guided) || bounds.violations.unwrap_or(1) == 1,
                "several are for those who know all"
            );
        }
    }
    assert!(asked > 1_000, "{asked}");
    let weights = Some(Weights::default());
    let others =
        SearchBounds { walks: Some(1), weights, reduce: true, count_system_states: true, ..Default::default() };
    for bound in Bound::ALL.into_iter().filter(|bound| bound.is_set(&others)) {
        assert!(!auto.honours.contains(&bound), "{bound:?} would have to be passed on");
    }
}

/// In short turns each member decides some systems; each answer is that of the reference.
#[test]
fn the_answer_of_each_member_is_that_of_the_reference() {
    let mut deciders: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 0..effort::systems(150) {
        let system = System::new(Toy::random(seed, 2 + seed as u32 % 2));
        let Some(reached) = reference::search(&system, None, None, 2_000) else { continue };
        for only in [None, Some(Member::Bdfs), Some(Member::Unfold), Some(Member::Reduced), Some(Member::Lmc)] {
            let run = |search: &Search<'_>| auto::run_with(search, Turns { shortest: seed % 64, only });
            let (lts, report) = explored(&system, SearchBounds::default(), &run);
            let expected = match reached.violation_depth {
                Some(_) => EndCondition::Violation,
                None => EndCondition::SpaceExhausted,
            };
            assert_eq!(report.end, expected, "seed {seed}, {only:?}");
            let found = report.violations.first();
            assert!(found.is_none_or(|found| found.path.len() as u32 >= reached.violation_depth.unwrap_or(u32::MAX)));
            let decider = report.decided_by.expect("a member has it");
            assert!(only.is_none_or(|only| only.decider() == decider), "seed {seed}: {decider}, not {only:?}");
            if ["bdfs", "unfold"].contains(&decider.to_string().as_str()) && found.is_none() {
                // No member goes through unreachable local states in it.
                assert!(report.counts.local_states <= Some(lts), "seed {seed}");
            }
            *deciders.entry(decider.to_string()).or_default() += 1;
        }
    }
    let all = ["bdfs", "bdfs --reduce", "lmc-opt", "unfold"];
    effort::telling(all.iter().all(|name| deciders.get(*name) > Some(&10)), format_args!("{deciders:?}"));
}

/// The report of a strategy and the number of local states that the reference reaches.
fn explored(
    system: &System,
    bounds: SearchBounds,
    run: &dyn Fn(&Search<'_>) -> Result<Report, SearchError>,
) -> (u64, Report) {
    let factory = Arc::new(system.toy.clone());
    let report = |run: &dyn Fn(&Search<'_>) -> Result<Report, SearchError>| {
        let lts = Lts::new(&factory, system.scenario()).expect("a toy lists its properties");
        let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("a toy starts");
        let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
        run(&search).expect("a toy has no host faults")
    };
    let alone = report(&|search| bdfs::run(search));
    (alone.counts.local_states.expect("it counts them"), report(run))
}

/// A message that is sent again for ever: `bdfs` and a walk never end, and others do.
#[test]
fn it_ends_where_any_member_ends() {
    let resend =
        Toy::new(2).rule(0, 0, ToyTrigger::Local(0), 0, &[(1, 0)]).rule(1, 0, ToyTrigger::Message(0, 0), 1, &[]);
    let system = System::new(resend);
    let states = SearchBounds { states: Some(1_000), ..SearchBounds::default() };
    let (_, alone) = explored(&system, states, &|search| bdfs::run(search));
    assert_eq!(alone.end, EndCondition::StateBound, "there is no end of messages in flight");
    for run in [auto::run as Run, in_short_turns] {
        let ran = toys::run(&system, SearchBounds::default(), run, false);
        assert_eq!(ran.report.end, EndCondition::SpaceExhausted);
        let decider = ran.report.decided_by.expect("a member has it");
        assert!(decider.strategy != "walk" && decider.to_string() != "bdfs", "{decider}");
    }
}

/// The report is the same for any number of workers, ids included, wherever turns end.
#[test]
fn turns_do_not_depend_on_the_number_of_workers() {
    let (mut tried, mut deciders) = (0, BTreeMap::<String, u64>::new());
    for seed in 0.. {
        let toy = Toy::random(seed, 3);
        let reached = reference::search(&System::new(toy.clone()), None, None, 1_000);
        if reached.is_none_or(|reached| reached.global_states < 50) {
            continue;
        }
        let factory = Arc::new(toy);
        let report = |workers: usize| {
            let lts = Lts::new(&factory, Scenario::new(3)).expect("a toy lists its properties");
            let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("a toy starts");
            let bounds = SearchBounds::default();
            let search =
                Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
            let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().expect("threads can be started");
            pool.install(|| auto::run_with(&search, Turns { shortest: 1 + seed % 512, only: None }))
                .expect("a toy has no host faults")
        };
        let one = report(1);
        for workers in [2, 5] {
            let many = report(workers);
            same(&one, &many, &format!("seed {seed} with {workers} workers"));
            assert_eq!(one.decided_by, many.decided_by, "seed {seed} with {workers} workers");
        }
        *deciders.entry(one.decided_by.map(|it| it.to_string()).unwrap_or_default()).or_default() += 1;
        tried += 1;
        if tried == 40 {
            break;
        }
    }
    assert!(deciders.len() > 2, "{deciders:?}");
}

/// Says to stop at some question, and notes the reports.
#[derive(Default)]
struct Told {
    asked: AtomicU64,
    stops_at: u64,
    panics: bool,
    /// The member whose turn it was, and the bytes of all.
    turns: Mutex<Vec<(&'static str, u64)>>,
}

impl Monitor for Told {
    fn check(&self, progress: &Progress) -> Option<EndCondition> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        if let Some((_, bytes)) = self.turns.lock().expect("one asks").last_mut() {
            *bytes = progress.bytes;
        }
        assert!(!self.panics || asked < self.stops_at, "told to");
        (asked >= self.stops_at).then_some(EndCondition::TimeBound)
    }

    fn runs(&self, strategy: &'static str) {
        self.turns.lock().expect("one asks").push((strategy, 0));
    }
}

fn run_told(toy: &Toy, turns: Turns, told: &Told) -> Report {
    let factory = Arc::new(toy.clone());
    let scenario = Scenario { network: Network::Unordered, ..Scenario::new(toy.nodes) };
    let lts = Lts::new(&factory, scenario).expect("a toy lists its properties");
    let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("a toy starts");
    let bounds = SearchBounds::default();
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: told, collect_system_states: false };
    auto::run_with(&search, turns).expect("a toy has no host faults")
}

/// Larger than a turn for each of its members.
fn large() -> Toy {
    (0..6).fold(Toy::new(6), |toy, node| {
        (0..5).fold(toy, |toy, state| {
            toy.rule(node, state, ToyTrigger::Local(state), state + 1, &[((node + 1) % 6, state)])
        })
    })
}

/// One stop ends all of them, and no member polls again.
#[test]
fn a_bound_ends_all_members_at_once() {
    for stops_at in [0, 1, 5, 10, 25] {
        let told = Told { stops_at, ..Told::default() };
        let report = run_told(&large(), Turns { shortest: 0, only: None }, &told);
        assert_eq!((report.end, report.decided_by), (EndCondition::TimeBound, None), "{stops_at}");
        assert_eq!(told.asked.into_inner(), stops_at + 1);
    }
}

/// The memory of all counts, that of waiting members as well: the next member finds at least as many bytes.
#[test]
fn what_waits_keeps_its_memory() {
    let told = Told { stops_at: 60, ..Told::default() };
    run_told(&large(), Turns { shortest: 0, only: None }, &told);
    let turns = told.turns.into_inner().expect("one asks");
    // The turns after the last poll only end the members.
    let turns: Vec<_> = turns.into_iter().filter(|(_, bytes)| *bytes > 0).collect();
    let names: BTreeSet<&str> = turns.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), 6, "{turns:?}");
    let first = &turns[..7.min(turns.len())];
    assert!(first.iter().map(|(_, bytes)| bytes).is_sorted(), "{turns:?}");
}

/// Keeps the largest reported numbers of units of work and of steps.
#[derive(Default)]
struct Charged {
    units: AtomicU64,
    steps: AtomicU64,
}

impl Monitor for Charged {
    fn check(&self, progress: &Progress) -> Option<EndCondition> {
        self.steps.fetch_max(progress.steps, Ordering::Relaxed);
        None
    }

    fn rests(&self, _: &'static str, units: u64) {
        self.units.fetch_max(units, Ordering::Relaxed);
    }
}

/// Units of work and steps of a member, and the properties that it had evaluated.
fn charged(toy: &Toy, only: Member) -> (u64, u64, u64) {
    let factory = Arc::new(toy.clone());
    let lts = Lts::new(&factory, Scenario::new(toy.nodes)).expect("a toy lists its properties");
    let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("a toy starts");
    let (bounds, charged) = (SearchBounds::default(), Charged::default());
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &charged, collect_system_states: false };
    let only = Turns { only: Some(only), ..Turns::default() };
    auto::run_with(&search, only).expect("a toy has no host faults");
    (charged.units.into_inner(), charged.steps.into_inner(), lts.evaluations())
}

/// Two local events, and a property that reads state 1 of node 0 and a state of node 1 that is not reached: of the four tuples of classes
/// only one is asked about, since in the others no node has a view, or node 1 would be the only one. It counts as the handlers do.
#[test]
fn evaluating_properties_is_work() {
    let quiet = Toy::new(2).rule(0, 0, ToyTrigger::Local(0), 1, &[]).rule(1, 0, ToyTrigger::Local(0), 1, &[]);
    let asked = Toy { forbidden: vec![vec![Some(1), Some(2)]], ..quiet.clone() };
    for member in [Member::Bdfs, Member::Unfold] {
        let (without, _, none) = charged(&quiet, member);
        let (with, _, one) = charged(&asked, member);
        assert_eq!((none, one), (0, 1), "{member:?}");
        assert!(with > without + 1, "{member:?}: {with} and {without}");
    }
}

/// A message: its sender offers it to the root of its destination, and the event that takes it examines what that root could take.
#[test]
fn finding_what_follows_an_event_is_work() {
    let toy = Toy::new(2).rule(0, 0, ToyTrigger::Local(0), 1, &[(1, 0)]).rule(1, 0, ToyTrigger::Message(0, 0), 1, &[]);
    assert_eq!(charged(&toy, Member::Unfold).1, 2);
    assert_eq!(charged(&toy, Member::Bdfs).1, 0);
}

/// Says once that there is too little memory.
#[derive(Default)]
struct Once(AtomicU64);

impl Monitor for Once {
    fn check(&self, _: &Progress) -> Option<EndCondition> {
        (self.0.fetch_add(1, Ordering::Relaxed) == 40).then_some(EndCondition::MemoryBound)
    }
}

/// The member with the most memory ends for the others, and the answer still is that of all.
#[test]
fn where_memory_is_short_the_largest_member_ends_alone() {
    let factory = Arc::new(large());
    let lts = Lts::new(&factory, Scenario::new(6)).expect("a toy lists its properties");
    let starts = start::initial(&mut Stepper::new(&lts).expect("a machine")).expect("a toy starts");
    let (bounds, once) = (SearchBounds::default(), Once::default());
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &once, collect_system_states: false };
    let report = in_short_turns(&search).expect("a toy has no host faults");
    assert_eq!(report.end, EndCondition::SpaceExhausted);
    assert!(once.0.into_inner() > 41, "the search continues");
}

/// A panic of one member is reported, and no other one waits for its turn forever.
#[test]
fn a_panic_ends_all_members() {
    for stops_at in [0, 3, 50] {
        let told = Told { stops_at, panics: true, ..Told::default() };
        let ran = catch_unwind(AssertUnwindSafe(|| run_told(&large(), Turns { shortest: 0, only: None }, &told)));
        assert!(ran.is_err(), "{stops_at}");
    }
}
