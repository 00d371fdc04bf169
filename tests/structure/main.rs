//! What ARCHITECTURE.md, CONTRIBUTING.md and README.md promise about the tree itself.
//!
//! The tests apply the checks to the tree. A failure names the offender and what to do about it. Tables that repeat what only the
//! sandbox or the command line knows are compared in `tests/documents.rs`, so that this package compiles without wasmtime.
//!
//! | module | what it holds |
//! |---|---|
//! | `habits` | how long files and functions are, what becomes rarer, and what tests must not do |

mod habits;

use std::collections::BTreeSet;
use std::path::Path;

use host_search::strategy::{STRATEGIES, Strategy};
use host_structure::changelog;
use host_structure::checks::{self, Rule};
use host_structure::imports::Crate;
use host_structure::none;
use host_structure::prose::{self, Names};
use host_structure::tree::{self, Package, files, packages, read, read_optional};

/// The workspace packages that a package may depend on. A plugin is anything in `plugins/`.
const EDGES: &[Rule] = &[
    Rule { package: "host-model", on: &[] },
    Rule { package: "host-search", on: &["host-model"] },
    Rule { package: "host-inspect", on: &["host-model", "host-search"] },
    Rule { package: "host-live", on: &["host-model", "host-search"] },
    Rule { package: "host-live-net", on: &["host-live", "host-model"] },
    Rule { package: "host-sandbox", on: &["host-model"] },
    Rule { package: "host-build", on: &[] },
    Rule { package: "host-linearizable", on: &[] },
    Rule { package: "host-follow", on: &["host-model"] },
    Rule { package: "host-refine", on: &["host-model"] },
    Rule {
        package: "host-session",
        on: &[
            "host-build",
            "host-follow",
            "host-inspect",
            "host-live",
            "host-model",
            "host-refine",
            "host-sandbox",
            "host-search",
        ],
    },
    Rule { package: "host-explore", on: &["host-inspect", "host-model", "host-session"] },
    Rule { package: "host-swarm", on: &["host-model"] },
    Rule {
        package: "host",
        on: &[
            "host-build",
            "host-explore",
            "host-follow",
            "host-inspect",
            "host-linearizable",
            "host-live",
            "host-live-net",
            "host-model",
            "host-refine",
            "host-sandbox",
            "host-search",
            "host-session",
            "host-swarm",
        ],
    },
    Rule { package: "guest-sdk", on: &[] },
    // A tree over a transport that is another protocol.
    Rule { package: "rand-tree", on: &["guest-sdk", "mace-transport"] },
    Rule {
        package: "host-agreement",
        on: &["host-follow", "host-inspect", "host-live", "host-model", "host-refine", "host-search"],
    },
    Rule {
        package: "host-tests",
        on: &[
            "guest-sdk",
            "host",
            "host-agreement",
            "host-build",
            "host-explore",
            "host-linearizable",
            "host-live",
            "host-live-net",
            "host-model",
            "host-sandbox",
            "host-search",
            "host-session",
            "host-structure",
        ],
    },
    Rule { package: "host-structure", on: &["host-search"] },
];

/// The packages without effects, and what they may use besides each other.
const PURE: [&str; 6] = ["host-model", "host-search", "host-follow", "host-refine", "host-inspect", "host-live"];
const PURE_USES: &[&str] = &[
    "blake3",
    "host-model",
    "host-search",
    "itf",
    "lz4_flex",
    "postcard",
    "rand_chacha",
    "rayon",
    "rpds",
    "regex-lite",
    "rustc-hash",
    "serde",
    "serde_bytes",
    "serde_json",
    "sha2",
    "tempfile",
    "thiserror",
];

/// Where `unsafe` may stand.
const UNSAFE: &[&str] = &[
    "guest-sdk/src/arena.rs",
    "guest-sdk/src/arena/tests.rs",
    "guest-sdk/src/tasks/waker.rs",
    "guest-sdk/src/wasm/bindings.rs",
    "guest-sdk/src/wasm/getrandom.rs",
    "guest-sdk/src/wasm/spec/bindings.rs",
    "host/sandbox/src/cache.rs",
    "host/sandbox/src/store/memory.rs",
    "host/sandbox/src/state/snapshot.rs",
];

/// Documents that newcomers read first, and how many lines they may have.
const SHORT_DOCUMENTS: &[(&str, usize)] = &[("README.md", 200), ("ARCHITECTURE.md", 300)];

/// Lines of a version in CHANGELOG.md.
const VERSION_LINES_MAX: usize = 60;

/// The parts of the glossary by their first headings, and how many terms each may have.
const GLOSSARY: &[(&str, usize)] = &[("The system", 60), ("Liveness", 40)];

fn sources() -> impl Iterator<Item = (String, String)> {
    files().into_iter().filter(|path| path.ends_with(".rs")).map(|path| (path.clone(), read(&path)))
}

#[test]
fn dependencies_point_one_way() {
    none(checks::wrong_edges(&packages(), EDGES));
}

#[test]
fn only_the_sandbox_names_wasmtime() {
    none(checks::users_of("wasmtime", &packages(), &["host-sandbox"]));
}

/// Crates that parse options, read keys or catch signals.
const TERMINALS: [&str; 7] = ["clap", "console", "crossterm", "nix", "rustyline", "signal-hook", "termion"];

/// A specification can be run by a command line, an explorer in a browser, or a service.
#[test]
fn a_session_knows_no_option_parser_and_no_terminal() {
    let packages = packages();
    let session: Vec<Package> = packages.into_iter().filter(|package| package.name == "host-session").collect();
    assert_eq!(session.len(), 1, "the crate is there");
    none(TERMINALS.iter().flat_map(|name| checks::users_of(name, &session, &[])).collect::<Vec<_>>());
    let session = sources().filter(|(path, _)| path.starts_with("host/session/src"));
    let terminals = session.filter(|(_, source)| source.contains("IsTerminal") || source.contains("io::stdout"));
    none(terminals.map(|(path, _)| format!("{path} knows a terminal; that belongs to host/cli")).collect::<Vec<_>>());
}

/// A canary is a mistake made on purpose, so that a test can show that it would be noticed.
#[test]
fn no_canary_is_in_what_users_run() {
    let hosts = packages().into_iter().filter(|package| package.folder.starts_with("host/"));
    let on = hosts.filter(|package| checks::turns_on("canary", &read(&format!("{}/Cargo.toml", package.folder))));
    none(on.map(|package| format!("{} turns on `canary`, which only tests may", package.folder)));
}

/// They are compared with in `tests/peers`, a workspace of its own.
#[test]
fn no_package_depends_on_another_model_checker() {
    let packages = packages();
    assert!(packages.iter().all(|package| !package.folder.starts_with("tests/peers")), "tests/peers is no member");
    none(["stateright", "traceforge"].into_iter().flat_map(|peer| checks::users_of(peer, &packages, &[])));
}

#[test]
fn the_pure_packages_use_pure_packages() {
    none(checks::beyond(&packages(), &PURE, PURE_USES));
}

#[test]
fn the_pure_packages_have_no_effects() {
    let folders = ["host/model/src", "host/search/src", "host/inspect/src"];
    let pure = sources().filter(|(path, _)| folders.iter().any(|folder| path.starts_with(folder)));
    let findings = pure.flat_map(|(path, source)| {
        let words = checks::effects(&source).into_iter();
        words.map(move |word| format!("{path} uses std::{word}; clocks, files and threads belong to host/session"))
    });
    none(findings.collect::<Vec<_>>());
}

#[test]
fn unsafe_code_is_where_it_is_said_to_be() {
    let found: BTreeSet<String> =
        sources().filter(|(_, source)| checks::has_unsafe(source)).map(|(path, _)| path).collect();
    let allowed: BTreeSet<String> = UNSAFE.iter().map(|path| (*path).to_owned()).collect();
    assert_eq!(found, allowed, "the list in this file and ARCHITECTURE.md say where it may be");
}

#[test]
fn imports_point_one_way() {
    let sources: Vec<(String, String)> = sources().collect();
    let folders = packages().into_iter().map(|package| format!("{}/src", package.folder));
    let crates: Vec<Crate> = folders.map(|folder| Crate::new(&folder, &sources)).collect();
    none(crates.iter().flat_map(|one| [one.circles_of_files(), one.circles_of_rooms()].concat()));
}

#[test]
fn documents_have_one_sentence_per_line() {
    let files = files();
    let documents = files.iter().filter(|path| path.ends_with(".md"));
    none(documents.flat_map(|path| prose::wrong_lines(path, &read(path))).collect::<Vec<_>>());
}

/// The diffs were compiled and run when they were written down.
#[test]
fn diffs_in_documents_fit_the_tree() {
    let files = files();
    let documents = files.iter().filter(|path| path.ends_with(".md"));
    let in_tree = |name: &str| files.iter().any(|file| file == name).then(|| read(name));
    none(documents.flat_map(|path| prose::stale_diffs(path, &read(path), in_tree)).collect::<Vec<_>>());
}

/// Literals of new files have the fields of the structs of their folder.
#[test]
fn diffs_in_documents_give_structs_all_fields() {
    let sources: Vec<(String, String)> = sources().collect();
    let fields = |file: &str| {
        let folder = &file[..=file.rfind('/').unwrap_or_default()];
        let own = sources.iter().filter(|(path, _)| path.starts_with(folder));
        own.flat_map(|(_, source)| prose::fields_of_structs(source)).collect::<prose::Fields>()
    };
    let known = fields("host/model/src/scenario/faults/new.rs");
    assert!(known.contains_key("FaultDescription") && known.contains_key("Budget"), "the faults are where they were");
    let documents = files().into_iter().filter(|path| path.ends_with(".md"));
    none(documents.flat_map(|path| prose::wrong_literals(&path, &read(&path), fields)).collect::<Vec<_>>());
}

/// The first error that the compiler would report about lines that are no longer compiled.
#[test]
fn diffs_in_documents_use_what_is_there() {
    let sources: Vec<(String, String)> = sources().collect();
    let names = packages().into_iter().map(|package| {
        let folder = format!("{}/", package.folder);
        let own = sources.iter().filter(|(path, _)| path.starts_with(&folder));
        let words = own.flat_map(|(_, source)| prose::words_of_code(source)).collect();
        Names { import: package.name.replace('-', "_"), folder, words }
    });
    // `tests` is around other packages.
    let mut names: Vec<Names> = names.collect();
    names.sort_by_key(|names| std::cmp::Reverse(names.folder.len()));
    let documents = files().into_iter().filter(|path| path.ends_with(".md"));
    none(documents.flat_map(|path| prose::unknown_names(&path, &read(&path), &names)).collect::<Vec<_>>());
}

#[test]
fn the_first_documents_are_short() {
    none(SHORT_DOCUMENTS.iter().filter_map(|(path, lines_max)| checks::too_long(path, &read(path), *lines_max)));
}

#[test]
fn the_changelog_is_short() {
    none(changelog::wrong_versions(&read("CHANGELOG.md"), VERSION_LINES_MAX));
}

#[test]
fn the_glossary_has_one_word_for_each_thing() {
    none(checks::wrong_glossary(&read("docs/glossary.md"), GLOSSARY));
}

#[test]
fn nothing_compiled_is_in_the_tree() {
    let findings = files().into_iter().filter(|path| checks::is_wasm(&tree::head(path)));
    none(findings.map(|path| format!("{path} is compiled Wasm; tests and users build it")));
}

#[test]
fn every_plugin_has_readme_sources_and_tests() {
    let files = files();
    let plugins = packages().into_iter().filter(|package| package.is_plugin());
    none(plugins.flat_map(|package| {
        let own: Vec<&str> = files.iter().filter_map(|path| path.strip_prefix(&package.folder)).collect();
        let has_tests = sources().any(|(path, source)| path.starts_with(&package.folder) && source.contains("#[test]"));
        checks::missing_parts(&package.folder, &own, has_tests)
    }));
}

#[test]
fn every_plugin_in_another_language_says_how_to_use_it() {
    let foreign = tree::foreign_plugins();
    none(foreign.iter().flat_map(|folder| checks::missing_commands(folder, &read(&format!("{folder}/README.md")))));
}

#[test]
fn the_documents_list_the_strategies() {
    let (papers, offered): (Vec<_>, Vec<_>) = STRATEGIES.iter().partition(|strategy| strategy.only_reproduces());
    let rows = |of: Vec<&Strategy>| -> Vec<String> { of.into_iter().map(strategy_row).collect() };
    none(checks::wrong_rows(&read("README.md"), "Strategies", &rows(offered)));
    none(checks::wrong_rows(&read("docs/reproduction.md"), "Strategies of the papers", &rows(papers)));
}

fn strategy_row(strategy: &Strategy) -> String {
    let names = std::iter::once(&strategy.name).chain(strategy.aliases).map(|name| format!("`{name}`"));
    let names = names.collect::<Vec<_>>().join(", ");
    let bounds = strategy.honours.iter().map(|bound| format!("`--{}`", bound.option())).collect::<Vec<_>>().join(", ");
    format!("| {names} | {} | {} | {} | {bounds} |", strategy.summary, strategy.soundness, strategy.completeness)
}

#[test]
fn the_readme_lists_the_plugins() {
    let plugins = packages().into_iter().filter(|package| package.is_plugin());
    let rust = plugins.map(|package| format!("| [{}]({}) | {} |", package.name, package.folder, package.description));
    let foreign = tree::foreign_plugins().into_iter().map(|folder| {
        let summary = checks::first_sentence(&read(&format!("{folder}/README.md")));
        format!("| [{}]({folder}) | {summary} |", folder.trim_start_matches("plugins/"))
    });
    let expected: Vec<String> = rust.chain(foreign).collect();
    none(checks::wrong_rows(&read("README.md"), "Plugins", &expected));
}

/// A reader of a claim of defence must be able to see it fail.
#[test]
fn each_row_of_the_resistance_table_names_a_test() {
    let sources: Vec<String> = sources().map(|(_, source)| source).collect();
    let security = read("docs/security.md");
    none(checks::rows_without_tests(&security, "Resistance", &sources));
}

#[test]
fn ci_ends_with_the_test_command_of_the_readme() {
    let ci = read(".ci/run");
    let last = ci.lines().last().and_then(|line| line.strip_prefix("step ")).expect("the last line is a step");
    let last = last.split(" 2>&1").next().unwrap_or_default();
    // The compiler that lints is the one that compiles, so what is compiled need not be again.
    let last = last.strip_suffix(" \"${lints[@]}\"").unwrap_or(last);
    assert!(read("README.md").lines().any(|line| line == last), "README.md has no line `{last}`");
}

#[test]
fn every_module_has_its_row_in_the_file_that_declares_it() {
    let is_mapped = |path: &str| ["host/", "guest-sdk/", "tests/"].iter().any(|folder| path.starts_with(folder));
    none(checks::wrong_module_tables(&sources().filter(|(path, _)| is_mapped(path)).collect::<Vec<_>>()));
}

#[test]
fn the_architecture_maps_the_crates() {
    let packages = packages();
    let mapped = packages.iter().filter(|package| !package.is_plugin());
    let expected: Vec<String> = mapped.map(|package| crate_row(package, &packages)).collect();
    none(checks::wrong_rows(&read("ARCHITECTURE.md"), "Crates", &expected));
}

/// In host-model the fence depends on the feature `toys`, with which the tests of the workspace are compiled.
#[test]
fn libraries_begin_with_an_example_that_runs() {
    let with_toys =
        "#![cfg_attr(feature = \"toys\", doc = \"```\")]\n#![cfg_attr(not(feature = \"toys\"), doc = \"```ignore\")]\n";
    let roots = ["guest-sdk", "host/live", "host/model", "host/search"].map(|folder| format!("{folder}/src/lib.rs"));
    let without = roots.iter().filter(|path| !checks::has_example(&read(path).replace(with_toys, "//! ```\n")));
    none(without.map(|path| format!("{path} has no example that runs and asserts something")));
}

/// Crates between `host-session` and `host-model` stand on one line, so that arrows between them can be compared.
#[test]
fn the_picture_has_every_crate_of_the_host() {
    let packages = packages();
    let hosts: Vec<&Package> = packages.iter().filter(|package| package.folder.starts_with("host/")).collect();
    let names: Vec<&str> = hosts.iter().map(|package| package.name.as_str()).collect();
    let between: Vec<&str> = names
        .iter()
        .filter(|name| !["host", "host-explore", "host-session", "host-model"].contains(name))
        .copied()
        .collect();
    let edge =
        |from: &&Package, to: &str| between.contains(&&*from.name) && from.dependencies.iter().any(|it| it == to);
    let edges: Vec<(&str, &str)> = between
        .iter()
        .flat_map(|to| hosts.iter().filter(|from| edge(from, to)).map(|from| (from.name.as_str(), *to)))
        .collect();
    assert!(edges.contains(&("host-live-net", "host-live")), "{edges:?}");
    let document = read("ARCHITECTURE.md");
    none(checks::wrong_picture(checks::picture(&document), &names, &edges));
}

#[test]
fn the_architecture_lists_the_rooms_of_the_sandbox() {
    let document = read("ARCHITECTURE.md");
    let line = document.lines().find(|line| line.starts_with("`host-sandbox` has ")).expect("a line lists them");
    let listed: BTreeSet<&str> = line.split('`').skip(3).step_by(2).collect();
    let root = read("host/sandbox/src/lib.rs");
    let declared = root.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    let declared: BTreeSet<&str> = declared.filter(|name| *name != "tests").collect();
    assert_eq!(listed, declared, "ARCHITECTURE.md and host/sandbox/src/lib.rs");
}

fn crate_row(package: &Package, packages: &[Package]) -> String {
    let is_used = |other: &&Package| package.dependencies.contains(&other.name);
    let used: Vec<String> = packages.iter().filter(is_used).map(|other| format!("`{}`", other.name)).collect();
    let used = if used.is_empty() { "none".to_owned() } else { used.join(", ") };
    let Package { folder, name, description, .. } = package;
    format!("| [{folder}]({folder}) | `{name}` | {used} | {} |", description.trim_end_matches('.'))
}

#[test]
fn links_between_documents_lead_somewhere() {
    let files = files();
    let documents = files.iter().filter(|path| path.ends_with(".md"));
    none(documents.flat_map(|path| checks::dead_links(path, &read(path), &files, read)).collect::<Vec<_>>());
}

#[test]
fn every_strategy_says_what_it_guarantees() {
    let docs: Vec<(String, String)> = sources()
        .filter(|(path, _)| path.starts_with("host/search/src"))
        .flat_map(|(path, source)| checks::strategy_docs(&source).into_iter().map(move |doc| (path.clone(), doc)))
        .collect();
    assert_eq!(docs.len(), STRATEGIES.len(), "one entry point `pub fn run…(search: &Search` for each row of the table");
    none(docs.iter().flat_map(|(path, doc)| checks::missing_words(path, doc)).collect::<Vec<_>>());
}

#[test]
fn the_licences_are_there() {
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        assert!(read_optional(name).is_some_and(|text| text.contains("the host authors")), "{name} names the holder");
    }
}

/// It is not built here, so what it repeats is compared.
#[test]
fn the_container_file_fits_the_tree() {
    let (container, manifest, readme) = (read("docs/Containerfile"), read("Cargo.toml"), read("README.md"));
    let value = |key: &str| {
        let line = manifest.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        line.unwrap_or_else(|| panic!("Cargo.toml has no {key}")).to_owned()
    };
    let images = container.lines().filter_map(|line| line.strip_prefix("FROM "));
    let wanted = format!("docker.io/library/rust:{}-slim", value("rust-version").trim_matches('"'));
    none(
        images.filter(|image| image.split(' ').next() != Some(&wanted)).map(|image| format!("{image} is not {wanted}")),
    );
    let copied: Vec<&str> = container
        .lines()
        .filter_map(|line| line.strip_prefix("COPY "))
        .filter(|line| !line.starts_with("--from"))
        .flat_map(|line| line.rsplit_once(' ').expect("sources, and where they go").0.split(' '))
        .collect();
    let files = files();
    let is_there = |path: &&&str| files.iter().any(|file| Path::new(file).starts_with(path));
    none(copied.iter().filter(|path| !is_there(path)).map(|path| format!("there is no {path} to copy")));
    let members = packages().into_iter().map(|package| package.folder);
    let is_copied = |folder: &String| copied.iter().any(|path| Path::new(folder).starts_with(path));
    none(members.filter(|folder| !is_copied(folder)).map(|folder| format!("{folder} is not copied")));
    let install = "cargo install --path host/cli --locked";
    assert!(readme.contains(install) && container.contains(&format!("{install} --profile dist")), "{container}");
    assert!(manifest.contains("[profile.dist]"), "there is no such profile");
    let build = "podman build --file docs/Containerfile --tag host .";
    assert!(readme.contains(build) && container.contains(build), "README.md and its head say how to build it");
}
