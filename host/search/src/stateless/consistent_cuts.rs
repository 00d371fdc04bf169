//! The system states of all consistent cuts of one execution.
//!
//! The system states that an execution or any reordering of its independent events goes through are its *consistent
//! cuts*: for each node a number of its events, such that what happens before them is included. They need not be
//! visited one by one. Cut the events of each node into *runs* with the same key, such as the class of the local
//! state. A tuple of runs, one per node, is passed by a consistent cut if and only if no run has ended before the
//! beginning of another one:
//!
//! > for all nodes `i` and `j`, the past of the first event of the run of `i` reaches at most to the end of the run of
//! > `j`.
//!
//! If so, the join of these pasts is such a cut, and it is the smallest one; the converse holds because a cut contains
//! the pasts of its events.

use crate::stateless::execution::Execution;

/// A run of events of one node with the same key.
#[derive(Clone, Copy, Debug)]
struct StateRun<K> {
    key: K,
    /// Number of events of the node up to the first of the run; 0 for the start state.
    first: u32,
    /// The first event; none for the start state.
    event: Option<usize>,
}

/// The runs of an execution that grows and shrinks at its end.
#[derive(Clone, Debug)]
pub struct ConsistentCuts<K> {
    nodes: Vec<Vec<StateRun<K>>>,
    /// Reused, to spare allocations.
    picked: Vec<usize>,
    join: Vec<u32>,
    keys: Vec<K>,
}

impl<K: Copy + PartialEq> ConsistentCuts<K> {
    /// The runs of an execution without events.
    pub fn new(keys: impl Iterator<Item = K>) -> Self {
        let keys: Vec<K> = keys.collect();
        let nodes: Vec<Vec<StateRun<K>>> =
            keys.iter().map(|key| vec![StateRun { key: *key, first: 0, event: None }]).collect();
        Self { picked: vec![0; nodes.len()], join: vec![0; nodes.len()], keys, nodes }
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        self.nodes.iter().map(|runs| size_of_val(runs) + runs.capacity() * size_of::<StateRun<K>>()).sum::<usize>()
            as u64
    }

    /// Adds the last event of the execution, which has this key; returns whether a run begins.
    pub fn push(&mut self, execution: &Execution, key: K) -> bool {
        let index = execution.events().len() - 1;
        let event = &execution.events()[index];
        let runs = &mut self.nodes[event.step.node as usize];
        let begins = runs.last().is_none_or(|run| run.key != key);
        if begins {
            runs.push(StateRun { key, first: event.position, event: Some(index) });
        }
        begins
    }

    /// Removes the last event of the execution, which is still there.
    pub fn pop(&mut self, execution: &Execution) {
        let index = execution.events().len() - 1;
        let runs = &mut self.nodes[execution.events()[index].step.node as usize];
        if runs.last().is_some_and(|run| run.event == Some(index)) {
            runs.pop();
        }
    }

    /// Calls `visit` with each tuple of keys that contains the run begun last and is passed by a consistent cut of at
    /// most `size_max` events, and with that cut: the number of events of each node. Stops once `visit` returns false.
    pub fn for_each_new<E>(
        &mut self,
        execution: &Execution,
        size_max: u32,
        mut visit: impl FnMut(&[K], &[u32]) -> Result<bool, E>,
    ) -> Result<(), E> {
        let index = execution.events().len() - 1;
        let own = execution.events()[index].step.node as usize;
        let nodes = self.nodes.len();
        self.picked.fill(0);
        self.picked[own] = self.nodes[own].len() - 1;
        let mut at = 0;
        // An odometer over the runs of the other nodes; a digit is left as soon as its run fits with those before it.
        loop {
            if at == nodes {
                self.fill_join(execution);
                if self.join.iter().sum::<u32>() <= size_max && !visit(&self.keys, &self.join)? {
                    return Ok(());
                }
            } else if self.fits(execution, at, own) {
                at += 1;
                continue;
            }
            // Next tuple.
            loop {
                if at == nodes {
                    at -= 1;
                }
                if at != own && self.picked[at] + 1 < self.nodes[at].len() {
                    self.picked[at] += 1;
                    break;
                }
                if at != own {
                    self.picked[at] = 0;
                }
                if at == 0 {
                    return Ok(());
                }
                at -= 1;
            }
        }
    }

    /// Whether the run picked for a node fits with that of the new event and with those of the nodes before it.
    fn fits(&self, execution: &Execution, at: usize, own: usize) -> bool {
        at == own || (self.overlap(execution, at, own) && (0..at).all(|other| self.overlap(execution, at, other)))
    }

    /// Whether neither of the runs picked for two nodes ends before the other begins.
    fn overlap(&self, execution: &Execution, one: usize, other: usize) -> bool {
        self.begins_within(execution, one, other) && self.begins_within(execution, other, one)
    }

    fn begins_within(&self, execution: &Execution, one: usize, other: usize) -> bool {
        let needed = self.nodes[one][self.picked[one]].event.map_or(0, |event| execution.clock(event)[other]);
        self.nodes[other].get(self.picked[other] + 1).is_none_or(|next| needed < next.first)
    }

    fn fill_join(&mut self, execution: &Execution) {
        self.join.fill(0);
        for (node, picked) in self.picked.iter().enumerate() {
            let StateRun { key, event, .. } = self.nodes[node][*picked];
            self.keys[node] = key;
            let past = event.map_or(&[][..], |event| execution.clock(event));
            for (entry, past) in self.join.iter_mut().zip(past) {
                *entry = (*entry).max(*past);
            }
        }
    }
}
