//! The sizes of the levels of a search, and whether the next ones grow by a multiple.

/// If a level is this many times as large as the one before, as a fraction, more such levels follow: the end is far away. The levels of a
/// finite space grow so only until a few hundredths of its states are known.
const MULTIPLE: (u64, u64) = (3, 2);

/// The levels of a search that goes level by level.
#[derive(Default)]
pub(super) struct Levels {
    /// The current level.
    depth: u32,
    /// The count when this level began.
    began: u64,
    /// The growth of the count on the two levels before, the last one first.
    took: [u64; 2],
    /// Whether a level is a multiple of the one before.
    explode: bool,
}

impl Levels {
    /// Updates the levels with the progress of the search.
    pub(super) fn look(&mut self, depth: u32, counted: u64) {
        // The search has restarted.
        if depth < self.depth {
            *self = Self::default();
        }
        let current = counted.saturating_sub(self.began);
        let is_multiple = |level: u64, before: u64| level * MULTIPLE.1 >= before.max(1) * MULTIPLE.0;
        self.explode = is_multiple(current, self.took[0]) || is_multiple(self.took[0], self.took[1]);
        if depth > self.depth {
            (self.depth, self.began, self.took) = (depth, counted, [current, self.took[0]]);
        }
    }

    /// Whether a level is a multiple of the one before.
    pub(super) fn explode(&self) -> bool {
        self.explode
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Levels as long as binomial coefficients: those of a finite space. They explode at first, but stop long before the middle.
    #[test]
    fn levels_explode_where_each_takes_a_multiple_of_the_one_before() {
        let (mut levels, mut counted, mut length) = (Levels::default(), 0_u64, 1_u64);
        let mut seen = Vec::new();
        for depth in 0..=40_u32 {
            levels.look(depth, counted);
            seen.push(levels.explode());
            counted += length;
            length = length * u64::from(40 - depth) / u64::from(depth + 1);
        }
        assert_eq!(counted, 1 << 40);
        let last = seen.iter().rposition(|explodes| *explodes).expect("they do at first");
        // (40 - depth) / (depth + 1) is at least 3/2 up to depth 15.
        assert!(seen[3..last].iter().all(|explodes| *explodes) && (16..=18).contains(&last), "{seen:?}");
    }
}
