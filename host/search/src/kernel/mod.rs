//! The interface of all strategies: input, report, and the request to stop.
//!
//! | module | what it holds |
//! |---|---|
//! | `checkpoint_codec` | the state of a search as bytes |
//! | `dice` | random numbers from a seed |
//! | `goals` | properties that guide walks |
//! | `judged` | judgements that a stop can leave incomplete |
//! | `level_sizes` | the sizes of the levels of a search, and an estimate of the rest |
//! | `monitor` | progress of a running search, its end from outside, and its checkpoints |
//! | `poll` | polls the monitor during long enumerations |
//! | `promise` | promises of progress in the report of a search |
//! | `report` | the report of a search: findings with their paths, and counts |
//! | `rules` | the assumptions of a promise of progress |
//! | `schedule` | the rules by which random walks choose their events |
//! | `tuples` | tuples with one element per node |
//! | `violation_kind` | the kinds of violations |
//! | `weights` | weights of random walks by kind of event |

use host_model::contract::{ClassId, Judgement, MachineError, NodeId, Stopped};
use host_model::lts::{LocalStateId, Lts, MessageId, Mover, Step, Stepper, Trigger};
use host_model::trace::start::{Start, StartError};

pub use crate::kernel::judged::{Judged, unless_stopped};
pub use crate::kernel::level_sizes::{LevelSizes, Rest};
pub use crate::kernel::monitor::{CheckSchedule, Keeper, Monitor, Phase, Progress, Unmonitored};
pub use crate::kernel::promise::{BreachClass, Decided, FoundBreach, MetStates, Promise, PromiseReport, Sampled};
pub use crate::kernel::report::{Basis, CurvePoint, Decider, FoundViolation, Growth, Report, SymmetryUse};
pub use crate::kernel::violation_kind::ViolationKind;

use crate::kernel::checkpoint_codec::{Reader, Writer};
use crate::kernel::goals::Goals;
use crate::kernel::rules::Rules;
use crate::kernel::schedule::Schedule;
use crate::kernel::weights::Weights;

pub mod checkpoint_codec;
pub mod dice;
pub mod goals;
mod judged;
mod level_sizes;
mod monitor;
pub(crate) mod poll;
mod promise;
mod report;
pub mod rules;
pub mod schedule;
pub(crate) mod tuples;
mod violation_kind;
pub mod weights;

/// The bounds of a search, and its options. `None` is without bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchBounds {
    /// Events on a path, counted from the start state.
    pub depth: Option<u32>,
    /// Local events of each node on a path.
    pub local_events: Option<u32>,
    /// Global states; events or executions for a strategy that does not keep global states.
    pub states: Option<u64>,
    /// The seed of random walks.
    pub seed: Option<u64>,
    /// The number of random walks.
    pub walks: Option<u64>,
    /// The odds with which random walks take events of each kind.
    pub weights: Option<Weights>,
    /// The rule by which random walks choose their events; none means [`Schedule::Uniform`].
    pub schedule: Option<Schedule>,
    /// `sometimes` properties that guided walks reach in this order: they mostly begin where most of them were reached.
    pub goals: Goals,
    /// `sometimes` properties in whose states guided walks end.
    pub avoided: Goals,
    /// The number of different violations to collect before the search ends; none means one. With [`variants`](Self::variants), the number
    /// of kinds of violations.
    pub violations: Option<u64>,
    /// The number of violations of one [kind](ViolationKind) to keep, the first ones; none means all.
    pub variants: Option<u64>,
    /// Whether to leave out states and events that provably matter to no property.
    pub reduce: bool,
    /// Whether to count the distinct system states where that takes extra work.
    pub count_system_states: bool,
    /// Whether an end where some node is not done is a violation, see [`host_model::lts::deadlock`].
    pub deadlock: bool,
    /// Whether to tell apart global states that differ only in the names of interchangeable nodes.
    pub no_symmetry: bool,
    /// The rules by which to decide the `eventually` properties; none if they are not to be decided.
    pub promises: Option<Rules>,
}

/// The reason why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EndCondition {
    /// Every reachable state was explored.
    SpaceExhausted,
    /// The strategy left out states on purpose.
    Pruned,
    /// All requested random walks are done.
    WalksDone,
    /// Some path was cut by [`SearchBounds::depth`].
    DepthBound,
    /// Some local event was left out by [`SearchBounds::local_events`].
    LocalEventBound,
    /// [`SearchBounds::states`] was reached.
    StateBound,
    /// The monitor's time is up.
    TimeBound,
    /// The monitor's memory is used up.
    MemoryBound,
    /// The monitor stopped the search, for the user for example.
    Interrupted,
    /// A violation is reachable.
    Violation,
}

impl EndCondition {
    /// Whether the monitor ended the search: another process can continue with it.
    pub fn is_external(self) -> bool {
        matches!(self, Self::TimeBound | Self::MemoryBound | Self::Interrupted)
    }

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::SpaceExhausted => "space-exhausted",
            Self::Pruned => "pruned",
            Self::WalksDone => "walks-done",
            Self::DepthBound => "depth-bound",
            Self::LocalEventBound => "local-event-bound",
            Self::StateBound => "state-bound",
            Self::TimeBound => "time-bound",
            Self::MemoryBound => "memory-bound",
            Self::Interrupted => "interrupted",
            Self::Violation => "violation",
        }
    }
}

impl From<Stopped> for EndCondition {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Time => Self::TimeBound,
            Stopped::Memory => Self::MemoryBound,
            Stopped::Interrupted => Self::Interrupted,
        }
    }
}

/// The counts of a search. A strategy leaves `None` those that it does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Distinct global states.
    pub global_states: Option<u64>,
    /// Executed edges of the searched graph.
    pub transitions: Option<u64>,
    /// Distinct local states, over all nodes.
    pub local_states: Option<u64>,
    /// Local states that are known to be reachable so far, for a strategy that also visits others; none for a search that has the
    /// answer.
    pub reachable_local_states: Option<u64>,
    /// Distinct tuples of local states: reached, proven reachable or built, depending on the strategy.
    pub system_states: Option<u64>,
    /// Distinct messages.
    pub messages: Option<u64>,
    /// Events of the unfolding.
    pub events: Option<u64>,
    /// Executions explored to their end.
    pub executions: Option<u64>,
    /// Of these, executions that turned out to repeat earlier ones up to the order of independent events.
    pub redundant: Option<u64>,
    /// Random walks.
    pub walks: Option<u64>,
    /// Of these, walks that ended in a state without enabled events.
    pub walks_ended: Option<u64>,
    /// Of these, walks to a state in which a search began.
    pub prefixes: Option<u64>,
    /// Distinct outcomes of handlers that were taken: a local state, the trigger of the handler, and its choices.
    pub outcomes: Option<u64>,
    /// Handler executions in the machine.
    pub handler_calls: Option<u64>,
    /// Violations on over-approximated states that had to be verified.
    pub preliminary_violations: Option<u64>,
    /// Queries to the soundness verification.
    pub soundness_checks: Option<u64>,
}

/// Saves the local transition system, before the strategy saves its own state.
pub fn save_lts(lts: &Lts<'_>, out: &mut Writer<'_>) {
    let (journal, quorums) = (lts.journal(), lts.quorums());
    out.number(quorums.len() as u64);
    quorums.iter().for_each(|messages| out.words(&messages.iter().map(|id| id.0).collect::<Vec<_>>()));
    out.words(&journal.iter().flat_map(|(state, trigger)| [state.0, trigger.raw()]).collect::<Vec<_>>());
    out.wide(1, std::iter::once(lts.contents()));
}

/// Executes the handlers that had been executed when the local transition system was saved.
///
/// # Errors
///
/// The host cannot provide an instance, or the saved data is not of this system.
pub fn load_lts(stepper: &mut Stepper<'_>, saved: &mut Reader<'_>) -> Result<(), SearchError> {
    for _ in 0..saved.number().ok_or(SearchError::Checkpoint)? {
        let words = saved.words().ok_or(SearchError::Checkpoint)?;
        stepper.quorum(&words.into_iter().map(MessageId).collect::<Vec<_>>());
    }
    let words = saved.words().ok_or(SearchError::Checkpoint)?;
    let pairs = words.as_chunks::<2>().0.iter();
    let journal: Vec<_> = pairs.map(|[state, trigger]| (LocalStateId(*state), Trigger::from_raw(*trigger))).collect();
    let mut contents = 0;
    saved.wide(|saved| contents = saved).ok_or(SearchError::Checkpoint)?;
    let fits = stepper.repeat(&journal)? && stepper.lts().contents() == contents;
    if fits { Ok(()) } else { Err(SearchError::Checkpoint) }
}

/// A search cannot continue. Nothing that the plugin does is an error: that is a finding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The search cannot begin.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The host cannot provide an instance.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The checkpoint does not fit the system or the strategy.
    #[error("the checkpoint does not fit: the same steps lead to other states now")]
    Checkpoint,
}

/// The end of a search that was [stopped](host_model::contract::Stop) inside a step: its findings so far stand.
pub fn stopped_end(error: impl Into<SearchError>) -> Result<EndCondition, SearchError> {
    match error.into() {
        SearchError::Machine(MachineError::Stopped(why))
        | SearchError::Start(StartError::Machine(MachineError::Stopped(why))) => Ok(why.into()),
        error => Err(error),
    }
}

/// The same for a part of a search that may end it.
pub fn or_end<E: Into<SearchError>>(
    result: Result<Option<EndCondition>, E>,
) -> Result<Option<EndCondition>, SearchError> {
    result.or_else(|error| stopped_end(error).map(Some))
}

/// The task of a strategy.
pub struct Search<'a> {
    /// The local transition system, shared by all workers and runs.
    pub lts: &'a Lts<'a>,
    /// The start states; at least one.
    pub starts: &'a [Start],
    /// The bounds.
    pub bounds: SearchBounds,
    /// The monitor that follows the progress.
    pub monitor: &'a dyn Monitor,
    /// Whether to fill in [`Report::system_states`].
    pub collect_system_states: bool,
}

impl Search<'_> {
    /// Notes the judgements of the state at the end of a path, and passes new violations to the monitor; whether the search is to end now.
    pub(crate) fn note(
        &self,
        report: &mut Report,
        start: &Start,
        path: &[Step],
        judgements: Vec<(Option<NodeId>, Judgement)>,
    ) -> bool {
        let is_full = report.note(start, path, judgements);
        self.announce(report);
        is_full
    }

    /// The same for a state whose judging can have been stopped: notes the judgements made before.
    ///
    /// # Errors
    ///
    /// Judging was stopped, and the judgements made before do not end the search.
    pub(crate) fn note_judged(
        &self,
        report: &mut Report,
        start: &Start,
        path: &[Step],
        judged: Judged,
    ) -> Result<bool, MachineError> {
        let is_full = self.note(report, start, path, judged.judgements);
        unless_stopped(is_full, judged.stopped)
    }

    /// Passes the violations of the report to the monitor that are new to it.
    pub(crate) fn announce(&self, report: &mut Report) {
        for found in report.violations.iter().skip(report.announced) {
            self.monitor.finds(self.lts, found);
        }
        report.announced = report.violations.len();
    }

    /// The start states in a sibling of the local transition system. Their paths begin there.
    pub(crate) fn starts_in(&self, sibling: &Lts<'_>) -> Vec<Start> {
        let mut mover = Mover::new(self.lts, sibling);
        let starts = self.starts.iter().map(|start| {
            let locals: Vec<_> = start.locals.iter().map(|local| mover.local_state(*local)).collect();
            let in_flight = mover.in_flight(&start.in_flight);
            Start { origin: start.origin.clone(), initial: locals.clone(), path: Vec::new(), locals, in_flight }
        });
        starts.collect()
    }
}

/// The judgements on the system state with these local states: of the nodes one by one, then of all together. If a node is
/// stuck in a fault, the fault is the only judgement.
pub fn judge_system_state(stepper: &mut Stepper<'_>, locals: &[LocalStateId]) -> Judged {
    let mut judgements = Vec::new();
    let mut classes: Vec<ClassId> = Vec::with_capacity(locals.len());
    let is_over = stepper.known().is_over(locals);
    for (node, local) in (0u32..).zip(locals) {
        let state = stepper.state(*local);
        classes.push(state.protocol.class);
        if !is_over || state.fault().is_some() {
            judgements.extend(state.protocol.judgements.iter().map(|judgement| (Some(node), judgement.clone())));
        }
    }
    Judged { judgements, stopped: None }.and_tuple(stepper, &classes)
}

/// Bytes of a hash table with room for this many entries: it keeps one slot in eight free, and one byte per slot.
pub fn table_bytes<T>(capacity: usize) -> usize {
    capacity * 8 / 7 * (size_of::<T>() + 1)
}
