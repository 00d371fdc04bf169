//! The bundled protocols with their states distinguished in each way that the SDK has.
//!
//! No protocol is ported: a folder is made with a copy of its sources. A copy in Rust exports the type of `guest.rs` around the protocol; in
//! a copy in another language, `about` has `memory` instead of `serialized`.
//!
//! | module | what it holds |
//! |---|---|
//! | `copies` | the folders with the copies, and their components |
//! | `search` | the results of a search of a component |
//! | `guest` | the source of the type around a protocol, which is compiled with each copy |
//!
//! `tests/stored/guest.rs` is another such type, for the durable state in the durable map.

mod copies;
mod search;

pub use copies::{component, protocols};
pub use search::{Searched, searched};

/// A way to distinguish states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// In a table.
    pub name: &'static str,
    /// In the name of a folder.
    word: &'static str,
    /// As `guest_sdk::By`; none for the protocol as it is.
    by: Option<&'static str>,
    /// Whether the allocator is that of `guest_sdk::arena!`.
    has_arena: bool,
    /// The source of the type around the protocol, what its constant is in place of, and its name.
    around: [&'static str; 3],
}

const IDENTITY: [&str; 3] = [include_str!("guest.rs"), "= BY;", "Distinguished"];
const STORED: [&str; 3] = [include_str!("../stored/guest.rs"), "= WHOLE;", "Stored"];

/// The protocol as it is, with which the other ways are compared.
pub const SERIALIZE: Way = Way { name: "`serialize`", word: "serialize", by: None, has_arena: false, around: IDENTITY };

/// The memory, with the allocator of a library's wrapper.
const MEMORY_WITH_ARENA: Way = Way {
    name: "`By::Memory`, `arena!`",
    word: "memory-arena",
    by: Some("By::Memory"),
    has_arena: true,
    around: IDENTITY,
};

/// The memory, with the allocator of the language.
const MEMORY: Way =
    Way { name: "`By::Memory`", word: "memory", by: Some("By::Memory"), has_arena: false, around: IDENTITY };

/// The history.
pub const HISTORY: Way =
    Way { name: "`By::History`", word: "history", by: Some("By::History"), has_arena: false, around: IDENTITY };

/// The durable state in the durable map, and the states in memory.
pub const IN_MAP: Way =
    Way { name: "the durable map", word: "map", by: Some("false"), has_arena: false, around: STORED };

/// All of the state in the durable map.
pub const ALL_IN_MAP: Way =
    Way { name: "the durable map alone", word: "map-alone", by: Some("true"), has_arena: false, around: STORED };

/// All ways of a protocol in Rust.
pub const WAYS: [Way; 6] = [
    SERIALIZE,
    Way {
        name: "`By::Debug`",
        word: "debug",
        by: Some("By::Debug { without: &[] }"),
        has_arena: false,
        around: IDENTITY,
    },
    Way { name: "`By::Digest`", word: "digest", by: Some("By::Digest"), has_arena: false, around: IDENTITY },
    MEMORY_WITH_ARENA,
    MEMORY,
    HISTORY,
];

/// Both ways of a protocol in another language.
pub const WAYS_ELSEWHERE: [Way; 2] = [SERIALIZE, MEMORY];
