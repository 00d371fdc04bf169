//! `host minimize`.

use host_inspect::minimize::{MinimizeError, Minimized, Options};
use host_inspect::words;
use host_model::scenario::NodeNames;
use host_model::trace::start::StartError;
use host_session::base::text::{count, json_text, on_one_line};
use host_session::base::{Exit, Failure};
use host_session::cluster::Cluster;
use host_session::cluster::trace_file;
use host_session::search::following;
use host_session::search::minimizing::shorten;
use serde_json::json;

use crate::environment::Environment;
use crate::options::traces::MinimizeArguments;

/// Shortens a trace and writes it.
pub fn run(arguments: &MinimizeArguments, program: &str, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let given = &arguments.trace.trace;
    let (trace, cluster) = Cluster::of_trace(&arguments.trace.spec(), &mut environment.context())?;
    let trace = following::still_violated(&cluster, trace, &mut environment.context())?;
    let lts = cluster.lts(cluster.factory())?;
    let options = Options { keep: arguments.keep, work_max: arguments.work, ..Options::default() };
    let (short, minimized) = shorten(&lts, &cluster, &trace, options).map_err(|error| match error {
        MinimizeError::Machine(error) | MinimizeError::Start(StartError::Machine(error)) => error.into(),
        error => Failure::configuration(format_args!("{} cannot be minimised: {error}", given.display())),
    })?;
    let out = arguments.out.clone().unwrap_or_else(|| given.with_file_name("minimized.json"));
    trace_file::write(&out, &short, &environment.directory)?;
    let (from, to) = (trace.steps.len(), short.steps.len());
    if arguments.json {
        environment.print(&json_text(&json!({
            "result": "minimized",
            "exit_code": Exit::Ok.code(),
            "trace": out.display().to_string(),
            "length": to,
            "found_length": from,
            "switches": minimized.switches.1,
            "found_switches": minimized.switches.0,
            "trials": minimized.trials,
            "complete": !minimized.is_cut,
            "finding": short.finding,
        })))?;
        return Ok(Exit::Ok);
    }
    let finding = short.finding.as_ref().expect("what is minimised has a finding");
    let mut text =
        format!("{}\n{}\n", words::finding(finding, None, &NodeNames::default()), summary(from, to, &minimized));
    if minimized.is_cut {
        text.push_str("the bound on the work is used up; --work allows more\n");
    }
    let (path, replay) = (on_one_line(&out.display().to_string()), cluster.replay_command(program, &out));
    text.push_str(&format!("\ntrace in {path}; replay it with\n{}\n", on_one_line(&replay)));
    environment.print(&text)?;
    Ok(Exit::Ok)
}

/// The reduction, in words.
pub fn summary(from: usize, to: usize, minimized: &Minimized) -> String {
    let switches = |number: usize| count(number as u64, "change");
    let (before, after) = minimized.switches;
    if from == to && before == after {
        return format!("{}, and each is needed", count(to as u64, "step"));
    }
    format!("{} instead of {}, and {} of node instead of {before}", count(to as u64, "step"), from, switches(after),)
}
