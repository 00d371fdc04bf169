//! The properties, over views of the nodes.

use std::collections::{BTreeMap, BTreeSet};

use guest_sdk::linearizability::{ClientId, History as Histories};
use guest_sdk::{EncodedList, NodeId, Properties};
use serde::{Deserialize, Serialize};

use crate::{
    Entry, Index, Item, Mark, Members, Operation, Outcome, RaftKv, Revision, Role, Sequential, Session, SessionId,
    State, Term,
};

/// The committed part of a node's state, without anything else, so that there are few views.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Done {
    commit: Mark,
    /// The keys of the store, and their values in the same order.
    keys: EncodedList<String>,
    items: EncodedList<Item>,
    revision: Revision,
    sessions: BTreeMap<SessionId, Session>,
    members: Option<Members>,
    /// The last of the entries that led there, as far as the log has them.
    entries: EncodedList<Entry>,
}

impl Done {
    /// The first place whose entry it has, if it has any.
    fn first(&self) -> Index {
        self.commit.index + 1 - self.entries.len() as Index
    }

    /// The entry at a place from the first one to what is committed, encoded.
    fn entry(&self, place: Index) -> &[u8] {
        self.entries.bytes((place - self.first()) as usize)
    }
}

/// The view for leader completeness.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Knowledge {
    term: Term,
    /// The log of a leader, without the commands.
    leads: Option<Terms>,
    commit: Mark,
}

/// The terms of the entries of a log, and the last place before them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Terms {
    base: Mark,
    entries: Vec<Term>,
}

impl Terms {
    /// Whether the log has this entry, or has forgotten it, as something that was committed.
    fn has(&self, mark: Mark) -> bool {
        match mark.index.checked_sub(self.base.index) {
            None => true,
            Some(0) => mark == self.base,
            Some(place) => self.entries.get(place as usize - 1) == Some(&mark.term),
        }
    }
}

/// The view for the election of a leader by a majority.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Following {
    term: Term,
    leader: Leader,
    /// Whether it may be the last term in which nodes stand for election.
    is_last: bool,
}

/// The leader of its term, as a node knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Leader {
    /// The node itself, with the members by the newest entry of its log.
    Own(Option<BTreeSet<NodeId>>),
    /// The node follows this one.
    Other(NodeId),
    /// The node knows no leader.
    None,
}

type Operations = Vec<guest_sdk::linearizability::Operation<Operation, Outcome>>;

pub(crate) fn properties(claims: &mut Properties<RaftKv>) {
    claims.always("election-safety").system(|_, state| leads(state), election_safety);
    claims.always("leader-completeness").system(|_, state| Some(knowledge(state)), leader_completeness);
    claims.always("state-machine-safety").system(|_, state| done(state), state_machine_safety);
    claims.always("linearizable").system(|_, state| operations(state), linearizable);
    claims.eventually("led").system(|protocol, state| Some(following(protocol, state)), led);
    claims.sometimes("elected").node(|_, state| leads(state), |_| Ok(()));
    claims.sometimes("done").node(|_, state| (!state.disk.store.items.is_empty()).then_some(()), |()| Ok(()));
    claims
        .sometimes("returned")
        .node(|_, state| operations(state).filter(|all| all.iter().any(|one| one.returned().is_some())), |_| Ok(()));
}

fn leads(state: &State) -> Option<Term> {
    matches!(state.role, Role::Leader { .. }).then_some(state.disk.term)
}

fn following(protocol: &RaftKv, state: &State) -> Following {
    let leader = match &state.role {
        Role::Leader { .. } => Leader::Own(state.disk.members().map(|members| members.nodes.clone())),
        Role::Follower { leader } => leader.map_or(Leader::None, Leader::Other),
        Role::Candidate { .. } | Role::Asking { .. } => Leader::None,
    };
    // A node that asks before an election asks only once if there are no heartbeats.
    let asks_once = protocol.pre_vote && !protocol.heartbeats;
    let is_last = asks_once || protocol.terms > 0 && state.disk.term >= protocol.terms;
    Following { term: state.disk.term, leader, is_last }
}

fn done(state: &State) -> Option<Done> {
    let disk = &state.disk;
    let (commit, base) = (disk.committed(), disk.log.base().index);
    let entries = &disk.log.after(base)[..(commit.index - base) as usize];
    (commit.index > 0).then(|| Done {
        commit,
        keys: disk.store.items.keys().collect(),
        items: disk.store.items.values().collect(),
        revision: disk.store.revision,
        sessions: disk.store.sessions.clone(),
        members: disk.store.members.clone(),
        entries: entries.iter().collect(),
    })
}

fn knowledge(state: &State) -> Knowledge {
    let log = &state.disk.log;
    let terms = || log.after(log.base().index).iter().map(|entry| entry.term).collect();
    let leads = leads(state).map(|_| Terms { base: log.base(), entries: terms() });
    Knowledge { term: state.disk.term, leads, commit: state.disk.committed() }
}

fn operations(state: &State) -> Option<Operations> {
    state.disk.history.as_ref().map(|history| history.operations().to_vec()).filter(|all| !all.is_empty())
}

/// At most one leader in a term.
fn election_safety(leads: &[Option<Term>]) -> Result<(), String> {
    of_pairs(leads, |one, other| match one.1 == other.1 {
        true => Err(format!("nodes {} and {} both lead in term {}", one.0, other.0, one.1)),
        false => Ok(()),
    })
}

/// Again and again a majority has the same leader, which leads: so requests are answered. In the last term, votes can be split for good.
fn led(views: &[Option<Following>]) -> Result<(), String> {
    if named(views).any(|(_, view)| view.is_last) {
        return Ok(());
    }
    let leads_majority = |leader: NodeId, term: Term, members: Option<&BTreeSet<NodeId>>| {
        let is_behind = |node: NodeId, view: &Following| match view.leader {
            Leader::Own(_) => node == leader,
            Leader::Other(other) => other == leader,
            Leader::None => false,
        };
        let counts = |node: &NodeId| members.is_none_or(|members| members.contains(node));
        let members = named(views).filter(|(node, _)| counts(node));
        let followers = members.filter(|(node, view)| view.term == term && is_behind(*node, view)).count();
        2 * followers > (0..).zip(views).filter(|(node, _)| counts(node)).count()
    };
    let leads = |node: NodeId, view: &Following| match &view.leader {
        Leader::Own(members) => leads_majority(node, view.term, members.as_ref()),
        _ => false,
    };
    match named(views).any(|(node, view)| leads(node, view)) {
        true => Ok(()),
        false => Err("no node leads a majority".to_owned()),
    }
}

/// A leader has the entries committed before its term: all that it had when it was elected, so an earlier state of it is enough.
fn leader_completeness(views: &[Option<Knowledge>]) -> Result<(), String> {
    for (leader, leads, log) in named(views).filter_map(|(node, view)| Some((node, view, view.leads.as_ref()?))) {
        let is_before = |known: &Knowledge| known.term <= leads.term && known.commit.term < leads.term;
        for (node, known) in named(views).filter(|(_, known)| is_before(known)) {
            if !log.has(known.commit) {
                let (term, place) = (leads.term, known.commit.index);
                return Err(format!(
                    "node {leader} leads in term {term} without what node {node} has committed up to {place}"
                ));
            }
        }
    }
    Ok(())
}

/// No two nodes have committed different entries at one place, or reached different stores by the same ones.
fn state_machine_safety(views: &[Option<Done>]) -> Result<(), String> {
    of_pairs(views, |(one, left), (other, right)| {
        let common = left.commit.index.min(right.commit.index);
        let mut both = left.first().max(right.first())..=common;
        if let Some(place) = both.find(|place| left.entry(*place) != right.entry(*place)) {
            return Err(format!("nodes {one} and {other} have committed different entries at {place}"));
        }
        let is_equal = (&left.keys, &left.items, left.revision) == (&right.keys, &right.items, right.revision)
            && (&left.sessions, &left.members) == (&right.sessions, &right.members);
        if left.commit == right.commit && !is_equal {
            return Err(format!(
                "nodes {one} and {other} have done the same {common} entries and have different stores"
            ));
        }
        Ok(())
    })
}

/// One order of the operations explains all answers to clients.
fn linearizable(views: &[Option<Operations>]) -> Result<(), String> {
    let all = named(views).map(|(node, operations)| (node as ClientId, operations.clone()));
    Histories::of(all).linearize(&Sequential).map(|_| ()).map_err(|why| why.to_string())
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
