//! `host languages`: one protocol in several languages, side by side.

use std::io::Write;
use std::path::Path;

use super::{Place, bundled, folder};
use crate::languages::{all_languages, component, copy};

/// The languages with an installed toolchain have a row each, with equal counts; for the others the table names the missing tools.
#[test]
fn languages_are_put_side_by_side() {
    let place = Place::new();
    let mut names = vec!["register", "register-assemblyscript", "register-c", "register-text"];
    // The machine code of interpreters takes long to make, and languages of the community are tested only on request; see `languages`.
    if all_languages() {
        names.extend(["register-cpp", "register-go", "register-python", "register-typescript", "register-zig"]);
    }
    // No toolchain makes something of an empty folder.
    std::fs::create_dir(place.path("nothing")).expect("a temporary folder can be written");
    let mut paths: Vec<String> = names.iter().map(|name| folder(name).display().to_string()).collect();
    paths.push("nothing".to_owned());
    let command = |options: &[&str]| {
        let mut words = vec!["languages".to_owned()];
        words.extend(paths.iter().cloned());
        words
            .extend(["--no-install", "--quiet", "--set", "reads=1"].iter().chain(options).map(|&word| word.to_owned()));
        place.host(&words).exits(0)
    };

    let table = command(&["--json"]).json();
    let (rows, missing) = (table["rows"].as_array().expect("a list"), table["missing"].as_array().expect("a list"));
    assert_eq!((rows.len() + missing.len(), &table["equal"]), (paths.len(), &true.into()), "{table:#}");
    for (row, name) in rows.iter().zip(["register"]) {
        assert!(row["plugin"].as_str().is_some_and(|path| path.ends_with(name)), "the yardstick is the first: {row:#}");
    }
    for row in rows {
        // The counts of the README of the yardstick, from native exploration.
        let counts = (&row["counts"]["global_states"], &row["counts"]["transitions"], &row["counts"]["local_states"]);
        assert_eq!(counts, (&14_588.into(), &69_154.into(), &46.into()), "{row:#}");
        assert!(row["findings"].as_array().is_some_and(Vec::is_empty), "{row:#}");
        for number in ["component_bytes", "snapshot_bytes", "step_microseconds", "calls_microseconds"] {
            assert!(row[number].as_f64().is_some_and(|value| value > 0.0), "{number} of {row:#}");
        }
        for text in ["language", "tool"] {
            assert!(row[text].as_str().is_some_and(|text| !text.is_empty()), "{text} of {row:#}");
        }
    }
    for why in missing {
        let why = why.as_str().expect("a sentence");
        let is_explained = why.contains("install it with") || why.starts_with("nothing: ");
        assert!(is_explained, "{why}");
        // Past the test runner, which keeps the output of tests back.
        let _ = writeln!(std::io::stderr(), "skipped {why}");
    }

    let text = command(&[]).out;
    assert!(text.contains(&format!("equal counts in {} languages: 14,588 global states", rows.len())), "{text}");
    assert!(text.contains("missing: nothing: "), "{text}");
}

/// State in globals alone, memory that grows in a handler, garbage collectors: a search in several processes, each resumed from the
/// checkpoint of the one before, has the same result as in one process.
#[test]
fn searches_in_every_language_resume() {
    let mut place = Place::new();
    for name in ["register-assemblyscript", "register-text", "register-typescript", "register-zig", "register-go"] {
        let Some(component) = component(name) else { continue };
        let file = format!("{name}.wasm");
        place.put(&file, component);
        let run = ["run", &file, "--nodes", "3", "--set", "reads=1", "--algo", "bdfs", "--json"];
        let whole = place.host(&run).exits(0).json();
        // As in `languages_are_put_side_by_side`.
        assert_eq!(whole["counts"]["global_states"], 14_588, "{name}");
        place.resumes_to_the_same(&run, &whole);
    }
}

/// A prepared interpreter with known modules, next to nodes of another component: nothing is installed, the cluster is the same after an
/// edit, and an interrupted search of it resumes.
#[test]
fn a_prepared_interpreter_takes_its_place_in_a_mixed_cluster() {
    if component("register-typescript").is_none() {
        return;
    }
    let mut place = Place::new();
    let to = place.path("mine");
    std::fs::create_dir(&to).expect("a new folder");
    copy(&folder("register-typescript"), &to);
    let other = format!("1={}", bundled("register-text"));
    let run = ["run", "mine", "--no-install", "--node", &other, "--set", "reads=1", "--algo", "bdfs", "--json"];
    for edit in ["", "// Another line.\n"] {
        let file = to.join("src/register.ts");
        let text = std::fs::read_to_string(&file).expect("a source");
        std::fs::write(&file, format!("{edit}{text}")).expect("a file of this test");
        let ran = place.host(&run).exits(0);
        assert!(ran.err.contains("to its interpreter") && !ran.err.contains("installing"), "{}", ran.err);
        assert_eq!(ran.err.contains("preparing an interpreter"), edit.is_empty(), "{}", ran.err);
        // As in `languages_are_put_side_by_side`.
        assert_eq!(ran.json()["counts"]["global_states"], 14_588);
    }
    let whole = place.host(&run).exits(0).json();
    place.resumes_to_the_same(&run, &whole);
}

/// Replaces a piece of a file that is there once.
fn edit(file: &Path, before: &str, after: &str) {
    let text = std::fs::read_to_string(file).expect("a source");
    assert_eq!(text.matches(before).count(), 1, "{before}");
    std::fs::write(file, text.replace(before, after)).expect("a file of this test");
}

/// An edit of a prepared interpreter can change what tells states apart. An encoding of all that can be reached tells the same states apart
/// as the one that is written down, also after resets; the memory of an interpreter is refused, as in a component that is compiled as a
/// whole; and a build that is interrupted is made by the next command.
#[test]
fn what_tells_states_apart_changes_without_another_interpreter() {
    if component("register-typescript").is_none() {
        return;
    }
    let mut place = Place::new();
    let to = place.path("mine");
    std::fs::create_dir(&to).expect("a new folder");
    copy(&folder("register-typescript"), &to);
    // A register in memory keeps no promise over a reset.
    let ignored = ["--ignore", "monotone", "--ignore", "stored-by-majority", "--ignore", "write-is-read"];
    let run = ["run", "mine", "--no-install", "--nodes", "2", "--set", "reads=1", "--algo", "bdfs", "--json"];
    let run = [&run[..], &ignored].concat();
    let counted = |place: &Place| {
        [&[][..], &["--resets", "1"]].map(|resets| {
            let ran = place.host(&[&run[..], resets].concat()).exits(0);
            let report = ran.json();
            assert_eq!(report["result"], "ok", "{report:#}");
            let counts = ["global_states", "transitions", "local_states"];
            (counts.map(|count| report["counts"][count].clone()), ran.err.contains("compiling"))
        })
    };
    let written = counted(&place);
    assert!(written[0].0[0].as_u64() < written[1].0[0].as_u64(), "{written:?}");

    let index = to.join("src/index.ts");
    edit(&index, "return encode(register.state);", "return reachable(register.state);");
    edit(&index, "import { decode,", "import { reachable } from \"./host/reachable\";\nimport { decode,");
    for after in [0, 2] {
        place.interrupted = Some(after);
        place.host(&["build", "mine", "--no-install"]).exits(130);
    }
    place.interrupted = None;
    assert_eq!(counted(&place), written);

    edit(&index, "identity: \"serialized\"", "identity: \"memory\"");
    let refused = place.host(&run).exits(150);
    assert!(refused.err.contains("it wants its memory as the identity of states"), "{refused:?}");
    for astray in ["compiling", "help: "] {
        assert!(!refused.err.contains(astray), "{refused:?}");
    }
}

#[test]
fn languages_that_differ_are_reported() {
    let place = Place::new();
    let ran = place.host(&["languages", bundled("query"), bundled("fanout"), "--quiet"]).exits(1);
    assert!(ran.out.contains("the counts differ:"), "{}", ran.out);
}

/// The default scenarios are compared, without exported states, adversaries or faults.
#[test]
fn languages_take_plugins_and_no_options_of_a_search() {
    let place = Place::new();
    let query = bundled("query");
    for option in ["--prefix=p.json", "--adversary=1=x.wasm", "--node=1=x.wasm", "--twin=1", "--network=ordered"] {
        assert_eq!(place.host(&["languages", query, option]).code, 2, "{option}");
    }
    place.put("s.scenario.toml", format!("plugin = \"{query}\"\nprefix = \"p.json\"\n"));
    let ran = place.host(&["languages", "s.scenario.toml", query, "--quiet", "--json"]).exits(0).json();
    assert_eq!(ran["rows"].as_array().map(Vec::len), Some(1), "{ran}");
    assert!(ran["missing"][0].as_str().is_some_and(|why| why.starts_with("s.scenario.toml: ")), "{ran}");
}
