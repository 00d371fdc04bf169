//! The faults that can happen in a local state.

use crate::lts::ids::Trigger;
use crate::scenario::OutageWrites;

/// The faults that can happen in a local state, in the order of their table.
///
/// The power outages of a node are as many as its writes that can be lost, and most states have one more write than another one: they
/// are counted, and listed when they are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnFaults {
    /// Those that lose no write.
    listed: Box<[Trigger]>,
    /// The number of further ones, which are the last one of the list with a loss of writes.
    losing: u32,
    writes: OutageWrites,
}

impl OwnFaults {
    /// These faults, and the last one of them with each of this many losses of writes.
    pub(crate) fn new(listed: Box<[Trigger]>, losing: u32, writes: OutageWrites) -> Self {
        debug_assert!(losing == 0 || listed.last().is_some_and(|last| last.losing(losing, writes).is_some()));
        Self { listed, losing, writes }
    }

    /// The number of faults.
    pub fn len(&self) -> usize {
        self.listed.len() + self.losing as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// All of them.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Trigger> + use<'_> {
        self.listed.iter().copied().chain((1..=self.losing).filter_map(|loss| self.losing(loss)))
    }

    /// The fault at this place of the list.
    pub fn get(&self, index: usize) -> Option<Trigger> {
        self.listed.get(index).copied().or_else(|| {
            let loss = u32::try_from(index + 1 - self.listed.len()).ok()?;
            self.losing(loss).filter(|_| loss <= self.losing)
        })
    }

    /// Whether this fault is one of them.
    pub fn contains(&self, fault: Trigger) -> bool {
        let loss = fault.fault().map_or(0, |fault| fault.unsynced().max(fault.disk()));
        self.listed.contains(&fault) || (loss <= self.losing && self.losing(loss) == Some(fault))
    }

    /// Bytes that it keeps.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.listed)
    }

    fn losing(&self, loss: u32) -> Option<Trigger> {
        self.listed.last().filter(|_| loss > 0).and_then(|last| last.losing(loss, self.writes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::FaultEvent;

    /// A list, and its places, are those of the naive one.
    #[test]
    fn faults_that_are_counted_are_those_that_would_be_listed() {
        let (reset, outage) = (FaultEvent::restart(), FaultEvent::outage(0));
        for listed in [vec![], vec![reset], vec![outage], vec![reset, FaultEvent::disconnect(3), outage]] {
            let ends_in_outage = listed.last() == Some(&outage);
            let ways =
                [OutageWrites::Prefix, OutageWrites::Any].map(|writes| (0..4).map(move |losing| (losing, writes)));
            for (losing, writes) in ways.into_iter().flatten().filter(|(losing, _)| *losing == 0 || ends_in_outage) {
                let outage = |number| match writes {
                    OutageWrites::Prefix => outage.losing(number),
                    OutageWrites::Any => outage.leaving(number),
                };
                let faults = OwnFaults::new(listed.iter().copied().map(Trigger::from).collect(), losing, writes);
                let further = (1..=losing).filter_map(outage);
                let naive: Vec<Trigger> = listed.iter().copied().chain(further).map(Trigger::from).collect();
                assert!(faults.iter().eq(naive.iter().copied()));
                assert_eq!((faults.len(), faults.is_empty()), (naive.len(), naive.is_empty()));
                assert!((0..naive.len() + 2).all(|index| faults.get(index) == naive.get(index).copied()));
                let any = (0..6).flat_map(|number| {
                    [FaultEvent::outage(number), FaultEvent::outage(0).leaving(number).expect("an outage")]
                });
                let any = any.chain([reset, FaultEvent::disconnect(3)]).map(Trigger::from);
                any.for_each(|fault| assert_eq!(faults.contains(fault), naive.contains(&fault), "{naive:?}"));
            }
        }
    }
}
