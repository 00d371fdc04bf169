//! Sweeps: all workers together visit each state once.
//!
//! Workers take blocks of states in the order of the sweep. So the finds at one state are mostly known at later states, and a set that
//! grows or shrinks by such finds is complete after few sweeps. Which worker visits a state, and which finds of others it knows by then,
//! differs from run to run: a sweep may only compute results that do not depend on it, a least or a greatest set, a sum, a minimum.

use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

use crate::kernel::EndCondition;
use crate::liveness::graph::watch::Watch;

/// States of a block: a moment of work.
const BLOCK: u32 = 1 << 12;

/// The order of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// From the first state to the last.
    Up,
    /// From the last state to the first.
    Down,
}

impl Order {
    /// The opposite order.
    pub fn turned(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

/// Visits this many states. Each worker has its own notes, which are returned in no particular order.
///
/// # Errors
///
/// The analysis is to end.
pub fn sweep<N: Default + Send>(
    states: u32,
    order: Order,
    watch: &mut Watch<'_>,
    look: impl Fn(u32, &mut N, &mut Watch<'_>) -> Result<(), EndCondition> + Sync,
) -> Result<Vec<N>, EndCondition> {
    let blocks = states.div_ceil(BLOCK);
    let next = AtomicU32::new(0);
    let sweep_blocks = |watch: &mut Watch<'_>| -> Result<N, EndCondition> {
        let mut notes = N::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= blocks {
                return Ok(notes);
            }
            let first = BLOCK * if order == Order::Up { number } else { blocks - 1 - number };
            let last = first + BLOCK.min(states - first) - 1;
            for place in 0..=last - first {
                let state = if order == Order::Up { first + place } else { last - place };
                look(state, &mut notes, watch)?;
            }
        }
    };
    let workers = rayon::current_num_threads().min(blocks as usize);
    if workers <= 1 {
        return Ok(vec![sweep_blocks(watch)?]);
    }
    let begun = &*watch;
    let sweep_as_one = |_| {
        let mut watch = begun.another();
        Ok((sweep_blocks(&mut watch)?, watch.rest()))
    };
    let swept: Vec<(N, u64)> = (0..workers).into_par_iter().map(sweep_as_one).collect::<Result<_, EndCondition>>()?;
    watch.work(swept.iter().map(|(_, work)| work).sum())?;
    Ok(swept.into_iter().map(|(notes, _)| notes).collect())
}

/// Sweeps in alternating order until a sweep changes nothing: `look` returns whether it has changed something.
///
/// # Errors
///
/// The analysis is to end.
pub fn sweep_until_still(
    states: u32,
    mut order: Order,
    watch: &mut Watch<'_>,
    look: impl Fn(u32, &mut Watch<'_>) -> Result<bool, EndCondition> + Sync,
) -> Result<(), EndCondition> {
    loop {
        let note = |state: u32, has_changed: &mut bool, watch: &mut Watch<'_>| {
            *has_changed |= look(state, watch)?;
            Ok(())
        };
        if !sweep(states, order, watch, note)?.contains(&true) {
            return Ok(());
        }
        order = order.turned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Progress, Unmonitored};

    #[test]
    fn every_state_is_looked_at_once_in_order_within_a_block() {
        for workers in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().expect("threads can be started");
            for (states, order) in
                [0, 1, BLOCK, 3 * BLOCK + 5].into_iter().flat_map(|states| [(states, Order::Up), (states, Order::Down)])
            {
                let mut watch = Watch::new(&Unmonitored, Progress::default());
                let note = |state, notes: &mut Vec<u32>, _: &mut Watch<'_>| {
                    notes.push(state);
                    Ok(())
                };
                let notes = pool.install(|| sweep(states, order, &mut watch, note)).expect("nothing ends it");
                for seen in &notes {
                    assert!(seen.is_sorted_by(|one, other| (one < other) == (order == Order::Up)), "{order:?}");
                }
                let mut all = notes.concat();
                all.sort_unstable();
                assert_eq!(all, (0..states).collect::<Vec<_>>());
            }
        }
    }
}
