//! Makes a component only if its inputs have changed.

use std::path::{Path, PathBuf};

use crate::component::{self, componentize};
use crate::files::write;
use crate::job::{Job, Made, Say};
use crate::source::{read, read_text};
use crate::tool::{self, Tool};
use crate::{BuildError, ComponentError, wasi};

/// Raised when the host drives its toolchains differently, so that older components are made again.
const RECIPE: u32 = 4;

/// Runs `compile` and makes a component of its result, unless the existing component has the same sources and tool.
///
/// `compile` is given a folder to work in, and returns a core module or a component. `hint` is the remedy if that is no
/// plugin.
pub(crate) fn unless_current(
    job: &Job<'_>,
    toolchain: &str,
    tool: &Tool,
    hint: &'static str,
    say: Say<'_>,
    compile: impl FnOnce(&Path, Say<'_>) -> Result<Vec<u8>, BuildError>,
) -> Result<Made, BuildError> {
    let source = job.source;
    let wasm = source.output();
    let work = source.work(toolchain)?;
    // Two builds of one folder would write the same files.
    let _lock = tool::lock(&work.join("lock"))?;
    let key = blake3::Hasher::new()
        .update(component::CONTRACT.as_bytes())
        .update(component::ADAPTER.as_bytes())
        .update(wasi::FUNCTIONS.as_bytes())
        .update(format!("{} {RECIPE} {toolchain} {}", env!("CARGO_PKG_VERSION"), tool.identity()).as_bytes())
        .update(source.digest()?.as_bytes())
        .finalize();
    let made = |rebuilt| Made { wasm: wasm.clone(), name: source.name.clone(), rebuilt, tool: tool.found.clone() };
    if !job.options.again && is_current(&wasm, key) {
        return Ok(made(false));
    }
    let output = compile(&work, say)?;
    write_component(&output, &[], &wasm, key, &source.name, hint)?;
    Ok(made(true))
}

/// Makes the component of a core module unless it is current; returns whether it was made.
///
/// `assumed` are the assumptions of the module for reports.
pub(crate) fn from_core(
    core: &Path,
    assumed: &[String],
    wasm: &Path,
    name: &str,
    hint: &'static str,
) -> Result<bool, BuildError> {
    let core = read(core)?;
    // The stamp identifies the core module, the contract and the encoder, and proves that the component is intact.
    let key = blake3::Hasher::new()
        .update(component::CONTRACT.as_bytes())
        .update(env!("CARGO_PKG_VERSION").as_bytes())
        .update(component::ADAPTER.as_bytes())
        .update(assumed.join("\n").as_bytes())
        .update(&core)
        .finalize();
    if is_current(wasm, key) {
        return Ok(false);
    }
    write_component(&core, assumed, wasm, key, name, hint)?;
    Ok(true)
}

fn stamp(wasm: &Path) -> PathBuf {
    wasm.with_extension("stamp")
}

fn stamp_text(key: blake3::Hash, component: &[u8]) -> String {
    format!("{key} {}\n", blake3::hash(component))
}

fn is_current(wasm: &Path, key: blake3::Hash) -> bool {
    match (read_text(&stamp(wasm)), read(wasm)) {
        (Ok(made), Ok(component)) => made == stamp_text(key, &component),
        _ => false,
    }
}

fn write_component(
    output: &[u8],
    assumed: &[String],
    wasm: &Path,
    key: blake3::Hash,
    name: &str,
    hint: &'static str,
) -> Result<(), BuildError> {
    let not_a_plugin = |reason: ComponentError| match reason {
        ComponentError::Invalid(output) => BuildError::Compile { name: name.to_owned(), output },
        reason => BuildError::NotAPlugin { name: name.to_owned(), reason, hint },
    };
    let component = match component::is_component(output) {
        true => output.to_vec(),
        false => {
            let core = output.to_vec();
            let component = tool::unless_stopped(move || componentize(&core))?.map_err(not_a_plugin)?;
            component::with_assumed(component, output, assumed)
        }
    };
    write(wasm, &component)?;
    write(&stamp(wasm), stamp_text(key, &component).as_bytes())
}
