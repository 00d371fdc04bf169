//! Paths of the reference as traces: prefixes of other searches.

use std::collections::BTreeSet;

use host_model::contract::{Choice, NodeId};
use host_model::toys::Dice;
use host_model::trace::{Hex, Received, TraceEvent, TraceStep};

use super::events::{Move, happenings, losses, moves};
use super::{
    Configurations, Global, Happening, Item, Reached, System, choices_of_starts, configurations_from, search_from,
    starts,
};

/// Events that have happened before a search begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefix {
    /// The answers that `init` gets at each node.
    pub init_choices: Vec<Vec<Choice>>,
    /// The events.
    pub steps: Vec<TraceStep>,
}

impl Prefix {
    /// A random path of this many events at most, on which no node traps; none if there is no start without. Properties may be violated.
    pub fn random(system: &System, seed: u64, events_max: u32) -> Option<Self> {
        Self::random_of(system, seed, events_max, steps_from)
    }

    /// The same with messages that are lost.
    pub fn random_lossy(system: &System, seed: u64, events_max: u32) -> Option<Self> {
        Self::random_of(system, seed, events_max, steps_and_losses_from)
    }

    fn random_of(system: &System, seed: u64, events_max: u32, steps_from: StepsFrom) -> Option<Self> {
        let mut dice = Dice(seed);
        let mut found = choices_of_starts(system);
        found.retain(|(_, start)| !start.is_over());
        let count = found.len() as u32;
        if count == 0 {
            return None;
        }
        let (init_choices, mut global) = found.swap_remove(dice.below(count) as usize);
        let mut steps = Vec::new();
        for _ in 0..events_max {
            let mut possible = steps_from(system, &global);
            possible.retain(|(_, next)| !next.is_over());
            let count = possible.len() as u32;
            if count == 0 {
                break;
            }
            let (step, next) = possible.swap_remove(dice.below(count) as usize);
            steps.push(step);
            global = next;
        }
        Some(Self { init_choices, steps })
    }

    /// The global state at its end; none if it cannot happen in a system.
    fn end(&self, system: &System) -> Option<Global> {
        let starts = choices_of_starts(system).into_iter();
        // A trace omits the choices if there are none.
        let is_same = |choices: &[Vec<Choice>]| match self.init_choices.is_empty() {
            true => choices.iter().all(Vec::is_empty),
            false => choices == self.init_choices,
        };
        let (_, mut global) = starts.into_iter().find(|(choices, _)| is_same(choices))?;
        for step in &self.steps {
            let possible = steps_and_losses_from(system, &global);
            (_, global) = possible.into_iter().find(|(other, _)| other == step)?;
        }
        (!global.is_over()).then_some(global)
    }

    /// The global states where a search begins.
    pub(super) fn starts(prefix: Option<&Self>, system: &System) -> Option<Vec<Global>> {
        match prefix {
            None => Some(starts(system)),
            Some(prefix) => Some(vec![prefix.end(system)?]),
        }
    }
}

/// The search after a prefix; `None` also if it cannot happen. Bounds on depth and on local events begin to count there.
pub fn search_after(
    system: &System,
    prefix: Option<&Prefix>,
    bounds: (Option<u32>, Option<u32>),
    states_max: usize,
) -> Option<Reached> {
    search_from(system, &Prefix::starts(prefix, system)?, bounds, states_max)
}

/// The configurations after a prefix; `None` also if it cannot happen.
pub fn configurations_after(
    system: &System,
    prefix: Option<&Prefix>,
    local_events_max: Option<u32>,
    all_max: usize,
) -> Option<Configurations> {
    configurations_from(system, Prefix::starts(prefix, system)?, local_events_max, all_max)
}

/// Lists steps of a trace that can be taken in a global state, with the successors.
type StepsFrom = fn(&System, &Global) -> Vec<(TraceStep, Global)>;

/// The events that can happen in a global state, and those that can be lost there with any budget.
fn steps_and_losses_from(system: &System, global: &Global) -> Vec<(TraceStep, Global)> {
    let mut happenings = happenings(system, global, None);
    happenings.retain(|(_, happening)| !matches!(happening, Happening::Lose(..)));
    steps_of(system, global, happenings.into_iter().chain(losses(system, global)))
}

/// The events of a global state as steps of a trace, with the successors.
fn steps_from(system: &System, global: &Global) -> Vec<(TraceStep, Global)> {
    steps_of(system, global, happenings(system, global, None).into_iter())
}

fn steps_of(
    system: &System,
    global: &Global,
    happenings: impl Iterator<Item = (NodeId, Happening)>,
) -> Vec<(TraceStep, Global)> {
    let mut found = Vec::new();
    for (node, happening) in happenings {
        for Move { next, choices, is_lost, .. } in moves(system, global, node, &happening, false) {
            let event = event(system, &happening, is_lost);
            found.push((TraceStep { node, event, choices, sent: None, state: None }, next));
        }
    }
    found
}

pub(super) fn event(system: &System, happening: &Happening, lost: bool) -> TraceEvent {
    let payload = |item: &Item| match item {
        Item::Message { content, .. } => Hex(vec![*content]),
        Item::Notice { .. } => Hex(Vec::new()),
    };
    match happening {
        Happening::Take(from, item @ Item::Message { .. }, _) => {
            TraceEvent::Deliver { from: *from, payload: payload(item) }
        }
        Happening::Take(from, Item::Notice { .. }, _) => TraceEvent::TransportError { peer: *from, lost },
        Happening::Quorum(name, set) => {
            let set: BTreeSet<(NodeId, Hex)> = set.iter().map(|(from, item)| (*from, payload(item))).collect();
            let messages = set.into_iter().map(|(from, payload)| Received { from, payload }).collect();
            TraceEvent::Quorum { name: name.to_string(), messages }
        }
        Happening::Local(name) => {
            TraceEvent::Local { name: format!("local{name}"), cause: system.toy.kind(*name), payload: Hex(vec![*name]) }
        }
        Happening::Lose(from, item, _) => TraceEvent::Lose { from: *from, payload: payload(item) },
        Happening::Fault(event) => TraceEvent::Fault { event: *event, lost },
    }
}
