//! Templates of new folders: in each language the sources of the register, which the tests build, run and compare, and those of
//! a minimal protocol.

/// A language for new protocols.
#[derive(Debug)]
pub struct Template {
    /// The word for `host new`.
    pub name: &'static str,
    /// Other words for it.
    pub aliases: &'static [&'static str],
    /// The language, for people.
    pub title: &'static str,
    /// The register.
    pub register: Sources,
    /// The protocol with one message, one field and one property.
    pub bare: Sources,
    /// The rows on the SDK in the README.
    pub sdk: &'static [(&'static str, &'static str)],
    /// Whether names of files have underscores instead of hyphens, because they are identifiers.
    pub underscores: bool,
    /// Names that this language cannot use, separated by spaces, and their owner.
    pub taken: (&'static str, &'static str),
    /// The command for unit tests, if the folder has tests other than the scenarios.
    pub unit_tests: Option<&'static str>,
    /// The tools needed to build it.
    pub needs: &'static str,
}

/// A protocol in one language. In all texts here, `{file}` stands for the file name of the protocol.
#[derive(Debug)]
pub struct Sources {
    /// A name that is replaced everywhere; empty if the files do not contain it.
    pub original: &'static str,
    /// The folder in `plugins` that has the files; empty if none has.
    pub folder: &'static str,
    /// Other words to replace; `{length}` stands for the length of the name in bytes.
    pub replaced: &'static [(&'static str, &'static str)],
    /// Paths in the folder and contents.
    pub files: &'static [(&'static str, &'static str)],
    /// Paths in a new folder, if they differ.
    pub renamed: &'static [(&'static str, &'static str)],
    /// The parts of a new folder, for the README.
    pub parts: &'static [(&'static str, &'static str)],
}

macro_rules! files {
    ($folder:literal: $($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../../plugins/", $folder, "/", $path)))),+]
    };
}

macro_rules! bare {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../../templates/bare/", $path)))),+]
    };
}

/// The scenarios of the register, the same in every language.
pub const SCENARIOS: &[(&str, &str)] = files!["register": "scenarios/one-read.toml", "scenarios/no-write-back.toml"];

/// The scenarios of the protocol with one message.
pub const BARE_SCENARIOS: &[(&str, &str)] = bare!["scenarios/three-nodes.toml", "scenarios/twice.toml"];

/// All languages.
pub const TEMPLATES: &[Template] = &[
    Template {
        name: "rust",
        aliases: &["rs"],
        title: "Rust",
        register: Sources {
            original: "",
            folder: "register",
            replaced: &[(
                " The same protocol is in\n//! `plugins/register-*` in other languages, with the same bytes for states and messages.",
                "",
            )],
            files: files!["register": "src/lib.rs"],
            renamed: &[],
            parts: &[("src/lib.rs", "the protocol and unit tests")],
        },
        bare: Sources {
            original: "",
            folder: "",
            replaced: &[],
            files: bare!["lib.rs"],
            renamed: &[("lib.rs", "src/lib.rs")],
            parts: &[("src/lib.rs", "the protocol and a unit test")],
        },
        sdk: &[("guest-sdk/", "the SDK")],
        underscores: false,
        taken: ("serde", "the package uses a crate of that name"),
        unit_tests: Some("cargo test"),
        needs: "Rust with rustup, or Debian's rustc-web",
    },
    Template {
        name: "c",
        aliases: &[],
        title: "C",
        register: Sources {
            original: "register-c",
            folder: "register-c",
            replaced: &[],
            files: files!["register-c": "register.c", "tests/json_test.c"],
            renamed: &[("register.c", "{file}.c")],
            parts: &[("{file}.c", "the protocol"), ("tests/", "unit tests")],
        },
        bare: Sources {
            original: "bare-protocol",
            folder: "",
            replaced: &[],
            files: &[
                ("protocol.c", include_str!("../../../templates/bare/protocol.c")),
                ("tests/json_test.c", include_str!("../../../../../plugins/register-c/tests/json_test.c")),
            ],
            renamed: &[("protocol.c", "{file}.c")],
            parts: &[("{file}.c", "the protocol"), ("tests/", "unit tests")],
        },
        sdk: &[
            ("json.h", "canonical JSON"),
            ("ready_made.h", "properties of many protocols"),
            ("storage.h", "the durable map"),
        ],
        underscores: false,
        taken: ("", ""),
        unit_tests: Some("cc -I. tests/json_test.c -o json_test && ./json_test"),
        needs: "clang with wasi-libc, or a WASI SDK, or zig",
    },
    Template {
        name: "cpp",
        aliases: &["c++", "cxx"],
        title: "C++",
        register: Sources {
            original: "register-cpp",
            folder: "register-cpp",
            replaced: &[],
            files: files!["register-cpp": "register.cpp", "tests/json_test.cpp"],
            renamed: &[("register.cpp", "{file}.cpp")],
            parts: &[("{file}.cpp", "the protocol"), ("tests/", "unit tests")],
        },
        bare: Sources {
            original: "bare-protocol",
            folder: "",
            replaced: &[],
            files: &[
                ("protocol.cpp", include_str!("../../../templates/bare/protocol.cpp")),
                ("tests/json_test.cpp", include_str!("../../../../../plugins/register-cpp/tests/json_test.cpp")),
            ],
            renamed: &[("protocol.cpp", "{file}.cpp")],
            parts: &[("{file}.cpp", "the protocol"), ("tests/", "unit tests")],
        },
        sdk: &[("host.hpp", "types for the contract, and `HOST_PLUGIN`"), ("json.hpp", "canonical JSON")],
        underscores: false,
        taken: ("", ""),
        unit_tests: Some("c++ -std=c++20 -I. tests/json_test.cpp -o json_test && ./json_test"),
        needs: "clang with libc++ for WebAssembly, or a WASI SDK, or zig",
    },
    Template {
        name: "zig",
        aliases: &[],
        title: "Zig",
        register: Sources {
            original: "register-zig",
            folder: "register-zig",
            replaced: &[("\"register.zig\"", "\"{file}.zig\"")],
            files: files!["register-zig": "src/main.zig", "src/register.zig"],
            renamed: &[("src/register.zig", "src/{file}.zig")],
            parts: &[
                ("src/{file}.zig", "the protocol and unit tests"),
                ("src/main.zig", "which protocol the plugin is"),
            ],
        },
        bare: Sources {
            original: "bare-protocol",
            folder: "",
            replaced: &[("\"protocol.zig\"", "\"{file}.zig\"")],
            files: bare!["main.zig", "protocol.zig"],
            renamed: &[("main.zig", "src/main.zig"), ("protocol.zig", "src/{file}.zig")],
            parts: &[
                ("src/{file}.zig", "the protocol and a unit test"),
                ("src/main.zig", "which protocol the plugin is"),
            ],
        },
        sdk: &[("src/host.zig", "types for the contract, and the canonical ABI")],
        underscores: true,
        taken: ("", ""),
        unit_tests: Some("zig test src/{file}.zig"),
        needs: "zig 0.16, which comes from PyPI if it is not there",
    },
    Template {
        name: "go",
        aliases: &["golang"],
        title: "Go",
        register: Sources {
            original: "register-go",
            folder: "register-go",
            replaced: &[],
            files: files!["register-go": "go.mod", "main.go", "register.go", "register_test.go"],
            renamed: &[("register.go", "{file}.go"), ("register_test.go", "{file}_test.go")],
            parts: &[
                ("{file}.go", "the protocol"),
                ("{file}_test.go", "unit tests"),
                ("main.go", "which protocol the plugin is"),
            ],
        },
        bare: Sources {
            original: "bare-protocol",
            folder: "",
            replaced: &[],
            files: bare!["go.mod", "protocol.go", "protocol_test.go"],
            renamed: &[("protocol.go", "{file}.go"), ("protocol_test.go", "{file}_test.go")],
            parts: &[("{file}.go", "the protocol"), ("{file}_test.go", "a unit test")],
        },
        sdk: &[(
            "host/",
            "the SDK: types for the contract, canonical JSON and ABI, parameters, timers, a clock, histories of clients, durations and \
             answers, the durable map",
        )],
        underscores: false,
        taken: (GO_PACKAGES, "Go's standard library has a package of that name"),
        unit_tests: Some("go test ./..."),
        needs: "go 1.24 or later, which comes from PyPI if it is not there",
    },
    Template {
        name: "assemblyscript",
        aliases: &["as"],
        title: "AssemblyScript",
        register: Sources {
            original: "register-assemblyscript",
            folder: "register-assemblyscript",
            replaced: &[
                ("\"./register\"", "\"./{file}\""),
                ("/assembly/register\"", "/assembly/{file}\""),
                ("tests/register.ts", "tests/{file}.ts"),
            ],
            files: files![
                "register-assemblyscript": "package.json", "assembly/tsconfig.json", "assembly/index.ts",
                "assembly/register.ts", "tests/register.ts", "tests/run.mjs"
            ],
            renamed: &[("assembly/register.ts", "assembly/{file}.ts"), ("tests/register.ts", "tests/{file}.ts")],
            parts: &[
                ("assembly/{file}.ts", "the protocol"),
                ("assembly/index.ts", "what the host calls"),
                ("tests/", "unit tests"),
            ],
        },
        bare: Sources {
            original: "bare-protocol",
            folder: "",
            replaced: &[("\"./register\"", "\"./{file}\""), ("tests/register.ts", "tests/{file}.ts")],
            files: &[
                ("package.json", include_str!("../../../templates/bare/assemblyscript/package.json")),
                ("protocol.ts", include_str!("../../../templates/bare/assemblyscript/protocol.ts")),
                ("protocol_test.ts", include_str!("../../../templates/bare/assemblyscript/protocol_test.ts")),
                ("assembly/index.ts", include_str!("../../../../../plugins/register-assemblyscript/assembly/index.ts")),
                (
                    "assembly/tsconfig.json",
                    include_str!("../../../../../plugins/register-assemblyscript/assembly/tsconfig.json"),
                ),
                ("tests/run.mjs", include_str!("../../../../../plugins/register-assemblyscript/tests/run.mjs")),
            ],
            renamed: &[("protocol.ts", "assembly/{file}.ts"), ("protocol_test.ts", "tests/{file}.ts")],
            parts: &[
                ("assembly/{file}.ts", "the protocol"),
                ("assembly/index.ts", "what the host calls"),
                ("tests/", "a unit test"),
            ],
        },
        sdk: &[
            ("assembly/abi.ts", "types for the contract, and the canonical ABI"),
            ("assembly/json.ts", "canonical JSON"),
        ],
        underscores: false,
        taken: ("abi index json", "another file has that name"),
        unit_tests: Some("npm install && npm test"),
        needs: "Node.js; the compiler comes from npm",
    },
    Template {
        name: "typescript",
        aliases: &["ts", "javascript", "js"],
        title: "TypeScript",
        register: Sources {
            original: "register-typescript",
            folder: "register-typescript",
            replaced: &[
                ("\"./register\"", "\"./{file}\""),
                ("/src/register\"", "/src/{file}\""),
                ("register.ts", "{file}.ts"),
            ],
            files: files![
                "register-typescript": "package.json", "tsconfig.json", "src/index.ts", "src/register.ts",
                "test/register.test.ts"
            ],
            renamed: &[("src/register.ts", "src/{file}.ts"), ("test/register.test.ts", "test/{file}.test.ts")],
            parts: &[
                ("src/{file}.ts", "the protocol"),
                ("src/index.ts", "the plugin: what the host calls"),
                ("test/", "unit tests"),
            ],
        },
        bare: Sources {
            original: "bare-protocol",
            folder: "",
            replaced: &[],
            files: &[
                ("package.json", include_str!("../../../templates/bare/package.json")),
                ("tsconfig.json", include_str!("../../../../../plugins/register-typescript/tsconfig.json")),
                ("protocol.ts", include_str!("../../../templates/bare/protocol.ts")),
                ("protocol.test.ts", include_str!("../../../templates/bare/protocol.test.ts")),
            ],
            renamed: &[("protocol.ts", "src/{file}.ts"), ("protocol.test.ts", "test/{file}.test.ts")],
            parts: &[("src/{file}.ts", "the protocol"), ("test/", "a unit test")],
        },
        sdk: &[(
            "src/host/",
            "the SDK: types for the contract, canonical JSON, parameters, timers, a clock, histories of clients, durations and answers, \
             the durable map",
        )],
        underscores: false,
        taken: ("index", "another file has that name"),
        unit_tests: Some("npm install && npm test"),
        needs: "Node.js; esbuild and componentize-qjs come from npm",
    },
    Template {
        name: "python",
        aliases: &["py"],
        title: "Python",
        register: Sources {
            original: "register-python",
            folder: "register-python",
            replaced: &[
                ("`componentize-py -d ../../wit -w protocol bindings .`", "`componentize-py bindings`"),
                ("from register import", "from {file} import"),
                ("register.py", "{file}.py"),
            ],
            files: files!["register-python": "app.py", "register.py", "tests/test_register.py"],
            renamed: &[("register.py", "{file}.py"), ("tests/test_register.py", "tests/test_{file}.py")],
            parts: &[
                ("{file}.py", "the protocol, plain Python"),
                ("app.py", "the plugin: what the host calls"),
                ("tests/", "unit tests"),
            ],
        },
        bare: Sources {
            original: "bare-protocol",
            folder: "",
            replaced: &[("from bare_protocol import", "from {file} import")],
            files: bare!["app.py", "protocol.py", "test_protocol.py"],
            renamed: &[("protocol.py", "{file}.py"), ("test_protocol.py", "tests/test_{file}.py")],
            parts: &[
                ("{file}.py", "the protocol, plain Python"),
                ("app.py", "the plugin: what the host calls"),
                ("tests/", "a unit test"),
            ],
        },
        sdk: &[(
            "host/",
            "the SDK: canonical JSON, parameters, timers, a clock, histories of clients, durations and answers, the durable map",
        )],
        underscores: true,
        taken: (PYTHON_MODULES, "Python has a module of that name, which the file would hide"),
        unit_tests: Some("python3 -m unittest discover tests"),
        needs: "Python 3; componentize-py comes from PyPI",
    },
    Template {
        name: "text",
        aliases: &["wat", "wasm"],
        title: "WebAssembly text",
        register: Sources {
            original: "register-text",
            folder: "register-text",
            replaced: &[("(i32.const 13) (; register-text ;)", "(i32.const {length}) (; register-text ;)")],
            files: files!["register-text": "register.wat"],
            renamed: &[("register.wat", "{file}.wat")],
            parts: &[("{file}.wat", "the protocol")],
        },
        bare: Sources {
            original: "bare-protocol",
            folder: "",
            replaced: &[("(i32.const 13) (; bare-protocol ;)", "(i32.const {length}) (; bare-protocol ;)")],
            files: bare!["protocol.wat"],
            renamed: &[("protocol.wat", "{file}.wat")],
            parts: &[("{file}.wat", "the protocol")],
        },
        sdk: &[],
        underscores: false,
        taken: ("", ""),
        unit_tests: None,
        needs: "nothing",
    },
];

/// Packages of Go 1.27: `go list std | grep -v /`.
const GO_PACKAGES: &str = "archive arena bufio builtin bytes cmp compress container context crypto database debug embed \
    encoding errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin reflect regexp \
    runtime simd slices sort strconv strings structs sync syscall testing text time unicode unique vendor weak";

/// Modules of Python 3.11 to 3.14, `sys.stdlib_module_names`, and the plugin's own.
const PYTHON_MODULES: &str = "abc aifc annotationlib antigravity app argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb \
    binascii bisect builtins bz2 calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys \
    compileall compression concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes curses \
    dataclasses datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno \
    faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc genericpath getopt getpass gettext \
    glob graphlib grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io ipaddress \
    itertools json keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap \
    modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode operator \
    optparse os ossaudiodev pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath \
    pprint profile pstats pty pwd pyclbr pydoc pyexpat queue quopri random re readline reprlib resource \
    rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket \
    socketserver spwd sqlite3 ssl stat statistics string stringprep struct subprocess sunau symtable sys sysconfig \
    syslog tabnanny tarfile telnetlib tempfile termios tests textwrap this threading time timeit tkinter token \
    tokenize tomllib trace traceback tracemalloc tty turtle turtledemo types typing unicodedata unittest urllib uu \
    uuid venv warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport \
    zlib zoneinfo";
