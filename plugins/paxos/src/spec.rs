//! The claims of Paxos, over the knowledge of its nodes.

use guest_sdk::Properties;

use crate::{Paxos, Proposer, Roles, State, Value};

pub(crate) fn properties(claims: &mut Properties<Paxos>) {
    claims.always("agreement").system(|_, state| chosen(state), agreement);
    claims.always("accepted-not-above-promised").node(
        |_, state| match state {
            State::Uninitialised(_) => None,
            State::Running(roles) => Some((roles.acceptor.accepted?.ballot, roles.acceptor.promised)),
        },
        |&(accepted, promised)| match accepted <= promised {
            true => Ok(()),
            false => Err(format!("accepted ballot {accepted}, promised only {promised}")),
        },
    );
    claims.sometimes("chosen").node(|_, state| chosen(state), |_| Ok(()));
    claims.eventually("decided").node(
        |protocol, state| Some(protocol.assignment.shares_nodes() && waits(state)),
        |waits| match waits {
            false => Ok(()),
            true => Err("the node knows of a ballot, and has not learned that a value is chosen".to_owned()),
        },
    );
}

/// Whether a node has begun or promised a ballot, and knows of no choice.
fn waits(state: &State) -> bool {
    match state {
        State::Uninitialised(_) => false,
        State::Running(Roles { proposer, acceptor, learner, .. }) => {
            let knows_of_ballot = matches!(proposer, Proposer::Collecting { .. }) || acceptor.promised > 0;
            knows_of_ballot && learner.chosen.is_empty()
        }
    }
}

/// The values that a node knows to be chosen; none if it knows of none. More than one is a violation by itself.
fn chosen(state: &State) -> Option<Vec<Value>> {
    match state {
        State::Running(Roles { learner, .. }) if !learner.chosen.is_empty() => {
            Some(learner.chosen.iter().copied().collect())
        }
        _ => None,
    }
}

fn agreement(views: &[Option<Vec<Value>>]) -> Result<(), String> {
    let mut known = views.iter().enumerate().flat_map(|(node, values)| values.iter().flatten().map(move |v| (node, v)));
    let Some((first_node, first)) = known.next() else { return Ok(()) };
    match known.find(|(_, value)| *value != first) {
        None => Ok(()),
        Some((node, value)) => Err(format!("node {first_node} has chosen {first}, node {node} has chosen {value}")),
    }
}
