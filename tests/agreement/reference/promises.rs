//! The outcomes of promises of progress in a small graph, straight from the definitions of `docs/semantics.md`: every set of states is
//! tried as the set that an execution visits for ever.

use std::collections::BTreeSet;

use host_model::trace::BreachClass;
use host_search::kernel::rules::{Fairness, Recovery, Rules, Timers};
use host_search::liveness::{EventClass, Source};

/// Sets of more states are not tried.
const STATES_MAX: usize = 12;

/// Sets of more edges are not tried.
const DRAWN_MAX: usize = 7;

/// An action that has to happen if it stays possible.
pub type Action = u32;

/// A handler that asks chance, and the answers that it gets.
pub type Draw = (u32, Vec<(u32, Source)>);

/// A state.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Whether an execution can begin here.
    pub is_start: bool,
    /// For each promise whether it is owed here.
    pub owed: Vec<bool>,
    /// The events that can happen.
    pub edges: Vec<Edge>,
    /// The fair actions that are possible, those that a bound leaves out included.
    pub possible: BTreeSet<Action>,
    /// Whether more can happen than is known.
    pub is_truncated: bool,
    /// Whether also more may be possible than is known.
    pub is_unknown: bool,
}

/// An event that can happen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The state afterwards.
    pub to: usize,
    /// The class of the event.
    pub class: EventClass,
    /// Its action, if that is fair.
    pub action: Option<Action>,
    /// The handler that asks chance, and its answers.
    pub draw: Option<Draw>,
}

/// The outcome of a promise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Numbers of live, dead and other states.
    pub states: (u64, u64, u64),
    /// Edges from live to dead states.
    pub critical_edges: u64,
    /// Events on a shortest path to a dead state.
    pub death: Option<usize>,
    /// Number of stuck states.
    pub stuck: u64,
    /// Events on a shortest path to one that is live; to one that is not dead, if there is no such one and no dead state either.
    pub stop: Option<usize>,
    /// The largest sets of states through which an execution can go for ever and be fair.
    pub fair: BTreeSet<BTreeSet<usize>>,
    /// Events on a shortest path to a state of one that is not dead.
    pub lasso: Option<usize>,
    /// The dead states.
    pub dead: BTreeSet<usize>,
    /// From each state the number of events to where the promise is kept.
    pub distances: Vec<Option<usize>>,
}

impl Outcome {
    /// The ways in which the promise is broken, the most certain first, with the number of events to the first state that shows each.
    pub fn ways(&self) -> Vec<(BreachClass, usize)> {
        let ways = [(BreachClass::Dead, self.death), (BreachClass::Stuck, self.stop), (BreachClass::Lasso, self.lasso)];
        ways.into_iter().filter_map(|(class, length)| Some((class, length?))).collect()
    }
}

/// The outcome of a promise; none if the graph is too large to try everything.
pub fn decide(states: &[State], promise: usize, rules: Rules) -> Option<Outcome> {
    let outcome = decide_but_lassos(states, promise, rules);
    let fair = largest(&fair_sets(states, promise, rules)?);
    let depths = depths(states);
    let lasso = fair.iter().flatten().filter(|state| !outcome.dead.contains(state)).map(|state| depths[*state]).min();
    Some(Outcome { fair, lasso, ..outcome })
}

/// The same without cycles, of a graph of any size.
pub fn decide_but_lassos(states: &[State], promise: usize, rules: Rules) -> Outcome {
    let owed = |state: usize| states[state].owed[promise];
    let recovers = |edge: &Edge| match edge.class {
        EventClass::Delivery | EventClass::Timer | EventClass::Internal | EventClass::Free => true,
        EventClass::Reset => rules.recovery == Recovery::Resets,
        _ => false,
    };
    let all = 0..states.len();
    let distances = distances_to(states, &recovers, &|state| !owed(state));
    let open = distances_to(states, &recovers, &|state| !owed(state) || states[state].is_truncated);
    let (is_live, is_dead) = (|state: usize| distances[state].is_some(), |state: usize| open[state].is_none());
    let count = |of: &dyn Fn(usize) -> bool| all.clone().filter(|state| of(*state)).count() as u64;
    let depths = depths(states);
    let nearest = |of: &dyn Fn(usize) -> bool| all.clone().filter(|state| of(*state)).map(|state| depths[state]).min();
    let is_stuck = |state: usize| {
        let State { edges, possible, is_unknown, .. } = &states[state];
        owed(state) && !is_unknown && possible.is_empty() && !edges.iter().any(|edge| edge.class.is_fair())
    };
    let death = nearest(&is_dead);
    let undecided = || nearest(&|state| is_stuck(state) && !is_dead(state)).filter(|_| death.is_none());
    let critical = all.clone().filter(|state| is_live(*state)).flat_map(|state| &states[state].edges);
    Outcome {
        states: (count(&is_live), count(&is_dead), count(&|state| !is_live(state) && !is_dead(state))),
        critical_edges: critical.filter(|edge| is_dead(edge.to)).count() as u64,
        death,
        stuck: count(&is_stuck),
        stop: nearest(&|state| is_stuck(state) && is_live(state)).or_else(undecided),
        dead: all.clone().filter(|state| is_dead(*state)).collect(),
        distances,
        ..Outcome::default()
    }
}

/// From each state the number of some events to a goal.
fn distances_to(
    states: &[State],
    follows: &dyn Fn(&Edge) -> bool,
    is_goal: &dyn Fn(usize) -> bool,
) -> Vec<Option<usize>> {
    let mut distances: Vec<Option<usize>> = (0..states.len()).map(|state| is_goal(state).then_some(0)).collect();
    for round in 1..=states.len() {
        let before = distances.clone();
        for (state, distance) in distances.iter_mut().enumerate().filter(|(_, distance)| distance.is_none()) {
            let mut edges = states[state].edges.iter();
            *distance = edges.any(|edge| follows(edge) && before[edge.to].is_some()).then_some(round);
        }
    }
    distances
}

/// The number of events on a shortest path to each state.
fn depths(states: &[State]) -> Vec<usize> {
    let mut depths: Vec<usize> = states.iter().map(|state| if state.is_start { 0 } else { usize::MAX }).collect();
    for round in 1..=states.len() {
        for state in 0..states.len() {
            if depths[state] == round - 1 {
                states[state].edges.iter().for_each(|edge| depths[edge.to] = depths[edge.to].min(round));
            }
        }
    }
    depths
}

/// All sets of states through which an execution can go for ever, each again and again, and be fair.
fn fair_sets(states: &[State], promise: usize, rules: Rules) -> Option<Vec<BTreeSet<usize>>> {
    let owing: Vec<usize> = (0..states.len()).filter(|state| states[*state].owed[promise]).collect();
    if owing.len() > STATES_MAX {
        return None;
    }
    let mut found = Vec::new();
    for chosen in 1_u32..1 << owing.len() {
        let set: BTreeSet<usize> =
            owing.iter().enumerate().filter(|(bit, _)| chosen >> bit & 1 == 1).map(|(_, state)| *state).collect();
        let inner: Vec<(usize, &Edge)> = set
            .iter()
            .flat_map(|state| states[*state].edges.iter().map(|edge| (*state, edge)))
            .filter(|(from, edge)| set.contains(&edge.to) && can_repeat(&states[*from], edge, rules))
            .collect();
        if !is_connected(&set, &inner) {
            continue;
        }
        if rules.fairness == Fairness::None {
            found.push(set);
            continue;
        }
        // More edges make nothing worse but chance: all others are taken again and again.
        let (drawn, sure): (Vec<_>, Vec<_>) = inner.iter().copied().partition(|(_, edge)| edge.draw.is_some());
        if drawn.len() > DRAWN_MAX {
            return None;
        }
        let is_fair = (0_u32..1 << drawn.len()).any(|some| {
            let some = drawn.iter().enumerate().filter(|(bit, _)| some >> bit & 1 == 1).map(|(_, edge)| *edge);
            let taken: Vec<(usize, &Edge)> = sure.iter().copied().chain(some).collect();
            is_connected(&set, &taken) && is_fair_set(states, (&set, &taken), rules)
        });
        if is_fair {
            found.push(set);
        }
    }
    Some(found)
}

/// Whether an event can happen again and again.
pub fn can_repeat(from: &State, edge: &Edge, rules: Rules) -> bool {
    let is_busy = || from.edges.iter().any(|edge| edge.class == EventClass::Delivery);
    match edge.class {
        EventClass::Delivery | EventClass::Internal | EventClass::Free => true,
        EventClass::Timer => rules.timers == Timers::Free || !is_busy(),
        EventClass::Loss => rules.fairness != Fairness::Stable,
        EventClass::Reset | EventClass::Fault | EventClass::Suppressed => false,
    }
}

/// Whether there is a round trip through all these states by these edges, of one edge at least.
fn is_connected(set: &BTreeSet<usize>, edges: &[(usize, &Edge)]) -> bool {
    let first = *set.first().expect("no set is empty");
    let reached = |forward: bool| {
        let mut reached = BTreeSet::from([first]);
        loop {
            let next = edges.iter().map(|(from, edge)| if forward { (*from, edge.to) } else { (edge.to, *from) });
            let new: Vec<usize> =
                next.filter(|(from, to)| reached.contains(from) && !reached.contains(to)).map(|(_, to)| to).collect();
            if new.is_empty() {
                return reached;
            }
            reached.extend(new);
        }
    };
    !edges.is_empty() && reached(true) == *set && reached(false) == *set
}

/// Whether an execution is fair that goes through exactly these states and edges again and again.
pub fn is_fair_set(states: &[State], (set, taken): (&BTreeSet<usize>, &[(usize, &Edge)]), rules: Rules) -> bool {
    let is_taken = |action: &Action| taken.iter().any(|(_, edge)| edge.action == Some(*action));
    let first = set.first().expect("no set is empty");
    let always =
        states[*first].possible.iter().filter(|action| set.iter().all(|it| states[*it].possible.contains(action)));
    let is_weakly_fair = always.clone().all(is_taken);
    let deliveries =
        set.iter().flat_map(|state| &states[*state].edges).filter(|edge| edge.class == EventClass::Delivery);
    let is_strongly_fair = deliveries.filter_map(|edge| edge.action).all(|action| is_taken(&action));
    is_weakly_fair
        && (rules.fairness != Fairness::FairLossy || is_strongly_fair)
        && taken.iter().all(|edge| is_even(states, edge, taken))
}

/// Whether chance is even where a handler is executed: at each draw, each answer with a weight is given again and again.
fn is_even(states: &[State], (from, edge): &(usize, &Edge), taken: &[(usize, &Edge)]) -> bool {
    let Some((handler, answers)) = &edge.draw else { return true };
    let behind = |edge: &Edge, prefix: &[(u32, Source)]| {
        edge.draw.as_ref().is_some_and(|(other, answers)| other == handler && answers.starts_with(prefix))
    };
    (0..answers.len()).all(|depth| {
        let before = &answers[..depth];
        let siblings = states[*from].edges.iter().filter(|other| behind(other, before));
        let siblings = siblings.filter_map(|other| other.draw.as_ref()?.1.get(depth));
        let mut likely = siblings.filter(|(_, source)| *source == Source::Drawn);
        likely.all(|answer| {
            let prefix: Vec<(u32, Source)> = before.iter().copied().chain([*answer]).collect();
            taken.iter().any(|(other, edge)| other == from && behind(edge, &prefix))
        })
    })
}

/// Those of these sets that are part of no other one.
fn largest(sets: &[BTreeSet<usize>]) -> BTreeSet<BTreeSet<usize>> {
    let is_largest = |set: &&BTreeSet<usize>| !sets.iter().any(|other| set.is_subset(other) && *set != other);
    sets.iter().filter(is_largest).cloned().collect()
}
