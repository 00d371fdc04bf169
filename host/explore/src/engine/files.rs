//! Names of moments, traces in and out.

use std::path::{Component, Path, PathBuf};

use host_inspect::debug::{CursorError, Place};
use host_inspect::page::clean;
use host_inspect::page::shapes::Moved;
use host_model::trace::Trace;
use host_session::cluster::trace_file;
use host_session::search::path;
use serde_json::json;

use super::Engine;
use crate::refused::{Answer, Refused};

/// Letters of the name of a moment, and moments with a name.
pub(super) const NAME_LETTERS_MAX: usize = 200;
pub(super) const NAMES_MAX: usize = 10_000;

impl Engine<'_> {
    /// Names a place; an empty name takes the name away.
    pub fn name(&mut self, place: Place, name: &str) -> Answer {
        let place = self.place(place)?;
        if name.chars().count() > NAME_LETTERS_MAX {
            return Err(Refused::wrong(format_args!("a name has at most {NAME_LETTERS_MAX} letters")));
        }
        match name.trim() {
            "" => drop(self.names.remove(&place)),
            _ if self.names.len() >= NAMES_MAX => {
                return Err(Refused::conflict(format_args!(
                    "there are {NAMES_MAX} names, the most that a session keeps"
                )));
            }
            name => drop(self.names.insert(place, clean(name))),
        }
        let step = self.step(place);
        super::json(&step)
    }

    /// The trace that leads to a place, with the finding there.
    pub(super) fn trace_to(&mut self, place: Place) -> Result<Trace, Refused> {
        if let Some(broken) = self.broken.get(&place) {
            return Ok(broken.clone());
        }
        let steps = self.moments.path(self.place(place)?);
        let trace = path::trace_of(self.explored.cluster, &self.explored.trace, steps);
        trace.map_err(|error| Refused::conflict(format_args!("the path does not replay: {error}")))
    }

    /// The same as JSON.
    pub fn trace(&mut self, place: Place) -> Answer {
        Ok(trace_file::text(&self.trace_to(place)?))
    }

    /// Writes it to a new file below the working directory.
    pub fn save(&mut self, place: Place, file: &str) -> Answer {
        let given = self.new_file(file, "json")?;
        let trace = self.trace_to(place)?;
        trace_file::write(&given, &trace, &self.explored.directory)?;
        let text = clean(&format!("{} steps in {}", trace.steps.len(), given.display()));
        Ok(json!({ "text": text }).to_string())
    }

    /// The path of a file that is not there yet, below the working directory.
    pub(super) fn new_file(&self, file: &str, extension: &str) -> Result<PathBuf, Refused> {
        let given = Path::new(file);
        let is_below = given.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if file.is_empty() || !is_below || given.extension().is_none_or(|it| it != extension) {
            let what = if extension == "toml" { "a scenario" } else { "a trace" };
            let refused = Refused::wrong(format_args!(
                "{what} is saved in a file *.{extension} below the folder in which `host explore` runs"
            ));
            return Err(refused.help(format_args!("give a name such as found.{extension}")));
        }
        if self.explored.directory.join(given).symlink_metadata().is_ok() {
            return Err(Refused::conflict(format_args!("{file} exists")).help("choose another name"));
        }
        Ok(given.to_owned())
    }

    /// Adds a trace as a branch.
    pub fn open(&mut self, body: &[u8]) -> Answer {
        let trace = trace_file::parse(&"the file", body)?;
        if trace.scenario != self.explored.trace.scenario {
            let refused = Refused::conflict("it is a trace of another cluster: compare within one scenario");
            return Err(refused.help("`host explore` takes that trace in place of this one"));
        }
        let moved = self.branch(&trace)?;
        super::json(&moved)
    }

    /// The branch of a trace, and its end.
    pub(super) fn branch(&mut self, trace: &Trace) -> Result<Moved, Refused> {
        let opened = self.moments.open(trace);
        let line = opened.map_err(|(line, error)| match error {
            CursorError::Trace { .. } => {
                Refused::conflict(error).help(format_args!("its first {} steps are a branch now", line.len() - 1))
            }
            error => error.into(),
        })?;
        Ok(Moved { place: line.last().copied().unwrap_or_default(), line })
    }
}
