//! The verdict on a promise, with its evidence.

use crate::kernel::rules::Rules;
use crate::kernel::{BreachClass, EndCondition};
use crate::liveness::decide::critical::{Critical, critical_steps};
use crate::liveness::decide::dead::{Prospects, prospects, way_to_live};
use crate::liveness::decide::stuck::{Stuck, stuck};
use crate::liveness::fair::arena::Arena;
use crate::liveness::fair::fairness::fair_components;
use crate::liveness::fair::lasso::{Lasso, lasso};
use crate::liveness::graph::stored::{Edge, StoredGraph};
use crate::liveness::graph::watch::Watch;

/// The dead state that breaks a promise, with a path to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Death {
    /// The first dead state on the path.
    pub state: u32,
    /// A path to a dead state; no dead state is reached by fewer events.
    pub path: Vec<Edge>,
    /// The critical step at its end; none if the start state is dead, or if the state before is not known to be live.
    pub critical: Option<Critical>,
    /// A shortest path from the state before the critical step to one where the promise is kept.
    pub sibling: Vec<Edge>,
}

/// The verdict on a promise, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// States from which the promise can be kept.
    pub live_states: u64,
    /// States from which it cannot.
    pub dead_states: u64,
    /// States that are not known to be live or dead.
    pub unknown_states: u64,
    /// Number of states in which it is kept.
    pub kept_states: u64,
    /// All kinds of critical steps, in the order of the number of events that lead to them.
    pub critical: Vec<Critical>,
    /// The states in which the promise is not kept and no fair event is enabled.
    pub stuck: Stuck,
    /// Number of fair components: the largest parts in which a fair execution can stay for ever without keeping the promise.
    pub fair_components: u64,
    /// A dead state, if there is one.
    pub death: Option<Death>,
    /// A path to a stuck state that is not known to be dead, see [`Stuck::first`].
    pub stop: Option<Vec<Edge>>,
    /// A fair lasso whose cycle begins in a state that is not dead.
    pub lasso: Option<Lasso>,
}

impl Verdict {
    /// Edges from live states to dead ones.
    pub fn critical_edges(&self) -> u64 {
        self.critical.iter().map(|kind| kind.edges).sum()
    }

    /// The most certain class of breach; none if no breach was found.
    pub fn class(&self) -> Option<BreachClass> {
        let ways = [
            (BreachClass::Dead, self.death.is_some()),
            (BreachClass::Stuck, self.stop.is_some()),
            (BreachClass::Lasso, self.lasso.is_some()),
        ];
        ways.into_iter().find(|(_, is_one)| *is_one).map(|(class, _)| class)
    }
}

/// Decides a promise.
///
/// Memory, in addition to the graph: two bits per state, and up to 17 bytes per state for the components; with strong fairness or chance
/// eight bytes more.
///
/// # Errors
///
/// The analysis is to end, for the reason returned.
pub fn judge(
    graph: &StoredGraph,
    promise: usize,
    rules: Rules,
    watch: &mut Watch<'_>,
) -> Result<Verdict, EndCondition> {
    let prospects = prospects(graph, promise, rules, watch)?;
    let critical = critical_steps(graph, &prospects, watch)?;
    let stuck = stuck(graph, promise, &prospects, watch)?;
    let arena = Arena::new(graph, promise, rules, watch)?;
    let (mut fair, mut best): (u64, Option<(Vec<u32>, u32)>) = (0, None);
    fair_components(&arena, watch, &mut |members| {
        fair += 1;
        // A loss can lead from a dead state to a live one. A cycle of dead states alone would add nothing: the promise is broken before it.
        let entry = members.iter().copied().find(|state| !prospects.is_dead(*state));
        if let Some(entry) = entry.filter(|entry| best.as_ref().is_none_or(|(_, first)| entry < first)) {
            best = Some((members.to_vec(), entry));
        }
    })?;
    let lasso = best.map(|(members, entry)| lasso(&arena, &members, entry, watch)).transpose()?;
    Ok(Verdict {
        live_states: prospects.live(),
        dead_states: prospects.dead(),
        unknown_states: prospects.unknown(),
        kept_states: u64::from(graph.states()) - graph.owing(promise),
        death: death(graph, promise, &prospects, &critical, rules, watch)?,
        critical,
        stop: stuck.first.map(|state| graph.path_to(state)),
        stuck,
        fair_components: fair,
        lasso,
    })
}

/// A path to a dead state, with its critical step.
fn death(
    graph: &StoredGraph,
    promise: usize,
    prospects: &Prospects,
    critical: &[Critical],
    rules: Rules,
    watch: &mut Watch<'_>,
) -> Result<Option<Death>, EndCondition> {
    if prospects.dead() == 0 {
        return Ok(None);
    }
    let first =
        (0..graph.states()).find(|state| prospects.is_dead(*state)).expect("some state is dead, as counted above");
    let path = graph.path_to(first);
    let unexplained = Death { state: first, path, critical: None, sibling: Vec::new() };
    // The first kind of critical steps begins after the fewest events; if some states are unknown, a dead state may be closer.
    let Some(kind) = critical.first() else { return Ok(Some(unexplained)) };
    let Edge { from, to, .. } = kind.first;
    let mut path = graph.path_to(from);
    path.push(kind.first);
    if path.len() > unexplained.path.len() {
        return Ok(Some(unexplained));
    }
    let sibling = way_to_live(graph, promise, from, rules.recovery, watch)?;
    let sibling = sibling.expect("the state before a critical step is live");
    Ok(Some(Death { state: to, path, critical: Some(*kind), sibling }))
}
