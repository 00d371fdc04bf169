//! From the path of a trace to the trace and the plugin that executes it.

use std::path::{Path, PathBuf};

use host_model::contract::NodeId;
use host_model::trace::Trace;

use crate::base::{Context, Failure};
use crate::cluster::expressed;
use crate::cluster::open::Cluster;
use crate::cluster::placement::{self, PlacedNodes};
use crate::cluster::plugin_source;
use crate::cluster::scenario;
use crate::cluster::spec_source;
use crate::cluster::trace_file;
use crate::spec::Source;
use crate::spec::limits::{self, Given};

/// A trace, and the plugin to execute it with.
#[derive(Clone, Debug, Default)]
pub struct TraceSpec {
    /// The file.
    pub trace: PathBuf,
    /// The component or plugin folder to run it with; by default `plugins/NAME` as it was built, or else the plugin of this name around
    /// the trace or here.
    pub plugin: Option<PathBuf>,
    /// The components or plugin folders of nodes that ran another one.
    pub node: Vec<(NodeId, PathBuf)>,
    /// The specifications from outside, in the order of the trace; by default `plugins/NAME` as they were built.
    pub specs: Vec<PathBuf>,
    /// Whether another build of the plugin, or another plugin, may run it.
    pub any_plugin: bool,
    /// Whether another build of the plugin may run it.
    pub any_build: bool,
    /// The limits of the plugin, by name.
    pub limits: Given,
    /// The way to load the plugin.
    pub source: Source,
}

impl Cluster {
    /// Whether these are the very components that a trace was recorded with.
    pub fn has_recorded(&self, trace: &Trace) -> bool {
        let digest = &trace.plugin.digest;
        let is_plugin = digest.is_some() && *digest == self.plugin.reference.digest;
        is_plugin && trace.placements == self.placements() && trace.specs == self.spec_references()
    }

    /// Reads a trace and loads its plugin.
    ///
    /// # Errors
    ///
    /// There is no such trace or plugin, or they do not belong together.
    pub fn of_trace(spec: &TraceSpec, context: &mut Context<'_>) -> Result<(Trace, Self), Failure> {
        let trace = trace_file::read(&spec.trace, context.directory)?;
        let (expressed, judge) = expressed::read(trace.expressed.clone())?;
        let limits = limits::effective(&limits::over_recorded(
            &spec.limits,
            &trace.limits,
            format_args!("the trace {}", spec.trace.display()),
        )?);
        let path = plugin_path(spec, &trace, context)?;
        let wanted = PlacedNodes::of_trace(&trace, &spec.node, context)?;
        // A trace names its plugin, but that is no reason to build it.
        let source = Source { finished: spec.plugin.is_none(), ..spec.source };
        let plugin = plugin_source::load(&path, source, limits, context)?;
        let is_allowed = spec.any_plugin || (spec.any_build && trace.plugin.name == plugin.reference.name);
        trace_file::check_plugin(&trace, &spec.trace, &plugin.reference, is_allowed)?;
        let unnamed = Source { finished: spec.specs.is_empty(), ..spec.source };
        let is_other = spec.any_plugin || spec.any_build;
        let specs = spec_source::load_recorded(&trace, &spec.trace, &spec.specs, is_other, unnamed, &plugin, context)?;
        let components = placement::load(wanted, spec.source, &plugin.limits, context)?;
        let mut cluster = Self::new(plugin, components, trace.scenario.clone())?;
        cluster.add_expressed(expressed, judge)?;
        cluster.add_specs(specs)?;
        let is_allowed =
            spec.any_plugin || (spec.any_build && placement::are_alike(&trace.placements, cluster.placements()));
        placement::check_trace(&trace, &spec.trace, cluster.placements(), is_allowed)?;
        scenario::check_keys(&cluster.plugin, &cluster.components, trace.scenario.parameters.keys())?;
        Ok((trace, cluster))
    }
}

/// The plugin that the user names, or else the plugin with the name in the trace: in `plugins`, around the trace, or here.
fn plugin_path(spec: &TraceSpec, trace: &Trace, context: &Context<'_>) -> Result<PathBuf, Failure> {
    if let Some(path) = &spec.plugin {
        return Ok(path.clone());
    }
    plugin_source::bundled(&trace.plugin.name, context).or_else(|missing| {
        let found = around(spec, &trace.plugin.name, context);
        found.ok_or_else(|| {
            let failure =
                Failure::configuration(format_args!("there is no plugin {} for this trace", missing.display()));
            failure.help("name it with --plugin, a component or a folder")
        })
    })
}

/// The folder of the plugin of this name around the trace, in its `scenarios` or next to its sources, or else the one here.
fn around(spec: &TraceSpec, name: &str, context: &Context<'_>) -> Option<PathBuf> {
    let absolute = |folder: &Path| context.path(folder).canonicalize().unwrap_or_default();
    let own = Path::new(".").join(spec.trace.parent()?);
    let above = absolute(&own).ends_with("scenarios").then(|| own.join(".."));
    let is_meant = |folder: &PathBuf| {
        let folder = absolute(folder);
        folder.ends_with(name) && host_build::recognises(&folder)
    };
    above.into_iter().chain([own, ".".into()]).find(is_meant)
}
