//! Renamings of interchangeable nodes, checked against the local steps.
//!
//! A protocol declares groups of nodes and how messages are renamed, but nothing about states. Execution finds the renamed local
//! state: `init` makes that of a renamed node, and a renamed step leads from a renamed state to the renamed successor.
//! So a renamed state can always be executed from, and every second path to a state checks
//! the declaration: both paths must lead to the same renamed state.
//!
//! | module | what it holds |
//! |---|---|
//! | `group` | the renamings that a declaration allows, as a group |
//! | `checks` | renamed states, found and compared by execution |

use std::rc::Rc;

use host_model::contract::{Fault, Judgement, MachineError, NodeId, Property};
use host_model::lts::{LocalEventId, LocalStateId, MessageId, Step, Stepper, Trigger};
use host_model::trace::start::Start;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::kernel::table_bytes;
use crate::reduction::symmetry::group::{generators, renamings};

mod checks;
mod group;

/// The reason why a search cannot continue with renamings.
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

/// A judgement without words: the number of the property, or none for a fault, and whether it is good.
pub type PropertyVerdict = (Option<u32>, bool);

/// The part of a judgement that renamed states must share; words may name nodes.
pub fn property_verdict(judgement: &Judgement) -> PropertyVerdict {
    match judgement {
        Judgement::Fault(_) | Judgement::Deadlock { .. } => (None, false),
        Judgement::Broken { property, .. } | Judgement::Violated { property, .. } => (Some(*property), false),
        Judgement::Witnessed { property } => (Some(*property), true),
    }
}

/// The error that a property gives different verdicts on a state and its renamed one.
pub fn asymmetry(properties: &[Property], one: Option<&PropertyVerdict>) -> SymmetryError {
    let what = match one.and_then(|(property, _)| *property) {
        Some(property) => format!("the property `{}` tells them apart", properties[property as usize].name),
        None => "one of them has a fault where another has none".to_owned(),
    };
    SymmetryError::Asymmetric(what)
}

/// A group of renamings, and their effect on all states, messages and local events met so far.
pub struct Symmetry {
    /// The identity first.
    renamings: Vec<Vec<NodeId>>,
    /// `after[q][p]` is the renaming by `p` and then by `q`.
    after: Vec<Vec<usize>>,
    /// Renamings that generate all others.
    generators: Vec<usize>,
    /// The renamed local states, by renaming.
    states: FxHashMap<LocalStateId, Rc<[LocalStateId]>>,
    /// The least of the renamed states.
    kinds: FxHashMap<LocalStateId, LocalStateId>,
    messages: FxHashMap<MessageId, Rc<[MessageId]>>,
    local_events: FxHashMap<LocalEventId, Rc<[LocalEventId]>>,
    /// Local states and triggers whose outcomes were compared.
    checked: FxHashSet<(LocalStateId, Trigger)>,
}

impl Symmetry {
    /// The symmetry that the protocol declares, as far as the start states allow; none if it declares nothing.
    ///
    /// # Errors
    ///
    /// The declaration cannot be used.
    pub fn declared(stepper: &mut Stepper<'_>, starts: &[Start]) -> Result<Option<Self>, SymmetryError> {
        let nodes = stepper.lts().scenario().nodes;
        let mut declared: Option<Vec<Vec<NodeId>>> = None;
        let absent = &stepper.lts().scenario().absent;
        let present = (0..).zip(&starts[0].initial).filter(|(node, _)| !absent.contains(node));
        for (_, local) in present {
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
        // Only for the states after `init` is it known which one is the renamed one.
        if starts.iter().any(|start| start.origin.states().is_some()) {
            return Err(SymmetryError::Asymmetric("the search begins in states from elsewhere".to_owned()));
        }
        if !absent.is_empty() {
            return Err(SymmetryError::Asymmetric("nodes are absent".to_owned()));
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

    /// Bytes kept: for each state, message and local event that was met, an entry and a list with one item per renaming.
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

    /// Finds the renamed states of the initial states, and of the states on the paths from there to the start states.
    fn begin(&mut self, stepper: &mut Stepper<'_>, starts: &[Start]) -> Result<(), SymmetryError> {
        for start in starts {
            for (node, local) in start.initial.iter().enumerate() {
                let choices = start.origin.choices(node as NodeId);
                let image = |to: usize| {
                    let other = starts.iter().find(|other| other.origin.choices(to as NodeId) == choices)?;
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
                // A loss changes no local state.
                if trigger.lost().is_some() {
                    continue;
                }
                let local = &mut locals[*node as usize];
                self.check(stepper, *local, *trigger)?;
                let row = stepper.step(*local, *trigger)?;
                *local = stepper.outcomes(row)[*outcome as usize].next;
            }
        }
        Ok(())
    }

    /// The renamings that map start states to start states.
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

    /// A tuple with one item per node, such as local states, under a renaming.
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
    /// A message cannot be renamed.
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

    /// A message under all renamings. Checks at first sight that one renaming after another equals the composed one.
    ///
    /// # Errors
    ///
    /// A message cannot be renamed.
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

    /// The image of an item under each renaming. Only the generators are evaluated, on all images under the others: so they act like the
    /// group, or this is an error.
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

    /// The renamings that lead to the least kinds of local states, node by node; a kind is shared by all renamed states. Up to
    /// composition, they are the same for all renamed tuples.
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
}

fn failed(function: &str, fault: &Fault) -> SymmetryError {
    SymmetryError::Asymmetric(format!("`symmetry.{function}` fails: {fault}"))
}

fn no_action(function: &str) -> SymmetryError {
    let what = "one renaming after another is not what both together make of it";
    SymmetryError::Asymmetric(format!("`symmetry.{function}` does not rename: {what}"))
}
