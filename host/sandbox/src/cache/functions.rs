//! Machine code of single functions.
//!
//! What the code generator made of a function in one component is right for the same function in another one: its key is a hash of
//! the intermediate code, of the target and of all settings, and indices of functions are no part of either. So an edit costs the
//! generator the functions that changed, and plugins in one language share the functions of its library.
//!
//! A few functions have more than one key. Wasmtime translates one function after the other in the same place, which it clears in between,
//! and cranelift 0.135 forgets the exception table of a trampoline there (`DataFlowGraph::clear`): the hash of those that follow has it,
//! though their code is the same. Which ones follow depends on the threads, so some of them are generated once more. That costs time alone.
//!
//! The functions that one component needed anew are a *collection*, a file that never changes:
//!
//! ```text
//! magic, blake3 of the index, count of functions, index: { key, blake3 of the code, offset, length } ..., code ...
//! ```
//!
//! Only the index is read at once. A function that is damaged is generated again, a collection with a damaged index is none.

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
    /// How many components are being compiled.
    open: usize,
    collections: Vec<Collection>,
    places: HashMap<Key, Place>,
    /// Those that were generated anew.
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

/// A component is being compiled. What was generated anew is written at the end.
#[derive(Debug)]
pub(super) struct Opened<'a>(&'a Functions);

impl Functions {
    /// Those of a folder, which is not looked at yet.
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir, state: Mutex::default() }
    }

    /// Reads the indices of the collections that belong to this user alone. The folder must be one that nobody else can write to.
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

    fn state(&self) -> MutexGuard<'_, State> {
        // Nobody panics with the lock, and if: what it holds is only used where it is intact.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
            let [offset, length] = [offset, length].map(|bytes| u64::from_le_bytes(bytes.try_into().expect("eight")));
            let hash = hash.try_into().expect("as long as a hash");
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
