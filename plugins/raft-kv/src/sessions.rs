//! Sessions of clients: a write that a client repeats happens once, also if the leader has changed meanwhile.
//!
//! A client numbers its writes. Each node keeps for each session the number and the outcome of the last write, as a part of the store, so
//! that a repeated one has the same outcome again. A session is bounded, and so is their number: a new one takes the place of the one
//! that was used least recently, in the order of the log and not by clocks, so that all nodes agree. Source: Ongaro, "Consensus: Bridging
//! Theory and Practice", 2014, section 6.3; unlike there, reads need no session, and a client waits for one write before the next one.

use serde::{Deserialize, Serialize};

use crate::{Index, Operation, Outcome, Store};

/// A session, named by the entry that began it.
pub type SessionId = Index;

/// The knowledge of all nodes about a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Session {
    /// The last entry of the session.
    pub used: Index,
    /// The number of the last write; 0 before the first one.
    pub serial: u64,
    /// The outcome of that write.
    pub outcome: Option<Outcome>,
}

/// A write of a session, which happens once.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Once {
    /// The session.
    pub session: SessionId,
    /// The number of the write: larger than those before.
    pub serial: u64,
    /// The write.
    pub write: Box<Operation>,
}

/// Begins a session by the entry at this place, and ends others until there is room for it.
pub(crate) fn open(store: &mut Store, index: Index, sessions_max: u32) -> Outcome {
    while store.sessions.len() >= sessions_max.max(1) as usize
        && let Some(oldest) = store.sessions.iter().min_by_key(|(_, session)| session.used).map(|(id, _)| *id)
    {
        store.sessions.remove(&oldest);
    }
    store.sessions.insert(index, Session { used: index, serial: 0, outcome: None });
    Outcome::Opened(index)
}

impl Once {
    /// The outcome, if this is a repetition of the last write, or if the session does not take it.
    pub(crate) fn known(&self, store: &Store) -> Option<Outcome> {
        let Some(session) = store.sessions.get(&self.session) else { return Some(Outcome::NoSession(self.session)) };
        match self.serial.cmp(&session.serial) {
            std::cmp::Ordering::Less => Some(Outcome::Late(session.serial)),
            std::cmp::Ordering::Equal => session.outcome.clone(),
            std::cmp::Ordering::Greater => None,
        }
    }

    pub(crate) fn apply(&self, store: &mut Store, index: Index) -> Outcome {
        let known = self.known(store);
        if let Some(session) = store.sessions.get_mut(&self.session) {
            session.used = index;
        }
        known.unwrap_or_else(|| self.execute(store, index))
    }

    /// Executes the write, and keeps the outcome.
    pub(crate) fn execute(&self, store: &mut Store, index: Index) -> Outcome {
        let outcome = self.write.apply(store, index);
        if let Some(session) = store.sessions.get_mut(&self.session) {
            (session.serial, session.outcome) = (self.serial, Some(outcome.clone()));
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Condition, Write};

    fn once(session: SessionId, serial: u64, value: &str) -> Operation {
        let write = Write { key: "color".to_owned(), value: Some(value.into()), condition: Condition::None };
        Operation::Once(Once { session, serial, write: Box::new(Operation::Write(write)) })
    }

    #[test]
    fn a_repeated_write_has_the_outcome_of_the_first_one() {
        let mut store = Store::default();
        let mut index = 0;
        let mut does = |operation: Operation| {
            index += 1;
            operation.apply(&mut store, index)
        };
        assert_eq!(does(once(1, 1, "red")), Outcome::NoSession(1));
        assert_eq!(does(Operation::Open(2)), Outcome::Opened(2));
        assert_eq!(does(once(2, 1, "red")), Outcome::Written(1));
        assert_eq!(does(Operation::Open(2)), Outcome::Opened(4));
        assert_eq!(does(once(4, 7, "blue")), Outcome::Written(2));
        assert_eq!(does(once(2, 1, "red")), Outcome::Written(1));
        assert_eq!(does(once(2, 3, "green")), Outcome::Written(3));
        assert_eq!(does(once(2, 2, "red")), Outcome::Late(3));
        assert_eq!(does(once(2, 3, "green")), Outcome::Written(3));
        // The other session was used before this one, although it began later.
        assert_eq!(does(Operation::Open(2)), Outcome::Opened(10));
        assert_eq!(does(once(4, 7, "blue")), Outcome::NoSession(4));
        assert_eq!(does(once(2, 4, "black")), Outcome::Written(4));
        assert_eq!(store.sessions.keys().copied().collect::<Vec<_>>(), [2, 10]);
    }

    type Row = (Index, SessionId, Option<(u64, Outcome)>);

    /// A history of sessions and writes that looks random, compared with a table that lists all entries of all sessions.
    #[test]
    fn sessions_are_those_of_a_table_of_all_entries() {
        let mut seed = 7_u64;
        let mut next = move |below: u32| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as u32 % below
        };
        for sessions_max in 1..4 {
            let mut store = Store::default();
            // Each entry of a session that lives, with the serial number and the outcome of a write that happened.
            let mut entries: Vec<Row> = Vec::new();
            let (mut begun, mut revision) = (vec![0], 0);
            for index in 1..2_000 {
                if next(8) == 0 {
                    assert_eq!(Operation::Open(sessions_max).apply(&mut store, index), Outcome::Opened(index));
                    let mut last: Vec<(Index, SessionId)> = Vec::new();
                    for (used, id, _) in &entries {
                        last.retain(|(_, other)| other != id);
                        last.push((*used, *id));
                    }
                    let ends = last.len().saturating_sub(sessions_max as usize - 1);
                    entries.retain(|(_, id, _)| !last[..ends].iter().any(|(_, ended)| ended == id));
                    entries.push((index, index, None));
                    begun.push(index);
                    continue;
                }
                let id = begun[begun.len() - 1 - next(begun.len().min(6) as u32) as usize];
                let serial = u64::from(1 + next(2) + index / 20);
                let of_session = || entries.iter().filter(|(_, other, _)| *other == id);
                let last = of_session().filter_map(|(_, _, write)| write.as_ref()).max_by_key(|(serial, _)| *serial);
                let (expected, is_new) = match last {
                    _ if of_session().next().is_none() => (Outcome::NoSession(id), false),
                    Some((known, outcome)) if *known == serial => (outcome.clone(), false),
                    Some((known, _)) if *known > serial => (Outcome::Late(*known), false),
                    _ => (Outcome::Written(revision + 1), true),
                };
                revision += u64::from(is_new);
                assert_eq!(once(id, serial, "x").apply(&mut store, index), expected, "{index}");
                if of_session().next().is_some() {
                    entries.push((index, id, is_new.then_some((serial, expected))));
                }
                let living: std::collections::BTreeSet<_> = entries.iter().map(|(_, id, _)| *id).collect();
                assert_eq!(store.sessions.keys().copied().collect::<std::collections::BTreeSet<_>>(), living);
                assert!(store.sessions.len() <= sessions_max as usize && store.revision == revision);
            }
        }
    }
}
