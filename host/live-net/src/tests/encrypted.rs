//! Nodes that authenticate, and nodes that do not.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use host_live::gate::Open;
use host_live::node::{Node, Output};
use host_live::time::Time;
use host_model::contract::NodeId;
use host_model::scenario::Network;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use super::certificates::{Authority, Shown};
use super::credentials::until;
use super::processes::free_addresses;
use super::trial::{LAST, RunningTrial, Trial, counter};
use crate::tcp::begins_with;
use crate::tls::PeerRejection;
use crate::{Tls, run};

/// The TLS of a node of three with these credentials.
fn tls(node: NodeId, shown: &Shown) -> Tls {
    Tls::new(node, 3, shown.of()).expect("they fit")
}

/// Three nodes with certificates, without checkers.
pub(super) fn trial(authority: &Authority) -> Trial {
    let of = |node| Some(tls(node, &authority.credentials(&[&format!("node-{node}")])));
    Trial { checked: None, tls: [of(0), of(1), of(2)], ..Trial::new(counter(), Network::Ordered) }
}

/// The address of node 1.
fn address(trial: &Trial) -> SocketAddr {
    trial.seen[1][1]
}

pub(super) fn connected(address: SocketAddr) -> TcpStream {
    let begun = Instant::now();
    loop {
        match TcpStream::connect(address) {
            Ok(stream) => return stream,
            Err(error) => assert!(begun.elapsed() < Duration::from_secs(60), "{error}"),
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Connects to node 1, and returns the stream or the reason of the refusal.
pub(super) fn connect(tls: &Tls, address: SocketAddr) -> Result<impl Write + use<>, PeerRejection> {
    tls.connect(connected(address), 1, &|| false)
}

/// Forwards all bytes to and from a node, and records them.
fn record(at: SocketAddr, to: SocketAddr) -> Arc<Mutex<Vec<u8>>> {
    let (listener, noted) = (TcpListener::bind(at).expect("it is free"), Arc::<Mutex<Vec<u8>>>::default());
    let all = Arc::clone(&noted);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.expect("it comes");
            let Ok(target) = TcpStream::connect(to) else { continue };
            for (from, to) in [(&stream, &target), (&target, &stream)] {
                let (mut from, mut to) =
                    (from.try_clone().expect("a socket can"), to.try_clone().expect("a socket can"));
                let all = Arc::clone(&all);
                thread::spawn(move || {
                    let mut bytes = vec![0; 1 << 16];
                    while let Ok(length @ 1..) = from.read(&mut bytes) {
                        all.lock().expect("no thread panics with it").extend(&bytes[..length]);
                        if to.write_all(&bytes[..length]).is_err() {
                            break;
                        }
                    }
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
        }
    });
    noted
}

#[test]
fn who_reads_along_reads_no_frames() {
    for is_encrypted in [true, false] {
        let mut trial = trial(&Authority::new());
        if !is_encrypted {
            trial.tls = [const { None }; 3];
        }
        let between = free_addresses()[0];
        let noted = record(between, address(&trial));
        trial.seen[0][1] = between;
        let ended = trial.run(|trial| (1..3).for_each(|node| trial.wait(node, LAST))).ended;
        assert!(ended.iter().all(|ended| ended.distrusted.is_empty() && ended.counts.refused.is_empty()), "{ended:?}");
        let noted = noted.lock().expect("no thread panics with it");
        let frames = noted.windows(4).filter(|four| *four == b"HLIV").count();
        // Head and hash of each frame are 50 bytes, and at least five frames pass.
        assert!(noted.len() > 250, "{}", noted.len());
        assert!(if is_encrypted { frames == 0 } else { frames >= usize::from(LAST) }, "{frames}");
    }
}

/// A peer without a certificate that otherwise follows the protocol.
fn nameless(authority: &Authority, address: SocketAddr) {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).expect("it is one")).expect("it is one");
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let config = config.with_protocol_versions(&[&rustls::version::TLS13]).expect("it is known");
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let name = "node-1".try_into().expect("it is one");
    let mut connection = ClientConnection::new(Arc::new(config), name).expect("it begins");
    let mut stream = connected(address);
    while connection.complete_io(&mut stream).is_ok() {}
}

/// Waits until the other end closes a connection.
fn hear_out(mut stream: &TcpStream) {
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket can");
    let mut bytes = [0; 1 << 10];
    while let Ok(1..) = stream.read(&mut bytes) {}
}

#[test]
fn strangers_are_refused_and_counted_and_the_others_continue() {
    let (authority, other) = (Authority::new(), Authority::new());
    let mut trial = trial(&authority);
    trial.timers = [Duration::from_millis(1_500); 3];
    let address = address(&trial);
    let end = SystemTime::now() + Duration::from_secs(3);
    let short = tls(2, &authority.credentials_with(&["node-2"], until(end)));
    let foreign = tls(2, &other.credentials(&["node-2"]).taking(&authority));
    // These are valid for other clusters, one of two nodes and one of eight.
    let several = Tls::new(0, 2, authority.credentials(&["node-0", "node-2"]).of()).expect("they fit");
    let eighth = Tls::new(7, 8, authority.credentials(&["node-7"]).of()).expect("they fit");
    let distrusting = tls(2, &other.credentials(&["node-2"]));
    let meanwhile = |trial: &RunningTrial| {
        let slow = thread::scope(|scope| {
            let silent = scope.spawn(|| hear_out(&connected(address)));
            let slow = scope.spawn(|| {
                let mut stream = connected(address);
                // The beginning of a record of 16 KiB, byte by byte: the record alone would take 160 s.
                let bytes = [22, 3, 1, 64, 0].into_iter().chain(std::iter::repeat_n(1, 1 << 14));
                bytes
                    .take_while(|byte| {
                        thread::sleep(Duration::from_millis(10));
                        stream.write_all(&[*byte]).is_ok()
                    })
                    .count()
            });
            assert_eq!(connect(&foreign, address).err(), Some(PeerRejection::Refused));
            assert_eq!(connect(&several, address).err(), Some(PeerRejection::Closed));
            assert_eq!(connect(&eighth, address).err(), Some(PeerRejection::Closed));
            assert_eq!(connect(&distrusting, address).err(), Some(PeerRejection::Authority));
            nameless(&authority, address);
            let mut plain = connected(address);
            let _ = plain.write_all(b"HLIV and so on");
            hear_out(&plain);
            drop(connected(address));
            thread::sleep(Duration::from_secs(4));
            assert_eq!(connect(&short, address).err(), Some(PeerRejection::Refused));
            silent.join().expect("it is closed");
            slow.join().expect("it is closed")
        });
        assert!(slow < 1 << 14, "it takes all of a slow greeting");
        (1..3).for_each(|node| trial.wait(node, LAST));
    };
    let ended = trial.run(meanwhile).ended;
    let expected = BTreeMap::from([
        ("authority", 1),
        ("closed", 1),
        ("expired", 1),
        ("name", 2),
        ("no-certificate", 1),
        ("plaintext", 1),
        ("refused-by-peer", 1),
        ("timeout", 2),
    ]);
    assert_eq!(ended[1].distrusted, expected);
    assert!([0, 2].iter().all(|node: &usize| ended[*node].distrusted.is_empty()), "{ended:?}");
    assert!(ended.iter().all(|ended| ended.counts.refused.is_empty()), "{ended:?}");
}

/// The frame in which node 0 sends the number one to node 1, as on the wire.
pub(super) fn frame(trial: &Trial) -> Vec<u8> {
    let place = trial.place(0, "none".into());
    let mut node =
        Node::start(&Arc::new(counter()), place.identity, place.settings, Open, None, Time(0)).expect("it starts");
    let mut now = Time(0);
    loop {
        while let Some(output) = node.next_output() {
            match output {
                Output::Persist { ticket, .. } => node.persisted(ticket),
                Output::Send { to: 1, frame } => return frame,
                _ => {}
            }
        }
        now = now.after(Duration::from_millis(10));
        node.elapse(now);
    }
}

/// A frame of node 0 arrives over a connection of node 2, and then over one of node 0.
#[test]
fn a_node_cannot_speak_for_another_one() {
    let trial = Trial { running: vec![1], ..trial(&Authority::new()) };
    let (address, frame) = (address(&trial), frame(&trial));
    let ended = trial.run(|running| {
        for (node, count) in [(2, 0), (0, 1)] {
            let tls = trial.tls[node].as_ref().expect("each has some");
            let mut stream = connect(tls, address).unwrap_or_else(|why| panic!("it is node {node}: {why:?}"));
            stream
                .write_all(&[begins_with(0, &[0; 16]), frame.clone()].concat())
                .and_then(|()| stream.flush())
                .expect("it is taken");
            match count {
                0 => running.wait_for(1, "frames_refused_total{reason=\"impostor\"}", 1),
                _ => running.wait(1, count),
            }
            assert_eq!(running.count(1), count);
        }
    });
    let ended = &ended.ended[0];
    assert_eq!((&ended.counts.refused, ended.counts.messages), (&BTreeMap::from([("impostor", 1)]), 1));
    assert!(ended.distrusted.is_empty(), "{ended:?}");
}

/// Node 2 runs at the address of node 1, or node 1 without TLS. Node 0 sends it nothing, and retries once per second.
#[test]
fn a_peer_with_a_wrong_identity_receives_nothing() {
    thread::scope(|scope| {
        for is_plain in [true, false] {
            scope.spawn(move || {
                let authority = Authority::new();
                let mut trial = trial(&authority);
                trial.tls[1] = (!is_plain).then(|| tls(2, &authority.credentials(&["node-2"])));
                let begun = Instant::now();
                let meanwhile = |trial: &RunningTrial| {
                    trial.wait(2, LAST);
                    let reason = if is_plain { "closed" } else { "name" };
                    trial.wait_for(0, &format!("connections_refused_total{{reason=\"{reason}\"}}"), 2);
                };
                let ended = trial.run(meanwhile).ended;
                let seconds = begun.elapsed().as_secs();
                let (reason, other) = if is_plain { ("closed", "magic") } else { ("name", "refused-by-peer") };
                let tries = ended[0].distrusted.get(reason).copied().unwrap_or_default();
                assert!((1..=seconds + 1).contains(&tries) && ended[0].distrusted.len() == 1, "{seconds}: {ended:?}");
                let refused = if is_plain { &ended[1].counts.refused } else { &ended[1].distrusted };
                // The test may end during an attempt.
                let refused: Vec<_> = refused.iter().filter(|(reason, _)| **reason != "closed").collect();
                let is_right = |&(reason, count): &(&&str, &u64)| *reason == other && (1..=tries + 1).contains(count);
                assert!(refused.len() == 1 && refused.iter().all(is_right), "{ended:?}");
                assert_eq!(ended[1].counts.messages, 0);
            });
        }
    });
}

/// All connections to the address of node 1 are closed at first; then node 1 starts there.
#[test]
fn a_peer_that_was_refused_is_tried_again() {
    let trial = trial(&Authority::new());
    let (address, tried, seconds) = (address(&trial), AtomicU64::new(0), AtomicU64::new(0));
    let early = Trial { running: vec![0, 2], ..trial };
    early.run(|running| {
        let listener = TcpListener::bind(address).expect("it is free");
        listener.set_nonblocking(true).expect("a socket can");
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(3_500) || tried.load(Ordering::Relaxed) < 2 {
            tried.fetch_add(u64::from(listener.accept().is_ok()), Ordering::Relaxed);
            assert!(begun.elapsed() < Duration::from_secs(60), "it is not tried again");
            thread::sleep(Duration::from_millis(5));
        }
        seconds.store(begun.elapsed().as_secs(), Ordering::Relaxed);
        drop(listener);
        let (place, stop) = (early.place(1, running.disk(1)), AtomicBool::new(false));
        thread::scope(|scope| {
            let node = scope.spawn(|| run(&Arc::new(counter()), &place, None, &stop));
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| running.wait(1, LAST)));
            stop.store(true, Ordering::Relaxed);
            node.join().expect("it does not panic").expect("it runs");
            done.expect("it counts to the last number");
        });
    });
    let (tried, seconds) = (tried.into_inner(), seconds.into_inner());
    assert!((2..=seconds + 2).contains(&tried), "once a second: {tried} in {seconds} s");
}
