//! Requests, and histories of them.

use guest_sdk::{Context, LocalEvent, LocalEvents, Request, Response};

use crate::answers::answer;
use crate::pieces::size;
use crate::{
    Bug, Command, Condition, Entry, Local, Message, Operation, Outcome, RaftKv, Range, Read, Role, State, Write, http,
    reads, replication,
};

/// The event that a request becomes, at a leader.
pub(crate) fn accept(
    protocol: &RaftKv,
    state: &State,
    number: u64,
    request: Request,
) -> Result<LocalEvent<Local>, Response> {
    let (name, operation) = http::operation(request, protocol.revisions)?;
    if operation.has_value() && is_full(protocol, state, operation.size()) {
        return Err(Response::new(507).body("the store is full: delete what it is not for, or raise `room`\n"));
    }
    match &state.role {
        Role::Leader { .. } => Ok(LocalEvent::application(name, Local::Request { number, operation })),
        Role::Follower { leader: Some(leader) } => Err(Response::ask(*leader)),
        _ => Err(Response::new(503).body("there is no leader now; try again\n")),
    }
}

/// Whether a leader has no room for `more` bytes, in addition to its store and to what is not committed yet.
fn is_full(protocol: &RaftKv, state: &State, more: usize) -> bool {
    let disk = &state.disk;
    let log: usize = disk.log.after(disk.commit).iter().map(size).sum();
    matches!(state.role, Role::Leader { .. }) && disk.store.size() + log + more > protocol.room
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
    let known = state.disk.store.items.get(&key());
    let mut may_ask = |name, operation| events.application(name, Local::Request { number, operation });
    if !protocol.revisions {
        may_ask("put", Operation::Put(key(), value));
        may_ask("get", Operation::Get(key()));
        if known.is_some() {
            may_ask("delete", Operation::Delete(key()));
        }
        return;
    }
    // A client that has read this node's store writes if that is still so.
    let condition = known.map_or(Condition::Absent, |item| Condition::Revision(item.revision));
    may_ask("swap", Operation::Write(Write { key: key(), value: Some(value), condition }));
    may_ask("range", Operation::Range(Range { prefix: "k".to_owned(), after: String::new(), limit: 2 }));
    if known.is_some() {
        let condition = Condition::None;
        may_ask("delete", Operation::Write(Write { key: key(), value: None, condition }));
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
        (Bug::ReadLocal, _) if operation.is_read() => {
            let outcome = operation.apply(&mut state.disk.store);
            return answer(ctx, state, number, outcome);
        }
        (Bug::AnswerEarly, _) if !operation.is_read() => answer(ctx, state, number, Outcome::Done),
        _ => {}
    }
    if protocol.reads_by_index && operation.is_read() {
        return reads::take(protocol, ctx, state, Read { number, operation });
    }
    let operation = match operation {
        Operation::Write(write) if protocol.bug == Bug::CompareEarly => match write.unmet(&state.disk.store) {
            Some(outcome) => return answer(ctx, state, number, outcome),
            None => Operation::Write(Write { condition: Condition::None, ..write }),
        },
        operation => operation,
    };
    let command = Command { node: ctx.me(), number, operation };
    replication::take(protocol, ctx, state, Entry { term: state.disk.term, command: Some(command) });
}
