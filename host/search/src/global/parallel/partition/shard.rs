//! Visited states with the same highest bits of their fingerprints.

use crate::global::parallel::partition::{Arrival, Partition};
use crate::global::visited::{Insertion, Shard};
use crate::kernel::checkpoint_codec::{Reader, Writer};

/// The reason to examine a state. Small: there is one per successor of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fresh {
    /// The state is new.
    New,
    /// The state was seen before, but at a greater depth.
    Again {
        /// Whether that was at the bound, where the state was not expanded.
        was_cut: bool,
    },
}

/// The visited states and the system states whose fingerprints have the same highest bits.
pub struct VisitedShard {
    /// Visited global states.
    pub visited: Shard,
    /// System states; their depth is always zero.
    pub system_states: Shard,
    /// For each partition the children of the current round to examine.
    pub(super) fresh: Vec<Vec<(u32, Fresh)>>,
}

impl VisitedShard {
    /// An empty shard for this many partitions.
    pub fn new(partitions: usize) -> Self {
        Self {
            visited: Shard::default(),
            system_states: Shard::default(),
            fresh: (0..partitions).map(|_| Vec::new()).collect(),
        }
    }

    /// Saves the shard as it is between two rounds.
    pub fn save(&self, out: &mut Writer<'_>) {
        self.visited.save(out);
        self.system_states.save(out);
    }

    /// The shard that was saved.
    pub fn load(partitions: usize, saved: &mut Reader<'_>) -> Option<Self> {
        let (visited, system_states) = (Shard::load(saved)?, Shard::load(saved)?);
        Some(Self { visited, system_states, ..Self::new(partitions) })
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        let fresh: usize = self.fresh.iter().map(Vec::capacity).sum();
        self.visited.bytes() + self.system_states.bytes() + (fresh * size_of::<(u32, Fresh)>()) as u64
    }

    /// Second step of a round: takes in the states that the partitions have for this shard, partition by partition, so that the first of
    /// equal states counts as new, whichever worker does the work.
    pub fn admit(&mut self, this: usize, bound: u32, partitions: &[Partition]) {
        for partition in partitions {
            self.visited.warm(partition.arrivals[this].iter().map(Arrival::fingerprint));
            self.system_states.warm(partition.system_states[this].iter().copied());
        }
        for (partition, fresh) in partitions.iter().zip(&mut self.fresh) {
            fresh.clear();
            for system_state in &partition.system_states[this] {
                self.system_states.insert(*system_state, 0);
            }
            for arrival in &partition.arrivals[this] {
                match self.visited.insert(arrival.fingerprint(), arrival.depth) {
                    Insertion::New => fresh.push((arrival.child, Fresh::New)),
                    Insertion::Deeper(before) => fresh.push((arrival.child, Fresh::Again { was_cut: before >= bound })),
                    Insertion::Already => {}
                }
            }
        }
    }
}
