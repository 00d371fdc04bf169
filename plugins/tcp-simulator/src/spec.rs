//! The properties of the simulator and of the host's connections. They share no function with the simulator except the reading of a state.

use guest_sdk::Properties;

use crate::world::Item;
use crate::{App, State, TcpSimulator, Upcall};

/// The applications of a node: both in the simulator, which is one node.
fn apps(state: &State) -> Vec<App> {
    match state {
        State::World(world) => world.ends.iter().map(|end| end.app.clone()).collect(),
        State::Node(app) => vec![app.clone()],
    }
}

/// A property of both applications.
fn of_both(views: &[Option<Vec<App>>], check: impl Fn(&App, &App) -> Result<(), String>) -> Result<(), String> {
    let both: Vec<&App> = views.iter().flatten().flatten().collect();
    check(both[0], both[1])
}

fn errors(app: &App) -> usize {
    app.log.iter().filter(|upcall| **upcall == Upcall::Error).count()
}

pub(crate) fn properties(claims: &mut Properties<TcpSimulator>) {
    claims.always("flags").node(
        |_, state| match state {
            State::World(world) => {
                let front = |node: usize| world.ends[node].queue.front() == Some(&Item::ReadError);
                let flags = |node: usize| {
                    let (end, other) = (&world.ends[node], &world.ends[1 - node]);
                    (end.local_error, front(node), other.remote_error, other.is_open)
                };
                Some([flags(0), flags(1)])
            }
            State::Node(_) => None,
        },
        |ends| match ends
            .iter()
            .position(|(local, front, remote, is_open)| local != front || local != remote || (*local && !is_open))
        {
            None => Ok(()),
            Some(node) => Err(format!("the flags for errors of node {node} do not fit the other end or the queue")),
        },
    );
    claims.always("order").node(
        |_, state| Some(apps(state)),
        |apps| match apps.iter().all(in_order) {
            true => Ok(()),
            false => Err("a message is received twice, or after a later one".to_owned()),
        },
    );
    claims.always("refused-when-full").node(
        |_, state| Some(apps(state)),
        |apps| match apps.iter().any(|app| app.was_refused && app.sent == 0 && app.log.is_empty()) {
            false => Ok(()),
            true => Err("the first message is refused before anything has happened, when nothing can be in the queue"
                .to_owned()),
        },
    );
    claims.always("break-after-message").system(
        |_, state| Some(apps(state)),
        |views| {
            of_both(views, |one, other| {
                let is_received = |app: &App| app.log.iter().any(|upcall| *upcall != Upcall::Error);
                match errors(one) + errors(other) == 0 || is_received(one) || is_received(other) {
                    true => Ok(()),
                    false => Err("a connection breaks before a message has arrived".to_owned()),
                }
            })
        },
    );
    claims.always("error-between-lives").node(
        |_, state| Some(apps(state)),
        |apps| match apps.iter().any(|app| app.log.windows(2).any(is_new_life)) {
            false => Ok(()),
            true => {
                Err("a message follows that of an earlier life of its sender, without an error in between".to_owned())
            }
        },
    );
    claims.eventually("told").system(
        |_, state| Some(apps(state)),
        |views| {
            of_both(views, |one, other| match errors(one) == errors(other) {
                true => Ok(()),
                false => Err("one end has heard of an error, and the other one has not".to_owned()),
            })
        },
    );
}

/// Whether each received message is later than the one before it.
fn in_order(app: &App) -> bool {
    let notes = app.log.iter().filter_map(|upcall| match upcall {
        Upcall::Received(note) => Some(*note),
        Upcall::Error => None,
    });
    notes.is_sorted_by(|before, after| before < after)
}

/// Whether two upcalls are messages of two lives of their sender.
fn is_new_life(pair: &[Upcall]) -> bool {
    matches!(pair, [Upcall::Received(before), Upcall::Received(after)] if before.life != after.life)
}
