//! Guided walks with goals and with properties that they avoid: what they report is there, and what is avoided lies on no path.

use std::sync::Arc;

use host_agreement::reference::{self, System};
use host_model::contract::{PropertyKind, PropertyScope};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::toys::{Toy, ToyProperty, ToyState, ToyTrigger};
use host_model::trace::{TraceStep, start};
use host_search::kernel::goals::Goals;
use host_search::kernel::{EndCondition, Search, SearchBounds};
use host_search::strategy::auto::{self, Member, Turns};
use host_search::strategy::guided;

use crate::guided::{bounds, run};

/// A toy with a `sometimes` property for each of these states of node 0, the first one with index 1.
fn marked(mut toy: Toy, states: &[ToyState]) -> Toy {
    let others = vec![None; toy.nodes as usize - 1];
    toy.properties.extend(states.iter().enumerate().map(|(index, state)| ToyProperty {
        name: format!("marked {index}"),
        kind: PropertyKind::Sometimes,
        scope: PropertyScope::System,
        tuples: vec![[vec![Some(*state)], others.clone()].concat()],
        traps: Vec::new(),
        sees_all: false,
    }));
    toy
}

fn goals(indices: &[u32]) -> Goals {
    Goals::new(indices).expect("few")
}

/// The states of node 0 after each step of a trace but the last one.
fn passed(toy: &Toy, trace: &[TraceStep]) -> Vec<ToyState> {
    let factory = Arc::new(toy.clone());
    let lts = Lts::new(&factory, Scenario::new(toy.nodes)).expect("a toy lists its properties");
    let mut stepper = Stepper::new(&lts).expect("a toy has machines");
    let start = start::initial(&mut stepper).expect("a toy starts").remove(0);
    let mut after = |steps: usize| {
        let there = start::follow_on(&mut stepper, start.clone(), &trace[..steps]).expect("it was found");
        let snapshot = stepper.state(there.locals[0]).protocol.snapshot.clone();
        snapshot.expect("only the last state may have none").words()[1] as ToyState
    };
    (1..trace.len()).map(&mut after).collect()
}

/// Of random systems. A walk may end in a state that it is to avoid, with a finding there.
#[test]
fn no_finding_is_behind_what_is_avoided() {
    let (mut found, mut behind) = (0, 0);
    for seed in 0..240 {
        let toy = marked(Toy::random(seed, 2), &[1, 2, 3]);
        let asked = SearchBounds { violations: Some(u64::MAX), ..bounds(seed, 300) };
        let (_, all) = run(&toy, asked, 1, guided::run);
        // One on the way to a finding, if there is one.
        let state = all.iter().flat_map(|trace| passed(&toy, trace)).find(|state| (1..=3).contains(state)).unwrap_or(1);
        let is_behind = |trace: &Vec<TraceStep>| passed(&toy, trace).contains(&state);
        let avoided = goals(&[state.into()]);
        let (_, kept) = run(&toy, SearchBounds { avoided, ..asked }, 1, guided::run);
        assert!(!kept.iter().any(is_behind), "seed {seed}");
        found += kept.len();
        behind += all.iter().filter(|trace| is_behind(trace)).count();
    }
    assert!(found > 60 && behind > 20, "{found} findings, and {behind} are behind it");
}

/// Of random systems, with goals in any order, also ones that cannot be reached: what is reached is in the reference, each finding is
/// confirmed, and all is the same for four workers.
#[test]
fn what_is_reached_with_goals_is_reachable() {
    let (mut reached, mut found, mut unreachable) = (0, 0, 0);
    for seed in 0..160 {
        let toy = marked(Toy::random(seed, 2), &[1, 2, 3]);
        let Some(truth) = reference::search(&System::new(toy.clone()), None, None, 2_000) else { continue };
        let order = [[1, 2, 3], [3, 1, 2], [2, 3, 2]][seed as usize % 3];
        let asked = SearchBounds { goals: goals(&order), ..bounds(seed, 300) };
        let (report, traces) = run(&toy, asked, 1, guided::run);
        let (of_four, traces_of_four) = run(&toy, asked, 4, guided::run);
        assert_eq!((&report.witnessed, &traces), (&of_four.witnessed, &traces_of_four), "seed {seed}");
        assert_eq!(report.counts.transitions, of_four.counts.transitions, "seed {seed}");
        for (index, is_reached) in (0..).zip(&report.witnessed).filter(|(_, reached)| reached.is_some()) {
            assert!(*is_reached != Some(true) || truth.witnessed.contains(&index), "seed {seed}, property {index}");
            reached += u64::from(*is_reached == Some(true));
            unreachable += u64::from(!truth.witnessed.contains(&index));
        }
        assert!(traces.is_empty() || truth.violation_depth.is_some(), "seed {seed}");
        found += traces.len();
    }
    assert!(
        reached > 50 && found > 20 && unreachable > 20,
        "{reached} reached, {found} found, {unreachable} not there"
    );
}

/// Events in a row after which node 0 is in a forbidden state.
const LENGTH: ToyState = 9;

/// Node 0 that one of four events takes a state further, and the others back to the start; node 1 goes round 60 states that all look
/// different to an archive, so cells are many.
fn crowd() -> Toy {
    const ROUND: ToyState = 60;
    let mut toy = Toy::new(2).forbid(&[Some(LENGTH), None]);
    for state in 0..LENGTH {
        for event in 0..4 {
            let next = if event == (3 * state + 1) % 4 { state + 1 } else { 0 };
            toy = toy.rule(0, state, ToyTrigger::Local(event), next, &[]);
        }
    }
    for state in 0..ROUND {
        toy = toy.forbid(&[Some(200), Some(state)]);
        toy = toy.rule(1, state, ToyTrigger::Local(0), (state + 1) % ROUND, &[]);
    }
    marked(toy, &[3, 6])
}

/// Where goals say the way, walks take fewer steps, alone and as a member of the portfolio.
#[test]
fn goals_lead_to_what_is_behind_them() {
    let toy = crowd();
    let member = |search: &Search<'_>| auto::run_with(search, Turns { shortest: 0, only: Some(Member::Guided) });
    for strategy in [guided::run, member] {
        let steps = |goals: Goals| -> u64 {
            let one = |seed| {
                let (report, _) = run(&toy, SearchBounds { goals, ..bounds(seed, 40_000) }, 1, strategy);
                report.counts.transitions.expect("steps count")
            };
            (0..6).map(one).sum()
        };
        let (with, without) = (steps(goals(&[1, 2])), steps(Goals::default()));
        assert!(with * 3 < without * 2, "{with} steps with goals, and {without} without");
    }
}

/// A goal leads the guided walks of the portfolio and changes no verdict: of random systems, with goals that may be unreachable.
#[test]
fn goals_change_no_verdict_of_the_portfolio() {
    let in_short_turns = |search: &Search<'_>| auto::run_with(search, Turns { shortest: 0, only: None });
    let (mut violated, mut fine) = (0, 0);
    for seed in 0..80 {
        let toy = marked(Toy::random(seed, 2), &[1, 2, 3]);
        let Some(truth) = reference::search(&System::new(toy.clone()), None, None, 2_000) else { continue };
        let asked = SearchBounds { goals: goals(&[3, 1]), walks: None, ..bounds(seed, 1) };
        let (report, traces) = run(&toy, asked, 1, in_short_turns);
        assert_eq!(traces.is_empty(), truth.violation_depth.is_none(), "seed {seed}");
        assert_eq!(report.end == EndCondition::SpaceExhausted, traces.is_empty(), "seed {seed}");
        *if traces.is_empty() { &mut fine } else { &mut violated } += 1;
    }
    assert!(violated > 10 && fine > 10, "{violated} violated, {fine} not");
}
