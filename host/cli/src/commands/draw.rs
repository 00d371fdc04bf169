//! `host draw`.

use std::path::Path;

use host_inspect::draw::{self, Context, Form};
use host_inspect::recording::Recording;
use host_session::base::{Exit, Failure, files};
use host_session::cluster::Cluster;
use host_session::search::following;
use host_session::search::replay::failure;

use crate::environment::Environment;
use crate::options::traces::DrawArguments;

/// Draws a trace. `program` is the first word of the command line, for the command that a drawing quotes.
pub fn run(arguments: &DrawArguments, program: &str, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let given = &arguments.trace.trace;
    let format = arguments.format.as_deref().and_then(Form::of_name);
    let mut out = arguments.out.clone();
    if out.is_empty() {
        out.push(given.with_extension(format.unwrap_or(Form::Svg).extension()));
    }
    // Errors that need no plugin are reported before it is built.
    let forms: Vec<Form> = out.iter().map(|path| format.map_or_else(|| form(path), Ok)).collect::<Result<_, _>>()?;
    let (trace, cluster) = Cluster::of_trace(&arguments.trace.spec(), &mut environment.context())?;
    let trace = following::shown(&cluster, trace, &mut environment.context())?;
    let (recording, result) = Recording::new(cluster.factory(), &trace);
    result.map_err(|error| failure(given, error))?;
    let sibling = Recording::of_sibling(cluster.factory(), &trace).map_err(|error| failure(given, error))?;
    let replay = cluster.replay_command(program, given);
    let context = Context { prefix: arguments.prefix, replay: Some(&replay), sibling: sibling.as_ref() };
    for (path, form) in out.iter().zip(forms) {
        files::write(path, &draw::draw(&recording, form, context), &environment.directory)?;
        environment.print(&format!("{}\n", path.display()))?;
    }
    Ok(Exit::Ok)
}

fn form(path: &Path) -> Result<Form, Failure> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    Form::of_extension(extension).ok_or_else(|| {
        let known: Vec<String> = Form::ALL.iter().map(|form| format!(".{}", form.extension())).collect();
        Failure::configuration(format_args!("`--out {}` does not say what to draw", path.display()))
            .help(format_args!("use a name that ends in one of {}, or --format", known.join(", ")))
    })
}
