//! Checkers of the nodes of a world: the state machines that a running node has in a thread, in virtual time.

use std::time::Duration;

use host_model::contract::NodeId;

use crate::checkpoint::Outcome;
use crate::gate::Gate;
use crate::world::advisor::{Advice, Virtual};
use crate::world::driver::World;
use crate::world::guided::{Guided, News};
use crate::world::input::Input;

impl<'w> World<'w, Guided<'w>> {
    /// The same with a checker for each node, which has a thread where the node runs for people.
    #[must_use]
    pub fn advised(mut self, advice: Advice) -> Self {
        self.advice = Some((advice, Guided::hear));
        self
    }
}

impl<G: Gate> World<'_, G> {
    /// Has the checker of a node ask for a snapshot once it is time.
    pub(super) fn schedule_snapshot(&mut self, me: NodeId) {
        let (now, place) = (self.now, &mut self.places[me as usize]);
        let Some(advisor) = place.advisor() else { return };
        let Some(at) = advisor.collector.deadline().map(|at| at.max(now)) else { return };
        if advisor.next.is_none_or(|next| at < next) {
            advisor.next = Some(at);
            self.agenda.add(at, Input::Collect { node: me, start: place.starts });
        }
    }

    /// A checker asks for a snapshot, if it is time.
    pub(super) fn collect(&mut self, me: NodeId) -> Result<(), String> {
        let now = self.now;
        let Some(advisor) = self.places[me as usize].advisor() else { return Ok(()) };
        advisor.next = None;
        let Some((left_out, time)) = advisor.collector.due(now) else { return Ok(()) };
        self.feed(me, |node, now| node.gather_within(time, now, &left_out))?;
        Ok(())
    }

    /// An answer for a snapshot has come too late.
    pub(super) fn late(&mut self, me: NodeId, time: Duration) {
        if let Some(advisor) = self.places[me as usize].advisor() {
            advisor.collector.late(time);
        }
    }

    /// A snapshot has ended: if it is of use, the checker begins a round with it, or leaves it for the next one.
    pub(super) fn advise(&mut self, me: NodeId, outcome: &Outcome) -> Result<(), String> {
        let now = self.now;
        let Some(advisor) = self.places[me as usize].advisor() else { return Ok(()) };
        let (_, snapshot) = advisor.collector.gathered(now, outcome.clone());
        advisor.waiting = snapshot.or_else(|| advisor.waiting.take());
        self.begin_round(me)
    }

    /// A checker begins a round, if it has a snapshot and nothing else to do.
    fn begin_round(&mut self, me: NodeId) -> Result<(), String> {
        let Some(each) = self.advice.as_ref().map(|(advice, _)| advice.each) else { return Ok(()) };
        let (now, place) = (self.now, &mut self.places[me as usize]);
        let Some(advisor) = place.advisor() else {
            return Ok(());
        };
        let Some(snapshot) = advisor.waiting.take_if(|_| !advisor.is_busy) else { return Ok(()) };
        advisor.is_busy = true;
        let mut desk = Virtual { now, each, node: me, news: Vec::new(), foreseen: Vec::new() };
        let rest = advisor.rounds.look(&snapshot, &mut desk).map_err(|error| error.to_string())?;
        if advisor.rounds.counts().refused > 0 {
            return Err(format!("the checker of node {me} refuses a snapshot of its own cluster"));
        }
        for (at, news) in desk.news {
            self.agenda.add(at, Input::News { node: me, start: place.starts, news });
        }
        self.foreseen.extend(desk.foreseen);
        self.agenda.add(desk.now.after(rest), Input::Free { node: me, start: place.starts });
        Ok(())
    }

    /// A checker is through with its round.
    pub(super) fn end_round(&mut self, me: NodeId) -> Result<(), String> {
        if let Some(advisor) = self.places[me as usize].advisor() {
            advisor.is_busy = false;
        }
        self.begin_round(me)
    }

    /// A node hears what its checker has found.
    pub(super) fn hear(&mut self, me: NodeId, news: News) {
        let Some(hears) = self.advice.as_ref().map(|(_, hears)| *hears) else { return };
        let place = &mut self.places[me as usize];
        let now = place.local(self.now);
        if let Some(running) = &mut place.running {
            hears(&mut running.node.gate_mut().gate, now, news);
        }
    }

    /// What steering has kept from happening at the nodes that run, since their starts, by name.
    #[cfg(test)]
    pub(super) fn kept(&self) -> [(&'static str, u64); 4] {
        let running = || self.places.iter().filter_map(|place| place.running.as_ref());
        let sum = |of: fn(&crate::node::Counts) -> u64| running().map(|it| of(it.node.counts())).sum();
        [
            ("filtered", sum(|counts| counts.filtered)),
            ("refused", sum(|counts| counts.discarded)),
            ("foreseen", sum(|counts| counts.foreseen)),
            ("broken", sum(|counts| counts.instead.get("break").copied().unwrap_or(0))),
        ]
    }
}
