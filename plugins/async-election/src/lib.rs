//! Nodes elect a leader per term, as asynchronous Rust: one task serves messages, one stands for election, and they share the state of the
//! node and a channel of tokio. Writing a vote to disk takes time, in which other tasks of the node run.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use guest_sdk::tasks::{self, Network, Program, Tasks};
use guest_sdk::{About, Never, NodeId, ParameterError, Parameters, Properties};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The configuration.
#[derive(Clone, Copy, Debug)]
pub struct Election {
    /// Nodes with a lower number stand for election.
    candidates: NodeId,
    /// The number of times that each does between two starts.
    campaigns: u8,
    mistake: Mistake,
}

/// Mistakes on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// Nothing.
    None,
    /// A candidate votes for itself when the disk is done, and not before: in between, another task gives the vote away.
    LateVote,
    /// A vote for another node is not written to disk.
    UnwrittenGrant,
    /// A winner has one task that records the victory and another one that announces it, and relies on their order.
    TwoTasks,
}

/// A term: at most one node wins it.
pub type Term = u8;

/// The messages between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Vote for me.
    Ask(Term),
    /// You have my vote.
    Grant(Term),
    /// I won. The second number is a fencing token: how often I have won.
    Lead(Term, u8),
}

/// The vote of a node, and its victories.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ballot {
    /// The highest term that the node knows.
    pub term: Term,
    /// The node that has this node's vote of the term.
    pub vote: Option<NodeId>,
    /// The terms that this node won.
    pub won: Vec<Term>,
}

/// The part of a node that its tasks share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shared {
    /// The ballot that the tasks work with.
    pub ballot: Ballot,
    /// The ballot on disk, which a reset leaves.
    pub disk: Ballot,
    /// The last announcement of a leader: node, term and token.
    pub heard: Option<(NodeId, Term, u8)>,
}

type Node = Rc<RefCell<Shared>>;

impl Program for Election {
    const ABOUT: About = guest_sdk::about!().nodes(3);
    type Message = Message;
    type Call = Never;
    type Durable = Ballot;
    type Shared = Node;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let candidates = parameters.get("candidates", 2, "how many of the nodes stand for election")?;
        let campaigns = parameters.get("campaigns", 1, "how often each of them stands for election")?;
        let mistakes = [
            ("none", Mistake::None),
            ("late-vote", Mistake::LateVote),
            ("unwritten-grant", Mistake::UnwrittenGrant),
            ("two-tasks", Mistake::TwoTasks),
        ];
        let mistake = parameters.choice("bug", &mistakes, "what is wrong on purpose")?;
        Ok(Election { candidates, campaigns, mistake })
    }

    fn start(&self, network: Network<Message>, disk: Option<Ballot>) -> Node {
        let disk = disk.unwrap_or_default();
        let node = Rc::new(RefCell::new(Shared { ballot: disk.clone(), disk, heard: None }));
        let (to_candidate, grants) = unbounded_channel();
        tasks::spawn(serve(self.mistake, Rc::clone(&node), network.clone(), to_candidate));
        if network.me() < self.candidates {
            tasks::spawn(stand(*self, Rc::clone(&node), network, grants));
        }
        node
    }

    fn persist(&self, node: &Node) -> Option<Ballot> {
        Some(node.borrow().disk.clone())
    }

    fn properties(claims: &mut Properties<Tasks<Self>>) {
        claims.always("one-leader-per-term").system(
            |_, node| Some(node.borrow().ballot.won.clone()).filter(|won| !won.is_empty()),
            |views| {
                let mut all = BTreeSet::new();
                let twice = views.iter().flatten().flatten().find(|term| !all.insert(**term));
                twice.map_or(Ok(()), |term| Err(format!("two nodes won term {term}")))
            },
        );
        claims.always("announced-what-is-recorded").system(
            |_, node| Some((node.borrow().ballot.won.clone(), node.borrow().heard)),
            |views| {
                let won = |node: NodeId, token: u8| {
                    let (won, _) = views.get(node as usize)?.as_ref()?;
                    won.get(usize::from(token).checked_sub(1)?)
                };
                let heard = views.iter().flatten().filter_map(|(_, heard)| *heard);
                let mut wrong = heard.filter(|(node, term, token)| won(*node, *token) != Some(term));
                wrong.next().map_or(Ok(()), |(node, term, token)| {
                    Err(format!("node {node} announced term {term} with token {token}, which is none of its victories"))
                })
            },
        );
        claims.sometimes("all-follow").system(
            |_, node| node.borrow().heard,
            |views| match views.iter().flatten().count() {
                followers if followers + 1 >= views.len() => Ok(()),
                followers => Err(format!("{followers} nodes follow a leader")),
            },
        );
        // Everything that can be observed, for tests that compare.
        claims.always("observed").node(|_, node| Some(node.borrow().clone()), |_| Ok(()));
    }
}

/// Answers the messages of other nodes.
async fn serve(mistake: Mistake, node: Node, network: Network<Message>, to_candidate: UnboundedSender<(NodeId, Term)>) {
    loop {
        let (from, message) = network.recv_from().await;
        let mut shared = node.borrow_mut();
        let Shared { ballot, disk, heard } = &mut *shared;
        match message {
            Message::Ask(term) => {
                if term > ballot.term {
                    *ballot = Ballot { term, vote: None, won: ballot.won.clone() };
                }
                if term == ballot.term && ballot.vote.is_none_or(|vote| vote == from) {
                    ballot.vote = Some(from);
                    if mistake != Mistake::UnwrittenGrant {
                        disk.clone_from(ballot);
                    }
                    network.send_to(from, Message::Grant(term));
                }
            }
            // A node whose candidate has given up has no receiver.
            Message::Grant(term) => drop(to_candidate.send((from, term))),
            Message::Lead(term, token) => *heard = Some((from, term, token)),
        }
    }
}

/// Stands for election when nothing else has happened for a while.
async fn stand(
    Election { campaigns, mistake, .. }: Election,
    node: Node,
    network: Network<Message>,
    mut grants: UnboundedReceiver<(NodeId, Term)>,
) {
    let ask = |term| network.others().for_each(|to| network.send_to(to, Message::Ask(term)));
    for _ in 0..campaigns {
        tasks::sleep_named("election", Duration::from_millis(150)).await;
        let term = node.borrow().ballot.term + 1;
        let vote_for_itself = || {
            let mut shared = node.borrow_mut();
            (shared.ballot.term, shared.ballot.vote) = (term, Some(network.me()));
        };
        if mistake != Mistake::LateVote {
            vote_for_itself();
        }
        tasks::sleep_named("disk", Duration::from_millis(1)).await;
        if mistake == Mistake::LateVote {
            vote_for_itself();
        }
        if node.borrow().ballot.term != term {
            continue;
        }
        node.borrow_mut().write();
        ask(term);
        let mut voters = BTreeSet::from([network.me()]);
        let mut patience = pin!(tasks::sleep_named("patience", Duration::from_millis(100)));
        while voters.len() < network.majority() {
            tokio::select! {
                biased;
                Some((from, granted)) = grants.recv() => if granted == term {
                    voters.insert(from);
                },
                () = &mut patience => break,
            }
        }
        if voters.len() >= network.majority() && node.borrow().ballot.term == term {
            win(mistake, &node, &network, term);
        }
    }
}

impl Shared {
    fn write(&mut self) {
        self.disk.clone_from(&self.ballot);
    }
}

/// Records a victory and announces it.
fn win(mistake: Mistake, node: &Node, network: &Network<Message>, term: Term) {
    if mistake == Mistake::TwoTasks {
        let (recorder, announcer, network) = (Rc::clone(node), Rc::clone(node), network.clone());
        tasks::spawn(async move { record(&recorder, term) });
        tasks::spawn(async move { announce(&announcer, &network, term) });
    } else {
        record(node, term);
        announce(node, network, term);
    }
}

fn record(node: &Node, term: Term) {
    let mut shared = node.borrow_mut();
    shared.ballot.won.push(term);
    shared.write();
}

fn announce(node: &Node, network: &Network<Message>, term: Term) {
    let token = node.borrow().ballot.won.len() as u8;
    network.others().for_each(|to| network.send_to(to, Message::Lead(term, token)));
}

guest_sdk::arena!();
guest_sdk::export!(Tasks<Election>);

#[cfg(test)]
mod tests {
    use guest_sdk::test::Cluster;

    use super::*;

    fn won(cluster: &Cluster<Tasks<Election>>, node: NodeId) -> Vec<Term> {
        cluster.state(node).borrow().ballot.won.clone()
    }

    #[test]
    fn a_candidate_wins_and_is_followed() {
        let mut cluster = Cluster::<Tasks<Election>>::new(3, &[]).expect("the defaults fit");
        cluster.happen(0, "election");
        assert!(cluster.in_flight().is_empty(), "its vote is not on disk yet");
        cluster.happen(0, "disk");
        cluster.settle();
        assert_eq!((won(&cluster, 0), cluster.holds("all-follow")), (vec![1], Ok(())));
        // The next candidate follows in the next term.
        cluster.happen(1, "election");
        cluster.happen(1, "disk");
        cluster.settle();
        assert_eq!((won(&cluster, 1), cluster.check()), (vec![2], Ok(())));
    }

    #[test]
    fn a_candidate_without_an_answer_gives_up() {
        let mut cluster = Cluster::<Tasks<Election>>::new(3, &[("campaigns", "2")]).expect("the parameters fit");
        for term in 1..=2 {
            cluster.happen(0, "election");
            cluster.happen(0, "disk");
            cluster.lose_all();
            cluster.happen(0, "patience");
            assert_eq!(cluster.state(0).borrow().ballot.term, term);
        }
        assert!(won(&cluster, 0).is_empty() && cluster.local_events(0).is_empty());
    }

    #[test]
    fn a_reset_leaves_the_disk() {
        let mut cluster = Cluster::<Tasks<Election>>::new(3, &[]).expect("the defaults fit");
        cluster.happen(0, "election");
        cluster.reset(0);
        assert_eq!(cluster.state(0).borrow().ballot, Ballot::default());
        cluster.happen(0, "election");
        cluster.happen(0, "disk");
        cluster.reset(0);
        assert_eq!(cluster.state(0).borrow().ballot.vote, Some(0));
    }
}
