//! The standing of a property in the current state of a replay.

use crate::contract::{MachineError, NodeId, PropertyKind};
use crate::trace::replay::Replay;

/// The standing of a property in one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// An `always` property is not violated, an `eventually` property is kept.
    Holds,
    /// An `always` property is violated, with the reason in the plugin's words.
    Violated(String),
    /// A `sometimes` property holds here.
    Reached,
    /// A `sometimes` property does not hold here.
    NotReached,
    /// An `eventually` property does not hold here, with the reason in the plugin's words.
    Owed(String),
    /// It cannot be evaluated here: a node is stuck in a fault, or the plugin fails.
    Unknown(String),
}

impl Replay {
    /// The standing of a property in the current state, at one node if it is of node scope.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn standing(&mut self, property: u32, node: Option<NodeId>) -> Result<Standing, MachineError> {
        if let Some((node, fault)) = self.faults.first() {
            return Ok(Standing::Unknown(format!("node {node} is stuck in a fault: {fault}")));
        }
        let kind = self.properties[property as usize].kind;
        let views = match node {
            Some(node) => &self.views[node as usize..=node as usize],
            None => &self.views,
        };
        let views: Vec<Option<&[u8]>> = views.iter().map(|views| views[property as usize].as_deref()).collect();
        // If no node has a view, only a promise of system scope is evaluated.
        let is_asked = views.iter().any(Option::is_some) || (kind == PropertyKind::Eventually && node.is_none());
        if !is_asked {
            return Ok(match kind {
                PropertyKind::Always | PropertyKind::Eventually => Standing::Holds,
                PropertyKind::Sometimes => Standing::NotReached,
            });
        }
        self.judge.restore(None)?;
        Ok(match (kind, self.judge.invariant(property, &views)) {
            (_, Err(fault)) => {
                self.judge.confirm_fault()?;
                Standing::Unknown(fault.to_string())
            }
            (PropertyKind::Always | PropertyKind::Eventually, Ok(Ok(()))) => Standing::Holds,
            (PropertyKind::Always, Ok(Err(why))) => Standing::Violated(why),
            (PropertyKind::Eventually, Ok(Err(why))) => Standing::Owed(why),
            (PropertyKind::Sometimes, Ok(Ok(()))) => Standing::Reached,
            (PropertyKind::Sometimes, Ok(Err(_))) => Standing::NotReached,
        })
    }
}
