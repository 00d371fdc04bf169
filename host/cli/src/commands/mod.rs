//! The commands.
//!
//! | module | what it holds |
//! |---|---|
//! | `run` | `host run` |
//! | `watch` | `host run --watch` |
//! | `new` | `host new` |
//! | `build` | `host build` |
//! | `inspect` | `host inspect` |
//! | `doctor` | `host doctor` |
//! | `replay` | `host replay` |
//! | `minimize` | `host minimize` |
//! | `draw` | `host draw` |
//! | `graph` | `host graph` |
//! | `simulate` | `host simulate` |
//! | `swarm` | `host swarm` |
//! | `live` | `host live` |
//! | `export` | `host export` |
//! | `debug` | `host debug` |
//! | `explore` | `host explore` |
//! | `follow` | `host follow` |
//! | `refine` | `host refine` |
//! | `linearizable` | `host linearizable` |
//! | `line_editor` | lines with history and completion, from a terminal or from a script |
//! | `languages` | `host languages`: one protocol in many languages, side by side |
//! | `list` | `host list` |
//! | `test` | `host test` |
//! | `cache` | `host cache` |
//! | `completions` | `host completions` |
//! | `schema` | `host schema` |
//! | `man` | `host man` |

mod build;
mod cache;
mod completions;
mod debug;
mod doctor;
mod draw;
mod explore;
mod export;
mod follow;
mod graph;
mod inspect;
mod languages;
mod line_editor;
mod linearizable;
mod list;
mod live;
mod man;
mod minimize;
mod new;
mod refine;
mod replay;
mod run;
mod schema;
mod simulate;
mod swarm;
mod test;
mod watch;

use std::ffi::OsString;

use host_session::base::text::shell_quoted;
use host_session::base::{Exit, Failure};

use crate::environment::Environment;
use crate::options::Command;

/// Runs the command of a command line; `words` are for people.
pub fn execute(command: &Command, words: &[OsString], environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let program = words.first().map_or("host", String::as_str);
    match command {
        Command::Run(arguments) => {
            let line = words.iter().map(|word| shell_quoted(word)).collect::<Vec<_>>().join(" ");
            run::run(arguments, program, &line, environment)
        }
        Command::Languages(arguments) => languages::run(arguments, environment),
        Command::New(arguments) => new::run(arguments, environment),
        Command::Build(arguments) => build::run(arguments, environment),
        Command::Inspect(arguments) => inspect::run(arguments, environment),
        Command::Doctor(arguments) => doctor::run(arguments, environment),
        Command::Replay(arguments) => replay::run(arguments, environment),
        Command::Export(arguments) => export::run(arguments, environment),
        Command::Debug(arguments) => debug::run(arguments, environment),
        Command::Explore(arguments) => explore::run(arguments, environment),
        Command::Draw(arguments) => draw::run(arguments, program, environment),
        Command::Graph(arguments) => graph::run(arguments, environment),
        Command::Simulate(arguments) => simulate::run(arguments, program, environment),
        Command::Swarm(arguments) => swarm::run(arguments, program, environment),
        Command::Live(arguments) => live::run(arguments, program, environment),
        Command::Follow(arguments) => follow::run(arguments, program, environment),
        Command::Refine(arguments) => refine::run(arguments, program, environment),
        Command::Linearizable(arguments) => linearizable::run(arguments, environment),
        Command::Minimize(arguments) => minimize::run(arguments, program, environment),
        Command::Test(arguments) => test::run(arguments, program, environment),
        Command::List(arguments) => list::run(arguments, environment),
        Command::Cache(arguments) => cache::run(arguments, environment),
        Command::Completions(arguments) => completions::run(arguments.shell, environment),
        Command::Schema(arguments) => schema::run(arguments.of, environment),
        Command::Man(arguments) => man::run(arguments.out.as_deref(), environment),
    }
}
