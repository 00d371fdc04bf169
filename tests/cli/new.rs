//! Folders that `host new` makes: they build, run, and give the expected results.

use std::io::Write;

use super::Place;
use crate::languages::all_languages;

/// Makes a folder and builds it, unless its toolchain is missing, which is reported.
fn made(place: &Place, language: &str, options: &[&str]) -> bool {
    new(place, language, options);
    builds(place, language)
}

fn new(place: &Place, language: &str, options: &[&str]) {
    let ran = place.host(&[&["new", language, "my-protocol"], options].concat()).exits(0);
    assert!(ran.out.starts_with("my-protocol: ") && ran.out.contains("host run ."), "{ran:?}");
    assert_eq!(place.list(), ["my-protocol"], "nothing else is left");
    if language == "rust" {
        place.shares_what_is_compiled("my-protocol");
    }
}

fn builds(place: &Place, language: &str) -> bool {
    let mut build = vec!["build", "my-protocol", "--no-install"];
    if ["typescript", "python"].contains(&language) {
        build.push("--no-examine");
    }
    let ran = place.host(&build);
    if ran.err.contains("install it with") || ran.err.contains("no Rust toolchain") {
        // Past the test runner, which keeps the output of tests back.
        let _ = writeln!(std::io::stderr(), "skipped `host new {language}`: {}", ran.err);
        return false;
    }
    assert!(build.len() > 3 || ran.err.contains("examined: fit for a search; `host doctor my-protocol`"), "{ran:?}");
    assert!(ran.code == 0 && ran.out.trim_end().ends_with("my-protocol.wasm"), "{ran:?}");
    true
}

fn meets_its_expectations(language: &str, options: &[&str]) {
    let place = Place::new();
    if made(&place, language, options) {
        meets_what_it_expects(&place, language);
    }
}

fn meets_what_it_expects(place: &Place, language: &str) {
    let ran = place.host(&["test", "my-protocol", "--no-install"]).exits(0);
    assert!(ran.out.contains("2 passed, 0 failed"), "{language}: {ran:?}");
}

#[test]
fn a_new_folder_in_rust_meets_its_expectations() {
    for options in [&[][..], &["--bare"]] {
        meets_its_expectations("rust", options);
    }
}

/// A wrapper compiles with its library, with any source of randomness, and has a verdict before any line is written: uuid and, by
/// rand, getrandom 0.2 are the sources of most libraries.
#[test]
fn a_new_wrapper_of_a_library_meets_its_expectations() {
    let place = Place::new();
    let ran = place.host(&["new", "wrap", "viewstamped-replication@0.9.0"]).exits(0);
    let name = "viewstamped-replication-checked";
    assert!(ran.out.starts_with(&format!("{name}: a wrapper of viewstamped-replication 0.9.0")), "{ran:?}");
    assert_eq!(place.list(), [name]);
    place.shares_builds();
    let ran = place.host(&["test", name]).exits(0);
    assert!(ran.out.contains("1 passed, 0 failed"), "{ran:?}");
    let report = place.host(&["run", name, "--json"]).exits(0).json();
    assert_eq!((&report["result"], &report["assumed"]["identity"]), (&"ok".into(), &"memory".into()));
    assert!(report["assumed"]["platform"].to_string().contains("getrandom 0.2."), "{report:#}");
    place.host(&["new", "wrap", "viewstamped-replication@0.9.0"]).exits(151).says(&["it is there already"]);
    // By another name, also in the same place.
    let ran = place.host(&["new", "wrap", "viewstamped-replication@0.9.0", "--name", "vr"]).exits(0);
    assert!(ran.out.starts_with("vr: a wrapper of viewstamped-replication 0.9.0"), "{ran:?}");
}

/// The error for a name that is too long, or for no name of a folder here, states the remedy.
#[test]
fn crates_whose_names_are_no_names_of_protocols_can_be_wrapped() {
    let place = Place::new();
    for library in ["a-crate-whose-name-has-more-than-40-letters-in-all", "2pc-by-others"] {
        let ran = place.host(&["new", "wrap", &format!("{library}@1.0.0")]).exits(151);
        ran.says(&[&format!("host new wrap {library}@1.0.0 --name my-wrapper")]);
        // With a name, the error is cargo's: it knows no such crate.
        let ran = place.host(&["new", "wrap", &format!("{library}@1.0.0"), "--name", "mine"]).exits(151);
        assert!(ran.err.contains("cannot make mine: "), "{ran:?}");
    }
    place.host(&["new", "wrap", "raft@0.7.0", "--name", "a b"]).exits(151).says(&["cannot be the name"]);
    place.host(&["new", "rust", "ring", "--name", "mine"]).exits(151).says(&["--name", "host new rust NAME"]);
    assert_eq!(place.list(), [""; 0], "nothing is left");
}

/// Libraries whose graphs do not compile for a plugin as they are.
#[test]
fn a_library_that_wants_a_browser_for_its_randomness_is_corrected() {
    let place = Place::new();
    // A library of the graph switches `wasm_js` of getrandom 0.4 on.
    let ran = place.host(&["new", "wrap", "yrs@0.18.0"]).exits(0);
    assert!(ran.err.contains("a corrected copy is in `getrandom`"), "{ran:?}");
    place.shares_builds();
    let ran = place.host(&["run", "yrs-checked", "--json"]).exits(0);
    assert!(ran.json()["assumed"]["platform"].to_string().contains("getrandom 0.4."), "{ran:?}");
}

/// Two modules in folders of their paths, as Debian installs them; the second has no `go.mod`.
fn modules_in_go(place: &Place) {
    for (path, text) in [
        ("go/example.org/log/go.mod", "module example.org/log\n\ngo 1.12\n\nrequire github.com/some/set v1.2.3\n"),
        ("go/example.org/log/log.go", "package log\n\nimport \"github.com/some/set\"\n\nvar Empty = set.New()\n"),
        ("go/github.com/some/set/set.go", "package set\n\nfunc New() []int { return []int{} }\n"),
        ("go/example.org/log/cmd/main.go", "package main\n\nfunc main() {}\n"),
    ] {
        let parent = place.path(path).parent().expect("below the folder").to_owned();
        std::fs::create_dir_all(parent).expect("a temporary folder can be written");
        place.put(path, text);
    }
}

/// A wrapper of a library in Go has a verdict before any line is written, like one in Rust.
#[test]
fn a_new_wrapper_of_a_library_in_go_meets_its_expectations() {
    let place = Place::new();
    modules_in_go(&place);
    let ran = place.host(&["new", "wrap", "--go", "example.org/log", "--from", "go"]).exits(0);
    assert!(ran.out.starts_with("log-checked: a wrapper of example.org/log, with a stand-in"), "{ran:?}");
    assert_eq!(ran.err, "", "nothing is absent");
    let text = |path: &str| std::fs::read_to_string(place.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let manifest = text("log-checked/go.mod");
    for line in [
        "module log-checked\n",
        "\tgithub.com/some/set v1.2.3 // indirect\n",
        "replace github.com/some/set => ./modules/",
    ] {
        assert!(manifest.contains(line), "{manifest}");
    }
    for file in ["main.go", "node.go", "README.md", "go.mod"] {
        let text = text(&format!("log-checked/{file}"));
        for mark in ["the/library", "{package}", "{name}", "\"wrapper"] {
            assert!(!text.contains(mark), "{file} has {mark}");
        }
    }
    let built = place.host(&["build", "log-checked", "--no-install"]);
    if built.err.contains("install it with") {
        let _ = writeln!(std::io::stderr(), "skipped a wrapper in Go: {}", built.err);
        return;
    }
    assert!(built.code == 0 && built.err.contains("examined: fit for a search"), "{built:?}");
    let ran = place.host(&["test", "log-checked", "--no-install"]).exits(0);
    assert!(ran.out.contains("1 passed, 0 failed"), "{ran:?}");
    // A reset starts it from its disk.
    let ran = place.host(&["run", "log-checked", "--no-install", "--algo", "walk", "--walks", "20", "--resets", "1"]);
    assert!(ran.out.contains("no violation found"), "{ran:?}");
}

#[test]
fn wrappers_of_what_is_no_library_in_go_are_refused() {
    let place = Place::new();
    modules_in_go(&place);
    for (words, said) in [
        (
            "wrap --go raft",
            &["is no path by which a library in Go is imported", "host new wrap --go go.etcd.io/etcd/raft"][..],
        ),
        ("wrap --go example.org/log@v1.0.0", &["has a version", "leave `@`"]),
        (
            "wrap --go example.org/none",
            &["there is no package example.org/none in /usr/share/gocode/src", "apt-get install", "--from"],
        ),
        ("wrap --go example.org/none --from go", &["there is no package example.org/none in ", "a folder of its path"]),
        ("wrap --go example.org/log/cmd --from go", &["cannot make cmd-checked: ", "it is a program"]),
        ("wrap --go example.org/log --from go --name A", &["cannot be the name of a protocol"]),
        (
            "wrap --go example.org/a-log-that-has-a-name-of-more-than-forty-letters",
            &["host new wrap --go example.org/a-log-that-has-a-name-of-more-than-forty-letters --name my-wrapper"],
        ),
        ("wrap --go example.org/log --from go --bare", &["a wrapper has no bare form"]),
        ("go --go ring", &["only a wrapper is of a library", "host new go ring"]),
        ("wrap example.org/log", &["is no crate with its version", "host new wrap --go example.org/log"]),
    ] {
        let words: Vec<&str> = std::iter::once("new").chain(words.split(' ')).collect();
        place.host(&words).exits(151).says(said);
    }
    assert_eq!(place.host(&["new", "wrap", "raft@0.7.0", "--from", "go"]).code, 2);
    assert_eq!(place.list(), ["go"], "nothing is left");
}

#[test]
fn wrappers_of_what_is_no_library_are_refused() {
    let place = Place::new();
    place.host(&["new", "wrap", "raft"]).exits(151).says(&["is no crate with its version", "raft@0.7.0"]);
    let ran = place.host(&["new", "wrap", "viewstamped-replication@99.0.0"]).exits(151);
    assert!(
        ran.err.contains("cannot make viewstamped-replication-checked: ") && ran.err.contains("=99.0.0"),
        "{ran:?}"
    );
    assert_eq!(place.list(), [""; 0], "nothing is left");
}

#[test]
fn new_folders_in_other_languages_meet_their_expectations() {
    for language in ["c", "text", "assemblyscript"] {
        meets_its_expectations(language, &[]);
    }
}

/// Their machine code takes long to make, and their sources are those that `languages` runs.
#[test]
fn new_folders_in_languages_with_large_components_build() {
    for language in ["typescript", "python", "go"] {
        made(&Place::new(), language, &[]);
    }
}

/// One message, one field, one property: 2^3 states, and a property that fails where messages are delivered twice.
#[test]
fn bare_folders_meet_their_expectations() {
    let mut languages = vec!["typescript", "go", "c", "cpp", "zig", "assemblyscript", "text"];
    if all_languages() {
        languages.push("python");
    } else {
        made(&Place::new(), "python", &["--bare"]);
    }
    for language in languages {
        meets_its_expectations(language, &["--bare"]);
    }
}

/// Their toolchains are often missing.
#[test]
fn new_folders_in_languages_of_the_community_build() {
    for language in ["cpp", "zig"] {
        made(&Place::new(), language, &[]);
    }
}

#[test]
fn what_cannot_be_made_is_refused() {
    let place = Place::new();
    place.host(&["new", "cobol", "a"]).exits(151).says(&["no template for the language `cobol`", "rust, c, cpp"]);
    place.host(&["new", "c", "A B"]).exits(151).says(&["cannot be the name of a protocol", "small letter"]);
    place.host(&["new", "c", "../a"]).exits(151).says(&["cannot be the name of a protocol"]);
    place.host(&["new", "python", "queue"]).exits(151).says(&["Python has a module of that name", "queue-protocol"]);
    assert_eq!(place.host(&["new", "python"]).code, 2);
    assert_eq!(place.host(&["new", "--update", ".", "--bare"]).code, 2);
    assert_eq!(place.list(), [""; 0]);
    place.put("taken", "");
    place.host(&["new", "c", "taken"]).exits(151).says(&["cannot make taken: it is there already"]);
    place.host(&["new", "text", "mine"]).exits(0);
    place.host(&["new", "text", "mine"]).exits(151).says(&["it is there already"]);
}

/// A command in a folder prints the same as with the folder's name.
#[test]
fn the_folder_here_is_the_plugin() {
    let mut place = Place::new();
    place.host(&["new", "text", "mine"]).exits(0);
    for (command, said) in [
        (&["run"][..], "ok: "),
        (&["check", "--algo", "bdfs"], "ok: "),
        (&["build"], "mine.wasm"),
        (&["inspect"], "host:protocol/node@0.1.0"),
        (&["doctor", "--nodes", "2"], "2 nodes"),
        (&["test"], "2 passed, 0 failed"),
    ] {
        place.standing = "mine";
        let here = place.host(command).exits(0);
        assert!(here.out.contains(said), "{command:?}: {here:?}");
    }
    place.standing = "";
    let (run, check) = (["run", "mine", "--json"], ["check", "mine", "--json"]);
    let counts = run_and_count(&place, &run);
    assert_eq!(counts, run_and_count(&place, &check));
}

fn run_and_count(place: &Place, words: &[&str]) -> serde_json::Value {
    let json = place.host(words).exits(0).json();
    serde_json::json!([json["result"], json["end"], json["counts"], json["properties"]])
}

/// A copy of the SDK that is older than the host is reported with the remedy, and replaced where it was not edited.
#[test]
fn an_old_sdk_is_reported_and_replaced() {
    let mut place = Place::new();
    place.host(&["new", "c", "ring"]).exits(0);
    let ran = place.host(&["new", "--update", "ring"]).exits(0);
    assert!(ran.out.contains("the SDK is that of this host"), "{ran:?}");
    let record = std::fs::read_to_string(place.path("ring/host-sdk.toml")).expect("there is a record");
    let build = ["build", "ring", "--no-install", "--no-examine"];
    let fresh = place.host(&build);
    assert!(!fresh.err.contains("warning: "), "{fresh:?}");

    let json = std::fs::read_to_string(place.path("ring/json.h")).expect("a part of the SDK");
    let version = |version: &str| format!("version = \"{version}\"");
    let digest = |text: &str| blake3::hash(text.as_bytes()).to_hex().to_string();
    let old = record.replace(&version(env!("CARGO_PKG_VERSION")), &version("0.0.1"));
    assert_ne!(old, record);
    place.put("ring/host-sdk.toml", old.replace(&digest(&json), &digest("// old")));
    let ran = place.host(&build);
    let said = "warning: ring: the SDK here is that of host 0.0.1, and this is host 0.";
    assert_eq!(ran.err.matches(said).count(), 1, "{ran:?}");
    assert!(ran.err.contains("`host new --update` in this folder replaces it"), "{ran:?}");
    let quiet = place.host(&["build", "ring", "--no-install", "--no-examine", "--quiet"]);
    assert!(!quiet.err.contains("warning: "), "{quiet:?}");

    // A file that was there before was not copied.
    place.put("ring/json.h", "// mine");
    place.standing = "ring";
    place.host(&["new", "--update"]).exits(151).says(&["edited", "json.h", "move what you changed elsewhere"]);
    assert_eq!(std::fs::read_to_string(place.path("ring/json.h")).expect("it is there"), "// mine");
    place.put("ring/json.h", "// old");
    let ran = place.host(&["new", "--update"]).exits(0);
    assert!(ran.out.contains("the SDK was that of host 0.0.1"), "{ran:?}");
    place.standing = "";
    assert_eq!(std::fs::read_to_string(place.path("ring/json.h")).expect("it is there"), json);
    place.host(&["new", "text", "none"]).exits(0);
    place.host(&["new", "--update", "none"]).exits(151).says(&["there is no host-sdk.toml"]);
}

/// Short options are the long ones.
#[test]
fn short_options_are_those_in_full() {
    let place = Place::new();
    place.host(&["new", "text", "mine"]).exits(0);
    let full =
        ["--algo bdfs --nodes 2 --depth 3 --time 1h --memory 4GB --workers 1 --json --out found", "--algo bdfs --json"];
    let short = ["-a bdfs -n 2 -d 3 -t 1h -m 4GB -w 1 --json -o found", "-a bdfs --json"];
    let counts = |options: &str| {
        let words: Vec<&str> = ["run", "mine"].into_iter().chain(options.split(' ')).collect();
        run_and_count(&place, &words)
    };
    assert_eq!(full.map(counts), short.map(counts));
    assert_ne!(counts(full[0]), counts(full[1]), "the bounds are heard");
    let ran = place.host(&["doctor", "mine", "-n", "2", "-s", "magic=1", "--quiet"]).exits(151);
    ran.says(&["no parameter `magic`"]);
}

/// The component bears the name, of any length.
#[test]
fn a_new_component_has_its_name() {
    let place = Place::new();
    for name in ["a", "my-protocol", "two-phase-commit", &"a".repeat(40)] {
        for options in [&[][..], &["--bare"]] {
            place.host(&[&["new", "text", name], options].concat()).exits(0);
            let about = place.host(&["inspect", name, "--json"]).exits(0).json();
            assert_eq!(about["plugin"]["name"], *name, "{about}");
            std::fs::remove_dir_all(place.path(name)).expect("a folder can be removed");
        }
    }
}
