//! A full disk, and a limit on the size of files, while something is saved: the failure has a remedy, and nothing is left in part.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use host_sandbox::fixtures::Guest;
use serde_json::{Value, json};

use super::Page;
use crate::cli::{Place, program};

/// Steps whose trace is longer than a few pages of memory.
const STEPS: usize = 300;

/// A guest that sends itself messages, and fails at the first one.
fn fails_at_a_message(place: &Place) {
    let sends = "(call $send (i32.const 0) (i32.const 7))".to_owned();
    place.put("guest.wasm", Guest { local: sends, message: "unreachable".into(), ..Guest::default() }.component());
}

/// The place behind a number of calls of the application and the delivery of a message, which fails.
fn failure_behind(page: &Page, calls: usize) -> u64 {
    let mut at = 0;
    let kinds = std::iter::repeat_n("local", calls).chain(["deliver"]);
    for kind in kinds {
        let state = page.get(&format!("places/{at}"));
        let enabled = state["enabled"].as_array().expect("a list");
        let event =
            enabled.iter().find(|event| event["kind"] == kind).unwrap_or_else(|| panic!("no {kind} in {state}"));
        at = page.take(at, event["action"].as_u64().expect("a number"));
    }
    at
}

/// The files of a folder, in order.
fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Saves where there is no room, and asserts the words of the refusal and the remedy.
#[track_caller]
fn is_refused(page: &Page, request: &str, path: &str, words: [&str; 2]) {
    let (status, refused) = page.ask("POST", request, &json!({ "path": path }));
    let has = |part: &Value, words: &str| part.as_str().is_some_and(|text| text.contains(words));
    assert!(status == 409 && has(&refused["error"], words[0]) && has(&refused["help"], words[1]), "{refused}");
}

/// The limit of a shell on the size of files, whose signal would end the session.
#[test]
fn a_limit_on_the_size_of_files_loses_nothing() {
    let place = Place::new();
    fails_at_a_message(&place);
    let Some(program) = program() else { return };
    let mut limited = Command::new("sh");
    // In units of 512 or 1,024 bytes.
    limited.args(["-c", "ulimit -f 16; exec \"$0\" \"$@\""]).arg(program);
    limited.args(["explore", "guest.wasm", "--quiet", "--", "--nodes", "1"]);
    let page = Page::begun(&place, limited);
    let short = failure_behind(&page, 1);
    page.post(&format!("places/{short}/save"), &json!({ "path": "kept.json" }));
    let kept = std::fs::read(place.path("kept.json")).expect("it was saved");
    let before = files(&place.path(""));
    let long = failure_behind(&page, STEPS);
    let words = ["File too large", "ulimit -f unlimited"];
    is_refused(&page, &format!("places/{long}/save"), "long.json", words);
    is_refused(&page, &format!("places/{long}/scenario"), "long.toml", words);
    is_refused(&page, &format!("places/{long}/scenario"), "folder/long.toml", words);
    assert_eq!(files(&place.path("")), before, "nothing is left in part");
    assert_eq!(std::fs::read(place.path("kept.json")).expect("it is there"), kept);
    // The session continues, and the name is free.
    page.post(&format!("places/{short}/scenario"), &json!({ "path": "long.toml" }));
    page.ends();
    place.host(&["test", "long.toml"]).exits(0);
    place.host(&["replay", "kept.json", "--plugin", "guest.wasm", "--quiet"]).exits(14);
}

/// A file system of 64 KiB, in name spaces that end with the session.
#[test]
fn a_full_disk_loses_nothing() {
    const PAGE_BYTES: u64 = 4_096;
    let place = Place::new();
    fails_at_a_message(&place);
    std::fs::create_dir(place.path("small")).expect("a temporary folder can be written");
    let Some(program) = program() else { return };
    let alone = |run: &str| {
        let mut command = Command::new("unshare");
        let script = format!("mount -t tmpfs -o size=64k none small && {run}");
        command.args(["--map-root-user", "--mount", "sh", "-c", &script]).current_dir(place.path(""));
        command
    };
    if !alone("true").output().is_ok_and(|tried| tried.status.success()) {
        let _ = writeln!(std::io::stderr(), "skipped: this user can mount no file system, even in a name space");
        return;
    }
    let mut command = alone("exec \"$0\" \"$@\"");
    command.arg(program).args(["explore", "guest.wasm", "--quiet", "--", "--nodes", "1"]);
    let page = Page::begun(&place, command);
    let seen = Path::new("/proc").join(page.pid().to_string()).join("root");
    let small = seen.join(place.path("small").strip_prefix("/").expect("an absolute path"));
    let short = failure_behind(&page, 1);
    page.post(&format!("places/{short}/save"), &json!({ "path": "small/kept.json" }));
    let kept = std::fs::read(small.join("kept.json")).expect("it was saved");
    assert!(!place.path("small/kept.json").exists(), "only the session sees that file system");
    let mut fill = std::fs::File::create(small.join("fill")).expect("there is room");
    while fill.write_all(&[1]).is_ok() {}
    let words = ["No space left on device", "free some space"];
    for (request, path) in [("save", "small/more.json"), ("scenario", "small/more.toml")] {
        is_refused(&page, &format!("places/{short}/{request}"), path, words);
        assert_eq!(files(&small), ["fill", "kept.json"], "nothing is left in part");
    }
    // There is room for the trace of a test, and none for the test.
    let length = fill.metadata().expect("it is there").len();
    fill.set_len(length - PAGE_BYTES).expect("it can be shortened");
    is_refused(&page, &format!("places/{short}/scenario"), "small/more.toml", words);
    assert_eq!(files(&small), ["fill", "kept.json"], "no trace is left without its test");
    assert_eq!(std::fs::read(small.join("kept.json")).expect("it is there"), kept);
    // The remedy.
    fill.set_len(0).expect("it can be shortened");
    page.post(&format!("places/{short}/scenario"), &json!({ "path": "small/more.toml" }));
    assert_eq!(files(&small), ["fill", "kept.json", "more.json", "more.toml"]);
    let trace = std::fs::metadata(small.join("more.json")).expect("it was saved");
    assert!(trace.len() <= PAGE_BYTES, "the trace alone had no room before: {}", trace.len());
    page.ends();
}
