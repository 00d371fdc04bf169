//! Renamings of interchangeable nodes, checked against the local steps.
//!
//! A protocol declares groups of nodes and how messages are renamed; nothing is said about states. The renamed local
//! state is found by execution: what `init` makes of the renamed node, and where the renamed step leads from the renamed
//! state. This makes a renamed state one that can be executed from, and every way that leads to one state twice a check
//! of the declaration: both must lead to the same renamed state.

use std::rc::Rc;
use std::sync::Arc;

use host_model::contract::{Choice, Fault, Judgement, MachineError, NodeId, Property};
use host_model::lts::{LocalEventId, LocalStateId, MessageId, Step, Stepper, Trigger};
use host_model::scenario::FaultEvent;
use host_model::trace::start::Start;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::kernel::table_bytes;

/// No more renamings than this are used: each one multiplies the work for facts and checks. A group of five nodes has as
/// many.
pub const RENAMINGS_MAX: usize = 120;

/// Why a search cannot go on with renamings.
#[derive(Debug)]
pub enum SymmetryError {
    /// The host cannot provide an instance.
    Machine(MachineError),
    /// The nodes are not interchangeable, or not as declared; a lower-case phrase.
    Asymmetric(String),
}

impl From<MachineError> for SymmetryError {
    fn from(error: MachineError) -> Self {
        Self::Machine(error)
    }
}

/// What there is to say about a state: the number of a property, or none for a fault, and whether it is good.
pub type Saying = (Option<u32>, bool);

/// The content of a judgement that renamed states must share; words may name nodes.
pub fn saying(judgement: &Judgement) -> Saying {
    match judgement {
        Judgement::Fault(_) | Judgement::Deadlock { .. } => (None, false),
        Judgement::Broken { property, .. } | Judgement::Violated { property, .. } => (Some(*property), false),
        Judgement::Witnessed { property } => (Some(*property), true),
    }
}

/// That a property says different things about a state and its renamed one.
pub fn told_apart(properties: &[Property], one: Option<&Saying>) -> SymmetryError {
    let what = match one.and_then(|(property, _)| *property) {
        Some(property) => format!("the property `{}` tells them apart", properties[property as usize].name),
        None => "one of them has a fault where another has none".to_owned(),
    };
    SymmetryError::Asymmetric(what)
}

/// A group of renamings, and what they do to what was met.
pub struct Symmetry {
    /// The identity first.
    renamings: Vec<Vec<NodeId>>,
    /// `after[q][p]` is the renaming by `p` and then by `q`.
    after: Vec<Vec<usize>>,
    /// Renamings that all others can be composed of.
    generators: Vec<usize>,
    /// By renaming.
    states: FxHashMap<LocalStateId, Rc<[LocalStateId]>>,
    /// The least of the renamed states.
    kinds: FxHashMap<LocalStateId, LocalStateId>,
    messages: FxHashMap<MessageId, Rc<[MessageId]>>,
    local_events: FxHashMap<LocalEventId, Rc<[LocalEventId]>>,
    /// Local states and triggers whose outcomes were compared.
    checked: FxHashSet<(LocalStateId, Trigger)>,
}

impl Symmetry {
    /// What the protocol declares, as far as the start states allow; none if it declares nothing.
    ///
    /// # Errors
    ///
    /// The declaration cannot be used.
    pub fn declared(stepper: &mut Stepper<'_>, starts: &[Start]) -> Result<Option<Self>, SymmetryError> {
        let nodes = stepper.lts().scenario().nodes;
        let mut declared: Option<Vec<Vec<NodeId>>> = None;
        for local in &starts[0].initial {
            if stepper.state(*local).is_stuck() {
                return Ok(None);
            }
            let groups = stepper.interchangeable(*local)?.map_err(|fault| failed("interchangeable", &fault))?;
            if *declared.get_or_insert_with(|| groups.clone()) != groups {
                return Err(SymmetryError::Asymmetric("they do not agree on who is interchangeable".to_owned()));
            }
        }
        let groups = declared.unwrap_or_default();
        let renamings = renamings(&groups, nodes).map_err(SymmetryError::Asymmetric)?;
        if renamings.len() == 1 {
            return Ok(None);
        }
        let mut all = Self::new(renamings);
        all.begin(stepper, starts)?;
        let kept = all.keeping(stepper, starts)?;
        if kept.len() == all.renamings.len() {
            return Ok(Some(all));
        }
        if kept.len() == 1 {
            return Err(SymmetryError::Asymmetric("the state where the search begins tells them apart".to_owned()));
        }
        let mut some = Self::new(kept);
        some.begin(stepper, starts)?;
        Ok(Some(some))
    }

    fn new(renamings: Vec<Vec<NodeId>>) -> Self {
        let then = |q: &[NodeId], p: &[NodeId]| -> usize {
            let both: Vec<NodeId> = p.iter().map(|node| q[*node as usize]).collect();
            renamings.iter().position(|other| *other == both).expect("renamings are a group")
        };
        let after: Vec<Vec<usize>> = renamings.iter().map(|q| renamings.iter().map(|p| then(q, p)).collect()).collect();
        Self {
            generators: generators(&after),
            renamings,
            after,
            states: FxHashMap::default(),
            kinds: FxHashMap::default(),
            messages: FxHashMap::default(),
            local_events: FxHashMap::default(),
            checked: FxHashSet::default(),
        }
    }

    /// Bytes kept: per state, message and local event that was met an entry and a list with one of them per renaming.
    pub fn bytes(&self) -> usize {
        let list = self.size() * size_of::<u32>() + 2 * size_of::<usize>();
        let lists = self.states.len() + self.messages.len() + self.local_events.len();
        let entries = self.states.capacity() + self.messages.capacity() + self.local_events.capacity();
        lists * list
            + table_bytes::<(LocalStateId, Rc<[LocalStateId]>)>(entries)
            + table_bytes::<(LocalStateId, LocalStateId)>(self.kinds.capacity())
            + table_bytes::<(LocalStateId, Trigger)>(self.checked.capacity())
    }

    /// Number of renamings, the identity included.
    pub fn size(&self) -> usize {
        self.renamings.len()
    }

    /// The new name of a node.
    pub fn node(&self, renaming: usize, node: usize) -> usize {
        self.renamings[renaming][node] as usize
    }

    /// Finds the renamed states of what the search begins with.
    fn begin(&mut self, stepper: &mut Stepper<'_>, starts: &[Start]) -> Result<(), SymmetryError> {
        for start in starts {
            for (node, local) in start.initial.iter().enumerate() {
                let choices = &start.init_choices[node];
                let image = |to: usize| {
                    let other = starts.iter().find(|other| other.init_choices[to] == *choices)?;
                    Some(other.initial[to])
                };
                let images: Option<Vec<LocalStateId>> =
                    (0..self.size()).map(|renaming| image(self.node(renaming, node))).collect();
                let Some(images) = images else {
                    return Err(SymmetryError::Asymmetric("their `init` has different choices".to_owned()));
                };
                self.define(stepper, *local, &images)?;
            }
            let mut locals = start.initial.clone();
            for Step { node, trigger, outcome } in &start.path {
                let local = &mut locals[*node as usize];
                self.check(stepper, *local, *trigger)?;
                let row = stepper.step(*local, *trigger)?;
                *local = stepper.outcomes(row)[*outcome as usize].next;
            }
        }
        Ok(())
    }

    /// The renamings that make start states of start states.
    fn keeping(&mut self, stepper: &mut Stepper<'_>, starts: &[Start]) -> Result<Vec<Vec<NodeId>>, SymmetryError> {
        let mut kept = Vec::new();
        for renaming in 0..self.size() {
            let mut is_kept = true;
            for start in starts {
                let locals = self.rename_locals(renaming, &start.locals);
                let in_flight = self.rename_messages(stepper, renaming, &start.in_flight)?;
                is_kept &= starts.iter().any(|other| other.locals == locals && *other.in_flight == *in_flight);
            }
            if is_kept {
                kept.push(self.renamings[renaming].clone());
            }
        }
        Ok(kept)
    }

    /// A local state under all renamings.
    ///
    /// # Panics
    ///
    /// The state is no start state, and no checked step leads there.
    pub fn states(&self, state: LocalStateId) -> Rc<[LocalStateId]> {
        Rc::clone(&self.states[&state])
    }

    /// A tuple of local states, or of what else each node has one of, under a renaming.
    pub fn permute<T: Copy>(&self, renaming: usize, tuple: &[T]) -> Vec<T> {
        let mut permuted = tuple.to_vec();
        for (node, item) in tuple.iter().enumerate() {
            permuted[self.node(renaming, node)] = *item;
        }
        permuted
    }

    /// The local states of all nodes under a renaming.
    pub fn rename_locals(&self, renaming: usize, locals: &[LocalStateId]) -> Vec<LocalStateId> {
        let renamed: Vec<LocalStateId> = locals.iter().map(|local| self.states[local][renaming]).collect();
        self.permute(renaming, &renamed)
    }

    /// Messages under a renaming, sorted.
    ///
    /// # Errors
    ///
    /// They cannot be renamed.
    pub fn rename_messages(
        &mut self,
        stepper: &mut Stepper<'_>,
        renaming: usize,
        messages: &[MessageId],
    ) -> Result<Vec<MessageId>, SymmetryError> {
        let mut renamed = Vec::with_capacity(messages.len());
        for message in messages {
            renamed.push(self.messages(stepper, *message)?[renaming]);
        }
        renamed.sort_unstable();
        Ok(renamed)
    }

    /// A message under all renamings. When it is met first, that one renaming after another is the composed one.
    ///
    /// # Errors
    ///
    /// It cannot be renamed.
    pub fn messages(
        &mut self,
        stepper: &mut Stepper<'_>,
        message: MessageId,
    ) -> Result<Rc<[MessageId]>, SymmetryError> {
        if let Some(known) = self.messages.get(&message) {
            return Ok(Rc::clone(known));
        }
        let images = self.images("rename-message", message, |message, renaming| {
            stepper.rename_message(message, renaming)?.map_err(|fault| failed("rename-message", &fault))
        })?;
        for (p, image) in images.iter().enumerate() {
            let table = (0..images.len()).map(|q| images[self.after[q][p]]).collect();
            self.messages.insert(*image, table);
        }
        Ok(images.into())
    }

    /// The same for a local event.
    fn local_events(
        &mut self,
        stepper: &mut Stepper<'_>,
        event: LocalEventId,
    ) -> Result<Rc<[LocalEventId]>, SymmetryError> {
        if let Some(known) = self.local_events.get(&event) {
            return Ok(Rc::clone(known));
        }
        let images = self.images("rename-local", event, |event, renaming| {
            stepper.rename_local(event, renaming)?.map_err(|fault| failed("rename-local", &fault))
        })?;
        for (p, image) in images.iter().enumerate() {
            let table = (0..images.len()).map(|q| images[self.after[q][p]]).collect();
            self.local_events.insert(*image, table);
        }
        Ok(images.into())
    }

    /// What each renaming makes of an item. Only the generators are asked for, on all that the others lead to: so they act
    /// as the group does, or it is an error.
    fn images<T: Copy + Eq>(
        &self,
        function: &str,
        item: T,
        mut rename: impl FnMut(T, &[NodeId]) -> Result<T, SymmetryError>,
    ) -> Result<Vec<T>, SymmetryError> {
        let mut images: Vec<Option<T>> = vec![None; self.size()];
        images[0] = Some(item);
        let mut reached = vec![0];
        let mut next = 0;
        while let Some(&p) = reached.get(next) {
            next += 1;
            let Some(image) = images[p] else { unreachable!("what was reached has an image") };
            for generator in &self.generators {
                let further = rename(image, &self.renamings[*generator])?;
                let both = self.after[*generator][p];
                match images[both] {
                    None => {
                        images[both] = Some(further);
                        reached.push(both);
                    }
                    Some(known) if known == further => {}
                    Some(_) => return Err(no_action(function)),
                }
            }
        }
        Ok(images.into_iter().map(|image| image.expect("generators lead to all of the group")).collect())
    }

    /// The renamings that lead to the least kinds of local states, node by node; a kind is that of all renamed states. They
    /// are the same ones, up to what follows after them, for all renamed tuples.
    pub fn to_least_kinds(&self, locals: &[LocalStateId]) -> Vec<usize> {
        let kinds: Vec<LocalStateId> = locals.iter().map(|local| self.kinds[local]).collect();
        let mut best: Vec<usize> = Vec::new();
        let (mut least, mut kind) = (Vec::new(), kinds.clone());
        for renaming in 0..self.size() {
            for (node, own) in kinds.iter().enumerate() {
                kind[self.node(renaming, node)] = *own;
            }
            if best.is_empty() || kind < least {
                best.clear();
                least.clone_from(&kind);
            }
            if kind == least {
                best.push(renaming);
            }
        }
        best
    }

    /// Whether these are the same answers but for the names of destinations.
    fn are_same_choices(&self, renaming: usize, one: &[Choice], other: &[Choice]) -> bool {
        let renamed = one
            .iter()
            .map(|choice| Choice { to: choice.to.map(|to| self.node(renaming, to as usize) as NodeId), ..*choice });
        renamed.eq(other.iter().copied())
    }

    /// Compares the outcomes of a trigger with those of the renamed trigger in the renamed state, for all renamings.
    /// Afterwards the local states that it leads to can be renamed.
    ///
    /// # Errors
    ///
    /// They differ.
    pub fn check(
        &mut self,
        stepper: &mut Stepper<'_>,
        state: LocalStateId,
        trigger: Trigger,
    ) -> Result<(), SymmetryError> {
        if self.checked.contains(&(state, trigger)) {
            return Ok(());
        }
        let states = self.states(state);
        let taken = stepper.known().taken_together(trigger).to_vec();
        let triggers: Vec<Trigger> = match (trigger.message(), trigger.local_event(), trigger.fault()) {
            _ if !taken.is_empty() => {
                // So the renamed ones are members as well.
                for message in &taken {
                    self.check(stepper, state, Trigger::deliver(*message))?;
                }
                let mut renamed = Vec::with_capacity(self.size());
                for renaming in 0..self.size() {
                    let taken = self.rename_messages(stepper, renaming, &taken)?;
                    renamed.push(Trigger::deliver_quorum(stepper.quorum(&taken)));
                }
                renamed
            }
            (Some(message), ..) => self.messages(stepper, message)?.iter().map(|id| Trigger::deliver(*id)).collect(),
            (_, Some(event), _) => self.local_events(stepper, event)?.iter().map(|id| Trigger::local(*id)).collect(),
            // A reset names no node but the one where it happens.
            (.., Some(FaultEvent::Reset)) => vec![trigger; self.size()],
            _ => unreachable!("a trigger is a message, a local event or a fault"),
        };
        let row = stepper.step(state, trigger)?;
        let outcomes = stepper.outcomes(row).to_vec();
        let mut next: Vec<Vec<LocalStateId>> = vec![Vec::with_capacity(self.size()); outcomes.len()];
        for renaming in 0..self.size() {
            let row = stepper.step(states[renaming], triggers[renaming])?;
            let renamed = stepper.outcomes(row).to_vec();
            let mut is_same = renamed.len() == outcomes.len();
            for (index, (one, other)) in outcomes.iter().zip(&renamed).enumerate() {
                let expected = self.rename_messages(stepper, renaming, &one.sent)?;
                let mut sent = other.sent.to_vec();
                sent.sort_unstable();
                is_same &= sent == expected && self.are_same_choices(renaming, &one.choices, &other.choices);
                next[index].push(other.next);
            }
            let role = |state, trigger: Trigger| trigger.message().map(|message| stepper.known().role(state, message));
            is_same &= role(state, trigger) == role(states[renaming], triggers[renaming]);
            if !is_same {
                let (one, other) = (stepper.state(state).protocol.node, stepper.state(states[renaming]).protocol.node);
                return Err(SymmetryError::Asymmetric(format!(
                    "an event at node {one} has other choices, or sends other messages, than the renamed one at node {other}"
                )));
            }
        }
        for (outcome, images) in outcomes.iter().zip(&next) {
            self.define(stepper, outcome.next, images)?;
        }
        self.checked.extend(states.iter().copied().zip(triggers));
        Ok(())
    }

    /// Says what a local state is under each renaming, and thereby what those states are.
    fn define(
        &mut self,
        stepper: &mut Stepper<'_>,
        state: LocalStateId,
        images: &[LocalStateId],
    ) -> Result<(), SymmetryError> {
        if self.states.get(&state).is_some_and(|known| **known == *images) {
            return Ok(());
        }
        if self.states.contains_key(&state) || images[0] != state {
            let node = stepper.state(state).protocol.node;
            return Err(SymmetryError::Asymmetric(format!(
                "two ways lead to one state of node {node}, but the renamed ways to two states"
            )));
        }
        self.compare(stepper, state, images)?;
        let kind = *images.iter().min().expect("there is the identity");
        for (p, image) in images.iter().enumerate() {
            self.kinds.insert(*image, kind);
            let table: Rc<[LocalStateId]> = (0..self.size()).map(|q| images[self.after[q][p]]).collect();
            if *self.states.entry(*image).or_insert_with(|| Rc::clone(&table)) != table {
                let node = stepper.state(*image).protocol.node;
                return Err(SymmetryError::Asymmetric(format!(
                    "a state of node {node} is the renamed one of two states that differ"
                )));
            }
        }
        Ok(())
    }

    /// Compares what can happen in a local state, and what there is to say about it, with its renamed states.
    fn compare(
        &mut self,
        stepper: &mut Stepper<'_>,
        state: LocalStateId,
        images: &[LocalStateId],
    ) -> Result<(), SymmetryError> {
        let one = Arc::clone(stepper.state(state));
        let said: Vec<Saying> = one.protocol.judgements.iter().map(saying).collect();
        for (renaming, image) in images.iter().enumerate() {
            let other = Arc::clone(stepper.state(*image));
            let mut expected = Vec::with_capacity(one.protocol.local_events.len());
            for event in &one.protocol.local_events {
                expected.push(self.local_events(stepper, *event)?[renaming]);
            }
            let mut possible = other.protocol.local_events.to_vec();
            expected.sort_unstable();
            possible.sort_unstable();
            if expected != possible || one.faults != other.faults {
                return Err(SymmetryError::Asymmetric(format!(
                    "node {} has other events of its own than node {} in the renamed state",
                    one.protocol.node, other.protocol.node
                )));
            }
            let says: Vec<Saying> = other.protocol.judgements.iter().map(saying).collect();
            if says != said {
                let differs = said.iter().find(|what| !says.contains(what));
                let differs = differs.or_else(|| says.iter().find(|what| !said.contains(what)));
                return Err(told_apart(stepper.lts().properties(), differs));
            }
        }
        Ok(())
    }
}

fn failed(function: &str, fault: &Fault) -> SymmetryError {
    SymmetryError::Asymmetric(format!("`symmetry.{function}` fails: {fault}"))
}

fn no_action(function: &str) -> SymmetryError {
    let what = "one renaming after another is not what both together make of it";
    SymmetryError::Asymmetric(format!("`symmetry.{function}` does not rename: {what}"))
}

/// Elements of a group that all others can be composed of, given its table.
fn generators(after: &[Vec<usize>]) -> Vec<usize> {
    let mut generators = Vec::new();
    let mut composed = vec![false; after.len()];
    composed[0] = true;
    for element in 0..after.len() {
        if composed[element] {
            continue;
        }
        generators.push(element);
        let mut stack: Vec<usize> = (0..after.len()).filter(|other| composed[*other]).collect();
        while let Some(at) = stack.pop() {
            for generator in &generators {
                let both = after[*generator][at];
                if !std::mem::replace(&mut composed[both], true) {
                    stack.push(both);
                }
            }
        }
    }
    generators
}

/// All permutations of the nodes within their groups, the identity first, with the last nodes of a group in their places if
/// there are too many otherwise; why not, if there is something wrong.
fn renamings(groups: &[Vec<NodeId>], nodes: u32) -> Result<Vec<Vec<NodeId>>, String> {
    let mut seen = vec![false; nodes as usize];
    for node in groups.iter().flatten() {
        match seen.get_mut(*node as usize) {
            None => return Err(format!("it declares node {node} of a cluster of {nodes}, numbered from 0")),
            Some(true) => return Err(format!("it declares node {node} twice")),
            Some(seen) => *seen = true,
        }
    }
    let mut renamings: Vec<Vec<NodeId>> = vec![(0..nodes).collect()];
    for group in groups {
        // Some nodes of a group are a group as well, with fewer renamings.
        let factorial = |moved: &usize| (1..=*moved).product::<usize>();
        let moved = (0..=group.len()).take_while(|moved| renamings.len() * factorial(moved) <= RENAMINGS_MAX).last();
        let moved = &group[..moved.unwrap_or(0)];
        let mut extended = Vec::new();
        for order in orders(moved) {
            for renaming in &renamings {
                let mut renaming = renaming.clone();
                for (node, image) in moved.iter().zip(&order) {
                    renaming[*node as usize] = *image;
                }
                extended.push(renaming);
            }
        }
        renamings = extended;
    }
    Ok(renamings)
}

/// All orders of some nodes, the given one first.
fn orders(nodes: &[NodeId]) -> Vec<Vec<NodeId>> {
    let mut orders = vec![Vec::new()];
    for _ in nodes {
        let longer = |order: &Vec<NodeId>| {
            let left = nodes.iter().filter(|node| !order.contains(node));
            left.map(|node| order.iter().copied().chain([*node]).collect()).collect::<Vec<Vec<NodeId>>>()
        };
        orders = orders.iter().flat_map(longer).collect();
    }
    orders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renamings_permute_within_groups() {
        // 2! of the first group times 3! of the second; node 0 is in none.
        let all = renamings(&[vec![1, 4], vec![2, 3, 5]], 6).expect("they are few");
        assert_eq!(all.len(), 12);
        assert_eq!(all[0], [0, 1, 2, 3, 4, 5]);
        let is_inside = |renaming: &Vec<NodeId>| renaming[0] == 0 && [1, 4].contains(&renaming[1]);
        assert!(all.iter().all(is_inside));
        let group = Symmetry::new(all);
        let inverse = |p: usize| (0..12).any(|q| group.after[q][p] == 0);
        assert!((0..12).all(inverse));
        // One exchange makes the first group; the second one is made by two elements, and by none of its own alone.
        assert_eq!(group.generators.len(), 3);
    }

    #[test]
    fn a_wrong_declaration_is_refused() {
        assert_eq!(
            renamings(&[vec![0, 3]], 3),
            Err("it declares node 3 of a cluster of 3, numbered from 0".to_owned())
        );
        assert_eq!(renamings(&[vec![0, 1], vec![1, 2]], 3), Err("it declares node 1 twice".to_owned()));
    }

    #[test]
    fn large_groups_are_used_in_part() {
        let size = |groups: &[Vec<NodeId>]| renamings(groups, 100).map(|all| all.len());
        assert_eq!(size(&[(0..5).collect()]), Ok(120));
        // 6! = 720, so one of the six keeps its name; and one of a hundred is no different.
        assert_eq!(size(&[(0..6).collect()]), Ok(120));
        assert_eq!(size(&[(0..100).collect()]), Ok(120));
        // 4! = 24 leaves room for 3! = 6 no more, but for 2!.
        assert_eq!(size(&[(0..4).collect(), (4..7).collect()]), Ok(48));
    }
}
