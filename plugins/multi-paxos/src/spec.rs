//! The properties of Multi-Paxos, over the knowledge of its nodes.

use std::collections::BTreeMap;

use guest_sdk::{NodeId, Properties};

use crate::{Index, MultiPaxos, NOTHING, Phase, State, Value};

/// The log that a node knows to be chosen.
type Log = BTreeMap<Index, Value>;

pub(crate) fn properties(claims: &mut Properties<MultiPaxos>) {
    claims.always("agreement").system(|_, state| log(state), agreement);
    claims.always("non-triviality").node(
        |protocol, state| Some((protocol.proposers, protocol.commands, log(state)?)),
        |(proposers, commands, log)| non_triviality(*proposers, *commands, log),
    );
    claims.always("accepted-not-above-promised").node(
        |_, state| {
            let accepted = state.acceptor.accepted.values().map(|proposal| proposal.ballot).max()?;
            Some((accepted, state.acceptor.promised))
        },
        |&(accepted, promised)| match accepted <= promised {
            true => Ok(()),
            false => Err(format!("accepted ballot {accepted}, promised only {promised}")),
        },
    );
    claims.sometimes("chosen").node(|_, state| log(state).map(|_| ()), |()| Ok(()));
    claims.sometimes("all-chosen").node(
        |protocol, state| {
            let commands = (protocol.proposers * protocol.commands) as usize;
            let chosen = state.learner.chosen.values().filter(|value| **value != NOTHING).count();
            (chosen == commands).then_some(())
        },
        |()| Ok(()),
    );
    claims.eventually("served").node(
        |protocol, state| Some(open_commands(protocol, state)),
        |open| match open[..] {
            [] => Ok(()),
            [first, ..] => Err(format!("the client waits for command {first} to be chosen")),
        },
    );
}

/// The commands that a client waits for. A proposer that knows of a higher ballot and has used up its own has given up, and one that was
/// reset has no client that waits.
fn open_commands(protocol: &MultiPaxos, state: &State) -> Vec<Value> {
    let State { proposer, acceptor, learner } = state;
    let used = proposer.used;
    let has_given_up = acceptor.promised > used.ballot && used.ballots >= protocol.ballots;
    match (&proposer.phase, used.ballot.checked_sub(1)) {
        // The number of a ballot identifies its node.
        (Phase::Collecting { .. } | Phase::Leading { .. }, Some(attempt)) if !has_given_up => {
            proposer.open_commands(attempt % protocol.nodes, learner)
        }
        _ => Vec::new(),
    }
}

/// None while nothing is known to be chosen: such a node disagrees with no other.
fn log(state: &State) -> Option<Log> {
    (!state.learner.chosen.is_empty()).then(|| state.learner.chosen.clone())
}

fn agreement(logs: &[Option<Log>]) -> Result<(), String> {
    let mut known: BTreeMap<Index, (NodeId, Value)> = BTreeMap::new();
    for (node, log) in (0..).zip(logs) {
        for (index, value) in log.iter().flatten() {
            let (first_node, first) = *known.entry(*index).or_insert((node, *value));
            if first != *value {
                return Err(format!(
                    "for index {index} node {first_node} has chosen {first}, node {node} has chosen {value}"
                ));
            }
        }
    }
    Ok(())
}

/// Every chosen value is one that a client can have requested.
fn non_triviality(proposers: u32, commands: u32, log: &Log) -> Result<(), String> {
    let is_command =
        |value: Value| (0..proposers).any(|node| (1..=commands).any(|number| crate::command_of(node, number) == value));
    match log.iter().find(|(_, value)| **value != NOTHING && !is_command(**value)) {
        None => Ok(()),
        Some((index, value)) => Err(format!("{value}, chosen for index {index}, is no command")),
    }
}
