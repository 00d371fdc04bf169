//! The tuples of classes that are reachable in an unfolding.
//!
//! A tuple of classes, one per node, is reachable exactly when there are events `y`, one per node, each the first on its
//! chain in its class, whose pasts are pairwise compatible and whose join ends on every node in the wanted class: the
//! last events of a configuration have such first events before them, and the join of these lies in between. So only
//! the events where a class begins need be combined, and only for the tuples with judgements.
//!
//! Most of these tuples are refuted by two of their nodes alone. To decide whether class `c` at one node and class `d` at another
//! go together, both trees are descended at once: on the way down the first tree, the events of the second
//! that are compatible and lead to `d` only become fewer, and when none is left, the subtree is skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use host_model::contract::{ClassId, Judgement, MachineError, NodeId};

use crate::kernel::poll::StopPoll;
use crate::kernel::tuples;
use crate::unfolding::{EventId, Unfolding, class_bit};

/// More tuples of classes than this are not evaluated one by one.
const TUPLES_MAX: u64 = 200_000;

/// Number of evaluated tuples between two polls.
const EVALUATIONS: u32 = 128;

/// A reachable configuration with a judgement of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedConfig {
    /// The judgement.
    pub judgement: Judgement,
    /// The judged node; none if all are judged together.
    pub node: Option<NodeId>,
    /// The last event of each node.
    pub config: Box<[EventId]>,
    /// Number of events.
    pub size: u32,
}

impl JudgedConfig {
    /// A judgement of the start state.
    pub fn at_start(node: Option<NodeId>, judgement: Judgement) -> Self {
        Self { judgement, node, config: Box::default(), size: 0 }
    }
}

/// A tuple of classes with its judgements.
type Judged = (Box<[ClassId]>, Arc<[Judgement]>);

/// A node in a class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct NodeInClass {
    node: usize,
    class: ClassId,
}

/// The tuples of classes with judgements, and the events where each class begins.
pub struct ReachableTuples {
    /// For each node and class the events where it begins, in the order of the events.
    begins: Vec<BTreeMap<ClassId, Vec<EventId>>>,
    /// For each node its classes, in the order of discovery.
    classes: Vec<Vec<ClassId>>,
    /// The tuples with a judgement, the bad ones and the witnesses.
    tuples: Vec<Judged>,
    evaluated: u64,
    /// Evaluations since the last poll.
    unasked: u32,
    /// Events before this one were noted, and those before `searched` were combined.
    noted: u32,
    searched: u32,
    /// Pairs of nodes and classes that are known to go together.
    feasible: BTreeSet<[NodeInClass; 2]>,
    /// Whether there are too many classes for this algorithm, or it was given up.
    pub overflown: bool,
}

impl ReachableTuples {
    /// A collection that has noted no event yet.
    pub fn new(nodes: usize) -> Self {
        Self {
            begins: vec![BTreeMap::new(); nodes],
            classes: vec![Vec::new(); nodes],
            tuples: Vec::new(),
            evaluated: 0,
            unasked: 0,
            noted: 0,
            searched: 0,
            feasible: BTreeSet::new(),
            overflown: false,
        }
    }

    /// Notes the new events; adds the judgements of their local states and of the global states right after them to `hits`, even if it
    /// fails later. Every event is in some execution, so these states are reachable. Calls `may_continue` regularly, with the
    /// number of tuples since the last call; once it has returned false, some tuples are missing.
    pub fn note<'u, 'l>(
        &mut self,
        unfolding: &mut Unfolding<'u, 'l>,
        hits: &mut Vec<JudgedConfig>,
        may_continue: &mut dyn FnMut(&Unfolding<'u, 'l>, u32) -> bool,
    ) -> Result<(), MachineError> {
        while (self.noted as usize) < unfolding.events().len() {
            let id = EventId(self.noted);
            self.noted += 1;
            let event = unfolding.event(id);
            let (node, state, class, size) = (event.node, event.state, event.class, event.size);
            let is_root = size == 0;
            let begins = unfolding.begins(id, class);
            let config: Box<[EventId]> = unfolding.past(id).into();
            let local: Vec<Judgement> = unfolding.stepper().state(state).protocol.judgements.to_vec();
            let hit = |node, judgement| JudgedConfig { judgement, node, config: config.clone(), size };
            hits.extend(local.into_iter().map(|judgement| hit(Some(node), judgement)));
            // A root's past is the start state, which is judged with the last root.
            if !is_root || node as usize + 1 == config.len() {
                let classes: Box<[ClassId]> = config.iter().map(|last| unfolding.event(*last).class).collect();
                let (judgements, stopped) = unfolding.stepper().judge_until_stopped(&classes);
                hits.extend(judgements.iter().map(|judgement| hit(None, judgement.clone())));
                if let Some(stopped) = stopped {
                    return Err(stopped);
                }
            }
            // Reachable states are judged first, so that a stop in between loses nothing.
            if begins && class != ClassId::STUCK {
                self.note_class(unfolding, node as usize, class, id, may_continue)?;
            }
        }
        Ok(())
    }

    /// Notes an event where a class begins; a class new at its node is combined with all classes of the other nodes.
    fn note_class<'u, 'l>(
        &mut self,
        unfolding: &mut Unfolding<'u, 'l>,
        node: usize,
        class: ClassId,
        id: EventId,
        may_continue: &mut dyn FnMut(&Unfolding<'u, 'l>, u32) -> bool,
    ) -> Result<(), MachineError> {
        let begins = self.begins[node].entry(class).or_default();
        begins.push(id);
        if begins.len() > 1 || self.overflown {
            return Ok(());
        }
        self.classes[node].push(class);
        self.evaluated = self.evaluated.saturating_add(tuples::count_with_fixed(&self.classes, node));
        if self.evaluated > TUPLES_MAX {
            self.overflown = true;
            return Ok(());
        }
        for tuple in tuples::with_fixed(&self.classes, node, class) {
            let judgements = unfolding.stepper().judge(&tuple)?;
            if !judgements.is_empty() {
                self.tuples.push((tuple.into(), judgements));
            }
            self.unasked += 1;
            if self.unasked == EVALUATIONS {
                self.unasked = 0;
                if !may_continue(unfolding, EVALUATIONS) {
                    self.overflown = true;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The smallest reachable configuration for each wanted judgement among those that end in an event noted since
    /// the last search; smaller than `size_max` events. If `is_one`, only the smallest of the violations is needed. Calls `may_continue`
    /// regularly, with the steps since the last call; once it has returned false, the configurations found so far are returned.
    pub fn search(
        &mut self,
        unfolding: &Unfolding<'_, '_>,
        size_max: u32,
        is_one: bool,
        is_wanted: &dyn Fn(&Judgement) -> bool,
        may_continue: &mut dyn FnMut(u32) -> bool,
    ) -> Vec<JudgedConfig> {
        let mut hits = Vec::new();
        let mut bad_max = size_max;
        let mut poll = StopPoll::new(may_continue);
        let mut infeasible: BTreeSet<[NodeInClass; 2]> = BTreeSet::new();
        for (tuple, judgements) in &self.tuples {
            let wanted: Vec<&Judgement> = judgements.iter().filter(|judgement| is_wanted(judgement)).collect();
            if wanted.is_empty() {
                continue;
            }
            let mut pairs = pairs_of(tuple);
            let is_refuted = pairs.any(|pair| {
                if poll.is_over_after(1) || infeasible.contains(&pair) {
                    return true;
                }
                let is_feasible =
                    self.feasible.contains(&pair) || go_together(unfolding, &self.begins, pair, &mut poll);
                if is_feasible {
                    self.feasible.insert(pair)
                } else {
                    infeasible.insert(pair)
                };
                !is_feasible
            });
            if is_refuted {
                continue;
            }
            let is_bad = wanted.iter().all(|judgement| judgement.is_bad());
            let best = if is_bad { bad_max } else { size_max };
            let mut query = Query { unfolding, tuple, best, found: None, poll: &mut poll };
            for node in 0..tuple.len() {
                let begins = self.begins[node].get(&tuple[node]).map_or(&[][..], Vec::as_slice);
                let first_new = begins.partition_point(|event| event.0 < self.searched);
                for past in begins[first_new..].iter().map(|event| unfolding.past(*event)) {
                    if unfolding.chains().config_size(past) < query.best {
                        query.extend(past);
                    }
                }
            }
            if let Query { found: Some(config), best: size, .. } = query {
                if is_one && is_bad {
                    bad_max = size;
                }
                let hit = |judgement: &Judgement| JudgedConfig {
                    judgement: judgement.clone(),
                    node: None,
                    config: config.clone(),
                    size,
                };
                hits.extend(wanted.into_iter().map(hit));
            }
        }
        self.searched = self.noted;
        hits
    }
}

/// The pairs of a tuple that can refute it, those of two neutral nodes last.
fn pairs_of(tuple: &[ClassId]) -> impl Iterator<Item = [NodeInClass; 2]> {
    let pairs = move |neutral: usize| {
        (0..tuple.len()).flat_map(move |one| (one + 1..tuple.len()).map(move |other| (one, other))).filter(
            move |(one, other)| {
                let is_neutral = |node: &usize| usize::from(tuple[*node] == ClassId::NEUTRAL);
                is_neutral(one) + is_neutral(other) == neutral
            },
        )
    };
    (0..=2).flat_map(pairs).map(|(one, other)| [one, other].map(|node| NodeInClass { node, class: tuple[node] }))
}

/// Whether some configuration has seen both classes of a pair begin; false if a stop comes before that is known.
fn go_together(
    unfolding: &Unfolding<'_, '_>,
    begins: &[BTreeMap<ClassId, Vec<EventId>>],
    pair: [NodeInClass; 2],
    poll: &mut StopPoll<'_>,
) -> bool {
    let [one, other] = pair;
    let root = EventId(one.node as u32);
    let mut candidates = Vec::new();
    leading_to(unfolding, EventId(other.node as u32), other.class, &mut candidates);
    let mut is_over = poll.is_over_after(steps(&candidates));
    if candidates.is_empty() || !begins[one.node].contains_key(&one.class) {
        return false;
    }
    // The events of the first tree that are still to be descended from, each with the rest of the second tree.
    let mut stack = vec![(root, candidates)];
    while !is_over && let Some((at, candidates)) = stack.pop() {
        if unfolding.begins(at, one.class) {
            return true;
        }
        for child in unfolding.children(at) {
            if unfolding.event(child).classes_below & class_bit(one.class) == 0 {
                continue;
            }
            is_over = poll.is_over_after(steps(&candidates));
            let left = compatible_with(unfolding, child, &candidates, other.class);
            if !left.is_empty() {
                stack.push((child, left));
            }
        }
    }
    false
}

/// The cost of examining events, in steps.
fn steps(events: &[EventId]) -> u32 {
    1 + u32::try_from(events.len()).unwrap_or(u32::MAX - 1)
}

/// The events below `top` that lead to a beginning of `class`, in preorder.
fn leading_to(unfolding: &Unfolding<'_, '_>, top: EventId, class: ClassId, found: &mut Vec<EventId>) {
    let mut stack = vec![top];
    while let Some(at) = stack.pop() {
        if unfolding.event(at).classes_below & class_bit(class) != 0 {
            found.push(at);
            stack.extend(unfolding.children(at));
        }
    }
    prune(unfolding, found, class);
}

/// The `candidates`, which are in preorder, that are compatible with an event and lead to a compatible beginning.
fn compatible_with(
    unfolding: &Unfolding<'_, '_>,
    event: EventId,
    candidates: &[EventId],
    class: ClassId,
) -> Vec<EventId> {
    let past = unfolding.past(event);
    let mut left = Vec::with_capacity(candidates.len());
    let mut index = 0;
    while let Some(candidate) = candidates.get(index) {
        index += 1;
        if unfolding.chains().are_compatible(past, unfolding.past(*candidate)) {
            left.push(*candidate);
        } else {
            // An event that excludes this one excludes all below it, which in preorder come right after it.
            let len = unfolding.chains().len(*candidate);
            index += candidates[index..].iter().take_while(|below| unfolding.chains().len(**below) > len).count();
        }
    }
    prune(unfolding, &mut left, class);
    left
}

/// Removes the events, given in preorder, below which no beginning of `class` is left.
fn prune(unfolding: &Unfolding<'_, '_>, events: &mut Vec<EventId>, class: ClassId) {
    let mut below = 0;
    let mut kept = events.len();
    for index in (0..events.len()).rev() {
        let len = unfolding.chains().len(events[index]);
        if below > len || unfolding.begins(events[index], class) {
            below = len;
            kept -= 1;
            events[kept] = events[index];
        }
    }
    events.drain(..kept);
}

/// The search for one tuple.
struct Query<'q, 'p, 'u, 'l> {
    unfolding: &'q Unfolding<'u, 'l>,
    tuple: &'q [ClassId],
    /// Only smaller configurations are wanted.
    best: u32,
    found: Option<Box<[EventId]>>,
    poll: &'q mut StopPoll<'p>,
}

impl Query<'_, '_, '_, '_> {
    /// Searches for the smallest configurations of the tuple that contain `config`, which is smaller than the best one.
    ///
    /// A node whose last event is in another class has to reach an event where its class begins. Every wanted configuration contains a
    /// first such event of the node, so the search branches over these; whether the node has to continue from there is decided once
    /// the other nodes are in their classes.
    fn extend(&mut self, config: &[EventId]) {
        let unfolding = self.unfolding;
        let chains = unfolding.chains();
        let class = |last: EventId| unfolding.event(last).class;
        let Some(node) = (0..config.len()).find(|node| class(config[*node]) != self.tuple[*node]) else {
            self.best = chains.config_size(config);
            self.found = Some(config.into());
            return;
        };
        let wanted = self.tuple[node];
        let mut stack: Vec<EventId> = unfolding.children(config[node]).collect();
        while let Some(at) = stack.pop() {
            if self.poll.is_over_after(1) {
                return;
            }
            let past = unfolding.past(at);
            if unfolding.event(at).classes_below & class_bit(wanted) == 0
                || chains.joined_size(config, past) >= self.best
                || !chains.are_compatible(config, past)
            {
                continue;
            }
            if class(at) == wanted {
                self.extend(&chains.join(config, past));
            } else {
                stack.extend(unfolding.children(at));
            }
        }
    }
}
