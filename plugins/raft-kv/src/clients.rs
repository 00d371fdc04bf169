//! Requests, and histories of them.

use guest_sdk::{Context, LocalEvent, LocalEvents, Request, Response};

use crate::answers::answer;
use crate::pieces::size;
use crate::{Bug, Command, Entry, Local, Message, Operation, Outcome, RaftKv, Read, Role, State, reads, replication};

/// Bytes of the longest key and of the longest value.
const KEY_MAX: usize = 256;
const VALUE_MAX: usize = 64 << 10;

/// The event that a request becomes, at a leader.
pub(crate) fn accept(
    protocol: &RaftKv,
    state: &State,
    number: u64,
    request: Request,
) -> Result<LocalEvent<Local>, Response> {
    let Request { method, path, body } = request;
    let key = path.trim_start_matches('/');
    if key.is_empty() {
        return Err(Response::new(404).body("name a key, as in /color\n"));
    }
    if key.len() > KEY_MAX || body.len() > VALUE_MAX {
        return Err(Response::new(413).body("a key has at most 256 bytes, a value 65536\n"));
    }
    let key = key.to_owned();
    let (name, operation) = match &method[..] {
        "GET" | "HEAD" => ("get", Operation::Get(key)),
        "PUT" if is_full(protocol, state, key.len() + body.len()) => {
            return Err(Response::new(507).body("the store is full: delete what it is not for, or raise `room`\n"));
        }
        "PUT" => ("put", Operation::Put(key, body)),
        "DELETE" => ("delete", Operation::Delete(key)),
        _ => return Err(Response::new(405).body("there are GET, PUT and DELETE\n")),
    };
    match &state.role {
        Role::Leader { .. } => Ok(LocalEvent::application(name, Local::Request { number, operation })),
        Role::Follower { leader: Some(leader) } => Err(Response::ask(*leader)),
        _ => Err(Response::new(503).body("there is no leader now; try again\n")),
    }
}

/// Whether a leader has no room for `more` bytes, in addition to its store and to what is not committed yet.
fn is_full(protocol: &RaftKv, state: &State, more: usize) -> bool {
    let disk = &state.disk;
    let store: usize = disk.store.iter().map(|(key, value)| key.len() + value.len()).sum();
    let log: usize = disk.log.after(disk.commit).iter().map(size).sum();
    matches!(state.role, Role::Leader { .. }) && store + log + more > protocol.room
}

/// Lists what clients can ask in a search: of a leader, one after the other, about one key.
pub(crate) fn list(protocol: &RaftKv, state: &State, events: &mut LocalEvents<Local>) {
    let is_leader = matches!(state.role, Role::Leader { .. });
    let waits = state.disk.history.as_ref().is_some_and(|history| history.is_pending());
    let number = state.disk.asked;
    if !is_leader || waits || number >= protocol.requests {
        return;
    }
    let key = || match number % protocol.keys.max(1) {
        0 => "k".to_owned(),
        other => format!("k{other}"),
    };
    let value = vec![events.me() as u8, number as u8];
    let put = Operation::Put(key(), value);
    events.application("put", Local::Request { number, operation: put });
    events.application("get", Local::Request { number, operation: Operation::Get(key()) });
    if state.disk.store.contains_key(&key()) {
        events.application("delete", Local::Request { number, operation: Operation::Delete(key()) });
    }
}

/// A client asks.
pub(crate) fn request(
    protocol: &RaftKv,
    ctx: &mut Context<Message>,
    state: &mut State,
    (number, operation): (u64, Operation),
) {
    if number == state.disk.asked {
        state.disk.asked += 1;
        if let Some(history) = &mut state.disk.history {
            history.call(operation.clone());
        }
    }
    if !matches!(state.role, Role::Leader { .. }) {
        // It did lead when the request came.
        ctx.answer(number, Response::new(503).body("there is another leader now; try again\n"));
        return;
    }
    match (protocol.bug, &operation) {
        (Bug::ReadLocal, Operation::Get(_)) => {
            let outcome = operation.apply(&mut state.disk.store);
            return answer(ctx, state, number, outcome);
        }
        (Bug::AnswerEarly, Operation::Put(..) | Operation::Delete(_)) => answer(ctx, state, number, Outcome::Done),
        _ => {}
    }
    if protocol.reads_by_index && matches!(operation, Operation::Get(_)) {
        return reads::take(protocol, ctx, state, Read { number, operation });
    }
    let command = Command { node: ctx.me(), number, operation };
    replication::take(protocol, ctx, state, Entry { term: state.disk.term, command: Some(command) });
}
