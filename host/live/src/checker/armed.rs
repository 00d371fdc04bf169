//! The filters of a node at its start, from the paths to violations that earlier starts have predicted.

use std::collections::BTreeSet;

use host_model::contract::{LocalEvent, NodeId};
use host_model::scenario::{Network, Scenario};
use host_model::trace::{TraceEvent, TraceStep};

use crate::filter::Pattern;
use crate::gate::{Cause, Event};
use crate::kinds::Kinds;

/// The filters of a node at its start, before its checker has a snapshot: on each of these paths to violations, the first event of the
/// node that can be filtered, in any state and with any content of its kind. A violation that was predicted before may still be ahead,
/// and a checker without a snapshot cannot tell. `may_break` allows breaking connections in place of messages on ordered links.
pub fn armed(
    paths: &[Vec<TraceStep>],
    node: NodeId,
    may_break: bool,
    scenario: &Scenario,
    kinds: &Kinds,
) -> BTreeSet<Pattern> {
    let of = |path: &Vec<TraceStep>| path.iter().find_map(|step| coarsest(step, node, may_break, scenario, kinds));
    paths.iter().filter_map(of).collect()
}

fn coarsest(step: &TraceStep, node: NodeId, may_break: bool, scenario: &Scenario, kinds: &Kinds) -> Option<Pattern> {
    if step.node != node {
        return None;
    }
    let exact = |cause| Pattern::of(&Event { state: 0, cause, may_break });
    let mut pattern = match &step.event {
        TraceEvent::Deliver { from, .. } if *from == node && scenario.network_of(*from, node) == Network::Ordered => {
            None
        }
        TraceEvent::Deliver { from, payload } => {
            exact(Cause::Message { from: *from, network: scenario.network_of(*from, node), payload: &payload.0 })
        }
        TraceEvent::Local { name, cause, payload } => {
            let local = LocalEvent { name: name.clone(), kind: *cause, payload: payload.0.clone() };
            exact(Cause::Local(&local))
        }
        _ => None,
    }?;
    while let Some(coarser) = pattern.coarser(kinds) {
        pattern = coarser;
    }
    Some(pattern)
}

#[cfg(test)]
mod tests {
    use host_model::contract::LocalKind;
    use host_model::trace::Hex;

    use super::*;
    use crate::filter::What;
    use crate::kinds::Kind;

    fn step(node: NodeId, event: TraceEvent) -> TraceStep {
        TraceStep { node, event, choices: Vec::new(), sent: None, state: None }
    }

    fn local(node: NodeId, name: &str, cause: LocalKind) -> TraceStep {
        step(node, TraceEvent::Local { name: name.to_owned(), cause, payload: Hex(vec![7]) })
    }

    /// A path with an internal event, a message and a timer of node 0: the filter is for the message, or on an ordered link for the timer,
    /// unless connections may be broken.
    #[test]
    fn a_node_is_armed_by_its_first_event_that_can_be_filtered() {
        let message = step(0, TraceEvent::Deliver { from: 1, payload: Hex(vec![3, 1]) });
        let path = vec![
            local(1, "other", LocalKind::Timer),
            local(0, "step", LocalKind::Internal),
            message,
            local(0, "tick", LocalKind::Timer),
        ];
        let of = |network, node, may_break| {
            let scenario = Scenario { network, ..Scenario::new(2) };
            let armed = armed(&[path.clone(), path.clone()], node, may_break, &scenario, &Kinds::default());
            armed.into_iter().map(|Pattern { state, what }| (state, what)).collect::<Vec<_>>()
        };
        let kind = What::Kind { from: 1, kind: Kind::First(Some(3)) };
        let tick = || [(None, What::Name("tick".to_owned()))];
        for may_break in [false, true] {
            assert_eq!(of(Network::Unordered, 0, may_break), [(None, kind.clone())]);
            assert_eq!(of(Network::Ordered, 1, may_break), [(None, What::Name("other".to_owned()))]);
        }
        assert_eq!(of(Network::Ordered, 0, false), tick());
        assert_eq!(of(Network::Ordered, 0, true), [(None, kind)]);
        // A node has no connection to itself that could break.
        let own = vec![
            step(0, TraceEvent::Deliver { from: 0, payload: Hex(vec![3, 1]) }),
            local(0, "tick", LocalKind::Timer),
        ];
        let scenario = Scenario { network: Network::Ordered, ..Scenario::new(2) };
        let armed = armed(&[own], 0, true, &scenario, &Kinds::default());
        assert_eq!(armed.into_iter().map(|Pattern { state, what }| (state, what)).collect::<Vec<_>>(), tick());
    }
}
