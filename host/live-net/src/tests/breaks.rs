//! Connections that break unnoticed by one end.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use host_model::contract::LocalKind;
use host_model::scenario::Network;
use host_model::toys::{Toy, ToyTrigger};

use super::trial::{Trial, answer};
use crate::run;

/// Nodes 0 and 1 send to each other again and again, and accept every message.
fn talkers() -> Toy {
    let toy = Toy::new(3).of_kind(0, LocalKind::Timer);
    [(0, 1), (1, 0)].into_iter().fold(toy, |toy, (node, other)| {
        let toy = toy.rule(node, 0, ToyTrigger::Local(0), 0, &[(other, 1)]);
        toy.rule(node, 0, ToyTrigger::Message(other, 1), 0, &[])
    })
}

/// The number of messages sent by one node and not received by the other.
fn lost(from: SocketAddr, to: SocketAddr) -> u64 {
    // Sent messages are counted first, so that none sent meanwhile counts as lost.
    let said = counted(from, "local_events_total");
    said.saturating_sub(counted(to, "messages_total"))
}

fn counted(node: SocketAddr, name: &str) -> u64 {
    let text = answer(node, "/metrics");
    let value = text.lines().find_map(|line| line.strip_prefix(&format!("host_live_{name} ")));
    value.expect("it is counted").parse().expect("a number")
}

/// Waits until a condition holds; gives up after a minute.
fn wait(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A stranger listens at the address of node 1, and leaves once node 0 has received from node 1, so that only the stream of node 0
/// breaks. Then both receive from each other again, and lose nothing more.
#[test]
fn a_break_at_one_end_leads_to_no_other_ones() {
    let trial =
        Trial { checked: None, timers: [Duration::from_millis(20); 3], ..Trial::new(talkers(), Network::Ordered) };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = |node: u32| trial.place(node, folder.path().join(node.to_string()));
    let stop = AtomicBool::new(false);
    let toy = Arc::new(trial.toy.clone());
    let listener = TcpListener::bind(trial.seen[1][1]).expect("it is free");
    let node = |node: u32| run(&toy, &place(node), None, &stop).expect("it runs");
    let (zero, one) = thread::scope(|scope| {
        let zero = scope.spawn(|| node(0));
        let (taken, _) = listener.accept().expect("node 0 speaks");
        drop(listener);
        let one = scope.spawn(|| node(1));
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let [at_zero, at_one] = [0, 1].map(|node| trial.metrics(node));
            wait("node 0 hears nothing", || counted(at_zero, "messages_total") > 0);
            drop::<TcpStream>(taken);
            wait("node 1 hears nothing", || {
                TcpStream::connect(at_one).is_ok() && counted(at_one, "messages_total") > 0
            });
            for (from, to) in [(at_zero, at_one), (at_one, at_zero)] {
                // Until node 1 listened, and while the connection was broken, the messages of node 0 were lost.
                let (before, heard) = (lost(from, to), counted(to, "messages_total"));
                wait("too much is lost", || counted(to, "messages_total") >= heard + 50 && lost(from, to) <= before);
            }
        }));
        stop.store(true, Ordering::Relaxed);
        let ended = (zero.join().expect("no panic"), one.join().expect("no panic"));
        done.unwrap_or_else(|why| std::panic::resume_unwind(why));
        ended
    });
    assert!(zero.counts.breaks + one.counts.breaks <= 3, "{zero:?} {one:?}");
}
