//! Dynamic partial-order reduction for distributed systems, as first proposed: on the tree of all executions.

use std::collections::VecDeque;

use host_model::contract::MachineError;
use host_model::lts::Step;
use rustc_hash::FxHashSet;

use crate::kernel::{EndCondition, Report, Search, SearchError, table_bytes};
use crate::stateless::execution::Race;
use crate::stateless::exploration::{self, StatelessExploration};

/// DPOR-DS, the algorithm on the whole tree.
///
/// Guarantee: every reported violation is reachable, by a path without events that do not matter to it.
/// Complete: within the bounds.
/// Explores: executions to their end, all kept in a tree. When everything under an event of the tree is
/// explored, each pair of that event and a later one of its node anywhere below whose order is not forced requests a
/// branch before the event: the events between the two in their order, without those that happen after the first, then
/// the second, then the first. The branch is explored unless the tree has it. [`dpor-ds`](crate::strategy::dpor_ds) considers the
/// last execution alone, and repeats fewer of them; this is the yardstick for it. `redundant` counts the executions that
/// repeat earlier ones up to the order of independent events. Properties are evaluated as by [`dpor`](crate::strategy::dpor).
/// Memory: the tree, about 50 bytes per event of an execution that it does not share with earlier ones, the pairs found
/// under the current path, and 16 bytes per execution to recognise repetitions.
/// Honours: depth, local-event and state bounds (a state is an execution here), the wish to find deadlocks, the monitor.
/// Source: "DPOR-DS: Dynamic partial order reduction for distributed systems based on happens-before relation", LARA,
/// EPFL, the first algorithm (`AddBranch`); differs in: a pair is noted when its execution is explored, and not looked for
/// again in the tree, which finds the same ones in the same order; the pair must be unordered by what messages force, since
/// with the order of each node in it, as the page defines happens-before, no pair would be left; pairs are neighbours at
/// their node, as those further apart become neighbours on the branches; other outcomes of a handler and events that were
/// disabled are branches as well, without which it would not be complete.
pub fn run(search: &Search<'_>) -> Result<Report, SearchError> {
    exploration::explore_all(search, |exploration| {
        let (tree, levels, seen) = (Tree::default(), vec![Level::default()], FxHashSet::default());
        TreeSearch { exploration, tree, levels, seen, listed: 0 }.explore()
    })
}

/// All executions from one start state, common beginnings shared.
struct Tree {
    /// The steps and children of each node of the tree. The first node is the start state.
    children: Vec<Vec<(Step, u32)>>,
}

impl Default for Tree {
    fn default() -> Self {
        Self { children: vec![Vec::new()] }
    }
}

impl Tree {
    /// Bytes kept: an entry of its own and one in a list with room for as many again, for each event.
    fn bytes(&self) -> u64 {
        let event = size_of::<Vec<(Step, u32)>>() + 2 * size_of::<(Step, u32)>();
        (self.children.capacity() * event) as u64
    }

    fn child(&self, node: u32, step: Step) -> Option<u32> {
        let children = self.children[node as usize].iter();
        children.clone().find(|(other, _)| *other == step).map(|(_, child)| *child)
    }

    /// The child that a step leads to; a new one if there is none.
    fn grow(&mut self, node: u32, step: Step) -> u32 {
        self.child(node, step).unwrap_or_else(|| {
            let fresh = self.children.len() as u32;
            self.children[node as usize].push((step, fresh));
            self.children.push(Vec::new());
            fresh
        })
    }

    /// Whether an execution continues from a node with these steps.
    fn has(&self, node: u32, steps: &[Step]) -> bool {
        steps.iter().try_fold(node, |at, step| self.child(at, *step)).is_some()
    }
}

/// The state before an event of the current execution, or at its end.
#[derive(Default)]
struct Level {
    /// Its place in the tree.
    node: u32,
    /// Branches that the events under the current child request: the events before the second event of a pair, that event,
    /// and the first one.
    noted: Vec<Vec<Step>>,
    /// Branches that the events under earlier children request and that were not considered yet, the next one last.
    open: Vec<Vec<Step>>,
}

struct TreeSearch<'r, 's, 'l> {
    exploration: &'r mut StatelessExploration<'s, 'l>,
    tree: Tree,
    levels: Vec<Level>,
    /// Fingerprints of executions, node by node.
    seen: FxHashSet<u128>,
    /// Steps of the branches of all levels.
    listed: u64,
}

impl TreeSearch<'_, '_, '_> {
    /// Explores one start state; returns why the search ended early, if it did.
    fn explore(&mut self) -> Result<Option<EndCondition>, SearchError> {
        let mut desired = VecDeque::new();
        loop {
            while let Some(step) = self.exploration.next_step(&mut desired)? {
                let end = self.exploration.push(step)?;
                if end.is_some() {
                    return Ok(end);
                }
                let node = self.levels.last().expect("the start state has a level").node;
                let node = self.tree.grow(node, step);
                self.levels.push(Level { node, ..Level::default() });
            }
            self.exploration.redundant += u64::from(!self.seen.insert(self.exploration.execution.fingerprint()));
            let end = self.exploration.count_execution()?;
            if end.is_some() {
                return Ok(end);
            }
            let end = self.note_branches()?;
            if end.is_some() {
                return Ok(end);
            }
            // Back to the last event with a branch that the tree does not have.
            desired = loop {
                if let Some(branch) = self.next_branch() {
                    break branch.into();
                }
                self.levels.pop();
                if self.exploration.pop().is_none() {
                    return Ok(None);
                }
            };
        }
    }

    /// The next branch to explore from the last level; everything under its current child is explored.
    fn next_branch(&mut self) -> Option<Vec<Step>> {
        let Level { node, noted, open } = self.levels.last_mut()?;
        open.extend(noted.drain(..).rev());
        while let Some(branch) = open.pop() {
            self.listed -= branch.len() as u64;
            // The last step is only a wish: the steps before it can have made it impossible.
            if !self.tree.has(*node, &branch[..branch.len() - 1]) {
                return Some(branch);
            }
        }
        None
    }

    /// Counts the bytes kept; returns why to end the search, if there is a reason. A list of steps has room for as many
    /// again, and the list of branches an entry for each.
    fn keep(&mut self) -> Option<EndCondition> {
        let step = 2 * size_of::<Step>() + size_of::<Vec<Step>>();
        let lists = self.levels.capacity() * size_of::<Level>() + table_bytes::<u128>(self.seen.capacity());
        self.exploration.keep(lists as u64 + self.tree.bytes() + self.listed * step as u64)
    }

    /// Notes the branches that the current execution requests. Returns why to end the search, if there is a reason.
    fn note_branches(&mut self) -> Result<Option<EndCondition>, MachineError> {
        for node in 0..self.exploration.execution.nodes() {
            let StatelessExploration { execution, stepper, .. } = &mut *self.exploration;
            let mut races: Vec<Race> = Vec::new();
            execution.races(stepper, node, |race| races.push(race))?;
            for race in races {
                let StatelessExploration { execution, stepper, .. } = &mut *self.exploration;
                let event = execution.events()[race.event];
                let row = stepper.step(event.before, race.trigger)?;
                for outcome in 0..stepper.outcomes(row).len() as u32 {
                    let step = Step { node, trigger: race.trigger, outcome };
                    // Another outcome comes instead of the event, not before it.
                    if step != event.step {
                        let between = execution.between(&race);
                        let noted = &mut self.levels[race.event].noted;
                        let branch: Vec<Step> = between.chain([step, event.step]).collect();
                        self.listed += branch.len() as u64;
                        noted.push(branch);
                    }
                }
                let end = self.keep();
                if end.is_some() {
                    return Ok(end);
                }
            }
        }
        Ok(None)
    }
}
