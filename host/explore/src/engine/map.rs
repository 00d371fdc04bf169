//! The states within reach, breadth first from the beginning.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use host_inspect::debug::Place;
use host_inspect::page::clean;
use host_inspect::page::shapes::{MapEdge, MapState, Moved, StateMap};
use host_inspect::traced_state::{Action, TracedState};
use host_inspect::words;
use host_model::contract::fingerprint::Fingerprint;
use host_model::contract::{Choice, NodeId};
use host_model::lts::{LocalStateId, Trigger};
use host_model::trace::{self, Standing};

use super::Engine;
use crate::refused::{Answer, Refused};

/// States of a map, and the time for them: the engine answers nothing else meanwhile.
pub(super) const STATES_MAX: usize = 20_000;
const TIME_MAX: Duration = Duration::from_secs(20);

/// Letters of the states of the nodes.
pub(super) const LETTERS_MAX: usize = 400;

/// The identity of a global state.
type Key = (Vec<LocalStateId>, Fingerprint);

/// A state that was reached.
pub(super) struct Reached {
    pub(super) traced: TracedState,
    level: u32,
    /// The properties that are violated in it.
    violated: Vec<usize>,
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
    /// The bound of the exploration, in states.
    limit: usize,
    pub(super) states: Vec<Reached>,
    pub(super) edges: Vec<Edge>,
    pub(super) complete: bool,
}

/// An event in a local state: its trigger, whether a connection breaks without a notice, and its choices.
type Happened = (LocalStateId, Trigger, bool, Box<[Choice]>);

/// Texts of a map, each made once: few local states and events make up many global ones.
#[derive(Default)]
pub(super) struct Texts {
    locals: BTreeMap<(NodeId, LocalStateId), String>,
    events: BTreeMap<Happened, String>,
}

impl Engine<'_> {
    /// Answers with up to this many states, and the steps between them.
    pub fn map(&mut self, limit: usize) -> Answer {
        let reach = self.reach(limit)?;
        let Reach { states, edges, complete, .. } = &*reach;
        let mut places = BTreeMap::new();
        for place in (0..self.moments.places()).rev() {
            places.insert(self.key(self.moments.traced(place)), place);
        }
        let (mut shown, mut texts) = (Vec::new(), Texts::default());
        for state in states {
            let key = self.key(&state.traced);
            let (place, local) = (places.get(&key).copied(), self.local(&state.traced, &mut texts));
            shown.push(MapState { level: state.level, violated: state.violated.clone(), local, place });
        }
        let edges = edges.iter().map(|edge| self.edge(states, edge, &mut texts)).collect();
        super::json(&StateMap { complete: *complete, states: shown, edges, here: None })
    }

    /// Goes to a state of the map by the first path that leads there.
    pub fn go(&mut self, state: usize, limit: usize) -> Answer {
        let reach = self.reach(limit)?;
        let states = &reach.states;
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

    /// The states within reach. The last exploration is kept: a click on its map costs the way to a state, and leads to a state of that
    /// map although another exploration would have had more or less time.
    pub(super) fn reach(&mut self, limit: usize) -> Result<Rc<Reach>, Refused> {
        if limit == 0 || limit > STATES_MAX {
            return Err(Refused::wrong(format_args!("a map has between 1 and {STATES_MAX} states")));
        }
        if let Some(known) = self.reached.as_ref().filter(|known| known.limit == limit) {
            return Ok(Rc::clone(known));
        }
        let reach = Rc::new(self.explore(limit)?);
        self.reached = Some(Rc::clone(&reach));
        Ok(reach)
    }

    fn explore(&mut self, limit: usize) -> Result<Reach, Refused> {
        let ends = (self.explored.clock)() + TIME_MAX;
        let start = self.moments.traced(0).clone();
        let mut known = BTreeMap::from([(self.key(&start), 0)]);
        let violated = self.violated(&start)?;
        let states = vec![Reached { traced: start, level: 0, violated, from: None }];
        let mut reach = Reach { limit, states, edges: Vec::new(), complete: true };
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
                        let violated = self.violated(&next)?;
                        let from = Some((from, action.clone()));
                        reach.states.push(Reached { traced: next, level: level + 1, violated, from });
                        to
                    }
                };
                reach.edges.push(Edge { from, to, action });
            }
            from += 1;
        }
        Ok(reach)
    }

    /// The properties that are violated in a state.
    fn violated(&mut self, traced: &TracedState) -> Result<Vec<usize>, Refused> {
        let standings = self.moments.standings(traced)?;
        let violated = standings.iter().filter(|stands| matches!(stands.standing, Standing::Violated(_)));
        let mut violated: Vec<usize> = violated.map(|stands| stands.property).collect();
        violated.dedup();
        Ok(violated)
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

    fn local(&mut self, traced: &TracedState, texts: &mut Texts) -> String {
        let mut text = String::new();
        for (node, local) in (0..).zip(traced.locals()) {
            let line = texts.locals.entry((node, *local)).or_insert_with(|| {
                let state = words::value_on_one_line(&self.moments.local_state(*local));
                clean(&format!("{}: {}", self.moments.names().of(node), words::clipped(&state, LETTERS_MAX)))
            });
            text.push_str(if node == 0 { "" } else { "\n" });
            text.push_str(line);
        }
        text
    }

    pub(super) fn edge(&mut self, states: &[Reached], edge: &Edge, texts: &mut Texts) -> MapEdge {
        let Action { node, cause, choices, is_lost } = &edge.action;
        let local = states[edge.from].traced.locals()[*node as usize];
        let trigger = cause.trigger(self.moments.stepper_mut());
        let known = texts.events.entry((local, trigger, *is_lost, choices.clone()));
        let text = known.or_insert_with(|| {
            let event = trace::event(self.moments.stepper(), local, trigger, *is_lost);
            let step = trace::TraceStep { node: *node, event, choices: choices.to_vec(), sent: None, state: None };
            let names = self.moments.names().clone();
            clean(&words::event(&step, &names, None, |payload| self.moments.message(payload)))
        });
        MapEdge { from: edge.from, to: edge.to, node: *node, text: text.clone() }
    }
}
