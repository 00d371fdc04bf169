//! The state of a third-party library, and the ways to tell such states apart.
//!
//! | module | what it holds |
//! |---|---|
//! | `debug_text` | `Debug` text: parts cut out of it, and its JSON form |

mod debug_text;

use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

use serde::Serialize;

use crate::codec::encode;

/// The way to distinguish states of a library. `assumed.identity` in the report of a search is `memory` for [`Memory`](Self::Memory), and
/// `serialized` for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The whole memory of the node, compared by the host: nothing can be left out, so equal states behave alike by construction.
    ///
    /// States that differ only in addresses, or in spare capacity of containers, are distinguished. With [`arena!`](crate::arena) freed
    /// memory does not count, and addresses depend only on the allocated blocks. Memory that was moved from the stack can contain
    /// padding: equal histories give equal padding, so it costs states, never an answer.
    Memory,
    /// The `Debug` text. State that the text does not show must not affect behaviour.
    Debug {
        /// Names of fields that are left out with their values, wherever they are: caches, statistics, loggers.
        without: &'static [&'static str],
    },
    /// [`Distinguish::digest`].
    Digest,
    /// All that happened to the node: events and answers of [`choose`](crate::Context::choose), in order. Always right, but only equal
    /// histories are merged, so complete strategies reach depths of a few events; walks do not mind.
    History,
}

impl By {
    /// The name, for reports.
    pub fn name(self) -> String {
        match self {
            Self::Memory => "memory".to_owned(),
            Self::Debug { without: [] } => "the Debug text".to_owned(),
            Self::Debug { without } => format!("the Debug text without {}", without.join(", ")),
            Self::Digest => "a digest by the author".to_owned(),
            Self::History => "the history of events".to_owned(),
        }
    }
}

/// The state of a library inside an [`Opaque`], and the way to distinguish such states. `Debug` is the text for people.
///
/// ```
/// use guest_sdk::{By, Digest, Distinguish, Opaque};
///
/// /// From a library: no `Clone`, no `Eq`, no `Hash`, no serde.
/// #[derive(Debug)]
/// struct Counter {
///     value: u64,
///     calls: u64,
/// }
///
/// #[derive(Debug)]
/// struct Node(Counter);
///
/// impl Distinguish for Node {
///     const BY: By = By::Debug { without: &["calls"] };
/// }
///
/// let state = Opaque::new(Node(Counter { value: 3, calls: 7 }));
/// assert_eq!(state.0.value, 3);
/// ```
pub trait Distinguish: Debug + Sized + 'static {
    /// The way to distinguish states.
    const BY: By;

    /// With [`By::Digest`]: feeds everything that can affect the behaviour of the node from now on.
    fn digest(&self, digest: &mut Digest) {
        let _ = digest;
        panic!("states are told apart by a digest, and there is no `digest`");
    }

    /// A copy, for native tests that explore all executions; none by default: then a native cluster plays a single execution.
    fn duplicate(&self) -> Option<Self> {
        None
    }
}

/// The bytes of a [`By::Digest`]. A [`Hasher`], so `value.hash(digest)` feeds all parts of a value.
#[derive(Clone, Debug, Default)]
pub struct Digest(Vec<u8>);

impl Digest {
    /// Feeds a value by its `Hash`.
    pub fn hash(&mut self, value: &(impl Hash + ?Sized)) {
        value.hash(self);
    }

    /// Feeds a value by its `Serialize`.
    pub fn serde(&mut self, value: &impl Serialize) {
        self.part(&encode(value));
    }

    /// Feeds a value by its `Debug` text.
    pub fn debug(&mut self, value: &(impl Debug + ?Sized)) {
        self.part(format!("{value:?}").as_bytes());
    }

    /// Feeds bytes with their length, so that two parts cannot be mistaken for two others.
    fn part(&mut self, bytes: &[u8]) {
        self.0.extend((bytes.len() as u32).to_le_bytes());
        self.0.extend(bytes);
    }
}

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    /// The bytes themselves are compared, so the hash is unused.
    fn finish(&self) -> u64 {
        0
    }
}

/// A state without `Clone`, `Eq`, `Hash` or serde, distinguished as its [`Distinguish`] says. Derefs to the state.
#[derive(Debug)]
pub struct Opaque<T> {
    state: T,
    /// With [`By::History`]: each event with its length before it.
    history: Vec<u8>,
}

impl<T: Distinguish> Opaque<T> {
    pub(crate) const IS_BY_MEMORY: bool = matches!(T::BY, By::Memory);
    pub(crate) const IS_BY_HISTORY: bool = matches!(T::BY, By::History);

    /// Wraps a state.
    pub fn new(state: T) -> Self {
        Self { state, history: Vec::new() }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        match T::BY {
            By::Memory => Vec::new(),
            By::Debug { without } => debug_text::without(&format!("{:?}", self.state), without).into_bytes(),
            By::Digest => {
                let mut digest = Digest::default();
                self.state.digest(&mut digest);
                digest.0
            }
            By::History => self.history.clone(),
        }
    }

    pub(crate) fn json(&self) -> String {
        debug_text::json(&format!("{:?}", self.state)).to_string()
    }

    pub(crate) fn copy(&self) -> Option<Self> {
        Some(Self { state: self.state.duplicate()?, history: self.history.clone() })
    }

    pub(crate) fn remember(&mut self, event: &[u8]) {
        if Self::IS_BY_HISTORY {
            self.history.extend((event.len() as u32).to_le_bytes());
            self.history.extend(event);
        }
    }
}

impl<T> Deref for Opaque<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.state
    }
}

impl<T> DerefMut for Opaque<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    #[allow(dead_code, reason = "read by Debug")]
    struct Library {
        value: u32,
        calls: u32,
    }

    macro_rules! identified {
        ($name:ident, $by:expr $(, $digest:item)?) => {
            #[derive(Debug)]
            #[allow(dead_code, reason = "read by Debug")]
            struct $name(Library);

            impl Distinguish for $name {
                const BY: By = $by;
                $($digest)?
            }

            impl $name {
                fn state(value: u32, calls: u32) -> Opaque<Self> {
                    Opaque::new(Self(Library { value, calls }))
                }
            }
        };
    }

    identified!(ByText, By::Debug { without: &[] });
    identified!(ByCutText, By::Debug { without: &["calls"] });
    identified!(ByHistory, By::History);
    identified!(
        ByDigest,
        By::Digest,
        fn digest(&self, digest: &mut Digest) {
            digest.hash(&self.0.value);
        }
    );

    #[test]
    fn each_way_tells_apart_what_it_says() {
        assert_ne!(ByText::state(1, 1).bytes(), ByText::state(1, 2).bytes());
        assert_eq!(ByCutText::state(1, 1).bytes(), ByCutText::state(1, 2).bytes());
        assert_ne!(ByCutText::state(1, 1).bytes(), ByCutText::state(2, 1).bytes());
        assert_eq!(ByDigest::state(1, 1).bytes(), ByDigest::state(1, 2).bytes());
        assert_ne!(ByDigest::state(1, 1).bytes(), ByDigest::state(2, 1).bytes());
    }

    #[test]
    fn histories_of_the_same_bytes_in_other_pieces_differ() {
        let after = |events: &[&[u8]]| {
            let mut state = ByHistory::state(1, 1);
            events.iter().for_each(|event| state.remember(event));
            state.bytes()
        };
        assert_ne!(after(&[b"ab", b"c"]), after(&[b"a", b"bc"]));
        assert_eq!(after(&[b"ab", b"c"]), after(&[b"ab", b"c"]));
        let mut text = ByText::state(1, 1);
        let before = text.bytes();
        text.remember(b"ab");
        assert_eq!(text.bytes(), before, "only a history has events");
    }

    #[test]
    fn parts_of_a_digest_do_not_run_together() {
        let of = |parts: [&str; 2]| {
            let mut digest = Digest::default();
            parts.iter().for_each(|part| digest.debug(part));
            digest.0
        };
        assert_ne!(of(["a", "bc"]), of(["ab", "c"]));
    }

    #[test]
    fn people_see_the_debug_text_as_json() {
        let json: serde_json::Value = serde_json::from_str(&ByDigest::state(1, 2).json()).expect("it is JSON");
        // Compared as values: the parser keeps the order of fields only if a feature of it is on.
        assert_eq!(json, serde_json::json!({"Library": {"calls": 2, "value": 1}}));
    }

    #[test]
    fn ways_have_names() {
        let names = [By::Memory, By::Debug { without: &["a", "b"] }, By::Digest, By::History].map(By::name);
        assert_eq!(names, ["memory", "the Debug text without a, b", "a digest by the author", "the history of events"]);
    }
}
