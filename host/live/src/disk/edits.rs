//! The difference of a durable state from the one before, as edits.
//!
//! A handler changes a few places of a state, and moves what follows them: a log loses its first entries, a store gets a key. So equal
//! bytes are skipped at the speed of memory, and behind a difference the two states are compared in growing windows until 16 equal bytes
//! are found.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// Bytes that are equal where two states meet again behind a difference.
const BLOCK: usize = 16;
/// The first window behind a difference, in bytes, and the factor to the next one.
const WINDOW: usize = 256;
const GROWTH: usize = 8;
/// Bytes compared at once.
const STRIDE: usize = 4 << 10;
/// Blocks and positions looked at for any pair of states; a new state of n bytes allows n / 4 more.
const WORK_MIN: usize = 64 << 10;

/// An edit: some bytes are kept, the next ones are replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Edit {
    /// Bytes kept behind the edit before.
    kept: usize,
    /// Bytes removed behind these.
    removed: usize,
    /// Bytes in their place.
    inserted: Vec<u8>,
}

#[cfg(test)]
impl Edit {
    /// Bytes in place of the first ones.
    pub(super) fn replacing(removed: usize, inserted: Vec<u8>) -> Self {
        Self { kept: 0, removed, inserted }
    }
}

/// The edits that lead from one state to another; behind the last one everything is kept. None if they would insert more than half of the
/// new state, or if the states are so different that comparing them takes longer than writing.
pub(super) fn between(old: &[u8], new: &[u8]) -> Option<Vec<Edit>> {
    let (most, mut work) = (new.len() / 2, WORK_MIN + new.len() / 4);
    let suffix = common_suffix(old, new);
    let (mut old, mut new) = (&old[..old.len() - suffix], &new[..new.len() - suffix]);
    let (mut edits, mut inserted) = (Vec::new(), 0);
    loop {
        let kept = common_prefix(old, new);
        (old, new) = (&old[kept..], &new[kept..]);
        if old.is_empty() && new.is_empty() {
            return Some(edits);
        }
        let Meeting { from, to } = meeting(old, new, &mut work)?;
        inserted += to;
        if inserted > most {
            return None;
        }
        edits.push(Edit { kept, removed: from, inserted: new[..to].to_vec() });
        (old, new) = (&old[from..], &new[to..]);
    }
}

/// Edits a state. Returns how many bytes were moved in it, which is what takes time; none if these are edits of another state, and then
/// the rest of this one means nothing.
pub(super) fn apply(state: &mut Vec<u8>, edits: &[Edit]) -> Option<u64> {
    // The bytes between have been edited away, and are room for what follows.
    let (mut end, mut rest, mut moved) = (0, 0, 0);
    let mut edits = edits.iter();
    while let Some(Edit { kept, removed, inserted }) = edits.next() {
        moved += keep(state, &mut end, &mut rest, *kept)?;
        rest = rest.checked_add(*removed).filter(|rest| *rest <= state.len())?;
        if inserted.len() > rest - end {
            let behind = state.split_off(rest);
            state.truncate(end);
            state.extend_from_slice(inserted);
            extend(state, &behind, edits.as_slice())?;
            return Some(moved + behind.len() as u64);
        }
        state[end..end + inserted.len()].copy_from_slice(inserted);
        end += inserted.len();
    }
    let last = state.len() - rest;
    moved += keep(state, &mut end, &mut rest, last)?;
    state.truncate(end);
    Some(moved)
}

/// Appends the rest of a state, edited.
fn extend(state: &mut Vec<u8>, mut rest: &[u8], edits: &[Edit]) -> Option<()> {
    for Edit { kept, removed, inserted } in edits {
        let (before, behind) = rest.split_at_checked(*kept)?;
        state.extend_from_slice(before);
        state.extend_from_slice(inserted);
        rest = behind.get(*removed..)?;
    }
    state.extend_from_slice(rest);
    Some(())
}

/// Moves bytes from `rest` to `end`, if these differ.
fn keep(state: &mut [u8], end: &mut usize, rest: &mut usize, kept: usize) -> Option<u64> {
    let behind = rest.checked_add(kept).filter(|behind| *behind <= state.len())?;
    let moves = end != rest;
    if moves {
        state.copy_within(*rest..behind, *end);
    }
    (*end, *rest) = (*end + kept, behind);
    Some(if moves { kept as u64 } else { 0 })
}

/// The length of the longest common prefix.
fn common_prefix(old: &[u8], new: &[u8]) -> usize {
    let strides = old.chunks_exact(STRIDE).zip(new.chunks_exact(STRIDE));
    let known = STRIDE * strides.take_while(|(one, other)| one == other).count();
    known + equal(old[known..].iter(), new[known..].iter())
}

/// The length of the longest common suffix.
fn common_suffix(old: &[u8], new: &[u8]) -> usize {
    let strides = old.rchunks_exact(STRIDE).zip(new.rchunks_exact(STRIDE));
    let known = STRIDE * strides.take_while(|(one, other)| one == other).count();
    known + equal(old[..old.len() - known].iter().rev(), new[..new.len() - known].iter().rev())
}

/// The length of the common prefix of two sequences.
fn equal<'b>(old: impl Iterator<Item = &'b u8>, new: impl Iterator<Item = &'b u8>) -> usize {
    old.zip(new).take_while(|(one, other)| one == other).count()
}

/// Offsets in two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Meeting {
    from: usize,
    to: usize,
}

/// Where two states that differ at their start have equal bytes again, their ends at the latest; none once the work exceeds its limit.
fn meeting(old: &[u8], new: &[u8], work: &mut usize) -> Option<Meeting> {
    let mut window = WINDOW;
    loop {
        let (near_old, near_new) = (&old[..old.len().min(window)], &new[..new.len().min(window)]);
        let found = meeting_within(near_old, near_new);
        *work = work.checked_sub(near_old.len() / BLOCK + found.map_or(near_new.len(), |meeting| meeting.to))?;
        if found.is_some() {
            return found;
        }
        if near_old.len() == old.len() && near_new.len() == new.len() {
            return Some(Meeting { from: old.len(), to: new.len() });
        }
        window *= GROWTH;
    }
}

fn meeting_within(old: &[u8], new: &[u8]) -> Option<Meeting> {
    let (blocks, _) = old.as_chunks::<BLOCK>();
    let mut places = HashMap::with_capacity(blocks.len());
    for (number, block) in blocks.iter().enumerate() {
        places.entry(block).or_insert(number * BLOCK);
    }
    let mut candidates = new.windows(BLOCK).enumerate();
    let (to, from) = candidates.find_map(|(to, bytes)| {
        let block: &[u8; BLOCK] = bytes.try_into().expect("windows have this length");
        places.get(block).map(|from| (to, *from))
    })?;
    // The bytes before may be equal, too.
    let before = equal(old[..from].iter().rev(), new[..to].iter().rev());
    Some(Meeting { from: from - before, to: to - before })
}

#[cfg(test)]
mod tests {
    use host_search::kernel::dice::{below, dice};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Bytes from an alphabet of this size: the smaller it is, the more places look alike.
    fn bytes(dice: &mut ChaCha8Rng, letters: u64, length: u64) -> Vec<u8> {
        (0..length).map(|_| below(dice, letters) as u8).collect()
    }

    /// A state with some ranges replaced.
    fn changed(dice: &mut ChaCha8Rng, letters: u64, old: &[u8]) -> Vec<u8> {
        let mut new = old.to_vec();
        for _ in 0..below(dice, 5) {
            let start = below(dice, new.len() as u64 + 1) as usize;
            let removed = below(dice, 40.min((new.len() - start) as u64) + 1) as usize;
            let length = below(dice, 40);
            new.splice(start..start + removed, bytes(dice, letters, length));
        }
        new
    }

    /// Of 4,000 pairs of states, similar ones and unrelated ones: the edits lead from the one to the other, wherever there are any, and
    /// insert at most half of it.
    #[test]
    fn edits_lead_from_a_state_to_the_next_one() {
        let (mut dice, mut found) = (dice(59, 0), 0);
        for number in 0..4_000 {
            let letters = [1, 2, 4, 256][number % 4];
            let length = [3, 100, 3_000, 20_000][number / 4 % 4];
            let (old, other) = (below(&mut dice, length), below(&mut dice, length));
            let old = bytes(&mut dice, letters, old);
            let new =
                if number % 7 == 0 { bytes(&mut dice, letters, other) } else { changed(&mut dice, letters, &old) };
            let Some(edits) = between(&old, &new) else { continue };
            found += 1;
            let mut state = old.clone();
            assert!(apply(&mut state, &edits).is_some() && state == new, "{number}");
            assert!(edits.iter().map(|edit| edit.inserted.len()).sum::<usize>() <= new.len() / 2, "{number}");
        }
        assert!(found > 2_500, "{found}");
    }

    /// A log that forgets its first entries and gets new ones, before a store that changes two values and gets a key: at most
    /// twice the new bytes are inserted.
    #[test]
    fn a_log_that_moves_and_a_key_that_is_added_take_few_bytes() {
        let mut dice = dice(59, 1);
        let mut entry = |length| bytes(&mut dice, 256, length);
        let (entries, mut values): (Vec<_>, Vec<_>) =
            ((0..110).map(|_| entry(300)).collect(), (0..1_000).map(|_| entry(256)).collect());
        let mut old = [&entries[..100].concat()[..], &values.concat()].concat();
        values[7] = entry(256);
        values[900] = entry(256);
        values.insert(500, entry(256));
        let new = [&entries[10..].concat()[..], &values.concat()].concat();
        let edits = between(&old, &new).expect("they are similar");
        let inserted: usize = edits.iter().map(|edit| edit.inserted.len()).sum();
        assert!(inserted <= 2 * (10 * 300 + 3 * 256), "{inserted}");
        // The log moves, and what comes behind the new key.
        let moved = apply(&mut old, &edits).expect("they are its edits");
        assert!(old == new && (90 * 300..90 * 300 + 501 * 256).contains(&moved), "{moved}");
    }

    /// Edits that keep or remove more than is there.
    #[test]
    fn edits_of_another_state_are_refused() {
        let edit = |kept, removed| Edit { kept, ..Edit::replacing(removed, vec![1]) };
        let applied = |edits: Vec<Edit>| {
            let mut state = b"abc".to_vec();
            apply(&mut state, &edits).map(|_| state)
        };
        assert_eq!(applied(vec![edit(1, 1)]), Some(b"a\x01c".to_vec()));
        assert_eq!(applied(vec![edit(1, 0), edit(1, 1)]), Some(b"a\x01b\x01".to_vec()));
        assert_eq!(applied(vec![edit(0, 3)]), Some(b"\x01".to_vec()));
        for (kept, removed) in [(4, 0), (1, 3), (usize::MAX, 1), (1, usize::MAX)] {
            assert_eq!(applied(vec![edit(kept, removed)]), None);
            assert_eq!(applied(vec![edit(0, 0), edit(kept, removed)]), None, "behind one that has no room");
        }
    }
}
