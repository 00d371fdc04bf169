//! `host build`.

use crate::args::BuildArguments;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::plugin_source;

/// Builds the plugin in a folder; the path of the component is the result.
pub fn run(arguments: &BuildArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let wasm = plugin_source::build(&arguments.folder, arguments.source, environment)?;
    environment.print(&format!("{}\n", wasm.display()))?;
    Ok(Exit::Ok)
}
