//! Single executions, with and without the bugs.

use guest_sdk::test::{Cluster, InFlight};
use guest_sdk::{NodeId, Request, Response};
use raft_kv::{Message, Raft, RaftKv, Role};

fn cluster(parameters: &[(&str, &str)]) -> Cluster<RaftKv> {
    Cluster::new(3, parameters).expect("the parameters are known")
}

/// Node `candidate` leads in the next term, and everybody knows.
fn elect(cluster: &mut Cluster<RaftKv>, candidate: NodeId) {
    cluster.happen(candidate, "timeout");
    cluster.settle();
    assert!(matches!(cluster.state(candidate).role, Role::Leader { .. }), "{:?}", cluster.state(candidate));
}

fn get(key: &str) -> Request {
    Request::new("GET", key)
}

fn put(key: &str, value: &str) -> Request {
    Request::new("PUT", key).body(value)
}

/// The answer once everything is delivered.
fn answered(cluster: &mut Cluster<RaftKv>, node: NodeId, request: Request) -> Response {
    let number = cluster.request(node, request);
    cluster.settle();
    cluster.response(number).expect("there is an answer").clone()
}

#[test]
fn a_value_is_written_read_and_deleted() {
    let mut cluster = cluster(&[]);
    assert_eq!(answered(&mut cluster, 1, get("/color")).status, 503);
    elect(&mut cluster, 1);
    assert_eq!(answered(&mut cluster, 1, get("/color")).status, 404);
    assert_eq!(answered(&mut cluster, 1, put("/color", "red")), Response::new(204));
    assert_eq!(answered(&mut cluster, 1, get("/color")), Response::new(200).body("red"));
    assert_eq!(answered(&mut cluster, 1, Request::new("DELETE", "/color")), Response::new(204));
    assert_eq!(answered(&mut cluster, 1, get("/color")).status, 404);
    assert_eq!(cluster.check(), Ok(()));
}

#[test]
fn who_does_not_lead_says_who_does() {
    let mut cluster = cluster(&[]);
    elect(&mut cluster, 2);
    assert_eq!(answered(&mut cluster, 0, put("/color", "red")), Response::ask(2));
    for (request, status) in [
        (get("/"), 404),
        (Request::new("POST", "/color"), 405),
        (put("/color", &"x".repeat(65_537)), 413),
        (get(&"/".repeat(300)), 404),
        (get(&format!("/{}", "x".repeat(257))), 413),
    ] {
        assert_eq!(answered(&mut cluster, 2, request).status, status);
    }
}

/// Nothing is answered before a majority has it, and nothing that was answered is lost with its leader.
#[test]
fn an_answer_waits_for_a_majority_and_survives_resets_of_all() {
    let mut cluster = cluster(&[("terms", "2")]);
    elect(&mut cluster, 0);
    let number = cluster.request(0, put("/color", "red"));
    assert_eq!(cluster.response(number), None);
    cluster.deliver_where(|flight| flight.to == 1 && appends(flight));
    assert_eq!(cluster.response(number), None);
    cluster.deliver_where(|flight| flight.from == 1);
    assert_eq!(cluster.response(number), Some(&Response::new(204)));
    cluster.lose_all();
    (0..3).for_each(|node| cluster.reset(node));
    elect(&mut cluster, 1);
    assert_eq!(answered(&mut cluster, 1, get("/color")), Response::new(200).body("red"));
}

fn appends(flight: &InFlight<Message>) -> bool {
    matches!(&flight.message, Message::Raft { what: Raft::Append { .. }, .. })
}

/// With an empty log a node that has missed everything gets the store.
#[test]
fn a_node_that_is_behind_gets_the_store_and_no_entry() {
    for (kept, is_store) in [("0", true), ("9", false)] {
        let mut cluster = cluster(&[("kept", kept)]);
        elect(&mut cluster, 0);
        for value in ["red", "blue"] {
            cluster.request(0, put("/color", value));
            while let Some(index) = cluster.in_flight().iter().position(|flight| flight.to != 2 && flight.from != 2) {
                cluster.deliver(index);
            }
            cluster.lose_all();
        }
        cluster.request(0, get("/color"));
        let mut installs = 0;
        while !cluster.in_flight().is_empty() {
            installs +=
                usize::from(matches!(cluster.in_flight()[0].message, Message::Raft { what: Raft::Install { .. }, .. }));
            cluster.deliver(0);
        }
        assert_eq!(cluster.state(2).disk.store.get("color"), Some(&b"blue".to_vec()));
        assert_eq!(installs > 0, is_store);
        assert_eq!(cluster.check(), Ok(()));
    }
}

/// The entry of a leader that nobody follows any more is replaced, and its client gets no answer, or the right one.
#[test]
fn a_leader_that_was_overtaken_answers_nothing_that_did_not_happen() {
    let mut cluster = cluster(&[("terms", "2"), ("kept", "9")]);
    elect(&mut cluster, 0);
    let lost = cluster.request(0, put("/color", "red"));
    cluster.lose_all();
    cluster.happen(1, "timeout");
    while let Some(index) = cluster.in_flight().iter().position(|flight| flight.to != 0 && flight.from != 0) {
        cluster.deliver(index);
    }
    cluster.settle();
    assert_eq!(answered(&mut cluster, 1, get("/color")).status, 404);
    assert_eq!(cluster.response(lost), None);
    assert_eq!(cluster.check(), Ok(()));
}

/// Node 2 has missed what is committed and asks node 1, which has it, for its vote.
#[test]
fn who_is_behind_leads_only_if_logs_are_not_compared() {
    for (bug, leads) in [("none", false), ("no-log-check", true)] {
        let mut cluster = cluster(&[("terms", "2"), ("bug", bug)]);
        elect(&mut cluster, 0);
        cluster.request(0, put("/color", "red"));
        while let Some(index) = cluster.in_flight().iter().position(|flight| flight.to != 2 && flight.from != 2) {
            cluster.deliver(index);
        }
        cluster.lose_all();
        cluster.happen(2, "timeout");
        while let Some(index) = cluster.in_flight().iter().position(|flight| flight.to != 0 && flight.from != 0) {
            cluster.deliver(index);
        }
        assert_eq!(matches!(cluster.state(2).role, Role::Leader { .. }), leads, "{bug}");
        let broken = cluster.check().err();
        assert_eq!(broken.is_some_and(|why| why.starts_with("leader-completeness")), leads, "{bug}");
    }
}

/// Whoever had asked a leader that does not lead any more is told so.
#[test]
fn the_history_of_clients_is_judged() {
    let run = |bug: &str| {
        let mut cluster = cluster(&[("terms", "2"), ("records", "true"), ("requests", "2"), ("bug", bug)]);
        elect(&mut cluster, 0);
        cluster.happen(0, "put");
        if bug == "read-local" {
            cluster.settle();
        } else {
            // Its client may have been answered; nobody else has heard of it.
            let told = |flight: &InFlight<Message>| matches!(flight.message, Message::Returned(_));
            while let Some(index) = cluster.in_flight().iter().position(|flight| flight.to == 1 && told(flight)) {
                cluster.deliver(index);
            }
            cluster.lose_all();
        }
        cluster.happen(1, "timeout");
        while let Some(index) = cluster.in_flight().iter().position(|flight| flight.to != 0 && flight.from != 0) {
            cluster.deliver(index);
        }
        cluster.lose_all();
        let (one, other) = if bug == "read-local" { ("put", 0) } else { ("get", 1) };
        cluster.happen(1, one);
        while let Some(index) = cluster
            .in_flight()
            .iter()
            .position(|flight| flight.to != 0 && flight.from != 0 || matches!(flight.message, Message::Returned(_)))
        {
            cluster.deliver(index);
        }
        if other == 0 {
            cluster.happen(0, "get");
        }
        cluster.check()
    };
    assert_eq!(run("none"), Ok(()));
    for bug in ["read-local", "answer-early"] {
        let broken = run(bug).expect_err(bug);
        assert!(broken.starts_with("linearizable"), "{bug}: {broken}");
    }
}

/// All executions of two nodes: with what a log keeps and without.
#[test]
fn every_state_of_two_nodes_is_well() {
    for kept in ["0", "9"] {
        let parameters = [("terms", "1"), ("records", "true"), ("kept", kept)];
        let cluster = Cluster::<RaftKv>::new(2, &parameters).expect("the parameters are known");
        let explored = cluster.with_resets(1).explore(200_000);
        assert_eq!(explored.broken, None, "kept {kept}");
    }
}
