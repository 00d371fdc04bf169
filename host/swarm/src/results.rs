//! The result of a job, read and checked.

use std::path::Path;

use host_model::contract::Sketch;
use serde::Deserialize;
use serde_json::Value;

use crate::folder::{Folder, Unread, read};
use crate::plan::Job;

/// The version of the results of `host run` that is read.
const RESULT_VERSION: u32 = 1;

/// The exit codes of `host run` for findings, and for a property that cannot be evaluated.
const FINDINGS: [i32; 6] = [11, 12, 13, 14, 15, 75];

/// The exit codes of violations, which have a trace.
pub(crate) const WITH_VIOLATIONS: std::ops::RangeInclusive<i32> = 11..=14;

/// Sketches of the local states and messages of a job, or of many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sketches {
    /// Local states of all nodes.
    pub local_states: Sketch,
    /// Messages.
    pub messages: Sketch,
}

impl Sketches {
    /// Adds others; returns whether that changed anything.
    pub fn add_all(&mut self, other: &Self) -> bool {
        let states = self.local_states.add_all(&other.local_states);
        self.messages.add_all(&other.messages) || states
    }
}

/// The result of a job.
#[derive(Clone, Debug)]
pub struct JobResult {
    /// The folder of its swarm.
    pub swarm: Folder,
    /// The verdict of `host run`.
    pub result: String,
    /// The exit code.
    pub exit: i32,
    /// The findings.
    pub violations: Vec<Violation>,
    /// Its local states and messages.
    pub sketches: Sketches,
    /// The sketches have only a part of them: the search forgot handlers to stay within its memory.
    pub is_part: bool,
}

/// A finding of a job, as `host run` reports it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Violation {
    /// The property; none for a fault and a deadlock.
    pub property: Option<String>,
    /// The kind.
    pub kind: String,
    /// The finding, a phrase.
    pub message: String,
    /// Equal for variants by node, by value and by order.
    pub shape: String,
    /// The number of events of its trace.
    pub length: usize,
    /// The file with its trace.
    pub trace: Option<String>,
    /// The command that replays it.
    pub replay: Option<String>,
}

#[derive(Deserialize)]
struct Stats {
    result_version: u32,
    result: String,
    exit_code: i32,
    plugin: Plugin,
    scenario: Value,
    violations: Vec<Violation>,
    renewals: Option<u64>,
}

#[derive(Deserialize)]
struct Plugin {
    digest: Option<String>,
}

#[derive(Deserialize)]
struct SketchTexts {
    local_states: String,
    messages: String,
}

impl JobResult {
    /// The result in the folder of a job.
    ///
    /// # Errors
    ///
    /// It is not whole, or that of another component or another version: a phrase.
    pub fn read(folder: &Folder, job: &Job<'_>, exit: i32) -> Result<Self, String> {
        let stats: Stats = content(&folder.job(job.number).join("stats.json"))?;
        let sketches: SketchTexts = content(&folder.job(job.number).join("sketch.json"))?;
        if stats.result_version != RESULT_VERSION {
            return Err(format!("its result has version {}, and not {RESULT_VERSION}", stats.result_version));
        }
        if stats.plugin.digest.as_deref() != Some(&job.target.digest) {
            return Err(format!("its result is that of another build of {}", job.target.name));
        }
        if stats.scenario != job.target.scenario {
            return Err(format!("its result is that of another cluster than {}", job.target.name));
        }
        if stats.exit_code != exit || WITH_VIOLATIONS.contains(&exit) && stats.violations.is_empty() {
            return Err("its result contradicts its exit code".to_owned());
        }
        let sketch = |text: &str| Sketch::from_text(text).ok_or("its sketch has another form");
        let sketches =
            Sketches { local_states: sketch(&sketches.local_states)?, messages: sketch(&sketches.messages)? };
        let is_part = stats.renewals.is_some();
        let swarm = folder.clone();
        Ok(Self { swarm, result: stats.result, exit, violations: stats.violations, sketches, is_part })
    }

    /// It has a finding, or a property cannot be evaluated: its exit code says so.
    pub fn has_finding(&self) -> bool {
        FINDINGS.contains(&self.exit)
    }

    /// The same of a job that has ended before; none if it runs again.
    pub fn of_before(folder: &Folder, job: &Job<'_>) -> Option<Self> {
        let record = folder.record(job.number)?;
        Self::read(folder, job, record.exit).ok()
    }
}

fn content<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    read(path).map_err(|unread| match unread {
        Unread::Missing => format!("it left no {name}"),
        Unread::Wrong(what) => format!("its {name} is not what it should be: {what}"),
    })
}
