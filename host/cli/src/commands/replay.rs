//! `host replay`.

use std::path::Path;

use host_inspect::explain;
use host_inspect::recording::{Observed, Recording};
use host_inspect::words;
use host_model::contract::NodeId;
use host_model::trace::replay::ReplayError;
use host_model::trace::{Finding, Hex, Trace, TraceEvent};
use serde_json::{Value, json};

use crate::base::environment::Environment;
use crate::base::exit::Exit;
use crate::base::failure::Failure;
use crate::base::text::json_text;
use crate::base::text::{count, on_one_line};
use crate::options::traces::ReplayArguments;
use crate::report::result::PluginReport;
use crate::searching::finding;
use crate::setup::plugin_source::Loaded;
use crate::setup::scenario_choice;
use crate::setup::trace_source;

/// Bytes of the JSON object of a replay: what a plugin says of a message stands there each time that it is sent.
const JSON_BYTES_MAX: usize = 256 << 20;

/// Runs a trace again and shows each step.
pub fn run(arguments: &ReplayArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let (trace, loaded) = trace_source::load(&arguments.trace, environment)?;
    let given = &arguments.trace.trace;
    let (recording, result) = Recording::new(loaded.factory(), &trace);
    let paint = environment.paint();
    let text = format!(
        "{}\n\n{}\n{}",
        title(&trace, &loaded),
        explain::start(&recording),
        explain::steps(&recording, 0, paint)
    );
    if let Err(error) = result {
        // What led to the step that fails is worth a look.
        if !arguments.json {
            environment.print(&text)?;
        }
        return Err(failure(given, error));
    }
    let outcome = outcome(&trace, recording.findings.iter().map(|(_, finding)| finding.clone()).collect())
        .map_err(|error| failure(given, error))?;
    let text = match arguments.json {
        true => json_of(&recording, &loaded, given, &outcome)?,
        false => format!("{text}\n{}{}\n", explain::views(&recording), outcome.text()),
    };
    environment.print(&text)?;
    Ok(outcome.exit())
}

/// The cluster on one line.
pub fn title(trace: &Trace, loaded: &Loaded) -> String {
    let scenario = &trace.scenario;
    let mut text = format!(
        "{} {}, {}, network {}",
        loaded.reference.name,
        loaded.reference.version.as_deref().unwrap_or("without version"),
        count(scenario.nodes.into(), "node"),
        words::network(scenario)
    );
    let parameters = scenario_choice::effective_parameters(loaded, scenario);
    text.extend(parameters.iter().map(|(key, value)| format!(", {key}={value}")));
    on_one_line(&text)
}

/// Why a trace does not replay.
pub fn failure(trace: &Path, error: ReplayError) -> Failure {
    match error {
        ReplayError::Machine(error) => error.into(),
        error => Failure::configuration(format_args!("{} does not replay: {error}", trace.display())),
    }
}

/// How a replay ended.
struct Outcome {
    /// What is there at the end, the recorded finding first.
    findings: Vec<Finding>,
    /// Whether the trace said so.
    is_recorded: bool,
}

/// Compares what is there at the end with what the trace says.
fn outcome(trace: &Trace, findings: Vec<Finding>) -> Result<Outcome, ReplayError> {
    // A property that is reached is worth a word only where the trace is about it.
    let is_bad = |finding: &Finding| finding::exit(finding) != Exit::Ok;
    let Some(recorded) = &trace.finding else {
        return Ok(Outcome { findings: findings.into_iter().filter(is_bad).collect(), is_recorded: false });
    };
    if findings.contains(recorded) {
        let others = findings.into_iter().filter(|finding| finding != recorded && is_bad(finding));
        return Ok(Outcome { findings: std::iter::once(recorded.clone()).chain(others).collect(), is_recorded: true });
    }
    let what = match findings.iter().find(|finding| is_bad(finding)) {
        None => format!("every property holds, but the trace says that {}", words::finding(recorded, None)),
        Some(other) => {
            format!("{}, but the trace says that {}", words::finding(other, None), words::finding(recorded, None))
        }
    };
    Err(ReplayError::NoFinding { what })
}

impl Outcome {
    fn exit(&self) -> Exit {
        self.findings.first().map_or(Exit::Ok, finding::exit)
    }

    fn result(&self) -> &'static str {
        match (self.findings.is_empty(), self.is_recorded) {
            (true, _) => "ok",
            (false, true) => "replayed",
            (false, false) => "violation",
        }
    }

    fn text(&self) -> String {
        let lines = self.findings.iter().map(|finding| words::finding(finding, None));
        match self.findings.is_empty() {
            true => "replayed: no property is violated at the end".to_owned(),
            false => lines.map(|line| format!("replayed: {line}")).collect::<Vec<_>>().join("\n"),
        }
    }
}

/// The same as one JSON object.
fn json_of(recording: &Recording, loaded: &Loaded, trace: &Path, outcome: &Outcome) -> Result<String, Failure> {
    let init = (0..)
        .zip(&recording.init)
        .map(|(node, observed)| with_effects(recording, node, observed, None, json!({ "node": node })));
    let steps = (1..).zip(&recording.trace.steps).map(|(number, step)| {
        let message = match &step.event {
            TraceEvent::Deliver { payload, .. } => recording.message_json(&payload.0),
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
        "result": outcome.result(),
        "exit_code": outcome.exit().code(),
        "trace": trace.display().to_string(),
        "plugin": PluginReport::from(&loaded.reference),
        "scenario": recording.trace.scenario,
        "init": init,
        "steps": steps,
        "findings": outcome.findings,
    })))
}

/// Adds what a handler did to an object.
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
