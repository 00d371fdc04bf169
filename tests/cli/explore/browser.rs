//! The page of a running session in Chromium: pages of other origins, faults by click, failing handlers, hostile names, many steps, two
//! tabs, a machine that sleeps. Without Chromium or the packages of `host/explore/web`, the tests say so and check nothing.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use host_sandbox::fixtures;
use serde_json::{Value, json};

use super::clusters::{STEPS, long_trace};
use super::{Page, texts};
use crate::cli::golden::repository;
use crate::cli::{Place, folder};

/// Plays a scene of `test/real.mjs` in the page of a session; false if there is no browser.
#[track_caller]
fn plays(page: &Page, scene: &str, given: &Value) -> bool {
    let web = folder("../host/explore/web");
    if !has_browser(&web) {
        return false;
    }
    let mut given = given.clone();
    given["url"] = json!(format!("http://{}/{}/", page.host, page.token));
    let played = Command::new("node").args(["test/real.mjs", scene, &given.to_string()]).current_dir(&web).output();
    let played = played.expect("node starts");
    let (out, err) = (String::from_utf8_lossy(&played.stdout), String::from_utf8_lossy(&played.stderr));
    // Times are for people.
    let _ = std::io::stdout().write_all(out.as_bytes());
    assert!(played.status.success(), "{scene}: {out}{err}");
    true
}

fn has_browser(web: &Path) -> bool {
    let folders: Vec<PathBuf> =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    let is_there = |name: &str| folders.iter().any(|folder| folder.join(name).is_file());
    let named = std::env::var_os("CHROMIUM").is_some_and(|named| Path::new(&named).is_file());
    let browsers = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let has_all = is_there("node")
        && web.join("node_modules/playwright-core").is_dir()
        && (named || browsers.iter().any(|name| is_there(name)));
    if !has_all {
        let _ = writeln!(std::io::stderr(), "skipped: no Chromium, or no `npm ci` in host/explore/web");
    }
    has_all
}

/// The component again with other bytes: a section that means nothing.
fn another_build(mut component: Vec<u8>) -> Vec<u8> {
    component.extend([0, 5, 4, b'n', b'o', b't', b'e']);
    component
}

#[test]
fn a_page_of_another_origin_neither_reads_nor_drives_a_session() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::ping_pong());
    let Some(page) = Page::of(&place, &["guest.wasm", "--quiet", "--", "--nodes", "2"]) else { return };
    plays(&page, "elsewhere", &json!({}));
    assert_eq!(page.get("tree").as_array().map(Vec::len), Some(1), "nothing was taken");
    page.ends();
}

/// The path of a counterexample with a reset, clicked event by event, becomes a scenario that `host test` runs.
#[test]
fn a_fault_that_is_clicked_in_the_page_becomes_a_test() {
    let place = repository();
    let scenario = "plugins/paxos/scenarios/forget-accepted.toml";
    place.host(&["run", scenario, "--quiet", "--out", "found"]).exits(12);
    let Some(shown) = Page::of(&place, &["found/trace.json", "--plugin", "plugins/paxos", "--quiet"]) else { return };
    let end = shown.get("session")["line"].as_array().expect("a line").last().cloned().expect("an end");
    let line = shown.get(&format!("line?to={end}"));
    let events: Vec<Value> = line.as_array().expect("a list")[1..].iter().map(|step| step["event"].clone()).collect();
    let events = json!(events);
    assert!(texts(&events).iter().any(|text| text.contains("reset")), "{events}");
    shown.ends();
    let Some(page) = Page::of(&place, &[scenario, "--quiet"]) else { return };
    let is_played = plays(&page, "faults", &json!({ "events": texts(&events), "path": "kept/clicked.toml" }));
    page.ends();
    if is_played {
        place.host(&["test", "kept/clicked.toml"]).exits(0);
    }
}

#[test]
fn a_handler_that_fails_under_a_click_leaves_the_page_usable() {
    for (guest, why) in [(fixtures::traps(), "unreachable"), (fixtures::loops(), "fuel")] {
        let place = Place::new();
        place.put("guest.wasm", guest);
        let Some(page) = Page::of(&place, &["guest.wasm", "--quiet", "--", "--nodes", "1"]) else { return };
        // The number of steps until it fails.
        let mut at = 0;
        while page.get(&format!("places/{at}"))["nodes"][0]["stuck"] == Value::Null {
            at = page.take(at, 0);
        }
        plays(&page, "stuck", &json!({ "why": why, "place": at }));
        page.ends();
    }
}

#[test]
fn hostile_names_inject_nothing_into_the_page() {
    let hostile = "\nforged\r\u{1b}[2J\u{9b}31m\u{202e}\u{2028}</title><img src=x onerror=window.injected=1>\"'&";
    let place = Place::new();
    place.put("guest.wasm", fixtures::introduces(hostile));
    let Some(page) = Page::of(&place, &["guest.wasm", "--quiet", "--", "--nodes", "1"]) else { return };
    plays(&page, "hostile", &json!({ "words": "<img src=x onerror=window.injected=1>" }));
    page.ends();
}

/// Two tabs at places of their own; a suspended process answers when it continues; a saved trace outlives a killed one.
#[test]
fn a_machine_that_sleeps_and_a_killed_process_lose_nothing_that_was_saved() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::counts());
    let Some(page) = Page::of(&place, &["guest.wasm", "--quiet", "--", "--nodes", "1"]) else { return };
    let pid = page.pid();
    if plays(&page, "asleep", &json!({ "pid": pid, "path": "kept.json" })) {
        let replayed = place.host(&["replay", "kept.json", "--plugin", "guest.wasm", "--quiet", "--json"]).exits(0);
        assert_eq!(replayed.json()["steps"].as_array().map(Vec::len), Some(2));
    }
}

/// The page of a trace of 100,000 steps moves, takes an event, and draws what is in sight.
#[test]
fn the_page_of_a_hundred_thousand_steps_moves_and_grows() {
    let place = Place::new();
    let Some(trace) = long_trace(&place) else { return };
    place.put("long.json", trace.to_string());
    let Some(page) = Page::of(&place, &["long.json", "--plugin", "guest.wasm", "--quiet"]) else { return };
    plays(&page, "long", &json!({ "end": STEPS }));
    page.ends();
}

#[test]
fn a_trace_of_another_build_is_opened_and_its_link_is_refused() {
    let place = Place::new();
    std::fs::create_dir(place.path("before")).expect("a temporary folder can be written");
    place.put("guest.wasm", fixtures::counts()).put("before/guest.wasm", another_build(fixtures::counts()));
    let Some(page) = Page::of(&place, &["before/guest.wasm", "--quiet", "--", "--nodes", "1"]) else { return };
    let end = page.take(page.take(0, 0), 0);
    page.post(&format!("places/{end}/save"), &json!({ "path": "other.json" }));
    let trace = page.get(&format!("places/{end}/trace"));
    let fragment = page.get(&format!("places/{end}/link"))["fragment"].clone();
    let states = page.get(&format!("places/{end}"))["nodes"].clone();
    page.ends();
    let Some(page) = Page::of(&place, &["guest.wasm", "--quiet", "--", "--nodes", "1"]) else { return };
    let digest = &page.get("session")["plugin"]["digest"];
    assert_ne!(*digest, trace["plugin"]["digest"], "both builds are the same");
    let (status, refused) = page.ask("POST", "replay", &json!({ "fragment": fragment }));
    assert_eq!((status, &refused["error"]), (409, &json!("the link is of another plugin, or of another build of it")));
    assert!(refused["help"].as_str().is_some_and(|help| help.contains("as a trace")), "{refused}");
    let file = place.path("other.json");
    plays(&page, "another", &json!({ "trace": file, "fragment": fragment }));
    // The remedy: its events are a branch here.
    let opened = page.post("open", &trace);
    assert_eq!(page.get(&format!("places/{}", opened["place"]))["nodes"], states);
    page.ends();
    // A session of its own, which names what is different.
    let Some(page) = Page::of(&place, &["other.json", "--plugin", "guest.wasm", "--quiet"]) else { return };
    assert_eq!(page.get("session")["line"].as_array().map(Vec::len), Some(3));
    page.ends();
}
