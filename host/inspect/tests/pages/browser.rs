//! What the script of a page makes of it, in Chromium without a window: `CHROMIUM` names it, or it is one of the programs in `PATH`.
//!
//! Where there is none, the tests say so and check nothing.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use host_inspect::course;
use host_inspect::explain;
use host_inspect::recording::Recording;
use host_model::contract::NodeId;
use host_model::toys::Toy;
use host_model::trace::TraceEvent;
use serde_json::{Value, json};

use super::content::{HOSTILE, hostile};
use super::sample::{described, page, recording};
use super::walks;

/// Goes through a page by its keys, and leaves what it has seen behind.
const DRIVER: &str = r##"
const all = (query) => [...document.querySelectorAll(query)];
const press = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const text = (id) => document.getElementById(id).textContent;
const part = (row, query) => (row.querySelector(query) || { textContent: null }).textContent;
const seen = () => ({
  hash: location.hash, place: text("place"), event: text("event"), badges: text("badges"), whose: text("whose"), flying: text("flying"),
  effects: all("#effects li").map((line) => line.textContent),
  tree: all("#tree .tree-row").map((row) => [row.className, part(row, ".field"), part(row, "del"), part(row, ":scope > :last-child")]),
  flight: all("#flight li").map((line) => [line.className, part(line, ":scope > :nth-child(2)")]),
  strips: all(".strip .now").map((now) => now.textContent),
  shown: all("#drawing .now-shown").map((sign) => sign.id), off: all("[data-kind].off").length,
  items: all("#steps > .now-shown").map((item) => item.dataset.step),
});
const report = { first: seen(), steps: [], keys: {} };
press("g");
for (let step = 0; step <= STEPS; step += 1) { report.steps.push(seen()); press("j"); }
for (const key of ["G", "k", "n", "p", "f", "g", "Home", "End", "ArrowUp", "ArrowDown"]) { press(key); report.keys[key] = seen(); }
all("#drawing a")[1].dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
report.clicked = seen();
press("h");
report.hidden = seen();
press("g");
const visited = [];
for (let step = 0; step <= STEPS; step += 1) { press("j"); visited.push(location.hash); }
report.visited = visited;
press("H");
report.again = seen();
report.scripts = document.scripts.length;
report.elements = [...new Set(all("*").map((element) => element.localName))].sort();
report.text = document.body.innerText;
const left = document.createElement("pre");
left.id = "report";
left.textContent = JSON.stringify(report);
document.body.append(left);
"##;

/// What a policy says that allows any script. Put together, so that this file does not have the keyword of the same name.
const ANY_SCRIPT: &str = concat!("un", "safe-inline");

/// Chromium, if there is one.
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

/// What became of a page.
struct Loaded {
    /// The document after the script.
    document: String,
    /// What was written to the console, and each address that was asked for but the page itself.
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
    // Nothing leaves this machine even if a page asks for it.
    command.arg("--host-resolver-rules=MAP * ~NOTFOUND");
    command.arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
    command.arg(format!("--log-net-log={}", log.display()));
    command.arg(format!("file://{}{place}", file.display()));
    let ran = command.output().expect("Chromium runs");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "Chromium fails: {said}");
    let mut complaints: Vec<String> = said.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect();
    let requests = std::fs::read_to_string(&log).expect("Chromium logs requests");
    let asked = requests.split("\"url\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    complaints.extend(asked.filter(|url| url.contains(".invalid") || url.contains("localhost")).map(str::to_owned));
    Loaded { document: String::from_utf8(ran.stdout).expect("a document is text"), complaints }
}

/// Goes through a page that has no other script, by its keys.
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

/// The messages in flight after a step, by taking away what is received and lost.
fn in_flight(recording: &Recording, step: usize) -> Vec<String> {
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
    let said = |(from, to, payload): (NodeId, NodeId, &[u8])| {
        format!("node {from} → node {to}: {}", recording.message(payload))
    };
    let mut said: Vec<String> = flying.into_iter().map(said).collect();
    said.sort();
    said
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Compares what the script shows in a step with the recording.
#[track_caller]
fn compare(recording: &Recording, seen: &Value, step: usize) {
    let steps = recording.steps.len();
    assert_eq!(seen["hash"], format!("#step-{step}"));
    assert_eq!(seen["place"], if step == 0 { "start".to_owned() } else { format!("step {step} of {steps}") });
    let node = if step == 0 { 0 } else { recording.trace.steps[step - 1].node };
    let since = if step == 0 { "since the start" } else { "before and after" };
    assert_eq!(seen["whose"], format!("State of node {node}, {since}"), "step {step}");
    if step > 0 {
        assert_eq!(seen["event"], format!("{step}. {}", recording.event(step)));
        assert_eq!(seen["effects"], json!(explain::lines(recording, step)));
        assert_eq!(seen["shown"], json!([format!("event-{step}")]));
    }
    assert_eq!(seen["items"], json!([step.to_string()]));
    let words: Vec<String> = (course::grouped(&recording.courses, &recording.properties, &recording.names).iter())
        .map(|(_, course)| course.after(step))
        .map(|standing| match course::why(standing) {
            "" => course::word(standing).to_owned(),
            why => format!("{}: {why}", course::word(standing)),
        })
        .collect();
    assert_eq!(seen["strips"], json!(words), "step {step}");
    let flying = list(&seen["flight"]).iter().filter(|row| row[0] != "removed");
    let mut flying: Vec<&str> =
        flying.filter_map(|row| row[1].as_str()?.rsplit_once(", of ").map(|(said, _)| said)).collect();
    flying.sort_unstable();
    assert_eq!(flying, in_flight(recording, step), "step {step}");
    assert_eq!(seen["flying"], format!("In flight: {}", flying.len()));
    // The field that counts, before and after.
    let count =
        |step: usize| recording.observed(node, step).description.as_ref().map(|it| it["Running"]["state"].clone());
    let Some(now) = count(step) else { return };
    let before = if step == 0 { Some(now.clone()) } else { count(recording.step_before(step, node)) };
    let row = list(&seen["tree"]).iter().find(|row| row[1] == "state:").expect("the field is there");
    assert_eq!(row[3], now.to_string(), "step {step}");
    let old = before.filter(|before| *before != now).map(|before| before.to_string());
    assert_eq!(row[2], json!(old), "step {step}");
    assert_eq!(row[0], if old.is_some() { "tree-row changed" } else { "tree-row same" });
}

#[test]
fn a_page_shows_the_step_that_its_address_names() {
    let Some(chromium) = chromium() else { return };
    let recording = recording();
    let loaded = load(&chromium, &page(&recording), "#step-3");
    assert_eq!(loaded.complaints, Vec::<String>::new());
    assert!(loaded.document.contains("<output id=\"place\">step 3 of 6</output>"));
    assert!(
        loaded
            .document
            .contains(&format!("<h2 id=\"event\">3. {}</h2>", host_inspect::escape::xml(&recording.event(3))))
    );
    // Without its policy, a request of the page is seen: what finds none above can find one.
    let asking = page(&recording).replace("</body>", "<img src=\"http://x.invalid/y\"></body>");
    assert!(!load(&chromium, &asking, "").complaints.is_empty());
    let (before, rest) = asking.split_once("<meta http-equiv").expect("there is a policy");
    let free = format!("{before}<meta name=\"none\"{}", rest.split_once("policy").map_or(rest, |(_, rest)| rest));
    assert!(load(&chromium, &free, "").complaints.iter().any(|it| it.contains("x.invalid")));
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
        for (key, step) in
            [("G", steps), ("k", steps - 1), ("g", 0), ("End", steps), ("ArrowUp", steps - 1), ("ArrowDown", steps)]
        {
            compare(&recording, &report["keys"][key], step);
        }
        let node = recording.trace.steps[steps - 2].node;
        for (key, node) in [("n", (node + 1) % 3), ("p", node), ("f", node)] {
            let whose = report["keys"][key]["whose"].as_str().expect("a text");
            assert!(whose.starts_with(&format!("State of node {node},")), "{key}: {whose}");
        }
        compare(&recording, &report["clicked"], 2);
    }
    assert!(compared > 40, "{compared} steps test little");
}

#[test]
fn hidden_kinds_are_passed_over() {
    let Some(chromium) = chromium() else { return };
    let recording = recording();
    let report = driven(&chromium, &recording);
    // The second step receives a message 07, as the third one does; the fourth one loses it.
    assert_eq!(report["clicked"]["hash"], "#step-2");
    assert_eq!(report["clicked"]["off"], 0);
    assert!(report["hidden"]["off"].as_u64() > Some(6), "arrows, names, signs and items: {}", report["hidden"]["off"]);
    assert_eq!(report["visited"], json!(["#step-1", "#step-5", "#step-6", "#step-6", "#step-6", "#step-6", "#step-6"]));
    assert_eq!(report["again"]["off"], 0);
    // A copy is in flight again once the first one was received.
    let flight = |step: usize| report["steps"][step]["flight"].clone();
    let expected = [
        ["removed", "node 0 → node 1: 07, of step 1"],
        ["added", "node 0 → node 1: 07, of step 1, again"],
        ["same", "node 0 → node 2: 07, of step 1"],
        ["added", "node 1 → node 0: 09, of step 2"],
    ];
    assert_eq!(flight(2), json!(expected));
}

#[test]
fn no_text_of_others_becomes_markup_or_code() {
    let Some(chromium) = chromium() else { return };
    let recording = hostile();
    let report = driven(&chromium, &recording);
    // The data, the script, and what drives it.
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
