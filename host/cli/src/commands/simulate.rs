//! `host simulate`.

use std::collections::BTreeSet;

use host_inspect::words;
use host_live::simulator::Finished;
use host_live::world::Predicted;
use host_model::contract::Stopped;
use host_model::scenario::NodeNames;
use host_model::trace::Trace;
use host_session::Request;
use host_session::base::text::{count, json_text, on_one_line};
use host_session::base::{Exit, Failure};
use host_session::cluster::Cluster;
use host_session::report::Saved;
use host_session::search::finding::Violation;
use host_session::search::simulated_cluster;
use host_session::search::simulation::{self, Simulated, SimulationSpec, Tally, WatchSpec, Witnessed};
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::options::after_dashes::Taker;
use crate::options::simulate::SimulateArguments;
use crate::output::run_files::{self, RunFiles};

const TAKER: Taker = Taker { name: "host simulate", does: "runs from start to end", besides: &["time", "memory"] };

/// Runs a cluster again and again in virtual time, and reports the first violation.
pub fn run(arguments: &SimulateArguments, program: &str, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    // What can be refused without the plugin is refused before it is built.
    let mut given = TAKER.options(&arguments.plugin, &arguments.options)?.spec();
    run_files::check_out(arguments.out.as_deref(), environment)?;
    let asked = arguments.spec(&environment.directory)?;
    given.process.source = arguments.source.into();
    let request = Request::new(given, &mut environment.context())?;
    let (cluster, simulated) = request.located(|| {
        let spec = simulated_cluster::adapt(request.spec.clone(), &asked)?;
        let cluster = simulation::open(&spec, &mut environment.context())?;
        let simulated = simulation::run(&spec, &asked, &cluster, &mut environment.context())?;
        Ok((cluster, simulated))
    })?;
    let violation = simulated.violation.as_ref().map(|(_, violation)| violation);
    let first = violation.map(|violation| &violation.trace);
    let mut files = RunFiles::new(arguments.out.clone(), "simulate", &cluster, first);
    files.remove_old(request.spec.cluster.prefix.as_deref(), environment);
    let saved = match violation {
        Some(violation) => files.save(std::slice::from_ref(violation), 0, program, environment).pop().flatten(),
        None => None,
    };
    let mut foretell = |what: &'static str, first: &'_ Option<(u64, Predicted)>| {
        let (seed, predicted) = first.clone()?;
        let trace = foretold(&predicted, &cluster);
        let saved = files.save_prediction(what, &trace, program, environment);
        Some(Prediction { seed, predicted, trace, saved })
    };
    let predictions = Predictions {
        violation: foretell("predicted", &simulated.prediction),
        dead: foretell("predicted-dead", &simulated.dead),
    };
    let exit = match (violation, simulated.stopped) {
        (Some(violation), _) => violation.exit(),
        (None, Some(Stopped::Interrupted)) => Exit::Stopped,
        (None, Some(_)) if simulated.runs == 0 => Exit::Stopped,
        (None, _) if files.has_failed() => Exit::System,
        (None, _) => Exit::Ok,
    };
    environment.print(&match arguments.json {
        true => json_text(&result(&simulated, &asked, &cluster, saved.as_ref(), &predictions, exit)),
        false => text(&simulated, &asked, saved.as_ref(), &predictions),
    })?;
    Ok(exit)
}

/// The first predictions of checkers, as far as there are some.
struct Predictions {
    /// Of a violation.
    violation: Option<Prediction>,
    /// Of a promise of progress that cannot be kept any more.
    dead: Option<Prediction>,
}

/// The first prediction of a checker.
struct Prediction {
    seed: u64,
    predicted: Predicted,
    trace: Trace,
    /// The file with its trace, and the command that replays it.
    saved: Option<(String, String)>,
}

/// The trace of the first prediction of a round.
fn foretold(predicted: &Predicted, cluster: &Cluster) -> Trace {
    let Predicted { round, scenario, .. } = predicted;
    let first =
        round.predictions.iter().chain(&round.dead).next().expect("a prediction has a violation or a dead promise");
    first.trace(scenario.clone(), &round.beginning, cluster.empty_trace())
}

impl Prediction {
    fn title(&self) -> String {
        let finding = self.trace.finding.as_ref().expect("the trace of a prediction ends in a finding");
        words::finding(finding, None, &NodeNames::default())
    }

    fn seconds(&self) -> f64 {
        self.predicted.at.since_start().as_secs_f64()
    }

    fn text(&self) -> String {
        let (title, steps) = (self.title(), count(self.trace.steps.len() as u64, "step"));
        format!(
            "first prediction, in the run with seed {} after {:.3} s, by node {}: {title}, {steps} ahead\n",
            self.seed,
            self.seconds(),
            self.predicted.node
        )
    }

    fn json(&self) -> Value {
        json!({
            "title": self.title(),
            "seed": self.seed,
            "seconds": self.seconds(),
            "node": self.predicted.node,
            "length": self.trace.steps.len(),
            "trace": self.saved.as_ref().map(|(trace, _)| trace),
            "replay": self.saved.as_ref().map(|(_, replay)| replay),
        })
    }
}

/// When the violation of a run was there.
fn seconds_until(run: &Finished) -> f64 {
    run.violated.unwrap_or(run.at).since_start().as_secs_f64()
}

/// The title of a violation, and what is wrong with its confirmation.
fn title(violation: &Violation) -> String {
    let finding = violation.trace.finding.as_ref().expect("a violation is a finding");
    let title = words::finding(finding, violation.node, &violation.recording.names);
    match &violation.nondeterminism {
        Some(differs) => on_one_line(&format!(
            "the plugin is not deterministic: the simulation found that {title}; run again from the start, {differs}"
        )),
        None => title,
    }
}

/// The result of `host run` with this finding: missing features and evaluations that fail say nothing about the protocol.
fn verdict(violation: &Violation) -> &'static str {
    match violation.exit() {
        _ if violation.nondeterminism.is_some() => "error",
        Exit::Plugin | Exit::Evaluation => "error",
        _ => "violation",
    }
}

/// The result of all runs. Without a run, nothing is known.
fn verdict_of_all(simulated: &Simulated) -> &'static str {
    match &simulated.violation {
        Some((_, violation)) => verdict(violation),
        None if simulated.runs == 0 => "incomplete",
        None => "no-violation",
    }
}

fn text(simulated: &Simulated, asked: &SimulationSpec, saved: Option<&Saved>, predictions: &Predictions) -> String {
    let mut text = match &simulated.violation {
        None if simulated.runs == 0 => {
            let why = simulated.stopped.map_or_else(String::new, |stopped| format!(": {stopped}"));
            format!("{}: no run has ended{why}\n", verdict_of_all(simulated))
        }
        None => "no violation in these runs; only `host run` tells whether there is none\n".to_owned(),
        Some((run, violation)) => {
            let length = violation.trace.steps.len();
            let found = violation.found.as_ref().map_or(length, |(found, _)| found.steps.len());
            let (seconds, steps) = (seconds_until(run), count(length as u64, "step"));
            let (verdict, title, seed) = (verdict(violation), title(violation), run.seed);
            let short = violation.unfinished.map_or_else(|| format!(" instead of {found}"), |why| format!(", {why}"));
            format!("{verdict}: {title}\nin the run with seed {seed}, after {seconds:.3} s: {steps}{short}\n")
        }
    };
    text.push_str(&format!(
        "{} from seed {}: {}\n",
        count(simulated.runs, "run"),
        asked.seed,
        happened(simulated, asked)
    ));
    text.push_str(if asked.runtime.is_some() { "simulated: the nodes that ship\n" } else { "simulated: the model\n" });
    if let (Some(tally), Some(watch)) = (&simulated.tally, &asked.watch) {
        text.push_str(&checkers(tally, simulated.runs, watch, asked.conditions.continues));
    }
    let Predictions { violation, dead } = predictions;
    for prediction in violation.iter().chain(dead) {
        text.push_str(&prediction.text());
    }
    let twins = simulated.tally.as_ref().filter(|_| asked.watch.is_some_and(|watch| watch.steers));
    for property in properties_reached(&simulated.witnessed, twins) {
        let of = |witnessed: &Witnessed| in_runs(witnessed.get(property).map_or(&[], Vec::as_slice), simulated.runs);
        let without = twins.map_or_else(String::new, |tally| format!("; without steering {}", of(&tally.witnessed_ms)));
        text.push_str(&format!("reached: {}, {}{without}\n", on_one_line(property), of(&simulated.witnessed)));
    }
    let without = twins.map(|tally| tally.kept.shares());
    for (property, share) in simulated.kept.shares() {
        let without = without.as_ref().and_then(|shares| shares.get(property));
        let without = without.map_or_else(String::new, |share| format!("; without steering {}", percent(*share)));
        text.push_str(&format!("kept: {}, {} of the time{without}\n", on_one_line(property), percent(share)));
    }
    if let Some(Saved { trace, replay, .. }) = saved {
        text.push_str(&format!("\ntrace in {}; replay it with\n{}\n", on_one_line(trace), on_one_line(replay)));
    }
    for (trace, replay) in violation.iter().chain(dead).filter_map(|prediction| prediction.saved.as_ref()) {
        text.push_str(&format!("\nprediction in {}; replay it with\n{}\n", on_one_line(trace), on_one_line(replay)));
    }
    text
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// The results of the checkers.
fn checkers(tally: &Tally, runs: u64, watch: &WatchSpec, is_continued: bool) -> String {
    let Tally { violating, predicted, too_late, false_alarms, steered, immediate, missed, caused, stopped, .. } =
        *tally;
    let mut text = format!(
        "without steering {}: {predicted} predicted, {too_late} too late; {}\n",
        count(violating, "run") + if violating == 1 { " violates" } else { " violate" },
        count(false_alarms, "false alarm")
    );
    text.push_str(&first_predictions(&tally.first_predictions_ms, runs));
    if tally.dying > 0 {
        text.push_str(&format!(
            "promises that cannot be kept any more are predicted in {} of {}\n",
            tally.dying,
            count(runs, "run")
        ));
    }
    if watch.steers {
        if is_continued {
            let without = count(tally.violating_states, "state");
            text.push_str(&format!("violating: {without} without steering, {} with it\n", tally.steered_states));
        }
        let ahead = |count: u64| watch.hold.map_or_else(String::new, |_| format!(", {count} by looking ahead"));
        let (foreseen, foreseen_events) = (ahead(tally.foreseen), ahead(tally.foreseen_events));
        text.push_str(&format!(
            "with it: {steered} steered, {immediate} by the immediate check{foreseen}, {missed} missed, {caused} caused, {stopped} stopped\n\
             kept from happening: {} by filters, {} by the immediate check{foreseen_events}\n\
             {} with it: {} with filters, {} without a filter that helps\n",
            count(tally.filtered_events, "event"),
            tally.refused_events,
            count(tally.predictions, "prediction"),
            tally.helped,
            tally.unhelpful,
        ));
    }
    text
}

/// The times of the first prediction of each run; nothing if no run has one.
fn first_predictions(milliseconds: &[u64], runs: u64) -> String {
    match milliseconds.is_empty() {
        true => String::new(),
        false => format!("first predictions {}\n", in_runs(milliseconds, runs)),
    }
}

/// The names of the properties that were reached in the runs or in their twins.
fn properties_reached<'s>(runs: &'s Witnessed, twins: Option<&'s Tally>) -> BTreeSet<&'s String> {
    runs.keys().chain(twins.into_iter().flat_map(|tally| tally.witnessed_ms.keys())).collect()
}

/// The number of runs with an event, and its times: one time per such run.
fn in_runs(milliseconds: &[u64], runs: u64) -> String {
    let mut sorted = milliseconds.to_vec();
    sorted.sort_unstable();
    let all = count(runs, "run");
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return format!("in 0 of {all}") };
    let seconds = |milliseconds: u64| milliseconds as f64 / 1e3;
    let half = usize::try_from(runs.div_ceil(2)).ok().and_then(|half| sorted.get(half.saturating_sub(1)));
    let half = half.map_or_else(String::new, |time| format!(", in half of all by {:.3} s", seconds(*time)));
    let (those, first, last) = (sorted.len(), seconds(*first), seconds(*last));
    format!("in {those} of {all}: after {first:.3} s to {last:.3} s{half}")
}

/// The counts of the runs that are not zero.
fn happened(simulated: &Simulated, asked: &SimulationSpec) -> String {
    let counts = &simulated.counts;
    let all = [
        (counts.events, "event", ""),
        (counts.delivered, "message", " delivered"),
        (counts.lost, "message", " lost"),
        (counts.resets, "reset", ""),
        (counts.partitions, "partition", ""),
        (if asked.conditions.continues { counts.violating } else { 0 }, "state", " that violate a property"),
    ];
    let some = all.iter().filter(|(number, ..)| *number > 0);
    let words: Vec<String> = some.map(|(number, noun, verb)| count(*number, noun) + verb).collect();
    if words.is_empty() { "nothing has happened".to_owned() } else { words.join(", ") }
}

fn result(
    simulated: &Simulated,
    asked: &SimulationSpec,
    cluster: &Cluster,
    saved: Option<&Saved>,
    predictions: &Predictions,
    exit: Exit,
) -> Value {
    let counts = &simulated.counts;
    let violation = simulated.violation.as_ref().map(|(run, violation)| {
        json!({
            "title": title(violation),
            "finding": violation.trace.finding,
            "confirmed": violation.is_confirmed(),
            "unfinished": violation.unfinished.map(|unfinished| unfinished.to_string()),
            "seed": run.seed,
            "seconds": seconds_until(run),
            "length": violation.trace.steps.len(),
            "found_length": violation.found.as_ref().map_or(violation.trace.steps.len(), |(found, _)| found.steps.len()),
            "trace": saved.map(|saved| &saved.trace),
            "replay": saved.map(|saved| &saved.replay),
        })
    });
    json!({
        "result": verdict_of_all(simulated),
        "exit_code": exit.code(),
        "plugin": cluster.plugin.reference,
        "seed": asked.seed,
        "runs": simulated.runs,
        "conditions": asked.conditions,
        "script": asked.script,
        "simulated": if asked.runtime.is_some() { "nodes" } else { "model" },
        "runtime": asked.runtime,
        "stopped": simulated.stopped.map(|stopped| stopped.to_string()),
        "ends": simulated.ends,
        "events": counts.events,
        "delivered": counts.delivered,
        "lost": counts.lost,
        "local": counts.local,
        "resets": counts.resets,
        "partitions": counts.partitions,
        "violating_states": counts.violating,
        "witnessed": simulated.witnessed.keys().collect::<Vec<_>>(),
        "witnessed_ms": simulated.witnessed,
        "kept": simulated.kept,
        "digest": format!("{:032x}", simulated.digest),
        "checkers": simulated.tally,
        "prediction": predictions.violation.as_ref().map(Prediction::json),
        "dead_prediction": predictions.dead.as_ref().map(Prediction::json),
        "violation": violation,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run without a prediction counts as later than any other.
    #[test]
    fn first_predictions_are_reported_by_range_and_median() {
        let of = |runs| first_predictions(&[3_000, 1_000, 2_500], runs);
        let expected = "first predictions in 3 of 4 runs: after 1.000 s to 3.000 s, in half of all by 2.500 s\n";
        assert_eq!(of(4), expected);
        assert_eq!(of(7), "first predictions in 3 of 7 runs: after 1.000 s to 3.000 s\n");
        assert_eq!(first_predictions(&[], 7), "");
    }
}
