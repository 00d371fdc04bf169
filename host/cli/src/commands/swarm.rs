//! `host swarm`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use host_session::Request;
use host_session::base::bounds::default_memory;
use host_session::base::names::safe_name;
use host_session::base::text::{count, json_text};
use host_session::base::{Exit, Failure, files, units};
use host_session::cluster::Cluster;
use host_session::scopes::{self, Scope};
use host_session::spec::RunSpec;
use host_session::spec::expectation::Expectation;
use host_swarm::error::SwarmError;
use host_swarm::folder::Folder;
use host_swarm::hosts::Hosts;
use host_swarm::place::{Here, Place, THIS_MACHINE, There};
use host_swarm::plan::{FORMAT, Plan, Target};
use host_swarm::results::JobResult;
use host_swarm::run::{News, Over, Swarm};
use host_swarm::schedule::Rules;
use host_swarm::summary::{Finding, Summary};
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::options::after_dashes;
use crate::options::swarm::{JobsArguments, MergeArguments, SwarmArguments, SwarmCommand};

/// The options of `host run` that are the swarm's, or have no place in it.
const OWN: [&str; 14] = [
    "seed",
    "out",
    "sketch",
    "json",
    "quiet",
    "watch",
    "grow",
    "resume",
    "checkpoint",
    "every",
    "progress",
    "workers",
    "no-install",
    "require-complete",
];

/// The options of `host run` that name files of this machine.
const OF_FILES: [&str; 5] = ["spec", "node", "adversary", "twin", "prefix"];

/// Maximum bytes of a trace.
const TRACE_BYTES_MAX: u64 = 256 << 20;

/// The minimum time between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(10);

/// Runs the jobs of a swarm, or reports on those that have run. `program` is in the commands for people.
pub fn run(arguments: &SwarmArguments, program: &str, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    match &arguments.command {
        Some(SwarmCommand::Merge(merge)) => merged(merge, program, environment),
        None => jobs(&arguments.jobs, program, environment),
    }
}

fn jobs(arguments: &JobsArguments, program: &str, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let hosts = arguments.hosts.as_deref().map(|path| Hosts::read(path, &environment.directory));
    let hosts = hosts.transpose().map_err(failure)?;
    let (targets, components) = targets(arguments, hosts.is_some(), environment)?;
    let version = format!("host {}", env!("CARGO_PKG_VERSION"));
    let plan = Plan { format: FORMAT, host: version, targets, first_seed: arguments.seed, seeds: arguments.seeds };
    if let Some(parts) = arguments.matrix {
        let parts: Vec<String> =
            matrix(plan.len(), parts.get()).map(|part| format!("{}..{}", part.start, part.end - 1)).collect();
        environment.print(&format!("{}\n", json!({ "jobs": parts })))?;
        return Ok(Exit::Ok);
    }
    let all = 0..plan.len();
    let wanted = arguments.only.clone().unwrap_or(all.clone());
    if wanted.end > all.end {
        let what = format_args!("`--only`: the swarm has {}, from 0", count(plan.len() as u64, "job"));
        return Err(Failure::configuration(what).help("`--matrix` prints the parts"));
    }
    let out = arguments.out.as_deref().unwrap_or(Path::new("swarm"));
    let (folder, lock) = Folder::open(&environment.path(out), &plan).map_err(failure)?;
    for (path, component) in &components {
        keep(component, &folder.path().join(path), environment)?;
    }
    let here = here(arguments, hosts.is_some(), environment)?;
    let mut places = Vec::new();
    for host in hosts.iter().flat_map(|hosts| &hosts.host) {
        let ssh = hosts.as_ref().map(|hosts| hosts.ssh.clone()).unwrap_or_default();
        places.push(Place::There(There::new(host.clone(), ssh, environment.directory.clone())));
    }
    if here.processes > 0 {
        places.push(Place::Here(here.clone()));
    }
    let rules = Rules { first: arguments.first, flat: arguments.until_flat.map(std::num::NonZeroUsize::get) };
    let interrupted = std::sync::Arc::clone(&environment.interrupted);
    let swarm = Swarm { plan: &plan, folder: &folder, lock: &lock, places: &places, rules, stop: &interrupted };
    let mut progress = Progress::new(&plan, wanted.len(), arguments.source.quiet);
    let over = swarm.run(wanted, &mut |news| progress.tell(&news, environment)).map_err(failure)?;
    let summary = Summary::new(&plan, &over, program);
    confirm(&summary, &plan, &over, &here, &|place| place == THIS_MACHINE)?;
    let text = if arguments.json { json_text(&summary) } else { summary.text(&plan) };
    environment.print(&text)?;
    let is_stopped = interrupted.load(std::sync::atomic::Ordering::Relaxed);
    if is_stopped {
        environment.tell("stopped; the same command continues");
    }
    match Exit::of_code(summary.exit_code).unwrap_or(Exit::System) {
        Exit::Ok if is_stopped => Ok(Exit::Stopped),
        exit => Ok(exit),
    }
}

/// The targets of a swarm, and the components that they need, by their paths in its folder.
fn targets(
    arguments: &JobsArguments,
    has_hosts: bool,
    environment: &mut Environment<'_>,
) -> Result<(Vec<Target>, BTreeMap<String, PathBuf>), Failure> {
    let here = [PathBuf::from(".")];
    let plugins = if arguments.plugins.is_empty() { &here[..] } else { &arguments.plugins };
    let (mut targets, mut components) = (Vec::new(), BTreeMap::new());
    for plugin in plugins {
        let given = after_dashes::all_but("host swarm", &OWN, plugin, &arguments.options)?;
        let mut spec = given.spec();
        spec.process.source = arguments.source.into();
        let scopes = scopes::scopes(&arguments.over, &spec)?;
        for scope in scopes {
            let request = Request::new(scope.run(spec.clone()), &mut environment.context())?;
            let is_component = request.scenario.is_none();
            check(&request, has_hosts, &arguments.options)?;
            let cluster = request.located(|| request.open(&mut environment.context()))?;
            let path = match is_component {
                true => component(&cluster, &mut components),
                false => plugin.display().to_string(),
            };
            targets.push(target(&cluster, &scope, &path, is_component, &arguments.options)?);
        }
    }
    Ok((targets, components))
}

fn target(
    cluster: &Cluster,
    scope: &Scope,
    path: &str,
    is_component: bool,
    options: &[String],
) -> Result<Target, Failure> {
    let reference = &cluster.plugin.reference;
    let of = if is_component { reference.name.as_str() } else { path };
    let scoped = scope.to_string();
    let scenario = serde_json::to_value(&cluster.scenario)
        .map_err(|error| Failure::system(format_args!("the cluster cannot be written: {error}")))?;
    Ok(Target {
        scenario,
        name: if scoped.is_empty() { of.to_owned() } else { format!("{of}, {scoped}") },
        path: path.to_owned(),
        is_component,
        digest: reference.digest.clone().unwrap_or_default(),
        options: options.iter().cloned().chain(scope.words()).collect(),
    })
}

/// The path of a component in the folder of a swarm.
fn component(cluster: &Cluster, components: &mut BTreeMap<String, PathBuf>) -> String {
    let reference = &cluster.plugin.reference;
    let digest = reference.digest.as_deref().unwrap_or_default();
    let digest = digest.rsplit(':').next().unwrap_or_default();
    let path = format!("components/{}-{}.wasm", safe_name(&reference.name), &digest[..digest.len().min(8)]);
    components.insert(path.clone(), cluster.plugin.wasm.clone());
    path
}

/// Refuses jobs that never end, that compare their results, or that need files of this machine elsewhere.
fn check(request: &Request, has_hosts: bool, options: &[String]) -> Result<(), Failure> {
    let spec: &RunSpec = &request.spec;
    if spec.process.time.is_none() && spec.search.walks.is_none() && spec.search.states.is_none() {
        let failure = Failure::configuration("a job of a swarm needs a bound: --time, --walks or --states");
        return Err(failure.help("add one after `--`, such as -- --algo walk --walks 1000"));
    }
    if let Some(scenario) = &request.scenario {
        let path = scenario.path.display();
        if scenario.expect != Expectation::default() {
            let failure = Failure::configuration(format_args!("{path}: the scenario expects a result of one run"));
            return Err(failure.help("take [expect] out of a copy of the scenario; `host test` compares results"));
        }
        if has_hosts {
            let failure = Failure::configuration(format_args!("{path}: a scenario names files of this machine"));
            return Err(failure.help("give the plugin, with the options of the scenario after `--`"));
        }
    }
    let names_files = |option: &&String| {
        let name = option.strip_prefix("--").and_then(|option| option.split('=').next());
        name.is_some_and(|name| OF_FILES.contains(&name))
    };
    if let Some(option) = options.iter().find(names_files).filter(|_| has_hosts) {
        let failure =
            Failure::configuration(format_args!("`{option}` names a file of this machine, and --hosts others"));
        return Err(failure.help("leave one of the two out"));
    }
    Ok(())
}

/// Copies a component into the folder of a swarm, unless it is there.
fn keep(component: &Path, path: &Path, environment: &Environment<'_>) -> Result<(), Failure> {
    let cannot = |does: &str, path: &Path, error: std::io::Error| {
        Failure::system(format_args!("cannot {does} {}: {error}", path.display()))
    };
    let from = environment.path(component);
    let bytes = std::fs::read(&from).map_err(|error| cannot("read", &from, error))?;
    if std::fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| cannot("make", folder, error))?;
    std::fs::write(path, bytes).map_err(|error| cannot("write", path, error))
}

/// This machine, with no process if there are others and none is asked for.
fn here(arguments: &JobsArguments, has_hosts: bool, environment: &Environment<'_>) -> Result<Here, Failure> {
    let auto = || if has_hosts { 0 } else { units::workers("auto").map_or(1, std::num::NonZeroUsize::get) };
    let processes = arguments.processes.map_or_else(auto, std::num::NonZeroUsize::get);
    let is_bounded = arguments.options.iter().any(|option| option.starts_with("--memory") || option == "-m");
    let share = default_memory().filter(|_| !is_bounded).map(|all| all / processes.max(1) as u64);
    let options = share.map_or_else(Vec::new, |bytes| vec!["--memory".to_owned(), format!("{bytes}B")]);
    Ok(Here { processes, options, ..here_alone(environment)? })
}

/// This machine without processes.
fn here_alone(environment: &Environment<'_>) -> Result<Here, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::system(format_args!("cannot find the program of the jobs: {error}")))?;
    Ok(Here { program, directory: environment.directory.clone(), processes: 0, options: Vec::new() })
}

/// Replays findings here: the trace of each shape that is shown. `is_ours` says which machines need no confirmation.
fn confirm(
    summary: &Summary,
    plan: &Plan,
    over: &Over,
    here: &Here,
    is_ours: &dyn Fn(&str) -> bool,
) -> Result<(), Failure> {
    for finding in &summary.findings {
        let target = plan.job(finding.job).target;
        let swarm = over.results.get(&finding.job).map(|result| &result.swarm);
        let record = swarm.and_then(|swarm| Some((swarm, swarm.record(finding.job)?)));
        let Some((swarm, record)) = record.filter(|(_, record)| !is_ours(&record.place)) else { continue };
        // The component of a scenario is not in the folder.
        if !target.is_component || finding.trace.is_none() && summary.exit_code == i32::from(Exit::Evaluation.code()) {
            continue;
        }
        let replayed = match &finding.trace {
            Some(trace) => told_by(Path::new(trace), finding, target)
                .and_then(|()| here.replays(Path::new(trace), &swarm.path().join(&target.path))),
            None => Err("it has no trace".to_owned()),
        };
        replayed.map_err(|why| {
            let what = format_args!("{}: the finding of job {} does not replay here: {why}", record.place, finding.job);
            Failure::system(what).help("install the same build of `host` there, and remove the folder of that job")
        })?;
    }
    Ok(())
}

/// Checks that a trace is one of the target's cluster, and ends in a violation of the property of the finding.
fn told_by(trace: &Path, finding: &Finding, target: &Target) -> Result<(), String> {
    let text = files::read_text_bounded(trace, TRACE_BYTES_MAX).map_err(|error| error.to_string())?;
    let trace: Value = serde_json::from_str(&text).map_err(|error| format!("its trace is no JSON: {error}"))?;
    if trace["scenario"] != target.scenario || trace["plugin"]["digest"] != target.digest.as_str() {
        return Err("its trace is one of another cluster".to_owned());
    }
    let (name, property) = (&trace["finding"]["name"], &trace["finding"]["property"]);
    match &finding.property {
        Some(expected) if name != expected.as_str() && property != expected.as_str() => {
            Err(format!("its trace is not about {expected}"))
        }
        _ => Ok(()),
    }
}

/// About equal parts of the jobs.
fn matrix(jobs: usize, parts: usize) -> impl Iterator<Item = Range<usize>> {
    let parts = parts.min(jobs);
    (0..parts).map(move |part| jobs * part / parts..jobs * (part + 1) / parts)
}

/// Reports on the results in folders.
fn merged(arguments: &MergeArguments, program: &str, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let mut folders = Vec::new();
    for path in &arguments.folders {
        folders.push(Folder::existing(&environment.path(path)).map_err(failure)?);
    }
    let plan = folders[0].1.clone();
    if let Some((folder, _)) = folders.iter().find(|(_, other)| *other != plan) {
        let (first, other) = (folders[0].0.path().display(), folder.path().display());
        let failure = Failure::configuration(format_args!("{first} and {other} are of different swarms"));
        return Err(failure.help("merge them one by one"));
    }
    let mut results = BTreeMap::new();
    for number in 0..plan.len() {
        let result = folders.iter().find_map(|(folder, _)| JobResult::of_before(folder, &plan.job(number)));
        results.extend(result.map(|result| (number, result)));
    }
    let over = Over { jobs: 0..plan.len(), results, failed: BTreeMap::new() };
    let summary = Summary::new(&plan, &over, program);
    // The folders may come from anywhere.
    confirm(&summary, &plan, &over, &here_alone(environment)?, &|_| false)?;
    environment.print(&if arguments.json { json_text(&summary) } else { summary.text(&plan) })?;
    Ok(Exit::of_code(summary.exit_code).unwrap_or(Exit::System))
}

/// Lines of progress.
struct Progress<'p> {
    plan: &'p Plan,
    jobs: usize,
    ended: usize,
    findings: usize,
    /// The time of the last line.
    last: Option<Duration>,
    quiet: bool,
}

impl<'p> Progress<'p> {
    fn new(plan: &'p Plan, jobs: usize, quiet: bool) -> Self {
        Self { plan, jobs, ended: 0, findings: 0, last: None, quiet }
    }

    fn tell(&mut self, news: &News, environment: &mut Environment<'_>) {
        match news {
            News::Ended(job, exit) => {
                self.ended += 1;
                let is_finding = *exit != 0;
                self.findings += usize::from(is_finding);
                let now = (environment.clock)();
                let is_time = self.last.is_none_or(|last| now.saturating_sub(last) >= PROGRESS);
                if !self.quiet && (is_time || is_finding && self.findings == 1) {
                    self.last = Some(now);
                    let (ended, jobs, findings) = (self.ended, self.jobs, self.findings);
                    let name = self.plan.job(*job).name();
                    environment.tell(&format!("swarm: {ended} of {jobs} jobs, {findings} with a finding; last {name}"));
                }
            }
            News::Lost(job, why) => environment.tell(&format!("warning: job {job} failed, {why}")),
            News::Gone(why) => environment.tell(&format!("warning: no more jobs for {why}")),
        }
    }
}

fn failure(error: SwarmError) -> Failure {
    match error {
        SwarmError::Configuration { message, help } => Failure::configuration(message).help(help),
        SwarmError::System { message, help } => Failure::system(message).help(help),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_matrix_are_all_jobs_once() {
        for (jobs, parts) in [(1, 1), (10, 3), (3, 10), (7, 7), (100, 8)] {
            let all: Vec<Range<usize>> = matrix(jobs, parts).collect();
            assert_eq!(all.iter().flat_map(Clone::clone).collect::<Vec<_>>(), (0..jobs).collect::<Vec<_>>());
            assert_eq!(all.len(), parts.min(jobs));
        }
    }
}
