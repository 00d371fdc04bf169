//! PaxosUtility, the lower protocol: basic Paxos on a log of entries, one instance for each entry, in order.
//!
//! It knows nothing of the protocol above. A node plays its own part at once, and sends messages to the others only; it begins an
//! instance when it knows all entries before it.

use std::collections::{BTreeMap, BTreeSet};

use guest_sdk::NodeId;
use serde::{Deserialize, Serialize};

/// A place in the log, from 0.
pub type Instance = u32;

/// The number of an attempt: node `p` of `N` has `p + 1`, `N + p + 1` and so on in each instance; 0 is below all of them.
pub type Ballot = u32;

/// The messages between the lower protocols of two nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message<E> {
    /// Promise to ignore lower ballots.
    Prepare(Instance, Ballot),
    /// Promised; the entry accepted last, with its ballot.
    Promise(Instance, Ballot, Option<(Ballot, E)>),
    /// Accept the entry unless you promised not to.
    Accept(Instance, Ballot, E),
    /// Accepted.
    Accepted(Instance, Ballot),
    /// The entry is agreed on.
    Chosen(Instance, E),
}

/// The result of an attempt to add an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is the next entry.
    Success,
    /// Another one is.
    Failure,
}

/// The promise and the accepted entry of a node in an instance.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Vote<E> {
    promised: Ballot,
    accepted: Option<(Ballot, E)>,
}

/// An attempt to add an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Attempt<E> {
    instance: Instance,
    ballot: Ballot,
    wanted: E,
    /// The entry of the highest ballot among the promises; the one to accept once a majority has promised.
    highest: Option<(Ballot, E)>,
    is_accepting: bool,
    /// The nodes that promised, and then those that accepted.
    responders: BTreeSet<NodeId>,
}

/// The part of the log that a node knows. All but the attempt under way is on disk.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Utility<E> {
    log: BTreeMap<Instance, E>,
    votes: BTreeMap<Instance, Vote<E>>,
    attempt: Option<Attempt<E>>,
}

/// A node, and the messages that it sends meanwhile.
pub struct Post<E> {
    /// This node.
    pub me: NodeId,
    /// Number of nodes.
    pub nodes: u32,
    /// The messages to send, with their destinations.
    pub sent: Vec<(NodeId, Message<E>)>,
}

impl<E: Clone> Post<E> {
    fn tell_others(&mut self, message: &Message<E>) {
        let others = (0..self.nodes).filter(|node| *node != self.me);
        self.sent.extend(others.map(|node| (node, message.clone())));
    }

    fn majority(&self) -> usize {
        self.nodes as usize / 2 + 1
    }
}

impl<E: Clone + PartialEq> Utility<E> {
    /// A log that begins with entries which all nodes know.
    pub fn new(entries: impl IntoIterator<Item = E>) -> Self {
        Self { log: (0..).zip(entries).collect(), votes: BTreeMap::new(), attempt: None }
    }

    /// The state after a reset.
    pub fn restarted(&self) -> Self {
        Self { attempt: None, ..self.clone() }
    }

    /// The number of entries before the first that this node does not know.
    pub fn length(&self) -> u32 {
        (0..).find(|instance| !self.log.contains_key(instance)).expect("a log has an end")
    }

    /// The entries before the first that this node does not know.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &E> {
        self.log.range(..self.length()).map(|(_, entry)| entry)
    }

    /// Tries to add an entry at the end. Gives up the attempt before.
    pub fn propose(&mut self, post: &mut Post<E>, wanted: E) {
        let instance = self.length();
        let vote = self.votes.entry(instance).or_insert(Vote { promised: 0, accepted: None });
        let own = |round: &u32| round * post.nodes + post.me + 1;
        let ballot = (0..).map(|round| own(&round)).find(|ballot| *ballot > vote.promised).expect("one is higher");
        vote.promised = ballot;
        let highest = vote.accepted.clone();
        let responders = BTreeSet::from([post.me]);
        self.attempt = Some(Attempt { instance, ballot, wanted, highest, is_accepting: false, responders });
        post.tell_others(&Message::Prepare(instance, ballot));
    }

    /// Handles a message; returns the outcome of the current attempt if that is decided now.
    pub fn receive(&mut self, post: &mut Post<E>, from: NodeId, message: Message<E>) -> Option<Outcome> {
        match message {
            Message::Prepare(instance, ballot) => self.prepare(post, from, instance, ballot),
            Message::Accept(instance, ballot, entry) => self.accept(post, from, (instance, ballot), entry),
            Message::Promise(instance, ballot, accepted) => self.promise(post, from, (instance, ballot), accepted),
            Message::Accepted(instance, ballot) => return self.accepted(post, from, instance, ballot),
            Message::Chosen(instance, entry) => return self.chosen(instance, entry),
        }
        None
    }

    fn prepare(&mut self, post: &mut Post<E>, from: NodeId, instance: Instance, ballot: Ballot) {
        if let Some(entry) = self.log.get(&instance) {
            post.sent.push((from, Message::Chosen(instance, entry.clone())));
            return;
        }
        let vote = self.votes.entry(instance).or_insert(Vote { promised: 0, accepted: None });
        if ballot > vote.promised {
            vote.promised = ballot;
            post.sent.push((from, Message::Promise(instance, ballot, vote.accepted.clone())));
        }
    }

    fn promise(
        &mut self,
        post: &mut Post<E>,
        from: NodeId,
        (instance, ballot): (Instance, Ballot),
        accepted: Option<(Ballot, E)>,
    ) {
        let Some(attempt) = &mut self.attempt else { return };
        if (instance, ballot) != (attempt.instance, attempt.ballot) || attempt.is_accepting {
            return;
        }
        attempt.responders.insert(from);
        if let Some((at, entry)) = accepted
            && attempt.highest.as_ref().is_none_or(|(highest, _)| at > *highest)
        {
            attempt.highest = Some((at, entry));
        }
        if attempt.responders.len() < post.majority() {
            return;
        }
        let entry = attempt.highest.take().map_or_else(|| attempt.wanted.clone(), |(_, entry)| entry);
        attempt.highest = Some((ballot, entry.clone()));
        attempt.is_accepting = true;
        attempt.responders.clear();
        post.tell_others(&Message::Accept(instance, ballot, entry.clone()));
        let vote = self.votes.entry(instance).or_insert(Vote { promised: 0, accepted: None });
        // A node with a higher ballot may have sent Prepare meanwhile.
        if vote.promised <= ballot {
            *vote = Vote { promised: ballot, accepted: Some((ballot, entry)) };
            attempt.responders.insert(post.me);
        }
    }

    fn accept(&mut self, post: &mut Post<E>, from: NodeId, (instance, ballot): (Instance, Ballot), entry: E) {
        if let Some(entry) = self.log.get(&instance) {
            post.sent.push((from, Message::Chosen(instance, entry.clone())));
            return;
        }
        let vote = self.votes.entry(instance).or_insert(Vote { promised: 0, accepted: None });
        if ballot >= vote.promised {
            *vote = Vote { promised: ballot, accepted: Some((ballot, entry)) };
            post.sent.push((from, Message::Accepted(instance, ballot)));
        }
    }

    fn accepted(&mut self, post: &mut Post<E>, from: NodeId, instance: Instance, ballot: Ballot) -> Option<Outcome> {
        let attempt = self.attempt.as_mut()?;
        if (instance, ballot) != (attempt.instance, attempt.ballot) || !attempt.is_accepting {
            return None;
        }
        attempt.responders.insert(from);
        if attempt.responders.len() < post.majority() {
            return None;
        }
        let (_, entry) = attempt.highest.clone()?;
        post.tell_others(&Message::Chosen(instance, entry.clone()));
        self.chosen(instance, entry)
    }

    fn chosen(&mut self, instance: Instance, entry: E) -> Option<Outcome> {
        self.votes.remove(&instance);
        let attempt = self.attempt.take_if(|attempt| attempt.instance == instance);
        let outcome = attempt.map(|attempt| match attempt.wanted == entry {
            true => Outcome::Success,
            false => Outcome::Failure,
        });
        self.log.insert(instance, entry);
        outcome
    }
}
