//! Events that take several messages at once: quorums.
//!
//! A node decides for each message how it takes it in a local state: by itself, not now, or only together with others, as a
//! *member* of a quorum of some name and size. A quorum is delivered as a whole: this many members of its name in flight to
//! the node, each from another sender. The node may still decline the set.
//!
//! Source: Bokor, Kinder, Serafini, Suri, "Efficient model checking of fault-tolerant distributed protocols", §II.

use crate::contract::{MachineError, NodeId, Role};
use crate::lts::cache::LtsCache;
use crate::lts::ids::{KindId, LocalStateId, MessageId, Trigger};
use crate::lts::stepper::Stepper;

/// A message that is a member of a quorum, with an item of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<T> {
    /// The item of the caller.
    pub item: T,
    /// Its sender.
    pub from: NodeId,
    /// The quorums.
    pub kind: KindId,
    /// The number of messages in these quorums.
    pub size: usize,
}

/// Whether a member fits with those chosen before it.
type Fits<'f, T> = dyn Fn(&[Member<T>], &Member<T>) -> bool + 'f;

/// Calls `found` with every set of members that is a quorum, in the order of the members; a member must fit with those
/// chosen before it.
pub fn for_each_set<T: Copy>(members: &[Member<T>], fits: &Fits<'_, T>, found: &mut dyn FnMut(&[Member<T>])) {
    let mut chosen = Vec::new();
    for (index, first) in members.iter().enumerate() {
        chosen.push(*first);
        extend(&members[index + 1..], &mut chosen, fits, found);
        chosen.pop();
    }
}

/// Calls `found` with every quorum that begins with the chosen members.
fn extend<T: Copy>(
    rest: &[Member<T>],
    chosen: &mut Vec<Member<T>>,
    fits: &Fits<'_, T>,
    found: &mut dyn FnMut(&[Member<T>]),
) {
    let Member { kind, size, .. } = chosen[0];
    if chosen.len() == size {
        return found(chosen);
    }
    for (index, next) in rest.iter().enumerate() {
        let is_other = next.kind == kind && chosen.iter().all(|other| other.from != next.from);
        if is_other && fits(chosen, next) {
            chosen.push(*next);
            extend(&rest[index + 1..], chosen, fits, found);
            chosen.pop();
        }
    }
}

impl Stepper<'_> {
    /// The role of a message in a local state that is no fault. Requests its delivery.
    pub fn role(&mut self, state: LocalStateId, message: MessageId) -> Result<Role<KindId>, MachineError> {
        if !self.known().takes_quorums(self.known().destination(message)) {
            return Ok(Role::Alone);
        }
        self.step(state, Trigger::deliver(message))?;
        Ok(self.known().role(state, message))
    }

    /// A message as a member of a quorum; none if it is not a member in this local state, which must be no fault.
    pub fn member<T>(
        &mut self,
        state: LocalStateId,
        message: MessageId,
        item: T,
    ) -> Result<Option<Member<T>>, MachineError> {
        let Role::Member(kind) = self.role(state, message)? else { return Ok(None) };
        Ok(Some(self.known().member(kind, message, item)))
    }

    /// These messages as a quorum, of this name if one is given, if they are a quorum in this local state, which must be no
    /// fault.
    pub fn as_quorum(
        &mut self,
        state: LocalStateId,
        name: Option<&str>,
        messages: &[MessageId],
    ) -> Result<Option<Trigger>, MachineError> {
        let (mut senders, mut first) = (Vec::with_capacity(messages.len()), None);
        for message in messages {
            let Role::Member(id) = self.role(state, *message)? else { return Ok(None) };
            let (kind, from) = (self.known().kind(id), self.message(*message).from);
            let is_one = *first.get_or_insert(id) == id && name.is_none_or(|name| kind.name == name);
            if !is_one || kind.size as usize != messages.len() || senders.contains(&from) {
                return Ok(None);
            }
            senders.push(from);
        }
        Ok((!messages.is_empty()).then(|| Trigger::deliver_quorum(self.quorum(messages))))
    }
}

impl LtsCache {
    /// A message as a member of quorums of this name and size.
    pub fn member<T>(&self, kind: KindId, message: MessageId, item: T) -> Member<T> {
        Member { item, from: self.message(message).from, kind, size: self.kind(kind).size as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five members of one quorum of two, of three senders with 2, 2 and 1: 2 x 2 + 2 x 1 + 2 x 1 sets. One of another name
    /// and size 1 is a set of its own.
    #[test]
    fn sets_have_one_message_of_each_sender() {
        let member = |item, from, kind, size| Member { item, from, kind: KindId(kind), size };
        let members = [(0, 0), (1, 0), (2, 1), (3, 2), (4, 1)].map(|(item, from)| member(item, from, 0, 2)).into_iter();
        let members: Vec<Member<u32>> = members.chain([member(9, 1, 1, 1)]).collect();
        let mut sets: Vec<Vec<u32>> = Vec::new();
        for_each_set(&members, &|_, _| true, &mut |set| sets.push(set.iter().map(|member| member.item).collect()));
        assert_eq!(sets.len(), 4 + 2 + 2 + 1);
        assert!(sets.contains(&vec![9]) && !sets.contains(&vec![0, 1]) && !sets.contains(&vec![2, 4]));
        sets.clear();
        let is_even = |chosen: &[Member<u32>], next: &Member<u32>| (chosen[0].item + next.item).is_multiple_of(2);
        for_each_set(&members, &is_even, &mut |set| sets.push(set.iter().map(|member| member.item).collect()));
        assert_eq!(sets, [vec![0, 2], vec![0, 4], vec![1, 3], vec![9]]);
    }
}
