//! A node that has no end of things to do.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant};

use host_model::contract::LocalKind;
use host_model::scenario::Network;
use host_model::toys::{Toy, ToyTrigger};

use super::trial::Trial;
use crate::{Place, run};

/// What `/metrics` answers.
fn metrics(place: &Place) -> String {
    let mut stream = TcpStream::connect(place.metrics.expect("it has some")).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket can");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n").expect("it takes it");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    text
}

/// It answers each of its own messages by another one to itself, and all the same hears of others, and ends when it is to.
#[test]
fn who_talks_to_itself_without_an_end_does_not_go_deaf() {
    let toy = Toy::new(3).of_kind(0, LocalKind::Timer);
    let toy = toy.rule(0, 0, ToyTrigger::Local(0), 1, &[(0, 1)]).rule(0, 1, ToyTrigger::Message(0, 1), 1, &[(0, 1)]);
    let trial = Trial { timers: [Duration::from_millis(5); 3], ..Trial::new(toy, Network::Ordered) };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut place = trial.place(0, folder.path().join("disk"));
    let mut address = trial.seen[0][0];
    address.set_port(address.port() + 1);
    place.metrics = Some(address);
    let (stop, at_end) = (Arc::<AtomicBool>::default(), sync_channel(1));
    let (toy, for_node, to_stop) = (Arc::new(trial.toy), place.clone(), Arc::clone(&stop));
    // One that goes deaf would never be joined.
    thread::spawn(move || drop(at_end.0.send(run(&toy, &for_node, None, &to_stop))));
    let begun = Instant::now();
    while !folder.path().join("disk").exists() || TcpStream::connect(address).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not start");
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(Duration::from_millis(100));
    assert!(metrics(&place).contains("incarnation"), "{}", metrics(&place));
    stop.store(true, Ordering::Relaxed);
    let ended = at_end.1.recv_timeout(Duration::from_secs(60)).expect("it ends").expect("it runs");
    assert!(ended.counts.messages > 100, "{ended:?}");
}
