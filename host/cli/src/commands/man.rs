//! `host man`.

use std::path::Path;

use clap::CommandFactory;
use clap_mangen::Man;
use host_session::base::{Exit, Failure, files};

use crate::environment::Environment;
use crate::options::Arguments;

/// Prints the manual page of the program, or writes those of all commands into a folder.
pub fn run(out: Option<&Path>, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let mut command = Arguments::command();
    // Completes the names of the commands, as they are typed.
    command.build();
    let Some(folder) = out else {
        environment.print(&page(command)?)?;
        return Ok(Exit::Ok);
    };
    let mut pages = vec![("host.1".to_owned(), page(command.clone())?)];
    for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
        pages.push((format!("host-{}.1", subcommand.get_name()), page(subcommand.clone())?));
    }
    for (name, text) in pages {
        files::write(&folder.join(name), &text, &environment.directory)?;
    }
    Ok(Exit::Ok)
}

/// The manual page of a command.
fn page(command: clap::Command) -> Result<String, Failure> {
    let mut text = Vec::new();
    let rendered = Man::new(command).render(&mut text);
    rendered.map_err(|error| Failure::system(format_args!("cannot write the manual page: {error}")))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
