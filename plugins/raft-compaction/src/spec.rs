//! The properties: effects that clients and disks can notice. A log that differs is no harm as long as no node has applied its entries.

use guest_sdk::{Properties, ready_made};
use serde::{Deserialize, Serialize};

use crate::{RaftCompaction, Role, State, Term};

/// A node whose term has fallen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Fallen {
    term: Term,
    latest: Term,
}

pub(crate) fn properties(claims: &mut Properties<RaftCompaction>) {
    ready_made::one_leader_per_term(claims.always("election-safety"), |_, state| leads(state));
    claims.always("terms-never-fall").node(
        |_, state| fallen(state),
        |Fallen { term, latest }| Err(format!("is in term {term} after term {latest}")),
    );
    // No two nodes have applied different entries at one place.
    ready_made::logs_agree(claims.always("state-machine-safety"), |_, state| {
        Some(state.done.clone()).filter(|done| !done.is_empty())
    });
    claims.sometimes("elected").node(|_, state| leads(state), |_| Ok(()));
    claims.sometimes("committed").node(|_, state| (state.commit > 0).then_some(()), |()| Ok(()));
    claims.sometimes("compacted").node(|_, state| (state.log.base().index > 0).then_some(()), |()| Ok(()));
}

fn leads(state: &State) -> Option<Term> {
    matches!(state.role, Role::Leader { .. }).then_some(state.term)
}

fn fallen(state: &State) -> Option<Fallen> {
    let State { term, latest_term: latest, .. } = *state;
    (term < latest).then_some(Fallen { term, latest })
}
