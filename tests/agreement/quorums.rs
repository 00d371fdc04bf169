//! Quorums by every strategy: the same as the reference on random systems, and counts derived by hand.

use std::sync::Arc;

use host_agreement::reference::{self, System};
use host_agreement::{refinement, toys};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Faults, Network, Scenario};
use host_model::toys::{Toy, ToyTrigger};
use host_model::trace::TraceEvent;
use host_model::trace::start::{self, StartError};
use host_search::kernel::{EndCondition, SearchBounds, SymmetryUse};
use host_search::strategy::{STRATEGIES, bdfs, dpor, unfold};

use crate::faults::{STATES_MAX, check_executions, check_states};

fn with_quorums(seed: u64) -> System {
    System::new(Toy::random(seed, 2 + seed as u32 % 2).with_random_quorums(seed))
}

fn with_resets(seed: u64) -> System {
    let toy = Toy::random(seed, 2 + seed as u32 % 2).with_random_durable(seed).with_random_quorums(seed);
    System { faults: Faults { resets: 1, ..Faults::default() }, ..System::new(toy) }
}

fn with_duplicates(seed: u64) -> System {
    let faults = Faults { duplicates: 1, ..Faults::default() };
    System { network: Network::UnorderedDuplicating, faults, ..with_quorums(seed) }
}

/// The random systems are worth their time: most of those that are tried take messages together.
#[test]
fn random_systems_have_quorums() {
    let reached = (0..200).filter_map(|seed| reference::search(&with_quorums(seed), None, None, STATES_MAX));
    let reached = reached.filter(|reached| reached.global_states > 60);
    let together: Vec<u64> = reached.map(|reached| reached.together).collect();
    let with = together.iter().filter(|count| **count > 0).count();
    assert!(with * 2 > together.len(), "only {with} of {} systems have quorums of several messages", together.len());
}

#[test]
fn quorums_are_explored_exactly() {
    check_states(with_quorums, &[bdfs::explore_reduced], STATES_MAX);
}

#[test]
fn executions_with_quorums_are_explored_once() {
    check_executions(with_quorums);
}

#[test]
fn quorums_with_resets_are_explored_exactly() {
    check_states(with_resets, &[bdfs::explore_reduced], STATES_MAX / 6);
}

#[test]
fn executions_with_quorums_and_resets_are_explored_once() {
    check_executions(with_resets);
}

#[test]
fn quorums_with_duplicates_are_explored_exactly() {
    check_states(with_duplicates, &[bdfs::explore_reduced], STATES_MAX / 6);
}

#[test]
fn executions_with_quorums_and_duplicates_are_explored_once() {
    check_executions(with_duplicates);
}

/// Three nodes send `a` to node 0, which takes two of them together, and none after that.
fn two_of_three() -> Toy {
    let toy = (0..3).fold(Toy::new(3), |toy, from| toy.in_flight(from, 0, 0));
    toy.collect((0, 0), &[0], 2, 1, &[]).hold(0, 1, 0)
}

/// There are 3 sets of two messages, and each leaves another message in flight: 1 + 3 states and 3 edges, and 3 executions.
/// A node that counts to two instead goes through all subsets of at most two messages: 1 + 3 + 3 states, and 3 + 3 * 2 edges.
#[test]
fn two_of_three_messages_are_three_sets() {
    let system = System::new(two_of_three());
    let counts = toys::run(&system, SearchBounds::default(), bdfs::run, false).report.counts;
    assert_eq!((counts.global_states, counts.transitions), (Some(1 + 3), Some(3)));
    let ran = toys::run(&system, SearchBounds::default(), dpor::run, true);
    assert_eq!((ran.report.counts.executions, ran.report.counts.transitions), (Some(3), Some(3)));
    assert_eq!(ran.system_states.len(), 2);
    let ran = toys::run(&system, SearchBounds::default(), unfold::run, true);
    // All three sets lead to the same local state, but to different global ones.
    assert_eq!((ran.report.counts.events, ran.system_states.len()), (Some(3), 2));

    let single = (0..3).fold(Toy::new(3), |toy, from| {
        let toy = toy.in_flight(from, 0, 0).rule(0, 0, ToyTrigger::Message(from, 0), 1, &[]);
        toy.rule(0, 1, ToyTrigger::Message(from, 0), 2, &[]).hold(0, 2, 0)
    });
    let counts = toys::run(&System::new(single), SearchBounds::default(), bdfs::run, false).report.counts;
    assert_eq!((counts.global_states, counts.transitions), (Some(1 + 3 + 3), Some(3 + 3 * 2)));
}

/// A node needs one message of each content of each of two senders; one sender sends both contents twice. Of each sender one
/// message: `a` or `b` of node 0, `a` of node 1: 2 sets. After the first of them nothing is taken any more.
#[test]
fn a_quorum_has_one_message_of_each_sender() {
    let toy = Toy::new(3).in_flight(0, 2, 0).in_flight(0, 2, 0).in_flight(0, 2, 1).in_flight(1, 2, 0);
    let toy = toy.collect((2, 0), &[0, 1], 2, 1, &[]).hold(2, 1, 0).hold(2, 1, 1);
    let counts = toys::run(&System::new(toy), SearchBounds::default(), bdfs::run, false).report.counts;
    assert_eq!((counts.global_states, counts.transitions), (Some(1 + 2), Some(2)));
}

/// A set that the node declines is no event, and the messages stay in flight. The quorum of `a` from the nodes 0 and 1 is
/// declined, and that of `b` taken: the start, and the state after the two `b`, with both `a` in flight.
#[test]
fn a_declined_quorum_does_not_happen() {
    let toy = (0..2).fold(Toy::new(3), |toy, from| toy.in_flight(from, 2, 0).in_flight(from, 2, 1));
    let mut toy = toy.collect((2, 0), &[0], 2, 1, &[]).collect((2, 0), &[1], 2, 1, &[]);
    toy.quorums.insert((2, 0, 0), vec![Vec::new()]);
    let toy = toy.hold(2, 1, 0);
    for row in STRATEGIES.iter().filter(|row| row.is_complete) {
        let ran = toys::run(&System::new(toy.clone()), SearchBounds::default(), row.run, true);
        assert_eq!((ran.report.end, ran.system_states.len()), (EndCondition::SpaceExhausted, 2), "{}", row.name);
    }
    let counts = toys::run(&System::new(toy), SearchBounds::default(), bdfs::run, false).report.counts;
    assert_eq!((counts.global_states, counts.transitions), (Some(2), Some(1)));
}

/// Node 0 either sends `a` to node 2, or has node 1 send `b` there. No execution has both, so the quorum of the two is never
/// there: the start, node 0 after either, and node 1 after it was asked.
#[test]
fn messages_that_exclude_each_other_are_no_quorum() {
    let (a, b) = (0, 1);
    let toy = Toy::new(3).rule(0, 0, ToyTrigger::Local(0), 1, &[(2, a)]).rule(0, 0, ToyTrigger::Local(0), 2, &[(1, 0)]);
    let toy = toy.rule(1, 0, ToyTrigger::Message(0, 0), 1, &[(2, b)]).collect((2, 0), &[a, b], 2, 1, &[]);
    let toy = toy.forbid(&[None, None, Some(1)]);
    for row in STRATEGIES.iter().filter(|row| row.is_complete) {
        let ran = toys::run(&System::new(toy.clone()), SearchBounds::default(), row.run, true);
        assert_eq!((ran.report.end, ran.system_states.len()), (EndCondition::SpaceExhausted, 4), "{}", row.name);
    }
}

/// A quorum is one step of a trace, which names all its messages.
#[test]
fn a_quorum_is_one_step_of_a_trace() {
    let toy = two_of_three().forbid(&[Some(1), None, None]);
    for row in STRATEGIES {
        let ran = toys::run(&System::new(toy.clone()), SearchBounds::default(), row.run, false);
        let [step] = &ran.steps[..] else { panic!("{}: {:?}", row.name, ran.steps) };
        let TraceEvent::Quorum { name, messages } = &step.event else { panic!("{}: {step:?}", row.name) };
        assert_eq!((name.as_str(), messages.len(), step.node), ("0", 2, 0), "{}", row.name);
        assert!(messages[0].from < messages[1].from, "{}", row.name);
    }
}

/// The senders of the messages of `two_of_three` are interchangeable: up to that, 1 + 1 states are left, and a declaration
/// that is wrong about the taken messages is noticed.
#[test]
fn symmetry_sees_quorums() {
    let symmetric = Toy { interchangeable: vec![vec![1, 2]], ..two_of_three() };
    let ran = toys::run(&System::new(symmetric.clone()), SearchBounds::default(), bdfs::explore_reduced, true);
    assert_eq!(ran.report.symmetry, Some(SymmetryUse::Renamings(2)));
    assert_eq!(ran.system_states.len(), 2);
    let mut wrong = Toy { interchangeable: vec![vec![0, 1]], ..two_of_three() };
    wrong.initial.extend((0..3).map(|from| (from, 1, 0)));
    let ran = toys::run(&System::new(wrong), SearchBounds::default(), bdfs::explore_reduced, true);
    assert!(matches!(ran.report.symmetry, Some(SymmetryUse::Refused(_))), "{:?}", ran.report.symmetry);
    assert_eq!(ran.system_states.len(), 2);
}

/// Messages in order come one by one.
#[test]
fn an_ordered_network_has_no_quorums() {
    let factory = Arc::new(two_of_three());
    let scenario = Scenario { network: Network::Ordered, ..Scenario::new(3) };
    let lts = Lts::new(&factory, scenario).expect("a toy lists its properties");
    let mut stepper = Stepper::new(&lts).expect("a toy has machines");
    assert_eq!(start::initial(&mut stepper), Err(StartError::QuorumsInOrder { from: 0, to: 0 }));
}

/// On random systems: the parts are the whole in every state, and no reduction loses an end.
#[test]
#[expect(clippy::print_stdout, reason = "how much the systems have in them is worth a look")]
fn a_split_quorum_is_the_same_transition() {
    let (mut compared, mut with_quorums, mut gains) = (0, 0, [0; 2]);
    for seed in 0..150 {
        let toy = Arc::new(Toy::random(seed, 2 + seed as u32 % 2).with_random_quorums(seed));
        let Some(found) = refinement::compare(&toy, Scenario::new(toy.nodes), 2_000) else { continue };
        compared += 1;
        with_quorums += usize::from(found.quorums > 0);
        gains[0] += usize::from(found.by_outlook[1] < found.by_outlook[0]);
        gains[1] += usize::from(found.by_type[3] < found.by_type[0]);
    }
    assert!(with_quorums * 4 > compared, "only {with_quorums} of {compared} systems have quorums");
    println!("{compared} random systems, {with_quorums} with quorums, {gains:?} with fewer states by a split");
}
