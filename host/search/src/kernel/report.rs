//! The report of a search: findings with their paths, and counts.

use std::collections::BTreeSet;

use host_model::contract::{Judgement, MachineError, NodeId, PropertyKind, Severity};
use host_model::lts::{LocalStateId, Lts, Step, Stepper};
use host_model::trace::start::Start;
use host_model::trace::{self, BrokenPromise, Finding, Origin};

use crate::kernel::promise::{FoundBreach, PromiseReport};
use crate::kernel::{Counts, EndCondition, LevelSizes, SearchBounds, ViolationKind};

/// A reachable state with a finding, and a path that leads there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundViolation {
    /// The judgement.
    pub judgement: Judgement,
    /// Its kind.
    pub kind: ViolationKind,
    /// The node that is in the judged local state; none if several nodes are judged together.
    pub node: Option<NodeId>,
    /// The origin of the path.
    pub origin: Origin,
    /// The local states at the origin.
    pub initial: Vec<LocalStateId>,
    /// All events, those of the prefix included.
    pub path: Vec<Step>,
    /// Whether no shorter path from a start state exists, within the bound on local events if there is one.
    pub shortest: bool,
    /// Details of a broken promise of progress; none of any other finding.
    pub breach: Option<FoundBreach>,
}

impl FoundViolation {
    /// A finding at the end of `path`, which begins at `start`.
    pub fn new(start: &Start, path: &[Step], node: Option<NodeId>, judgement: Judgement) -> Self {
        Self {
            kind: ViolationKind::of(&judgement),
            judgement,
            node,
            origin: start.origin.clone(),
            initial: start.initial.clone(),
            path: start.path.iter().chain(path).copied().collect(),
            shortest: false,
            breach: None,
        }
    }

    /// The same for a broken promise of progress.
    #[must_use]
    pub fn broken(self, breach: FoundBreach) -> Self {
        Self { kind: self.kind.broken(breach.class), breach: Some(breach), ..self }
    }

    /// The finding in the words of a trace. All its steps were executed in the search, so no guest runs.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn finding(&self, stepper: &mut Stepper<'_>) -> Result<Finding, MachineError> {
        let properties = stepper.lts().properties();
        let (Some(breach), Judgement::Violated { property, message }) = (&self.breach, &self.judgement) else {
            return Ok(Finding::new(properties, self.node, &self.judgement));
        };
        let before = self.path.len() - usize::from(breach.is_critical);
        let mut sibling = Vec::new();
        if breach.is_critical {
            let path = [&self.path[..before], &breach.sibling].concat();
            sibling = trace::record(stepper, &self.initial, &path)?.split_off(before);
        }
        Ok(Finding::Promise(BrokenPromise {
            name: stepper.lts().properties()[*property as usize].name.clone(),
            node: self.node,
            class: breach.class,
            message: message.clone(),
            fairness: breach.rules.fairness,
            timers: breach.rules.timers,
            recovery: breach.rules.recovery,
            loop_start: (breach.cycle > 0).then(|| self.path.len() - breach.cycle),
            critical: breach.is_critical.then_some(self.path.len()),
            sibling,
        }))
    }
}

/// The use of the interchangeable nodes that the protocol declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymmetryUse {
    /// Global states were distinguished only up to this many renamings of nodes, including the identity: all that the declaration
    /// allows, or enough of them.
    Renamings(u64),
    /// All global states were distinguished: the declaration is wrong or cannot be used; a lower-case phrase.
    Refused(String),
}

/// The basis of a search's answer, where it differs from the states that its strategy explores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The full unfolding, which was complete, or had found the violations, before local model checking.
    Unfolding,
    /// All local states: a bound on local events left out only repetitions, which no property can see.
    LocalStates,
}

/// The strategy of a portfolio that had the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decider {
    /// Its name.
    pub strategy: &'static str,
    /// Whether it left out states that can matter to no property.
    pub is_reduced: bool,
}

impl std::fmt::Display for Decider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let options = if self.is_reduced { " --reduce" } else { "" };
        write!(f, "{}{options}", self.strategy)
    }
}

/// A node whose state has grown again and again on a random walk: it may never discard old data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// The node.
    pub node: NodeId,
    /// Steps of the walk during which each measurement was longer than the one before.
    pub steps: u32,
    /// Bytes of the encoding before and after them.
    pub bytes: (usize, usize),
}

/// The progress of random walks after some number of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CurvePoint {
    /// Steps of all walks together.
    pub transitions: u64,
    /// Walks that had begun.
    pub walks: u64,
    /// Distinct local states, at least.
    pub local_states: u64,
    /// Distinct views of a node for the properties of system scope, at least.
    pub views: u64,
    /// Distinct outcomes, at least.
    pub outcomes: u64,
}

/// The report of a search.
#[derive(Clone, Debug)]
pub struct Report {
    /// The reason for its end.
    pub end: EndCondition,
    /// The basis of the answer, if worth mentioning.
    pub basis: Option<Basis>,
    /// The strategy that had the answer; only for a portfolio.
    pub decided_by: Option<Decider>,
    /// The counts.
    pub counts: Counts,
    /// The longest path explored, in events; for local model checking, of one node.
    pub depth: u32,
    /// Violations and faults, each reachable, no two with the same words.
    pub violations: Vec<FoundViolation>,
    /// The number of violations that the monitor has seen, the first ones.
    pub announced: usize,
    /// The number of violations that end the search; at least 1. With a bound on variants, the number of kinds.
    pub violations_max: u64,
    /// The number of violations to keep of one kind; none if all are. At least 1.
    pub variants_max: Option<u64>,
    /// The result for each promise of progress, in the order of properties and nodes; empty if none was to be decided. A broken promise
    /// is among the violations as far as these were wanted, and does not end the search.
    pub promises: Vec<PromiseReport>,
    /// The reason why the decision of promises ended early, other than the end of the search.
    pub promises_end: Option<EndCondition>,
    /// For each property of kind `sometimes` whether a state was found where it holds; `None` for other kinds.
    pub witnessed: Vec<Option<bool>>,
    /// The system states counted, sorted, if they were asked for.
    pub system_states: Option<Vec<Box<[LocalStateId]>>>,
    /// The number of global states that are distinguished by a part of their fingerprints only; none if by all of them.
    pub fingerprints: Option<u64>,
    /// None if nothing is declared, or if the search does not use it.
    pub symmetry: Option<SymmetryUse>,
    /// The number of times that the search forgot known outcomes and continued in an empty local transition system: the original one then
    /// holds only a part.
    pub renewals: u64,
    /// Whether there may be more local states, messages and outcomes than were counted: there was no room to count all of them.
    pub are_lower_bounds: bool,
    /// The first such node that walks have met.
    pub growth: Option<Growth>,
    /// The progress of walks after 1,024 steps, and after each doubling of them: a flat curve means that they reach little new. Empty
    /// without walks.
    pub curve: Vec<CurvePoint>,
    /// The levels of a search that proceeds by levels; empty for all others.
    pub levels: LevelSizes,
}

impl Report {
    /// An empty report over these properties.
    pub fn new(lts: &Lts<'_>) -> Self {
        let of_kind = |kind| (kind == PropertyKind::Sometimes).then_some(false);
        Self {
            end: EndCondition::SpaceExhausted,
            basis: None,
            decided_by: None,
            counts: Counts::default(),
            depth: 0,
            violations: Vec::new(),
            announced: 0,
            violations_max: 1,
            variants_max: None,
            promises: Vec::new(),
            promises_end: None,
            witnessed: lts.properties().iter().map(|property| of_kind(property.kind)).collect(),
            system_states: None,
            fingerprints: None,
            symmetry: None,
            renewals: 0,
            are_lower_bounds: false,
            growth: None,
            curve: Vec::new(),
            levels: LevelSizes::default(),
        }
    }

    /// The same for a search that continues after a violation, as far as its bounds allow.
    #[must_use]
    pub fn collecting(self, bounds: &SearchBounds) -> Self {
        let variants_max = bounds.variants.map(|variants| variants.max(1));
        Self { violations_max: bounds.violations.unwrap_or(1).max(1), variants_max, ..self }
    }

    /// Notes the judgements of the state at the end of a path; whether the search is to end now. A violation with the words
    /// of an earlier one is not new, and the bound on variants limits how many of each kind are kept.
    pub(super) fn note(&mut self, start: &Start, path: &[Step], judgements: Vec<(Option<NodeId>, Judgement)>) -> bool {
        for (node, judgement) in judgements {
            match judgement.severity() {
                Severity::Witness(property) => self.witness(property),
                Severity::Violation if self.is_news(node, &judgement) => {
                    self.violations.push(FoundViolation::new(start, path, node, judgement));
                }
                Severity::Violation => {}
            }
        }
        self.is_full()
    }

    /// Whether the report lacks a judgement of a state.
    pub fn is_news(&self, node: Option<NodeId>, judgement: &Judgement) -> bool {
        match judgement.severity() {
            Severity::Witness(property) => self.wants_witness(property),
            Severity::Violation => {
                !self.violations.iter().any(|found| found.node == node && found.judgement == *judgement)
                    && self.has_room_for_variant(&ViolationKind::of(judgement))
            }
        }
    }

    fn has_room_for_variant(&self, kind: &ViolationKind) -> bool {
        self.variants_max.is_none_or(|most| self.variants(kind) < most)
    }

    /// Number of violations of a kind.
    pub fn variants(&self, kind: &ViolationKind) -> u64 {
        self.violations.iter().filter(|found| found.kind == *kind).count() as u64
    }

    /// Whether another violation of a kind is wanted, in addition to those that end the search.
    pub fn wants_more(&self, kind: &ViolationKind) -> bool {
        let is_known = self.variants_max.is_some() && self.variants(kind) > 0;
        self.has_room_for_variant(kind) && (is_known || !self.is_full())
    }

    /// Whether a judgement is of use: a finding, or a witness for a property that had none yet.
    pub fn wants(&self, judgement: &Judgement) -> bool {
        match judgement.severity() {
            Severity::Witness(property) => self.wants_witness(property),
            Severity::Violation => true,
        }
    }

    /// Whether there are as many violations as wanted, or as many kinds.
    pub fn is_full(&self) -> bool {
        // There are no more kinds than violations, and usually far fewer than wanted.
        self.violations.len() as u64 >= self.violations_max && self.collected() >= self.violations_max
    }

    /// Number of violations that [`violations_max`](Self::violations_max) limits: their kinds if variants are
    /// bounded, too.
    pub fn collected(&self) -> u64 {
        match self.variants_max {
            None => self.violations.len() as u64,
            Some(_) => self.violations.iter().map(|found| &found.kind).collect::<BTreeSet<_>>().len() as u64,
        }
    }

    /// Notes that a property of kind `sometimes` is reached.
    pub fn witness(&mut self, property: u32) {
        self.witnessed[property as usize] = Some(true);
    }

    /// Whether the property is of kind `sometimes` and was not reached yet.
    pub fn wants_witness(&self, property: u32) -> bool {
        self.witnessed[property as usize] == Some(false)
    }

    /// Whether the answer leaves out states that can matter to no property: by request, or by choice of a portfolio.
    pub fn is_reduced(&self, is_asked: bool) -> bool {
        is_asked || self.decided_by.is_some_and(|decider| decider.is_reduced)
    }

    /// Fills in the counts of the local transition system.
    pub fn count_local(&mut self, lts: &Lts<'_>) {
        let counts = lts.counts();
        self.counts.local_states = Some(counts.local_states);
        self.counts.messages = Some(counts.messages);
        self.counts.handler_calls = Some(counts.handler_calls);
    }
}
