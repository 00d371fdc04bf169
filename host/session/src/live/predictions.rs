//! The predictions of a node's checker, as lines and traces.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use host_inspect::words;
use host_live::checker::{Prediction, Round, Steering};
use host_model::scenario::{NodeNames, Scenario};
use host_model::trace::{Finding, Trace, TraceStep};

use crate::base::names::safe_name;
use crate::cluster::{replay_command, trace_file};

/// The maximum number of traces of one property that a node keeps, those of earlier starts included.
const KEPT_MAX: u32 = 100;

/// Reports each property once, with a trace: a prediction returns in every round until it happens or cannot happen any more.
pub struct Predictions {
    pub(super) node: u32,
    pub(super) empty: Trace,
    /// The folder of the data, as the user names it.
    pub(super) folder: PathBuf,
    /// The folder in which relative paths begin.
    pub(super) directory: PathBuf,
    /// The first word of a command line.
    pub(super) program: String,
    /// The remaining words of a command that replays a trace.
    pub(super) words: Vec<String>,
    pub(super) told: BTreeSet<(Kind, String)>,
}

/// The kind of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// It is about to go wrong.
    Predicted,
    /// It is wrong already.
    Violated,
}

impl Kind {
    /// The kind as a part of a file name.
    fn name(self) -> &'static str {
        match self {
            Self::Predicted => "predicted",
            Self::Violated => "violated",
        }
    }
}

impl Predictions {
    /// The new findings of a round, which happened in this scenario, a line each. If the node is steered, each line also reports the
    /// response. Writes the traces.
    pub fn lines(&mut self, round: &Round, scenario: &Scenario, steering: Option<&Steering>) -> Vec<String> {
        let about = steering.map_or_else(String::new, done_about_it);
        let violated = round.violated.iter().map(|prediction| (Kind::Violated, prediction, ""));
        let predicted = round.predictions.iter().map(|prediction| (Kind::Predicted, prediction, &*about));
        // No event is filtered because of a dead promise.
        let dead = round.dead.iter().map(|prediction| (Kind::Predicted, prediction, ""));
        let mut lines = Vec::new();
        for (kind, prediction, about) in violated.chain(predicted).chain(dead) {
            if !self.told.insert((kind, name(&prediction.finding).to_owned())) {
                continue;
            }
            let trace = prediction.trace(scenario.clone(), &round.beginning, self.empty.clone());
            let replay = self.kept(kind, prediction, &trace);
            let what = words::finding(&prediction.finding, prediction.node, &NodeNames::default());
            let (node, steps) = (self.node, trace.steps.len());
            lines.push(match kind {
                Kind::Violated => format!("node {node} sees that {what}; {replay}"),
                Kind::Predicted => format!("node {node} predicts that {what}, {steps} steps ahead{about}; {replay}"),
            });
        }
        lines
    }

    /// Writes a trace next to those of earlier starts; returns the command for its replay, or the reason why it is not written.
    fn kept(&self, kind: Kind, prediction: &Prediction, trace: &Trace) -> String {
        let first = format!("node-{}-{}-{}", self.node, kind.name(), safe_name(name(&prediction.finding)));
        let numbered = |number| match number {
            1 => self.folder.join(format!("{first}.json")),
            _ => self.folder.join(format!("{first}-{number}.json")),
        };
        let is_free = |path: &PathBuf| std::fs::symlink_metadata(self.directory.join(path)).is_err();
        let Some(path) = (1..=KEPT_MAX).map(numbered).find(is_free) else {
            let folder = self.folder.display();
            return format!("its trace is not written: {folder} has {KEPT_MAX} of them, remove those of no use");
        };
        match trace_file::write(&path, trace, &self.directory) {
            Ok(()) => format!("`{}` shows it", replay_command(&self.program, &path, &self.words)),
            Err(failure) => format!("its trace is not written: {}", failure.message),
        }
    }
}

/// The maximum number of kept paths that a checker begins with.
const PATHS_MAX: usize = 64;

/// The paths of the predicted violations in a folder of data, as far as they can be read and belong to the cluster of this trace, the
/// latest last. Dead promises are left out, since no filter is made against them.
pub(super) fn kept(folder: &Path, directory: &Path, ours: &Trace) -> Vec<Vec<TraceStep>> {
    let is_kept = |name: &str| name.starts_with("node-") && name.contains("-predicted-") && name.ends_with(".json");
    let entries = std::fs::read_dir(directory.join(folder)).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_kept))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.file_name())))
        .collect();
    found.sort();
    let first = found.len().saturating_sub(PATHS_MAX);
    let read = |name: &OsString| trace_file::read(&folder.join(name), directory).ok();
    let traces = found[first..].iter().filter_map(|(_, name)| read(name));
    let is_ours = |trace: &Trace| {
        let is_same = trace.plugin.digest == ours.plugin.digest && trace.scenario.nodes == ours.scenario.nodes;
        is_same && !matches!(trace.finding, None | Some(Finding::Promise(_)))
    };
    traces.filter(is_ours).map(|trace| trace.steps).collect()
}

/// The subject of a finding: a property, or a failing handler.
fn name(finding: &Finding) -> &str {
    match finding {
        Finding::Property { name, .. } => name,
        Finding::Broken { property, .. } => property,
        Finding::Promise(promise) => &promise.name,
        Finding::Fault { .. } => "fault",
        Finding::Deadlock { .. } => "deadlock",
    }
}

/// The response of a node to its predictions.
fn done_about_it(steering: &Steering) -> String {
    match steering.patterns.len() {
        0 if steering.is_cut => ", and has found no filters in time".to_owned(),
        0 => ", and can do nothing about it".to_owned(),
        1 => ", and filters events of one kind of its own".to_owned(),
        more => format!(", and filters events of {more} kinds of its own"),
    }
}
