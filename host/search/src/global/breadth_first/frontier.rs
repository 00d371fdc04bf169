//! The states that wait to be expanded: packed, in blocks that are freed one by one.

use std::collections::VecDeque;

use host_model::contract::NodeId;
use host_model::contract::fingerprint::Fingerprint;
use host_model::lts::{LocalStateId, MessageId};

use crate::global::state::GlobalState;

/// States per block: enough to keep several workers busy, few enough to waste little memory.
const STATES: usize = 4096;

/// The largest cost of expanding a block, see [`cost_of`].
const COST: u64 = 1 << 22;

/// Words of a fingerprint.
const FINGERPRINT: usize = 4;

/// The layout of packed states: fingerprint, local states, local events where they are bounded, and messages in flight.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Number of nodes.
    pub nodes: usize,
    /// Whether local events are part of a state.
    pub has_counters: bool,
}

impl Layout {
    /// Appends a state.
    pub fn write(self, state: &GlobalState, words: &mut Vec<u32>) {
        words.extend((0..FINGERPRINT).map(|word| (state.fingerprint >> (32 * word)) as u32));
        words.extend(state.locals.iter().map(|local| local.0));
        if self.has_counters {
            words.extend_from_slice(&state.local_events);
        }
        words.extend(state.in_flight.iter().map(|message| message.0));
    }

    /// Unpacks a record into `state`.
    pub fn read(self, record: &[u32], state: &mut GlobalState) {
        let (fingerprint, rest) = record.split_at(FINGERPRINT);
        let (locals, rest) = rest.split_at(self.nodes);
        let word = |word: u32| Fingerprint::from(word);
        state.fingerprint = fingerprint.iter().rev().fold(0, |sum, next| sum << 32 | word(*next));
        state.locals.clear();
        state.locals.extend(locals.iter().map(|local| LocalStateId(*local)));
        state.local_events.clear();
        let in_flight = match self.has_counters {
            true => {
                let (counters, in_flight) = rest.split_at(self.nodes);
                state.local_events.extend_from_slice(counters);
                in_flight
            }
            false => {
                state.local_events.resize(self.nodes, 0);
                rest
            }
        };
        state.in_flight.refill(in_flight.iter().map(|message| MessageId(*message)));
    }

    /// The local state of a node in a packed state.
    #[inline]
    pub fn local(self, record: &[u32], node: NodeId) -> LocalStateId {
        LocalStateId(record[FINGERPRINT + node as usize])
    }

    /// The local states of a packed state.
    pub fn locals(self, record: &[u32]) -> impl Iterator<Item = LocalStateId> {
        record[FINGERPRINT..][..self.nodes].iter().map(|local| LocalStateId(*local))
    }
}

/// An estimate of the words read to expand a state: each of its events makes a successor of about the same size.
fn cost_of(words: usize) -> u64 {
    (words * words) as u64
}

/// States of one level, in the order of their numbers.
#[derive(Default)]
pub struct Block {
    /// The number of its first state.
    first: u32,
    /// Their depth.
    pub depth: u32,
    words: Vec<u32>,
    /// The end of each state in the words.
    ends: Vec<u32>,
    /// Number of states that were expanded.
    done: usize,
    cost: u64,
}

/// A state of a block.
#[derive(Clone, Copy)]
pub struct BlockState<'b> {
    pub block: &'b Block,
    /// Its place there.
    pub place: usize,
}

impl<'b> BlockState<'b> {
    /// The packed state.
    #[inline]
    pub fn record(self) -> &'b [u32] {
        self.block.record(self.place)
    }

    /// Its number.
    #[inline]
    pub fn number(self) -> u32 {
        self.block.number(self.place)
    }
}

impl Block {
    /// The packed state at this place.
    #[inline]
    pub fn record(&self, place: usize) -> &[u32] {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.words[start as usize..self.ends[place] as usize]
    }

    /// The number of the state at this place.
    #[inline]
    pub fn number(&self, place: usize) -> u32 {
        self.first + place as u32
    }

    /// The number of its first state.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// The number of states that were expanded.
    pub fn done(&self) -> usize {
        self.done
    }

    /// The number of its states.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The places of the next states to expand: up to `count`.
    pub fn next(&self, count: usize) -> std::ops::Range<usize> {
        self.done..self.ends.len().min(self.done + count)
    }

    fn bytes(&self) -> u64 {
        ((self.words.capacity() + self.ends.capacity()) * size_of::<u32>()) as u64
    }
}

/// A queue of states.
pub struct Frontier {
    /// The layout of its states.
    pub layout: Layout,
    blocks: VecDeque<Block>,
    queued: u64,
    bytes: u64,
}

impl Frontier {
    /// An empty queue.
    pub fn new(layout: Layout) -> Self {
        Self { layout, blocks: VecDeque::new(), queued: 0, bytes: 0 }
    }

    /// Number of states that wait.
    pub fn len(&self) -> u64 {
        self.queued
    }

    /// Bytes kept, including the block that is being expanded.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds the state with the next number, which is packed by `write`.
    pub fn push(&mut self, depth: u32, number: u32, write: impl FnOnce(&mut Vec<u32>)) {
        let has_room = |last: &Block| last.depth == depth && last.ends.len() < STATES && last.cost < COST;
        if !self.blocks.back().is_some_and(has_room) {
            self.blocks.push_back(Block { first: number, depth, ..Block::default() });
        }
        let last = self.blocks.back_mut().expect("a block was pushed above if none was there");
        let (bytes, words) = (last.bytes(), last.words.len());
        write(&mut last.words);
        last.ends.push(u32::try_from(last.words.len()).expect("a block is small, and so is one state"));
        last.cost += cost_of(last.words.len() - words);
        self.bytes += last.bytes() - bytes;
        self.queued += 1;
    }

    /// The first block; none if no state waits.
    pub fn first(&self) -> Option<&Block> {
        self.blocks.front()
    }

    /// Takes the first block; none if no state waits.
    pub fn pop(&mut self) -> Option<Block> {
        self.blocks.pop_front()
    }

    /// Notes that this many states of the first block were expanded by another process; false unless it has more.
    pub fn skip(&mut self, done: usize) -> bool {
        let first = self.blocks.front_mut().filter(|first| done < first.ends.len());
        let Some(first) = first else { return done == 0 && self.blocks.is_empty() };
        first.done = done;
        self.queued -= done as u64;
        true
    }

    /// Puts a block back after this many more of its states were expanded.
    pub fn put_back(&mut self, mut block: Block, expanded: usize) {
        block.done += expanded;
        self.queued -= expanded as u64;
        if block.done < block.ends.len() {
            self.blocks.push_front(block);
        } else {
            self.bytes -= block.bytes();
        }
    }
}
