//! `host replay`.

use std::path::Path;

use host_inspect::explain::{self, Paint};
use host_inspect::recording::{Observed, Recording};
use host_inspect::words;
use host_model::contract::NodeId;
use host_model::trace::{Finding, Hex, Trace, TraceEvent};
use host_session::base::text::{count, json_text, on_one_line};
use host_session::base::{Exit, Failure};
use host_session::cluster::Cluster;
use host_session::cluster::plugin_source::LoadedPlugin;
use host_session::report::result::PluginReport;
use host_session::search::following::{Followed, follow};
use host_session::search::replay::{Ending, ending, failure};
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::options::traces::ReplayArguments;
use crate::output::text::sibling_text;

/// The maximum size in bytes of the JSON object of a replay: it repeats the description of a message each time that it is sent.
const JSON_BYTES_MAX: usize = 256 << 20;

/// Replays a trace and shows each step.
pub fn run(arguments: &ReplayArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let (trace, cluster) = Cluster::of_trace(&arguments.trace.spec(), &mut environment.context())?;
    let given = &arguments.trace.trace;
    let has_recorded = cluster.has_recorded(&trace);
    if !has_recorded && trace.plugin.digest.is_some() {
        return run_followed(arguments, &trace, &cluster, environment);
    }
    let (recording, result) = Recording::new(cluster.factory(), &trace);
    let is_same = result.is_ok() && ending(&trace, recording.found()).is_ok();
    if !has_recorded && !is_same {
        // The trace is for every build, so this one may differ.
        return run_followed(arguments, &trace, &cluster, environment);
    }
    let paint = environment.paint();
    let text = steps_text(&trace, &cluster, &recording, paint);
    if let Err(error) = result {
        // The steps before the failing one may explain it.
        if !arguments.json {
            environment.print(&text)?;
        }
        return Err(failure(given, error));
    }
    let ending = ending(&trace, recording.found()).map_err(|error| failure(given, error))?;
    let text = match arguments.json {
        true => json_of(&recording, &cluster.plugin, given, ending.result(), ending.exit(), &ending.findings)?,
        false => {
            let sibling = Recording::of_sibling(cluster.factory(), &trace).map_err(|error| failure(given, error))?;
            let sibling =
                sibling.map(|sibling| sibling_text(&sibling, trace.steps.len(), paint) + "\n").unwrap_or_default();
            let way_on = Recording::of_way_on(cluster.factory(), &trace).map_err(|error| failure(given, error))?;
            let way_on = way_on.map(|(way, is_over)| explain::way_on(&way, trace.steps.len(), is_over, paint) + "\n");
            let way_on = way_on.unwrap_or_default();
            format!("{text}\n{sibling}{way_on}{}{}\n", explain::views(&recording), ended(&recording, &ending))
        }
    };
    environment.print(&text)?;
    Ok(ending.exit())
}

/// Follows a trace in another build than the recorded one.
fn run_followed(
    arguments: &ReplayArguments,
    trace: &Trace,
    cluster: &Cluster,
    environment: &mut Environment<'_>,
) -> Result<Exit, Failure> {
    let given = &arguments.trace.trace;
    let (recording, followed) = follow(cluster, trace, &mut environment.context());
    let followed = followed?;
    let paint = environment.paint();
    let steps = || steps_text(trace, cluster, &recording, paint);
    if let Followed::Cut { .. } = followed {
        if !arguments.json {
            environment.print(&steps())?;
        }
        let failure = Failure::configuration(format_args!("{} {followed}", given.display()));
        return Err(failure.help("the plugin is another one than it was recorded with; record the trace again"));
    }
    let findings: Vec<Finding> = match &followed {
        Followed::Violated(finding) | Followed::Other(finding) => vec![finding.clone()],
        Followed::Gone | Followed::Kept { .. } | Followed::Arrived | Followed::Cut { .. } => Vec::new(),
    };
    let text = match arguments.json {
        true => json_of(&recording, &cluster.plugin, given, followed.name(), followed.exit(), &findings)?,
        false => {
            format!("{}\n{}{}\n", steps(), explain::views(&recording), on_one_line(&followed.text(&recording.names)))
        }
    };
    environment.print(&text)?;
    Ok(followed.exit())
}

/// The cluster, its start, and each step.
fn steps_text(trace: &Trace, cluster: &Cluster, recording: &Recording, paint: Paint) -> String {
    let (title, start) = (title(trace, &cluster.plugin), explain::start(recording));
    format!("{title}\n\n{start}\n{}", explain::steps(recording, 0, paint))
}

/// The cluster on one line.
pub fn title(trace: &Trace, loaded: &LoadedPlugin) -> String {
    let scenario = &trace.scenario;
    let mut text = format!(
        "{} {}, {}{}, network {}",
        loaded.reference.name,
        loaded.reference.version.as_deref().unwrap_or("without version"),
        count(scenario.nodes.into(), "node"),
        words::absent(scenario),
        words::network(scenario)
    );
    let parameters = loaded.effective_parameters(scenario);
    text.extend(parameters.iter().map(|(key, value)| format!(", {key}={value}")));
    on_one_line(&text)
}

/// The end of the replay, for people.
fn ended(recording: &Recording, ending: &Ending) -> String {
    let lines = ending.findings.iter().map(|finding| explain::verdict(recording, finding, None));
    match ending.findings.is_empty() {
        true => "replayed: no property is violated at the end".to_owned(),
        false => lines.map(|line| format!("replayed: {line}")).collect::<Vec<_>>().join("\n"),
    }
}

/// The same as one JSON object.
fn json_of(
    recording: &Recording,
    loaded: &LoadedPlugin,
    trace: &Path,
    result: &str,
    exit: Exit,
    findings: &[Finding],
) -> Result<String, Failure> {
    let init = (0..)
        .zip(&recording.init)
        .map(|(node, observed)| with_effects(recording, node, observed, None, json!({ "node": node })));
    let steps = (1..).zip(&recording.trace.steps).map(|(number, step)| {
        let message = match &step.event {
            TraceEvent::Deliver { payload, .. } | TraceEvent::Lose { payload, .. } => {
                recording.message_json(&payload.0)
            }
            TraceEvent::Quorum { messages, .. } => {
                let said = messages.iter().map(|message| json!(recording.message_json(&message.payload.0)));
                Some(said.collect())
            }
            _ => None,
        };
        let text = recording.event(number);
        let head = json!({ "step": number, "node": step.node, "text": text, "event": step.event, "message": message });
        with_effects(recording, step.node, &recording.steps[number - 1], Some(number), head)
    });
    let (mut bytes, mut all) = (0, [Vec::new(), Vec::new()]);
    for (is_step, object) in init.map(|object| (0, object)).chain(steps.map(|object| (1, object))) {
        bytes += object.to_string().len();
        if bytes > JSON_BYTES_MAX {
            let what = format_args!("{} has too much to tell for one JSON object", trace.display());
            let failure = Failure::configuration(what);
            return Err(failure.help("make the trace shorter with `host minimize`, or look at it without --json"));
        }
        all[is_step].push(object);
    }
    let [init, steps] = all;
    Ok(json_text(&json!({
        "result": result,
        "exit_code": exit.code(),
        "trace": trace.display().to_string(),
        "plugin": PluginReport::from(&loaded.reference),
        "scenario": recording.trace.scenario,
        "names": recording.names,
        "init": init,
        "steps": steps,
        "findings": findings,
    })))
}

/// Adds the effects of a handler to an object.
fn with_effects(
    recording: &Recording,
    node: NodeId,
    observed: &Observed,
    step: Option<usize>,
    mut head: Value,
) -> Value {
    let sent = observed.sent.iter().map(
        |sent| json!({ "to": sent.to, "message": recording.message_json(&sent.payload.0), "payload": sent.payload }),
    );
    let before = step.and_then(|step| recording.observed(node, recording.step_before(step, node)).state.as_ref());
    head["choices"] = json!(observed.choices);
    head["sent"] = json!(sent.collect::<Vec<_>>());
    head["log"] = json!(observed.log);
    head["fault"] = json!(observed.fault);
    head["changed"] = json!(observed.state.is_some() && before != observed.state.as_ref());
    head["changes"] = json!(step.map(|step| explain::changes(recording, step)));
    head["state"] = json!(observed.state.clone().map(Hex));
    head["description"] = json!(observed.description);
    head
}
