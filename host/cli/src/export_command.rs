//! `host export`.

use host_inspect::exchange;
use host_inspect::recording::Recording;

use crate::args::ExportArguments;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{files, json_text, replay_command, trace_file, trace_source};

/// Writes a trace in another format.
pub fn run(arguments: &ExportArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let (trace, loaded) = trace_source::load(&arguments.trace, environment)?;
    let (recording, result) = Recording::new(loaded.factory(), &trace);
    result.map_err(|error| replay_command::failure(&arguments.trace.trace, error))?;
    let text = match arguments.format.as_str() {
        "itf" => json_text(&exchange::itf(&recording)),
        "shiviz" => exchange::shiviz(&recording),
        _ => trace_file::text(&recording.trace),
    };
    match &arguments.out {
        Some(path) => files::write(path, &text, environment)?,
        None => environment.print(&text)?,
    }
    Ok(Exit::Ok)
}
