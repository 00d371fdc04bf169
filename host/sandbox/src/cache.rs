//! Compiled code on disk.
//!
//! Cranelift takes seconds for a large component and no time at all for one compiled before. An entry is named after
//! everything that its content depends on; it starts with a hash of the rest, so that a damaged file is noticed and
//! compiled again.
#![allow(unsafe_code, reason = "wasmtime cannot check compiled code, so loading it is the caller's responsibility")]

use std::fs;
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use wasmtime::Engine;
use wasmtime::component::Component;

const MAGIC: &[u8; 8] = b"hostcw01";

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

/// Compiles a component, or takes it from the cache. Says whether it was found there.
pub(crate) fn compile(engine: &Engine, dir: Option<&Path>, bytes: &[u8]) -> wasmtime::Result<(Component, bool)> {
    let Some(dir) = dir else {
        return Ok((Component::from_binary(engine, bytes)?, false));
    };
    let path = entry(dir, engine, bytes);
    if let Some(component) = read(engine, &path) {
        return Ok((component, true));
    }
    let component = Component::from_binary(engine, bytes)?;
    // A cache that cannot be written only costs time.
    if let Ok(code) = component.serialize() {
        let _ = write(dir, &path, &code);
    }
    Ok((component, false))
}

fn read(engine: &Engine, path: &Path) -> Option<Component> {
    let file = fs::read(path).ok()?;
    let rest = file.strip_prefix(MAGIC)?;
    let (hash, code) = rest.split_at_checked(blake3::OUT_LEN)?;
    if blake3::hash(code) != *<&[u8; blake3::OUT_LEN]>::try_from(hash).ok()? {
        return None;
    }
    // SAFETY: `deserialize` trusts its input to come from `serialize`. The file is named after the component and the
    // engine's configuration, sits in a directory that only this user's host writes to, and is intact by its hash:
    // who can forge all that can replace the host itself. Other versions or settings are refused by wasmtime.
    unsafe { Component::deserialize(engine, code) }.ok()
}

/// Writes beside the entry and renames, so that no reader ever sees half a file.
fn write(dir: &Path, path: &Path, code: &[u8]) -> std::io::Result<()> {
    fs::create_dir_all(dir)?;
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let nth = NEXT.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("{}-{nth}.tmp", std::process::id()));
    let mut file = fs::File::create(&temporary)?;
    file.write_all(MAGIC)?;
    file.write_all(blake3::hash(code).as_bytes())?;
    file.write_all(code)?;
    file.sync_all()?;
    drop(file);
    let renamed = fs::rename(&temporary, path);
    if renamed.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    renamed
}
