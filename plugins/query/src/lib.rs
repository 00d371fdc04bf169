//! Two nodes query each other once.
//!
//! Source: Yabandeh, "Model Checking of Distributed Algorithm Implementations", EPFL thesis 4858, 2011, appendix A. There the
//! handler of Response sends another Response, which would never end; the counts of its figures exclude
//! that, and so does this implementation.

use guest_sdk::{About, Context, LocalEvents, Never, NodeId, ParameterError, Parameters, Properties, Protocol};
use serde::{Deserialize, Serialize};

/// The query service.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    bug: Bug,
}

/// The deliberate mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// A node that waits for an answer gives none.
    Busy,
}

/// The messages between the two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// A question.
    Query,
    /// The answer.
    Response,
}

/// The application asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DoQuery;

/// The phase of a node's own query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// May ask.
    Started,
    /// Asked.
    QuerySent,
    /// Got the answer.
    Finished,
}

/// The state of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct State {
    /// Of its own query.
    pub phase: Phase,
    /// The number of events at this node.
    pub local_counter: u32,
}

impl Protocol for Query {
    const ABOUT: About = guest_sdk::about!().nodes(2);
    type State = State;
    type Message = Message;
    type Local = DoQuery;
    type Durable = Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let bugs = [("none", Bug::None), ("busy", Bug::Busy)];
        let bug = parameters.choice("bug", &bugs, "what is wrong on purpose")?;
        match parameters.nodes() {
            2 => Ok(Self { bug }),
            _ => Err(parameters.reject_nodes("a node has exactly one peer, so there are 2")),
        }
    }

    fn init(&self, _: &mut Context<Message>, _: Option<Never>) -> State {
        State { phase: Phase::Started, local_counter: 0 }
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        state.local_counter += 1;
        match message {
            Message::Query if self.bug == Bug::Busy && state.phase == Phase::QuerySent => {}
            Message::Query => ctx.send(from, Message::Response),
            Message::Response => state.phase = Phase::Finished,
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<DoQuery>) {
        if state.phase == Phase::Started {
            events.application("do-query", DoQuery);
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, _: DoQuery) {
        state.local_counter += 1;
        state.phase = Phase::QuerySent;
        ctx.send(1 - ctx.me(), Message::Query);
    }

    fn properties(claims: &mut Properties<Self>) {
        claims.always("answered-by-the-peer").system(
            |_, state| Some(*state),
            |views| {
                let answered_itself = (0..views.len()).find(|&node| {
                    let finished = views[node].is_some_and(|state| state.phase == Phase::Finished);
                    let peer_is_idle = views[1 - node].is_some_and(|state| state.local_counter == 0);
                    finished && peer_is_idle
                });
                match answered_itself {
                    None => Ok(()),
                    Some(node) => Err(format!("node {node} has an answer, its peer had no event")),
                }
            },
        );
        claims.sometimes("both-finished").system(
            |_, state| Some(state.phase == Phase::Finished),
            |views| match views.iter().all(|finished| *finished == Some(true)) {
                true => Ok(()),
                false => Err("a node waits for its answer".to_owned()),
            },
        );
        claims.eventually("answered").node(
            |_, state| Some(state.phase == Phase::QuerySent),
            |waits| match waits {
                false => Ok(()),
                true => Err("the node waits for its answer".to_owned()),
            },
        );
    }
}

guest_sdk::export!(Query);

#[cfg(test)]
mod tests {
    use guest_sdk::test::Cluster;

    use super::*;

    #[test]
    fn the_counts_of_appendix_a() {
        let found = Cluster::<Query>::new(2, &[]).expect("two nodes fit").explore(100);
        // Two independent chains of three events: a lattice of 4 x 4 states with 2 x 3 x 4 edges.
        assert_eq!((found.global_states, found.transitions), (16, 24));
        assert_eq!((found.depth, found.terminal_states, found.broken), (6, 1, None));
    }

    #[test]
    fn a_query_is_answered() {
        let mut cluster = Cluster::<Query>::new(2, &[]).expect("two nodes fit");
        cluster.happen(1, "do-query");
        assert_eq!(cluster.settle(), 2);
        assert_eq!(cluster.state(1), &State { phase: Phase::Finished, local_counter: 2 });
        assert_eq!(cluster.state(0), &State { phase: Phase::Started, local_counter: 1 });
        assert_eq!(cluster.holds("both-finished"), Err("a node waits for its answer".to_owned()));
        cluster.happen(0, "do-query");
        cluster.settle();
        assert_eq!(cluster.holds("both-finished"), Ok(()));
    }

    #[test]
    fn a_node_that_has_asked_is_owed_an_answer() {
        for (bug, answered) in [("none", Ok(())), ("busy", Err("node 0: the node waits for its answer".to_owned()))] {
            let mut cluster = Cluster::<Query>::new(2, &[("bug", bug)]).expect("the bug is known");
            assert_eq!(cluster.holds("answered"), Ok(()));
            cluster.happen(0, "do-query");
            assert!(cluster.holds("answered").is_err());
            cluster.happen(1, "do-query");
            cluster.settle();
            assert_eq!(cluster.holds("answered"), answered, "{bug}");
        }
    }

    #[test]
    fn there_are_two_nodes() {
        assert!(Cluster::<Query>::new(3, &[]).is_err());
    }
}
