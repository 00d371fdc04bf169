//! Properties of every kind and scope, distinguished from each other.

use std::collections::BTreeSet;
use std::sync::Arc;

use host_agreement::effort;
use host_agreement::reference::{self, Reached, System};
use host_agreement::toys;
use host_model::contract::{PropertyKind, PropertyScope, Selected};
use host_model::toys::{Feature, Toy, ToyProperty};
use host_model::trace::replay::Replay;
use host_model::trace::{Finding, Origin};
use host_search::kernel::{EndCondition, SearchBounds};
use host_search::strategy::{Bound, STRATEGIES};

/// The maximum number of global states: executions are explored as well.
const STATES_MAX: usize = 60;

/// A random system with further properties, including some that trap.
fn random(seed: u64) -> Toy {
    let toy = Toy::random(seed, 2).with_random(Feature::Properties, seed, false);
    if seed.is_multiple_of(3) { toy.with_random(Feature::Broken, seed, false) } else { toy }
}

/// The toy without the properties that have no index here; that of the forbidden tuples has index 0, and stays without any.
fn restricted(toy: &Toy, indices: &[u32]) -> Toy {
    let mut toy = toy.clone();
    if !indices.contains(&0) {
        toy.forbidden.clear();
    }
    let mut index = 0;
    toy.properties.retain(|_| {
        index += 1;
        indices.contains(&index)
    });
    toy
}

fn reached(toy: &Toy) -> Option<Reached> {
    reference::search(&System::new(toy.clone()), None, None, STATES_MAX)
}

/// Every strategy, on machines that show some of the properties, has the reference's findings of these and no finding of the others.
#[test]
fn what_is_judged_is_found_and_nothing_else() {
    let (mut left_out, mut kept) = (0, 0);
    for seed in 0..effort::systems(60) {
        let toy = random(seed);
        let all: Vec<u32> = (0..=toy.properties.len() as u32).collect();
        let indices: Vec<u32> = all.iter().copied().filter(|index| (seed >> 1 >> index) & 1 == 1).collect();
        let (Some(expected), Some(whole)) = (reached(&restricted(&toy, &indices)), reached(&toy)) else { continue };
        let words: BTreeSet<_> = expected.findings(toy.nodes, false).into_keys().collect();
        left_out += whole.findings(toy.nodes, false).len() - words.len();
        kept += words.len();
        let goals: BTreeSet<u32> = whole.witnessed.iter().copied().filter(|index| indices.contains(index)).collect();
        let system = System::new(toy);
        let machines = Selected::new(Arc::new(Arc::new(system.toy.clone())), indices.clone());
        let reduced = STRATEGIES.iter().filter(|row| row.honours.contains(&Bound::Reduce));
        for (row, reduce) in STRATEGIES.iter().map(|row| (row, false)).chain(reduced.map(|row| (row, true))) {
            // More than a system of this size has.
            let bounds = SearchBounds { violations: Some(10_000), reduce, ..SearchBounds::default() };
            let ran = toys::run_machines(&machines, system.scenario(), &[], bounds, (row.run, false));
            let what = format!("seed {seed}, {}, {reduce}, {indices:?}", row.name);
            let found: BTreeSet<_> = toys::findings(&ran.report).into_keys().collect();
            let witnessed = indices.iter().zip(&ran.report.witnessed).filter(|(_, reached)| **reached == Some(true));
            let witnessed: BTreeSet<u32> = witnessed.map(|(index, _)| *index).collect();
            assert!(found.is_subset(&words) && witnessed.is_subset(&goals), "{what}: {found:?} of {words:?}");
            if row.is_complete {
                assert_eq!(ran.report.end, EndCondition::SpaceExhausted, "{what}");
                assert_eq!((found, witnessed), (words.clone(), goals.clone()), "{what}");
            }
        }
    }
    assert!(left_out > 0 && kept > 0, "{left_out} findings are left out, {kept} are not");
}

/// Every complete strategy finds a path to where a `sometimes` property holds exactly where the reference reaches it, as a violation of
/// its negation; and at the end of the path the property holds.
#[test]
fn a_violation_of_the_negation_is_a_witness() {
    let (mut reachable, mut unreachable) = (0, 0);
    for seed in 0..effort::systems(60) {
        let toy = random(seed);
        let Some(whole) = reached(&toy) else { continue };
        let goals =
            (1..).zip(&toy.properties).filter(|(_, it)| it.kind == PropertyKind::Sometimes && it.traps.is_empty());
        for (index, property) in goals {
            let system = System::new(toy.clone());
            let plain = Arc::new(toy.clone());
            let machines = Selected::negating(Arc::new(Arc::clone(&plain)), index);
            let is_reached = whole.witnessed.contains(&index);
            *(if is_reached { &mut reachable } else { &mut unreachable }) += 1;
            for row in STRATEGIES.iter().filter(|row| row.is_complete) {
                let ran =
                    toys::run_machines(&machines, system.scenario(), &[], SearchBounds::default(), (row.run, false));
                let what = format!("seed {seed}, {}, {}", row.name, property.name);
                assert_eq!(!ran.report.violations.is_empty(), is_reached, "{what}: {:?}", ran.report.violations);
                if !is_reached {
                    continue;
                }
                let origin = Origin::Init(Vec::new());
                let (mut replay, _) = Replay::new(&plain, &system.scenario(), &origin).expect("a toy starts");
                ran.steps.iter().for_each(|step| drop(replay.step(step).expect("the path replays")));
                let holds = |(_, finding): &(_, Finding)| matches!(finding, Finding::Property { name, .. } if *name == property.name);
                assert!(replay.judged().expect("it can be evaluated").iter().any(holds), "{what}");
            }
        }
    }
    let is_telling = reachable > 0 && unreachable > 0;
    assert!(is_telling, "{reachable} goals are reachable, {unreachable} are not");
}

/// In the start state one property is violated and the evaluation of another one traps. A replay confirms each: the trap does not affect
/// the other property.
#[test]
fn a_violation_is_confirmed_despite_a_property_that_cannot_be_evaluated() {
    let property = |name: &str, tuples: &[Vec<Option<u8>>], traps: &[Vec<Option<u8>>]| ToyProperty {
        name: name.to_owned(),
        kind: PropertyKind::Always,
        scope: PropertyScope::Node,
        tuples: tuples.to_vec(),
        traps: traps.to_vec(),
        sees_all: false,
    };
    let states = [vec![Some(0)]];
    let toy =
        Toy { properties: vec![property("trapping", &[], &states), property("violated", &states, &[])], ..Toy::new(1) };
    for row in STRATEGIES {
        let ran = toys::run(&System::new(toy.clone()), SearchBounds::default(), row.run, false);
        let confirmed = ran.confirmed.expect("the start state is bad");
        let is_trap = |finding: &Finding| matches!(finding, Finding::Broken { property, .. } if property == "trapping");
        let is_violated = |finding: &Finding| matches!(finding, Finding::Property { name, .. } if name == "violated");
        assert!(confirmed.iter().any(is_trap) && confirmed.iter().any(is_violated), "{}: {confirmed:?}", row.name);
    }
}
