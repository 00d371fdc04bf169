//! The unit of work of a search in the race, and the kind of search.

use crate::kernel::Progress;

/// The unit of work of a search, and the kind of search.
#[derive(Clone, Copy)]
pub struct Pace {
    /// The work so far.
    pub work: fn(&Progress) -> u64,
    /// Whether it keeps states with all messages in flight, so that a state takes longer on a longer path.
    pub keeps_messages: bool,
    /// Units of work between two polls without progress between them, as during a long combination.
    pub idle: u64,
    /// The weight of a unit of work: with twice the weight, a search gets half of the turns.
    pub weight: u64,
    /// Whether it forgets its knowledge before that takes too much memory. It is the last one to end for lack of memory, and has most of
    /// the turns while levels explode.
    pub forgets: bool,
    /// Whether it goes level by level, so that its depth tells the size of a level.
    pub has_levels: bool,
    /// Shortest turns that count as done before its first one, in work: it begins once the others have worked as much. A search with a delay ends
    /// for lack of memory like those that do not forget.
    pub delay: u64,
}
