//! The aspects of a machine: what it may offer beyond handlers and properties. Each is there or not.
//!
//! An optional interface of the contract is an aspect of the same name, so the first table below lists them all but two: `defaults`, which is
//! read when a plugin is loaded, and `transport`, which is an [`Input`](crate::contract::Input). The second table is for machines
//! around others, and for the host itself.
//!
//! A new aspect is a trait and its row. If absence has a neutral answer, a function in `answers` gives it. Machines around others
//! forward it unchanged.

use crate::contract::durable_map::DurableMap;
use crate::contract::error::{MachineError, TransferError};
use crate::contract::event::{LocalEvent, NodeId};
use crate::contract::exchange::{Arrival, Quorum, Role, Snapshot, StateOwner};
use crate::contract::fault::Fault;
use crate::contract::live::{Request, Response, Span};

/// Passes the table of the aspects to a macro: how machines offer them, and their traits.
macro_rules! aspects {
    ($make:ident) => {
        $make! {
            contract {
                /// States and messages for people.
                describe: Describe,
                /// Views of properties for people.
                views: Views,
                /// Names of nodes for people.
                names: Names,
                /// Local events for people.
                events: Events,
                /// The state that survives a reset.
                durable: Durable,
                /// Messages taken together.
                quorum: Quorums,
                /// Interchangeable nodes.
                symmetry: Symmetry,
                /// Whether a node is done.
                completion: Completion,
                /// The durations of local events where the protocol runs.
                timing: Timing,
                /// Requests of clients where the protocol runs.
                clients: Clients,
                /// The nodes that matter to a node where the protocol runs.
                neighbourhood: Neighbourhood,
            }
            host {
                /// Local states as bytes that another process can read.
                transfer: Transfer,
                /// A start of its own for evaluating properties, and nodes that properties do not read.
                judging: Judging,
                /// The events of the search that it is notified of.
                listening: Listening,
                /// Lines of text that handlers write.
                logging: Logging,
                /// The durable map that handlers write.
                storage: Storage,
                /// A machine that stays with one node, whose states follow each other.
                following: Following,
            }
        }
    };
}
pub(super) use aspects;

/// Makes the enums from the table.
macro_rules! enums {
    (
        contract { $($(#[$of_contract:meta])* $interface:ident: $protocol:ident,)* }
        host { $($(#[$of_host:meta])* $accessor:ident: $host:ident,)* }
    ) => {
        /// Which aspect of a machine.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum AspectName {
            $($(#[$of_contract])* $protocol,)*
            $($(#[$of_host])* $host,)*
        }

        impl AspectName {
            /// All aspects.
            pub const ALL: &[Self] = &[$(Self::$protocol,)* $(Self::$host,)*];

            /// Those that are optional interfaces of the contract, with the names of these.
            pub const INTERFACES: &[(&str, Self)] = &[$((stringify!($interface), Self::$protocol),)*];
        }

        /// An aspect of a machine, which is there.
        pub enum Aspect<'m> {
            $($(#[$of_contract])* $protocol(&'m mut dyn $protocol),)*
            $($(#[$of_host])* $host(&'m mut dyn $host),)*
        }
    };
}
aspects!(enums);

/// See [`AspectName::Describe`].
pub trait Describe {
    /// The local state as JSON; `None` if this node does not describe itself.
    fn describe_state(&mut self) -> Result<Option<String>, Fault>;

    /// A message as JSON; `None` if the protocol does not describe itself.
    fn describe_message(&mut self, payload: &[u8]) -> Result<Option<String>, Fault>;
}

/// See [`AspectName::Views`].
pub trait Views {
    /// A view of a property as JSON; `None` if the protocol does not describe its views. Works in the state before `init`.
    fn describe_view(&mut self, property: u32, view: &[u8]) -> Result<Option<String>, Fault>;
}

/// See [`AspectName::Names`].
pub trait Names {
    /// The name of the node for people, as the protocol says it: not trusted, see [`NodeNames`](crate::scenario::NodeNames). `None` if
    /// it says nothing. Works in any state after `init`.
    fn node_name(&mut self) -> Result<Option<String>, Fault>;
}

/// See [`AspectName::Events`].
pub trait Events {
    /// The subject of a local event, as JSON; `None` if the protocol does not describe it. Works in the state before `init`.
    fn describe_local(&mut self, event: &LocalEvent) -> Result<Option<String>, Fault>;
}

/// See [`AspectName::Durable`].
pub trait Durable {
    /// The durable state, which survives a reset; `None` if there is none.
    fn persist(&mut self) -> Result<Option<Vec<u8>>, Fault>;
}

/// See [`AspectName::Quorums`].
pub trait Quorums {
    /// Whether this node ever takes messages together: a matter of the configuration. Works in any state after `init`.
    fn takes_quorums(&mut self) -> Result<bool, Fault>;

    /// The way in which this node takes a message in this state. Asked only if it [takes quorums](Self::takes_quorums).
    fn role(&mut self, src: NodeId, payload: &[u8]) -> Result<Role<Quorum>, Fault>;
}

/// See [`AspectName::Symmetry`].
pub trait Symmetry {
    /// The groups of nodes that the protocol declares to be interchangeable. A claim: the nodes may not exist, or come twice. Works
    /// in any state after `init`.
    fn interchangeable(&mut self) -> Result<Vec<Vec<NodeId>>, Fault>;

    /// The content of a message with each node `i` in it renamed to `renaming[i]`. Works in the state before `init`.
    fn rename_message(&mut self, payload: &[u8], renaming: &[NodeId]) -> Result<Vec<u8>, Fault>;

    /// The same for the argument of a local event.
    fn rename_local(&mut self, payload: &[u8], renaming: &[NodeId]) -> Result<Vec<u8>, Fault>;
}

/// See [`AspectName::Completion`].
pub trait Completion {
    /// Whether the node is done: it waits for nothing. Called only in states where nothing can happen any more.
    fn is_done(&mut self) -> Result<bool, Fault>;
}

/// See [`AspectName::Timing`].
pub trait Timing {
    /// The time from when a local event of this state can happen until it does; `None` if the protocol does not say so.
    fn duration(&mut self, event: &LocalEvent) -> Result<Option<Span>, Fault>;
}

/// See [`AspectName::Clients`].
pub trait Clients {
    /// The local event that a request of a client becomes in this state, which [`local_events`](crate::contract::Machine::local_events) need not list;
    /// or an answer at once. `number` names the request: no other request to this node has it.
    fn request(&mut self, number: u64, request: &Request) -> Result<Result<LocalEvent, Response>, Fault>;
}

/// See [`AspectName::Neighbourhood`].
pub trait Neighbourhood {
    /// The nodes whose states matter to what this node does next; `None` if the protocol does not say so. A claim: the nodes may
    /// not exist, or come twice.
    fn neighbours(&mut self) -> Result<Option<Vec<NodeId>>, Fault>;
}

/// See [`AspectName::Transfer`].
pub trait Transfer {
    /// A captured state of this owner as bytes that a machine of the same protocol [imports](Self::import) in any process. The
    /// next call must be [`restore`](crate::contract::Machine::restore).
    ///
    /// # Errors
    ///
    /// States cannot leave this machine, or the host cannot continue.
    fn export(&mut self, snapshot: &Snapshot, owner: StateOwner<'_>) -> Result<Vec<u8>, TransferError>;

    /// A state that was exported as one of this owner. The bytes may come from anybody. The next call must be
    /// [`restore`](crate::contract::Machine::restore).
    ///
    /// # Errors
    ///
    /// The bytes are no state of this protocol or of this owner, states cannot enter this machine, or the host cannot continue.
    fn import(&mut self, exported: &[u8], owner: StateOwner<'_>) -> Result<Snapshot, TransferError> {
        let _ = (exported, owner);
        Err(TransferError::unsupported())
    }
}

/// See [`AspectName::Judging`].
pub trait Judging {
    /// Goes to a state before `init` in which properties are evaluated: the pristine state, or an equivalent one in which evaluation is
    /// faster. No handler runs from there.
    ///
    /// # Errors
    ///
    /// As for [`restore`](crate::contract::Machine::restore).
    fn restore_to_judge(&mut self) -> Result<(), MachineError>;

    /// Whether properties read this node at all: not if it is an adversary. Works in any state after `init`.
    fn is_read(&mut self) -> Result<bool, Fault> {
        Ok(true)
    }
}

/// See [`AspectName::Listening`].
pub trait Listening {
    /// Hears which node the state belongs to that the machine goes to next.
    fn stand_at(&mut self, node: NodeId);

    /// Hears that the state it is in was reached by a handler, after [`serialize`](crate::contract::Machine::serialize).
    fn arrive(&mut self, arrival: &Arrival<'_>);
}

/// See [`AspectName::Logging`].
pub trait Logging {
    /// Whether [`Effects::log`](crate::contract::Effects::log) is filled from now on. Machines start without it.
    fn keep_log(&mut self, keep: bool);
}

/// See [`AspectName::Storage`].
pub trait Storage {
    /// The durable map of the node as it is now.
    fn map(&mut self) -> DurableMap;
}

/// See [`AspectName::Following`].
pub trait Following {
    /// Hears the state from which the node continues. Returns a snapshot of the same state, which may take less to restore, and to capture the
    /// states that follow.
    ///
    /// # Determinism duty
    ///
    /// Snapshots that an earlier call has returned, or that were captured since, may no longer be restored, except the one returned.
    ///
    /// # Errors
    ///
    /// As for [`restore`](crate::contract::Machine::restore).
    fn continue_from(&mut self, snapshot: Snapshot) -> Result<Snapshot, MachineError>;
}
