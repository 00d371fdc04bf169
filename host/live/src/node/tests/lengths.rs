//! The maximum length of a message, in a search and in a node.

use std::sync::Arc;

use host_model::contract::LocalKind;
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Network, Scenario};
use host_model::toys::{Toy, ToyTrigger};
use host_model::trace::{self, Origin, start};

use super::pair::{identity, settings};
use crate::checker::{Checker, Limits};
use crate::checkpoint::{Body, Checkpoint, Header, Packet};
use crate::gate::Open;
use crate::node::post::longest_frame;
use crate::node::{Node, Output, Refusal};
use crate::time::Time;

/// Node 0 sends a message of this many bytes, once.
fn speaker(bytes: usize) -> Arc<Toy> {
    let toy = Toy::new(2).of_kind(0, LocalKind::Timer).of_length(1, bytes);
    Arc::new(toy.rule(0, 0, ToyTrigger::Local(0), 1, &[(1, 1)]))
}

/// Whether a search finds the message too long; the finding replays.
fn is_a_finding(toy: &Arc<Toy>, network: Network) -> bool {
    let scenario = Scenario { network, ..Scenario::new(2) };
    let lts = Lts::new(toy, scenario.clone()).expect("it is native");
    let mut stepper = Stepper::new(&lts).expect("it is native");
    let start = start::initial(&mut stepper).expect("nothing is refused").remove(0);
    let beginning = Arc::new(start::export(&mut stepper, &start).expect("toys leave"));
    let mut checker = Checker::new(toy, scenario.clone(), Limits::default()).expect("it is native");
    let round = checker.round(&beginning).expect("it is a state of the toy");
    for prediction in &round.predictions {
        let origin = Origin::States(Arc::clone(&beginning));
        trace::confirm(toy, &scenario, &origin, &prediction.steps, &prediction.finding).expect("it replays");
    }
    !round.predictions.is_empty()
}

/// The frames sent by a node that runs the same protocol.
fn sent(toy: &Arc<Toy>, network: Network) -> Vec<Vec<u8>> {
    let mut node = Node::start(toy, identity(0, 1), settings(network), Open, None, Time(0)).expect("it starts");
    let mut sent = Vec::new();
    for second in 0..3 {
        node.elapse(Time(second * 1_000_000_000));
        while let Some(output) = node.next_output() {
            match output {
                Output::Persist { ticket, .. } => node.persisted(ticket),
                Output::Send { frame, .. } => sent.push(frame),
                _ => {}
            }
        }
    }
    sent
}

/// On each network the longest message is sent, accepted, and no finding; a message one byte longer is a finding, never leaves a node,
/// and is refused by a node if another program sends it.
#[test]
fn what_is_too_long_in_a_search_is_too_long_in_a_node() {
    for network in Network::ALL {
        let max = network.message_max();
        let (longest, longer) = (speaker(max), speaker(max + 1));
        assert!(!is_a_finding(&longest, network) && is_a_finding(&longer, network), "{network}");
        assert_eq!(sent(&longer, network), Vec::<Vec<u8>>::new(), "{network}");
        let frames = sent(&longest, network);
        assert!(frames.len() == 1 && frames[0].len() <= longest_frame(network), "{network}");
        let other = Arc::new(Toy::new(2));
        let mut node = Node::start(&other, identity(1, 2), settings(network), Open, None, Time(0)).expect("it starts");
        assert_eq!(node.receive(Time(0), &frames[0]), Ok(()), "{network}");
        let header = Header { number: 1, incarnation: 1, addressee: 0, acknowledged: None };
        let packet = Packet { header, body: Body::Message { sequence: 2, payload: vec![1; max + 1] } };
        let forged = super::pair::encode(&identity(0, 1), 1, &packet);
        assert_eq!(node.receive(Time(0), &forged), Err(Refusal::TooLong), "{network}");
    }
}

/// A checkpoint longer than a datagram is answered by a packet that reports this, and counted: otherwise the requesting node would wait
/// for a lost frame.
#[test]
fn a_checkpoint_that_no_datagram_holds_is_not_sent() {
    for (network, is_sent) in [(Network::Ordered, true), (Network::Unordered, false)] {
        let mut node = Node::start(&Arc::new(Toy::new(2)), identity(0, 1), settings(network), Open, None, Time(0))
            .expect("it starts");
        let mut dice = host_model::toys::Dice(1);
        let content = (0..70_000).map(|_| dice.below(256) as u8).collect();
        let checkpoint = Checkpoint { number: 1, incarnation: 1, content, channels: [].into() };
        let header = Header { number: 1, incarnation: 1, addressee: 1, acknowledged: None };
        node.post(1, &Packet { header, body: Body::Answer { request: 1, checkpoint: Box::new(checkpoint) } });
        let counts = node.counts();
        assert_eq!((counts.checkpoints, counts.checkpoints_capped), (is_sent.into(), (!is_sent).into()));
    }
}
