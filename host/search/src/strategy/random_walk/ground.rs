//! A walk, and how it draws and takes its steps. It is independent of ids and of other walks.

use std::sync::Arc;

use host_model::contract::fingerprint::{self, Fingerprint};
use host_model::contract::{LocalKind, MachineError, NodeId};
use host_model::lts::{LocalStateId, Lts, Outcome, Step, Stepper, Trigger};
use host_model::trace::start::Start;
use rand_chacha::ChaCha8Rng;

use crate::global::cursor::{Child, GlobalCursor};
use crate::kernel::SearchBounds;
use crate::kernel::dice::{below, dice, draw, draw_outcome};
use crate::kernel::weights::Weights;
use crate::strategy::random_walk::LENGTH_DEFAULT;
use crate::strategy::random_walk::growth::Lengths;
use crate::strategy::random_walk::plan::Plan;
use crate::strategy::random_walk::scheduler::{Candidate, Kind, content};
use crate::strategy::random_walk::script::{Change, Line, Script};
use crate::strategy::random_walk::way::{Leg, Way};

/// Separates the draws of walks from other states from those of the search.
const TRIALS_SEED: u64 = 0x7265_636f_7665_7279;

/// One walk.
pub(in crate::strategy) struct Walk {
    /// Its number.
    pub(in crate::strategy) number: u64,
    /// Index of its start state.
    pub(in crate::strategy) start: usize,
    /// Its current state. The path to it is not kept.
    pub(in crate::strategy) cursor: GlobalCursor,
    /// Number of steps taken.
    pub(in crate::strategy) depth: u32,
    /// The event that was drawn for the current step; none once the walk is over.
    pub(super) drawn: Option<(NodeId, Trigger)>,
    /// Whether it has reached a violation.
    pub(in crate::strategy) is_over: bool,
    /// The lengths of its local states.
    pub(super) lengths: Lengths,
    /// The path to the state where it began, if not a start state.
    pub(super) from: Option<Arc<Way>>,
    /// The steps that it may take.
    pub(super) steps_max: u32,
    /// The number of goals reached, each after the one before, including those on the path to its beginning.
    pub(super) reached: u32,
    /// The key of the last state that an archive has examined.
    pub(super) cell: Option<u64>,
    /// The events that it repeats first, and the number of those that it has tried.
    script: Script,
    tried: usize,
    /// The outcome of the drawn event, if the event is one to repeat.
    outcome: Option<u32>,
    /// The plan by which it chooses events; none if it draws evenly.
    plan: Option<Plan>,
    dice: ChaCha8Rng,
}

impl Walk {
    /// The local state of the node of the drawn step.
    pub(super) fn local(&self, node: NodeId) -> LocalStateId {
        self.cursor.locals()[node as usize]
    }

    /// A walk that draws evenly and has taken no step.
    fn new(number: u64, start: usize, cursor: GlobalCursor, dice: ChaCha8Rng) -> Self {
        Self {
            number,
            start,
            cursor,
            depth: 0,
            drawn: None,
            is_over: false,
            lengths: Lengths::default(),
            from: None,
            steps_max: 0,
            reached: 0,
            cell: None,
            script: Script::default(),
            tried: 0,
            outcome: None,
            plan: None,
            dice,
        }
    }

    /// The path to its current state.
    pub(super) fn way(&self) -> Way {
        let Self { number, steps_max, depth, .. } = *self;
        let leg = Leg { number, steps_max, depth, script: Arc::clone(&self.script) };
        Way::new(self.from.clone(), leg, self.start, self.reached)
    }

    /// Number of steps that it has taken itself.
    pub(super) fn steps(&self) -> u32 {
        self.depth - self.from.as_ref().map_or(0, |way| way.depth())
    }

    /// Bytes that it keeps.
    pub(in crate::strategy) fn bytes(&self) -> u64 {
        self.cursor.bytes() + self.plan.as_ref().map_or(0, Plan::bytes)
    }
}

/// The result of drawing an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drawn {
    /// An event.
    Event,
    /// None, since the walk is over or long enough, no event has a weight, or a bound left out events.
    Cut,
    /// None, since no event is possible.
    Ended,
}

/// The surroundings of walks: a local transition system with the start states in it.
pub(in crate::strategy) struct Ground<'l> {
    /// Access to the local transition system.
    pub(in crate::strategy) stepper: Stepper<'l>,
    starts: &'l [Start],
    bounds: SearchBounds,
    weights: Weights,
    /// The kinds and fingerprints of the local events seen so far, by id.
    events: Vec<Option<(LocalKind, Fingerprint)>>,
    /// Reused, to spare allocations.
    enabled: Vec<(NodeId, Trigger)>,
    children: Vec<Child>,
}

impl<'l> Ground<'l> {
    /// Walks within these bounds from these start states.
    pub(in crate::strategy) fn new(
        lts: &'l Lts<'l>,
        starts: &'l [Start],
        bounds: SearchBounds,
    ) -> Result<Self, MachineError> {
        Ok(Self {
            stepper: Stepper::new(lts)?,
            starts,
            bounds,
            weights: bounds.weights.unwrap_or_default(),
            events: Vec::new(),
            enabled: Vec::new(),
            children: Vec::new(),
        })
    }

    /// A new walk.
    pub(in crate::strategy) fn begin(&self, number: u64) -> Walk {
        self.begin_stretch(number, self.length_max())
    }

    /// A walk of at most this many steps that begins in a start state.
    pub(super) fn begin_stretch(&self, number: u64, steps_max: u32) -> Walk {
        let mut dice = self.dice(number);
        let start = below(&mut dice, self.starts.len() as u64) as usize;
        let cursor = GlobalCursor::new(&self.stepper, &self.starts[start], &self.bounds);
        let mut lengths = Lengths::default();
        lengths.look(&self.stepper, cursor.locals(), 0);
        let plan = Plan::new(self.bounds.schedule.unwrap_or_default(), &mut dice, steps_max);
        Walk { plan, lengths, steps_max, ..Walk::new(number, start, cursor, dice) }
    }

    /// A walk of at most this many steps that begins at the end of a path, in this state.
    pub(super) fn continue_from(&self, way: &Arc<Way>, state: GlobalCursor, number: u64, steps_max: u32) -> Walk {
        let mut dice = self.dice(number);
        let plan = Plan::new(self.bounds.schedule.unwrap_or_default(), &mut dice, steps_max);
        let (from, reached) = (Some(Arc::clone(way)), way.reached);
        Walk { plan, steps_max, from, reached, depth: way.depth(), ..Walk::new(number, way.start, state, dice) }
    }

    /// A walk that repeats a path with a change, from the beginning of the walk on that took the changed step, and takes at most this many
    /// steps then. It begins in front of the change, unless goals may lie between: the states before were judged when they were found.
    pub(super) fn repeat(
        &mut self,
        way: &Way,
        change: Change,
        number: u64,
        steps_max: u32,
    ) -> Result<Walk, MachineError> {
        let from = way.before(change.place);
        let first = from.map_or(0, |from| from.depth());
        let begins = if self.bounds.goals.is_empty() { change.place } else { first };
        let (mut state, mut steps) = (None, Vec::new());
        self.walk_again(way, &mut |walk, step| {
            if walk.depth >= first {
                steps.push(step);
            }
            if walk.depth == begins {
                state = Some(walk.cursor.settled());
            }
        })?;
        let lines = steps
            .iter()
            .map(|step| Line { content: content(step.node, self.fingerprint(step.trigger)), outcome: step.outcome });
        let script = change.apply(lines.collect(), first);
        let steps_max = steps_max + script.len() as u32;
        // A protocol that is not deterministic may have taken a shorter path.
        let Some(state) = state else { return Ok(self.begin_stretch(number, steps_max)) };
        let walk = match from {
            Some(from) => self.continue_from(from, state, number, steps_max),
            None => match self.begin_stretch(number, steps_max) {
                walk if walk.start == way.start => Walk { cursor: state, ..walk },
                from_another_start => return Ok(Walk { script, ..from_another_start }),
            },
        };
        Ok(Walk { script, depth: begins, tried: (begins - first) as usize, ..walk })
    }

    fn dice(&self, number: u64) -> ChaCha8Rng {
        dice(self.bounds.seed.unwrap_or(0), number)
    }

    /// Maximum number of steps of a walk.
    pub(super) fn length_max(&self) -> u32 {
        self.bounds.depth.unwrap_or(LENGTH_DEFAULT)
    }

    /// A walk without faults from a state that is no start of the search, drawn evenly. Such walks have their own numbers.
    pub(super) fn try_from(&self, state: &Start, number: u64) -> Walk {
        // The bounds are those of the search, and a promise may be kept beyond them.
        let cursor = GlobalCursor::new(&self.stepper, state, &SearchBounds::default());
        let dice = dice(self.bounds.seed.unwrap_or(0) ^ TRIALS_SEED, number);
        Walk { steps_max: self.length_max(), ..Walk::new(number, 0, cursor, dice) }
    }

    /// The same for walks without faults.
    #[must_use]
    pub(in crate::strategy) fn without_faults(mut self) -> Self {
        self.weights.fault = 0;
        self
    }

    /// Takes the next step of a walk without faults; none at its end.
    pub(super) fn step(&mut self, walk: &mut Walk) -> Result<Option<Step>, MachineError> {
        let weights = std::mem::replace(&mut self.weights, Weights { fault: 0, ..Weights::default() });
        let child = self.draw_reliable(walk);
        self.weights = weights;
        Ok(child?.map(|child| {
            self.take(walk, &child);
            child.step
        }))
    }

    /// Draws the next step of a walk, but no refusal, which is a fault whatever the weight of its event; none at the end of the walk.
    pub(in crate::strategy) fn draw_reliable(&mut self, walk: &mut Walk) -> Result<Option<Child>, MachineError> {
        match self.draw(walk)? {
            Drawn::Event => self.draw_child_without_refusals(walk).map(Some),
            Drawn::Cut | Drawn::Ended => Ok(None),
        }
    }

    /// Draws the next event of a walk; returns the reason if there is none.
    pub(super) fn draw(&mut self, walk: &mut Walk) -> Result<Drawn, MachineError> {
        walk.drawn = None;
        if walk.is_over || walk.steps() >= walk.steps_max || walk.depth >= self.length_max() {
            return Ok(Drawn::Cut);
        }
        let mut enabled = std::mem::take(&mut self.enabled);
        let stepper = &mut self.stepper;
        let is_cut = walk.cursor.enabled(stepper, &mut enabled)?;
        walk.cursor.leave_out_idle(stepper, &mut enabled)?;
        // Ids depend on the events that other walks met before, contents do not.
        let deliveries = enabled.partition_point(|(_, trigger)| trigger.is_delivery());
        enabled[..deliveries]
            .sort_unstable_by_key(|(_, trigger)| (trigger.quorum().is_some(), taken(&self.stepper, *trigger)));
        let losses = enabled.partition_point(|(_, trigger)| trigger.lost().is_none());
        enabled[losses..].sort_unstable_by_key(|(_, trigger)| taken(&self.stepper, *trigger));
        let repeated = self.repeated(walk, &enabled);
        let chosen = match &mut walk.plan {
            _ if repeated.is_some() => repeated,
            None => {
                let weights: Vec<u64> = enabled.iter().map(|(_, trigger)| self.weight(*trigger)).collect();
                draw(&mut walk.dice, weights.iter().copied())
            }
            Some(plan) => {
                let mut candidates = plan.take_candidates();
                candidates
                    .extend(enabled.iter().map(|(node, trigger)| self.candidate(*node, *trigger, plan, walk.depth)));
                plan.choose(&mut walk.dice, candidates)
            }
        };
        walk.drawn = chosen.map(|index| enabled[index]);
        let is_end = enabled.is_empty() && !is_cut;
        self.enabled = enabled;
        Ok(match walk.drawn {
            Some(_) => Drawn::Event,
            None if is_end => Drawn::Ended,
            None => Drawn::Cut,
        })
    }

    /// The next event that a walk is to repeat and that is possible, by its place among the possible ones; none once all were tried.
    fn repeated(&mut self, walk: &mut Walk, enabled: &[(NodeId, Trigger)]) -> Option<usize> {
        walk.outcome = None;
        while let Some(Line { content: wanted, outcome }) = walk.script.get(walk.tried).copied() {
            walk.tried += 1;
            let is_it = |(node, trigger): &(NodeId, Trigger)| content(*node, self.fingerprint(*trigger)) == wanted;
            if let Some(place) = enabled.iter().position(is_it) {
                walk.outcome = Some(outcome);
                return Some(place);
            }
        }
        None
    }

    /// Draws the outcome of the drawn event.
    pub(super) fn draw_child(&mut self, walk: &mut Walk) -> Result<Child, MachineError> {
        let outcomes = self.outcomes(walk)?;
        let drawn = match walk.outcome.map(|outcome| outcome as usize) {
            Some(repeated) if repeated < outcomes.len() => repeated,
            _ => draw_outcome(&mut walk.dice, outcomes.iter()),
        };
        Ok(self.children[drawn])
    }

    /// Draws an outcome in which no message is refused: a refusal is a fault. There is one, since a refusable message can also be taken.
    fn draw_child_without_refusals(&mut self, walk: &mut Walk) -> Result<Child, MachineError> {
        let outcomes = self.outcomes(walk)?;
        let possible: Vec<usize> = (0..outcomes.len()).filter(|index| !outcomes[*index].is_refused()).collect();
        let drawn = draw_outcome(&mut walk.dice, possible.iter().map(|index| &outcomes[*index]));
        Ok(self.children[possible[drawn]])
    }

    /// The outcomes of the drawn event, with a child for each.
    fn outcomes(&mut self, walk: &Walk) -> Result<&[Outcome], MachineError> {
        let (node, trigger) = walk.drawn.expect("only walks that continue advance");
        self.children.clear();
        walk.cursor.children(&mut self.stepper, node, trigger, &mut self.children)?;
        Ok(self.stepper.outcomes(self.children[0].row))
    }

    /// Takes a step.
    pub(in crate::strategy) fn take(&self, walk: &mut Walk, child: &Child) {
        if let Some(plan) = &mut walk.plan {
            plan.take(self.stepper.known(), child, walk.depth, walk.cursor.in_flight());
        }
        walk.cursor.descend(&self.stepper, child.step, child.row);
        walk.cursor.settle();
        walk.depth += 1;
    }

    /// The steps of a path: its walks walk again, and execute handlers that are not known here.
    pub(super) fn path(&mut self, way: &Way) -> Result<Vec<Step>, MachineError> {
        let mut path = Vec::with_capacity(way.depth() as usize);
        self.walk_again(way, &mut |_, step| path.push(step))?;
        Ok(path)
    }

    /// The state at the end of a path.
    pub(super) fn end_of(&mut self, way: &Way) -> Result<GlobalCursor, MachineError> {
        self.walk_again(way, &mut |_, _| {})
    }

    /// Takes the steps of a path, each shown with the walk before it: the recursion is as deep as the number of its walks, which is bounded.
    fn walk_again(&mut self, way: &Way, taken: &mut dyn FnMut(&Walk, Step)) -> Result<GlobalCursor, MachineError> {
        let Leg { number, steps_max, depth, .. } = way.leg;
        let mut walk = match &way.from {
            Some(from) => {
                let state = self.walk_again(from, taken)?;
                self.continue_from(from, state, number, steps_max)
            }
            None => self.begin_stretch(number, steps_max),
        };
        walk.script = Arc::clone(&way.leg.script);
        // A protocol that is not deterministic may take another path. Confirming the path then shows that.
        while walk.depth < depth && self.draw(&mut walk)? == Drawn::Event {
            let child = self.draw_child(&mut walk)?;
            taken(&walk, child.step);
            self.take(&mut walk, &child);
        }
        Ok(walk.cursor)
    }

    /// A fingerprint of a trigger.
    pub(super) fn fingerprint(&mut self, trigger: Trigger) -> Fingerprint {
        match trigger.local_event() {
            Some(_) => self.event(trigger).map_or(0, |(_, fingerprint)| fingerprint),
            None if trigger.is_delivery() => taken(&self.stepper, trigger),
            // It must differ from that of the delivery of the same message.
            None if trigger.lost().is_some() => !taken(&self.stepper, trigger),
            None => fingerprint::of_fault_event(trigger.raw()),
        }
    }

    /// An enabled event, as a scheduler sees it after this many steps.
    fn candidate(&mut self, node: NodeId, trigger: Trigger, plan: &Plan, steps: u32) -> Candidate {
        let (weight, content) = (self.weight(trigger), content(node, self.fingerprint(trigger)));
        let local = self.event(trigger);
        let known = self.stepper.known();
        // The order of the messages of a quorum is that of their ids.
        let messages = known.taken(trigger).map(|message| known.message(message));
        let first = messages.min_by_key(|message| message.fingerprint);
        let origin = match first {
            Some(first) => plan.chains().of_message(first.fingerprint, steps),
            None => plan.chains().of_own(content),
        };
        let kind = match local {
            Some((kind, _)) => Kind::Local(kind),
            None if trigger.is_delivery() => Kind::Delivery,
            None => Kind::Fault,
        };
        let from = first.map(|message| message.from);
        let tag = first.and_then(|message| message.payload.first().copied()).unwrap_or_default();
        Candidate { node, kind, from, tag, content, origin, weight }
    }

    fn weight(&mut self, trigger: Trigger) -> u64 {
        if trigger.is_delivery() {
            return self.weights.deliver.into();
        }
        match self.event(trigger) {
            Some((kind, _)) => self.weights.of_local(kind).into(),
            None => self.weights.fault.into(),
        }
    }

    fn event(&mut self, trigger: Trigger) -> Option<(LocalKind, Fingerprint)> {
        let event = trigger.local_event()?;
        let index = event.0 as usize;
        if self.events.len() <= index {
            self.events.resize(index + 1, None);
        }
        Some(*self.events[index].get_or_insert_with(|| {
            let event = self.stepper.lts().local_event(event);
            (event.kind, fingerprint::of_local_event(&event))
        }))
    }
}

/// The sum of the fingerprints of the messages that a trigger takes out of flight.
fn taken(stepper: &Stepper<'_>, trigger: Trigger) -> Fingerprint {
    let messages = stepper.known().taken(trigger);
    messages.fold(0, |sum: Fingerprint, message| sum.wrapping_add(stepper.message(message).fingerprint))
}
