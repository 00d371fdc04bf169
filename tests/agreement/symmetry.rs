//! Node symmetry: the same verdicts and system states with and without it, on random symmetric systems, and refused declarations.

use std::collections::BTreeSet;

use host_agreement::effort;
use host_agreement::reference::{self, Reached, System};
use host_agreement::toys;
use host_model::contract::NodeId;
use host_model::scenario::Faults;
use host_model::toys::{self as model, Toy, ToyState, ToyTrigger};
use host_search::kernel::{SearchBounds, SymmetryUse};
use host_search::strategy::bdfs;

use crate::global::{STATES_MAX, for_random_systems, run, systems, unconstrained};

/// Random systems that are the same under renamings of nodes 1, 2 (and 3), from seed 0 on, and the states that the reference reaches.
fn for_symmetric_systems(nodes: u32, resets: u32, bounds: SearchBounds, mut check: impl FnMut(u64, &System, &Reached)) {
    let mut tried = 0;
    for seed in 0.. {
        let system = System {
            faults: Faults { resets, ..Faults::default() },
            ..System::new(Toy::random_symmetric(seed, nodes))
        };
        if let Some(reached) = reference::search(&system, bounds.depth, bounds.local_events, STATES_MAX)
            && reached.global_states > 60
        {
            check(seed, &system, &reached);
            tried += 1;
        }
        if tried == systems() / 8 {
            return;
        }
    }
}

/// Up to renamings, everything is reached; and symmetry leaves out global states that the other reductions keep.
#[test]
fn symmetry_reaches_what_the_reference_reaches() {
    for (nodes, renamings) in [(3, 2), (4, 6)] {
        let (mut each, mut kept, mut violated) = (0, 0, 0);
        for_symmetric_systems(nodes, 0, SearchBounds::default(), |seed, System { toy, .. }, reached| {
            let declared = Toy { forbidden: Vec::new(), ..toy.clone() };
            let (report, states) = run(&declared, SearchBounds::default(), bdfs::explore_reduced);
            assert_eq!(report.symmetry, Some(SymmetryUse::Renamings(renamings)), "seed {seed}");
            assert_eq!(states, reached.system_states, "seed {seed}");
            kept += report.counts.global_states.expect("it counts them");
            let bounds = SearchBounds { no_symmetry: true, ..SearchBounds::default() };
            let (report, states) = run(&declared, bounds, bdfs::explore_reduced);
            assert_eq!((report.symmetry, states), (None, reached.system_states.clone()), "seed {seed}");
            each += report.counts.global_states.expect("it counts them");
            let (report, _) = run(toy, SearchBounds::default(), bdfs::explore_reduced);
            assert_eq!(report.violations.is_empty(), reached.violation_depth.is_none(), "seed {seed}");
            assert_eq!(report.symmetry, Some(SymmetryUse::Renamings(renamings)), "seed {seed}");
            violated += u64::from(reached.violation_depth.is_some());
        });
        assert!(kept * 4 < each * 3, "{kept} of {each} global states are left: the test says little");
        effort::telling(
            violated >= effort::enough(10),
            format_args!("only {violated} systems have a reachable violation: the test says little"),
        );
    }
}

/// With all violations wanted, each finding of the reference is found in some renaming, and each finding exists.
#[test]
fn symmetry_finds_every_violation_up_to_renaming() {
    for nodes in [3, 4] {
        let (mut several, mut left_out) = (0, 0);
        for_symmetric_systems(nodes, 0, SearchBounds::default(), |seed, system, reached| {
            let bounds = SearchBounds { reduce: true, violations: Some(u64::MAX), ..SearchBounds::default() };
            let ran = toys::run(system, bounds, bdfs::run, false);
            assert!(matches!(ran.report.symmetry, Some(SymmetryUse::Renamings(_))), "seed {seed}");
            let found: BTreeSet<String> = toys::findings(&ran.report).into_keys().map(|(_, words)| words).collect();
            let renamings = model::permutations(1..nodes);
            let image = |views: &[ToyState], renaming: &Vec<NodeId>| {
                let mut image = views.to_vec();
                for (node, view) in views.iter().enumerate() {
                    // A state that no tuple names contains no node's name.
                    let view = if *view == ToyState::MAX { *view } else { model::renamed(*view, renaming) };
                    image[renaming[node] as usize] = view;
                }
                model::forbidden_words(&image)
            };
            let renamed =
                |views: &[ToyState]| renamings.iter().map(|it| image(views, it)).collect::<BTreeSet<String>>();
            let there: BTreeSet<String> =
                reached.violations.keys().map(|views| model::forbidden_words(views)).collect();
            assert!(found.is_subset(&there), "seed {seed}: {found:?} of {there:?}");
            for views in reached.violations.keys() {
                assert!(!renamed(views).is_disjoint(&found), "seed {seed}: no renaming of {views:?} in {found:?}");
            }
            several += u64::from(there.len() > 1);
            left_out += (there.len() - found.len()) as u64;
        });
        effort::telling(
            several >= effort::enough(10) && left_out >= effort::enough(4),
            format_args!("{several} systems with several violations, {left_out} left out"),
        );
    }
}

/// A budget belongs to a node, and is renamed with it.
#[test]
fn symmetry_under_a_bound_on_local_events() {
    let bounds = SearchBounds { local_events: Some(1), ..SearchBounds::default() };
    for_symmetric_systems(3, 0, bounds, |seed, System { toy, .. }, reached| {
        let (report, states) = run(&unconstrained(toy), bounds, bdfs::explore_reduced);
        assert_eq!(report.symmetry, Some(SymmetryUse::Renamings(2)), "seed {seed}");
        assert_eq!(states, reached.system_states, "seed {seed}");
    });
}

/// A reset happens at every node in the same way: each of these loses everything. Its budget belongs to the local state.
#[test]
fn symmetry_under_resets() {
    for_symmetric_systems(3, 1, SearchBounds::default(), |seed, system, reached| {
        let free = System { toy: unconstrained(&system.toy), ..system.clone() };
        let ran = toys::run(&free, SearchBounds::default(), bdfs::explore_reduced, true);
        assert_eq!(ran.report.symmetry, Some(SymmetryUse::Renamings(2)), "seed {seed}");
        assert_eq!(ran.system_states, reached.system_states, "seed {seed}");
        let ran = toys::run(system, SearchBounds::default(), bdfs::explore_reduced, false);
        assert_eq!(ran.confirmed.is_some(), reached.violation_depth.is_some(), "seed {seed}");
    });
}

/// Systems where a message is known to matter in a local state before a step leads there from one where it was never in
/// flight; later it is, and must not be taken for dead. They were found among 10,000 random ones.
#[test]
fn what_is_known_of_a_following_state_is_not_forgotten() {
    for (seed, local_events) in [(9_735, None), (5_421, Some(1))] {
        let system = System::new(unconstrained(&Toy::random_symmetric(seed, 3)));
        let reached = reference::search(&system, None, local_events, STATES_MAX).expect("it is small");
        for no_symmetry in [false, true] {
            let bounds = SearchBounds { local_events, no_symmetry, ..SearchBounds::default() };
            let ran = toys::run(&system, bounds, bdfs::explore_reduced, true);
            assert_eq!(ran.system_states, reached.system_states, "seed {seed}, {no_symmetry}");
        }
    }
}

/// The canary: systems without symmetry that declare it. Nothing is missed, since the search notices.
#[test]
fn a_false_declaration_is_refused() {
    let (mut refused, mut used) = (0, 0);
    for_random_systems(SearchBounds::default(), |seed, toy, reached| {
        let toy = Toy { interchangeable: vec![vec![0, 1, 2]], ..unconstrained(toy) };
        let (report, states) = run(&toy, SearchBounds::default(), bdfs::explore_reduced);
        assert_eq!(states, reached.system_states, "seed {seed}");
        match report.symmetry {
            Some(SymmetryUse::Refused(_)) => refused += 1,
            _ => used += 1,
        }
    });
    assert!(refused > 10 * used, "{refused} refused, {used} not");
}

/// A property that names one of the nodes is reported by its name, and violated nevertheless: only at node 2, when node 1
/// is taken for it.
#[test]
fn a_property_that_tells_nodes_apart_is_refused() {
    let toy = Toy::new(3).rule(1, 0, ToyTrigger::Local(0), 1, &[]).rule(2, 0, ToyTrigger::Local(0), 1, &[]);
    let toy = Toy { interchangeable: vec![vec![1, 2]], ..toy.forbid(&[None, Some(0), Some(1)]) };
    let (report, _) = run(&toy, SearchBounds::default(), bdfs::explore_reduced);
    assert_eq!(report.violations.len(), 1);
    let why = "the property `forbidden` tells them apart".to_owned();
    assert_eq!(report.symmetry, Some(SymmetryUse::Refused(why)));
}

/// Each of N nodes counts to 2 by local events and nothing is sent: 3^N global states, and up to renaming as many as there
/// are ways to distribute N nodes over 3 states: (N + 1) (N + 2) / 2.
#[test]
fn symmetry_counts_orbits() {
    for nodes in 1..=5_u32 {
        let mut toy = Toy { interchangeable: vec![(0..nodes).collect()], ..Toy::new(nodes) };
        for node in 0..nodes {
            toy = toy.rule(node, 0, ToyTrigger::Local(0), 1, &[]).rule(node, 1, ToyTrigger::Local(0), 2, &[]);
        }
        let states = |no_symmetry| {
            let (report, states) =
                run(&toy, SearchBounds { no_symmetry, ..SearchBounds::default() }, bdfs::explore_reduced);
            assert_eq!(states.len(), 3_usize.pow(nodes));
            report.counts.global_states
        };
        assert_eq!(states(true), Some(3_u64.pow(nodes)));
        assert_eq!(states(false), Some(u64::from((nodes + 1) * (nodes + 2) / 2)));
    }
}
