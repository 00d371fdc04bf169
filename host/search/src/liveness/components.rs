//! Strongly connected components of a part of a graph.
//!
//! Source: Tarjan, "Depth-first search and linear graph algorithms", SIAM Journal on Computing 1972, as in Pearce, "A space-efficient
//! algorithm for finding strongly connected components", Information Processing Letters 2016: one number per state, which is the
//! state's rank while it is on the stack, and its component's afterwards; here without recursion, since a path can have as many
//! states as the graph.

use crate::kernel::EndCondition;
use crate::liveness::graph::{Edge, StoredGraph};
use crate::liveness::rows::Position;
use crate::liveness::watch::Watch;

/// A component that has an edge inside.
#[derive(Clone, Copy)]
pub struct Component<'c> {
    /// Its states, in ascending order.
    pub members: &'c [u32],
    numbers: &'c [u32],
    number: u32,
}

impl Component<'_> {
    /// Whether a state is in it, given that the state is in the part of the graph that was asked for.
    #[inline]
    pub fn contains(&self, state: u32) -> bool {
        self.numbers[state as usize] == self.number
    }
}

/// Hears of components. An error ends the analysis.
pub type Found<'f> = dyn FnMut(Component<'_>, &mut Watch<'_>) -> Result<(), EndCondition> + 'f;

/// The number of a state that was not visited.
const UNVISITED: u32 = 0;

/// A state on the path of the depth-first search.
struct Frame {
    state: u32,
    position: Position,
    /// Whether no state below it on the path was reached from it.
    is_root: bool,
}

/// Finds components, again and again in parts of one graph.
pub struct Components<'g> {
    graph: &'g StoredGraph,
    /// Of a state on the stack its rank, from 1 on; of a finished one its component, from the highest number downwards.
    numbers: Vec<u32>,
    /// Finished states whose component is not.
    waiting: Vec<u32>,
    path: Vec<Frame>,
    /// The next rank, and the next component.
    next: (u32, u32),
}

impl<'g> Components<'g> {
    /// For a graph.
    ///
    /// # Errors
    ///
    /// There is no room.
    pub fn new(graph: &'g StoredGraph, watch: &mut Watch<'_>) -> Result<Self, EndCondition> {
        // The numbers; the stack and the path grow up to all states, together.
        watch.take(u64::from(graph.states()) * (size_of::<u32>() + size_of::<Frame>()) as u64)?;
        let numbers = vec![UNVISITED; graph.states() as usize];
        Ok(Self { graph, numbers, waiting: Vec::new(), path: Vec::new(), next: (1, u32::MAX) })
    }

    /// Finds the components of the part of the graph that is reached from these states over the edges that `keeps` keeps: each that
    /// has an edge inside is told to `found`, as soon as it is finished.
    ///
    /// # Errors
    ///
    /// The analysis is to end.
    pub fn find(
        &mut self,
        roots: impl IntoIterator<Item = u32>,
        keeps: &dyn Fn(&Edge) -> bool,
        watch: &mut Watch<'_>,
        found: &mut Found<'_>,
    ) -> Result<(), EndCondition> {
        for root in roots {
            watch.work(1)?;
            if self.numbers[root as usize] == UNVISITED {
                self.visit(root, keeps, watch, found)?;
            }
        }
        Ok(())
    }

    /// Forgets that these states were visited, so that they can be part of another search.
    pub fn forget(&mut self, states: &[u32]) {
        for state in states {
            self.numbers[*state as usize] = UNVISITED;
        }
        self.next = (1, u32::MAX);
    }

    fn visit(
        &mut self,
        root: u32,
        keeps: &dyn Fn(&Edge) -> bool,
        watch: &mut Watch<'_>,
        found: &mut Found<'_>,
    ) -> Result<(), EndCondition> {
        self.enter(root);
        while let Some(frame) = self.path.last_mut() {
            let state = frame.state;
            let mut row = self.graph.rows().row_from(state, frame.position);
            let mut child = None;
            let mut edges = 1;
            for (to, label) in row.by_ref() {
                edges += 1;
                if !keeps(&Edge { from: state, to, label }) {
                    continue;
                }
                let number = self.numbers[to as usize];
                if number == UNVISITED {
                    child = Some(to);
                    break;
                }
                if number < self.numbers[state as usize] {
                    self.numbers[state as usize] = number;
                    frame.is_root = false;
                }
            }
            frame.position = row.position();
            watch.work(edges)?;
            match child {
                Some(child) => self.enter(child),
                None => self.leave(keeps, watch, found)?,
            }
        }
        Ok(())
    }

    fn enter(&mut self, state: u32) {
        self.numbers[state as usize] = self.next.0;
        self.next.0 += 1;
        self.path.push(Frame { state, position: Position::default(), is_root: true });
    }

    /// Finishes the last state of the path, and its component if this is its root.
    fn leave(
        &mut self,
        keeps: &dyn Fn(&Edge) -> bool,
        watch: &mut Watch<'_>,
        found: &mut Found<'_>,
    ) -> Result<(), EndCondition> {
        let Frame { state, is_root, .. } = self.path.pop().expect("the path is not empty");
        let rank = self.numbers[state as usize];
        if !is_root {
            self.waiting.push(state);
        } else {
            let of_component = |waiting: &u32| self.numbers[*waiting as usize] >= rank;
            let len = self.waiting.iter().rev().take_while(|waiting| of_component(waiting)).count();
            let mut members = self.waiting.split_off(self.waiting.len() - len);
            members.push(state);
            self.next.0 -= members.len() as u32;
            for member in &members {
                self.numbers[*member as usize] = self.next.1;
            }
            let number = self.next.1;
            self.next.1 -= 1;
            let has_loop = || {
                let mut row = self.graph.row(state).map(|(to, label)| Edge { from: state, to, label });
                row.any(|edge| edge.to == state && keeps(&edge))
            };
            if members.len() > 1 || has_loop() {
                members.sort_unstable();
                found(Component { members: &members, numbers: &self.numbers, number }, watch)?;
            }
        }
        // The state before hears of the ranks that were reached from this one. Those of a finished component are higher than any.
        if let Some(before) = self.path.last_mut() {
            let (number, own) = (self.numbers[state as usize], self.numbers[before.state as usize]);
            if number < own {
                self.numbers[before.state as usize] = number;
                before.is_root = false;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Progress, Unmonitored};
    use crate::liveness::label::{EventClass, Label};

    fn graph(states: u32, edges: &[(u32, u32)]) -> StoredGraph {
        let mut graph = StoredGraph::new(0);
        let label = graph.add_label(Label::new(EventClass::Free, None));
        (0..states).for_each(|state| graph.add_state(state.checked_sub(1), []));
        for state in 0..states {
            let row = edges.iter().filter(|(from, _)| *from == state).map(|(_, to)| (*to, label));
            graph.add_row(&mut row.collect(), false);
        }
        graph
    }

    fn components(graph: &StoredGraph) -> Vec<Vec<u32>> {
        let mut watch = Watch::new(&Unmonitored, Progress::default());
        let mut found = Vec::new();
        let mut finder = Components::new(graph, &mut watch).expect("room");
        let mut keep = |component: Component<'_>, _: &mut Watch<'_>| {
            found.push(component.members.to_vec());
            Ok(())
        };
        finder.find(0..graph.states(), &|_| true, &mut watch, &mut keep).expect("nobody ends it");
        found.sort();
        found
    }

    #[test]
    fn components_are_those_that_are_seen_by_eye() {
        // Two cycles with a way from one to the other, a loop, and a state by itself.
        let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (4, 5), (5, 5), (5, 6)];
        assert_eq!(components(&graph(7, &edges)), [vec![0, 1, 2], vec![3, 4], vec![5]]);
    }

    /// Two states are in one component if each is reached from the other.
    #[test]
    fn components_are_those_of_the_definition() {
        let mut dice = 88_172_645_463_325_252_u64;
        let mut below = |bound: u32| {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            (dice % u64::from(bound)) as u32
        };
        for _ in 0..2_000 {
            let states = 1 + below(9);
            let edges: Vec<(u32, u32)> = (0..below(3 * states)).map(|_| (below(states), below(states))).collect();
            let mut reaches = vec![vec![false; states as usize]; states as usize];
            edges.iter().for_each(|(from, to)| reaches[*from as usize][*to as usize] = true);
            for via in 0..states as usize {
                for from in 0..states as usize {
                    for to in 0..states as usize {
                        reaches[from][to] |= reaches[from][via] && reaches[via][to];
                    }
                }
            }
            let mutual =
                |one: u32, other: u32| reaches[one as usize][other as usize] && reaches[other as usize][one as usize];
            let of = |state: u32| (0..states).filter(|other| mutual(state, *other)).collect::<Vec<u32>>();
            let mut expected: Vec<Vec<u32>> = (0..states).map(of).filter(|members| !members.is_empty()).collect();
            expected.sort();
            expected.dedup();
            assert_eq!(components(&graph(states, &edges)), expected, "{edges:?}");
        }
    }
}
