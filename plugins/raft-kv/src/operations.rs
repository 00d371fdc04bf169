//! Requests of operators: the status of a node, whether it is ready, and the end of its leadership.
//!
//! All have the empty key, so they take no name from the store.

use guest_sdk::{NodeId, Place, Request, Response};
use serde::Serialize;

use crate::{Index, Local, Role, State, Term, transfer};

/// The status of a node, as `GET /?status` answers it.
#[derive(Serialize)]
struct Status {
    role: &'static str,
    term: Term,
    leader: Option<NodeId>,
    /// The last index that the node has committed.
    commit: Index,
    /// The last index in its log.
    last: Index,
}

/// The event of a request of an operator, or its answer; nothing for another request.
pub(crate) fn accept(
    place: Place,
    state: &State,
    number: u64,
    request: &Request,
) -> Option<Result<(&'static str, Local), Response>> {
    let (method, query) = (request.method.as_str(), request.path.strip_prefix("/?")?);
    let reads = || match method {
        "GET" | "HEAD" => Ok(()),
        _ => Err(Response::new(405).body(format!("there is GET /?{query}\n"))),
    };
    Some(match query {
        "status" => Err(reads().map_or_else(|refusal| refusal, |()| status(place, state))),
        "ready" => Err(reads().map_or_else(|refusal| refusal, |()| ready(place, state))),
        "hand-over" if method != "POST" => Err(Response::new(405).body("there is POST /?hand-over\n")),
        "hand-over" => transfer::accept(state, number),
        _ => return None,
    })
}

/// The leader that a node knows.
fn leader(place: Place, state: &State) -> Option<NodeId> {
    match &state.role {
        Role::Leader { .. } => Some(place.me),
        Role::Follower { leader } => *leader,
        Role::Candidate { .. } | Role::Asking { .. } => None,
    }
}

fn status(place: Place, state: &State) -> Response {
    let role = match &state.role {
        Role::Leader { .. } => "leader",
        Role::Follower { .. } => "follower",
        Role::Candidate { .. } => "candidate",
        Role::Asking { .. } => "asking",
    };
    let (disk, leader) = (&state.disk, leader(place, state));
    let status = Status { role, term: disk.term, leader, commit: disk.commit, last: disk.log.last().index };
    let text = serde_json::to_string(&status).expect("text and numbers have a JSON form");
    Response::new(200).body(text + "\n")
}

/// A node is ready while it leads or knows a leader: then it answers requests, or names the node that does.
fn ready(place: Place, state: &State) -> Response {
    match leader(place, state) {
        Some(leader) => Response::new(200).body(format!("node {leader} leads\n")),
        None => Response::new(503).body("there is no leader now\n"),
    }
}
