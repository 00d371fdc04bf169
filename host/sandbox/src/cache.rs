//! Compiled code on disk.
//!
//! Cranelift takes seconds for a large component and no time at all for one compiled before. An entry is named after
//! everything that its content depends on; it starts with a hash of the rest, so that a damaged file is noticed and
//! compiled again. Folder and entry belong to this user, and nobody else can write to them: machine code of others is never loaded.
#![allow(unsafe_code, reason = "wasmtime cannot check compiled code, so loading it is the caller's responsibility")]

use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use wasmtime::Engine;
use wasmtime::component::Component;

const MAGIC: &[u8; 8] = b"hostcw01";

/// Bytes of an entry: far more than a component within the largest limit of its size compiles to.
const ENTRY_BYTES_MAX: u64 = 16 << 30;

/// Feeds a blake3 hasher through the standard trait.
struct Blake(blake3::Hasher);

impl Hasher for Blake {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        u64::from_le_bytes(self.0.finalize().as_bytes()[..8].try_into().expect("eight bytes"))
    }
}

/// The file for a component as compiled by an engine.
fn entry(dir: &Path, engine: &Engine, bytes: &[u8]) -> PathBuf {
    let mut hasher = Blake(blake3::Hasher::new());
    // Covers the version of wasmtime, the target and every setting that compiled code depends on.
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.write(bytes);
    dir.join(format!("{}.cwasm", hasher.0.finalize().to_hex()))
}

/// The use that was made of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// The compiled code was there.
    Found,
    /// It was not, or there is no cache.
    Missed,
    /// Others can write to the folder, or it belongs to another user.
    Refused,
}

/// Compiles a component, or takes it from the cache.
pub(crate) fn compile(engine: &Engine, dir: Option<&Path>, bytes: &[u8]) -> wasmtime::Result<(Component, Use)> {
    let Some(dir) = dir else {
        return Ok((Component::from_binary(engine, bytes)?, Use::Missed));
    };
    // A cache that cannot be used only costs time.
    let user = match make(dir) {
        Ok(Some(user)) => user,
        Ok(None) => return Ok((Component::from_binary(engine, bytes)?, Use::Refused)),
        Err(_) => return Ok((Component::from_binary(engine, bytes)?, Use::Missed)),
    };
    let path = entry(dir, engine, bytes);
    if let Some(component) = read(engine, &path, user) {
        return Ok((component, Use::Found));
    }
    let component = Component::from_binary(engine, bytes)?;
    if let Ok(code) = component.serialize() {
        let _ = write(&path, &code);
    }
    Ok((component, Use::Missed))
}

/// Makes the folder if it is not there. Says whose it is: this user's, by a file made for that; nobody's if others can write to it.
fn make(dir: &Path) -> io::Result<Option<u32>> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    own::only_folder(&mut builder);
    builder.create(dir)?;
    let probe = temporary(&dir.join("owner"));
    let made = new_file(&probe).and_then(|file| file.metadata());
    let removed = fs::remove_file(&probe);
    let user = own::user(&made?);
    removed?;
    Ok(own::is_private(&fs::metadata(dir)?, user).then_some(user))
}

/// Reads an entry, if it is a regular file of this user alone and no larger than compiled code can be. Never waits.
fn read_private(path: &Path, user: u32) -> Option<Vec<u8>> {
    // A look before the opening, which has effects on some devices; and one after it, for a path that was exchanged.
    let is_fine = |metadata: &fs::Metadata| {
        metadata.is_file() && own::is_private(metadata, user) && metadata.len() <= ENTRY_BYTES_MAX
    };
    if !is_fine(&fs::symlink_metadata(path).ok()?) {
        return None;
    }
    let mut options = fs::OpenOptions::new();
    options.read(true);
    own::do_not_wait(&mut options);
    let file = options.open(path).ok()?;
    let metadata = file.metadata().ok()?;
    if !is_fine(&metadata) {
        return None;
    }
    let mut content = Vec::new();
    content.try_reserve_exact(metadata.len() as usize).ok()?;
    file.take(metadata.len()).read_to_end(&mut content).ok()?;
    Some(content)
}

/// Things that only some systems know of: owners, modes, and files that make their reader wait.
#[cfg(unix)]
mod own {
    use std::fs::{DirBuilder, Metadata, OpenOptions};
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};

    use rustix::fs::OFlags;

    /// Whether a file or folder belongs to a user, and nobody else can write to it.
    pub(super) fn is_private(metadata: &Metadata, user: u32) -> bool {
        metadata.uid() == user && metadata.mode() & 0o022 == 0
    }

    pub(super) fn user(metadata: &Metadata) -> u32 {
        metadata.uid()
    }

    pub(super) fn only_folder(builder: &mut DirBuilder) {
        builder.mode(0o700);
    }

    pub(super) fn only_file(options: &mut OpenOptions) {
        options.mode(0o600);
    }

    pub(super) fn do_not_wait(options: &mut OpenOptions) {
        options.custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed());
    }
}

#[cfg(not(unix))]
mod own {
    use std::fs::{DirBuilder, Metadata, OpenOptions};

    pub(super) fn is_private(_: &Metadata, _: u32) -> bool {
        true
    }

    pub(super) fn user(_: &Metadata) -> u32 {
        0
    }

    pub(super) fn only_folder(_: &mut DirBuilder) {}

    pub(super) fn only_file(_: &mut OpenOptions) {}

    pub(super) fn do_not_wait(_: &mut OpenOptions) {}
}

fn read(engine: &Engine, path: &Path, user: u32) -> Option<Component> {
    let file = read_private(path, user)?;
    let rest = file.strip_prefix(MAGIC)?;
    let (hash, code) = rest.split_at_checked(blake3::OUT_LEN)?;
    if blake3::hash(code) != *<&[u8; blake3::OUT_LEN]>::try_from(hash).ok()? {
        return None;
    }
    // SAFETY: `deserialize` trusts its input to come from `serialize`. The file is named after the component and the
    // engine's configuration, it and its folder belong to this user and nobody else can write to them, and it is intact by its
    // hash: who can forge all that can replace the host itself. Other versions or settings are refused by wasmtime.
    unsafe { Component::deserialize(engine, code) }.ok()
}

/// A name beside another one that no other writer has.
fn temporary(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let nth = NEXT.fetch_add(1, Ordering::Relaxed);
    path.with_extension(format!("{}-{nth}.tmp", std::process::id()))
}

/// A file that was not there before, for this user alone.
fn new_file(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    own::only_file(&mut options);
    options.open(path)
}

/// Writes beside the entry and renames, so that no reader ever sees half a file.
fn write(path: &Path, code: &[u8]) -> io::Result<()> {
    let temporary = temporary(path);
    let mut file = new_file(&temporary)?;
    let mut fill = || {
        file.write_all(MAGIC)?;
        file.write_all(blake3::hash(code).as_bytes())?;
        file.write_all(code)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    let written = fill();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}
