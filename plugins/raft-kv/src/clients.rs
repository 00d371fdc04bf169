//! Requests, and histories of them.

use guest_sdk::{Context, LocalEvent, LocalEvents, Place, Request, Response};

use crate::answers::answer;
use crate::pieces::size;
use crate::{
    Bug, Command, Condition, Disk, Entry, Local, Message, Once, Operation, Outcome, RaftKv, Range, Read, Role,
    SessionId, State, Write, http, members, reads, replication, transfer,
};

/// The event of a request that is about keys.
pub(crate) fn accept(
    protocol: &RaftKv,
    state: &State,
    number: u64,
    request: Request,
) -> Result<(&'static str, Local), Response> {
    let (name, operation) = http::operation(protocol, request)?;
    if operation.has_value() && is_full(protocol, state, operation.size()) {
        return Err(Response::new(507).body("the store is full: delete what it is not for, or raise `room`\n"));
    }
    Ok((name, Local::Request { number, operation }))
}

/// The event at a leader; other nodes send the client there if they know it.
pub(crate) fn direct(
    place: Place,
    state: &State,
    name: &'static str,
    event: Local,
) -> Result<LocalEvent<Local>, Response> {
    match &state.role {
        Role::Leader { .. } if members::leaves(place.me, state) && matches!(event, Local::Request { .. }) => {
            Err(Response::new(503).body("the leader leaves the cluster; try again\n"))
        }
        Role::Leader { .. } if transfer::is_under_way(state) => Err(transfer::refusal()),
        Role::Leader { .. } => Ok(LocalEvent::application(name, event)),
        Role::Follower { leader: Some(leader) } => Err(Response::ask(*leader)),
        _ if !members::may_stand(place.me, &state.disk) => {
            Err(Response::new(503).body("this node is no member of the cluster, and hears none: ask another node\n"))
        }
        _ => Err(Response::new(503).body("there is no leader now; try again\n")),
    }
}

/// Whether a leader has no room for `more` bytes, in addition to its store and to what is not committed yet.
fn is_full(protocol: &RaftKv, state: &State, more: usize) -> bool {
    let disk = &state.disk;
    let log: usize = disk.log.after(disk.commit).iter().map(size).sum();
    matches!(state.role, Role::Leader { .. }) && state.used + log + more > protocol.room
}

/// Lists what clients can ask in a search: of a leader, one after the other, about one key.
pub(crate) fn list(protocol: &RaftKv, state: &State, events: &mut LocalEvents<Local>) {
    let is_leader = matches!(state.role, Role::Leader { .. }) && !members::leaves(events.me(), state);
    let (disk, number) = (&state.disk, state.disk.asked);
    if let Some(history) = disk.history.as_ref().filter(|history| history.is_pending()) {
        let last = history.operations().last().map(|last| last.call().clone());
        let knows_leader = is_leader || matches!(state.role, Role::Follower { leader: Some(_) });
        if let (Some(session), Some(write)) = (disk.client.session, last)
            && knows_leader
            && !write.is_read()
            && disk.client.repeated < protocol.repeats
        {
            let operation = of_session(session, number - disk.client.repeated, write);
            events.application("repeat", Local::Request { number, operation });
        }
        return;
    }
    let done = number - disk.client.repeated;
    let takes_requests = !transfer::is_under_way(state) || protocol.bug == Bug::ReadHandedOver;
    if !is_leader || !takes_requests || done >= protocol.requests {
        return;
    }
    if protocol.sessions > 0 && disk.client.session.is_none() {
        if number == 0 {
            events.application("open", Local::Request { number, operation: Operation::Open(protocol.sessions) });
        }
        return;
    }
    let key = || match number % protocol.keys.max(1) {
        0 => "k".to_owned(),
        other => format!("k{other}"),
    };
    let value = vec![events.me() as u8, number as u8];
    let known = disk.store.items.get(&key());
    let mut may_ask = |name, operation: Operation| {
        let operation = match disk.client.session {
            Some(session) if !operation.is_read() => of_session(session, done + 1, operation),
            _ => operation,
        };
        events.application(name, Local::Request { number, operation });
    };
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

fn of_session(session: SessionId, serial: u64, write: Operation) -> Operation {
    Operation::Once(Once { session, serial, write: Box::new(write) })
}

/// Counts a request, and notes its operation: a repeated one is the same operation of its client.
fn note(disk: &mut Disk, operation: &Operation) {
    disk.asked += 1;
    let Some(history) = &mut disk.history else { return };
    match operation {
        Operation::Open(_) => {}
        Operation::Once(_) if history.is_pending() => disk.client.repeated += 1,
        Operation::Once(once) => history.call((*once.write).clone()),
        operation => history.call(operation.clone()),
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
        note(&mut state.disk, &operation);
    }
    if let Role::Follower { leader: Some(leader) } = state.role
        && state.disk.history.is_some()
        && matches!(operation, Operation::Once(_))
    {
        // Its client repeats a write in a search.
        return ctx.send(leader, Message::Repeated { number, operation });
    }
    if !matches!(state.role, Role::Leader { .. }) || members::leaves(ctx.me(), state) {
        // It did lead when the request came.
        ctx.answer(number, Response::new(503).body("there is another leader now; try again\n"));
        return;
    }
    let hands_over = transfer::is_under_way(state);
    match (protocol.bug, &operation) {
        (Bug::ReadLocal, _) if operation.is_read() => {
            let outcome = operation.apply(&mut state.disk.store, state.disk.commit);
            return answer(ctx, state, number, outcome);
        }
        (Bug::ReadHandedOver, _) if hands_over && operation.is_read() => {
            let outcome = operation.apply(&mut state.disk.store, state.disk.commit);
            return answer(ctx, state, number, outcome);
        }
        (Bug::AnswerEarly, _) if !operation.is_read() => answer(ctx, state, number, Outcome::Done),
        _ => {}
    }
    if hands_over {
        return ctx.answer(number, transfer::refusal());
    }
    if protocol.reads_by_index && operation.is_read() {
        return reads::take(protocol, ctx, state, Read { number, operation });
    }
    let node = ctx.me();
    enter(protocol, ctx, state, Command { node, number, operation });
}

/// A leader takes a command into its log.
pub(crate) fn enter(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State, command: Command) {
    let takes = matches!(state.role, Role::Leader { .. }) && !members::leaves(ctx.me(), state);
    if !takes || transfer::is_under_way(state) {
        return;
    }
    let Command { node, number, operation } = command;
    let operation = match operation {
        Operation::Write(write) if protocol.bug == Bug::CompareEarly => match write.unmet(&state.disk.store) {
            Some(outcome) => return answer(ctx, state, number, outcome),
            None => Operation::Write(Write { condition: Condition::None, ..write }),
        },
        Operation::Once(once) if protocol.bug == Bug::RepeatEarly && node == ctx.me() => {
            if let Some(outcome) = once.known(&state.disk.store) {
                return answer(ctx, state, number, outcome);
            }
            Operation::Once(once)
        }
        operation => operation,
    };
    let command = Some(Command { node, number, operation });
    replication::take(protocol, ctx, state, Entry { term: state.disk.term, command });
}
