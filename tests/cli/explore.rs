//! `host explore` over HTTP: the requests of its page.
//!
//! | module | what it holds |
//! |---|---|
//! | `api` | docs/explore-api.md, written from the sources of the server |
//! | `browser` | the page of a running session in Chromium |
//! | `clusters` | clusters of all kinds: nodes that differ, networks, absent nodes, long traces |
//! | `counting` | the cost of requests, in reads of a clock |
//! | `full` | a full disk, and a limit on the size of files, while something is saved |
//! | `maps` | the states within reach of the cluster and of one node |
//! | `scenarios` | moments that are saved as tests |
//! | `searching` | searches from a moment, random seeds, different ends |

mod api;
mod browser;
mod clusters;
mod counting;
mod full;
mod maps;
mod scenarios;
mod searching;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use host_sandbox::fixtures;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::golden::repository;
use super::{Place, program};

/// A running session.
struct Page {
    /// None for a session in this process.
    child: Option<Child>,
    host: String,
    token: String,
}

impl Page {
    /// Starts `host explore` with arguments; none if the program is not built.
    fn of(place: &Place, arguments: &[&str]) -> Option<Self> {
        Self::building_into(place, arguments, None)
    }

    /// The same with a folder in which cargo builds.
    fn building_into(place: &Place, arguments: &[&str], target: Option<&Path>) -> Option<Self> {
        let mut command = Command::new(program()?);
        command.arg("explore").args(arguments).envs(target.map(|target| ("CARGO_TARGET_DIR", target)));
        Some(Self::begun(place, command))
    }

    /// The session that a command begins.
    fn begun(place: &Place, mut command: Command) -> Self {
        let said = place.path("said-by-explore.txt");
        let mut child = command
            .current_dir(place.path(place.standing))
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&said).expect("a temporary folder can be written"))
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("the address is text");
        assert!(line.ends_with('\n'), "no address: {}", std::fs::read_to_string(&said).unwrap_or_default());
        Self::at(&line, Some(child))
    }

    /// The session at a printed address.
    fn at(line: &str, child: Option<Child>) -> Self {
        let address = line.trim().strip_prefix("http://").unwrap_or_else(|| panic!("no address: {line:?}"));
        let (host, token) = address.trim_end_matches('/').split_once('/').expect("a token");
        let (host, token) = (host.to_owned(), token.to_owned());
        assert!(host.starts_with("127.0.0.1:"), "{host}");
        Self { child, host, token }
    }

    /// The process of the session.
    fn pid(&self) -> u32 {
        self.child.as_ref().expect("a process of its own").id()
    }

    /// Status, head and body of a request with these headers.
    fn raw(&self, request: &str, headers: &str, body: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(&self.host).expect("it listens");
        let length = body.len();
        let text =
            format!("{request} HTTP/1.1\r\n{headers}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}");
        stream.write_all(text.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers with text");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, head.to_owned(), body.to_owned())
    }

    /// The answer to a request that is repeated until a search ends.
    #[track_caller]
    fn searched(&self, place: u64, wanted: &Value) -> Value {
        let search = self.post(&format!("places/{place}/search"), wanted);
        loop {
            let progress = self.get(&format!("searches/{}", search["search"]));
            if progress["state"] != "running" {
                return progress;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// Takes the enabled event with this text, and of this kind unless that is none.
    #[track_caller]
    fn click(&self, place: u64, text: &str, kind: Option<&str>) -> u64 {
        let state = self.get(&format!("places/{place}"));
        let enabled = state["enabled"].as_array().expect("a list");
        let meant = |event: &&Value| event["text"] == text && kind.is_none_or(|kind| event["kind"] == kind);
        let event = enabled.iter().find(meant).unwrap_or_else(|| panic!("no event {text} in {enabled:?}"));
        self.take(place, event["action"].as_u64().expect("a number"))
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let request = format!("{method} /{}/api/v1/{path}", self.token);
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (status, _, answer) = self.raw(&request, &format!("Host: {}\r\n", self.host), &body);
        (status, serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{path}: {error} in {answer}")))
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        let (status, answer) = self.ask("GET", path, &Value::Null);
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.ask("POST", path, body);
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// Takes an action, and returns the place behind it.
    fn take(&self, place: u64, action: u64) -> u64 {
        let moved = self.post(&format!("places/{place}/take"), &json!({ "action": action, "outcome": 0 }));
        moved["place"].as_u64().expect("a place")
    }

    /// Ends the session by Ctrl-C.
    fn ends(mut self) {
        let pid = Pid::from_raw(self.pid().try_into().expect("a process"));
        kill(pid, Signal::SIGINT).expect("it runs");
        let status = self.child.take().expect("a process of its own").wait().expect("it ends");
        assert_eq!(status.code(), Some(0));
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // A failed test leaves no process behind; a process that has ended is no failure.
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().map(|item| item["text"].as_str().expect("a text")).collect()
}

/// From the beginning of Paxos with the bug, a search finds the violation; each of its states is the one that `host debug` shows.
#[test]
fn the_bug_of_paxos_is_found_and_every_state_is_what_the_debugger_shows() {
    let place = repository();
    let options = ["plugins/paxos", "--quiet", "--", "--set", "bug=last-response", "--set", "proposers=2"];
    let Some(page) = Page::of(&place, &options) else { return };
    let progress = page.searched(0, &json!({ "strategy": "unfold", "seconds": 600 }));
    assert_eq!(progress["state"], "done", "{progress}");
    let finding = &progress["findings"][0];
    // The decisive steps have marks: the fields that the violated property reads change there.
    let rings = finding["marks"].as_array().expect("marks").iter().filter(|mark| mark["kind"] == "ring");
    assert!(
        rings.clone().count() >= 2 && rings.clone().all(|mark| mark["text"].as_str().is_some_and(|it| !it.is_empty()))
    );
    let line: Vec<u64> = serde_json::from_value(finding["line"].clone()).expect("places");
    // plugins/paxos/scenarios/last-response.toml has that length.
    assert_eq!(line.len(), 18 + 1, "{finding}");
    let end = line[18];
    let violated = page.get(&format!("places/{end}"))["standings"][0].clone();
    assert_eq!((&violated["property"], &violated["standing"]), (&json!(0), &json!("violated")));
    assert_eq!(page.get(&format!("standings?to={end}"))["strips"][0], format!("{}v", "h".repeat(18)));
    assert_eq!(page.get(&format!("standings?to={end}&from=17"))["strips"][0], "hv");
    let saved = page.post(&format!("places/{end}/save"), &json!({ "path": "walked.json" }));
    assert_eq!(saved["text"], "18 steps in walked.json");
    let again = page.ask("POST", &format!("places/{end}/save"), &json!({ "path": "walked.json" }));
    assert_eq!(again.0, 409, "a file is not overwritten: {again:?}");
    // The naive reference: the other front end, at each step.
    let script: String = (0..=18).map(|step| format!("jump {step}\nenabled\nmessages\n")).collect();
    let debug = ["debug", "walked.json", "--plugin", "plugins/paxos", "--quiet"];
    let shown = place.host_reading(&debug, &script).exits(0).out;
    let parts: Vec<&str> = shown.split("> enabled\n").skip(1).collect();
    assert_eq!(parts.len(), 19);
    for (at, part) in line.iter().zip(&parts) {
        let (enabled, rest) = part.split_once("> messages\n").expect("both commands are echoed");
        let state = page.get(&format!("places/{at}"));
        let ours = state["enabled"].as_array().expect("a list").iter().filter(|it| it["kind"] != "lose");
        let ours: Vec<&str> = ours.map(|it| it["text"].as_str().expect("a text")).collect();
        let theirs = enabled.lines().filter_map(|line| line.split_once(". ")).map(|(_, event)| event);
        assert_eq!(ours, theirs.collect::<Vec<_>>(), "at place {at}");
        let flight = state["flight"].as_array().expect("a list");
        let theirs: Vec<&str> =
            rest.lines().filter(|line| line.contains(" -> node ")).filter(|line| !line.starts_with(' ')).collect();
        assert_eq!(flight.len(), theirs.len(), "at place {at}: {rest}");
        for (message, line) in flight.iter().zip(theirs) {
            let text = message["text"].as_str().expect("a text");
            assert!(line.ends_with(&format!("-> node {}: {text}", message["to"])), "{message} and {line}");
        }
    }
    // A link leads to the same place, in another session of the cluster as well, and to no place of another cluster.
    let fragment = page.get(&format!("places/{end}/link"))["fragment"].clone();
    assert_eq!(page.post("replay", &json!({ "fragment": fragment }))["place"], end);
    let Some(again) = Page::of(&place, &options) else { return };
    let moved = again.post("replay", &json!({ "fragment": fragment }));
    let state = again.get(&format!("places/{}", moved["place"]));
    assert_eq!(state["nodes"], page.get(&format!("places/{end}"))["nodes"]);
    assert_eq!(state["step"]["depth"], 18);
    again.ends();
    let Some(other) = Page::of(&place, &["plugins/paxos", "--quiet"]) else { return };
    let (status, refused) = other.ask("POST", "replay", &json!({ "fragment": fragment }));
    assert_eq!((status, &refused["error"]), (409, &json!("the link is of another cluster of this plugin")));
    let opened = page.post("open", &page.get(&format!("places/{end}/trace")));
    assert_eq!(opened["place"], end);
    other.ends();
    page.ends();
}

#[test]
fn only_the_page_reads_and_drives_it() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::ping_pong());
    let Some(page) = Page::of(&place, &["guest.wasm", "--quiet", "--", "--nodes", "2"]) else { return };
    let (host, token) = (page.host.clone(), page.token.clone());
    let ours = format!("Host: {host}\r\n");
    let (status, head, body) = page.raw(&format!("GET /{token}/"), &ours, "");
    assert_eq!(status, 200);
    let policy =
        "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';";
    assert!(head.contains(policy) && head.contains("referrer-policy: no-referrer"), "{head}");
    assert!(body.starts_with("<!doctype html>"), "{body}");
    for file in ["app.js", "app.css"] {
        assert_eq!(page.raw(&format!("GET /{token}/{file}"), &ours, "").0, 200, "{file}");
    }
    let wrong = "0".repeat(token.len());
    let take = r#"{"action":0,"outcome":0}"#;
    for (token, headers) in [
        (&wrong, ours.clone()),
        (&token[..31].to_owned(), ours.clone()),
        (&token, "Host: attacker.example\r\n".to_owned()),
        (&token, format!("{ours}Origin: http://attacker.example\r\n")),
        (&token, format!("{ours}Origin: null\r\n")),
        (&token, format!("{ours}Sec-Fetch-Site: cross-site\r\n")),
    ] {
        for request in
            ["GET /TOKEN/", "GET /TOKEN/app.js", "GET /TOKEN/api/v1/session", "POST /TOKEN/api/v1/places/0/take"]
        {
            let (status, _, body) = page.raw(&request.replace("TOKEN", token), &headers, take);
            assert_eq!(status, 403, "{request} {headers:?}");
            assert!(!body.contains("ping") && !body.contains("html"), "{body}");
        }
    }
    assert_eq!(page.get("tree").as_array().map(Vec::len), Some(1), "nothing was taken");
    for (method, path, body, expected) in [
        ("GET", "places/9", "", 404),
        ("GET", "places/x", "", 400),
        ("GET", "places/0/preview", "", 400),
        ("GET", "places/0/preview?action=99", "", 404),
        ("POST", "places/0/take", "{", 400),
        ("POST", "open", "{}", 409),
        ("POST", "places/0/save", r#"{"path":"../x.json"}"#, 400),
        ("POST", "places/0/save", r#"{"path":"/x.json"}"#, 400),
        ("POST", "probes", r#"{"expression":"1 +"}"#, 400),
        ("GET", "searches/1", "", 404),
        ("GET", "map?limit=0", "", 400),
        ("GET", "map?limt=5", "", 400),
        ("POST", "places/0/take", r#"{"action":0,"outcom":0}"#, 400),
        ("GET", "places/0/take", "", 404),
        ("GET", "nothing", "", 404),
        ("DELETE", "session", "", 404),
    ] {
        let (status, _, answer) = page.raw(&format!("{method} /{token}/api/v1/{path}"), &ours, body);
        assert_eq!(status, expected, "{method} {path}: {answer}");
        assert!(answer.contains("\"error\""), "{answer}");
    }
    page.ends();
}

/// A node that traps or loops is stuck. The session continues.
#[test]
fn a_plugin_that_traps_or_loops_ends_no_session() {
    for (guest, why) in [(fixtures::traps(), "unreachable"), (fixtures::loops(), "fuel")] {
        let place = Place::new();
        place.put("guest.wasm", guest);
        let Some(page) = Page::of(&place, &["guest.wasm", "--quiet", "--", "--nodes", "1"]) else { return };
        let mut at = 0;
        let stuck = loop {
            let state = page.get(&format!("places/{at}"));
            let stuck = state["nodes"][0]["stuck"].clone();
            if !stuck.is_null() {
                assert_eq!(state["enabled"], json!([]));
                break stuck;
            }
            assert!(at < 10, "nothing fails: {state}");
            at = page.take(at, 0);
        };
        assert!(stuck.as_str().is_some_and(|stuck| stuck.contains(why)), "{stuck}");
        assert_eq!(page.get("places/0")["nodes"][0]["stuck"], Value::Null);
        page.ends();
    }
}

/// Two tabs at different places, one of them far away.
#[test]
fn a_thousand_steps_in_one_tab_change_nothing_in_the_other() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::counts());
    let Some(page) = Page::of(&place, &["guest.wasm", "--quiet", "--", "--nodes", "1"]) else { return };
    let first = page.take(0, 0);
    let other = page.get(&format!("places/{first}"));
    let mut at = first;
    for _ in 1..1_000 {
        at = page.take(at, 0);
    }
    let line = page.get(&format!("line?to={at}"));
    assert_eq!(line.as_array().map(Vec::len), Some(1_001));
    let now = page.get(&format!("places/{first}"));
    for part in ["step", "nodes", "flight", "standings"] {
        assert_eq!(now[part], other[part], "{part}");
    }
    // The same step leads to the same place.
    assert_eq!(page.take(0, 0), first);
    assert_eq!(page.get(&format!("line?to={at}&from=998")).as_array().map(Vec::len), Some(3));
    let fragment = page.get(&format!("places/{at}/link"))["fragment"].clone();
    assert_eq!(page.post("replay", &json!({ "fragment": fragment }))["place"], at);
    page.ends();
}

/// A session that a test starts in this process by mistake ends by itself, as if by Ctrl-C.
#[test]
fn a_session_in_this_process_does_not_wait() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::ping_pong());
    let ran = place.host(&["explore", "guest.wasm", "--quiet", "--", "--nodes", "2"]).exits(0);
    assert!(ran.out.starts_with("http://127.0.0.1:"), "{ran:?}");
}

/// Names and texts of a plugin are text on the page: nothing in them acts, and the type of the answer is no document.
#[test]
fn hostile_names_are_escaped() {
    let hostile = "\n::error::forged\r\u{1b}[2J\u{9b}31m\u{202e}\u{2028}</title><script>\"'&";
    let place = Place::new();
    place.put("guest.wasm", fixtures::introduces(hostile));
    let Some(page) = Page::of(&place, &["guest.wasm", "--quiet", "--", "--nodes", "1"]) else { return };
    let (_, head, body) =
        page.raw(&format!("GET /{}/api/v1/session", page.token), &format!("Host: {}\r\n", page.host), "");
    assert!(
        head.contains("content-type: application/json") && head.contains("x-content-type-options: nosniff"),
        "{head}"
    );
    let session: Value = serde_json::from_str(&body).expect("JSON");
    let mut open = vec![session, page.get("places/0"), page.get("map?limit=3")];
    let mut seen = 0;
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.into_iter().map(|(_, value)| value)),
            Value::String(text) => {
                seen += usize::from(text.contains("forged"));
                let acts = |letter: char| {
                    (letter.is_control() && letter != '\n') || ['\u{202e}', '\u{2028}'].contains(&letter)
                };
                assert!(!text.contains(acts), "{text:?}");
            }
            _ => {}
        }
    }
    assert!(seen > 0, "the plugin says nothing hostile");
    page.ends();
}

/// A preview shows the changes that a step makes.
#[test]
fn a_preview_is_what_happens() {
    let place = repository();
    let Some(page) = Page::of(&place, &["plugins/paxos", "--quiet", "--", "--nodes", "3"]) else { return };
    let mut at = 0;
    for step in 0..6 {
        let preview = page.get(&format!("places/{at}/preview?action={}&outcome=0", step % 2));
        let before = at;
        at = page.take(at, step % 2);
        let state = page.get(&format!("places/{at}"));
        let node = preview["node"].as_u64().expect("a node") as usize;
        assert_eq!(preview["rows"], state["nodes"][node]["rows"], "step {step}");
        assert_eq!(preview["standings"], state["standings"], "step {step}");
        assert_eq!(texts(&preview["sent"]), texts(&state["step"]["event"]["sent"]), "step {step}");
        let known = page.get(&format!("places/{before}"));
        assert_eq!(known["enabled"][(step % 2) as usize]["outcomes"][0]["child"], at);
    }
    let probe = page.post("probes", &json!({ "expression": "nodes.map(n, n.Running.acceptor.promised)" }));
    let values = page.get(&format!("probes/{}?to={at}", probe["probe"]));
    assert_eq!(values["values"].as_array().map(Vec::len), Some(7));
    assert_eq!(values["values"][0], "[0, 0, 0]");
    page.ends();
}

/// A loss is taken like any event: the message is gone, no node changes, and the trace replays.
#[test]
fn a_lost_message_is_gone_and_changes_no_node() {
    let place = repository();
    let Some(page) = Page::of(&place, &["plugins/paxos", "--quiet", "--", "--nodes", "3"]) else { return };
    let at = page.take(0, 0);
    let before = page.get(&format!("places/{at}"));
    let enabled = before["enabled"].as_array().expect("a list");
    let losses: Vec<&Value> = enabled.iter().filter(|it| it["kind"] == "lose").collect();
    let flight = before["flight"].as_array().map(Vec::len).expect("a list");
    assert_eq!(losses.len(), flight, "each of the messages without an order can be lost: {enabled:?}");
    let lost = page.take(at, losses[1]["action"].as_u64().expect("a number"));
    let after = page.get(&format!("places/{lost}"));
    assert_eq!(after["flight"].as_array().map(Vec::len), Some(flight - 1));
    for node in after["nodes"].as_array().expect("a list") {
        assert!(node["rows"].as_array().expect("a list").iter().all(|row| row["mark"] == "same"), "{node}");
    }
    let received = &after["step"]["event"]["received"];
    assert_eq!((&received[0]["lost"], &received[0]["sent"]), (&json!(true), &json!(at)), "{received}");
    page.post(&format!("places/{lost}/save"), &json!({ "path": "lost.json" }));
    page.ends();
    let replayed =
        place.host(&["replay", "lost.json", "--plugin", "plugins/paxos", "--quiet", "--json"]).exits(0).json();
    assert_eq!(replayed["steps"].as_array().map(Vec::len), Some(2));
}

/// The naive reference of the last writer is the last step at which the value differs from that of the step before.
#[test]
fn the_last_writer_is_the_step_that_changed_the_value() {
    let place = repository();
    let options = ["plugins/paxos", "--quiet", "--", "--nodes", "3", "--set", "proposers=2"];
    let Some(page) = Page::of(&place, &options) else { return };
    let (mut line, mut compared) = (vec![0], 0);
    for step in 0..24 {
        let at = *line.last().expect("it has its beginning");
        let state = page.get(&format!("places/{at}"));
        let enabled = state["enabled"].as_array().expect("a list");
        // Each message in flight says whether it could be delivered.
        for (number, flying) in state["flight"].as_array().expect("a list").iter().enumerate() {
            let why = page.get(&format!("places/{at}/why?message={number}"));
            let text = flying["text"].as_str().expect("a text");
            let is_enabled = enabled.iter().any(|event| {
                event["kind"] == "deliver"
                    && event["node"] == flying["to"]
                    && event["text"].as_str().is_some_and(|it| it.ends_with(text))
            });
            assert_eq!(why["text"] == "it is enabled", is_enabled, "{why} of {flying}");
            assert_eq!(why["places"], json!([flying["sent"]]));
        }
        let actions: Vec<u64> = enabled
            .iter()
            .filter(|event| event["kind"] != "lose")
            .map(|event| event["action"].as_u64().expect("a number"))
            .collect();
        let Some(action) = actions.get(step * 7 % actions.len().max(1)) else { break };
        line.push(page.take(at, *action));
    }
    let end = *line.last().expect("it has its beginning");
    for path in ["Running.acceptor.promised", "Running.attempts", "Running.learner.chosen"] {
        let probe = page.post("probes", &json!({ "expression": format!("nodes.map(n, n.{path})") }));
        let values = page.get(&format!("probes/{}?to={end}", probe["probe"]))["values"].clone();
        let values: Vec<Vec<Value>> = (values.as_array().expect("a list").iter())
            .map(|text| serde_json::from_str(text.as_str().expect("a text")).expect("JSON"))
            .collect();
        let of = |node: usize, step: usize| &values[step][node];
        for node in 0..3 {
            let written = (1..line.len()).rev().find(|step| of(node, *step) != of(node, *step - 1));
            let answer = page.get(&format!("places/{end}/writer?node={node}&path={path}"));
            let event = page.get(&format!("places/{}", line[written.unwrap_or(0)]))["step"]["event"].clone();
            let sent = event["received"].as_array().into_iter().flatten().map(|message| message["sent"].clone());
            let wanted: Vec<Value> = std::iter::once(json!(line[written.unwrap_or(0)])).chain(sent).collect();
            assert_eq!(answer["places"], json!(wanted), "{path} of node {node}: {answer}");
            compared += u32::from(written.is_some());
        }
    }
    assert!(compared >= 4, "{compared} fields were written");
    page.ends();
}

/// A scenario begins where its run would, and one that cannot begin is refused before anything is served.
#[test]
fn a_scenario_is_explored_and_a_wrong_command_line_is_refused() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::ping_pong());
    place.put("three.toml", "plugin = \"guest.wasm\"\nnodes = 3\n");
    let Some(page) = Page::of(&place, &["three.toml", "--quiet"]) else { return };
    assert_eq!(page.get("session")["nodes"].as_array().map(Vec::len), Some(3));
    // The port of a session is taken by no other one.
    let port = page.host.rsplit(':').next().expect("a port").to_owned();
    let taken = place.host(&["explore", "three.toml", "--quiet", "--port", &port]).exits(151);
    assert_eq!(taken.out, "");
    taken.says(&[&format!("`--port {port}`: 127.0.0.1 cannot be listened on"), "choose another port"]);
    page.post("places/0/save", &json!({ "path": "begun.json" }));
    let with_options = place.host(&["explore", "begun.json", "--quiet", "--", "--nodes", "3"]).exits(151);
    with_options.says(&["brings its cluster along"]);
    page.ends();
}
