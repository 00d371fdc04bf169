//! Tuples with one element for each node.

/// All tuples that take `item` at position `fixed` and elements of the lists elsewhere, the first position varying
/// slowest. None if another list is empty.
pub fn with_fixed<T: Copy>(lists: &[Vec<T>], fixed: usize, item: T) -> impl Iterator<Item = Vec<T>> {
    let choices = move |position: usize| if position == fixed { 1 } else { lists[position].len() };
    let mut digits: Option<Vec<usize>> =
        (0..lists.len()).all(|position| choices(position) > 0).then(|| vec![0; lists.len()]);
    std::iter::from_fn(move || {
        let current = digits.as_mut()?;
        let pick = |(position, digit): (usize, &usize)| if position == fixed { item } else { lists[position][*digit] };
        let tuple = current.iter().enumerate().map(pick).collect();
        match (0..lists.len()).rev().find(|position| current[*position] + 1 < choices(*position)) {
            Some(position) => {
                current[position] += 1;
                current[position + 1..].fill(0);
            }
            None => digits = None,
        }
        Some(tuple)
    })
}

/// All tuples that take an element of each list, the first position varying slowest.
pub fn all<T: Copy>(lists: &[Vec<T>]) -> impl Iterator<Item = Vec<T>> {
    lists.first().into_iter().flatten().flat_map(|item| with_fixed(lists, 0, *item))
}

/// The number of tuples from [`with_fixed`]; saturates.
pub fn count_with_fixed<T>(lists: &[Vec<T>], fixed: usize) -> u64 {
    let others = lists.iter().enumerate().filter(|(position, _)| *position != fixed);
    others.fold(1, |product: u64, (_, list)| product.saturating_mul(list.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_positions_run_through_their_lists() {
        let lists = [vec![1, 2], vec![9], vec![5, 6]];
        let tuples: Vec<_> = with_fixed(&lists, 1, 7).collect();
        assert_eq!(tuples, [[1, 7, 5], [1, 7, 6], [2, 7, 5], [2, 7, 6]]);
        assert_eq!(count_with_fixed(&lists, 1), 4);
        let tuples: Vec<_> = all(&lists).collect();
        assert_eq!(tuples, [[1, 9, 5], [1, 9, 6], [2, 9, 5], [2, 9, 6]]);
    }

    #[test]
    fn an_empty_list_elsewhere_leaves_no_tuple() {
        assert_eq!(with_fixed(&[vec![1], vec![]], 0, 1).count(), 0);
        assert_eq!(with_fixed(&[vec![], vec![1]], 0, 1).count(), 1);
    }
}
