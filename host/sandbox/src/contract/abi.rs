//! The contract in Rust types, as wasmtime lifts and lowers them.

use std::sync::Arc;
use std::time::Duration;

use host_model::contract::{LocalEvent, LocalKind, Property, PropertyKind, PropertyScope, Request, Response, Span};
use wasmtime::component::{ComponentType, Lift, Lower};

/// The version of the contract that this host speaks.
pub(crate) const VERSION: &str = "0.1.0";
pub(crate) const PACKAGE: &str = "host:protocol";
pub(crate) const ENVIRONMENT: &str = "host:protocol/environment@0.1.0";
pub(crate) const ODDS: &str = "host:protocol/odds@0.1.0";
pub(crate) const LIVE: &str = "host:protocol/live@0.1.0";
pub(crate) const STORAGE: &str = "host:protocol/storage@0.1.0";
pub(crate) const DURABILITY: &str = "host:protocol/durability@0.1.0";

/// The name of an interface of the contract, with its version.
pub(crate) fn interface(name: &str) -> String {
    format!("{PACKAGE}/{name}@{VERSION}")
}

/// A list or string on its way in: shared, so that no call allocates.
pub(crate) type Bytes = Arc<Vec<u8>>;
pub(crate) type Text = Arc<String>;

#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct EnvelopeOut {
    pub to: u32,
    pub message: Vec<u8>,
}

/// Messages that are taken together.
#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct QuorumOut {
    pub name: String,
    pub size: u32,
}

#[derive(ComponentType, Lift)]
#[component(variant)]
#[allow(dead_code, reason = "lifting makes the values")]
pub(crate) enum RoleOut {
    #[component(name = "alone")]
    Alone,
    #[component(name = "held")]
    Held,
    #[component(name = "member")]
    Member(QuorumOut),
}

#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct ReceivedIn {
    pub src: u32,
    pub message: Vec<u8>,
}

#[derive(ComponentType, Lift, Lower, Clone, Copy)]
#[component(enum)]
#[repr(u8)]
pub(crate) enum Kind {
    #[component(name = "timer")]
    Timer,
    #[component(name = "application")]
    Application,
    #[component(name = "internal")]
    Internal,
}

impl From<Kind> for LocalKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Timer => Self::Timer,
            Kind::Application => Self::Application,
            Kind::Internal => Self::Internal,
        }
    }
}

impl From<LocalKind> for Kind {
    fn from(kind: LocalKind) -> Self {
        match kind {
            LocalKind::Timer => Self::Timer,
            LocalKind::Application => Self::Application,
            LocalKind::Internal => Self::Internal,
        }
    }
}

#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct LocalEventOut {
    pub name: String,
    pub kind: Kind,
    pub payload: Vec<u8>,
}

impl From<LocalEventOut> for LocalEvent {
    fn from(LocalEventOut { name, kind, payload }: LocalEventOut) -> Self {
        Self { name, kind: kind.into(), payload }
    }
}

#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct LocalEventIn {
    pub name: Text,
    pub kind: Kind,
    pub payload: Bytes,
}

/// An entry of the durable map.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct EntryOut {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
}

/// The order of entries.
#[derive(ComponentType, Lift, Clone, Copy)]
#[component(enum)]
#[repr(u8)]
#[allow(dead_code, reason = "lifting makes the values")]
pub(crate) enum OrderIn {
    #[component(name = "ascending")]
    Ascending,
    #[component(name = "descending")]
    Descending,
}

/// Durations, in microseconds.
#[derive(ComponentType, Lift, Clone, Copy)]
#[component(record)]
pub(crate) struct SpanOut {
    pub shortest: u64,
    pub longest: u64,
}

impl From<SpanOut> for Span {
    fn from(span: SpanOut) -> Self {
        (Duration::from_micros(span.shortest), Duration::from_micros(span.longest))
    }
}

#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct RequestIn {
    method: String,
    path: String,
    body: Vec<u8>,
}

impl From<&Request> for RequestIn {
    fn from(Request { method, path, body }: &Request) -> Self {
        Self { method: method.clone(), path: path.clone(), body: body.clone() }
    }
}

#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct ResponseOut {
    status: u16,
    body: Vec<u8>,
    ask: Option<u32>,
}

impl From<ResponseOut> for Response {
    fn from(ResponseOut { status, body, ask }: ResponseOut) -> Self {
        Self { status, body, ask }
    }
}

#[derive(ComponentType, Lift, Clone, Copy)]
#[component(enum)]
#[repr(u8)]
#[allow(dead_code, reason = "lifting makes the values")]
pub(crate) enum PropertyKindOut {
    #[component(name = "always")]
    Always,
    #[component(name = "sometimes")]
    Sometimes,
    #[component(name = "eventually")]
    Eventually,
}

#[derive(ComponentType, Lift, Clone, Copy)]
#[component(enum)]
#[repr(u8)]
#[allow(dead_code, reason = "lifting makes the values")]
pub(crate) enum PropertyScopeOut {
    #[component(name = "node")]
    Node,
    #[component(name = "system")]
    System,
}

#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct PropertyOut {
    name: String,
    kind: PropertyKindOut,
    scope: PropertyScopeOut,
}

impl From<PropertyOut> for Property {
    fn from(property: PropertyOut) -> Self {
        Self {
            name: property.name,
            kind: match property.kind {
                PropertyKindOut::Always => PropertyKind::Always,
                PropertyKindOut::Sometimes => PropertyKind::Sometimes,
                PropertyKindOut::Eventually => PropertyKind::Eventually,
            },
            scope: match property.scope {
                PropertyScopeOut::Node => PropertyScope::Node,
                PropertyScopeOut::System => PropertyScope::System,
            },
        }
    }
}

/// Which network a plugin is written for, unless the run says otherwise.
#[derive(ComponentType, Lift, Clone, Copy, Debug, PartialEq, Eq)]
#[component(enum)]
#[repr(u8)]
pub enum AboutNetwork {
    /// Messages may overtake each other.
    #[component(name = "unordered")]
    Unordered,
    /// Messages may overtake each other and arrive more than once.
    #[component(name = "unordered-duplicating")]
    UnorderedDuplicating,
    /// First in, first out for each pair of nodes.
    #[component(name = "ordered")]
    Ordered,
}

/// The identity of local states of a plugin.
#[derive(ComponentType, Lift, Clone, Copy, Debug, PartialEq, Eq)]
#[component(enum)]
#[repr(u8)]
pub enum AboutIdentity {
    /// Equal `serialize()` bytes.
    #[component(name = "serialized")]
    Serialized,
    /// Equal captured memory.
    #[component(name = "memory")]
    Memory,
}

/// A parameter that a scenario can set.
#[derive(ComponentType, Lift, Clone, Debug, PartialEq, Eq)]
#[component(record)]
pub struct AboutParameter {
    /// The key, as in `--set name=value`.
    pub name: String,
    /// The value when the scenario does not set it.
    #[component(name = "default-value")]
    pub default_value: String,
    /// One line for people.
    pub meaning: String,
}

/// The plugin's description of itself in the optional interface `defaults`.
#[derive(ComponentType, Lift, Clone, Debug, PartialEq, Eq)]
#[component(record)]
pub struct About {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// One line for people.
    pub summary: String,
    /// The cluster size of its default scenario.
    pub nodes: u32,
    /// The network of its default scenario.
    pub network: AboutNetwork,
    /// The identity of local states.
    pub identity: AboutIdentity,
    /// The parameters that a scenario can set.
    pub parameters: Vec<AboutParameter>,
}
