//! The properties of correct receivers.

use guest_sdk::Properties;

use crate::{EchoMulticast, Nature, Receiver, State, Value};

pub(crate) fn properties(claims: &mut Properties<EchoMulticast>) {
    claims.always("agreement").system(|_, state| delivered(state), agreement);
    claims.always("integrity").node(
        |protocol, state| delivered(state).filter(|_| protocol.initiator == Nature::Correct),
        |value| match value {
            0 => Ok(()),
            value => Err(format!("{value} is delivered, and was never multicast")),
        },
    );
    claims.sometimes("delivered").node(|_, state| delivered(state), |_| Ok(()));
}

fn delivered(state: &State) -> Option<Value> {
    match state {
        State::Receiver(Receiver { delivered, .. }) => *delivered,
        _ => None,
    }
}

fn agreement(delivered: &[Option<Value>]) -> Result<(), String> {
    let find = |wanted| delivered.iter().position(|value| *value == Some(wanted));
    match (find(0), find(1)) {
        (Some(one), Some(other)) => Err(format!("node {one} has delivered 0, node {other} has delivered 1")),
        _ => Ok(()),
    }
}
