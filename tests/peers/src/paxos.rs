//! Single-decree Paxos for Stateright: the states, messages and handlers of `plugins/paxos`, natively.
//!
//! The actor model can express them exactly, with one precaution. Stateright drops a delivery that neither writes the
//! state nor sends anything, and leaves the message in flight; in the plugin's semantics it is consumed. So every
//! handler here asks for its state by `Cow::to_mut`, which counts as a write. Local events are timers; one that is set
//! is a function of the actor's state, so timers tell no states apart.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::time::Instant;

use serde_json::{Value as Json, json};
use stateright::actor::{Actor, ActorModel, ActorModelState, Id, Network, Out, model_timeout};
use stateright::{Checker, Expectation, Model};

/// The nodes of the cluster.
const NODES: usize = 3;
const MAJORITY: usize = NODES / 2 + 1;

type Ballot = u32;
type Value = u32;

/// Which cluster is checked, and how far.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// The number of proposers.
    pub proposers: usize,
    /// Whether an event of its own initialises each node.
    pub init_by_event: bool,
    /// The number of transitions soon after which the search ends.
    pub transitions_max: Option<NonZeroUsize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Proposal {
    ballot: Ballot,
    value: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Message {
    Prepare { ballot: Ballot },
    PrepareResponse { ballot: Ballot, accepted: Option<Proposal> },
    Accept(Proposal),
    Learn(Proposal),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Timer {
    Init,
    Propose,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum State {
    Uninitialised,
    Running(Roles),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Roles {
    proposer: Proposer,
    promised: Ballot,
    accepted: Option<Proposal>,
    /// Each accepted proposal, with its acceptor.
    votes: BTreeSet<(Proposal, Id)>,
    chosen: BTreeSet<Value>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Proposer {
    Ready,
    Collecting { responders: BTreeSet<Id>, highest: Option<Proposal> },
    Done,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    proposes: bool,
    init_by_event: bool,
}

impl Node {
    fn start(self, out: &mut Out<Self>) -> State {
        let proposer = match self.proposes {
            true => {
                out.set_timer(Timer::Propose, model_timeout());
                Proposer::Ready
            }
            false => Proposer::Done,
        };
        let (votes, chosen) = (BTreeSet::new(), BTreeSet::new());
        State::Running(Roles { proposer, promised: 0, accepted: None, votes, chosen })
    }
}

impl Actor for Node {
    type Msg = Message;
    type Timer = Timer;
    type State = State;
    type Storage = ();
    type Random = ();

    fn on_start(&self, _: Id, _: &Option<()>, out: &mut Out<Self>) -> State {
        match self.init_by_event {
            true => {
                out.set_timer(Timer::Init, model_timeout());
                State::Uninitialised
            }
            false => self.start(out),
        }
    }

    fn on_msg(&self, me: Id, state: &mut Cow<'_, State>, from: Id, message: Message, out: &mut Out<Self>) {
        let State::Running(roles) = state.to_mut() else { return };
        match message {
            Message::Prepare { ballot } if ballot >= roles.promised => {
                roles.promised = ballot;
                out.send(from, Message::PrepareResponse { ballot, accepted: roles.accepted });
            }
            Message::Accept(proposal) if proposal.ballot >= roles.promised => {
                roles.promised = proposal.ballot;
                roles.accepted = Some(proposal);
                broadcast(out, Message::Learn(proposal));
            }
            Message::Prepare { .. } | Message::Accept(_) => {}
            Message::Learn(proposal) => {
                roles.votes.insert((proposal, from));
                if roles.votes.iter().filter(|(other, _)| *other == proposal).count() >= MAJORITY {
                    roles.chosen.insert(proposal.value);
                }
            }
            Message::PrepareResponse { ballot, accepted } => {
                let Proposer::Collecting { responders, highest } = &mut roles.proposer else { return };
                if ballot != own_ballot(me) {
                    return;
                }
                responders.insert(from);
                *highest = accepted.max(*highest);
                if responders.len() >= MAJORITY {
                    let value = highest.map_or(own_value(me), |proposal| proposal.value);
                    roles.proposer = Proposer::Done;
                    broadcast(out, Message::Accept(Proposal { ballot, value }));
                }
            }
        }
    }

    fn on_timeout(&self, me: Id, state: &mut Cow<'_, State>, timer: &Timer, out: &mut Out<Self>) {
        match (timer, state.to_mut()) {
            (Timer::Init, state @ State::Uninitialised) => *state = self.start(out),
            (Timer::Propose, State::Running(roles)) => {
                roles.proposer = Proposer::Collecting { responders: BTreeSet::new(), highest: None };
                broadcast(out, Message::Prepare { ballot: own_ballot(me) });
            }
            (timer, state) => unreachable!("{timer:?} is not set in {state:?}"),
        }
    }
}

fn broadcast(out: &mut Out<Node>, message: Message) {
    (0..NODES).for_each(|node| out.send(Id::from(node), message));
}

fn own_ballot(me: Id) -> Ballot {
    usize::from(me) as Ballot + 1
}

fn own_value(me: Id) -> Value {
    100 + usize::from(me) as Value
}

type System = ActorModel<Node>;

fn roles(state: &ActorModelState<Node>) -> impl Iterator<Item = &Roles> {
    state.actor_states.iter().filter_map(|state| match &**state {
        State::Running(roles) => Some(roles),
        State::Uninitialised => None,
    })
}

fn agreement(_: &System, state: &ActorModelState<Node>) -> bool {
    let mut chosen = roles(state).flat_map(|roles| &roles.chosen);
    let first = chosen.next();
    chosen.all(|value| Some(value) == first)
}

fn accepted_not_above_promised(_: &System, state: &ActorModelState<Node>) -> bool {
    roles(state).all(|roles| roles.accepted.is_none_or(|proposal| proposal.ballot <= roles.promised))
}

fn some_value_is_chosen(_: &System, state: &ActorModelState<Node>) -> bool {
    roles(state).any(|roles| !roles.chosen.is_empty())
}

/// Depth-first search on one thread. Returns one JSON object.
pub fn check(scenario: Scenario) -> Json {
    let node = |index| Node { proposes: index < scenario.proposers, init_by_event: scenario.init_by_event };
    let model = System::new((), ())
        .actors((0..NODES).map(node))
        .init_network(Network::new_unordered_nonduplicating([]))
        .property(Expectation::Always, "agreement", agreement)
        .property(Expectation::Always, "accepted-not-above-promised", accepted_not_above_promised)
        .property(Expectation::Sometimes, "chosen", some_value_is_chosen);
    let mut checker = model.checker().threads(1);
    if let Some(transitions) = scenario.transitions_max {
        // The start state is counted, too.
        checker = checker.target_state_count(transitions.get() + 1);
    }
    let began = Instant::now();
    // Not `report`, which looks once a second whether the search has ended.
    let checker = checker.spawn_dfs().join();
    let seconds = began.elapsed().as_secs_f64();
    let transitions = checker.state_count() - 1;
    let violated =
        checker.discovery("agreement").is_some() || checker.discovery("accepted-not-above-promised").is_some();
    let bounded = scenario.transitions_max.is_some_and(|bound| transitions >= bound.get());
    json!({
        "verdict": if violated { "violation" } else if bounded { "bounded" } else { "ok" },
        "states": checker.unique_state_count(),
        "transitions": transitions,
        "seconds": seconds,
    })
}
