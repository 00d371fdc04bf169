//! The facts about a module from the bodies of its functions. Reading all of them takes long if there are many.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use wasmparser::{FunctionBody, Operator};

use super::VIOLATIONS;

/// The facts from the bodies of a module's functions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CodeFacts {
    /// The functions that they call or refer to.
    pub used: BTreeSet<u32>,
    /// Each function that sets a global, with the global.
    pub sets: BTreeSet<(u32, u32)>,
    /// Whether an instruction names a data segment.
    pub names_segments: bool,
    /// Parameters and locals of the function that has the most.
    pub locals_max: u32,
    /// The functions with instructions that change state outside of memories and globals, with the places of these instructions among
    /// [`VIOLATIONS`].
    hidden_writes: BTreeSet<(u32, u8)>,
    /// The direct calls of each function, not those through a table. Not kept: needed only while a module is checked.
    #[serde(skip)]
    calls: BTreeMap<u32, BTreeSet<u32>>,
}

impl CodeFacts {
    /// Reads the body of a function.
    pub(super) fn add(&mut self, function: u32, parameters: u32, body: &FunctionBody<'_>) -> wasmparser::Result<()> {
        let mut locals = parameters;
        for group in body.get_locals_reader()? {
            locals = locals.saturating_add(group?.0);
        }
        self.locals_max = self.locals_max.max(locals);
        for op in body.get_operators_reader()? {
            self.add_operator(function, &op?);
        }
        Ok(())
    }

    /// The names of the instructions that change state outside of memories and globals.
    pub(crate) fn hidden_writes(&self) -> impl Iterator<Item = &'static str> {
        let places: BTreeSet<u8> = self.hidden_writes.iter().map(|(_, place)| *place).collect();
        places.into_iter().map(|place| VIOLATIONS[usize::from(place)])
    }

    /// An instruction that changes state outside of memories and globals, in one of these functions or in one that they call
    /// directly; with the function that contains it. `is_hidden` decides which globals are such state.
    pub(super) fn reached_write(
        &mut self,
        functions: impl IntoIterator<Item = u32>,
        is_hidden: impl Fn(u32) -> bool,
    ) -> Option<(&'static str, u32)> {
        let calls = std::mem::take(&mut self.calls);
        let sets = self.sets.iter().filter(|(_, global)| is_hidden(*global)).map(|(at, _)| (*at, place(REFERENCE)));
        let writes: BTreeMap<u32, u8> = self.hidden_writes.iter().copied().chain(sets).collect();
        if writes.is_empty() {
            return None;
        }
        let (mut reached, mut next) = (BTreeSet::new(), functions.into_iter().collect::<Vec<_>>());
        while let Some(function) = next.pop() {
            if let Some(place) = writes.get(&function) {
                return Some((VIOLATIONS[usize::from(*place)], function));
            }
            if reached.insert(function) {
                next.extend(calls.get(&function).into_iter().flatten());
            }
        }
        None
    }

    fn add_operator(&mut self, function: u32, op: &Operator<'_>) {
        self.names_segments |= matches!(op, Operator::MemoryInit { .. } | Operator::DataDrop { .. });
        match op {
            Operator::Call { function_index } | Operator::ReturnCall { function_index } => {
                self.used.insert(*function_index);
                self.calls.entry(function).or_default().insert(*function_index);
            }
            Operator::RefFunc { function_index } => drop(self.used.insert(*function_index)),
            Operator::GlobalSet { global_index } => drop(self.sets.insert((function, *global_index))),
            op => self.hidden_writes.extend(hidden_write(op).map(|place| (function, place))),
        }
    }
}

/// The one of [`VIOLATIONS`] that sets a global.
const REFERENCE: &str = "global.set of a reference";

/// The place of an instruction among [`VIOLATIONS`], if it changes tables or segments.
pub(super) fn hidden_write(op: &Operator<'_>) -> Option<u8> {
    let name = match op {
        Operator::TableSet { .. } => "table.set",
        Operator::TableGrow { .. } => "table.grow",
        Operator::TableFill { .. } => "table.fill",
        Operator::TableCopy { .. } => "table.copy",
        Operator::TableInit { .. } => "table.init",
        Operator::ElemDrop { .. } => "elem.drop",
        Operator::DataDrop { .. } => "data.drop",
        _ => return None,
    };
    Some(place(name))
}

/// The place of a name among [`VIOLATIONS`].
pub(super) fn place(name: &str) -> u8 {
    VIOLATIONS.iter().position(|known| *known == name).expect("callers name instructions of the list") as u8
}
