//! A moment as a test for `host test`: a scenario with the trace to it as prefix, which expects the violation. A broken promise or a
//! deadlock, which no single state shows, is tested by its trace.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use host_inspect::debug::Place;
use host_inspect::page::clean;
use host_inspect::words;
use host_model::contract::PropertyKind;
use host_model::trace::{Finding, Trace};
use host_session::base::{Failure, files};
use host_session::cluster::trace_file;
use host_session::scenario_file::owner;
use host_session::spec::ClusterSpec;
use serde_json::json;

use super::Engine;
use crate::refused::{Answer, Refused};

impl Engine<'_> {
    /// Writes a scenario and its trace to new files below the working directory.
    pub fn save_scenario(&mut self, place: Place, file: &str) -> Answer {
        let scenario = self.new_file(file, "toml")?;
        let prefix = scenario.with_extension("json");
        self.new_file(&prefix.to_string_lossy(), "json")?;
        let trace = self.trace_to(place)?;
        let Some(finding) = trace.finding.clone() else {
            let refused = Refused::conflict("nothing is violated here: a scenario expects a violation");
            return Err(refused.help("go to the step that violates a property, or save the trace with a name *.json"));
        };
        let Some(expected) = expected(&finding) else { return self.save_path(&scenario, &trace, &finding) };
        let text = text(&self.as_built(&scenario), &trace, &self.explored.directory, &scenario, &expected);
        let mut events = events_of(trace.clone());
        if let Some(Finding::Fault { .. }) = &trace.finding {
            // No search begins at a node that is stuck, so the search takes the last step again.
            events.steps.pop();
        }
        self.write_both(&prefix, &events, &scenario, &text)?;
        let text =
            format!("{} runs {} of {} steps: host test {0}", scenario.display(), prefix.display(), trace.steps.len());
        Ok(json!({ "text": clean(&text) }).to_string())
    }

    /// Writes a trace with a finding of its path, and a file that names the trace as a test.
    fn save_path(&mut self, file: &Path, trace: &Trace, finding: &Finding) -> Answer {
        let cluster = self.as_built(file);
        let path = |given: &Path| quoted(&from(&self.explored.directory, file, given).to_string_lossy());
        let (saved, steps) = (file.with_extension("json"), trace.steps.len());
        let mut text = head(steps, finding);
        let _ = writeln!(text, "trace = {}", name_of(&saved));
        if !cluster.plugin.as_os_str().is_empty() {
            let _ = writeln!(text, "plugin = {}", path(&cluster.plugin));
        }
        if !cluster.specs.is_empty() {
            let specs: Vec<String> = cluster.specs.iter().map(|spec| path(spec)).collect();
            let _ = writeln!(text, "spec = [{}]", specs.join(", "));
        }
        text.push_str("expect = \"violated\"\n");
        for (node, given) in cluster.placement.node.iter().chain(&cluster.placement.adversary) {
            let _ = writeln!(text, "\n[[node]]\nid = {node}\nplugin = {}", path(given));
        }
        // The whole trace, with the component: in another one a search decides whether the promise is still broken.
        self.write_both(&saved, trace, file, &text)?;
        let text = format!("{} follows the {steps} steps of {}: host test {0}", file.display(), saved.display());
        Ok(json!({ "text": clean(&text) }).to_string())
    }

    /// Writes a trace and the test that names it, or neither.
    fn write_both(&self, saved: &Path, trace: &Trace, file: &Path, text: &str) -> Result<(), Failure> {
        let directory = &self.explored.directory;
        trace_file::write(saved, trace, directory)?;
        files::write(file, text, directory).inspect_err(|_| {
            // A trace without its test would only take the name from the next attempt.
            let _ = std::fs::remove_file(directory.join(saved));
        })
    }

    /// The cluster with components in place of the folders of plugins: `host test` builds no plugin that a scenario elsewhere names. The
    /// plugin of the scenario's own folder needs no name.
    fn as_built(&self, scenario: &Path) -> ClusterSpec {
        let (cluster, mut spec) = (self.explored.cluster, self.explored.spec.cluster.clone());
        let loaded = || std::iter::once(&cluster.plugin).chain(cluster.components.loaded());
        let built = |given: &mut PathBuf| {
            if let Some(component) = loaded().find(|loaded| loaded.given == *given) {
                given.clone_from(&component.wasm);
            }
        };
        let directory = &self.explored.directory;
        let owner = owner(scenario, directory).and_then(|owner| directory.join(owner).canonicalize().ok());
        let own = directory.join(&cluster.plugin.given).canonicalize().ok();
        let placed = &mut spec.placement;
        placed.node.iter_mut().chain(&mut placed.adversary).for_each(|(_, given)| built(given));
        if owner.is_some() && owner == own {
            spec.plugin = PathBuf::new();
        } else {
            built(&mut spec.plugin);
        }
        spec
    }
}

/// Whether the path of a trace shows its finding, and no single state does: a broken promise or a deadlock.
pub(super) fn is_of_path(trace: &Trace) -> bool {
    matches!(trace.finding, Some(Finding::Promise(_) | Finding::Deadlock { .. }))
}

/// A trace as events alone, which every build of the plugin can follow.
fn events_of(mut trace: Trace) -> Trace {
    if trace.placements.is_empty() {
        trace.plugin.digest = None;
    }
    for step in &mut trace.steps {
        (step.sent, step.state) = (None, None);
    }
    Trace { finding: None, ..trace }
}

/// The lines of the section on the expectation, of a finding that the states of a trace show by themselves.
fn expected(finding: &Finding) -> Option<String> {
    match finding {
        Finding::Property { name, kind: PropertyKind::Always, .. } => {
            Some(format!("result = \"violation\"\nproperty = {}\n", quoted(name)))
        }
        Finding::Fault { fault, .. } => {
            Some(format!("result = \"violation\"\nfault = {}\n", quoted(&words::name(fault.kind))))
        }
        _ => None,
    }
}

fn text(cluster: &ClusterSpec, trace: &Trace, directory: &Path, scenario: &Path, expected: &str) -> String {
    let steps = trace.steps.len();
    let mut text = trace.finding.as_ref().map(|finding| head(steps, finding)).unwrap_or_default();
    let path = |given: &Path| quoted(&from(directory, scenario, given).to_string_lossy());
    if !cluster.plugin.as_os_str().is_empty() {
        let _ = writeln!(text, "plugin = {}", path(&cluster.plugin));
    }
    // It lies next to the scenario.
    let _ = writeln!(text, "prefix = {}", name_of(&scenario.with_extension("json")));
    if !cluster.specs.is_empty() {
        let specs: Vec<String> = cluster.specs.iter().map(|spec| path(spec)).collect();
        let _ = writeln!(text, "spec = [{}]", specs.join(", "));
    }
    for (key, names) in [("property", &cluster.property), ("ignore", &cluster.ignore)] {
        if !names.is_empty() {
            let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
            let _ = writeln!(text, "{key} = [{}]", names.join(", "));
        }
    }
    let placed = &cluster.placement;
    if !placed.twins.is_empty() {
        let _ = writeln!(text, "twins = {:?}", placed.twins);
    }
    let honest = placed.node.iter().map(|(node, given)| (*node, Some((given, false))));
    let adversaries = placed.adversary.iter().map(|(node, given)| (*node, Some((given, true))));
    let mut rows: Vec<_> = honest.chain(adversaries).collect();
    for (node, ..) in &placed.parameters {
        if !rows.iter().any(|(known, _)| known == node) {
            rows.push((*node, None));
        }
    }
    for (node, component) in rows {
        let _ = writeln!(text, "\n[[node]]\nid = {node}");
        if let Some((given, is_adversary)) = component {
            let _ = writeln!(text, "plugin = {}", path(given));
            text.push_str(if is_adversary { "adversary = true\n" } else { "" });
        }
        let own = placed.parameters.iter().filter(|(of, ..)| *of == node);
        let own: Vec<String> = own.map(|(_, key, value)| format!("{} = {}", quoted(key), quoted(value))).collect();
        if !own.is_empty() {
            let _ = writeln!(text, "parameters = {{ {} }}", own.join(", "));
        }
    }
    for kind in [PropertyKind::Always, PropertyKind::Sometimes, PropertyKind::Eventually] {
        let of_kind: Vec<_> = cluster.expressed.iter().filter(|expressed| expressed.kind == kind).collect();
        if !of_kind.is_empty() {
            let _ = writeln!(text, "\n[{}]", words::name(kind));
        }
        for expressed in of_kind {
            let _ = writeln!(text, "{} = {}", quoted(&expressed.name), quoted(&expressed.expression));
        }
    }
    let _ =
        write!(text, "\n[strategy]\nalgo = \"bdfs\"\n\n[bounds]\ndepth = 1\n\n[expect]\n{expected}length = {steps}\n");
    text
}

/// The first line of a test.
fn head(steps: usize, finding: &Finding) -> String {
    let finding = clean(&words::finding(finding, None, &Default::default()));
    format!("# Saved by host explore: {steps} steps, then {finding}.\n")
}

/// The name of a file, for one next to it.
fn name_of(file: &Path) -> String {
    quoted(&file.file_name().unwrap_or_default().to_string_lossy())
}

/// A path as the file of a test names it: relative to the folder of the file, so that both can move together; absolute where they share no
/// folder. All are relative to a directory, which is absolute.
fn from(directory: &Path, file: &Path, given: &Path) -> PathBuf {
    let folder = absolute(&directory.join(file.parent().unwrap_or(Path::new(""))));
    let target = absolute(&directory.join(given));
    let shared = folder.components().zip(target.components()).take_while(|(one, other)| one == other).count();
    if shared <= 1 {
        return target;
    }
    let up = std::iter::repeat_n(Path::new(".."), folder.components().count() - shared);
    up.collect::<PathBuf>().join(target.components().skip(shared).collect::<PathBuf>())
}

/// An absolute path without links as far as it exists, and without `.`.
fn absolute(path: &Path) -> PathBuf {
    if let Ok(path) = path.canonicalize() {
        return path;
    }
    let parent = path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
    match (parent, path.file_name()) {
        (Some(parent), Some(name)) => absolute(parent).join(name),
        (Some(parent), None) => absolute(parent),
        _ => path.to_owned(),
    }
}

/// A text as a string of TOML, which is one of JSON but for DEL.
fn quoted(text: &str) -> String {
    json!(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_from_the_folder_of_the_scenario() {
        let of = |file: &str, given: &str| {
            from(Path::new("/no/such"), Path::new(file), Path::new(given)).display().to_string()
        };
        assert_eq!(of("x.toml", "plugins/paxos"), "plugins/paxos");
        assert_eq!(of("./a/b/x.toml", "plugins/paxos"), "../../plugins/paxos");
        assert_eq!(of("a/x.toml", "/no/target/plugins/p.wasm"), "../../target/plugins/p.wasm");
        assert_eq!(of("a/x.toml", "/plugins/paxos"), "/plugins/paxos");
    }

    #[test]
    fn what_is_quoted_is_a_string_of_toml() {
        assert_eq!(quoted("a\"b\\c\n\u{7f}\u{1b}é"), "\"a\\\"b\\\\c\\n\\u007f\\u001bé\"");
    }
}
