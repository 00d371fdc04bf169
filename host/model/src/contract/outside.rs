//! Machines with properties that somebody else states about the states that a protocol describes.

use std::cell::RefCell;
use std::sync::Arc;

use crate::contract::error::MachineError;
use crate::contract::machine::{Fault, Machine, MachineFactory, Property};
use crate::contract::wrapper::{Wrap, Wrapped};

/// Properties from outside the protocol. All functions are pure: the answer depends on the arguments alone.
pub trait Outside: Send + Sync {
    /// The properties.
    fn properties(&self) -> Vec<Property>;

    /// What each property reads of a state that describes itself so; none if it does not describe itself.
    fn views(&self, description: Option<&str>) -> Vec<Vec<u8>>;

    /// Whether it holds on these views, see [`Machine::invariant`].
    ///
    /// # Errors
    ///
    /// It cannot be evaluated; the inner error says why it does not hold.
    fn invariant(&self, property: u32, views: &[Option<&[u8]>]) -> Result<Result<(), String>, Fault>;
}

/// Machines that have properties from outside behind those of their protocol.
pub struct Observed {
    factory: Arc<dyn MachineFactory>,
    own: u32,
    outside: Arc<dyn Outside>,
}

impl Observed {
    /// The machines of `factory`, whose protocol has `own` properties.
    pub fn new(factory: Arc<dyn MachineFactory>, own: u32, outside: Arc<dyn Outside>) -> Self {
        Self { factory, own, outside }
    }
}

impl MachineFactory for Observed {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        let wrap = Observing { own: self.own, outside: Arc::clone(&self.outside), last: RefCell::default() };
        Ok(Box::new(Wrapped { machine: self.factory.machine()?, wrap }))
    }

    fn hears_errors(&self) -> bool {
        self.factory.hears_errors()
    }
}

/// Answers for the properties from outside.
struct Observing {
    own: u32,
    outside: Arc<dyn Outside>,
    /// What was read last: each property is asked for in turn.
    last: RefCell<Option<Reading>>,
}

/// A description, and the views of it.
struct Reading {
    description: Option<String>,
    views: Vec<Vec<u8>>,
}

impl Observing {
    fn view_of(&self, property: u32, description: Option<String>) -> Vec<u8> {
        let mut last = self.last.borrow_mut();
        if last.as_ref().is_none_or(|last| last.description != description) {
            let views = self.outside.views(description.as_deref());
            *last = Some(Reading { description, views });
        }
        last.as_ref().map(|last| last.views[property as usize].clone()).unwrap_or_default()
    }
}

impl Wrap for Observing {
    fn properties(&self, mut all: Vec<Property>) -> Vec<Property> {
        all.extend(self.outside.properties());
        all
    }

    fn view(&self, machine: &mut dyn Machine, property: u32) -> Result<Option<Vec<u8>>, Fault> {
        match property.checked_sub(self.own) {
            None => machine.view(property),
            Some(_) if !machine.is_read()? => Ok(None),
            Some(ours) => Ok(Some(self.view_of(ours, machine.describe_state()?))),
        }
    }

    fn invariant(
        &self,
        machine: &mut dyn Machine,
        property: u32,
        views: &[Option<&[u8]>],
    ) -> Result<Result<(), String>, Fault> {
        match property.checked_sub(self.own) {
            None => machine.invariant(property, views),
            Some(ours) => self.outside.invariant(ours, views),
        }
    }

    fn describe_view(&self, machine: &mut dyn Machine, property: u32, view: &[u8]) -> Result<Option<String>, Fault> {
        match property.checked_sub(self.own) {
            None => machine.describe_view(property, view),
            // It is JSON as it is, but where the description was none.
            Some(_) => Ok(String::from_utf8(view.to_vec()).ok().filter(|text| !text.starts_with('!'))),
        }
    }
}
