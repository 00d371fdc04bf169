//! The nodes of a cluster, for errors about a node that it does not have.

use std::collections::BTreeMap;

use host_model::contract::NodeId;
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{NodeNames, Scenario};
use host_model::trace::{self, start};

use crate::cluster::plugin_source::LoadedPlugin;

/// Maximum number of nodes that are listed with their names; of larger clusters, only the range of the numbers is given.
const LISTED_MAX: u32 = 8;

/// The numbers of nodes, with the names that the plugin gives them under these parameters, if it gives any: a phrase.
pub fn with_names_of(plugin: &LoadedPlugin, nodes: u32, parameters: &BTreeMap<String, String>) -> String {
    let names = (nodes <= LISTED_MAX).then(|| names(plugin, nodes, parameters)).flatten();
    numbered(nodes, &names.unwrap_or_default())
}

/// The same with known names.
pub fn numbered(nodes: u32, names: &NodeNames) -> String {
    if names.is_empty() || nodes > LISTED_MAX {
        return format!("nodes are numbered from 0 to {}", nodes.saturating_sub(1));
    }
    let named = |node: NodeId| match names.get(node) {
        Some(name) => format!("{node} ({name})"),
        None => node.to_string(),
    };
    format!("the nodes are {}", (0..nodes).map(named).collect::<Vec<_>>().join(", "))
}

/// The names that the nodes give themselves after a start; none if they do not start.
fn names(plugin: &LoadedPlugin, nodes: u32, parameters: &BTreeMap<String, String>) -> Option<NodeNames> {
    let factory = plugin.shared_factory();
    let lts = Lts::new(&*factory, Scenario { parameters: parameters.clone(), ..Scenario::new(nodes) }).ok()?;
    let mut stepper = Stepper::new(&lts).ok()?;
    let starts = start::initial(&mut stepper).ok()?;
    trace::node_names(&mut *factory.machine().ok()?, &stepper, &starts.first()?.locals).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_numbers_and_names() {
        let names = NodeNames::new([Some("server".to_owned()), None]);
        assert_eq!(numbered(2, &names), "the nodes are 0 (server), 1");
        assert_eq!(numbered(3, &NodeNames::default()), "nodes are numbered from 0 to 2");
        assert_eq!(numbered(LISTED_MAX + 1, &names), "nodes are numbered from 0 to 8");
    }
}
