//! Clusters whose members change.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::ask_on;
use super::client;
use super::cluster::{Cluster, plugin};
use super::http::request;
use super::judge::{Judge, Told};

const CLIENTS: u32 = 3;

/// Asks for a change until it is made, and returns the node that has answered, with the members.
fn change(cluster: &Cluster, method: &str, path: &str) -> (usize, String) {
    let begun = Instant::now();
    loop {
        for (node, client) in cluster.clients().iter().enumerate() {
            if let Ok(response) = request(*client, method, path, &[])
                && response.status == 200
            {
                return (node, String::from_utf8(response.body).expect("it is text"));
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "no node answers {method} {path}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn shown(members: &[usize]) -> String {
    let nodes: Vec<String> = members.iter().map(usize::to_string).collect();
    format!("{{\"members\":[{}]}}\n", nodes.join(","))
}

/// Four processes, three of them members. While clients write and read, the fourth one takes the place of the leader, whose process
/// ends; then another member ends and comes back, and the former leader with it. Answers are linearizable, and no acknowledged write is
/// lost.
fn replaced(network: &str) {
    let parameters = "terms = 0\nkept = 20\nheartbeats = true\nsteps-down = true\npre-vote = true\nbatches = true\npipeline = 2\n\
                      reads = \"index\"\nrevisions = true\nsessions = 10\nmembers = 3\n";
    let lines = format!("{}[parameters]\n{parameters}", plugin());
    let (mut nodes, cluster) = Cluster::start_nodes(4, &lines, network, "");
    let (begun, judge, is_over) = (Instant::now(), Mutex::new(Judge::default()), AtomicBool::new(false));
    let wait_for_answers = |count: usize| {
        let answered = || judge.lock().expect("no client panics").answered();
        let (before, begun) = (answered(), Instant::now());
        while answered() < before + count {
            assert!(begun.elapsed() < Duration::from_secs(120), "{network}: {} answers, then no more", answered());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (cluster, judge, is_over) = (&cluster, &judge, &is_over);
            scope.spawn(move || ask_on(number, cluster.clients(), begun, judge, is_over));
        }
        wait_for_answers(10);
        assert_eq!(change(&cluster, "PUT", "/members/3").1, shown(&[0, 1, 2, 3]), "{network}");
        let (leader, _) = change(&cluster, "GET", "/members");
        let members: Vec<usize> = (0..4).filter(|node| *node != leader).collect();
        assert_eq!(change(&cluster, "DELETE", &format!("/members/{leader}")).1, shown(&members), "{network}");
        nodes.kill(leader);
        wait_for_answers(10);
        nodes.kill(members[0]);
        wait_for_answers(10);
        nodes.start(members[0]);
        nodes.start(leader);
        wait_for_answers(20);
        assert_eq!(change(&cluster, "GET", "/members").1, shown(&members), "{network}");
        is_over.store(true, Ordering::Relaxed);
    });
    let mut judge = judge.into_inner().expect("no client has panicked");
    judge.read_all(|operation| client::ask_until_told(cluster.clients(), operation));
    let Told { answered, .. } = judge.verdict().unwrap_or_else(|why| panic!("{network}: {why}"));
    assert!(answered > 50, "{network}: {answered}");
    assert!(!nodes.lines("it is no member of the cluster").is_empty(), "{network}");
}

#[test]
fn a_member_is_replaced_under_load_over_connections() {
    replaced("ordered");
}

#[test]
fn a_member_is_replaced_under_load_over_datagrams() {
    replaced("unordered");
}
