//! Checkers of the nodes of a world: the state machines that a running node has in a thread, in virtual time.

use std::time::Duration;

use host_model::contract::NodeId;

use crate::checker::Explorer;
use crate::checkpoint::Outcome;
#[cfg(test)]
use crate::checkpoint::Snapshot;
use crate::gate::Gate;
use crate::neighbourhood::Neighbourhood;
use crate::world::advisor::{Advice, Advisor, Ears, Found, Virtual, advisor};
use crate::world::driver::World;
use crate::world::guided::{Guided, News};
use crate::world::input::Input;
use crate::world::memo::Model;
use crate::world::watched::Prevented;

impl<'w> World<'w, Guided<'w>> {
    /// The same with a checker for each node, which has a thread where the node runs for people.
    #[must_use]
    pub fn advised(mut self, advice: Advice) -> Self {
        self.advice = Some((advice, Ears { hear: Guided::hear, suspensions: Guided::suspensions }));
        self
    }

    /// The same where the rounds of each checker explore with this, and not with a checker of their own.
    #[must_use]
    pub(super) fn exploring(self, explorer: impl Fn() -> Box<dyn Explorer + 'w> + 'w) -> Self {
        Self { explorer: Some(Box::new(explorer)), ..self }
    }
}

impl<'w, G> World<'w, G> {
    /// The checker of the next start of a node, if nodes have one.
    pub(super) fn advisor(&self, me: NodeId) -> Result<Option<Advisor<'w>>, String> {
        let Some((advice, _)) = &self.advice else { return Ok(None) };
        let explorer = self.explorer.as_ref().map(|explorer| explorer());
        advisor(advice, self.factory, explorer, me, self.now).map(Some)
    }
}

/// After this many incomplete snapshots in a row, a checker waits until something changes.
const TRIES: u32 = 10;

impl<G: Gate> World<'_, G> {
    /// Has the checker of a node ask for a snapshot once it is time.
    pub(super) fn schedule_snapshot(&mut self, me: NodeId) {
        let (now, changed, place) = (self.now, self.changed(), &mut self.places[me as usize]);
        let Some(advisor) = place.advisor() else { return };
        if advisor.rest.since == Some(changed) {
            return;
        }
        if advisor.rest.since.take().is_some() {
            self.hear(me, News::Rest(false));
        }
        let place = &mut self.places[me as usize];
        let Some(advisor) = place.advisor() else { return };
        let Some(at) = advisor.collector.deadline().map(|at| at.max(now)) else { return };
        if advisor.next.is_none_or(|next| at < next) {
            advisor.next = Some(at);
            self.agenda.add(at, Input::Collect { node: me, start: place.starts });
        }
    }

    /// A checker asks for a snapshot, if it is time.
    pub(super) fn collect(&mut self, me: NodeId) -> Result<(), String> {
        let (now, asked) = (self.now, self.changed());
        let Some(advisor) = self.places[me as usize].advisor() else { return Ok(()) };
        advisor.next = None;
        if advisor.rest.since == Some(asked) {
            return Ok(());
        }
        let Some((left_out, time)) = advisor.collector.due(now) else { return Ok(()) };
        (advisor.rest.asked, advisor.rest.is_whole) = (asked, left_out.is_empty());
        self.feed(me, |node, now| node.gather_within(time, now, &left_out))?;
        if let Some(running) = &self.places[me as usize].running
            && let Neighbourhood::Unusable(why) = running.node.neighbourhood()
        {
            self.watched.unusable.get_or_insert_with(|| (me, why.clone()));
        }
        Ok(())
    }

    /// Passes the checker a late answer for a snapshot.
    pub(super) fn late(&mut self, me: NodeId, time: Duration) {
        if let Some(advisor) = self.places[me as usize].advisor() {
            advisor.collector.late(time);
        }
    }

    /// Handles the end of a snapshot: the checker begins a round with it if it is consistent, now or after the present round.
    pub(super) fn advise(&mut self, me: NodeId, outcome: Outcome) -> Result<(), String> {
        let now = self.now;
        let Some(advisor) = self.places[me as usize].advisor() else { return Ok(()) };
        let (_, snapshot) = advisor.collector.gathered(now, outcome);
        let rest = &mut advisor.rest;
        let is_known = snapshot.is_some() && rest.is_whole;
        #[cfg(test)]
        let asked = rest.asked;
        let is_same = rest.known == Some(rest.asked);
        rest.failed = if is_known || !is_same { u32::from(!is_known) } else { rest.failed + 1 };
        rest.known = Some(rest.asked);
        advisor.waiting = snapshot.or_else(|| advisor.waiting.take());
        #[cfg(test)]
        if let Some(snapshot) = advisor.waiting.clone().filter(|_| is_known && asked == self.changed()) {
            self.compare_ends(&snapshot)?;
        }
        let Some(advisor) = self.places[me as usize].advisor() else { return Ok(()) };
        let is_idle = !advisor.is_busy && advisor.waiting.is_none();
        self.begin_round(me)?;
        if is_idle {
            self.rest(me);
        }
        Ok(())
    }

    /// Compares the connections in a snapshot, since whose request no node has taken a step, with those of the model: an end that is open in
    /// the snapshot is open there, and both ends know of the same breaks.
    #[cfg(test)]
    fn compare_ends(&self, snapshot: &Snapshot) -> Result<(), String> {
        let Some(model) = self.links() else { return Ok(()) };
        for node in snapshot.checkpoints.keys().copied() {
            for peer in snapshot.checkpoints.keys().copied().filter(|peer| snapshot.is_open(node, *peer)) {
                let (own, other) = (model.end(node, peer), model.end(peer, node));
                if !own.is_open || own.incarnation != other.incarnation {
                    return Err(format!(
                        "the end of node {node} to node {peer} is open in a snapshot, and not in the model"
                    ));
                }
            }
        }
        Ok(())
    }

    /// The number of changes so far that can affect a snapshot.
    pub(super) fn changed(&self) -> u64 {
        self.changes + self.steps()
    }

    /// The number of steps of the model so far.
    pub(super) fn steps(&self) -> u64 {
        self.model.map_or(0, Model::steps)
    }

    /// Puts an idle checker to rest if another snapshot would equal the last one, or if none completes. Only for worlds whose events are a
    /// path of the model: in others, snapshots are themselves under test.
    fn rest(&mut self, me: NodeId) {
        let (now, changed, is_path) = (self.now, self.changed(), self.is_path);
        let cut = self.cuts.values().copied().filter(|end| *end > now).max();
        let Some(advisor) = self.places[me as usize].advisor().filter(|_| is_path) else { return };
        let rest = &mut advisor.rest;
        let is_done = rest.known == Some(changed) && (rest.failed == 0 || rest.failed >= TRIES);
        if !is_done || advisor.is_busy || advisor.waiting.is_some() || rest.since.is_some() {
            return;
        }
        let has_failed = rest.failed > 0;
        rest.since = Some(changed);
        self.hear(me, News::Rest(true));
        if let Some(end) = cut.filter(|_| has_failed) {
            self.agenda.add(end, Input::Reached);
        }
    }

    /// Wakes the resting checkers after a change, so that they request snapshots again.
    pub(super) fn wake_checkers(&mut self) {
        if self.advice.is_some() {
            (0..self.plan.nodes).for_each(|node| self.schedule_snapshot(node));
        }
    }

    /// Begins a round of a checker, if it is idle and has a snapshot.
    fn begin_round(&mut self, me: NodeId) -> Result<(), String> {
        let Some((base, each)) = self.advice.as_ref().map(|(advice, _)| (advice.base, advice.each)) else {
            return Ok(());
        };
        let (now, place) = (self.now, &mut self.places[me as usize]);
        let Some(advisor) = place.advisor() else {
            return Ok(());
        };
        let Some(snapshot) = advisor.waiting.take_if(|_| !advisor.is_busy) else { return Ok(()) };
        advisor.is_busy = true;
        let mut desk = Virtual { now, base, each, node: me, news: Vec::new(), found: None };
        let rest = advisor.rounds.look(&snapshot, &mut desk).map_err(|error| {
            let words = error.to_string();
            self.trouble = Some(error);
            words
        })?;
        if advisor.rounds.counts().refused > 0 {
            return Err(format!("the checker of node {me} refuses a snapshot of its own cluster"));
        }
        for (at, news) in desk.news {
            self.agenda.add(at, Input::News { node: me, start: place.starts, news });
        }
        let (start, found) = (place.starts, desk.found);
        self.agenda.add(desk.now.after(rest), Input::Free { node: me, start, found });
        Ok(())
    }

    /// Ends the round of a checker.
    pub(super) fn end_round(&mut self, me: NodeId, found: Option<Found>) -> Result<(), String> {
        if let Some(found) = found {
            self.foreseen.push(found.foreseen);
            self.watched.note(self.now, found);
        }
        if let Some(advisor) = self.places[me as usize].advisor() {
            advisor.is_busy = false;
        }
        self.begin_round(me)?;
        self.rest(me);
        Ok(())
    }

    /// Passes a node the findings of its checker.
    pub(super) fn hear(&mut self, me: NodeId, news: News) {
        let Some(hear) = self.advice.as_ref().map(|(_, ears)| ears.hear) else { return };
        let place = &mut self.places[me as usize];
        let now = place.local(self.now);
        if let Some(running) = &mut place.running {
            hear(&mut running.node.gate_mut().gate, now, news);
        }
    }

    /// Adds the counts of a process that ends.
    pub(super) fn note_counts(&mut self, me: NodeId) {
        let Some((_, ears)) = &self.advice else { return };
        let Some(running) = &self.places[me as usize].running else { return };
        self.watched.prevented.add(&running.node, ears);
    }

    /// The events that steering has prevented so far, at all starts of nodes.
    pub(super) fn prevented(&self) -> Prevented {
        let mut all = self.watched.prevented;
        let Some((_, ears)) = &self.advice else { return all };
        for running in self.places.iter().filter_map(|place| place.running.as_ref()) {
            all.add(&running.node, ears);
        }
        all
    }

    /// The events that steering has prevented at the running nodes since their starts, by name.
    #[cfg(test)]
    pub(super) fn kept(&self) -> [(&'static str, u64); 4] {
        let running = || self.places.iter().filter_map(|place| place.running.as_ref());
        let sum = |of: fn(&crate::node::Counts) -> u64| running().map(|it| of(it.node.counts())).sum();
        [
            ("filtered", sum(|counts| counts.filtered)),
            ("refused", sum(|counts| counts.discarded)),
            ("foreseen", sum(|counts| counts.foreseen)),
            ("broken", sum(|counts| counts.instead.get(crate::gate::Substitute::Break.name()).copied().unwrap_or(0))),
        ]
    }
}
