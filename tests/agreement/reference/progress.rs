//! The graph of a toy as promises of progress see it.

use std::collections::{BTreeMap, BTreeSet};

use host_model::contract::{LocalKind, NodeId, PropertyKind, PropertyScope};
use host_search::liveness::{EventClass, Source};
use rustc_hash::FxHashMap;

use super::events::{happenings, moves};
use super::graph::{Content, content};
use super::promises::{Action, Edge, State};
use super::{Global, Happening, Item, Prefix, System};

/// The graph of a system.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The states in the order of discovery.
    pub states: Vec<State>,
    /// Their contents.
    pub contents: Vec<Content>,
}

/// The wanted part of a graph.
#[derive(Clone, Copy, Debug, Default)]
pub struct Within<'p> {
    /// The prefix after which it begins, if not after `init`.
    pub prefix: Option<&'p Prefix>,
    /// Events on a path from there, at most.
    pub depth: Option<u32>,
    /// Local events of each node from there, at most.
    pub local_events: Option<u32>,
}

/// A part of the graph; none if there are more states than that, or the prefix cannot happen.
pub fn progress(system: &System, within: Within<'_>, states_max: usize) -> Option<Progress> {
    let local_events_max = within.local_events;
    let mut numbers: FxHashMap<Global, usize> = FxHashMap::default();
    let mut globals: Vec<Global> = Vec::new();
    let mut number = |global: Global, globals: &mut Vec<Global>| {
        let next = numbers.len();
        *numbers.entry(global.clone()).or_insert_with(|| {
            globals.push(global);
            next
        })
    };
    for start in Prefix::starts(within.prefix, system)? {
        number(start, &mut globals);
    }
    let starts = globals.len();
    // States are found level by level: how many of them within each number of events.
    let (mut level_end, mut depth) = (starts, 0);
    let (mut progress, mut actions) = (Progress::default(), BTreeMap::new());
    while let Some(global) = globals.get(progress.states.len()).cloned() {
        let mut state =
            State { is_start: progress.states.len() < starts, owed: owed(system, &global), ..State::default() };
        let all = if global.is_over() { Vec::new() } else { happenings(system, &global, None) };
        let explored = if global.is_over() { Vec::new() } else { happenings(system, &global, local_events_max) };
        if progress.states.len() == level_end {
            (level_end, depth) = (globals.len(), depth + 1);
        }
        let is_at_bound = within.depth.is_some_and(|max| depth >= max);
        state.is_truncated = explored.len() < all.len();
        if is_at_bound {
            let leads_on =
                |(node, happening): &(NodeId, Happening)| !moves(system, &global, *node, happening, false).is_empty();
            state.is_unknown = all.iter().any(leads_on);
            state.is_truncated = state.is_unknown;
        }
        for (handler, (node, happening)) in (0..).zip(&all) {
            let (class, name) = classify(system, *node, happening);
            let next = actions.len() as Action;
            let action = name.map(|name| *actions.entry(name).or_insert(next));
            let outcomes = moves(system, &global, *node, happening, local_events_max.is_some());
            if !outcomes.is_empty() {
                state.possible.extend(action);
            }
            if is_at_bound || !explored.contains(&(*node, happening.clone())) {
                continue;
            }
            let before = global.locals[*node as usize].state;
            let is_drawn = system.toy.drawn.contains(&(*node, before))
                && !matches!(happening, Happening::Fault(_) | Happening::Lose(..));
            for outcome in outcomes {
                let sources = outcome.choices.iter().map(|choice| match (choice.to, is_drawn, choice.picked < 2) {
                    (None, true, true) => (choice.picked, Source::Drawn),
                    (None, true, false) => (choice.picked, Source::Undrawn),
                    _ => (choice.picked, Source::Chosen),
                });
                let answers: Vec<(u32, Source)> = sources.collect();
                let has_draws = answers.iter().any(|(_, source)| *source != Source::Chosen);
                let is_refused = outcome.choices.iter().any(|choice| choice.to.is_some() && choice.picked > 0);
                let (class, action) = if is_refused { (EventClass::Fault, None) } else { (class, action) };
                let draw = has_draws.then_some((handler, answers));
                state.edges.push(Edge { to: number(outcome.next, &mut globals), class, action, draw });
            }
        }
        progress.states.push(state);
        progress.contents.push(content(&global));
        if globals.len() > states_max {
            return None;
        }
    }
    Some(progress)
}

/// The class of an event, and the name of its action, if it is fair.
fn classify(system: &System, node: NodeId, happening: &Happening) -> (EventClass, Option<String>) {
    match happening {
        Happening::Take(from, Item::Message { content, breaks, .. }, _) => {
            (EventClass::Delivery, Some(format!("message {from} {node} {content} {breaks}")))
        }
        Happening::Take(from, Item::Notice { breaks }, _) => {
            (EventClass::Delivery, Some(format!("notice {from} {node} {breaks}")))
        }
        Happening::Quorum(name, set) => {
            (EventClass::Delivery, Some(format!("quorum {name} of {} at {node}", set.len())))
        }
        Happening::Local(name) => match system.toy.kind(*name) {
            LocalKind::Timer => (EventClass::Timer, Some(format!("local {name} at {node}"))),
            LocalKind::Internal => (EventClass::Internal, Some(format!("local {name} at {node}"))),
            LocalKind::Application => (EventClass::Free, None),
        },
        Happening::Lose(..) => (EventClass::Loss, None),
        Happening::Fault(fault) if fault.peer().is_none() => (EventClass::Reset, None),
        Happening::Fault(_) => (EventClass::Fault, None),
    }
}

/// For each promise whether it is owed in a state: for each `eventually` property of system scope, and for each of node scope at
/// each node. A trapped node owes nothing, nor does a node
/// without a view in a property of node scope.
fn owed(system: &System, global: &Global) -> Vec<bool> {
    let mut owed = Vec::new();
    let promises = system.toy.properties.iter().filter(|property| property.kind == PropertyKind::Eventually);
    for property in promises {
        let views: Vec<Option<Vec<u8>>> =
            (0..).zip(&global.locals).map(|(node, local)| property.view(node, local.state)).collect();
        let views: Vec<Option<&[u8]>> = views.iter().map(Option::as_deref).collect();
        let is_owed = |views: &[Option<&[u8]>]| {
            let is_asked = property.scope == PropertyScope::System || views.iter().any(Option::is_some);
            is_asked && !global.is_over() && property.evaluate(views) != Ok(Ok(()))
        };
        match property.scope {
            PropertyScope::System => owed.push(is_owed(&views)),
            PropertyScope::Node => owed.extend(views.chunks(1).map(is_owed)),
        }
    }
    owed
}

impl Progress {
    /// The numbers of the states with this content.
    pub fn find(&self, content: &Content) -> BTreeSet<usize> {
        (0..self.contents.len()).filter(|state| self.contents[*state] == *content).collect()
    }
}
