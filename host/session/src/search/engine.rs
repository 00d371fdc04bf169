//! The engines of simulated runs: the model of a cluster, or its nodes, with checkers or without.

use host_live::simulator::{Finished, Simulator};
use host_live::world::{Checkers, Firsts, Part, Ran, Runtime, Watched};
use host_model::contract::{MachineError, NodeId};

/// The engine: the model of a cluster, its nodes, or its nodes with checkers.
pub(super) enum Engine<'e, 'l> {
    Model(Box<Simulator<'e, 'l>>),
    Nodes(Box<Runtime<'e, 'l>>),
    Watched(Box<WatchedNodes<'e, 'l>>),
}

/// Nodes with checkers.
pub(super) struct WatchedNodes<'e, 'l> {
    pub(super) runtime: Runtime<'e, 'l>,
    pub(super) checkers: Checkers<'e>,
    pub(super) steers: bool,
    /// The first predictions of all runs in which checkers only report.
    pub(super) firsts: Firsts,
    /// The first node whose neighbours were useless in some run, and the reason, if there was one.
    pub(super) unusable: Option<(NodeId, String)>,
}

/// The runs of nodes with a seed.
pub(super) struct Twins {
    /// The run in which checkers only report.
    pub(super) reported: (Finished, Watched),
    /// The same run with steering, if nodes are steered.
    pub(super) steered: Option<(Finished, Watched)>,
}

impl WatchedNodes<'_, '_> {
    /// The runs with a seed.
    pub(super) fn run(&mut self, seed: u64) -> Result<Twins, MachineError> {
        if !self.steers {
            let observed = self.runtime.run_watched(seed, &self.checkers, Part::Observe)?;
            return Ok(Twins { reported: self.note(observed), steered: None });
        }
        let (control, steered) = self.runtime.run_steered(seed, &self.checkers)?;
        let reported = self.note(control);
        self.unusable = self.unusable.take().or(steered.unusable);
        Ok(Twins { reported, steered: Some((steered.finished, steered.watched)) })
    }

    /// Keeps the first predictions of a run in which checkers only report.
    fn note(&mut self, ran: Ran) -> (Finished, Watched) {
        let Self { firsts, unusable, .. } = self;
        firsts.violation = firsts.violation.take().or(ran.firsts.violation);
        firsts.dead = firsts.dead.take().or(ran.firsts.dead);
        *unusable = unusable.take().or(ran.unusable);
        (ran.finished, ran.watched)
    }
}
