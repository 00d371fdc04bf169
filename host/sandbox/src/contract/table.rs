//! The contract as one table: the functions that the host calls, with their types, and those that a component may call.
//!
//! The check of a component, the functions of an instance, and what messages call them are made from it. Its names are compared with
//! `wit/protocol.wit` by a test, and its types with those of each component when it is loaded.
//!
//! A name with a dot is that of the function in messages; what follows the dot is its name in the interface. A new optional interface is
//! a group of rows here, in the order of the document.

/// Gives the table to a macro.
///
/// In `plugin` are the interfaces that a plugin must have, in `optional` those that it may have, and in `spec` those of a specification
/// from outside.
macro_rules! contract {
    ($make:ident) => {
        $make! {
            plugin {
                node: Node {
                    init: "init" (u32, u32, Text, Option<Bytes>) -> Result<Vec<EnvelopeOut>, String>;
                    handle_message: "handle-message" (u32, Bytes) -> Vec<EnvelopeOut>;
                    local_events: "local-events" () -> Vec<LocalEventOut>;
                    handle_local: "handle-local" (LocalEventIn,) -> Vec<EnvelopeOut>;
                    serialize: "serialize" () -> Vec<u8>;
                }
                specification: Specification {
                    properties: "properties" () -> Vec<PropertyOut>;
                    view: "view" (u32,) -> Option<Vec<u8>>;
                    invariant: "invariant" (u32, Views) -> Result<(), String>;
                }
            }
            optional {
                defaults: Defaults {
                    about: "about" () -> About;
                }
                describe: Describe {
                    state: "describe.state" () -> String;
                    message: "describe.message" (Bytes,) -> String;
                }
                views: ViewTexts {
                    describe_view: "views.describe-view" (u32, Bytes) -> String;
                }
                names: Names {
                    node_name: "names.node-name" () -> Option<String>;
                }
                events: Events {
                    describe_local: "events.describe-local" (LocalEventIn,) -> String;
                }
                durable: Durable {
                    persist: "persist" () -> Option<Vec<u8>>;
                }
                quorum: Quorum {
                    is_used: "quorum.is-used" () -> bool;
                    role_of: "quorum.role-of" (u32, Bytes) -> RoleOut;
                    handle_quorum: "handle-quorum" (Text, Arc<Vec<ReceivedIn>>) -> Option<Vec<EnvelopeOut>>;
                }
                symmetry: Symmetry {
                    interchangeable: "symmetry.interchangeable" () -> Vec<Vec<u32>>;
                    rename_message: "symmetry.rename-message" (Bytes, Vec<u32>) -> Vec<u8>;
                    rename_local: "symmetry.rename-local" (Bytes, Vec<u32>) -> Vec<u8>;
                }
                transport: Transport {
                    handle_transport_error: "handle-transport-error" (u32,) -> Vec<EnvelopeOut>;
                }
                completion: Completion {
                    is_done: "is-done" () -> bool;
                }
                timing: Timing {
                    duration: "timing.duration" (LocalEventIn,) -> Option<SpanOut>;
                }
                clients: Clients {
                    accept: "clients.accept" (u64, RequestIn) -> Result<LocalEventOut, ResponseOut>;
                }
                neighbourhood: Neighbourhood {
                    neighbours: "neighbourhood.neighbours" () -> Option<Vec<u32>>;
                }
            }
            spec {
                outside: Outside {
                    properties: "properties" () -> Vec<PropertyOut>;
                    view: "view" (u32, Text) -> Option<Vec<u8>>;
                    invariant: "invariant" (u32, Views) -> Result<(), String>;
                }
            }
        }
    };
}
pub(crate) use contract;

/// The interfaces that a component may import, with their functions; `types` has none.
pub(crate) const IMPORTS: &[(&str, &[&str])] = &[
    ("environment", &["choose", "can-send", "log"]),
    ("odds", &["choose-weighted"]),
    ("live", &["answer", "restart"]),
    ("storage", &["get", "put", "delete", "delete-range", "range"]),
    ("durability", &["sync"]),
    ("types", &[]),
];

/// Whether a function works before `init`, by its name in messages: there is no node, then, whose map it could read.
pub(crate) fn works_before_init(function: &str) -> bool {
    const ALL: [&str; 8] = [
        "properties",
        "invariant",
        "about",
        "describe.message",
        "views.describe-view",
        "events.describe-local",
        "symmetry.rename-message",
        "symmetry.rename-local",
    ];
    ALL.contains(&function)
}

/// The name of a function in its interface, by its name in messages.
pub(crate) fn name_in_interface(function: &'static str) -> &'static str {
    function.rsplit_once('.').map_or(function, |(_, name)| name)
}
