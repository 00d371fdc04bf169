//! Which answers to a handler were drawn by chance.

/// Answers beyond this one count as chosen.
const ANSWERS: usize = 64;

/// Which of a handler's answers were drawn by weights, by `choose-weighted`: the first 64 answers are distinguished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Draws {
    /// Those with a weight above 0.
    likely: u64,
    /// Those with the weight 0.
    unlikely: u64,
}

impl Draws {
    /// Notes that the answer with this index had so much weight.
    pub fn note(&mut self, index: usize, weight: u32) {
        if index < ANSWERS {
            let drawn = if weight > 0 { &mut self.likely } else { &mut self.unlikely };
            *drawn |= 1 << index;
        }
    }

    /// Whether no answer was drawn.
    pub fn are_none(self) -> bool {
        self == Self::default()
    }

    /// Whether the answer with this index had a weight above 0; none if it was not drawn.
    pub fn is_likely(self, index: usize) -> Option<bool> {
        let is_in = |drawn: u64| index < ANSWERS && drawn >> index & 1 == 1;
        (is_in(self.likely) || is_in(self.unlikely)).then(|| is_in(self.likely))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_answers_are_distinguished() {
        let mut draws = Draws::default();
        assert!(draws.are_none());
        for (index, weight) in [(1, 0), (2, 7), (63, 1), (64, 1)] {
            draws.note(index, weight);
        }
        assert_eq!(
            [0, 1, 2, 63, 64, 65].map(|index| draws.is_likely(index)),
            [None, Some(false), Some(true), Some(true), None, None]
        );
    }
}
