//! Other model checkers on the protocols of host, side by side in one run; and what depth costs.
//!
//! | module | what it holds |
//! |---|---|
//! | `compare` | the compared runs, the results that must agree, the tables |
//! | `depth` | the strategies of host by depth |
//! | `bugs` | the time of each strategy to each mistake in the tree |
//! | `lines` | the length of the protocols in the tree |
//! | `newcomer` | the time from the template to the first verdict |
//! | `plot` | curves as SVG |
//! | `checkers` | how each checker is built, started and understood |
//! | `measure` | a process with its resource usage |
//! | `table` | Markdown tables and numbers in them |
//! | `paxos` | Paxos for Stateright |
//! | `promises` | promises, for Stateright |
//! | `tlc` | promises, for TLC |
//! | `two_phase` | two-phase commit for TraceForge |

mod bugs;
mod checkers;
mod compare;
mod depth;
mod lines;
mod measure;
mod newcomer;
mod paxos;
mod plot;
#[cfg(test)]
mod promises;
mod table;
#[cfg(test)]
mod tlc;
mod two_phase;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use checkers::Tools;

/// Compare host with other model checkers, and plot what depth costs.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Stateright, TraceForge and SPIN compared with host: prints tables in Markdown, and writes them to target/peers.md
    Compare(Compare),
    /// Time, states and memory of the strategies by depth: prints a table in Markdown, and writes docs/cost-*.svg
    Depth(Depth),
    /// The time of each strategy to each seeded bug of the plugins: prints a table in Markdown
    Bugs(Bugs),
    /// Lines of code of each plugin: prints a table in Markdown
    Lines,
    /// The time from the template to the first verdict, step by step: prints a table in Markdown
    Newcomer(Newcomer),
    /// Runs a checker in this process, and prints one JSON object
    #[command(subcommand, hide = true)]
    Child(Child),
}

/// What is compared.
#[derive(clap::Args, Clone, Debug)]
struct Compare {
    /// Measure this binary instead of building one
    #[arg(long, value_name = "PATH")]
    host: Option<PathBuf>,
    /// One round, and smaller bounds: under a minute
    #[arg(long)]
    quick: bool,
    /// Also the whole space of two proposals by Stateright and SPIN: about half an hour, 16 GB of memory
    #[arg(long)]
    complete: bool,
    /// Only the tables with this in their titles
    #[arg(long, value_name = "PART")]
    only: Option<String>,
    /// How often each run is repeated; the tables have the medians [default: 3, or 1 with --quick]
    #[arg(long, value_name = "N")]
    rounds: Option<NonZeroUsize>,
}

/// How deep.
#[derive(clap::Args, Clone, Debug)]
struct Depth {
    /// Measure this binary instead of building one
    #[arg(long, value_name = "PATH")]
    host: Option<PathBuf>,
    /// A strategy goes no deeper after a run that took more CPU time
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0)]
    seconds_max: f64,
    /// Folder for the plots [default: docs of the repository]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// How long to look.
#[derive(clap::Args, Clone, Debug)]
struct Bugs {
    /// Measure this binary instead of building one
    #[arg(long, value_name = "PATH")]
    host: Option<PathBuf>,
    /// Time limit of a run, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0)]
    seconds_max: f64,
}

/// What is measured.
#[derive(clap::Args, Clone, Debug)]
struct Newcomer {
    /// Measure this binary instead of building one
    #[arg(long, value_name = "PATH")]
    host: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Child {
    Stateright {
        proposers: usize,
        #[arg(action = clap::ArgAction::Set)]
        init_by_event: bool,
        transitions_max: Option<NonZeroUsize>,
    },
    #[command(name = "traceforge")]
    TraceForge { participants: u32 },
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Compare(compare) => {
            Tools::ready(compare.host.clone()).and_then(|tools| compare::run(&compare, &tools))
        }
        Command::Depth(depth) => Tools::ready(depth.host.clone()).and_then(|tools| depth::run(&depth, &tools)),
        Command::Bugs(bugs) => Tools::ready(bugs.host.clone()).and_then(|tools| bugs::run(&bugs, &tools.host)),
        Command::Lines => lines::run(),
        Command::Newcomer(newcomer) => Tools::ready(newcomer.host).and_then(|tools| newcomer::run(&tools.host)),
        Command::Child(Child::Stateright { proposers, init_by_event, transitions_max }) => {
            println!("{}", paxos::check(paxos::Scenario { proposers, init_by_event, transitions_max }));
            Ok(())
        }
        Command::Child(Child::TraceForge { participants }) => {
            println!("{}", two_phase::check(participants));
            Ok(())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
