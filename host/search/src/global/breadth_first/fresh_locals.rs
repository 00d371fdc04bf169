//! The local states whose local events and faults were followed.

use std::ops::Range;

use host_model::lts::LocalStateId;
use rustc_hash::FxHashSet;

use crate::global::breadth_first::frontier::{Block, Layout};
use crate::kernel::checkpoint_codec::{Reader, Writer};
use crate::kernel::table_bytes;

/// The local states whose local events and faults were followed.
#[derive(Default)]
pub struct FreshLocals {
    followed: FxHashSet<LocalStateId>,
    /// For each state of the batch and each node whether the local state is new. One worker decides this state by state, before the
    /// parallel part begins, so that it depends on the order of the states alone.
    of_batch: Vec<bool>,
    /// Whether the states of the batch were noted.
    is_noted: bool,
}

impl FreshLocals {
    /// Notes the states of a batch, once.
    pub fn note(&mut self, block: &Block, places: Range<usize>, layout: Layout) {
        if std::mem::replace(&mut self.is_noted, true) {
            return;
        }
        self.of_batch.clear();
        for place in places {
            let locals = || layout.locals(block.record(place));
            self.of_batch.extend(locals().map(|local| !self.followed.contains(&local)));
            self.followed.extend(locals());
        }
    }

    /// Whether the local state of each node of each state of the batch is new.
    pub fn of_batch(&self) -> &[bool] {
        &self.of_batch
    }

    /// Makes room for the next batch.
    pub fn forget_batch(&mut self) {
        self.is_noted = false;
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        (table_bytes::<LocalStateId>(self.followed.capacity()) + self.of_batch.capacity()) as u64
    }

    /// Saves it, with the last `rest` items of the batch, if that was noted.
    pub fn save(&self, rest: usize, out: &mut Writer<'_>) {
        #[expect(clippy::disallowed_methods, reason = "sorted below")]
        let mut followed: Vec<u32> = self.followed.iter().map(|local| local.0).collect();
        followed.sort_unstable();
        out.words(&followed);
        out.number(u64::from(self.is_noted));
        let rest = if self.is_noted { &self.of_batch[self.of_batch.len() - rest..] } else { &[] };
        out.words(&rest.iter().map(|is_new| u32::from(*is_new)).collect::<Vec<_>>());
    }

    /// Loads it; none unless there are `rest` items of the batch, and some, if that was noted.
    pub fn load(rest: usize, saved: &mut Reader<'_>) -> Option<Self> {
        let followed = saved.words()?.into_iter().map(LocalStateId).collect();
        let is_noted = saved.number()? != 0;
        let of_batch: Vec<bool> = saved.words()?.into_iter().map(|is_new| is_new != 0).collect();
        (is_noted != of_batch.is_empty() && [0, rest].contains(&of_batch.len())).then_some(Self {
            followed,
            of_batch,
            is_noted,
        })
    }
}
