//! Labels of edges: the role of an event for promises of progress.

/// The number of an action, the unit of fairness.
pub type ActionId = u32;

/// Classes of events, by whether a promise of progress can rely on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventClass {
    /// The delivery of a message, of a quorum, or of the notice of a broken connection. Fair: it does not stay possible for ever
    /// without happening.
    Delivery,
    /// A timer. Fair.
    Timer,
    /// A step that the protocol takes by itself. Fair.
    Internal,
    /// A call of the application: it may happen, but need not.
    Free,
    /// A message is lost: a fault.
    Loss,
    /// A reset: a fault.
    Reset,
    /// Any other fault.
    Fault,
    /// No event: a fair action is possible here, and a bound keeps it from being explored.
    Suppressed,
}

impl EventClass {
    /// Whether it happens if it stays possible.
    #[inline]
    pub fn is_fair(self) -> bool {
        matches!(self, Self::Delivery | Self::Timer | Self::Internal)
    }

    /// Whether it is a fault: never needed for progress.
    #[inline]
    pub fn is_fault(self) -> bool {
        matches!(self, Self::Loss | Self::Reset | Self::Fault)
    }
}

/// The source of an answer to a handler's question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// An adversary, who may never give it.
    Chosen,
    /// Chance, with a weight above 0: a question asked infinitely often gets it infinitely often.
    Drawn,
    /// Chance, with the weight 0.
    Undrawn,
}

/// The answers that lead to an outcome, for a handler that leaves something to chance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draw {
    /// The common part of its outcomes: the local state and the trigger.
    pub row: u32,
    /// The answers in their order.
    pub answers: Box<[(u32, Source)]>,
}

/// The facts about edges with one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The class of the event.
    pub class: EventClass,
    /// The action, if the event is fair or suppressed.
    pub action: Option<ActionId>,
    /// The answers left to chance.
    pub draw: Option<Draw>,
}

impl Label {
    /// An event that leaves nothing to chance.
    pub fn new(class: EventClass, action: Option<ActionId>) -> Self {
        Self { class, action, draw: None }
    }

    /// Bytes kept.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.draw.as_ref().map_or(0, |draw| size_of_val(&*draw.answers))
    }
}
