//! A smallest set of events that meets every path.

use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of sets to try.
const TRIED_MAX: u64 = 200_000;

/// A smallest set that shares an element with each path. Ties are broken by earliness: by the least sum of first
/// positions, then by the order of the elements. None if a path is empty, if no set of at most `most` elements exists,
/// or if too many sets would have to be tried.
///
/// Exact: sets are tried by size, and each is extended by an element of the first path that it does not meet.
pub fn smallest_hitting_set<E: Ord + Clone>(paths: &[Vec<E>], most: usize) -> Option<BTreeSet<E>> {
    let mut first: BTreeMap<&E, usize> = BTreeMap::new();
    for path in paths {
        for (position, element) in path.iter().enumerate() {
            let earliest = first.entry(element).or_insert(position);
            *earliest = position.min(*earliest);
        }
    }
    let mut search = Hitting { paths, first: &first, best: None, tried: 0 };
    for size in 0..=most {
        search.extend(&mut BTreeSet::new(), size)?;
        if let Some((_, best)) = search.best {
            return Some(best.into_iter().cloned().collect());
        }
    }
    None
}

struct Hitting<'p, E> {
    paths: &'p [Vec<E>],
    first: &'p BTreeMap<&'p E, usize>,
    best: Option<(usize, BTreeSet<&'p E>)>,
    tried: u64,
}

impl<'p, E: Ord> Hitting<'p, E> {
    /// Tries all extensions by this many elements; none if there are too many.
    fn extend(&mut self, chosen: &mut BTreeSet<&'p E>, left: usize) -> Option<()> {
        self.tried += 1;
        if self.tried > TRIED_MAX {
            return None;
        }
        let paths = self.paths;
        let Some(missed) = paths.iter().find(|path| !path.iter().any(|element| chosen.contains(element))) else {
            let sum: usize = chosen.iter().map(|element| self.first[element]).sum();
            if self.best.as_ref().is_none_or(|(least, best)| (sum, &*chosen) < (*least, best)) {
                self.best = Some((sum, chosen.clone()));
            }
            return Some(());
        };
        if left == 0 {
            return Some(());
        }
        for element in missed {
            if chosen.insert(element) {
                self.extend(chosen, left - 1)?;
                chosen.remove(element);
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use host_model::toys::Dice;

    use super::*;

    /// All subsets of eight elements, by size and then by the sum of their first positions.
    fn naive(paths: &[Vec<u32>]) -> Option<BTreeSet<u32>> {
        let position = |element: &u32| paths.iter().filter_map(|path| path.iter().position(|it| it == element)).min();
        let subsets = (0..1_u32 << 8).map(|bits| (0..8).filter(|bit| bits & 1 << bit != 0).collect::<BTreeSet<u32>>());
        let hits = subsets.filter(|set| paths.iter().all(|path| path.iter().any(|element| set.contains(element))));
        hits.min_by_key(|set| {
            let sum: usize = set.iter().map(|element| position(element).unwrap_or(100)).sum();
            (set.len(), sum, set.clone())
        })
    }

    #[test]
    fn it_is_a_smallest_one_and_earliest() {
        let mut sizes = [0; 9];
        for seed in 0..2_000 {
            let mut dice = Dice(seed);
            let (paths, longest) = (dice.below(6), 1 + dice.below(5));
            let path = |dice: &mut Dice| (0..dice.below(longest + 1)).map(|_| dice.below(8)).collect::<Vec<u32>>();
            let paths: Vec<Vec<u32>> = (0..paths).map(|_| path(&mut dice)).collect();
            let found = smallest_hitting_set(&paths, 8);
            assert_eq!(found, naive(&paths), "{paths:?}");
            if let Some(found) = found {
                sizes[found.len()] += 1;
                let fewer = found.len().checked_sub(1).and_then(|fewer| smallest_hitting_set(&paths, fewer));
                assert_eq!(fewer, None, "{paths:?}");
            }
        }
        assert!(sizes[..4].iter().all(|count| *count > 20), "{sizes:?}");
    }
}
