//! Which clusters can have a checker for each node, in a simulation and in operation.

use host_model::contract::{Property, PropertyKind};
use host_model::scenario::{Network, Scenario};

use crate::base::Failure;

/// The tasks of the checkers of a cluster's nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watching {
    /// They prevent the violations that they predict.
    pub steers: bool,
    /// They look ahead from each event while its effects are held.
    pub holds: bool,
    /// They break connections in place of messages that have an order.
    pub breaks: bool,
}

impl Watching {
    /// Refuses tasks that are useless in any cluster.
    ///
    /// # Errors
    ///
    /// Effects are to be held, or connections to be broken, for nodes that are not steered.
    pub fn check(self) -> Result<(), Failure> {
        match self {
            Self { steers: false, breaks: true, .. } => Err(Failure::configuration(
                "`--break-connections` is for nodes that are steered: what is only observed breaks nothing",
            )
            .help("leave it out, or give --watch steer")),
            Self { steers: false, holds: true, .. } => Err(Failure::configuration(
                "`--hold` is for nodes that are steered: an observed node does not wait for its checker",
            )
            .help("leave it out, or give --watch steer")),
            _ => Ok(()),
        }
    }

    /// Refuses networks that checkers do not support, or on which their tasks are useless; `words` explains how to choose another one.
    ///
    /// # Errors
    ///
    /// Links duplicate messages, effects are to be held where links have an order, or connections to be broken where none has.
    pub fn check_network(self, scenario: &Scenario, words: &dyn Fn(Network) -> String) -> Result<(), Failure> {
        let unordered = words(Network::Unordered);
        if scenario.has_network(Network::UnorderedDuplicating) {
            return Err(Failure::configuration("a checker does not follow messages that are delivered twice")
                .help(format_args!("leave --watch out, or let links not duplicate: {unordered}")));
        }
        if self.holds && scenario.has_network(Network::Ordered) {
            return Err(Failure::configuration(
                "`--hold`: on a link with an order a message cannot be lost, so there is nothing to look ahead for",
            )
            .help(format_args!("leave it out, or let links have no order: {unordered}")));
        }
        if self.breaks && !scenario.has_network(Network::Ordered) {
            return Err(Failure::configuration(
                "`--break-connections`: on links without an order there are no connections, and a message is dropped",
            )
            .help(format_args!("leave it out, or let links have an order: {}", words(Network::Ordered))));
        }
        Ok(())
    }

    /// The warning for a plugin whose nodes are steered and that states no promise, if this is one.
    pub fn unguarded(self, name: &str, properties: &[Property]) -> Option<String> {
        let has_promise = properties.iter().any(|property| property.kind == PropertyKind::Eventually);
        (self.steers && !has_promise).then(|| {
            format!(
                "warning: {name} states no promise (`eventually`), so no filter is refused for stopping all progress: \
                 steering may keep clients waiting"
            )
        })
    }
}
