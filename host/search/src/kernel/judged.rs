//! Judgements that a stop can leave incomplete.

use host_model::contract::{ClassId, Judgement, MachineError, NodeId};
use host_model::lts::Stepper;

/// Judgements of one state, and the reason why some are missing: a stop loses no judgement that was made before it.
///
/// The properties of node scope are judged with the step that leads to a state: a stop discards them together with the step.
#[derive(Debug, Default)]
pub struct Judged {
    /// The judgements, of a node or of all nodes together.
    pub judgements: Vec<(Option<NodeId>, Judgement)>,
    /// The reason why there are no more.
    pub stopped: Option<MachineError>,
}

impl Judged {
    /// Judgements of a node.
    pub fn of_node<'j>(node: NodeId, judgements: impl IntoIterator<Item = &'j Judgement>) -> Self {
        let judgements = judgements.into_iter().map(|judgement| (Some(node), judgement.clone())).collect();
        Self { judgements, stopped: None }
    }

    /// Adds judgements of all nodes together, unless a stop came before.
    #[must_use]
    pub fn and<I: IntoIterator<Item = Judgement>>(mut self, judge: impl FnOnce() -> Result<I, MachineError>) -> Self {
        if self.stopped.is_none() {
            match judge() {
                Ok(judgements) => self.judgements.extend(judgements.into_iter().map(|judgement| (None, judgement))),
                Err(stopped) => self.stopped = Some(stopped),
            }
        }
        self
    }

    /// Adds the judgements of all nodes together on a tuple of classes, one per node, unless a stop came before.
    #[must_use]
    pub fn and_tuple(mut self, stepper: &mut Stepper<'_>, classes: &[ClassId]) -> Self {
        if self.stopped.is_none() {
            let (judgements, stopped) = stepper.judge_until_stopped(classes);
            self.judgements.extend(judgements.iter().map(|judgement| (None, judgement.clone())));
            self.stopped = stopped;
        }
        self
    }

    /// All judgements.
    ///
    /// # Errors
    ///
    /// Some are missing.
    pub fn all(self) -> Result<Vec<(Option<NodeId>, Judgement)>, MachineError> {
        self.stopped.map_or(Ok(self.judgements), Err)
    }

    /// The violations among them, and failures.
    ///
    /// # Errors
    ///
    /// A stop came before the first of them.
    pub fn bad(self) -> Result<Vec<(Option<NodeId>, Judgement)>, MachineError> {
        let bad: Vec<_> = self.judgements.into_iter().filter(|(_, judgement)| judgement.is_bad()).collect();
        match self.stopped.filter(|_| bad.is_empty()) {
            Some(stopped) => Err(stopped),
            None => Ok(bad),
        }
    }

    /// Whether one of them is a violation.
    pub fn is_bad(&self) -> bool {
        self.judgements.iter().any(|(_, judgement)| judgement.is_bad())
    }
}

/// Whether a search is full with the judgements of a state.
///
/// # Errors
///
/// The search is not full, and judging was stopped.
pub fn unless_stopped(is_full: bool, stopped: Option<MachineError>) -> Result<bool, MachineError> {
    stopped.filter(|_| !is_full).map_or(Ok(is_full), Err)
}
