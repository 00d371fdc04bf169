//! What a scenario from elsewhere cannot do, or not silently.

use std::path::Path;

use crate::base::environment::Environment;
use crate::base::failure::Failure;
use crate::options::limits;
use crate::scenario_file::content::{Given, ScenarioFile};
use crate::scenario_file::owner::owner;
use crate::scenario_file::reader::wrong;
use crate::setup::plugin_source;

/// Refuses to build what a scenario names elsewhere: to build runs what the folder says, and who runs a scenario has not said
/// that they trust a folder somewhere else. The plugin that it lies in and those beside it came with it.
pub fn check_builds(
    file: &ScenarioFile,
    path: &Path,
    is_typed: &dyn Fn(&Given) -> bool,
    environment: &Environment<'_>,
) -> Result<(), Failure> {
    let owner = owner(path, environment).and_then(|owner| environment.path(&owner).canonicalize().ok());
    let beside = owner.as_deref().and_then(Path::parent);
    let placed = file.options.iter().filter(|given| matches!(given.option, "node" | "adversary") && !is_typed(given));
    let placed = placed.map(|given| (Path::new(&given.value), Some(given.line)));
    for (named, line) in file.plugin.iter().map(|plugin| (&**plugin, None)).chain(placed) {
        let absolute = environment.path(named);
        if !plugin_source::needs_build(&absolute) {
            continue;
        }
        let is_beside = absolute.canonicalize().is_ok_and(|path| beside.is_some() && path.parent() == beside);
        if !is_beside {
            let what = format!("{} would have to be built, and the scenario does not lie beside it", named.display());
            let failure = wrong(path, line, &what);
            return Err(failure.help(format_args!(
                "build it with `host build {}` and name the component, or keep the scenario in the folder `scenarios` of the plugin",
                named.display()
            )));
        }
    }
    Ok(())
}

/// Says which limits a scenario raises.
pub fn tell_limits(
    file: &ScenarioFile,
    path: &Path,
    is_typed: &dyn Fn(&Given) -> bool,
    is_quiet: bool,
    environment: &mut Environment<'_>,
) {
    let given = file.options.iter().filter(|given| given.option == "limit" && !is_typed(given));
    let values = given.filter_map(|given| limits::value(given.key.as_deref()?, given.value.to_str()?).ok());
    let raised = limits::raised(&values.map(|(name, value)| (name.to_owned(), value)).collect());
    if !raised.is_empty() && !is_quiet {
        environment.tell(&format!("limits: {} raises {}", path.display(), raised.join(", ")));
    }
}
