//! Every node sends itself one message at the start.
//!
//! All events are independent, so one order stands for all N! of them, and still there are 2^N states.
//!
//! Source: the "killer example" of "DPOR-DS: Dynamic Partial Order Reduction for Distributed Systems Based on
//! Happens-Before Relation", LARA, EPFL.

use guest_sdk::{About, Context, Never, NodeId, ParameterError, Parameters, Properties, Protocol};
use serde::{Deserialize, Serialize};

/// The example; there is nothing to configure but the number of nodes.
#[derive(Clone, Copy, Debug)]
pub struct Fanout;

/// From a node to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Note;

/// The number of notes received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct State {
    /// At most one, unless the network duplicates.
    pub received: u32,
}

impl Protocol for Fanout {
    const ABOUT: About = guest_sdk::about!().nodes(10);
    type State = State;
    type Message = Note;
    type Local = Never;
    type Durable = Never;

    fn configure(_: &mut Parameters) -> Result<Self, ParameterError> {
        Ok(Fanout)
    }

    fn init(&self, ctx: &mut Context<Note>, _: Option<Never>) -> State {
        ctx.send(ctx.me(), Note);
        State { received: 0 }
    }

    fn handle_message(&self, _: &mut Context<Note>, state: &mut State, _: NodeId, _: Note) {
        state.received += 1;
    }

    fn interchangeable(&self, nodes: u32) -> Vec<Vec<NodeId>> {
        vec![(0..nodes).collect()]
    }

    fn properties(claims: &mut Properties<Self>) {
        claims.always("received-once").node(
            |_, state| Some(state.received),
            |&received| match received {
                0 | 1 => Ok(()),
                _ => Err(format!("received {received} times")),
            },
        );
    }
}

guest_sdk::export!(Fanout);

#[cfg(test)]
mod tests {
    use guest_sdk::test::Cluster;

    use super::*;

    #[test]
    fn as_many_states_as_sets_of_nodes() {
        for nodes in [1, 2, 5, 10] {
            let found = Cluster::<Fanout>::new(nodes, &[]).expect("any number of nodes fits").explore(2_000);
            // A set of k nodes that received has N - k events left: N * 2^(N-1) in all.
            let (states, transitions) = (1 << nodes, (nodes << (nodes - 1)) as usize);
            assert_eq!((found.global_states, found.transitions, found.broken), (states, transitions, None));
        }
    }

    #[test]
    fn a_network_that_duplicates_breaks_it() {
        let mut cluster = Cluster::<Fanout>::new(2, &[]).expect("any number of nodes fits");
        cluster.duplicate(1);
        cluster.settle();
        assert_eq!(cluster.check(), Err("received-once: node 1: received 2 times".to_owned()));
    }
}
