//! The first place in which two captured states differ.

use std::fmt;

use crate::rewrite::{CELLS_START, Cell, MemoryPlan, MemoryRole};
use crate::state::image::Image;

/// Maximum bytes of a difference that are shown.
const SHOWN: usize = 8;

/// The first place in which two captured states of one plugin differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDifference {
    /// The place.
    pub place: StatePlace,
    /// The bytes from there on in the one state and in the other, at most eight of each. For a global that is a number: all its bytes,
    /// lowest first; for a size: none.
    pub bytes: [Vec<u8>; 2],
}

/// A place in the state of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatePlace {
    /// In a linear memory.
    Memory {
        /// Its number, from 0 on in the order of creation.
        memory: usize,
        /// The address in bytes.
        address: usize,
        /// The part of the memory, if known.
        part: Option<MemoryPart>,
    },
    /// A mutable global.
    Global {
        /// The number of its core instance among those with globals of their own, from 0 on in the order of creation.
        instance: usize,
        /// Its index in its core module.
        index: u32,
        /// Its name in the module, if it has one.
        name: Option<String>,
    },
    /// The memory with this number has the same content but another size.
    Size {
        /// Its number, as for [`Memory`](Self::Memory).
        memory: usize,
        /// Bytes in the one state and in the other.
        bytes: [usize; 2],
    },
}

/// A part of a linear memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryPart {
    /// The stack of the compiler, below the initial value of its pointer.
    Stack,
    /// Variables of the program, from the end of the stack to the beginning of the heap.
    Data,
    /// Memory of an allocator.
    Heap,
}

impl MemoryPart {
    /// Its name, one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stack => "stack",
            Self::Data => "data",
            Self::Heap => "heap",
        }
    }
}

impl fmt::Display for StatePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory { memory, address, part } => {
                write!(f, "address {address:#x}")?;
                if *memory > 0 {
                    write!(f, " of memory {memory}")?;
                }
                f.write_str(match part {
                    Some(MemoryPart::Stack) => ", in the stack",
                    Some(MemoryPart::Data) => ", in the data of the program",
                    Some(MemoryPart::Heap) => ", on the heap",
                    None => "",
                })
            }
            Self::Global { instance, index, name } => {
                write!(f, "global {index}")?;
                if let Some(name) = name {
                    write!(f, " `{}`", name.escape_default())?;
                }
                if *instance > 0 { write!(f, " of core instance {instance}") } else { Ok(()) }
            }
            Self::Size { memory, bytes: [one, other] } => {
                write!(f, "the size of memory {memory}: {one} bytes and {other} bytes")
            }
        }
    }
}

/// The parts of the only memory of a component, as far as its linker exports them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MemoryMap {
    /// Bytes of the stack at the start.
    pub stack: usize,
    /// The beginning of the heap.
    pub heap: Option<usize>,
}

impl MemoryMap {
    fn part(self, address: usize) -> Option<MemoryPart> {
        if address < self.stack {
            return Some(MemoryPart::Stack);
        }
        self.heap.map(|heap| if address < heap { MemoryPart::Data } else { MemoryPart::Heap })
    }
}

/// The first difference: in memories by number and address, then in globals, then in the sizes of memories. Last comes the stack: no later
/// call reads the values that calls leave there.
pub(crate) fn first(images: [&Image; 2], plan: &[MemoryPlan], map: MemoryMap) -> Option<StateDifference> {
    let [one, other] = images;
    let memories = |start: usize| {
        (0..).zip(one.data.iter().zip(&other.data)).find_map(|(memory, (one, other))| {
            let address = differs(one, other, start)?;
            let place = StatePlace::Memory { memory, address, part: map.part(address) };
            Some(StateDifference { place, bytes: [one, other].map(|bytes| shown(bytes, address, SHOWN)) })
        })
    };
    let cells = plan.iter().filter(|plan| matches!(plan.role, MemoryRole::Cells { .. }));
    let globals = || {
        (0..).zip(one.cells.iter().zip(&other.cells)).zip(cells).find_map(|((instance, (one, other)), plan)| {
            // The first bytes are for communication with the host.
            let at = differs(one, other, CELLS_START as usize)?;
            let Cell { at, size, global, name } = plan.cells.iter().rev().find(|cell| cell.at <= at)?;
            let place = StatePlace::Global { instance, index: *global, name: name.clone() };
            Some(StateDifference { place, bytes: [one, other].map(|bytes| shown(bytes, *at, *size)) })
        })
    };
    let sizes = || {
        let pairs = (0..).zip(one.data.iter().zip(&other.data));
        let mut pairs = pairs.map(|(memory, (one, other))| (memory, [one.len(), other.len()]));
        let (memory, bytes) = pairs.find(|(_, [one, other])| one != other)?;
        Some(StateDifference { place: StatePlace::Size { memory, bytes }, bytes: Default::default() })
    };
    memories(map.stack).or_else(globals).or_else(sizes).or_else(|| memories(0))
}

/// The first place from `start` on where two regions differ, with zeros following each.
fn differs(one: &[u8], other: &[u8], start: usize) -> Option<usize> {
    let both = one.iter().zip(other).skip(start).position(|(one, other)| one != other).map(|at| start + at);
    let from = one.len().min(other.len()).max(start);
    let rest = |bytes: &&[u8]| bytes.get(from..)?.iter().position(|byte| *byte != 0);
    both.or_else(|| [one, other].iter().find_map(rest).map(|at| from + at))
}

/// The bytes from an address on, at most this number; zeros follow a region.
fn shown(bytes: &[u8], at: usize, most: usize) -> Vec<u8> {
    let mut shown = bytes.get(at..).unwrap_or_default().to_vec();
    shown.resize(most, 0);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(data: &[u8], cells: &[u8]) -> Image {
        let cells = [vec![0; CELLS_START as usize], cells.to_vec()].concat();
        Image { data: vec![data.into()], cells: vec![cells.into()] }
    }

    #[test]
    fn what_differs_first_is_found() {
        let cell = |number: u64, size, name: Option<&str>| Cell {
            at: (CELLS_START + 8 * number) as usize,
            size,
            global: 3 + number as u32,
            name: name.map(str::to_owned),
        };
        let cells = [cell(0, 4, None), cell(1, 8, Some("count"))].into();
        let plan = [MemoryPlan { instance: 0, role: MemoryRole::Cells { end: CELLS_START + 16 }, cells }];
        let place = |one: &Image, other: &Image| {
            first([one, other], &plan, MemoryMap { stack: 2, heap: Some(5) })
                .map(|found| (found.place.to_string(), found.bytes))
        };
        let same = image(&[0; 8], &[0; 16]);
        assert_eq!(place(&same, &same), None);
        let at = |address: usize| {
            let mut data = [0; 8];
            data[address] = 7;
            data[0] = 7;
            place(&same, &image(&data, &[1; 16])).expect("a difference")
        };
        assert_eq!(at(1).0, "global 3", "the stack is dead");
        let stack = place(&same, &image(&[0, 7, 0, 0, 0, 0, 0, 0], &[0; 16])).expect("a difference");
        assert_eq!(stack.0, "address 0x1, in the stack");
        assert_eq!(at(2).0, "address 0x2, in the data of the program");
        assert_eq!(at(4).0, "address 0x4, in the data of the program");
        assert_eq!(at(5), ("address 0x5, on the heap".to_owned(), [vec![0; 8], vec![7, 0, 0, 0, 0, 0, 0, 0]]));
        let mut globals = [0; 16];
        globals[9] = 2;
        let count = ("global 4 `count`".to_owned(), [vec![0; 8], vec![0, 2, 0, 0, 0, 0, 0, 0]]);
        assert_eq!(place(&same, &image(&[0; 8], &globals)), Some(count));
        globals[1] = 1;
        let unnamed = ("global 3".to_owned(), [vec![0; 4], vec![0, 1, 0, 0]]);
        assert_eq!(place(&same, &image(&[0; 8], &globals)), Some(unnamed), "the lower one comes first");
        // The bytes behind the end of a smaller memory are compared with zeros; the size counts only if all bytes are equal.
        let larger = image(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 9], &[0; 16]);
        assert_eq!(place(&same, &larger).expect("a difference").0, "address 0x9, on the heap");
        let larger = image(&[0; 16], &[0; 16]);
        assert_eq!(place(&same, &larger).expect("a difference").0, "the size of memory 0: 8 bytes and 16 bytes");
    }
}
