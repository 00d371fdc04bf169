//! Single executions, with and without the bugs.

use guest_sdk::test::{Cluster, InFlight};
use guest_sdk::{NodeId, Request, Response};
use raft_kv::{Entry, Message, Operation, Raft, RaftKv, Role};

fn cluster(parameters: &[(&str, &str)]) -> Cluster<RaftKv> {
    Cluster::new(3, parameters).expect("the parameters are known")
}

/// Node `candidate` leads in the next term, and all nodes know.
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

/// With an empty log, a node that has missed everything receives the store.
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
        assert_eq!(cluster.state(2).disk.store.items.get("color").map(|item| &item.value[..]), Some(&b"blue"[..]));
        assert_eq!(installs > 0, is_store);
        assert_eq!(cluster.check(), Ok(()));
    }
}

/// The entry of a leader without followers is replaced, and its client gets no answer, or the right one.
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

/// Clients of a former leader learn that it does not lead any more.
#[test]
fn the_history_of_clients_is_judged() {
    let run = |bug: &str| {
        let mut cluster = cluster(&[("terms", "2"), ("records", "true"), ("requests", "2"), ("bug", bug)]);
        elect(&mut cluster, 0);
        cluster.happen(0, "put");
        if bug == "read-local" {
            cluster.settle();
        } else {
            // Its client may have been answered; no other node knows of it.
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

/// A read with `reads=index` adds no entry, is answered once a majority has confirmed the leader, and shares a round with others.
#[test]
fn reads_by_index_wait_for_a_majority_and_add_no_entry() {
    let mut cluster = cluster(&[("reads", "index"), ("kept", "9")]);
    elect(&mut cluster, 0);
    assert_eq!(answered(&mut cluster, 0, put("/color", "red")), Response::new(204));
    let last = cluster.state(0).disk.log.last();
    let first = cluster.request(0, get("/color"));
    let others = [cluster.request(0, get("/color")), cluster.request(0, get("/size"))];
    let confirms = |cluster: &Cluster<RaftKv>| {
        let is_one =
            |flight: &&InFlight<Message>| matches!(flight.message, Message::Raft { what: Raft::Confirm(_), .. });
        cluster.in_flight().iter().filter(is_one).count()
    };
    assert_eq!((confirms(&cluster), cluster.response(first)), (2, None));
    cluster.deliver_where(|flight| flight.to == 1);
    assert_eq!(cluster.response(first), None);
    cluster.deliver_where(|flight| flight.from == 1);
    assert_eq!(cluster.response(first), Some(&Response::new(200).body("red")));
    // The other node still has to confirm the first round; both have to confirm that of the others.
    assert_eq!((confirms(&cluster), cluster.response(others[0])), (3, None));
    cluster.settle();
    assert_eq!(cluster.response(others[0]), Some(&Response::new(200).body("red")));
    assert_eq!(cluster.response(others[1]).map(|response| response.status), Some(404));
    assert_eq!(cluster.state(0).disk.log.last(), last);
    assert_eq!(cluster.check(), Ok(()));
}

/// A leader asks again with each heartbeat, and tells its clients when it leads no more.
#[test]
fn reads_by_index_survive_losses_and_end_with_the_leader() {
    let mut cluster = cluster(&[("reads", "index"), ("heartbeats", "true"), ("terms", "2")]);
    elect(&mut cluster, 0);
    let read = cluster.request(0, get("/color"));
    cluster.lose_all();
    cluster.happen(0, "heartbeat");
    cluster.settle();
    assert_eq!(cluster.response(read).map(|response| response.status), Some(404));
    let (read, waiting) = (cluster.request(0, get("/color")), cluster.request(0, get("/color")));
    cluster.lose_all();
    elect(&mut cluster, 1);
    for number in [read, waiting] {
        assert_eq!(cluster.response(number).map(|response| response.status), Some(503));
    }
    assert_eq!(cluster.check(), Ok(()));
}

/// With `batches`, a node gets one message for all that came before its answer; the third heartbeat repeats what was lost.
#[test]
fn a_batch_has_what_came_before_the_answer() {
    let mut cluster = cluster(&[("batches", "true"), ("heartbeats", "true"), ("terms", "0"), ("kept", "9")]);
    elect(&mut cluster, 0);
    let entries = |cluster: &Cluster<RaftKv>, node: NodeId| -> Vec<usize> {
        let sent = cluster.in_flight().iter().filter(|flight| flight.to == node);
        sent.filter_map(|flight| match &flight.message {
            Message::Raft { what: Raft::Append { entries, .. }, .. } => Some(entries.len()),
            _ => None,
        })
        .collect()
    };
    let numbers: Vec<u64> = (0..5).map(|key| cluster.request(0, put(&format!("/{key}"), "x"))).collect();
    assert_eq!(entries(&cluster, 1), [1]);
    cluster.deliver_where(|flight| flight.to == 1);
    cluster.deliver_where(|flight| flight.from == 1);
    assert_eq!((entries(&cluster, 1), entries(&cluster, 2)), (vec![4], vec![1]));
    assert_eq!(cluster.response(numbers[0]), Some(&Response::new(204)));
    cluster.lose_all();
    for heartbeat in 1..=3 {
        cluster.happen(0, "heartbeat");
        let repeated = if heartbeat == 3 { (vec![4], vec![5]) } else { (vec![0], vec![0]) };
        assert_eq!((entries(&cluster, 1), entries(&cluster, 2)), repeated, "{heartbeat}");
        cluster.settle();
    }
    assert!(numbers.iter().all(|number| cluster.response(*number) == Some(&Response::new(204))));
    assert_eq!(cluster.check(), Ok(()));
}

/// A node that owes an answer for a store hears the leader with each heartbeat, and the store again with the third one. Its answers
/// confirm no read.
#[test]
fn a_node_that_gets_a_store_hears_the_leader() {
    let sends = [("batches", "true"), ("reads", "index")];
    let mut cluster = behind("0", 3, &sends);
    let to_two = |cluster: &Cluster<RaftKv>| -> Vec<Raft> {
        let sent = cluster.in_flight().iter().filter(|flight| flight.to == 2);
        sent.filter_map(|flight| match &flight.message {
            Message::Raft { what, .. } => Some(what.clone()),
            Message::Returned(_) | Message::Repeated { .. } => None,
        })
        .collect()
    };
    // The leader learns by a late answer that the node lacks everything, and sends the first piece.
    (0..3).for_each(|_| cluster.happen(0, "heartbeat"));
    while !to_two(&cluster).iter().any(|what| matches!(what, Raft::Install { .. })) {
        cluster.deliver(0);
    }
    cluster.lose_all();
    let read = cluster.request(0, get("/00"));
    cluster.lose_all();
    for heartbeat in 1..=3 {
        cluster.happen(0, "heartbeat");
        let sent = to_two(&cluster);
        let is_store = matches!(sent[0], Raft::Install { .. });
        assert_eq!((is_store, is_store || sent[0] == Raft::Confirm(0)), (heartbeat == 3, true), "{sent:?}");
        if !is_store {
            let restarted = cluster.restarted().len();
            let is_alive = |flight: &InFlight<Message>| {
                flight.to == 2 && matches!(flight.message, Message::Raft { what: Raft::Confirm(0), .. })
            };
            cluster.deliver_where(is_alive);
            assert!(cluster.restarted().len() > restarted);
            cluster.deliver_where(|flight| flight.from == 2);
            assert_eq!(cluster.response(read), None);
        }
        cluster.lose_all();
    }
}

/// With `pipeline`, a leader sends new entries before the answer to others; each entry once, also if answers come late or in any order.
#[test]
fn a_pipeline_sends_each_entry_once() {
    let parameters = [("batches", "true"), ("pipeline", "3"), ("heartbeats", "true"), ("terms", "0")];
    let mut cluster = cluster(&parameters);
    elect(&mut cluster, 0);
    let numbers: Vec<u64> = (0..6).map(|key| cluster.request(0, put(&format!("/{key}"), "x"))).collect();
    cluster.happen(0, "heartbeat");
    let entries = |cluster: &Cluster<RaftKv>| -> Vec<usize> {
        let sent = cluster.in_flight().iter().filter(|flight| flight.to == 1);
        sent.filter_map(|flight| match &flight.message {
            Message::Raft { what: Raft::Append { entries, .. }, .. } => Some(entries.len()),
            _ => None,
        })
        .collect()
    };
    assert_eq!(entries(&cluster), [1, 1, 1, 0]);
    // The later ones arrive before the first one, and are not taken; nothing is sent again for that.
    for _ in 0..2 {
        let last =
            cluster.in_flight().iter().rposition(|flight| flight.to == 1 && appends(flight)).expect("it is sent");
        cluster.deliver(last);
    }
    cluster.deliver_where(|flight| flight.to == 1);
    cluster.deliver_where(|flight| flight.to == 1);
    while let Some(index) = cluster.in_flight().iter().position(|flight| flight.from == 1) {
        cluster.deliver(index);
    }
    // The first two are confirmed, and the rest follows as one message.
    assert_eq!(entries(&cluster), [3]);
    cluster.settle();
    (0..3).for_each(|_| cluster.happen(0, "heartbeat"));
    cluster.settle();
    assert!(numbers.iter().all(|number| cluster.response(*number) == Some(&Response::new(204))));
    assert_eq!(cluster.state(1).disk.log.last(), cluster.state(0).disk.log.last());
    assert_eq!(cluster.check(), Ok(()));
}

/// All executions of two nodes with reads by index and batches, and the mistake that comes with these reads.
#[test]
fn every_state_of_two_nodes_that_read_by_index_is_well() {
    for (terms, resets, bug, pipeline) in [("1", 1, "none", "1"), ("1", 1, "none", "2"), ("2", 0, "read-early", "1")] {
        let sends = [("reads", "index"), ("batches", "true"), ("pipeline", pipeline)];
        let parameters = [&[("terms", terms), ("records", "true"), ("bug", bug)][..], &sends].concat();
        let cluster = Cluster::<RaftKv>::new(2, &parameters).expect("the parameters are known");
        let explored = cluster.with_resets(resets).explore(200_000);
        let broken = explored.broken.map(|broken| format!("{broken:?}"));
        assert_eq!(broken.is_some_and(|why| why.contains("linearizable")), bug != "none", "{terms} {bug} {pipeline}");
    }
}

/// Numbers that look random, the same in every run.
fn next(seed: &mut u64) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as usize
}

/// Bytes of the keys and values in a message.
fn bytes(message: &Message) -> usize {
    let of_entry = |entry: &Entry| match entry.command.as_ref().map(|command| &command.operation) {
        Some(Operation::Put(key, value)) => key.len() + value.len(),
        _ => 0,
    };
    match message {
        Message::Raft { what: Raft::Append { entries, .. }, .. } => entries.iter().map(of_entry).sum(),
        Message::Raft { what: Raft::Install { store, .. }, .. } => {
            store.items.iter().map(|(key, item)| key.len() + item.value.len()).sum()
        }
        _ => 0,
    }
}

/// Bytes of a piece, where values are as long as two thirds of one.
const PIECE: usize = 150;

/// Node 2 has missed what the others have committed, some values, and is back.
fn behind(kept: &str, values: usize, sends: &[(&str, &str)]) -> Cluster<RaftKv> {
    let piece = PIECE.to_string();
    let parameters = [("terms", "0"), ("kept", kept), ("heartbeats", "true"), ("piece", &piece)];
    let mut cluster = cluster(&[&parameters[..], sends].concat());
    elect(&mut cluster, 0);
    for number in 0..values {
        cluster.request(0, put(&format!("/{number:02}"), &"x".repeat(100)));
        while let Some(index) = cluster.in_flight().iter().position(|flight| flight.to != 2 && flight.from != 2) {
            cluster.deliver(index);
        }
        cluster.lose_all();
    }
    cluster
}

/// Messages are delivered in any order, and sometimes lost or repeated; a leader repeats those that may have been lost.
fn catch_up(cluster: &mut Cluster<RaftKv>, seed: u64) {
    let mut seed = seed;
    for step in 0..20_000 {
        let [leader, behind] = [0, 2].map(|node| &cluster.state(node).disk);
        if (leader.commit, &leader.store) == (behind.commit, &behind.store) {
            return;
        }
        let flights = cluster.in_flight();
        assert!(flights.iter().all(|flight| bytes(&flight.message) <= PIECE), "{step}");
        match (flights.len(), next(&mut seed) % 10) {
            (0, _) => cluster.happen(0, "heartbeat"),
            (count, 0) => cluster.lose(next(&mut seed) % count),
            (count, 1) if count < 20 => cluster.duplicate(next(&mut seed) % count),
            (count, 2) if count < 20 => cluster.happen(0, "heartbeat"),
            (count, _) => cluster.deliver(next(&mut seed) % count),
        }
        if step % 16 == 0 {
            assert_eq!(cluster.check(), Ok(()));
        }
    }
    panic!("node 2 does not catch up");
}

/// More than one message may have, in a log and in a store, over a network that loses, repeats and swaps.
#[test]
fn a_node_that_is_far_behind_catches_up_by_messages_of_bounded_length() {
    let rows = [("0", 21), ("100", 21), ("0", 1), ("5", 8)];
    let sends = [&[][..], &[("batches", "true")], &[("batches", "true"), ("pipeline", "3")]];
    for ((kept, values), sends) in rows.into_iter().flat_map(|row| sends.map(|sends| (row, sends))) {
        for seed in 0..3 {
            let mut cluster = behind(kept, values, sends);
            catch_up(&mut cluster, seed);
            assert_eq!(cluster.check(), Ok(()));
            assert_eq!(cluster.state(2).disk.store.items.len(), values);
            assert_eq!(cluster.state(2).incoming, None);
        }
    }
}

/// Each loss, repetition and order of the pieces of a store is tried, up to a number of states; and a node that forgets what it has.
#[test]
fn every_order_of_the_pieces_of_a_store_is_well() {
    let mut cluster = cluster(&[("piece", "1"), ("requests", "0")]);
    elect(&mut cluster, 0);
    for key in ["/a", "/b"] {
        cluster.request(0, put(key, "x"));
        while let Some(index) = cluster.in_flight().iter().position(|flight| flight.to != 2 && flight.from != 2) {
            cluster.deliver(index);
        }
        cluster.lose_all();
    }
    cluster.request(0, get("/a"));
    cluster.deliver_where(|flight| flight.to == 2);
    cluster.deliver_where(|flight| flight.from == 2);
    let flights = cluster.in_flight().len();
    (0..flights).for_each(|index| cluster.duplicate(index));
    assert!(cluster.state(2).incoming.is_some(), "{:?}", cluster.state(2));
    let mut forgets = cluster.clone();
    forgets.reset(2);
    for cluster in [cluster, forgets] {
        let explored = cluster.explore(20_000);
        assert_eq!(explored.broken, None);
        assert!(explored.global_states > 20, "{explored:?}");
    }
}

/// The store is refused what it has no room for, and takes it again once there is.
#[test]
fn a_store_that_is_full_says_so_and_lives() {
    let mut cluster = cluster(&[("room", "200000"), ("kept", "9")]);
    elect(&mut cluster, 0);
    let value = "x".repeat(1 << 16);
    let statuses: Vec<u16> =
        (0..5).map(|key| answered(&mut cluster, 0, put(&format!("/{key}"), &value)).status).collect();
    assert_eq!(statuses, [204, 204, 204, 507, 507]);
    assert_eq!(answered(&mut cluster, 0, get("/0")).status, 200);
    assert_eq!(answered(&mut cluster, 0, Request::new("DELETE", "/0")).status, 204);
    assert_eq!(answered(&mut cluster, 0, put("/9", &value)).status, 204);
    // The entries that stay for others use no more than half of the room.
    let entries = cluster.state(0).disk.log.after(cluster.state(0).disk.log.base().index);
    assert!(entries.len() < 9, "{}", entries.len());
}

/// Delivers what is in flight, but for what a cut takes: from one node to another.
fn settle_but(cluster: &mut Cluster<RaftKv>, is_cut: impl Fn(NodeId, NodeId) -> bool) {
    while !cluster.in_flight().is_empty() {
        let flight = &cluster.in_flight()[0];
        if is_cut(flight.from, flight.to) { cluster.lose(0) } else { cluster.deliver(0) }
    }
}

const STEADY: [(&str, &str); 4] =
    [("terms", "0"), ("heartbeats", "true"), ("steps-down", "true"), ("pre-vote", "true")];

/// Others hear the leader, which hears none of them: it gives up, they elect another one, and its requests disturb no node.
#[test]
fn a_leader_that_hears_no_node_steps_down_and_another_one_answers() {
    let mut cluster = cluster(&STEADY);
    elect(&mut cluster, 0);
    let is_cut = |from: NodeId, to: NodeId| to == 0 && from != 0;
    // It hears all that was sent before.
    cluster.happen(0, "check");
    assert!(matches!(cluster.state(0).role, Role::Leader { .. }));
    cluster.happen(0, "heartbeat");
    settle_but(&mut cluster, is_cut);
    cluster.happen(0, "check");
    assert_eq!(cluster.state(0).role, Role::Follower { leader: None });
    assert!(cluster.log().iter().any(|line| line.starts_with("steps down as leader of term 1")), "{:?}", cluster.log());
    // The first one asks while the other one still hears the leader of before, as far as it knows.
    for node in [1, 2] {
        cluster.happen(node, "timeout");
        settle_but(&mut cluster, is_cut);
    }
    assert!(matches!(cluster.state(2).role, Role::Leader { .. }), "{:?}", cluster.state(2));
    let number = cluster.request(2, put("/color", "red"));
    settle_but(&mut cluster, is_cut);
    assert_eq!(cluster.response(number), Some(&Response::new(204)));
    let term = cluster.state(2).disk.term;
    for _ in 0..3 {
        cluster.happen(0, "timeout");
        cluster.happen(2, "heartbeat");
        settle_but(&mut cluster, is_cut);
        cluster.happen(2, "check");
    }
    assert_eq!((cluster.state(2).disk.term, matches!(cluster.state(2).role, Role::Leader { .. })), (term, true));
    assert_eq!(cluster.check(), Ok(()));
}

/// A node that hears no leader and is heard by the others does not end the term of the leader that these hear.
#[test]
fn a_node_that_does_not_hear_the_leader_disturbs_no_node() {
    for (pre_vote, term) in [("true", 1), ("false", 3)] {
        let mut cluster = cluster(&[("terms", "0"), ("heartbeats", "true"), ("pre-vote", pre_vote)]);
        elect(&mut cluster, 0);
        let is_cut = |from: NodeId, to: NodeId| from != 2 && to == 2;
        for _ in 0..2 {
            cluster.happen(2, "timeout");
            settle_but(&mut cluster, is_cut);
        }
        assert_eq!(cluster.state(0).disk.term, term);
        assert_eq!(matches!(cluster.state(0).role, Role::Leader { .. }), pre_vote == "true");
    }
}

/// All executions of two nodes that step down and ask before they stand.
#[test]
fn every_state_of_two_steady_nodes_is_well() {
    let parameters = [("requests", "0"), ("steps-down", "true"), ("pre-vote", "true")];
    let cluster = Cluster::<RaftKv>::new(2, &parameters).expect("the parameters are known");
    let explored = cluster.with_resets(1).explore(100_000);
    assert_eq!(explored.broken, None);
}
