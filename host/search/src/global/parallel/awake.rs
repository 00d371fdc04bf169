//! The events that are awake in a state: those that the parallel search has to follow there.

use host_model::contract::{NodeId, Role};
use host_model::lts::{LtsCache, OutcomesRef, Trigger};

use crate::global::enabled::{Unknown, for_each_quorum, is_sure};
use crate::global::parallel::packed_stack::PackedState;
use crate::global::parallel::round_context::RoundContext;

/// An event that can happen in a state, with its outcomes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PossibleEvent {
    pub(crate) node: NodeId,
    pub(crate) trigger: Trigger,
    pub(crate) row: OutcomesRef,
}

/// A summary of the possible events of a state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waking {
    /// Whether the bound on local events left out an event that it left out in no state before.
    pub(crate) is_cut: bool,
    /// Whether any event can happen, as far as that is known.
    pub(crate) leads_on: bool,
}

/// Puts the awake events of a state into `awake`, and the questions that look-ups cannot answer into `unknown`. At the bound on depth
/// it matters only whether any event is possible, so one possible event leaves nothing unknown.
pub(crate) fn wake(
    round: RoundContext<'_>,
    record: PackedState<'_>,
    awake: &mut Vec<PossibleEvent>,
    unknown: &mut Unknown,
) -> Waking {
    let known = round.known;
    let asked = unknown.asked();
    awake.clear();
    let takes_quorums = |node| round.has_quorums && known.takes_quorums(node);
    if round.has_quorums {
        for node in (0..record.nodes() as NodeId).filter(|node| takes_quorums(*node)) {
            wake_by_role(known, record, node, awake, unknown);
        }
    }
    let has_losses = known.has_losses();
    for message in record.awake() {
        let node = known.destination(message);
        if !takes_quorums(node) {
            wake_by(known, record, node, Trigger::deliver(message), awake, unknown);
        }
        if has_losses && let Some(loss) = known.loss(record.local(node as usize), message) {
            wake_by(known, record, node, loss, awake, unknown);
        }
    }
    let mut is_cut = false;
    for node in record.reached().step.node..record.nodes() as NodeId {
        let index = node as usize;
        let (own, is_cut_here) = round.budgets.own_events(known, record.local(index), record.local_events()[index]);
        own.for_each(|trigger| wake_by(known, record, node, trigger, awake, unknown));
        is_cut |= is_cut_here;
    }
    let asleep = &record.edges()[..record.reached().step.node as usize];
    let leads_on = asleep.iter().any(|edges| *edges > 0)
        || awake.iter().any(|event| !known.edges(event.row).is_empty())
        || unknown.missing[asked.handlers..]
            .iter()
            .any(|(local, trigger)| is_sure(known, known.state(*local).protocol.node, *trigger));
    if leads_on && record.reached().depth >= round.bound {
        unknown.truncate(asked);
    }
    Waking { is_cut, leads_on }
}

/// Puts one event into `awake`, with its outcomes.
#[inline(always)]
fn wake_by(
    known: &LtsCache,
    record: PackedState<'_>,
    node: NodeId,
    trigger: Trigger,
    awake: &mut Vec<PossibleEvent>,
    unknown: &mut Unknown,
) {
    if let Some(row) = unknown.row(known, record.local(node as usize), trigger) {
        awake.push(PossibleEvent { node, trigger, row });
    }
}

/// The same for the deliveries at a node that takes quorums. A quorum is asleep if all its messages are.
fn wake_by_role(
    known: &LtsCache,
    record: PackedState<'_>,
    node: NodeId,
    awake: &mut Vec<PossibleEvent>,
    unknown: &mut Unknown,
) {
    let local = record.local(node as usize);
    let to_node = || record.messages().filter(|(message, _)| known.destination(*message) == node);
    if to_node().all(|(_, is_asleep)| is_asleep) {
        return;
    }
    let mut members = Vec::new();
    let missing_before = unknown.missing.len();
    for (message, is_asleep) in to_node() {
        let trigger = Trigger::deliver(message);
        let Some(row) = unknown.row(known, local, trigger) else { continue };
        match known.role(local, message) {
            Role::Alone if !is_asleep => awake.push(PossibleEvent { node, trigger, row }),
            Role::Alone | Role::Held => {}
            Role::Member(kind) => members.push(known.member(kind, message, (message, is_asleep))),
        }
    }
    if unknown.missing.len() > missing_before {
        return;
    }
    for_each_quorum(known, &members, |item| item.0, &mut |set, quorum| match quorum {
        _ if set.iter().all(|member| member.item.1) => {}
        Ok(trigger) => {
            awake.extend(unknown.row(known, local, trigger).map(|row| PossibleEvent { node, trigger, row }));
        }
        Err(messages) => unknown.unnamed.push(messages),
    });
}
