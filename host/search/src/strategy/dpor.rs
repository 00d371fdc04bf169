//! Optimal dynamic partial-order reduction.

use host_model::contract::NodeId;
use host_model::lts::{Step, Trigger};

use crate::kernel::{EndCondition, Report, Search, SearchError};
use crate::stateless::exploration::{self, StatelessExploration};
use crate::stateless::wakeup_tree::{WakeupTree, is_weak_initial};

pub use crate::stateless::exploration::DEPTH_DEFAULT;

/// Optimal dynamic partial-order reduction (optimal DPOR).
///
/// Guarantee: every reported violation is reachable, by a path without events that do not matter to it.
/// Complete: within the bounds.
/// Explores: one execution for each happens-before, to its end; no state is remembered. Properties are evaluated on
/// all system states that the execution and its reorderings go through, see `stateless/consistent_cuts.rs`. `redundant` counts
/// executions given up since all their possible events were explored before; optimality means that there are none. Memory:
/// the path, with the beginnings of executions still to be explored.
/// Honours: depth, local-event and state bounds (a state is an execution here), the wish to find deadlocks, the monitor.
/// Source: Abdulla, Aronis, Jonsson, Sagonas, "Source sets: a foundation for optimal dynamic partial order reduction",
/// Journal of the ACM 64(4), 2017, algorithm 2; differs in: events of one node can disable each other, and a handler
/// has several outcomes, so besides races between executed events, those with events that could have been executed
/// instead are reversed.
pub fn run(search: &Search<'_>) -> Result<Report, SearchError> {
    exploration::explore_all(search, |exploration| {
        let (levels, enabled, found) = (vec![Level::default()], Vec::new(), Vec::new());
        DporSearch { exploration, levels, enabled, found, asked: 0, asleep: 0 }.explore()
    })
}

/// The facts about the state before an event of the current execution, or at its end.
#[derive(Default)]
struct Level {
    /// Steps that need not be taken here: all executions that they can begin were explored.
    sleep: Vec<Step>,
    /// The executions still to be explored from here, except the current one.
    wakeup: WakeupTree,
}

struct DporSearch<'r, 's, 'l> {
    exploration: &'r mut StatelessExploration<'s, 'l>,
    levels: Vec<Level>,
    /// Reused, to spare allocations.
    enabled: Vec<(NodeId, Trigger)>,
    found: Vec<(usize, Trigger)>,
    /// Steps in all wakeup trees, and in all sleep sets.
    asked: u64,
    asleep: u64,
}

impl DporSearch<'_, '_, '_> {
    /// Explores one start state; returns why the search ended early, if it did.
    fn explore(&mut self) -> Result<Option<EndCondition>, SearchError> {
        loop {
            // To the end of an execution, along the steps of the wakeup tree and then along any.
            while let Some((step, wakeup)) = self.next_step()? {
                let end = self.exploration.push(step)?;
                if end.is_some() {
                    return Ok(end);
                }
                let level = self.levels.last().expect("the start state has a level");
                // Steps of the same node depend on this one, so from here on they lead to other executions.
                let asleep = level.sleep.iter().filter(|asleep| asleep.node != step.node);
                let sleep: Vec<Step> = asleep.copied().collect();
                self.asleep += sleep.len() as u64;
                self.levels.push(Level { sleep, wakeup });
                let end = self.keep();
                if end.is_some() {
                    return Ok(end);
                }
            }
            if self.enabled.is_empty() {
                let end = self.exploration.count_execution()?;
                if end.is_some() {
                    return Ok(end);
                }
            } else {
                self.exploration.redundant += 1;
            }
            let end = self.reverse_races()?;
            if end.is_some() {
                return Ok(end);
            }
            // Back to a state with executions left to explore.
            loop {
                self.asleep -= self.levels.pop().map_or(0, |level| level.sleep.len() as u64);
                let Some(event) = self.exploration.pop() else { return Ok(None) };
                let level = self.levels.last_mut().expect("each event has the level before it");
                level.sleep.push(event.step);
                self.asleep += 1;
                if !level.wakeup.is_empty() {
                    break;
                }
            }
        }
    }

    /// The next step, and the executions to explore after it; none if no event is possible, or all are asleep.
    fn next_step(&mut self) -> Result<Option<(Step, WakeupTree)>, SearchError> {
        let level = self.levels.last_mut().expect("the start state has a level");
        if let Some(first) = level.wakeup.take_first() {
            self.asked -= 1;
            return Ok(Some(first));
        }
        self.exploration.enabled(&mut self.enabled)?;
        let steps = self.enabled.iter().map(|(node, trigger)| Step { node: *node, trigger: *trigger, outcome: 0 });
        let step = steps.into_iter().find(|step| !level.sleep.contains(step));
        Ok(step.map(|step| (step, WakeupTree::default())))
    }

    /// Counts the bytes kept; returns why to end the search, if there is a reason.
    fn keep(&mut self) -> Option<EndCondition> {
        let lists = self.levels.capacity() * size_of::<Level>() + self.found.capacity() * size_of::<(usize, Trigger)>();
        // A sleep set has room for as many steps again.
        let asleep = self.asleep * 2 * size_of::<Step>() as u64;
        self.exploration.keep(lists as u64 + asleep + self.asked * WakeupTree::STEP_BYTES)
    }

    /// Requests executions that reverse the races of the current one, unless they were explored. Returns why to end the search, if
    /// there is a reason.
    fn reverse_races(&mut self) -> Result<Option<EndCondition>, SearchError> {
        let mut found = std::mem::take(&mut self.found);
        for node in 0..self.exploration.search.lts.scenario().nodes {
            let StatelessExploration { execution, stepper, .. } = &mut *self.exploration;
            found.clear();
            execution.races(stepper, node, |race| found.push((race.event, race.trigger)))?;
            for (index, trigger) in &found {
                let end = self.reverse(*index, *trigger)?;
                if end.is_some() {
                    return Ok(end);
                }
            }
        }
        self.found = found;
        Ok(None)
    }

    /// Requests executions where a trigger comes instead of an event, with each of its outcomes. Returns why to end the search, if
    /// there is a reason.
    fn reverse(&mut self, index: usize, trigger: Trigger) -> Result<Option<EndCondition>, SearchError> {
        let event = self.exploration.execution.events()[index];
        let row = self.exploration.stepper.step(event.before, trigger)?;
        let mut independent: Option<Vec<Step>> = None;
        for outcome in 0..self.exploration.stepper.outcomes(row).len() as u32 {
            let (execution, level) = (&self.exploration.execution, &mut self.levels[index]);
            let step = Step { node: event.step.node, trigger, outcome };
            if step == event.step || level.sleep.contains(&step) {
                continue;
            }
            // All events that do not happen after the event stay as they are, so that explored executions are recognised.
            let sequence = independent.get_or_insert_with(|| {
                let later = index + 1..execution.events().len();
                let later = later.filter(|later| !execution.happens_after(*later, index));
                later.map(|later| execution.events()[later].step).collect()
            });
            let mut sequence = sequence.clone();
            sequence.push(step);
            if !level.sleep.iter().any(|asleep| is_weak_initial(*asleep, &sequence)) {
                self.asked += level.wakeup.insert(sequence) as u64;
            }
            let end = self.keep();
            if end.is_some() {
                return Ok(end);
            }
        }
        Ok(None)
    }
}
