//! The files that a run leaves behind: traces, explanations, drawings, and the result.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use host_inspect::draw::{self, Context, Form};
use host_inspect::explain::{self, Paint};
use host_model::trace::Trace;
use host_session::base::names::safe_name;
use host_session::base::written::{self, Written};
use host_session::base::{Failure, files};
use host_session::cluster::Cluster;
use host_session::cluster::trace_file;
use host_session::report::Saved;
use host_session::search::finding::Violation;
use host_session::search::witness::Witness;

use crate::environment::Environment;
use crate::output::text::sibling_text;

/// The maximum number of steps of a trace that is drawn by default; a longer drawing has megabytes, too many for a browser.
const DRAWN_MAX: usize = 2_000;

/// The destination of the files of a run.
pub struct RunFiles<'r> {
    /// None if there is nothing to keep: no violation, and no folder named by the user.
    folder: Option<PathBuf>,
    /// The folder for violations if the user's folder cannot be written.
    default: Option<PathBuf>,
    cluster: &'r Cluster,
    /// Whether a file could not be written anywhere: one message is enough.
    failed: bool,
    /// The files written into the user's folder.
    written: Option<Written>,
}

/// Checks that the folder for the trace can be written: now, not after hours of search.
///
/// # Errors
///
/// The path is a file, or the folder is not writable.
pub fn check_out(out: Option<&Path>, environment: &Environment<'_>) -> Result<(), Failure> {
    let Some(out) = out else { return Ok(()) };
    if environment.path(out).exists() && !environment.path(out).is_dir() {
        let failure = Failure::configuration(format_args!("`--out {}` is a file, not a folder", out.display()));
        return Err(failure.help("name a folder; it is made if it is not there"));
    }
    files::check_folder(out, &environment.directory)
}

impl<'r> RunFiles<'r> {
    /// The folder that the user named, or else one named after the first trace's content.
    pub fn new(out: Option<PathBuf>, algo: &str, cluster: &'r Cluster, first: Option<&Trace>) -> Self {
        let default = first.map(|trace| trace_file::default_folder(&cluster.plugin.reference.name, algo, trace));
        let written = out.is_some().then(Written::default);
        let (folder, default) = if out.is_some() { (out, default) } else { (default, None) };
        Self { folder, default, cluster, failed: false, written }
    }

    /// Removes the files of an earlier run from the user's folder: its counterexample is none of this run. The prefix of this run may be
    /// among them, and stays.
    pub fn remove_old(&self, prefix: Option<&Path>, environment: &Environment<'_>) {
        if let Some(folder) = self.folder.as_ref().filter(|_| self.written.is_some()) {
            written::remove(&environment.path(folder), prefix.map(|path| environment.path(path)).as_deref());
        }
    }

    /// Whether a file could not be written anywhere.
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Writes traces, texts and drawings. A failed write does not hide the violation: it is reported, and files that the user's
    /// folder rejects go to the default one.
    pub fn save(
        &mut self,
        violations: &[Violation],
        prefix: usize,
        program: &str,
        environment: &mut Environment<'_>,
    ) -> Vec<Option<Saved>> {
        let mut saved = Vec::new();
        for (index, violation) in violations.iter().enumerate() {
            let Some(trace) = self.write("trace", "json", index, &trace_file::text(&violation.trace), environment)
            else {
                saved.push(None);
                continue;
            };
            let found = violation.found.as_ref();
            let found =
                found.and_then(|(found, _)| self.write("found", "json", index, &trace_file::text(found), environment));
            let recording = &violation.recording;
            // A trace that was not run again from the start has no states to show.
            let is_seen = recording.init.len() == recording.nodes() as usize;
            let sibling = violation.sibling.as_ref();
            let way = sibling.map(|it| sibling_text(it, recording.steps.len(), Paint::Plain) + "\n");
            let on = violation.way_on.as_ref();
            let on = on.map(|(on, is_over)| explain::way_on(on, recording.steps.len(), *is_over, Paint::Plain) + "\n");
            let text = format!(
                "{}\n{}\n{}{}{}",
                explain::start(recording),
                explain::steps(recording, prefix, Paint::Plain),
                way.unwrap_or_default(),
                on.unwrap_or_default(),
                explain::end(recording)
            );
            self.write("trace", "txt", index, &text, environment);
            let replay = self.cluster.replay_command(program, Path::new(&trace));
            let context = Context { prefix, replay: Some(&replay), sibling };
            let is_drawn = is_seen && violation.trace.steps.len() <= DRAWN_MAX;
            let mut drawn = |form: Form| {
                let draw = || draw::draw(recording, form, context);
                is_drawn.then(|| self.write("trace", form.extension(), index, &draw(), environment)).flatten()
            };
            let (drawing, page) = (drawn(Form::Svg), drawn(Form::Html));
            saved.push(Some(Saved { replay, drawing, page, found, trace }));
        }
        saved
    }

    /// Writes the traces of witnesses; returns their files by property.
    pub fn save_witnesses(
        &mut self,
        witnesses: &[Witness],
        environment: &mut Environment<'_>,
    ) -> BTreeMap<String, String> {
        let mut saved = BTreeMap::new();
        for Witness { property, found } in witnesses {
            let Some(found) = found.as_ref().filter(|found| found.nondeterminism.is_none()) else { continue };
            let name = format!("witness-{}", safe_name(property));
            // Two names can be the same as file names.
            let index = saved.keys().filter(|other: &&String| safe_name(other) == safe_name(property)).count();
            let text = trace_file::text(&found.trace);
            if let Some(path) = self.write(&name, "json", index, &text, environment) {
                saved.insert(property.clone(), path);
            }
        }
        saved
    }

    /// Writes the trace of a checker's first prediction, under this name; returns the file, and the command that replays it.
    pub fn save_prediction(
        &mut self,
        name: &str,
        trace: &Trace,
        program: &str,
        environment: &mut Environment<'_>,
    ) -> Option<(String, String)> {
        let path = self.write(name, "json", 0, &trace_file::text(trace), environment)?;
        let replay = self.cluster.replay_command(program, Path::new(&path));
        Some((path, replay))
    }

    /// Writes a sketch of what was seen as JSON.
    pub fn save_sketch(&mut self, json: &str, environment: &mut Environment<'_>) {
        self.write("sketch", "json", 0, json, environment);
    }

    /// Writes the result as JSON.
    pub fn save_result(&mut self, json: &str, environment: &mut Environment<'_>) {
        self.write("stats", "json", 0, json, environment);
    }

    /// Writes a file and returns its path, as the user would name it.
    fn write(
        &mut self,
        name: &str,
        extension: &str,
        index: usize,
        text: &str,
        environment: &mut Environment<'_>,
    ) -> Option<String> {
        let file = match index {
            0 => format!("{name}.{extension}"),
            _ => format!("{name}-{}.{extension}", index + 1),
        };
        let folder = self.folder.as_ref().filter(|_| !self.failed)?;
        let path = folder.join(&file);
        let Err(mut failure) = files::write(&path, text, &environment.directory) else {
            if let Some(written) = &mut self.written {
                written.add(folder, &file, text, &environment.directory);
            }
            return Some(path.display().to_string());
        };
        self.written = None;
        let instead = self.default.take().filter(|default| {
            let written = files::write(&default.join(&file), text, &environment.directory);
            written.is_ok()
        });
        if let Some(default) = &instead {
            failure = failure.help(format_args!("it is in {} instead, with what comes after it", default.display()));
        }
        environment.fail(&failure);
        self.failed = instead.is_none();
        self.folder = instead;
        self.folder.as_ref().map(|default| default.join(file).display().to_string())
    }
}
