//! Inputs in, outputs executed.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use host_model::contract::{Machine, MachineError, MachineFactory, NodeId, Request, Response};
use rand_chacha::ChaCha8Rng;

use crate::agenda::Agenda;
use crate::checker::Explorer;
use crate::checkpoint::{Dropped, Snapshot};
use crate::gate::Gate;
use crate::node::{Node, Output, Refusal};
use crate::time::{Range, Share, Time};
use crate::world::advisor::{Advice, Ears, Foreseen};
use crate::world::chance::{Chance, Purpose};
use crate::world::connections::Connections;
use crate::world::history::{History, Start};
use crate::world::input::{Input, Over, Parcel};
use crate::world::memo::{self, Memory, Model};
use crate::world::place::{Place, Running, Writing};
use crate::world::plan::Plan;
use crate::world::recorder::Recorder;
use crate::world::watched::Noted;

/// Frames of a node to itself that are handled at once: a protocol that sends itself a message for each must not stop time.
const OWN_AT_ONCE: usize = 2;
/// The time until a node is polled again if something is due that cannot happen yet.
pub(super) const PATIENCE: Duration = Duration::from_millis(1);

/// A broken invariant of the runtime, which a world has found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at {at:?}: {what}")]
pub struct Broken {
    /// When.
    pub at: Duration,
    /// Which, and how.
    pub what: String,
}

/// A request of a client.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The request.
    pub request: Request,
    /// When, as the number of an event that each request and each answer is.
    pub asked: u64,
    /// The answer, and when it came; none if it never did.
    pub answer: Option<(u64, Response)>,
}

/// Processes each consistent snapshot that a node has collected: its node, and its gate.
type OnSnapshot<'w, G> = Box<dyn FnMut(NodeId, Time, &Snapshot, &mut G) + 'w>;

/// Makes the explorer of a checker's rounds.
type Explores<'w> = dyn Fn() -> Box<dyn Explorer + 'w> + 'w;

/// A cluster of nodes in virtual time.
pub struct World<'w, G> {
    pub(super) factory: &'w dyn MachineFactory,
    pub(super) plan: Plan,
    /// If handlers are looked up.
    pub(super) model: Option<&'w dyn Model>,
    pub(super) gate: Box<dyn FnMut(NodeId) -> G + 'w>,
    pub(super) on_snapshot: Option<OnSnapshot<'w, G>>,
    /// The settings of the nodes' checkers, if there are any, and their access to the gates.
    pub(super) advice: Option<(Advice, Ears<G>)>,
    /// Makes the explorer of a checker's rounds; if none, each checker explores by itself.
    pub(super) explorer: Option<Box<Explores<'w>>>,
    /// The predictions of checkers, by round.
    pub foreseen: Vec<Foreseen>,
    /// Counts of them, and of prevented events.
    pub(super) watched: Noted,
    /// The number of changes that are no steps of nodes.
    pub(super) changes: u64,
    /// Why a checker cannot continue.
    pub(super) trouble: Option<MachineError>,
    pub(super) request: Option<fn(&mut ChaCha8Rng, u64) -> Request>,
    /// Reads the states in snapshots, from the first one on.
    pub(super) reader: Option<Box<dyn Machine>>,
    pub(super) agenda: Agenda<Input>,
    pub(super) chance: Chance,
    pub(super) now: Time,
    /// The time of the last event.
    pub(super) latest: Time,
    pub(super) is_calm: bool,
    /// The phase of the script, if there is one.
    pub(super) phase: Option<usize>,
    /// The end of that phase; the last one has none.
    pub(super) phase_end: Time,
    pub(super) places: Vec<Place<'w, G>>,
    /// The end of each cut, in which a node does not reach another one.
    pub(super) cuts: BTreeMap<(NodeId, NodeId), Time>,
    /// The inputs that wait on ordered links until their ends reach each other, by sender and destination.
    pub(super) held: BTreeMap<(NodeId, NodeId), Vec<Input>>,
    pub(super) connections: Connections,
    /// Whether all that happens is a path of the model, in which it stands as it is found.
    pub(super) is_path: bool,
    /// Whether connections are those of the model.
    pub(super) is_linked: bool,
    /// The process that has claimed each start of a node.
    pub(super) spoken: BTreeMap<Start, u64>,
    /// By node and number of the request.
    pub(super) asked: BTreeMap<(NodeId, u64), usize>,
    pub(super) events: u64,
    /// The history.
    pub history: History,
    /// All requests, in order.
    pub requests: Vec<Answered>,
    /// The number of snapshots per outcome, by name.
    pub snapshots: BTreeMap<&'static str, u64>,
    /// The number of faults of each kind, by name.
    pub troubles: BTreeMap<&'static str, u64>,
}

impl<'w, G: Gate> World<'w, G> {
    /// A world in which nothing has happened yet, with a gate for each start of a node.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn new(
        factory: &'w dyn MachineFactory,
        plan: Plan,
        gate: impl FnMut(NodeId) -> G + 'w,
    ) -> Result<Self, Broken> {
        let mut world = Self {
            factory,
            model: None,
            gate: Box::new(gate),
            on_snapshot: None,
            advice: None,
            explorer: None,
            foreseen: Vec::new(),
            watched: Noted::default(),
            changes: 0,
            trouble: None,
            request: None,
            reader: None,
            agenda: Agenda::default(),
            chance: Chance::new(plan.seed),
            now: Time(0),
            latest: Time(0),
            is_calm: false,
            phase: None,
            phase_end: Time::NEVER,
            places: (0..plan.nodes).map(|_| Place::new()).collect(),
            cuts: BTreeMap::new(),
            held: BTreeMap::new(),
            connections: Connections::default(),
            is_path: false,
            is_linked: false,
            spoken: BTreeMap::new(),
            asked: BTreeMap::new(),
            events: 0,
            history: History::default(),
            requests: Vec::new(),
            snapshots: BTreeMap::new(),
            troubles: BTreeMap::new(),
            plan,
        };
        (0..world.plan.nodes).for_each(|node| world.agenda.add(Time(0), Input::Up(node)));
        world.enter_phase(0);
        if !world.plan.script.is_empty() {
            world.agenda.add(Time(0), Input::Phase(0));
        }
        let Plan { kills, losses, breaks, cuts, divisions, pauses, jumps, snapshots, requests, .. } = &world.plan;
        let again = [
            kills.map(|trouble| (Purpose::Kills, trouble.every, Input::Kill(trouble))),
            losses.map(|trouble| (Purpose::Disks, trouble.every, Input::Lose(trouble))),
            breaks.map(|every| (Purpose::Breaks, every, Input::Break(every))),
            cuts.map(|trouble| (Purpose::Cuts, trouble.every, Input::Cut(trouble))),
            divisions.map(|trouble| (Purpose::Divisions, trouble.every, Input::Divide(trouble))),
            pauses.map(|trouble| (Purpose::Pauses, trouble.every, Input::Pause(trouble))),
            jumps.map(|trouble| (Purpose::Jumps, trouble.every, Input::Jump(trouble))),
            snapshots.map(|every| (Purpose::Snapshots, every, Input::Gather(every))),
            requests.map(|every| (Purpose::Requests, every, Input::Ask(every))),
        ];
        for (purpose, every, input) in again.into_iter().flatten() {
            world.add_around(purpose, every, input);
        }
        world.agenda.add(Time(0).after(world.plan.time), Input::Calm);
        Ok(world)
    }

    /// The same where handlers are looked up. Disks then write at once: a crash undoes no step of the model.
    #[must_use]
    pub fn looking_up<'l: 'w>(self, memory: &'w Mutex<Memory<'l>>) -> Self {
        memo::lock(memory).begin();
        let plan = Plan { writing: Range::milliseconds(0, 0), full: Share(0), ..self.plan };
        Self { model: Some(memory), plan, ..self }
    }

    /// The same without a history, for long runs: nothing is compared with it.
    #[must_use]
    pub(crate) fn forgetting(mut self) -> Self {
        self.history.forgets = true;
        self
    }

    /// The same with requests of clients, each with its number.
    #[must_use]
    pub fn asking(self, request: fn(&mut ChaCha8Rng, u64) -> Request) -> Self {
        Self { request: Some(request), ..self }
    }

    /// The same with a callback for each consistent snapshot.
    #[must_use]
    pub fn on_snapshot(self, on_snapshot: impl FnMut(NodeId, Time, &Snapshot, &mut G) + 'w) -> Self {
        Self { on_snapshot: Some(Box::new(on_snapshot)), ..self }
    }

    /// Runs to the end.
    ///
    /// # Errors
    ///
    /// An invariant of the runtime is broken.
    pub fn run(&mut self) -> Result<(), Broken> {
        while self.advance()? {}
        Ok(())
    }

    pub(super) fn happen(&mut self, input: Input) -> Result<(), String> {
        match input {
            Input::Frame { to, .. }
            | Input::Wake(to)
            | Input::Written { node: to, .. }
            | Input::Broken { node: to, .. }
            | Input::Sever { node: to, .. }
            | Input::Collect { node: to, .. }
            | Input::News { node: to, .. }
            | Input::Free { node: to, .. } => self.reach(to, input),
            Input::Up(node) => self.start(node),
            Input::Resume(node) => self.resume(node),
            Input::Calm => self.calm_down(),
            Input::Reached => Ok(()),
            Input::Leave { from, to } => {
                self.leave(from, to);
                Ok(())
            }
            Input::LeavePacket { to, parcel, over } => {
                self.pass_packet(to, parcel, over);
                Ok(())
            }
            Input::Phase(place) => self.begin_phase(place),
            Input::Gather(every) => self.gather(every),
            Input::Ask(every) => self.ask(every),
            Input::Lose(_) if self.is_calm => Ok(()),
            Input::Lose(trouble) => self.lose(trouble),
            Input::Break(_) | Input::Kill(_) | Input::Cut(_) | Input::Divide(_) | Input::Pause(_) | Input::Jump(_)
                if self.is_calm =>
            {
                Ok(())
            }
            Input::Divide(trouble) => {
                self.divide(trouble);
                Ok(())
            }
            Input::Break(every) => {
                self.add_around(Purpose::Breaks, every, Input::Break(every));
                let (one, other) = (self.some_node(Purpose::Breaks), self.some_node(Purpose::Breaks));
                if one != other {
                    self.count("break");
                    self.break_connection(one, other);
                }
                Ok(())
            }
            Input::Kill(trouble) => {
                self.add_around(Purpose::Kills, trouble.every, Input::Kill(trouble));
                let node = self.some_node(Purpose::Kills);
                self.kill_if_allowed(node)
            }
            Input::Cut(trouble) => {
                self.add_around(Purpose::Cuts, trouble.every, Input::Cut(trouble));
                let link = (self.some_node(Purpose::Cuts), self.some_node(Purpose::Cuts));
                let end = self.now.after(self.chance.within(Purpose::Cuts, trouble.lasting));
                self.cuts.insert(link, end);
                self.count("cut");
                Ok(())
            }
            Input::Pause(trouble) => self.pause(trouble),
            Input::Jump(trouble) => self.jump(trouble),
        }
    }

    pub(super) fn count(&mut self, trouble: &'static str) {
        *self.troubles.entry(trouble).or_default() += 1;
    }

    pub(super) fn some_node(&mut self, purpose: Purpose) -> NodeId {
        self.chance.below(purpose, self.places.len() as u64) as NodeId
    }

    pub(super) fn add_around(&mut self, purpose: Purpose, every: Duration, input: Input) {
        let at = self.now.after(self.chance.around(purpose, every));
        self.agenda.add(at, input);
    }

    /// An input for a node that may be down or paused.
    pub(super) fn reach(&mut self, node: NodeId, input: Input) -> Result<(), String> {
        let links = self.links();
        let place = &mut self.places[node as usize];
        let Some(running) = &mut place.running else {
            let waits = match input {
                Input::Frame { over, .. } => over.is_some(),
                Input::Broken { .. } => links.is_some(),
                _ => false,
            };
            if waits {
                place.waiting.push(input);
            }
            return Ok(());
        };
        if let Some(waiting) = &mut running.paused {
            waiting.push(input);
            return Ok(());
        }
        running.wake = running.wake.filter(|_| !matches!(input, Input::Wake(_)));
        match input {
            Input::Frame { over: Some(over), .. } if !self.is_there(node, over) => return Ok(()),
            Input::Frame { parcel, over, .. } => {
                let parcel = if links.is_some() { self.for_this_start(node, parcel) } else { parcel };
                self.receive(node, &parcel, over)?;
            }
            Input::Sever { peer, number, .. } => self.sever(node, peer, number)?,
            Input::Broken { peer, number, .. } => match links {
                Some(model) => self.take_notice(model, node, peer, number)?,
                None => self.find_broken(node, peer, number)?,
            },
            Input::Collect { start, .. }
            | Input::News { start, .. }
            | Input::Free { start, .. }
            | Input::Written { start, .. }
                if start != self.places[node as usize].starts =>
            {
                return Ok(());
            }
            Input::Written { .. } => self.write(node)?,
            Input::Collect { .. } => self.collect(node)?,
            Input::News { news, .. } => self.hear(node, news),
            Input::Free { found, .. } => self.end_round(node, found)?,
            _ => {
                self.feed(node, |node, now| node.elapse(now))?;
            }
        }
        self.execute_outputs(node)
    }

    fn resume(&mut self, node: NodeId) -> Result<(), String> {
        let paused = self.places[node as usize].running.as_mut().and_then(|running| running.paused.take());
        for input in paused.into_iter().flatten() {
            self.reach(node, input)?;
        }
        self.reach(node, Input::Wake(node))
    }

    fn calm_down(&mut self) -> Result<(), String> {
        self.is_calm = true;
        self.cuts.clear();
        (0..self.plan.nodes).try_for_each(|node| self.resume(node))
    }

    /// Passes a node an input, and notes its events.
    pub(super) fn feed<R>(
        &mut self,
        me: NodeId,
        input: impl FnOnce(&mut Node<'w, Recorder<'w, G>>, Time) -> R,
    ) -> Result<Option<R>, String> {
        let place = &mut self.places[me as usize];
        place.clock += 1;
        let (clock, now) = (place.clock, place.local(self.now));
        let Some(running) = &mut place.running else { return Ok(None) };
        let (of, before) = (running.start(me), running.node.number());
        let result = input(&mut running.node, now);
        let number = running.node.number();
        if number > before {
            self.history.checkpoint(of, number, clock);
        }
        self.history.note(of, clock, running.node.gate_mut().take());
        self.post_notices();
        Ok(Some(result))
    }

    /// A frame arrives at a node. A node takes what another one of its cluster sends, unless it is late.
    pub(super) fn receive(&mut self, to: NodeId, parcel: &Parcel, over: Option<Over>) -> Result<(), String> {
        let Some(result) = self.feed(to, |node, now| node.receive(now, &parcel.bytes))? else { return Ok(()) };
        match result {
            Ok(()) => {}
            // A node that lost its disk can be refused whatever the order.
            Err(refusal) if over.is_some() && self.plan.losses.is_none() => {
                return self.refuse_in_order(parcel, refusal);
            }
            Err(Refusal::Dropped(Dropped::FormerSender | Dropped::FormerAddressee | Dropped::Repeated))
            | Err(Refusal::NoBase | Refusal::Unasked | Refusal::Full) => return Ok(()),
            Err(refusal) if self.plan.losses.is_some() => return self.hear_of_loss(to, refusal),
            Err(refusal) => return Err(format!("node {to} refuses what another node has sent: {refusal}")),
        }
        let place = &self.places[to as usize];
        let (Some(running), Some(id)) = (&place.running, parcel.message) else { return Ok(()) };
        self.history.receive(id, running.start(to), place.clock, running.node.tickets())?;
        over.map_or(Ok(()), |over| self.connections.take(id, over.number))
    }

    /// Executes the outputs of a node, and handles some of its frames to itself.
    pub(super) fn execute_outputs(&mut self, me: NodeId) -> Result<(), String> {
        for _ in 0..OWN_AT_ONCE {
            while let Some(output) = self.running(me).and_then(|running| running.node.next_output()) {
                self.execute(me, output)?;
            }
            let Some(frame) = self.running(me).and_then(|running| running.own.pop_front()) else { break };
            self.receive(me, &frame, None)?;
        }
        self.schedule_snapshot(me);
        let (place, now) = (&mut self.places[me as usize], self.now);
        let (ahead, Some(running)) = (place.ahead, &mut place.running) else { return Ok(()) };
        if let Some(event) = running.node.unarmed() {
            return Err(format!("node {me} waits for `{}` without a time", event.name));
        }
        let own = (!running.own.is_empty()).then(|| now.after(PATIENCE));
        let due = running.node.deadline().map(|due| match Time(due.0.saturating_add_signed(-ahead)) {
            // It is due, and cannot happen for now.
            due if due <= now => now.after(PATIENCE),
            due => due,
        });
        let Some(next) = own.into_iter().chain(due).min() else { return Ok(()) };
        if running.wake.is_none_or(|wake| next < wake) {
            running.wake = Some(next);
            self.agenda.add(next, Input::Wake(me));
        }
        Ok(())
    }

    pub(super) fn running(&mut self, node: NodeId) -> Option<&mut Running<'w, G>> {
        self.places[node as usize].running.as_mut()
    }

    fn execute(&mut self, me: NodeId, output: Output) -> Result<(), String> {
        match output {
            Output::Persist { ticket, record, written } => {
                let time = self.chance.within(Purpose::Writes, self.plan.writing);
                let is_at_once = self.plan.writing.to.is_zero();
                if let Some(running) = self.running(me) {
                    running.writing = Some(Writing { ticket, record, written });
                }
                if is_at_once {
                    return self.write(me);
                }
                let written = Input::Written { node: me, start: self.places[me as usize].starts };
                self.agenda.add(self.now.after(time), written);
                Ok(())
            }
            Output::Send { to, frame } => self.send(me, to, frame),
            Output::Answer { number, response } => {
                self.events += 1;
                if let Some(index) = self.asked.remove(&(me, number)) {
                    self.requests[index].answer = Some((self.events, response));
                }
                Ok(())
            }
            Output::Gathered(outcome) => self.gathered(me, outcome),
            Output::Failed(failure) => Err(format!("node {me} fails: {failure}")),
            Output::Disconnect { peer } => match self.links() {
                Some(model) => self.break_link(model, me, peer),
                None => {
                    self.break_connection(me, peer);
                    Ok(())
                }
            },
            Output::Late { time } => {
                self.late(me, time);
                Ok(())
            }
            Output::Said(_) | Output::Undone(_) => Ok(()),
        }
    }
}
