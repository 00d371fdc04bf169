//! Templates of new folders: the sources of the register in each language, which the tests build, run and compare.

/// A protocol in one language.
#[derive(Debug)]
pub struct Template {
    /// The word for `host new`.
    pub name: &'static str,
    /// Other words for it.
    pub aliases: &'static [&'static str],
    /// The language, for people.
    pub title: &'static str,
    /// The folder in `plugins`, a name that is replaced wherever it stands; empty if the files do not name it.
    pub original: &'static str,
    /// Words that are replaced besides; `{length}` stands for the bytes of the name.
    pub replaced: &'static [(&'static str, &'static str)],
    /// Paths and contents.
    pub files: &'static [(&'static str, &'static str)],
    /// The parts of the folder, for the README.
    pub parts: &'static [(&'static str, &'static str)],
    /// The command for unit tests, if there are any besides the scenarios.
    pub unit_tests: Option<&'static str>,
    /// The tools needed to build it.
    pub needs: &'static str,
}

macro_rules! files {
    ($folder:literal: $($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../../plugins/", $folder, "/", $path)))),+]
    };
}

/// The scenarios of the register, the same in every language.
pub const SCENARIOS: &[(&str, &str)] = files!["register": "scenarios/one-read.toml", "scenarios/no-write-back.toml"];

/// All languages.
pub const TEMPLATES: &[Template] = &[
    Template {
        name: "rust",
        aliases: &["rs"],
        title: "Rust",
        original: "",
        replaced: &[(
            " The same protocol is in\n//! `plugins/register-*` in other languages, with the same bytes for states and messages.",
            "",
        )],
        files: files!["register": "src/lib.rs"],
        parts: &[
            ("src/lib.rs", "the protocol and unit tests"),
            ("guest-sdk/", "the SDK of the `host` that made this folder"),
        ],
        unit_tests: Some("cargo test"),
        needs: "Rust with rustup, or Debian's rustc-web",
    },
    Template {
        name: "c",
        aliases: &[],
        title: "C",
        original: "register-c",
        replaced: &[],
        files: files!["register-c": "register.c", "json.h", "tests/json_test.c"],
        parts: &[("register.c", "the protocol"), ("json.h", "canonical JSON"), ("tests/", "unit tests")],
        unit_tests: Some("cc -I. tests/json_test.c -o json_test && ./json_test"),
        needs: "clang with wasi-libc, or a WASI SDK, or zig",
    },
    Template {
        name: "cpp",
        aliases: &["c++", "cxx"],
        title: "C++",
        original: "register-cpp",
        replaced: &[],
        files: files!["register-cpp": "register.cpp", "host.hpp", "json.hpp", "tests/json_test.cpp"],
        parts: &[
            ("register.cpp", "the protocol"),
            ("host.hpp", "types for the contract, and `HOST_PLUGIN`"),
            ("json.hpp", "canonical JSON"),
            ("tests/", "unit tests"),
        ],
        unit_tests: Some("c++ -std=c++20 -I. tests/json_test.cpp -o json_test && ./json_test"),
        needs: "clang with libc++ for WebAssembly, or a WASI SDK, or zig",
    },
    Template {
        name: "zig",
        aliases: &[],
        title: "Zig",
        original: "register-zig",
        replaced: &[],
        files: files!["register-zig": "src/main.zig", "src/register.zig", "src/host.zig"],
        parts: &[
            ("src/register.zig", "the protocol and unit tests"),
            ("src/main.zig", "which protocol the plugin is"),
            ("src/host.zig", "types for the contract, and the canonical ABI"),
        ],
        unit_tests: Some("zig test src/register.zig"),
        needs: "zig 0.16, which comes from PyPI if it is not there",
    },
    Template {
        name: "go",
        aliases: &["golang"],
        title: "Go",
        original: "register-go",
        replaced: &[],
        files: files![
            "register-go": "go.mod", "main.go", "register.go", "register_test.go", "host/host.go", "host/abi.go", "host/export.go",
            "host/parameters.go", "host/timers.go", "host/clock.go", "host/linearizability.go", "host/objects.go"
        ],
        parts: &[
            ("register.go", "the protocol"),
            ("register_test.go", "unit tests"),
            ("main.go", "which protocol the plugin is"),
            (
                "host/",
                "the SDK: types for the contract, canonical JSON and ABI, parameters, timers, a clock, histories of clients",
            ),
        ],
        unit_tests: Some("go test ./..."),
        needs: "go 1.24 or later, which comes from PyPI if it is not there",
    },
    Template {
        name: "assemblyscript",
        aliases: &["as"],
        title: "AssemblyScript",
        original: "register-assemblyscript",
        replaced: &[],
        files: files![
            "register-assemblyscript": "package.json", "assembly/tsconfig.json", "assembly/index.ts", "assembly/register.ts",
            "assembly/abi.ts", "assembly/json.ts", "tests/register.ts", "tests/run.mjs"
        ],
        parts: &[
            ("assembly/register.ts", "the protocol"),
            ("assembly/index.ts", "what the host calls"),
            ("assembly/abi.ts", "types for the contract, and the canonical ABI"),
            ("assembly/json.ts", "canonical JSON"),
            ("tests/", "unit tests"),
        ],
        unit_tests: Some("npm install && npm test"),
        needs: "Node.js; the compiler comes from npm",
    },
    Template {
        name: "typescript",
        aliases: &["ts", "javascript", "js"],
        title: "TypeScript",
        original: "register-typescript",
        replaced: &[],
        files: files![
            "register-typescript": "package.json", "tsconfig.json", "src/index.ts", "src/register.ts",
            "src/host/plugin.d.ts", "src/host/json.ts", "src/host/parameters.ts", "src/host/timers.ts", "src/host/clock.ts",
            "src/host/linearizability.ts", "test/register.test.ts"
        ],
        parts: &[
            ("src/register.ts", "the protocol"),
            ("src/index.ts", "the plugin: what the host calls"),
            (
                "src/host/",
                "the SDK: types for the contract, canonical JSON, parameters, timers, a clock, histories of clients",
            ),
            ("test/", "unit tests"),
        ],
        unit_tests: Some("npm install && npm test"),
        needs: "Node.js; esbuild and componentize-qjs come from npm",
    },
    Template {
        name: "python",
        aliases: &["py"],
        title: "Python",
        original: "register-python",
        replaced: &[("`componentize-py -d ../../wit -w protocol bindings .`", "`componentize-py bindings`")],
        files: files!["register-python": "app.py", "register.py", "host/__init__.py", "host/encoding.py", "host/parameters.py", "host/timers.py",
            "host/clock.py", "host/linearizability.py", "tests/test_register.py"],
        parts: &[
            ("register.py", "the protocol, plain Python"),
            ("app.py", "the plugin: what the host calls"),
            ("host/", "the SDK: canonical JSON, parameters, timers, a clock, histories of clients"),
            ("tests/", "unit tests"),
        ],
        unit_tests: Some("python3 -m unittest discover tests"),
        needs: "Python 3; componentize-py comes from PyPI",
    },
    Template {
        name: "text",
        aliases: &["wat", "wasm"],
        title: "WebAssembly text",
        original: "register-text",
        replaced: &[("(i32.const 13) (; register-text ;)", "(i32.const {length}) (; register-text ;)")],
        files: files!["register-text": "register.wat"],
        parts: &[("register.wat", "the protocol")],
        unit_tests: None,
        needs: "nothing",
    },
];
