//! The arena against a list of blocks, natively.

use std::alloc::Layout;
use std::collections::BTreeMap;

use super::{CHUNK, Memory, allocate, release, resize};

/// An aligned piece of memory of fixed capacity.
struct Piece {
    chunks: Vec<Aligned>,
    size: usize,
}

#[repr(align(4096))]
#[derive(Clone)]
struct Aligned(#[allow(dead_code, reason = "reached by address")] [u8; CHUNK]);

impl Piece {
    fn new(chunks: usize) -> Self {
        Self { chunks: vec![Aligned([0; CHUNK]); chunks], size: 0 }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the chunks are bytes without padding, and there are no writes while a test reads them.
        unsafe { std::slice::from_raw_parts(self.base(), self.chunks.len() * CHUNK) }
    }
}

impl Memory for Piece {
    fn base(&self) -> *mut u8 {
        self.chunks.as_ptr().cast_mut().cast()
    }

    fn size(&self) -> usize {
        self.size
    }

    fn grow(&mut self, bytes: usize) -> bool {
        let is_room = self.size + bytes <= self.chunks.len() * CHUNK;
        self.size += if is_room { bytes } else { 0 };
        is_room
    }
}

/// Small numbers, the same ones every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// The blocks by offset, each with its layout and the byte that it is filled with.
type Blocks = BTreeMap<usize, (Layout, u8)>;

fn fill(block: *mut u8, layout: Layout, byte: u8) {
    // SAFETY: the block was given out for this layout.
    unsafe { block.write_bytes(byte, layout.size()) };
}

fn take(piece: &mut Piece, blocks: &mut Blocks, layout: Layout, byte: u8) {
    let block = allocate(piece, layout);
    assert!(!block.is_null(), "{layout:?}");
    assert_eq!(block.addr() % layout.align(), 0, "{layout:?}");
    let at = block.addr() - piece.base().addr();
    let bytes = piece.bytes();
    assert!(bytes[at..at + layout.size()].iter().all(|byte| *byte == 0), "fresh memory is zero");
    fill(block, layout, byte);
    assert!(blocks.insert(at, (layout, byte)).is_none(), "given out twice");
}

fn give(piece: &mut Piece, blocks: &mut Blocks, at: usize) {
    let (layout, _) = blocks.remove(&at).expect("it is there");
    // SAFETY: it was given out for this layout and is unused now.
    unsafe { release(piece, piece.base().add(at), layout) };
}

/// Each block holds what was written to it, and no two overlap.
fn check(piece: &Piece, blocks: &Blocks) {
    let bytes = piece.bytes();
    let mut end = 0;
    for (at, (layout, byte)) in blocks {
        assert!(*at >= end, "blocks overlap");
        end = at + layout.size();
        assert!(bytes[*at..end].iter().all(|found| found == byte), "the block at {at} was overwritten");
    }
}

fn layout(numbers: &mut Numbers) -> Layout {
    let size = match numbers.below(8) {
        0 => numbers.below(9_000),
        1 => 900 + numbers.below(300),
        _ => 1 + numbers.below(200),
    };
    let align = 1 << numbers.below(6);
    Layout::from_size_align(size.max(1) as usize, align).expect("a small layout")
}

fn play(piece: &mut Piece, seed: u64, steps: usize) -> Blocks {
    let (mut numbers, mut blocks) = (Numbers(seed), Blocks::new());
    for step in 0..steps {
        if blocks.is_empty() || numbers.below(5) < 3 && blocks.len() < 100 {
            let layout = layout(&mut numbers);
            take(piece, &mut blocks, layout, 1 + (step % 255) as u8);
        } else {
            let nth = numbers.below(blocks.len() as u64) as usize;
            let at = *blocks.keys().nth(nth).expect("below the count");
            give(piece, &mut blocks, at);
        }
        check(piece, &blocks);
    }
    blocks
}

#[test]
fn blocks_are_apart_aligned_and_zero_at_first() {
    for seed in 0..8 {
        let mut piece = Piece::new(200);
        let mut blocks = play(&mut piece, seed, 300);
        for at in blocks.keys().copied().collect::<Vec<_>>() {
            give(&mut piece, &mut blocks, at);
        }
        assert!(piece.bytes().iter().all(|byte| *byte == 0), "nothing is left of what was given back");
    }
}

/// Two arenas with the same blocks hold the same bytes, whatever their histories, and continue alike.
#[test]
fn the_layout_is_a_function_of_the_blocks_that_are_left() {
    for seed in 0..8 {
        let mut worn = Piece::new(200);
        let mut blocks = play(&mut worn, seed, 200);
        // All but the last of these are freed again; the sizes are those of one kind of slot, and of runs.
        for at in blocks.keys().copied().collect::<Vec<_>>() {
            give(&mut worn, &mut blocks, at);
        }
        let mut fresh = Piece::new(200);
        fresh.size = worn.size;
        let mut others = Blocks::new();
        let mut numbers = Numbers(seed + 100);
        for byte in 1..60 {
            let layout = layout(&mut numbers);
            take(&mut worn, &mut blocks, layout, byte);
            take(&mut fresh, &mut others, layout, byte);
        }
        assert_eq!(blocks, others);
        assert!(worn.bytes() == fresh.bytes());
        // A block in between goes and comes back to where it was.
        let (at, (layout, byte)) = blocks.iter().nth(20).map(|(at, block)| (*at, *block)).expect("there are more");
        give(&mut worn, &mut blocks, at);
        take(&mut worn, &mut blocks, layout, byte);
        assert_eq!(blocks, others);
    }
}

#[test]
fn a_block_grows_and_shrinks_where_it_is_and_leaves_zeros_behind() {
    let mut piece = Piece::new(16);
    for (size, smaller, larger, too_large) in [(100, 70, 128, 129), (5_000, 4_200, 8_128, 8_129)] {
        let layout = Layout::from_size_align(size, 8).expect("small");
        let block = allocate(&mut piece, layout);
        fill(block, layout, 7);
        let at = block.addr() - piece.base().addr();
        // SAFETY: the block was given out for this layout, and has no other owner.
        assert!(unsafe { resize(block, layout, smaller) });
        assert!(piece.bytes()[at + smaller..at + size].iter().all(|byte| *byte == 0));
        let layout = Layout::from_size_align(smaller, 8).expect("small");
        // SAFETY: as above.
        unsafe {
            assert!(resize(block, layout, larger));
            assert!(!resize(block, Layout::from_size_align(larger, 8).expect("small"), too_large));
            release(&mut piece, block, Layout::from_size_align(larger, 8).expect("small"));
        }
    }
    assert!(piece.bytes().iter().all(|byte| *byte == 0));
}

#[test]
fn what_does_not_fit_is_null() {
    let mut piece = Piece::new(2);
    let of = |size, align| Layout::from_size_align(size, align).expect("a layout");
    assert!(allocate(&mut piece, of(3 * CHUNK, 8)).is_null());
    assert!(allocate(&mut piece, of(2_000, 128)).is_null(), "runs of chunks are not aligned so well");
    assert!(!allocate(&mut piece, of(CHUNK, 8)).is_null());
}
