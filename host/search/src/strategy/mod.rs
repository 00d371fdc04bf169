//! The table of strategies: command-line help, documentation and agreement tests come from it.
//!
//! | module | what it holds |
//! |---|---|
//! | `auto` | a portfolio of others |
//! | `bdfs` | bounded depth-first search |
//! | `lmc` | local model checking, general and optimised |
//! | `unfold` | grows an unfolding until it is complete or has the shortest violation |
//! | `consequence` | consequence prediction |
//! | `dpor` | optimal dynamic partial-order reduction |
//! | `dpor_ds` | DPOR-DS, the algorithm on the last path |
//! | `dpor_ds_tree` | DPOR-DS, the algorithm on the whole tree |
//! | `guided` | walks that begin where few walks have been |
//! | `prefix` | searches from states far away, which walks have reached |
//! | `random_walk` | seeded random walks |

use crate::kernel::{Report, Search, SearchBounds, SearchError};

pub mod auto;
pub mod bdfs;
pub mod consequence;
pub mod dpor;
pub mod dpor_ds;
pub mod dpor_ds_tree;
pub mod guided;
pub mod lmc;
pub mod prefix;
pub mod random_walk;
pub mod unfold;

/// A bound, or another option of the search, that a strategy honours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// [`SearchBounds::depth`].
    Depth,
    /// [`SearchBounds::local_events`].
    LocalEvents,
    /// [`SearchBounds::states`].
    States,
    /// [`SearchBounds::seed`].
    Seed,
    /// [`SearchBounds::walks`].
    Walks,
    /// [`SearchBounds::weights`].
    Weights,
    /// [`SearchBounds::schedule`].
    Schedule,
    /// [`SearchBounds::goals`].
    Goal,
    /// [`SearchBounds::avoided`].
    Avoid,
    /// [`SearchBounds::violations`].
    Violations,
    /// [`SearchBounds::reduce`].
    Reduce,
    /// [`SearchBounds::count_system_states`].
    CountSystemStates,
    /// [`SearchBounds::deadlock`].
    Deadlock,
}

impl Bound {
    /// All bounds.
    pub const ALL: [Self; 13] = [
        Self::Depth,
        Self::LocalEvents,
        Self::States,
        Self::Reduce,
        Self::CountSystemStates,
        Self::Deadlock,
        Self::Seed,
        Self::Walks,
        Self::Weights,
        Self::Schedule,
        Self::Goal,
        Self::Avoid,
        Self::Violations,
    ];

    /// Whether the limits set this bound.
    pub fn is_set(self, bounds: &SearchBounds) -> bool {
        match self {
            Self::Depth => bounds.depth.is_some(),
            Self::LocalEvents => bounds.local_events.is_some(),
            Self::States => bounds.states.is_some(),
            Self::Seed => bounds.seed.is_some(),
            Self::Walks => bounds.walks.is_some(),
            Self::Weights => bounds.weights.is_some(),
            Self::Schedule => bounds.schedule.is_some(),
            Self::Goal => !bounds.goals.is_empty(),
            Self::Avoid => !bounds.avoided.is_empty(),
            Self::Violations => bounds.violations.is_some(),
            Self::Reduce => bounds.reduce,
            Self::CountSystemStates => bounds.count_system_states,
            Self::Deadlock => bounds.deadlock,
        }
    }

    /// The command-line option without its dashes.
    pub fn option(self) -> &'static str {
        match self {
            Self::Depth => "depth",
            Self::LocalEvents => "local-events",
            Self::States => "states",
            Self::Seed => "seed",
            Self::Walks => "walks",
            Self::Weights => "weights",
            Self::Schedule => "schedule",
            Self::Goal => "goal",
            Self::Avoid => "avoid",
            Self::Violations => "max-violations",
            Self::Reduce => "reduce",
            Self::CountSystemStates => "count-system-states",
            Self::Deadlock => "deadlock",
        }
    }
}

/// The result of a strategy for `eventually` properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promises {
    /// It decides whether they hold.
    Decided,
    /// It finds states in which they can never hold again, as far as it gets.
    Sampled,
    /// It finds executions that break them, as far as it gets.
    Shown,
    /// It ignores them.
    Unchecked,
}

/// One strategy.
#[derive(Clone, Copy, Debug)]
pub struct Strategy {
    /// The value of `--algo`.
    pub name: &'static str,
    /// Other values that mean the same.
    pub aliases: &'static [&'static str],
    /// A summary of one line.
    pub summary: &'static str,
    /// The reason why its findings are reachable.
    pub soundness: &'static str,
    /// The states or violations it may miss.
    pub completeness: &'static str,
    /// Whether it misses nothing within the bounds.
    pub is_complete: bool,
    /// The bounds that it honours; a search with another one is refused.
    pub honours: &'static [Bound],
    /// Whether it saves its state for a [`Keeper`](crate::kernel::Keeper).
    pub keeps_checkpoints: bool,
    /// Its result for `eventually` properties, see [`SearchBounds::promises`].
    pub promises: Promises,
    /// Whether it loses messages where the scenario allows it; the others keep each message in flight until it is delivered.
    pub loses_messages: bool,
    /// Its entry point.
    pub run: fn(&Search<'_>) -> Result<Report, SearchError>,
}

/// Strategies that reproduce the tables of papers, and are inferior in everything else: they work, but help and lists leave them out.
const REPRODUCING: [&str; 3] = ["lmc-gen", "dpor-ds", "dpor-ds-tree"];

impl Strategy {
    /// Whether it exists only for the tables of papers.
    pub fn only_reproduces(&self) -> bool {
        REPRODUCING.contains(&self.name)
    }
}

/// All strategies, in the order of the documentation.
pub const STRATEGIES: &[Strategy] = &[
    Strategy {
        name: "auto",
        aliases: &[],
        summary: "a portfolio: bdfs, bdfs --reduce, unfold, lmc, random walks and guided ones in turns, until the first has the answer",
        soundness: "every state and every event is reached, or verified by the causal unfolding",
        completeness: "complete within the bounds, by the first member that is",
        is_complete: true,
        honours: &[
            Bound::Depth,
            Bound::LocalEvents,
            Bound::States,
            Bound::Deadlock,
            Bound::Seed,
            Bound::Schedule,
            Bound::Goal,
            Bound::Violations,
        ],
        keeps_checkpoints: false,
        promises: Promises::Decided,
        loses_messages: true,
        run: auto::run,
    },
    Strategy {
        name: "bdfs",
        aliases: &[],
        summary: "bounded depth-first search of the global states, with a visited set and iterative deepening",
        soundness: "every state is reached",
        completeness: "complete within the bounds",
        is_complete: true,
        honours: &[
            Bound::Depth,
            Bound::LocalEvents,
            Bound::States,
            Bound::Reduce,
            Bound::CountSystemStates,
            Bound::Violations,
            Bound::Deadlock,
        ],
        keeps_checkpoints: true,
        promises: Promises::Decided,
        loses_messages: true,
        run: bdfs::run,
    },
    Strategy {
        name: "lmc-gen",
        aliases: &[],
        summary: "local model checking: local states and a network that keeps every message; all system states built",
        soundness: "violations are verified by the causal unfolding",
        completeness: "complete within the bounds",
        is_complete: true,
        honours: &[Bound::LocalEvents, Bound::States, Bound::Violations],
        keeps_checkpoints: false,
        promises: Promises::Unchecked,
        loses_messages: false,
        run: lmc::run_general,
    },
    Strategy {
        name: "lmc-opt",
        aliases: &["lmc"],
        summary: "local model checking on the views of the properties: system states only behind violating views",
        soundness: "violations are verified by the causal unfolding",
        completeness: "complete within the bounds",
        is_complete: true,
        honours: &[Bound::LocalEvents, Bound::Violations],
        keeps_checkpoints: false,
        promises: Promises::Unchecked,
        loses_messages: false,
        run: lmc::run_optimised,
    },
    Strategy {
        name: "unfold",
        aliases: &[],
        summary: "causal unfolding: events with their causes, so interleavings are never distinguished",
        soundness: "every event is in some execution",
        completeness: "complete within the bounds",
        is_complete: true,
        honours: &[
            Bound::Depth,
            Bound::LocalEvents,
            Bound::States,
            Bound::CountSystemStates,
            Bound::Violations,
            Bound::Deadlock,
        ],
        keeps_checkpoints: false,
        promises: Promises::Unchecked,
        loses_messages: false,
        run: unfold::run,
    },
    Strategy {
        name: "consequence",
        aliases: &[],
        summary: "consequence prediction: global states breadth-first, local events only from fresh local states",
        soundness: "every state is reached",
        completeness: "a heuristic: follows every chain of events from the start state, not every sequence of chains",
        is_complete: false,
        honours: &[
            Bound::Depth,
            Bound::LocalEvents,
            Bound::States,
            Bound::CountSystemStates,
            Bound::Violations,
            Bound::Deadlock,
        ],
        keeps_checkpoints: true,
        promises: Promises::Unchecked,
        loses_messages: true,
        run: consequence::run,
    },
    Strategy {
        name: "dpor",
        aliases: &[],
        summary: "optimal dynamic partial-order reduction: one execution for each happens-before, no state kept",
        soundness: "every execution is run",
        completeness: "complete within the bounds",
        is_complete: true,
        honours: &[Bound::Depth, Bound::LocalEvents, Bound::States, Bound::Violations, Bound::Deadlock],
        keeps_checkpoints: false,
        promises: Promises::Unchecked,
        loses_messages: false,
        run: dpor::run,
    },
    Strategy {
        name: "dpor-ds",
        aliases: &[],
        summary: "dynamic partial-order reduction for distributed systems (DPOR-DS) on the last path; repeats executions",
        soundness: "every execution is run",
        completeness: "complete within the bounds",
        is_complete: true,
        honours: &[Bound::Depth, Bound::LocalEvents, Bound::States, Bound::Violations, Bound::Deadlock],
        keeps_checkpoints: false,
        promises: Promises::Unchecked,
        loses_messages: false,
        run: dpor_ds::run,
    },
    Strategy {
        name: "dpor-ds-tree",
        aliases: &[],
        summary: "DPOR-DS on the tree of all executions, which it keeps; repeats more executions",
        soundness: "every execution is run",
        completeness: "complete within the bounds",
        is_complete: true,
        honours: &[Bound::Depth, Bound::LocalEvents, Bound::States, Bound::Violations, Bound::Deadlock],
        keeps_checkpoints: false,
        promises: Promises::Unchecked,
        loses_messages: false,
        run: dpor_ds_tree::run,
    },
    Strategy {
        name: "prefix",
        aliases: &[],
        summary: "bounded depth-first search from states three quarters along random walks without faults",
        soundness: "every state is reached",
        completeness: "a sample: what comes after 20 states at most, within the bounds",
        is_complete: false,
        honours: &[
            Bound::Depth,
            Bound::LocalEvents,
            Bound::States,
            Bound::Seed,
            Bound::Walks,
            Bound::Weights,
            Bound::Schedule,
            Bound::Violations,
            Bound::Deadlock,
        ],
        keeps_checkpoints: false,
        promises: Promises::Shown,
        loses_messages: true,
        run: prefix::run,
    },
    Strategy {
        name: "guided",
        aliases: &[],
        summary: "seeded random walks that mostly begin in states reached by few walks",
        soundness: "every step is executed",
        completeness: "a sample: says how many local states and outcomes the walks went through",
        is_complete: false,
        honours: &[
            Bound::Depth,
            Bound::LocalEvents,
            Bound::Seed,
            Bound::Walks,
            Bound::Weights,
            Bound::Schedule,
            Bound::Goal,
            Bound::Avoid,
            Bound::Violations,
            Bound::Deadlock,
        ],
        keeps_checkpoints: false,
        promises: Promises::Sampled,
        loses_messages: true,
        run: guided::run,
    },
    Strategy {
        name: "walk",
        aliases: &[],
        summary: "seeded random walks, with weights by kind of event and a choice of schedulers",
        soundness: "every step is executed",
        completeness: "a sample: says how many local states and outcomes the walks went through",
        is_complete: false,
        honours: &[
            Bound::Depth,
            Bound::LocalEvents,
            Bound::Seed,
            Bound::Walks,
            Bound::Weights,
            Bound::Schedule,
            Bound::Violations,
            Bound::Deadlock,
        ],
        keeps_checkpoints: false,
        promises: Promises::Sampled,
        loses_messages: true,
        run: random_walk::run,
    },
];

/// The strategy with this name or alias.
pub fn find(name: &str) -> Option<&'static Strategy> {
    STRATEGIES.iter().find(|strategy| strategy.name == name || strategy.aliases.contains(&name))
}
