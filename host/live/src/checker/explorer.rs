//! The explorer of a checker's rounds.

use std::sync::Arc;

use host_model::contract::NodeId;
use host_model::scenario::{FaultState, Scenario};
use host_model::trace::Beginning;

use crate::checker::round::{CheckError, Checker, Reach, Round};
use crate::checker::steering::Steering;
use crate::gate::Views;

/// Explores for the rounds of a checker: the checker itself, or a cache of its earlier results.
///
/// # Errors
///
/// Each method: the state is not one of this cluster, or the host cannot continue. The next call is not affected.
pub trait Explorer {
    /// As [`Checker::set_reach`].
    fn set_reach(&mut self, reach: Reach);

    /// As [`Checker::round`].
    fn round(&mut self, beginning: &Arc<Beginning>) -> Result<Arc<Round>, CheckError>;

    /// As [`Checker::steer`], after this round.
    fn steer(&mut self, node: NodeId, round: &Round) -> Result<Steering, CheckError>;

    /// As [`Checker::find_dead_ahead`], after this round.
    fn find_dead_ahead(&mut self, round: Arc<Round>) -> Result<Arc<Round>, CheckError>;

    /// As [`Checker::views`].
    fn views(&mut self, beginning: &Arc<Beginning>) -> Result<Vec<Option<Views>>, CheckError>;

    /// As [`Checker::scenario_of`].
    fn scenario_of(&self, beginning: &Beginning) -> Scenario;

    /// The fault state of a node before its first event.
    fn fresh(&self) -> FaultState;
}

impl Explorer for Checker<'_> {
    fn set_reach(&mut self, reach: Reach) {
        Checker::set_reach(self, reach);
    }

    fn round(&mut self, beginning: &Arc<Beginning>) -> Result<Arc<Round>, CheckError> {
        Checker::round(self, beginning).map(Arc::new)
    }

    fn steer(&mut self, node: NodeId, round: &Round) -> Result<Steering, CheckError> {
        Checker::steer(self, node, round)
    }

    fn find_dead_ahead(&mut self, mut round: Arc<Round>) -> Result<Arc<Round>, CheckError> {
        if self.limits.promises.is_some() {
            Checker::find_dead_ahead(self, Arc::make_mut(&mut round))?;
        }
        Ok(round)
    }

    fn views(&mut self, beginning: &Arc<Beginning>) -> Result<Vec<Option<Views>>, CheckError> {
        Checker::views(self, beginning)
    }

    fn scenario_of(&self, beginning: &Beginning) -> Scenario {
        Checker::scenario_of(self, beginning)
    }

    fn fresh(&self) -> FaultState {
        FaultState::fresh(self.lts().scenario())
    }
}
