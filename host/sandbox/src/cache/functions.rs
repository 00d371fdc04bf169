//! Machine code of single functions.
//!
//! Code generated for a function in one component is right for the same function in another one: its key is a hash of
//! the intermediate code, of the target and of all settings, and indices of functions are no part of either. So an edit costs the
//! generator the functions that changed, and plugins in one language share the functions of its library.
//!
//! A few functions have more than one key. Wasmtime translates one function after the other in the same place, which it clears in between,
//! but cranelift 0.135 forgets the exception table of a trampoline there (`DataFlowGraph::clear`): the hash of the functions that follow
//! includes it, though their code is the same. The threads decide which ones follow, so some are generated once more. That only costs time.
//!
//! The functions newly needed by one component are a *collection*, a file that never changes. So are those of a compilation that was
//! abandoned, of a component or a library, so that the next attempt begins where that one ended:
//!
//! ```text
//! magic, blake3 of the index, count of functions, index: { key, blake3 of the code, offset, length } ..., code ...
//! ```
//!
//! Only the index is read at once. A damaged function is generated again, and a collection with a damaged index is ignored.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use wasmtime::CacheStore;

use super::private;
use super::room::{self, FUNCTIONS};

const MAGIC: &[u8; 8] = b"hostfn01";

/// Bytes before the index: magic, hash, count.
const HEAD: usize = 8 + blake3::OUT_LEN + 8;

/// Bytes of a key, which is a SHA-256.
const KEY: usize = 32;

/// Bytes of a row of the index.
const ROW: usize = KEY + blake3::OUT_LEN + 16;

type Key = [u8; KEY];

/// The functions of a folder. Empty while no component is compiled.
#[derive(Debug)]
pub(crate) struct Functions {
    dir: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Number of components that are being compiled.
    open: usize,
    collections: Vec<Collection>,
    places: HashMap<Key, Place>,
    /// The functions that were newly generated.
    new: BTreeMap<Key, Vec<u8>>,
}

#[derive(Debug)]
struct Collection {
    file: File,
    is_used: bool,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    collection: usize,
    hash: [u8; blake3::OUT_LEN],
    offset: u64,
    length: u64,
}

/// A compilation in progress. At its end the newly generated functions are written.
#[derive(Debug)]
pub(super) struct Opened<'a>(&'a Functions);

impl Functions {
    /// The functions of a folder, which is not read yet.
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir, state: Mutex::default() }
    }

    /// Reads the indices of the collections that belong to this user alone. Only this user may be able to write to the folder.
    pub(super) fn open(&self, user: u32) -> Opened<'_> {
        let mut state = self.state();
        if state.open == 0 {
            for path in room::files(&self.dir).filter(|file| file.has_extension(FUNCTIONS)).map(|file| file.path) {
                state.add(&path, user);
            }
        }
        state.open += 1;
        Opened(self)
    }

    /// Writes the functions that were generated until now, for a compilation that is abandoned; returns their number.
    pub(crate) fn keep(&self) -> usize {
        let new = std::mem::take(&mut self.state().new);
        match new.is_empty() || write(&self.dir, &new).is_err() {
            true => 0,
            false => new.len(),
        }
    }

    /// The number of functions that the current compilations generated.
    #[cfg(test)]
    pub(crate) fn new_count(&self) -> usize {
        self.state().new.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No holder of the lock panics, and if one did: the data is only used if it is intact.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Opened<'_> {
    /// The generated functions are in another file by now. Those of concurrent compilations cannot be distinguished, so then all stay.
    pub(super) fn without_new(self) {
        let mut state = self.0.state();
        if state.open == 1 {
            state.new.clear();
        }
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.open -= 1;
        let new = std::mem::take(&mut state.new);
        for collection in state.collections.iter().filter(|collection| collection.is_used) {
            private::touch(&collection.file);
        }
        if state.open == 0 {
            *state = State::default();
        }
        drop(state);
        if !new.is_empty() {
            // A cache that cannot be used only costs time.
            let _ = write(&self.0.dir, &new);
        }
    }
}

impl CacheStore for Functions {
    fn get(&self, key: &[u8]) -> Option<Cow<'_, [u8]>> {
        let mut state = self.state();
        let key = Key::try_from(key).ok()?;
        if let Some(code) = state.new.get(&key) {
            return Some(code.clone().into());
        }
        let place = *state.places.get(&key)?;
        let collection = &mut state.collections[place.collection];
        collection.is_used = true;
        let code = collection.read(place.offset, place.length)?;
        (*blake3::hash(&code).as_bytes() == place.hash).then_some(code.into())
    }

    fn insert(&self, key: &[u8], code: Vec<u8>) -> bool {
        let mut state = self.state();
        match Key::try_from(key) {
            Ok(key) if state.open > 0 => {
                state.new.insert(key, code);
                true
            }
            _ => false,
        }
    }
}

impl State {
    /// Adds a collection, if it is intact.
    fn add(&mut self, path: &Path, user: u32) -> Option<()> {
        let (file, length) = private::open(path, user)?;
        let mut collection = Collection { file, is_used: false };
        let head = collection.read(0, HEAD as u64)?;
        let (hash, count) = head.strip_prefix(MAGIC)?.split_at(blake3::OUT_LEN);
        let count = u64::from_le_bytes(count.try_into().ok()?);
        let index_bytes = count.checked_mul(ROW as u64).filter(|&bytes| bytes <= length)?;
        let index = collection.read(HEAD as u64, index_bytes)?;
        if *blake3::hash(&index).as_bytes() != *hash {
            return None;
        }
        let number = self.collections.len();
        self.collections.push(collection);
        for row in index.chunks_exact(ROW) {
            let (key, rest) = row.split_at(KEY);
            let (hash, rest) = rest.split_at(blake3::OUT_LEN);
            let (offset, length) = rest.split_at(8);
            let [offset, length] = [offset, length]
                .map(|bytes| u64::from_le_bytes(bytes.try_into().expect("the record was split after eight bytes")));
            let hash = hash.try_into().expect("the record was split after a hash");
            let place = Place { collection: number, hash, offset, length };
            self.places.insert(key.try_into().expect("as long as a key"), place);
        }
        Some(())
    }
}

impl Collection {
    fn read(&mut self, offset: u64, length: u64) -> Option<Vec<u8>> {
        self.file.seek(SeekFrom::Start(offset)).ok()?;
        let mut bytes = Vec::new();
        (&self.file).take(length).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 == length).then_some(bytes)
    }
}

/// Writes a collection, named after its content.
fn write(dir: &Path, functions: &BTreeMap<Key, Vec<u8>>) -> std::io::Result<()> {
    let mut offset = (HEAD + ROW * functions.len()) as u64;
    let mut index = Vec::new();
    for (key, code) in functions {
        let length = code.len() as u64;
        index.extend(key);
        index.extend(blake3::hash(code).as_bytes());
        index.extend(offset.to_le_bytes());
        index.extend(length.to_le_bytes());
        offset += length;
    }
    let hash = blake3::hash(&index);
    let count = (functions.len() as u64).to_le_bytes();
    let mut parts: Vec<&[u8]> = vec![MAGIC, hash.as_bytes(), &count, &index];
    parts.extend(functions.values().map(Vec::as_slice));
    private::write(&dir.join(hash.to_hex().as_str()).with_extension(FUNCTIONS), &parts)
}
