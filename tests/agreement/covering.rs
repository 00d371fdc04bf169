//! A covering array: rows of options such that every two values of different options are in one row together, and of the first
//! options every three. One row after the other, greedily, as in Cohen, Dalal, Fredman and Patton, "The AETG system", 1997.

use std::collections::BTreeSet;

use host_model::toys::Dice;

use crate::options::{AXES, Axis, Partial, Refusal, Row, TRIPLES, refusals};

/// Values of two or three options.
type Tuple = Vec<(usize, usize)>;

/// How many rows are made of which the one that covers most is taken.
const CANDIDATES: usize = 3;

/// How often a row is begun anew that cannot be finished.
const ATTEMPTS: usize = 20;

/// What came out.
pub struct Array {
    /// The rows.
    pub rows: Vec<Row>,
    /// How many tuples they cover.
    pub covered: usize,
    /// How many tuples no row can have, since they or what they imply is refused.
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
            let Some(row) = row else { break };
            let covered = of_row(&row).filter(|tuple| open.contains(tuple)).count();
            if best.is_none_or(|(most, _)| covered > most) {
                best = Some((covered, row));
            }
        }
        match best {
            Some((covered, row)) => {
                for tuple in of_row(&row) {
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

/// All that is to be covered.
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
fn of_row(row: &Row) -> impl Iterator<Item = Tuple> {
    let row = *row;
    let pairs = (0..AXES).flat_map(move |one| (one + 1..AXES).map(move |two| vec![(one, row[one]), (two, row[two])]));
    let triples = (0..TRIPLES).flat_map(move |one| {
        (one + 1..TRIPLES).flat_map(move |two| {
            (two + 1..TRIPLES).map(move |three| vec![(one, row[one]), (two, row[two]), (three, row[three])])
        })
    });
    pairs.chain(triples)
}

/// A row that has a tuple and nothing that is refused; none if the values that were taken lead to none.
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

/// How many open tuples a value adds to those before it.
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
