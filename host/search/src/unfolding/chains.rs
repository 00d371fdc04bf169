//! The chains of events of each node: one tree per node, without the contents of the events.
//!
//! Separate from the contents of events, and small, since nearly all the work of an unfolding is to compare pasts.

use std::cmp::Ordering;

/// An event, or the root of a node's tree: the roots are the first ids, in the order of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId(pub u32);

/// The place of an event in its tree.
#[derive(Clone, Copy)]
struct Link {
    /// The event before; itself for a root.
    prev: EventId,
    /// An ancestor further up, so that ancestors are found in logarithmic time.
    jump: EventId,
    /// Number of events on the chain; 0 for a root.
    len: u32,
}

/// The trees of all nodes.
#[derive(Default)]
pub struct Chains {
    links: Vec<Link>,
}

impl Chains {
    /// Adds the root of the next node.
    pub fn push_root(&mut self) -> EventId {
        let id = EventId(self.links.len() as u32);
        self.links.push(Link { prev: id, jump: id, len: 0 });
        id
    }

    /// Adds an event after another one.
    pub fn push(&mut self, prev: EventId) -> EventId {
        let id = EventId(self.links.len() as u32);
        let before = self.link(prev);
        let (jump, far) = (self.link(before.jump), self.link(self.link(before.jump).jump));
        // The jump pointers of a skew-binary list: twice as far when the two jumps before are equally long.
        let is_far = before.len - jump.len == jump.len - far.len;
        let jump = if is_far { jump.jump } else { prev };
        self.links.push(Link { prev, jump, len: before.len + 1 });
        id
    }

    #[inline]
    fn link(&self, id: EventId) -> Link {
        self.links[id.0 as usize]
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        (self.links.capacity() * size_of::<Link>()) as u64
    }

    /// The event before on the same node; itself for a root.
    #[inline]
    pub fn prev(&self, id: EventId) -> EventId {
        self.link(id).prev
    }

    /// Number of events on the node's chain up to an event; 0 for a root.
    #[inline]
    pub fn len(&self, id: EventId) -> u32 {
        self.link(id).len
    }

    /// Whether `ancestor` is `event` or stands before it on its node.
    #[inline]
    pub fn is_ancestor(&self, ancestor: EventId, event: EventId) -> bool {
        let len = self.len(ancestor);
        let mut at = event;
        let mut link = self.link(at);
        while link.len > len {
            at = if self.len(link.jump) >= len { link.jump } else { link.prev };
            link = self.link(at);
        }
        at == ancestor
    }

    /// Whether two pasts do not exclude each other.
    #[inline]
    pub fn are_compatible(&self, one: &[EventId], other: &[EventId]) -> bool {
        one.iter().zip(other).all(|(one, other)| {
            one == other
                || match self.len(*one).cmp(&self.len(*other)) {
                    Ordering::Less => self.is_ancestor(*one, *other),
                    Ordering::Greater => self.is_ancestor(*other, *one),
                    Ordering::Equal => false,
                }
        })
    }

    /// The later one of two events where one is an ancestor of the other.
    #[inline]
    pub fn later(&self, one: EventId, other: EventId) -> EventId {
        if self.len(one) >= self.len(other) { one } else { other }
    }

    /// The later entries of two compatible pasts.
    pub fn join(&self, one: &[EventId], other: &[EventId]) -> Box<[EventId]> {
        one.iter().zip(other).map(|(one, other)| self.later(*one, *other)).collect()
    }

    /// Number of events in the join of two pasts, if they are compatible.
    #[inline]
    pub fn joined_size(&self, one: &[EventId], other: &[EventId]) -> u32 {
        one.iter().zip(other).map(|(one, other)| self.len(*one).max(self.len(*other))).sum()
    }

    /// Number of events in a configuration.
    #[inline]
    pub fn config_size(&self, config: &[EventId]) -> u32 {
        config.iter().map(|last| self.len(*last)).sum()
    }

    /// The events of a node up to one, without the root.
    pub fn chain(&self, last: EventId) -> Vec<EventId> {
        let up = std::iter::successors(Some(last), |at| Some(self.prev(*at)));
        let mut chain: Vec<EventId> = up.take(self.len(last) as usize).collect();
        chain.reverse();
        chain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ancestors by jump pointers are those found by walking up one by one, on a tree with branches of all lengths.
    #[test]
    fn jumps_agree_with_single_steps() {
        let mut chains = Chains::default();
        let root = chains.push_root();
        let mut events = vec![root];
        for index in 0_usize..300 {
            let prev = if index.is_multiple_of(7) { events[index / 2] } else { events[index] };
            events.push(chains.push(prev));
        }
        for one in &events {
            for other in &events {
                let mut at = *other;
                while at != *one && at != root {
                    at = chains.prev(at);
                }
                assert_eq!(chains.is_ancestor(*one, *other), at == *one, "{one:?} {other:?}");
            }
        }
    }
}
