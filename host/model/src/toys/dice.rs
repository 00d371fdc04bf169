//! Random numbers.

use crate::toys::renaming::named;

/// A small reproducible random number generator (splitmix64), so that toys need no dependency.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// A content or state that names a node, or none.
    pub(crate) fn named(&mut self, base: u8, nodes: u32) -> u8 {
        if self.below(3) == 0 { named(base, self.below(nodes)) } else { base }
    }

    /// A number below `bound`, or 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        (self.number() % u64::from(bound.max(1))) as u32
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
