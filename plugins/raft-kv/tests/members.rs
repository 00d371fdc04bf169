//! Changes of the members: by hand, over HTTP, and among losses, resets and elections.

use guest_sdk::test::Cluster;
use guest_sdk::{NodeId, Request, Response};
use raft_kv::{Local, Message, Raft, RaftKv, Role};

/// Four nodes, three of them members, and node 0 leads.
fn cluster(parameters: &[(&str, &str)]) -> Cluster<RaftKv> {
    let parameters = [&[("terms", "0"), ("members", "3")], parameters].concat();
    let mut cluster = Cluster::new(4, &parameters).expect("the parameters are known");
    elect(&mut cluster, 0);
    cluster
}

fn elect(cluster: &mut Cluster<RaftKv>, candidate: NodeId) {
    cluster.happen(candidate, "timeout");
    cluster.settle();
    assert!(leads(cluster, candidate), "{:?}", cluster.state(candidate));
}

fn leads(cluster: &Cluster<RaftKv>, node: NodeId) -> bool {
    matches!(cluster.state(node).role, Role::Leader { .. })
}

fn ask(cluster: &mut Cluster<RaftKv>, node: NodeId, method: &str, path: &str) -> u64 {
    cluster.request(node, Request::new(method, path).body("red"))
}

fn answer_of(response: Option<&Response>) -> (u16, String) {
    let Response { status, body, .. } = response.expect("there is an answer").clone();
    (status, String::from_utf8(body).expect("it is text"))
}

/// The answer once everything is delivered.
fn asked(cluster: &mut Cluster<RaftKv>, node: NodeId, method: &str, path: &str) -> (u16, String) {
    let number = ask(cluster, node, method, path);
    cluster.settle();
    answer_of(cluster.response(number))
}

fn members(nodes: &str) -> (u16, String) {
    (200, format!("{{\"members\":[{nodes}]}}\n"))
}

/// The members by the newest entry of a node's log.
fn newest(cluster: &Cluster<RaftKv>, node: NodeId) -> Vec<NodeId> {
    let disk = &cluster.state(node).disk;
    let entries = disk.log.after(disk.commit).iter().rev();
    let in_log = entries.filter_map(|entry| entry.command.as_ref()).find_map(|command| match &command.operation {
        raft_kv::Operation::Configure(members) => Some(members),
        _ => None,
    });
    in_log.or(disk.store.members.as_ref()).expect("it has members").nodes.iter().copied().collect()
}

/// Delivers what is in flight, but for what is sent by or to these nodes.
fn settle_without(cluster: &mut Cluster<RaftKv>, nodes: &[NodeId]) {
    let is_free = |node: NodeId| !nodes.contains(&node);
    while let Some(index) = cluster.in_flight().iter().position(|flight| is_free(flight.from) && is_free(flight.to)) {
        cluster.deliver(index);
    }
}

/// One node takes the place of the leader, with the parameters of a running cluster and with logs that keep nothing.
#[test]
fn a_new_node_takes_the_place_of_the_leader() {
    let running = [("heartbeats", "true"), ("steps-down", "true"), ("pre-vote", "true"), ("batches", "true")];
    let running =
        [&running[..], &[("reads", "index"), ("revisions", "true"), ("sessions", "9"), ("piece", "40")]].concat();
    for parameters in [&running[..], &[], &[("kept", "100")]] {
        let mut cluster = cluster(parameters);
        for key in ["/a", "/b", "/c"] {
            assert!(asked(&mut cluster, 0, "PUT", key).0 < 300);
        }
        assert_eq!(asked(&mut cluster, 0, "GET", "/members"), members("0,1,2"));
        assert_eq!(asked(&mut cluster, 3, "GET", "/members").0, 503);
        assert_eq!(asked(&mut cluster, 0, "PUT", "/members/3"), members("0,1,2,3"));
        assert_eq!(asked(&mut cluster, 0, "PUT", "/members/3"), members("0,1,2,3"));
        assert_eq!(asked(&mut cluster, 0, "DELETE", "/members/0"), members("1,2,3"));
        assert!(!leads(&cluster, 0));
        // The members have a majority without a node that is none.
        cluster.lose_all();
        assert!(!cluster.local_events(0).iter().any(|event| event.name == "timeout") || parameters == running);
        // A node hears of no leader before it stands.
        for node in [1, 2] {
            if cluster.local_events(node).iter().any(|event| event.name == "timeout") {
                cluster.happen(node, "timeout");
                settle_without(&mut cluster, &[0]);
            }
        }
        let leader = (1..3).find(|node| leads(&cluster, *node)).expect("a member leads");
        settle_without(&mut cluster, &[0, 3 - leader]);
        let number = ask(&mut cluster, leader, "PUT", "/d");
        settle_without(&mut cluster, &[0, 3 - leader]);
        assert!(answer_of(cluster.response(number)).0 < 300);
        assert_eq!(cluster.state(3).disk.store.items.len(), if parameters == running { 3 } else { 4 });
        assert_eq!(asked(&mut cluster, leader, "GET", "/members"), members("1,2,3"));
        assert_eq!(cluster.check(), Ok(()));
    }
}

/// A node that is no member does not stand for election, and its requests for votes would not count.
#[test]
fn a_node_that_is_no_member_does_not_stand() {
    let mut cluster = cluster(&[]);
    assert!(cluster.local_events(3).is_empty(), "{:?}", cluster.local_events(3));
    assert_eq!(asked(&mut cluster, 0, "DELETE", "/members/2"), members("0,1"));
    assert!(cluster.local_events(2).is_empty(), "{:?}", cluster.local_events(2));
    // With heartbeats, it forgets a leader that it does not hear, and stands for no election.
    let mut cluster = self::cluster(&[("heartbeats", "true")]);
    assert_eq!(asked(&mut cluster, 0, "DELETE", "/members/2"), members("0,1"));
    let term = cluster.state(2).disk.term;
    cluster.happen(2, "timeout");
    assert_eq!((&cluster.state(2).role, cluster.state(2).disk.term), (&Role::Follower { leader: None }, term));
    assert!(cluster.in_flight().is_empty() && cluster.local_events(2).is_empty());
}

/// A leader that removes itself needs a majority of the others; until then it leads, and no other change begins.
#[test]
fn a_leader_that_removes_itself_does_not_count() {
    let mut cluster = cluster(&[("kept", "9")]);
    let write = ask(&mut cluster, 0, "PUT", "/color");
    let change = ask(&mut cluster, 0, "DELETE", "/members/0");
    let late = ask(&mut cluster, 0, "PUT", "/color");
    assert_eq!(answer_of(cluster.response(late)), (503, "the leader leaves the cluster; try again\n".to_owned()));
    settle_without(&mut cluster, &[2]);
    assert_eq!(
        (newest(&cluster, 0), newest(&cluster, 1), newest(&cluster, 2)),
        (vec![1, 2], vec![1, 2], vec![0, 1, 2])
    );
    assert_eq!((cluster.response(change), cluster.response(write), leads(&cluster, 0)), (None, None, true));
    let again = ask(&mut cluster, 0, "PUT", "/members/3");
    assert_eq!(answer_of(cluster.response(again)).0, 409);
    cluster.settle();
    assert_eq!((answer_of(cluster.response(change)), answer_of(cluster.response(write)).0), (members("1,2"), 204));
    assert!(!leads(&cluster, 0));
    assert_eq!(cluster.check(), Ok(()));
}

/// The leader that removes itself and is lost is the only one whose log has that: it leads again to end it.
#[test]
fn a_node_whose_removal_may_be_lost_stands() {
    let mut cluster = cluster(&[("kept", "9")]);
    assert_eq!(asked(&mut cluster, 0, "DELETE", "/members/2"), members("0,1"));
    let change = ask(&mut cluster, 0, "DELETE", "/members/0");
    cluster.lose_all();
    cluster.reset(0);
    // Node 1 needs the vote of node 0, whose log is longer.
    cluster.happen(1, "timeout");
    cluster.settle();
    assert!(!leads(&cluster, 1));
    cluster.happen(0, "timeout");
    cluster.settle();
    assert_eq!((newest(&cluster, 1), leads(&cluster, 0)), (vec![1], false));
    assert_eq!(answer_of(cluster.response(change)), members("1"));
    elect(&mut cluster, 1);
    assert_eq!(asked(&mut cluster, 1, "PUT", "/color").0, 204);
    assert_eq!(cluster.check(), Ok(()));
}

/// An entry that another leader replaces takes its members with it.
#[test]
fn members_that_were_not_committed_are_replaced_with_the_log() {
    for kept in ["0", "9"] {
        let mut cluster = cluster(&[("kept", kept)]);
        let lost = ask(&mut cluster, 0, "DELETE", "/members/1");
        cluster.lose_all();
        assert_eq!(newest(&cluster, 0), [0, 2]);
        cluster.happen(1, "timeout");
        settle_without(&mut cluster, &[0]);
        assert!(leads(&cluster, 1));
        cluster.settle();
        assert_eq!(asked(&mut cluster, 1, "GET", "/members"), members("0,1,2"));
        assert_eq!((newest(&cluster, 0), cluster.response(lost)), (vec![0, 1, 2], None));
        assert_eq!(cluster.check(), Ok(()));
    }
}

/// A change waits for an entry of the leader's term, and for the change before.
#[test]
fn a_leader_refuses_a_change_before_its_time() {
    let mut cluster = cluster(&[("kept", "9")]);
    cluster.happen(1, "timeout");
    cluster.deliver_where(|flight| flight.to == 2);
    cluster.deliver_where(|flight| flight.from == 2 && flight.to == 1);
    assert!(leads(&cluster, 1));
    for (method, path) in [("PUT", "/members/3"), ("DELETE", "/members/0")] {
        let early = ask(&mut cluster, 1, method, path);
        let (status, text) = answer_of(cluster.response(early));
        assert!(status == 503 && text.contains("nothing has happened"), "{status} {text}");
    }
    cluster.settle();
    let first = ask(&mut cluster, 1, "PUT", "/members/3");
    // While the new node gets the log, and while the entry is not committed.
    for _ in 0..2 {
        let second = ask(&mut cluster, 1, "DELETE", "/members/0");
        let (status, text) = answer_of(cluster.response(second));
        assert!(status == 409 && text.contains("under way"), "{status} {text}");
        settle_without(&mut cluster, &[0, 2]);
    }
    assert_eq!(newest(&cluster, 1), [0, 1, 2, 3]);
    assert_eq!(cluster.response(first), None);
    cluster.settle();
    assert_eq!(answer_of(cluster.response(first)), members("0,1,2,3"));
    assert_eq!(cluster.check(), Ok(()));
}

/// Each is refused at once, with the remedy, and changes no state.
#[test]
fn wrong_requests_about_members_are_refused_with_the_remedy() {
    let rows = [
        ("PUT", "/members/4", 400, "the nodes 0 to 3"),
        ("PUT", "/members/18446744073709551616", 400, "the nodes 0 to 3"),
        ("PUT", "/members/", 400, "the nodes 0 to 3"),
        ("PUT", "/members/+1", 400, "the nodes 0 to 3"),
        ("DELETE", "/members/one", 400, "/%6Dembers/"),
        ("DELETE", "/members/1/2", 400, "/%6Dembers/"),
        ("DELETE", "/members/1?force", 400, "/%6Dembers/"),
        ("GET", "/members?json", 400, "/%6Dembers"),
        ("GET", "/members/1", 405, "DELETE /members/ID"),
        ("POST", "/members", 405, "DELETE /members/ID"),
        ("PUT", "/members", 405, "DELETE /members/ID"),
    ];
    let cluster = cluster(&[]);
    for (method, path, status, remedy) in rows {
        let mut cluster = cluster.clone();
        let number = ask(&mut cluster, 0, method, path);
        let (found, text) = answer_of(cluster.response(number));
        assert!(found == status && text.contains(remedy), "{method} {path}: {found} {text}");
        assert!(cluster.in_flight().is_empty());
    }
    // A node that does not lead sends clients to the leader.
    let mut other = cluster.clone();
    let number = ask(&mut other, 1, "PUT", "/members/3");
    assert_eq!(other.response(number), Some(&Response::ask(0)));
    // Keys that begin so have another path, and keys like them the same.
    let mut other = cluster.clone();
    for (path, key) in [("/%6Dembers/7", "members/7"), ("/membership", "membership")] {
        assert_eq!(asked(&mut other, 0, "PUT", path).0, 204);
        assert!(other.state(1).disk.store.items.contains_key(key));
    }
    // The last member stays.
    let mut last = cluster.clone();
    assert_eq!(asked(&mut last, 0, "DELETE", "/members/2"), members("0,1"));
    assert_eq!(asked(&mut last, 0, "DELETE", "/members/2"), members("0,1"));
    assert_eq!(asked(&mut last, 0, "DELETE", "/members/1"), members("0"));
    let (status, text) = asked(&mut last, 0, "DELETE", "/members/0");
    assert!(status == 400 && text.contains("the only member"), "{status} {text}");
    // Without the switch, these are keys.
    let mut plain = Cluster::<RaftKv>::new(3, &[]).expect("the parameters are known");
    elect(&mut plain, 0);
    assert_eq!(asked(&mut plain, 0, "PUT", "/members/1").0, 204);
    assert_eq!(asked(&mut plain, 0, "GET", "/members").0, 404);
}

/// A node that does not answer becomes no member, and the next change is free.
#[test]
fn a_new_node_that_does_not_answer_is_given_up() {
    for batches in ["true", "false"] {
        let mut cluster = cluster(&[("heartbeats", "true"), ("batches", batches), ("kept", "9")]);
        let add = ask(&mut cluster, 0, "PUT", "/members/3");
        for heartbeat in 0..40 {
            assert_eq!(cluster.response(add), None, "{heartbeat}");
            cluster.happen(0, "heartbeat");
            settle_without(&mut cluster, &[3]);
        }
        let (status, text) = answer_of(cluster.response(add));
        assert!(status == 503 && text.contains("node 3 does not answer: nothing has happened"), "{status} {text}");
        cluster.lose_all();
        assert_eq!(asked(&mut cluster, 0, "DELETE", "/members/2"), members("0,1"));
        // A leader that leads no more says so, too.
        let add = ask(&mut cluster, 0, "PUT", "/members/3");
        cluster.lose_all();
        cluster.happen(1, "timeout");
        cluster.settle();
        let (status, text) = answer_of(cluster.response(add));
        assert!(status == 503 && text.contains("nothing has happened"), "{status} {text}");
    }
}

/// A node that lacks what the log has forgotten gets the members with the store, in pieces, and keeps them over a reset.
#[test]
fn a_store_has_the_members() {
    for (bug, is_forgotten) in [("none", false), ("forget-members", true)] {
        let mut cluster = cluster(&[("bug", bug), ("piece", "1"), ("heartbeats", "true")]);
        for key in ["/a", "/b"] {
            ask(&mut cluster, 0, "PUT", key);
            settle_without(&mut cluster, &[2]);
            cluster.lose_all();
        }
        ask(&mut cluster, 0, "PUT", "/members/3");
        settle_without(&mut cluster, &[2]);
        // The copy of the store for pieces is from before; it is discarded, and the log forgets what came since.
        (0..25).for_each(|_| cluster.happen(0, "heartbeat"));
        cluster.lose_all();
        ask(&mut cluster, 0, "PUT", "/a");
        settle_without(&mut cluster, &[2]);
        cluster.lose_all();
        cluster.happen(0, "heartbeat");
        let mut pieces = 0;
        while !cluster.in_flight().is_empty() {
            let flight = &cluster.in_flight()[0];
            pieces +=
                u32::from(flight.to == 2 && matches!(flight.message, Message::Raft { what: Raft::Install { .. }, .. }));
            cluster.deliver(0);
        }
        assert!(pieces > 1, "{pieces}");
        cluster.reset(2);
        assert_eq!(newest(&cluster, 2).contains(&3), !is_forgotten);
        assert_eq!(cluster.check().is_err(), is_forgotten, "{bug}");
    }
}

/// Two removals at once leave a leader that commits alone.
#[test]
fn a_leader_removes_two_nodes_at_once_only_by_mistake() {
    for (bug, left, is_offered) in [("none", vec![0, 2], false), ("change-twice", vec![0], true)] {
        let mut cluster = cluster(&[("bug", bug), ("changes", "2")]);
        ask(&mut cluster, 0, "DELETE", "/members/1");
        let offered = cluster.local_events(0);
        assert_eq!(offered.iter().any(|event| matches!(event.event, Local::Change { .. })), is_offered);
        ask(&mut cluster, 0, "DELETE", "/members/2");
        assert_eq!(newest(&cluster, 0), left);
    }
}

/// Numbers that look random, the same in every run.
fn next(seed: &mut u64, below: usize) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as usize % below
}

/// Clients write in sessions and change the members, nodes are reset, messages are lost, repeated and swapped, leaders change.
#[test]
fn changes_among_losses_resets_and_elections_are_well() {
    let steady = [("heartbeats", "true"), ("steps-down", "true"), ("pre-vote", "true"), ("batches", "true")];
    let store = [("revisions", "true"), ("sessions", "3"), ("reads", "index"), ("piece", "60"), ("room", "600")];
    let (mut changes, mut writes) = (0, 0);
    for seed in 0..60 {
        let pipeline = [("pipeline", ["1", "3"][seed % 2]), ("kept", ["0", "5"][seed / 2 % 2])];
        let mut cluster = cluster(&[&steady[..], &store, &pipeline].concat());
        let mut seed = seed as u64;
        let mut asked = Vec::new();
        for step in 0..1_500 {
            let count = cluster.in_flight().len();
            let node = next(&mut seed, 4) as NodeId;
            match next(&mut seed, 100) {
                0..=55 if count > 0 => cluster.deliver(next(&mut seed, count.min(12))),
                56..=59 if count > 0 => cluster.lose(next(&mut seed, count)),
                60..=61 if count > 0 && count < 40 => cluster.duplicate(next(&mut seed, count)),
                62 => cluster.reset(node),
                63..=64 if cluster.local_events(node).iter().any(|event| event.name == "timeout") => {
                    cluster.happen(node, "timeout");
                }
                65..=80 => {
                    let leader = (0..4).find(|node| leads(&cluster, *node)).unwrap_or(node);
                    match next(&mut seed, 4) {
                        0 => {
                            let method = ["PUT", "DELETE"][next(&mut seed, 2)];
                            asked.push((true, ask(&mut cluster, leader, method, &format!("/members/{node}"))));
                        }
                        1 => drop(ask(&mut cluster, leader, "POST", "/sessions")),
                        _ => asked.push((false, ask(&mut cluster, leader, "PUT", &format!("/{}", step % 7)))),
                    }
                }
                _ => {
                    let names = ["heartbeat", "heartbeat", "heartbeat", "check"];
                    let name = names[next(&mut seed, 4)];
                    if cluster.local_events(node).iter().any(|event| event.name == name) {
                        cluster.happen(node, name);
                    }
                }
            }
            if step % 5 == 0 {
                assert_eq!(cluster.check(), Ok(()), "step {step}");
            }
        }
        let done = |is_change: bool| {
            let of_kind = asked.iter().filter(|(kind, _)| *kind == is_change);
            of_kind.filter(|(_, number)| cluster.response(*number).is_some_and(|answer| answer.status == 200)).count()
        };
        (changes, writes) = (changes + done(true), writes + done(false));
        // Without trouble, a member leads in the end, and all members have the same store.
        for _ in 0..40 {
            cluster.settle();
            for node in 0..4 {
                let leader = (0..4).find(|node| leads(&cluster, *node));
                let name = if leader == Some(node) { "heartbeat" } else { "timeout" };
                let is_needed = leader.is_none() || leader == Some(node);
                if is_needed && cluster.local_events(node).iter().any(|event| event.name == name) {
                    cluster.happen(node, name);
                    cluster.settle();
                }
            }
        }
        let leader = (0..4).find(|node| leads(&cluster, *node)).expect("a member leads");
        let nodes = newest(&cluster, leader);
        let disk = &cluster.state(leader).disk;
        for node in nodes {
            let other = &cluster.state(node).disk;
            assert_eq!((other.commit, &other.store), (disk.commit, &disk.store), "nodes {leader} and {node}");
        }
        assert_eq!(cluster.check(), Ok(()));
    }
    assert!(changes > 60 && writes > 600, "{changes} changes, {writes} writes");
}

/// All executions in which a node joins or leaves.
#[test]
fn every_state_of_a_change_is_well() {
    for (nodes, members, bug) in [(3, "2", "none"), (2, "2", "none"), (3, "2", "forget-members")] {
        let parameters = [("requests", "0"), ("members", members), ("changes", "1"), ("bug", bug)];
        let cluster = Cluster::<RaftKv>::new(nodes, &parameters).expect("the parameters are known");
        let explored = cluster.with_resets(u32::from(nodes == 2)).explore(60_000);
        assert_eq!(explored.broken.is_some(), bug != "none", "{bug}: {:?}", explored.broken);
    }
}
