//! `host export`.

use host_inspect::recording::Recording;
use host_session::base::{Exit, Failure, files};
use host_session::cluster::Cluster;
use host_session::search::following;
use host_session::search::replay::failure;

use crate::environment::Environment;
use crate::options::traces::ExportArguments;

/// Writes a trace in another format.
pub fn run(arguments: &ExportArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let (trace, cluster) = Cluster::of_trace(&arguments.trace.spec(), &mut environment.context())?;
    let trace = following::shown(&cluster, trace, &mut environment.context())?;
    let (recording, result) = Recording::new(cluster.factory(), &trace);
    result.map_err(|error| failure(&arguments.trace.trace, error))?;
    let text = (arguments.format.write)(&recording).map_err(|error| {
        Failure::configuration(format_args!("the trace cannot be exported: {error}"))
            .help("make the trace shorter with `host minimize`, or use --format json")
    })?;
    match &arguments.out {
        Some(path) => files::write(path, &text, &environment.directory)?,
        None => environment.print(&text)?,
    }
    Ok(Exit::Ok)
}
