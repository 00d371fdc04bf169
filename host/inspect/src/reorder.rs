//! The same events in an order that changes less often between nodes.
//!
//! Events of one node stay in their order, and a message stays behind the event that has sent it. Every such order leads
//! through the same local states, so the end of the cluster is the same.

use std::collections::{BTreeMap, VecDeque};

use host_model::contract::NodeId;

use crate::traced_state::{Event, Tag};

/// The maximum number of sets of executed events in the search for the best order; with more, each next event is chosen
/// without looking ahead.
const SETS_MAX: usize = 200_000;

/// The number of executed events of each line, and the line of the last one.
type CutPosition = (Vec<u16>, usize);

/// The causal order of events, by their indices.
struct CausalOrder<'e> {
    events: &'e [Event],
    /// The events of each node that has any, in order.
    lines: Vec<(NodeId, Vec<usize>)>,
    /// The line of an event, and its place in the line.
    places: Vec<(usize, usize)>,
    /// For each event, the senders of its messages among the events.
    senders: Vec<Vec<usize>>,
}

/// The events of a run in an order with fewer switches, if there is one.
pub(crate) fn fewer_switches(before: Option<NodeId>, events: &[Event]) -> Option<Vec<Event>> {
    let order = CausalOrder::new(events);
    let indices = order.best(before).unwrap_or_else(|| order.greedy(before));
    let reordered: Vec<Event> = indices.iter().map(|index| events[*index].clone()).collect();
    (switches(before, &reordered) < switches(before, events)).then_some(reordered)
}

fn switches(before: Option<NodeId>, events: &[Event]) -> usize {
    let nodes: Vec<NodeId> = before.into_iter().chain(events.iter().map(|event| event.action.node)).collect();
    nodes.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

impl<'e> CausalOrder<'e> {
    fn new(events: &'e [Event]) -> Self {
        let by_tag: BTreeMap<Tag, usize> = events.iter().enumerate().map(|(index, event)| (event.tag, index)).collect();
        let mut by_node: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
        for (index, event) in events.iter().enumerate() {
            by_node.entry(event.action.node).or_default().push(index);
        }
        let lines: Vec<(NodeId, Vec<usize>)> = by_node.into_iter().collect();
        let mut places = vec![(0, 0); events.len()];
        for (line, (_, indices)) in lines.iter().enumerate() {
            for (place, index) in indices.iter().enumerate() {
                places[*index] = (line, place);
            }
        }
        let senders = |event: &Event| {
            let taken = event.action.cause.taken().iter();
            taken.filter_map(|flying| by_tag.get(&flying.origin.tag).copied()).collect()
        };
        Self { events, lines, places, senders: events.iter().map(senders).collect() }
    }

    /// The next event of a line, if its messages are sent.
    fn next(&self, line: usize, done: &[u16]) -> Option<usize> {
        let index = *self.lines[line].1.get(done[line] as usize)?;
        let is_sent = self.senders[index].iter().all(|sender| {
            let (line, place) = self.places[*sender];
            place < done[line] as usize
        });
        is_sent.then_some(index)
    }

    /// The order with the fewest switches: a shortest path over the sets of executed events, where a switch has length 1
    /// and staying at a node has length 0. None if there are too many sets.
    fn best(&self, before: Option<NodeId>) -> Option<Vec<usize>> {
        let first = before.and_then(|node| self.lines.iter().position(|(other, _)| *other == node));
        let start = (vec![0; self.lines.len()], first.unwrap_or(usize::MAX));
        let mut came_from: BTreeMap<CutPosition, Option<CutPosition>> = BTreeMap::new();
        let mut queue = VecDeque::from([(start, None)]);
        while let Some((here, from)) = queue.pop_front() {
            if came_from.contains_key(&here) {
                continue;
            }
            came_from.insert(here.clone(), from);
            let (done, at) = &here;
            if done.iter().map(|done| *done as usize).sum::<usize>() == self.events.len() {
                return Some(self.indices(&came_from, here));
            }
            if came_from.len() > SETS_MAX {
                return None;
            }
            for line in 0..self.lines.len() {
                if self.next(line, done).is_none() {
                    continue;
                }
                let mut after = done.clone();
                after[line] += 1;
                let entry = ((after, line), Some(here.clone()));
                if line == *at { queue.push_front(entry) } else { queue.push_back(entry) }
            }
        }
        None
    }

    fn indices(&self, came_from: &BTreeMap<CutPosition, Option<CutPosition>>, end: CutPosition) -> Vec<usize> {
        let mut indices = Vec::new();
        let mut here = end;
        while let Some(Some(from)) = came_from.get(&here) {
            indices.push(self.lines[here.1].1[here.0[here.1] as usize - 1]);
            here = from.clone();
        }
        indices.reverse();
        indices
    }

    /// Stays at a node while it has a possible event, then moves to the node that has waited longest.
    fn greedy(&self, before: Option<NodeId>) -> Vec<usize> {
        let mut done: Vec<u16> = vec![0; self.lines.len()];
        let mut at = before.and_then(|node| self.lines.iter().position(|(other, _)| *other == node)).unwrap_or(0);
        let mut indices = Vec::with_capacity(self.events.len());
        while indices.len() < self.events.len() {
            let index = self.next(at, &done).or_else(|| {
                let possible = (0..self.lines.len()).filter_map(|line| self.next(line, &done));
                possible.min()
            });
            // The order of the trace itself is possible, so some event always is.
            let Some(index) = index else { return (0..self.events.len()).collect() };
            at = self.places[index].0;
            done[at] += 1;
            indices.push(index);
        }
        indices
    }
}
