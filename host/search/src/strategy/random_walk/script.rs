//! Events that a walk repeats before it draws its own: those of an earlier path, one of them later or not at all.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;

use crate::kernel::dice::below;

/// An event later by at most two to this power, exclusive.
const POWERS: u64 = 5;

/// An event to repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// The hash of its node and its content.
    pub(super) content: u64,
    /// The index of its outcome.
    pub(super) outcome: u32,
}

/// Events to repeat, in this order, as far as they are possible.
pub(super) type Script = Arc<[Line]>;

/// A change to the events of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// The steps before the event that is changed.
    pub(super) place: u32,
    /// The number of events that come before it now and came after it before; none if it is left out.
    later: Option<u32>,
}

impl Change {
    /// A change to a path of this many steps; none if it has no step.
    pub(super) fn drawn(dice: &mut ChaCha8Rng, steps: u32) -> Option<Self> {
        let place = steps.checked_sub(1).map(|last| below(dice, u64::from(last) + 1) as u32)?;
        let later = below(dice, POWERS + 1).checked_sub(1).map(|power| 1 << power);
        Some(Self { place, later })
    }

    /// The changed events of a path from this many steps on.
    pub(super) fn apply(self, mut lines: Vec<Line>, from: u32) -> Script {
        let place = (self.place - from) as usize;
        // A protocol that is not deterministic may have taken a shorter path.
        if place < lines.len() {
            let line = lines.remove(place);
            if let Some(later) = self.later {
                lines.insert(lines.len().min(place + later as usize), line);
            }
        }
        lines.into()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::kernel::dice::dice;

    /// The contents of a path of `0..6` from 2 on, with the event at 3 changed.
    fn changed(later: Option<u32>) -> Vec<u64> {
        let lines = (2..6).map(|content| Line { content, outcome: 0 }).collect();
        Change { place: 3, later }.apply(lines, 2).iter().map(|line| line.content).collect()
    }

    #[test]
    fn one_event_is_later_or_left_out() {
        assert_eq!(changed(None), [2, 4, 5]);
        assert_eq!(changed(Some(1)), [2, 4, 3, 5]);
        assert_eq!(changed(Some(2)), [2, 4, 5, 3]);
        assert_eq!(changed(Some(16)), [2, 4, 5, 3]);
        assert!(Change { place: 9, later: None }.apply(Vec::new(), 2).is_empty(), "the path was shorter");
    }

    #[test]
    fn each_event_can_be_changed_in_each_way() {
        let mut dice = dice(5, 1);
        let drawn: BTreeSet<_> =
            (0..1_000).filter_map(|_| Change::drawn(&mut dice, 4)).map(|change| (change.place, change.later)).collect();
        let all =
            (0..4).flat_map(|place| [None, Some(1), Some(2), Some(4), Some(8), Some(16)].map(|later| (place, later)));
        assert_eq!(drawn, all.collect());
        assert_eq!(Change::drawn(&mut dice, 0), None);
    }
}
