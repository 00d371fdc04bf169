//! What a checker beside a node predicts, as lines and traces.

use std::collections::BTreeSet;
use std::path::PathBuf;

use host_inspect::words;
use host_live::checker::{Round, Steering};
use host_model::scenario::{NodeNames, Scenario};
use host_model::trace::Trace;

use crate::cluster::{replay_command, trace_file};

/// Tells of each property once, with a trace: what is predicted comes again in every round until it happens or cannot any more.
pub struct Predictions {
    pub(super) node: u32,
    pub(super) empty: Trace,
    pub(super) folder: PathBuf,
    /// The words of a command that replays a trace, behind that.
    pub(super) words: Vec<String>,
    pub(super) told: BTreeSet<Told>,
}

/// What was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Told {
    /// A property will be violated, or cannot be kept any more; none for a handler that fails.
    Predicted(Option<u32>),
    /// Something is violated.
    Violated,
}

impl Predictions {
    /// What is new in a round, which happened in this scenario: a line each. Where the node is steered, each says what is done about it.
    /// Writes the traces.
    pub fn lines(&mut self, round: &Round, scenario: &Scenario, steering: Option<&Steering>) -> Vec<String> {
        let node = self.node;
        let mut lines = Vec::new();
        if round.is_violated && self.told.insert(Told::Violated) {
            lines.push(format!("node {node} sees that a property is violated in its snapshot"));
        }
        let about = steering.map_or_else(String::new, done_about_it);
        let predictions = round.predictions.iter().map(|prediction| (prediction, &*about));
        // Of what is dead nothing is filtered.
        for (prediction, about) in predictions.chain(round.dead.iter().map(|prediction| (prediction, ""))) {
            if !self.told.insert(Told::Predicted(prediction.property)) {
                continue;
            }
            let trace = prediction.trace(scenario.clone(), &round.beginning, self.empty.clone());
            let name = prediction.property.map_or_else(|| "fault".to_owned(), |property| property.to_string());
            let path = self.folder.join(format!("node-{node}-predicted-{name}.json"));
            let what = words::finding(&prediction.finding, None, &NodeNames::default());
            let steps = trace.steps.len();
            let replay = match trace_file::write(&path, &trace, &self.folder) {
                Ok(()) => format!("`{}` shows it", replay_command("host", &path, &self.words)),
                Err(failure) => format!("its trace is not written: {}", failure.message),
            };
            lines.push(format!("node {node} predicts that {what}, {steps} steps ahead{about}; {replay}"));
        }
        lines
    }
}

/// What a node does about what it predicts.
fn done_about_it(steering: &Steering) -> String {
    match steering.patterns.len() {
        0 if steering.is_cut => ", and has found no filters in time".to_owned(),
        0 => ", and can do nothing about it".to_owned(),
        1 => ", and filters events of one kind of its own".to_owned(),
        more => format!(", and filters events of {more} kinds of its own"),
    }
}
