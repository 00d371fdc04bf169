//! A run from what is asked for to its report.

use std::collections::BTreeMap;

use host_model::audit::{AuditedFactory, Mode};

use crate::base::{Context, Failure};
use crate::cluster::Cluster;
use crate::report::{FinishedRun, RunReport, Saved};
use crate::scenario_file::{self, Scenario};
use crate::search::{self, checkpoint};
use crate::spec::RunSpec;

/// A request, with all that lies below it.
pub struct Request {
    /// The run; the plugin is no scenario any more.
    pub spec: RunSpec,
    /// The scenario that stood in place of the plugin.
    pub scenario: Option<Scenario>,
}

impl Request {
    /// Puts a checkpoint that is resumed below what is asked for, and below both the scenario that stands in place of the plugin.
    ///
    /// # Errors
    ///
    /// The checkpoint or the scenario cannot be read, or does not go together with the rest.
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

    /// Runs it, without progress and without files.
    ///
    /// # Errors
    ///
    /// The request does not fit the plugin, or the machine got in the way.
    pub fn report(&self, context: &mut Context<'_>) -> Result<RunReport, Failure> {
        self.located(|| {
            let spec = &self.spec;
            // What can be refused without the plugin is refused before it is built.
            search::limits::limits(spec)?;
            let cluster = Cluster::open(spec, context)?;
            let machines = AuditedFactory::new(cluster.factory(), spec.process.audit.unwrap_or_default());
            let lts = cluster.lts(&machines)?;
            let outcome = search::run(spec, &cluster, &lts, None, context)?;
            let saved = outcome.violations.iter().map(|_| None).collect();
            let (cluster, machines, lts, outcome) = (&cluster, &machines, &lts, &outcome);
            let witnesses = BTreeMap::new();
            self.finish(
                &FinishedRun { spec, command: String::new(), cluster, machines, lts, outcome, witnesses },
                saved,
            )
        })
    }

    /// The report of a run that is over, with the audit, and compared with what the scenario expects.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance for the audit.
    pub fn finish(&self, run: &FinishedRun<'_>, saved: Vec<Option<Saved>>) -> Result<RunReport, Failure> {
        let mut report = RunReport::new(run, saved);
        if self.spec.process.audit.unwrap_or_default() != Mode::Off {
            report.add_audit(&run.machines.check(run.lts.properties())?);
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
    use std::path::Path;
    use std::sync::Arc;

    use host_sandbox::fixtures;

    use super::*;
    use crate::base::context::{Builds, system_clock};
    use crate::report::result::Verdict;

    fn report(folder: &Path, spec: &str) -> Result<RunReport, Failure> {
        let spec = serde_json::from_str(spec).expect("a specification");
        let (interrupted, clock) = (Arc::default(), system_clock());
        let log = &mut std::io::sink();
        let context = &mut Context {
            log,
            columns: None,
            directory: folder,
            cache: None,
            interrupted: &interrupted,
            clock: &clock,
            builds: &Builds::default(),
        };
        Request::new(spec, context)?.report(context)
    }

    #[test]
    fn a_run_is_data_from_beginning_to_end() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, content: &[u8]| std::fs::write(folder.path().join(name), content).expect("writable");
        write("guest.wasm", &fixtures::ping_pong());
        let run = report(folder.path(), r#"{"cluster":{"plugin":"guest.wasm","nodes":2},"search":{"algo":"bdfs"}}"#);
        let run = run.expect("a result");
        assert_eq!((run.result, run.unmet), (Verdict::Ok, None));
        // What is asked for lies over the scenario.
        let scenario = "plugin = \"guest.wasm\"\nnodes = 2\n[bounds]\ndepth = 1\n[expect]\nresult = \"ok\"\n";
        write("s.toml", scenario.as_bytes());
        let run = report(folder.path(), r#"{"cluster":{"plugin":"s.toml"},"search":{"algo":"bdfs"}}"#);
        let run = run.expect("a result");
        assert_eq!(run.result, Verdict::Incomplete);
        assert_eq!(run.unmet, Some(vec!["the result is incomplete, expected ok".to_owned()]));
        // Data from elsewhere went through no parser of options.
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
