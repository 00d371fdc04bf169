//! The properties.

use guest_sdk::Properties;
use guest_sdk::linearizability::{ClientId, Register, RegisterReturn};

use crate::{Clients, LinearizableRegister, Operations, State};

pub(crate) fn properties(claims: &mut Properties<LinearizableRegister>) {
    claims.always("linearizable").node(
        |_, state| history(state).cloned(),
        |history| match history.linearize(&Register(0)) {
            Ok(_) => Ok(()),
            Err(why) => Err(why.to_string()),
        },
    );
    claims.sometimes("write-is-read").node(
        |protocol, state| {
            let history = history(state)?;
            let clients = 0..protocol.programs.len() as ClientId;
            let mut returned = clients.flat_map(|client| history.operations(client)).filter_map(|one| one.returned());
            returned.any(|value| !matches!(value, RegisterReturn::Written | RegisterReturn::Value(0))).then_some(())
        },
        |()| Ok(()),
    );
    claims.sometimes("all-done").node(
        |protocol, state| {
            let history = history(state)?;
            let done = |(client, program): (ClientId, &Vec<_>)| {
                history.operations(client).len() == program.len() && !history.is_pending(client)
            };
            (0..).zip(&protocol.programs).all(done).then_some(())
        },
        |()| Ok(()),
    );
    // Servers wait for nothing, nor does a client that has forgotten in a reset that it waits.
    claims.eventually("answered").node(
        |_, state| Some(matches!(state, State::Clients(clients) if !clients.waiting.is_empty())),
        |waits| match waits {
            false => Ok(()),
            true => Err("a client waits for answers".to_owned()),
        },
    );
}

/// The history once an operation was called, which only node 0 has.
fn history(state: &State) -> Option<&Operations> {
    match state {
        State::Clients(Clients { history, .. }) => Some(history).filter(|history| **history != Operations::default()),
        State::Server(_) => None,
    }
}
