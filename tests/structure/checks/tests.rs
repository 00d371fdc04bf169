//! Each check finds what it is for.

use super::*;

#[test]
fn a_feature_that_is_turned_on_is_found() {
    let off = "[features]\n# \"canary\" is for tests.\ncanary = []\n[dependencies]\nhost-search.workspace = true\n";
    assert!(!turns_on("canary", off));
    let on = [
        "host-search = { workspace = true, features = [\"canary\"] }",
        "default = [\"host-search/canary\"]",
        "default = [\"canary\"]",
    ];
    for line in on {
        assert!(turns_on("canary", &format!("{off}{line}\n")), "{line}");
    }
}

fn package(name: &str, folder: &str, dependencies: &[&str]) -> Package {
    let dependencies = dependencies.iter().map(|name| (*name).to_owned()).collect();
    Package { name: name.into(), folder: folder.into(), dependencies, ..Package::default() }
}

const RULES: &[Rule] = &[Rule { package: "low", on: &[] }, Rule { package: "high", on: &["low"] }];

#[test]
fn an_edge_against_the_rules_is_found() {
    let edges =
        |low: &[&str], high: &[&str]| wrong_edges(&[package("low", "l", low), package("high", "h", high)], RULES);
    assert_eq!(edges(&["serde"], &["low"]), [""; 0]);
    assert_eq!(edges(&["high"], &["low"]), ["low must not depend on high"]);
    assert_eq!(edges(&[], &[]), ["high does not depend on low, as the rule says"]);
    assert_eq!(wrong_edges(&[package("new", "n", &[])], RULES), ["new has no rule: say what it may depend on"]);
}

#[test]
fn a_plugin_that_uses_the_host_is_found() {
    let packages = [package("low", "l", &[]), package("guest-sdk", "s", &[]), package("p", "plugins/p", &["low"])];
    let rules = [Rule { package: "low", on: &[] }, Rule { package: "guest-sdk", on: &[] }];
    let findings = ["p must not depend on low", "p does not depend on guest-sdk, as the rule says"];
    assert_eq!(wrong_edges(&packages, &rules), findings);
}

#[test]
fn a_user_of_a_crate_or_its_part_is_found() {
    let users = |dependency| users_of("wasmtime", &[package("p", "p", &[dependency])], &["q"]);
    assert_eq!(users("wasmtime"), ["p must not depend on wasmtime"]);
    assert_eq!(users("wasmtime-environ"), ["p must not depend on wasmtime"]);
    assert_eq!(users("wasmparser"), [""; 0]);
    assert_eq!(users_of("wasmtime", &[package("q", "q", &["wasmtime"])], &["q"]), [""; 0]);
}

#[test]
fn an_impure_dependency_is_found() {
    let packages = [package("p", "p", &["serde", "rand"]), package("q", "q", &["rand"])];
    assert_eq!(beyond(&packages, &["p"], &["serde"]), ["p is pure and must not depend on rand"]);
}

#[test]
fn effects_are_found_in_paths_and_imports() {
    assert_eq!(effects("let t = std::time::Instant::now();"), ["time"]);
    assert_eq!(effects("use std::{collections::BTreeMap, fs::{self, File}, sync};"), ["fs"]);
    assert_eq!(effects("use std::fs;\nuse std::thread::spawn;"), ["fs", "thread"]);
    assert_eq!(effects("// std::fs\nuse std::sync::Arc;\nuse std::timeless::X; use std::{fmt, sync}; fs"), [""; 0]);
}

#[test]
fn tests_that_depend_on_speed_are_found() {
    let found = |source| judges_time("a.rs", source).len();
    for source in [
        "assert!(begun.elapsed() < Duration::from_secs(5), \"slow\");",
        "assert!(\n    begun.elapsed() < LIMIT,\n);",
        "const LIMIT: Duration = Duration::from_secs(2); fn f() { assert!(begun.elapsed() < LIMIT); }",
        "thread::sleep(Duration::from_secs(2));",
        "std::thread::sleep(std::time::Duration::from_millis(1_500));",
        "ended.recv_timeout(Duration::from_secs(5)).expect(\"it ends\");",
        "TcpStream::connect_timeout(&at, Duration::from_secs(1))",
        "const PATIENCE: Duration = Duration::from_secs(12); fn f() { stream.set_read_timeout(Some(PATIENCE))?; }",
        "desk.types(\"timeout 9 host live up c.toml\");",
    ] {
        assert_eq!(found(source), 1, "{source}");
    }
    for source in [
        "assert!(begun.elapsed() < Duration::from_secs(60), \"it does not start\");",
        "const LIMIT: Duration = Duration::from_secs(30); fn f() { assert!(begun.elapsed() < LIMIT); }",
        "assert!(begun.elapsed() >= Duration::from_secs(1));",
        "assert!(is_there); while begun.elapsed() < Duration::from_millis(3_500) {}",
        "thread::sleep(Duration::from_millis(20));",
        "// thread::sleep(Duration::from_secs(2));",
        "ended.recv_timeout(Duration::from_secs(60)).expect(\"it ends\");",
        "const PATIENCE: Duration = Duration::from_secs(60); fn f() { stream.set_read_timeout(Some(PATIENCE))?; }",
        "while !is_there() { stream.set_read_timeout(Some(Duration::from_millis(20)))?; }",
        "desk.types(&format!(\"timeout 300 host live node c.toml {limit}\"));",
    ] {
        assert_eq!(found(source), 0, "{source}");
    }
}

#[test]
fn tests_at_the_end_of_a_source_are_found() {
    let tests = |opening: &str| format!("fn f() {{}}\n\n#[cfg(test)]\n{opening} tests {{\n    fn g() {{}}\n}}\n");
    for opening in ["mod", "pub(crate) mod"] {
        assert!(own_tests(&tests(opening)).starts_with("#[cfg(test)]"), "{opening}");
    }
    assert_eq!(own_tests("fn f() {}\n\n#[cfg(test)]\nmod tests;\n"), "");
}

#[test]
fn the_keyword_is_found_in_code_only() {
    let keyword = concat!("un", "safe");
    assert!(has_unsafe(&format!("    {keyword} {{ f() }}")));
    assert!(has_unsafe(&format!("let x = {keyword}{{ f() }};")));
    assert!(!has_unsafe(&format!("#![forbid({keyword}_code)]\n// {keyword}\n/// {keyword}")));
}

#[test]
fn a_long_file_is_found() {
    assert_eq!(too_long("a.rs", "1\n2\n", 2), None);
    assert!(too_long("a.rs", "1\n2\n3\n", 2).is_some_and(|finding| finding.contains("3 lines")));
}

#[test]
fn a_term_that_is_defined_twice_is_found_and_one_too_many() {
    let table = |term: &str| format!("| term | meaning |\n|---|---|\n| {term} | A |\n\n");
    let glossary = |last: &str| format!("## One\n\n{}{}## Two\n\n{}", table("a"), table("b"), table(last));
    let findings = |last: &str, one: usize, two: usize| wrong_glossary(&glossary(last), &[("One", one), ("Two", two)]);
    assert_eq!(findings("c", 2, 1), [""; 0]);
    assert_eq!(findings("a", 2, 1), ["the glossary defines `a` twice"]);
    assert_eq!(findings("c", 1, 1), ["the glossary has 2 terms from `One` on, not 1 to 1"]);
    assert_eq!(findings("c", 2, 0), ["the glossary has 1 terms from `Two` on, not 1 to 0"]);
    let lost = wrong_glossary(&glossary("c"), &[("Two", 1), ("Three", 1)]);
    assert_eq!(lost.len(), 3, "two terms before the first part, and a part without terms: {lost:?}");
}

#[test]
fn an_example_that_runs_and_asserts_is_one() {
    assert!(has_example("//! # C\n//! ```\n//! assert_eq!(1, 1);\n//! ```\n"));
    assert!(!has_example("//! ```\n//! f();\n//! ```\n//! assert_eq!(1, 1);\n"));
    assert!(!has_example("//! ```ignore\n//! assert_eq!(1, 1);\n//! ```\n"));
    assert!(!has_example("/// ```\n/// assert_eq!(1, 1);\n/// ```\n"));
}

#[test]
fn a_picture_without_a_crate_or_an_arrow_is_found() {
    let document = "# t\n\n```text\n host (x)\n host-a --> host-b <-- host-c\n```\n\n```text\nhost-d\n```\n";
    let wrong = |crates: &[&str], edges: &[(&str, &str)]| wrong_picture(picture(document), crates, edges);
    let (crates, edges) = (["host", "host-a", "host-b", "host-c"], [("host-a", "host-b"), ("host-c", "host-b")]);
    assert_eq!(wrong(&crates, &edges), [""; 0]);
    assert_eq!(wrong(&crates[..3], &edges), ["the picture has host-c, which is no crate"]);
    assert_eq!(wrong(&[&crates[..], &["host-d"]].concat(), &edges), ["the picture lacks host-d"]);
    assert_eq!(wrong(&crates, &edges[..1]), ["the picture has host-c depend on host-b, which it does not"]);
    let more = [&edges[..], &[("host-b", "host-c")]].concat();
    assert_eq!(wrong(&crates, &more), ["the picture lacks the arrow from host-b to host-c"]);
    assert_eq!(picture("no drawing"), "");
}

#[test]
fn compiled_wasm_is_known_by_its_head() {
    assert!(is_wasm(b"\0asm\x0d\0\x01\0"));
    assert!(!is_wasm(b"(module)"));
}

#[test]
fn a_part_that_a_plugin_lacks_is_named() {
    assert_eq!(missing_parts("plugins/p", &["/README.md", "/src/lib.rs"], true), [""; 0]);
    assert_eq!(missing_parts("plugins/p", &["/src/main.rs"], false).len(), 3);
}

#[test]
fn a_command_that_a_readme_lacks_is_named() {
    let readme = "# p\n\nOne. Two.\n\nhost build plugins/p\nhost run plugins/p --set bug=b\n";
    assert_eq!(missing_commands("plugins/p", readme), ["plugins/p: no `host run plugins/p\n`"]);
    assert_eq!(first_sentence(readme), "One.");
}

#[test]
fn rows_that_differ_are_found() {
    let document = "# t\n\n## A\n\ntext\n\n| x | y |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\n## B\n\n| 5 | 6 |\n";
    let rows = |rows: &[&str]| wrong_rows(document, "A", &rows.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>());
    assert_eq!(rows(&["| 3 | 4 |", "| 1 | 2 |"]), [""; 0]);
    assert_eq!(rows(&["| 1 | 2 |"]), ["out of date under `## A`: | 3 | 4 |"]);
    assert_eq!(rows(&["| 1 | 2 |", "| 3 | 4 |", "| 5 | 6 |"]), ["no such row under `## A`: | 5 | 6 |"]);
    assert_eq!(wrong_rows(document, "C", &["| 1 | 2 |".to_owned()]).len(), 1);
}

#[test]
fn a_row_without_its_test_is_found() {
    let document = "## R\n\n| x | t |\n|---|---|\n| 1 | `one` |\n| 2 | `two` |\n";
    let sources = ["#[test]\nfn one() {}\n// fn two() {}\n".to_owned()];
    assert_eq!(rows_without_tests(document, "R", &sources), ["no such test: | 2 | `two` |"]);
    assert_eq!(rows_without_tests(document, "S", &sources).len(), 1);
}

#[test]
fn a_module_without_its_row_is_found_and_a_row_without_its_module() {
    let findings = |rows: &str, others: &[&str]| {
        let table = format!("//! X.\n//!\n//! | module | holds |\n//! |---|---|\n{rows}\nmod a;\n");
        let others = others.iter().map(|path| ((*path).to_owned(), String::new()));
        wrong_module_tables(&[("x/src/lib.rs".to_owned(), table)].into_iter().chain(others).collect::<Vec<_>>())
    };
    let row = "//! | `a` | A, not `b` |\n";
    assert_eq!(findings(row, &["x/src/a.rs", "x/src/main.rs", "x/tests/b.rs"]), [""; 0]);
    assert_eq!(findings(row, &["x/src/a/mod.rs"]), [""; 0]);
    let unlisted = "is in no table of modules: add the row `//! | `b` | what it holds |` at the top of";
    assert_eq!(findings(row, &["x/src/a.rs", "x/src/b.rs"]), [format!("x/src/b.rs {unlisted} x/src/lib.rs")]);
    let inside = ["x/src/a.rs", "x/src/a/b.rs"];
    assert_eq!(findings(row, &inside), [format!("x/src/a/b.rs {unlisted} x/src/a.rs")]);
    assert_eq!(findings(row, &[]), ["x/src/lib.rs lists the module `a`, which has no file"]);
    assert_eq!(findings("", &["x/src/a.rs"]).len(), 1);
}

#[test]
fn a_link_to_nothing_is_found() {
    let files = ["a/b.md".to_owned(), "c/d.rs".to_owned()];
    let links = |document: &str| dead_links("a/b.md", document, &files, |_| "# One: `two`, three\n".to_owned());
    assert_eq!(links("# x\n[d](../c/d.rs) [c](../c) [x](#x) [w](https://x.org) [b](b.md#one-two-three)"), [""; 0]);
    assert_eq!(links("[e](c/d.rs)"), ["a/b.md links to c/d.rs, which is not there"]);
    assert_eq!(links("[x](#x)"), ["a/b.md links to #x, which is no heading of it"]);
    assert_eq!(links("[b](b.md#four)"), ["a/b.md links to b.md#four, and a/b.md has no such heading"]);
}

#[test]
fn a_strategy_that_is_silent_on_something_is_found() {
    let source = "/// S.\n///\n/// Guarantee: g. Complete: c.\n/// Explores: e.\npub fn run(search: &Search<'_>) {}\n";
    let docs = strategy_docs(source);
    assert_eq!(docs.len(), 1);
    let silent = missing_words("s.rs", &docs[0]);
    assert_eq!(silent.len(), 2, "{silent:?}");
    assert!(silent[0].contains("honours") && silent[1].contains("source"));
}

#[test]
fn an_optional_interface_is_found_where_it_is_named() {
    let table = "contract {\n                /// Words.\n                views: Views,\n                quorum: Quorums,\n            }";
    let [views, quorum] = &optional_interfaces(table)[..] else { panic!("two rows") };
    assert_eq!((&*views.name, &*quorum.aspect), ("views", "Quorums"));
    let named = [
        "impl<W: Wrap> Views for Wrapped<W> {",
        "pub trait Views {",
        "AspectName::Views => None",
        "    views: Texts {",
    ];
    assert!(named.iter().all(|source| views.is_named(source) && !quorum.is_named(source)));
    assert!(!views.is_named("let views: Vec<u8> = machine.views();"));
}
