//! Events that trap although they are asleep, in a search that leaves out orders of independent events.

use host_model::contract::{NodeId, Role};
use host_model::lts::quorum::Member;
use host_model::lts::{MessageId, Trigger};

use crate::global::enabled::for_each_quorum;
use crate::global::parallel::awake::PossibleEvent;
use crate::global::parallel::packed_stack::PackedState;
use crate::global::parallel::round_context::RoundContext;

/// Puts the sleeping events of a state that trap in some outcome into `traps`. Other events can follow those that are asleep, so the
/// search took them in another order; but no event follows a trap, so it comes last in one order only.
pub(crate) fn list_asleep(round: RoundContext<'_>, record: PackedState<'_>, traps: &mut Vec<PossibleEvent>) {
    let known = round.known;
    traps.clear();
    if !known.has_traps() {
        return;
    }
    let mut note = |node: NodeId, trigger| {
        // An event that is asleep was executed when it was awake.
        let row = known.row(record.local(node as usize), trigger);
        let row = row.filter(|row| known.edges(*row).iter().any(|edge| known.brief(edge.next).is_stuck));
        traps.extend(row.map(|row| PossibleEvent { node, trigger, row }));
    };
    let mut members: Vec<Vec<Member<MessageId>>> = vec![Vec::new(); record.nodes()];
    for (message, _) in record.messages().filter(|(_, is_asleep)| *is_asleep) {
        let node = known.destination(message);
        match known.role(record.local(node as usize), message) {
            Role::Alone => note(node, Trigger::deliver(message)),
            Role::Held => {}
            Role::Member(kind) => members[node as usize].push(known.member(kind, message, message)),
        }
    }
    for (node, members) in (0..).zip(&members) {
        for_each_quorum(known, members, |message| *message, &mut |_, quorum| {
            quorum.into_iter().for_each(|trigger| note(node, trigger));
        });
    }
    for node in 0..record.reached().step.node {
        let index = node as usize;
        let (own, _) = round.budgets.own_events(known, record.local(index), record.local_events()[index]);
        own.for_each(|trigger| note(node, trigger));
    }
}
