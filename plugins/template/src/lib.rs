//! A token goes round a ring of nodes. Copy this folder and change it into your protocol.

use guest_sdk::{About, Context, LocalEvents, Never, NodeId, ParameterError, Parameters, Properties, Protocol};
use serde::{Deserialize, Serialize};

/// The configuration, the same for all nodes and for the whole run.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    /// A deliberate mistake: a node that passes the token on keeps it too.
    keeps_token: bool,
}

/// The messages between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// The receiver holds the token.
    Token,
}

/// The local events of a node. `guest_sdk::Never` if it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// The holder has had the token long enough.
    Pass,
}

/// The state of one node. Nodes in equal states behave alike, so everything that decides the behaviour of a node belongs here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct State {
    /// Whether this node holds the token.
    pub holds: bool,
}

impl Protocol for Ring {
    // Name, version and summary are those of Cargo.toml.
    const ABOUT: About = guest_sdk::about!().nodes(3);
    type State = State;
    type Message = Message;
    type Local = Local;
    type Durable = Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let keeps_token = parameters.choice("bug", &[("none", false), ("keep", true)], "what is wrong on purpose")?;
        Ok(Ring { keeps_token })
    }

    fn init(&self, ctx: &mut Context<Message>, _: Option<Never>) -> State {
        State { holds: ctx.me() == 0 }
    }

    fn handle_message(&self, _: &mut Context<Message>, state: &mut State, _: NodeId, message: Message) {
        match message {
            Message::Token => state.holds = true,
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        if state.holds {
            events.timer("pass", Local::Pass);
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, event: Local) {
        match event {
            Local::Pass => {
                state.holds = self.keeps_token;
                ctx.send((ctx.me() + 1) % ctx.nodes(), Message::Token);
            }
        }
    }

    fn properties(claims: &mut Properties<Self>) {
        // The view is all that the check reads of a node; `None` means that a node without the token cannot matter.
        claims.always("one-holder").system(
            |_, state| state.holds.then_some(()),
            |views| {
                let holders: Vec<_> = (0..views.len()).filter(|&node| views[node].is_some()).collect();
                match holders.len() {
                    0 | 1 => Ok(()),
                    _ => Err(format!("nodes {holders:?} hold the token")),
                }
            },
        );
    }
}

guest_sdk::export!(Ring);

#[cfg(test)]
mod tests {
    use guest_sdk::test::Cluster;

    use super::*;

    #[test]
    fn the_token_goes_round() {
        let mut cluster = Cluster::<Ring>::new(3, &[]).expect("the defaults fit");
        for holder in 0..3 {
            assert!(cluster.state(holder).holds);
            cluster.happen(holder, "pass");
            cluster.settle();
        }
        assert!(cluster.state(0).holds);
    }

    #[test]
    fn nothing_else_can_happen() {
        let found = Cluster::<Ring>::new(3, &[]).expect("the defaults fit").explore(100);
        // The token is at one of three nodes, or in flight from one of them.
        assert_eq!((found.global_states, found.transitions, found.broken), (6, 6, None));
    }

    #[test]
    fn a_kept_token_is_noticed() {
        let mut cluster = Cluster::<Ring>::new(3, &[("bug", "keep")]).expect("the bug is known");
        cluster.happen(0, "pass");
        cluster.settle();
        assert_eq!(cluster.check(), Err("one-holder: nodes [0, 1] hold the token".to_owned()));
    }
}
