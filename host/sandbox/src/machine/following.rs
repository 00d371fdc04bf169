//! A machine that follows one node: its reference image moves with the states of the node.
//!
//! A snapshot is the difference from the reference image, so it grows with each event of a node that runs for long, and with it the time that
//! the next event takes. A copy of all memories takes as long as some such differences.

use std::sync::Arc;

use host_model::contract::aspects::Following;
use host_model::contract::{Machine, MachineError, Snapshot};

use crate::machine::GuestMachine;
use crate::machine::rest::Rest;
use crate::state::image::Images;
use crate::state::snapshot::Delta;

/// The reference image of a machine that follows a node.
#[derive(Debug, Default)]
pub(super) struct OwnReference {
    /// The images with it; none before it has moved.
    images: Option<Arc<Images>>,
    /// Bytes of the snapshots since then.
    bytes: usize,
}

impl GuestMachine {
    /// Uses the images with the base of a snapshot, which differ between those of a machine that follows a node and others of the plugin.
    pub(super) fn use_images_of(&mut self, delta: Option<Delta<'_>>) -> Result<(), MachineError> {
        let Some(generation) = delta.and_then(|delta| delta.generation) else { return Ok(()) };
        if self.live().generation() == generation {
            return Ok(());
        }
        let own = self.own.images.as_ref().filter(|images| images.generation == generation);
        let images = match generation {
            0 => Arc::clone(self.plugin.images()),
            _ => {
                own.cloned().ok_or_else(|| MachineError::Host("a snapshot is older than its reference image".into()))?
            }
        };
        self.live().use_images(images);
        Ok(())
    }
}

impl Following for GuestMachine {
    fn continue_from(&mut self, snapshot: Snapshot) -> Result<Snapshot, MachineError> {
        self.own.bytes += snapshot.memory_bytes();
        let memory: usize = self.live().sizes().sum();
        if self.own.bytes < memory && !self.plugin.sandbox.config.moves_always {
            return Ok(snapshot);
        }
        // Calls that read may have changed memory since.
        self.restore(Some(&snapshot))?;
        let generation = self.own.images.as_ref().map_or(0, |images| images.generation) + 1;
        let images = self.live().move_reference(generation);
        self.own = OwnReference { images: Some(images), bytes: 0 };
        let moved = self.live().capture();
        if self.plugin.dead_stack.is_some() {
            self.rest = Rest::at(Some(moved.clone()));
        }
        Ok(moved)
    }
}
