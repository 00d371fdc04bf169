//! The results of the rounds of all nodes' checkers and all runs: a round that begins like an earlier one is looked up.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use host_model::contract::{NodeId, Stop};
use host_model::scenario::{FaultState, Scenario};
use host_model::trace::{Beginning, NodeState};

use crate::checker::{CheckError, Checker, Explorer, Reach, Round, Steering};
use crate::gate::Views;
use crate::world::hold::check_stopped;

/// Rounds that are kept.
const ROUNDS_MAX: usize = 20_000;

/// A global state, as a hash.
type Place = [u8; 32];
/// The beginning of a round, and its reach.
type Question = (Place, Reach);

/// A checker, and the results of its rounds, which depend on nothing but where they begin and how far they go: it remembers no paths and
/// begins each round in an empty local transition system.
pub(super) struct Explored<'f> {
    checker: Checker<'f>,
    stop: Option<&'f dyn Stop>,
    rounds: BTreeMap<Question, Arc<Round>>,
    /// The same with dead states.
    dying: BTreeMap<Question, Arc<Round>>,
    steered: BTreeMap<(Question, NodeId), Steering>,
    views: BTreeMap<Place, Vec<Option<Views>>>,
    /// The numbers of explored rounds and of rounds that were looked up.
    #[cfg(test)]
    pub(super) counted: (u64, u64),
}

impl<'f> Explored<'f> {
    /// Begins with no results. The limits of the checker are such that its rounds do not depend on each other.
    pub(super) fn new(checker: Checker<'f>) -> Self {
        Self {
            checker,
            stop: None,
            rounds: BTreeMap::new(),
            dying: BTreeMap::new(),
            steered: BTreeMap::new(),
            views: BTreeMap::new(),
            #[cfg(test)]
            counted: (0, 0),
        }
    }

    /// The same, with a stop from outside: an exploration that is cut short is not kept.
    pub(super) fn stopped_by(self, stop: &'f dyn Stop) -> Self {
        Self { checker: self.checker.stopped_by(stop), stop: Some(stop), ..self }
    }

    /// Forgets the results once there are too many.
    fn make_room(&mut self) {
        if self.rounds.len() >= ROUNDS_MAX || self.views.len() >= ROUNDS_MAX {
            self.rounds.clear();
            self.dying.clear();
            self.steered.clear();
            self.views.clear();
        }
    }

    /// Moves the checker to the state that a question is about.
    fn attend(&mut self, question: Question, beginning: &Beginning) -> Result<&mut Checker<'f>, CheckError> {
        self.checker.set_reach(question.1);
        self.checker.attend(beginning)?;
        Ok(&mut self.checker)
    }
}

/// The hash of a global state. Fault states have no encoding of their own in a format without names.
fn place(beginning: &Beginning) -> Place {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&beginning.states.len().to_le_bytes());
    for NodeState { node, exported, fault_state } in &beginning.states {
        let words = fault_state.words();
        let state = postcard::to_allocvec(&(node, exported, words)).expect("numbers and bytes have an encoding");
        hasher.update(&state);
    }
    hasher.update(&postcard::to_allocvec(&beginning.in_flight).expect("numbers and bytes have an encoding"));
    *hasher.finalize().as_bytes()
}

/// Looks up earlier results for the rounds of one checker.
pub(super) struct Shared<'e, 'f> {
    explored: &'e Mutex<Explored<'f>>,
    reach: Reach,
    /// The last global state that was asked about, and its hash.
    asked: Option<(Arc<Beginning>, Place)>,
    /// The global state of the last round, which may be an equal one, and its hash.
    found: Option<(Arc<Beginning>, Place)>,
}

impl<'e, 'f> Shared<'e, 'f> {
    pub(super) fn new(explored: &'e Mutex<Explored<'f>>) -> Self {
        Self { explored, reach: Reach::default(), asked: None, found: None }
    }

    fn lock(&self) -> MutexGuard<'e, Explored<'f>> {
        self.explored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&mut self, beginning: &Arc<Beginning>) -> Place {
        let is_it = |(hashed, _): &&(Arc<Beginning>, Place)| Arc::ptr_eq(hashed, beginning);
        if let Some((_, place)) = self.asked.iter().chain(&self.found).find(is_it) {
            return *place;
        }
        let place = place(beginning);
        self.asked = Some((Arc::clone(beginning), place));
        place
    }

    /// The question about a round.
    fn question(&mut self, round: &Round) -> Question {
        (self.place(&round.beginning), round.reach)
    }
}

impl Explorer for Shared<'_, '_> {
    fn set_reach(&mut self, reach: Reach) {
        self.reach = reach;
    }

    fn round(&mut self, beginning: &Arc<Beginning>) -> Result<Arc<Round>, CheckError> {
        let question = (self.place(beginning), self.reach);
        let mut explored = self.lock();
        if let Some(known) = explored.rounds.get(&question).cloned() {
            #[cfg(test)]
            {
                explored.counted.1 += 1;
            }
            drop(explored);
            self.found = Some((Arc::clone(&known.beginning), question.0));
            return Ok(known);
        }
        explored.make_room();
        #[cfg(test)]
        {
            explored.counted.0 += 1;
        }
        explored.checker.set_reach(self.reach);
        let round = explored.checker.round(beginning);
        check_stopped(explored.stop)?;
        let round = Arc::new(round?);
        explored.rounds.insert(question, Arc::clone(&round));
        drop(explored);
        self.found = Some((Arc::clone(&round.beginning), question.0));
        Ok(round)
    }

    fn steer(&mut self, node: NodeId, round: &Round) -> Result<Steering, CheckError> {
        if round.predictions.is_empty() {
            return Ok(Steering::default());
        }
        let question = self.question(round);
        let mut explored = self.lock();
        if let Some(known) = explored.steered.get(&(question, node)) {
            return Ok(known.clone());
        }
        let steering = explored.attend(question, &round.beginning)?.steer(node, round);
        check_stopped(explored.stop)?;
        let steering = steering?;
        explored.steered.insert((question, node), steering.clone());
        Ok(steering)
    }

    fn find_dead_ahead(&mut self, round: Arc<Round>) -> Result<Arc<Round>, CheckError> {
        let question = self.question(&round);
        let mut explored = self.lock();
        if explored.checker.limits.promises.is_none() {
            return Ok(round);
        }
        if let Some(known) = explored.dying.get(&question) {
            return Ok(Arc::clone(known));
        }
        let beginning = Arc::clone(&round.beginning);
        let round = Explorer::find_dead_ahead(explored.attend(question, &beginning)?, round);
        check_stopped(explored.stop)?;
        let round = round?;
        explored.dying.insert(question, Arc::clone(&round));
        Ok(round)
    }

    fn views(&mut self, beginning: &Arc<Beginning>) -> Result<Vec<Option<Views>>, CheckError> {
        let place = self.place(beginning);
        let mut explored = self.lock();
        if let Some(known) = explored.views.get(&place) {
            return Ok(known.clone());
        }
        explored.make_room();
        let views = explored.checker.views(beginning)?;
        explored.views.insert(place, views.clone());
        Ok(views)
    }

    fn scenario_of(&self, beginning: &Beginning) -> Scenario {
        self.lock().checker.scenario_of(beginning)
    }

    fn fresh(&self) -> FaultState {
        self.lock().checker.fresh()
    }
}
