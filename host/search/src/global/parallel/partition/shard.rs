//! Visited states with the same highest bits of their fingerprints.

use crate::global::parallel::partition::{Arrival, Lane};
use crate::global::visited::{Seen, Shard};
use crate::kernel::checkpoint_codec::{Reader, Writer};

/// The visited states and the system states whose fingerprints have the same highest bits.
pub struct WaveShard {
    /// Visited global states.
    pub visited: Shard,
    /// System states; their depth is always zero.
    pub system_states: Shard,
    /// For each lane the children of the current wave that have to be looked at.
    pub(super) fresh: Vec<Vec<(u32, Seen)>>,
}

impl WaveShard {
    /// An empty shard for so many lanes.
    pub fn new(lanes: usize) -> Self {
        Self {
            visited: Shard::default(),
            system_states: Shard::default(),
            fresh: (0..lanes).map(|_| Vec::new()).collect(),
        }
    }

    /// Saves the shard as it is between two waves.
    pub fn save(&self, out: &mut Writer<'_>) {
        self.visited.save(out);
        self.system_states.save(out);
    }

    /// The shard that was saved.
    pub fn load(lanes: usize, saved: &mut Reader<'_>) -> Option<Self> {
        let (visited, system_states) = (Shard::load(saved)?, Shard::load(saved)?);
        Some(Self { visited, system_states, ..Self::new(lanes) })
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        let fresh: usize = self.fresh.iter().map(Vec::capacity).sum();
        self.visited.bytes() + self.system_states.bytes() + (fresh * size_of::<(u32, Seen)>()) as u64
    }

    /// Second step of a wave: takes in what the lanes have for this shard, lane by lane, so that of equal states the
    /// same one is new whoever does the work.
    pub fn admit(&mut self, this: usize, lanes: &[Lane]) {
        for lane in lanes {
            self.visited.warm(lane.arrivals[this].iter().map(Arrival::fingerprint));
            self.system_states.warm(lane.system_states[this].iter().copied());
        }
        for (lane, fresh) in lanes.iter().zip(&mut self.fresh) {
            fresh.clear();
            for system_state in &lane.system_states[this] {
                self.system_states.insert(*system_state, 0);
            }
            for arrival in &lane.arrivals[this] {
                let seen = self.visited.insert(arrival.fingerprint(), arrival.depth);
                if seen != Seen::Already {
                    fresh.push((arrival.child, seen));
                }
            }
        }
    }
}
