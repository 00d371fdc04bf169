//! The properties. They share no function with the transport except the reading of a state.

use std::collections::{BTreeMap, BTreeSet};

use guest_sdk::{NodeId, Properties};
use serde::{Deserialize, Serialize};

use crate::wire::{Seq, Syn};
use crate::{Application, Note};

/// Segments, each with the node that it goes to.
type Segments = BTreeSet<(NodeId, Seq)>;

/// The connections of a node, with the number of the next segment.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Connections {
    /// To each node.
    outgoing: BTreeMap<NodeId, (Syn, Seq)>,
    /// From each node, as far as messages were delivered.
    incoming: BTreeMap<NodeId, (Syn, Seq)>,
}

/// The connections of a node, as far as Resets can do harm.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Ends {
    /// The open one to each node.
    open: BTreeMap<NodeId, Syn>,
    /// The last one from each node, where a Reset has closed it.
    torn: BTreeMap<NodeId, Syn>,
}

/// The messages that the application of a node has sent and received.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Account {
    to: NodeId,
    start: u8,
    sent: u8,
    failed: BTreeSet<u8>,
    received: BTreeMap<NodeId, Vec<Note>>,
}

pub(crate) fn properties(claims: &mut Properties<Application>) {
    claims.always("order").node(
        |_, state| Some(state.received.clone()),
        |received| received.iter().try_for_each(|(from, notes)| in_order(*from, notes)),
    );
    claims.always("timers").node(
        |_, state| Some((state.end.timers.iter().copied().collect(), state.end.in_flight())),
        |(set, in_flight): &(Segments, Segments)| match (
            set.difference(in_flight).next(),
            in_flight.difference(set).next(),
        ) {
            (None, None) => Ok(()),
            (Some((peer, seq)), _) => Err(format!("segment {seq} to node {peer} is not in flight, and has a timer")),
            (_, Some((peer, seq))) => Err(format!("segment {seq} to node {peer} is in flight, and has no timer")),
        },
    );
    claims.always("acknowledged").node(
        |_, state| {
            let acknowledged = |(from, it): (&NodeId, &crate::Incoming<Note>)| (*from, (it.acknowledged, it.next));
            Some(state.end.incoming.iter().map(acknowledged).collect())
        },
        |connections: &BTreeMap<NodeId, (Seq, Seq)>| {
            match connections.iter().find(|(_, (acknowledged, next))| acknowledged + 1 != *next) {
                None => Ok(()),
                Some((from, (acknowledged, next))) => Err(format!(
                    "segment {acknowledged} of node {from} is acknowledged, and segment {next} is the first that has not arrived"
                )),
            }
        },
    );
    claims.always("asked").node(
        |_, state| Some(state.is_surprised),
        |is_surprised| match is_surprised {
            false => Ok(()),
            true => Err("the application may send, and has not asked".to_owned()),
        },
    );
    resets(claims);
    claims.sometimes("all-received").node(
        |protocol, state| {
            let all = |notes: &Vec<Note>| notes.len() == usize::from(protocol.messages);
            state.received.values().any(all).then_some(())
        },
        |()| Ok(()),
    );
    claims.eventually("flushed").node(
        |_, state| Some(state.end.outgoing.values().map(|out| out.segments.len()).sum::<usize>()),
        |waiting| match waiting {
            0 => Ok(()),
            _ => Err(format!("{waiting} segments are not acknowledged")),
        },
    );
    claims.eventually("matched").system(
        |_, state| {
            let outgoing = state.end.outgoing.iter().map(|(to, out)| (*to, (out.syn, out.next))).collect();
            let incoming = state.end.incoming.iter().map(|(from, it)| (*from, (it.syn, it.next_deliver))).collect();
            Some(Connections { outgoing, incoming })
        },
        |nodes| matched(&nodes.iter().flatten().collect::<Vec<_>>()),
    );
    claims.eventually("arrived").system(
        |_, state| {
            let (to, start, sent) = (state.to, state.end.starts, state.sent);
            Some(Account { to, start, sent, failed: state.failed.clone(), received: state.received.clone() })
        },
        |nodes| arrived(&nodes.iter().flatten().collect::<Vec<_>>()),
    );
}

/// The state that Resets must not change.
fn resets(claims: &mut Properties<Application>) {
    claims.always("one-way").system(
        |_, state| {
            let torn = state.end.heard.iter().filter(|(_, heard)| heard.is_torn);
            Some(Ends {
                open: state.end.outgoing.iter().map(|(to, out)| (*to, out.syn)).collect(),
                torn: torn.map(|(from, heard)| (*from, heard.syn)).collect(),
            })
        },
        |nodes| one_way(&nodes.iter().flatten().collect::<Vec<_>>()),
    );
}

/// Earlier starts of the sender first, and each number of a start once and after the smaller ones.
fn in_order(from: NodeId, notes: &[Note]) -> Result<(), String> {
    match notes.windows(2).find(|pair| (pair[0].start, pair[0].number) >= (pair[1].start, pair[1].number)) {
        None => Ok(()),
        Some(pair) => Err(format!("{:?} of node {from} is delivered after {:?}", pair[1], pair[0])),
    }
}

/// A Reset has closed no connection that its sender still has: it ends the one in the other direction.
fn one_way(nodes: &[&Ends]) -> Result<(), String> {
    for (to, ends) in (0..).zip(nodes) {
        for (from, syn) in &ends.torn {
            if nodes[*from as usize].open.get(&to) == Some(syn) {
                return Err(format!("a Reset of node {from} has closed its connection {syn} at node {to}"));
            }
        }
    }
    Ok(())
}

/// If a connection exists at both ends, all messages sent over it were delivered.
fn matched(nodes: &[&Connections]) -> Result<(), String> {
    for (from, connections) in (0..).zip(nodes) {
        for (to, (syn, next)) in &connections.outgoing {
            if let Some((other, expected)) = nodes[*to as usize].incoming.get(&from)
                && expected != next
            {
                return Err(format!(
                    "node {from} sends {next} next over connection {syn}; node {to} delivers {expected} next, over {other}"
                ));
            }
        }
    }
    Ok(())
}

/// Every message sent since the last start was received, or the sender was notified that it may not have been.
fn arrived(nodes: &[&Account]) -> Result<(), String> {
    for (from, account) in (0..).zip(nodes) {
        let received = nodes[account.to as usize].received.get(&from);
        for number in (1..=account.sent).filter(|number| !account.failed.contains(number)) {
            let note = Note { start: account.start, number };
            if !received.is_some_and(|notes| notes.contains(&note)) {
                return Err(format!("node {} has not received {note:?} of node {from}", account.to));
            }
        }
    }
    Ok(())
}
