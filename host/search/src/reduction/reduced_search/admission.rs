//! Admission of new states, up to renamings and to messages in flight.

use host_model::lts::{LocalStateId, MessageId};

use crate::global::state::GlobalState;
use crate::reduction::message_facts::is_subset;
use crate::reduction::reduced_search::{FoundState, Frontier, Pass, Waiting};
use crate::reduction::symmetry::SymmetryError;

/// The representative of a state and of all its renamed states.
struct Canonical {
    /// The least local states and budgets.
    key: Box<[u32]>,
    /// The messages in flight, under each of the renamings that lead to the key.
    forms: Vec<Vec<MessageId>>,
}

impl Pass<'_, '_, '_> {
    /// Takes in a state unless a larger one is known; returns whether a violation is reachable from it by sinks.
    pub(super) fn enter(&mut self, mut state: GlobalState, found: FoundState) -> Result<bool, SymmetryError> {
        let mut in_flight = Vec::with_capacity(state.in_flight.len());
        for message in &state.in_flight {
            let local = state.locals[self.stepper.message(*message).to as usize];
            if !self.is_dead(local, *message)? {
                in_flight.push(*message);
            }
        }
        state.in_flight = in_flight.into();
        let budgets = self.search.bounds.local_events.map_or(&[][..], |_| &state.local_events);
        let Canonical { key, forms } = self.canonical(&state, budgets)?;
        let (fresh, key_bytes) = (self.frontiers.len() as u32, size_of_val(&*key));
        let site = *self.frontier_of.entry(key).or_insert(fresh);
        if site == fresh {
            self.frontiers.push(Frontier::default());
            self.heap += key_bytes;
        }
        let sets = &mut self.frontiers[site as usize].sets;
        // Each state counts as one step already; these are the additional ones.
        self.steps += (forms.len() as u64 - 1) * (state.in_flight.len() + sets.len()) as u64;
        if sets.iter().any(|(_, set)| forms.iter().any(|form| is_subset(form, set))) {
            return Ok(false);
        }
        let (superseded, heap_bytes) = (&mut self.superseded, &mut self.heap);
        let serial = self.serials;
        self.serials += 1;
        sets.retain(|(other, set)| {
            let is_inside = forms.iter().any(|form| is_subset(set, form));
            if is_inside {
                superseded.insert(*other);
                *heap_bytes -= size_of_val(&**set);
            }
            !is_inside
        });
        let room = sets.capacity();
        sets.push((serial, forms[0].as_slice().into()));
        *heap_bytes += (sets.capacity() - room) * size_of::<(u32, Box<[MessageId]>)>() + size_of_val(&*forms[0]);
        self.kept += 1;
        self.report.depth = self.report.depth.max(found.depth);
        let index = u32::try_from(self.found.len()).expect("fewer than four billion states");
        self.found.push(found);
        let is_bad = self.judge(&state, index)?;
        self.heap += state.heap_bytes();
        self.queue.push_back(Waiting { found: index, serial, state });
        Ok(is_bad)
    }

    /// The representative of a state and of all its renamed states.
    fn canonical(&mut self, state: &GlobalState, budgets: &[u32]) -> Result<Canonical, SymmetryError> {
        let key = |locals: &[LocalStateId], budgets: &[u32]| -> Box<[u32]> {
            locals.iter().map(|id| id.0).chain(budgets.iter().copied()).collect()
        };
        let Some(symmetry) = &mut self.symmetry else {
            return Ok(Canonical { key: key(&state.locals, budgets), forms: vec![state.in_flight.to_vec()] });
        };
        let renamed = |renaming: usize| {
            let budgets = if budgets.is_empty() { Vec::new() } else { symmetry.permute(renaming, budgets) };
            (key(&symmetry.rename_locals(renaming, &state.locals), &budgets), renaming)
        };
        let all: Vec<(Box<[u32]>, usize)> = symmetry.to_least_kinds(&state.locals).into_iter().map(renamed).collect();
        self.steps += (all.len() as u64 - 1) * state.locals.len() as u64;
        let least = all.iter().map(|(key, _)| key).min().expect("the group has the identity at least").clone();
        let mut forms = Vec::new();
        for (key, renaming) in &all {
            if *key == least {
                forms.push(symmetry.rename_messages(self.stepper, *renaming, &state.in_flight)?);
            }
        }
        forms.sort_unstable();
        forms.dedup();
        Ok(Canonical { key: least, forms })
    }
}
