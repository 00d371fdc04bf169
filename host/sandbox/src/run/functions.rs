//! The functions of a component that the host calls, looked up once in each instance.

use std::sync::Arc;

use host_model::contract::Fault;
use wasmtime::Store;
use wasmtime::component::{ComponentNamedList, Instance, Lift, Lower, TypedFunc};

use crate::check::Interfaces;
use crate::contract::abi::{
    About, Bytes, EnvelopeOut, LocalEventIn, LocalEventOut, PropertyOut, ReceivedIn, RequestIn, ResponseOut, RoleOut,
    SpanOut, Text,
};
use crate::contract::error::LoadError;
use crate::store::context::Context;

/// Why no instance came to be.
pub(crate) enum StartError {
    /// The guest's fault.
    Fault(Fault),
    /// The host's trouble.
    Host(String),
    /// An export of a wrong type.
    WrongType { export: String, detail: String },
}

impl From<StartError> for LoadError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Fault(fault) => Self::Start { fault },
            StartError::Host(detail) => Self::Host { detail },
            StartError::WrongType { export, detail } => Self::WrongType { export, detail },
        }
    }
}

/// Functions that an instance exports.
pub(crate) trait Exports: Sized {
    /// Looks them up.
    fn look_up(store: &mut Store<Context>, instance: &Instance, names: &Interfaces) -> Result<Self, StartError>;
}

pub(crate) type Views = Arc<Vec<Option<Vec<u8>>>>;
/// The name of a quorum and its messages.
pub(crate) type QuorumParams = (Text, Arc<Vec<ReceivedIn>>);
/// The bytes to rename, and the new name of each node.
pub(crate) type RenameParams = (Bytes, Vec<u32>);
/// What becomes of a request of a client.
pub(crate) type RequestResult = Result<LocalEventOut, ResponseOut>;
pub(crate) type InitResult = Result<Vec<EnvelopeOut>, String>;

/// The functions of a plugin.
pub(crate) struct Functions {
    pub init: TypedFunc<(u32, u32, Text, Option<Bytes>), (InitResult,)>,
    pub handle_message: TypedFunc<(u32, Bytes), (Vec<EnvelopeOut>,)>,
    pub local_events: TypedFunc<(), (Vec<LocalEventOut>,)>,
    pub handle_local: TypedFunc<(LocalEventIn,), (Vec<EnvelopeOut>,)>,
    pub serialize: TypedFunc<(), (Vec<u8>,)>,
    pub properties: TypedFunc<(), (Vec<PropertyOut>,)>,
    pub view: TypedFunc<(u32,), (Option<Vec<u8>>,)>,
    pub invariant: TypedFunc<(u32, Views), (Result<(), String>,)>,
    pub about: Option<TypedFunc<(), (About,)>>,
    pub persist: Option<TypedFunc<(), (Option<Vec<u8>>,)>>,
    pub handle_transport_error: Option<TypedFunc<(u32,), (Vec<EnvelopeOut>,)>>,
    pub is_done: Option<TypedFunc<(), (bool,)>>,
    pub describe_state: Option<TypedFunc<(), (String,)>>,
    pub describe_message: Option<TypedFunc<(Bytes,), (String,)>>,
    pub describe_view: Option<TypedFunc<(u32, Bytes), (String,)>>,
    pub node_name: Option<TypedFunc<(), (Option<String>,)>>,
    pub is_used: Option<TypedFunc<(), (bool,)>>,
    pub role_of: Option<TypedFunc<(u32, Bytes), (RoleOut,)>>,
    pub handle_quorum: Option<TypedFunc<QuorumParams, (Option<Vec<EnvelopeOut>>,)>>,
    pub interchangeable: Option<TypedFunc<(), (Vec<Vec<u32>>,)>>,
    pub rename_message: Option<TypedFunc<RenameParams, (Vec<u8>,)>>,
    pub rename_local: Option<TypedFunc<RenameParams, (Vec<u8>,)>>,
    pub duration: Option<TypedFunc<(LocalEventIn,), (Option<SpanOut>,)>>,
    pub request: Option<TypedFunc<(u64, RequestIn), (RequestResult,)>>,
    pub neighbours: Option<TypedFunc<(), (Option<Vec<u32>>,)>>,
}

/// The functions of a specification from outside.
pub(crate) struct SpecFunctions {
    pub properties: TypedFunc<(), (Vec<PropertyOut>,)>,
    pub view: TypedFunc<(u32, Text), (Option<Vec<u8>>,)>,
    pub invariant: TypedFunc<(u32, Views), (Result<(), String>,)>,
}

impl Exports for SpecFunctions {
    fn look_up(store: &mut Store<Context>, instance: &Instance, names: &Interfaces) -> Result<Self, StartError> {
        let outside = names.outside.as_deref();
        Ok(Self {
            properties: typed(store, instance, outside, "properties")?,
            view: typed(store, instance, outside, "view")?,
            invariant: typed(store, instance, outside, "invariant")?,
        })
    }
}

impl Exports for Functions {
    fn look_up(store: &mut Store<Context>, instance: &Instance, names: &Interfaces) -> Result<Self, StartError> {
        let node = Some(names.node.as_str());
        let specification = Some(names.specification.as_str());
        Ok(Self {
            init: typed(store, instance, node, "init")?,
            handle_message: typed(store, instance, node, "handle-message")?,
            local_events: typed(store, instance, node, "local-events")?,
            handle_local: typed(store, instance, node, "handle-local")?,
            serialize: typed(store, instance, node, "serialize")?,
            properties: typed(store, instance, specification, "properties")?,
            view: typed(store, instance, specification, "view")?,
            invariant: typed(store, instance, specification, "invariant")?,
            about: optional(store, instance, names.defaults.as_deref(), "about")?,
            persist: optional(store, instance, names.durable.as_deref(), "persist")?,
            handle_transport_error: optional(store, instance, names.transport.as_deref(), "handle-transport-error")?,
            is_done: optional(store, instance, names.completion.as_deref(), "is-done")?,
            describe_state: optional(store, instance, names.describe.as_deref(), "state")?,
            describe_message: optional(store, instance, names.describe.as_deref(), "message")?,
            describe_view: optional(store, instance, names.views.as_deref(), "describe-view")?,
            node_name: optional(store, instance, names.names.as_deref(), "node-name")?,
            is_used: optional(store, instance, names.quorum.as_deref(), "is-used")?,
            role_of: optional(store, instance, names.quorum.as_deref(), "role-of")?,
            handle_quorum: optional(store, instance, names.quorum.as_deref(), "handle-quorum")?,
            interchangeable: optional(store, instance, names.symmetry.as_deref(), "interchangeable")?,
            rename_message: optional(store, instance, names.symmetry.as_deref(), "rename-message")?,
            rename_local: optional(store, instance, names.symmetry.as_deref(), "rename-local")?,
            duration: optional(store, instance, names.timing.as_deref(), "duration")?,
            request: optional(store, instance, names.clients.as_deref(), "accept")?,
            neighbours: optional(store, instance, names.neighbourhood.as_deref(), "neighbours")?,
        })
    }
}

fn optional<P, R>(
    store: &mut Store<Context>,
    instance: &Instance,
    interface: Option<&str>,
    function: &str,
) -> Result<Option<TypedFunc<P, R>>, StartError>
where
    P: ComponentNamedList + Lower,
    R: ComponentNamedList + Lift,
{
    interface.map(|interface| typed(store, instance, Some(interface), function)).transpose()
}

/// Looks a function up, in an interface or outside of them.
pub(crate) fn typed<P, R>(
    store: &mut Store<Context>,
    instance: &Instance,
    interface: Option<&str>,
    function: &str,
) -> Result<TypedFunc<P, R>, StartError>
where
    P: ComponentNamedList + Lower,
    R: ComponentNamedList + Lift,
{
    let wrong = |detail: String| {
        let export = interface.map_or(function.to_owned(), |interface| format!("{interface}#{function}"));
        StartError::WrongType { export, detail }
    };
    let parent = match interface {
        Some(name) => Some(
            instance
                .get_export_index(&mut *store, None, name)
                .ok_or_else(|| wrong("its interface is missing".into()))?,
        ),
        None => None,
    };
    let index = instance
        .get_export_index(&mut *store, parent.as_ref(), function)
        .ok_or_else(|| wrong("it is missing".into()))?;
    instance.get_typed_func(&mut *store, index).map_err(|error| wrong(error.root_cause().to_string()))
}
