//! `host export`.

use host_inspect::exchange::{self, TooLarge};
use host_inspect::recording::Recording;

use crate::base::environment::Environment;
use crate::base::exit::Exit;
use crate::base::failure::Failure;
use crate::base::files;
use crate::base::text::json_text;
use crate::commands::replay;
use crate::options::traces::ExportArguments;
use crate::setup::trace_file;
use crate::setup::trace_source;

/// Writes a trace in another format.
pub fn run(arguments: &ExportArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let (trace, loaded) = trace_source::load(&arguments.trace, environment)?;
    let (recording, result) = Recording::new(loaded.factory(), &trace);
    result.map_err(|error| replay::failure(&arguments.trace.trace, error))?;
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
        Some(path) => files::write(path, &text, environment)?,
        None => environment.print(&text)?,
    }
    Ok(Exit::Ok)
}

fn too_large(error: TooLarge) -> Failure {
    Failure::configuration(format_args!("the trace cannot be exported: {error}"))
        .help("make the trace shorter with `host minimize`, or use --format json")
}
