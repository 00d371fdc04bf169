//! The plugin side of the contract: bytes in, bytes out, around a typed [`Protocol`].
//!
//! Used by [`export!`](crate::export) only. The state lives in one static of the plugin, hence in linear memory, where
//! the host captures and restores it.
//!
//! | module | what it holds |
//! |---|---|
//! | `bindings` | generated from `wit/` |
//! | `getrandom` | what the crate getrandom calls |
//! | `spec` | the component of a specification from outside |

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::codec::json_string;
use crate::configured_node::{ConfiguredNode, Sent};
use crate::content::json_of;
use crate::context::Environment;
use crate::{
    LocalKind, Network, NodeId, NodeState, Parameters, PropertyKind, PropertyScope, Protocol, Renaming, Request,
    Response, Role, format, property, randomness,
};

#[allow(missing_docs, unsafe_code, unused_qualifications, clippy::all, clippy::pedantic, clippy::restriction, reason = "generated from wit/")]
#[rustfmt::skip]
pub mod bindings;

#[cfg(all(target_os = "unknown", feature = "getrandom"))]
mod getrandom;
pub mod spec;

pub use bindings::__export_plugin as export_plugin;

use bindings::exports::host::protocol::{
    clients, completion, defaults, describe, durable, events, names, neighbourhood, node, quorum, specification,
    symmetry, timing, transport, views,
};
use bindings::host::protocol::{environment, live, odds, types};

/// A node after `init`.
pub struct Node<P: Protocol> {
    configured_node: ConfiguredNode<P>,
    state: P::State,
}

/// Where a plugin keeps its node: none before `init`.
pub trait Plugin {
    /// The protocol of this plugin.
    type Protocol: Protocol;

    /// Runs a function on the node.
    fn with<R>(run: impl FnOnce(&mut Option<Node<Self::Protocol>>) -> R) -> R;
}

/// `choose` and `log` outside of tests.
struct Host;

impl Environment for Host {
    fn choose(&mut self, alternatives: u32) -> u32 {
        environment::choose(alternatives)
    }

    fn can_send(&mut self, to: NodeId, _: usize) -> bool {
        environment::can_send(to)
    }

    fn choose_weighted(&mut self, weights: &[u32]) -> u32 {
        odds::choose_weighted(weights)
    }

    fn log(&mut self, line: &str) {
        environment::log(line);
    }

    fn answer(&mut self, request: u64, response: Response) {
        live::answer(request, &wire(response));
    }

    fn restart(&mut self, name: &str) {
        live::restart(name);
    }
}

impl<P: Plugin> node::Guest for P {
    fn init(me: NodeId, nodes: u32, config: String, durable: Option<Vec<u8>>) -> Result<Vec<types::Envelope>, String> {
        explain_panics();
        randomness::begin(P::Protocol::RANDOMNESS, me, <P::Protocol as Protocol>::State::IS_NOTED);
        let configured_node =
            ConfiguredNode::<P::Protocol>::new(me, nodes, &config).map_err(|error| error.to_string())?;
        let durable = durable.map(|bytes| {
            format::from_bytes::<P::Protocol, _>(&bytes).expect("what a reset left is what `persist` returned")
        });
        let (state, sent) = configured_node.init(&mut Host, durable);
        P::with(|node| *node = Some(Node { configured_node, state }));
        Ok(envelopes::<P::Protocol>(sent))
    }

    fn handle_message(src: NodeId, message: Vec<u8>) -> Vec<types::Envelope> {
        with_node::<P, _>(|Node { configured_node, state }| {
            let message = decode_message::<P>(src, &message);
            envelopes::<P::Protocol>(configured_node.handle_message(&mut Host, state, src, message))
        })
    }

    fn local_events() -> Vec<types::LocalEvent> {
        with_node::<P, _>(|Node { configured_node, state }| {
            configured_node.local_events(state).into_iter().map(local::<P::Protocol>).collect()
        })
    }

    fn handle_local(event: types::LocalEvent) -> Vec<types::Envelope> {
        with_node::<P, _>(|Node { configured_node, state }| {
            let local = decode_local::<P>(&event);
            envelopes::<P::Protocol>(configured_node.handle_local(&mut Host, state, local))
        })
    }

    fn serialize() -> Vec<u8> {
        with_node::<P, _>(|node| format::identity::<P::Protocol>(&node.state))
    }
}

impl<P: Plugin> specification::Guest for P {
    fn properties() -> Vec<types::Property> {
        listed::<P::Protocol>()
    }

    fn view(property: u32) -> Option<Vec<u8>> {
        with_node::<P, _>(|node| property::view(&node.configured_node.protocol, &node.state, property))
    }

    fn invariant(property: u32, views: Vec<Option<Vec<u8>>>) -> Result<(), String> {
        explain_panics();
        property::check::<P::Protocol>(property, &views)
    }
}

impl<P: Plugin> defaults::Guest for P {
    fn about() -> defaults::Plugin {
        explain_panics();
        let about = P::Protocol::ABOUT;
        defaults::Plugin {
            name: about.name.to_owned(),
            version: about.version.to_owned(),
            summary: about.summary.to_owned(),
            nodes: about.nodes,
            network: match about.network {
                Network::Unordered => defaults::Network::Unordered,
                Network::UnorderedDuplicating => defaults::Network::UnorderedDuplicating,
                Network::Ordered => defaults::Network::Ordered,
            },
            identity: match <P::Protocol as Protocol>::State::IS_MEMORY {
                true => defaults::Identity::Memory,
                false => defaults::Identity::Serialized,
            },
            parameters: Parameters::of::<P::Protocol>()
                .into_iter()
                .map(|parameter| defaults::Parameter {
                    name: parameter.name.into_owned(),
                    default_value: parameter.default_value,
                    meaning: parameter.meaning,
                })
                .collect(),
        }
    }
}

impl<P: Plugin> describe::Guest for P {
    fn state() -> String {
        with_node::<P, _>(|node| node.state.shown())
    }

    fn message(message: Vec<u8>) -> String {
        explain_panics();
        match format::from_bytes::<P::Protocol, <P::Protocol as Protocol>::Message>(&message) {
            Some(message) => json_of(&message),
            None => json_string("not a message of this protocol"),
        }
    }
}

impl<P: Plugin> views::Guest for P {
    fn describe_view(property: u32, view: Vec<u8>) -> String {
        explain_panics();
        property::describe::<P::Protocol>(property, &view).unwrap_or_else(|| json_string("not a view of this property"))
    }
}

impl<P: Plugin> names::Guest for P {
    fn node_name() -> Option<String> {
        with_node::<P, _>(|node| node.configured_node.name())
    }
}

impl<P: Plugin> events::Guest for P {
    fn describe_local(event: types::LocalEvent) -> String {
        explain_panics();
        match format::from_bytes::<P::Protocol, <P::Protocol as Protocol>::Local>(&event.payload) {
            Some(event) => json_of(&event),
            None => json_string("not a local event of this protocol"),
        }
    }
}

impl<P: Plugin> durable::Guest for P {
    fn persist() -> Option<Vec<u8>> {
        with_node::<P, _>(|node| {
            node.configured_node
                .protocol
                .persist(&node.state)
                .map(|durable| format::to_bytes::<P::Protocol, _>(&durable))
        })
    }
}

impl<P: Plugin> quorum::Guest for P {
    fn is_used() -> bool {
        with_node::<P, _>(|node| node.configured_node.protocol.takes_quorums())
    }

    fn role_of(src: NodeId, message: Vec<u8>) -> quorum::Role {
        with_node::<P, _>(|node| {
            let message = decode_message::<P>(src, &message);
            match node.configured_node.role(&node.state, src, &message) {
                Role::Alone => quorum::Role::Alone,
                Role::Held => quorum::Role::Held,
                Role::Member { name, size } => quorum::Role::Member(quorum::Kind { name: name.to_owned(), size }),
            }
        })
    }

    fn handle_quorum(name: String, messages: Vec<quorum::Received>) -> Option<Vec<types::Envelope>> {
        with_node::<P, _>(|Node { configured_node, state }| {
            let messages = messages.into_iter();
            let messages =
                messages.map(|received| (received.src, decode_message::<P>(received.src, &received.message)));
            let sent = configured_node.handle_quorum(&mut Host, state, &name, messages.collect());
            sent.map(envelopes::<P::Protocol>)
        })
    }
}

impl<P: Plugin> symmetry::Guest for P {
    fn interchangeable() -> Vec<Vec<NodeId>> {
        with_node::<P, _>(|node| node.configured_node.interchangeable())
    }

    fn rename_message(message: Vec<u8>, renaming: Vec<NodeId>) -> Vec<u8> {
        explain_panics();
        let message = format::from_bytes::<P::Protocol, _>(&message)
            .unwrap_or_else(|| panic!("{message:?} is no message of this protocol"));
        format::to_bytes::<P::Protocol, _>(&P::Protocol::rename_message(message, &Renaming::new(renaming)))
    }

    fn rename_local(payload: Vec<u8>, renaming: Vec<NodeId>) -> Vec<u8> {
        explain_panics();
        let event = format::from_bytes::<P::Protocol, _>(&payload)
            .unwrap_or_else(|| panic!("{payload:?} is no event of this protocol"));
        format::to_bytes::<P::Protocol, _>(&P::Protocol::rename_local(event, &Renaming::new(renaming)))
    }
}

impl<P: Plugin> transport::Guest for P {
    fn handle_transport_error(peer: NodeId) -> Vec<types::Envelope> {
        with_node::<P, _>(|Node { configured_node, state }| {
            envelopes::<P::Protocol>(configured_node.handle_transport_error(&mut Host, state, peer))
        })
    }
}

impl<P: Plugin> completion::Guest for P {
    fn is_done() -> bool {
        with_node::<P, _>(|Node { configured_node, state }| configured_node.protocol.is_done(state))
    }
}

impl<P: Plugin> timing::Guest for P {
    fn duration(event: types::LocalEvent) -> Option<timing::Span> {
        with_node::<P, _>(|Node { configured_node, state }| {
            let duration = configured_node.duration(state, &decode_local::<P>(&event))?;
            let micros = |duration: &Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
            Some(timing::Span { shortest: micros(duration.start()), longest: micros(duration.end()) })
        })
    }
}

impl<P: Plugin> clients::Guest for P {
    fn accept(number: u64, content: types::Request) -> Result<types::LocalEvent, types::Response> {
        with_node::<P, _>(|Node { configured_node, state }| {
            let types::Request { method, path, body } = content;
            let result = configured_node.request(state, number, Request { method, path, body });
            result.map(local::<P::Protocol>).map_err(wire)
        })
    }
}

impl<P: Plugin> neighbourhood::Guest for P {
    fn neighbours() -> Option<Vec<NodeId>> {
        with_node::<P, _>(|Node { configured_node, state }| configured_node.neighbours(state))
    }
}

fn local<P: Protocol>(listed: crate::LocalEvent<P::Local>) -> types::LocalEvent {
    types::LocalEvent {
        name: listed.name.to_owned(),
        kind: match listed.kind {
            LocalKind::Timer => types::LocalKind::Timer,
            LocalKind::Application => types::LocalKind::Application,
            LocalKind::Internal => types::LocalKind::Internal,
        },
        payload: format::to_bytes::<P, _>(&listed.event),
    }
}

fn decode_local<P: Plugin>(event: &types::LocalEvent) -> <P::Protocol as Protocol>::Local {
    format::from_bytes::<P::Protocol, _>(&event.payload)
        .unwrap_or_else(|| panic!("{event:?} is no event of this protocol"))
}

fn wire(Response { status, body, ask }: Response) -> types::Response {
    types::Response { status, body, ask }
}

fn decode_message<P: Plugin>(src: NodeId, message: &[u8]) -> <P::Protocol as Protocol>::Message {
    format::from_bytes::<P::Protocol, _>(message).unwrap_or_else(|| panic!("{message:?} from node {src} is no message"))
}

fn with_node<P: Plugin, R>(run: impl FnOnce(&mut Node<P::Protocol>) -> R) -> R {
    P::with(|node| run(node.as_mut().expect("the node is initialised first")))
}

fn envelopes<P: Protocol>(sent: Sent<P>) -> Vec<types::Envelope> {
    sent.into_iter().map(|(to, message)| types::Envelope { to, message: format::to_bytes::<P, _>(&message) }).collect()
}

/// The properties of a protocol.
fn listed<P: Protocol>() -> Vec<types::Property> {
    explain_panics();
    let convert = |declared: crate::Property| types::Property {
        name: declared.name.to_owned(),
        kind: match declared.kind {
            PropertyKind::Always => types::PropertyKind::Always,
            PropertyKind::Sometimes => types::PropertyKind::Sometimes,
            PropertyKind::Eventually => types::PropertyKind::Eventually,
        },
        scope: match declared.scope {
            PropertyScope::Node => types::PropertyScope::Node,
            PropertyScope::System => types::PropertyScope::System,
        },
    };
    property::list::<P>().into_iter().map(convert).collect()
}

/// Makes a panic log its reason before it traps. For every function that works before `init`.
fn explain_panics() {
    static EXPLAINED: AtomicBool = AtomicBool::new(false);
    if EXPLAINED.swap(true, Ordering::Relaxed) {
        return;
    }
    std::panic::set_hook(Box::new(|panic| {
        let message = panic.payload_as_str().unwrap_or("no message");
        match panic.location() {
            Some(place) => environment::log(&format!("panic: {message} ({}:{})", place.file(), place.line())),
            None => environment::log(&format!("panic: {message}")),
        }
    }));
}
