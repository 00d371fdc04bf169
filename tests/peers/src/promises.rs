//! Promises for Stateright: the plugins' own code, natively, in a model whose states are paths through a [`Cluster`].
//!
//! Stateright's `eventually` is met once the condition holds in some state of a path. It cannot express that a condition has to hold
//! again, so a count of the times, which is no part of the protocol, makes the second time a state of its own.

use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use guest_sdk::test::Cluster;
use guest_sdk::{NodeId, Protocol};
use stateright::{Checker, Model, Property};

/// A cluster, and the state that one of its nodes has to reach.
pub struct Promise<P: Protocol> {
    /// Number of nodes.
    pub nodes: u32,
    /// Parameters other than the defaults.
    pub parameters: &'static [(&'static str, &'static str)],
    /// The node that waits for something.
    pub node: NodeId,
    /// Whether it has got it.
    pub is_served: fn(&P::State) -> bool,
    /// The number of times that it has to get it, at least one.
    pub times: u32,
    /// The protocol.
    pub protocol: PhantomData<fn() -> P>,
}

/// A step of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The message at this place among those in flight is delivered.
    Deliver(usize),
    /// The local event of this name happens to a node.
    Happen(NodeId, &'static str),
}

/// A state, by the path that led there.
#[derive(Clone, Debug)]
pub struct Reached {
    path: Vec<Action>,
    /// The states of the nodes and the messages in flight, in an order of their own.
    content: String,
    served: u32,
}

impl PartialEq for Reached {
    fn eq(&self, other: &Self) -> bool {
        (&self.content, self.served) == (&other.content, other.served)
    }
}

impl Eq for Reached {}

impl Hash for Reached {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (&self.content, self.served).hash(hasher);
    }
}

impl<P: Protocol> Promise<P>
where
    P::State: std::fmt::Debug,
    P::Message: std::fmt::Debug + PartialEq,
{
    fn cluster(&self, path: &[Action]) -> Cluster<P> {
        let mut cluster = Cluster::new(self.nodes, self.parameters).expect("the parameters fit");
        for action in path {
            match action {
                Action::Deliver(place) => cluster.deliver(*place),
                Action::Happen(node, name) => cluster.happen(*node, name),
            }
        }
        cluster
    }

    fn reached(&self, path: Vec<Action>, before: Option<&Reached>) -> Reached {
        let cluster = self.cluster(&path);
        let states: Vec<_> = (0..self.nodes).map(|node| cluster.state(node)).collect();
        let mut in_flight: Vec<String> = cluster.in_flight().iter().map(|message| format!("{message:?}")).collect();
        in_flight.sort_unstable();
        let was_served = before.is_some_and(|before| self.is_served(&before.path));
        let is_news = (self.is_served)(cluster.state(self.node)) && !was_served;
        let served = before.map_or(0, |before| before.served) + u32::from(is_news);
        Reached { path, content: format!("{states:?} {in_flight:?}"), served: served.min(self.times) }
    }

    fn is_served(&self, path: &[Action]) -> bool {
        (self.is_served)(self.cluster(path).state(self.node))
    }

    /// Whether Stateright has a path that does not keep the promise, and how many states it has seen.
    pub fn check(self) -> (bool, usize)
    where
        P: 'static,
    {
        let checker = self.checker().threads(1).spawn_bfs().join();
        (!checker.discoveries().is_empty(), checker.unique_state_count())
    }
}

impl<P: Protocol + 'static> Model for Promise<P>
where
    P::State: std::fmt::Debug,
    P::Message: std::fmt::Debug + PartialEq,
{
    type State = Reached;
    type Action = Action;

    fn init_states(&self) -> Vec<Reached> {
        vec![self.reached(Vec::new(), None)]
    }

    fn actions(&self, state: &Reached, actions: &mut Vec<Action>) {
        let cluster = self.cluster(&state.path);
        let in_flight = cluster.in_flight();
        let is_first = |place: &usize| !in_flight[..*place].contains(&in_flight[*place]);
        actions.extend((0..in_flight.len()).filter(is_first).map(Action::Deliver));
        for node in 0..self.nodes {
            actions.extend(cluster.local_events(node).iter().map(|event| Action::Happen(node, event.name)));
        }
    }

    fn next_state(&self, last: &Reached, action: Action) -> Option<Reached> {
        let path = [&last.path[..], &[action]].concat();
        Some(self.reached(path, Some(last)))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::eventually("served", |model: &Self, state: &Reached| state.served == model.times)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(nodes: u32, parameters: &'static [(&str, &str)]) -> Promise<lock::Lock> {
        let is_served = |state: &lock::State| matches!(state, lock::State::Client(lock::Client::Holding));
        Promise { nodes, parameters, node: 1, is_served, times: 2, protocol: PhantomData }
    }

    fn synod(nodes: u32) -> Promise<synod::Synod> {
        let is_served = |state: &synod::State| matches!(state, synod::State::Proposer(synod::Proposer::Decided(_)));
        Promise { nodes, parameters: &[], node: 0, is_served, times: 1, protocol: PhantomData }
    }

    /// The column of Stateright in docs/benchmarks.md: it sees paths that end, and no cycle.
    #[test]
    fn stateright_sees_no_cycle() {
        let is_broken = |promise: Promise<lock::Lock>| promise.check().0;
        assert!(is_broken(lock(2, &[("locked", "drop")])));
        assert!(!is_broken(lock(3, &[("locked", "deny"), ("retry", "timer")])));
        assert!(!is_broken(lock(3, &[("locked", "queue")])));
        // Two proposers, with one acceptor and with two: as many states as host has, since all that counts is part of them.
        assert_eq!((synod(3).check(), synod(4).check()), ((false, 244), (false, 20_284)));
    }
}
