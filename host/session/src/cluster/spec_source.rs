//! Specifications from outside: from a path to properties of a cluster.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use host_model::contract::{Fault, FaultKind, MachineError, Outside, OutsideVerdict, Property, Stop};
use host_model::trace::{PluginRef, Trace};
use host_sandbox::{GuestLimits, Sandbox, SandboxConfig, Spec};

use crate::base::bounds::Bounds;
use crate::base::names::short_digest;
use crate::base::{Context, Failure};
use crate::cluster::compilation::Compilation;
use crate::cluster::plugin_source::{self, LoadedPlugin, compiled_code};
use crate::spec::Source;

/// A specification from outside that is ready to judge.
pub struct LoadedSpec {
    spec: Spec,
    /// Its name, which is that of the file, and its digest, as traces have them.
    pub reference: PluginRef,
    /// The path that the user gave.
    pub given: PathBuf,
}

/// Loads the specifications at paths, to judge the descriptions of a plugin: with its limits, and stopped by its bounds.
///
/// # Errors
///
/// There is none at a path, or it cannot be built or loaded.
pub fn load_all(
    paths: &[PathBuf],
    source: Source,
    plugin: &LoadedPlugin,
    context: &mut Context<'_>,
) -> Result<Vec<Arc<LoadedSpec>>, Failure> {
    let load = |path: &PathBuf| {
        let source = Source { is_further: true, ..source };
        let (wasm, bytes) = plugin_source::component_bytes(path, source, &plugin.limits, context)?;
        let stop: Arc<dyn Stop> = Arc::clone(&plugin.bounds) as _;
        load(path, &wasm, &bytes, source, plugin.limits.clone(), stop, context).map(Arc::new)
    };
    paths.iter().map(load).collect()
}

/// Loads the specification in a built file; none if the file is a plugin.
///
/// # Errors
///
/// It cannot be read or loaded.
pub fn built(
    wasm: &Path,
    source: Source,
    limits: GuestLimits,
    context: &mut Context<'_>,
) -> Result<Option<LoadedSpec>, Failure> {
    let (_, bytes) = plugin_source::component_bytes(wasm, source, &limits, context)?;
    if !Spec::is_one(&bytes) {
        return Ok(None);
    }
    let stop: Arc<dyn Stop> = Arc::new(Bounds::new(context));
    load(wasm, wasm, &bytes, source, limits, stop, context).map(Some)
}

fn load(
    given: &Path,
    wasm: &Path,
    bytes: &[u8],
    source: Source,
    limits: GuestLimits,
    stop: Arc<dyn Stop>,
    context: &mut Context<'_>,
) -> Result<LoadedSpec, Failure> {
    let config = SandboxConfig { limits, ..SandboxConfig::default() };
    let sandbox = Sandbox::stoppable(config, context.cache.map(compiled_code), stop).map_err(Failure::system)?;
    let place = context.path(given);
    let mut compilation = Compilation::new(given, source.quiet);
    let spec = Spec::load_watched(&sandbox, bytes, &mut |elapsed| compilation.show(elapsed, context));
    compilation.end(context);
    let spec = spec.map_err(|error| plugin_source::not_loaded(given, &place, &error))?;
    plugin_source::check_names(spec.properties())
        .map_err(|what| Failure::plugin(format_args!("cannot load {}: {what}", given.display())))?;
    let name = given.file_stem().or(wasm.file_stem()).map(|stem| stem.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(|| "spec".to_owned());
    let reference = PluginRef { name, version: None, digest: Some(spec.digest().to_owned()) };
    Ok(LoadedSpec { spec, reference, given: given.to_owned() })
}

/// Loads the specifications of a trace: those at `paths`, in their order, or without paths those in `plugins` that have the names in
/// the trace, as they were built.
///
/// # Errors
///
/// Their number differs, one of them does not exist, or it is another one. `is_allowed` permits other builds.
pub fn load_recorded(
    trace: &Trace,
    given: &Path,
    paths: &[PathBuf],
    is_allowed: bool,
    source: Source,
    plugin: &LoadedPlugin,
    context: &mut Context<'_>,
) -> Result<Vec<Arc<LoadedSpec>>, Failure> {
    let names: Vec<&str> = trace.specs.iter().map(|spec| spec.name.as_str()).collect();
    let paths = match paths {
        [] => {
            let bundled = names.iter().map(|name| {
                plugin_source::bundled(name, context).map_err(|missing| {
                    let missing = missing.display();
                    let what = format_args!("this trace needs the spec {name}, and there is no spec {missing}");
                    Failure::configuration(what).help("name it with --spec, a component or a folder")
                })
            });
            bundled.collect::<Result<Vec<_>, _>>()?
        }
        given if given.len() == names.len() => given.to_vec(),
        given => {
            let what = format_args!("{} specs are given, and the trace was recorded with {}", given.len(), names.len());
            let failure = Failure::configuration(what);
            return Err(match names.is_empty() {
                true => failure.help("leave `--spec` out"),
                false => failure.help(format_args!("give `--spec` for each, in this order: {}", names.join(", "))),
            });
        }
    };
    // A trace names its specifications, but that is no reason to build them.
    let loaded = load_all(&paths, source, plugin, context)?;
    for (theirs, ours) in trace.specs.iter().zip(&loaded) {
        let ours = &ours.reference;
        if theirs.digest != ours.digest && !(is_allowed && theirs.name == ours.name) {
            let short = |one: &PluginRef| short_digest(one.digest.as_deref().unwrap_or_default());
            let what = format_args!(
                "the trace {} was recorded with the spec {}, {}; here it is {}, {}",
                given.display(),
                theirs.name,
                short(theirs),
                ours.name,
                short(ours),
            );
            return Err(Failure::configuration(what).help("give the spec that it was recorded with, with --spec"));
        }
    }
    Ok(loaded)
}

/// The first byte of a view where the specification has answered, and where it has failed: its fault follows.
const ANSWERED: u8 = b'+';
const FAILED: u8 = b'-';

impl LoadedSpec {
    /// A fault that names the specification: the protocol is not at fault.
    fn blamed(&self, mut fault: Fault) -> Fault {
        fault.message = format!("the spec {}: {}", self.reference.name, fault.message);
        fault
    }

    fn view(&self, property: u32, description: Option<&str>) -> Result<Option<Vec<u8>>, MachineError> {
        let answer = match description {
            Some(state) => self.spec.view(property, state)?,
            None => {
                let message = "the component does not describe its states".to_owned();
                Err(Fault::new(FaultKind::Malformed, message))
            }
        };
        let tagged = |tag: u8, content: &[u8]| [&[tag], content].concat();
        Ok(match answer {
            Ok(view) => view.map(|view| tagged(ANSWERED, &view)),
            Err(fault) => Some(tagged(FAILED, &serde_json::to_vec(&self.blamed(fault)).unwrap_or_default())),
        })
    }
}

impl Outside for LoadedSpec {
    fn properties(&self) -> Vec<Property> {
        self.spec.properties().to_vec()
    }

    /// If the specification fails, the view says so: only a property that reads it cannot be evaluated.
    fn views(&self, description: Option<&str>) -> Result<Vec<Option<Vec<u8>>>, MachineError> {
        (0..self.spec.properties().len() as u32).map(|property| self.view(property, description)).collect()
    }

    fn invariant(&self, property: u32, views: &[Option<&[u8]>]) -> OutsideVerdict {
        let failed = views.iter().flatten().find_map(|view| view.strip_prefix(&[FAILED]));
        if let Some(fault) = failed {
            let unreadable = |error| Fault::new(FaultKind::Malformed, format!("this is no view: {error}"));
            return Ok(Err(serde_json::from_slice(fault).unwrap_or_else(unreadable)));
        }
        let views: Vec<Option<&[u8]>> = views.iter().map(|view| view.and_then(|view| view.get(1..))).collect();
        Ok(self.spec.invariant(property, &views)?.map_err(|fault| self.blamed(fault)))
    }

    fn describe_view(&self, _: u32, view: &[u8]) -> Option<String> {
        let text = std::str::from_utf8(view.strip_prefix(&[ANSWERED])?).ok()?;
        serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok().then(|| text.to_owned())
    }
}
