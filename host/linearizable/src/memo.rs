//! The memory of a search: configurations that lead nowhere.

use rustc_hash::FxHashMap;

/// The open calls that an order uses: per class its number and the count, sorted.
pub(crate) type Used = Vec<u64>;

/// An entry of [`Used`].
pub(crate) fn used(class: u32, count: u32) -> u64 {
    u64::from(class) << 32 | u64::from(count)
}

/// The configurations that were visited.
///
/// One that has used more open calls than another, and is equal to it otherwise, can do nothing that the other cannot: an
/// open call may happen at any later time, or never. So only the smallest sets are kept.
#[derive(Default)]
pub(crate) struct Memo {
    visited: FxHashMap<Box<[u64]>, Smallest>,
    pub(crate) bytes: usize,
}

struct Smallest {
    first: Box<[u64]>,
    more: Vec<Box<[u64]>>,
}

impl Memo {
    /// Adds a configuration; false if one that can do the same was visited.
    pub(crate) fn insert(&mut self, key: &[u64], used: &[u64]) -> bool {
        match self.visited.get_mut(key) {
            None => {
                // The table is at most seven eighths full and at least half of that, and each allocation has a header.
                self.bytes += 8 * key.len() + 8 * used.len() + 32 + 2 * (size_of::<Smallest>() + 16);
                self.visited.insert(key.into(), Smallest { first: used.into(), more: Vec::new() });
            }
            Some(smallest) => {
                if is_part(&smallest.first, used) || smallest.more.iter().any(|other| is_part(other, used)) {
                    return false;
                }
                if is_part(used, &smallest.first) {
                    smallest.first = used.into();
                } else {
                    self.bytes += 8 * used.len() + 16 + 2 * 16;
                    smallest.more.push(used.into());
                }
            }
        }
        true
    }
}

/// Whether each count of the first is at most that of the second.
fn is_part(first: &[u64], second: &[u64]) -> bool {
    let mut rest = second.iter();
    first.iter().all(|entry| {
        let found = rest.find(|other| *other >> 32 >= entry >> 32);
        found.is_some_and(|other| other >> 32 == entry >> 32 && other >= entry)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_open_calls_are_worth_less() {
        let set = |all: &[(u32, u32)]| all.iter().map(|(class, count)| used(*class, *count)).collect::<Vec<_>>();
        assert!(is_part(&[], &set(&[(1, 1)])));
        assert!(is_part(&set(&[(1, 1)]), &set(&[(0, 3), (1, 2)])));
        assert!(!is_part(&set(&[(1, 2)]), &set(&[(1, 1), (2, 9)])));
        assert!(!is_part(&set(&[(1, 1), (3, 1)]), &set(&[(1, 1), (2, 1)])));
        let mut memo = Memo::default();
        assert!(memo.insert(&[7], &set(&[(1, 2)])));
        assert!(!memo.insert(&[7], &set(&[(1, 2), (2, 1)])));
        assert!(memo.insert(&[7], &set(&[(1, 1)])));
        assert!(memo.insert(&[7], &set(&[(2, 1)])));
        assert!(!memo.insert(&[7], &set(&[(2, 1)])));
        assert!(memo.insert(&[8], &set(&[(2, 1)])));
    }
}
