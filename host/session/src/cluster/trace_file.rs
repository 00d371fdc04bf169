//! Traces on disk.

use std::path::{Path, PathBuf};

use host_inspect::exchange;
use host_model::trace::{PluginRef, TRACE_VERSION, TRACE_VERSION_MAX, Trace};
use serde::Deserialize;

use crate::base::names::{safe_name, short_digest, with_closest_path};
use crate::base::text::json_text;
use crate::base::{Failure, files};
use crate::spec::limits;
use crate::spec::values::NODES_MAX;

/// The maximum size of a trace file in bytes: a path of a million events fits. In memory it takes several times as many.
const BYTES_MAX: u64 = 256 << 20;

/// Digits of a content hash in the name of a folder.
const HASH_DIGITS: usize = 8;

/// Reads a trace.
///
/// # Errors
///
/// There is no such file, or it is no trace that this version understands. The sentence names file, line and column.
pub fn read(given: &Path, directory: &Path) -> Result<Trace, Failure> {
    let name = given.display();
    let cannot_read = |cause: &dyn std::fmt::Display| {
        let failure = Failure::configuration(format_args!("cannot read the trace {name}: {cause}"));
        failure.help(with_closest_path(given, directory, "give a trace.json that `host run` wrote"))
    };
    let path = directory.join(given);
    let is_itf = name.to_string().ends_with(".itf.json");
    let bytes_max = if is_itf { exchange::ITF_BYTES_MAX as u64 } else { BYTES_MAX };
    let bytes = files::read_bounded(&path, bytes_max).map_err(|error| cannot_read(&error))?;
    if is_itf {
        let document: exchange::Document = serde_json::from_slice(&bytes).map_err(|error| malformed(&name, &error))?;
        let trace = exchange::from_itf(&document).map_err(|what| {
            let failure =
                Failure::configuration(format_args!("{name} is no trace that this version understands: {what}"));
            failure.help("`host export --format itf` writes such files")
        })?;
        check(&trace)
            .map_err(|what| Failure::configuration(format_args!("the trace {name} cannot be right: {what}")))?;
        return Ok(trace);
    }
    parse(&name, &bytes)
}

/// A trace from the bytes of a file, or from elsewhere: `name` names the source.
///
/// # Errors
///
/// It is no trace that this version understands. The sentence names line and column.
pub fn parse(name: &dyn std::fmt::Display, bytes: &[u8]) -> Result<Trace, Failure> {
    // The version first: a newer format may well have fields that are unknown here.
    let read = serde_json::from_slice(bytes);
    let Version { trace_version } = read.map_err(|error| malformed(name, &error))?;
    if !(TRACE_VERSION..=TRACE_VERSION_MAX).contains(&trace_version) {
        let what = format_args!(
            "{name} has trace format {trace_version}, this version understands {TRACE_VERSION} and {TRACE_VERSION_MAX}"
        );
        return Err(Failure::configuration(what).help("use the version of `host` that wrote it, or record it again"));
    }
    let trace: Trace = serde_json::from_slice(bytes).map_err(|error| malformed(name, &error))?;
    check(&trace).map_err(|what| Failure::configuration(format_args!("the trace {name} cannot be right: {what}")))?;
    Ok(trace)
}

fn malformed(name: &dyn std::fmt::Display, error: &serde_json::Error) -> Failure {
    let what = if error.is_data() { "is no trace that this version understands" } else { "is not JSON" };
    let failure = Failure::configuration(format_args!("{name} {what}: {error}"));
    failure.help(format_args!(
        "traces are written by `host run`; this version reads the formats {TRACE_VERSION} and {TRACE_VERSION_MAX}"
    ))
}

#[derive(Deserialize)]
struct Version {
    trace_version: u32,
}

/// Refuses traces that no run could have recorded.
fn check(trace: &Trace) -> Result<(), String> {
    let nodes = trace.scenario.nodes;
    if !(1..=NODES_MAX).contains(&nodes) {
        return Err(format!("its cluster has {nodes} nodes, which is not between 1 and {NODES_MAX}"));
    }
    for (key, value) in &trace.scenario.parameters {
        if key.is_empty() || key.contains(['=', '\n', '\r']) || value.contains(['\n', '\r']) {
            return Err(format!("its parameter {key:?} has no name or a line break"));
        }
    }
    trace.scenario.check().map_err(|misfit| misfit.to_string())?;
    for (name, value) in &trace.limits {
        limits::check(name, *value)?;
    }
    if trace.trace_version == TRACE_VERSION
        && let Some(what) = trace.beyond_first_version()
    {
        return Err(format!("it has {what}, which format {TRACE_VERSION} does not have"));
    }
    if let Some(promise) = trace.promise() {
        promise.check(trace.steps.len())?;
    }
    if let Some(beginning) = &trace.beginning {
        beginning.check(&trace.scenario)?;
        if !trace.init_choices.is_empty() {
            return Err("it begins in states from elsewhere, and has choices in `init` as well".to_owned());
        }
    }
    let recorded = trace.init_choices.len();
    if recorded != 0 && recorded != nodes as usize {
        return Err(format!("it has choices in `init` for {recorded} nodes of {nodes}"));
    }
    Ok(())
}

/// Refuses a trace of another plugin, unless that is allowed.
///
/// # Errors
///
/// The digest differs, or the name where the trace is meant for every build.
pub fn check_plugin(trace: &Trace, given: &Path, ours: &PluginRef, any_plugin: bool) -> Result<(), Failure> {
    let theirs = &trace.plugin;
    let given = given.display();
    let what = match &theirs.digest {
        _ if any_plugin => return Ok(()),
        Some(_) if theirs.digest == ours.digest => return Ok(()),
        None if theirs.name == ours.name => return Ok(()),
        Some(digest) if theirs.name == ours.name => format!(
            "the trace {given} belongs to another build of {}: {}, this one is {}",
            ours.name,
            short_digest(digest),
            short_digest(ours.digest.as_deref().unwrap_or_default()),
        ),
        _ => format!("the trace {given} belongs to the plugin {}, not to {}", theirs.name, ours.name),
    };
    Err(Failure::configuration(what)
        .help("use the plugin that it was recorded with, or try this one with --any-plugin"))
}

/// The default folder for a trace: the same findings get the same name on every machine.
pub fn default_folder(plugin: &str, algo: &str, trace: &Trace) -> PathBuf {
    let hash = blake3::hash(json_text(trace).as_bytes()).to_hex();
    Path::new("out").join(format!("{}-{algo}-{}", safe_name(plugin), &hash[..HASH_DIGITS]))
}

/// Writes a trace.
///
/// # Errors
///
/// As for [`files::write`].
pub fn write(given: &Path, trace: &Trace, directory: &Path) -> Result<(), Failure> {
    files::write(given, &text(trace), directory)
}

/// A trace as it stands in files.
pub fn text(trace: &Trace) -> String {
    json_text(trace)
}
