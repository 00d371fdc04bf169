//! Small graphs in the forms of the reference and of the analysis.

use std::collections::BTreeMap;

use host_agreement::reference::promises::{self, Action, Edge, State};
use host_model::toys::Dice;
use host_search::kernel::rules::Rules;
use host_search::kernel::{Progress, Unmonitored};
use host_search::liveness::{self, Draw, EventClass, Label, LabelId, Source, StoredGraph, Verdict, Watch};

/// A graph, with the meaning of each label of its edges.
pub struct Built {
    pub graph: StoredGraph,
    labels: Vec<(EventClass, Option<Action>, Option<promises::Draw>)>,
}

impl Built {
    /// A graph whose states are in the order of discovery. Those from `expanded` on are not expanded.
    pub fn new(states: &[State], expanded: usize) -> Self {
        let promises = states[0].owed.len();
        let mut built = Self { graph: StoredGraph::new(promises), labels: Vec::new() };
        let mut ids = BTreeMap::new();
        for (number, state) in states.iter().enumerate() {
            let parent = states[..number].iter().position(|other| other.edges.iter().any(|edge| edge.to == number));
            let owed = (0..promises).filter(|promise| state.owed[*promise]);
            built.graph.add_state(parent.filter(|_| !state.is_start).map(|parent| parent as u32), owed);
        }
        for (number, state) in states.iter().enumerate().take(expanded) {
            let mut row: Vec<(u32, LabelId)> = Vec::new();
            let mut add = |to: usize, class, action, draw: &Option<promises::Draw>| {
                let key = (class, action, draw.clone());
                let label = *ids.entry(key.clone()).or_insert_with(|| {
                    let draw = key.2.clone().map(|(row, answers)| Draw { row, answers: answers.into() });
                    built.labels.push(key);
                    built.graph.add_label(Label { class, action, draw })
                });
                row.push((to as u32, label));
            };
            state.edges.iter().for_each(|edge| add(edge.to, edge.class, edge.action, &edge.draw));
            let is_taken = |action: &Action| state.edges.iter().any(|edge| edge.action == Some(*action));
            for action in state.possible.iter().filter(|action| !is_taken(action)) {
                add(number, EventClass::Suppressed, Some(*action), &None);
            }
            if state.is_unknown {
                add(number, EventClass::Suppressed, None, &None);
            }
            built.graph.add_row(&mut row, state.is_truncated);
        }
        built
    }

    pub fn judge(&self, promise: usize, rules: Rules) -> Verdict {
        judge(&self.graph, promise, rules)
    }

    /// An edge in the form of the reference.
    pub fn edge(&self, edge: &liveness::Edge) -> (usize, Edge) {
        let (class, action, draw) = self.labels[edge.label as usize].clone();
        (edge.from as usize, Edge { to: edge.to as usize, class, action, draw })
    }
}

pub fn watch() -> Watch<'static> {
    Watch::new(&Unmonitored, Progress::default())
}

pub fn judge(graph: &StoredGraph, promise: usize, rules: Rules) -> Verdict {
    liveness::judge(graph, promise, rules, &mut watch()).expect("no stop is requested")
}

/// A random graph of up to this many states, numbered in the order of discovery, and how many of them are expanded.
pub fn random(seed: u64, states_max: u32) -> (Vec<State>, usize) {
    let mut dice = Dice(seed ^ 0x11fe);
    let count = 1 + dice.below(states_max) as usize;
    let actions: Vec<EventClass> = (0..1 + dice.below(4))
        .map(|_| [EventClass::Delivery, EventClass::Timer, EventClass::Internal][dice.below(3) as usize])
        .collect();
    let (is_dense, has_draws, is_cut) = (dice.below(2) == 0, dice.below(3) == 0, dice.below(4) == 0);
    let owing = 1 + dice.below(4);
    let mut states: Vec<State> = (0..count)
        .map(|_| State { owed: vec![dice.below(5) <= owing, dice.below(3) > 0], ..State::default() })
        .collect();
    states[0].is_start = true;
    if count > 1 && dice.below(4) == 0 {
        states[1].is_start = true;
    }
    for state in &mut states {
        for _ in 0..dice.below(if is_dense { 5 } else { 3 }) {
            add_event(&mut dice, state, count, &actions, has_draws);
        }
        if is_cut && dice.below(4) == 0 {
            state.is_truncated = true;
            if dice.below(2) == 0 {
                state.possible.insert(dice.below(actions.len() as u32));
            }
        }
        state.edges.sort();
        state.edges.dedup();
        state.possible.extend(state.edges.iter().filter_map(|edge| edge.action));
    }
    let mut states = in_order(&states);
    let mut expanded = states.len();
    if is_cut && dice.below(3) == 0 {
        expanded = 1 + dice.below(states.len() as u32) as usize;
        for state in &mut states[expanded..] {
            *state = State {
                is_start: state.is_start,
                owed: state.owed.clone(),
                is_truncated: true,
                is_unknown: true,
                ..State::default()
            };
        }
    }
    // States that only unexpanded states lead to are not found.
    let found = in_order(&states);
    if found.len() < states.len() {
        return random(seed.wrapping_add(0x9e37_79b9), states_max);
    }
    (states, expanded)
}

/// Adds an event: with one outcome, or with several that are drawn or chosen.
fn add_event(dice: &mut Dice, state: &mut State, count: usize, actions: &[EventClass], has_draws: bool) {
    let to = |dice: &mut Dice| dice.below(count as u32) as usize;
    let action = dice.below(actions.len() as u32);
    let (class, action) = match dice.below(8) {
        0 => (EventClass::Free, None),
        1 => ([EventClass::Loss, EventClass::Reset, EventClass::Fault][dice.below(3) as usize], None),
        _ => (actions[action as usize], Some(action)),
    };
    if !has_draws || dice.below(3) > 0 {
        return state.edges.push(Edge { to: to(dice), class, action, draw: None });
    }
    // A tree of answers of depth two at most: the second question depends on the first answer.
    let handler = state.edges.len() as u32;
    let sources = |dice: &mut Dice| match dice.below(4) {
        0 => [Source::Chosen, Source::Chosen],
        1 => [Source::Drawn, Source::Undrawn],
        _ => [Source::Drawn, Source::Drawn],
    };
    let mut all: Vec<Vec<(u32, Source)>> = Vec::new();
    for (first, source) in (0..).zip(sources(dice)) {
        match dice.below(3) {
            0 => all.extend((0..).zip(sources(dice)).map(|(second, other)| vec![(first, source), (second, other)])),
            _ => all.push(vec![(first, source)]),
        }
    }
    for answers in all {
        let is_drawn = answers.iter().any(|(_, source)| *source != Source::Chosen);
        state.edges.push(Edge { to: to(dice), class, action, draw: is_drawn.then_some((handler, answers)) });
    }
}

/// The reachable states in the order of a breadth-first search.
pub fn in_order(states: &[State]) -> Vec<State> {
    let mut order: Vec<usize> = (0..states.len()).filter(|state| states[*state].is_start).collect();
    let mut next = 0;
    while next < order.len() {
        for edge in &states[order[next]].edges {
            if !order.contains(&edge.to) {
                order.push(edge.to);
            }
        }
        next += 1;
    }
    let number = |state: usize| order.iter().position(|other| *other == state).expect("it is reached");
    let renumbered = |state: &usize| {
        let mut state = states[*state].clone();
        state.edges.iter_mut().for_each(|edge| edge.to = number(edge.to));
        state.edges.sort();
        state
    };
    order.iter().map(renumbered).collect()
}
