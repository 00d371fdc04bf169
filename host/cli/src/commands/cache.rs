//! `host cache`.

use std::fs;
use std::path::Path;

use host_sandbox::{CACHE_BYTES_MAX, CacheUse};
use host_session::base::text::{bytes, count, json_text, on_one_line, table};
use host_session::base::{Exit, Failure};
use host_session::cluster::plugin_source::compiled_code;
use serde_json::json;

use crate::environment::Environment;
use crate::options::plugins::CacheArguments;

/// The maximum depth of folders in a toolchain that are measured.
const LEVELS_MAX: usize = 64;

/// Shows the data kept between runs, or removes its machine code.
pub fn run(arguments: &CacheArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let Some(folder) = environment.cache.clone() else {
        let failure = Failure::system("there is no place to keep anything between runs");
        return Err(failure.help("set HOME or XDG_CACHE_HOME"));
    };
    let compiled = compiled_code(&folder);
    let code = if arguments.clear {
        CacheUse::clear(&compiled)
            .map_err(|error| Failure::system(format_args!("cannot clear {}: {error}", compiled.display())))?
    } else {
        CacheUse::of(&compiled)
    };
    let crates = folder.join(host_build::CRATES_FOLDER);
    let crates_bytes = bytes_below(&crates, LEVELS_MAX);
    let kept = arguments.clear && !host_build::clear_crates(&folder);
    let tools = folder.join("tools");
    let tools_bytes = bytes_below(&tools, LEVELS_MAX);
    if arguments.json {
        let object = json!({
            "folder": folder.display().to_string(),
            "cleared": arguments.clear,
            "machine_code": {
                "folder": compiled.display().to_string(),
                "entries": code.entries,
                "collections": code.collections,
                "bytes": code.bytes,
                "bytes_max": CACHE_BYTES_MAX,
            },
            "crates": {
                "folder": crates.display().to_string(),
                "bytes": crates_bytes,
                "bytes_max": host_build::CRATES_BYTES_MAX,
            },
            "toolchains": { "folder": tools.display().to_string(), "bytes": tools_bytes },
        });
        environment.print(&json_text(&object))?;
        return Ok(Exit::Ok);
    }
    let files = format!(
        "{} with components and libraries, {} with functions",
        count(code.entries, "file"),
        count(code.collections, "file")
    );
    let folder = |path: &Path| on_one_line(&path.display().to_string());
    let text = match arguments.clear {
        true => {
            let crates = match kept {
                true => "crates stay, since something is built now".to_owned(),
                false => format!("{} of compiled crates", bytes(crates_bytes)),
            };
            format!("removed: {} of machine code, {files}; {crates}\n", bytes(code.bytes))
        }
        false => table(
            "kept between runs",
            &[
                ("machine code", format!("{} of at most {}", bytes(code.bytes), bytes(CACHE_BYTES_MAX))),
                ("", files),
                ("", folder(&compiled)),
                ("crates", format!("{} of at most {}", bytes(crates_bytes), bytes(host_build::CRATES_BYTES_MAX))),
                ("", folder(&crates)),
                ("toolchains", bytes(tools_bytes)),
                ("", folder(&tools)),
            ],
        ),
    };
    environment.print(&text)?;
    Ok(Exit::Ok)
}

/// Bytes of all files below a folder; links are not followed.
fn bytes_below(folder: &Path, levels: usize) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let sizes = entries.filter_map(|entry| {
        let metadata = entry.metadata().ok()?;
        match metadata.is_dir() {
            true if levels > 0 => Some(bytes_below(&entry.path(), levels - 1)),
            true => None,
            false => Some(metadata.len()),
        }
    });
    sizes.sum()
}
