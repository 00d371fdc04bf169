//! Predictions, filters and their safety, against naive references.
//!
//! | module | what it holds |
//! |---|---|
//! | `breaks` | connections that break in place of messages, derived by hand |
//! | `effort` | the effort of a round besides its counts |
//! | `foresee` | looking ahead from an event whose effects are held, against the reference |
//! | `promises` | predictions of dead states, against the reference |
//! | `stopped` | rounds that are stopped at any poll |

mod breaks;
mod effort;
mod foresee;
mod promises;
mod stopped;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use host_model::contract::fingerprint::of_local_state;
use host_model::contract::{LocalEvent, LocalKind, NodeId};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Network, Scenario};
use host_model::toys::{Dice, Toy, ToyOutcome, ToyState, ToyTrigger};
use host_model::trace::{self, Beginning, Flight, Hex, NodeState, Origin, start};
use host_search::kernel::rules::Rules;

use super::{CheckError, Checker, Limits, Prediction, Reach, Round, Steering, Unsafe};
use crate::filter::{FILTERS_MAX, FilterTable, Pattern, Quota};
use crate::gate::{Cause, Event};
use crate::kinds::Kinds;
use crate::time::Time;

/// A global state of a toy: local states, and messages in flight with their numbers.
type Global = (Vec<ToyState>, BTreeMap<(NodeId, NodeId, u8), u32>);

/// The maximum number of global states that the reference explores.
const GLOBAL_MAX: usize = 4_000;

fn local_event(toy: &Toy, name: u8) -> LocalEvent {
    LocalEvent { name: format!("local{name}"), kind: toy.kind(name), payload: vec![name] }
}

/// Whether one of these filters of node 0 matches an event of a node in a state.
fn is_filtered(toy: &Toy, patterns: &BTreeSet<Pattern>, (node, state): (NodeId, ToyState), on: ToyTrigger) -> bool {
    let fingerprint = of_local_state(node, &[state]);
    let matches = |cause| {
        patterns.iter().any(|it| it.matches(&Event { state: fingerprint, cause, may_break: false }, &Kinds::default()))
    };
    node == 0
        && match on {
            ToyTrigger::Message(from, content) => {
                matches(Cause::Message { from, network: Network::Unordered, payload: &[content] })
            }
            ToyTrigger::Local(name) => matches(Cause::Local(&local_event(toy, name))),
            ToyTrigger::Error(_) => false,
        }
}

/// All steps from a global state, by the table of the toy alone: node, trigger and next state. A filtered message is lost, and a filtered
/// local event does not happen.
fn successors(toy: &Toy, at: &Global, patterns: &BTreeSet<Pattern>) -> Vec<(NodeId, ToyTrigger, Global)> {
    let mut found = Vec::new();
    let mut add = |node: NodeId, on: ToyTrigger, taken: Option<(NodeId, NodeId, u8)>| {
        let state = at.0[node as usize];
        let is_filtered = is_filtered(toy, patterns, (node, state), on);
        let outcomes = match is_filtered {
            true if taken.is_none() => return,
            true => vec![ToyOutcome::Go(state, Vec::new())],
            false => toy.outcomes(node, state, on),
        };
        for outcome in outcomes {
            let ToyOutcome::Go(next, sent) = outcome else { panic!("no toy here traps") };
            let mut global = at.clone();
            global.0[node as usize] = next;
            if let Some(message) = taken {
                let count = global.1.get_mut(&message).expect("it is in flight");
                *count -= 1;
                if *count == 0 {
                    global.1.remove(&message);
                }
            }
            sent.iter().for_each(|(to, content)| *global.1.entry((node, *to, *content)).or_default() += 1);
            found.push((node, on, global));
        }
    };
    for message in at.1.keys() {
        let (from, to, content) = *message;
        add(to, ToyTrigger::Message(from, content), Some(*message));
    }
    for (node, state) in (0..).zip(&at.0) {
        for name in toy.local_events(node, *state) {
            add(node, ToyTrigger::Local(name), None);
        }
    }
    found
}

/// The result of the reference.
struct Reached {
    all: BTreeSet<Global>,
    /// The exact patterns of all events of node 0.
    patterns: BTreeSet<Pattern>,
}

/// All reachable global states; none if there are too many.
fn reach(toy: &Toy, from: &Global, patterns: &BTreeSet<Pattern>) -> Option<Reached> {
    let mut reached = Reached { all: BTreeSet::from([from.clone()]), patterns: BTreeSet::new() };
    let mut left = vec![from.clone()];
    while let Some(at) = left.pop() {
        for (node, on, next) in successors(toy, &at, patterns) {
            let state = of_local_state(node, &[at.0[node as usize]]);
            let pattern = match on {
                ToyTrigger::Message(from, content) => {
                    let cause = Cause::Message { from, network: Network::Unordered, payload: &[content] };
                    Pattern::of(&Event { state, cause, may_break: false })
                }
                ToyTrigger::Local(name) => {
                    let cause = Cause::Local(&local_event(toy, name));
                    Pattern::of(&Event { state, cause, may_break: false })
                }
                ToyTrigger::Error(_) => None,
            };
            reached.patterns.extend(pattern.filter(|_| node == 0));
            if reached.all.insert(next.clone()) {
                left.push(next);
            }
        }
        if reached.all.len() > GLOBAL_MAX {
            return None;
        }
    }
    Some(reached)
}

fn is_violated(toy: &Toy, reached: &Reached) -> bool {
    reached.all.iter().any(|(states, _)| toy.is_forbidden(states))
}

/// Whether the toy has a promise and it holds in none of these states.
fn is_dead(toy: &Toy, reached: &Reached) -> bool {
    let Some(promise) = toy.properties.first() else { return false };
    let is_kept = |states: &[ToyState]| {
        let matches = |tuple: &Vec<Option<ToyState>>| {
            tuple.iter().zip(states).all(|(named, state)| named.is_none_or(|named| named == *state))
        };
        promise.tuples.iter().any(matches)
    };
    !reached.all.iter().any(|(states, _)| is_kept(states))
}

fn beginning_of((states, in_flight): &Global) -> Arc<Beginning> {
    let state = |(node, state): (NodeId, &ToyState)| NodeState {
        node,
        exported: Hex(vec![node as u8, *state]),
        fault_state: Default::default(),
    };
    let flight = |((from, to, content), count): (&(NodeId, NodeId, u8), &u32)| {
        let flight = Flight { from: *from, to: *to, payload: Hex(vec![*content]), incarnation: 0, notice: false };
        vec![flight; *count as usize]
    };
    let states = (0..).zip(states).map(state).collect();
    Arc::new(Beginning { states, in_flight: in_flight.iter().flat_map(flight).collect() })
}

/// Limits sufficient for all states that the reference explores.
fn limits(promises: bool) -> Limits {
    Limits { events_max: 200_000, promises: promises.then(Rules::default), ..Limits::default() }
}

/// Toys of two nodes whose local events can be filtered, some with a promise, each with a start state a few steps after the first one.
fn cases(count: u64) -> Vec<(Toy, Global)> {
    let mut cases = Vec::new();
    for seed in 0.. {
        let mut dice = Dice(seed);
        let mut toy = Toy::random(seed, 2).of_kind(0, LocalKind::Timer).of_kind(1, LocalKind::Application);
        if dice.below(2) == 0 {
            let state = |dice: &mut Dice| (dice.below(2) == 0).then(|| dice.below(4) as ToyState);
            let tuple = [Some(dice.below(4) as ToyState), state(&mut dice)];
            toy = toy.promise("arrives", &[&tuple]);
        }
        let mut at: Global = (vec![0; 2], BTreeMap::new());
        toy.initial.iter().for_each(|message| *at.1.entry(*message).or_default() += 1);
        for _ in 0..dice.below(4) {
            let next = successors(&toy, &at, &BTreeSet::new());
            if !next.is_empty() {
                at = next[dice.below(next.len() as u32) as usize].2.clone();
            }
        }
        let is_small = reach(&toy, &at, &BTreeSet::new()).is_some();
        if is_small && !toy.is_forbidden(&at.0) {
            cases.push((toy, at));
        }
        if cases.len() as u64 == count {
            return cases;
        }
    }
    unreachable!("there are toys without end")
}

/// A violation is predicted exactly if one is reachable, and each prediction replays from the states in which it begins.
#[test]
fn predictions_are_exactly_the_reachable_violations_and_replay() {
    let (mut predicted, mut quiet, mut known) = (0, 0, 0);
    for (toy, at) in cases(400) {
        let (factory, scenario) = (Arc::new(toy.clone()), Scenario::new(2));
        let mut checker = Checker::new(&factory, scenario.clone(), limits(false)).expect("it is native");
        let round = checker.round(&beginning_of(&at)).expect("it is a state of the toy");
        let reached = reach(&toy, &at, &BTreeSet::new()).expect("it is small");
        assert_eq!(!round.predictions.is_empty(), is_violated(&toy, &reached));
        let again = checker.round(&beginning_of(&at)).expect("it is a state of the toy");
        assert_eq!(again.predictions.is_empty(), round.predictions.is_empty());
        known += u32::from(again.is_known);
        for prediction in round.predictions.iter().chain(&again.predictions) {
            let origin = Origin::States(Arc::clone(&round.beginning));
            trace::confirm(&factory, &scenario, &origin, &prediction.steps, &prediction.finding).expect("it replays");
        }
        predicted += u32::from(!round.predictions.is_empty());
        quiet += u32::from(round.predictions.is_empty());
    }
    assert!(predicted > 50 && quiet > 50, "{predicted} {quiet}");
    assert!(known > predicted / 2, "paths of the past lead there again: {known} of {predicted}");
}

/// Random sets of filters that match an event: a set passes the check exactly if, under it, the reference finds no violation and no
/// promise that the filters have made dead.
#[test]
fn filters_pass_exactly_where_nothing_gets_worse() {
    let (mut safe, mut violated, mut dead) = (0, 0, 0);
    for (number, (toy, at)) in (0..).zip(cases(400)) {
        let factory = Arc::new(toy.clone());
        let checker = Checker::new(&factory, Scenario::new(2), limits(true)).expect("it is native");
        let without = reach(&toy, &at, &BTreeSet::new()).expect("it is small");
        let mut dice = Dice(number);
        let mut patterns = BTreeSet::new();
        for exact in &without.patterns {
            let mut pattern = exact.clone();
            for _ in 0..dice.below(3) {
                pattern = pattern.coarser(checker.kinds()).unwrap_or(pattern);
            }
            if dice.below(3) == 0 {
                patterns.insert(pattern);
            }
        }
        let checked = checker.check_filters(&beginning_of(&at), 0, &patterns).expect("it is a state of the toy");
        let with = reach(&toy, &at, &patterns).expect("there are not more states than without");
        match checked.refused {
            Some(Unsafe::Violated(_)) => {
                violated += 1;
                assert!(is_violated(&toy, &with), "{toy:?} {at:?} {patterns:?}");
            }
            Some(Unsafe::Dead(0)) => {
                dead += 1;
                assert!(!is_violated(&toy, &with) && is_dead(&toy, &with) && !is_dead(&toy, &without));
            }
            Some(Unsafe::Dead(_)) => panic!("there is one promise"),
            Some(Unsafe::Unexplored) => panic!("it is not stopped"),
            None => {
                safe += 1;
                assert!(!is_violated(&toy, &with), "{toy:?} {at:?} {patterns:?}");
                assert!(!is_dead(&toy, &with) || is_dead(&toy, &without), "{toy:?} {at:?} {patterns:?}");
            }
        }
    }
    assert!(safe > 50 && violated > 50 && dead > 5, "{safe} {violated} {dead}");
}

/// The size of a smallest set of exact filters that prevents every violation, by trying all sets.
fn least(toy: &Toy, at: &Global, all: &BTreeSet<Pattern>) -> Option<usize> {
    let all: Vec<&Pattern> = all.iter().collect();
    let subsets = (0..1_u32 << all.len()).map(|bits| {
        (0..all.len()).filter(|bit| bits & 1 << bit != 0).map(|bit| all[bit].clone()).collect::<BTreeSet<Pattern>>()
    });
    let mut subsets: Vec<BTreeSet<Pattern>> = subsets.collect();
    subsets.sort_by_key(BTreeSet::len);
    let is_enough = |patterns: &&BTreeSet<Pattern>| {
        !is_violated(toy, &reach(toy, at, patterns).expect("there are not more states than without"))
    };
    subsets.iter().find(is_enough).map(BTreeSet::len)
}

/// The filters found against a predicted violation are safe by the reference, and no smaller set of exact filters is; if none are found,
/// there are none.
#[test]
fn filters_that_are_found_are_a_smallest_safe_set() {
    let (mut steered, mut unhelpful, mut together) = (0, 0, 0);
    for (toy, at) in cases(500) {
        let without = reach(&toy, &at, &BTreeSet::new()).expect("it is small");
        if !is_violated(&toy, &without) || without.patterns.len() > 8 {
            continue;
        }
        let factory = Arc::new(toy.clone());
        let mut checker = Checker::new(&factory, Scenario::new(2), limits(false)).expect("it is native");
        let round = checker.round(&beginning_of(&at)).expect("it is a state of the toy");
        let Steering { patterns, is_unhelpful, .. } = checker.steer(0, &round).expect("it is native");
        let least = least(&toy, &at, &without.patterns);
        assert_eq!(is_unhelpful, least.is_none_or(|least| least > 6), "{toy:?} {at:?}");
        if is_unhelpful {
            unhelpful += 1;
            continue;
        }
        steered += 1;
        let with = reach(&toy, &at, &patterns).expect("there are not more states than without");
        assert!(!is_violated(&toy, &with), "{toy:?} {at:?} {patterns:?}");
        let is_exact = patterns.iter().all(|pattern| pattern.state.is_some());
        assert!(patterns.len() <= least.expect("some are"), "{toy:?} {at:?} {patterns:?}");
        assert!(!is_exact || Some(patterns.len()) == least);
        together += u32::from(least > Some(1));
    }
    assert!(steered > 30 && unhelpful > 10 && together > 3, "{steered} {unhelpful} {together}");
}

/// Two messages, in any order; the second one is fatal.
fn second_is_fatal() -> Toy {
    (0..2)
        .fold(Toy::new(2).in_flight(1, 0, 1).in_flight(1, 0, 2), |toy, state| {
            let toy = toy.rule(0, state, ToyTrigger::Message(1, 1), state + 1, &[]);
            toy.rule(0, state, ToyTrigger::Message(1, 2), state + 1, &[])
        })
        .forbid(&[Some(2), None])
}

/// Either message can be first, so both have to be filtered in the state in which they would be second. The local state distinguishes the
/// cases, and a coarser filter is not tried where it would be safe as well.
#[test]
fn filters_decide_whether_the_second_message_is_fatal() {
    let toy = second_is_fatal();
    let factory = Arc::new(toy.clone());
    let at: Global = (vec![1, 0], BTreeMap::from([((1, 0, 2), 1)]));
    let mut checker = Checker::new(&factory, Scenario::new(2), limits(false)).expect("it is native");
    let round = checker.round(&beginning_of(&at)).expect("it is a state of the toy");
    assert_eq!(round.predictions.len(), 1);
    let steering = checker.steer(0, &round).expect("it is native");
    assert_eq!(steering.patterns.len(), 1);
    // Without and with filters, by exhaustive search: from this state, and from the start with one filter per message.
    let all = |patterns: &BTreeSet<Pattern>, at: &Global| is_violated(&toy, &reach(&toy, at, patterns).expect("small"));
    assert!(all(&BTreeSet::new(), &at) && !all(&steering.patterns, &at));
    // The sender cannot help: it has no more events.
    let other = checker.steer(1, &round).expect("it is native");
    assert!(other.is_unhelpful && other.patterns.is_empty());
    let beginning = beginning_of(&(vec![0, 0], BTreeMap::from([((1, 0, 1), 1), ((1, 0, 2), 1)])));
    let round = checker.round(&beginning).expect("it is a state of the toy");
    let steering = checker.steer(0, &round).expect("it is native");
    let start: Global = (vec![0, 0], BTreeMap::from([((1, 0, 1), 1), ((1, 0, 2), 1)]));
    assert!(all(&BTreeSet::new(), &start) && !all(&steering.patterns, &start), "{steering:?}");
}

/// A malicious neighbour answers with damaged states, states of other nodes, messages between nodes that do not exist, or endless states.
/// The checker refuses the snapshot or predicts from it, and never has more filters than the cap.
#[test]
fn a_lying_neighbour_cannot_do_more_than_the_cap_allows() {
    let (mut refused, mut taken, mut filters) = (0, 0, 0);
    for (number, (toy, at)) in (0..).zip(cases(100)) {
        let factory = Arc::new(toy.clone());
        let mut checker = Checker::new(&factory, Scenario::new(2), limits(false)).expect("it is native");
        let mut dice = Dice(number);
        for _ in 0..8 {
            let mut lie = (*beginning_of(&at)).clone();
            match dice.below(5) {
                0 => lie.states[1].exported = Hex((0..dice.below(5)).map(|_| dice.below(256) as u8).collect()),
                1 => lie.states[1].exported.0[1] = dice.below(6) as u8,
                2 => lie.states[1].node = dice.below(4),
                3 => lie.states[1].exported = Hex(vec![0; limits(false).beginning_max + 1]),
                _ => {}
            }
            for _ in 0..dice.below(6) {
                let payload = Hex(vec![dice.below(5) as u8]);
                let (from, to) = (dice.below(3), dice.below(3));
                lie.in_flight.push(Flight { from, to, payload, incarnation: 0, notice: dice.below(9) == 0 });
            }
            match checker.round(&Arc::new(lie)) {
                Err(CheckError::Refused(_)) => refused += 1,
                Err(CheckError::Machine(error)) => panic!("{error}"),
                Ok(round) => {
                    taken += 1;
                    let steering = checker.steer(0, &round).expect("it is native");
                    let mut table = FilterTable::new(0, Quota::default(), std::time::Duration::from_secs(1));
                    table.replace(Time(0), 0, steering.patterns);
                    filters += table.len(Time(0));
                    assert!(table.len(Time(0)) <= FILTERS_MAX);
                }
            }
        }
        // Earlier snapshots have no effect on the present one.
        let honest = checker.round(&beginning_of(&at)).expect("it is a state of the toy");
        let reached = reach(&toy, &at, &BTreeSet::new()).expect("it is small");
        assert_eq!(!honest.predictions.is_empty(), is_violated(&toy, &reached));
    }
    assert!(refused > 100 && taken > 50 && filters > 5, "{refused} {taken} {filters}");
}

/// The cache of handlers is cleared when it exceeds its limit, and when other nodes are absent; predictions stay the same.
#[test]
fn generations_bound_the_cache_of_handlers() {
    let (toy, at) = cases(40)
        .into_iter()
        .find(|(toy, at)| is_violated(toy, &reach(toy, at, &BTreeSet::new()).expect("small")))
        .expect("some are");
    let factory = Arc::new(toy);
    let small = Limits { bytes_max: 1, ..limits(false) };
    let mut checker = Checker::new(&factory, Scenario::new(2), small).expect("it is native");
    let rounds: Vec<_> = (0..4).map(|_| checker.round(&beginning_of(&at)).expect("it is a state of the toy")).collect();
    assert_eq!(checker.generation(), 3);
    assert!(rounds.iter().all(|round| !round.predictions.is_empty()));
    let mut checker = Checker::new(&factory, Scenario::new(2), limits(false)).expect("it is native");
    let calls: Vec<u64> = (0..3)
        .map(|_| {
            checker.round(&beginning_of(&at)).expect("it is a state of the toy");
            checker.lts().handler_calls()
        })
        .collect();
    assert!(
        checker.generation() == 0 && calls[0] > 0 && calls[2] == calls[1],
        "later rounds run no handler: {calls:?}"
    );
    let mut alone = (*beginning_of(&at)).clone();
    alone.states.truncate(1);
    alone.in_flight.clear();
    checker.round(&Arc::new(alone)).expect("the other node is absent");
    assert_eq!(checker.generation(), 1);
}

/// Node 0 takes eight messages, and counts them in nine states; in each state another message is fatal: nine exact filters, or one for
/// any state.
#[test]
fn an_event_of_many_local_states_takes_one_filter() {
    let toy = (0..9).fold(Toy::new(2), |toy, state| {
        let toy = if state < 8 { toy.rule(0, state, ToyTrigger::Message(1, 1), state + 1, &[]) } else { toy };
        toy.rule(0, state, ToyTrigger::Message(1, 2), 99, &[])
    });
    let toy = toy.forbid(&[Some(99), None]);
    let at: Global = (vec![0, 0], BTreeMap::from([((1, 0, 1), 8), ((1, 0, 2), 1)]));
    let factory = Arc::new(toy.clone());
    let mut checker = Checker::new(&factory, Scenario::new(2), limits(false)).expect("it is native");
    let round = checker.round(&beginning_of(&at)).expect("it is a state of the toy");
    let Steering { patterns, is_unhelpful, .. } = checker.steer(0, &round).expect("it is native");
    assert!(!is_unhelpful && patterns.len() == 1 && patterns.iter().all(|pattern| pattern.state.is_none()));
    assert!(!is_violated(&toy, &reach(&toy, &at, &patterns).expect("it is small")));
}

/// The states of a search in one process are the beginning of a round in another.
#[test]
fn exported_states_are_a_beginning() {
    let factory = Arc::new(second_is_fatal());
    let lts = Lts::new(&factory, Scenario::new(2)).expect("it is native");
    let mut stepper = Stepper::new(&lts).expect("it is native");
    let start = start::initial(&mut stepper).expect("nothing is refused").remove(0);
    let exported = Arc::new(start::export(&mut stepper, &start).expect("toys leave"));
    let mut checker = Checker::new(&factory, Scenario::new(2), Limits::default()).expect("it is native");
    assert_eq!(checker.round(&exported).expect("it is a state of the toy").predictions.len(), 1);
}
