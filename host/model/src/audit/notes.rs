//! Notes for an audit, taken while handlers run.

use std::cmp::Ordering as Order;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::contract::fingerprint::Fingerprint;
use crate::contract::{Arrival, Input, LocalEvent, NodeId, Snapshot};

/// The number of states to audit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// No states.
    Off,
    /// The 128 local states with the least fingerprints, and 32 of the handlers that lead back to their first state: a sample by content,
    /// whose cost does not grow with the search.
    #[default]
    Sampled,
    /// Every local state.
    Full,
}

/// Maximum number of a node's messages to try in each of its states.
const MESSAGES_MAX: usize = 16;

/// Maximum number of paths to a state that are executed again.
const WAYS_MAX: usize = 4;

/// States per sample.
const SAMPLE: usize = 128;

/// Maximum number of calls of `invariant` that are repeated.
const QUESTIONS_MAX: usize = 64;

/// The notes that a search takes for its audit.
#[derive(Debug)]
pub(crate) struct Audit {
    mode: Mode,
    /// The upper half of the greatest fingerprint that still belongs to the sample. Only ever falls, so a reader of an old
    /// value records too much, which is discarded again.
    greatest: AtomicU64,
    pub(crate) notes: Mutex<Notes>,
}

#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) states: BTreeMap<Fingerprint, State>,
    pub(crate) questions: BTreeSet<(u32, Vec<Option<Vec<u8>>>)>,
}

/// A local state with two of its memories: the least and the greatest, so that the order of their discovery does not
/// matter.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) node: NodeId,
    pub(crate) encoding: Vec<u8>,
    pub(crate) least: Kept,
    pub(crate) greatest: Kept,
    pub(crate) ways: BTreeSet<Way>,
}

/// A handler execution that led to a state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Way {
    pub(crate) cause: Cause,
    pub(crate) script: Vec<u32>,
    pub(crate) from: Kept,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    Message(NodeId, Vec<u8>),
    Quorum(String, Vec<(NodeId, Vec<u8>)>),
    Local(LocalEvent),
}

/// A snapshot that compares by content.
#[derive(Clone, Debug)]
pub(crate) struct Kept(pub(crate) Snapshot);

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.0.words() == other.0.words()
    }
}

impl Eq for Kept {}

impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl Ord for Kept {
    fn cmp(&self, other: &Self) -> Order {
        self.0.words().cmp(other.0.words())
    }
}

impl Cause {
    pub(crate) fn input(&self) -> Input<'_> {
        match self {
            Self::Message(src, payload) => Input::Message { src: *src, payload },
            Self::Quorum(name, messages) => Input::Quorum { name, messages },
            Self::Local(event) => Input::Local(event),
        }
    }

    /// The kind of the handler: the function, and the protocol's name for the event, if it has one.
    pub(crate) fn kind(&self) -> (&'static str, &str) {
        let name = match self {
            Self::Message(..) => "",
            Self::Quorum(name, _) => name,
            Self::Local(event) => &event.name,
        };
        (self.function(), name)
    }

    pub(crate) fn function(&self) -> &'static str {
        match self {
            Self::Message(..) => "handle-message",
            Self::Quorum(..) => "handle-quorum",
            Self::Local(_) => "handle-local",
        }
    }
}

impl Audit {
    pub(crate) fn new(mode: Mode) -> Self {
        Self { mode, greatest: AtomicU64::new(u64::MAX), notes: Mutex::default() }
    }

    /// The number of states to audit.
    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether to record a state.
    pub(crate) fn wants(&self, fingerprint: Fingerprint) -> bool {
        match self.mode {
            Mode::Off => false,
            Mode::Sampled => (fingerprint >> 64) as u64 <= self.greatest.load(Ordering::Relaxed),
            Mode::Full => true,
        }
    }

    /// Records a state, and the call that reached it.
    pub(crate) fn note(&self, arrival: &Arrival<'_>, snapshot: Snapshot) {
        let Arrival { node, encoding, fingerprint, from, input, script } = *arrival;
        let cause = match input {
            Input::Message { src, payload } => Some(Cause::Message(src, payload.to_vec())),
            Input::Quorum { name, messages } => Some(Cause::Quorum(name.to_owned(), messages.to_vec())),
            Input::Local(event) => Some(Cause::Local(event.clone())),
            Input::Init { .. } | Input::TransportError { .. } => None,
        };
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = Kept(snapshot);
        let fresh = || State {
            node,
            encoding: encoding.to_vec(),
            least: kept.clone(),
            greatest: kept.clone(),
            ways: BTreeSet::new(),
        };
        let state = notes.states.entry(fingerprint).or_insert_with(fresh);
        if kept < state.least {
            state.least = kept;
        } else if kept > state.greatest {
            state.greatest = kept;
        }
        if let (Some(cause), Some(from)) = (cause, from) {
            insert(&mut state.ways, Way { cause, script: script.to_vec(), from: Kept(from.clone()) }, WAYS_MAX);
        }
        if self.mode == Mode::Sampled && notes.states.len() > SAMPLE {
            // An evicted entry has 128 lesser ones, and they stay: it can never return.
            notes.states.pop_last();
            if let Some((last, _)) = notes.states.last_key_value() {
                self.greatest.store((last >> 64) as u64, Ordering::Relaxed);
            }
        }
    }

    /// Records a call of `invariant`.
    pub(crate) fn ask(&self, property: u32, views: &[Option<&[u8]>]) {
        if self.mode != Mode::Off {
            let views = views.iter().map(|view| view.map(<[u8]>::to_vec)).collect();
            let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
            insert(&mut notes.questions, (property, views), QUESTIONS_MAX);
        }
    }
}

impl Notes {
    /// Some messages of each node: those that led to a state of the sample.
    pub(crate) fn messages(&self) -> BTreeMap<NodeId, BTreeSet<(NodeId, Vec<u8>)>> {
        let mut messages: BTreeMap<NodeId, BTreeSet<(NodeId, Vec<u8>)>> = BTreeMap::new();
        for state in self.states.values() {
            for way in &state.ways {
                if let Cause::Message(src, payload) = &way.cause {
                    insert(messages.entry(state.node).or_default(), (*src, payload.clone()), MESSAGES_MAX);
                }
            }
        }
        messages
    }
}

/// Keeps the least elements.
fn insert<T: Ord>(set: &mut BTreeSet<T>, element: T, max: usize) {
    if set.len() >= max && set.last().is_some_and(|last| *last <= element) {
        return;
    }
    set.insert(element);
    if set.len() > max {
        set.pop_last();
    }
}
