//! Compares the judgements of a global state with those of its renamed states.

use std::collections::BTreeSet;

use host_model::contract::{ClassId, MachineError};
use host_model::lts::{LocalStateId, MessageId, Stepper};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::kernel::{table_bytes, tuples};
use crate::reduction::message_facts::MessageFacts;
use crate::reduction::symmetry::{PropertyVerdict, Symmetry, SymmetryError, asymmetry, property_verdict};

/// The views of the local states that a node can reach by sinks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct ReachableViews {
    classes: BTreeSet<ClassId>,
    /// The verdicts on the local states by themselves.
    said: BTreeSet<PropertyVerdict>,
}

/// Evaluates properties on renamed states, once for each combination of views.
#[derive(Default)]
pub struct SymmetricVerdicts {
    /// By local state and sinks in flight to it.
    known: FxHashMap<(LocalStateId, Box<[MessageId]>), u32>,
    ids: FxHashMap<ReachableViews, u32>,
    all_views: Vec<ReachableViews>,
    /// By local state and sinks in flight to it: the views under each renaming.
    orbits: FxHashMap<(LocalStateId, Box<[MessageId]>), u32>,
    orbit_ids: FxHashMap<Vec<u32>, u32>,
    orbit_lists: Vec<Vec<u32>>,
    /// Tuples of orbits that were compared.
    compared: FxHashSet<Vec<u32>>,
    verdicts: FxHashMap<Vec<u32>, BTreeSet<PropertyVerdict>>,
    /// Heap bytes of the keys and values of all these tables.
    heap: usize,
}

/// Bytes of a B-tree with this many entries, whose nodes are at least half full.
fn tree_bytes<T>(len: usize) -> usize {
    2 * len * size_of::<T>()
}

impl SymmetricVerdicts {
    /// Bytes kept.
    pub fn bytes(&self) -> usize {
        self.heap
            + table_bytes::<((LocalStateId, Box<[MessageId]>), u32)>(self.known.capacity() + self.orbits.capacity())
            + table_bytes::<(ReachableViews, u32)>(self.ids.capacity())
            + self.all_views.capacity() * size_of::<ReachableViews>()
            + table_bytes::<(Vec<u32>, u32)>(self.orbit_ids.capacity() + self.compared.capacity())
            + self.orbit_lists.capacity() * size_of::<Vec<u32>>()
            + table_bytes::<(Vec<u32>, BTreeSet<PropertyVerdict>)>(self.verdicts.capacity())
    }

    /// Evaluates the properties on a global state with these sinks in flight to each node, under every renaming.
    ///
    /// # Errors
    ///
    /// A property gives a different verdict on a renamed state.
    pub fn check(
        &mut self,
        stepper: &mut Stepper<'_>,
        facts: &mut MessageFacts,
        symmetry: &mut Symmetry,
        locals: &[LocalStateId],
        sinks: &[Vec<MessageId>],
    ) -> Result<(), SymmetryError> {
        let mut tuple = Vec::with_capacity(locals.len());
        for (local, sinks) in locals.iter().zip(sinks) {
            tuple.push(self.orbit(stepper, facts, symmetry, (*local, sinks.as_slice().into()))?);
        }
        if self.compared.contains(&tuple) {
            return Ok(());
        }
        let mut expected = BTreeSet::new();
        for renaming in 0..symmetry.size() {
            let all_views: Vec<u32> = tuple.iter().map(|id| self.orbit_lists[*id as usize][renaming]).collect();
            let said = self.verdict(stepper, symmetry.permute(renaming, &all_views))?;
            if renaming == 0 {
                expected = said;
            } else if said != expected {
                return Err(asymmetry(stepper.lts().properties(), said.symmetric_difference(&expected).next()));
            }
        }
        self.heap += size_of_val(&*tuple);
        self.compared.insert(tuple);
        Ok(())
    }

    /// The views of a local state with sinks in flight to it, under each renaming.
    fn orbit(
        &mut self,
        stepper: &mut Stepper<'_>,
        facts: &mut MessageFacts,
        symmetry: &mut Symmetry,
        key: (LocalStateId, Box<[MessageId]>),
    ) -> Result<u32, SymmetryError> {
        if let Some(known) = self.orbits.get(&key) {
            return Ok(*known);
        }
        let mut orbit = Vec::with_capacity(symmetry.size());
        for renaming in 0..symmetry.size() {
            let image = symmetry.states(key.0)[renaming];
            let sinks = symmetry.rename_messages(stepper, renaming, &key.1)?;
            orbit.push(self.views(stepper, facts, image, sinks)?);
        }
        let fresh = self.orbit_lists.len() as u32;
        let id = *self.orbit_ids.entry(orbit.clone()).or_insert(fresh);
        self.heap += size_of_val(&*key.1);
        if id == fresh {
            self.heap += 2 * size_of_val(&*orbit);
            self.orbit_lists.push(orbit);
        }
        self.orbits.insert(key, id);
        Ok(id)
    }

    fn views(
        &mut self,
        stepper: &mut Stepper<'_>,
        facts: &mut MessageFacts,
        local: LocalStateId,
        sinks: Vec<MessageId>,
    ) -> Result<u32, MachineError> {
        let key = (local, sinks.into_boxed_slice());
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let mut views = ReachableViews::default();
        let alone = (local, Vec::new());
        let closure = facts.closure(stepper, local, &key.1)?;
        for (state, _) in closure.as_ref().map_or(std::slice::from_ref(&alone), |closure| &closure.states) {
            let state = stepper.state(*state);
            views.classes.insert(state.protocol.class);
            views.said.extend(state.protocol.judgements.iter().map(property_verdict));
        }
        let fresh = self.all_views.len() as u32;
        let id = *self.ids.entry(views.clone()).or_insert(fresh);
        self.heap += size_of_val(&*key.1);
        if id == fresh {
            let trees = tree_bytes::<ClassId>(views.classes.len()) + tree_bytes::<PropertyVerdict>(views.said.len());
            self.heap += 2 * trees;
            self.all_views.push(views);
        }
        self.known.insert(key, id);
        Ok(id)
    }

    /// All judgements of a tuple of outlooks, one per node.
    fn verdict(
        &mut self,
        stepper: &mut Stepper<'_>,
        tuple: Vec<u32>,
    ) -> Result<BTreeSet<PropertyVerdict>, MachineError> {
        if let Some(known) = self.verdicts.get(&tuple) {
            return Ok(known.clone());
        }
        let all_views = tuple.iter().map(|id| &self.all_views[*id as usize]);
        let mut said: BTreeSet<PropertyVerdict> =
            all_views.clone().flat_map(|views| views.said.iter().copied()).collect();
        let classes: Vec<Vec<ClassId>> = all_views.map(|views| views.classes.iter().copied().collect()).collect();
        for choice in tuples::all(&classes) {
            said.extend(stepper.judge(&choice)?.iter().map(property_verdict));
        }
        self.heap += size_of_val(&*tuple) + tree_bytes::<PropertyVerdict>(said.len());
        self.verdicts.insert(tuple, said.clone());
        Ok(said)
    }
}
