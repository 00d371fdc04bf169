//! A run from its request to its report.

use std::collections::BTreeMap;

use host_model::audit::{AuditedFactory, Mode};

use crate::base::{Context, Failure};
use crate::cluster::{Cluster, judged};
use crate::report::{FinishedRun, RunReport, Saved};
use crate::scenario_file::{self, Scenario};
use crate::search::finding::Violation;
use crate::search::{self, checkpoint};
use crate::spec::RunSpec;

/// A request, with the layers below it.
pub struct Request {
    /// The run; its plugin is no longer a scenario.
    pub spec: RunSpec,
    /// The scenario that stood in place of the plugin.
    pub scenario: Option<Scenario>,
}

impl Request {
    /// Lays the request over the checkpoint that it resumes, and both over the scenario that is named in place of a plugin.
    ///
    /// # Errors
    ///
    /// The checkpoint or the scenario cannot be read, or contradicts the rest.
    pub fn new(mut spec: RunSpec, context: &mut Context<'_>) -> Result<Self, Failure> {
        if let Some(keep) = spec.process.keep.clone().filter(|keep| keep.resumes) {
            // A checkpoint names its plugin, but that is no reason to build it.
            spec.process.source.finished = spec.cluster.plugin.as_os_str().is_empty();
            spec = checkpoint::resumed(&keep.folder, spec, context)?;
        }
        let asked = spec.of_the_search();
        if let Some(keep) = &mut spec.process.keep {
            *keep.asked = asked;
        }
        if !scenario_file::is_scenario(&spec.cluster.plugin) {
            return Ok(Self { spec, scenario: None });
        }
        let may_build = !spec.process.source.finished;
        let (spec, scenario) = scenario_file::resolve(spec, may_build, context)?;
        Ok(Self { spec, scenario: Some(scenario) })
    }

    /// Opens its cluster, which must have the properties in the expectation of the scenario.
    ///
    /// # Errors
    ///
    /// As for [`Cluster::open`]; or a property does not exist.
    pub fn open(&self, context: &mut Context<'_>) -> Result<Cluster, Failure> {
        let cluster = Cluster::open(&self.spec, context)?;
        if let Some(scenario) = &self.scenario {
            judged::check_expected(&scenario.expect, &cluster.plugin.reference.name, &cluster.properties)?;
        }
        Ok(cluster)
    }

    /// Runs it, without progress and without files; returns the report, and the violations with their events.
    ///
    /// # Errors
    ///
    /// The request does not fit the plugin, or the machine got in the way.
    pub fn run(&self, context: &mut Context<'_>) -> Result<(RunReport, Vec<Violation>), Failure> {
        self.located(|| {
            let spec = &self.spec;
            // Errors that need no plugin are reported before it is built.
            search::limits::limits(spec)?;
            let cluster = self.open(context)?;
            let machines = AuditedFactory::new(cluster.factory(), spec.process.audit.unwrap_or_default());
            let lts = cluster.lts(&machines)?;
            let outcome = search::run(spec, &cluster, &lts, None, context)?;
            let saved = outcome.violations.iter().map(|_| None).collect();
            let report = self.finish(
                &FinishedRun {
                    spec,
                    command: String::new(),
                    cluster: &cluster,
                    machines: &machines,
                    lts: &lts,
                    outcome: &outcome,
                    witnesses: BTreeMap::new(),
                },
                saved,
            )?;
            Ok((report, outcome.violations))
        })
    }

    /// The report of [`run`](Self::run).
    ///
    /// # Errors
    ///
    /// Those of the run.
    pub fn report(&self, context: &mut Context<'_>) -> Result<RunReport, Failure> {
        Ok(self.run(context)?.0)
    }

    /// The report of a run that is over, with the audit, and compared with the expectation of the scenario.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance for the audit.
    pub fn finish(&self, run: &FinishedRun<'_>, saved: Vec<Option<Saved>>) -> Result<RunReport, Failure> {
        let mut report = RunReport::new(run, saved);
        if self.spec.process.audit.unwrap_or_default() != Mode::Off {
            report.add_audit(&run.machines.check(run.lts.properties())?, run.cluster)?;
        }
        if let Some(scenario) = &self.scenario {
            report.compare(&scenario.expect);
        }
        Ok(report)
    }

    /// The result of a part of the run; a failure names the scenario, and the line of the option that it is about.
    ///
    /// # Errors
    ///
    /// That of the part.
    pub fn located<T>(&self, part: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        part().map_err(|failure| match &self.scenario {
            Some(scenario) => scenario.locate(failure),
            None => failure,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;
    use std::path::Path;
    use std::sync::Arc;

    use host_sandbox::fixtures;
    use serde_json::Value;

    use super::*;
    use crate::base::context::{Builds, system_clock};
    use crate::report::result::Verdict;

    fn report(folder: &Path, spec: &str) -> Result<RunReport, Failure> {
        with(folder, &Builds::default(), |context| {
            Request::new(serde_json::from_str(spec).expect("a specification"), context)?.report(context)
        })
    }

    /// With the context of a command that has built and loaded these.
    fn with<R>(folder: &Path, builds: &Builds, action: impl FnOnce(&mut Context<'_>) -> R) -> R {
        let (interrupted, clock) = (Arc::default(), system_clock());
        let log = &mut std::io::sink();
        let (columns, cache) = (None, None);
        action(&mut Context {
            log,
            columns,
            directory: folder,
            cache,
            interrupted: &interrupted,
            clock: &clock,
            builds,
        })
    }

    /// Loading a component starts one instance; each cluster starts one more to list the properties.
    #[test]
    fn the_clusters_of_a_command_share_what_was_loaded() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("guest.wasm"), fixtures::ping_pong()).expect("writable");
        let builds = Builds::default();
        let started = |cluster: &str| {
            let spec: RunSpec =
                serde_json::from_str(&format!(r#"{{"cluster":{{"plugin":"guest.wasm",{cluster}}}}}"#)).expect("valid");
            let opened = with(folder.path(), &builds, |context| Cluster::open(&spec, context));
            opened.expect("a cluster").plugin.plugin.instances_started()
        };
        assert_eq!([r#""nodes":2"#, r#""nodes":3"#, r#""nodes":2"#].map(started), [2, 1, 1]);
        let limited = r#""nodes":2,"limits":{"component":1000000}"#;
        assert_eq!([limited, r#""nodes":3"#].map(started), [2, 1], "limits are part of what is loaded");
    }

    /// The result of a run does not depend on earlier runs with the same components.
    #[test]
    fn a_run_after_others_says_what_it_says_alone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, guest) in
            [("guest", fixtures::ping_pong()), ("far", fixtures::ping_pong_too_far()), ("grows", fixtures::growing())]
        {
            std::fs::write(folder.path().join(name).with_extension("wasm"), guest).expect("writable");
        }
        let told = |spec: &RunSpec, builds: &Builds| {
            let run = with(folder.path(), builds, |context| Request::new(spec.clone(), context)?.report(context));
            let mut told = serde_json::to_value(run.expect("a result")).expect("plain data");
            // These depend on the machine.
            told["seconds"].take();
            told["memory_peak_bytes"].take();
            told
        };
        let clusters = [
            r#"{"cluster":{"plugin":"guest.wasm","nodes":2},"search":{"algo":"bdfs"}}"#,
            r#"{"cluster":{"plugin":"guest.wasm","nodes":3},"search":{"algo":"unfold"}}"#,
            r#"{"cluster":{"plugin":"far.wasm","nodes":2},"search":{"algo":"bdfs"}}"#,
            r#"{"cluster":{"plugin":"guest.wasm","nodes":2,"placement":{"node":[[1,"far.wasm"]]}},"search":{"algo":"bdfs"}}"#,
            r#"{"cluster":{"plugin":"grows.wasm","nodes":1},"search":{"algo":"bdfs","depth":6}}"#,
        ];
        let mut specs = Vec::new();
        for cluster in clusters {
            for workers in [1, 2] {
                let mut spec: RunSpec = serde_json::from_str(cluster).expect("a specification");
                spec.process.workers = NonZeroUsize::new(workers);
                spec.process.audit = Some(Mode::Full);
                specs.push(spec);
            }
        }
        let builds = Builds::default();
        let alone: Vec<Value> = specs.iter().map(|spec| told(spec, &Builds::default())).collect();
        // Forwards and backwards: the first has no predecessor.
        let order: Vec<usize> = (0..specs.len()).chain((0..specs.len()).rev()).collect();
        for index in order {
            assert_eq!(told(&specs[index], &builds), alone[index], "{:?}", specs[index]);
        }
        let results: Vec<&Value> = alone.iter().step_by(2).map(|run| &run["result"]).collect();
        // In the mixed cluster the property of the first component decides.
        assert_eq!(results, ["ok", "ok", "violation", "ok", "incomplete"]);
    }

    #[test]
    fn a_run_is_data_from_beginning_to_end() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, content: &[u8]| std::fs::write(folder.path().join(name), content).expect("writable");
        write("guest.wasm", &fixtures::ping_pong());
        let run = report(folder.path(), r#"{"cluster":{"plugin":"guest.wasm","nodes":2},"search":{"algo":"bdfs"}}"#);
        let run = run.expect("a result");
        assert_eq!((run.result, run.unmet), (Verdict::Ok, None));
        // The request takes precedence over the scenario.
        let scenario = "plugin = \"guest.wasm\"\nnodes = 2\n[bounds]\ndepth = 1\n[expect]\nresult = \"ok\"\n";
        write("s.toml", scenario.as_bytes());
        let run = report(folder.path(), r#"{"cluster":{"plugin":"s.toml"},"search":{"algo":"bdfs"}}"#);
        let run = run.expect("a result");
        assert_eq!(run.result, Verdict::Incomplete);
        assert_eq!(run.unmet, Some(vec!["the result is incomplete, expected ok".to_owned()]));
        // Such data did not pass a parser of options.
        for nodes in ["0", "4294967295"] {
            let spec = format!(r#"{{"cluster":{{"plugin":"guest.wasm","nodes":{nodes}}}}}"#);
            let refused = report(folder.path(), &spec).expect_err("no such cluster");
            assert_eq!(refused.message, format!("`--nodes {nodes}`: a cluster has between 1 and 1024 nodes"));
        }
        let refused = report(folder.path(), r#"{"cluster":{"plugin":"s.toml"},"search":{"algo":"lmc"}}"#);
        let refused = refused.expect_err("the strategy has no such bound");
        assert_eq!(refused.message, "s.toml:4: the strategy lmc-opt has no option `--depth`");
    }
}
