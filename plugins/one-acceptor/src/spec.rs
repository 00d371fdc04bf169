//! The claims of 1Paxos: the lemmas of appendix C of the thesis, and their consequences.

use std::collections::{BTreeMap, BTreeSet};

use guest_sdk::{NodeId, Properties};

use crate::{Change, Entry, Index, OneAcceptor, State, Value};

/// Values for indices.
type Log = BTreeMap<Index, Value>;

pub(crate) fn properties(claims: &mut Properties<OneAcceptor>) {
    claims.always("agreement").system(|_, state| some(&state.learner.chosen), |logs| alike(logs, "has chosen"));
    claims.always("acceptors-agree").system(
        |protocol, state| some(&state.acceptor.accepted).filter(|_| protocol.judges_all),
        |logs| alike(logs, "has accepted"),
    );
    claims.always("logs-agree").system(entries, logs_agree);
    claims.always("lemma-1").node(entries, |log| lemma_1(log));
    claims.always("lemma-2a").node(
        |protocol, state| {
            let asked = &state.proposer.asked;
            (protocol.judges_all && !asked.is_empty()).then(|| asked.clone())
        },
        lemma_2a,
    );
    claims.always("lemma-2b").node(
        |protocol, state| state.acceptor.contradicted.filter(|_| protocol.judges_all),
        |(index, value)| Err(format!("a leader asks for {value} at index {index}, where something else is accepted")),
    );
    claims.always("roles-apart").node(entries, |log| roles_apart(log));
    claims.always("leader-apart").node(
        |protocol, state| {
            let proposer = &state.proposer;
            (protocol.judges_all && proposer.leads).then_some((state.me, proposer.active))
        },
        |(me, active)| match active == &Some(*me) {
            true => Err("it leads and takes itself for the acceptor".to_owned()),
            false => Ok(()),
        },
    );
    claims.sometimes("chosen").node(|_, state| some(&state.learner.chosen).map(|_| ()), |()| Ok(()));
    claims.sometimes("leader-replaced").node(
        |_, state| {
            let leader = crate::global_leader(state.utility.entries());
            (state.proposer.leads && leader == Some(state.me) && state.me != 0).then_some(())
        },
        |()| Ok(()),
    );
    claims.sometimes("acceptor-replaced").node(
        |_, state| {
            let proposer = &state.proposer;
            (proposer.leads && !matches!(proposer.active, Some(0 | 1))).then_some(())
        },
        |()| Ok(()),
    );
}

fn some(log: &Log) -> Option<Log> {
    (!log.is_empty()).then(|| log.clone())
}

/// All nodes that have a value for an index have the same one.
fn alike(logs: &[Option<Log>], verb: &str) -> Result<(), String> {
    let mut known: BTreeMap<Index, (NodeId, Value)> = BTreeMap::new();
    for (node, log) in (0..).zip(logs) {
        for (index, value) in log.iter().flatten() {
            let (first_node, first) = *known.entry(*index).or_insert((node, *value));
            if first != *value {
                return Err(format!("for index {index} node {first_node} {verb} {first}, node {node} {verb} {value}"));
            }
        }
    }
    Ok(())
}

/// The entries of the utility's log that a node knows.
fn entries(protocol: &OneAcceptor, state: &State) -> Option<Vec<Entry>> {
    protocol.judges_all.then(|| state.utility.entries().cloned().collect())
}

/// The log that one node knows is a prefix of the log that another one knows.
fn logs_agree(logs: &[Option<Vec<Entry>>]) -> Result<(), String> {
    let mut longest: &[Entry] = &[];
    for log in logs.iter().flatten() {
        let common = longest.len().min(log.len());
        if longest[..common] != log[..common] {
            return Err(format!("the utility has agreed on {longest:?} and on {log:?}"));
        }
        if log.len() > longest.len() {
            longest = log;
        }
    }
    Ok(())
}

/// Lemma 1: an entry that names an acceptor is inserted only by the global leader.
fn lemma_1(log: &[Entry]) -> Result<(), String> {
    let of_another = log.iter().enumerate().find(|(at, entry)| {
        matches!(entry.change, Change::Acceptor { .. }) && crate::global_leader(log[..*at].iter()) != Some(entry.by)
    });
    match of_another {
        None => Ok(()),
        Some((at, entry)) => Err(format!("node {}, not the leader, replaced the acceptor by entry {at}", entry.by)),
    }
}

/// Lemma 2a: a leader asks all acceptors for the same value for an index.
fn lemma_2a(asked: &BTreeSet<(NodeId, Index, Value)>) -> Result<(), String> {
    let mut values: BTreeMap<Index, Value> = BTreeMap::new();
    for (acceptor, index, value) in asked {
        let first = *values.entry(*index).or_insert(*value);
        if first != *value {
            return Err(format!("for index {index} it asked for {first}, and node {acceptor} for {value}"));
        }
    }
    Ok(())
}

/// The leader and the acceptor that the log names are different nodes.
fn roles_apart(log: &[Entry]) -> Result<(), String> {
    let together = (1..=log.len()).find_map(|end| {
        let acceptor = crate::global_acceptor(log[..end].iter())?;
        (crate::global_leader(log[..end].iter()) == Some(acceptor)).then_some((end, acceptor))
    });
    match together {
        None => Ok(()),
        Some((end, node)) => Err(format!("after {end} entries node {node} is leader and acceptor")),
    }
}
