//! Ballots that are counted round a circle, so that their number is finite.

use guest_sdk::NodeId;

/// The number of an attempt. Proposer `p` of `P` has `p`, `P + p` and so on, up to the size of the circle.
pub type Ballot = u32;

/// The number of attempts of each proposer before its ballots repeat.
const ROUNDS: u32 = 4;

/// All ballots. Of two ballots, the one that is a few steps ahead is higher.
#[derive(Clone, Copy, Debug)]
pub struct Circle {
    proposers: u32,
}

impl Circle {
    /// The ballots of this many proposers, one at least.
    pub fn of(proposers: u32) -> Self {
        Self { proposers }
    }

    /// The first ballot of a proposer.
    pub fn first(self, proposer: NodeId) -> Ballot {
        proposer
    }

    /// The lowest ballot of a proposer that is above another one.
    pub fn next(self, proposer: NodeId, above: Ballot) -> Ballot {
        let ahead =
            (above + 1..).find(|ballot| ballot % self.proposers == proposer).expect("each of them has its turn");
        ahead % self.size()
    }

    /// Whether a ballot is above another one.
    ///
    /// # Panics
    ///
    /// If they are further apart than a quarter of the circle: then their order is open. As ballots move by a few steps at a
    /// time, this happens before they could be confused.
    pub fn is_above(self, ballot: Ballot, other: Ballot) -> bool {
        let (ahead, quarter) = ((ballot + self.size() - other) % self.size(), self.size() / 4);
        assert!(ahead <= quarter || ahead >= self.size() - quarter, "ballots {ballot} and {other} are too far apart");
        (1..=quarter).contains(&ahead)
    }

    /// The higher one, if there is a known one.
    pub fn higher(self, known: Option<Ballot>, other: Ballot) -> Ballot {
        known.filter(|known| self.is_above(*known, other)).unwrap_or(other)
    }

    fn size(self) -> u32 {
        ROUNDS * self.proposers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ballots_are_below_the_first() {
        let circle = Circle::of(2);
        assert_eq!(
            [(0, 1), (0, 2), (1, 6), (0, 7)].map(|(proposer, above)| circle.next(proposer, above)),
            [2, 4, 7, 0]
        );
        assert!(circle.is_above(3, 2) && circle.is_above(0, 7) && circle.is_above(1, 7));
        assert!(!circle.is_above(2, 2) && !circle.is_above(2, 3) && !circle.is_above(7, 0));
        assert_eq!((circle.higher(None, 7), circle.higher(Some(7), 1), circle.higher(Some(1), 7)), (7, 1, 1));
    }

    #[test]
    #[should_panic(expected = "ballots 4 and 0 are too far apart")]
    fn what_is_on_the_other_side_is_neither_above_nor_below() {
        Circle::of(2).is_above(4, 0);
    }
}
