//! A graph for analysis: its edges with labels, the promises owed per state, and the path to each state.

use crate::liveness::graph::bits::StateSet;
use crate::liveness::graph::label::{EventClass, Label};
use crate::liveness::graph::parents::Parents;
use crate::liveness::graph::rows::{LabelId, Row, Rows};

/// A graph whose states are numbered in the order of discovery: no state is found by fewer events than one before it.
#[derive(Clone, Debug, Default)]
pub struct StoredGraph {
    rows: Rows,
    /// The state from which each state is found by a shortest path.
    parents: Parents,
    /// States with unknown successors, other than those without a row.
    truncated: StateSet,
    labels: Vec<Label>,
    /// The classes of the labels again, side by side: they are read for every edge.
    classes: Vec<EventClass>,
    label_bytes: u64,
    has_draws: bool,
    /// For each promise the states where it is not kept.
    owing: Vec<StateSet>,
}

/// An edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The state where it begins.
    pub from: u32,
    /// The state where it ends.
    pub to: u32,
    /// The label of its event.
    pub label: LabelId,
}

impl StoredGraph {
    /// A graph without states, for this many promises.
    pub fn new(promises: usize) -> Self {
        Self { owing: vec![StateSet::default(); promises], ..Self::default() }
    }

    /// Adds the next state, found from `parent`, or a start state; `owing` are the promises that are not kept there.
    ///
    /// # Panics
    ///
    /// Its parent comes before that of the state before it.
    pub fn add_state(&mut self, parent: Option<u32>, owing: impl IntoIterator<Item = usize>) {
        let state = self.states();
        self.parents.push(parent);
        for promise in owing {
            self.owing[promise].insert(state);
        }
    }

    /// Adds the next label; returns its number.
    pub fn add_label(&mut self, label: Label) -> LabelId {
        self.label_bytes += label.bytes() as u64;
        self.has_draws |= label.draw.is_some();
        self.classes.push(label.class);
        self.labels.push(label);
        self.labels.len() as LabelId - 1
    }

    /// Adds the row of the next state: targets and labels. An action that a bound suppresses is an edge of its
    /// class to the state itself.
    pub fn add_row(&mut self, row: &mut Vec<(u32, LabelId)>, is_truncated: bool) {
        if is_truncated {
            self.truncated.insert(self.rows.len());
        }
        self.rows.push(row);
    }

    /// Number of states.
    pub fn states(&self) -> u32 {
        self.parents.len()
    }

    /// Number of expanded states; they have the first numbers.
    pub fn expanded(&self) -> u32 {
        self.rows.len()
    }

    /// Number of edges.
    pub fn edges(&self) -> u64 {
        self.rows.edges()
    }

    /// Number of promises.
    pub fn promises(&self) -> usize {
        self.owing.len()
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        let sets: u64 = self.owing.iter().map(StateSet::bytes).sum();
        self.rows.bytes() + self.parents.bytes() + sets + self.truncated.bytes() + self.label_bytes
    }

    /// Whether any label leaves something to chance.
    pub fn has_draws(&self) -> bool {
        self.has_draws
    }

    /// A label.
    #[inline]
    pub fn label(&self, label: LabelId) -> &Label {
        &self.labels[label as usize]
    }

    /// The class of events with a label.
    #[inline]
    pub fn class(&self, label: LabelId) -> EventClass {
        self.classes[label as usize]
    }

    /// All entries of a state, including suppressed actions: targets and labels.
    #[inline]
    pub fn row(&self, state: u32) -> Row<'_> {
        self.rows.row(state)
    }

    /// The rows of all states.
    pub(in crate::liveness) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Whether a promise is not kept in a state.
    #[inline]
    pub fn owes(&self, promise: usize, state: u32) -> bool {
        self.owing[promise].contains(state)
    }

    /// Number of states in which a promise is not kept.
    pub fn owing(&self, promise: usize) -> u64 {
        self.owing[promise].len()
    }

    /// Whether a state may have more successors than are known.
    #[inline]
    pub fn is_truncated(&self, state: u32) -> bool {
        state >= self.rows.len() || self.truncated.contains(state)
    }

    /// Whether there are such states.
    pub fn has_truncated(&self) -> bool {
        self.rows.len() < self.states() || self.truncated.len() > 0
    }

    /// A shortest path to a state from a start state, which is its first state or the state itself.
    pub fn path_to(&self, state: u32) -> Vec<Edge> {
        let mut path = Vec::new();
        let mut to = state;
        while let Some(mut near) = self.parents.near(to) {
            let is_way =
                |(target, label): &(u32, LabelId)| *target == to && self.class(*label) != EventClass::Suppressed;
            let edge = near.find_map(|from| {
                let (_, label) = self.row(from).find(is_way)?;
                Some(Edge { from, to, label })
            });
            let edge = edge.expect("a state is found by an edge");
            to = edge.from;
            path.push(edge);
        }
        path.reverse();
        path
    }
}
