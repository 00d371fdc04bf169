//! The engines of simulated runs: the model of a cluster or its nodes, with checkers or without.

use host_live::simulator::{Finished, Firsts, Mode, Simulator, Watched, Watching};
use host_live::world::{Checkers, Part, Ran, Runtime};
use host_model::contract::{MachineError, NodeId};

/// The engine: the model of a cluster, or its nodes; with checkers or without.
pub(super) enum Engine<'e, 'l> {
    Model {
        simulator: Box<Simulator<'e, 'l>>,
        watching: Option<Box<Watching<'e>>>,
    },
    Nodes {
        runtime: Box<Runtime<'e, 'l>>,
        checkers: Option<Box<Checkers<'e>>>,
        /// The first predictions of all runs in which checkers only report.
        firsts: Box<Firsts>,
        unusable: Option<(NodeId, String)>,
    },
}

impl Engine<'_, '_> {
    pub(super) fn run(&mut self, seed: u64) -> Result<Finished, MachineError> {
        match self {
            Self::Model { simulator, .. } => simulator.run(seed),
            Self::Nodes { runtime, .. } => runtime.run(seed),
        }
    }

    /// A steered run, and its control run before it.
    pub(super) fn run_steered(&mut self, seed: u64) -> Result<[(Finished, Watched); 2], MachineError> {
        if let Self::Nodes { runtime, checkers: Some(checkers), .. } = self {
            let (control, steered) = runtime.run_steered(seed, checkers)?;
            let control = self.note(control, Part::Control);
            return Ok([control, self.note(steered, Part::Steer)]);
        }
        Ok([self.run_watched(seed, Part::Control)?, self.run_watched(seed, Part::Steer)?])
    }

    /// Keeps the first predictions of a run of nodes.
    fn note(&mut self, ran: Ran, part: Part) -> (Finished, Watched) {
        if let Self::Nodes { firsts, unusable, .. } = self {
            if part != Part::Steer {
                firsts.violation = firsts.violation.take().or(ran.firsts.violation);
                firsts.dead = firsts.dead.take().or(ran.firsts.dead);
            }
            *unusable = unusable.take().or(ran.unusable);
        }
        (ran.finished, ran.watched)
    }

    /// A run with checkers.
    pub(super) fn run_watched(&mut self, seed: u64, part: Part) -> Result<(Finished, Watched), MachineError> {
        match self {
            Self::Model { simulator, watching: Some(watching) } => {
                let mode = if part == Part::Steer { Mode::Steer } else { Mode::Observe };
                simulator.run_watched(seed, watching, mode)
            }
            Self::Nodes { runtime, checkers: Some(checkers), .. } => {
                let ran = runtime.run_watched(seed, checkers, part)?;
                Ok(self.note(ran, part))
            }
            Self::Model { .. } | Self::Nodes { .. } => Ok((self.run(seed)?, Watched::default())),
        }
    }

    /// The first predictions of runs in which checkers only report, if there are checkers.
    pub(super) fn firsts(&self) -> Option<&Firsts> {
        match self {
            Self::Model { watching, .. } => Some(watching.as_ref()?.firsts()),
            Self::Nodes { firsts, .. } => Some(firsts),
        }
    }

    /// The first node whose neighbours were useless in some run, and the reason, if there was one.
    pub(super) fn unusable(&self) -> Option<(NodeId, String)> {
        match self {
            Self::Model { watching, .. } => watching.as_ref()?.unusable().cloned(),
            Self::Nodes { unusable, .. } => unusable.clone(),
        }
    }
}
