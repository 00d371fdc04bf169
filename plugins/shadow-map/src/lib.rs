//! The shadow map of Bullet': a sender announces its blocks of a file to its receivers, by differences to earlier
//! announcements, over a transport that refuses messages when it is full.
//!
//! Source: Yabandeh, "Model Checking of Distributed Algorithm Implementations", EPFL thesis 4858, 2011, chapter 3, the first bug that
//! CrystalBall found in Bullet' (Kostić and others, "Maintaining high bandwidth under dynamic network conditions", USENIX ATC
//! 2005). Only the bookkeeping: no blocks are sent, and no requests for them.

use std::collections::{BTreeMap, BTreeSet};

use guest_sdk::{About, Context, LocalEvents, Never, NodeId, ParameterError, Parameters, Properties, Protocol};
use serde::{Deserialize, Serialize};

/// The configuration of a run.
#[derive(Clone, Copy, Debug)]
pub struct ShadowMap {
    /// The number of blocks of the file.
    blocks: Block,
    bug: Bug,
}

/// The deliberate mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    None,
    /// The sender assumes that a receiver knows the blocks, even if the transport has refused the message.
    ForgetRefused,
}

/// A block of the file, by its number.
pub type Block = u8;

/// The blocks that the sender has received since the last such message to this receiver.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Difference(pub BTreeSet<Block>);

/// The local events of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Local {
    /// It receives the next block from elsewhere.
    GetBlock,
    /// It announces the missing blocks to a receiver.
    Tell(NodeId),
}

/// The state of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum State {
    /// Node 0.
    Sender {
        /// The number of blocks that it has.
        blocks: Block,
        /// For each receiver the blocks not yet announced to it.
        untold: BTreeMap<NodeId, BTreeSet<Block>>,
    },
    /// Every other node: the blocks that it knows of.
    Receiver(BTreeSet<Block>),
}

impl Protocol for ShadowMap {
    const ABOUT: About = guest_sdk::about!().nodes(3);
    type State = State;
    type Message = Difference;
    type Local = Local;
    type Durable = Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let blocks = parameters.get("blocks", 1, "how many blocks the file has")?;
        let bugs = &[("none", Bug::None), ("forget-refused", Bug::ForgetRefused)];
        let bug = parameters.choice("bug", bugs, "what is wrong on purpose")?;
        match parameters.nodes() {
            _ if blocks == 0 => Err(parameters.reject("blocks", "there is at least one")),
            0 | 1 => Err(parameters.reject_nodes("there is a sender, and at least one receiver")),
            _ => Ok(Self { blocks, bug }),
        }
    }

    fn init(&self, ctx: &mut Context<Difference>, _: Option<Never>) -> State {
        match ctx.me() {
            0 => State::Sender { blocks: 0, untold: (1..ctx.nodes()).map(|node| (node, BTreeSet::new())).collect() },
            _ => State::Receiver(BTreeSet::new()),
        }
    }

    fn handle_message(&self, _: &mut Context<Difference>, state: &mut State, _: NodeId, Difference(new): Difference) {
        let State::Receiver(known) = state else { unreachable!("only receivers are told") };
        known.extend(new);
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        let State::Sender { blocks, untold } = state else { return };
        if *blocks < self.blocks {
            events.application("get-block", Local::GetBlock);
        }
        for (receiver, _) in untold.iter().filter(|(_, untold)| !untold.is_empty()) {
            events.internal("tell", Local::Tell(*receiver));
        }
    }

    fn handle_local(&self, ctx: &mut Context<Difference>, state: &mut State, event: Local) {
        let State::Sender { blocks, untold } = state else { unreachable!("receivers do nothing by themselves") };
        match event {
            Local::GetBlock => {
                for untold in untold.values_mut() {
                    untold.insert(*blocks);
                }
                *blocks += 1;
            }
            Local::Tell(receiver) => {
                let untold = untold.get_mut(&receiver).expect("there is an entry for each receiver");
                let is_sent = ctx.try_send(receiver, Difference(untold.clone()));
                if is_sent || self.bug == Bug::ForgetRefused {
                    untold.clear();
                }
            }
        }
    }

    /// A receiver waits for the whole file.
    fn is_done(&self, state: &State) -> bool {
        match state {
            State::Sender { .. } => true,
            State::Receiver(known) => known.len() == usize::from(self.blocks),
        }
    }

    fn properties(claims: &mut Properties<Self>) {
        claims.always("only-what-is-there").system(
            |_, state| match state {
                State::Sender { blocks, .. } => Some((true, *blocks)),
                State::Receiver(known) => known.last().map(|last| (false, last + 1)),
            },
            |views| {
                let there = views.first().copied().flatten().map_or(0, |(_, blocks)| blocks);
                match views.iter().position(|view| view.is_some_and(|(_, blocks)| blocks > there)) {
                    Some(node) => Err(format!("node {node} was told of a block that nobody has")),
                    None => Ok(()),
                }
            },
        );
        claims.sometimes("all-told").node(
            |protocol, state| {
                let is_whole = matches!(state, State::Receiver(known) if known.len() == usize::from(protocol.blocks));
                is_whole.then_some(())
            },
            |()| Ok(()),
        );
    }
}

guest_sdk::export!(ShadowMap);

#[cfg(test)]
mod tests {
    use guest_sdk::test::Cluster;

    use super::*;

    fn with(receivers: u32, parameters: &[(&str, &str)]) -> Cluster<ShadowMap> {
        Cluster::new(1 + receivers, parameters).expect("the parameters fit")
    }

    /// Each of R receivers of the one block is due a message, or the message is in flight or has arrived: 3^R states, and the one without
    /// a block. 2 R 3^(R-1) edges, and the first.
    #[test]
    fn nothing_is_refused_without_a_budget() {
        for receivers in 1..=4 {
            let found = with(receivers, &[]).explore(1_000);
            let edges = 1 + 2 * receivers as usize * 3_usize.pow(receivers - 1);
            assert_eq!((found.global_states, found.transitions), (1 + 3_usize.pow(receivers), edges));
            assert_eq!((found.terminal_states, found.deadlocks, found.broken), (1, 0, None));
        }
    }

    #[test]
    fn a_refused_difference_is_sent_again() {
        let mut cluster = with(1, &[]);
        cluster.happen(0, "get-block");
        cluster.refuse(&[true]);
        cluster.happen(0, "tell");
        assert!(cluster.in_flight().is_empty());
        assert_eq!(cluster.local_events(0).len(), 1);
        cluster.happen(0, "tell");
        cluster.settle();
        assert_eq!(*cluster.state(1), State::Receiver(BTreeSet::from([0])));
        assert!(!cluster.is_deadlocked());
    }

    #[test]
    fn what_was_refused_must_not_be_forgotten() {
        let mut cluster = with(1, &[("bug", "forget-refused")]);
        cluster.happen(0, "get-block");
        cluster.refuse(&[true]);
        cluster.happen(0, "tell");
        assert!(cluster.is_deadlocked());
    }
}
