//! `host explore`.

use std::sync::Arc;

use host_explore::{Explored, PLACES_MAX};
use host_model::trace::Trace;
use host_session::Request;
use host_session::base::{Exit, Failure};
use host_session::cluster::Cluster;
use host_session::search::following;
use host_session::spec::{ClusterSpec, ProcessSpec, RunSpec};

use crate::commands::{debug, replay};
use crate::environment::Environment;
use crate::options::after_dashes::Taker;
use crate::options::traces::ExploreArguments;

const TAKER: Taker = Taker {
    name: "host explore",
    does: "shows the cluster on a page",
    besides: &["continue", "max-violations", "deadlock"],
};

/// Serves the page of a cluster until an interrupt.
pub fn run(arguments: &ExploreArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let given = &arguments.trace.trace;
    let (trace, cluster, spec) = match debug::is_trace(given) {
        true if arguments.options.is_empty() => of_trace(arguments, environment)?,
        true => return Err(debug::options_behind_a_trace()),
        false => of_plugin(arguments, environment)?,
    };
    let explored = Explored {
        title: replay::title(&trace, &cluster.plugin),
        trace,
        cluster: &cluster,
        spec,
        directory: environment.directory.clone(),
        cache: environment.cache.clone(),
        builds: environment.builds.of_components(),
        clock: Arc::clone(&environment.clock),
        interrupted: Arc::clone(&environment.interrupted),
        places_max: PLACES_MAX,
    };
    host_explore::serve(explored, arguments.port, |address| {
        environment.tell("the page of the cluster is at this address; Ctrl-C ends the session");
        environment.print(&format!("{address}\n"))
    })?;
    Ok(Exit::Ok)
}

/// The cluster of a trace.
fn of_trace(
    arguments: &ExploreArguments,
    environment: &mut Environment<'_>,
) -> Result<(Trace, Cluster, RunSpec), Failure> {
    let spec = arguments.trace.spec();
    let (trace, cluster) = Cluster::of_trace(&spec, &mut environment.context())?;
    let trace = following::shown(&cluster, trace, &mut environment.context())?;
    // The input of a search: the trace that it begins with has everything else about the cluster.
    let asked = ClusterSpec {
        plugin: cluster.plugin.given.clone(),
        limits: spec.limits.into_iter().collect(),
        any_plugin: true,
        expressed: trace.expressed.clone(),
        specs: cluster.specs.iter().map(|spec| spec.given.clone()).collect(),
        placement: cluster.components.spec(),
        ..ClusterSpec::default()
    };
    let process = ProcessSpec { source: spec.source, ..ProcessSpec::default() };
    Ok((trace, cluster, RunSpec { cluster: asked, process, ..RunSpec::default() }))
}

/// A cluster as `host run` would start it: of a plugin and options, or of a scenario.
fn of_plugin(
    arguments: &ExploreArguments,
    environment: &mut Environment<'_>,
) -> Result<(Trace, Cluster, RunSpec), Failure> {
    let given = &arguments.trace;
    let mut spec = TAKER.options(&given.trace, &arguments.options)?.spec();
    spec.cluster.limits.extend(given.limits.given());
    spec.process.source = given.source.into();
    let request = Request::new(spec, &mut environment.context())?;
    let cluster = request.located(|| request.open(&mut environment.context()))?;
    let trace = cluster.prefix.clone().unwrap_or_else(|| cluster.empty_trace());
    Ok((trace, cluster, request.spec))
}
