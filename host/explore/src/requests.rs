//! The requests of the API: one row each. The router, the refusal of unknown parameters and docs/explore-api.md come from these rows.
//!
//! | module | what it holds |
//! |---|---|
//! | `tests` | the rows and the fields of their bodies |

use serde::Deserialize;

use crate::engine::{Engine, Wanted};
use crate::refused::{Answer, Refused};
use crate::words::{Job, Words};

/// The defaults for the seconds of a search and for the states of a map.
const SECONDS: u64 = 60;
const STATES: usize = 5_000;

/// A parameter behind the path, or a field of the body.
pub struct Given {
    /// Its name.
    pub name: &'static str,
    /// Its meaning, with the unit, the bounds and the default.
    pub means: &'static str,
}

/// A request.
pub struct Request {
    /// The method of HTTP.
    pub method: &'static str,
    /// The path behind the version; a capital letter is a number.
    pub path: &'static str,
    /// The parameters behind the path.
    pub query: &'static [Given],
    /// The fields of the body, an object of JSON.
    pub body: &'static [Given],
    /// The answer: a shape, a list of a shape, or fields in braces.
    pub answer: &'static str,
    /// The effect, as a sentence.
    pub does: &'static str,
    /// Its job, with the number in the path.
    pub(crate) job: fn(&Words<'_>, usize) -> Result<Job, Refused>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Take {
    action: usize,
    #[serde(default)]
    outcome: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Name {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Save {
    path: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fragment {
    fragment: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expression {
    expression: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    strategy: String,
    seconds: Option<u64>,
    depth: Option<u32>,
    seeds: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Go {
    state: usize,
    limit: Option<usize>,
}

const TO: Given = Given { name: "to", means: "the place at the end of the branch" };
const FROM: Given = Given { name: "from", means: "the first step, counted from 0, the beginning; 0 by default" };
const LIMIT: Given = Given { name: "limit", means: "the maximum number of states, 1 to 20,000; 5,000 by default" };
const ACTION: Given = Given { name: "action", means: "the number of the event, `action` of an `Enabled`" };
const OUTCOME: Given =
    Given { name: "outcome", means: "the number of its outcome, `outcome` of an `Outcome`; 0 by default" };

/// All requests.
pub const REQUESTS: &[Request] = &[
    Request {
        method: "GET",
        path: "session",
        query: &[],
        body: &[],
        answer: "Session",
        does: "The cluster, the place at which the page begins, and the branch that it shows.",
        job: |_, _| job_of(|engine| engine.session()),
    },
    Request {
        method: "GET",
        path: "places/P",
        query: &[],
        body: &[],
        answer: "State",
        does: "The state of the cluster at a place, and the enabled events.",
        job: |_, place| job_of(move |engine| engine.state(place)),
    },
    Request {
        method: "GET",
        path: "places/P/preview",
        query: &[ACTION, OUTCOME],
        body: &[],
        answer: "Preview",
        does: "The effects of an enabled event, which is not taken.",
        job: |words, place| {
            let (action, outcome) = (words.number("action")?, words.number_or("outcome", 0)?);
            job_of(move |engine| engine.preview(place, action, outcome))
        },
    },
    Request {
        method: "POST",
        path: "places/P/take",
        query: &[],
        body: &[ACTION, OUTCOME],
        answer: "Moved",
        does: "Takes an enabled event. `line` begins at this place; the same event leads to the same place again.",
        job: |words, place| {
            let Take { action, outcome } = words.json()?;
            job_of(move |engine| engine.take(place, action, outcome))
        },
    },
    Request {
        method: "GET",
        path: "line",
        query: &[TO, FROM],
        body: &[],
        answer: "Step[]",
        does: "The steps of the branch to a place.",
        job: |words, _| {
            let (to, from) = (words.number("to")?, words.number_or("from", 0)?);
            job_of(move |engine| engine.line(to, from))
        },
    },
    Request {
        method: "GET",
        path: "tree",
        query: &[Given { name: "from", means: "the first place; 0 by default" }],
        body: &[],
        answer: "Step[]",
        does: "All places of the session, in the order of their creation.",
        job: |words, _| {
            let from = words.number_or("from", 0)?;
            job_of(move |engine| engine.tree(from))
        },
    },
    Request {
        method: "GET",
        path: "standings",
        query: &[TO, FROM],
        body: &[],
        answer: "Strips",
        does: "The standing of each property at each step of the branch to a place.",
        job: |words, _| {
            let (to, from) = (words.number("to")?, words.number_or("from", 0)?);
            job_of(move |engine| engine.strips(to, from))
        },
    },
    Request {
        method: "GET",
        path: "diff",
        query: &[Given { name: "one", means: "a place" }, Given { name: "other", means: "another place" }],
        body: &[],
        answer: "Difference",
        does: "The difference of two places.",
        job: |words, _| {
            let (one, other) = (words.number("one")?, words.number("other")?);
            job_of(move |engine| engine.diff(one, other))
        },
    },
    Request {
        method: "GET",
        path: "places/P/why",
        query: &[
            Given { name: "message", means: "the index of a message in `flight` of the state" },
            Given { name: "event", means: "in place of it: words of an event, regardless of case" },
        ],
        body: &[],
        answer: "Why",
        does: "The reason why a message is not delivered here, or why no event with these words is enabled.",
        job: |words, place| match words.query.get("event").cloned() {
            Some(event) => job_of(move |engine| engine.why_event(place, &event)),
            None => {
                let message = words.number("message")?;
                job_of(move |engine| engine.why_message(place, message))
            }
        },
    },
    Request {
        method: "GET",
        path: "places/P/writer",
        query: &[
            Given { name: "node", means: "the node" },
            Given { name: "path", means: "the field: names and indices joined by points; the whole state by default" },
        ],
        body: &[],
        answer: "Why",
        does: "The last step that changed a field, and the steps that sent what it received.",
        job: |words, place| {
            let node = words.number("node")?;
            let path = words.query.get("path").cloned().unwrap_or_default();
            job_of(move |engine| engine.writer(place, node, &path))
        },
    },
    Request {
        method: "POST",
        path: "places/P/name",
        query: &[],
        body: &[Given { name: "name", means: "the name, at most 200 letters; an empty one takes the name away" }],
        answer: "Step",
        does: "Names a place.",
        job: |words, place| {
            let Name { name } = words.json()?;
            job_of(move |engine| engine.name(place, &name))
        },
    },
    Request {
        method: "POST",
        path: "places/P/save",
        query: &[],
        body: &[Given { name: "path", means: "a new file `*.json` below the folder in which `host explore` runs" }],
        answer: "{ text }",
        does: "Writes the trace to a place, with the finding there.",
        job: |words, place| {
            let Save { path } = words.json()?;
            job_of(move |engine| engine.save(place, &path))
        },
    },
    Request {
        method: "POST",
        path: "places/P/scenario",
        query: &[],
        body: &[Given {
            name: "path",
            means: "a new file `*.toml` below that folder; the trace is written next to it",
        }],
        answer: "{ text }",
        does: "Writes a test of the violation at a place, which `host test` runs.",
        job: |words, place| {
            let Save { path } = words.json()?;
            job_of(move |engine| engine.save_scenario(place, &path))
        },
    },
    Request {
        method: "GET",
        path: "places/P/trace",
        query: &[],
        body: &[],
        answer: "trace",
        does: "The trace to a place, as `save` writes it.",
        job: |_, place| job_of(move |engine| engine.trace(place)),
    },
    Request {
        method: "POST",
        path: "open",
        query: &[],
        body: &[],
        answer: "Moved",
        does: "Adds a trace of the same cluster as a branch. The body is the trace.",
        job: |words, _| {
            let body = words.body.to_vec();
            job_of(move |engine| engine.open(&body))
        },
    },
    Request {
        method: "GET",
        path: "places/P/link",
        query: &[],
        body: &[],
        answer: "{ fragment }",
        does: "The link to a place, for `replay` and for the address of the page behind `#`.",
        job: |_, place| job_of(move |engine| engine.link(place)),
    },
    Request {
        method: "POST",
        path: "replay",
        query: &[],
        body: &[Given { name: "fragment", means: "a link of this cluster, from any session" }],
        answer: "Moved",
        does: "Goes where a link leads.",
        job: |words, _| {
            let Fragment { fragment } = words.json()?;
            job_of(move |engine| engine.replay(&fragment))
        },
    },
    Request {
        method: "POST",
        path: "probes",
        query: &[],
        body: &[Given { name: "expression", means: "an expression of the language of `--always`" }],
        answer: "{ probe }",
        does: "Adds an expression. The answer is its number.",
        job: |words, _| {
            let Expression { expression } = words.json()?;
            job_of(move |engine| engine.probe(&expression))
        },
    },
    Request {
        method: "GET",
        path: "probes/N",
        query: &[TO, FROM],
        body: &[],
        answer: "Probe",
        does: "The values of an expression at the steps of the branch to a place. An answer ends after about a second, with one value at \
least.",
        job: |words, probe| {
            let (to, from) = (words.number("to")?, words.number_or("from", 0)?);
            job_of(move |engine| engine.values(probe, to, from))
        },
    },
    Request {
        method: "DELETE",
        path: "probes/N",
        query: &[],
        body: &[],
        answer: "{}",
        does: "Takes an expression away.",
        job: |_, probe| job_of(move |engine| engine.forget(probe)),
    },
    Request {
        method: "POST",
        path: "places/P/search",
        query: &[],
        body: &[
            Given { name: "strategy", means: "one of `strategies` of the session" },
            Given { name: "seconds", means: "the time, 1 to 86,400 seconds; 60 by default" },
            Given {
                name: "depth",
                means: "the maximum number of events on a path, from the beginning; none by default",
            },
            Given { name: "seeds", means: "1 to 100,000 random walks in place of the strategy; none by default" },
        ],
        answer: "{ search }",
        does: "Begins a search from a place. The answer is its number.",
        job: |words, place| {
            let Search { strategy, seconds, depth, seeds } = words.json()?;
            let wanted = Wanted { strategy, seconds: seconds.unwrap_or(SECONDS), depth, seeds };
            job_of(move |engine| engine.search(place, &wanted))
        },
    },
    Request {
        method: "GET",
        path: "searches/N",
        query: &[],
        body: &[],
        answer: "Search",
        does: "The progress of a search. Its findings are branches.",
        job: |_, search| job_of(move |engine| engine.searched(search)),
    },
    Request {
        method: "DELETE",
        path: "searches/N",
        query: &[],
        body: &[],
        answer: "Search",
        does: "Stops a search. Its findings remain.",
        job: |_, search| job_of(move |engine| engine.stop(search)),
    },
    Request {
        method: "GET",
        path: "map",
        query: &[LIMIT],
        body: &[],
        answer: "StateMap",
        does: "The states within reach of the beginning, breadth first, and the steps between them. An exploration ends after 20 seconds.",
        job: |words, _| {
            let limit = words.number_or("limit", STATES)?;
            job_of(move |engine| engine.map(limit))
        },
    },
    Request {
        method: "POST",
        path: "map/go",
        query: &[],
        body: &[Given { name: "state", means: "the index of a state in `states` of the map" }, LIMIT],
        answer: "Moved",
        does: "Goes to a state of the map with this limit, by the first path that leads there.",
        job: |words, _| {
            let Go { state, limit } = words.json()?;
            job_of(move |engine| engine.go(state, limit.unwrap_or(STATES)))
        },
    },
    Request {
        method: "GET",
        path: "local",
        query: &[
            Given { name: "node", means: "the node" },
            Given { name: "at", means: "the place whose state is `here`; 0 by default" },
            LIMIT,
        ],
        body: &[],
        answer: "StateMap",
        does: "The states of one node in the map with this limit and at the places of the session.",
        job: |words, _| {
            let (node, at) = (words.number("node")?, words.number_or("at", 0)?);
            let limit = words.number_or("limit", STATES)?;
            job_of(move |engine| engine.local_graph(node, at, limit))
        },
    },
];

fn job_of(job: impl for<'l> FnOnce(&mut Engine<'l>) -> Answer + Send + 'static) -> Result<Job, Refused> {
    Ok(Box::new(job))
}

#[cfg(test)]
mod tests;
