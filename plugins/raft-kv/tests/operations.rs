//! Requests of operators: status, readiness, and leaders that hand over.

use guest_sdk::test::{Cluster, InFlight};
use guest_sdk::{NodeId, Request, Response};
use raft_kv::{Message, Raft, RaftKv, Role};

fn cluster(parameters: &[(&str, &str)]) -> Cluster<RaftKv> {
    let mut cluster = Cluster::new(3, &[&[("terms", "9")], parameters].concat()).expect("the parameters are known");
    cluster.happen(0, "timeout");
    cluster.settle();
    assert_eq!(leaders(&cluster), [0]);
    cluster
}

/// The nodes that lead in the latest term.
fn leaders(cluster: &Cluster<RaftKv>) -> Vec<NodeId> {
    let term = (0..3).map(|node| cluster.state(node).disk.term).max();
    let leads = |node: &NodeId| {
        let state = cluster.state(*node);
        matches!(state.role, Role::Leader { .. }) && Some(state.disk.term) == term
    };
    (0..3).filter(leads).collect()
}

fn hand_over() -> Request {
    Request::new("POST", "/?hand-over")
}

fn put(value: &str) -> Request {
    Request::new("PUT", "/color").body(value)
}

fn answered(cluster: &mut Cluster<RaftKv>, node: NodeId, request: Request) -> Response {
    let number = cluster.request(node, request);
    cluster.settle();
    cluster.response(number).expect("there is an answer").clone()
}

fn stands(flight: &InFlight<Message>) -> bool {
    matches!(&flight.message, Message::Raft { what: Raft::Stand, .. })
}

/// Delivers all messages but those to these nodes, which are lost.
fn settle_without(cluster: &mut Cluster<RaftKv>, dead: &[NodeId]) {
    while let Some(flight) = cluster.in_flight().first() {
        match dead.contains(&flight.to) {
            true => cluster.lose(0),
            false => cluster.deliver(0),
        }
    }
}

/// No time-out happens. The write that was not committed yet is answered by the former leader, once the next one has committed it.
#[test]
fn a_leader_hands_over_and_what_it_took_is_answered() {
    let variants: [&[(&str, &str)]; 3] = [
        &[],
        &[
            ("batches", "true"),
            ("heartbeats", "true"),
            ("reads", "index"),
            ("pre-vote", "true"),
            ("steps-down", "true"),
        ],
        &[("members", "3"), ("revisions", "true")],
    ];
    for parameters in variants {
        let mut cluster = cluster(parameters);
        let (write, number) = (cluster.request(0, put("red")), cluster.request(0, hand_over()));
        let refused = cluster.request(0, put("green"));
        assert_eq!(cluster.response(refused).map(|answer| answer.status), Some(503));
        assert_eq!((cluster.response(number), cluster.response(write)), (None, None));
        cluster.settle();
        assert_eq!(cluster.response(number), Some(&Response::new(204)), "{parameters:?}");
        assert!(cluster.response(write).is_some_and(|answer| answer.status < 300), "{parameters:?}");
        let leaders = leaders(&cluster);
        assert!(leaders.len() == 1 && leaders != [0], "{leaders:?}");
        assert_eq!(answered(&mut cluster, leaders[0], Request::new("GET", "/color")), Response::new(200).body("red"));
        assert_eq!(cluster.check(), Ok(()));
    }
}

/// Node 1 has missed a write: node 2 is to lead. If neither has it, the chosen one gets it first.
#[test]
fn the_node_with_most_of_the_log_is_chosen_and_told_once_it_has_all() {
    let mut one = cluster(&[]);
    one.request(0, put("red"));
    settle_without(&mut one, &[1]);
    answered(&mut one, 0, hand_over());
    assert_eq!(leaders(&one), [2]);
    let mut both = cluster(&[]);
    both.request(0, put("red"));
    both.request(0, hand_over());
    assert!(!both.in_flight().iter().any(stands));
    both.deliver_where(|flight| flight.to == 1);
    assert!(!both.in_flight().iter().any(stands));
    both.deliver_where(|flight| flight.from == 1);
    assert!(both.in_flight().iter().any(stands));
    assert_eq!(both.check(), Ok(()));
}

/// The chosen node is dead: after three heartbeats it is the other one's turn. If that is dead, too, the leader leads on.
#[test]
fn a_node_that_does_not_take_over_makes_room_for_the_next_one() {
    for dead in [&[1][..], &[1, 2]] {
        let mut cluster = cluster(&[("heartbeats", "true"), ("batches", "true")]);
        let number = cluster.request(0, hand_over());
        let mut beats = 0;
        while cluster.response(number).is_none() {
            settle_without(&mut cluster, dead);
            if cluster.response(number).is_none() {
                cluster.happen(0, "heartbeat");
                beats += 1;
            }
        }
        assert_eq!(beats, 3 * dead.len());
        let status = cluster.response(number).expect("it is there").status;
        assert_eq!((status, leaders(&cluster)), if dead.len() == 1 { (204, vec![2]) } else { (503, vec![0]) });
        if status == 503 {
            assert!(answered(&mut cluster, 0, put("red")).status < 300);
        }
        assert_eq!(cluster.check(), Ok(()));
    }
}

/// The message is late: its sender leads no more. Another node has nothing to hand over.
#[test]
fn only_the_leader_of_a_node_tells_it_to_stand() {
    let mut cluster = cluster(&[]);
    assert_eq!(answered(&mut cluster, 1, hand_over()), Response::new(204));
    assert_eq!(leaders(&cluster), [0]);
    cluster.request(0, hand_over());
    cluster.happen(2, "timeout");
    while let Some(index) = cluster.in_flight().iter().position(|flight| !stands(flight)) {
        cluster.deliver(index);
    }
    assert_eq!(leaders(&cluster), [2]);
    let term = cluster.state(2).disk.term;
    cluster.settle();
    assert_eq!((leaders(&cluster), cluster.state(1).disk.term), (vec![2], term));
}

#[test]
fn a_node_says_its_role_its_leader_and_how_far_it_is() {
    let mut cluster = cluster(&[]);
    let status = |cluster: &mut Cluster<RaftKv>, node| {
        let answer = answered(cluster, node, Request::new("GET", "/?status"));
        assert_eq!(answer.status, 200);
        String::from_utf8(answer.body).expect("it is text")
    };
    answered(&mut cluster, 0, put("red"));
    // The entry of the term, and the write.
    let rest = "\"term\":1,\"leader\":0,\"commit\":2,\"last\":2}\n";
    assert_eq!(status(&mut cluster, 0), format!("{{\"role\":\"leader\",{rest}"));
    assert_eq!(status(&mut cluster, 1), format!("{{\"role\":\"follower\",{rest}"));
    assert_eq!(answered(&mut cluster, 1, Request::new("HEAD", "/?ready")).status, 200);
    cluster.reset(1);
    assert_eq!(answered(&mut cluster, 1, Request::new("GET", "/?ready")).status, 503);
    assert!(status(&mut cluster, 1).contains("\"leader\":null"));
    for (method, path, status) in [
        ("PUT", "/?status", 405),
        ("POST", "/?ready", 405),
        ("GET", "/?hand-over", 405),
        ("GET", "/?other", 404),
        ("POST", "/?hand-over&x", 404),
    ] {
        assert_eq!(answered(&mut cluster, 0, Request::new(method, path)).status, status, "{method} {path}");
    }
}
