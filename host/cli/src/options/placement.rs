//! Options for clusters whose nodes differ.

use std::path::PathBuf;

use clap::Args;
use host_model::contract::NodeId;

/// Options for clusters whose nodes differ.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Mixed clusters")]
pub struct PlacementArguments {
    /// Run another component on this node, such as another version or one in another language. It must have the properties
    /// of PLUGIN, which decides whether they hold; can be repeated
    #[arg(long, value_name = "N=PLUGIN", value_parser = node_path)]
    pub node: Vec<(NodeId, PathBuf)>,
    /// Run another component on this node that no property reads; can be repeated
    #[arg(long, value_name = "N=PLUGIN", value_parser = node_path)]
    pub adversary: Vec<(NodeId, PathBuf)>,
    /// A parameter for one node alone, which stands above --set; can be repeated
    #[arg(long, value_name = "N:KEY=VALUE", value_parser = node_assignment)]
    pub set_on: Vec<(NodeId, String, String)>,
    /// Run a second instance of this node: both are the same node to all others, and no property reads them; can be repeated
    #[arg(long, value_name = "N")]
    pub twin: Vec<NodeId>,
}

/// `1=plugins/other` into its parts.
pub fn node_path(text: &str) -> Result<(NodeId, PathBuf), String> {
    let parts = text.split_once('=').and_then(|(node, path)| Some((node.parse().ok()?, path)));
    match parts {
        Some((node, path)) if !path.is_empty() => Ok((node, PathBuf::from(path))),
        _ => Err("expected N=PLUGIN, such as 1=plugins/register-c".to_owned()),
    }
}

/// `1:bug=none` into its parts.
fn node_assignment(text: &str) -> Result<(NodeId, String, String), String> {
    let parts = text.split_once(':').and_then(|(node, rest)| {
        let (key, value) = rest.split_once('=')?;
        Some((node.parse().ok()?, key.to_owned(), value.to_owned()))
    });
    match parts {
        Some(parts) if !parts.1.is_empty() && !text.contains(['\n', '\r']) => Ok(parts),
        _ => Err("expected N:KEY=VALUE on one line, such as 1:bug=none".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_taken_apart() {
        assert_eq!(node_path("1=a=b"), Ok((1, PathBuf::from("a=b"))));
        assert_eq!(node_assignment("2:bug=a:b"), Ok((2, "bug".to_owned(), "a:b".to_owned())));
        for wrong in ["a", "1=", "=a", "-1=a", "x=a"] {
            assert!(node_path(wrong).is_err(), "{wrong:?}");
        }
        for wrong in ["a=b", "1:a", "1:=b", "1:a=b\nc"] {
            assert!(node_assignment(wrong).is_err(), "{wrong:?}");
        }
    }
}
