//! A log: its lines, and their order per node.

use host_model::contract::NodeId;

use crate::line::{Line, LineId};

/// The lines of a log.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// The lines in the order of the file.
    pub lines: Vec<Line>,
    /// The lines of each node, in the order in which the node wrote them.
    pub by_node: Vec<Vec<LineId>>,
    /// The position of each line among those of its node.
    positions: Vec<u32>,
    /// Bytes kept for it, about.
    pub bytes: usize,
}

impl Log {
    /// A log of lines that are in the order of their nodes.
    pub fn new(lines: Vec<Line>, nodes: u32) -> Self {
        let mut by_node = vec![Vec::new(); nodes as usize];
        for (id, line) in (0..).zip(&lines) {
            by_node[line.node as usize].push(id);
        }
        Self::in_order(lines, by_node)
    }

    /// A log of lines, and their order per node.
    pub(crate) fn in_order(lines: Vec<Line>, by_node: Vec<Vec<LineId>>) -> Self {
        let mut positions = vec![0; lines.len()];
        for of_node in &by_node {
            for (position, id) in (0..).zip(of_node) {
                positions[*id as usize] = position;
            }
        }
        Self { lines, by_node, positions, bytes: 0 }
    }

    /// The position of a line among those of its node.
    pub(crate) fn position(&self, id: LineId) -> u32 {
        self.positions[id as usize]
    }

    /// A line.
    pub fn line(&self, id: LineId) -> &Line {
        &self.lines[id as usize]
    }

    /// The line at a position of a node.
    pub(crate) fn at(&self, node: NodeId, position: u32) -> Option<LineId> {
        self.by_node[node as usize].get(position as usize).copied()
    }

    /// The same log without one of its lines. The numbers of the others stay.
    #[must_use]
    pub fn without(&self, id: LineId) -> Self {
        let mut lines = self.lines.clone();
        lines.iter_mut().for_each(|line| line.after.retain(|before| *before != id));
        let mut by_node = self.by_node.clone();
        by_node.iter_mut().for_each(|of_node| of_node.retain(|line| *line != id));
        Self { bytes: self.bytes, ..Self::in_order(lines, by_node) }
    }

    /// Number of lines.
    pub fn len(&self) -> u32 {
        self.by_node.iter().map(|of_node| of_node.len() as u32).sum()
    }

    /// Whether it has no lines.
    pub fn is_empty(&self) -> bool {
        self.by_node.iter().all(Vec::is_empty)
    }
}
