//! Scripts: phases of a run; in each, some nodes are cut off, some messages are lost and some nodes are called.

use host_model::contract::NodeId;
use host_model::scenario::{Network, Scenario};
use serde::{Deserialize, Serialize};

use crate::time::Range;

/// A phase of a run. It adds to the conditions of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Its duration; the last phase lasts to the end of the run.
    pub lasts: Range,
    /// The nodes that reach no other node, as in a partition.
    pub cut: Vec<NodeId>,
    /// Messages that are lost.
    pub lost: Vec<Lost>,
    /// The nodes at which the application makes its calls; at others, calls wait for another phase. None for all nodes.
    pub calls: Option<Vec<NodeId>>,
    /// The nodes that are reset when it begins.
    pub resets: Vec<NodeId>,
}

/// Messages from a sender to a destination that are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lost {
    /// The sender.
    pub from: NodeId,
    /// The destination.
    pub to: NodeId,
    /// The first byte of the lost messages, which distinguishes kinds in most encodings; none for all messages.
    pub kind: Option<u8>,
}

/// Why a script is refused in a scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// A node that does not exist.
    #[error("phase {0} names node {1}, and the cluster has {2} nodes")]
    Node(usize, NodeId, u32),
    /// The shortest duration is longer than the longest one.
    #[error("the time of phase {0} ends before it begins")]
    Range(usize),
    /// Messages on a link with an order are not lost.
    #[error("phase {0} loses messages from node {1} to node {2}, between which they have an order")]
    Ordered(usize, NodeId, NodeId),
    /// Nodes cannot be reset.
    #[error("phase {0} resets a node, and the scenario has no resets")]
    NoResets(usize),
}

/// Refuses a script that does not fit a scenario.
pub(crate) fn check(script: &[Phase], scenario: &Scenario) -> Result<(), ScriptError> {
    for (number, phase) in (1..).zip(script) {
        let Phase { lasts, cut, lost, calls, resets } = phase;
        let called = calls.iter().flatten();
        let ends = lost.iter().flat_map(|lost| [&lost.from, &lost.to]);
        let named = cut.iter().chain(resets).chain(called).chain(ends);
        if let Some(node) = named.copied().find(|node| *node >= scenario.nodes) {
            return Err(ScriptError::Node(number, node, scenario.nodes));
        }
        if lasts.from > lasts.to {
            return Err(ScriptError::Range(number));
        }
        let is_ordered = |lost: &&Lost| scenario.network_of(lost.from, lost.to) == Network::Ordered;
        if let Some(Lost { from, to, .. }) = lost.iter().find(is_ordered) {
            return Err(ScriptError::Ordered(number, *from, *to));
        }
        if !resets.is_empty() && !scenario.faults.have_restarts() {
            return Err(ScriptError::NoResets(number));
        }
    }
    Ok(())
}

impl Phase {
    /// Whether two nodes do not reach each other.
    pub(crate) fn separates(&self, from: NodeId, to: NodeId) -> bool {
        from != to && (self.cut.contains(&from) || self.cut.contains(&to))
    }

    /// Whether a message is lost.
    pub(crate) fn loses(&self, from: NodeId, to: NodeId, payload: &[u8]) -> bool {
        let is_meant = |lost: &Lost| {
            (lost.from, lost.to) == (from, to) && lost.kind.is_none_or(|kind| payload.first() == Some(&kind))
        };
        self.lost.iter().any(is_meant)
    }

    /// Whether the application calls a node.
    pub(crate) fn lets_call(&self, node: NodeId) -> bool {
        self.calls.as_ref().is_none_or(|calls| calls.contains(&node))
    }
}
