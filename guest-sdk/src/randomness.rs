//! Random bytes for libraries that ask the system for randomness.
//!
//! A plugin has no system to ask. The crate getrandom, through which most libraries ask, is configured to ask here: 0.3 and later by
//! `host build`, 0.2 by its feature `custom`. Its bytes are a function of state that the checker knows, so a step is the same whenever it
//! is taken.
//!
//! Without the feature `getrandom` of this crate, an author can register another source.

use std::cell::RefCell;

use crate::NodeId;

/// The source of random bytes for libraries. Reports list it among the assumptions, if a library uses getrandom.
///
/// A generator that is seeded once, as `rand::rng()`, has a state of its own, which only [`By::Memory`](crate::By::Memory) and
/// [`By::History`](crate::By::History) distinguish: better give the library a generator that is a part of the node's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Randomness {
    /// Different bytes for each draw and each node, as if no value ever repeated: for identifiers. The number of draws of a node
    /// is part of its state, and restarts with a reset.
    #[default]
    Fresh,
    /// The same bytes each time, at every node: for hash functions and delays, where the value cannot matter. Draws do not distinguish
    /// states.
    Constant,
    /// One of this many values, and the checker tries each: for draws that influence decisions. Nodes can draw equal values.
    Choose(u32),
}

/// The source of a node's draws.
struct Source {
    from: Randomness,
    me: NodeId,
    /// The number of draws, if it matters.
    drawn: u32,
    /// The answers of `choose`, if states are distinguished by their histories.
    answers: Option<Vec<u32>>,
}

thread_local! {
    static SOURCE: RefCell<Source> =
        const { RefCell::new(Source { from: Randomness::Fresh, me: 0, drawn: 0, answers: None }) };
}

/// Begins the draws of a node.
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "native libraries ask their system"))]
pub(crate) fn begin(from: Randomness, me: NodeId, has_history: bool) {
    SOURCE.with_borrow_mut(|source| *source = Source { from, me, drawn: 0, answers: has_history.then(Vec::new) });
}

/// The contribution of the draws to a state's identity; empty before the first draw.
pub(crate) fn identity() -> Vec<u8> {
    SOURCE.with_borrow(|source| {
        let answers = source.answers.iter().flatten();
        let drawn = (source.drawn > 0).then_some(&source.drawn);
        drawn.into_iter().chain(answers).flat_map(|number| number.to_le_bytes()).collect()
    })
}

/// Fills a piece of memory. `choose` asks the checker.
#[cfg_attr(
    not(all(target_arch = "wasm32", target_os = "unknown", feature = "getrandom")),
    allow(dead_code, reason = "elsewhere libraries ask their system")
)]
pub(crate) fn fill(bytes: &mut [u8], choose: impl FnOnce(u32) -> u32) {
    let (from, me) = SOURCE.with_borrow(|source| (source.from, source.me));
    let key = match from {
        Randomness::Constant => 0,
        Randomness::Fresh => SOURCE.with_borrow_mut(|source| {
            source.drawn += 1;
            u64::from(me) << 32 | u64::from(source.drawn)
        }),
        Randomness::Choose(alternatives) => {
            let answer = choose(alternatives);
            SOURCE.with_borrow_mut(|source| source.answers.iter_mut().for_each(|answers| answers.push(answer)));
            u64::from(answer)
        }
    };
    for (index, piece) in bytes.chunks_mut(8).enumerate() {
        let mixed = mix(mix(key).wrapping_add(index as u64));
        piece.copy_from_slice(&mixed.to_le_bytes()[..piece.len()]);
    }
}

/// The finalizer of SplitMix64: a bijection, so that different keys give different bytes.
fn mix(key: u64) -> u64 {
    let key = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        fill(&mut bytes, |alternatives| alternatives - 1);
        bytes
    }

    #[test]
    fn what_is_fresh_is_never_the_same_and_counts() {
        begin(Randomness::Fresh, 1, false);
        assert_eq!(identity(), [0; 0]);
        let drawn = [draw(16), draw(16)];
        assert_ne!(drawn[0], drawn[1]);
        assert_ne!(drawn[0][..8], drawn[0][8..]);
        assert_eq!(identity(), 2_u32.to_le_bytes());
        begin(Randomness::Fresh, 2, false);
        assert_ne!(draw(16), drawn[0], "another node");
        begin(Randomness::Fresh, 1, false);
        assert_eq!(draw(16), drawn[0], "a node that begins again");
        // A shorter draw is a prefix of a longer one, also if it ends within a word.
        begin(Randomness::Fresh, 1, false);
        assert_eq!(draw(5), drawn[0][..5]);
    }

    #[test]
    fn what_is_constant_tells_no_states_apart() {
        begin(Randomness::Constant, 1, true);
        let first = draw(12);
        begin(Randomness::Constant, 2, true);
        assert_eq!([draw(12), draw(12)], [first.clone(), first]);
        assert_eq!(identity(), [0; 0]);
    }

    #[test]
    fn what_is_chosen_is_what_the_checker_answers() {
        begin(Randomness::Choose(3), 1, false);
        let first = draw(8);
        begin(Randomness::Choose(3), 2, true);
        assert_eq!(draw(8), first);
        assert_eq!(identity(), 2_u32.to_le_bytes(), "a history has the answers");
        begin(Randomness::Choose(2), 2, false);
        assert_ne!(draw(8), first);
        assert_eq!(identity(), [0; 0]);
    }
}
