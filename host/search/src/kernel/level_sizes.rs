//! The sizes of the levels of a search, and an estimate of the levels to come.

use crate::kernel::checkpoint_codec::{Reader, Writer};

/// Fewer complete levels say nothing about the shape of a space.
const LEVELS_MIN: usize = 8;

/// Fewer states are explored before one has read the estimate.
const STATES_MIN: u64 = 1_000;

/// The number of ratios of levels through which a line is drawn, the last ones. More of them are further from the end, where levels shrink
/// faster and faster.
const FITTED: usize = 3;

/// Each of this many last levels is smaller than the one before where the end is in sight.
const SHRINKING: usize = 2;

/// An estimate above this many states, or levels, is none.
const STATES_MAX: f64 = 1e15;
const LEVELS_MAX: u64 = 100_000;

/// The number of states that a search has expanded at each distance from the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LevelSizes {
    sizes: Vec<u64>,
    is_last_complete: bool,
}

/// An estimate of the part of a space that a search has not expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    /// States.
    pub states: u64,
    /// Levels, the one that was begun included.
    pub levels: u64,
}

impl LevelSizes {
    /// Counts states that were expanded at a distance; levels come in order.
    pub fn count(&mut self, depth: u32, states: u64) {
        let depth = depth as usize;
        if self.sizes.len() <= depth {
            self.sizes.resize(depth + 1, 0);
        }
        self.sizes[depth] += states;
    }

    /// Notes that the search has ended with its last level.
    pub fn end(&mut self) {
        self.is_last_complete = true;
    }

    /// Whether there are no more levels.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_last_complete
    }

    /// Whether the search counted no levels.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Saves the sizes of a search that continues.
    pub fn save(&self, out: &mut Writer<'_>) {
        out.number(self.sizes.len() as u64);
        self.sizes.iter().for_each(|size| out.number(*size));
    }

    /// The sizes that were saved.
    pub fn load(saved: &mut Reader<'_>) -> Option<Self> {
        let mut sizes = Vec::new();
        for _ in 0..saved.number()? {
            sizes.push(saved.number().filter(|size| *size < u64::from(u32::MAX))?);
        }
        Some(Self { sizes, is_last_complete: false })
    }

    /// The sizes of the complete levels.
    #[must_use]
    pub fn complete(&self) -> &[u64] {
        let open = usize::from(!self.is_last_complete).min(self.sizes.len());
        &self.sizes[..self.sizes.len() - open]
    }

    /// An estimate of what is left; none if there are few levels, or as long as they grow: then nothing tells how far they will.
    ///
    /// The logarithm of the ratio of neighbouring levels is continued on the line through the last ones. The levels of a product of
    /// independent parts are like a bell, for which these are on a line.
    #[must_use]
    pub fn rest(&self) -> Option<Rest> {
        let complete = self.complete();
        let is_short = complete.len() < LEVELS_MIN || complete.iter().sum::<u64>() < STATES_MIN;
        if self.is_last_complete || is_short || complete.windows(2).rev().take(SHRINKING).any(|pair| pair[1] >= pair[0])
        {
            return None;
        }
        let last = &complete[complete.len() - FITTED - 1..];
        let ratios: Vec<f64> = last.windows(2).map(|pair| (pair[1] as f64 / pair[0].max(1) as f64).ln()).collect();
        let (level, slope) = line(&ratios);
        // A line that rises was drawn through levels that shrink less and less: the best guess is that they shrink as the last ones.
        let (mut ratio, slope) = (level, slope.min(0.0));
        let mut size = *complete.last()? as f64;
        let (mut states, mut levels) = (0.0, 0);
        while size >= 1.0 {
            ratio += slope;
            size *= ratio.exp();
            (states, levels) = (states + size, levels + 1);
            if states > STATES_MAX || levels > LEVELS_MAX {
                return None;
            }
        }
        let begun = self.sizes[complete.len()..].iter().sum::<u64>();
        Some(Rest { states: (states as u64).saturating_sub(begun), levels })
    }
}

/// The line of least squares through these values at 0, 1, 2 and so on: its value at the last one, and its slope.
fn line(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let (middle, mean) = ((count - 1.0) / 2.0, values.iter().sum::<f64>() / count);
    let offset = |place: usize| place as f64 - middle;
    let squares: f64 = (0..values.len()).map(|place| offset(place).powi(2)).sum();
    let products: f64 = values.iter().enumerate().map(|(place, value)| offset(place) * (value - mean)).sum();
    let slope = if squares > 0.0 { products / squares } else { 0.0 };
    (mean + slope * middle, slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The levels of a search that was stopped after this many.
    fn stopped(sizes: &[u64], after: usize) -> LevelSizes {
        let mut levels = LevelSizes::default();
        for (depth, states) in (0..).zip(&sizes[..after]) {
            levels.count(depth, *states);
        }
        // The level that was begun.
        levels.count(after as u32, 1);
        levels
    }

    /// The estimates at each level, as multiples of what was left, from the first one on.
    fn errors(sizes: &[u64]) -> Vec<(usize, f64)> {
        let of = |after: usize| {
            let left = sizes[after..].iter().sum::<u64>() - 1;
            Some((after, stopped(sizes, after).rest()?.states as f64 / left.max(1) as f64))
        };
        (1..sizes.len()).filter_map(of).collect()
    }

    /// Binomial coefficients: the levels of a product of parts with two states each.
    fn bell(parts: u64) -> Vec<u64> {
        let next = |length: u64, depth: u64| length * (parts - depth) / (depth + 1);
        let mut length = 1;
        let mut sizes = vec![1];
        for depth in 0..parts {
            length = next(length, depth);
            sizes.push(length);
        }
        sizes
    }

    #[test]
    fn the_estimate_of_a_bell_is_close_from_the_middle_on() {
        let errors = errors(&bell(40));
        assert_eq!(errors.first().map(|(after, _)| *after), Some(23), "the largest level is the one at 20");
        let close = errors.iter().filter(|(after, _)| *after <= 36);
        assert!(
            close.clone().count() == 14 && close.clone().all(|(_, error)| (0.5..2.0).contains(error)),
            "{errors:?}"
        );
    }

    #[test]
    fn levels_that_shrink_evenly_end_as_expected() {
        let sizes: Vec<u64> = (0..30).map(|level| 1 << (30 - level)).collect();
        let early: Vec<f64> =
            errors(&sizes).into_iter().filter(|(after, _)| *after < 25).map(|(_, error)| error).collect();
        assert!(early.len() == 25 - LEVELS_MIN && early.iter().all(|error| (0.9..1.1).contains(error)), "{early:?}");
    }

    #[test]
    fn levels_that_do_not_shrink_have_no_estimate() {
        let growing: Vec<u64> = (0..30).map(|level| 1 << level).collect();
        let slowly: Vec<u64> = (1..=40).map(|level| level * 100).collect();
        let waves: Vec<u64> = (0..40).map(|level| 1_000 + level % 2).collect();
        assert_eq!([growing, slowly, waves, vec![1_000; 30]].map(|sizes| errors(&sizes)), [const { Vec::new() }; 4]);
    }

    #[test]
    fn few_levels_and_few_states_have_no_estimate() {
        assert_eq!(stopped(&bell(40), LEVELS_MIN - 1).rest(), None);
        let small = [100, 90, 80, 60, 50, 40, 30, 20, 10, 5];
        assert_eq!(stopped(&small, 9).rest(), None);
        let mut whole = LevelSizes::default();
        (0..).zip(bell(20)).for_each(|(depth, states)| whole.count(depth, states));
        assert_eq!(whole.complete().len(), 20);
        whole.end();
        assert!(whole.rest().is_none() && whole.complete().len() == 21);
    }
}
