//! Bounded depth-first search of the global states.

use host_model::lts::Stepper;
use host_model::scenario::Network;

use crate::global::breadth_first::{self, Following};
use crate::global::parallel::rounds::ParallelRounds;
use crate::kernel::{EndCondition, Report, Search, SearchError};
use crate::liveness;

pub use crate::global::visited::{FINGERPRINT_BITS, collision_odds};
pub use crate::reduction::reduced_search::explore as explore_reduced;

/// The first bound of the iterative deepening; later ones double. Deep enough that a finite space is nearly always
/// explored in one round, shallow enough that an infinite one is not entered head first.
const FIRST_BOUND: u32 = 64;

/// The number of states that the search for a shorter counterexample may visit, plus four times those of the first search.
const SHORTEN_STATES: u64 = 1_000_000;

/// Bounded depth-first search (B-DFS).
///
/// Guarantee: every reported violation is reachable, and the shortest one unless the report says otherwise.
/// Complete: within the bounds.
/// Explores: global states (local states and messages in flight), each expanded once, or again when it is reached by
/// a shorter path under a depth bound. Iterative deepening; once a violation is found, deepening by single steps from
/// the start finds the shortest, unless several are wanted. Of two orders of events of different nodes, one is followed at most places, see
/// `docs/design/bdfs.md`. Memory: 12 bytes per slot, about 16 bytes per distinct global state, plus the stacks with their paths.
/// With an ordered link it is a breadth-first search, which keeps about 36 bytes per state and the states that wait to be expanded.
/// The same holds if `eventually` properties are decided, without checkpoints and on a graph whose edges take a few bytes each, see
/// `docs/design/liveness.md`.
/// Honours: depth, local-event and state bounds, losses, the wish to find deadlocks, the wish to decide `eventually` properties, the
/// monitor; the wish to reduce, which is another search, see
/// [`explore_reduced`].
/// Source: the baseline of Yabandeh, Guerraoui and others, "Local model checking of distributed systems", §3; differs
/// in: works on interned ids, so an edge costs an addition and a look-up; depth-aware visited set, so that a bounded
/// search misses nothing within the bound.
pub fn run(search: &Search<'_>) -> Result<Report, SearchError> {
    // Neither the reduced search nor a checkpoint keeps the edges of the graph.
    let keeps_edges = !search.bounds.reduce && search.monitor.keeper().is_none();
    if let Some(rules) = liveness::decides(search.lts, search.bounds.promises).filter(|_| keeps_edges) {
        return liveness::decide(search, rules);
    }
    // The parallel search assumes that a step changes the fingerprint by a constant.
    if search.lts.scenario().has_network(Network::Ordered) {
        return breadth_first::explore(search, Following::All, None);
    }
    if search.bounds.reduce {
        return explore_reduced(search);
    }
    let mut stepper = Stepper::new(search.lts)?;
    let limit = search.bounds.depth.unwrap_or(u32::MAX);
    let mut bound = FIRST_BOUND.min(limit);
    let (mut resumed, mut violations) = (None, Vec::new());
    if let Some(keeper) = search.monitor.keeper() {
        keeper.resume(&mut |saved| {
            resumed = Some(ParallelRounds::load(search, &mut stepper, saved).and_then(|rounds| {
                bound = rounds.bound();
                rounds.kept().explore()
            }));
        });
    }
    loop {
        let mut report = match resumed.take() {
            Some(report) => report?,
            None => {
                let rounds = ParallelRounds::new(search, &mut stepper, bound, search.bounds.states);
                rounds.after(std::mem::take(&mut violations)).kept().explore()?
            }
        };
        if report.end == EndCondition::Violation && report.violations_max == 1 {
            shorten(search, &mut stepper, &mut report)?;
        } else if report.end == EndCondition::DepthBound && bound < limit {
            bound = bound.saturating_mul(2).min(limit);
            violations = report.violations;
            continue;
        }
        report.count_local(search.lts);
        return Ok(report);
    }
}

/// Replaces the violation of a report by the shortest one, found by deepening step by step.
fn shorten(search: &Search<'_>, stepper: &mut Stepper<'_>, report: &mut Report) -> Result<(), SearchError> {
    let visited = report.counts.global_states.unwrap_or(0);
    let found = &mut report.violations[0];
    let prefix = search.starts.iter().map(|start| start.path.len()).min().unwrap_or(0);
    let mut budget = SHORTEN_STATES.max(visited.saturating_mul(4));
    for bound in 0..(found.path.len() - prefix) as u32 {
        let mut round = ParallelRounds::new(search, stepper, bound, Some(budget)).explore()?;
        budget = budget.saturating_sub(round.counts.global_states.unwrap_or(0));
        match round.end {
            EndCondition::Violation => {
                *found = round.violations.swap_remove(0);
                break;
            }
            EndCondition::DepthBound | EndCondition::LocalEventBound | EndCondition::SpaceExhausted => {}
            // Out of budget: the violation stands, but a shorter one may exist.
            _ => return Ok(()),
        }
    }
    found.shortest = true;
    Ok(())
}
