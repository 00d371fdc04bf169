//! The features of WebAssembly that a component may use, and what to do where it uses another one.

use wasmparser::WasmFeatures;

use crate::contract::error::LoadError;

/// A feature of WebAssembly.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    /// Its name.
    pub name: &'static str,
    /// Why it is refused, and how to build without it; none if it is accepted.
    pub refused: Option<(&'static str, &'static str)>,
    /// Words of the parser where it meets a module that uses it and may not.
    words: &'static [&'static str],
}

/// A feature that the rewriting refuses where it meets it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused {
    name: &'static str,
    why: &'static str,
    without: &'static str,
    words: &'static [&'static str],
}

impl Refused {
    const fn row(self) -> Feature {
        refused(self.name, self.why, self.without, self.words)
    }

    /// The error of a component that uses it, with the place, if that is known.
    pub(crate) fn error_at(self, place: Option<String>) -> LoadError {
        let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
        LoadError::Feature { name: self.name, place, why: self.why, without: self.without }
    }
}

/// The features, the accepted ones first; `wit/README.md` repeats this table.
pub const FEATURES: [Feature; 18] = [
    accepted(
        "WebAssembly 2.0: SIMD, bulk memory, reference types, several results, sign extension, saturating conversions",
    ),
    accepted("relaxed SIMD, with the results that are the same on every machine"),
    accepted("tail calls"),
    accepted("several memories"),
    accepted("constant expressions with arithmetic"),
    refused(
        "exceptions",
        "an exception is kept in no memory",
        "in C++ `-fno-exceptions`, in Rust `panic = \"abort\"`, with Emscripten `-sDISABLE_EXCEPTION_CATCHING=1`",
        &["exceptions"],
    ),
    refused(
        "garbage collection: structs and arrays of the engine",
        "objects of the engine are in no memory",
        "a compiler that keeps objects in linear memory; those of Kotlin, Dart and wasm_of_ocaml do not",
        &["gc", "descriptors"],
    ),
    refused(
        "typed references to functions",
        "a reference to a function is kept in no memory",
        "a compiler that calls by tables, as those of C and Rust do",
        &["function references"],
    ),
    THREADS.row(),
    MEMORY64.row(),
    refused(
        "stack switching",
        "a suspended stack is in no memory",
        "coroutines as state machines, or Asyncify of Binaryen",
        &["stack switching"],
    ),
    refused("wide arithmetic", "the rewriting does not know it", "no `-mwide-arithmetic`", &["wide arithmetic"]),
    PAGES.row(),
    refused("memory control", "the rewriting does not know it", "no `memory.discard`", &["memory control"]),
    LATE_WRITES.row(),
    ASYNCHRONOUS.row(),
    RESOURCES.row(),
    START.row(),
];

pub(crate) const THREADS: Refused = Refused {
    name: "threads: shared memories and atomic instructions",
    why: "a node takes one step at a time",
    without: "no `-pthread`, no `-matomics`, and the target `wasm32-wasi` or `wasm32-wasip1`, not `wasm32-wasi-threads`",
    words: &["threads", "shared"],
};

pub(crate) const MEMORY64: Refused = Refused {
    name: "64-bit memories",
    why: "snapshots hold memories of 32 bits",
    without: "the target `wasm32`, not `wasm64`, no `-sMEMORY64`",
    words: &["memory64"],
};

pub(crate) const PAGES: Refused = Refused {
    name: "custom page sizes",
    why: "memories have pages of 64 KiB",
    without: "no `--page-size` of the linker",
    words: &["custom page sizes"],
};

pub(crate) const LATE_WRITES: Refused = Refused {
    name: "writes to tables and to globals with references, and dropped segments, after the start",
    why: "no memory holds them",
    without: "`table.set` and the like in the start function or `_initialize` alone; without `dlopen`, and with wasm-bindgen without \
     `--reference-types`",
    words: &[],
};

pub(crate) const ASYNCHRONOUS: Refused = Refused {
    name: "asynchronous functions, streams, futures and threads of the component model",
    why: "results would be written later",
    without: "synchronous exports: with componentize-qjs `--sync`",
    words: &["component model async", "component model threading"],
};

pub(crate) const RESOURCES: Refused = Refused {
    name: "resources of the component model that the plugin makes",
    why: "their handles are in no memory",
    without: "numbers, not handles",
    words: &[],
};

pub(crate) const START: Refused = Refused {
    name: "start functions of the component model",
    why: "what is written there is not captured",
    without: "start functions of core modules, or `_initialize`",
    words: &["component model `value`"],
};

const fn accepted(name: &'static str) -> Feature {
    Feature { name, refused: None, words: &[] }
}

const fn refused(
    name: &'static str,
    why: &'static str,
    without: &'static str,
    words: &'static [&'static str],
) -> Feature {
    Feature { name, refused: Some((why, without)), words }
}

/// The proposals that the rewriting knows. Threads, exceptions and garbage collection are left out on purpose.
pub(crate) fn features() -> WasmFeatures {
    WasmFeatures::WASM2
        | WasmFeatures::RELAXED_SIMD
        | WasmFeatures::MULTI_MEMORY
        | WasmFeatures::TAIL_CALL
        | WasmFeatures::EXTENDED_CONST
        | WasmFeatures::COMPONENT_MODEL
}

/// The defect of a component in the words of the table, if the parser found a feature that is refused.
pub(crate) fn refusal(message: &str) -> Option<LoadError> {
    // The parser says so of features, and of nothing else.
    let is_of_feature = ["not enabled", "must be enabled", "is disabled", "without the", "require", "not supported"];
    if !is_of_feature.iter().any(|words| message.contains(words)) {
        return None;
    }
    let feature = FEATURES.iter().find(|feature| feature.words.iter().any(|words| message.contains(words)))?;
    feature.error()
}

impl Feature {
    /// The error of a component that uses this feature; none if it may.
    fn error(&self) -> Option<LoadError> {
        let (why, without) = self.refused?;
        Some(LoadError::Feature { name: self.name, place: String::new(), why, without })
    }
}
