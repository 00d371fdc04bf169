//! Sets of states of the old system, each kept once.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::system::StateId;

/// The id of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SetId(pub(crate) u32);

/// All sets that were formed.
#[derive(Debug, Default)]
pub(crate) struct Sets {
    ids: FxHashMap<Rc<[StateId]>, SetId>,
    sets: Vec<Rc<[StateId]>>,
    pub(crate) bytes: usize,
}

impl Sets {
    /// The id of a set, of its members in ascending order.
    pub(crate) fn id(&mut self, members: &[StateId]) -> SetId {
        debug_assert!(members.is_sorted(), "a set has one form");
        if let Some(known) = self.ids.get(members) {
            return *known;
        }
        let (id, members): (SetId, Rc<[StateId]>) = (SetId(self.sets.len() as u32), members.into());
        self.bytes += size_of_val(&*members) + 4 * size_of::<Rc<[StateId]>>();
        self.sets.push(Rc::clone(&members));
        self.ids.insert(members, id);
        id
    }

    /// The members of a set, in ascending order.
    pub(crate) fn members(&self, id: SetId) -> Rc<[StateId]> {
        Rc::clone(&self.sets[id.0 as usize])
    }

    /// The number of sets.
    pub(crate) fn len(&self) -> usize {
        self.sets.len()
    }

    /// Whether each member of one set is a member of the other.
    pub(crate) fn is_subset(&self, part: SetId, whole: SetId) -> bool {
        let (part, whole) = (&self.sets[part.0 as usize], &self.sets[whole.0 as usize]);
        let mut rest = whole.iter();
        part.len() <= whole.len() && part.iter().all(|member| rest.by_ref().any(|other| other == member))
    }
}
