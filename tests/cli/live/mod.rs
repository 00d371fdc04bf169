//! Processes that run the bundled key-value store: killed, cut off from each other, and under continuous load by clients.
//!
//! | module | what it holds |
//! |---|---|
//! | `cluster` | the processes of a cluster, and the relays between them |
//! | `client` | clients of the store |
//! | `watched` | clusters with a checker for each node |
//! | `steered` | clusters whose checkers steer the nodes |
//! | `outside` | clusters with properties from outside, stated in their files |
//! | `http` | a minimal HTTP client |
//! | `judge` | the linearizability of the answers to clients |
//! | `members` | clusters whose members change |
//! | `languages` | clusters of a store in other languages |
//! | `operations` | the work of operators: status, restarts one by one, a new component |
//! | `backups` | backups of a running store, and a new cluster from one |
//! | `recorded` | clusters that are recorded |
//! | `segments` | recordings of single nodes, changed and lost |
//! | `starts` | starts of nodes: their ends, their peers, their knowledge of earlier starts |
//! | `data` | the data file of a node: its owner, and the files that a start refuses |
//! | `credentials` | certificates in the file of a cluster, and their errors |

mod backups;
/// The certificates in the tests of `host-live-net`.
#[path = "../../../host/live-net/src/tests/certificates.rs"]
mod certificates;
mod client;
mod cluster;
mod credentials;
mod data;
mod http;
mod judge;
mod languages;
mod members;
mod operations;
mod outside;
mod recorded;
/// The relay in the tests of `host-live-net`.
#[path = "../../../host/live-net/src/tests/relay.rs"]
mod relay;
mod segments;
mod starts;
mod steered;
mod watched;

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cluster::Cluster;
use judge::{Answer, Judge, Operation, Outcome, Told};

/// The minimum duration of a run, unless `HOST_LIVE_SECONDS` sets it.
const SECONDS: u64 = 8;
/// The maximum duration of a run until enough kills and answers: a busy machine needs longer.
const SECONDS_MAX: u64 = 120;
/// The time between two kills.
const KILLS: Duration = Duration::from_millis(1_500);
/// The time for which a key is in use, so that its history stays short.
const EPOCH: Duration = Duration::from_secs(2);
const CLIENTS: u32 = 3;
const KEYS: u64 = 2;

/// Numbers that look random, the same in every run.
fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

/// A client: sends one request after the other to any node, and records the answers.
fn ask_on(number: u32, clients: &[SocketAddr], begun: Instant, judge: &Mutex<Judge>, is_over: &AtomicBool) {
    let (mut seed, mut count, mut node) = (number.into(), 0_u64, 0);
    while !is_over.load(Ordering::Relaxed) {
        let epoch = begun.elapsed().as_millis() / EPOCH.as_millis();
        let key = format!("{epoch}-{}", next(&mut seed) % KEYS);
        count += 1;
        let operation = match next(&mut seed) % 5 {
            0 | 1 => Operation::Put(key, format!("{number}.{count}").into_bytes()),
            2 => Operation::Delete(key),
            _ => Operation::Get(key),
        };
        let call = judge.lock().expect("no client panics").call(operation.clone());
        let told = client::ask(clients, &mut node, &operation);
        let is_answered = matches!(told, Answer::Outcome(_));
        judge.lock().expect("no client panics").told(call, told);
        if !is_answered {
            node = (node + 1) % clients.len();
            std::thread::sleep(Duration::from_millis(30));
        }
    }
}

/// Clients send requests while nodes are killed and connections are cut, or datagrams are lost. Their answers are linearizable, and a
/// checker that steers has no prediction.
#[expect(clippy::print_stderr, reason = "the results of a long run are for people")]
fn tormented(network: &str, words: &'static str) {
    let seconds = std::env::var("HOST_LIVE_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(SECONDS);
    let (mut nodes, cluster) = Cluster::start_with(network, "none", words);
    let (begun, judge, is_over) = (Instant::now(), Mutex::new(Judge::default()), AtomicBool::new(false));
    let mut kills = 0;
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (clients, judge, is_over) = (cluster.clients(), &judge, &is_over);
            scope.spawn(move || ask_on(number, clients, begun, judge, is_over));
        }
        let mut seed = 7;
        let has_seen_enough = |kills: u32| {
            let answered = judge.lock().expect("no client panics").answered();
            let has_checked = words.is_empty() || cluster.counted_by_all("check_rounds_total") > 0.0;
            kills > 2 && answered > 20 && cluster.troubles() > 3 && has_checked
        };
        while begun.elapsed() < Duration::from_secs(seconds)
            || !has_seen_enough(kills) && begun.elapsed() < Duration::from_secs(SECONDS_MAX.max(seconds))
        {
            std::thread::sleep(KILLS);
            let node = next(&mut seed) as usize % 3;
            nodes.kill(node);
            nodes.start(node);
            kills += 1;
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let mut judge = judge.into_inner().expect("no client has panicked");
    // Acknowledged writes are still there at the end.
    judge.read_all(|operation| client::ask_until_told(cluster.clients(), operation));
    let Told { answered, unknown, keys } = judge.verdict().unwrap_or_else(|why| panic!("{why}"));
    let troubles = cluster.troubles();
    let rounds = cluster.counted_by_all("check_rounds_total") as u64;
    let told = format!(
        "{network}{words}: {kills} kills, {answered} answers, {unknown} without one, {keys} keys, {troubles} troubles, {rounds} rounds \
         of checkers since the last kills"
    );
    eprintln!("{told}");
    assert!(answered > 20 && kills > 2 && troubles > 3 && (rounds == 0) == words.is_empty(), "{told}");
    assert!(network != "encrypted" || cluster.refuses_plaintext(), "{told}");
    for words in [" predicts ", "sees that"] {
        assert_eq!(nodes.lines(words), Vec::<String>::new(), "{told}");
    }
}

const STEERED: &str = " --watch steer --every 200ms";
/// With little time and bandwidth for checkers.
const SPARING: &str = " --watch steer --every 200ms --share 3% --bandwidth 4KB --round-time 50ms";
/// Effects are held only on links without an order.
const HELD: &str = " --watch steer --every 200ms --hold --share 30% --bandwidth 20KB";

#[test]
fn answers_are_linearizable_where_connections_are_cut_and_nodes_killed() {
    tormented("ordered", "");
}

#[test]
fn answers_are_linearizable_where_datagrams_are_lost_and_nodes_killed() {
    tormented("unordered", "");
}

#[test]
fn answers_are_linearizable_where_connections_under_tls_are_cut_and_nodes_killed() {
    tormented("encrypted", SPARING);
}

#[test]
fn answers_of_steered_nodes_are_linearizable_where_connections_are_cut_and_nodes_killed() {
    tormented("ordered", STEERED);
}

#[test]
fn answers_of_steered_nodes_are_linearizable_where_datagrams_are_lost_and_nodes_killed() {
    tormented("unordered", HELD);
}

/// A request that hits a limit is undone and answered by nodes under TLS, with and without a gate: writes before and after it are kept,
/// no node ends, and no connection breaks.
#[test]
fn what_hits_a_limit_under_tls_is_undone_and_answered() {
    let parameters = "terms = 0\nkept = 20\nheartbeats = true\npiece = 36_864\n[limits]\nmessage = \"40KiB\"\n";
    for words in ["", STEERED] {
        let (nodes, cluster) = Cluster::start_of(&cluster::plugin(), "encrypted", parameters, words);
        let ask = |method: &str, path: &str, body: &[u8]| {
            let begun = Instant::now();
            loop {
                let answers = cluster.clients().iter().filter_map(|node| http::request(*node, method, path, body).ok());
                let mut told = answers.filter(|answer| !matches!(answer.status, 307 | 503 | 504));
                if let Some(answer) = told.next() {
                    return (answer.status, String::from_utf8_lossy(&answer.body).into_owned());
                }
                assert!(begun.elapsed() < Duration::from_secs(120), "no leader answers: {:?}", nodes.lines(""));
            }
        };
        assert_eq!(ask("PUT", "/first", b"one").0, 204, "{words}");
        assert_eq!(ask("PUT", "/second", &vec![0; 50_000]).0, 413, "{words}");
        let (status, body) = ask("PUT", "/second", &vec![0; 40_940]);
        assert!(status == 507 && body.contains("`--limit message=N` allows more"), "{words}: {status} {body}");
        assert_eq!(ask("PUT", "/third", b"three").0, 204, "{words}");
        assert_eq!(ask("GET", "/first", b""), (200, "one".to_owned()), "{words}");
        assert_eq!(ask("GET", "/third", b""), (200, "three".to_owned()), "{words}");
        let undone = cluster.counted_by_all("undone_total{event=\"request\",limit=\"message\"}");
        assert!(undone >= 2.0, "{words}: {undone}");
        // A majority answers; the third node may join later.
        let begun = Instant::now();
        while !(0..3).all(|node| cluster.counted(node, "messages_total") > Some(0.0)) {
            assert!(begun.elapsed() < Duration::from_secs(120), "{words}: {:?}", nodes.lines(""));
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(cluster.refuses_plaintext(), "{words}");
    }
}

/// A client writes to a leader whose followers are dead, and reads when that leader is dead and the others run again. Returns the answer to
/// the write, and whether all answers are linearizable.
fn written_at_one_node(bug: &str) -> (Answer, Result<Told, String>) {
    let (mut nodes, cluster) = Cluster::start("ordered", bug);
    let mut judge = Judge::default();
    let first = Operation::Put("key".into(), b"first".to_vec());
    let call = judge.call(first.clone());
    let outcome = client::ask_until_told(cluster.clients(), &first);
    judge.told(call, Answer::Outcome(outcome));
    // The leader answers a read itself.
    let read = Operation::Get("key".into());
    let mut leader = 0;
    let found = client::ask(cluster.clients(), &mut leader, &read);
    assert!(matches!(found, Answer::Outcome(_)), "{found:?}");
    let followers = [(leader + 1) % 3, (leader + 2) % 3];
    for node in followers {
        nodes.kill(node);
    }
    let second = Operation::Put("key".into(), b"second".to_vec());
    let call = judge.call(second.clone());
    let told = client::ask(cluster.clients(), &mut leader, &second);
    judge.told(call, told.clone());
    nodes.kill(leader);
    for node in followers {
        nodes.start(node);
    }
    judge.read_all(|operation| client::ask_until_told(cluster.clients(), operation));
    (told, judge.verdict())
}

#[test]
fn a_store_that_answers_early_loses_what_it_acknowledged() {
    let (told, verdict) = written_at_one_node("answer-early");
    assert_eq!(told, Answer::Outcome(Outcome::Done));
    let why = verdict.expect_err("the others never received it");
    assert!(why.starts_with("key: "), "{why}");
}

#[test]
fn what_a_majority_does_not_have_is_not_acknowledged() {
    let (told, verdict) = written_at_one_node("none");
    assert_eq!(told, Answer::Unknown);
    assert_eq!(verdict.map(|told| (told.answered, told.unknown)), Ok((2, 1)));
}

/// The others receive the messages of the leader, which receives none of theirs. Clients of the others still have answers, and the node
/// that was cut off does not end the term of the next leader.
#[test]
fn a_leader_that_receives_nothing_is_replaced_during_a_one_way_cut() {
    for network in ["ordered", "unordered"] {
        let (nodes, cluster) = Cluster::start_as(network, "steps-down = true\npre-vote = true\n", "");
        let put = |value: &[u8]| Operation::Put("key".into(), value.to_vec());
        let (leader, _) = client::ask_one_until_told(cluster.clients(), 0, &put(b"first"));
        cluster.cut(leader, true);
        let other = (leader + 1) % 3;
        for value in [&b"second"[..], b"third"] {
            let (next, _) = client::ask_one_until_told(cluster.clients(), other, &put(value));
            assert_ne!(next, leader, "{network}");
        }
        assert!(!nodes.lines("steps down as leader").is_empty(), "{network}");
        cluster.cut(leader, false);
        let (_, read) = client::ask_one_until_told(cluster.clients(), leader, &Operation::Get("key".into()));
        assert_eq!(read, Outcome::Value(Some(b"third".to_vec())));
    }
}
