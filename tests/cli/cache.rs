//! The cache between runs: the report of `host cache`, and how it is cleared.

use std::fs;

use host_sandbox::fixtures;
use serde_json::Value;

use super::Place;

/// The result of `host cache --json` with further options.
fn json(place: &Place, options: &[&str]) -> Value {
    serde_json::from_str(&place.host(&[&["cache", "--json"], options].concat()).exits(0).out).expect("an object")
}

#[test]
fn machine_code_is_shown_and_cleared() {
    let mut place = Place::new();
    place.cache = Some(place.path("cache"));
    place.put("guest.wasm", fixtures::ping_pong());
    let empty = json(&place, &[]);
    assert_eq!((&empty["machine_code"]["bytes"], &empty["toolchains"]["bytes"]), (&0.into(), &0.into()));
    assert!(!place.path("cache").exists(), "to look makes nothing");

    place.host(&["inspect", "guest.wasm"]).exits(0);
    // Neither of these is machine code.
    fs::create_dir_all(place.path("cache/tools/one/bin")).expect("writable");
    place.put("cache/compiled/note.txt", "mine").put("cache/tools/one/bin/tool", "12345");
    let shown = json(&place, &[]);
    let code = &shown["machine_code"];
    assert_eq!((&code["entries"], &code["collections"]), (&1.into(), &1.into()), "{shown}");
    let files = fs::read_dir(place.path("cache/compiled")).expect("readable").map(|file| file.expect("a file"));
    let bytes: u64 = files.map(|file| file.metadata().expect("it is there").len()).sum();
    assert_eq!(code["bytes"], bytes - "mine".len() as u64);
    assert_eq!(shown["toolchains"]["bytes"], 5);
    let text = place.host(&["cache"]).exits(0).out;
    for words in ["of at most 1.0 GiB", "1 file with components and libraries, 1 file with functions", "5 B"] {
        assert!(text.contains(words), "no {words} in {text}");
    }

    let removed = place.host(&["cache", "--clear"]).exits(0).out;
    assert!(
        removed.starts_with("removed: ") && removed.ends_with("1 file with functions; 0 B of compiled crates\n"),
        "{removed}"
    );
    let cleared = json(&place, &[]);
    assert_eq!((&cleared["machine_code"]["bytes"], &cleared["toolchains"]["bytes"]), (&0.into(), &5.into()));
    assert_eq!(fs::read(place.path("cache/compiled/note.txt")).expect("it is no machine code"), b"mine");
    assert_eq!(json(&place, &["--clear"])["machine_code"]["entries"], 0, "nothing is left");
    place.host(&["inspect", "guest.wasm"]).exits(0);
    assert_eq!(json(&place, &[])["machine_code"]["entries"], 1);
}

#[test]
fn without_a_place_nothing_is_kept() {
    let mut place = Place::new();
    place.cache = None;
    let refused = place.host(&["cache"]).exits(153);
    assert!(refused.err.contains("no place to keep anything") && refused.err.contains("HOME"), "{refused:?}");
}
