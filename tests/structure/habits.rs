//! Habits of the code: how long files and functions are, what becomes rarer, and what tests must not do.

use std::collections::BTreeSet;

use host_structure::mutants::{misplaced, mutants};
use host_structure::ratchet::{self, Habits};
use host_structure::tree::{files, is_generated, read};
use host_structure::{checks, imports, none};

use super::sources;

/// Lines of a file, and of one of the host itself.
const LINES_MAX: usize = 800;
const HOST_LINES_MAX: usize = 500;

const FUNCTION_LINES_MAX: usize = 70;

#[test]
fn files_are_short() {
    let written = sources().filter(|(path, _)| !is_generated(path));
    none(written.filter_map(|(path, source)| checks::too_long(&path, &source, LINES_MAX)));
    let host = sources().filter(|(path, _)| path.starts_with("host/"));
    none(host.filter_map(|(path, source)| checks::too_long(&path, &source, HOST_LINES_MAX)));
}

/// Words of translated prose in documents and in sources, functions that take a tuple apart, and calls of `expect` in code that ships.
const TRANSLATED_IN_DOCUMENTS_MAX: usize = 6;
const TRANSLATED_IN_SOURCES_MAX: usize = 33;
const NOUN_CLAUSES_IN_DOCUMENTS_MAX: usize = 4;
const NOUN_CLAUSES_IN_SOURCES_MAX: usize = 35;
const EXPECTS_MAX: usize = 227;

/// Whether a source is for tests alone.
fn is_test(path: &str) -> bool {
    ["/tests/", "/tests.rs", "/toys/", "/benches/", "/fixtures/"].iter().any(|part| path.contains(part))
}

#[test]
fn bad_habits_become_rarer() {
    let documents: Vec<String> =
        files().into_iter().filter(|path| path.ends_with(".md") && path != "CHANGELOG.md").collect();
    let clauses_of = |path: &String| (path.clone(), ratchet::noun_clauses(&read(path), true));
    let clauses_in_documents: Vec<(String, usize)> = documents.iter().map(clauses_of).collect();
    let documents =
        documents.into_iter().map(|path| (path.clone(), ratchet::translated(&ratchet::without_code(&read(&path)))));
    // The list of the words has all of them.
    let written = sources().filter(|(path, _)| !is_generated(path) && path != "tests/structure/ratchet.rs");
    let written: Vec<(String, String)> = written.collect();
    let in_sources = written.iter().map(|(path, source)| (path.clone(), ratchet::translated(source)));
    let clauses = written.iter().map(|(path, source)| (path.clone(), ratchet::noun_clauses(source, false)));
    let ships = written.iter().filter(|(path, _)| path.starts_with("host/") && !is_test(path));
    let habits: Vec<(String, Habits)> = ships.map(|(path, source)| (path.clone(), ratchet::habits(source))).collect();
    let of = |count: fn(&Habits) -> usize| {
        habits.iter().map(|(path, habits)| (path.clone(), count(habits))).collect::<Vec<_>>()
    };
    let limits = [
        ("words of translated prose in documents", documents.collect(), TRANSLATED_IN_DOCUMENTS_MAX),
        ("words of translated prose in sources", in_sources.collect(), TRANSLATED_IN_SOURCES_MAX),
        ("noun clauses that begin a sentence in documents", clauses_in_documents, NOUN_CLAUSES_IN_DOCUMENTS_MAX),
        ("noun clauses that begin a sentence in sources", clauses.collect(), NOUN_CLAUSES_IN_SOURCES_MAX),
        ("functions with tuples as parameters", of(|habits| habits.tuple_parameters), 0),
        ("calls of `expect` in code that ships", of(|habits| habits.expects), EXPECTS_MAX),
        ("reasons of `expect` that do not say why it cannot fail", of(|habits| habits.short_reasons), 0),
    ];
    none(limits.iter().filter_map(|(what, counts, max)| ratchet::falls(what, counts, *max)));
}

/// Tests that sleep for long, since what they are about is time itself: a certificate ends, and a checker never does.
const SLEEPERS: [&str; 2] = ["host/live-net/src/tests/encrypted.rs", "host/live-net/src/tests/trial.rs"];

/// A machine may be busy with something else: tests wait for what they are about, and count.
#[test]
fn tests_do_not_depend_on_the_speed_of_the_machine() {
    let apart = ["tests/peers/", "tests/benches/", "tests/structure/"];
    let is_test = |path: &str| {
        let is_in_tests = path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs");
        is_in_tests && !apart.iter().any(|folder| path.starts_with(folder))
    };
    let found = sources().map(|(path, source)| {
        let tests = if is_test(&path) { &*source } else { checks::own_tests(&source) };
        let findings = checks::judges_time(&path, tests);
        (path, findings)
    });
    let found: Vec<(String, Vec<String>)> = found.filter(|(_, findings)| !findings.is_empty()).collect();
    let asleep: BTreeSet<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
    assert!(SLEEPERS.iter().all(|path| asleep.contains(path)), "a list that is too long: {asleep:?}");
    none(
        found.iter().filter(|(path, _)| !SLEEPERS.contains(&path.as_str())).flat_map(|(_, findings)| findings.clone()),
    );
}

/// Where a port is opened: `accept.rs` blocks until a connection arrives, and the page of `host explore` has the listener of its server.
const LISTENERS: [&str; 2] = ["host/explore/src/server.rs", "host/live-net/src/accept.rs"];

/// No connection waits until a port is polled.
#[test]
fn ports_are_opened_where_connections_do_not_wait() {
    let ships = sources().filter(|(path, _)| path.starts_with("host/") && !is_test(path));
    let opens = |source: &str| {
        let shipped = &source[..source.len() - checks::own_tests(source).len()];
        ["TcpListener::bind", "UnixListener::bind"].iter().any(|call| shipped.contains(call))
    };
    let found: Vec<String> = ships.filter(|(_, source)| opens(source)).map(|(path, _)| path).collect();
    assert_eq!(found, LISTENERS);
}

/// A test may take what it takes: its length is that of its story.
#[test]
fn functions_are_short() {
    let written =
        sources().filter(|(path, _)| !path.starts_with("tests/") && !path.contains("/tests/") && !is_generated(path));
    none(written.flat_map(|(path, source)| imports::long_functions(&path, &source, FUNCTION_LINES_MAX)));
}

/// Files of the host that name an optional interface of the contract, tests aside: its trait and row, its functions, the machine of a plugin,
/// and machines that answer for others.
const FILES_OF_AN_INTERFACE_MAX: usize = 8;

#[test]
fn an_optional_interface_is_in_few_files() {
    let aspects = checks::optional_interfaces(&read("host/model/src/contract/aspects.rs"));
    assert!(aspects.len() >= 10, "the table of aspects lists the optional interfaces: {aspects:?}");
    let ships: Vec<(String, String)> =
        sources().filter(|(path, _)| path.starts_with("host/") && !is_test(path)).collect();
    none(aspects.iter().filter_map(|aspect| {
        let named: Vec<&str> =
            ships.iter().filter(|(_, source)| aspect.is_named(source)).map(|(path, _)| path.as_str()).collect();
        (named.len() > FILES_OF_AN_INTERFACE_MAX || named.len() < 3).then(|| format!("{aspect:?} is in {named:?}"))
    }));
}

/// All about a fault is in its description: code elsewhere asks for what it has, and a new fault is not forgotten then.
#[test]
fn faults_are_not_matched_by_their_names() {
    let folder = "host/model/src/scenario/faults/";
    let descriptions: Vec<(String, String)> =
        sources().filter(|(path, _)| path.starts_with(folder) && !path.ends_with("/mod.rs")).collect();
    let own = descriptions.iter().map(|(path, _)| path[folder.len()..].trim_end_matches(".rs").to_owned());
    let kinds = descriptions.iter().filter_map(|(_, source)| Some(source.split_once("kind: \"")?.1.split_once('"')?.0));
    let names: Vec<String> = own.chain(kinds.map(str::to_owned)).collect();
    assert!(["resets", "partitions", "reset"].iter().all(|name| names.iter().any(|it| it == name)), "{names:?}");
    let ships = sources().filter(|(path, _)| path.starts_with("host/") && !is_test(path) && !path.starts_with(folder));
    let found = ships.map(|(path, source)| (path, ratchet::matched(&source, &names)));
    let found = found.filter(|(_, matched)| !matched.is_empty());
    none(found.map(|(path, matched)| format!("{path} matches faults by name: {matched:?}")));
}

/// Where a mistake can still be switched on: the feature `canary` turns on what an audit has to find in any language.
const SWITCHES: [&str; 6] = [
    "host/sandbox/src/bare_instance.rs",
    "host/sandbox/src/contract/limits.rs",
    "host/sandbox/src/lib.rs",
    "host/sandbox/src/rewrite/component.rs",
    "host/sandbox/src/run/instance.rs",
    "host/sandbox/src/store/memory.rs",
];

/// Code that ships does the same whether tests were compiled with it or not, and has no switch for a mistake.
#[test]
fn no_mistake_can_be_switched_on() {
    let is_shipped = |path: &str| (path.starts_with("host/") || path.starts_with("guest-sdk/src/")) && !is_test(path);
    let found: Vec<(String, Vec<String>)> = sources()
        .filter(|(path, _)| is_shipped(path))
        .map(|(path, source)| (path, ratchet::switches(&source)))
        .filter(|(_, switches)| !switches.is_empty())
        .collect();
    let outdated = SWITCHES.iter().filter(|path| found.iter().all(|(found, _)| found != *path));
    let outdated = outdated.map(|path| format!("{path} has no switch any more: take it off the list"));
    let new = found.iter().filter(|(path, _)| !SWITCHES.contains(&path.as_str()));
    let new =
        new.map(|(path, switches)| format!("{path} has {switches:?}: make it a row of tests/structure/mutants.rs"));
    none(new.chain(outdated));
}

/// `.ci/run long mutants` makes the mistakes and runs the tests, in minutes.
#[test]
fn each_mutant_has_its_place_and_its_tests() {
    let written: Vec<(String, String)> = sources().collect();
    let source = |path: &str| written.iter().find(|(file, _)| file == path).map_or("", |(_, source)| source);
    none(mutants().flat_map(|mutant| {
        let is_there = |test: &&&str| written.iter().any(|(_, source)| source.contains(&format!("fn {test}()")));
        let unknown = mutant.tests.iter().filter(|test| !is_there(test));
        let unknown = unknown.map(|test| format!("no test has the name {test}"));
        misplaced(mutant, source(mutant.file)).into_iter().chain(unknown).collect::<Vec<_>>()
    }));
}
