//! Whole memories to compare with.

use std::sync::{Arc, OnceLock};

use crate::rewrite::GRANULE;
use crate::state::digest::Contributions;
use crate::state::lines::padded;

/// The bytes of all memories in one state; zeros follow.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Image {
    pub data: Vec<Box<[u8]>>,
    pub cells: Vec<Box<[u8]>>,
}

impl Image {
    /// Bytes that the image keeps.
    pub(crate) fn bytes(&self) -> usize {
        self.data.iter().chain(&self.cells).map(|bytes| bytes.len()).sum()
    }
}

/// The images that the instances of a plugin share, or those of a machine that follows one node.
#[derive(Debug, Default)]
pub(crate) struct Images {
    pub pristine: Arc<Image>,
    /// The number of moves of the reference image: 0 for those that instances share.
    pub generation: u32,
    /// Set once by the first capture after `init`. Its state determines only the size of
    /// snapshots.
    pub reference: OnceLock<Reference>,
}

impl Images {
    /// The same with another reference image.
    pub(crate) fn with(&self, generation: u32, reference: Reference) -> Self {
        Self { pristine: Arc::clone(&self.pristine), generation, reference: OnceLock::from(reference) }
    }

    /// Whether a state was captured.
    pub(crate) fn has_reference(&self) -> bool {
        self.reference.get().is_some()
    }

    /// Bytes that the pristine image keeps.
    pub(crate) fn pristine_bytes(&self) -> usize {
        self.pristine.bytes()
    }
}

#[derive(Debug)]
pub(crate) struct Reference {
    pub image: Arc<Image>,
    /// For each data memory, the granules in which the two images differ.
    pub differs: Vec<Vec<u32>>,
    /// Their contributions to digests, from the first digest on.
    contributions: OnceLock<Contributions>,
}

impl Reference {
    pub(crate) fn new(image: Image, pristine: &Image) -> Self {
        let pairs = image.data.iter().zip(&pristine.data);
        let differs = pairs.map(|(image, pristine)| differences(image, pristine)).collect();
        Self { image: Arc::new(image), differs, contributions: OnceLock::new() }
    }

    /// The contributions of the image to digests.
    pub(crate) fn contributions(&self, pristine: &Image) -> &Contributions {
        self.contributions.get_or_init(|| Contributions::new(&self.differs, &self.image.data, &pristine.data))
    }
}

/// The granules of `image` that differ from another image, with zeros following.
fn differences(image: &[u8], other: &[u8]) -> Vec<u32> {
    let differs = |granule: &u32| {
        let start = *granule as usize * GRANULE;
        padded(image, start) != padded(other, start)
    };
    (0..(image.len() / GRANULE) as u32).filter(differs).collect()
}

/// The image with which a snapshot or an instance is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    Pristine,
    Reference,
}
