//! The reduction of a checker that knows a protocol by its transitions: the types of message that each consumes, and those that it sends to
//! each node in any execution, but not the messages that a local state can still send. A transition is one for all senders, or for each set
//! of senders of a quorum ("quorum-split"), or one for each sender where it answers that sender alone ("reply-split").
//!
//! The sets are strong stubborn sets: Valmari, "Stubborn Sets for Reduced State Space Generation", 1990.

use std::collections::{BTreeMap, BTreeSet};

use host_model::contract::NodeId;
use host_model::lts::{MessageId, Stepper, Trigger};

use super::{Explored, Global, taken};

/// The first byte of a message: the number of its variant.
type Type = u8;

/// A transition of a node's program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Transition {
    node: NodeId,
    /// The types that it consumes: none for a local event.
    types: BTreeSet<Type>,
    /// The number of messages that it consumes.
    size: usize,
    /// The senders of the messages that it consumes; none: any node.
    senders: Option<BTreeSet<NodeId>>,
}

/// Which transitions are split.
#[derive(Clone, Copy, Debug)]
pub(super) struct Split {
    /// Those that consume a quorum, by the set of senders.
    pub(super) quorums: bool,
    /// Those that answer the sender alone, by the sender.
    pub(super) replies: bool,
}

/// The transitions of a protocol, with the types of message that they send to each node.
pub(super) struct Program(BTreeMap<Transition, BTreeSet<(NodeId, Type)>>);

fn type_of(stepper: &Stepper<'_>, message: MessageId) -> Type {
    stepper.message(message).payload.first().copied().unwrap_or_default()
}

/// The transition of an event, not split, and the senders of the consumed messages.
fn transition(stepper: &Stepper<'_>, node: NodeId, trigger: Trigger) -> (Transition, BTreeSet<NodeId>) {
    let taken = taken(stepper, trigger);
    let types = taken.iter().map(|message| type_of(stepper, *message)).collect();
    let senders = taken.iter().map(|message| stepper.message(*message).from).collect();
    (Transition { node, types, size: taken.len(), senders: None }, senders)
}

impl Program {
    pub(super) fn new(stepper: &Stepper<'_>, explored: &Explored, split: Split) -> Self {
        let steps = || {
            explored.moves.iter().flat_map(|(local, moves)| {
                let node = stepper.state(*local).protocol.node;
                moves.iter().map(move |(trigger, outcomes)| (transition(stepper, node, *trigger), outcomes))
            })
        };
        let others: BTreeSet<Transition> = steps()
            .filter(|((_, senders), outcomes)| {
                let mut sent = outcomes.iter().flat_map(|(_, sent)| sent.iter());
                sent.any(|message| !senders.contains(&stepper.message(*message).to))
            })
            .map(|((transition, _), _)| transition)
            .collect();
        let mut sends: BTreeMap<Transition, BTreeSet<(NodeId, Type)>> = BTreeMap::new();
        for ((mut transition, senders), outcomes) in steps() {
            let is_split = match transition.size {
                0 => false,
                1 => split.replies && !others.contains(&transition),
                _ => split.quorums,
            };
            transition.senders = is_split.then_some(senders);
            let messages = outcomes.iter().flat_map(|(_, sent)| sent.iter());
            let to = messages.map(|message| (stepper.message(*message).to, type_of(stepper, *message)));
            sends.entry(transition).or_default().extend(to);
        }
        Self(sends)
    }

    fn of(&self, node: NodeId) -> impl Iterator<Item = &Transition> {
        self.0.keys().filter(move |transition| transition.node == node)
    }

    /// The transitions of some nodes that send a message that another one consumes.
    fn enabling(&self, other: &Transition, from: impl Fn(NodeId) -> bool) -> Vec<&Transition> {
        let sends = self.0.iter().filter(|(transition, sent)| {
            from(transition.node) && sent.iter().any(|(to, sent)| *to == other.node && other.types.contains(sent))
        });
        sends.map(|(transition, _)| transition).collect()
    }

    /// The nodes whose events suffice in a state, if they have to include all events of one of them.
    pub(super) fn stubborn(&self, stepper: &Stepper<'_>, global: &Global, seed: NodeId) -> BTreeSet<NodeId> {
        let mut nodes = BTreeSet::from([seed]);
        let mut found: BTreeSet<&Transition> = self.of(seed).collect();
        let mut todo: Vec<&Transition> = found.iter().copied().collect();
        while let Some(next) = todo.pop() {
            let is_allowed = |node| next.senders.as_ref().is_none_or(|senders| senders.contains(&node));
            let in_flight = global.in_flight.iter().filter(|message| {
                let is_here = stepper.message(**message).to == next.node;
                is_here && next.types.contains(&type_of(stepper, **message))
            });
            let present: BTreeSet<NodeId> = in_flight.map(|message| stepper.message(*message).from).collect();
            let is_missing = |node| is_allowed(node) && !present.contains(&node);
            let mut more: Vec<&Transition> = Vec::new();
            if present.iter().filter(|node| is_allowed(**node)).count() >= next.size {
                // It can happen in this or another state of its node, or again with another message.
                nodes.insert(next.node);
                more.extend(self.of(next.node));
                more.extend(self.enabling(next, is_allowed));
            } else if let Some(senders) = &next.senders {
                // Without any one of those that it lacks it stays disabled.
                let of = |sender: &NodeId| self.enabling(next, |node| node == *sender);
                let sets = senders.iter().filter(|node| is_missing(**node)).map(of);
                let new = |set: &Vec<&Transition>| set.iter().filter(|other| !found.contains(*other)).count();
                more.extend(sets.min_by_key(new).into_iter().flatten());
            } else {
                more.extend(self.enabling(next, is_missing));
            }
            todo.extend(more.into_iter().filter(|other| found.insert(other)));
        }
        nodes
    }
}
