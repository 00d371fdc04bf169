//! Strongly connected components of a part of a graph.
//!
//! Source: Tarjan, "Depth-first search and linear graph algorithms", SIAM Journal on Computing 1972, as in Pearce, "A space-efficient
//! algorithm for finding strongly connected components", Information Processing Letters 2016: one number per state, which is the
//! state's rank while it is on the stack, and its component's afterwards; here without recursion, since a path can have as many
//! states as the graph.

use crate::kernel::EndCondition;
use crate::liveness::graph::rows::Position;
use crate::liveness::graph::stored::{Edge, StoredGraph};
use crate::liveness::graph::watch::Watch;

/// A component that has an edge inside.
#[derive(Clone, Copy)]
pub struct Component<'c> {
    /// Its states, in ascending order.
    pub members: &'c [u32],
    numbers: &'c [u32],
    number: u32,
}

impl Component<'_> {
    /// Whether a state is in it, given that the state is in the part of the graph that was searched.
    #[inline]
    pub fn contains(&self, state: u32) -> bool {
        self.numbers[state as usize] == self.number
    }
}

/// Receives components. An error ends the analysis.
pub type Found<'f> = dyn FnMut(Component<'_>, &mut Watch<'_>) -> Result<(), EndCondition> + 'f;

/// The number of a state that was not visited.
const UNVISITED: u32 = 0;

/// The bit of a place in a row that says that a state below on the path was reached.
const IS_INNER: u32 = 1 << 31;

/// Finds the components of parts of one graph, one part after another.
pub struct Components<'g> {
    graph: &'g StoredGraph,
    /// For a state on the stack its rank, from 1 on; for a finished one its component, from the highest number downwards.
    numbers: Vec<u32>,
    /// From the front the states on the path of the depth-first search; from the back, the last one first, the finished states whose
    /// component is not finished. A state is in at most one of the two, so there is room for both.
    stack: Vec<u32>,
    /// For each state on the path the number of bytes read of its row, and in the highest bit whether a state below it on the path was
    /// reached from it: then it is not the root of its component.
    places: Vec<u32>,
    /// Number of finished states whose component is not finished.
    waiting: usize,
    /// The state that left the path last.
    left: u32,
    /// The next rank, and the next component.
    next: (u32, u32),
}

impl<'g> Components<'g> {
    /// The components of a graph.
    ///
    /// # Errors
    ///
    /// There is not enough memory.
    pub fn new(graph: &'g StoredGraph, watch: &mut Watch<'_>) -> Result<Self, EndCondition> {
        // The places grow up to all states.
        watch.take(u64::from(graph.states()) * 3 * size_of::<u32>() as u64)?;
        let states = graph.states() as usize;
        let (numbers, stack) = (vec![UNVISITED; states], vec![0; states]);
        Ok(Self { graph, numbers, stack, places: Vec::new(), waiting: 0, left: 0, next: (1, u32::MAX) })
    }

    /// Finds the components of the part of the graph that is reachable from these states over the edges that `keeps` accepts. Passes each
    /// component with an inner edge to `found` as soon as it is finished.
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
        while let Some(last) = self.places.len().checked_sub(1) {
            let (state, place) = (self.stack[last], self.places[last]);
            let mut is_inner = place & IS_INNER;
            // After a pause, the target before is the state that has just left the path.
            let position = Position { at: place & !IS_INNER, target: self.left };
            let mut row = self.graph.rows().row_from(state, position);
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
                    is_inner = IS_INNER;
                }
            }
            let at = row.position().at;
            assert!(at < IS_INNER, "a row has less than two billion bytes");
            self.places[last] = at | is_inner;
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
        self.stack[self.places.len()] = state;
        self.places.push(0);
    }

    /// Finishes the last state of the path, and its component if this is its root.
    fn leave(
        &mut self,
        keeps: &dyn Fn(&Edge) -> bool,
        watch: &mut Watch<'_>,
        found: &mut Found<'_>,
    ) -> Result<(), EndCondition> {
        let is_root = self.places.pop().expect("the path is not empty") & IS_INNER == 0;
        let state = self.stack[self.places.len()];
        self.left = state;
        self.waiting += 1;
        let first = self.stack.len() - self.waiting;
        self.stack[first] = state;
        if is_root {
            self.finish(state, first, keeps, watch, found)?;
        }
        // The state before takes over the ranks that were reached from this one. Those of a finished component are higher than any.
        if let Some(last) = self.places.len().checked_sub(1) {
            let (before, number) = (self.stack[last] as usize, self.numbers[state as usize]);
            if number < self.numbers[before] {
                self.numbers[before] = number;
                self.places[last] |= IS_INNER;
            }
        }
        Ok(())
    }

    /// Finishes the component of a root, which is the last of the waiting states, with those that were reached from it.
    fn finish(
        &mut self,
        root: u32,
        first: usize,
        keeps: &dyn Fn(&Edge) -> bool,
        watch: &mut Watch<'_>,
        found: &mut Found<'_>,
    ) -> Result<(), EndCondition> {
        let rank = self.numbers[root as usize];
        let of_component = |waiting: &&u32| self.numbers[**waiting as usize] >= rank;
        let len = self.stack[first..].iter().take_while(of_component).count();
        let members = &mut self.stack[first..first + len];
        let number = self.next.1;
        self.next = (self.next.0 - len as u32, number - 1);
        self.waiting -= len;
        for member in members.iter() {
            self.numbers[*member as usize] = number;
        }
        let has_loop = || {
            let mut row = self.graph.row(root).map(|(to, label)| Edge { from: root, to, label });
            row.any(|edge| edge.to == root && keeps(&edge))
        };
        if len > 1 || has_loop() {
            members.sort_unstable();
            found(Component { members, numbers: &self.numbers, number }, watch)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Progress, Unmonitored};
    use crate::liveness::graph::label::{EventClass, Label};

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
        finder.find(0..graph.states(), &|_| true, &mut watch, &mut keep).expect("no stop is requested");
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
