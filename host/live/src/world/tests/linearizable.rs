//! Linearizability of a history of one register.
//!
//! Source: Wing and Gong, "Testing and Verifying Concurrent Objects", JPDC 1993, with the memory of visited states of Lowe, "Testing for
//! Linearizability", 2017.

use std::collections::BTreeSet;

/// An operation on a register that holds 0 at the start; each write has a value of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    /// Whether it writes the value; otherwise it has read it.
    pub(super) is_write: bool,
    pub(super) value: u64,
    pub(super) asked: u64,
    /// The time of the answer; none for an unanswered write, which may take effect or not.
    pub(super) answered: Option<u64>,
}

/// Whether the operations can be ordered such that each takes effect at one instant between its request and its answer.
pub(super) fn is_linearizable(operations: &[Operation]) -> bool {
    let is_read = |value: u64| operations.iter().any(|other| !other.is_write && other.value == value);
    // A write that was neither answered nor read need not take effect.
    let operations: Vec<Operation> = operations
        .iter()
        .filter(|operation| operation.answered.is_some() || is_read(operation.value))
        .copied()
        .collect();
    assert!(operations.len() <= 128, "a set of them fits into a number");
    let (mut open, mut seen) = (vec![(0u128, 0u64)], BTreeSet::new());
    while let Some((done, value)) = open.pop() {
        let left = || (0..operations.len()).filter(|index| done >> index & 1 == 0);
        // The earliest answer of an operation that is left.
        let Some(end) = left().filter_map(|index| operations[index].answered).min() else { return true };
        for index in left() {
            let Operation { is_write, value: own, asked, .. } = operations[index];
            if asked < end && (is_write || own == value) && seen.insert((done | 1 << index, own)) {
                open.push((done | 1 << index, own));
            }
        }
    }
    false
}

#[test]
fn histories_of_one_register_are_accepted_and_others_rejected() {
    let operation = |is_write, value, asked, answered| Operation { is_write, value, asked, answered };
    let (write, read) =
        (|value, from, to| operation(true, value, from, to), |value, from, to| operation(false, value, from, to));
    assert!(is_linearizable(&[]));
    assert!(is_linearizable(&[write(1, 1, Some(2)), read(1, 3, Some(4))]));
    assert!(!is_linearizable(&[write(1, 1, Some(2)), read(0, 3, Some(4))]), "an acknowledged write is lost");
    assert!(is_linearizable(&[write(1, 1, Some(4)), read(0, 2, Some(3))]), "it may take place after the read");
    // A write without an answer takes effect once, and for good.
    assert!(is_linearizable(&[write(1, 1, None), read(0, 2, Some(3)), read(1, 4, Some(5))]));
    assert!(!is_linearizable(&[write(1, 1, None), read(1, 2, Some(3)), read(0, 4, Some(5))]));
    // Two successive reads see two concurrent writes in one order, whichever it is.
    let writes = [write(1, 1, Some(9)), write(2, 2, Some(9))];
    let seen = |first, second| [&writes[..], &[read(first, 3, Some(4)), read(second, 5, Some(6))]].concat();
    assert!(is_linearizable(&seen(1, 2)) && is_linearizable(&seen(2, 1)) && !is_linearizable(&seen(1, 0)));
}
