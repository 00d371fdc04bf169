//! From the path of a trace to the trace and the plugin that executes it.

use std::path::{Path, PathBuf};

use host_model::trace::Trace;

use crate::base::environment::Environment;
use crate::base::failure::Failure;
use crate::base::names::safe_name;
use crate::options::limits;
use crate::options::traces::TraceArguments;
use crate::options::values::SourceArguments;
use crate::setup::placement::{self, Wanted};
use crate::setup::plugin_source::{self, Loaded};
use crate::setup::scenario_choice;
use crate::setup::trace_file;

/// Reads a trace and loads its plugin.
///
/// # Errors
///
/// There is no such trace or plugin, or they do not belong together.
pub fn load(arguments: &TraceArguments, environment: &mut Environment<'_>) -> Result<(Trace, Loaded), Failure> {
    let trace = trace_file::read(&arguments.trace, environment)?;
    let limits = limits::effective(&arguments.limits.over_recorded(&trace.limits, &arguments.trace)?);
    let path = plugin_path(arguments.plugin.as_deref(), &trace, environment)?;
    let wanted = Wanted::of_trace(&trace, &arguments.node, environment)?;
    // A trace names its plugin, but that is no reason to build it.
    let source = SourceArguments { finished: arguments.plugin.is_none(), ..arguments.source };
    let mut loaded = plugin_source::load(&path, source, limits, environment)?;
    trace_file::check_plugin(&trace, &arguments.trace, &loaded.reference, arguments.any_plugin)?;
    loaded.others = placement::load(wanted, arguments.source, &loaded.limits, environment)?;
    loaded.arranged = loaded.others.arrange(&loaded, &trace.scenario)?;
    placement::check_trace(&trace, &arguments.trace, loaded.arranged.as_ref(), arguments.any_plugin)?;
    scenario_choice::check_keys(&loaded, trace.scenario.parameters.keys())?;
    Ok((trace, loaded))
}

/// The plugin that the user names, or else the one in `plugins` that has the name in the trace.
fn plugin_path(given: Option<&Path>, trace: &Trace, environment: &Environment<'_>) -> Result<PathBuf, Failure> {
    if let Some(path) = given {
        return Ok(path.to_owned());
    }
    let name = &trace.plugin.name;
    let bundled = Path::new("plugins").join(safe_name(name));
    if safe_name(name) == *name && environment.path(&bundled).is_dir() {
        return Ok(bundled);
    }
    let what = format_args!("there is no plugin {} for this trace", bundled.display());
    Err(Failure::configuration(what).help("name it with --plugin, a component or a folder"))
}
