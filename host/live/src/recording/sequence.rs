//! The order of the segments of a node: none of them is missing, and each belongs to the same node.

use crate::disk::Owner;
use crate::recording::entry::{Begins, Chain, Head};

/// The reason why a segment does not follow the one before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Break {
    /// Segments are missing.
    #[error("the segment with the number {0} is missing")]
    Missing(u64),
    /// It is of another node, cluster or component.
    #[error("it is of another node, cluster or component than the segment before: node {} of {} ({})", .0.node, .0.plugin, .0.digest)]
    Other(Box<Owner>),
    /// It begins where the segment before does not end.
    #[error(
        "it begins with another state than the one with which the segment before ends: entries of that one are lost"
    )]
    Behind,
}

/// The segments of a node, by their numbers.
#[derive(Clone, Debug, Default)]
pub struct Sequence {
    last: Option<(u64, Owner)>,
    /// The end of the last segment; none if it has no entries or is torn.
    end: Option<Chain>,
}

impl Sequence {
    /// Takes the head of the next segment.
    ///
    /// # Errors
    ///
    /// It does not follow the one before.
    pub fn begin(&mut self, number: u64, head: &Head) -> Result<(), Break> {
        if let Some((last, owner)) = &self.last {
            if number != last + 1 {
                return Err(Break::Missing(last + 1));
            }
            if *owner != head.owner {
                return Err(Break::Other(Box::new(head.owner.clone())));
            }
            if let Begins::Within { behind, .. } = &head.begins
                && self.end != Some(*behind)
            {
                return Err(Break::Behind);
            }
        }
        (self.last, self.end) = (Some((number, head.owner.clone())), None);
        Ok(())
    }

    /// Takes a segment that is torn within its head: it has nothing.
    ///
    /// # Errors
    ///
    /// Segments before it are missing.
    pub fn skip(&mut self, number: u64) -> Result<(), Break> {
        let Some((last, _)) = &mut self.last else { return Ok(()) };
        if number != *last + 1 {
            return Err(Break::Missing(*last + 1));
        }
        (*last, self.end) = (number, None);
        Ok(())
    }

    /// Takes the end of a segment that is not torn.
    pub fn end(&mut self, chain: Chain) {
        self.end = Some(chain);
    }
}
