//! Facts about modules that many components have: those of an interpreter, which are the same for every program.
//!
//! Once its machine code is cached, checking, reading and rewriting such a module takes most of the time of
//! loading. So a file stores the results:
//!
//! ```text
//! magic, blake3 of the rest, request, bytes of the facts, facts, rewritten module
//! ```
//!
//! It is named after the content of the module and the text of all code that reads, checks and rewrites it. The *request* is the
//! input to the rewriting from the component around the module, which can differ.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use wasmtime::Engine;

use super::{Blake, Cache, private};
use crate::check;
use crate::rewrite::{self, CodeFacts, Known};

/// The extension of a file.
pub(super) const MODULE: &str = "module";

const MAGIC: &[u8; 8] = b"hostmo01";

/// Bytes of a module below which reading it again takes no time.
const BYTES_MIN: usize = 16 << 10;

/// The content of a file.
struct KnownModule {
    code: Rc<CodeFacts>,
    request: blake3::Hash,
    rewritten: Vec<u8>,
}

/// The modules that are known while a component is loaded.
pub(crate) struct Modules<'a> {
    place: Option<Place<'a>>,
    seen: RefCell<HashMap<blake3::Hash, Option<Rc<KnownModule>>>>,
}

struct Place<'a> {
    dir: &'a Path,
    user: u32,
    /// A hash of everything, except the module, on which the content of a file depends.
    recipe: blake3::Hash,
}

impl<'a> Modules<'a> {
    /// The modules of a cache; none if there is no cache, or others can write to it.
    pub(crate) fn of(engine: &Engine, cache: Option<&'a Cache>) -> Self {
        let place = cache.and_then(|cache| {
            let user = private::folder(&cache.dir).ok()??;
            let mut recipe = Blake(blake3::Hasher::new());
            // The parser and the encoder are those of this version of wasmtime.
            engine.precompile_compatibility_hash().hash(&mut recipe);
            for source in [check::SOURCES.as_slice(), &rewrite::SOURCES].concat() {
                recipe.write(source.as_bytes());
            }
            Some(Place { dir: &cache.dir, user, recipe: recipe.0.finalize() })
        });
        Self { place, seen: RefCell::default() }
    }

    fn get(&self, module: &[u8]) -> Option<Rc<KnownModule>> {
        let (digest, path) = self.file(module)?;
        let user = self.place.as_ref()?.user;
        self.seen.borrow_mut().entry(digest).or_insert_with(|| read(&path, user).map(Rc::new)).clone()
    }

    fn file(&self, module: &[u8]) -> Option<(blake3::Hash, PathBuf)> {
        let place = self.place.as_ref().filter(|_| module.len() >= BYTES_MIN)?;
        let digest = blake3::keyed_hash(place.recipe.as_bytes(), module);
        Some((digest, place.dir.join(digest.to_hex().as_str()).with_extension(MODULE)))
    }
}

impl Known for Modules<'_> {
    fn code(&self, module: &[u8]) -> Option<Rc<CodeFacts>> {
        Some(Rc::clone(&self.get(module)?.code))
    }

    fn rewritten(&self, module: &[u8], request: blake3::Hash) -> Option<Vec<u8>> {
        self.get(module).filter(|known| known.request == request).map(|known| known.rewritten.clone())
    }

    fn keep(&self, module: &[u8], code: &CodeFacts, request: blake3::Hash, rewritten: &[u8]) {
        let Some((_, path)) = self.file(module) else { return };
        let Ok(facts) = postcard::to_allocvec(code) else { return };
        let bytes = facts.len() as u64;
        let rest = [request.as_bytes(), bytes.to_le_bytes().as_slice(), &facts, rewritten].concat();
        // A cache that cannot be used only costs time.
        let _ = private::write_sealed(&path, MAGIC, &rest);
    }
}

fn read(path: &Path, user: u32) -> Option<KnownModule> {
    let file = private::read(path, user)?;
    let (request, rest) = private::unsealed(&file, MAGIC)?.split_first_chunk::<{ blake3::OUT_LEN }>()?;
    let (bytes, rest) = rest.split_first_chunk()?;
    let (facts, rewritten) = rest.split_at_checked(u64::from_le_bytes(*bytes).try_into().ok()?)?;
    let code = Rc::new(postcard::from_bytes(facts).ok()?);
    Some(KnownModule { code, request: (*request).into(), rewritten: rewritten.to_vec() })
}
