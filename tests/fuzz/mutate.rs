//! Random changes of bytes.

use host_model::toys;

/// The random numbers of a case.
#[derive(Clone, Debug)]
pub struct Dice(toys::Dice);

impl Dice {
    /// The generator of a case.
    pub fn new(seed: u64) -> Self {
        Self(toys::Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d))
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0.number()
    }

    /// A number below the bound; 0 if there is none.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.number() % bound.max(1) as u64) as usize
    }

    /// One of these.
    pub fn pick<'v, T>(&mut self, from: &'v [T]) -> &'v T {
        &from[self.below(from.len())]
    }
}

/// Bytes that parsers stumble over.
const ODD: [u8; 12] = [0, 1, 0x0b, 0x20, 0x40, 0x41, 0x7f, 0x80, 0xc3, 0xfe, 0xff, 0x22];

/// Changes one bit: more often than not a small mistake in a file that is valid otherwise.
pub fn flip(bytes: &mut [u8], dice: &mut Dice) {
    let at = dice.below(bytes.len());
    bytes[at] ^= 1 << dice.below(8);
}

/// Changes some bytes: flips, odd values, removed, repeated and moved pieces, and pieces of another file.
pub fn damage(bytes: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    for _ in 0..1 + dice.below(4) {
        let at = dice.below(bytes.len());
        let magnitude = dice.below(9);
        let length = 1 + dice.below(1 << magnitude);
        let end = (at + length).min(bytes.len());
        match dice.below(8) {
            _ if bytes.is_empty() => bytes.push(*dice.pick(&ODD)),
            0 | 1 => bytes[at] ^= 1 << dice.below(8),
            2 | 3 => bytes[at] = *dice.pick(&ODD),
            4 => drop(bytes.drain(at..end)),
            5 => {
                let piece = bytes[at..end].to_vec();
                let to = dice.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            6 => {
                let from = dice.below(other.len());
                let piece = &other[from..(from + length).min(other.len())];
                bytes.splice(at..end, piece.iter().copied());
            }
            _ => bytes.truncate(at.max(1)),
        }
    }
}
