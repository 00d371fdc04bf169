//! Clusters whose nodes differ.

use std::path::PathBuf;

use host_model::contract::NodeId;
use serde::{Deserialize, Serialize};

/// Nodes that differ from the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlacementSpec {
    /// Nodes that run another component.
    pub node: Vec<(NodeId, PathBuf)>,
    /// Nodes that run another component that no property reads.
    pub adversary: Vec<(NodeId, PathBuf)>,
    /// Parameters for one node alone.
    pub parameters: Vec<(NodeId, String, String)>,
    /// Nodes with a second instance.
    pub twins: Vec<NodeId>,
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
pub fn node_assignment(text: &str) -> Result<(NodeId, String, String), String> {
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
