//! Machines of a protocol, restricted to some of its properties.

use std::sync::Arc;

use crate::contract::error::MachineError;
use crate::contract::exchange::{Property, PropertyKind};
use crate::contract::machine::{Machine, MachineFactory};
use crate::contract::wrapper::{Wrap, Wrapped};

/// Machines that show some properties of their protocol and no others: the layers above see no difference.
pub struct Selected {
    factory: Arc<dyn MachineFactory>,
    shown: Arc<Shown>,
}

/// The properties that are shown.
enum Shown {
    /// These, by their index, in this order.
    Some(Vec<u32>),
    /// The negation of this one alone.
    Negated(u32),
}

impl Selected {
    /// The machines of `factory` with the properties of these indices, renumbered in this order. An index that does not exist
    /// shows nothing.
    pub fn new(factory: Arc<dyn MachineFactory>, indices: Vec<u32>) -> Self {
        Self { factory, shown: Arc::new(Shown::Some(indices)) }
    }

    /// The machines of `factory` with one property, the negation of a `sometimes` property: it holds always unless that one is
    /// reached, and the path of a violation is that of a witness.
    pub fn negating(factory: Arc<dyn MachineFactory>, index: u32) -> Self {
        Self { factory, shown: Arc::new(Shown::Negated(index)) }
    }
}

impl MachineFactory for Selected {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        Ok(Box::new(Wrapped { machine: self.factory.machine()?, wrap: Selecting(Arc::clone(&self.shown)) }))
    }

    fn hears_errors(&self) -> bool {
        self.factory.hears_errors()
    }
}

/// Shows only some properties.
struct Selecting(Arc<Shown>);

impl Wrap for Selecting {
    fn properties(&self, all: Vec<Property>) -> Vec<Property> {
        match &*self.0 {
            Shown::Some(indices) => indices.iter().filter_map(|index| all.get(*index as usize).cloned()).collect(),
            Shown::Negated(index) => {
                let negated = |property: &Property| Property { kind: PropertyKind::Always, ..property.clone() };
                all.get(*index as usize).map(negated).into_iter().collect()
            }
        }
    }

    fn index(&self, property: u32) -> u32 {
        match &*self.0 {
            Shown::Some(indices) => indices[property as usize],
            Shown::Negated(index) => *index,
        }
    }

    fn verdict(&self, verdict: Result<(), String>) -> Result<(), String> {
        match (&*self.0, verdict) {
            (Shown::Some(_), verdict) => verdict,
            (Shown::Negated(_), Ok(())) => Err(String::new()),
            (Shown::Negated(_), Err(_)) => Ok(()),
        }
    }
}
