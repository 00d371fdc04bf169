//! The verdict on a log.

use host_model::contract::NodeId;
use host_model::lts::Step;
use host_model::trace::TraceEvent;
use host_model::trace::start::Start;

use crate::fits::Difference;
use crate::line::LineId;

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Candidates that were tried, over all rounds.
    pub candidates: u64,
}

/// Whether an execution explains a log.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// This one does.
    Explained(Box<Explanation>),
    /// None does.
    Refused(Box<Refusal>),
    /// None was found within the bounds.
    Undecided {
        /// The bound that was hit.
        bound: Bound,
        /// The candidates that came furthest.
        furthest: Box<Refusal>,
    },
}

/// A bound on the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Events of a node without a line between two of its lines.
    Hidden(u32),
    /// Time.
    Time,
    /// Memory.
    Memory,
    /// An interrupt.
    Interrupted,
}

/// An execution that explains a log, or a part of it.
#[derive(Clone, Debug, Default)]
pub struct Explanation {
    /// The state where it begins.
    pub start: Start,
    /// Its events.
    pub path: Vec<Step>,
    /// The lines of each event: none if it is hidden. Lines about the start come first, so there is one entry more than events.
    pub lines: Vec<Vec<LineId>>,
}

impl Explanation {
    /// Number of events without a line.
    pub fn hidden(&self) -> usize {
        self.lines.iter().skip(1).filter(|lines| lines.is_empty()).count()
    }
}

/// Why no candidate explains a log.
#[derive(Clone, Debug, Default)]
pub struct Refusal {
    /// Lines that the candidates which came furthest explain.
    pub explained: u32,
    /// The candidates that came furthest: at most [`FURTHEST_MAX`].
    pub furthest: Vec<Furthest>,
}

/// The most candidates that a refusal shows.
pub const FURTHEST_MAX: usize = 3;

/// A candidate that came furthest.
#[derive(Clone, Debug)]
pub struct Furthest {
    /// The execution that leads to it.
    pub execution: Explanation,
    /// The next line of each node, the most telling first.
    pub blocked: Vec<Blocked>,
    /// The node that is stuck in a fault, which ends the execution, with the fault in words.
    pub stuck: Option<(NodeId, String)>,
}

/// A line that no event explains.
#[derive(Clone, Debug)]
pub struct Blocked {
    /// The line.
    pub line: LineId,
    /// Lines before it that are not explained.
    pub waits_for: Vec<LineId>,
    /// The enabled events at its node, the closest first.
    pub alternatives: Vec<Alternative>,
}

/// An enabled event that does not explain a line.
#[derive(Clone, Debug)]
pub struct Alternative {
    /// The event; none for the present state.
    pub event: Option<TraceEvent>,
    /// The first field in which it differs; none if it differs in none, and the line does not follow.
    pub difference: Option<Difference>,
}

/// The bounds on a search.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The assumption about the log: the most events of a node that have no line, between two of its lines. None: any number.
    pub missing_max: Option<u32>,
    /// The bound on the same number for the search.
    pub hidden_max: u32,
}
