//! Two-phase commit. Node 0 is the coordinator, all others are participants.
//!
//! Source: Gray, "Notes on Data Base Operating Systems", 1978; Bernstein, Hadzilacos, Goodman, "Concurrency Control and
//! Recovery in Database Systems", 1987, section 7.4. Without time-outs and logs: a node that waits for one that has
//! stopped waits for ever.

use std::collections::BTreeMap;

use guest_sdk::{About, Context, LocalEvents, Never, NodeId, ParameterError, Parameters, Place, Properties, Protocol};
use serde::{Deserialize, Serialize};

/// The configuration of a run.
#[derive(Clone, Copy, Debug)]
pub struct TwoPhaseCommit {
    bug: Bug,
    stops: Stops,
}

/// The nodes that may stop while others wait for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stops {
    Nobody,
    /// Node 0, after it has asked for votes and before it decides.
    Coordinator,
    /// The last node, before it votes.
    Participant,
}

/// The deliberate mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// The coordinator commits as soon as it has every vote and a majority of them is yes.
    Majority,
    /// A participant that has voted yes aborts when its connection to the coordinator breaks.
    Impatient,
}

/// The messages between coordinator and participants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Coordinator to participant: can you commit?
    Prepare,
    /// Participant to coordinator.
    Vote(Vote),
    /// Coordinator to participant: the decision.
    Decide(Decision),
}

/// The answer of a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Vote {
    /// It can commit, and waits for the decision.
    Yes,
    /// It cannot, and has aborted.
    No,
}

/// The decision on the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Decision {
    /// It takes effect everywhere.
    Commit,
    /// It takes effect nowhere.
    Abort,
}

/// The local events of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// The application wants the transaction to be committed.
    Begin,
    /// The node stops for good.
    Stop,
}

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum State {
    /// Node 0.
    Coordinator(Coordinator),
    /// Every other node.
    Participant(Participant),
}

/// The state of the coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Coordinator {
    /// The transaction has not ended yet on any node.
    Idle,
    /// Waits for the votes of all participants; these are there.
    Collecting(BTreeMap<NodeId, Vote>),
    /// Has told the participants. The votes are forgotten.
    Decided(Decision),
    /// Does nothing any more, and has not decided.
    Stopped,
}

/// The state of a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Participant {
    /// Has not voted.
    Working,
    /// Voted yes, and can go neither way on its own.
    Prepared,
    /// Has received the decision to commit or to abort, or voted no.
    Ended(Decision),
    /// Does nothing any more, and has not voted.
    Stopped,
}

impl Protocol for TwoPhaseCommit {
    const ABOUT: About = guest_sdk::about!().nodes(4);
    type State = State;
    type Message = Message;
    type Local = Local;
    type Durable = Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let bugs = &[("none", Bug::None), ("majority", Bug::Majority), ("impatient", Bug::Impatient)];
        let bug = parameters.choice("bug", bugs, "what is wrong on purpose")?;
        let stops =
            &[("nobody", Stops::Nobody), ("coordinator", Stops::Coordinator), ("participant", Stops::Participant)];
        let stops = parameters.choice("stops", stops, "who may stop where others wait for it")?;
        match parameters.nodes() {
            0 | 1 => Err(parameters.reject_nodes("there is a coordinator, and at least one participant")),
            _ => Ok(Self { bug, stops }),
        }
    }

    fn init(&self, ctx: &mut Context<Message>, _: Option<Never>) -> State {
        match ctx.me() {
            COORDINATOR => State::Coordinator(Coordinator::Idle),
            _ => State::Participant(Participant::Working),
        }
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        match (message, state) {
            (Message::Prepare, State::Participant(participant)) => participant.vote(ctx),
            (Message::Decide(decision), State::Participant(participant)) => participant.learn(decision),
            (Message::Vote(vote), State::Coordinator(coordinator)) => coordinator.count(ctx, from, vote, self.bug),
            (message, state) => unreachable!("{message:?} is never sent to {state:?}"),
        }
    }

    /// A node that waits for a vote decides without it. A node that has voted yes must not decide.
    fn handle_transport_error(&self, ctx: &mut Context<Message>, state: &mut State, peer: NodeId) {
        match state {
            State::Coordinator(coordinator) => coordinator.give_up(ctx, peer),
            State::Participant(participant) if self.bug == Bug::Impatient => participant.learn(Decision::Abort),
            State::Participant(_) => {}
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        let is_last = events.me() + 1 == events.nodes();
        match state {
            State::Coordinator(Coordinator::Idle) => events.application("begin", Local::Begin),
            State::Coordinator(Coordinator::Collecting(_)) if self.stops == Stops::Coordinator => {
                events.internal("stop", Local::Stop);
            }
            State::Participant(Participant::Working) if self.stops == Stops::Participant && is_last => {
                events.internal("stop", Local::Stop);
            }
            _ => {}
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, event: Local) {
        match (event, state) {
            (Local::Begin, State::Coordinator(coordinator)) => {
                *coordinator = Coordinator::Collecting(BTreeMap::new());
                to_participants(ctx, Message::Prepare);
            }
            (Local::Stop, State::Coordinator(coordinator)) => *coordinator = Coordinator::Stopped,
            (Local::Stop, State::Participant(participant)) => *participant = Participant::Stopped,
            (event, state) => unreachable!("{event:?} is not possible in {state:?}"),
        }
    }

    /// A coordinator that has asked waits for the votes, and a participant that has voted yes for the decision. No other node waits: a
    /// participant that may still abort by itself does not, nor does a stopped node.
    fn is_done(&self, state: &State) -> bool {
        !waits(state)
    }

    fn interchangeable(&self, nodes: u32) -> Vec<Vec<NodeId>> {
        let last = if self.stops == Stops::Participant { nodes - 1 } else { nodes };
        vec![(1..last).collect()]
    }

    fn node_name(&self, place: Place) -> Option<String> {
        Some(if place.me == COORDINATOR { "coordinator".to_owned() } else { format!("participant {}", place.me) })
    }

    fn properties(claims: &mut Properties<Self>) {
        claims.always("atomicity").system(|_, state| decision(state), atomicity);
        claims.sometimes("committed").node(|_, state| ended(state, Decision::Commit), |()| Ok(()));
        claims.sometimes("aborted").node(|_, state| ended(state, Decision::Abort), |()| Ok(()));
        claims.eventually("ended").node(
            |_, state| Some(waits(state)),
            |waits| match waits {
                false => Ok(()),
                true => Err("the node waits, and may not decide by itself".to_owned()),
            },
        );
    }
}

/// The node that coordinates.
const COORDINATOR: NodeId = 0;

impl Coordinator {
    fn count(&mut self, ctx: &mut Context<Message>, from: NodeId, vote: Vote, bug: Bug) {
        // Votes that come after a broken connection has decided are late, and so are those after the end.
        let Self::Collecting(votes) = self else { return };
        votes.insert(from, vote);
        let participants = ctx.nodes() as usize - 1;
        if votes.len() == participants {
            let yes = votes.values().filter(|vote| **vote == Vote::Yes).count();
            let needed = match bug {
                Bug::None | Bug::Impatient => participants,
                Bug::Majority => participants / 2 + 1,
            };
            let decision = if yes >= needed { Decision::Commit } else { Decision::Abort };
            *self = Self::Decided(decision);
            to_participants(ctx, Message::Decide(decision));
        }
    }

    /// The vote of a participant may never come.
    fn give_up(&mut self, ctx: &mut Context<Message>, participant: NodeId) {
        if let Self::Collecting(votes) = self
            && !votes.contains_key(&participant)
        {
            *self = Self::Decided(Decision::Abort);
            to_participants(ctx, Message::Decide(Decision::Abort));
        }
    }
}

impl Participant {
    fn vote(&mut self, ctx: &mut Context<Message>) {
        if *self == Self::Stopped {
            return;
        }
        let (vote, next) = match ctx.choose(2) {
            0 => (Vote::Yes, Self::Prepared),
            _ => (Vote::No, Self::Ended(Decision::Abort)),
        };
        *self = next;
        ctx.send(COORDINATOR, Message::Vote(vote));
    }

    fn learn(&mut self, decision: Decision) {
        // A participant that has ended has voted no, and cannot change that.
        if *self == Self::Prepared {
            *self = Self::Ended(decision);
        }
    }
}

fn to_participants(ctx: &mut Context<Message>, message: Message) {
    (1..ctx.nodes()).for_each(|participant| ctx.send(participant, message));
}

/// Whether a node waits for votes, or for the decision.
fn waits(state: &State) -> bool {
    matches!(state, State::Coordinator(Coordinator::Collecting(_)) | State::Participant(Participant::Prepared))
}

fn decision(state: &State) -> Option<Decision> {
    match state {
        State::Coordinator(Coordinator::Decided(decision)) | State::Participant(Participant::Ended(decision)) => {
            Some(*decision)
        }
        _ => None,
    }
}

fn ended(state: &State, wanted: Decision) -> Option<()> {
    (*state == State::Participant(Participant::Ended(wanted))).then_some(())
}

fn atomicity(views: &[Option<Decision>]) -> Result<(), String> {
    let find = |wanted| views.iter().position(|decision| *decision == Some(wanted));
    match (find(Decision::Commit), find(Decision::Abort)) {
        (Some(one), Some(other)) => Err(format!("node {one} has committed, node {other} has aborted")),
        _ => Ok(()),
    }
}

guest_sdk::export!(TwoPhaseCommit);

#[cfg(test)]
mod tests {
    use guest_sdk::test::Cluster;

    use super::*;

    fn with(participants: u32, parameters: &[(&str, &str)]) -> Cluster<TwoPhaseCommit> {
        Cluster::new(1 + participants, parameters).expect("the parameters fit")
    }

    /// The cluster after all votes are given and everything is delivered.
    fn ended_with(votes: &[u32], parameters: &[(&str, &str)]) -> Cluster<TwoPhaseCommit> {
        let mut cluster = with(u32::try_from(votes.len()).expect("a few participants"), parameters);
        // `settle` delivers the oldest message first, so participants vote in the order of their numbers.
        cluster.answer(votes);
        cluster.happen(COORDINATOR, "begin");
        cluster.settle();
        cluster
    }

    #[test]
    fn all_commit_if_all_vote_yes() {
        let cluster = ended_with(&[0, 0, 0], &[]);
        assert!((1..4).all(|node| *cluster.state(node) == State::Participant(Participant::Ended(Decision::Commit))));
        assert_eq!(cluster.holds("atomicity"), Ok(()));
    }

    #[test]
    fn all_abort_if_one_votes_no() {
        let cluster = ended_with(&[0, 1, 0], &[]);
        assert!((1..4).all(|node| *cluster.state(node) == State::Participant(Participant::Ended(Decision::Abort))));
        assert_eq!(*cluster.state(COORDINATOR), State::Coordinator(Coordinator::Decided(Decision::Abort)));
    }

    /// Before `begin` there is 1 state. While votes are collected, each of N participants is in one of 5 situations:
    /// Prepare in flight, vote yes or no in flight, vote yes or no counted; but the coordinator decides when all are
    /// counted: 5^N - 2^N. After commit each has Commit in flight or has it: 2^N. After abort each has voted yes or
    /// no and has Abort in flight, or has it and no past: 3^N, without the state in which all have voted yes. Together
    /// 5^N + 3^N.
    ///
    /// Transitions: `begin`; in the first phase 2, 1, 1, 0 and 0 leave the five situations, so 4 N 5^(N-1); N 2^(N-1)
    /// deliveries of Commit; of Abort 2 N 3^(N-1), without the N from the state that is not there.
    #[test]
    fn the_number_of_states_is_a_sum_of_powers() {
        for n in 1..=4 {
            let found = with(n, &[]).explore(10_000);
            let states = 5_usize.pow(n) + 3_usize.pow(n);
            let (n, before) = (n as usize, n - 1);
            let transitions =
                1 + 4 * n * 5_usize.pow(before) + n * 2_usize.pow(before) + 2 * n * 3_usize.pow(before) - n;
            assert_eq!((found.global_states, found.transitions, found.broken), (states, transitions, None));
            // All have committed, or all have aborted; 1 + 4 N events: `begin`, Prepare, vote and decision.
            assert_eq!((found.terminal_states, found.depth), (2, 1 + 3 * n));
        }
    }

    /// The states without `stop`, and after it: each of N participants is in one of 5 situations, Prepare in flight, vote
    /// yes or no in flight, vote yes or no gone, 5^N. Edges are those without `stop`; one `stop` for each of the 5^N - 2^N states
    /// in which votes are collected; 4 N 5^(N-1) after it. At the end all votes are gone, and each node that has voted yes waits: all
    /// but one of 2^N ends are deadlocks.
    #[test]
    fn a_coordinator_that_stops_blocks_who_has_voted_yes() {
        for n in 1..=3 {
            let found = with(n, &[("stops", "coordinator")]).explore(10_000);
            let without = with(n, &[]).explore(10_000);
            let (five, two) = (5_usize.pow(n), 2_usize.pow(n));
            let transitions = without.transitions + five - two + 4 * n as usize * five / 5;
            assert_eq!((found.global_states, found.transitions), (without.global_states + five, transitions));
            assert_eq!((found.terminal_states, found.deadlocks, found.broken), (2 + two, two - 1, None));
            assert_eq!(without.deadlocks, 0);
        }
    }

    /// The states without `stop`; one before `begin`; and 2 * 5^(N-1) where votes are collected and the last participant has
    /// stopped, with Prepare in flight to it or not. Edges are those without `stop`; `stop` and `begin` in the other order, 2;
    /// 5^(N-1) times `stop` while Prepare is in flight, and 5^(N-1) times its arrival; and the steps of the others in both situations, 2
    /// * 4 (N-1) 5^(N-2). The ends are those where the others have voted, in 2^(N-1) ways, and the coordinator waits.
    #[test]
    fn a_participant_that_stops_blocks_all_others() {
        for n in 2..=3 {
            let found = with(n, &[("stops", "participant")]).explore(10_000);
            let without = with(n, &[]).explore(10_000);
            let (five, others) = (5_usize.pow(n - 1), n as usize - 1);
            let transitions = without.transitions + 2 + 2 * five + 2 * 4 * others * five / 5;
            assert_eq!(found.global_states, without.global_states + 1 + 2 * five);
            assert_eq!(found.transitions, transitions);
            let ends = 2_usize.pow(n - 1);
            assert_eq!((found.terminal_states, found.deadlocks, found.broken), (2 + ends, ends, None));
        }
    }

    #[test]
    fn a_majority_is_not_enough() {
        let cluster = ended_with(&[0, 0, 1], &[("bug", "majority")]);
        assert_eq!(cluster.check(), Err("atomicity: node 0 has committed, node 3 has aborted".to_owned()));
        // With one or two participants a majority is all of them.
        assert_eq!(with(2, &[("bug", "majority")]).explore(1_000).broken, None);
        assert!(with(3, &[("bug", "majority")]).explore(1_000).broken.is_some());
    }

    /// The connection to the last participant breaks: before its vote has arrived, the coordinator aborts, and after it
    /// nothing happens.
    #[test]
    fn a_vote_that_may_never_come_is_not_waited_for() {
        let mut cluster = with(2, &[]);
        cluster.happen(COORDINATOR, "begin");
        cluster.transport_error(COORDINATOR, 2);
        assert_eq!(*cluster.state(COORDINATOR), State::Coordinator(Coordinator::Decided(Decision::Abort)));
        cluster.settle();
        assert_eq!(cluster.check(), Ok(()));
        let mut cluster = ended_with(&[0, 0], &[]);
        cluster.transport_error(COORDINATOR, 2);
        assert_eq!(*cluster.state(COORDINATOR), State::Coordinator(Coordinator::Decided(Decision::Commit)));
    }

    #[test]
    fn who_has_voted_yes_must_not_decide() {
        for (bug, expected) in [("none", Participant::Prepared), ("impatient", Participant::Ended(Decision::Abort))] {
            let mut cluster = with(1, &[("bug", bug)]);
            cluster.happen(COORDINATOR, "begin");
            cluster.deliver(0);
            cluster.transport_error(1, COORDINATOR);
            assert_eq!(*cluster.state(1), State::Participant(expected), "{bug}");
        }
    }

    #[test]
    fn who_waits_for_a_node_that_has_stopped_is_owed_an_end() {
        let mut cluster = with(2, &[("stops", "coordinator")]);
        assert_eq!(cluster.holds("ended"), Ok(()));
        cluster.happen(COORDINATOR, "begin");
        cluster.happen(COORDINATOR, "stop");
        // Node 1 votes yes and node 2 no.
        cluster.answer(&[0, 1]);
        cluster.settle();
        assert_eq!(cluster.holds("ended"), Err("node 1: the node waits, and may not decide by itself".to_owned()));
        let cluster = ended_with(&[0, 1, 0], &[]);
        assert_eq!(cluster.holds("ended"), Ok(()));
    }

    #[test]
    fn there_is_a_participant() {
        assert!(Cluster::<TwoPhaseCommit>::new(1, &[]).is_err());
    }
}
