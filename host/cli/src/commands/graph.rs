//! `host graph`.

use std::path::{Path, PathBuf};

use host_inspect::draw::{StatesForm, draw_states};
use host_session::Request;
use host_session::base::text::count;
use host_session::base::{Exit, Failure, files};
use host_session::cluster::Cluster;
use host_session::search::states::{Shown, states};

use crate::environment::Environment;
use crate::options::after_dashes::Taker;
use crate::options::plugins::GraphArguments;

const TAKER: Taker = Taker {
    name: "host graph",
    does: "goes through all states level by level",
    besides: &["depth", "local-events", "deadlock", "time", "memory"],
};

/// Draws the states of a plugin or scenario, and the events between them.
pub fn run(arguments: &GraphArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    // Errors that need no plugin are reported before it is built.
    let format = arguments.format.as_deref().and_then(StatesForm::of_name);
    let out = match arguments.out.is_empty() {
        true => vec![PathBuf::from(format!("graph.{}", format.unwrap_or(StatesForm::Svg).name()))],
        false => arguments.out.clone(),
    };
    let forms: Vec<StatesForm> =
        out.iter().map(|path| format.map_or_else(|| form(path), Ok)).collect::<Result<_, _>>()?;
    let mut spec = TAKER.options(&arguments.plugin, &arguments.options)?.spec();
    spec.process.source = arguments.source.into();
    let request = Request::new(spec, &mut environment.context())?;
    let graph = request.located(|| {
        let spec = &request.spec;
        let cluster = Cluster::open(spec, &mut environment.context())?;
        let lts = cluster.lts(cluster.factory())?;
        let is_local = arguments.local || arguments.node.is_some();
        let shown = if is_local { Shown::Local(arguments.node) } else { Shown::Global };
        states(spec, &cluster, &lts, shown, arguments.states, &mut environment.context())
    })?;
    for (path, form) in out.iter().zip(forms) {
        files::write(path, &draw_states(&graph, form), &environment.directory)?;
        let (states, edges) = (count(graph.states.len() as u64, "state"), count(graph.edges.len() as u64, "step"));
        environment.print(&format!("{}: {states}, {edges}\n", path.display()))?;
    }
    if let Some(left_out) = &graph.left_out {
        environment.print(&format!("{left_out}\n"))?;
    }
    Ok(Exit::Ok)
}

fn form(path: &Path) -> Result<StatesForm, Failure> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    StatesForm::of_name(extension).ok_or_else(|| {
        let known: Vec<String> = StatesForm::ALL.iter().map(|form| format!(".{}", form.name())).collect();
        Failure::configuration(format_args!("`--out {}` does not say what to draw", path.display()))
            .help(format_args!("use a name that ends in one of {}, or --format", known.join(", ")))
    })
}
