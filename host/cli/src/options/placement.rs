//! Options for clusters whose nodes differ.

use std::path::PathBuf;

use clap::Args;
use host_model::contract::NodeId;
use host_session::spec::placement::{PlacementSpec, node_assignment, node_path};

/// Options for clusters whose nodes differ.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Mixed clusters")]
pub struct PlacementArguments {
    /// Run another component on this node, such as another version or another language. It must have the properties
    /// of PLUGIN, which evaluates them; can be repeated
    #[arg(long, value_name = "N=PLUGIN", value_parser = node_path)]
    pub node: Vec<(NodeId, PathBuf)>,
    /// Run another component on this node, which no property reads; can be repeated
    #[arg(long, value_name = "N=PLUGIN", value_parser = node_path)]
    pub adversary: Vec<(NodeId, PathBuf)>,
    /// A parameter for a single node, which overrides --set; can be repeated
    #[arg(long, value_name = "N:KEY=VALUE", value_parser = node_assignment)]
    pub set_on: Vec<(NodeId, String, String)>,
    /// Run a second instance of this node: all others see both as the same node, and no property reads them; can be repeated
    #[arg(long, value_name = "N")]
    pub twin: Vec<NodeId>,
}

impl PlacementArguments {
    /// The same as data.
    pub fn spec(&self) -> PlacementSpec {
        let Self { node, adversary, set_on, twin } = self.clone();
        PlacementSpec { node, adversary, parameters: set_on, twins: twin }
    }
}
