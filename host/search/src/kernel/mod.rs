//! What every strategy shares: what it is given, what it reports, and how it is told to stop.
//!
//! | module | what it holds |
//! |---|---|
//! | `checkpoint_codec` | the state of a search as bytes |
//! | `poll` | polls the monitor during long enumerations |
//! | `tuples` | tuples with one element per node |
//! | `weights` | weights of random walks by kind of event |

use host_model::contract::{Choice, ClassId, Judgement, MachineError, NodeId, PropertyKind, Severity, Stopped};
use host_model::lts::{LocalStateId, Lts, MessageId, Step, Stepper, Trigger};
use host_model::trace::start::{Start, StartError};

use crate::kernel::checkpoint_codec::{Reader, Writer};
use crate::kernel::weights::Weights;

pub mod checkpoint_codec;
pub(crate) mod poll;
pub(crate) mod tuples;
pub mod weights;

/// How far a search may go. `None` is without bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Events on a path, counted from the start state.
    pub depth: Option<u32>,
    /// Local events of each node on a path.
    pub local_events: Option<u32>,
    /// Global states; events or executions for a strategy that does not keep global states.
    pub states: Option<u64>,
    /// What random walks depend on besides the system.
    pub seed: Option<u64>,
    /// How many random walks there are.
    pub walks: Option<u64>,
    /// How likely random walks take events of each kind.
    pub weights: Option<Weights>,
    /// How many different violations are collected before the search ends; none means one.
    pub violations: Option<u64>,
    /// Whether to leave out what is proven not to matter to any property.
    pub reduce: bool,
    /// Whether to count the distinct system states where that takes extra work.
    pub count_system_states: bool,
    /// Whether an end where some node is not done is a violation, see [`host_model::lts::deadlock`].
    pub deadlock: bool,
    /// Whether to tell apart global states that differ only in the names of interchangeable nodes.
    pub no_symmetry: bool,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// Everything reachable was explored.
    SpaceExhausted,
    /// The strategy left something out on purpose.
    Pruned,
    /// All random walks that were asked for are done.
    WalksDone,
    /// Some path was cut by [`Limits::depth`].
    DepthBound,
    /// Some local event was left out by [`Limits::local_events`].
    LocalEventBound,
    /// [`Limits::states`] was reached.
    StateBound,
    /// The monitor's time is up.
    TimeBound,
    /// The monitor's memory is used up.
    MemoryBound,
    /// The monitor was told to stop, by the user for example.
    Interrupted,
    /// Something bad is reachable.
    Violation,
}

impl End {
    /// Whether the monitor ended the search: another process can go on with it.
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

impl From<Stopped> for End {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Time => Self::TimeBound,
            Stopped::Memory => Self::MemoryBound,
            Stopped::Interrupted => Self::Interrupted,
        }
    }
}

/// What was counted. A strategy leaves `None` what it does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Distinct global states.
    pub global_states: Option<u64>,
    /// Executed edges of the searched graph.
    pub transitions: Option<u64>,
    /// Distinct local states, over all nodes.
    pub local_states: Option<u64>,
    /// Local states that are known to be reachable so far, where a strategy goes through others as well.
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
    /// Of these, walks that came to where nothing can happen.
    pub walks_ended: Option<u64>,
    /// Distinct outcomes of handlers that were taken: a local state, what made the handler run, and its choices.
    pub outcomes: Option<u64>,
    /// Handler executions in the machine.
    pub handler_calls: Option<u64>,
    /// Violations on over-approximated states that had to be verified.
    pub preliminary_violations: Option<u64>,
    /// Queries to the soundness verification.
    pub soundness_checks: Option<u64>,
}

/// How far a running search is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// The counts so far.
    pub counts: Counts,
    /// The longest path so far, in events.
    pub depth: u32,
    /// States or events seen but not expanded yet.
    pub queue: u64,
    /// Bytes that the search itself keeps, snapshots included.
    pub bytes: u64,
}

/// What a search is busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The search of its own; every search begins with it.
    Exploring,
    /// Finding out whether what it came across is reachable.
    Verifying,
}

/// Told about progress every few thousand transitions; may end the search. Keeps clocks out of this crate.
pub trait Monitor: Sync {
    /// Returns why to stop, or `None` to go on.
    fn check(&self, progress: &Progress) -> Option<End>;

    /// The same before the search takes so many bytes more: whether there is room for them.
    fn check_room(&self, progress: &Progress, bytes: u64) -> Option<End> {
        self.check(&Progress { bytes: progress.bytes.saturating_add(bytes), ..*progress })
    }

    /// Bytes of memory that the process may have; none without a bound. A search that can forget what it knows does so before it
    /// has as many, instead of being ended by [`check`](Self::check).
    fn memory_max(&self) -> Option<u64> {
        None
    }

    /// Told that another phase begins. Called by one worker at a time.
    fn enter(&self, _phase: Phase) {}

    /// Who keeps checkpoints, if anybody does.
    fn keeper(&self) -> Option<&dyn Keeper> {
        None
    }
}

/// Keeps the state of a long search, so that another process can go on with it. Keeps files out of this crate.
pub trait Keeper: Sync {
    /// Whether it is time to save.
    fn is_due(&self) -> bool;

    /// Saves what `write` puts into the writer that it is given, instead of what was saved before. The search has ended with
    /// it, or goes on.
    fn save(&self, is_last: bool, write: &dyn Fn(&mut Writer<'_>));

    /// Hands what was saved to `read`, if there is something to go on from; only the first time.
    fn resume(&self, read: &mut dyn FnMut(&mut Reader<'_>));
}

/// Saves the local transition system, before a strategy saves its own state.
pub fn save_lts(lts: &Lts<'_>, out: &mut Writer<'_>) {
    let (journal, quorums) = (lts.journal(), lts.quorums());
    out.number(quorums.len() as u64);
    quorums.iter().for_each(|messages| out.words(&messages.iter().map(|id| id.0).collect::<Vec<_>>()));
    out.words(&journal.iter().flat_map(|(state, trigger)| [state.0, trigger.raw()]).collect::<Vec<_>>());
    out.wide(1, std::iter::once(lts.contents()));
}

/// Executes what had been executed when the local transition system was saved.
///
/// # Errors
///
/// The host cannot provide an instance, or what was saved is not of this system.
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

/// Never stops.
pub struct Unmonitored;

impl Monitor for Unmonitored {
    fn check(&self, _progress: &Progress) -> Option<End> {
        None
    }
}

/// Says when the monitor is due: every few thousand states, and after each handler that was executed, since one can
/// take as long as a million states that only look outcomes up.
#[derive(Debug, Default)]
pub struct Ticks {
    ticks: u32,
    rows: usize,
    bytes: u64,
}

/// By how much a search grows between two questions at most, about.
const GROWTH_BYTES: u64 = 1 << 20;

/// States between two checks.
const STATES_PER_CHECK: u32 = 4096;

impl Ticks {
    /// Whether the search, which keeps so many bytes, has grown much since this was last answered with yes. To be called
    /// wherever one state makes it grow by an amount without a bound.
    #[inline]
    pub fn has_grown(&mut self, bytes: u64) -> bool {
        let has_grown = bytes >= self.bytes.saturating_add(GROWTH_BYTES);
        if has_grown || bytes < self.bytes {
            self.bytes = bytes;
        }
        has_grown
    }

    /// To be called once per state.
    #[inline]
    pub fn is_check_due(&mut self, stepper: &Stepper<'_>) -> bool {
        self.is_check_due_after(stepper, 1)
    }

    /// The same for a state that takes as long as so many: one with thousands of messages in flight, say.
    #[inline]
    pub fn is_check_due_after(&mut self, stepper: &Stepper<'_>, states: usize) -> bool {
        let has_executed = std::mem::replace(&mut self.rows, stepper.rows()) != stepper.rows();
        let before = self.ticks / STATES_PER_CHECK;
        self.ticks = self.ticks.wrapping_add(u32::try_from(states).unwrap_or(STATES_PER_CHECK));
        has_executed || self.ticks / STATES_PER_CHECK != before
    }
}

/// A reachable state with something to say about it, and a path that leads there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What there is to say.
    pub judgement: Judgement,
    /// The node that is in the judged local state; none if several nodes are judged together.
    pub node: Option<NodeId>,
    /// The answers to `choose` in `init`, a list for each node.
    pub init_choices: Vec<Box<[Choice]>>,
    /// The local states after `init`.
    pub initial: Vec<LocalStateId>,
    /// All events, those of the prefix included.
    pub path: Vec<Step>,
    /// Whether no shorter path from a start state exists, within the bound on local events if there is one.
    pub shortest: bool,
}

impl Found {
    /// A finding at the end of `path`, which begins at `start`.
    pub fn new(start: &Start, path: &[Step], node: Option<NodeId>, judgement: Judgement) -> Self {
        Self {
            judgement,
            node,
            init_choices: start.init_choices.clone(),
            initial: start.initial.clone(),
            path: start.path.iter().chain(path).copied().collect(),
            shortest: false,
        }
    }
}

/// What became of the interchangeable nodes that the protocol declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymmetryUse {
    /// Global states were told apart only up to so many renamings of nodes, the identity included; all that the declaration
    /// allows, or enough of them.
    Renamings(u64),
    /// They were told apart: the declaration is wrong or cannot be used; a lower-case phrase.
    Refused(String),
}

/// What the answer of a search rests on, where that is not what its strategy goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The unfolding of everything, which was complete, or had found the violations, before local model checking was.
    Unfolding,
    /// All local states: a bound on local events left out repetitions, and nothing that a property could see.
    LocalStates,
}

/// What a search has to report.
#[derive(Clone, Debug)]
pub struct Report {
    /// Why it ended.
    pub end: End,
    /// What the answer rests on, where that is worth a word.
    pub basis: Option<Basis>,
    /// What was counted.
    pub counts: Counts,
    /// The longest path explored, in events; for local model checking, of one node.
    pub depth: u32,
    /// Violations and faults, each reachable, no two with the same words.
    pub violations: Vec<Found>,
    /// How many of them end the search; at least 1.
    pub violations_max: u64,
    /// For each property of kind `sometimes` whether a state was found where it holds; `None` for other kinds.
    pub witnessed: Vec<Option<bool>>,
    /// The system states counted, sorted, if they were asked for.
    pub system_states: Option<Vec<Box<[LocalStateId]>>>,
    /// How many global states are told apart by no more than a part of their fingerprints, if that is so.
    pub fingerprints: Option<u64>,
    /// None if nothing is declared, or the search does not ask.
    pub symmetry: Option<SymmetryUse>,
    /// How often the search forgot what handlers do, and went on in an empty local transition system: the one that it was given
    /// then shows only a part.
    pub renewals: u64,
    /// Whether there may be more local states, messages and outcomes than were counted: there was no room to count all of them.
    pub are_lower_bounds: bool,
}

impl Report {
    /// An empty report over these properties.
    pub fn new(lts: &Lts<'_>) -> Self {
        let of_kind = |kind| (kind == PropertyKind::Sometimes).then_some(false);
        Self {
            end: End::SpaceExhausted,
            basis: None,
            counts: Counts::default(),
            depth: 0,
            violations: Vec::new(),
            violations_max: 1,
            witnessed: lts.properties().iter().map(|property| of_kind(property.kind)).collect(),
            system_states: None,
            fingerprints: None,
            symmetry: None,
            renewals: 0,
            are_lower_bounds: false,
        }
    }

    /// The same for a search that goes on after a violation, as far as its limits say.
    #[must_use]
    pub fn collecting(self, limits: &Limits) -> Self {
        Self { violations_max: limits.violations.unwrap_or(1).max(1), ..self }
    }

    /// Notes what there is to say about the state at the end of a path; whether the search is to end now. A violation in
    /// the words of an earlier one is that one.
    pub fn note(&mut self, start: &Start, path: &[Step], judgements: Vec<(Option<NodeId>, Judgement)>) -> bool {
        for (node, judgement) in judgements {
            match judgement.severity() {
                Severity::Witness(property) => self.witness(property),
                Severity::Violation if self.is_news(node, &judgement) => {
                    self.violations.push(Found::new(start, path, node, judgement));
                }
                Severity::Violation => {}
            }
        }
        self.is_full()
    }

    /// Whether the report does not say yet what there is to say about a state.
    pub fn is_news(&self, node: Option<NodeId>, judgement: &Judgement) -> bool {
        match judgement.severity() {
            Severity::Witness(property) => self.wants_witness(property),
            Severity::Violation => {
                !self.violations.iter().any(|found| found.node == node && found.judgement == *judgement)
            }
        }
    }

    /// Whether what there is to say is of use: anything bad, and what was not witnessed yet.
    pub fn wants(&self, judgement: &Judgement) -> bool {
        match judgement.severity() {
            Severity::Witness(property) => self.wants_witness(property),
            Severity::Violation => true,
        }
    }

    /// Whether there are as many violations as are wanted.
    pub fn is_full(&self) -> bool {
        self.violations.len() as u64 >= self.violations_max
    }

    /// Notes that a property of kind `sometimes` is reached.
    pub fn witness(&mut self, property: u32) {
        self.witnessed[property as usize] = Some(true);
    }

    /// Whether the property is of kind `sometimes` and was not reached yet.
    pub fn wants_witness(&self, property: u32) -> bool {
        self.witnessed[property as usize] == Some(false)
    }

    /// Fills in what the local transition system counts.
    pub fn count_local(&mut self, lts: &Lts<'_>) {
        let counts = lts.counts();
        self.counts.local_states = Some(counts.local_states);
        self.counts.messages = Some(counts.messages);
        self.counts.handler_calls = Some(counts.handler_calls);
    }
}

/// A search cannot go on. Nothing that the plugin does is an error; that is a finding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The search cannot begin.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The host cannot provide an instance.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// What was saved does not fit the system or the strategy.
    #[error("the checkpoint does not fit: the same steps lead to other states now")]
    Checkpoint,
}

/// The end of a search that was [stopped](host_model::contract::Stop) inside a step: what it has found so far stands.
///
/// # Errors
///
/// Any other error.
pub fn stopped_end(error: impl Into<SearchError>) -> Result<End, SearchError> {
    match error.into() {
        SearchError::Machine(MachineError::Stopped(why))
        | SearchError::Start(StartError::Machine(MachineError::Stopped(why))) => Ok(why.into()),
        error => Err(error),
    }
}

/// The same of a part of a search that may end it.
///
/// # Errors
///
/// Any other error.
pub fn or_end<E: Into<SearchError>>(result: Result<Option<End>, E>) -> Result<Option<End>, SearchError> {
    result.or_else(|error| stopped_end(error).map(Some))
}

/// What a strategy is given.
pub struct Search<'a> {
    /// The local transition system, shared by all workers and runs.
    pub lts: &'a Lts<'a>,
    /// Where to begin; at least one.
    pub starts: &'a [Start],
    /// How far to go.
    pub limits: Limits,
    /// Whom to tell.
    pub monitor: &'a dyn Monitor,
    /// Whether [`Report::system_states`] is wanted.
    pub collect_system_states: bool,
}

/// The judgements on the system state with these local states: of the nodes one by one, then of all together. Where a node is
/// stuck in a fault the fault is the only one.
///
/// # Errors
///
/// The host cannot provide an instance.
pub fn judge_system_state(
    stepper: &mut Stepper<'_>,
    locals: &[LocalStateId],
) -> Result<Vec<(Option<NodeId>, Judgement)>, MachineError> {
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
    judgements.extend(stepper.judge(&classes)?.iter().map(|judgement| (None, judgement.clone())));
    Ok(judgements)
}

/// Bytes of a hash table with room for so many entries: it keeps one place in eight free, and a byte for each place.
pub fn table_bytes<T>(capacity: usize) -> usize {
    capacity * 8 / 7 * (size_of::<T>() + 1)
}
