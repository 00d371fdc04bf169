//! The state of a search in a checkpoint: the states met so far, each with its way, and the place in the batch that was begun. The states
//! that wait to be expanded are found again by their ways.

use host_model::lts::{LocalStateId, LtsCache, Step, Stepper, Trigger};

use super::{BatchPlace, BreadthFirst};
use crate::global::breadth_first::fresh_locals::FreshLocals;
use crate::global::breadth_first::frontier::{Block, Frontier};
use crate::global::breadth_first::numbers::Numbers;
use crate::global::breadth_first::sink::Discovery;
use crate::global::enabled::Unknown;
use crate::global::state::{Budgets, GlobalState};
use crate::global::visited::Visited;
use crate::kernel::checkpoint_codec::{Reader, Writer};
use crate::kernel::{EndCondition, Keeper, LevelSizes, SearchError, load_lts, save_lts};

/// The reasons for events left out, by their number in a checkpoint.
const REASONS: [EndCondition; 4] =
    [EndCondition::SpaceExhausted, EndCondition::Pruned, EndCondition::DepthBound, EndCondition::LocalEventBound];

/// No search takes more steps.
const COUNT_MAX: u64 = 1 << 62;

/// In place of the state to be judged.
const NONE: u32 = u32::MAX;

impl BreadthFirst<'_, '_> {
    /// Saves the search.
    pub(super) fn save(&self, keeper: &dyn Keeper, is_last: bool) {
        keeper.save(is_last, &|out| {
            save_lts(self.search.lts, out);
            for witnessed in &self.report.witnessed {
                out.number(u64::from(*witnessed == Some(true)));
            }
            out.number(REASONS.iter().take_while(|reason| **reason != self.left_out).count() as u64);
            out.number(u64::from(self.report.depth));
            self.report.levels.save(out);
            self.numbers.save(out);
            self.system_states.save(out);
            self.save_place(out);
        });
    }

    fn save_place(&self, out: &mut Writer<'_>) {
        let BatchPlace { block: _, places, transitions, missing, unjudged, taken_in: _ } = &self.batch;
        let (first, done) = match self.frontier.first() {
            Some(block) => (block.first(), block.done()),
            None => (self.numbers.len(), 0),
        };
        out.number(*transitions);
        out.number(self.expanded);
        out.words(&[first, done as u32, places.start as u32, places.end as u32, unjudged.unwrap_or(NONE)]);
        out.words(&missing.iter().flat_map(|(state, trigger)| [state.0, trigger.raw()]).collect::<Vec<_>>());
        if let Some(fresh) = &self.fresh {
            let rest = places.end.saturating_sub(done.max(places.start));
            fresh.save(rest * self.frontier.layout.nodes, out);
        }
    }

    /// Loads the search.
    ///
    /// # Errors
    ///
    /// The checkpoint is not of this system.
    pub(super) fn load(&mut self, stepper: &mut Stepper<'_>, saved: &mut Reader<'_>) -> Result<(), SearchError> {
        load_lts(stepper, saved)?;
        self.load_state(stepper.known(), saved).ok_or(SearchError::Checkpoint)?;
        // The handlers that the batch had asked for, in their order, as far as they can be executed here.
        let fits = stepper.repeat(&std::mem::take(&mut self.batch.missing))?;
        if fits { Ok(()) } else { Err(SearchError::Checkpoint) }
    }

    fn load_state(&mut self, known: &LtsCache, saved: &mut Reader<'_>) -> Option<()> {
        for index in 0..self.report.witnessed.len() as u32 {
            if saved.number()? != 0 {
                self.report.witness(index);
            }
        }
        self.left_out = *REASONS.get(saved.word()? as usize)?;
        self.report.depth = saved.word()?;
        self.report.levels = LevelSizes::load(saved)?;
        self.numbers = Numbers::load(self.search.starts.len(), saved)?;
        self.system_states = Visited::load(saved)?;
        self.transitions = saved.number().filter(|transitions| *transitions < COUNT_MAX)?;
        self.batch.transitions = self.transitions;
        self.expanded = saved.number().filter(|expanded| *expanded <= u64::from(self.numbers.len()))?;
        let [first, done, start, end, unjudged] = saved.words()?.try_into().ok()?;
        self.batch.places = start as usize..end as usize;
        self.batch.unjudged = Some(unjudged).filter(|unjudged| *unjudged != NONE);
        let missing = saved.words()?;
        let pairs = missing.as_chunks::<2>().0.iter();
        self.batch.missing =
            pairs.map(|[state, trigger]| (LocalStateId(*state), Trigger::from_raw(*trigger))).collect();
        self.queue_again(known, first)?;
        let block = self.frontier.first().map_or(0, Block::len);
        let is_place = start <= end && (end as usize) <= block && (start == end || (start..end).contains(&done));
        if !is_place || !self.frontier.skip(done as usize) {
            return None;
        }
        if let Some(fresh) = &mut self.fresh {
            let rest = end.saturating_sub(done.max(start)) as usize;
            *fresh = FreshLocals::load(rest * self.frontier.layout.nodes, saved)?;
        }
        self.is_whole = true;
        Some(())
    }

    /// Queues the states from a number on: the same blocks as before, if a block began with it. None if the way of one does not lead to it.
    fn queue_again(&mut self, known: &LtsCache, first: u32) -> Option<()> {
        let mut parent: Option<(u32, u32, GlobalState)> = None;
        let (mut last_depth, layout) = (0, self.frontier.layout);
        self.frontier = Frontier::new(layout);
        for number in first..self.numbers.len() {
            let (depth, state) = match self.numbers.discovery(number) {
                Discovery::Start(start) => (0, GlobalState::new(known, &self.search.starts[start as usize])),
                Discovery::Step(from, step) => {
                    if parent.as_ref().is_none_or(|(number, ..)| *number != from) {
                        let (depth, state) = self.state_of(known, from)?;
                        parent = Some((from, depth, state));
                    }
                    let (_, depth, state) = parent.as_ref()?;
                    (depth + 1, successor(known, &self.budgets, state, step)?)
                }
            };
            if depth < last_depth || self.numbers.find(state.fingerprint) != Some(number) {
                return None;
            }
            last_depth = depth;
            self.frontier.push(depth, number, |words| layout.write(&state, words));
        }
        Some(())
    }

    /// A state with this number and its distance from the start; none if its way does not lead to one.
    fn state_of(&self, known: &LtsCache, number: u32) -> Option<(u32, GlobalState)> {
        let (start, path) = self.numbers.path_to(number);
        let state = GlobalState::new(known, &self.search.starts[start as usize]);
        let state = path.iter().try_fold(state, |state, step| successor(known, &self.budgets, &state, *step))?;
        Some((path.len() as u32, state))
    }

    /// Judges the state that another process has entered, but not judged; returns why to end the search, if there is a reason.
    pub(super) fn judge_again(&mut self, stepper: &mut Stepper<'_>) -> Result<Option<EndCondition>, SearchError> {
        let Some(number) = self.batch.unjudged else { return Ok(None) };
        if number >= self.numbers.len() {
            return Err(SearchError::Checkpoint);
        }
        let discovery = self.numbers.discovery(number);
        let (Some((depth, state)), Discovery::Step(_, step)) = (self.state_of(stepper.known(), number), discovery)
        else {
            return Err(SearchError::Checkpoint);
        };
        self.state = state;
        self.judge(stepper, number, depth, discovery, Some(step.node))
    }
}

/// The state after a step; none if it cannot be taken, or was not executed.
fn successor(known: &LtsCache, budgets: &Budgets, state: &GlobalState, step: Step) -> Option<GlobalState> {
    let mut enabled = Vec::new();
    state.enabled_in(known, budgets, &mut enabled, &mut Unknown::default());
    if !enabled.contains(&(step.node, step.trigger)) {
        return None;
    }
    let row = known.row(*state.locals.get(step.node as usize)?, step.trigger)?;
    known.edges(row).get(step.outcome as usize)?;
    let mut state = state.clone();
    state.take(known, budgets, step, row);
    Some(state)
}
