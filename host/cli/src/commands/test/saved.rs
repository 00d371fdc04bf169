//! A saved trace as a test: its expected end is in a separate file, or the default.

use std::path::{Path, PathBuf};

use host_model::contract::NodeId;
use host_session::base::files;
use host_session::cluster::{Cluster, TraceSpec, plugin_source};
use host_session::scenario_file;
use host_session::search::following::{Followed, follow};
use host_session::spec::Source;
use serde::Deserialize;

use crate::environment::Environment;

/// The maximum size in bytes of a file with the expected end of a trace.
const BYTES_MAX: u64 = 1 << 20;

/// A test of a trace: the lines of a file such as `forget-fixed.toml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Saved {
    /// The trace, next to the file.
    pub trace: PathBuf,
    /// The component that executes it, for a file elsewhere than in the folder `scenarios` of a plugin.
    pub plugin: Option<PathBuf>,
    /// The components of nodes that execute another one.
    #[serde(default)]
    pub node: Vec<Placed>,
    /// The specifications from outside, in the order of the trace.
    #[serde(default)]
    pub spec: Vec<PathBuf>,
    /// The expected end.
    #[serde(default)]
    pub expect: Expected,
}

/// The component of a node.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placed {
    /// The node.
    pub id: NodeId,
    /// Its component.
    pub plugin: PathBuf,
}

/// The expected end of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    /// The violation that it records, or none if it records none.
    #[default]
    Violated,
    /// All its events happen, and nothing is violated at their end; a broken promise is kept by every continuation.
    Gone,
    /// Some event cannot happen, or nothing is violated at their end.
    Impossible,
}

impl Saved {
    /// The test in a file; none if the file is something else, such as a scenario.
    pub fn read(path: &Path, directory: &Path) -> Option<Result<Self, String>> {
        let bytes = files::read_bounded(&directory.join(path), BYTES_MAX).ok()?;
        let table: toml::Table = toml::from_str(str::from_utf8(&bytes).ok()?).ok()?;
        if !table.contains_key("trace") {
            return None;
        }
        let there = |file: PathBuf| path.with_file_name(file);
        let with_path = |saved: Self| Self {
            trace: there(saved.trace),
            plugin: saved.plugin.map(there),
            node: saved.node.into_iter().map(|placed| Placed { plugin: there(placed.plugin), ..placed }).collect(),
            spec: saved.spec.into_iter().map(there).collect(),
            ..saved
        };
        Some(table.try_into().map(with_path).map_err(|error: toml::de::Error| error.message().to_owned()))
    }

    /// The mismatches, and whether the trace could not run at all.
    pub fn run(&self, source: Source, plugin: Option<&Path>, environment: &mut Environment<'_>) -> (Vec<String>, bool) {
        let owner = scenario_file::owner(&self.trace, &environment.directory);
        let named = self.plugin.as_deref().filter(|_| owner.is_none() && plugin.is_none());
        let placed = self.node.iter().map(|placed| &placed.plugin);
        let mut all = named.into_iter().chain(placed.chain(&self.spec).map(PathBuf::as_path));
        if let Some(named) = all.find(|named| plugin_source::needs_build(&environment.directory.join(named))) {
            // As for scenarios: a build runs commands of the folder, and running a test expresses no trust in that.
            let wrong = format!("{} would have to be built: name the component that is built of it", named.display());
            return (vec![wrong], true);
        }
        let plugin = owner.or_else(|| plugin.or(named).map(Path::to_owned));
        let node = self.node.iter().map(|placed| (placed.id, placed.plugin.clone())).collect();
        let (trace, specs) = (self.trace.clone(), self.spec.clone());
        let spec = TraceSpec { trace, plugin, node, specs, source, any_build: true, ..TraceSpec::default() };
        let (trace, cluster) = match Cluster::of_trace(&spec, &mut environment.context()) {
            Ok(loaded) => loaded,
            Err(failure) => return (vec![failure.message], true),
        };
        let followed = match follow(&cluster, &trace, &mut environment.context()).1 {
            Ok(followed) => followed,
            Err(failure) => return (vec![failure.message], true),
        };
        let is_gone = matches!(followed, Followed::Gone | Followed::Kept { .. });
        let is_met = match self.expect {
            Expected::Violated => matches!(followed, Followed::Violated(_) | Followed::Arrived),
            Expected::Gone => is_gone,
            Expected::Impossible => is_gone || matches!(followed, Followed::Cut { .. }),
        };
        if is_met {
            return (Vec::new(), false);
        }
        let remedy = match (self.expect, &followed) {
            (Expected::Violated, Followed::Gone | Followed::Kept { .. }) => self.remedy("gone"),
            (Expected::Violated | Expected::Gone, Followed::Cut { .. }) if trace.finding.is_some() => {
                self.remedy("impossible")
            }
            _ => String::new(),
        };
        (vec![format!("{followed}{remedy}")], false)
    }

    /// The way to keep a trace whose violation was mended.
    fn remedy(&self, expected: &str) -> String {
        let name = self.trace.file_name().unwrap_or_default().to_string_lossy();
        format!(
            "; if that is meant, say so in {}: trace = \"{name}\", expect = \"{expected}\"",
            self.trace.with_extension("toml").display()
        )
    }
}
