//! Compiled code on disk.
//!
//! Cranelift takes seconds for a large component and no time for one compiled before. An entry is named after
//! everything that its content depends on; it starts with a hash of the rest, so that a damaged file is noticed and
//! compiled again. Folder and entry belong to this user, and only this user can write to them: machine code of others is never loaded.
//!
//! There are entries for components and for the libraries that these import, and collections of single functions: an edit changes few
//! of them, and the others need no code generator.
//!
//! | module | what it holds |
//! |---|---|
//! | `private` | files that belong to this user alone |
//! | `functions` | machine code of single functions |
//! | `modules` | facts about modules that many components have |
//! | `room` | the room that all files take, and the files to remove when it is too much |
//! | `turn` | hosts that want the same entry at once: one makes it |
#![allow(unsafe_code, reason = "wasmtime cannot check compiled code, so loading it is the caller's responsibility")]

mod functions;
mod modules;
mod private;
pub(crate) mod room;
mod turn;

use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use wasmtime::component::Component;
use wasmtime::{Engine, Module};

use crate::rewrite::Rewritten;

pub(crate) use functions::Functions;
pub(crate) use modules::Modules;
use turn::Turn;

const MAGIC: &[u8; 8] = b"hostcw02";

/// The extension of an entry for a component or a library.
const CODE: &str = "cwasm";

/// Feeds a blake3 hasher through the standard trait.
struct Blake(blake3::Hasher);

impl Hasher for Blake {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        u64::from_le_bytes(
            self.0.finalize().as_bytes()[..8].try_into().expect("a slice of eight bytes fits eight bytes"),
        )
    }
}

/// A folder of compiled code.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    pub dir: PathBuf,
    pub functions: Arc<Functions>,
}

impl Cache {
    /// A cache that reads and makes nothing before its first use.
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self { functions: Arc::new(Functions::new(dir.clone())), dir }
    }
}

/// The result of a use of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// The compiled code was there.
    Found,
    /// Some of the code was missing, or there is no cache.
    Missed,
    /// Others can write to the folder, or it belongs to another user.
    Refused,
}

/// Machine code of a rewritten component.
pub(crate) struct Code {
    pub component: Component,
    /// The libraries that it imports, in order.
    pub libraries: Vec<Module>,
    pub cache: Use,
}

/// Receives the progress until there is machine code.
pub(crate) trait Progress {
    /// A component or library is going to be compiled.
    fn misses(&mut self) {}

    /// This much time has passed while another host compiles a component or library that is wanted here as well.
    fn waits(&mut self, _passed: Duration) {}
}

impl Progress for () {}

/// Compiles a component and its libraries, or takes them from the cache.
pub(crate) fn compile(
    engine: &Engine,
    cache: Option<&Cache>,
    rewritten: &Rewritten,
    progress: &mut dyn Progress,
) -> wasmtime::Result<Code> {
    let Some(cache) = cache else { return compile_all(engine, rewritten, Use::Missed, progress) };
    // A cache that cannot be used only costs time.
    let user = match private::folder(&cache.dir) {
        Ok(Some(user)) => user,
        Ok(None) => return compile_all(engine, rewritten, Use::Refused, progress),
        Err(_) => return compile_all(engine, rewritten, Use::Missed, progress),
    };
    let mut used = Use::Found;
    let mut libraries = Vec::new();
    for library in &rewritten.libraries {
        libraries.push(find::<Module>(engine, cache, user, library, &mut used, progress)?);
    }
    let component = find::<Component>(engine, cache, user, &rewritten.bytes, &mut used, progress)?;
    if used == Use::Missed {
        room::make(&cache.dir);
    }
    Ok(Code { component, libraries, cache: used })
}

fn compile_all(
    engine: &Engine,
    rewritten: &Rewritten,
    cache: Use,
    progress: &mut dyn Progress,
) -> wasmtime::Result<Code> {
    progress.misses();
    let libraries = rewritten.libraries.iter().map(|library| Module::from_binary(engine, library));
    let libraries = libraries.collect::<wasmtime::Result<_>>()?;
    Ok(Code { component: Component::from_binary(engine, &rewritten.bytes)?, libraries, cache })
}

/// A component or a library.
trait Compiled: Sized {
    /// Distinguishes their entries.
    const KIND: u8;
    /// Whether its functions are cached one by one after compilation: those of a library never change.
    const HAS_FUNCTIONS: bool;
    fn compile(engine: &Engine, bytes: &[u8]) -> wasmtime::Result<Self>;
    fn code(&self) -> wasmtime::Result<Vec<u8>>;
    /// # Safety
    ///
    /// The code is that of [`code`](Self::code).
    unsafe fn load(engine: &Engine, code: &[u8]) -> wasmtime::Result<Self>;
}

impl Compiled for Component {
    const KIND: u8 = 0;
    const HAS_FUNCTIONS: bool = true;

    fn compile(engine: &Engine, bytes: &[u8]) -> wasmtime::Result<Self> {
        Self::from_binary(engine, bytes)
    }

    fn code(&self) -> wasmtime::Result<Vec<u8>> {
        self.serialize()
    }

    unsafe fn load(engine: &Engine, code: &[u8]) -> wasmtime::Result<Self> {
        // SAFETY: as the caller promises.
        unsafe { Self::deserialize(engine, code) }
    }
}

impl Compiled for Module {
    const KIND: u8 = 1;
    const HAS_FUNCTIONS: bool = false;

    fn compile(engine: &Engine, bytes: &[u8]) -> wasmtime::Result<Self> {
        Self::from_binary(engine, bytes)
    }

    fn code(&self) -> wasmtime::Result<Vec<u8>> {
        self.serialize()
    }

    unsafe fn load(engine: &Engine, code: &[u8]) -> wasmtime::Result<Self> {
        // SAFETY: as the caller promises.
        unsafe { Self::deserialize(engine, code) }
    }
}

/// The file for a component or library as compiled by an engine.
fn entry<C: Compiled>(dir: &Path, engine: &Engine, bytes: &[u8]) -> PathBuf {
    let mut hasher = Blake(blake3::Hasher::new());
    // Covers the version of wasmtime, the target and every setting that compiled code depends on.
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.write_u8(C::KIND);
    hasher.write(bytes);
    dir.join(hasher.0.finalize().to_hex().as_str()).with_extension(CODE)
}

fn find<C: Compiled>(
    engine: &Engine,
    cache: &Cache,
    user: u32,
    bytes: &[u8],
    used: &mut Use,
    progress: &mut dyn Progress,
) -> wasmtime::Result<C> {
    let path = entry::<C>(&cache.dir, engine, bytes);
    if let Some(found) = read(engine, &path, user) {
        return Ok(found);
    }
    let _turn = Turn::wait_for(&path, &mut |passed| progress.waits(passed));
    if let Some(found) = read(engine, &path, user) {
        return Ok(found);
    }
    progress.misses();
    *used = Use::Missed;
    let opened = cache.functions.open(user);
    let made = C::compile(engine, bytes)?;
    let written = made.code().and_then(|code| Ok(private::write_sealed(&path, MAGIC, &code)?));
    if !C::HAS_FUNCTIONS && written.is_ok() {
        opened.without_new();
    }
    Ok(made)
}

fn read<C: Compiled>(engine: &Engine, path: &Path, user: u32) -> Option<C> {
    let file = private::read(path, user)?;
    let code = private::unsealed(&file, MAGIC)?;
    // SAFETY: `load` trusts its input to come from `code`. The file is named after its source and the engine's
    // configuration, it and its folder belong to this user, only this user can write to them, and it is intact by its
    // hash: an attacker who can forge all that can replace the host itself. Other versions or settings are refused by wasmtime.
    unsafe { C::load(engine, code) }.ok()
}
