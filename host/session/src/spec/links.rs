//! Links that have a network of their own, as options and as the cluster has them.

use std::collections::BTreeMap;

use host_model::contract::NodeId;
use host_model::scenario::{Link, Network};
use serde::{Deserialize, Serialize};

use crate::base::Failure;

/// A value of `--link`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkOption {
    /// `0-1` or `0>1`, as given.
    pub place: String,
    /// Sender and destination: one way, or both.
    pub ways: Vec<(NodeId, NodeId)>,
    /// The network there.
    pub network: Network,
}

impl LinkOption {
    /// The option in words that name it and its place in a scenario.
    fn name(&self) -> String {
        format!("`--link {}`", self.place)
    }

    /// The option as failures name it.
    pub fn id(&self) -> String {
        format!("link {}", self.place)
    }
}

/// One way, as an option has it.
pub fn way(from: NodeId, to: NodeId) -> String {
    format!("{from}>{to}")
}

/// `0-1=ordered`, both ways, or `0>1=ordered`, from node 0 to node 1 alone.
pub fn link(text: &str) -> Result<LinkOption, String> {
    let wrong = || "expected A-B=KIND, or A>B=KIND for one way, such as 0-1=ordered".to_owned();
    let (place, kind) = text.split_once('=').ok_or_else(wrong)?;
    let is_both = place.contains('-');
    let (one, other) = place.split_once(['-', '>']).ok_or_else(wrong)?;
    let node = |text: &str| text.parse::<NodeId>().map_err(|_| wrong());
    let (one, other) = (node(one)?, node(other)?);
    let network = network(kind)?;
    let mut ways = vec![(one, other)];
    if is_both && one != other {
        ways.push((other, one));
    }
    Ok(LinkOption { place: place.to_owned(), ways, network })
}

/// The network of a link from its name.
pub fn network(name: &str) -> Result<Network, String> {
    let found = Network::ALL.into_iter().find(|network| network.name() == name);
    found.ok_or_else(|| {
        format!("there is no network {name:?}; there are: {}", Network::ALL.map(Network::name).join(", "))
    })
}

/// The links of a cluster that differ from its network, in the order of their ends. A node
/// and its twin have the same links in both directions: `twins` are the nodes that have
/// one, whose twins follow after `nodes`. `numbered` has the existing nodes in words.
///
/// # Errors
///
/// A node does not exist, or a link is given twice.
pub fn resolve(
    options: &[LinkOption],
    network: Network,
    nodes: u32,
    twins: &[NodeId],
    numbered: impl FnOnce() -> String,
) -> Result<Vec<Link>, Failure> {
    let mut networks: BTreeMap<(NodeId, NodeId), Network> = BTreeMap::new();
    for option in options {
        for (from, to) in &option.ways {
            if let Some(node) = [from, to].into_iter().find(|node| **node >= nodes) {
                let what = format_args!("{}: there is no node {node} in a cluster of {nodes}", option.name());
                let twin = if twins.is_empty() { "" } else { "; a twin has the links of its node" };
                let help = format!("{}{twin}", numbered());
                return Err(Failure::configuration(what).help(help).about(option.id()));
            }
            if networks.insert((*from, *to), option.network).is_some() {
                let name = option.name();
                let what = format_args!("{name}: the network from node {from} to node {to} is given twice; keep one");
                return Err(Failure::configuration(what).about(option.id()));
            }
        }
    }
    let identities: Vec<NodeId> = (0..nodes).chain(twins.iter().copied()).collect();
    let mut links = Vec::new();
    for (from, sender) in (0..).zip(&identities) {
        for (to, destination) in (0..).zip(&identities) {
            // A link with the network of the cluster adds nothing; without it, equal clusters have equal scenarios.
            if let Some(own) = networks.get(&(*sender, *destination)).filter(|own| **own != network) {
                links.push(Link { from, to, network: *own });
            }
        }
    }
    Ok(links)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(texts: &[&str]) -> Vec<LinkOption> {
        texts.iter().map(|text| link(text).expect("an option")).collect()
    }

    #[test]
    fn a_link_has_two_ends_and_a_network() {
        assert_eq!(link("0-1=ordered").expect("an option").ways, [(0, 1), (1, 0)]);
        assert_eq!(link("2>1=unordered").expect("an option").ways, [(2, 1)]);
        assert_eq!(link("2-2=ordered").expect("an option").ways, [(2, 2)]);
        for wrong in
            ["", "0-1", "0=ordered", "0-=ordered", "0-1-2=ordered", "-1=ordered", "0>-1=ordered", "a-b=ordered"]
        {
            assert!(link(wrong).is_err_and(|why| why.contains("A-B=KIND")), "{wrong:?}");
        }
        assert!(link("0-1=telegraph").is_err_and(|why| why.contains("there are: unordered, ")));
    }

    #[test]
    fn defaults_have_no_effect_and_duplicates_are_refused() {
        let (loose, ordered) = (Network::Unordered, Network::Ordered);
        let options = parsed(&["0>1=ordered", "1>0=unordered"]);
        let forth = Link { from: 0, to: 1, network: ordered };
        assert_eq!(resolve(&options, loose, 2, &[], String::new), Ok(vec![forth]));
        let back = Link { from: 1, to: 0, network: loose };
        assert_eq!(resolve(&options, ordered, 2, &[], String::new), Ok(vec![back]));
        let twice = resolve(&parsed(&["0-1=ordered", "1>0=unordered"]), loose, 2, &[], String::new).expect_err("twice");
        assert!(
            twice.message.starts_with("`--link 1>0`: the network from node 1 to node 0 is given twice"),
            "{twice:?}"
        );
        let none = resolve(&parsed(&["0-2=ordered"]), loose, 2, &[1], String::new).expect_err("no such node");
        assert!(none.message.contains("`--link 0-2`: there is no node 2 in a cluster of 2"), "{none:?}");
    }

    /// Instance 2 is the twin of node 1: messages to it travel in the same way.
    #[test]
    fn twins_share_their_links() {
        let network = Network::Ordered;
        let links =
            resolve(&parsed(&["0>1=ordered", "1-1=ordered"]), Network::Unordered, 2, &[1], String::new).expect("links");
        let ways: Vec<_> = links.iter().map(|link| (link.from, link.to)).collect();
        assert_eq!(ways, [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2)]);
        assert!(links.iter().all(|link| link.network == network));
    }
}
