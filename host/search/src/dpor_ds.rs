//! Dynamic partial-order reduction for distributed systems, as first proposed.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use host_model::lts::{Step, Trigger};
use host_model::machine::NodeId;
use host_model::start::Start;
use host_model::stepper::Stepper;
use rustc_hash::FxHashSet;

use crate::account::Account;
use crate::execution::{Execution, Race};
use crate::kernel::{End, Report, Search, SearchError};

/// DPOR-DS, the algorithm on the last path.
///
/// Guarantee: every reported violation is reachable, by a path without events that do not matter to it.
/// Complete: within the bounds.
/// Explores: executions to their end; for each pair of events of one node whose order is not forced, a branch before the
/// first of them, with what the second one needs, then the second, then the first as its desired order. There are no
/// sleep sets, so many executions repeat earlier ones up to the order of independent events: `redundant` says how many.
/// Properties are evaluated as by [`dpor`](crate::dpor). Memory: the path, and 16 bytes an execution to tell
/// repetitions.
/// Honours: depth, local-event and state bounds (a state is an execution here), the monitor.
/// Source: "DPOR-DS: Dynamic partial order reduction for distributed systems based on happens-before relation", LARA,
/// EPFL, the second algorithm, which the page calls precise; differs in: a branch is added unless one that begins with
/// the same event is there, since the page leaves open when the loop ends; branches before the very first event are
/// taken, too; other outcomes of a handler and events that were disabled are branches as well, without which it would
/// not be complete.
pub fn run(search: &Search<'_>) -> Result<Report, SearchError> {
    let mut stepper = Stepper::new(search.lts)?;
    let mut run = Run {
        account: Account::new(search, &mut stepper),
        levels: Vec::new(),
        enabled: Vec::new(),
        races: Vec::new(),
        seen: FxHashSet::default(),
    };
    let mut end = None;
    for start in search.starts {
        end = run.explore(start)?;
        if end.is_some() {
            break;
        }
    }
    Ok(run.account.finish(end))
}

/// The state before an event of the current execution.
#[derive(Default)]
struct Level {
    /// The first events of all branches, the current one among them.
    begun: Vec<Step>,
    /// Branches that are still to be explored, with their desired order.
    open: Vec<Vec<Step>>,
}

struct Run<'s, 'l> {
    account: Account<'s, 'l>,
    levels: Vec<Level>,
    /// Kept to spare allocations.
    enabled: Vec<(NodeId, Trigger)>,
    races: Vec<Race>,
    /// Fingerprints of what the nodes went through.
    seen: FxHashSet<u128>,
}

impl<'s> Run<'s, '_> {
    /// Explores one start state; returns why the search ended early, if it did.
    fn explore(&mut self, start: &'s Start) -> Result<Option<End>, SearchError> {
        let end = self.account.begin(start)?;
        if end.is_some() {
            return Ok(end);
        }
        self.seen.clear();
        self.levels = vec![Level::default()];
        let mut desired = VecDeque::new();
        loop {
            while let Some(step) = self.next_step(&mut desired)? {
                let end = self.account.push(step)?;
                if end.is_some() {
                    return Ok(end);
                }
                self.levels.push(Level::default());
            }
            self.account.redundant += u64::from(!self.seen.insert(fingerprint(&self.account.execution)));
            let end = self.account.count_execution();
            if end.is_some() {
                return Ok(end);
            }
            self.add_branches()?;
            // The last open branch.
            desired = loop {
                if let Some(branch) = self.levels.last_mut().and_then(|level| level.open.pop()) {
                    break branch.into();
                }
                self.levels.pop();
                if self.account.pop().is_none() {
                    return Ok(None);
                }
            };
        }
    }

    /// The next step of the desired order if it is possible, or else the first possible one.
    fn next_step(&mut self, desired: &mut VecDeque<Step>) -> Result<Option<Step>, SearchError> {
        self.account.enabled(&mut self.enabled)?;
        let level = self.levels.last_mut().expect("the start state has a level");
        if let Some(step) = desired.pop_front() {
            if self.enabled.contains(&(step.node, step.trigger)) && self.account.has_outcome(step)? {
                if !level.begun.contains(&step) {
                    level.begun.push(step);
                }
                return Ok(Some(step));
            }
            desired.clear();
        }
        let step = self.enabled.first().map(|(node, trigger)| Step { node: *node, trigger: *trigger, outcome: 0 });
        level.begun.extend(step);
        Ok(step)
    }

    /// Adds a branch for each race of the current execution.
    fn add_branches(&mut self) -> Result<(), SearchError> {
        let mut races = std::mem::take(&mut self.races);
        races.clear();
        for node in 0..self.account.search.lts.scenario().nodes {
            let Account { execution, stepper, .. } = &mut self.account;
            execution.races(stepper, node, |race| races.push(race))?;
        }
        for race in &races {
            let Account { execution, stepper, .. } = &mut self.account;
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
                    level.open.push(order);
                }
            }
        }
        self.races = races;
        Ok(())
    }
}

/// What each node went through: the same for executions with the same happens-before. 128 bits.
fn fingerprint(execution: &Execution) -> u128 {
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        for node in 0..execution.nodes() {
            for index in execution.chain(node) {
                execution.events()[*index as usize].step.hash(&mut hasher);
            }
        }
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}
