//! Every node greets the next one, once.

use guest_sdk::{About, Context, Never, NodeId, ParameterError, Parameters, Properties, Protocol};
use serde::{Deserialize, Serialize};

struct Greeting;

/// The message between nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Hello;

/// The state of a node: the number of greetings that it has heard.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct State {
    heard: u32,
}

impl Protocol for Greeting {
    const ABOUT: About = guest_sdk::about!().nodes(3);
    type State = State;
    type Message = Hello;
    type Local = Never;
    type Durable = Never;

    fn configure(_: &mut Parameters) -> Result<Self, ParameterError> {
        Ok(Greeting)
    }

    fn init(&self, ctx: &mut Context<Hello>, _: Option<Never>) -> State {
        ctx.send((ctx.me() + 1) % ctx.nodes(), Hello);
        State { heard: 0 }
    }

    fn handle_message(&self, _: &mut Context<Hello>, state: &mut State, _from: NodeId, _: Hello) {
        state.heard += 1;
    }

    fn properties(claims: &mut Properties<Self>) {
        claims.always("heard-once").node(
            |_, state| Some(state.heard),
            |heard| if *heard <= 1 { Ok(()) } else { Err(format!("heard {heard} greetings")) },
        );
    }
}

guest_sdk::export!(Greeting);

#[cfg(test)]
mod tests {
    use guest_sdk::test::Cluster;

    use super::*;

    #[test]
    fn every_node_hears_one_greeting() {
        let mut cluster = Cluster::<Greeting>::new(3, &[]).expect("there are no parameters");
        cluster.settle();
        assert!((0..3).all(|node| cluster.state(node).heard == 1));
        assert_eq!(cluster.check(), Ok(()));
    }
}
