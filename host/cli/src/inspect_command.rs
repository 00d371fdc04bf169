//! `host inspect`.
use crate::args::InspectArguments;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
/// todo
pub fn run(_arguments: &InspectArguments, _environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    Ok(Exit::Ok)
}
