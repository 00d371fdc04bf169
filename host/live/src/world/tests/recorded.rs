//! Recordings of nodes of random worlds: each replays to equal states.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use host_model::contract::{MachineFactory, NodeId};
use host_model::scenario::Network;
use host_model::toys::Toy;

use super::seeds;
use super::traces::toy;
use crate::disk::Owner;
use crate::gate::{Event, Failed, Gate, Happened, Judge, Open, Verdict};
use crate::recording::{Entry, Head, Next, Player, Recorded, Segment, Tape};
use crate::time::Time;
use crate::world::{Plan, World};

/// The segments of each node, one per start.
type Tapes = Rc<RefCell<Vec<Vec<Vec<u8>>>>>;

/// A gate that records into memory, as far as a process has got when it is killed.
struct Kept {
    recorded: Recorded<Open>,
    node: usize,
    tapes: Tapes,
}

impl Kept {
    fn begin(node: NodeId, owner: Owner, tapes: &Tapes) -> Self {
        let tape = Tape::new(Head::of_start(owner, BTreeMap::new(), 0));
        let node = node as usize;
        tapes.borrow_mut()[node].push(Vec::new());
        Self { recorded: Recorded { gate: Open, tape: Some(tape) }, node, tapes: Rc::clone(tapes) }
    }

    fn flush(&mut self) {
        let bytes = self.recorded.tape.as_mut().expect("it has one").take();
        let mut tapes = self.tapes.borrow_mut();
        tapes[self.node].last_mut().expect("this start has begun one").extend(bytes);
    }
}

impl Gate for Kept {
    fn judges(&self) -> bool {
        false
    }

    fn before(&mut self, now: Time, event: &Event<'_>) -> Verdict {
        self.recorded.before(now, event)
    }

    fn after(&mut self, now: Time, event: &Event<'_>, judge: &mut Judge<'_>) -> Verdict {
        self.recorded.after(now, event, judge)
    }

    fn happened(&mut self, happened: &Happened<'_>) {
        self.recorded.happened(happened);
        self.flush();
    }

    fn failed(&mut self, failed: &Failed<'_>) {
        self.recorded.failed(failed);
        self.flush();
    }

    fn persisted(&mut self, ticket: u64) {
        self.recorded.persisted(ticket);
        self.flush();
    }
}

/// A world that has run, with its recordings.
struct Ran {
    plan: Plan,
    toy: Arc<Toy>,
    tapes: Vec<Vec<Vec<u8>>>,
}

fn owner(node: NodeId, plan: &Plan) -> Owner {
    let [plugin, digest, config, name] = ["toy", "ab", "", ""].map(str::to_owned);
    Owner { node, plugin, digest, nodes: plan.nodes, config, network: plan.settings.network.to_string(), name }
}

fn ran(seed: u64, network: Network) -> Result<Ran, String> {
    let nodes = if network == Network::Ordered { 3 } else { 2 + (seed % 3) as u32 };
    let (mut plan, mut toy) = (seeds::plan(seed, nodes, network), toy(seed, nodes));
    if network == Network::Ordered {
        plan.settings.checkpoints.late_max = 0;
        plan.breaks = (!seed.is_multiple_of(3)).then_some(Duration::from_millis(200));
        let busy = Toy::random_busy(seed, nodes).with_random_errors(seed).with_random_durable(seed);
        toy = Arc::new(busy.in_medium(seeds::medium(seed)));
    }
    let tapes: Tapes = Rc::new(RefCell::new(vec![Vec::new(); nodes as usize]));
    let begin = |node| Kept::begin(node, owner(node, &plan), &tapes);
    let mut world = World::new(&toy, plan.clone(), begin).map_err(|broken| broken.to_string())?;
    world.run().map_err(|broken| broken.to_string())?;
    drop(world);
    let tapes = tapes.take();
    Ok(Ran { plan, toy, tapes })
}

fn entries(segment: &[u8]) -> Vec<Entry> {
    let Some((mut segment, _)) = Segment::open(segment).expect("it is intact") else { return Vec::new() };
    let next = || match segment.read().expect("it is intact") {
        Next::Entry(entry) => Some(entry),
        Next::End => None,
        Next::Torn { .. } => panic!("each entry was written whole"),
    };
    std::iter::from_fn(next).collect()
}

fn player<'m>(ran: &Ran, node: usize) -> Player<'m> {
    Player::new(ran.toy.machine().expect("toys have no host"), owner(node as NodeId, &ran.plan))
}

/// Replays the recordings of a world, and another toy on them. Returns the number of events, and of those on which the other one differs.
fn replays(seed: u64, network: Network) -> Result<(u64, u64), String> {
    let ran = ran(seed, network)?;
    let other = toy(seed + 3, ran.plan.nodes);
    let (mut events, mut different) = (0, 0);
    for (node, segments) in ran.tapes.iter().enumerate() {
        let mut others = Player::new(other.machine().expect("toys have no host"), owner(node as NodeId, &ran.plan));
        for segment in segments {
            let mut player = player(&ran, node);
            for entry in entries(segment) {
                let Entry::Event(event) = entry else { continue };
                let played = player.play(&event.input, &event.answers).expect("toys have no host");
                let played = played.ok_or("an event before the start")?;
                if let Some(deviation) = played.deviation(&event, node as NodeId) {
                    return Err(format!("node {node}: {deviation:?} at {event:?}"));
                }
                events += 1;
                let played = others.play(&event.input, &event.answers).expect("toys have no host");
                different += u64::from(played.is_some_and(|it| it.deviation(&event, node as NodeId).is_some()));
            }
        }
    }
    Ok((events, different))
}

#[test]
fn recordings_replay_to_equal_states() {
    let (mut events, mut different) = (0, 0);
    seeds::each("recordings_replay_to_equal_states", 300, |seed| {
        let network = if seed % 2 == 0 { Network::Unordered } else { Network::Ordered };
        let (some, others) = replays(seed, network)?;
        (events, different) = (events + some, different + others);
        Ok(())
    });
    assert!(events > 5_000 || std::env::var_os("HOST_WORLD_SEED").is_some(), "{events}");
    assert!(different * 4 > events, "another component would go unnoticed: {different} of {events}");
}
