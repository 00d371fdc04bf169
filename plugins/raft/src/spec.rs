//! The properties: the guarantees of figure 3 of the Raft paper, over views of the nodes.

use guest_sdk::{NodeId, Properties, ready_made};
use serde::{Deserialize, Serialize};

use crate::{Entry, Raft, Role, State, Term};

/// The parts of a node that leader completeness reads: all others are left out, to have few views.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Knowledge {
    term: Term,
    /// The log of a leader.
    leads: Option<Vec<Entry>>,
    committed: Vec<Entry>,
}

pub(crate) fn properties(claims: &mut Properties<Raft>) {
    ready_made::one_leader_per_term(claims.always("election-safety"), |_, state| leads(state));
    claims.always("log-matching").system(
        |_, state| Some(state.log.after(0).to_vec()).filter(|log| !log.is_empty()),
        |logs| of_pairs(logs, log_matching),
    );
    claims.always("leader-completeness").system(|_, state| knowledge(state), leader_completeness);
    // No two nodes have committed different entries at one place.
    ready_made::logs_agree(claims.always("state-machine-safety"), |_, state| {
        Some(committed(state)).filter(|entries| !entries.is_empty())
    });
    claims.sometimes("elected").node(|_, state| leads(state), |_| Ok(()));
    claims.sometimes("committed").node(|_, state| (!committed(state).is_empty()).then_some(()), |()| Ok(()));
    claims.eventually("answered").node(
        |_, state| Some(uncommitted(state)),
        |uncommitted| match uncommitted {
            0 => Ok(()),
            some => Err(format!("clients wait for {some} of its entries to be committed")),
        },
    );
}

fn leads(state: &State) -> Option<Term> {
    matches!(state.role, Role::Leader { .. }).then_some(state.term)
}

fn committed(state: &State) -> Vec<Entry> {
    state.log.up_to(state.commit).to_vec()
}

/// The number of entries that a leader has taken in its term and does not know to be committed. It owes nothing for older ones: the
/// leader that took them leads no more, and has told no node that they are safe.
fn uncommitted(state: &State) -> usize {
    let is_open = |entry: &&Entry| entry.term == state.term;
    leads(state).map_or(0, |_| state.log.after(state.commit).iter().filter(is_open).count())
}

fn knowledge(state: &State) -> Option<Knowledge> {
    let (leads, committed) = (leads(state).map(|_| state.log.after(0).to_vec()), committed(state));
    (leads.is_some() || !committed.is_empty()).then_some(Knowledge { term: state.term, leads, committed })
}

/// If two logs have an entry of one term at one place, they are equal up to there.
fn log_matching(one: (NodeId, &Vec<Entry>), other: (NodeId, &Vec<Entry>)) -> Result<(), String> {
    let Some(last) = one.1.iter().zip(other.1).rposition(|(one, other)| one.term == other.term) else { return Ok(()) };
    match one.1[..=last] == other.1[..=last] {
        true => Ok(()),
        false => Err(format!(
            "nodes {} and {} have an entry of term {} at {}, but not the same log up to there",
            one.0,
            other.0,
            one.1[last].term,
            last + 1
        )),
    }
}

/// A leader has the entries committed in its term or before. A node commits in its own term or before, so it is enough to
/// look at the nodes whose term is not after the leader's.
fn leader_completeness(views: &[Option<Knowledge>]) -> Result<(), String> {
    for (leader, leads, log) in named(views).filter_map(|(node, view)| Some((node, view, view.leads.as_ref()?))) {
        for (node, known) in named(views).filter(|(_, known)| known.term <= leads.term) {
            if !log.starts_with(&known.committed) {
                let (term, place) = (leads.term, known.committed.len());
                return Err(format!(
                    "node {leader} leads in term {term} without what node {node} has committed up to {place}"
                ));
            }
        }
    }
    Ok(())
}

fn named<V>(views: &[Option<V>]) -> impl Iterator<Item = (NodeId, &V)> {
    (0..).zip(views).filter_map(|(node, view)| Some((node, view.as_ref()?)))
}

fn of_pairs<V>(
    views: &[Option<V>],
    check: impl Fn((NodeId, &V), (NodeId, &V)) -> Result<(), String>,
) -> Result<(), String> {
    named(views)
        .try_for_each(|one| named(views).filter(|other| other.0 > one.0).try_for_each(|other| check(one, other)))
}
