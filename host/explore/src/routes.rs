//! From the words of a request to a job for the engine.

use std::collections::BTreeMap;
use std::str::FromStr;

use host_inspect::page;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::engine::{Engine, Wanted};
use crate::refused::{Answer, Refused};

/// The work of the engine for a request.
pub type Job = Box<dyn for<'l> FnOnce(&mut Engine<'l>) -> Answer + Send>;

/// The words of a request.
pub struct Words<'r> {
    /// The method of HTTP.
    pub method: &'r str,
    /// The path behind the token.
    pub path: &'r str,
    /// The parameters behind the path.
    pub query: BTreeMap<String, String>,
    /// The body.
    pub body: &'r [u8],
}

/// The files of the page.
const FILES: [(&str, &str, &str); 3] = [
    ("", "text/html; charset=utf-8", page::DOCUMENT),
    ("app.js", "text/javascript; charset=utf-8", page::SCRIPT),
    ("app.css", "text/css; charset=utf-8", page::STYLE),
];

/// The defaults for the seconds of a search and for the states of a map.
const SECONDS: u64 = 60;
const STATES: usize = 5_000;

/// A file of the page and its type.
pub fn file(path: &str) -> Option<(&'static str, &'static str)> {
    FILES.iter().find(|(name, ..)| *name == path).map(|(_, kind, content)| (*kind, *content))
}

#[derive(Deserialize)]
struct Take {
    action: usize,
    #[serde(default)]
    outcome: usize,
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

#[derive(Deserialize)]
struct Save {
    path: String,
}

#[derive(Deserialize)]
struct Fragment {
    fragment: String,
}

#[derive(Deserialize)]
struct Expression {
    expression: String,
}

#[derive(Deserialize)]
struct Search {
    strategy: String,
    seconds: Option<u64>,
    depth: Option<u32>,
    seeds: Option<u64>,
}

#[derive(Deserialize)]
struct Go {
    state: usize,
    limit: Option<usize>,
}

/// The job of a request.
///
/// # Errors
///
/// There is no such request, or its parameters or body make no sense.
pub fn job(words: &Words<'_>) -> Result<Job, Refused> {
    let unknown = || Refused::missing(format_args!("there is no request {} {}", words.method, words.path));
    let path = words.path.strip_prefix("api/v1/").ok_or_else(unknown)?;
    let segments: Vec<&str> = path.split('/').collect();
    match (words.method, &segments[..]) {
        ("GET", ["session"]) => job_of(|engine| engine.session()),
        ("GET", ["line"]) => {
            let (to, from) = (words.number("to")?, words.number_or("from", 0)?);
            job_of(move |engine| engine.line(to, from))
        }
        ("GET", ["tree"]) => {
            let from = words.number_or("from", 0)?;
            job_of(move |engine| engine.tree(from))
        }
        ("GET", ["standings"]) => {
            let (to, from) = (words.number("to")?, words.number_or("from", 0)?);
            job_of(move |engine| engine.strips(to, from))
        }
        ("GET", ["diff"]) => {
            let (one, other) = (words.number("one")?, words.number("other")?);
            job_of(move |engine| engine.diff(one, other))
        }
        ("POST", ["open"]) => {
            let body = words.body.to_vec();
            job_of(move |engine| engine.open(&body))
        }
        ("POST", ["replay"]) => {
            let Fragment { fragment } = words.json()?;
            job_of(move |engine| engine.replay(&fragment))
        }
        ("GET", ["map"]) => {
            let limit = words.number_or("limit", STATES)?;
            job_of(move |engine| engine.map(limit))
        }
        ("GET", ["local"]) => {
            let (node, at) = (words.number("node")?, words.number_or("at", 0)?);
            let limit = words.number_or("limit", STATES)?;
            job_of(move |engine| engine.local_graph(node, at, limit))
        }
        ("POST", ["map", "go"]) => {
            let Go { state, limit } = words.json()?;
            job_of(move |engine| engine.go(state, limit.unwrap_or(STATES)))
        }
        (_, ["places", place, rest @ ..]) => at_place(words, number(place, "a place")?, rest).ok_or_else(unknown)?,
        (_, ["probes", rest @ ..]) => probes(words, rest).ok_or_else(unknown)?,
        (_, ["searches", number_of]) => {
            let search = number(number_of, "a search")?;
            match words.method {
                "GET" => job_of(move |engine| engine.searched(search)),
                "DELETE" => job_of(move |engine| engine.stop(search)),
                _ => Err(unknown()),
            }
        }
        _ => Err(unknown()),
    }
}

/// A request about a place.
fn at_place(words: &Words<'_>, place: usize, rest: &[&str]) -> Option<Result<Job, Refused>> {
    Some(match (words.method, rest) {
        ("GET", []) => job_of(move |engine| engine.state(place)),
        ("GET", ["preview"]) => words.number("action").and_then(|action| {
            let outcome = words.number_or("outcome", 0)?;
            job_of(move |engine| engine.preview(place, action, outcome))
        }),
        ("POST", ["take"]) => {
            words.json().and_then(|Take { action, outcome }| job_of(move |engine| engine.take(place, action, outcome)))
        }
        ("POST", ["name"]) => words.json().and_then(|Name { name }| job_of(move |engine| engine.name(place, &name))),
        ("POST", ["save"]) => words.json().and_then(|Save { path }| job_of(move |engine| engine.save(place, &path))),
        ("POST", ["scenario"]) => {
            words.json().and_then(|Save { path }| job_of(move |engine| engine.save_scenario(place, &path)))
        }
        ("GET", ["link"]) => job_of(move |engine| engine.link(place)),
        ("GET", ["trace"]) => job_of(move |engine| engine.trace(place)),
        ("GET", ["why"]) => match words.query.get("event").cloned() {
            Some(event) => job_of(move |engine| engine.why_event(place, &event)),
            None => {
                words.number("message").and_then(|message| job_of(move |engine| engine.why_message(place, message)))
            }
        },
        ("GET", ["writer"]) => words.number("node").and_then(|node| {
            let path = words.query.get("path").cloned().unwrap_or_default();
            job_of(move |engine| engine.writer(place, node, &path))
        }),
        ("POST", ["search"]) => words.json().and_then(|Search { strategy, seconds, depth, seeds }| {
            let wanted = Wanted { strategy, seconds: seconds.unwrap_or(SECONDS), depth, seeds };
            job_of(move |engine| engine.search(place, &wanted))
        }),
        _ => return None,
    })
}

/// A request about expressions.
fn probes(words: &Words<'_>, rest: &[&str]) -> Option<Result<Job, Refused>> {
    Some(match (words.method, rest) {
        ("POST", []) => {
            words.json().and_then(|Expression { expression }| job_of(move |engine| engine.probe(&expression)))
        }
        ("GET", [probe]) => number(probe, "an expression").and_then(|probe| {
            let to = words.number("to")?;
            job_of(move |engine| engine.values(probe, to))
        }),
        ("DELETE", [probe]) => {
            number(probe, "an expression").and_then(|probe| job_of(move |engine| engine.forget(probe)))
        }
        _ => return None,
    })
}

fn job_of(job: impl for<'l> FnOnce(&mut Engine<'l>) -> Answer + Send + 'static) -> Result<Job, Refused> {
    Ok(Box::new(job))
}

fn number<T: FromStr>(text: &str, what: &str) -> Result<T, Refused> {
    text.parse().map_err(|_| Refused::wrong(format_args!("{what} is a number, not `{text}`")))
}

impl Words<'_> {
    fn number<T: FromStr>(&self, name: &str) -> Result<T, Refused> {
        let text =
            self.query.get(name).ok_or_else(|| Refused::wrong(format_args!("the parameter `{name}` is missing")))?;
        number(text, &format!("`{name}`"))
    }

    fn number_or(&self, name: &str, default: usize) -> Result<usize, Refused> {
        if self.query.contains_key(name) { self.number(name) } else { Ok(default) }
    }

    fn json<T: DeserializeOwned>(&self) -> Result<T, Refused> {
        serde_json::from_slice(self.body)
            .map_err(|error| Refused::wrong(format_args!("the body is not as expected: {error}")))
    }
}
