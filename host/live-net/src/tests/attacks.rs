//! A table of attacks on the port of a node: the bytes sent, the budget or check that refuses them, and the maximum memory of the node.
//!
//! The attacker is at the address of node 2 and speaks for it; one at another address is refused, see the last test. After each attack,
//! while its streams are still open, the node serves another peer, and it ends on request.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use host_live::checkpoint::{Body, Header, Packet};
use host_live::node::{HEAD, TOKEN, VERSION};
use host_model::scenario::Network;

use super::certificates::Authority;
use super::encrypted::{connect, connected, frame, trial as encrypted};
use super::processes::free_addresses;
use super::trial::{RunningTrial, Trial, at_once, counter};
use crate::accept::Listening;
use crate::budget::{PEER_MAX, STRANGERS_MAX};
use crate::callback::tests::stand_in;
use crate::receive::PLACES;
use crate::tcp::begins_with;
use crate::udp::tests::{forge, speak_from};

/// The attacked node.
struct Target<'t> {
    trial: &'t Trial,
    address: SocketAddr,
}

/// An attack.
struct Attack {
    name: &'static str,
    network: Network,
    /// Sends the bytes; the returned streams stay open until the node has ended.
    send: fn(&Target<'_>) -> Vec<TcpStream>,
    /// The reasons for which frames are refused, each at least once.
    refused: &'static [&'static str],
    /// The accounts that had no room.
    over_budget: &'static [&'static str],
    /// The maximum memory of the node, in bytes.
    held_max: usize,
}

/// The memory for the frames of the honest peer, in bytes.
const HONEST: usize = 64 << 10;

const ATTACKS: [Attack; 10] = [
    Attack {
        name: "checkpoints that were not asked for",
        network: Network::Ordered,
        send: |target| {
            let checkpoint = target.answer();
            assert!(checkpoint.len() < 90_000, "{}", checkpoint.len());
            vec![target.say(&[&begins_with(0, &[0; 16]), &checkpoint.repeat(300)])]
        },
        refused: &["unasked"],
        over_budget: &[],
        held_max: PEER_MAX,
    },
    Attack {
        name: "streams that only greet, more than there are places",
        network: Network::Ordered,
        send: |target| (0..PLACES + 44).map(|_| target.say(&[&begins_with(0, &[0; 16])])).collect(),
        refused: &[],
        over_budget: &[],
        held_max: HONEST,
    },
    Attack {
        name: "silent streams, more than there are places",
        network: Network::Ordered,
        send: |target| (0..PLACES + 44).map(|_| target.say(&[])).collect(),
        refused: &[],
        over_budget: &[],
        held_max: HONEST,
    },
    Attack {
        name: "incomplete frames of 16 MiB",
        network: Network::Ordered,
        send: |target| {
            let begun = [&target.head((16 << 20) - 96)[..], &[0; 100_000]].concat();
            (0..PLACES - 1).map(|_| target.say(&[&begins_with(0, &[0; 16]), &begun])).collect()
        },
        refused: &[],
        over_budget: &["strangers"],
        held_max: STRANGERS_MAX + HONEST,
    },
    Attack {
        name: "damaged frames of a mebibyte",
        network: Network::Ordered,
        send: |target| {
            let damaged = [&target.head(1 << 20)[..], &vec![0; (1 << 20) + 8]].concat();
            (0..4).map(|_| target.say(&[&begins_with(0, &[0; 16]), &damaged.repeat(8)])).collect()
        },
        refused: &["damaged"],
        over_budget: &[],
        held_max: STRANGERS_MAX + HONEST,
    },
    Attack {
        name: "as a node, one stream after the other with an incomplete frame",
        network: Network::Ordered,
        send: |target| {
            let begun = [&target.head((16 << 20) - 96)[..], &vec![0; 4 << 20]].concat();
            (0..12).map(|number| target.say(&[&begins_with(number, &[0; 16]), &target.message(), &begun])).collect()
        },
        refused: &[],
        over_budget: &[],
        held_max: PEER_MAX + HONEST,
    },
    Attack {
        name: "long frames of another cluster",
        network: Network::Ordered,
        send: |target| {
            let mut foreign = [&target.head(1 << 20)[..], &vec![0; (1 << 20) + 8]].concat();
            foreign[6] ^= 1;
            vec![target.say(&[&begins_with(0, &[0; 16]), &foreign.repeat(32)])]
        },
        refused: &["cluster"],
        over_budget: &[],
        held_max: HONEST,
    },
    Attack {
        name: "as a node, a start far ahead, and one of the target that it has not had",
        network: Network::Ordered,
        send: |target| {
            let (ahead, later) = (target.message_of(1 << 60, 0), target.message_of(1, 9));
            vec![target.say(&[&begins_with(0, &[0; 16]), &ahead, &later])]
        },
        refused: &["malformed", "later-start"],
        over_budget: &[],
        held_max: HONEST,
    },
    Attack {
        name: "a message that is longer than any",
        network: Network::Ordered,
        send: |target| {
            let longest = vec![1; Network::Ordered.message_max() + 1];
            vec![target.say(&[&begins_with(0, &[0; 16]), &target.packed(1, 0, longest)])]
        },
        refused: &["too-long"],
        over_budget: &[],
        held_max: PEER_MAX + HONEST,
    },
    Attack {
        name: "long datagrams of another cluster, and of none",
        network: Network::Unordered,
        send: |target| {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("there is a port");
            let mut foreign = [&target.head(60_000)[..], &vec![0; 60_008 + TOKEN]].concat();
            foreign[6] ^= 1;
            for _ in 0..50 {
                for bytes in [&foreign[..], &vec![7; 60_000], b"HLIV"] {
                    socket.send_to(bytes, target.address).expect("it leaves");
                    // The receive buffer of the other end holds a few of them.
                    thread::sleep(Duration::from_millis(1));
                }
            }
            vec![]
        },
        refused: &["cluster", "magic", "length"],
        over_budget: &[],
        held_max: HONEST,
    },
];

impl Target<'_> {
    /// A stream to the target with these bytes; the target may read fewer.
    fn say(&self, pieces: &[&[u8]]) -> TcpStream {
        let mut stream = connected(self.address);
        // A write blocks when the target stops reading.
        stream.set_write_timeout(Some(Duration::from_secs(30))).expect("a socket can");
        let _ = pieces.iter().try_for_each(|piece| stream.write_all(piece));
        stream
    }

    /// The head of a frame of node 2 whose packet has this length in bytes.
    fn head(&self, length: u32) -> Vec<u8> {
        let mut head = self.message()[..HEAD].to_vec();
        head[38..42].copy_from_slice(&length.to_le_bytes());
        head
    }

    /// A frame of node 2 that is accepted.
    fn message(&self) -> Vec<u8> {
        self.message_of(1, 0)
    }

    /// The same from this start of node 2, to this start of the target.
    fn message_of(&self, incarnation: u64, addressee: u64) -> Vec<u8> {
        self.packed(incarnation, addressee, vec![1])
    }

    fn packed(&self, incarnation: u64, addressee: u64, payload: Vec<u8>) -> Vec<u8> {
        let header = Header { number: 1, incarnation, addressee, acknowledged: None };
        let packet = Packet { header, body: Body::Message { sequence: 1, payload } };
        self.signed(&postcard::to_extend(&packet, vec![0]).expect("it has an encoding"))
    }

    /// A frame of node 2 with a checkpoint of 16 MiB that takes 90 KB on the wire.
    fn answer(&self) -> Vec<u8> {
        let piece = lz4_flex::block::compress(&[0; 32 << 10]);
        let mut packet = vec![1];
        packet.extend((16_u32 << 20).to_le_bytes());
        for _ in 0..512 {
            packet.extend(u16::try_from(piece.len()).expect("it is short").to_le_bytes());
            packet.extend(&piece);
        }
        self.signed(&packet)
    }

    fn signed(&self, packet: &[u8]) -> Vec<u8> {
        let identity = self.trial.place(2, "none".into()).identity;
        let mut bytes = [&b"HLIV"[..], &VERSION.to_le_bytes(), &identity.cluster].concat();
        bytes.extend(2_u32.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(77_u64.to_le_bytes());
        bytes.extend(u32::try_from(packet.len()).expect("it is short").to_le_bytes());
        // The disk of node 2, and no disk of the target.
        bytes.extend([0_u64, 77, 0, 0].into_iter().flat_map(u64::to_le_bytes));
        bytes.extend(packet);
        let hash = blake3::hash(&bytes);
        bytes.extend(&hash.as_bytes()[..8]);
        bytes
    }
}

/// Waits until the node has handled a frame of another peer: node 0 sends the number 1.
fn is_heard(trial: &Trial, running: &RunningTrial) {
    let frame = frame(trial);
    match trial.network {
        Network::Ordered => {
            let mut stream = connected(trial.seen[1][1]);
            let _own = stand_in(trial.seen[1][0]);
            stream.write_all(&[begins_with(0, &[0; 16]), frame].concat()).expect("it is taken");
            running.wait(1, 1);
        }
        _ => {
            speak_from(trial.seen[1][0], trial.seen[1][1], &frame);
            running.wait(1, 1);
        }
    }
}

#[test]
fn what_attackers_send_is_bounded_in_bytes_and_others_are_heard() {
    at_once(&ATTACKS, |attack| {
        let metrics = free_addresses()[0];
        let trial =
            Trial { running: vec![1], checked: None, metrics: Some(metrics), ..Trial::new(counter(), attack.network) };
        let families = [("frames_refused", attack.refused), ("over_budget", attack.over_budget)];
        let counted: Vec<String> = families
            .iter()
            .flat_map(|(family, reasons)| reasons.iter().map(move |reason| (family, reason)))
            .map(|(family, reason)| format!("{family}_total{{reason=\"{reason}\"}}"))
            .collect();
        let target = Target { trial: &trial, address: trial.seen[1][1] };
        let ended = trial.run(|running| {
            running.wait_for_start(1);
            let _own = (attack.network == Network::Ordered).then(|| stand_in(trial.seen[1][2]));
            let _open = (attack.send)(&target);
            is_heard(&trial, running);
            running.wait_for_metrics(metrics, &counted);
        });
        let ended = &ended.ended[0];
        assert!(ended.holding.most <= attack.held_max, "{}: {ended:?}", attack.name);
    });
}

/// Under TLS, all places are taken by silent streams, by an authenticated node without a greeting, and by a node that greets on each of its
/// streams and then sends nothing: another peer is still served, and the silent streams of nodes end.
#[test]
fn under_tls_places_are_for_peers_that_speak() {
    let trial = Trial { running: vec![1], ..encrypted(&Authority::new()) };
    let address = trial.seen[1][1];
    trial.run(|running| {
        running.wait_for_start(1);
        let of = |node: usize| trial.tls[node].as_ref().expect("each has some");
        let raw = connected(address);
        let silent = of(2).connect(raw.try_clone().expect("a socket can"), 1, &|| false).expect("it is node 2");
        let _strangers: Vec<TcpStream> = (0..PLACES + 44).map(|_| connected(address)).collect();
        // They evict each other, so the handshake of a later stream may end an earlier one.
        let _greeters: Vec<_> = (0..PLACES as u64 + 44)
            .filter_map(|number| {
                let mut greeter = connect(of(2), address).ok()?;
                greeter.write_all(&begins_with(number, &[0; 16])).and_then(|()| greeter.flush()).ok()?;
                Some(greeter)
            })
            .collect();
        let mut peer = connect(of(0), address).expect("it is node 0");
        peer.write_all(&[begins_with(0, &[0; 16]), frame(&trial)].concat())
            .and_then(|()| peer.flush())
            .expect("it is taken");
        running.wait(1, 1);
        raw.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket can");
        let mut bytes = [0; 64];
        while let Ok(1..) = (&raw).read(&mut bytes) {}
        drop(silent);
    });
}

/// A frame in the name of a node from another address, over a stream or in a datagram, with a start that never happened, of that node or
/// of the receiver. It is refused, and frames of the real node in its own start are still accepted.
#[test]
fn a_forged_start_parts_no_nodes() {
    let rows = [Network::Ordered, Network::Unordered]
        .into_iter()
        .flat_map(|network| [(2, 0), (60_000, 0), (1, 2), (1, 60_000)].map(|forged| (network, forged)));
    at_once(rows, |(network, (incarnation, addressee))| {
        let metrics = free_addresses()[0];
        let trial = Trial { running: vec![1], checked: None, metrics: Some(metrics), ..Trial::new(counter(), network) };
        let target = Target { trial: &trial, address: trial.seen[1][1] };
        let forged = target.message_of(incarnation, addressee);
        let ended = trial.run(|running| {
            running.wait_for_start(1);
            let _open = match network {
                // Node 2 runs, and has made no such stream.
                Network::Ordered => {
                    let _own = Listening::open(trial.seen[1][2], Arc::default(), |mut stream| {
                        drop(stream.read_exact(&mut [0; 24]).and_then(|()| stream.write_all(&[0])));
                    });
                    let open = target.say(&[&begins_with(0, &[7; 16]), &forged]);
                    running.wait_for_metrics(metrics, &["frames_refused_total{reason=\"unproven\"}".to_owned()]);
                    Some(open)
                }
                _ => {
                    forge(target.address, &forged);
                    None
                }
            };
            let (own, heard) = (target.message(), ["host_live_messages_total 1\n".to_owned()]);
            if network == Network::Ordered {
                let _own = stand_in(trial.seen[1][2]);
                let _stream = target.say(&[&begins_with(0, &[0; 16]), &own]);
                running.wait_for_metrics(metrics, &heard);
            } else {
                speak_from(trial.seen[1][2], target.address, &own);
                running.wait_for_metrics(metrics, &heard);
            }
            running.wait_for_metrics(metrics, &["frames_refused_total{reason=\"unproven\"}".to_owned()]);
        });
        let what = format!("{network} {incarnation} {addressee}");
        let refused = ended.ended[0].counts.refused.keys().copied().collect::<Vec<_>>();
        assert_eq!((refused, ended.ended[0].counts.messages), (vec!["unproven"], 1), "{what}");
    });
}
