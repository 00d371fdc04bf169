//! The states within reach, breadth first from the beginning.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use host_inspect::debug::Place;
use host_inspect::page::clean;
use host_inspect::page::shapes::{MapEdge, MapState, Moved, StateMap};
use host_inspect::traced_state::{Action, TracedState};
use host_inspect::words;
use host_model::contract::fingerprint::Fingerprint;
use host_model::lts::LocalStateId;
use host_model::trace::{self, Standing};

use super::Engine;
use crate::refused::{Answer, Refused};

/// States of a map, and the time for them: the engine answers nothing else meanwhile.
const STATES_MAX: usize = 20_000;
const TIME_MAX: Duration = Duration::from_secs(20);

/// Letters of the states of the nodes.
pub(super) const LETTERS_MAX: usize = 400;

/// The identity of a global state.
type Key = (Vec<LocalStateId>, Fingerprint);

/// A state that was reached.
pub(super) struct Reached {
    pub(super) traced: TracedState,
    level: u32,
    /// The state before, and the action that led here.
    from: Option<(usize, Action)>,
}

pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) action: Action,
}

/// The states and steps that an exploration has reached.
pub(super) struct Reach {
    pub(super) states: Vec<Reached>,
    pub(super) edges: Vec<Edge>,
    pub(super) complete: bool,
}

impl Engine<'_> {
    /// Answers with up to this many states, and the steps between them.
    pub fn map(&mut self, limit: usize) -> Answer {
        let Reach { states, edges, complete } = self.reach(limit)?;
        let mut places = BTreeMap::new();
        for place in (0..self.moments.places()).rev() {
            let traced = self.moments.traced(place).clone();
            places.insert(self.key(&traced), place);
        }
        let mut shown = Vec::new();
        for state in &states {
            let standings = self.moments.standings(&state.traced)?;
            let violated = standings.iter().filter(|stands| matches!(stands.standing, Standing::Violated(_)));
            let mut violated: Vec<usize> = violated.map(|stands| stands.property).collect();
            violated.dedup();
            let key = self.key(&state.traced);
            let (place, local) = (places.get(&key).copied(), self.local(&state.traced));
            shown.push(MapState { level: state.level, violated, local, place });
        }
        let edges = edges.iter().map(|edge| self.edge(&states, edge)).collect::<Result<_, Refused>>()?;
        super::json(&StateMap { complete, states: shown, edges, here: None })
    }

    /// Goes to a state of the map by the first path that leads there.
    pub fn go(&mut self, state: usize, limit: usize) -> Answer {
        let Reach { states, .. } = self.reach(limit)?;
        let mut path = Vec::new();
        let reached =
            states.get(state).ok_or_else(|| Refused::missing(format_args!("the map has no state {state}")))?;
        let mut last = &reached.from;
        while let Some((from, action)) = last {
            path.push(action.clone());
            last = &states[*from].from;
        }
        let mut place: Place = 0;
        for action in path.into_iter().rev() {
            // The messages of the tree come from its own places.
            let action = self.of_place(place, &action)?;
            let next = self.moments.go(place, &action)?;
            place = next.ok_or_else(|| Refused::conflict("a step of the map changes nothing"))?;
        }
        super::json(&Moved { place, line: self.line_through(place) })
    }

    /// An action of a state as one of a place with the same state.
    fn of_place(&mut self, place: Place, action: &Action) -> Result<Action, Refused> {
        let traced = self.moments.traced(place).clone();
        let rule = host_inspect::traced_state::MatchRule::Content;
        let alike = traced.like(self.moments.stepper_mut(), action, rule)?;
        alike.ok_or_else(|| Refused::conflict("a step of the map is not enabled"))
    }

    fn key(&self, traced: &TracedState) -> Key {
        let stepper = self.moments.stepper();
        (traced.locals().to_vec(), traced.fingerprint(stepper))
    }

    pub(super) fn reach(&mut self, limit: usize) -> Result<Reach, Refused> {
        if limit == 0 || limit > STATES_MAX {
            return Err(Refused::wrong(format_args!("a map has between 1 and {STATES_MAX} states")));
        }
        let ends = (self.explored.clock)() + TIME_MAX;
        let start = self.moments.traced(0).clone();
        let mut known = BTreeMap::from([(self.key(&start), 0)]);
        let mut reach =
            Reach { states: vec![Reached { traced: start, level: 0, from: None }], edges: Vec::new(), complete: true };
        let mut from = 0;
        while from < reach.states.len() {
            if (self.explored.clock)() > ends || self.explored.interrupted.load(Ordering::Relaxed) {
                reach.complete = false;
                break;
            }
            let (traced, level) = (reach.states[from].traced.clone(), reach.states[from].level);
            for action in self.successors(&traced)? {
                let mut next = traced.clone();
                if next.take(self.moments.stepper_mut(), &action, 0)?.is_none() {
                    continue;
                }
                let key = self.key(&next);
                let to = match known.get(&key) {
                    Some(to) => *to,
                    None if reach.states.len() >= limit => {
                        reach.complete = false;
                        continue;
                    }
                    None => {
                        let to = reach.states.len();
                        known.insert(key, to);
                        reach.states.push(Reached {
                            traced: next,
                            level: level + 1,
                            from: Some((from, action.clone())),
                        });
                        to
                    }
                };
                reach.edges.push(Edge { from, to, action });
            }
            from += 1;
        }
        Ok(reach)
    }

    /// All actions that a search would take in a state, with each outcome.
    fn successors(&mut self, traced: &TracedState) -> Result<Vec<Action>, Refused> {
        let (mut all, mut seen) = (Vec::new(), BTreeSet::new());
        let mut actions = traced.enabled(self.moments.stepper_mut())?;
        // The page offers the loss of every message; a search loses those that `--losses` allows.
        let mut losses = traced.losses(self.moments.stepper());
        let known = self.moments.stepper().known();
        losses.retain(|action| {
            let local = traced.locals()[action.node as usize];
            action.cause.messages().iter().all(|message| known.loss(local, *message).is_some())
        });
        actions.append(&mut losses);
        for action in actions {
            let local = traced.locals()[action.node as usize];
            let trigger = action.cause.trigger(self.moments.stepper_mut());
            // Equal messages of different steps are one event of the state.
            if !seen.insert((action.node, trigger)) {
                continue;
            }
            let row = self.moments.stepper_mut().step(local, trigger)?;
            let outcomes = self.moments.stepper().outcomes(row);
            all.extend(outcomes.iter().map(|outcome| Action {
                choices: outcome.choices.clone(),
                is_lost: outcome.is_lost,
                ..action.clone()
            }));
        }
        Ok(all)
    }

    fn local(&mut self, traced: &TracedState) -> String {
        let nodes = (0..self.moments.nodes()).zip(traced.locals().to_vec());
        let lines: Vec<String> = nodes
            .map(|(node, local)| {
                let state = words::value_on_one_line(&self.moments.local_state(local));
                clean(&format!("{}: {}", self.moments.names().of(node), words::clipped(&state, LETTERS_MAX)))
            })
            .collect();
        lines.join("\n")
    }

    pub(super) fn edge(&mut self, states: &[Reached], edge: &Edge) -> Result<MapEdge, Refused> {
        let local = states[edge.from].traced.locals()[edge.action.node as usize];
        let trigger = edge.action.cause.trigger(self.moments.stepper_mut());
        let event = trace::event(self.moments.stepper(), local, trigger, edge.action.is_lost);
        let choices = edge.action.choices.to_vec();
        let step = trace::TraceStep { node: edge.action.node, event, choices, sent: None, state: None };
        let names = self.moments.names().clone();
        let text = words::event(&step, &names, None, |payload| self.moments.message(payload));
        Ok(MapEdge { from: edge.from, to: edge.to, node: edge.action.node, text: clean(&text) })
    }
}
