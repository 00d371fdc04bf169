//! The properties: four of each state, and five that a ring has in the end.

use std::collections::BTreeSet;

use guest_sdk::{NodeId, Properties};
use serde::{Deserialize, Serialize};

use crate::{Chord, Phase, State};

/// The knowledge of a node about the ring once it has joined.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Place {
    me: NodeId,
    predecessor: Option<NodeId>,
    successors: Vec<NodeId>,
    /// Identifiers on the ring, and the distance to each known node clockwise from this one.
    identifiers: u32,
    nodes: u32,
}

impl Place {
    fn successor(&self) -> NodeId {
        self.successors.first().copied().unwrap_or(self.me)
    }

    /// The distance from one node to another on the ring, at least 1.
    fn way(&self, from: NodeId, to: NodeId) -> u32 {
        let at = |node: NodeId| node * self.identifiers / self.nodes;
        (at(to) + self.identifiers - at(from) - 1) % self.identifiers + 1
    }

    /// The next hop of a message for another node: the last known node on the way there, or none.
    fn next_hop(&self, to: NodeId) -> Option<NodeId> {
        let fits = |node: &&NodeId| self.way(self.me, **node) <= self.way(self.me, to);
        self.successors.iter().filter(fits).max_by_key(|node| self.way(self.me, **node)).copied()
    }
}

pub(crate) fn properties(claims: &mut Properties<Chord>) {
    claims.always("not-its-successor").node(place, |place| match place.successors.contains(&place.me) {
        false => Ok(()),
        true => Err("it is in its own list of successors".to_owned()),
    });
    claims.always("alone-both-ways").node(place, |place| match place.predecessor == Some(place.me) {
        true if place.successor() != place.me => {
            Err(format!("it is its own predecessor, and node {} its successor", place.successor()))
        }
        _ => Ok(()),
    });
    claims.always("order").node(place, order);
    claims.always("queue").node(
        |_, state| (!state.waiting.is_empty()).then(|| state.waiting.clone()),
        |waiting| match waiting.iter().collect::<BTreeSet<_>>().len() < waiting.len() {
            false => Ok(()),
            true => Err(format!("{} requests wait, more than one of a node", waiting.len())),
        },
    );
    claims.eventually("joined").system(place, |places| on_ring(places).map(|_| ()));
    claims.eventually("predecessors").system(place, |places| {
        let places = on_ring(places)?;
        let lost = places.iter().find(|place| place.predecessor.is_none());
        lost.map_or(Ok(()), |place| Err(format!("node {} has no predecessor", place.me)))
    });
    claims.eventually("reflexive").system(place, |places| {
        let places = on_ring(places)?;
        let is_wrong = |place: &&&Place| places[place.successor() as usize].predecessor != Some(place.me);
        let wrong = places.iter().find(is_wrong);
        wrong.map_or(Ok(()), |place| Err(format!("the successor of node {} has another predecessor", place.me)))
    });
    claims.eventually("ring").system(place, |places| {
        let places = on_ring(places)?;
        let mut met = BTreeSet::new();
        let mut node = 0;
        while met.insert(node) {
            node = places[node as usize].successor();
        }
        match met.len() == places.len() {
            true => Ok(()),
            false => Err(format!("the successors of node 0 are {} nodes", met.len())),
        }
    });
    claims.eventually("reachable").system(place, |places| {
        let places = on_ring(places)?;
        let nodes = || 0..places.len() as NodeId;
        let lost =
            nodes().flat_map(|from| nodes().map(move |to| (from, to))).find(|(from, to)| !reaches(&places, *from, *to));
        lost.map_or(Ok(()), |(from, to)| Err(format!("no way leads from node {from} to node {to}")))
    });
}

fn place(protocol: &Chord, state: &State) -> Option<Place> {
    (state.phase == Phase::Joined).then(|| Place {
        me: state.me,
        predecessor: state.predecessor,
        successors: state.successors.clone(),
        identifiers: protocol.ring.identifiers,
        nodes: protocol.ring.nodes,
    })
}

/// No successor lies between the predecessor and the node.
fn order(place: &Place) -> Result<(), String> {
    let Some(predecessor) = place.predecessor.filter(|predecessor| *predecessor != place.me) else { return Ok(()) };
    let is_before = |node: &&NodeId| place.way(predecessor, **node) < place.way(predecessor, place.me);
    match place.successors.iter().find(is_before) {
        None => Ok(()),
        Some(node) => Err(format!("its successor {node} comes after its predecessor {predecessor}, and before itself")),
    }
}

fn on_ring(places: &[Option<Place>]) -> Result<Vec<&Place>, String> {
    let waits = places.iter().position(Option::is_none);
    waits.map_or_else(|| Ok(places.iter().flatten().collect()), |node| Err(format!("node {node} has not joined")))
}

fn reaches(places: &[&Place], from: NodeId, to: NodeId) -> bool {
    let mut at = from;
    for _ in places {
        if at == to {
            return true;
        }
        let Some(next) = places[at as usize].next_hop(to) else { return false };
        at = next;
    }
    at == to
}
