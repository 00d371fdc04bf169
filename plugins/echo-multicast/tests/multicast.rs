//! Single executions, and the number of global states by an enumeration that shares no code with the host.

use echo_multicast::{EchoMulticast, Message, Receiver, State, Value};
use guest_sdk::NodeId;
use guest_sdk::test::{Cluster, Explored};

fn cluster(nodes: u32, parameters: &[(&str, &str)]) -> Cluster<EchoMulticast> {
    Cluster::new(nodes, parameters).expect("the parameters are known")
}

fn explore(nodes: u32, parameters: &[(&str, &str)]) -> Explored {
    cluster(nodes, parameters).explore(200_000)
}

fn init(cluster: &mut Cluster<EchoMulticast>, to: NodeId, value: Value) {
    cluster.deliver_where(|flight| flight.to == to && flight.message == Message::Init(value));
    if cluster.in_flight().iter().any(|flight| flight.from == to) {
        cluster.deliver_where(|flight| flight.from == to);
    }
}

fn commit(cluster: &mut Cluster<EchoMulticast>, to: NodeId, value: Value) {
    let is_of = |message: &Message| matches!(message, Message::Commit { value: committed, .. } if *committed == value);
    cluster.deliver_where(|flight| flight.to == to && is_of(&flight.message));
}

fn delivered(cluster: &Cluster<EchoMulticast>, node: NodeId) -> Option<Value> {
    match cluster.state(node) {
        State::Receiver(Receiver { delivered, .. }) => *delivered,
        _ => None,
    }
}

#[test]
fn every_node_delivers_what_a_correct_initiator_sends() {
    let mut cluster = cluster(5, &[("initiator", "correct")]);
    cluster.happen(0, "multicast");
    // Init, Echo and Commit for each of four receivers.
    assert_eq!(cluster.settle(), 3 * 4);
    assert_eq!([1, 2, 3].map(|node| delivered(&cluster, node)), [Some(0); 3]);
    assert_eq!((cluster.check(), cluster.holds("delivered")), (Ok(()), Ok(())));
}

/// Node 0 sends 0 to nodes 1 and 4, and 1 to nodes 2, 3 and 4; the last is Byzantine, too. The quorum of 1 is complete;
/// that of 0 would need one more.
fn two_values(parameters: &[(&str, &str)]) -> Cluster<EchoMulticast> {
    let mut cluster = cluster(5, parameters);
    cluster.happen(0, "multicast");
    for (node, value) in [(1, 0), (4, 0), (2, 1), (3, 1), (4, 1)] {
        init(&mut cluster, node, value);
    }
    commit(&mut cluster, 3, 1);
    cluster
}

fn is_committed(cluster: &Cluster<EchoMulticast>, value: Value) -> bool {
    let is_of = |message: &Message| matches!(message, Message::Commit { value: committed, .. } if *committed == value);
    cluster.in_flight().iter().any(|flight| is_of(&flight.message))
}

#[test]
fn only_one_value_gets_a_quorum() {
    let mut cluster = two_values(&[]);
    init(&mut cluster, 2, 0);
    init(&mut cluster, 3, 0);
    assert!(!is_committed(&cluster, 0));
    assert_eq!(cluster.check(), Ok(()));
}

#[test]
fn who_echoes_twice_breaks_agreement() {
    let disagree = "agreement: node 2 has delivered 0, node 3 has delivered 1";
    let mut twice = two_values(&[("bug", "echo-all")]);
    init(&mut twice, 2, 0);
    commit(&mut twice, 2, 0);
    assert_eq!(twice.check(), Err(disagree.to_owned()));
    let mut forgetful = two_values(&[("bug", "forget-echo")]);
    forgetful.reset(2);
    init(&mut forgetful, 2, 0);
    commit(&mut forgetful, 2, 0);
    assert_eq!(forgetful.check(), Err(disagree.to_owned()));
}

#[test]
fn an_echo_survives_a_reset() {
    let mut cluster = two_values(&[]);
    let before = cluster.state(2).clone();
    cluster.reset(2);
    assert_eq!(cluster.state(2), &before);
}

#[test]
fn a_commit_needs_signatures() {
    for (bug, value) in [("none", None), ("unchecked", Some(0))] {
        let mut cluster = cluster(5, &[("bug", bug)]);
        cluster.happen(0, "multicast");
        let forged = cluster.in_flight().iter().position(|flight| matches!(flight.message, Message::Commit { .. }));
        if let Some(forged) = forged {
            cluster.deliver(forged);
        }
        assert_eq!(delivered(&cluster, 1), value, "{bug}");
    }
}

#[test]
fn numbers_that_do_not_fit_are_refused() {
    assert!(Cluster::<EchoMulticast>::new(3, &[("byzantine", "3")]).is_err());
    assert!(Cluster::<EchoMulticast>::new(3, &[("tolerated", "2")]).is_err());
}

/// The counts here and in the scenarios are those of an enumeration of the same model in another language, written from the
/// README.
#[test]
fn three_receivers() {
    let found = explore(4, &[]);
    assert_eq!((found.global_states, found.transitions, found.broken), (898, 3_161, None));
}

#[test]
fn four_receivers() {
    let found = explore(5, &[]);
    assert_eq!((found.global_states, found.transitions, found.broken), (18_442, 89_083, None));
}

#[test]
fn four_receivers_and_a_correct_initiator() {
    let found = explore(5, &[("initiator", "correct")]);
    assert_eq!((found.global_states, found.transitions, found.broken), (262, 721, None));
    // `multicast`; Init, Echo and Commit for each receiver.
    assert_eq!(found.depth, 1 + 3 * 4);
}

/// Two of four receivers lie where the quorum tolerates one, so quorums may have only liars in common. With three receivers a majority is
/// two, and one liar is in both.
#[test]
fn quorums_must_share_a_correct_receiver() {
    assert!(explore(5, &[("byzantine", "2")]).broken.is_some());
    assert!(explore(4, &[("bug", "majority")]).broken.is_some());
    assert_eq!(explore(5, &[("bug", "majority")]).broken, None);
}

/// The same enumeration where the initiator takes three echoes of one value at once, and leaves others in flight.
#[test]
fn quorums_are_taken_at_once() {
    for (nodes, initiator, expected) in
        [(5, "correct", (145, 361)), (4, "byzantine", (229, 661)), (5, "byzantine", (5_365, 23_125))]
    {
        let found = explore(nodes, &[("quorum", "on"), ("initiator", initiator)]);
        assert_eq!((found.global_states, found.transitions), expected, "{nodes} nodes, {initiator}");
        assert_eq!(found.broken, None);
    }
}
