//! The key of a state in an archive: few facts, so that many states have the same key.

use host_model::contract::MachineError;
use host_model::lts::{LocalStateId, Stepper};
use rustc_hash::FxHashMap;

use crate::kernel::table_bytes;
use crate::strategy::random_walk::described::{Field, fields};
use crate::strategy::random_walk::scheduler::mixed;

/// Combinations of local states whose keys are remembered; beyond that they are computed again.
const REMEMBERED_MAX: usize = 1 << 18;

/// The facts about a local state.
#[derive(Debug)]
struct Local {
    /// A hash of all its facts.
    content: u64,
    /// A hash of all facts that do not depend on other nodes.
    fixed: u64,
    /// Numbers, each with its field: only their order among those of all nodes counts.
    numbers: Box<[(u64, i64)]>,
}

/// The keys of global states.
///
/// In the protocol's description, numbers are replaced by their rank among those of the same field at all nodes: terms 3 and 7
/// are the same as 1 and 2. Of an array, its length and its last element count. Without a description, the views of the properties count.
/// A key depends on contents only, so it is the same in any local transition system.
#[derive(Debug, Default)]
pub(super) struct Abstraction {
    /// By id; none if it was not examined.
    locals: Vec<Option<Local>>,
    /// The keys of combinations of local states.
    keys: FxHashMap<u64, u64>,
    bytes: usize,
    looked_at: u64,
    /// Reused, to spare allocations.
    numbers: Vec<(u64, i64, u32)>,
}

impl Abstraction {
    /// The key of a global state with these local states.
    pub(super) fn key(&mut self, stepper: &mut Stepper<'_>, locals: &[LocalStateId]) -> Result<u64, MachineError> {
        let mut combined = 0_u64;
        for (node, local) in (0u64..).zip(locals) {
            combined = combined.wrapping_add(mixed(self.local(stepper, *local)?.content, node));
        }
        if let Some(key) = self.keys.get(&combined) {
            return Ok(*key);
        }
        let key = self.computed(locals);
        if self.keys.len() == REMEMBERED_MAX {
            self.keys.clear();
        }
        self.keys.insert(combined, key);
        Ok(key)
    }

    /// The key of a global state with these local states, which were examined before.
    fn computed(&mut self, locals: &[LocalStateId]) -> u64 {
        let mut numbers = std::mem::take(&mut self.numbers);
        numbers.clear();
        let mut key = 0_u64;
        for (node, local) in (0u32..).zip(locals) {
            let Some(local) = &self.locals[local.0 as usize] else { continue };
            key = key.wrapping_add(mixed(local.fixed, node.into()));
            numbers.extend(local.numbers.iter().map(|(field, number)| (*field, *number, node)));
        }
        numbers.sort_unstable();
        let (mut rank, mut before) = (0, None);
        for (field, number, node) in &numbers {
            rank = match before {
                Some((of, smaller)) if of == *field => rank + u64::from(smaller != *number),
                _ => 0,
            };
            before = Some((*field, *number));
            key = key.wrapping_add(mixed(mixed(*field, rank), u64::from(*node)));
        }
        self.numbers = numbers;
        key
    }

    fn local(&mut self, stepper: &mut Stepper<'_>, id: LocalStateId) -> Result<&Local, MachineError> {
        let index = id.0 as usize;
        if self.locals.len() <= index {
            self.locals.resize_with(index + 1, || None);
        }
        match &mut self.locals[index] {
            Some(known) => Ok(known),
            unknown => {
                let local = Local::new(stepper, id)?;
                self.bytes += size_of_val(&*local.numbers);
                self.looked_at += 1;
                Ok(unknown.insert(local))
            }
        }
    }

    /// Number of local states examined, each counted once.
    pub(super) fn looked_at(&self) -> u64 {
        self.looked_at
    }

    /// Bytes that it keeps, about.
    pub(super) fn bytes(&self) -> u64 {
        let locals = self.locals.capacity() * size_of::<Option<Local>>() + self.bytes;
        (locals + table_bytes::<(u64, u64)>(self.keys.capacity())) as u64
    }
}

impl Local {
    fn new(stepper: &mut Stepper<'_>, id: LocalStateId) -> Result<Self, MachineError> {
        if let Some(text) = stepper.described(id)? {
            return Ok(Self::described(&text));
        }
        let mut fixed = 0_u64;
        for (property, view) in (0_u64..).zip(stepper.views(id)) {
            let Some(view) = view else { continue };
            let bytes = view.iter().fold(1, |sum, byte| mixed(sum, u64::from(*byte)));
            fixed = fixed.wrapping_add(mixed(property, bytes));
        }
        Ok(Self { content: fixed, fixed, numbers: Box::default() })
    }

    /// A local state that the protocol describes by a JSON text.
    fn described(text: &str) -> Self {
        let (mut fixed, mut numbers) = (0_u64, Vec::new());
        for (path, field) in fields(text) {
            match field {
                Field::Number(number) => numbers.push((path, number)),
                Field::Other(content) => fixed = fixed.wrapping_add(mixed(path, content)),
            }
        }
        let content =
            numbers.iter().fold(fixed, |sum, (field, number)| sum.wrapping_add(mixed(*field, *number as u64)));
        Self { content, fixed, numbers: numbers.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of nodes with these descriptions.
    fn key(described: &[&str]) -> u64 {
        let locals = described.iter().map(|text| Some(Local::described(text))).collect();
        let mut abstraction = Abstraction { locals, ..Abstraction::default() };
        let ids: Vec<LocalStateId> = (0..described.len() as u32).map(LocalStateId).collect();
        abstraction.computed(&ids)
    }

    /// The key of nodes in these terms, with an index each.
    fn of_terms(numbers: &[(i64, i64)]) -> u64 {
        let texts: Vec<String> =
            numbers.iter().map(|(term, index)| format!(r#"{{"term":{term},"index":{index}}}"#)).collect();
        key(&texts.iter().map(String::as_str).collect::<Vec<_>>())
    }

    #[test]
    fn of_numbers_the_order_counts() {
        assert_eq!(of_terms(&[(3, 0), (7, 0), (3, 0)]), of_terms(&[(-1, 9), (2, 9), (-1, 9)]));
        let all = [
            of_terms(&[(1, 0), (2, 0), (3, 0)]),
            of_terms(&[(2, 0), (1, 0), (3, 0)]),
            of_terms(&[(1, 0), (2, 0), (2, 0)]),
            of_terms(&[(1, 0), (1, 0), (2, 0)]),
            of_terms(&[(1, 0), (1, 0), (1, 0)]),
            // Each field has its own order.
            of_terms(&[(1, 1), (1, 2), (1, 3)]),
            of_terms(&[(1, 0), (2, 1), (3, 2)]),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(all[..index].iter().all(|other| other != one), "{index}");
        }
    }

    #[test]
    fn what_is_no_number_counts_as_it_is_at_its_node() {
        let (leader, follower) = (r#"{"role":"leader"}"#, r#"{"role":"follower"}"#);
        assert_eq!(key(&[leader, follower]), key(&[leader, follower]));
        assert_ne!(key(&[leader, follower]), key(&[follower, leader]));
        assert_ne!(key(&[leader, follower]), key(&[leader, leader]));
    }

    #[test]
    fn local_states_with_one_order_have_contents_of_their_own() {
        let content = |text: &str| Local::described(text).content;
        assert_ne!(content(r#"{"term":1}"#), content(r#"{"term":2}"#));
        assert_ne!(content(r#"{"term":1}"#), content(r#"{"vote":1}"#));
    }
}
