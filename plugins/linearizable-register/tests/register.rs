//! Single executions, and the number of global states by an enumeration that shares no code with the host.

use guest_sdk::NodeId;
use guest_sdk::linearizability::{ClientId, RegisterReturn};
use guest_sdk::test::{Cluster, Explored};
use linearizable_register::{Clients, LinearizableRegister, Message, Phase, Request, State};

fn cluster(nodes: u32, parameters: &[(&str, &str)]) -> Cluster<LinearizableRegister> {
    Cluster::new(nodes, parameters).expect("the parameters are known")
}

fn clients(cluster: &Cluster<LinearizableRegister>) -> &Clients {
    match cluster.state(0) {
        State::Clients(clients) => clients,
        State::Server(_) => panic!("node 0 stands for the clients"),
    }
}

/// Delivers the current question of a client to a server, and the answer.
fn ask(cluster: &mut Cluster<LinearizableRegister>, client: ClientId, server: NodeId) {
    let now = clients(cluster);
    let request = Request { client, number: now.history.operations(client).len() as u32 };
    let phase = now.waiting[&client].phase;
    let is_question = |message: &Message| match message {
        Message::Query(asked) => (phase, request) == (Phase::Query, *asked),
        Message::Store(asked, _) => (phase, request) == (Phase::Store, *asked),
        Message::Reply(..) | Message::Stored(_) => false,
    };
    let is_answer = |message: &Message| match message {
        Message::Reply(asked, _) => (phase, request) == (Phase::Query, *asked),
        Message::Stored(asked) => (phase, request) == (Phase::Store, *asked),
        Message::Query(_) | Message::Store(..) => false,
    };
    cluster.deliver_where(|flight| flight.to == server && is_question(&flight.message));
    cluster.deliver_where(|flight| flight.from == server && is_answer(&flight.message));
}

/// Client 1 reads from two servers, and stores the value that it has found, if it does so.
fn read(cluster: &mut Cluster<LinearizableRegister>, servers: [NodeId; 2]) {
    cluster.happen(0, "read");
    while clients(cluster).waiting.contains_key(&1) {
        servers.iter().for_each(|server| ask(cluster, 1, *server));
    }
}

/// A write that server 1 alone has, a read that finds it, and a read that does not ask server 1.
fn new_then_old(bug: &str) -> Cluster<LinearizableRegister> {
    let mut cluster = cluster(4, &[("bug", bug)]);
    cluster.happen(0, "write");
    [1, 2, 1].iter().for_each(|server| ask(&mut cluster, 0, *server));
    read(&mut cluster, [1, 2]);
    read(&mut cluster, [2, 3]);
    cluster
}

fn returned(cluster: &Cluster<LinearizableRegister>, client: ClientId) -> Vec<RegisterReturn<u32>> {
    clients(cluster).history.operations(client).iter().filter_map(|operation| operation.returned().copied()).collect()
}

#[test]
fn what_was_read_is_read_again() {
    let cluster = new_then_old("none");
    assert_eq!(returned(&cluster, 1), [RegisterReturn::Value(101), RegisterReturn::Value(101)]);
    assert!(returned(&cluster, 0).is_empty());
    assert_eq!((cluster.check(), cluster.holds("write-is-read")), (Ok(()), Ok(())));
}

#[test]
fn without_write_back_a_read_returns_what_is_older() {
    let cluster = new_then_old("no-write-back");
    assert_eq!(
        cluster.check(),
        Err("linearizable: node 0: no order of the operations explains what they returned: 0.1 Write(101) (pending); \
             1.1 Read -> Value(101); 1.2 Read -> Value(0); nothing fits after 0.1, 1.1"
            .to_owned())
    );
}

/// A client that was reset with a pending operation does nothing more; the others continue.
#[test]
fn a_reset_leaves_operations_pending() {
    let mut cluster = cluster(4, &[]);
    cluster.happen(0, "write");
    cluster.reset(0);
    let events: Vec<&str> = cluster.local_events(0).iter().map(|event| event.name).collect();
    assert_eq!(events, ["read"]);
    cluster.settle();
    assert!(clients(&cluster).history.is_pending(0));
    read(&mut cluster, [1, 2]);
    assert_eq!((returned(&cluster, 1), cluster.check()), (vec![RegisterReturn::Value(0)], Ok(())));
}

fn explore(nodes: u32, parameters: &[(&str, &str)]) -> Explored {
    cluster(nodes, parameters).explore(100_000)
}

/// The counts of the scenarios.
#[test]
fn counts() {
    let one_server = explore(2, &[("clients", "w,w,r")]);
    assert_eq!((one_server.global_states, one_server.transitions, one_server.broken), (1_048, 1_896, None));
    let two_servers = explore(3, &[("clients", "w,r")]);
    assert_eq!((two_servers.global_states, two_servers.transitions, two_servers.broken), (502, 1_316, None));
}

/// The same of three servers.
#[test]
#[ignore = "takes half a minute"]
fn counts_of_three_servers() {
    let three_servers = cluster(4, &[("clients", "w,r")]).explore(1_000_000);
    let counts = (three_servers.global_states, three_servers.transitions, three_servers.broken);
    assert_eq!(counts, (173_124, 934_365, None));
}

#[test]
#[should_panic(expected = "'x' is neither w nor r")]
fn programs_are_reads_and_writes() {
    cluster(4, &[("clients", "wx")]);
}

/// The read stores the old value where the write has stored its own.
#[test]
fn who_has_begun_is_owed_answers() {
    for (bug, answered) in [("none", Ok(())), ("quiet-store", Err("node 0: a client waits for answers".to_owned()))] {
        let mut cluster = cluster(4, &[("bug", bug)]);
        cluster.happen(0, "read");
        assert!(cluster.holds("answered").is_err());
        [1, 2].iter().for_each(|server| ask(&mut cluster, 1, *server));
        cluster.happen(0, "write");
        [1, 2, 1, 2].iter().for_each(|server| ask(&mut cluster, 0, *server));
        cluster.settle();
        assert_eq!(cluster.holds("answered"), answered, "{bug}");
        cluster.reset(0);
        assert_eq!(cluster.holds("answered"), Ok(()), "{bug}");
    }
}
