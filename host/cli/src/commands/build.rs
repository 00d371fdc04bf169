//! `host build`.

use host_inspect::words;
use host_model::contract::Outside;
use host_model::scenario::Scenario;
use host_session::base::text::shell_quoted;
use host_session::base::{Exit, Failure};
use host_session::cluster::{plugin_source, spec_source};
use host_session::spec::limits;

use crate::commands::doctor::{self, NODES};
use crate::environment::Environment;
use crate::options::plugins::BuildArguments;
use host_session::conformance::{Deviation, examine};

/// The maximum number of executed handlers: enough to see that state is captured and restored.
const STEPS: u64 = 100;

/// Builds the plugin in a folder, prints the path of the component, and examines it briefly.
pub fn run(arguments: &BuildArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let (folder, source) = (&arguments.folder, arguments.source.into());
    let limits = limits::effective(&arguments.limits.given());
    let wasm = plugin_source::build(folder, source, &limits, &mut environment.context())?;
    environment.print(&format!("{}\n", wasm.display()))?;
    if arguments.no_examine {
        return Ok(Exit::Ok);
    }
    if let Some(spec) = spec_source::built(&wasm, source, limits.clone(), &mut environment.context())? {
        let names: Vec<String> = spec.properties().into_iter().map(|property| property.name).collect();
        if !arguments.source.quiet {
            let (names, folder) = (words::on_one_line(&names.join(", ")), shell_quoted(&folder.to_string_lossy()));
            environment
                .tell(&format!("examined: a spec that states {names}; `host run PLUGIN --spec {folder}` judges them"));
        }
        return Ok(Exit::Ok);
    }
    let loaded = plugin_source::load(&wasm, source, limits, &mut environment.context())?;
    let nodes = loaded.plugin.about().map_or(NODES, |about| about.nodes);
    let seen = examine(loaded.factory(), &Scenario::new(nodes), STEPS, false)?;
    let verdict = match seen.findings.first() {
        None => "fit for a search".to_owned(),
        // Only the author knows the required parameters.
        Some(Deviation::Refused(why)) => format!("not examined: {why}"),
        Some(found) => format!("{}: {}", doctor::verdict(&seen), doctor::finding(found)),
    };
    if !arguments.source.quiet {
        let verdict = words::on_one_line(&verdict);
        let folder = shell_quoted(&folder.to_string_lossy());
        environment.tell(&format!("examined: {verdict}; `host doctor {folder}` says more"));
    }
    let is_unfit = seen.findings.iter().any(|found| !matches!(found, Deviation::Refused(_)));
    Ok(if is_unfit { Exit::GuestFault } else { Exit::Ok })
}
