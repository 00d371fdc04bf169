//! Single-decree Paxos whose proposers try again until they know a decision: two of them can interrupt each other for ever.
//!
//! Source: Lamport, "Paxos Made Simple", 2001, section 2.4, on progress. That no protocol of consensus is certain to end
//! without an assumption on time is Fischer, Lynch, Paterson, "Impossibility of Distributed Consensus with One Faulty Process", JACM
//! 32(2), 1985. The README explains the finite number of states.

mod ballot;

use std::collections::BTreeSet;

use guest_sdk::{About, Context, LocalEvents, NodeId, ParameterError, Parameters, Properties, Protocol};
use serde::{Deserialize, Serialize};

pub use ballot::{Ballot, Circle};

/// The value to agree on. Proposer `p` wants `100 + p`.
pub type Value = u32;

/// The configuration of a run.
#[derive(Clone, Copy, Debug)]
pub struct Synod {
    /// The number of proposers: the first nodes. The others are acceptors.
    proposers: u32,
    retries: bool,
    circle: Circle,
}

/// The messages between nodes. Every question has one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Proposer to acceptors: promise to refuse lower ballots.
    Prepare(Ballot),
    /// Acceptor to proposer: promised; the value that it has accepted last.
    Promised(Option<Value>),
    /// Proposer to acceptors: accept, unless you have promised not to.
    Accept(Ballot, Value),
    /// Acceptor to proposer: accepted.
    Accepted,
    /// Acceptor to proposer: a higher ballot is promised.
    Refused(Ballot),
}

/// The local events of a proposer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// The application wants a decision.
    Propose,
    /// Time is up for the next attempt.
    Retry,
}

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum State {
    /// One of the first nodes.
    Proposer(Proposer),
    /// One of the others.
    Acceptor(Acceptor),
}

/// The phase of a proposer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Proposer {
    /// Its application has not asked for a decision yet.
    Ready,
    /// It has asked all acceptors under its ballot.
    Asking {
        /// The ballot of this attempt.
        ballot: Ballot,
        /// The value to accept; none while it asks for promises.
        proposal: Option<Value>,
        /// The acceptors that have not answered yet.
        missing: BTreeSet<NodeId>,
        /// A value that an acceptor has accepted.
        found: Option<Value>,
        /// The highest ballot among refusals.
        overtaken_by: Option<Ballot>,
    },
    /// All have answered its last attempt, and one of them has refused.
    Overtaken {
        /// The highest ballot that it knows of.
        by: Ballot,
    },
    /// All acceptors have accepted this value.
    Decided(Value),
}

/// The state of an acceptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Acceptor {
    /// Lower ballots are refused.
    pub promised: Option<Ballot>,
    /// The value accepted last.
    pub accepted: Option<Value>,
}

impl Protocol for Synod {
    const ABOUT: About = guest_sdk::about!().nodes(4);
    type State = State;
    type Message = Message;
    type Local = Local;
    /// Everything.
    type Durable = State;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let meaning = "how many nodes propose, the first ones: one or two; the others accept";
        let proposers = parameters.get("proposers", 2, meaning)?;
        let retries = [("timer", true), ("never", false)];
        let retries = parameters.choice("retry", &retries, "whether a proposer that is refused tries again")?;
        // A third one that has not begun would have a first ballot on the other side of the circle.
        if ![1, 2].contains(&proposers) {
            return Err(parameters.reject("proposers", "it is 1 or 2: two are enough to interrupt each other"));
        }
        match parameters.nodes().checked_sub(proposers) {
            Some(1 | 2) => Ok(Self { proposers, retries, circle: Circle::of(proposers) }),
            _ => Err(parameters.reject_nodes("besides the proposers there are one or two acceptors")),
        }
    }

    fn init(&self, ctx: &mut Context<Message>, durable: Option<State>) -> State {
        durable.unwrap_or_else(|| match ctx.me() < self.proposers {
            true => State::Proposer(Proposer::Ready),
            false => State::Acceptor(Acceptor::default()),
        })
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        match state {
            State::Acceptor(acceptor) => {
                let answer = self.answer(acceptor, message);
                ctx.send(from, answer);
            }
            State::Proposer(proposer) => self.hear(ctx, proposer, from, message),
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        match state {
            State::Proposer(Proposer::Ready) => events.application("propose", Local::Propose),
            State::Proposer(Proposer::Overtaken { .. }) if self.retries => events.timer("retry", Local::Retry),
            _ => {}
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, event: Local) {
        let ballot = match (event, &*state) {
            (Local::Propose, State::Proposer(Proposer::Ready)) => self.circle.first(ctx.me()),
            (Local::Retry, State::Proposer(Proposer::Overtaken { by })) => self.circle.next(ctx.me(), *by),
            (event, state) => unreachable!("{event:?} is not possible in {state:?}"),
        };
        *state = State::Proposer(self.ask(ctx, ballot, None));
    }

    fn persist(&self, state: &State) -> Option<State> {
        Some(state.clone())
    }

    fn interchangeable(&self, nodes: u32) -> Vec<Vec<NodeId>> {
        vec![(self.proposers..nodes).collect()]
    }

    fn properties(claims: &mut Properties<Self>) {
        claims.always("agreement").system(
            |_, state| match state {
                State::Proposer(Proposer::Decided(value)) => Some(*value),
                _ => None,
            },
            |decided| {
                let mut known = decided.iter().enumerate().filter_map(|(node, value)| Some((node, (*value)?)));
                let Some((first_node, first)) = known.next() else { return Ok(()) };
                match known.find(|(_, value)| *value != first) {
                    None => Ok(()),
                    Some((node, value)) => Err(format!("node {first_node} has decided {first}, node {node} {value}")),
                }
            },
        );
        claims
            .sometimes("decided")
            .node(|_, state| matches!(state, State::Proposer(Proposer::Decided(_))).then_some(()), |()| Ok(()));
        // Acceptors wait for nothing.
        claims.eventually("served").node(
            |_, state| {
                let waits = |proposer| matches!(proposer, &Proposer::Asking { .. } | &Proposer::Overtaken { .. });
                Some(matches!(state, State::Proposer(proposer) if waits(proposer)))
            },
            |waits| match waits {
                false => Ok(()),
                true => Err("the proposer waits for a decision".to_owned()),
            },
        );
    }
}

impl Synod {
    /// Asks all acceptors, and waits for all answers: no message of an earlier attempt is in flight when the next one begins.
    fn ask(&self, ctx: &mut Context<Message>, ballot: Ballot, proposal: Option<Value>) -> Proposer {
        let missing: BTreeSet<NodeId> = (self.proposers..ctx.nodes()).collect();
        let question = proposal.map_or(Message::Prepare(ballot), |value| Message::Accept(ballot, value));
        missing.iter().for_each(|acceptor| ctx.send(*acceptor, question));
        Proposer::Asking { ballot, proposal, missing, found: None, overtaken_by: None }
    }

    /// A proposer receives the answer of an acceptor.
    fn hear(&self, ctx: &mut Context<Message>, proposer: &mut Proposer, from: NodeId, answer: Message) {
        let Proposer::Asking { ballot, proposal, missing, found, overtaken_by } = proposer else {
            unreachable!("{answer:?} answers nothing in {proposer:?}")
        };
        missing.remove(&from);
        match answer {
            // All acceptors have accepted a chosen value, so their answers agree. If they differ, none is chosen, and any value will do.
            Message::Promised(accepted) => *found = accepted.or(*found),
            Message::Refused(by) => *overtaken_by = Some(self.circle.higher(*overtaken_by, by)),
            _ => {}
        }
        if missing.is_empty() {
            *proposer = match (*overtaken_by, *proposal) {
                (Some(by), _) => Proposer::Overtaken { by },
                (None, None) => self.ask(ctx, *ballot, Some(found.unwrap_or(100 + ctx.me()))),
                (None, Some(value)) => Proposer::Decided(value),
            };
        }
    }

    /// The answer of an acceptor to a question.
    fn answer(&self, acceptor: &mut Acceptor, question: Message) -> Message {
        let (Message::Prepare(ballot) | Message::Accept(ballot, _)) = question else {
            unreachable!("{question:?} is not for acceptors")
        };
        if let Some(promised) = acceptor.promised.filter(|promised| self.circle.is_above(*promised, ballot)) {
            return Message::Refused(promised);
        }
        acceptor.promised = Some(ballot);
        match question {
            Message::Accept(_, value) => {
                acceptor.accepted = Some(value);
                Message::Accepted
            }
            _ => Message::Promised(acceptor.accepted),
        }
    }
}

guest_sdk::export!(Synod);

#[cfg(test)]
mod tests {
    use guest_sdk::test::Cluster;

    use super::*;

    fn with(nodes: u32, parameters: &[(&str, &str)]) -> Cluster<Synod> {
        Cluster::new(nodes, parameters).expect("the parameters fit")
    }

    /// In each of two phases the question to an acceptor is in flight, or its answer, or it has answered: 3^A states for A
    /// acceptors, without the one at the beginning of the next phase; before and after them one each. Each of the A acceptors has two
    /// steps in each phase, in any state of the others.
    #[test]
    fn one_proposer_decides() {
        for acceptors in [1, 2] {
            let found = with(1 + acceptors, &[("proposers", "1")]).explore(100);
            let (three, a) = (3_usize.pow(acceptors), acceptors as usize);
            assert_eq!((found.global_states, found.transitions), (2 + 2 * (three - 1), 1 + 2 * 2 * a * three / 3));
            assert_eq!((found.broken, found.terminal_states), (None, 1));
        }
    }

    /// A comparison of ballots that are too far apart would panic. The scenarios are compared with this enumeration; the host shares
    /// no code with it.
    #[test]
    fn two_proposers_agree_and_the_circle_is_large_enough() {
        for (nodes, states, transitions) in [(3, 244, 396), (4, 20_284, 57_108)] {
            let found = with(nodes, &[]).explore(1_000_000);
            assert_eq!((found.global_states, found.transitions, found.broken), (states, transitions, None));
        }
    }

    #[test]
    fn who_is_refused_tries_again_or_not() {
        for (retry, events) in [("timer", 1), ("never", 0)] {
            let mut cluster = with(3, &[("retry", retry)]);
            cluster.happen(0, "propose");
            cluster.happen(1, "propose");
            cluster.deliver_where(|flight| flight.from == 1);
            cluster.settle();
            assert_eq!(*cluster.state(0), State::Proposer(Proposer::Overtaken { by: 1 }));
            assert_eq!(*cluster.state(1), State::Proposer(Proposer::Decided(101)));
            assert_eq!(cluster.holds("served"), Err("node 0: the proposer waits for a decision".to_owned()));
            assert_eq!(cluster.local_events(0).len(), events);
        }
    }

    #[test]
    fn a_later_ballot_takes_over_what_may_be_chosen() {
        let mut cluster = with(3, &[]);
        cluster.happen(0, "propose");
        cluster.settle();
        cluster.happen(1, "propose");
        cluster.settle();
        assert_eq!(*cluster.state(1), State::Proposer(Proposer::Decided(100)));
        assert_eq!((cluster.check(), cluster.holds("served")), (Ok(()), Ok(())));
    }

    /// Each proposer asks for a promise after the other one has received its own and before it asks for acceptance. After four rounds the
    /// ballots are those of the beginning.
    #[test]
    fn two_proposers_can_interrupt_each_other_for_ever() {
        let mut cluster = with(3, &[]);
        cluster.happen(0, "propose");
        cluster.deliver_to(2, |_| true);
        cluster.happen(1, "propose");
        let mut seen = Vec::new();
        for _ in 0..8 {
            for waiting in [0, 1] {
                cluster.deliver_to(2, |message| matches!(message, Message::Prepare(_)));
                cluster.deliver_to(waiting, |message| matches!(message, Message::Promised(None)));
                cluster.deliver_to(2, |message| matches!(message, Message::Accept(..)));
                cluster.deliver_to(waiting, |message| matches!(message, Message::Refused(_)));
                assert!(cluster.holds("served").is_err());
                cluster.happen(waiting, "retry");
            }
            seen.push((*cluster.state(2)).clone());
        }
        assert_eq!(seen[..4], seen[4..]);
        assert!(seen[..3].iter().all(|state| *state != seen[3]));
    }

    #[test]
    fn what_the_circle_is_not_made_for_is_refused() {
        for (nodes, parameters) in [(2, &[][..]), (5, &[]), (4, &[("proposers", "3")]), (2, &[("proposers", "0")])] {
            assert!(Cluster::<Synod>::new(nodes, parameters).is_err(), "{nodes} {parameters:?}");
        }
    }
}
