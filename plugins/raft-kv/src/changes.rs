//! Changes of the members, by requests of clients.

use guest_sdk::{Context, LocalEvents, NodeId, Place, Request, Response};

use crate::replication::{self, Progress};
use crate::{
    Bug, Change, Command, Entry, Joining, Local, Message, Operation, RaftKv, Role, State, clients, election, members,
    transfer,
};

/// Times that a new member has got all that was committed when the time before ended, until it counts though there is more.
const ROUNDS_MAX: u32 = 10;

/// Heartbeats without an answer of a new member until its change is given up: two seconds of those on a fast network.
const SILENT_MAX: u32 = 40;

/// A request about members.
enum Asked {
    Members,
    Change(Change),
}

/// The answer of a leader that may not change the members now.
fn refusal(protocol: &RaftKv, state: &State) -> Option<Response> {
    let disk = &state.disk;
    let Role::Leader { joining, .. } = &state.role else {
        return Some(Response::new(503).body("there is another leader now; try again\n"));
    };
    if transfer::is_under_way(state) {
        return Some(transfer::refusal());
    }
    let is_changing = disk.log.members_after(disk.commit).is_some() && protocol.bug != Bug::ChangeTwice;
    if is_changing || joining.is_some() {
        return Some(
            Response::new(409).body("another change of the members is under way: nothing has happened; try again\n"),
        );
    }
    let is_new = disk.committed().term != disk.term && protocol.bug != Bug::ChangeEarly;
    is_new.then(|| Response::new(503).body("the leader has committed nothing yet: nothing has happened; try again\n"))
}

/// Lists the changes that a leader may be asked for in a search.
pub(crate) fn list(protocol: &RaftKv, state: &State, events: &mut LocalEvents<Local>) {
    let Some(members) = state.disk.members() else { return };
    if members.changes >= protocol.changes || refusal(protocol, state).is_some() {
        return;
    }
    for node in 0..events.nodes() {
        let joins = !members.nodes.contains(&node);
        if joins || members.nodes.len() > 1 {
            let event = Local::Change { number: 0, change: Change { node, joins } };
            events.application(if joins { "add" } else { "remove" }, event);
        }
    }
}

/// A client asks for a change.
pub(crate) fn change(
    protocol: &RaftKv,
    ctx: &mut Context<Message>,
    state: &mut State,
    (number, change): (u64, Change),
) {
    if let Some(refusal) = refusal(protocol, state) {
        return ctx.answer(number, refusal);
    }
    let disk = &state.disk;
    let Some(members) = disk.members() else { return };
    if members.has(change) {
        return clients::request(protocol, ctx, state, (number, Operation::Members));
    }
    if !change.joins {
        if members.nodes.len() == 1 {
            let text = format!("node {} is the only member: add another one first\n", change.node);
            return ctx.answer(number, Response::new(400).body(text));
        }
        return enter(protocol, ctx, state, (number, change));
    }
    let Role::Leader { followers, joining, .. } = &mut state.role else { return };
    let Change { node, .. } = change;
    followers.insert(node, Progress::unknown(disk.log.last().index));
    *joining = Some(Joining { node, number, target: disk.commit, rounds: 0, silent: 0 });
    replication::send(protocol, ctx, state, node);
}

/// A leader takes a change into its log: from then on it counts the new members.
fn enter(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State, (number, change): (u64, Change)) {
    let Some(members) = state.disk.members() else { return };
    let members = members.with(change);
    ctx.log(format_args!("changes the members to {:?}", members.nodes));
    let command = Some(Command { node: ctx.me(), number, operation: Operation::Configure(members) });
    replication::take(protocol, ctx, state, Entry { term: state.disk.term, command });
}

/// A node has confirmed a part of the log: a new member counts once it has all that is committed.
pub(crate) fn matched(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State, from: NodeId) {
    let commit = state.disk.commit;
    let Role::Leader { followers, joining, .. } = &mut state.role else { return };
    let Some(new) = joining.as_mut().filter(|new| new.node == from) else { return };
    let matched = followers.get(&from).map_or(0, |progress| progress.matched);
    if matched >= new.target {
        (new.target, new.rounds) = (commit, new.rounds + 1);
    }
    if matched >= commit || new.rounds >= ROUNDS_MAX {
        let (number, change) = (new.number, Change { node: from, joins: true });
        *joining = None;
        enter(protocol, ctx, state, (number, change));
    }
}

/// Counts a heartbeat without an answer of a new member, and gives it up in the end.
pub(crate) fn wait(ctx: &mut Context<Message>, state: &mut State) {
    let Role::Leader { followers, joining, .. } = &mut state.role else { return };
    let Some(new) = joining else { return };
    new.silent += 1;
    if new.silent >= SILENT_MAX {
        followers.remove(&new.node);
        let text = format!("node {} does not answer: nothing has happened; start it, then try again\n", new.node);
        ctx.answer(new.number, Response::new(503).body(text));
        *joining = None;
    }
}

/// A leader may have committed a change: former members get no more of its log, and it leads no more if it is one itself.
pub(crate) fn settle(protocol: &RaftKv, ctx: &mut Context<Message>, state: &mut State) {
    if state.disk.store.members.is_none() || !matches!(state.role, Role::Leader { .. }) {
        return;
    }
    let remain = members::followers(ctx, &state.disk);
    let is_member = members::may_stand(ctx.me(), &state.disk);
    let Role::Leader { followers, joining, .. } = &mut state.role else { return };
    let is_former = |node: &NodeId| !remain.contains(node) && joining.as_ref().is_none_or(|new| new.node != *node);
    let former: Vec<NodeId> = followers.keys().copied().filter(is_former).collect();
    for node in former {
        // Without batches, the news of the commit have just been sent to all.
        if protocol.batches {
            replication::send(protocol, ctx, state, node);
        }
        if let Role::Leader { followers, .. } = &mut state.role {
            followers.remove(&node);
        }
    }
    if !is_member {
        ctx.log(format_args!("leads no more: it is no member of the cluster"));
        election::leave(ctx, state);
    }
}

/// The event that a request about members becomes at a leader; nothing if it is about a key.
pub(crate) fn accept(
    protocol: &RaftKv,
    place: Place,
    state: &State,
    number: u64,
    request: &Request,
) -> Option<Result<(&'static str, Local), Response>> {
    state.disk.store.members.as_ref()?;
    let rest = request.path.strip_prefix("/members").filter(|rest| rest.is_empty() || rest.starts_with(['/', '?']))?;
    let event = |asked| match asked {
        Asked::Members => ("members", Local::Request { number, operation: Operation::Members }),
        Asked::Change(change) => (if change.joins { "add" } else { "remove" }, Local::Change { number, change }),
    };
    let is_refused = |asked: &Asked| match (asked, refusal(protocol, state)) {
        (Asked::Change(_), Some(refusal)) if matches!(state.role, Role::Leader { .. }) => Err(refusal),
        _ => Ok(()),
    };
    Some(read(place, &request.method, rest).and_then(|asked| is_refused(&asked).map(|()| event(asked))))
}

fn read(place: Place, method: &str, rest: &str) -> Result<Asked, Response> {
    let Some(name) = rest.strip_prefix('/') else {
        return match (method, rest) {
            ("GET" | "HEAD", "") => Ok(Asked::Members),
            (_, "") => Err(Response::new(405).body("there are GET /members, and PUT and DELETE /members/ID\n")),
            _ => Err(Response::new(400).body("GET /members has no parameters; the key itself is /%6Dembers\n")),
        };
    };
    let joins = match method {
        "PUT" => true,
        "DELETE" => false,
        _ => return Err(Response::new(405).body("there are GET /members, and PUT and DELETE /members/ID\n")),
    };
    let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    match name.parse().ok().filter(|node| is_number && *node < place.nodes) {
        Some(node) => Ok(Asked::Change(Change { node, joins })),
        None => Err(Response::new(400).body(format!(
            "there is no node {name:?}: the file of the cluster has the nodes 0 to {}; a key that begins so is written /%6Dembers/…\n",
            place.nodes - 1
        ))),
    }
}
