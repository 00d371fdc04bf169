//! A covering array: rows of options such that every two values of different options are in one row together, and of the first
//! options every three. One row after the other, greedily, as in Cohen, Dalal, Fredman and Patton, "The AETG system", 1997.

use std::collections::BTreeSet;

use host_model::toys::Dice;

use crate::options::{AXES, Axis, Partial, Refusal, Row, TRIPLES, refusals};

/// Values of two or three options.
pub type Tuple = Vec<(usize, usize)>;

/// The number of candidate rows; the one that covers most is taken.
const CANDIDATES: usize = 3;

/// The number of restarts of a row that cannot be finished.
const ATTEMPTS: usize = 20;

/// A covering array.
pub struct Array {
    /// The rows.
    pub rows: Vec<Row>,
    /// The number of tuples that they cover.
    pub covered: usize,
    /// The number of tuples that no row can have, for any other options, since they are refused.
    pub refused: usize,
}

/// Makes the array; the same one each time.
pub fn covering() -> Array {
    let sizes: Vec<usize> = Axis::ALL.iter().map(|axis| axis.values().len()).collect();
    let refusals = refusals();
    let mut open = tuples(&sizes);
    let mut array = Array { rows: Vec::new(), covered: 0, refused: 0 };
    let mut dice = Dice(0xc0_e4);
    while let Some(first) = open.first().cloned() {
        let mut best: Option<(usize, Row)> = None;
        for _ in 0..CANDIDATES {
            let row = (0..ATTEMPTS).find_map(|_| extend(&first, &sizes, &refusals, &open, &mut dice));
            // The random search may miss a row that exists.
            let Some(row) = row.or_else(|| complete(&first, &sizes, &refusals)) else { break };
            let covered = tuples_of(&row).filter(|tuple| open.contains(tuple)).count();
            if best.is_none_or(|(most, _)| covered > most) {
                best = Some((covered, row));
            }
        }
        match best {
            Some((covered, row)) => {
                for tuple in tuples_of(&row) {
                    open.remove(&tuple);
                }
                array.covered += covered;
                array.rows.push(row);
            }
            None => {
                open.remove(&first);
                array.refused += 1;
            }
        }
    }
    array
}

/// All tuples to cover.
fn tuples(sizes: &[usize]) -> BTreeSet<Tuple> {
    let mut found = BTreeSet::new();
    for one in 0..AXES {
        for two in one + 1..AXES {
            for (a, b) in (0..sizes[one]).flat_map(|a| (0..sizes[two]).map(move |b| (a, b))) {
                found.insert(vec![(one, a), (two, b)]);
                let thirds = sizes.iter().enumerate().take(TRIPLES).skip(two + 1);
                for (three, size) in thirds {
                    found.extend((0..*size).map(|c| vec![(one, a), (two, b), (three, c)]));
                }
            }
        }
    }
    found
}

/// The tuples of a row.
pub fn tuples_of(row: &Row) -> impl Iterator<Item = Tuple> + use<> {
    let row = *row;
    let pairs = (0..AXES).flat_map(move |one| (one + 1..AXES).map(move |two| vec![(one, row[one]), (two, row[two])]));
    let triples = (0..TRIPLES).flat_map(move |one| {
        (one + 1..TRIPLES).flat_map(move |two| {
            (two + 1..TRIPLES).map(move |three| vec![(one, row[one]), (two, row[two]), (three, row[three])])
        })
    });
    pairs.chain(triples)
}

/// A row that has a tuple and no refused combination; none if the chosen values lead to none.
fn extend(
    first: &Tuple,
    sizes: &[usize],
    refusals: &[Refusal],
    open: &BTreeSet<Tuple>,
    dice: &mut Dice,
) -> Option<Row> {
    let mut partial: Partial = [None; AXES];
    first.iter().for_each(|(axis, value)| partial[*axis] = Some(*value));
    let is_refused = |partial: &Partial| refusals.iter().any(|refusal| refusal.applies(partial));
    if is_refused(&partial) {
        return None;
    }
    let mut left: Vec<usize> = (0..AXES).filter(|axis| partial[*axis].is_none()).collect();
    while !left.is_empty() {
        let axis = left.swap_remove(dice.below(left.len() as u32) as usize);
        let shift = dice.below(sizes[axis] as u32) as usize;
        let mut best: Option<(usize, usize)> = None;
        for value in (0..sizes[axis]).map(|value| (value + shift) % sizes[axis]) {
            partial[axis] = Some(value);
            if is_refused(&partial) {
                continue;
            }
            let covered = gain(&partial, axis, open);
            if best.is_none_or(|(most, _)| covered > most) {
                best = Some((covered, value));
            }
        }
        partial[axis] = Some(best?.1);
    }
    Some(partial.map(|value| value.expect("every option has a value by now")))
}

/// Some row that has a tuple and no refused combination, if one exists.
fn complete(first: &Tuple, sizes: &[usize], refusals: &[Refusal]) -> Option<Row> {
    let mut domains: Domains = std::array::from_fn(|axis| (0..sizes[axis]).collect());
    first.iter().for_each(|(axis, value)| domains[*axis] = vec![*value]);
    solve(domains, refusals)
}

/// For each option the values that are left to it.
type Domains = [Vec<usize>; AXES];

/// Some row with one of these values for each option and no refused combination, if one exists.
fn solve(mut domains: Domains, refusals: &[Refusal]) -> Option<Row> {
    while let Some((axis, left)) = refusals.iter().find_map(|refusal| without_last(&domains, refusal)) {
        domains[axis] = left;
    }
    if domains.iter().any(Vec::is_empty) {
        return None;
    }
    let undecided = (0..AXES).filter(|axis| domains[*axis].len() > 1);
    let Some(axis) = undecided.min_by_key(|axis| domains[*axis].len()) else {
        return Some(std::array::from_fn(|axis| domains[axis][0]));
    };
    domains[axis].clone().into_iter().find_map(|value| {
        let mut decided = domains.clone();
        decided[axis] = vec![value];
        solve(decided, refusals)
    })
}

/// The last option that can keep a refusal from applying, with the values that are left to it; none if nothing follows.
fn without_last(domains: &Domains, refusal: &Refusal) -> Option<(usize, Vec<usize>)> {
    let keeps = |axis: usize, values: &[usize]| domains[axis].iter().any(|value| !values.contains(value));
    let mut open = refusal.values.iter().filter(|(axis, values)| keeps(*axis as usize, values));
    // If the refusal applies in any case, any option will do: none of its values is left.
    let (axis, values) = open.next().or(refusal.values.first())?;
    let left = |value: &&usize| !values.contains(value);
    let left: Vec<usize> = domains[*axis as usize].iter().filter(left).copied().collect();
    let is_news = left.len() < domains[*axis as usize].len();
    (open.next().is_none() && is_news).then_some((*axis as usize, left))
}

/// The number of open tuples that a value adds to the previous ones.
fn gain(partial: &Partial, axis: usize, open: &BTreeSet<Tuple>) -> usize {
    let fixed: Vec<(usize, usize)> = (0..AXES).filter_map(|axis| Some((axis, partial[axis]?))).collect();
    let this = fixed.iter().copied().find(|(other, _)| *other == axis).expect("it has a value");
    let sorted = |mut tuple: Tuple| {
        tuple.sort_unstable();
        tuple
    };
    let others: Vec<(usize, usize)> = fixed.into_iter().filter(|(other, _)| *other != axis).collect();
    let pairs = others.iter().filter(|other| open.contains(&sorted(vec![this, **other]))).count();
    if axis >= TRIPLES {
        return pairs;
    }
    let near: Vec<(usize, usize)> = others.into_iter().filter(|(other, _)| *other < TRIPLES).collect();
    let triples = near.iter().enumerate().map(|(index, one)| {
        let later = near[index + 1..].iter();
        later.filter(|two| open.contains(&sorted(vec![this, *one, **two]))).count()
    });
    pairs + triples.sum::<usize>()
}
