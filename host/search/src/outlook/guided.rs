//! The answer of a search that is guided by distances between local states.
//!
//! An event moves one node by one step. So a path from a global state to one that keeps the promise has at least as many events as the
//! distances of the nodes in their local spaces add up to. States with the least distance are expanded first (best-first search; Pearl,
//! "Heuristics", 1984). If a node cannot get there at all, no state that follows keeps the promise.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use host_model::contract::fingerprint::Fingerprint;
use host_model::contract::{ClassId, MachineError};
use host_model::lts::{LocalStateId, Promise, Step, Stepper};
use host_model::trace::start::Start;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::global::state::{Budgets, Child, GlobalState};
use crate::kernel::SearchBounds;
use crate::kernel::rules::Recovery;
use crate::local::space::{FAR, Index, LocalSpace};
use crate::outlook::combinations::{Combinations, Kept, pass, space_of};
use crate::outlook::{Ask, Outlook, is_owed, stop};

/// Steps after which the search ends without an answer.
const TRANSITIONS_MAX: u64 = 100_000;

/// Units of work of the local space after which it stays incomplete: half a second even if each unit is a handler executed for the
/// first time.
const WORK_MAX: u64 = 20_000;

/// Maximum number of combinations of view classes that are evaluated.
const COMBINATIONS_MAX: u64 = 20_000;

/// Maximum number of combinations of view classes that are targets. The first ones found are near.
const TARGETS_MAX: usize = 64;

/// The assumed distance of an unknown local state.
const UNKNOWN: u32 = 1 << 16;

/// States that are expanded between two questions whether to continue.
const STATES_PER_CHECK: u64 = 64;

/// Searches for a path on which progress can rely from a state to one where a promise is kept, up to a fixed number of steps. Returns also
/// the work. `ask` gets the number of bytes taken and returns the reason to stop.
///
/// Guarantee: a path is valid, but not always shortest; a dead state is dead. Complete: no.
///
/// # Errors
///
/// The host cannot provide an instance, or has to stop.
pub fn search_guided(
    stepper: &mut Stepper<'_>,
    state: &Start,
    promise: Promise,
    recovery: Recovery,
    ask: &mut Ask<'_>,
) -> Result<(Outlook, u64), MachineError> {
    if !is_owed(stepper, &state.locals, promise)? {
        return Ok((Outlook::Alive(Vec::new()), 0));
    }
    let guide = Guide::new(stepper, state, promise, recovery, ask)?;
    if guide.targets.is_empty() && !guide.is_exact {
        return Ok((Outlook::Open, guide.work));
    }
    let mut search = Guided::new(stepper, &guide, state);
    let outlook = search.run(stepper, promise, recovery, ask)?;
    Ok((outlook, guide.work + search.transitions))
}

/// A lower bound of the distance to states where a promise is kept.
struct Guide<'l> {
    space: LocalSpace<'l>,
    /// For local states, by their indices, the fewest events of their node to a set of them.
    distances: Vec<Vec<u32>>,
    /// The combinations that keep the promise: for some nodes the set to be in, as an index into `distances`.
    targets: Vec<Vec<(u32, usize)>>,
    /// Whether all local states and all targets are known, so that an infinite distance proves that a state cannot be reached.
    is_exact: bool,
    work: u64,
}

impl<'l> Guide<'l> {
    fn new(
        stepper: &mut Stepper<'l>,
        state: &Start,
        promise: Promise,
        recovery: Recovery,
        ask: &mut Ask<'_>,
    ) -> Result<Self, MachineError> {
        let nodes = state.locals.len();
        let mut space = space_of(stepper, state, recovery, WORK_MAX);
        let mut combinations = Combinations::new(nodes, promise, COMBINATIONS_MAX);
        let (mut alone, mut tuples): (Vec<Vec<Index>>, _) = (vec![Vec::new(); nodes], Vec::new());
        let mut has_all = true;
        let is_complete = loop {
            has_all = has_all
                && combinations.look(stepper, &space, &mut |kept| match kept {
                    Kept::State(index) => {
                        alone[space.states()[index.0 as usize].node as usize].push(index);
                        true
                    }
                    Kept::Classes(tuple) if tuples.len() < TARGETS_MAX => {
                        tuples.push(tuple);
                        true
                    }
                    Kept::Classes(_) => false,
                })?;
            if space.work() >= WORK_MAX {
                break false;
            }
            if pass(&mut space, stepper, ask)? {
                break true;
            }
        };
        let work = space.work() + combinations.evaluated();
        let is_exact = is_complete && has_all;
        let mut guide = Self { space, distances: Vec::new(), targets: Vec::new(), is_exact, work };
        guide.head_for(stepper, alone, &tuples);
        Ok(guide)
    }

    /// Adds targets that keep the promise: local states of each node, and combinations of view classes.
    fn head_for(&mut self, stepper: &Stepper<'_>, alone: Vec<Vec<Index>>, tuples: &[Vec<ClassId>]) {
        for (node, states) in (0..).zip(alone).filter(|(_, states)| !states.is_empty()) {
            self.targets.push(vec![(node, self.distances.len())]);
            self.distances.push(self.space.distances(states.into_iter()));
        }
        let mut sets: FxHashMap<(u32, ClassId), usize> = FxHashMap::default();
        for tuple in tuples {
            let target = (0..).zip(tuple).map(|(node, class)| {
                let set = *sets.entry((node, *class)).or_insert_with(|| {
                    let of_class = (0..).zip(self.space.states()).filter(|(_, reached)| {
                        reached.node == node && stepper.known().brief(reached.state).class == *class
                    });
                    self.distances.push(self.space.distances(of_class.map(|(index, _)| Index(index))));
                    self.distances.len() - 1
                });
                (node, set)
            });
            self.targets.push(target.collect());
        }
    }

    /// A lower bound of the events to a state where the promise is kept; none if all local states are known and it cannot be reached.
    fn estimate(&self, locals: &[LocalStateId]) -> Option<u32> {
        let known: Vec<Option<Index>> = locals.iter().map(|local| self.space.find(*local)).collect();
        let estimates = self.targets.iter().map(|target| {
            let distances = target.iter().map(|(node, set)| {
                known[*node as usize].map_or(UNKNOWN, |index| self.distances[*set][index.0 as usize])
            });
            distances.fold(0, u32::saturating_add)
        });
        let least = estimates.min().unwrap_or(FAR);
        if least == FAR && self.is_exact { None } else { Some(least) }
    }

    fn bytes(&self) -> u64 {
        self.space.bytes() + self.distances.iter().map(|distances| size_of_val(&**distances) as u64).sum::<u64>()
    }
}

/// A state that was found.
struct Place {
    /// The state from which it was found, and the step; none for the first one.
    found: Option<(u32, Step)>,
    /// The state; empty once it was expanded.
    state: GlobalState,
}

/// The search.
struct Guided<'g, 'l> {
    guide: &'g Guide<'l>,
    budgets: Budgets,
    places: Vec<Place>,
    /// Ordered by estimated distance, depth, and content: nothing depends on ids.
    open: BinaryHeap<Reverse<(u32, u32, Fingerprint, u32)>>,
    met: FxHashSet<Fingerprint>,
    /// Bytes of the waiting states.
    waiting: u64,
    transitions: u64,
}

impl<'g, 'l> Guided<'g, 'l> {
    fn new(stepper: &Stepper<'_>, guide: &'g Guide<'l>, state: &Start) -> Self {
        let mut search = Self {
            guide,
            budgets: Budgets::new(state.locals.len(), &SearchBounds::default()),
            places: Vec::new(),
            open: BinaryHeap::new(),
            met: FxHashSet::default(),
            waiting: 0,
            transitions: 0,
        };
        search.enter(None, 0, GlobalState::new(stepper.known(), state));
        search
    }

    fn bytes(&self) -> u64 {
        let each = size_of::<Place>() + 2 * size_of::<Reverse<(u32, u32, Fingerprint, u32)>>();
        self.guide.bytes() + self.waiting + (self.places.len() * each) as u64
    }

    /// Queues a state, if it is new and may lead to one where the promise is kept.
    fn enter(&mut self, found: Option<(u32, Step)>, depth: u32, state: GlobalState) {
        if !self.met.insert(state.fingerprint) {
            return;
        }
        let Some(left) = self.guide.estimate(&state.locals) else { return };
        self.open.push(Reverse((left, depth, state.fingerprint, self.places.len() as u32)));
        self.waiting += state.heap_bytes() as u64;
        self.places.push(Place { found, state });
    }

    fn run(
        &mut self,
        stepper: &mut Stepper<'_>,
        promise: Promise,
        recovery: Recovery,
        ask: &mut Ask<'_>,
    ) -> Result<Outlook, MachineError> {
        let (mut enabled, mut children, mut expanded) = (Vec::new(), Vec::<Child>::new(), 0_u64);
        while let Some(Reverse((_, depth, _, place))) = self.open.pop() {
            if self.transitions >= TRANSITIONS_MAX {
                return Ok(Outlook::Open);
            }
            expanded += 1;
            if expanded.is_multiple_of(STATES_PER_CHECK)
                && let Some(end) = ask(self.bytes())
            {
                return Err(stop(end));
            }
            let state = std::mem::take(&mut self.places[place as usize].state);
            self.waiting -= state.heap_bytes() as u64;
            state.enabled(stepper, &self.budgets, &mut enabled)?;
            children.clear();
            for (node, trigger) in enabled.drain(..).filter(|(_, trigger)| recovery.can_rely_on(*trigger)) {
                let row = stepper.step(state.locals[node as usize], trigger)?;
                GlobalState::push_children(stepper.known(), node, trigger, row, &mut children);
            }
            for child in &children {
                self.transitions += 1;
                // A refusal of a message is a fault.
                if stepper.outcomes(child.row)[child.step.outcome as usize].is_refused() {
                    continue;
                }
                let mut next = state.clone();
                next.take(stepper.known(), &self.budgets, child.step, child.row);
                if !is_owed(stepper, &next.locals, promise)? {
                    return Ok(Outlook::Alive(self.way(place, child.step)));
                }
                self.enter(Some((place, child.step)), depth + 1, next);
            }
        }
        Ok(Outlook::Dead)
    }

    /// The steps to a state, and one more.
    fn way(&self, to: u32, last: Step) -> Vec<Step> {
        let mut way = vec![last];
        let mut place = &self.places[to as usize];
        while let Some((from, step)) = place.found {
            way.push(step);
            place = &self.places[from as usize];
        }
        way.reverse();
        way
    }
}
