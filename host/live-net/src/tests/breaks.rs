//! Connections that break where one end does not see it.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use host_model::contract::LocalKind;
use host_model::scenario::Network;
use host_model::toys::{Toy, ToyTrigger};

use super::trial::Trial;
use crate::run;

/// Nodes 0 and 1 tell each other something again and again, and take whatever comes.
fn talkers() -> Toy {
    let toy = Toy::new(3).of_kind(0, LocalKind::Timer);
    [(0, 1), (1, 0)].into_iter().fold(toy, |toy, (node, other)| {
        let toy = toy.rule(node, 0, ToyTrigger::Local(0), 0, &[(other, 1)]);
        toy.rule(node, 0, ToyTrigger::Message(other, 1), 0, &[])
    })
}

/// A stranger is where node 1 should be, and goes away once node 1 has begun to speak, so that only what node 0 has made breaks.
#[test]
fn a_break_at_one_end_leads_to_no_other_ones() {
    let trial =
        Trial { checked: None, timers: [Duration::from_millis(20); 3], ..Trial::new(talkers(), Network::Ordered) };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = |node: u32| trial.place(node, folder.path().join(node.to_string()));
    let stop = AtomicBool::new(false);
    let toy = Arc::new(trial.toy.clone());
    let listener = TcpListener::bind(trial.seen[1][1]).expect("nobody else has it");
    let node = |node: u32| run(&toy, &place(node), None, &stop).expect("it runs");
    let (zero, one) = thread::scope(|scope| {
        let zero = scope.spawn(|| node(0));
        let (taken, _) = listener.accept().expect("node 0 speaks");
        drop(listener);
        let one = scope.spawn(|| node(1));
        thread::sleep(Duration::from_millis(300));
        drop::<TcpStream>(taken);
        thread::sleep(Duration::from_secs(2));
        stop.store(true, Ordering::Relaxed);
        (zero.join().expect("no panic"), one.join().expect("no panic"))
    });
    // Until node 1 was there, and while the connection was broken, what node 0 said was lost.
    let lost = [(&zero, &one), (&one, &zero)].map(|(from, to)| from.counts.local.abs_diff(to.counts.messages));
    assert!(zero.counts.breaks + one.counts.breaks <= 3, "{zero:?} {one:?}");
    assert!(lost[1] * 4 <= one.counts.local && lost[0] * 2 <= zero.counts.local, "{zero:?} {one:?}");
}
