//! Byte streams, natively: random nodes that connect, write, read, close and start again, over links that break as those of a cluster do.
//! The bytes that an end reads are compared with those that the other end of the same connection has written.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::rc::Rc;
use std::task::{Context as Polling, Poll, Waker};

use guest_sdk::tasks::net::{Carrier, Segment, TcpListener, TcpStream};
use guest_sdk::tasks::{self, JoinHandle, Network as Links, Program, Tasks};
use guest_sdk::test::Cluster;
use guest_sdk::{About, LocalEvents, Network, Never, NodeId, ParameterError, Parameters, Properties};
use serde::{Deserialize, Serialize};

const PORT: u16 = 7;

/// The actions of the ends of all connections. Each end has a tag of its own.
#[derive(Default)]
struct Record {
    ends: Vec<End>,
    refused: usize,
    broken: usize,
}

/// One end, as its program sees it.
#[derive(Default)]
struct End {
    written: u16,
    has_ended: bool,
    read: Vec<u8>,
    /// The tag in the words that it reads.
    peer: Option<usize>,
    is_at_end: bool,
    is_broken: bool,
}

thread_local! {
    static RECORD: RefCell<Record> = RefCell::default();
    /// The action of the next call.
    static ACTION: Cell<Action> = const { Cell::new(Action::Connect(0)) };
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Connect(NodeId),
    Abandon(usize),
    /// Writes a number of words.
    Write(usize, u16),
    /// Reads up to a number of bytes.
    Read(usize, usize),
    Shutdown(usize),
    /// Writes one word and shuts down, in one handler.
    Finish(usize),
    Close(usize),
}

/// Open streams with the tags of their ends, and attempts to connect.
#[derive(Default)]
struct Node {
    streams: RefCell<Vec<(usize, TcpStream)>>,
    attempts: RefCell<Vec<JoinHandle<()>>>,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.streams.borrow().iter()).finish()
    }
}

impl Node {
    fn keep(&self, stream: TcpStream) {
        let tag = RECORD.with_borrow_mut(|record| {
            record.ends.push(End::default());
            record.ends.len() - 1
        });
        self.streams.borrow_mut().push((tag, stream));
    }

    fn act(self: &Rc<Self>, action: Action) {
        match action {
            Action::Connect(peer) => {
                let node = Rc::clone(self);
                let attempt = tasks::spawn(async move {
                    match TcpStream::connect((peer, PORT)).await {
                        Ok(stream) => node.keep(stream),
                        Err(error) => RECORD.with_borrow_mut(|record| match error.kind() {
                            ErrorKind::ConnectionRefused => record.refused += 1,
                            ErrorKind::ConnectionReset => record.broken += 1,
                            kind => panic!("{kind}"),
                        }),
                    }
                });
                self.attempts.borrow_mut().push(attempt);
            }
            Action::Abandon(lot) => {
                let mut attempts = self.attempts.borrow_mut();
                attempts.retain(|attempt| !attempt.is_finished());
                if !attempts.is_empty() {
                    attempts[lot % attempts.len()].abort();
                }
            }
            Action::Close(lot) => {
                let mut streams = self.streams.borrow_mut();
                if !streams.is_empty() {
                    let lot = lot % streams.len();
                    let (tag, stream) = streams.remove(lot);
                    RECORD.with_borrow_mut(|record| record.ends[tag].has_ended = true);
                    drop(stream);
                }
            }
            Action::Finish(lot) => {
                [Action::Write(lot, 1), Action::Shutdown(lot)].iter().for_each(|action| self.act(*action));
            }
            Action::Write(lot, _) | Action::Read(lot, _) | Action::Shutdown(lot) => {
                let streams = self.streams.borrow();
                if !streams.is_empty() {
                    let (tag, stream) = &streams[lot % streams.len()];
                    RECORD.with_borrow_mut(|record| use_stream(action, *tag, stream, record));
                }
            }
        }
    }
}

fn use_stream(action: Action, tag: usize, stream: &TcpStream, record: &mut Record) {
    let end = &mut record.ends[tag];
    match action {
        Action::Write(_, words) => {
            for _ in 0..words {
                let word = ((tag as u32) << 16 | u32::from(end.written)).to_be_bytes();
                match stream.write_now(&word) {
                    Ok(length) => assert_eq!(length, word.len()),
                    Err(error) => {
                        let expected = if end.has_ended { ErrorKind::BrokenPipe } else { ErrorKind::ConnectionReset };
                        assert!([expected, ErrorKind::ConnectionReset].contains(&error.kind()), "{error}");
                        return;
                    }
                }
                end.written += 1;
            }
        }
        Action::Read(_, most) => {
            let mut buffer = vec![0; most];
            match stream.poll_read(&mut Polling::from_waker(Waker::noop()), &mut buffer) {
                Poll::Pending => assert!(!end.is_at_end && !end.is_broken, "an end stays"),
                Poll::Ready(Ok(0)) => end.is_at_end = true,
                Poll::Ready(Ok(length)) => {
                    assert!(!end.is_at_end && !end.is_broken, "bytes behind the end");
                    end.read.extend(&buffer[..length]);
                }
                Poll::Ready(Err(error)) => {
                    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
                    end.is_broken = true;
                }
            }
        }
        _ => {
            stream.shutdown_now();
            end.has_ended = true;
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Act;

struct Talk {
    listeners: NodeId,
}

impl Program for Talk {
    const ABOUT: About = guest_sdk::about!().network(Network::Ordered);
    const STREAMS: Option<Carrier<Segment>> = Some(Carrier::SEGMENTS);
    type Message = Segment;
    type Call = Act;
    type Durable = Never;
    type Shared = Rc<Node>;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        Ok(Self { listeners: parameters.get("listeners", 3, "how many nodes listen")? })
    }

    fn start(&self, links: Links<Segment>, _: Option<Never>) -> Rc<Node> {
        let node = Rc::new(Node::default());
        if links.me() < self.listeners {
            let node = Rc::clone(&node);
            tasks::spawn(async move {
                let listener = TcpListener::bind("0.0.0.0:7").await.expect("the port is free");
                loop {
                    let (stream, _) = listener.accept().await.expect("it accepts");
                    node.keep(stream);
                }
            });
        }
        node
    }

    fn calls(&self, _: &Rc<Node>, calls: &mut LocalEvents<Act>) {
        calls.application("act", Act);
    }

    fn call(&self, node: &Rc<Node>, Act: Act) {
        node.act(ACTION.get());
    }

    fn properties(_: &mut Properties<Tasks<Self>>) {}
}

/// A generator of random numbers.
struct Lots(u64);

impl Lots {
    fn below(&mut self, end: usize) -> usize {
        // The constants are Knuth's.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// The nodes and their links, with connections that break as docs/semantics.md defines it.
struct World {
    cluster: Cluster<Tasks<Talk>>,
    /// Whether the first node's end of the connection with the second one is open.
    is_open: BTreeMap<(NodeId, NodeId), bool>,
    /// Notices from the first node to the second one, each behind this many messages.
    notices: BTreeMap<(NodeId, NodeId), usize>,
    lots: Lots,
    faults: usize,
}

impl World {
    fn new(seed: u64, parameters: &[(&str, &str)]) -> Self {
        RECORD.take();
        let cluster = Cluster::new(3, parameters).expect("the parameters fit");
        Self { cluster, is_open: BTreeMap::new(), notices: BTreeMap::new(), lots: Lots(seed), faults: 0 }
    }

    /// The places of the messages in flight from one node to another one, in their order.
    fn on_link(&self, from: NodeId, to: NodeId) -> Vec<usize> {
        let all = self.cluster.in_flight().iter().enumerate();
        all.filter(|(_, message)| (message.from, message.to) == (from, to)).map(|(at, _)| at).collect()
    }

    /// Sets what the handler of a node has sent on its way: it is lost where the destination has broken the connection.
    fn send(&mut self, node: NodeId, before: usize) {
        for message in &self.cluster.in_flight()[before..] {
            self.is_open.insert((node, message.to), true);
        }
        for peer in 0..3 {
            if self.notices.contains_key(&(peer, node)) {
                while let Some(at) = self.on_link(node, peer).pop() {
                    self.cluster.lose(at);
                }
            }
        }
    }

    fn act(&mut self, node: NodeId, action: Action) {
        let before = self.cluster.in_flight().len();
        ACTION.set(action);
        self.cluster.happen(node, "act");
        self.send(node, before);
    }

    fn rest(&mut self, node: NodeId) {
        let before = self.cluster.in_flight().len();
        if self.cluster.local_events(node).iter().any(|event| event.name == "rest") {
            self.cluster.happen(node, "rest");
            self.send(node, before);
        }
    }

    /// Delivers the first message of a link, or takes the notice behind it.
    fn receive(&mut self, from: NodeId, to: NodeId) {
        let messages = self.on_link(from, to);
        let ahead = self.notices.get(&(from, to)).copied();
        match (messages.first(), ahead) {
            (first, Some(ahead)) if ahead == 0 || first.is_none() || self.lots.below(2) == 0 => self.notice(from, to),
            (Some(first), ahead) => {
                let before = self.cluster.in_flight().len() - 1;
                self.is_open.insert((to, from), true);
                self.cluster.deliver(*first);
                if let Some(ahead) = ahead {
                    self.notices.insert((from, to), ahead - 1);
                }
                self.send(to, before);
            }
            _ => {}
        }
    }

    fn notice(&mut self, from: NodeId, to: NodeId) {
        let ahead = self.notices.remove(&(from, to)).expect("there is one");
        for _ in 0..ahead {
            let first = self.on_link(from, to)[0];
            self.cluster.lose(first);
        }
        if self.is_open.insert((to, from), false) == Some(true) && self.lots.below(2) == 0 {
            let before = self.cluster.in_flight().len();
            self.cluster.transport_error(to, from);
            self.send(to, before);
        }
    }

    /// The connection breaks at a node; whether it did.
    fn tear(&mut self, node: NodeId, peer: NodeId) -> bool {
        let is_open = self.is_open.get(&(node, peer)) == Some(&true);
        if node == peer || !is_open {
            return false;
        }
        if self.notices.contains_key(&(peer, node)) {
            self.notice(peer, node);
            return false;
        }
        self.faults += 1;
        self.is_open.insert((node, peer), false);
        while let Some(at) = self.on_link(peer, node).pop() {
            self.cluster.lose(at);
        }
        // A second notice covers the first one.
        self.notices.insert((node, peer), self.on_link(node, peer).len());
        true
    }

    fn break_link(&mut self, node: NodeId, peer: NodeId) {
        if self.tear(node, peer) && self.lots.below(2) == 0 {
            let before = self.cluster.in_flight().len();
            self.cluster.transport_error(node, peer);
            self.send(node, before);
        }
    }

    fn reset(&mut self, node: NodeId) {
        self.faults += 1;
        for peer in 0..3 {
            self.tear(node, peer);
        }
        while let Some(at) = self.on_link(node, node).pop() {
            self.cluster.lose(at);
        }
        self.cluster.reset(node);
    }

    fn random_action(&mut self) -> Action {
        let lot = self.lots.below(100);
        match self.lots.below(13) {
            0 | 1 => Action::Connect(self.lots.below(3) as NodeId),
            2 => Action::Abandon(lot),
            3..=6 => Action::Write(lot, 1 + self.lots.below(3) as u16),
            7..=9 => Action::Read(lot, 1 + self.lots.below(9)),
            10 => Action::Shutdown(lot),
            11 => Action::Finish(lot),
            _ => Action::Close(lot),
        }
    }

    /// Delivers everything, and reads everything that arrives.
    fn drain(&mut self) {
        loop {
            let links: Vec<_> = (0..9).map(|link| (link / 3, link % 3)).collect();
            let busy = links
                .iter()
                .find(|(from, to)| !self.on_link(*from, *to).is_empty() || self.notices.contains_key(&(*from, *to)));
            match busy {
                Some((from, to)) => self.receive(*from, *to),
                None if (0..3).any(|node| self.cluster.local_events(node).iter().any(|event| event.name == "rest")) => {
                    (0..3).for_each(|node| self.rest(node));
                }
                None => break,
            }
        }
        for node in 0..3 {
            let streams = self.cluster.state(node).streams.borrow().len();
            for lot in 0..streams {
                // The second one finds the end.
                (0..2).for_each(|_| self.act(node, Action::Read(lot, 10_000)));
            }
        }
    }
}

/// Each end has read what the end that it is connected with has written, from the beginning, and no end is connected with two. Returns the
/// number of words.
fn compare(record: &mut Record, context: &str) -> usize {
    let mut words = 0;
    for tag in 0..record.ends.len() {
        let (read, rest) = record.ends[tag].read.as_chunks();
        let (read, rest): (Vec<u32>, usize) = (read.iter().map(|word| u32::from_be_bytes(*word)).collect(), rest.len());
        for (index, word) in read.iter().enumerate() {
            let peer = *record.ends[tag].peer.get_or_insert((word >> 16) as usize);
            assert_eq!(*word, (peer as u32) << 16 | index as u32, "{context}: word {index} of end {tag}");
            assert_eq!(*record.ends[peer].peer.get_or_insert(tag), tag, "{context}: end {peer} has two others");
        }
        words += read.len();
        let is_at_end = record.ends[tag].is_at_end;
        if let Some(peer) = record.ends[tag].peer.filter(|_| is_at_end) {
            let peer = &record.ends[peer];
            let written = usize::from(peer.written);
            assert!(peer.has_ended && rest == 0 && read.len() == written, "{context}: end {tag} is not complete");
        }
    }
    words
}

/// Random programs over random links: a stream is a beginning of what was written, whatever breaks, and the end is behind all of it.
#[test]
fn an_end_reads_what_the_other_end_of_the_same_connection_has_written() {
    let (mut words, mut faults, mut ends, mut broken, mut refused) = (0, 0, 0, 0, 0);
    for seed in 0..6_000 {
        let splits = if seed % 3 == 0 { "40" } else { "0" };
        let mut world = World::new(seed, &[("splits", splits), ("listeners", "2")]);
        for _ in 0..60 {
            let (node, peer) = (world.lots.below(3) as NodeId, world.lots.below(3) as NodeId);
            // A segment of one word can be split at four places, and needs not be.
            let answer = world.lots.below(5) as u32;
            match world.lots.below(20) {
                0 => world.break_link(node, peer),
                1 if seed % 2 == 0 => world.reset(node),
                2..=10 => world.receive(node, peer),
                11 => world.rest(node),
                _ => {
                    let action = world.random_action();
                    world.act(node, action);
                }
            }
            if seed % 3 == 0 {
                world.cluster.answer(&[answer]);
            }
        }
        world.drain();
        faults += world.faults;
        RECORD.with_borrow_mut(|record| {
            words += compare(record, &format!("seed {seed}"));
            ends += record.ends.iter().filter(|end| end.is_at_end).count();
            broken += record.broken + record.ends.iter().filter(|end| end.is_broken).count();
            refused += record.refused;
        });
    }
    let reached = [words, faults, ends, broken, refused];
    assert!(reached.iter().all(|count| *count > 1_000), "{reached:?}");
}

/// Without faults nothing is missing: each end that is still open has read all that the other one has written, and only an end whose other
/// one was closed is broken.
#[test]
fn nothing_is_missing_on_links_that_do_not_break() {
    let mut complete = 0;
    for seed in 0..3_000 {
        let mut world = World::new(seed, &[]);
        for _ in 0..60 {
            let (node, peer) = (world.lots.below(3) as NodeId, world.lots.below(3) as NodeId);
            match world.lots.below(2) {
                0 => world.receive(node, peer),
                _ => match world.random_action() {
                    Action::Close(_) => {}
                    action => world.act(node, action),
                },
            }
        }
        world.drain();
        RECORD.with_borrow_mut(|record| {
            let words = compare(record, &format!("seed {seed}"));
            let written: u16 = record.ends.iter().map(|end| end.written).sum();
            // Bytes to an abandoned end are lost, and the writer has an error.
            let lost = record.ends.iter().filter(|end| end.is_broken).map(|end| end.written).sum::<u16>();
            assert_eq!(words + usize::from(lost), usize::from(written), "seed {seed}");
            complete += words;
        });
    }
    assert!(complete > 10_000, "{complete}");
}

/// A connection that node 1 has opened to node 0; its ends are the first streams of both.
fn connected(parameters: &[(&str, &str)]) -> World {
    let mut world = World::new(0, parameters);
    world.act(1, Action::Connect(0));
    world.cluster.settle();
    world
}

/// Reads at an end, and returns whether it is at its end, and whether it is broken.
fn read(world: &mut World, node: NodeId, tag: usize) -> (bool, bool) {
    let lot = world.cluster.state(node).streams.borrow().iter().position(|(other, _)| *other == tag);
    world.act(node, Action::Read(lot.expect("the stream is open"), 100));
    RECORD.with_borrow(|record| (record.ends[tag].is_at_end, record.ends[tag].is_broken))
}

/// The tags are given in the order of the ends: the one that accepts first.
const ACCEPTED: usize = 0;
const OPENED: usize = 1;

#[test]
fn a_node_that_starts_again_does_not_know_its_connections() {
    let mut world = connected(&[]);
    // Neither end gets an error.
    world.cluster.reset(1);
    assert_eq!(read(&mut world, 0, ACCEPTED), (false, false));
    world.act(0, Action::Write(0, 1));
    world.cluster.settle();
    assert_eq!(read(&mut world, 0, ACCEPTED), (false, true));
}

#[test]
fn a_new_connection_breaks_the_one_that_its_opener_has_forgotten() {
    let mut world = connected(&[]);
    world.cluster.reset(1);
    world.act(1, Action::Connect(0));
    world.cluster.settle();
    assert_eq!(read(&mut world, 0, ACCEPTED), (false, true));
    let [accepted, opened] = [2, 3];
    world.act(1, Action::Write(0, 2));
    world.act(1, Action::Close(0));
    world.cluster.settle();
    assert_eq!(read(&mut world, 0, accepted), (false, false));
    assert_eq!(read(&mut world, 0, accepted), (true, false));
    assert_eq!(RECORD.with_borrow_mut(|record| (compare(record, ""), record.ends[accepted].peer)), (2, Some(opened)));
}

#[test]
fn bytes_that_were_not_read_make_a_close_an_error() {
    for is_read in [true, false] {
        let mut world = connected(&[]);
        world.act(1, Action::Write(0, 1));
        world.cluster.settle();
        if is_read {
            read(&mut world, 0, ACCEPTED);
        }
        world.act(0, Action::Close(0));
        world.cluster.settle();
        assert_eq!(read(&mut world, 1, OPENED), (is_read, !is_read));
    }
}

#[test]
fn a_break_is_an_error_at_each_end_that_learns_of_it() {
    let mut world = connected(&[]);
    world.act(0, Action::Write(0, 1));
    world.cluster.settle();
    world.act(1, Action::Connect(0));
    world.cluster.lose_all();
    world.cluster.transport_error(1, 0);
    assert_eq!(RECORD.with_borrow(|record| record.broken), 1, "an attempt without an answer");
    // Bytes that arrived before are still there.
    assert_eq!(read(&mut world, 1, OPENED), (false, false));
    assert_eq!(read(&mut world, 1, OPENED), (false, true));
    assert_eq!(RECORD.with_borrow_mut(|record| compare(record, "")), 1);
    // The other end writes to one that is broken.
    assert_eq!(read(&mut world, 0, ACCEPTED), (false, false));
    world.act(0, Action::Write(0, 1));
    world.cluster.settle();
    assert_eq!(read(&mut world, 0, ACCEPTED), (false, true));
}

#[test]
fn a_split_segment_brings_its_end_with_its_rest() {
    // One word and the end of the stream: behind all bytes, and nowhere.
    for (answer, is_split) in [(5, true), (0, false)] {
        let mut world = connected(&[("splits", "1")]);
        world.act(1, Action::Finish(0));
        assert_eq!(world.cluster.in_flight().len(), 1);
        world.cluster.answer(&[answer]);
        world.cluster.settle();
        assert_eq!(read(&mut world, 0, ACCEPTED), (false, false));
        assert_eq!(read(&mut world, 0, ACCEPTED), (!is_split, false));
        assert_eq!(world.cluster.local_events(0).iter().any(|event| event.name == "rest"), is_split);
        world.rest(0);
        read(&mut world, 0, ACCEPTED);
        assert_eq!(read(&mut world, 0, ACCEPTED), (true, false));
        assert_eq!(RECORD.with_borrow_mut(|record| compare(record, "")), 1);
    }
}
