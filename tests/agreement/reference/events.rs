//! The events of a global state, and their successors.

use std::collections::BTreeSet;

use host_model::contract::{Choice, NodeId};
use host_model::scenario::{Faults, OutageWrites};
use host_model::toys::{Medium, ToyOutcome, ToyState, ToyTrigger};

use super::faults::{self, Meaning};
use super::{Channel, Global, Happening, Item, System};

/// The events that can happen in a global state.
pub(super) fn happenings(system: &System, global: &Global, local_events_max: Option<u32>) -> Vec<(NodeId, Happening)> {
    let mut found = Vec::new();
    for ((from, to), items) in global.in_flight.channels() {
        let is_notice = |item: &Item| matches!(item, Item::Notice { .. });
        let next: Vec<usize> = match system.is_ordered((from, to)) {
            // Each content once.
            false => (0..items.len()).filter(|index| *index == 0 || items[*index] != items[*index - 1]).collect(),
            // The first, and the first notice.
            true => BTreeSet::from([Some(0), items.iter().position(is_notice)]).into_iter().flatten().collect(),
        };
        let is_alone = |index: &usize| role(system, global, to, items[*index]) == Role::Alone;
        if global.locals[to as usize].is_stuck {
            continue;
        }
        let next = next.into_iter().filter(is_alone);
        found.extend(next.map(|index| (to, Happening::Take(from, items[index], index))));
    }
    for node in (0..system.toy.nodes).filter(|node| !global.locals[*node as usize].is_stuck) {
        found.extend(quorums(system, global, node).into_iter().map(|quorum| (node, quorum)));
    }
    for (node, local) in (0..).zip(&global.locals).filter(|(_, local)| !local.is_stuck) {
        if local_events_max.is_none_or(|max| global.local_events[node as usize] < max) {
            let names = system.toy.local_events(node, local.state).into_iter();
            found.extend(names.map(|name| (node, Happening::Local(name))));
        }
        found.extend(faults::possible(system, node, local).into_iter().map(|fault| (node, Happening::Fault(fault))));
    }
    let is_left = |node: NodeId| global.locals[node as usize].counts.losses < system.faults.losses;
    found.extend(losses(system, global).into_iter().filter(|(node, _)| is_left(*node)));
    found
}

/// The messages in flight that can be lost with any budget: those that could be delivered next, whether or not the node would take
/// them; notices of a break are never lost.
pub(super) fn losses(system: &System, global: &Global) -> Vec<(NodeId, Happening)> {
    let mut found = Vec::new();
    let can_take = |to: NodeId| !global.locals[to as usize].is_stuck;
    for ((from, to), items) in global.in_flight.channels().filter(|((_, to), _)| can_take(*to)) {
        let next = if system.is_ordered((from, to)) { 1 } else { items.len() };
        let is_first = |index: usize| index == 0 || items[index] != items[index - 1];
        for index in (0..next).filter(|index| is_first(*index) && matches!(items[*index], Item::Message { .. })) {
            found.push((to, Happening::Lose(from, items[index], index)));
        }
    }
    found
}

/// Takes a message out of flight once.
fn take(global: &mut Global, (from, to): Channel, index: usize) {
    let item = global.in_flight.take((from, to), index);
    assert!(matches!(item, Item::Message { .. }), "a notice is no message");
}

/// The way in which a node takes an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Alone,
    Held,
    /// As one of this many with this name.
    Member(u8, u32),
}

fn role(system: &System, global: &Global, node: NodeId, item: Item) -> Role {
    let Item::Message { content, .. } = item else { return Role::Alone };
    match system.toy.roles.get(&(node, global.locals[node as usize].state, content)) {
        None => Role::Alone,
        Some(None) => Role::Held,
        Some(Some((name, size))) => Role::Member(*name, *size),
    }
}

/// All quorums that a node can take: of all sets of the items in flight to it, those that are one.
fn quorums(system: &System, global: &Global, node: NodeId) -> Vec<Happening> {
    if system.toy.roles.is_empty() {
        return Vec::new();
    }
    let items = global.in_flight.channels().filter(|((_, to), _)| *to == node);
    let items: BTreeSet<(NodeId, Item)> =
        items.flat_map(|((from, _), items)| items.iter().map(move |item| (from, *item))).collect();
    let is_member = |item: &(NodeId, Item)| matches!(role(system, global, node, item.1), Role::Member(..));
    let members: Vec<(NodeId, Item)> = items.into_iter().filter(is_member).collect();
    let mut found = Vec::new();
    for chosen in 1_u32..1 << members.len() {
        let set: Vec<(NodeId, Item)> =
            (0..).zip(&members).filter(|(bit, _)| chosen >> bit & 1 == 1).map(|(_, member)| *member).collect();
        let senders: BTreeSet<NodeId> = set.iter().map(|(from, _)| *from).collect();
        let Role::Member(name, size) = role(system, global, node, set[0].1) else { continue };
        let is_same = |(_, item): &(NodeId, Item)| role(system, global, node, *item) == Role::Member(name, size);
        if set.len() == size as usize && senders.len() == set.len() && set.iter().all(is_same) {
            found.push(Happening::Quorum(name, set));
        }
    }
    found
}

/// The successors in the order of the outcomes, without those of a fault that changes nothing.
pub(super) fn moves(
    system: &System,
    global: &Global,
    node: NodeId,
    happening: &Happening,
    is_counted: bool,
) -> Vec<Move> {
    let mut before = global.clone();
    if let Happening::Lose(from, _, index) = *happening {
        take(&mut before, (from, node), index);
        let counts = &mut before.locals[node as usize].counts;
        // A beginning can have more losses than the budget, and without a limit nothing is counted.
        if system.faults.losses != Faults::UNLIMITED && counts.losses < system.faults.losses {
            counts.losses += 1;
        }
        return vec![Move { next: before, choices: Vec::new(), sent: Vec::new(), is_lost: false }];
    }
    let local = before.locals[node as usize].clone();
    let state = local.state;
    let is_open = |peer: NodeId| local.ends.get(peer as usize).is_some_and(|(_, is_open)| *is_open);
    // The outcome if the node does not hear of an error.
    let mut unheard = None;
    // Peers to notify of a break.
    let mut closed = Vec::new();
    // The durable map with which the handler begins.
    let mut map = faults::stored(system, node, state);
    // A node that restarts traps, if it does, in the first state.
    let mut state_of_trap = state;
    // The messages of `init` without durable state are never refused.
    let mut is_first = false;
    let outcomes = match *happening {
        Happening::Quorum(name, ref set) => {
            let mut messages = Vec::new();
            for (from, item) in set {
                let Item::Message { content, .. } = *item else { panic!("a notice is no member") };
                let items = before.in_flight.on((*from, node));
                let index = items.iter().position(|other| other == item).expect("it is in flight");
                take(&mut before, (*from, node), index);
                messages.push((*from, content));
            }
            system.toy.quorum(node, state, name, &messages)
        }
        Happening::Take(from, item, index) => match item {
            Item::Notice { breaks } => {
                for _ in 0..=index {
                    before.in_flight.take((from, node), 0);
                }
                before.locals[node as usize].ends[from as usize] = (breaks, false);
                before.drop_lost(system, node);
                unheard = Some(before.clone());
                if is_open(from) { system.toy.outcomes(node, state, ToyTrigger::Error(from)) } else { Vec::new() }
            }
            Item::Message { content, .. } => {
                take(&mut before, (from, node), index);
                if let Some((_, is_open)) = before.locals[node as usize].ends.get_mut(from as usize)
                    && system.is_ordered((from, node))
                {
                    *is_open = true;
                }
                system.toy.outcomes(node, state, ToyTrigger::Message(from, content))
            }
        },
        Happening::Lose(..) => unreachable!("no handler runs"),
        Happening::Local(name) => {
            before.local_events[node as usize] += u32::from(is_counted);
            system.toy.outcomes(node, state, ToyTrigger::Local(name))
        }
        Happening::Fault(fault) => {
            *before.locals[node as usize].counts.of_mut(fault.id()) += 1;
            match faults::meaning(fault.kind()) {
                Meaning::Restart => {
                    if fault.kind() == "outage" && system.outage_writes == OutageWrites::Any {
                        map.0 = faults::left(map.0, &local.loose, fault.disk());
                        before.locals[node as usize].loose.clear();
                    } else if fault.kind() == "outage" {
                        // One lost change leaves the latest of them.
                        let older = &mut before.locals[node as usize].older;
                        let index = older.len() - fault.unsynced() as usize;
                        map = older.get(index).copied().unwrap_or(map);
                        older.clear();
                    }
                    closed.extend((0..system.toy.nodes).filter(|peer| is_open(*peer)));
                    closed.iter().for_each(|peer| before.close(system, node, *peer));
                    state_of_trap = 0;
                    let durable = match system.toy.medium {
                        Medium::Persisted => system.toy.durable.get(&(node, state)).copied(),
                        Medium::Map | Medium::WholeMap | Medium::Digits => map.0,
                    };
                    is_first = durable.is_none();
                    system.toy.restart(node, durable)
                }
                Meaning::Break => {
                    let peer = fault.peer().expect("a connection has another end");
                    before.close(system, node, peer);
                    closed.push(peer);
                    let mut silent = before.clone();
                    silent.announce(system, node, peer);
                    unheard = Some(silent);
                    system.toy.outcomes(node, state, ToyTrigger::Error(peer))
                }
            }
        }
    };
    let is_ignored = outcomes.contains(&ToyOutcome::Go(state, Vec::new()));
    let left = (!is_first).then(|| system.faults.refusals - local.counts.refusals);
    let mut next = Vec::new();
    let count = outcomes.len();
    let chosen = outcomes.into_iter().enumerate().map(|(index, outcome)| (outcome, system.toy.answers(index, count)));
    for resolution in chosen.flat_map(|outcome| resolutions(system, node, outcome, left)) {
        let breaks_nothing = before.locals[node as usize].ends == local.ends;
        let is_idle = resolution.next == Some(state) && resolution.sent.is_empty();
        if matches!(happening, Happening::Fault(_)) && is_idle && breaks_nothing {
            continue;
        }
        let mut one = before.clone();
        if resolution.next.is_some() {
            closed.iter().for_each(|peer| one.announce(system, node, *peer));
        }
        one.locals[node as usize].state = state_of_trap;
        let choices = resolution.choices.clone();
        let sent = resolution.sent.clone();
        next.push(Move { next: one.after(system, node, resolution, map), choices, sent, is_lost: false });
    }
    // A handler that ignores the error, and syncs nothing, has the same effect as one that never hears of it.
    let is_same = |unheard: &Global| is_ignored && next.iter().any(|heard| heard.next == *unheard);
    let unheard = unheard.filter(|unheard| !is_same(unheard));
    next.extend(unheard.map(|next| Move { next, choices: Vec::new(), sent: Vec::new(), is_lost: true }));
    next
}

/// One way in which something can happen.
pub(super) struct Move {
    /// The global state afterwards.
    pub(super) next: Global,
    /// The answers that the handler gets.
    pub(super) choices: Vec<Choice>,
    /// The messages that the handler sends: destination and content.
    pub(super) sent: Vec<(NodeId, u8)>,
    /// Whether a connection is broken and the node does not hear of it.
    pub(super) is_lost: bool,
}

/// The end of an outcome if the transport refuses some of its messages.
#[derive(Clone, Debug)]
pub(super) struct Resolution {
    /// The state; none if the node traps.
    pub(super) next: Option<ToyState>,
    pub(super) sent: Vec<(NodeId, u8)>,
    /// The number of refused messages.
    pub(super) refused: u32,
    /// The answers that the handler gets.
    pub(super) choices: Vec<Choice>,
}

/// An outcome without refusals.
pub(super) fn resolution(outcome: ToyOutcome) -> Resolution {
    match outcome {
        ToyOutcome::Go(next, sent) => Resolution { next: Some(next), sent, refused: 0, choices: Vec::new() },
        ToyOutcome::Trap(sent) => Resolution { next: None, sent, refused: 0, choices: Vec::new() },
    }
}

/// An outcome in all ways in which the transport can refuse up to `left` of its messages, in the order of the answers,
/// message by message.
fn resolutions(
    system: &System,
    node: NodeId,
    (outcome, choices): (ToyOutcome, Vec<Choice>),
    left: Option<u32>,
) -> Vec<Resolution> {
    let Resolution { next, sent, .. } = resolution(outcome);
    let mut found = vec![Resolution { next, sent: Vec::new(), refused: 0, choices }];
    let is_careful = system.toy.is_careful && left.is_some();
    for message in sent {
        let longer = |Resolution { next: now, sent, refused, choices }: Resolution| {
            let answered = |answer: u32| {
                let answer = is_careful.then(|| Choice::sending(message.0, answer));
                choices.iter().copied().chain(answer).collect()
            };
            let (choices, instead_choices) = (answered(0), answered(1));
            let taken = Resolution { next: now, sent: [&sent[..], &[message]].concat(), refused, choices };
            let is_asked = is_careful && Some(refused) < left;
            let instead = next.map(|next| system.toy.after_refusal(node, next));
            let dropped =
                is_asked.then_some(Resolution { next: instead, sent, refused: refused + 1, choices: instead_choices });
            std::iter::once(taken).chain(dropped)
        };
        found = found.into_iter().flat_map(longer).collect();
    }
    found
}
