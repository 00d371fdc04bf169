//! The result of a page's script, in headless Chromium: `CHROMIUM` names it, or it is one of the programs in `PATH`.
//!
//! Without Chromium, the tests say so and check nothing.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use host_inspect::recording::Recording;
use host_model::contract::NodeId;
use host_model::scenario::Scenario;
use host_model::toys::{Toy, ToyTrigger};
use host_model::trace::{TraceEvent, TraceStep};
use serde_json::{Value, json};

use super::content::{HOSTILE, data, hostile};
use super::sample::{described, page, recording};
use super::walks;

/// Steps through a page by its keys, and records its contents.
const DRIVER: &str = r##"
const all = (query) => [...document.querySelectorAll(query)];
const text = (query) => (document.querySelector(query) || { textContent: null }).textContent;
const settled = async () => {
  for (let turn = 0; turn < 3; turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    while (text(".present") === null || text(".busy") !== "" || document.querySelector(".panel.stale")) await new Promise((resolve) => setTimeout(resolve, 10));
  }
};
const press = async (key) => {
  (document.activeElement || document.body).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  await settled();
};
const part = (row, query) => (row.querySelector(query) || { textContent: null }).textContent;
const seen = () => ({
  present: text(".present"), event: text(".event-text code"),
  flight: all(".flight li").map((line) => [...line.querySelectorAll("span, code")].map((it) => it.textContent).join(" ")),
  strips: all(".properties .strip .now").map((now) => now.textContent),
  row: all(".sheet g.event.now").map((row) => row.dataset.row),
  tree: all(".states .tree-row, .tree .tree-row").map((row) => [row.className, part(row, ".field"), part(row, "del"), part(row, "ins")]),
});
const drive = async () => {
  const report = { steps: [], keys: {} };
  await settled();
  report.first = seen();
  await press("g");
  for (let step = 0; step <= STEPS; step += 1) { report.steps.push(seen()); await press("j"); }
  for (const key of ["G", "k", "g"]) { await press(key); report.keys[key] = seen(); }
  report.scripts = document.scripts.length;
  report.elements = [...new Set(all("*").map((element) => element.localName))].sort();
  report.text = document.body.innerText;
  const left = document.createElement("pre");
  left.id = "report";
  left.textContent = JSON.stringify(report);
  document.body.append(left);
};
drive();
"##;

/// The keyword of a policy that allows any script, in two parts, so that this file does not contain the keyword of Rust.
const ANY_SCRIPT: &str = concat!("un", "safe-inline");

/// Chromium sometimes ends while it starts, with nothing to say about it.
const STARTS: u32 = 4;

/// Chromium, if it is installed.
fn chromium() -> Option<PathBuf> {
    let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
    let folders = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    let folders: Vec<PathBuf> = folders;
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let mut found = folders.iter().flat_map(|folder| names.map(|name| folder.join(name)));
    let chromium = named.or_else(|| found.find(|program| program.is_file()));
    if chromium.is_none() {
        let _ =
            writeln!(std::io::stderr(), "skipped: there is no Chromium; install the package chromium, or set CHROMIUM");
    }
    chromium
}

/// A page after loading.
struct Loaded {
    /// The document after the script.
    document: String,
    /// The output on the console, and each requested address other than the page's own.
    complaints: Vec<String>,
}

/// Loads a page from a file, at a place of it.
fn load(chromium: &Path, page: &str, place: &str) -> Loaded {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (file, log) = (folder.path().join("page.html"), folder.path().join("requests.json"));
    std::fs::write(&file, page).expect("a temporary folder can be written");
    let mut command = Command::new(chromium);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]);
    command.args([
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-extensions",
    ]);
    command.args(["--enable-logging=stderr", "--virtual-time-budget=10000", "--dump-dom"]);
    // No request leaves this machine, even if a page makes one.
    command.arg("--host-resolver-rules=MAP * ~NOTFOUND");
    command.arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
    command.arg(format!("--log-net-log={}", log.display()));
    command.arg(format!("file://{}{place}", file.display()));
    let mut ran = command.output().expect("Chromium runs");
    for _ in 1..STARTS {
        if !ran.status.success() {
            ran = command.output().expect("Chromium runs");
        }
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "Chromium fails: {said}");
    let mut complaints: Vec<String> = said.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect();
    let requests = std::fs::read_to_string(&log).expect("Chromium logs requests");
    let asked = requests.split("\"url\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    complaints.extend(asked.filter(|url| url.contains(".invalid") || url.contains("localhost")).map(str::to_owned));
    Loaded { document: String::from_utf8(ran.stdout).expect("a document is text"), complaints }
}

/// Steps through a page that has no other script, by its keys.
fn driven(chromium: &Path, recording: &Recording) -> Value {
    let page = page(recording);
    let (before, rest) = page.split_once("script-src '").expect("there is a policy");
    let (_, after) = rest.split_once(';').expect("more directives follow");
    let driver = DRIVER.replace("STEPS", &recording.steps.len().to_string());
    let page = format!("{before}script-src '{ANY_SCRIPT}';{after}")
        .replace("</body>", &format!("<script>{driver}</script></body>"));
    let loaded = load(chromium, &page, "");
    assert_eq!(loaded.complaints, Vec::<String>::new());
    let (_, report) = loaded.document.split_once("<pre id=\"report\">").expect("the driver reports");
    let report = report.split_once("</pre>").expect("it ends").0;
    let report = report.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", "\u{a0}").replace("&amp;", "&");
    serde_json::from_str(&report).expect("the report is JSON")
}

/// The messages in flight after a step, computed by removing received and lost ones.
pub fn in_flight(recording: &Recording, step: usize) -> Vec<String> {
    let mut flying: Vec<(NodeId, NodeId, &[u8])> = Vec::new();
    for (node, observed) in (0..).zip(&recording.init) {
        flying.extend(observed.sent.iter().map(|sent| (node, sent.to, &*sent.payload.0)));
    }
    for (taken, observed) in recording.trace.steps[..step].iter().zip(&recording.steps) {
        let mut gone = taken.event.received();
        if let TraceEvent::Lose { from, payload } = &taken.event {
            gone.push((*from, &payload.0));
        }
        for (from, payload) in gone {
            let place = flying.iter().position(|it| *it == (from, taken.node, payload)).expect("it is in flight");
            flying.remove(place);
        }
        flying.extend(observed.sent.iter().map(|sent| (taken.node, sent.to, &*sent.payload.0)));
    }
    let said = |(from, to, payload): (NodeId, NodeId, &[u8])| format!("{from} -> {to}: {}", recording.message(payload));
    let mut said: Vec<String> = flying.into_iter().map(said).collect();
    said.sort();
    said
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Compares the contents of the page in a step with the recording.
#[track_caller]
fn compare(recording: &Recording, seen: &Value, step: usize) {
    assert_eq!(seen["present"], format!("step {step} of {}", recording.steps.len()));
    // Rows out of sight are not drawn, and nothing scrolls here.
    assert!(seen["row"] == json!([]) || seen["row"] == json!([step.to_string()]), "step {step}: {}", seen["row"]);
    let event = if step == 0 { "start".to_owned() } else { recording.event(step) };
    assert_eq!(seen["event"], event);
    let mut flying: Vec<String> =
        list(&seen["flight"]).iter().filter_map(Value::as_str).map(|it| it.replacen(" \u{2192} ", " -> ", 1)).collect();
    flying.sort_unstable();
    let expected: Vec<String> = in_flight(recording, step).iter().map(|it| it.replacen(": ", " ", 1)).collect();
    assert_eq!(flying, expected, "step {step}");
    assert_eq!(list(&seen["strips"]).len(), recording.properties.len());
    if step == 0 {
        return;
    }
    // The counting field, before and after.
    let node = recording.trace.steps[step - 1].node;
    let count =
        |step: usize| recording.observed(node, step).description.as_ref().map(|it| it["Running"]["state"].clone());
    let (before, now) = (count(recording.step_before(step, node)), count(step));
    let (Some(before), Some(now)) = (before, now) else { return };
    let changed: Vec<&Value> =
        list(&seen["tree"]).iter().filter(|row| row[1] == "state:" && !row[2].is_null()).collect();
    match before == now {
        true => assert_eq!(changed, Vec::<&Value>::new(), "step {step}"),
        false => assert_eq!(
            (&changed[0][2], &changed[0][3]),
            (&json!(before.to_string()), &json!(now.to_string())),
            "step {step}"
        ),
    }
}

#[test]
fn a_page_shows_the_step_that_its_address_names() {
    let Some(chromium) = chromium() else { return };
    let recording = recording();
    let loaded = load(&chromium, &page(&recording), "#step-3");
    assert_eq!(loaded.complaints, Vec::<String>::new());
    assert!(loaded.document.contains(">step 3 of 6</span>"), "{}", loaded.document);
    // Without its policy, a request of the page is noticed: so the check above can fail.
    let asking = page(&recording).replace("</body>", "<img src=\"http://x.invalid/y\"></body>");
    assert!(!load(&chromium, &asking, "").complaints.is_empty());
    let (before, rest) = asking.split_once("<meta http-equiv").expect("there is a policy");
    let free = format!("{before}<meta name=\"none\"{}", rest.split_once("policy").map_or(rest, |(_, rest)| rest));
    assert!(load(&chromium, &free, "").complaints.iter().any(|it| it.contains("x.invalid")));
}

/// A page that the program writes has every step, however many they are, up to its size.
#[test]
fn a_page_of_many_steps_has_each_of_them() {
    const STEPS: usize = 1_200;
    let toy = Arc::new(Toy::new(2).rule(0, 0, ToyTrigger::Local(1), 0, &[]));
    let mut trace = recording().trace;
    (trace.scenario, trace.finding) = (Scenario::new(2), None);
    let step = TraceStep { sent: None, state: None, ..trace.steps[0].clone() };
    trace.steps = vec![step; STEPS];
    let recording = walks::executed(&toy, &trace);
    let page = page(&recording);
    assert_eq!(data(&page)["session"]["line"].as_array().map(Vec::len), Some(STEPS + 1));
    let Some(chromium) = chromium() else { return };
    for at in [STEPS, 650] {
        let loaded = load(&chromium, &page, &format!("#step-{at}"));
        assert_eq!(loaded.complaints, Vec::<String>::new());
        assert!(loaded.document.contains(&format!(">step {at} of {STEPS}</span>")), "step {at}");
    }
}

#[test]
fn keys_lead_through_a_trace() {
    let Some(chromium) = chromium() else { return };
    let mut compared = 0;
    for seed in [0, 1, 2, 5] {
        let toy = Arc::new(Toy::random(seed, 3));
        let mut recording = walks::executed(&toy, &walks::trace(&toy, seed));
        described(&mut recording);
        let steps = recording.steps.len();
        let report = driven(&chromium, &recording);
        compare(&recording, &report["first"], steps);
        for (step, seen) in list(&report["steps"]).iter().enumerate() {
            compare(&recording, seen, step);
            compared += 1;
        }
        for (key, step) in [("G", steps), ("k", steps - 1), ("g", 0)] {
            compare(&recording, &report["keys"][key], step);
        }
    }
    assert!(compared > 40, "{compared} steps test little");
}

#[test]
fn no_text_of_others_becomes_markup_or_code() {
    let Some(chromium) = chromium() else { return };
    let recording = hostile();
    let report = driven(&chromium, &recording);
    // The data, the page's script, and the driver.
    assert_eq!(report["scripts"], 3);
    let harmless = driven(&chromium, &super::sample::recording());
    let others: Vec<&Value> =
        list(&report["elements"]).iter().filter(|it| !list(&harmless["elements"]).contains(it)).collect();
    assert!(others.is_empty(), "elements that a page of harmless texts does not have: {others:?}");
    let text = report["text"].as_str().expect("a text");
    assert!(text.contains("<script>alert(1)</script>"), "it is shown");
    let acting: Vec<char> =
        text.chars().filter(|it| host_inspect::escape::acts(*it) && *it != '\n' && *it != '\t').collect();
    assert!(acting.is_empty() && HOSTILE.chars().any(host_inspect::escape::acts), "{acting:?}");
}
