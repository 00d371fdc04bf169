//! States, steps and differences.

use std::collections::BTreeMap;

use host_inspect::debug::{Place, Stands};
use host_inspect::page;
use host_inspect::page::clean;
use host_inspect::page::shapes::{
    Difference, Event, EventKind, Flying, NodeDifference, NodeState, Received, Row, Sent, Standing, State, Step, Strips,
};
use host_inspect::rows;

use host_inspect::traced_state::{INIT, TracedMessage, TracedState};
use host_model::contract::NodeId;
use host_model::lts::LocalStateId;
use host_model::trace::{Standing as Stood, TraceStep};

use super::{Engine, STEPS_MAX, json};
use crate::refused::{Answer, Refused};

impl Engine<'_> {
    /// The state at a place.
    pub fn state(&mut self, place: Place) -> Answer {
        let place = self.place(place)?;
        let before = self.moments.parent(place).unwrap_or(place);
        let traced = self.moments.traced(place).clone();
        let nodes = (0..self.moments.nodes()).map(|node| self.node_state(before, place, node)).collect();
        let children = self.moments.children(place).to_vec();
        let state = State {
            step: self.step(place),
            children: children.into_iter().map(|child| self.step(child)).collect(),
            nodes,
            flight: traced.in_flight().iter().map(|flying| self.flying(flying)).collect(),
            standings: self.standings_of(&traced)?,
            enabled: self.enabled(place)?,
        };
        json(&state)
    }

    fn node_state(&mut self, before: Place, place: Place, node: NodeId) -> NodeState {
        let [old, new] = [before, place].map(|place| self.moments.traced(place).locals()[node as usize]);
        let stuck = self.moments.stepper().state(new).fault().map(|fault| clean(&fault.to_string()));
        NodeState { rows: self.rows(old, new), stuck }
    }

    /// A local state row by row, compared with the one before.
    pub(super) fn rows(&mut self, before: LocalStateId, after: LocalStateId) -> Vec<Row> {
        let [before, after] = [before, after].map(|local| self.moments.local_state(local));
        rows::rows(&before, &after).into_iter().map(Row::from).collect()
    }

    /// The standings of the properties in a state.
    pub(super) fn standings_of(&mut self, traced: &TracedState) -> Result<Vec<Standing>, Refused> {
        let standings = self.moments.standings(traced)?;
        let shown = |Stands { property, node, standing }: Stands| page::standing(property, node, &standing);
        Ok(standings.into_iter().map(shown).collect())
    }

    /// The steps from one on, of the branch to a place.
    pub fn line(&mut self, to: Place, from: usize) -> Answer {
        let line = self.moments.line_to(self.place(to)?);
        self.steps(line.into_iter().skip(from))
    }

    /// All places from one on.
    pub fn tree(&mut self, from: Place) -> Answer {
        self.steps(from..self.moments.places())
    }

    fn steps(&mut self, places: impl Iterator<Item = Place>) -> Answer {
        let steps: Vec<Step> = places.take(STEPS_MAX).map(|place| self.step(place)).collect();
        json(&steps)
    }

    /// The standings of the properties along the branch to a place, from a step on: a letter for each place, the worst over the nodes.
    pub fn strips(&mut self, to: Place, from: usize) -> Answer {
        let line = self.moments.line_to(self.place(to)?);
        let properties = self.moments.stepper().lts().properties().len();
        let mut strips = vec![String::new(); properties];
        // The local states decide the standings, and few of them recur along many branches.
        let mut known: BTreeMap<Vec<LocalStateId>, Vec<char>> = BTreeMap::new();
        for place in line.into_iter().skip(from).take(STEPS_MAX) {
            let traced = self.moments.traced(place).clone();
            let letters = match known.get(traced.locals()) {
                Some(letters) => letters.clone(),
                None => {
                    let standings = self.moments.standings(&traced)?;
                    let of = |property| standings.iter().filter(move |stands| stands.property == property);
                    let letters = (0..properties).map(|it| letter_of_all(of(it).map(|stands| &stands.standing)));
                    let letters: Vec<char> = letters.collect();
                    known.insert(traced.locals().to_vec(), letters.clone());
                    letters
                }
            };
            strips.iter_mut().zip(letters).for_each(|(strip, letter)| strip.push(letter));
        }
        json(&Strips { strips })
    }

    /// The step that led to a place.
    pub(super) fn step(&mut self, place: Place) -> Step {
        let step = self.moments.step_at(place).cloned();
        Step {
            place,
            parent: self.moments.parent(place),
            depth: self.moments.depth_of(place),
            event: step.map(|step| self.event(place, &step)),
            name: self.names.get(&place).cloned(),
            lines: self.told.get(&place).cloned().unwrap_or_default(),
        }
    }

    fn event(&mut self, place: Place, step: &TraceStep) -> Event {
        let sent = step.sent.iter().flatten().map(|sent| (sent.to, sent.payload.0.clone())).collect::<Vec<_>>();
        let sent =
            sent.into_iter().map(|(to, payload)| Sent { from: step.node, to, text: self.moments.message(&payload) });
        let sent = sent.collect();
        Event {
            node: step.node,
            kind: EventKind::from(&step.event),
            text: clean(&self.moments.event(place)),
            received: self.received(place, step),
            sent,
            fault: page::fault(&step.event),
        }
    }

    /// The messages that a step takes out of flight; one that is delivered and stays in flight for another time is among them.
    fn received(&mut self, place: Place, step: &TraceStep) -> Vec<Received> {
        let Some(parent) = self.moments.parent(place) else { return Vec::new() };
        let after = self.moments.traced(place).in_flight().to_vec();
        let before = self.moments.traced(parent).in_flight().to_vec();
        let mut wanted: Vec<(NodeId, Vec<u8>)> =
            step.event.received().into_iter().map(|(from, payload)| (from, payload.to_vec())).collect();
        let mut received = Vec::new();
        // Messages that are gone are first: of equal messages, the one that is gone was taken.
        let (gone, kept): (Vec<TracedMessage>, Vec<TracedMessage>) =
            before.into_iter().partition(|flying| !after.contains(flying));
        for (flying, is_gone) in gone.iter().map(|it| (it, true)).chain(kept.iter().map(|it| (it, false))) {
            let message = self.moments.stepper().message(flying.message).clone();
            let is_wanted = |(from, payload): &(NodeId, Vec<u8>)| *from == message.from && *payload == message.payload;
            let found = wanted.iter().position(is_wanted).filter(|_| message.to == step.node && !message.is_notice);
            if let Some(index) = found {
                wanted.remove(index);
            }
            if found.is_some() || is_gone {
                let heard = found.is_some() || (message.is_notice && message.to == step.node);
                let Flying { from, to, text, sent } = self.flying(flying);
                received.push(Received { from, to, sent, text, lost: !heard });
            }
        }
        received.extend(self.lost_at_once(place, step, &after));
        received
    }

    /// The messages of a step that are lost when they are sent: their destination knows that the connection is broken.
    fn lost_at_once(&mut self, place: Place, step: &TraceStep, after: &[TracedMessage]) -> Vec<Received> {
        let own = after.iter().filter(|flying| flying.origin.tag as Place == place);
        let stepper = self.moments.stepper();
        let mut kept: Vec<_> =
            own.map(|flying| stepper.message(flying.message)).map(|it| (it.to, &it.payload)).collect();
        let mut lost = Vec::new();
        for sent in step.sent.iter().flatten() {
            match kept.iter().position(|(to, payload)| (*to, *payload) == (sent.to, &sent.payload.0)) {
                Some(index) => {
                    kept.swap_remove(index);
                }
                None => lost.push((sent.to, sent.payload.0.clone())),
            }
        }
        let shown = |(to, payload): (NodeId, Vec<u8>)| {
            let text = self.moments.message(&payload);
            Received { from: step.node, to, sent: place, text, lost: true }
        };
        lost.into_iter().map(shown).collect()
    }

    pub(super) fn flying(&mut self, flying: &TracedMessage) -> Flying {
        let message = self.moments.stepper().message(flying.message).clone();
        let text = match message.is_notice {
            true => format!("the connection to {} is broken", self.moments.names().of(message.from)),
            false => self.moments.message(&message.payload),
        };
        // The tag of a step is the place that it leads to.
        let sent = if flying.origin.tag >= INIT { 0 } else { flying.origin.tag as Place };
        Flying { from: message.from, to: message.to, text, sent }
    }

    /// The difference of two places.
    pub fn diff(&mut self, one: Place, other: Place) -> Answer {
        let (one, other) = (self.place(one)?, self.place(other)?);
        let lines = [one, other].map(|place| self.moments.line_to(place));
        let shared = lines[0].iter().zip(&lines[1]).take_while(|(one, other)| one == other).count() - 1;
        let mut nodes = Vec::new();
        for node in 0..self.moments.nodes() {
            let [before, after] = [one, other].map(|place| self.moments.traced(place).locals()[node as usize]);
            if before != after {
                nodes.push(NodeDifference { node, rows: self.rows(before, after) });
            }
        }
        json(&Difference { shared, nodes })
    }
}

/// The standings of a property at all nodes as one letter: the worst of them. A `sometimes` property is reached if one node reached it.
fn letter_of_all<'s>(standings: impl Iterator<Item = &'s Stood>) -> char {
    let rank = |letter: &char| "hnruov".find(*letter);
    standings.map(letter).max_by_key(rank).unwrap_or('h')
}

fn letter(standing: &Stood) -> char {
    match standing {
        Stood::Holds => 'h',
        Stood::NotReached => 'n',
        Stood::Reached => 'r',
        Stood::Unknown(_) => 'u',
        Stood::Owed(_) => 'o',
        Stood::Violated(_) => 'v',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_node_that_reaches_a_property_is_enough_and_the_worst_of_the_others_counts() {
        let of = |standings: &[Stood]| letter_of_all(standings.iter());
        assert_eq!(of(&[]), 'h');
        assert_eq!(of(&[Stood::NotReached, Stood::Reached, Stood::NotReached]), 'r');
        assert_eq!(of(&[Stood::NotReached, Stood::NotReached]), 'n');
        assert_eq!(of(&[Stood::Holds, Stood::Violated("why".into()), Stood::Holds]), 'v');
    }
}
