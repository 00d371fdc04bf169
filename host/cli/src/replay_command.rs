//! `host replay`.
use crate::args::ReplayArguments;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
/// todo
pub fn run(_arguments: &ReplayArguments, _environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    Ok(Exit::Ok)
}
