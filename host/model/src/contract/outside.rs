//! Machines with properties from outside, about the states that a protocol describes.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use crate::contract::error::MachineError;
use crate::contract::exchange::Property;
use crate::contract::fault::{Fault, FaultKind};
use crate::contract::machine::{Machine, MachineFactory};
use crate::contract::wrapper::{Wrap, Wrapped};

/// Properties from outside the protocol. All functions are pure: the answer depends on the arguments alone.
pub trait Outside: Send + Sync {
    /// The properties.
    fn properties(&self) -> Vec<Property>;

    /// The view that each property has of a state that describes itself so, see [`Machine::view`]; of one that does not describe itself if there
    /// is none.
    ///
    /// # Errors
    ///
    /// The host itself cannot continue, or is to stop.
    fn views(&self, description: Option<&str>) -> Result<Vec<Option<Vec<u8>>>, MachineError>;

    /// Whether it holds on these views, see [`Machine::invariant`].
    ///
    /// # Errors
    ///
    /// The host itself cannot continue, or is to stop. Within: the property cannot be evaluated, or why it does not hold.
    fn invariant(&self, property: u32, views: &[Option<&[u8]>]) -> OutsideVerdict;

    /// A view for people, as JSON; none if it has no such form.
    fn describe_view(&self, property: u32, view: &[u8]) -> Option<String>;
}

/// The verdict of a property from outside on views.
pub type OutsideVerdict = Result<Result<Result<(), String>, Fault>, MachineError>;

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
        let wrap = Observing {
            own: self.own,
            outside: Arc::clone(&self.outside),
            last: RefCell::default(),
            trouble: Cell::default(),
        };
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
    /// The last reading: the properties are evaluated one after the other.
    last: RefCell<Option<Reading>>,
    /// Why the host could not continue in the last call, for [`Wrap::confirm_fault`].
    trouble: Cell<Option<MachineError>>,
}

/// A description, and the views of it.
struct Reading {
    description: Option<String>,
    views: Vec<Option<Vec<u8>>>,
}

impl Observing {
    fn view_of(&self, property: u32, description: Option<String>) -> Result<Option<Vec<u8>>, Fault> {
        let mut last = self.last.borrow_mut();
        if last.as_ref().is_none_or(|last| last.description != description) {
            let views = self.confirmed(self.outside.views(description.as_deref()))?;
            *last = Some(Reading { description, views });
        }
        Ok(last.as_ref().and_then(|last| last.views[property as usize].clone()))
    }

    /// Keeps an error of the host until the receiver of the fault asks whether it was one.
    fn confirmed<R>(&self, result: Result<R, MachineError>) -> Result<R, Fault> {
        result.map_err(|error| {
            let message = error.to_string();
            self.trouble.set(Some(error));
            Fault::new(FaultKind::Trap, message)
        })
    }
}

impl Wrap for Observing {
    fn confirm_fault(&self) -> Result<(), MachineError> {
        self.trouble.take().map_or(Ok(()), Err)
    }

    fn properties(&self, mut all: Vec<Property>) -> Vec<Property> {
        all.extend(self.outside.properties());
        all
    }

    fn view(&self, machine: &mut dyn Machine, property: u32) -> Result<Option<Vec<u8>>, Fault> {
        match property.checked_sub(self.own) {
            None => machine.view(property),
            Some(_) if !machine.is_read()? => Ok(None),
            Some(ours) => self.view_of(ours, machine.describe_state()?),
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
            Some(ours) => self.confirmed(self.outside.invariant(ours, views))?,
        }
    }

    fn describe_view(&self, machine: &mut dyn Machine, property: u32, view: &[u8]) -> Result<Option<String>, Fault> {
        match property.checked_sub(self.own) {
            None => machine.describe_view(property, view),
            Some(ours) => Ok(self.outside.describe_view(ours, view)),
        }
    }
}
