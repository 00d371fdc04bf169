//! What is awake in a state: the events that the parallel search has to follow there.

use host_model::contract::{NodeId, Role};
use host_model::lts::quorum::for_each_set;
use host_model::lts::{LocalStateId, LtsCache, MessageId, OutcomesRef, Trigger};

use crate::global::parallel::packed_stack::PackedState;
use crate::global::parallel::round_context::RoundContext;

/// Puts what is awake in a state into `awake`, and what cannot be looked up into `missing` and `unnamed`. Returns whether the
/// bound on local events left out something that no state before left out.
pub(crate) fn wake(
    round: RoundContext<'_>,
    record: PackedState<'_>,
    awake: &mut Vec<(NodeId, Trigger, OutcomesRef)>,
    (missing, unnamed): (&mut Vec<(LocalStateId, Trigger)>, &mut Vec<Vec<MessageId>>),
) -> bool {
    let known = round.known;
    awake.clear();
    for node in (0..record.nodes() as NodeId).filter(|node| known.takes_quorums(*node)) {
        wake_by_role(known, record, node, awake, (missing, unnamed));
    }
    let mut wake = |node: NodeId, trigger| {
        let local = record.local(node as usize);
        match known.row(local, trigger) {
            Some(row) => awake.push((node, trigger, row)),
            None => missing.push((local, trigger)),
        }
    };
    for message in record.awake() {
        let node = known.destination(message);
        if !known.takes_quorums(node) {
            wake(node, Trigger::deliver(message));
        }
    }
    let mut is_cut = false;
    for node in record.reached().step.node..record.nodes() as NodeId {
        let local = record.local(node as usize);
        if !known.brief(local).has_own_events {
            continue;
        }
        let state = known.state(local);
        if round.budgets.local_events_max.is_some_and(|max| record.local_events()[node as usize] >= max) {
            is_cut |= !state.protocol.local_events.is_empty();
        } else {
            state.protocol.local_events.iter().for_each(|event| wake(node, Trigger::local(*event)));
        }
        state.faults.iter().for_each(|fault| wake(node, *fault));
    }
    is_cut
}

/// The same for the deliveries at a node that takes quorums. A quorum of messages that are all asleep is asleep.
fn wake_by_role(
    known: &LtsCache,
    record: PackedState<'_>,
    node: NodeId,
    awake: &mut Vec<(NodeId, Trigger, OutcomesRef)>,
    (missing, unnamed): (&mut Vec<(LocalStateId, Trigger)>, &mut Vec<Vec<MessageId>>),
) {
    let local = record.local(node as usize);
    let to_node = || record.messages().filter(|(message, _)| known.destination(*message) == node);
    if to_node().all(|(_, is_asleep)| is_asleep) {
        return;
    }
    let mut members = Vec::new();
    let missing_before = missing.len();
    for (message, is_asleep) in to_node() {
        let trigger = Trigger::deliver(message);
        let Some(row) = known.row(local, trigger) else {
            missing.push((local, trigger));
            continue;
        };
        match known.role(local, message) {
            Role::Alone if !is_asleep => awake.push((node, trigger, row)),
            Role::Alone | Role::Held => {}
            Role::Member(kind) => members.push(known.member(kind, message, (message, is_asleep))),
        }
    }
    if missing.len() > missing_before {
        return;
    }
    for_each_set(&members, &|_, _| true, &mut |set| {
        if set.iter().all(|member| member.item.1) {
            return;
        }
        let mut messages: Vec<MessageId> = set.iter().map(|member| member.item.0).collect();
        messages.sort_unstable();
        let Some(quorum) = known.find_quorum(&messages) else { return unnamed.push(messages) };
        let trigger = Trigger::deliver_quorum(quorum);
        match known.row(local, trigger) {
            Some(row) => awake.push((node, trigger, row)),
            None => missing.push((local, trigger)),
        }
    });
}
