//! Reasons why a file cannot be loaded.

use host_model::contract::{Fault, MachineError, Stopped};

/// Why a file cannot be loaded: the cause, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// Compiling was stopped.
    #[error("{0}")]
    Stopped(#[from] Stopped),
    /// No bytes at all.
    #[error("the file is empty; build the plugin again with `host build`")]
    Empty,
    /// Bytes that are text.
    #[error("the file is text, not webassembly: it starts with {start:?}; build it into a component with `host build`")]
    Text {
        /// Its beginning.
        start: String,
    },
    /// Bytes that are something else.
    #[error("the file is not webassembly: it does not start with the bytes `\\0asm`")]
    NotWasm,
    /// The file ends too early.
    #[error("the file is cut off after {bytes} bytes ({detail}); copy or build it again")]
    Truncated {
        /// Its length.
        bytes: usize,
        /// The message of the parser.
        detail: String,
    },
    /// Larger than the limit.
    #[error("the component has {bytes} bytes, more than the limit of {limit}; `--limit component=N` allows more")]
    TooLarge {
        /// Its length.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The whole memory is to tell states apart, and the dead part of it is not known.
    #[error(
        "it wants its memory as the identity of states, and {why}; or have `about` say that `serialize` tells states apart"
    )]
    MemoryIdentity {
        /// Why not; a phrase.
        why: String,
    },
    /// A core module.
    #[error("the file is a core module, not a component; build it into a component with `host build`")]
    CoreModule,
    /// Not a valid component, or one that uses features which this host leaves out.
    #[error("the component is not valid here: {detail}")]
    Invalid {
        /// The message of the validator.
        detail: String,
    },
    /// An import that this host does not offer.
    #[error("the component imports `{name}`, which this host does not offer; {remedy}")]
    Import {
        /// The import.
        name: String,
        /// The remedy.
        remedy: String,
    },
    /// Another version of the contract.
    #[error(
        "the component is built for `{found}`, this host speaks `{supported}`; build it against the contract of this host"
    )]
    Version {
        /// The interface it has.
        found: String,
        /// The interface it should have.
        supported: String,
    },
    /// Neither plugin nor specification: required interfaces or functions are missing.
    #[error("the component does not export {}; it must implement the world `host:protocol/{world}`", list(.names))]
    MissingExports {
        /// The missing names.
        names: Vec<String>,
        /// The world of what it was to be.
        world: &'static str,
    },
    /// A specification from outside in place of a plugin.
    #[error(
        "the component is a spec, which states properties of plugins; name a plugin, and give this one to `--spec`"
    )]
    IsSpec,
    /// A plugin in place of a specification from outside.
    #[error(
        "the component is a plugin, and no spec: it does not export `host:protocol/outside@0.1.0`; give a spec to `--spec`"
    )]
    IsPlugin,
    /// An export of the right name and the wrong type.
    #[error("the export `{export}` has another type than the contract says: {detail}")]
    WrongType {
        /// The export.
        export: String,
        /// The difference.
        detail: String,
    },
    /// A feature of WebAssembly that is refused.
    #[error("the component uses {name}{place}, which no plugin may, since {why}; build it without: {without}")]
    Feature {
        /// The feature.
        name: &'static str,
        /// Where, in parentheses behind a space; empty if it is not known.
        place: String,
        /// The reason.
        why: &'static str,
        /// The way to build without it.
        without: &'static str,
    },
    /// State that snapshots cannot hold.
    #[error("the component cannot be captured in snapshots: {what}; {remedy}")]
    Uncapturable {
        /// Which state.
        what: String,
        /// The remedy.
        remedy: String,
    },
    /// It traps, diverges or takes too much while it is instantiated.
    #[error("the component fails while it starts: {fault}")]
    Start {
        /// Its fault.
        fault: Fault,
    },
    /// More core instances than the limit.
    #[error(
        "the component has {count} core instances, more than the limit of {limit}; `--limit instances=N` allows more"
    )]
    TooManyInstances {
        /// The number of them.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// This machine cannot run it: nothing is wrong with the file.
    #[error("this machine {detail}; free some memory or address space, and start again")]
    Host {
        /// The resource that the operating system did not provide.
        detail: String,
    },
    /// Checking and compiling takes too long. The attempt continues in a detached thread.
    #[error(
        "the component is not compiled within {seconds} s of processor time; `--limit compile-time=N` allows more{}",
        if *kept { ", and what is compiled by now stays in the cache" } else { "" }
    )]
    CompileTime {
        /// The limit, in seconds of processor time of the threads that compile.
        seconds: u64,
        /// Whether there are functions in the cache that the next attempt does not compile again.
        kept: bool,
    },
    /// Checking and compiling takes too much memory. The attempt continues in a detached thread.
    #[error("the component takes more than {bytes} bytes of memory to compile; `--limit compile-memory=N` allows more")]
    CompileMemory {
        /// The limit.
        bytes: usize,
    },
    /// The compiler has a mistake that this component brings out. It stays in memory as it was.
    #[error("the compiler fails on the component, by a mistake of its own: {detail}")]
    CompilerPanic {
        /// Its message, and the place.
        detail: String,
    },
    /// The host's own trouble.
    #[error("cannot compile the component: {detail}")]
    Compile {
        /// The message of the compiler.
        detail: String,
    },
}

impl LoadError {
    pub(crate) fn invalid(error: impl std::fmt::Display) -> Self {
        Self::Invalid { detail: error.to_string() }
    }

    pub(crate) fn uncapturable(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Uncapturable { what: what.into(), remedy: remedy.into() }
    }
}

fn list(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// The error of a machine that could not provide something, such as memory.
pub(crate) fn host_error(trouble: &str) -> MachineError {
    MachineError::Host(format!("this machine {trouble}; free some memory or address space, and start again"))
}
