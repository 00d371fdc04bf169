//! The history as a trace of the model.
//!
//! Over links with an order, the model has events that a world has not: a connection breaks at one end, and a notice of it travels to the
//! other end, which hears of it or not. Here both ends find the connection gone, one after the other. So the first end to find it gone has
//! broken it, and the other one takes its notice.

use std::collections::{BTreeMap, VecDeque};

use host_model::contract::fingerprint::Fingerprint;
use host_model::contract::{DurableMap, NodeId};
use host_model::scenario::FaultEvent;
use host_model::trace::{Hex, Origin, Sent, TraceEvent, TraceStep};

use crate::world::history::{History, Step};
use crate::world::recorder::What;

/// One end of a connection in the model.
#[derive(Clone, Debug, Default)]
struct End {
    /// The number of its breaks, as far as this end knows.
    broken: u32,
    /// Whether a message was sent or taken since.
    is_open: bool,
    /// The number of breaks by the other end at each of its notices that has not arrived; oldest first.
    notices: VecDeque<u32>,
    /// The last break of the connection of the world that this end has found.
    found: u64,
}

/// The ends of all connections, by node and peer.
#[derive(Debug, Default)]
struct Ends(BTreeMap<(NodeId, NodeId), End>);

impl Ends {
    fn of(&mut self, node: NodeId, peer: NodeId) -> &mut End {
        self.0.entry((node, peer)).or_default()
    }

    /// A node breaks the connection, and its peer gets a notice.
    fn break_up(&mut self, node: NodeId, peer: NodeId) {
        let end = self.of(node, peer);
        (end.broken, end.is_open) = (end.broken + 1, false);
        let broken = end.broken;
        self.of(peer, node).notices.push_back(broken);
    }

    /// A node takes the next notice of its peer, if there is one.
    fn take_notice(&mut self, node: NodeId, peer: NodeId) -> bool {
        let end = self.of(node, peer);
        let broken = end.broken;
        let Some(notice) = end.notices.iter().position(|notice| *notice > broken) else { return false };
        (end.broken, end.is_open) = (end.notices[notice], false);
        end.notices.drain(..=notice);
        true
    }

    /// A node takes all notices of its peer, and hears of none.
    fn miss_notices(&mut self, node: NodeId, peer: NodeId) -> Vec<Known> {
        std::iter::from_fn(|| self.take_notice(node, peer).then(|| unheard(node, peer))).collect()
    }
}

/// A step of the model.
#[derive(Clone, Debug)]
pub struct Known {
    /// The step; a restart loses no writes yet, see `found`.
    pub step: TraceStep,
    /// The state that it leads to, if that is known.
    pub state: Option<Fingerprint>,
    /// The durable map that a restart has found: another one than the node had where the crash has lost writes.
    pub found: Option<DurableMap>,
}

fn fault(event: FaultEvent) -> TraceEvent {
    TraceEvent::Fault { event, lost: false }
}

/// A node does not hear of a break.
fn unheard(node: NodeId, peer: NodeId) -> Known {
    let event = TraceEvent::TransportError { peer, lost: true };
    let step = TraceStep { node, event, choices: Vec::new(), sent: None, state: None };
    Known { step, state: None, found: None }
}

impl History {
    /// The events as a trace of the model, for a cluster of this size in which links have an order or not: the beginning, and the steps,
    /// each with the state that it leads to, if any. None if the model has another order of events that
    /// do not depend on each other: a message waited for its node's disk while a connection broke over which nothing had travelled, and
    /// comes over the next one; or a node has sent something over the next one before the other end, which was paused, has found the break.
    pub fn trace(&self, nodes: u32, is_ordered: bool) -> Option<(Origin, Vec<Known>)> {
        let mut first = vec![None; nodes as usize];
        let (mut ends, mut steps) = (Ends::default(), Vec::new());
        for Step { node, what, choices, sent, state, number, found, .. } in &self.steps {
            let node = *node;
            let peers = || (0..nodes).filter(|peer| is_ordered && *peer != node);
            // The peers that have found the connection gone before.
            let mut late: Vec<NodeId> = Vec::new();
            let event = match what {
                What::Start if first[node as usize].is_none() => {
                    first[node as usize] = Some(choices.clone());
                    None
                }
                What::Start => {
                    // It never hears of the breaks during its downtime.
                    for peer in peers() {
                        steps.extend(ends.miss_notices(node, peer));
                        if ends.of(node, peer).is_open {
                            ends.break_up(node, peer);
                        }
                        let found = ends.of(peer, node).found;
                        if found > std::mem::replace(&mut ends.of(node, peer).found, found) {
                            late.push(peer);
                        }
                    }
                    Some(fault(FaultEvent::restart()))
                }
                What::Message { from, payload } => {
                    ends.of(node, *from).is_open = true;
                    Some(TraceEvent::Deliver { from: *from, payload: Hex(payload.clone()) })
                }
                What::Local(event) => Some(TraceEvent::from_local(event)),
                What::Error { peer } if ends.take_notice(node, *peer) => {
                    ends.of(node, *peer).found = *number;
                    Some(TraceEvent::TransportError { peer: *peer, lost: false })
                }
                What::Error { peer } => {
                    ends.break_up(node, *peer);
                    ends.of(node, *peer).found = *number;
                    if ends.of(*peer, node).found >= *number {
                        late.push(*peer);
                    }
                    Some(fault(FaultEvent::disconnect(*peer)))
                }
                What::Unheard { peer } => {
                    let before = ends.of(node, *peer).found;
                    if ends.of(node, *peer).is_open && before < *number {
                        return None;
                    }
                    steps.extend(ends.miss_notices(node, *peer));
                    ends.of(node, *peer).found = *number;
                    continue;
                }
            };
            sent.iter().for_each(|envelope| ends.of(node, envelope.to).is_open = true);
            let Some(event) = event else { continue };
            let sent = Some(sent.iter().map(Sent::from).collect());
            let step = TraceStep { node, event, choices: choices.clone(), sent, state: None };
            steps.push(Known { step, state: Some(*state), found: found.clone() });
            for peer in late {
                if ends.of(peer, node).is_open {
                    return None;
                }
                steps.extend(ends.miss_notices(peer, node));
            }
        }
        let first = first.into_iter().map(Option::unwrap_or_default).collect();
        Some((Origin::Init(first), steps))
    }
}
