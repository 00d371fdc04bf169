//! Local states that grow again and again on a walk.

use host_model::contract::NodeId;
use host_model::lts::{LocalStateId, Stepper};

use crate::kernel::Growth;

/// Steps of a walk from one measurement of its local states to the next.
const STEPS: u32 = 100;

/// The number of consecutive measurements at which a local state has to be longer than before.
const LOOKS: u32 = 10;

/// The lengths of the local states of a walk, measured every hundred steps.
#[derive(Clone, Debug, Default)]
pub(super) struct Lengths(Vec<Length>);

#[derive(Clone, Copy, Debug)]
struct Length {
    /// Bytes of the encoding before it began to grow at each measurement.
    first: usize,
    /// Bytes at the last measurement.
    last: usize,
    /// Measurements since `first`.
    longer: u32,
}

impl Lengths {
    /// Measures the state of a walk after this many steps; returns the first node whose state has grown for long enough.
    pub(super) fn look(&mut self, stepper: &Stepper<'_>, locals: &[LocalStateId], depth: u32) -> Option<Growth> {
        if !depth.is_multiple_of(STEPS) {
            return None;
        }
        self.note(locals.iter().map(|local| stepper.state(*local).protocol.encoding_bytes))
    }

    fn note(&mut self, lengths: impl Iterator<Item = usize>) -> Option<Growth> {
        let mut found = None;
        for (node, now) in lengths.enumerate() {
            let fresh = Length { first: now, last: now, longer: 0 };
            let Some(known) = self.0.get_mut(node) else {
                self.0.push(fresh);
                continue;
            };
            let longer = known.longer + 1;
            *known = if now > known.last { Length { last: now, longer, ..*known } } else { fresh };
            if known.longer >= LOOKS && found.is_none() {
                let steps = known.longer * STEPS;
                found = Some(Growth { node: node as NodeId, steps, bytes: (known.first, known.last) });
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_longer_at_each_look_grows() {
        let look = |lengths: &mut Lengths, node: usize, other: usize| lengths.note([other, node].into_iter());
        let mut lengths = Lengths::default();
        for turn in 0..10 {
            assert_eq!(look(&mut lengths, 5 + turn, 7), None, "{turn}");
        }
        assert_eq!(look(&mut lengths, 15, 7), Some(Growth { node: 1, steps: 1_000, bytes: (5, 15) }));
        // One measurement of the same length restarts the count.
        assert_eq!(look(&mut lengths, 15, 7), None);
        for turn in 1..10 {
            assert_eq!(look(&mut lengths, 15 + turn, 7), None, "{turn}");
        }
        assert_eq!(look(&mut lengths, 25, 7), Some(Growth { node: 1, steps: 1_000, bytes: (15, 25) }));
    }
}
