//! A run of `host`, and its result.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Choice, Mistake, Runner, Way};
use crate::processor_seconds;

/// The memory of a run, so that one cannot take that of the machine.
const MEMORY: &str = "4GiB";

/// A run, and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The build of `host`.
    pub build: String,
    /// The name of the row.
    pub mistake: String,
    /// The name of the column.
    pub way: String,
    /// None if the way has none.
    pub seed: Option<u64>,
    /// The limit.
    pub seconds_max: u64,
    /// Processor time of the whole process, the shortening of the trace included.
    pub seconds: f64,
    /// The end.
    pub ended: Ended,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// The limit ended it, or it is not done yet.
    Limit,
    /// With a violation.
    Found {
        /// Steps of the search: transitions, or events of an unfolding. In `auto`, those of the member that found it.
        steps: u64,
        /// Events of the trace as it was found.
        events: u64,
        /// Events of the trace as it is reported.
        reported: u64,
        /// Whether the report says that there is no shorter one.
        is_shortest: bool,
    },
    /// By itself, without a violation.
    Missed,
    /// This way cannot search here.
    Refused,
}

/// A finished run of `host`.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Standard output.
    pub output: String,
    /// Seconds of processor time.
    pub seconds: f64,
}

impl Run {
    /// The runs of a cell, not done yet.
    pub(super) fn wanted(choice: &Choice, mistake: &Mistake, way: &Way) -> Vec<Self> {
        let seeds: Vec<Option<u64>> = if way.is_seeded { (0..choice.seeds).map(Some).collect() } else { vec![None] };
        let run = |seed| Self {
            build: choice.build.clone(),
            mistake: mistake.name.to_owned(),
            way: way.name.to_owned(),
            seed,
            seconds_max: choice.seconds,
            seconds: 0.0,
            ended: Ended::Limit,
        };
        seeds.into_iter().map(run).collect()
    }

    /// Takes place, by one worker.
    pub(super) fn take(
        mut self,
        component: &Path,
        mistake: &Mistake,
        way: &Way,
        host: &Runner<'_>,
    ) -> Result<Self, String> {
        let out = std::env::temp_dir().join(format!("yardsticks-{}", std::process::id()));
        let mut words = vec!["host".to_owned(), "run".to_owned(), component.display().to_string()];
        words.extend(mistake.options.split_whitespace().chain(way.options.split_whitespace()).map(str::to_owned));
        words.extend(self.seed.map(|seed| format!("--seed={seed}")));
        words.extend([format!("--time={}s", self.seconds_max), format!("--memory={MEMORY}")]);
        words.extend(["--workers=1", "--safety-only", "--json", "--quiet"].map(str::to_owned));
        words.push(format!("--out={}", out.display()));
        let done = host(&words)?;
        // The traces are of no use here.
        let _ = std::fs::remove_dir_all(out);
        let command = words.join(" ");
        let said: Value = serde_json::from_str(&done.output).map_err(|error| format!("{command}: {error}"))?;
        self.ended = Ended::understood(&said).ok_or_else(|| format!("{command} says {said}"))?;
        self.seconds = done.seconds;
        Ok(self)
    }

    /// Whether the lengths of its trace can be true.
    pub(super) fn agrees_with(&self, mistake: &Mistake) -> Result<(), String> {
        let Ended::Found { events, reported, is_shortest, .. } = self.ended else { return Ok(()) };
        let told = mistake.shortest;
        let contradicts = reported > events
            || told.is_some_and(|told| reported < told)
            || is_shortest && told.is_some_and(|told| told != reported);
        match contradicts {
            true => Err(format!("{self:?} contradicts {mistake:?}")),
            false => Ok(()),
        }
    }
}

impl Ended {
    /// The end of a run by the JSON of its result; none if that is something else.
    pub fn understood(said: &Value) -> Option<Self> {
        let violation = &said["violations"][0];
        let counts = &said["counts"];
        Some(match said["result"].as_str()? {
            "violation" => Self::Found {
                steps: counts["transitions"].as_u64().or(counts["events"].as_u64())?,
                events: violation["found_length"].as_u64()?,
                reported: violation["length"].as_u64()?,
                is_shortest: violation["shortest"].as_bool()?,
            },
            "error" if said["error"].is_object() => Self::Refused,
            "ok" => Self::Missed,
            "incomplete" if matches!(said["end"].as_str()?, "time-bound" | "memory-bound") => Self::Limit,
            "incomplete" => Self::Missed,
            _ => return None,
        })
    }
}

/// The processor time of this process as the clock of `host`: a busy machine gives a process less than the time that passes.
pub fn processor_clock() -> host::Clock {
    Arc::new(|| Duration::from_secs_f64(processor_seconds()))
}

/// Runs `host` in this process by some clock.
pub fn in_this_process(words: &[String], clock: host::Clock) -> Finished {
    let began = processor_seconds();
    let (mut output, mut err) = (Vec::new(), std::io::sink());
    let mut environment = host::Environment {
        stdout: &mut output,
        stderr: &mut err,
        stdin: &mut std::io::empty(),
        stdin_is_terminal: false,
        colours: false,
        stderr_columns: None,
        directory: PathBuf::new(),
        cache: host::default_cache(),
        interrupted: Arc::default(),
        clock,
        builds: Default::default(),
    };
    host::run(words.iter().map(OsString::from), &mut environment);
    let output = String::from_utf8_lossy(&output).into_owned();
    Finished { output, seconds: processor_seconds() - began }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::yardsticks::{MISTAKES, WAYS};

    const FOUND: Ended = Ended::Found { steps: 700, events: 34, reported: 20, is_shortest: false };

    #[test]
    fn results_are_understood() {
        let violation = json!({ "found_length": 34, "length": 20, "shortest": false });
        let found = |counts: Value| json!({ "result": "violation", "counts": counts, "violations": [violation] });
        assert_eq!(Ended::understood(&found(json!({ "transitions": 700, "events": null }))), Some(FOUND));
        assert_eq!(Ended::understood(&found(json!({ "transitions": null, "events": 700 }))), Some(FOUND));
        let ended = |result: &str, end: &str| Ended::understood(&json!({ "result": result, "end": end }));
        assert_eq!(ended("incomplete", "time-bound"), Some(Ended::Limit));
        assert_eq!(ended("incomplete", "memory-bound"), Some(Ended::Limit));
        assert_eq!(ended("incomplete", "pruned"), Some(Ended::Missed));
        assert_eq!(ended("ok", "space-exhausted"), Some(Ended::Missed));
        assert_eq!(Ended::understood(&json!({ "result": "error", "error": { "message": "" } })), Some(Ended::Refused));
        assert_eq!(Ended::understood(&json!({})), None);
    }

    #[test]
    fn lengths_that_cannot_be_true_are_noticed() {
        let choice = Choice { mistakes: vec![], ways: vec![], seeds: 1, seconds: 1, build: String::new() };
        let mut run = Run::wanted(&choice, &MISTAKES[0], &WAYS[0]).swap_remove(0);
        let mut agrees = |events, reported, is_shortest| {
            run.ended = Ended::Found { steps: 1, events, reported, is_shortest };
            run.agrees_with(&Mistake { name: "", folder: "", options: "", shortest: Some(20) }).is_ok()
        };
        assert!(agrees(34, 20, true) && agrees(34, 21, false));
        assert!(!agrees(34, 19, false) && !agrees(34, 21, true) && !agrees(20, 21, false));
    }
}
