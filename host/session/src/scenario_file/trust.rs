//! Restrictions of scenarios from elsewhere.

use std::path::Path;

use host_model::contract::NodeId;

use crate::base::text::shell_quoted;
use crate::base::{Context, Failure};
use crate::cluster::plugin_source;
use crate::scenario_file::content::Scenario;
use crate::scenario_file::owner::owner;
use crate::scenario_file::reader::wrong;
use crate::spec::RunSpec;
use crate::spec::limits;

/// Refuses to build a plugin that a scenario names in another place: a build runs commands of the plugin's folder, and running a
/// scenario expresses no trust in other folders. The plugin around the scenario and the plugins next to that one came with it.
pub fn check_builds(file: &Scenario, asked: &RunSpec, context: &Context<'_>) -> Result<(), Failure> {
    let path = &file.path;
    let owner = owner(path, context.directory).and_then(|owner| context.path(&owner).canonicalize().ok());
    let trusted = owner.as_deref().and_then(Path::parent);
    let (own, upper) = (&file.spec.cluster.placement, &asked.cluster.placement);
    let is_asked = |node: &NodeId| upper.node.iter().chain(&upper.adversary).any(|(other, _)| other == node);
    let honest = own.node.iter().map(|place| ("node", place));
    let placed = honest.chain(own.adversary.iter().map(|place| ("adversary", place)));
    let placed = placed.filter(|(_, (node, _))| !is_asked(node));
    let placed = placed.map(|(option, (node, path))| (&**path, file.line(&format!("{option} {node}"))));
    let specs = if asked.cluster.specs.is_empty() { &*file.spec.cluster.specs } else { &[] };
    let specs = specs.iter().map(|path| (&**path, file.line("spec")));
    let plugin = Some(&*file.spec.cluster.plugin).filter(|plugin| !plugin.as_os_str().is_empty());
    for (named, line) in plugin.map(|plugin| (plugin, None)).into_iter().chain(placed).chain(specs) {
        let absolute = context.path(named);
        if !plugin_source::needs_build(&absolute) {
            continue;
        }
        let is_trusted = absolute.canonicalize().is_ok_and(|path| trusted.is_some() && path.parent() == trusted);
        if !is_trusted {
            let what = format!("{} would have to be built, and the scenario does not lie next to it", named.display());
            let failure = wrong(path, line, &what);
            return Err(failure.help(format_args!(
                "build it with `host build {}` and name the component, or keep the scenario in the folder `scenarios` of the plugin",
                shell_quoted(&named.to_string_lossy())
            )));
        }
    }
    Ok(())
}

/// Reports the limits that a scenario raises.
pub fn tell_limits(file: &Scenario, asked: &RunSpec, context: &mut Context<'_>) {
    let mut given = file.spec.cluster.limits.clone();
    given.retain(|name, _| !asked.cluster.limits.contains_key(name));
    let raised = limits::raised(&given);
    if !raised.is_empty() && !asked.process.source.quiet {
        context.tell(&format!("limits: {} raises {}", file.path.display(), raised.join(", ")));
    }
}
