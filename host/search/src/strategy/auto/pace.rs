//! How the work of a search in the race is counted, and what kind of search it is.

use crate::kernel::Progress;

/// How the work of a search is counted.
#[derive(Clone, Copy)]
pub struct Pace {
    /// The work so far.
    pub work: fn(&Progress) -> u64,
    /// Whether it keeps states with all that is in flight, so that one takes longer on a longer path.
    pub keeps_messages: bool,
    /// Units of work between two questions without progress between them, such as those of a long combination.
    pub idle: u64,
    /// What a unit of work counts: where it counts twice, there are half of the turns.
    pub weight: u64,
    /// Whether it forgets what it knows before that takes too much memory. It is the last one to end for want of memory, and has most of the
    /// turns while levels explode.
    pub forgets: bool,
    /// Whether it goes level by level, so that its depth says what a level takes.
    pub has_levels: bool,
    /// Shortest turns that count as done before its first one: it begins once the others have worked as much. One that begins later ends
    /// for want of memory like those that do not forget.
    pub delay: u64,
}
