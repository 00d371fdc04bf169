//! `host refine`.

use std::fmt::Write;

use host_inspect::diff::changes;
use host_model::contract::NodeId;
use host_refine::{Bound, Bounds, Difference, Verdict, View};
use host_session::Request;
use host_session::base::text::{bytes, count, json_text, on_one_line};
use host_session::base::{Exit, Failure};
use host_session::cluster::{Cluster, trace_file};
use host_session::search::refinement::{self, Compared};
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::options::after_dashes::Taker;
use crate::options::refinement::RefineArguments;

const TAKER: Taker = Taker { name: "host refine", does: "compares all executions of two components", besides: &[] };

/// The most views of the old component that a text lists.
const SHOWN_MAX: usize = 12;

/// Compares two components.
pub fn run(arguments: &RefineArguments, program: &str, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let mut spec = TAKER.options(&arguments.new, &arguments.options)?.spec();
    spec.process.source = arguments.source.into();
    (spec.process.time, spec.process.memory) = (Some(arguments.time), arguments.memory);
    let request = Request::new(spec, &mut environment.context())?;
    refinement::check(&request.spec)?;
    let of_both = &request.spec.cluster.parameters;
    let mut new_spec = request.spec.clone();
    new_spec.cluster.parameters = with(of_both, &arguments.set_new);
    let new = request.located(|| Cluster::open(&new_spec, &mut environment.context()))?;
    let old_spec = refinement::of_old(&new_spec, &new, &arguments.old, &with(of_both, &arguments.set_old));
    let old = Cluster::open(&old_spec, &mut environment.context())?;
    let bounds = Bounds { events_max: arguments.events };
    let compared = refinement::compare([&new_spec, &old_spec], [&new, &old], arguments.fields.clone(), bounds)?;
    check(&compared, [&new, &old])?;
    if let (Some(out), Some(execution)) = (&arguments.out, &compared.execution) {
        trace_file::write(out, &execution.trace, &environment.directory)?;
    }
    let report = Report { arguments, program, compared: &compared, new: &new };
    let text = if arguments.json { report.json() } else { report.text() };
    environment.print(&text)?;
    Ok(report.exit())
}

/// Parameters with others in their place.
fn with(parameters: &[(String, String)], others: &[(String, String)]) -> Vec<(String, String)> {
    let is_other = |key: &str| others.iter().any(|(other, _)| other == key);
    parameters.iter().filter(|(key, _)| !is_other(key)).chain(others).cloned().collect()
}

/// Refuses a comparison that says nothing.
fn check(compared: &Compared, clusters: [&Cluster; 2]) -> Result<(), Failure> {
    for (is_described, cluster) in compared.judgement.are_described.iter().zip(clusters) {
        if !is_described {
            let name = &cluster.plugin.reference.name;
            return Err(Failure::configuration(format_args!("{name} describes no state, so it shows no views"))
                .help("export the interface `describe`, see wit/README.md"));
        }
    }
    let is_judged = matches!(compared.judgement.verdict, Verdict::Differs(_));
    match compared.judgement.unknown_fields.first().filter(|_| !is_judged) {
        Some(field) => Err(Failure::configuration(format_args!("no state that was reached has the field `{field}`"))
            .help("`host debug PLUGIN` shows the descriptions of states; keys have dots between them")),
        None => Ok(()),
    }
}

/// The report on two components.
struct Report<'r> {
    arguments: &'r RefineArguments,
    program: &'r str,
    compared: &'r Compared,
    new: &'r Cluster,
}

impl Report<'_> {
    fn exit(&self) -> Exit {
        match self.compared.judgement.verdict {
            Verdict::Refines => Exit::Ok,
            Verdict::Differs(_) => Exit::Safety,
            Verdict::Undecided(_) => Exit::Stopped,
        }
    }

    fn result(&self) -> &'static str {
        match self.compared.judgement.verdict {
            Verdict::Refines => "refines",
            Verdict::Differs(_) => "differs",
            Verdict::Undecided(_) => "undecided",
        }
    }

    fn text(&self) -> String {
        let counts = &self.compared.judgement.counts;
        let [new, old] =
            [&self.arguments.new, &self.arguments.old].map(|path| on_one_line(&path.display().to_string()));
        let effort = format!(
            "  {} of the new component, {} of the old one, {}\n",
            count(counts.new_states, "global state"),
            counts.old_states,
            count(counts.pairs, "pair"),
        );
        match &self.compared.judgement.verdict {
            Verdict::Refines => {
                format!("{new}: refines {old}: each sequence of views is one of the old component\n{effort}")
            }
            Verdict::Undecided(bound) => {
                let events = count(counts.events.into(), "event");
                format!(
                    "{new}: undecided: {}\n  executions with up to {events} show no difference from {old}\n{effort}",
                    self.bound_text(*bound)
                )
            }
            Verdict::Differs(difference) => {
                let mut text = format!("{new}: differs from {old}\n{effort}\n");
                self.add_difference(difference, &mut text);
                if let Some(out) = &self.arguments.out {
                    let _ = writeln!(text, "\n  {}", self.new.replay_command(self.program, out));
                }
                text
            }
        }
    }

    /// The execution, the view at its end, and the views that the old component can show instead.
    fn add_difference(&self, difference: &Difference, text: &mut String) {
        for (number, step) in (1..).zip(&self.steps()) {
            let _ = writeln!(text, "  {number:>3}. {step}");
        }
        let at = |node: NodeId| self.compared.names.of(node);
        match &difference.before {
            None => {
                let _ = writeln!(text, "  no start of the old component has these views:");
                for (node, view) in (0..).zip(&difference.views) {
                    let _ = writeln!(text, "    {}: {}", at(node), shown(view));
                }
            }
            Some((node, before)) => {
                let events = count(difference.path.len() as u64, "event");
                let change = change(before, &difference.views[*node as usize]);
                let _ = writeln!(
                    text,
                    "\n  the old component cannot show this after {events}:\n    {}: {change}",
                    at(*node)
                );
            }
        }
        let states = count(difference.old_states as u64, "state");
        let of = if difference.before.is_some() {
            format!("in one of {states}, it can show")
        } else {
            "it can show".to_owned()
        };
        if difference.alternatives.is_empty() {
            let _ = writeln!(text, "  in {states}, it can show no other change");
            return;
        }
        let _ = writeln!(text, "  {of} instead:");
        for (node, view) in difference.alternatives.iter().take(SHOWN_MAX) {
            // The nodes are as before the last event, but for the one that it has changed.
            let before = match &difference.before {
                Some((changed, before)) if changed == node => before,
                _ => &difference.views[*node as usize],
            };
            let _ = writeln!(text, "    {}: {}", at(*node), change(before, view));
        }
        if difference.alternatives.len() > SHOWN_MAX {
            let _ = writeln!(text, "    and {} more", difference.alternatives.len() - SHOWN_MAX);
        }
    }

    /// The events in words.
    fn steps(&self) -> Vec<String> {
        let Some(execution) = &self.compared.execution else { return Vec::new() };
        (1..=execution.trace.steps.len()).map(|step| execution.event(step)).collect()
    }

    fn json(&self) -> String {
        let counts = &self.compared.judgement.counts;
        let seen = |node: NodeId, view: &View| json!({ "node": node, "view": json_of(view) });
        let (bound, difference) = match &self.compared.judgement.verdict {
            Verdict::Refines => (None, Value::Null),
            Verdict::Undecided(bound) => (Some(bound_name(*bound)), Value::Null),
            Verdict::Differs(difference) => {
                let views: Vec<Value> = difference.views.iter().map(json_of).collect();
                let possible: Vec<Value> =
                    difference.alternatives.iter().map(|(node, view)| seen(*node, view)).collect();
                let before = difference.before.as_ref().map(|(node, view)| seen(*node, view));
                let steps = self.steps();
                let found = json!({
                    "steps": steps,
                    "views": views,
                    "before": before,
                    "old_states": difference.old_states,
                    "possible": possible,
                });
                (None, found)
            }
        };
        json_text(&json!({
            "result": self.result(),
            "exit_code": self.exit().code(),
            "new": self.arguments.new,
            "old": self.arguments.old,
            "bound": bound,
            "events": counts.events,
            "new_states": counts.new_states,
            "old_states": counts.old_states,
            "sets": counts.sets,
            "pairs": counts.pairs,
            "difference": difference,
            "trace": self.compared.execution.as_ref().and(self.arguments.out.as_ref()),
        }))
    }

    fn bound_text(&self, bound: Bound) -> String {
        match bound {
            Bound::Events(events) => {
                format!("the bound of {} was hit; a larger --events can help", count(events.into(), "event"))
            }
            Bound::Time => {
                format!(
                    "the bound of {} s on time was hit; a larger --time can help",
                    self.arguments.time.as_secs_f64()
                )
            }
            Bound::Memory => match self.arguments.memory {
                Some(most) => format!("the bound of {} on memory was hit; a larger --memory can help", bytes(most)),
                None => "half of the available memory is used; a larger --memory can help".to_owned(),
            },
            Bound::Interrupted => "it was interrupted".to_owned(),
        }
    }
}

fn bound_name(bound: Bound) -> &'static str {
    match bound {
        Bound::Events(_) => "events",
        Bound::Time => "time",
        Bound::Memory => "memory",
        Bound::Interrupted => "interrupted",
    }
}

/// A view as JSON.
fn json_of(view: &View) -> Value {
    match view {
        View::Described(value) => value.clone(),
        View::Undescribed => Value::Null,
        View::Failed => json!({ "failed": true }),
    }
}

/// A view in words.
fn shown(view: &View) -> String {
    match view {
        View::Described(value) => on_one_line(&value.to_string()),
        View::Undescribed => "a state without a description".to_owned(),
        View::Failed => "a handler has failed".to_owned(),
    }
}

/// The change of a view in words.
fn change(before: &View, after: &View) -> String {
    match (before, after) {
        (View::Described(before), View::Described(after)) => {
            let changes: Vec<String> =
                changes(before, after).iter().map(|change| on_one_line(&change.to_string())).collect();
            changes.join(", ")
        }
        (_, after) => shown(after),
    }
}
