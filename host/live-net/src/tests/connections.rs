//! Both ends of a connection, with threads and network in any order: streams end, and nodes restart.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use host_model::toys::Dice;

use crate::connections::{Broken, Connections, Handle, Meeting, Place};

/// The number of schedules.
const SCHEDULES: u64 = 1_000;
/// Steps with faults.
const STEPS: u32 = 200;
/// Rounds without faults, after which there must be no further breaks; in each, both nodes send a frame.
const ROUNDS: u32 = 6;
/// The maximum of breaks in these rounds, of both nodes: those under way, and those until their numbers are equal.
const BREAKS_MAX: u64 = 12;

/// Whether a stream is closed.
#[derive(Clone, Debug, Default)]
struct Closed(Rc<Cell<bool>>);

impl Handle for Closed {
    fn close(&self) {
        self.0.set(true);
    }
}

/// A sent frame: the start of its sender, and its number in that start.
#[derive(Clone, Copy, Debug)]
struct Frame {
    start: u64,
    sequence: u64,
    place: Place,
}

#[derive(Debug)]
struct Stream {
    /// The node that made it.
    maker: usize,
    place: Place,
    closed: Closed,
    under_way: VecDeque<Frame>,
    /// Whether the other node has accepted it.
    is_accepted: bool,
    /// Whether each node was notified of its end.
    notified: [bool; 2],
}

/// A node, and the thread that sends for it.
#[derive(Debug, Default)]
struct Node {
    start: u64,
    connections: Connections<Closed>,
    /// The current epoch; frames of earlier epochs are lost.
    epoch: u64,
    waiting: VecDeque<Frame>,
    /// The stream over which it sends, and its epoch.
    open: Option<(u64, usize)>,
    /// The first epoch that may have a stream.
    next_epoch: u64,
    /// Streams that the thread has made, and the node has not been notified of.
    made: VecDeque<usize>,
    sent: u64,
    /// The last frame of the other node, by its start.
    heard: BTreeMap<u64, u64>,
    /// Whether it was notified of a break since then.
    is_broken: bool,
    breaks: u64,
}

#[derive(Debug, Default)]
struct World {
    nodes: [Node; 2],
    streams: Vec<Stream>,
}

impl World {
    fn send(&mut self, node: usize) {
        let this = &mut self.nodes[node];
        let place = this.connections.send(1 - node as u32);
        this.sent += 1;
        this.waiting.push_back(Frame { start: this.start, sequence: this.sent, place });
    }

    /// The sending thread of a node takes the next frame.
    fn forward(&mut self, node: usize) {
        let this = &mut self.nodes[node];
        let Some(frame) = this.waiting.pop_front() else { return };
        let Place { epoch, .. } = frame.place;
        this.open.take_if(|(open, _)| *open < epoch);
        if epoch < this.epoch.max(this.next_epoch) {
            return;
        }
        let (_, stream) = *this.open.get_or_insert_with(|| {
            this.made.push_back(self.streams.len());
            self.streams.push(Stream {
                maker: node,
                place: frame.place,
                closed: Closed::default(),
                under_way: VecDeque::new(),
                is_accepted: false,
                notified: [false; 2],
            });
            (epoch, self.streams.len() - 1)
        });
        if self.streams[stream].closed.0.get() {
            (this.next_epoch, this.open) = (epoch + 1, None);
        } else {
            self.streams[stream].under_way.push_back(frame);
        }
    }

    /// Notifies a node of a stream that it has made, or of a frame or the end of any stream.
    fn hear(&mut self, node: usize, dice: &mut Dice) {
        let this = &mut self.nodes[node];
        if let Some(stream) = this.made.front().copied().filter(|_| dice.below(2) == 0) {
            this.made.pop_front();
            let Stream { place, closed, .. } = &self.streams[stream];
            this.connections.connected(stream as u64, 1 - node as u32, *place, closed.clone());
            return;
        }
        let stream = dice.below(self.streams.len() as u32) as usize;
        let Some(Stream { maker, place, closed, under_way, is_accepted, notified }) = self.streams.get_mut(stream)
        else {
            return;
        };
        let (is_maker, is_closed) = (*maker == node, closed.0.get());
        if !is_maker && !*is_accepted {
            *is_accepted = true;
            this.connections.accepted(stream as u64, None, place.number, closed.clone());
        } else if !is_maker && let Some(frame) = under_way.pop_front() {
            this.take(node, stream as u64, frame);
        } else if is_closed && !notified[node] && !this.made.contains(&stream) {
            notified[node] = true;
            this.connections.gone(stream as u64).into_iter().for_each(|broken| this.hear_of(broken));
        }
    }

    /// Restarts a node, as its next start.
    fn start(&mut self, node: usize) {
        let start = self.nodes[node].start + 2;
        self.nodes[node] = Node { start, ..Node::default() };
        for stream in &mut self.streams {
            stream.closed.close();
            stream.notified[node] = true;
            // Frames that have not arrived are lost.
            if stream.maker != node {
                (stream.is_accepted, stream.under_way) = (true, VecDeque::new());
            }
        }
    }

    /// Ends a stream, and loses some of its frames.
    fn cut(&mut self, dice: &mut Dice) {
        let stream = dice.below(self.streams.len() as u32) as usize;
        if let Some(stream) = self.streams.get_mut(stream) {
            stream.closed.close();
            stream.under_way.truncate(dice.below(3) as usize);
        }
    }

    fn step(&mut self, dice: &mut Dice) {
        let node = dice.below(2) as usize;
        match dice.below(64) {
            0..10 => self.send(node),
            10..25 => self.forward(node),
            25..60 => self.hear(node, dice),
            60 => self.start(node),
            _ => self.cut(dice),
        }
    }

    /// Both nodes send a frame, and all frames arrive.
    fn settle(&mut self, dice: &mut Dice) {
        (0..2).for_each(|node| self.send(node));
        let is_quiet = |stream: &Stream| {
            let is_notified = !stream.closed.0.get() || stream.notified == [true; 2];
            stream.is_accepted && stream.under_way.is_empty() && is_notified
        };
        while !self.streams.iter().all(is_quiet)
            || self.nodes.iter().any(|node| !node.waiting.is_empty() || !node.made.is_empty())
        {
            let node = dice.below(2) as usize;
            self.forward(node);
            self.hear(node, dice);
        }
    }

    fn breaks(&self) -> u64 {
        self.nodes.iter().map(|node| node.breaks).sum()
    }
}

impl Node {
    /// Receives a frame, which must be in order; if one is missing, the node must have been notified of a break.
    fn take(&mut self, node: usize, stream: u64, frame: Frame) {
        let Some(speaker) = self.connections.speaker(stream) else { return };
        if !speaker.is_met {
            match self.connections.meet(stream, 1 - node as u32, frame.start) {
                Meeting::Late => return,
                Meeting::Next(broken) => self.hear_of(broken),
                Meeting::Taken => {}
            }
        }
        // Frames of an earlier start of a node are refused.
        if self.heard.keys().next_back().is_some_and(|start| *start > frame.start) {
            return;
        }
        let last = self.heard.insert(frame.start, frame.sequence);
        if let Some(last) = last {
            assert!(
                frame.sequence > last && (frame.sequence == last + 1 || self.is_broken),
                "{last} {frame:?} {self:?}"
            );
        }
        self.is_broken = false;
    }

    fn hear_of(&mut self, broken: Broken) {
        assert!(broken.epoch > self.epoch, "{broken:?} {self:?}");
        self.epoch = broken.epoch;
        if broken.was_used {
            self.breaks += 1;
            self.is_broken = true;
        }
    }
}

/// In any schedule of threads and network: frames arrive in order, none is missing without a notified break, none arrives from before a
/// break, and without further faults the breaks end and all frames arrive.
#[test]
fn breaks_end() {
    for seed in 0..SCHEDULES {
        let (mut world, mut dice) = (World::default(), Dice(seed));
        world.nodes[1].start = 1;
        (0..STEPS).for_each(|_| world.step(&mut dice));
        let before = world.breaks();
        // The frames under way arrive, and the loss of later ones is noticed.
        for _ in 0..ROUNDS {
            world.settle(&mut dice);
        }
        let after = world.breaks();
        assert!(after - before <= BREAKS_MAX, "seed {seed}: {} breaks", after - before);
        world.settle(&mut dice);
        assert_eq!(world.breaks(), after, "seed {seed}");
        for (node, other) in [(0, 1), (1, 0)] {
            let (from, to) = (&world.nodes[node], &world.nodes[other]);
            assert_eq!(to.heard.get(&from.start), Some(&from.sent), "seed {seed}");
        }
    }
}

/// A stream from before a break that its maker does not know yet is closed. The number of the next stream shows that the maker knows of
/// the break, or has broken the connection itself.
#[test]
fn what_was_sent_before_a_break_is_heard_of_is_lost() {
    let mut connections = Connections::<Closed>::default();
    let accept = |connections: &mut Connections<Closed>, stream, number| {
        let closed = Closed::default();
        connections.accepted(stream, None, number, closed.clone());
        (connections.meet(stream, 1, 7), closed.0)
    };
    let (meeting, first) = accept(&mut connections, 0, 0);
    assert_eq!((meeting, first.get()), (Meeting::Taken, false));
    assert_eq!(connections.break_off(1), Broken { peer: 1, epoch: 1, was_used: true });
    assert!(first.get());
    let (meeting, late) = accept(&mut connections, 1, 0);
    assert_eq!((meeting, late.get()), (Meeting::Late, true));
    let (meeting, next) = accept(&mut connections, 2, 1);
    assert_eq!((meeting, next.get()), (Meeting::Taken, false));
    let (meeting, after) = accept(&mut connections, 3, 2);
    let broken = Broken { peer: 1, epoch: 2, was_used: true };
    assert_eq!((meeting, next.get(), after.get()), (Meeting::Next(broken), true, false));
    assert_eq!((connections.gone(2), connections.send(1)), (None, Place { epoch: 2, number: 2 }));
    // A peer may claim any number.
    assert!(matches!(accept(&mut connections, 4, u64::MAX).0, Meeting::Next(_)));
    connections.break_off(1);
    assert_eq!(accept(&mut connections, 5, u64::MAX).0, Meeting::Taken);
}
