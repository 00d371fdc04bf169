//! Mistakes in the runtime that tests make on purpose: a seed of a [world](crate::world) has to show each.

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// Checkpoints are numbered as it is published: from 1 after each start, and a request that a discarded one might have answered is
    /// answered by the next one.
    PublishedRule,
    /// Such a request is answered by the next one.
    AnswersWithTheNext,
    /// A start does not count as having discarded the checkpoints before it.
    ForgetsStarts,
    /// A checkpoint that is discarded for want of room does not count.
    ForgetsDiscarded,
    /// A torn record counts.
    TakesTorn,
    /// What is torn stays in the file, and the next record follows it.
    KeepsTail,
    /// Any torn record counts as damage.
    TornIsDamaged,
    /// Outputs do not wait for the disk.
    DoesNotWait,
    /// A local event happens though it is not possible any more.
    CallsNothingOff,
    /// A local event that happens again gets no time.
    ForgetsToArm,
    /// What is sent after a broken connection is for the start of the peer that was there before.
    AddressesFormer,
    /// What waits for the disk where a connection breaks leaves over the next one.
    KeepsFrames,
    /// A protocol hears of a broken connection over which the packets of snapshots alone have travelled.
    HearsOfPackets,
    /// A node that comes back with another disk is taken for the one that it was.
    TakesAnyDisk,
    /// Filters are used whatever they lead to.
    FiltersAnything,
}

/// Whether the mistake is made: never, but in tests.
#[cfg(not(test))]
pub(crate) const fn is_present(_mutant: Mutant) -> bool {
    false
}

#[cfg(test)]
pub(crate) use present::{is_present, with};

#[cfg(test)]
mod present {
    use std::cell::Cell;

    use super::Mutant;

    thread_local! {
        static PRESENT: Cell<Option<Mutant>> = const { Cell::new(None) };
    }

    /// Whether the mistake is made on this thread.
    pub(crate) fn is_present(mutant: Mutant) -> bool {
        PRESENT.get() == Some(mutant)
    }

    /// Does something with a mistake.
    pub(crate) fn with<R>(mutant: Mutant, then: impl FnOnce() -> R) -> R {
        PRESENT.set(Some(mutant));
        let result = then();
        PRESENT.set(None);
        result
    }
}
