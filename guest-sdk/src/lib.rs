//! Write a distributed protocol in Rust; check it with `host`.
//!
//! A protocol is a type that implements [`Protocol`]: what its nodes know ([`Protocol::State`]), what they tell
//! each other ([`Protocol::Message`]), what can happen to a node by itself ([`Protocol::Local`]), and what must
//! hold ([`Protocol::properties`]). [`export!`] makes it a plugin; [`test::Cluster`] runs it natively,
//! so that unit tests need no WebAssembly.
//!
//! ```
//! use guest_sdk::{About, Context, Never, NodeId, ParameterError, Parameters, Properties, Protocol};
//! use serde::{Deserialize, Serialize};
//!
//! /// Every node greets every node once.
//! struct Greeting;
//!
//! #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
//! struct Hello;
//!
//! /// How many greetings arrived.
//! #[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
//! struct Heard(u32);
//!
//! impl Protocol for Greeting {
//!     const ABOUT: About = guest_sdk::about!().nodes(2);
//!     type State = Heard;
//!     type Message = Hello;
//!     type Local = Never;
//!     type Durable = Never;
//!
//!     fn configure(_: &mut Parameters) -> Result<Self, ParameterError> {
//!         Ok(Greeting)
//!     }
//!
//!     fn init(&self, ctx: &mut Context<Hello>, _: Option<Never>) -> Heard {
//!         ctx.broadcast(Hello);
//!         Heard::default()
//!     }
//!
//!     fn handle_message(&self, _: &mut Context<Hello>, state: &mut Heard, _from: NodeId, _: Hello) {
//!         state.0 += 1;
//!     }
//!
//!     fn properties(claims: &mut Properties<Self>) {
//!         claims.always("heard-no-more-than-sent").node(
//!             |_, state| Some(state.0),
//!             |heard| if *heard <= 2 { Ok(()) } else { Err(format!("{heard} greetings of 2 nodes")) },
//!         );
//!     }
//! }
//!
//! guest_sdk::export!(Greeting);
//!
//! let mut cluster = guest_sdk::test::Cluster::<Greeting>::new(2, &[])?;
//! assert_eq!(cluster.in_flight().len(), 4);
//! // Each of the four messages is delivered or not, and the property holds in all global states.
//! let explored = cluster.explore(1_000);
//! assert_eq!((explored.global_states, explored.broken), (16, None));
//! // One of three nodes hears more, and the shortest way to the violation has three events.
//! let explored = guest_sdk::test::Cluster::<Greeting>::new(3, &[])?.explore(1_000);
//! assert_eq!(explored.depth, 3);
//! assert!(explored.broken.is_some_and(|why| why.contains("3 greetings of 2 nodes")));
//! // A single execution:
//! cluster.settle();
//! assert_eq!(cluster.state(1), &Heard(2));
//! # Ok::<(), ParameterError>(())
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `protocol` | the trait `Protocol` |
//! | `randomness` | what libraries get that ask the system for randomness |
//! | `renaming` | new names for nodes |
//! | `role` | how a node receives a message: alone, later, or in a quorum |
//! | `context` | effects of a handler: `send`, `choose`, `log` |
//! | `client` | requests of clients of a running node, and answers to them |
//! | `timers` | timers as a part of the state |
//! | `clock` | time by comparisons of clock readings |
//! | `layers` | a protocol over a transport that is another protocol |
//! | `mistakes` | mistakes on purpose, by name |
//! | `linearizability` | histories of clients |
//! | `property` | properties over typed views |
//! | `storage` | the durable map, as typed tables |
//! | `tasks` | nodes that are asynchronous programs |
//! | `ready_made` | properties of many protocols, a disk, and budgets of local events |
//! | `specification` | properties from outside |
//! | `parameters` | parameters, declared and read in one place |
//! | `about` | name, version, number of nodes |
//! | `content` | what the checker needs of a state and of a message |
//! | `codec` | the encodings: postcard and canonical JSON |
//! | `format` | what a protocol reads and writes in its own encoding, without the code of any other |
//! | `opaque` | the state of a library, and the ways to tell such states apart |
//! | `arena` | an allocator whose free memory is zero |
//! | `encoded_list` | lists in views that are compared more often than read |
//! | `canonical` | the types with a canonical encoding, and the reason why `HashMap` has none |
//! | `configured_node` | a configured protocol that knows its node, as the exports need it |
//! | `wasm` | from the generated bindings to the trait |
//! | `test` | a native cluster for unit tests |

mod about;
mod arena;
mod canonical;
mod client;
mod clock;
mod codec;
mod configured_node;
mod content;
mod context;
mod encoded_list;
mod format;
mod layers;
pub mod linearizability;
mod mistakes;
mod opaque;
mod parameters;
mod property;
mod protocol;
mod randomness;
pub mod ready_made;
mod renaming;
mod role;
mod specification;
pub mod storage;
pub mod tasks;
mod timers;

#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub mod wasm;

#[cfg(not(target_arch = "wasm32"))]
pub mod test;

pub use about::{About, Network};
pub use arena::Arena;
pub use canonical::{Canonical, Never};
pub use client::{Request, Response};
pub use clock::Clock;
pub use codec::Encoding;
pub use content::{BySerde, NodeState, Payload};
pub use context::{Context, LocalEvent, LocalEvents, LocalKind};
pub use encoded_list::EncodedList;
pub use layers::{Layered, Layers, Transport, Upcall};
pub use mistakes::{Mistake, Mistakes};
pub use opaque::{By, Digest, Distinguish, Opaque};
pub use parameters::{Parameter, ParameterError, Parameters};
pub use property::{Claim, Properties, Property, PropertyKind, PropertyScope};
pub use protocol::Protocol;
pub use randomness::Randomness;
pub use renaming::Renaming;
pub use role::{Place, Role};
pub use specification::{Claims, Outside, Specification};
pub use timers::{TimedTimers, Timers};

/// A node of the cluster: 0 up to, not including, the cluster size.
pub type NodeId = u32;

/// Makes a [`Protocol`] the plugin that this crate builds to. Once a crate; does nothing in a native build.
#[macro_export]
macro_rules! export {
    ($protocol:ty) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            ::std::thread_local! {
                static NODE: ::std::cell::RefCell<::std::option::Option<$crate::wasm::Node<$protocol>>> =
                    const { ::std::cell::RefCell::new(::std::option::Option::None) };
            }

            struct Plugin;

            impl $crate::wasm::Plugin for Plugin {
                type Protocol = $protocol;

                fn with<R>(
                    run: impl ::std::ops::FnOnce(&mut ::std::option::Option<$crate::wasm::Node<$protocol>>) -> R,
                ) -> R {
                    NODE.with_borrow_mut(run)
                }
            }

    $crate::wasm::export_plugin!(Plugin with_types_in $crate::wasm::bindings);
        };
    };
}

/// Makes a [`Specification`] the component that this crate builds to, for `host run --spec`. Once a crate; does nothing in a native build.
#[macro_export]
macro_rules! export_spec {
    ($specification:ty) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            struct Spec;

            impl $crate::wasm::spec::Spec for Spec {
                type Specification = $specification;
            }

    $crate::wasm::spec::export_spec!(Spec with_types_in $crate::wasm::spec::bindings);
        };
    };
}
