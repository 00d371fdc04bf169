//! Labels of edges: what an event is to a promise of progress.

/// The number of an action: what fairness is about.
pub type ActionId = u32;

/// Sorts of events, by what a promise of progress can rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventClass {
    /// The delivery of a message, of a quorum, or of the news that a connection is broken. Fair: it does not stay possible for ever
    /// without happening.
    Delivery,
    /// A timer. Fair.
    Timer,
    /// A step that the protocol takes by itself. Fair.
    Internal,
    /// A call of the application: it may happen, and need not.
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

/// How an answer to a handler's question was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// By an adversary, who may never give it.
    Chosen,
    /// By chance, with a weight above 0: a question asked infinitely often gets it infinitely often.
    Drawn,
    /// By chance, with the weight 0.
    Undrawn,
}

/// The answers that lead to an outcome of a handler that leaves something to chance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draw {
    /// What its outcomes have in common: the local state and the trigger.
    pub row: u32,
    /// The answers in their order.
    pub answers: Box<[(u32, Source)]>,
}

/// What is known of the edges with one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// What sort of event it is.
    pub class: EventClass,
    /// The action, of a fair event and a suppressed one.
    pub action: Option<ActionId>,
    /// What was left to chance.
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
