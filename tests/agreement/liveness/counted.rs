//! Systems whose promises are counted by hand.

use std::collections::BTreeSet;

use host_agreement::reference::System;
use host_agreement::reference::promises::{Edge, State};
use host_model::contract::{LocalKind, PropertyScope};
use host_model::scenario::{Faults, Network};
use host_model::toys::{Toy, ToyTrigger};
use host_search::kernel::rules::{Fairness, Recovery, Rules, Timers};
use host_search::kernel::{BreachClass, SearchBounds};
use host_search::liveness::{self, EventClass, FAR};

use super::graphs::{Built, in_order, judge, watch};
use super::toys::record;

/// A client of a lock server: it asks (message 0), is granted the lock (2), and gives it back (1). A request that comes while the lock
/// is held is dropped.
pub fn lock_server() -> System {
    let (ask, release) = (ToyTrigger::Local(0), ToyTrigger::Local(1));
    let toy = Toy::new(2)
        .rule(0, 0, ask, 1, &[(1, 0)])
        .rule(0, 1, ToyTrigger::Message(1, 2), 2, &[])
        .rule(0, 2, release, 0, &[(1, 1)])
        .rule(1, 0, ToyTrigger::Message(0, 0), 1, &[(0, 2)])
        .rule(1, 1, ToyTrigger::Message(0, 1), 0, &[])
        .of_kind(0, LocalKind::Application)
        .of_kind(1, LocalKind::Application)
        .promise("holding", &[&[Some(2), None]]);
    System::new(toy)
}

/// Client idle, waiting, holding; server free, locked; messages in flight: s0 (i,f,-) s1 (w,f,R) s2 (w,l,G) s3 (h,l,-) s4 (i,l,U)
/// s5 (w,l,UR) s6 (w,l,U) s7 (w,f,-). Edges: s0-s1-s2-s3-s4, s4-s0, s4-s5, s5-s1 (the lock is given back first), s5-s6 (the request
/// comes first, and is dropped), s6-s7. From s6 and s7 nothing leads back.
#[test]
fn a_dropped_request_is_the_one_critical_step() {
    let recorded = record(&lock_server(), SearchBounds::default());
    let graph = &recorded.graph;
    assert_eq!((graph.states(), graph.edges()), (8, 9));
    let mut distances = liveness::distances(graph, 0, Recovery::Events, &mut watch()).expect("no stop is requested");
    distances.sort_unstable();
    assert_eq!(distances, [0, 1, 2, 3, 3, 4, FAR, FAR]);
    let verdict = judge(graph, 0, Rules::default());
    assert_eq!((verdict.live_states, verdict.dead_states, verdict.unknown_states), (6, 2, 0));
    assert_eq!((verdict.critical.len(), verdict.critical_edges()), (1, 1));
    let death = verdict.death.expect("there are dead states");
    // The path leads from s0 to s6, and the sibling from s5 by way of s1 and s2 to s3.
    assert_eq!((death.path.len(), death.sibling.len()), (6, 3));
    let event = recorded.event(&death.critical.expect("it is known").first);
    assert_eq!((event.step.node, event.before), (1, event.after), "the server does not react");
    assert!(event.step.trigger.message().is_some(), "a message is delivered");
    // In s7 no event is possible. In s0 none has to happen: no client need ever ask, so a lock server does not promise "holding".
    assert_eq!((verdict.stuck.states, verdict.stop), (2, Some(Vec::new())));
}

/// The lock server with views only of the state in which the client holds the lock. Elsewhere the client has no view, and owes nothing.
/// A promise of both nodes together is evaluated there too, and itself reports that it does not hold.
#[test]
fn a_node_without_a_view_owes_nothing() {
    let kept = |scope, sees_all| {
        let mut system = lock_server();
        let promise = &mut system.toy.properties[0];
        (promise.scope, promise.sees_all) = (scope, sees_all);
        let verdict = judge(&record(&system, SearchBounds::default()).graph, 0, Rules::default());
        (verdict.kept_states, verdict.dead_states, verdict.class())
    };
    // The promise names the state in which the client holds the lock, s3; with a view it is broken elsewhere.
    assert_eq!(kept(PropertyScope::Node, true), (1, 2, Some(BreachClass::Dead)));
    assert_eq!(kept(PropertyScope::Node, false), (8, 0, None), "without a view it is not");
    assert_eq!(kept(PropertyScope::System, true), kept(PropertyScope::System, false));
    assert_eq!(kept(PropertyScope::System, false), (1, 2, Some(BreachClass::Dead)));
}

/// Node 0 takes four steps by calls of the application, or, if it `ends`, another one to a state without events. No state keeps it.
fn steps_to_nothing(ends: bool) -> System {
    let toy = if ends { Toy::new(1).rule(0, 0, ToyTrigger::Local(1), 9, &[]) } else { Toy::new(1) };
    let toy = (0..4).fold(toy, |toy, state| toy.rule(0, state, ToyTrigger::Local(0), state + 1, &[]));
    let toy = toy.of_kind(0, LocalKind::Application).of_kind(1, LocalKind::Application);
    System::new(toy.promise("kept", &[&[Some(8)]]))
}

/// Before the last step is known, the outcome of the start is not: the promise is broken there, since no application need ever call, and
/// that it is dead shows only later. If some state is known to be dead, the start has no other class.
#[test]
fn what_may_be_dead_is_not_stuck_as_well() {
    let found = |ends, depth| {
        let recorded = record(&steps_to_nothing(ends), SearchBounds { depth, ..SearchBounds::default() });
        let verdict = judge(&recorded.graph, 0, Rules::default());
        assert!(verdict.stuck.states > 0 || depth == Some(0));
        (verdict.unknown_states, verdict.dead_states, verdict.class(), verdict.stop.is_some())
    };
    for ends in [false, true] {
        assert_eq!(found(ends, Some(0)), (1, 0, None, false), "nothing is known of the start");
        assert_eq!(found(ends, None), (0, 5 + u64::from(ends), Some(BreachClass::Dead), false));
    }
    for depth in 1..4 {
        let unknown = u64::from(depth) + 1;
        assert_eq!(found(false, Some(depth)), (unknown, 0, Some(BreachClass::Stuck), true), "depth {depth}");
        assert_eq!(found(true, Some(depth)), (unknown, 1, Some(BreachClass::Dead), false), "depth {depth}");
    }
}

/// The variations of a lock server.
#[derive(Clone, Copy, Default)]
struct Lock {
    /// A waiting client asks again, by a timer, and a server grants the lock again to the client that has it.
    retries: bool,
    /// Messages get lost.
    loses: bool,
}

/// The lock server with one client on a network that has each message once at most, by plain enumeration. Its promises: the client
/// holds the lock; the client does not wait.
fn enumerate(lock: Lock) -> Vec<State> {
    // Client, server, and whether request, release, grant are in flight.
    type Content = (u8, u8, [bool; 3]);
    const ACTIONS: [u32; 3] = [0, 1, 2];
    const RETRY: u32 = 3;
    let (request, release, grant) = (0, 1, 2);
    let with = |mut net: [bool; 3], message: usize, is_there: bool| {
        net[message] = is_there;
        net
    };
    let edges = |(client, server, net): Content| {
        let mut edges: Vec<(Content, EventClass, Option<u32>)> = Vec::new();
        if client == 0 {
            edges.push(((1, server, with(net, request, true)), EventClass::Free, None));
        }
        if client == 1 && lock.retries {
            edges.push(((1, server, with(net, request, true)), EventClass::Timer, Some(RETRY)));
        }
        if client == 2 {
            edges.push(((0, server, with(net, release, true)), EventClass::Free, None));
        }
        for message in (0..3).filter(|message| net[*message]) {
            let rest = with(net, message, false);
            let next = match (message, client, server) {
                (0, _, 0) => (client, 1, with(rest, grant, true)),
                (0, _, _) if lock.retries => (client, 1, with(rest, grant, true)),
                (1, _, _) => (client, 0, rest),
                (2, 1, _) => (2, server, rest),
                _ => (client, server, rest),
            };
            edges.push((next, EventClass::Delivery, Some(ACTIONS[message])));
            if lock.loses {
                edges.push(((client, server, rest), EventClass::Loss, None));
            }
        }
        edges
    };
    let mut contents: Vec<Content> = vec![(0, 0, [false; 3])];
    let mut states: Vec<State> = Vec::new();
    while let Some(content) = contents.get(states.len()).copied() {
        let mut state =
            State { is_start: states.is_empty(), owed: vec![content.0 != 2, content.0 == 1], ..State::default() };
        for (next, class, action) in edges(content) {
            let known = contents.iter().position(|other| *other == next);
            let to = known.unwrap_or_else(|| {
                contents.push(next);
                contents.len() - 1
            });
            state.edges.push(Edge { to, class, action, draw: None });
        }
        state.edges.sort();
        state.edges.dedup();
        state.possible = state.edges.iter().filter_map(|edge| edge.action).collect();
        states.push(state);
    }
    in_order(&states)
}

fn built(states: &[State]) -> Built {
    Built::new(states, states.len())
}

/// The same on the toy, whose messages a search loses. Without retries no message is in flight twice, so the network of the
/// enumeration has the same states as the real one.
#[test]
fn a_search_that_loses_messages_finds_what_kills_it() {
    let system = System { faults: Faults { losses: Faults::UNLIMITED, ..Faults::default() }, ..lock_server() };
    let recorded = record(&system, SearchBounds::default());
    assert_eq!((recorded.graph.states(), recorded.graph.edges()), (11, 18));
    let verdict = judge(&recorded.graph, 0, Rules::default());
    assert_eq!((verdict.dead_states, verdict.critical_edges()), (5, 6));
    let is_loss = |edge: &liveness::Edge| recorded.event(edge).step.trigger.lost().is_some();
    let losses = verdict.critical.iter().filter(|kind| is_loss(&kind.first));
    assert_eq!(losses.map(|kind| kind.edges).sum::<u64>(), 5);
    let path = verdict.death.expect("there are dead states").path;
    assert_eq!(path.iter().map(is_loss).collect::<Vec<_>>(), [false, true]);
}

/// In order: node 0 sends `a` and then `b`, node 1 answers `b`, and node 0 sends both again. Once node 1 has `a` it knows.
fn rounds(losses: u32) -> System {
    let (a, b) = (0, 1);
    let mut toy = Toy::new(2).in_flight(0, 1, a).in_flight(0, 1, b).promise("told", &[&[None, Some(1)]]);
    toy = toy.rule(1, 0, ToyTrigger::Message(0, a), 1, &[]).rule(0, 0, ToyTrigger::Message(1, 0), 0, &[(1, a), (1, b)]);
    for state in 0..2 {
        toy = toy.rule(1, state, ToyTrigger::Message(0, b), state, &[(0, 0)]);
    }
    let faults = Faults { losses, ..Faults::default() };
    System { network: Network::Ordered, faults, ..System::new(toy) }
}

/// Node 1 knows or not, and in flight are `a b`, `b`, the answer, or nothing: eight states. In each of the first three, for either state of
/// node 1, the next message arrives or is lost: twelve edges. No edge leaves a state with nothing in flight, so one state is dead.
/// A round in which `a` is lost goes through the three states where node 1 does not know, and `a` is in flight again and again: it is
/// unfair because `a` never arrives, which is possible in one of the three states.
#[test]
fn a_message_that_is_lost_in_each_round_is_delivered_in_some() {
    let recorded = record(&rounds(Faults::UNLIMITED), SearchBounds::default());
    assert_eq!((recorded.graph.states(), recorded.graph.edges()), (8, 12));
    let fair = |fairness| {
        let verdict = judge(&recorded.graph, 0, Rules { fairness, ..Rules::default() });
        assert_eq!((verdict.dead_states, verdict.stuck.states), (1, 1));
        verdict.fair_components
    };
    assert_eq!(fair(Fairness::None), 1);
    assert_eq!(fair(Fairness::Stable), 0);
    assert_eq!(fair(Fairness::FairLossy), 0);
    // A limit on losses excludes such rounds under any rules: each loss is counted.
    let limited = record(&rounds(1), SearchBounds::default());
    for fairness in [Fairness::None, Fairness::Stable, Fairness::FairLossy] {
        let verdict = judge(&limited.graph, 0, Rules { fairness, ..Rules::default() });
        assert_eq!(verdict.fair_components, 0, "{fairness:?}");
    }
}

/// In order: `a`, `b` and `c` again and again, and node 1 needs `a` and `b` of the same round. Each of them arrives again and again, and
/// is lost again and again: that is fair, but not where losses end.
#[test]
fn losses_can_take_turns_for_ever() {
    let (a, b, c) = (0, 1, 2);
    let all = [(1, a), (1, b), (1, c)];
    let on = |content| ToyTrigger::Message(0, content);
    let mut toy = Toy::new(2).in_flight(0, 1, a).in_flight(0, 1, b).in_flight(0, 1, c);
    toy = toy.rule(1, 0, on(a), 1, &[]).rule(1, 1, on(b), 2, &[]).rule(0, 0, ToyTrigger::Message(1, 0), 0, &all);
    for state in 0..3 {
        toy = toy.rule(1, state, on(c), 0, &[(0, 0)]);
    }
    let toy = toy.promise("both", &[&[None, Some(2)]]);
    let faults = Faults { losses: Faults::UNLIMITED, ..Faults::default() };
    let system = System { network: Network::Ordered, faults, ..System::new(toy) };
    let recorded = record(&system, SearchBounds::default());
    let of = |fairness| judge(&recorded.graph, 0, Rules { fairness, ..Rules::default() });
    assert_eq!(of(Fairness::Stable).fair_components, 0);
    let lossy = of(Fairness::FairLossy);
    let cycle = lossy.lasso.expect("it is fair").cycle;
    let events: Vec<_> = cycle.iter().map(|edge| recorded.event(edge).step.trigger).collect();
    let lost: BTreeSet<_> = events.iter().filter_map(|trigger| trigger.lost()).collect();
    let taken: BTreeSet<_> = events.iter().filter_map(|trigger| trigger.message()).collect();
    assert_eq!((lost.len(), taken.len()), (2, 4), "a and b are lost and taken, c and the answer are taken: {events:?}");
    assert!(lost.is_subset(&taken));
}

#[test]
fn lost_messages_kill_it_too() {
    let without = built(&enumerate(Lock::default()));
    assert_eq!((without.graph.states(), without.graph.edges()), (8, 9), "as the toy");
    let states = enumerate(Lock { loses: true, ..Lock::default() });
    let built = built(&states);
    // The eight states, and (i,l,-), (w,l,R), (w,l,-), where the release was lost, and their successors.
    assert_eq!((built.graph.states(), built.graph.edges()), (11, 18));
    let verdict = built.judge(0, Rules::default());
    assert_eq!((verdict.dead_states, verdict.critical_edges()), (5, 6));
    let losses = verdict.critical.iter().filter(|kind| built.graph.class(kind.first.label) == EventClass::Loss);
    assert_eq!(losses.map(|kind| kind.edges).sum::<u64>(), 5);
    // The client asks, and the request is lost.
    assert_eq!(verdict.death.expect("there are dead states").path.len(), 2);
}

#[test]
fn retries_live_through_losses() {
    let states = enumerate(Lock { retries: true, loses: true });
    let built = built(&states);
    assert_eq!((built.graph.states(), built.graph.edges()), (39, 139));
    let fair = |fairness| {
        let verdict = built.judge(1, Rules { fairness, ..Rules::default() });
        assert_eq!(verdict.dead_states, 0);
        verdict.fair_components
    };
    // The client waits. A request in flight can be lost and sent again. A grant can be lost and sent again while the server is locked,
    // and only be lost while it is free; a release can only be lost or delivered. So the components are: locked, with and without a
    // release; free, with and without a release, with and without a grant.
    assert_eq!(fair(Fairness::None), 6);
    assert_eq!([Fairness::Stable, Fairness::FairLossy].map(fair), [0, 0]);
}

/// One rung up, or back to the ground: the top is reached from everywhere, by as many events as there are rungs, so a search that keeps
/// its states needs one per rung, where a random walk needs 2^21 - 2 steps on average.
#[test]
fn a_ladder_is_climbed_by_its_rungs() {
    let mut toy = Toy::new(1).of_kind(0, LocalKind::Internal).of_kind(1, LocalKind::Application);
    for rung in 0..20 {
        toy = toy.rule(0, rung, ToyTrigger::Local(0), rung + 1, &[]).rule(0, rung, ToyTrigger::Local(1), 0, &[]);
    }
    let recorded = record(&System::new(toy.promise("top", &[&[Some(20)]])), SearchBounds::default());
    assert_eq!(recorded.graph.states(), 21);
    let distances =
        liveness::distances(&recorded.graph, 0, Recovery::Events, &mut watch()).expect("no stop is requested");
    assert_eq!(distances, (0..=20).rev().collect::<Vec<u32>>());
    let verdict = judge(&recorded.graph, 0, Rules::default());
    assert_eq!((verdict.live_states, verdict.dead_states), (21, 0));
    // Up and back again is fair: the application may call for ever.
    assert_eq!(verdict.lasso.expect("it never gets there").cycle.len(), 2);
}

/// A timer fires for ever while a message that would keep the promise stays in flight: only without fairness.
#[test]
fn a_message_does_not_stay_in_flight_for_ever() {
    let toy = Toy::new(1)
        .in_flight(0, 0, 0)
        .rule(0, 0, ToyTrigger::Local(0), 0, &[])
        .rule(0, 0, ToyTrigger::Message(0, 0), 1, &[])
        .of_kind(0, LocalKind::Timer)
        .promise("delivered", &[&[Some(1)]]);
    let recorded = record(&System::new(toy), SearchBounds::default());
    for (fairness, lassos) in [(Fairness::None, 1), (Fairness::Stable, 0), (Fairness::FairLossy, 0)] {
        let verdict = judge(&recorded.graph, 0, Rules { fairness, ..Rules::default() });
        assert_eq!((verdict.fair_components, verdict.dead_states), (lassos, 0), "{fairness:?}");
    }
}

/// Two proposers and an acceptor; ballots only name the last proposer: prepare (0), promise (1), accept (2), rejection (3), news of the
/// choice (4). A proposer begins by a timer (state 0), waits for the promise (1), then for the answer to its proposal (2), and begins
/// again when it is rejected. The acceptor has promised nothing (0), promised to one of them (1, 2), or accepted (3).
pub fn duelling_proposers() -> System {
    let mut toy = Toy::new(3).of_kind(0, LocalKind::Timer).promise("chosen", &[&[None, None, Some(3)]]);
    for proposer in 0..2 {
        let message = |content| ToyTrigger::Message(2, content);
        toy = toy
            .rule(proposer, 0, ToyTrigger::Local(0), 1, &[(2, 0)])
            .rule(proposer, 1, message(1), 2, &[(2, 2)])
            .rule(proposer, 2, message(3), 0, &[]);
        for state in 0..3 {
            toy = toy.rule(proposer, state, message(4), 3, &[]);
        }
        let (prepare, accept) = (ToyTrigger::Message(proposer, 0), ToyTrigger::Message(proposer, 2));
        for promised in 0..3_u8 {
            toy = toy.rule(2, promised, prepare, 1 + proposer as u8, &[(proposer, 1)]);
            toy = match promised == 1 + proposer as u8 {
                true => toy.rule(2, promised, accept, 3, &[(proposer, 4)]),
                false => toy.rule(2, promised, accept, promised, &[(proposer, 3)]),
            };
        }
        toy = toy.rule(2, 3, prepare, 3, &[(proposer, 4)]).rule(2, 3, accept, 3, &[(proposer, 4)]);
    }
    System::new(toy)
}

/// Each prepares again before the other's proposal arrives: fair, as consensus has to be (Fischer, Lynch, Paterson 1985). If timers wait
/// until nothing can be delivered, one proposer is alone: prepare, promise, accept.
#[test]
fn proposers_duel_unless_timers_are_late() {
    let recorded = record(&duelling_proposers(), SearchBounds::default());
    let of = |timers| judge(&recorded.graph, 0, Rules { timers, ..Rules::default() });
    let (free, late) = (of(Timers::Free), of(Timers::Late));
    assert_eq!((free.dead_states, late.dead_states), (0, 0));
    assert!(late.lasso.is_none() && late.fair_components == 0);
    let lasso = free.lasso.expect("they duel");
    let duellers: BTreeSet<u32> = lasso.cycle.iter().map(|edge| recorded.event(edge).step.node).collect();
    assert_eq!(duellers.into_iter().collect::<Vec<_>>(), [0, 1, 2], "all take part");
    // Each of the two prepares, gets its promise, proposes and is rejected: a timer and four deliveries each.
    assert_eq!(lasso.cycle.len(), 10);
}
