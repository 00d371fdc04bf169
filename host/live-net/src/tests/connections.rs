//! Both ends of a connection, threads and network in any order: streams end, and nodes start again.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use host_model::toys::Dice;

use crate::connections::{Broken, Connections, Handle, Meeting, Place};

/// How many schedules.
const SCHEDULES: u64 = 1_000;
/// Steps in which something may go wrong.
const STEPS: u32 = 200;
/// How often both nodes send something afterwards, until the breaks have to have ended.
const ROUNDS: u32 = 6;
/// Breaks that both have together by then: those that are under way, and those by which their numbers become the same.
const BREAKS_MAX: u64 = 12;

/// Whether a stream is closed.
#[derive(Clone, Debug, Default)]
struct Closed(Rc<Cell<bool>>);

impl Handle for Closed {
    fn close(&self) {
        self.0.set(true);
    }
}

/// What has left a node: in which of its starts, and as which of its frames.
#[derive(Clone, Copy, Debug)]
struct Frame {
    start: u64,
    sequence: u64,
    place: Place,
}

#[derive(Debug)]
struct Stream {
    /// Who has made it.
    maker: usize,
    place: Place,
    closed: Closed,
    under_way: VecDeque<Frame>,
    /// Whether the node that it is to knows of it.
    is_accepted: bool,
    /// Who has heard that it is gone.
    told: [bool; 2],
}

/// A node, and the thread that sends for it.
#[derive(Debug, Default)]
struct Node {
    start: u64,
    connections: Connections<Closed>,
    /// What was sent in an earlier one is lost.
    epoch: u64,
    waiting: VecDeque<Frame>,
    /// The stream over which it sends, and its epoch.
    open: Option<(u64, usize)>,
    /// The first epoch that may have a stream.
    next_epoch: u64,
    /// Streams that it has made, and that the node has yet to hear of.
    made: VecDeque<usize>,
    sent: u64,
    /// The last frame of the other node, by its start.
    heard: BTreeMap<u64, u64>,
    /// Whether it has heard of a break since then.
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

    /// The thread that sends takes the next frame.
    fn pass_on(&mut self, node: usize) {
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
                told: [false; 2],
            });
            (epoch, self.streams.len() - 1)
        });
        if self.streams[stream].closed.0.get() {
            (this.next_epoch, this.open) = (epoch + 1, None);
        } else {
            self.streams[stream].under_way.push_back(frame);
        }
    }

    /// A node hears of a stream that it has made, or of the results of any.
    fn hear(&mut self, node: usize, dice: &mut Dice) {
        let this = &mut self.nodes[node];
        if let Some(stream) = this.made.front().copied().filter(|_| dice.below(2) == 0) {
            this.made.pop_front();
            let Stream { place, closed, .. } = &self.streams[stream];
            this.connections.connected(stream as u64, (1 - node as u32, *place), closed.clone());
            return;
        }
        let stream = dice.below(self.streams.len() as u32) as usize;
        let Some(Stream { maker, place, closed, under_way, is_accepted, told }) = self.streams.get_mut(stream) else {
            return;
        };
        let (is_maker, is_closed) = (*maker == node, closed.0.get());
        if !is_maker && !*is_accepted {
            *is_accepted = true;
            this.connections.accepted(stream as u64, None, place.number, closed.clone());
        } else if !is_maker && let Some(frame) = under_way.pop_front() {
            this.take(node, stream as u64, frame);
        } else if is_closed && !told[node] && !this.made.contains(&stream) {
            told[node] = true;
            this.connections.gone(stream as u64).into_iter().for_each(|broken| this.hear_of(broken));
        }
    }

    /// A node starts again, with another number for its start.
    fn start(&mut self, node: usize) {
        let start = self.nodes[node].start + 2;
        self.nodes[node] = Node { start, ..Node::default() };
        for stream in &mut self.streams {
            stream.closed.close();
            stream.told[node] = true;
            // What had not come by then is lost.
            if stream.maker != node {
                (stream.is_accepted, stream.under_way) = (true, VecDeque::new());
            }
        }
    }

    /// A stream is gone, with some of what was under way.
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
            10..25 => self.pass_on(node),
            25..60 => self.hear(node, dice),
            60 => self.start(node),
            _ => self.cut(dice),
        }
    }

    /// Both nodes send something, and everything comes.
    fn settle(&mut self, dice: &mut Dice) {
        (0..2).for_each(|node| self.send(node));
        let is_quiet = |stream: &Stream| {
            let is_told = !stream.closed.0.get() || stream.told == [true; 2];
            stream.is_accepted && stream.under_way.is_empty() && is_told
        };
        while !self.streams.iter().all(is_quiet)
            || self.nodes.iter().any(|node| !node.waiting.is_empty() || !node.made.is_empty())
        {
            let node = dice.below(2) as usize;
            self.pass_on(node);
            self.hear(node, dice);
        }
    }

    fn breaks(&self) -> u64 {
        self.nodes.iter().map(|node| node.breaks).sum()
    }
}

impl Node {
    /// A frame comes: in its order, and if one is missing, the node has heard of a break.
    fn take(&mut self, node: usize, stream: u64, frame: Frame) {
        let Some(speaker) = self.connections.speaker(stream) else { return };
        if !speaker.is_met {
            match self.connections.meet(stream, 1 - node as u32, frame.start) {
                Meeting::Late => return,
                Meeting::Next(broken) => self.hear_of(broken),
                Meeting::Taken => {}
            }
        }
        // What a node has said before it started again is refused, and its stream is at its end.
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

/// However threads and network take turns: frames come in their order, none is missing without a break that is heard of, none comes from
/// before one, and once nothing goes wrong any more, the breaks end and all frames come.
#[test]
fn breaks_come_to_an_end() {
    for seed in 0..SCHEDULES {
        let (mut world, mut dice) = (World::default(), Dice(seed));
        world.nodes[1].start = 1;
        (0..STEPS).for_each(|_| world.step(&mut dice));
        let before = world.breaks();
        // Those that are under way come, and what is sent then is noticed to be lost.
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

/// A stream from before a break that its maker has yet to hear of is closed; the next one tells that it has heard, or has broken it, too.
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
    // Whatever a peer claims.
    assert!(matches!(accept(&mut connections, 4, u64::MAX).0, Meeting::Next(_)));
    connections.break_off(1);
    assert_eq!(accept(&mut connections, 5, u64::MAX).0, Meeting::Taken);
}
