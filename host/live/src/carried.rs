//! The latest snapshot of the cluster, updated with the messages that the node
//! has sent and taken since.

use std::collections::VecDeque;
use std::sync::Arc;

use host_model::contract::{Envelope, NodeId};
use host_model::trace::{Beginning, Flight, Hex, NodeState};

/// The maximum length of the log of the node's messages for the next snapshot. A snapshot that began before the log is not updated.
const LOG_MAX: usize = 4_096;
/// The maximum number of messages in flight in an updated snapshot: with more, it is too old to look ahead from.
const IN_FLIGHT_MAX: usize = 1_024;

/// An event whose effects are held, in the cluster as the node knows it: the state after it, and the state with its substitute
/// instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// The node.
    pub node: NodeId,
    /// The cluster after the event, with its messages in flight.
    pub after: Arc<Beginning>,
    /// The cluster without the event: a message is lost, and a local event can still happen.
    pub instead: Arc<Beginning>,
}

/// Whether a message was sent or taken.
#[derive(Clone, Debug)]
enum Passage {
    Sent(Flight),
    Taken(Flight),
}

/// The latest snapshot, updated. Only for unordered links, where any message in flight can stay there.
#[derive(Clone, Debug)]
pub struct Carried {
    node: NodeId,
    latest: Option<Beginning>,
    /// The log of messages, oldest first, each with the number of the node's latest checkpoint at that time.
    log: VecDeque<(u64, Passage)>,
    /// The log is incomplete for checkpoints up to this number.
    forgotten: Option<u64>,
}

impl Carried {
    /// No snapshot is known at first.
    pub fn new(node: NodeId) -> Self {
        Self { node, latest: None, log: VecDeque::new(), forgotten: None }
    }

    /// Logs sent messages; `number` is that of the node's latest checkpoint.
    pub fn send(&mut self, number: u64, sent: &[Envelope]) {
        for flight in flights(self.node, sent) {
            self.pass(number, Passage::Sent(flight));
        }
    }

    /// Logs a message that the node takes, handled or not; `number` is that of the node's latest checkpoint.
    pub fn take(&mut self, number: u64, from: NodeId, payload: &[u8]) {
        let flight = flight(from, self.node, payload);
        self.pass(number, Passage::Taken(flight));
    }

    /// Takes over a complete snapshot; `number` is that of the node's checkpoint in it.
    pub fn renew(&mut self, number: u64, beginning: Beginning) {
        let is_before = |(latest, _): &mut (u64, Passage)| *latest < number;
        while self.log.pop_front_if(is_before).is_some() {}
        self.latest = self.forgotten.is_none_or(|forgotten| forgotten < number).then_some(beginning);
        if let Some(latest) = &mut self.latest {
            self.log.iter().for_each(|(_, passage)| carry_on(latest, passage));
        }
    }

    /// The fork at an event of the node, which leads from one state to another and sends these messages. The message that it handles must
    /// have been logged as taken. None if the node knows too little of the other nodes.
    pub fn fork(&self, before: NodeState, after: NodeState, sent: &[Envelope]) -> Option<Fork> {
        let latest = self.latest.as_ref().filter(|latest| latest.in_flight.len() <= IN_FLIGHT_MAX)?;
        let at = |state: NodeState| {
            let mut here = latest.clone();
            *here.states.iter_mut().find(|state| state.node == self.node)? = state;
            Some(here)
        };
        let (mut after, instead) = (at(after)?, at(before)?);
        flights(self.node, sent).for_each(|flight| carry_on(&mut after, &Passage::Sent(flight)));
        Some(Fork { node: self.node, after: Arc::new(after), instead: Arc::new(instead) })
    }

    fn pass(&mut self, number: u64, passage: Passage) {
        if let Some(latest) = self.latest.as_mut().filter(|latest| latest.in_flight.len() <= IN_FLIGHT_MAX) {
            carry_on(latest, &passage);
        }
        self.log.push_back((number, passage));
        if self.log.len() > LOG_MAX {
            self.forgotten = self.log.pop_front().map(|(number, _)| number);
        }
    }
}

/// The sent messages of a node, in flight.
fn flights(node: NodeId, sent: &[Envelope]) -> impl Iterator<Item = Flight> {
    sent.iter().map(move |Envelope { to, payload }| flight(node, *to, payload))
}

fn flight(from: NodeId, to: NodeId, payload: &[u8]) -> Flight {
    Flight { from, to, payload: Hex(payload.to_vec()), incarnation: 0, notice: false }
}

/// Applies a message. One to an absent node is dropped, and a taken one that its sender sent after its checkpoint is not in flight here.
fn carry_on(here: &mut Beginning, passage: &Passage) {
    match passage {
        Passage::Sent(flight) => {
            if here.states.iter().any(|state| state.node == flight.to) {
                here.in_flight.push(flight.clone());
            }
        }
        Passage::Taken(flight) => {
            if let Some(place) = here.in_flight.iter().position(|other| other == flight) {
                here.in_flight.remove(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(node: NodeId, content: u8) -> NodeState {
        NodeState { node, exported: Hex(vec![content]), fault_state: Default::default() }
    }

    /// Nodes 0 and 1 in state 0; node 2 is absent.
    fn snapshot(in_flight: &[(NodeId, NodeId, u8)]) -> Beginning {
        let in_flight = in_flight.iter().map(|(from, to, content)| flight(*from, *to, &[*content])).collect();
        Beginning { states: vec![state(0, 0), state(1, 0)], in_flight }
    }

    fn sent(all: &[(NodeId, u8)]) -> Vec<Envelope> {
        all.iter().map(|(to, content)| Envelope { to: *to, payload: vec![*content] }).collect()
    }

    fn fork(carried: &Carried, all: &[(NodeId, u8)]) -> Option<Fork> {
        carried.fork(state(0, 1), state(0, 2), &sent(all))
    }

    fn in_flight(carried: &Carried) -> Vec<(NodeId, NodeId, u8)> {
        let fork = fork(carried, &[]).expect("something is known");
        fork.instead.in_flight.iter().map(|flight| (flight.from, flight.to, flight.payload.0[0])).collect()
    }

    /// A snapshot is updated with the messages after the node's checkpoint in it, also with those while it was collected, and with no
    /// earlier ones.
    #[test]
    fn a_snapshot_is_updated_from_the_checkpoint_of_the_node() {
        let mut carried = Carried::new(0);
        assert_eq!(fork(&carried, &[]), None);
        carried.send(3, &sent(&[(1, 10)]));
        carried.send(4, &sent(&[(1, 11), (0, 12), (2, 13)]));
        carried.take(4, 1, &[20]);
        carried.take(5, 1, &[21]);
        let renewed = |carried: &Carried, number| {
            let mut carried = carried.clone();
            carried.renew(number, snapshot(&[(1, 0, 20), (1, 0, 20), (0, 1, 30), (1, 0, 21)]));
            in_flight(&carried)
        };
        assert_eq!(renewed(&carried, 4), [(1, 0, 20), (0, 1, 30), (0, 1, 11), (0, 0, 12)]);
        assert_eq!(renewed(&carried, 5), [(1, 0, 20), (1, 0, 20), (0, 1, 30), (0, 1, 11), (0, 0, 12)][..3]);
        carried.renew(5, snapshot(&[(0, 1, 30)]));
        carried.take(5, 1, &[22]);
        carried.send(6, &sent(&[(0, 14), (0, 14)]));
        carried.take(6, 0, &[14]);
        assert_eq!(in_flight(&carried), [(0, 1, 30), (0, 0, 14)]);
    }

    /// With the event, its messages are in flight and the node is in the state after it; without it, neither.
    #[test]
    fn a_fork_has_the_cluster_with_and_without_the_event() {
        let mut carried = Carried::new(0);
        carried.renew(1, snapshot(&[(1, 0, 20)]));
        let Fork { node, after, instead } = fork(&carried, &[(1, 40), (2, 41)]).expect("it is known");
        assert_eq!(node, 0);
        let expected = |content, in_flight: &[_]| {
            let states = vec![state(0, content), state(1, 0)];
            Beginning { states, ..snapshot(in_flight) }
        };
        assert_eq!(*after, expected(2, &[(1, 0, 20), (0, 1, 40)]));
        assert_eq!(*instead, expected(1, &[(1, 0, 20)]));
    }

    #[test]
    fn what_is_known_is_bounded() {
        let mut carried = Carried::new(0);
        carried.renew(1, snapshot(&[]));
        for _ in 0..IN_FLIGHT_MAX {
            carried.send(1, &sent(&[(1, 0)]));
        }
        assert!(fork(&carried, &[]).is_some());
        carried.send(1, &sent(&[(1, 0)]));
        assert_eq!(fork(&carried, &[]), None, "too much has happened since");
        carried.renew(2, snapshot(&[]));
        assert!(fork(&carried, &[]).is_some());
        for number in 0..=LOG_MAX as u64 {
            carried.take(3 + number, 1, &[5]);
        }
        assert_eq!(carried.log.len(), LOG_MAX);
        carried.renew(3, snapshot(&[]));
        assert_eq!(fork(&carried, &[]), None, "what has passed since is not known any more");
        carried.renew(4, snapshot(&[]));
        assert!(fork(&carried, &[]).is_some());
    }
}
