//! `host export`.

use host_inspect::exchange::{self, TooLarge};
use host_inspect::recording::Recording;
use host_session::base::text::json_text;
use host_session::base::{Exit, Failure, files};
use host_session::cluster::Cluster;
use host_session::cluster::trace_file;
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
    let text = match arguments.format.as_str() {
        "itf" => {
            let text = json_text(&exchange::itf(&recording).map_err(too_large)?);
            // Indented, it can be longer.
            if text.len() > exchange::ITF_BYTES_MAX {
                return Err(too_large(TooLarge(exchange::ITF_BYTES_MAX)));
            }
            text
        }
        "shiviz" => exchange::shiviz(&recording).map_err(too_large)?,
        _ => trace_file::text(&recording.trace),
    };
    match &arguments.out {
        Some(path) => files::write(path, &text, &environment.directory)?,
        None => environment.print(&text)?,
    }
    Ok(Exit::Ok)
}

fn too_large(error: TooLarge) -> Failure {
    Failure::configuration(format_args!("the trace cannot be exported: {error}"))
        .help("make the trace shorter with `host minimize`, or use --format json")
}
