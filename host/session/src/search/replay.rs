//! The end of the replay of a trace.

use std::path::Path;

use host_inspect::words;
use host_model::scenario::NodeNames;
use host_model::trace::replay::ReplayError;
use host_model::trace::{Finding, Trace};

use crate::base::{Exit, Failure};
use crate::search::finding;

/// The failure of a replay.
pub fn failure(trace: &Path, error: ReplayError) -> Failure {
    match error {
        ReplayError::Machine(error) => error.into(),
        error => Failure::configuration(format_args!("{} does not replay: {error}", trace.display())),
    }
}

/// The end of a replay.
#[derive(Clone, Debug)]
pub struct Ending {
    /// The findings at the end, the recorded one first.
    pub findings: Vec<Finding>,
    /// Whether the trace recorded them.
    pub is_recorded: bool,
}

/// Compares the findings at the end with that of the trace.
///
/// # Errors
///
/// They differ.
pub fn ending(trace: &Trace, findings: Vec<Finding>) -> Result<Ending, ReplayError> {
    let said = |finding: &Finding| words::finding(finding, None, &NodeNames::default());
    // A property that is reached is only reported if the trace is about it.
    let is_bad = |finding: &Finding| finding::exit(finding) != Exit::Ok;
    let Some(recorded) = &trace.finding else {
        return Ok(Ending { findings: findings.into_iter().filter(is_bad).collect(), is_recorded: false });
    };
    if findings.contains(recorded) {
        let others = findings.into_iter().filter(|finding| finding != recorded && is_bad(finding));
        return Ok(Ending { findings: std::iter::once(recorded.clone()).chain(others).collect(), is_recorded: true });
    }
    let what = match findings.iter().find(|finding| is_bad(finding)) {
        None => format!("every property holds, but the trace says that {}", said(recorded)),
        Some(other) => {
            format!("{}, but the trace says that {}", said(other), said(recorded))
        }
    };
    Err(ReplayError::NoFinding { what })
}

impl Ending {
    /// The exit code of the first violation; a reached property is none.
    pub fn exit(&self) -> Exit {
        self.findings.iter().map(finding::exit).find(|exit| *exit != Exit::Ok).unwrap_or(Exit::Ok)
    }

    /// `ok`, `replayed`, or `violation` if the trace does not record one.
    pub fn result(&self) -> &'static str {
        match (self.findings.is_empty(), self.is_recorded) {
            (true, _) => "ok",
            (false, true) => "replayed",
            (false, false) => "violation",
        }
    }
}
