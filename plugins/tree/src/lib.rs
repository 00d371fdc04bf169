//! A message travels down a tree; only its first and its last node change their state.
//!
//! Source: the primer of Guerraoui and Yabandeh, "Model Checking a Networked System Without the Network", NSDI 2011.

use guest_sdk::{About, Context, LocalEvents, NodeId, ParameterError, Parameters, Properties, Protocol};
use serde::{Deserialize, Serialize};

/// The tree: node 0 is the root, nodes 1 and 2 are its children, and 2, 3, 4 and so on are a chain.
#[derive(Clone, Copy, Debug)]
pub struct Tree;

/// The message that goes down the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Down;

/// The root's only event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Initiate;

/// The state of one node; the letters are the primer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum State {
    /// `-`: nothing to remember.
    Quiet,
    /// `s`: the root, after sending.
    Sent,
    /// `r`: the end of the chain, after receiving.
    Received,
}

impl Protocol for Tree {
    const ABOUT: About = guest_sdk::about!().nodes(5);
    type State = State;
    type Message = Down;
    type Local = Initiate;
    type Durable = guest_sdk::Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        match parameters.nodes() {
            0..=3 => Err(parameters.reject_nodes("a root, a leaf and a chain of two take 4 nodes")),
            _ => Ok(Tree),
        }
    }

    fn init(&self, _: &mut Context<Down>, _: Option<guest_sdk::Never>) -> State {
        State::Quiet
    }

    fn handle_message(&self, ctx: &mut Context<Down>, state: &mut State, _: NodeId, _: Down) {
        match ctx.me() {
            1 => {}
            me if me + 1 < ctx.nodes() => ctx.send(me + 1, Down),
            _ => *state = State::Received,
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Initiate>) {
        if events.me() == 0 && *state == State::Quiet {
            events.application("initiate", Initiate);
        }
    }

    fn handle_local(&self, ctx: &mut Context<Down>, state: &mut State, _: Initiate) {
        *state = State::Sent;
        ctx.send(1, Down);
        ctx.send(2, Down);
    }

    fn properties(claims: &mut Properties<Self>) {
        claims.always("received-was-sent").system(
            |_, state| (*state != State::Quiet).then_some(*state),
            |views| {
                let received = views.iter().position(|view| *view == Some(State::Received));
                match received {
                    Some(node) if !views.contains(&Some(State::Sent)) => {
                        Err(format!("node {node} has received what node 0 has not sent"))
                    }
                    _ => Ok(()),
                }
            },
        );
    }
}

guest_sdk::export!(Tree);

#[cfg(test)]
mod tests {
    use guest_sdk::test::Cluster;

    use super::*;

    #[test]
    fn the_shape_of_the_primer() {
        let found = Cluster::<Tree>::new(5, &[]).expect("five nodes fit").explore(100);
        // Before the event 1 state; after it, the leaf's message (in flight, delivered) times the place on the chain
        // (nodes 2, 3, 4, received).
        assert_eq!(found.global_states, 1 + 2 * 4);
        // The event; the leaf's delivery at 4 places; 3 steps of the chain with either fate of the leaf's message.
        assert_eq!(found.transitions, 1 + 4 + 2 * 3);
        // `-----`, `s----` and `s---r`; the fourth combination of local states, `----r`, is not reachable.
        assert_eq!((found.system_states, found.local_states), (3, vec![2, 1, 1, 1, 2]));
        assert_eq!(found.broken, None);
    }

    #[test]
    fn the_message_arrives() {
        let mut cluster = Cluster::<Tree>::new(6, &[]).expect("six nodes fit");
        cluster.happen(0, "initiate");
        assert_eq!(cluster.settle(), 5);
        assert_eq!(cluster.state(5), &State::Received);
        assert!(cluster.local_events(0).is_empty());
    }

    #[test]
    fn too_few_nodes_are_refused() {
        let refused = Cluster::<Tree>::new(3, &[]).err().expect("three nodes are too few");
        assert_eq!(refused.to_string(), "a cluster of 3 does not fit: a root, a leaf and a chain of two take 4 nodes");
    }
}
