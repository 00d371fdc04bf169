//! `host list`.
use crate::args::ListArguments;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
/// todo
pub fn run(_arguments: &ListArguments, _environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    Ok(Exit::Ok)
}
