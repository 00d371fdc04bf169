//! The first state of a node: its `init`.

use std::collections::BTreeSet;

use host_model::contract::{Effects, Input, Machine, MachineFactory};
use rand_chacha::ChaCha8Rng;

use crate::gate::{Failed, Gate};
use crate::node::answers;
use crate::node::judge::Judge;
use crate::node::moment::{Moment, check_quorums, exported};
use crate::node::refusal::Failure;
use crate::node::settings::{Identity, Settings};

/// A node that could not start.
#[derive(Debug)]
pub struct NotStarted<G> {
    /// The reason.
    pub failure: Failure,
    /// The gate of the node.
    pub gate: G,
}

impl<G> From<NotStarted<G>> for Failure {
    fn from(NotStarted { failure, .. }: NotStarted<G>) -> Self {
        failure
    }
}

/// A node after its `init`, before any effect leaves.
pub(super) struct Initial {
    pub(super) effects: Effects,
    pub(super) moment: Moment,
    /// Evaluates properties, if the gate judges states.
    pub(super) judge: Option<Judge>,
    /// The state as the content of a checkpoint.
    pub(super) content: Vec<u8>,
}

/// Runs `init`. A fault of it is reported to the gate.
pub(super) fn initial<G: Gate>(
    machine: &mut dyn Machine,
    factory: &dyn MachineFactory,
    identity: &Identity,
    settings: &Settings,
    gate: &mut G,
    input: Input<'_>,
    dice: &mut ChaCha8Rng,
) -> Result<Initial, Failure> {
    let mut effects = Effects::default();
    let result = answers::run(machine, None, input, dice, &BTreeSet::new(), &mut effects)?;
    let judge = gate.judges().then(|| Judge::new(factory)).transpose()?;
    let moment = result.and_then(|()| {
        settings.network.check_lengths(&effects.sent).map_err(|fault| fault.of("init"))?;
        Ok((Moment::of(machine, identity.node)?, machine.takes_quorums()?))
    });
    if let Err(fault) = &moment {
        machine.confirm_fault()?;
        gate.failed(&Failed { input, choices: &effects.choices, fault });
    }
    let (moment, takes_quorums) = moment?;
    check_quorums(identity.node, takes_quorums)?;
    let content = exported(machine, &moment.snapshot, identity)?;
    Ok(Initial { effects, moment, judge, content })
}
