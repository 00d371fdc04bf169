//! From the path of a component or a plugin folder to a loaded plugin.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use host_build::{BuildError, Initialise, Options};
use host_model::contract::{MachineFactory, Property, Stop, Stoppable};
use host_model::scenario::Scenario;
use host_model::trace::PluginRef;
use host_sandbox::{GuestLimits, LoadError, Plugin, Sandbox, SandboxConfig};

use crate::base::bounds::Bounds;
use crate::base::names::{safe_name, with_closest_path};
use crate::base::text::shell_quoted;
use crate::base::{Context, Failure, files};
use crate::cluster::compilation::Compilation;
use crate::spec::Source;

/// A plugin that is ready to run.
pub struct LoadedPlugin {
    /// The component, ready to run.
    pub plugin: Plugin,
    /// Makes its machines.
    stoppable: Arc<Stoppable<Plugin>>,
    /// The bounds that stop them.
    pub bounds: Arc<Bounds>,
    /// Name, version and digest, as traces have them. The name is that of the file if the plugin does not have one.
    pub reference: PluginRef,
    /// Its properties.
    pub properties: Vec<Property>,
    /// The path that the user gave.
    pub given: PathBuf,
    /// Its limits.
    pub limits: GuestLimits,
    /// The component.
    pub wasm: PathBuf,
    /// Seconds from the bytes of the component to a plugin.
    pub seconds: f64,
}

impl LoadedPlugin {
    /// Makes its machines.
    pub fn factory(&self) -> &dyn MachineFactory {
        &*self.stoppable
    }

    /// The same for an owner.
    pub fn shared_factory(&self) -> Arc<dyn MachineFactory> {
        Arc::clone(&self.stoppable) as _
    }

    /// Every parameter with its value: those of a scenario, and the plugin's defaults for the others.
    pub fn effective_parameters(&self, scenario: &Scenario) -> BTreeMap<String, String> {
        let defaults = self.plugin.about().map_or(&[][..], |about| &about.parameters).iter();
        let defaults = defaults.map(|parameter| (parameter.name.clone(), parameter.default_value.clone()));
        defaults.chain(scenario.parameters.clone()).collect()
    }

    /// The default value of a parameter, if the plugin lists it.
    pub fn default_value(&self, key: &str) -> Option<&String> {
        let parameters = &self.plugin.about()?.parameters;
        parameters.iter().find(|parameter| parameter.name == key).map(|parameter| &parameter.default_value)
    }
}

/// Loads the plugin at a path; builds it first if that is a folder.
///
/// # Errors
///
/// There is no plugin at the path, or it cannot be built or loaded.
pub fn load(
    given: &Path,
    source: Source,
    limits: GuestLimits,
    context: &mut Context<'_>,
) -> Result<LoadedPlugin, Failure> {
    let (wasm, bytes) = component_bytes(given, source, &limits, context)?;
    let config = SandboxConfig { limits, ..SandboxConfig::default() };
    let began = Instant::now();
    let cache = context.cache.map(compiled_code);
    let bounds = Arc::new(Bounds::new(context));
    let stop: Arc<dyn Stop> = Arc::clone(&bounds) as _;
    let cannot_load =
        |what: &dyn std::fmt::Display| Failure::plugin(format_args!("cannot load {}: {what}", given.display()));
    let place = context.path(given);
    let builds = context.builds;
    let plugin = builds.plugins.plugin(&bytes, &config, || {
        let sandbox = Sandbox::stoppable(config.clone(), cache.clone(), Arc::clone(&stop)).map_err(Failure::system)?;
        let mut compilation = Compilation::new(given, source.quiet);
        let plugin = Plugin::load_watched(&sandbox, &bytes, &mut |elapsed| compilation.show(elapsed, context));
        compilation.end(context);
        plugin.map_err(|error| not_loaded(given, &place, &error))
    })?;
    let seconds = began.elapsed().as_secs_f64();
    if plugin.load_times().is_cache_refused && !source.quiet && !source.is_further {
        let cache = cache.unwrap_or_default();
        context.tell(&format!(
            "warning: others could have written to the folder of compiled code {}, so each run compiles; remove it, or make \
             it yours with `chmod go-w`",
            cache.display()
        ));
    }
    let mut machine = plugin.machine()?;
    let properties = machine.properties();
    if properties.is_err() {
        machine.confirm_fault()?;
    }
    let properties =
        properties.map_err(|fault| cannot_load(&format_args!("it cannot list its properties: {fault}")))?;
    check_names(&properties).map_err(|what| cannot_load(&what))?;
    let file_name = given.file_stem().or(wasm.file_stem()).map(|stem| stem.to_string_lossy().into_owned());
    let reference = PluginRef {
        name: plugin.about().map(|about| about.name.clone()).or(file_name).unwrap_or_else(|| "plugin".to_owned()),
        version: plugin.about().map(|about| about.version.clone()),
        digest: Some(plugin.digest().to_owned()),
    };
    Ok(LoadedPlugin {
        stoppable: Arc::new(Stoppable::new(plugin.clone(), stop)),
        bounds,
        plugin,
        reference,
        properties,
        given: given.to_owned(),
        limits: config.limits,
        wasm,
        seconds,
    })
}

/// The file of the component at a path, which is built first if that is a folder, and its bytes.
///
/// # Errors
///
/// There is nothing at the path, or it cannot be built or read.
pub(super) fn component_bytes(
    given: &Path,
    source: Source,
    limits: &GuestLimits,
    context: &mut Context<'_>,
) -> Result<(PathBuf, Vec<u8>), Failure> {
    let wasm = component(given, source, limits, context)?;
    let bytes = read(&wasm, given, limits.component_bytes)?;
    Ok((wasm, bytes))
}

/// Says why the component at a path, which lies there, is not loaded.
pub(super) fn not_loaded(given: &Path, place: &Path, error: &LoadError) -> Failure {
    let what = format!("cannot load {}: {error}", given.display());
    match error {
        LoadError::Host { .. } => Failure::system(what),
        LoadError::Stopped(why) => Failure::stopped(why),
        // A folder that was built is a plugin itself, whatever its folders look like.
        _ if place.is_dir() => Failure::plugin(what),
        _ => with_advice(Failure::plugin(what), place),
    }
}

/// The folder of compiled code in that of everything that is kept between runs.
pub fn compiled_code(cache: &Path) -> PathBuf {
    cache.join("compiled")
}

/// The file of a component: the given one, or the result of its build.
fn component(
    given: &Path,
    source: Source,
    limits: &GuestLimits,
    context: &mut Context<'_>,
) -> Result<PathBuf, Failure> {
    let path = context.path(given);
    match fs::metadata(&path) {
        Ok(_) if !needs_build(&path) => Ok(path),
        Ok(_) if source.finished => {
            let found = finished(&path).ok_or_else(|| unnamed(given))?;
            if !source.quiet {
                context.tell(&format!("plugin: {}, as it was built", found.display()));
            }
            Ok(found)
        }
        Ok(_) => {
            let builds = context.builds;
            builds.component(&path, || build(given, source, limits, context))
        }
        Err(error) => {
            let failure = Failure::plugin(format_args!("cannot load {}: {error}", given.display()));
            let remedy = "give a component (.wasm), a module (.wasm, .wat) or the folder of a plugin; `host list` shows those here";
            Err(failure.help(with_closest_path(given, &context.path(Path::new("")), remedy)))
        }
    }
}

/// `plugins/NAME`, if it exists; otherwise an error with that path.
pub fn bundled(name: &str, context: &Context<'_>) -> Result<PathBuf, PathBuf> {
    let path = Path::new("plugins").join(safe_name(name));
    if safe_name(name) == name && context.path(&path).is_dir() { Ok(path) } else { Err(path) }
}

/// Whether a path leads to a file or a folder that has to be built.
pub fn needs_build(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_dir() || metadata.is_file() && is_source(path))
}

/// The component that an earlier build has made of a folder or file: in `target/plugins` of that folder, or of a folder around it.
fn finished(path: &Path) -> Option<PathBuf> {
    const FOLDERS_MAX: usize = 4;
    let path = path.canonicalize().ok()?;
    let name = if path.is_dir() { path.file_name()? } else { path.file_stem()? };
    let file = Path::new("target/plugins").join(Path::new(&format!("{}.wasm", name.to_string_lossy())));
    path.ancestors().take(FOLDERS_MAX).map(|folder| folder.join(&file)).find(|wasm| wasm.is_file())
}

/// Says that a build was not requested.
fn unnamed(given: &Path) -> Failure {
    let what =
        format!("cannot load {}: it would have to be built, and it was not named on the command line", given.display());
    let given = shell_quoted(&given.to_string_lossy());
    Failure::plugin(what).help(format_args!("build it with `host build {given}`, or name it"))
}

/// Whether a component is built of this file: text, the source of a language, or a core module.
fn is_source(path: &Path) -> bool {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("wasm") | None => {
            let mut head = [0; 8];
            let read = files::open(path).and_then(|(mut file, _)| std::io::Read::read_exact(&mut file, &mut head));
            read.is_ok() && head == *b"\0asm\x01\0\0\0"
        }
        Some(extension) => host_build::EXTENSIONS.contains(&extension),
    }
}

/// Builds the plugin in a folder or file and returns the component's path. The steps are reported as they begin. The limits of compiling
/// also hold for the interpreter of a plugin; the other limits do not affect the build.
///
/// # Errors
///
/// See [`BuildError`].
pub fn build(
    given: &Path,
    source: Source,
    limits: &GuestLimits,
    context: &mut Context<'_>,
) -> Result<PathBuf, Failure> {
    let options = Options {
        install: !source.no_install,
        cache: context.cache.map(Path::to_owned),
        stop: Some(context.stops_builds()),
        initialise: Some(initialise(limits, context)),
        ..Options::default()
    };
    let folder = context.path(given);
    if let Some(notice) = host_build::sdk::notice(&folder).filter(|_| !source.quiet && !source.is_further) {
        context.tell(&format!("warning: {}: {notice}", given.display()));
    }
    let mut report = |step: &str| {
        if !source.quiet {
            context.tell(&format!("build: {step}"));
        }
    };
    let built = host_build::build(&folder, &options, &mut report).map_err(|error| match error {
        BuildError::Stopped => Failure::stopped(error),
        BuildError::NoFolder { .. } => Failure::plugin(format_args!("there is no folder or file {}", given.display())),
        error => {
            let failure = Failure::plugin(format_args!("cannot build {}: {error}", given.display()));
            let is_none = match error {
                BuildError::NotRecognised { .. } => true,
                // The sources of plugins of several languages look like those of one.
                BuildError::NoMain { .. } => holds_folders_only(&folder),
                _ => false,
            };
            if is_none { with_advice(failure, &folder) } else { failure }
        }
    })?;
    Ok(built.wasm)
}

/// Gives programs to interpreters in a sandbox, with the machine code that is kept.
fn initialise(limits: &GuestLimits, context: &Context<'_>) -> Initialise {
    let (compile_seconds, compile_bytes) = (limits.compile_seconds, limits.compile_bytes);
    let cache = context.cache.map(compiled_code);
    let stop: Arc<dyn Stop> = Arc::new(Bounds::new(context));
    Initialise::new(move |component, program| {
        let limits =
            GuestLimits { fuel_per_call: PROGRAM_FUEL, compile_seconds, compile_bytes, ..GuestLimits::default() };
        let config = SandboxConfig { limits, ..SandboxConfig::default() };
        let sandbox = Sandbox::stoppable(config, cache.clone(), Arc::clone(&stop)).ok()?;
        host_sandbox::initialised(&sandbox, component, program).ok()
    })
}

/// Fuel to import the modules of a plugin: some ten seconds.
const PROGRAM_FUEL: u64 = 10_000_000_000;

/// Whether a folder has no file of its own, and no `src` where one would expect them.
fn holds_folders_only(folder: &Path) -> bool {
    let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.all(|entry| entry.path().is_dir() && entry.file_name() != "src")
}

/// Suggests a plugin: one in the given folder, or the one that a source file belongs to.
fn with_advice(failure: Failure, path: &Path) -> Failure {
    const SHOWN_MAX: usize = 8;
    let is_plugin = |folder: &PathBuf| folder.is_dir() && host_build::recognises(folder);
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut inside: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_plugin).collect();
    inside.sort();
    let sources = path.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "src"));
    let around = sources.and_then(Path::parent).map(Path::to_owned).filter(is_plugin);
    match (around, &inside[..]) {
        (Some(folder), _) => {
            failure.help(format_args!("it is part of the plugin {}; name that folder", folder.display()))
        }
        (None, []) => failure,
        (None, inside) => {
            let names = inside
                .iter()
                .take(SHOWN_MAX)
                .filter_map(|folder| folder.file_name())
                .map(|name| name.to_string_lossy());
            let more = if inside.len() > SHOWN_MAX { ", ..." } else { "" };
            failure.help(format_args!("name one of the plugins in it: {}{more}", names.collect::<Vec<_>>().join(", ")))
        }
    }
}

fn read(wasm: &Path, given: &Path, bytes_max: usize) -> Result<Vec<u8>, Failure> {
    let error =
        |error: &dyn std::fmt::Display| Failure::plugin(format_args!("cannot load {}: {error}", given.display()));
    files::read_bounded(wasm, bytes_max as u64).map_err(|cause| match cause.kind() {
        ErrorKind::FileTooLarge => {
            error(&format_args!("{cause}; `--limit component=N` allows more")).about("limit component")
        }
        _ => error(&cause),
    })
}

/// Reports and traces name properties, so the names must tell them apart.
pub(super) fn check_names(properties: &[Property]) -> Result<(), String> {
    for (index, property) in properties.iter().enumerate() {
        if properties[..index].iter().any(|other| other.name == property.name) {
            return Err(format!("it has two properties named `{}`", property.name));
        }
    }
    Ok(())
}
