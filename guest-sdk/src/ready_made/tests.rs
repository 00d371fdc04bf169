//! A toy store, right and with a mistake for each property.

use super::*;
use crate::test::Cluster;
use crate::{About, Context, LocalEvents, ParameterError, Parameters, Properties};

/// A leader writes one value to all others; it acknowledges it when a majority has flushed it.
struct Store {
    mistake: Mistake,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    /// A second node takes itself for the leader of the same term.
    TwoLeaders,
    /// Each node stores its own number instead of the value.
    OwnValue,
    /// The leader counts writes that are not flushed.
    EarlyAnswer,
    /// The last node ignores all messages.
    DeafReplica,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Message {
    Write(u32),
    Written,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Local {
    Begin,
    Flush,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct State {
    leads: bool,
    has_begun: bool,
    log: Disk<Vec<u32>>,
    answers: u32,
    owes: Option<NodeId>,
}

impl Protocol for Store {
    const ABOUT: About = About::new("store", "0", "a toy").nodes(3);
    type State = State;
    type Message = Message;
    type Local = Local;
    type Durable = Vec<u32>;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let mistakes = [
            ("none", Mistake::None),
            ("two-leaders", Mistake::TwoLeaders),
            ("own-value", Mistake::OwnValue),
            ("early-answer", Mistake::EarlyAnswer),
            ("deaf-replica", Mistake::DeafReplica),
        ];
        Ok(Self { mistake: parameters.choice("bug", &mistakes, "what is wrong on purpose")? })
    }

    fn init(&self, ctx: &mut Context<Message>, durable: Option<Vec<u32>>) -> State {
        let leads = ctx.me() == 0 || self.mistake == Mistake::TwoLeaders && ctx.me() == 1;
        let has_begun = durable.is_some();
        State { leads, has_begun, log: Disk::new(durable.unwrap_or_default()), answers: 0, owes: None }
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        let is_last = ctx.me() + 1 == ctx.nodes();
        match message {
            Message::Write(_) if self.mistake == Mistake::DeafReplica && is_last => {}
            Message::Write(value) => {
                let value = if self.mistake == Mistake::OwnValue { ctx.me() } else { value };
                state.log.write(|log| log.push(value));
                state.owes = Some(from);
                if self.mistake == Mistake::EarlyAnswer {
                    ctx.send(from, Message::Written);
                }
            }
            Message::Written => state.answers += 1,
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        if state.leads && !state.has_begun {
            events.application("begin", Local::Begin);
        }
        if state.log.is_dirty() {
            events.internal("flush", Local::Flush);
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, event: Local) {
        match event {
            Local::Begin => {
                state.has_begun = true;
                state.log.write(|log| log.push(7));
                let me = ctx.me();
                (0..ctx.nodes()).filter(|node| *node != me).for_each(|node| ctx.send(node, Message::Write(7)));
            }
            Local::Flush => {
                state.log.flush();
                if let Some(leader) = state.owes.take().filter(|_| self.mistake != Mistake::EarlyAnswer) {
                    ctx.send(leader, Message::Written);
                }
            }
        }
    }

    fn persist(&self, state: &State) -> Option<Vec<u32>> {
        Some(state.log.durable().clone())
    }

    fn properties(claims: &mut Properties<Self>) {
        one_leader_per_term(claims.always("one-leader"), |_, state| state.leads.then_some(1_u32));
        logs_agree(claims.always("logs-agree"), |_, state| Some(state.log.durable().clone()));
        committed_is_on_a_majority(claims.always("majority"), |_, state| {
            let is_done = state.leads && state.answers > 0 && !state.log.is_dirty();
            Some(Replica { entries: state.log.durable().clone(), committed: usize::from(is_done) })
        });
        acknowledged_is_durable(claims.always("durable"), |_, state| {
            // The leader has flushed its own write, and one of the two others has.
            let is_done = state.leads && state.answers > 0 && !state.log.is_dirty();
            let stored: BTreeSet<u32> = state.log.durable().iter().copied().collect();
            Some(Kept { acknowledged: if is_done { stored.clone() } else { BTreeSet::new() }, stored })
        });
        replicas_converge(claims.eventually("converge"), |_, state| Some(state.log.durable().clone()));
    }
}

fn store(bug: &str) -> Cluster<Store> {
    Cluster::new(3, &[("bug", bug)]).expect("the bug is known")
}

/// Before it begins there is one state. Afterwards the leader has flushed or not, and each of two others goes through four states: the value
/// is on its way, written, flushed with the answer on its way, and answered: 2 * 4 * 4 states, with 16 flushes of the leader and 2 * 3 * 8
/// steps of the others.
#[test]
fn what_is_right_keeps_every_property() {
    let found = store("none").explore(10_000);
    assert_eq!((found.global_states, found.transitions, found.broken), (1 + 32, 1 + 16 + 48, None));
    let mut cluster = store("none");
    assert_eq!(cluster.holds("converge"), Ok(()));
    cluster.happen(0, "begin");
    cluster.happen(0, "flush");
    assert_eq!(cluster.holds("converge"), Err("nodes 0 and 1 have different values".to_owned()));
    cluster.settle();
    cluster.happen(1, "flush");
    cluster.happen(2, "flush");
    assert_eq!(cluster.holds("converge"), Ok(()));
}

#[test]
fn each_mistake_breaks_its_property() {
    let broken = |bug| store(bug).explore(10_000).broken.expect(bug);
    assert_eq!(broken("two-leaders"), "one-leader: nodes 0 and 1 both lead in term 1");
    assert!(broken("own-value").ends_with(" have different entries at 1"), "{}", broken("own-value"));
    assert_eq!(broken("early-answer"), "majority: node 0 has committed entry 1, and 1 of 3 nodes have it");
    let mut early = store("early-answer");
    early.happen(0, "begin");
    early.settle();
    early.happen(0, "flush");
    assert_eq!(early.holds("durable"), Err("7 was acknowledged, and 1 of 3 nodes have it".to_owned()));
    let mut deaf = store("deaf-replica");
    deaf.happen(0, "begin");
    deaf.settle();
    (0..2).for_each(|node| deaf.happen(node, "flush"));
    assert_eq!(deaf.holds("converge"), Err("nodes 0 and 2 have different values".to_owned()));
}

#[test]
fn a_disk_keeps_what_is_flushed() {
    let mut disk = Disk::new(1);
    disk.write(|content| *content = 2);
    assert_eq!((disk.content(), disk.durable(), disk.is_dirty()), (&2, &1, true));
    disk.write(|content| *content = 1);
    assert!(!disk.is_dirty(), "what is as before is the same state");
    disk.write(|content| *content = 3);
    disk.flush();
    assert_eq!((disk.content(), disk.durable(), disk.is_dirty()), (&3, &3, false));
}
