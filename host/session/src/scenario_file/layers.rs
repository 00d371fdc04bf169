//! A scenario as the layer below the rest of a request.

use std::path::{Path, PathBuf};

use crate::base::{Context, Failure, files};
use crate::scenario_file::content::Scenario;
use crate::scenario_file::owner::owner;
use crate::scenario_file::reader::wrong;
use crate::scenario_file::sections::parse;
use crate::scenario_file::trust;
use crate::spec::RunSpec;

/// The maximum size of a scenario file in bytes.
const BYTES_MAX: u64 = 1 << 20;

/// Whether a path leads to a scenario, not to a plugin.
pub fn is_scenario(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml")
}

/// Reads the scenario that stands in place of the plugin, and lays it below the rest of the request. `may_build` is set if the
/// user has named the scenario, whose plugin may then be built.
///
/// # Errors
///
/// The file cannot be read, or a key or value in it is wrong or contradicts
/// the rest. The sentence names file, line and key.
pub fn resolve(asked: RunSpec, may_build: bool, context: &mut Context<'_>) -> Result<(RunSpec, Scenario), Failure> {
    let path = asked.cluster.plugin.clone();
    let file = read(&path, context)?;
    if may_build {
        trust::check_builds(&file, &asked, context)?;
    }
    trust::tell_limits(&file, &asked, context);
    let plugin = match file.spec.cluster.plugin.as_os_str().is_empty() {
        true => default_plugin(&path, context)?,
        false => file.spec.cluster.plugin.clone(),
    };
    let mut spec = asked.over(file.spec.clone());
    spec.cluster.plugin = plugin;
    match spec.check() {
        Ok(()) => Ok((spec, file)),
        Err((option, why)) => Err(wrong(&path, file.line(option), &why)),
    }
}

/// The folder around `scenarios`.
fn default_plugin(path: &Path, context: &Context<'_>) -> Result<PathBuf, Failure> {
    owner(path, context.directory).ok_or_else(|| {
        let failure = wrong(path, None, "it does not say which plugin it is for");
        failure.help("add `plugin = \"…\"`, a path from the scenario's folder; only in `scenarios` of a plugin it can be left out")
    })
}

/// Reads a scenario.
fn read(path: &Path, context: &Context<'_>) -> Result<Scenario, Failure> {
    let cannot_read = |cause: &dyn std::fmt::Display| {
        Failure::configuration(format_args!("cannot read the scenario {}: {cause}", path.display()))
    };
    let absolute = context.path(path);
    let text = files::read_text_bounded(&absolute, BYTES_MAX).map_err(|error| cannot_read(&error))?;
    parse(&text, path)
}
