//! The boundary between the search and whatever executes a protocol.
//!
//! A [`Machine`] runs the handlers of one protocol and can be put back into any
//! local state it was in before. The sandbox implements it with WebAssembly
//! instances; tests implement it natively.

use crate::contract::aspects::{Aspect, AspectName};
use crate::contract::error::MachineError;
use crate::contract::event::LocalEvent;
use crate::contract::exchange::{Effects, Input, Property, Snapshot};
use crate::contract::fault::Fault;

/// Runs the handlers of one protocol, one local state at a time.
///
/// # Determinism duty
///
/// The outcome of every method is a function of the state restored last, the inputs since,
/// and the script of choices. It does not depend on what the machine did before the last
/// [`restore`](Machine::restore), nor on which of several machines of one factory it is.
///
/// # Errors
///
/// A [`Fault`] is the guest's. A method that returns one leaves the machine in no state at all: the next call must
/// be [`restore`](Machine::restore), which makes it usable again.
pub trait Machine: Send {
    /// Goes to a captured state, or with `None` to the state before `init`.
    ///
    /// # Errors
    ///
    /// The host cannot provide a fresh instance where it needs one, or work is to [stop](crate::contract::stop::Stop).
    fn restore(&mut self, snapshot: Option<&Snapshot>) -> Result<(), MachineError>;

    /// Asks whether to continue where the next call follows without a [`restore`](Self::restore).
    ///
    /// # Errors
    ///
    /// Work is to [stop](crate::contract::stop::Stop).
    fn ask_stop(&self) -> Result<(), MachineError> {
        Ok(())
    }

    /// Asks whether a fault was the guest's, before it is reported.
    ///
    /// # Errors
    ///
    /// It was the host's: the machine could not give the guest what its limits allow. Nothing is known about the guest.
    fn confirm_fault(&self) -> Result<(), MachineError> {
        Ok(())
    }

    /// Runs one handler. The first calls of `choose` and `can-send` are answered from `script`, later ones with 0.
    ///
    /// `effects` is cleared first and filled as far as the handler got, also on a fault.
    fn handle(&mut self, input: Input<'_>, script: &[u32], effects: &mut Effects) -> Result<(), Fault>;

    /// The canonical encoding of the local state: equal bytes, same state.
    fn serialize(&mut self) -> Result<Vec<u8>, Fault>;

    /// The events of this state without a message, in the guest's order.
    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault>;

    /// The part of the local state that a property reads; `None` if this node cannot matter to it.
    fn view(&mut self, property: u32) -> Result<Option<Vec<u8>>, Fault>;

    /// Captures the local state.
    fn capture(&mut self) -> Snapshot;

    /// The properties of the protocol. Needs no node: works in the state before `init`.
    fn properties(&mut self) -> Result<Vec<Property>, Fault>;

    /// Whether a property holds on these views: one per node in the order of the nodes, or exactly
    /// one for a property of node scope. Works in the state before `init`.
    ///
    /// # Errors
    ///
    /// The guest's fault; a property that does not hold is the inner error with its explanation.
    fn invariant(&mut self, property: u32, views: &[Option<&[u8]>]) -> Result<Result<(), String>, Fault>;

    /// An aspect of it; `None` if it has none of that name. The answer to a name is the aspect of that name, and the same in all states of
    /// a node. A machine around another one passes the question on.
    ///
    /// Callers ask by the name of the aspect, see [`aspects`](crate::contract::aspects): `machine.durable()` is its
    /// [`Durable`](crate::contract::aspects::Durable), and `machine.persist()` also answers if there is none.
    fn aspect(&mut self, name: AspectName) -> Option<Aspect<'_>> {
        let _ = name;
        None
    }
}

/// Makes machines of one protocol: one for each worker.
pub trait MachineFactory: Send + Sync {
    /// A machine in the state before `init`.
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError>;

    /// Whether the protocol has a handler for transport errors.
    fn hears_errors(&self) -> bool {
        false
    }
}
