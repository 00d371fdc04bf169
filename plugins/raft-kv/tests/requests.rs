//! Requests over HTTP: conditions, ranges, sessions, and requests that are refused.

use guest_sdk::test::Cluster;
use guest_sdk::{NodeId, Request, Response};
use raft_kv::{Message, Raft, RaftKv, Role};

/// Three nodes, of which node 0 leads.
fn cluster(parameters: &[(&str, &str)]) -> Cluster<RaftKv> {
    let mut cluster = Cluster::new(3, parameters).expect("the parameters are known");
    elect(&mut cluster, 0);
    cluster
}

fn elect(cluster: &mut Cluster<RaftKv>, candidate: NodeId) {
    cluster.happen(candidate, "timeout");
    cluster.settle();
    assert!(matches!(cluster.state(candidate).role, Role::Leader { .. }));
}

/// The answer of node 0 once everything is delivered: its status, and its body as text.
fn asked(cluster: &mut Cluster<RaftKv>, method: &str, path: &str, body: &str) -> (u16, String) {
    let number = cluster.request(0, Request::new(method, path).body(body));
    cluster.settle();
    let Response { status, body, .. } = cluster.response(number).expect("there is an answer").clone();
    (status, String::from_utf8(body).expect("it is text"))
}

#[test]
fn a_write_with_a_condition_happens_once_for_each_revision() {
    for reads in ["log", "index"] {
        let mut cluster = cluster(&[("revisions", "true"), ("reads", reads)]);
        let mut asks = |method: &str, path: &str, body: &str| asked(&mut cluster, method, path, body);
        let revision = |status: u16, revision: &str| (status, format!("{{\"revision\":{revision}}}\n"));
        assert_eq!(asks("PUT", "/color?if-match=*", "red"), revision(412, "null"));
        assert_eq!(asks("PUT", "/color?if-none-match=*", "red"), revision(200, "1"));
        assert_eq!(asks("PUT", "/color?if-none-match=*", "green"), revision(412, "1"));
        assert_eq!(asks("PUT", "/size", "big"), revision(200, "2"));
        assert_eq!(asks("GET", "/color?json", ""), (200, "{\"revision\":1,\"value\":\"cmVk\"}\n".to_owned()));
        assert_eq!(asks("PUT", "/color?if-match=1", "blue"), revision(200, "3"));
        assert_eq!(asks("PUT", "/color?if-match=1", "green"), revision(412, "3"));
        assert_eq!(asks("GET", "/color", ""), (200, "blue".to_owned()));
        assert_eq!(asks("DELETE", "/color?if-match=1", ""), revision(412, "3"));
        assert_eq!(asks("DELETE", "/color?if-match=3", ""), revision(200, "4"));
        assert_eq!(asks("DELETE", "/color", ""), revision(200, "4"));
        assert_eq!(asks("GET", "/color?json", "").0, 404);
        assert_eq!(cluster.check(), Ok(()));
    }
}

/// Two clients have read the same revision, and a leader has both writes in its log before either is committed.
#[test]
fn one_of_two_writes_for_the_same_revision_happens() {
    let mut cluster = cluster(&[("revisions", "true")]);
    assert_eq!(asked(&mut cluster, "PUT", "/color", "red").0, 200);
    let numbers =
        ["green", "blue"].map(|value| cluster.request(0, Request::new("PUT", "/color?if-match=1").body(value)));
    cluster.settle();
    let statuses = numbers.map(|number| cluster.response(number).map(|response| response.status));
    assert_eq!(statuses, [Some(200), Some(412)]);
    assert_eq!(asked(&mut cluster, "GET", "/color", "").1, "green");
}

#[test]
fn a_range_has_the_keys_of_a_prefix_in_pages() {
    for (reads, revisions) in [("log", "true"), ("index", "false")] {
        let mut cluster = cluster(&[("reads", reads), ("revisions", revisions)]);
        for key in ["a/2", "a/1", "b", "a/%20%22", "a/3"] {
            assert!(asked(&mut cluster, "PUT", &format!("/{key}"), key).0 < 300);
        }
        let item = |key: &str, revision: u64, value: &str| {
            let revision = if revisions == "true" { revision } else { 0 };
            format!("{{\"key\":\"{key}\",\"revision\":{revision},\"value\":\"{value}\"}}")
        };
        let mut page = |path: &str| {
            let (status, text) = asked(&mut cluster, "GET", path, "");
            assert_eq!(status, 200, "{path}: {text}");
            text
        };
        let of_store = if revisions == "true" { 5 } else { 0 };
        let expected = |items: &[String], more: bool| {
            format!("{{\"revision\":{of_store},\"items\":[{}],\"more\":{more}}}\n", items.join(","))
        };
        let all = [
            item("a/ \\\"", 4, "YS8lMjAlMjI="),
            item("a/1", 2, "YS8x"),
            item("a/2", 1, "YS8y"),
            item("a/3", 5, "YS8z"),
            item("b", 3, "Yg=="),
        ];
        assert_eq!(page("/?prefix="), expected(&all, false));
        assert_eq!(page("/?prefix=a%2F"), expected(&all[..4], false));
        assert_eq!(page("/?prefix=a/&limit=2"), expected(&all[..2], true));
        assert_eq!(page("/?prefix=a/&limit=2&after=a/1"), expected(&all[2..4], false));
        // In a query a plus sign is a space.
        assert_eq!(page("/?prefix=a/+"), expected(&all[..1], false));
        assert_eq!(page("/?prefix=c"), expected(&[], false));
        assert_eq!(cluster.check(), Ok(()));
    }
}

/// Keys are what the path encodes.
#[test]
fn keys_are_decoded() {
    let mut cluster = cluster(&[]);
    assert_eq!(asked(&mut cluster, "PUT", "/a%2fb%3F+%C3%A4", "x").0, 204);
    assert_eq!(asked(&mut cluster, "GET", "/a/b%3f+\u{e4}", "").1, "x");
    assert!(cluster.state(1).disk.store.items.contains_key("a/b?+\u{e4}"));
}

/// Each is refused at once, with the remedy, and changes no state.
#[test]
fn hostile_requests_are_refused_with_the_remedy() {
    let long = "x".repeat(257);
    let huge = "x".repeat(65_537);
    let rows: &[(&str, &str, &str, u16, &str)] = &[
        ("PUT", "/color?session=1", "", 400, "`session` and `serial` together"),
        ("PUT", "/color?serial=1", "", 400, "`session` and `serial` together"),
        ("PUT", "/color?session=1&serial=0", "", 400, "1 for the first write"),
        ("PUT", "/color?session=1&serial=18446744073709551616", "", 400, "1 for the first write"),
        ("PUT", "/color?session=4294967296&serial=1", "", 400, "`POST /sessions` answers it"),
        ("DELETE", "/color?session=one&serial=1", "", 400, "`POST /sessions` answers it"),
        ("GET", "/color?session=1&serial=1", "", 400, "a write has"),
        ("POST", "/sessions?serial=1", "", 405, "POST /sessions"),
        ("PUT", "/color?if-match=-1", "", 400, "is a revision"),
        ("PUT", "/color?if-match=18446744073709551616", "", 400, "is a revision"),
        ("PUT", "/color?if-match=", "", 400, "is a revision"),
        ("PUT", "/color?if-none-match=1", "", 400, "`if-none-match` is `*`"),
        ("PUT", "/color?if-match=1&if-none-match=*", "", 400, "not both"),
        ("PUT", "/color?if-match=1&if-match=1", "", 400, "twice"),
        ("PUT", "/color?if%2Dmatch=1&if-match=1", "", 400, "twice"),
        ("GET", "/color?if-match=1", "", 400, "a write has `if-match`"),
        ("GET", "/color?json=maybe", "", 400, "`true` or `false`"),
        ("GET", "/color?prefix=c", "", 400, "a range `prefix`"),
        ("DELETE", "/color?json", "", 400, "a read of a key `json`"),
        ("DELETE", "/?prefix=c", "", 404, "name a key"),
        ("GET", "/?limit=1", "", 404, "a range, as in /?prefix=co"),
        ("GET", "/?prefix=&limit=0", "", 400, "from 1 to 1000"),
        ("GET", "/?prefix=&limit=1001", "", 400, "from 1 to 1000"),
        ("GET", "/?prefix=&limit=one", "", 400, "from 1 to 1000"),
        ("GET", "/?prefix=%", "", 400, "`%25`"),
        ("GET", "/a%f", "", 400, "`%25`"),
        ("GET", "/a%+1", "", 400, "`%25`"),
        ("GET", "/%ff", "", 400, "UTF-8"),
        ("GET", "/?prefix=%c3", "", 400, "UTF-8"),
        ("GET", "/?color=red", "", 404, "name a key"),
        ("POST", "/color", "", 405, "GET, PUT and DELETE"),
        ("PUT", "/color", &huge, 413, "65536"),
    ];
    let cluster = cluster(&[("revisions", "true"), ("reads", "index"), ("sessions", "2")]);
    let check = |method: &str, path: &str, body: &str, status: u16, remedy: &str| {
        let mut cluster = cluster.clone();
        let number = cluster.request(0, Request::new(method, path).body(body));
        let response = cluster.response(number).expect("it is refused at once");
        let text = String::from_utf8_lossy(&response.body);
        assert_eq!(response.status, status, "{method} {path}: {text}");
        assert!(text.contains(remedy) && text.ends_with('\n'), "{method} {path}: {text}");
        assert!(cluster.in_flight().is_empty());
    };
    for (method, path, body, status, remedy) in rows {
        check(method, path, body, *status, remedy);
    }
    for path in [format!("/{long}"), format!("/?prefix={long}"), format!("/?prefix=&after={long}")] {
        check("GET", &path, "", 413, "at most 256 bytes");
    }
}

#[test]
fn conditions_need_revisions() {
    let mut cluster = cluster(&[]);
    let (status, text) = asked(&mut cluster, "PUT", "/color?if-none-match=*", "red");
    assert!(status == 400 && text.contains("`revisions = true`"), "{status} {text}");
}

/// Delivers what is in flight, but for what is sent by or to one node.
fn settle_without(cluster: &mut Cluster<RaftKv>, node: NodeId) {
    while let Some(index) = cluster.in_flight().iter().position(|flight| flight.from != node && flight.to != node) {
        cluster.deliver(index);
    }
}

/// A client has no answer of the first leader, and repeats its write at the second one and at a third one, which got the store without
/// the entry. Another client has written meanwhile.
#[test]
fn a_repeated_write_happens_once_also_at_other_leaders() {
    let mut cluster = cluster(&[("terms", "0"), ("revisions", "true"), ("sessions", "5")]);
    assert_eq!(asked(&mut cluster, "POST", "/sessions", ""), (201, "{\"session\":2}\n".to_owned()));
    let put = || Request::new("PUT", "/color?session=2&serial=1&if-none-match=*").body("red");
    let first = cluster.request(0, put());
    // Node 1 gets the entry, its answer is lost, and node 2 gets nothing.
    cluster.deliver_where(|flight| flight.to == 1);
    cluster.lose_all();
    assert_eq!(cluster.response(first), None);
    cluster.happen(1, "timeout");
    settle_without(&mut cluster, 2);
    let second = cluster.request(1, put());
    let third = cluster.request(1, Request::new("PUT", "/color").body("blue"));
    settle_without(&mut cluster, 2);
    cluster.lose_all();
    let body = |cluster: &Cluster<RaftKv>, number| {
        let response = cluster.response(number).expect("there is an answer").clone();
        (response.status, String::from_utf8(response.body).expect("it is text"))
    };
    let once = (200, "{\"revision\":1}\n".to_owned());
    assert_eq!(body(&cluster, second), once);
    assert_eq!(body(&cluster, third), (200, "{\"revision\":2}\n".to_owned()));
    // Node 2 gets the store, without the entry of the write, and leads.
    cluster.request(1, Request::new("GET", "/color"));
    cluster.settle();
    assert_eq!(cluster.state(2).disk.store, cluster.state(1).disk.store);
    elect(&mut cluster, 2);
    let again = cluster.request(2, put());
    cluster.settle();
    assert_eq!(body(&cluster, again), once);
    assert_eq!(cluster.state(0).disk.store.items["color"].value, b"blue");
    assert_eq!(cluster.check(), Ok(()));
}

/// A write is repeated while the leader has the first one in its log.
#[test]
fn a_write_that_is_repeated_at_once_happens_once() {
    for (bug, statuses) in [("none", [200, 200]), ("repeat-early", [200, 412])] {
        let mut cluster = cluster(&[("revisions", "true"), ("sessions", "5"), ("bug", bug)]);
        assert_eq!(asked(&mut cluster, "POST", "/sessions", "").0, 201);
        let put = || Request::new("PUT", "/color?session=2&serial=1&if-none-match=*").body("red");
        let numbers = [cluster.request(0, put()), cluster.request(0, put())];
        cluster.settle();
        assert_eq!(numbers.map(|number| cluster.response(number).expect("it is answered").status), statuses, "{bug}");
    }
}

/// The session that was used least recently ends, and its client learns what that means.
#[test]
fn sessions_are_bounded_and_unknown_ones_are_refused() {
    let mut cluster = cluster(&[("sessions", "2"), ("kept", "9"), ("terms", "0")]);
    let open = |cluster: &mut Cluster<RaftKv>| asked(cluster, "POST", "/sessions", "");
    let put = |cluster: &mut Cluster<RaftKv>, session: u32, serial: u64| {
        asked(cluster, "PUT", &format!("/color?session={session}&serial={serial}"), "red")
    };
    assert_eq!(open(&mut cluster), (201, "{\"session\":2}\n".to_owned()));
    assert_eq!(open(&mut cluster), (201, "{\"session\":3}\n".to_owned()));
    assert_eq!(put(&mut cluster, 2, 1).0, 204);
    assert_eq!(open(&mut cluster), (201, "{\"session\":5}\n".to_owned()));
    for session in [3, 4] {
        let (status, text) = put(&mut cluster, session, 1);
        assert!(status == 410 && text.contains("POST /sessions"), "{status} {text}");
    }
    assert_eq!(put(&mut cluster, 2, 9).0, 204);
    let (status, text) = put(&mut cluster, 2, 8);
    assert!(status == 409 && text.contains("a later write, 9"), "{status} {text}");
    for node in 0..3 {
        assert_eq!(cluster.state(node).disk.store.sessions.len(), 2);
    }
    cluster.reset(0);
    elect_again(&mut cluster);
    assert_eq!(put(&mut cluster, 2, 9).0, 204);
}

/// Node 0 leads again.
fn elect_again(cluster: &mut Cluster<RaftKv>) {
    (0..3).for_each(|node| cluster.reset(node));
    cluster.lose_all();
    elect(cluster, 0);
}

#[test]
fn a_cluster_without_sessions_says_so() {
    let mut cluster = cluster(&[]);
    for (method, path) in [("POST", "/sessions"), ("PUT", "/color?session=1&serial=1")] {
        let (status, text) = asked(&mut cluster, method, path, "");
        assert!(status == 400 && text.contains("its file needs `sessions`"), "{status} {text}");
    }
}

/// Sessions come in pieces, as keys do, over a network that loses, repeats and swaps.
#[test]
fn sessions_reach_a_node_that_is_behind_in_pieces() {
    let parameters = [("terms", "0"), ("sessions", "40"), ("piece", "200"), ("heartbeats", "true")];
    let mut cluster = cluster(&parameters);
    for number in 0..20 {
        cluster.request(0, Request::new("POST", "/sessions"));
        cluster.request(0, Request::new("PUT", &format!("/{number}")).body("x"));
        settle_without(&mut cluster, 2);
        cluster.lose_all();
    }
    cluster.happen(0, "heartbeat");
    let mut pieces = 0;
    while !cluster.in_flight().is_empty() {
        if let Message::Raft { what: Raft::Install { store, .. }, .. } = &cluster.in_flight()[0].message {
            assert!(store.sessions.len() + store.items.len() <= 200 / 32);
            pieces += 1;
        }
        cluster.deliver(0);
    }
    assert!(pieces >= 40 / 6, "{pieces}");
    assert_eq!(cluster.state(2).disk.store, cluster.state(0).disk.store);
    assert_eq!(cluster.state(2).disk.store.sessions.len(), 20);
}

/// All executions of two nodes whose clients write under conditions and read ranges.
#[test]
fn every_state_of_two_nodes_with_revisions_is_well() {
    let parameters = [("records", "true"), ("revisions", "true")];
    let cluster = Cluster::<RaftKv>::new(2, &parameters).expect("the parameters are known");
    let explored = cluster.with_resets(1).explore(200_000);
    assert_eq!(explored.broken, None);
}
