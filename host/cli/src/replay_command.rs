//! `host replay`.

use std::path::{Path, PathBuf};

use host_model::machine::FaultKind;
use host_model::replay::{Replay, ReplayError, StepReport};
use host_model::trace::{Finding, Hex, Trace, TraceEvent, TraceStep};
use serde_json::{Value, json};

use crate::args::ReplayArguments;
use crate::describe::{self, Describer};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::placement::{self, Wanted};
use crate::plugin_source::{self, Loaded};
use crate::report::PluginReport;
use crate::text::{count, on_one_line, shortened};
use crate::{finding, json_text, limits, scenario_choice, trace_file};

/// Runs a trace again and shows each step.
pub fn run(arguments: &ReplayArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let trace = trace_file::read(&arguments.trace, environment)?;
    let path = plugin_path(arguments, &trace, environment)?;
    let limits = limits::effective(&arguments.limits.over(trace.limits.clone()));
    let wanted = Wanted::of_trace(&trace, &arguments.node, environment)?;
    let mut loaded = plugin_source::load(&path, arguments.source, limits, environment)?;
    trace_file::check_plugin(&trace, &arguments.trace, &loaded, arguments.any_plugin)?;
    loaded.others = placement::load(wanted, arguments.source, &loaded.limits, environment)?;
    loaded.arranged = loaded.others.arrange(&loaded, &trace.scenario)?;
    placement::check_trace(&trace, &arguments.trace, loaded.arranged.as_ref(), arguments.any_plugin)?;
    scenario_choice::check_keys(&loaded, trace.scenario.parameters.keys())?;
    let mut shown = Shown::new(arguments, &trace, &loaded);
    let result = shown.replay(&trace, &loaded);
    let findings = match result {
        Ok(findings) => findings,
        Err(error) => {
            // What led to the step that fails is worth a look.
            if !arguments.json {
                environment.print(&shown.text)?;
            }
            return Err(failure(&arguments.trace, error));
        }
    };
    let outcome = outcome(&trace, findings).map_err(|error| failure(&arguments.trace, error))?;
    let text =
        if arguments.json { shown.json(&trace, &outcome) } else { format!("{}\n{}\n", shown.text, outcome.text()) };
    environment.print(&text)?;
    Ok(outcome.exit())
}

/// The plugin that the user names, or else the one in `plugins` that has the name in the trace.
fn plugin_path(arguments: &ReplayArguments, trace: &Trace, environment: &Environment<'_>) -> Result<PathBuf, Failure> {
    if let Some(path) = &arguments.plugin {
        return Ok(path.clone());
    }
    let name = &trace.plugin.name;
    let bundled = Path::new("plugins").join(trace_file::safe_name(name));
    if trace_file::safe_name(name) == *name && environment.path(&bundled).is_dir() {
        return Ok(bundled);
    }
    let what = format_args!("there is no plugin {} for this trace", bundled.display());
    Err(Failure::configuration(what).help("name it with --plugin, a component or a folder"))
}

fn failure(trace: &Path, error: ReplayError) -> Failure {
    match error {
        ReplayError::Machine(error) => Failure::system(error),
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
        None => format!("every property holds, but the trace says that {}", describe::finding(recorded, None)),
        Some(other) => {
            format!("{}, but the trace says that {}", describe::finding(other, None), describe::finding(recorded, None))
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
        let lines = self.findings.iter().map(|finding| describe::finding(finding, None));
        match self.findings.is_empty() {
            true => "replayed: no property is violated at the end".to_owned(),
            false => lines.map(|line| format!("replayed: {line}")).collect::<Vec<_>>().join("\n"),
        }
    }
}

/// What is shown of a replay, step by step, in both forms.
struct Shown {
    describer: Describer,
    /// The canonical encoding of each node's state.
    states: Vec<Option<Vec<u8>>>,
    text: String,
    init: Vec<Value>,
    steps: Vec<Value>,
    plugin: Value,
    trace_path: String,
}

impl Shown {
    fn new(arguments: &ReplayArguments, trace: &Trace, loaded: &Loaded) -> Self {
        let scenario = &trace.scenario;
        let parameters = scenario_choice::effective_parameters(loaded, scenario);
        let mut text = format!(
            "{} {}, {}, network {}",
            loaded.reference.name,
            loaded.reference.version.as_deref().unwrap_or("without version"),
            count(scenario.nodes.into(), "node"),
            scenario.network
        );
        text.extend(parameters.iter().map(|(key, value)| format!(", {key}={value}")));
        Self {
            describer: Describer::new(loaded.factory()),
            states: vec![None; scenario.nodes as usize],
            text: on_one_line(&text) + "\n\ninit\n",
            init: Vec::new(),
            steps: Vec::new(),
            plugin: json!(PluginReport::from(&loaded.reference)),
            trace_path: arguments.trace.display().to_string(),
        }
    }

    /// Takes all steps; returns what is there at the end.
    fn replay(&mut self, trace: &Trace, loaded: &Loaded) -> Result<Vec<Finding>, ReplayError> {
        let (mut replay, reports) = Replay::new(loaded.factory(), &trace.scenario, &trace.init_choices)?;
        for (node, report) in reports.into_iter().enumerate() {
            if let Some(fault) = report.fault.as_ref().filter(|fault| fault.kind == FaultKind::Refused) {
                return Err(ReplayError::NotEnabled { step: 0, why: fault.message.clone() });
            }
            self.text.push_str(&format!("  node {node}{}\n", describe::choices(&report.effects.choices)));
            self.describe(node, &report, "    ");
            let value = self.with_effects(node, &report, json!({ "node": node }));
            self.init.push(value);
            self.states[node] = report.state;
        }
        let width = trace.steps.len().to_string().len();
        for (index, step) in trace.steps.iter().enumerate() {
            let event = self.describer.event(step);
            self.text.push_str(&format!("{:>width$}. {event}\n", index + 1));
            let report = replay.step(step)?;
            self.show(index + 1, step, &event, report, width);
        }
        match replay.findings() {
            Err(ReplayError::Broken { property, fault }) => Ok(vec![Finding::Broken { property, fault }]),
            findings => findings,
        }
    }

    fn show(&mut self, number: usize, step: &TraceStep, event: &str, report: StepReport, width: usize) {
        let node = step.node as usize;
        self.describe(node, &report, &" ".repeat(width + 2));
        let message = match &step.event {
            TraceEvent::Deliver { payload, .. } => self.describer.message_json(&payload.0),
            TraceEvent::Local { .. } | TraceEvent::Reset => None,
        };
        let head = json!({ "step": number, "node": node, "text": event, "event": step.event, "message": message });
        let value = self.with_effects(node, &report, head);
        self.steps.push(value);
        self.states[node] = report.state;
    }

    /// Adds lines for what a handler did.
    fn describe(&mut self, node: usize, report: &StepReport, indent: &str) {
        let mut lines = Vec::new();
        for group in report.effects.sent.chunk_by(|one, other| one.payload == other.payload) {
            let nodes: Vec<String> = group.iter().map(|envelope| envelope.to.to_string()).collect();
            let noun = if nodes.len() == 1 { "node" } else { "nodes" };
            let message = self.describer.message(&group[0].payload);
            lines.push(format!("sends to {noun} {}: {message}", nodes.join(", ")));
        }
        lines.extend(report.effects.log.iter().map(|line| format!("logs: {}", shortened(on_one_line(line)))));
        match (&report.fault, &report.state) {
            (Some(fault), _) => lines.push(format!("fault: {}", shortened(on_one_line(&fault.message)))),
            (None, Some(state)) if self.states[node].as_ref() != Some(state) => {
                let described = report.description.as_deref().map(describe::compact);
                lines.push(format!("state: {}", described.unwrap_or_else(|| describe::bytes(state))));
            }
            _ => {}
        }
        self.text.extend(lines.iter().map(|line| format!("{indent}{line}\n")));
    }

    /// Adds what a handler did to an object.
    fn with_effects(&mut self, node: usize, report: &StepReport, mut head: Value) -> Value {
        let mut sent = Vec::new();
        for envelope in &report.effects.sent {
            let message = self.describer.message_json(&envelope.payload);
            let payload = Hex(envelope.payload.clone());
            sent.push(json!({ "to": envelope.to, "message": message, "payload": payload }));
        }
        head["choices"] = json!(report.effects.choices);
        head["sent"] = json!(sent);
        head["log"] = json!(report.effects.log);
        head["fault"] = json!(report.fault);
        head["changed"] = json!(report.state.is_some() && self.states[node] != report.state);
        head["state"] = json!(report.state.clone().map(Hex));
        head["description"] = json!(report.description.as_deref().map(describe::parsed));
        head
    }

    fn json(&self, trace: &Trace, outcome: &Outcome) -> String {
        json_text(&json!({
            "result": outcome.result(),
            "exit_code": outcome.exit().code(),
            "trace": self.trace_path,
            "plugin": self.plugin,
            "scenario": trace.scenario,
            "init": self.init,
            "steps": self.steps,
            "findings": outcome.findings,
        }))
    }
}
