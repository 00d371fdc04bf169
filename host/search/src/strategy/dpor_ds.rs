//! Dynamic partial-order reduction for distributed systems, on the last path.

use std::collections::VecDeque;

use host_model::lts::Step;
use rustc_hash::FxHashSet;

use crate::kernel::{EndCondition, Report, Search, SearchError, table_bytes};
use crate::stateless::execution::Race;
use crate::stateless::exploration::{self, StatelessExploration};

/// DPOR-DS, the algorithm on the last path.
///
/// Guarantee: every reported violation is reachable, by a path without events that do not matter to it.
/// Complete: within the bounds.
/// Explores: executions to their end; for each pair of events of one node whose order is not forced, a branch before the
/// first of them, with the events that the second one needs, then the second, then the first as its desired order. Without
/// sleep sets, many executions repeat earlier ones up to the order of independent events: `redundant` counts them.
/// Properties are evaluated as by [`dpor`](crate::strategy::dpor). Memory: the path, and 16 bytes per execution to recognise
/// repetitions.
/// Honours: depth, local-event and state bounds (a state is an execution here), the wish to find deadlocks, the monitor.
/// Source: "DPOR-DS: Dynamic partial order reduction for distributed systems based on happens-before relation", LARA,
/// EPFL, the second algorithm, which the page calls precise; differs in: a branch is added unless one that begins with
/// the same event is there, since the page leaves open when the loop ends; branches before the very first event are
/// taken, too; other outcomes of a handler and events that were disabled are branches as well, without which it would
/// not be complete.
pub fn run(search: &Search<'_>) -> Result<Report, SearchError> {
    exploration::explore_all(search, |exploration| {
        let (levels, races, seen) = (vec![Level::default()], Vec::new(), FxHashSet::default());
        DporDsSearch { exploration, levels, races, seen, listed: 0 }.explore()
    })
}

/// The state before an event of the current execution.
#[derive(Default)]
struct Level {
    /// The first events of all branches, including the current one.
    begun: Vec<Step>,
    /// Branches that are still to be explored, with their desired order.
    open: Vec<Vec<Step>>,
}

struct DporDsSearch<'r, 's, 'l> {
    exploration: &'r mut StatelessExploration<'s, 'l>,
    levels: Vec<Level>,
    /// Reused, to spare allocations.
    races: Vec<Race>,
    /// Fingerprints of executions, node by node.
    seen: FxHashSet<u128>,
    /// Steps in the lists of all levels.
    listed: u64,
}

impl DporDsSearch<'_, '_, '_> {
    /// Explores one start state; returns why the search ended early, if it did.
    fn explore(&mut self) -> Result<Option<EndCondition>, SearchError> {
        let mut desired = VecDeque::new();
        loop {
            while let Some(step) = self.exploration.next_step(&mut desired)? {
                let level = self.levels.last_mut().expect("the start state has a level");
                if !level.begun.contains(&step) {
                    level.begun.push(step);
                    self.listed += 1;
                }
                let end = self.exploration.push(step)?;
                if end.is_some() {
                    return Ok(end);
                }
                self.levels.push(Level::default());
            }
            self.exploration.redundant += u64::from(!self.seen.insert(self.exploration.execution.fingerprint()));
            let end = self.exploration.count_execution()?;
            if end.is_some() {
                return Ok(end);
            }
            let end = self.add_branches()?;
            if end.is_some() {
                return Ok(end);
            }
            // The last open branch.
            desired = loop {
                if let Some(branch) = self.levels.last_mut().and_then(|level| level.open.pop()) {
                    self.listed -= branch.len() as u64;
                    break branch.into();
                }
                self.listed -= self.levels.pop().map_or(0, |level| level.begun.len() as u64);
                if self.exploration.pop().is_none() {
                    return Ok(None);
                }
            };
        }
    }

    /// Counts the bytes kept; returns why to end the search, if there is a reason. A list of steps has room for as many
    /// again, and the list of branches an entry for each.
    fn keep(&mut self) -> Option<EndCondition> {
        let step = 2 * size_of::<Step>() + size_of::<Vec<Step>>();
        let lists = self.levels.capacity() * size_of::<Level>() + self.races.capacity() * size_of::<Race>();
        let bytes = lists + table_bytes::<u128>(self.seen.capacity());
        self.exploration.keep(bytes as u64 + self.listed * step as u64)
    }

    /// Adds a branch for each race of the current execution. Returns why to end the search, if there is a reason.
    fn add_branches(&mut self) -> Result<Option<EndCondition>, SearchError> {
        let mut races = std::mem::take(&mut self.races);
        races.clear();
        for node in 0..self.exploration.search.lts.scenario().nodes {
            let StatelessExploration { execution, stepper, .. } = &mut *self.exploration;
            execution.races(stepper, node, |race| races.push(race))?;
        }
        for race in &races {
            let StatelessExploration { execution, stepper, .. } = &mut *self.exploration;
            let event = execution.events()[race.event];
            let row = stepper.step(event.before, race.trigger)?;
            let before: Vec<Step> = execution.before(race).collect();
            for outcome in 0..stepper.outcomes(row).len() as u32 {
                let step = Step { node: event.step.node, trigger: race.trigger, outcome };
                let mut order = before.clone();
                order.extend([step, event.step]);
                let level = &mut self.levels[race.event];
                if !level.begun.contains(&order[0]) {
                    level.begun.push(order[0]);
                    self.listed += 1 + order.len() as u64;
                    level.open.push(order);
                }
            }
            let end = self.keep();
            if end.is_some() {
                return Ok(end);
            }
        }
        self.races = races;
        Ok(None)
    }
}
