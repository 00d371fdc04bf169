//! The model checkers: how each is built, started and understood.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;

use crate::measure::{self, Finished};

/// The remedy for a missing SPIN.
const SPIN_REMEDY: &str = "SPIN is left out; to install it: sudo apt-get install --yes spin gcc";

/// Programs that are ready to be run.
#[derive(Clone, Debug)]
pub struct Tools {
    /// The binary.
    pub host: PathBuf,
    /// The plugins, compiled.
    paxos: PathBuf,
    two_phase: PathBuf,
    multi_paxos: PathBuf,
    one_acceptor: PathBuf,
    /// Options that keep a run on one core, if it would otherwise use more.
    one_worker: &'static [&'static str],
    /// Options that exclude checks that the other models do not make, if they would be made otherwise.
    safety_only: &'static [&'static str],
    /// Whether SPIN and a C compiler are there.
    pub has_spin: bool,
}

/// One way to check one model.
#[derive(Clone, Debug)]
pub enum Job {
    /// `host run` on a plugin.
    Host {
        /// Which of them.
        plugin: Plugin,
        /// All options but those of the output.
        options: Vec<String>,
    },
    /// Stateright on Paxos, in a process of its own.
    Stateright {
        /// The number of proposers.
        proposers: usize,
        /// Whether an event initialises each node.
        init_by_event: bool,
        /// The number of transitions soon after which it ends.
        transitions_max: Option<u64>,
    },
    /// TraceForge on two-phase commit, in a process of its own.
    TraceForge {
        /// The number of participants, without the coordinator.
        participants: u32,
    },
    /// The verifier that SPIN generates for Paxos.
    Spin {
        /// The number of proposers.
        proposers: usize,
        /// Whether an event initialises each node.
        init_by_event: bool,
        /// Whether it uses partial-order reduction.
        form: SpinForm,
        /// Its memory limit.
        memory_mb: u64,
    },
}

/// The plugins that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plugin {
    /// plugins/paxos
    Paxos,
    /// plugins/two-phase-commit
    TwoPhaseCommit,
    /// plugins/multi-paxos
    MultiPaxos,
    /// plugins/one-acceptor
    OneAcceptor,
}

/// How SPIN checks spin/paxos.pml.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpinForm {
    /// Every interleaving.
    Full,
    /// With its partial-order reduction.
    Reduced,
}

/// The result of a checker.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// `ok`, `violation`, `bounded` if a bound ended it.
    pub verdict: String,
    /// Global states, or events of `unfold`, or executions of `dpor`, or local states of `lmc`.
    pub states: Option<u64>,
    /// Edges between global states.
    pub transitions: Option<u64>,
    /// Of stateless search.
    pub executions: Option<u64>,
    /// The search alone, by the checker's own clock.
    pub seconds: f64,
}

/// The folder of this package.
pub fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

impl Tools {
    /// Builds `host`, unless one is given, and the plugins, and looks for SPIN.
    ///
    /// # Errors
    ///
    /// A build fails; the text says which.
    pub fn ready(host: Option<PathBuf>) -> Result<Self, String> {
        let repository = here().join("../..");
        let host = match host {
            Some(host) => host,
            None => {
                eprintln!("building host");
                let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
                let build = ["build", "--release", "--package", "host", "--message-format", "json"];
                // The toolchain of this process is right for the repository, too; its other settings are not.
                let done = measure::run(Command::new(cargo).args(build).current_dir(&repository))?;
                executable(&done.stdout).ok_or("host does not build: see above")?
            }
        };
        let plugin = |name: &str| -> Result<PathBuf, String> {
            let folder = repository.join("plugins").join(name);
            let done = measure::run(Command::new(&host).arg("build").arg(folder))?;
            match done.exit_code {
                0 => Ok(PathBuf::from(done.stdout.trim_end())),
                code => Err(format!("`host build plugins/{name}` ends with {code}")),
            }
        };
        let (paxos, two_phase) = (plugin("paxos")?, plugin("two-phase-commit")?);
        let (multi_paxos, one_acceptor) = (plugin("multi-paxos")?, plugin("one-acceptor")?);
        let help = measure::run(Command::new(&host).args(["run", "--help"]))?.stdout;
        let one_worker: &[&str] = if help.contains("--workers") { &["--workers", "1"] } else { &[] };
        let safety_only: &[&str] = if help.contains("--safety-only") { &["--safety-only"] } else { &[] };
        let answers = |program: &str, option: &str| measure::run(Command::new(program).arg(option)).is_ok();
        let has_spin = answers("spin", "-V") && answers("gcc", "--version");
        if !has_spin {
            eprintln!("{SPIN_REMEDY}");
        }
        Ok(Self { host, paxos, two_phase, multi_paxos, one_acceptor, one_worker, safety_only, has_spin })
    }

    /// Whether this `host` has the strategy.
    pub fn has_strategy(&self, name: &str) -> bool {
        let listed = measure::run(Command::new(&self.host).arg("list"));
        listed.is_ok_and(|done| is_listed(&done.stdout, name))
    }

    /// Runs a job, and returns its outcome and its resource usage.
    ///
    /// # Errors
    ///
    /// If it cannot be run, or its output is not understood.
    pub fn run(&self, job: &Job) -> Result<(Outcome, Finished), String> {
        match job {
            Job::Host { plugin, options } => self.host(*plugin, options),
            Job::Stateright { proposers, init_by_event, transitions_max } => {
                let mut command = child("stateright");
                command.arg(proposers.to_string()).arg(init_by_event.to_string());
                command.args(transitions_max.map(|bound| bound.to_string()));
                own(&mut command)
            }
            Job::TraceForge { participants } => own(child("traceforge").arg(participants.to_string())),
            Job::Spin { proposers, init_by_event, form, memory_mb } => {
                spin(*proposers, *init_by_event, *form, *memory_mb)
            }
        }
    }

    fn host(&self, plugin: Plugin, options: &[String]) -> Result<(Outcome, Finished), String> {
        let component = match plugin {
            Plugin::Paxos => &self.paxos,
            Plugin::TwoPhaseCommit => &self.two_phase,
            Plugin::MultiPaxos => &self.multi_paxos,
            Plugin::OneAcceptor => &self.one_acceptor,
        };
        let mut command = Command::new(&self.host);
        command.arg("run").arg(component).args(options).args(self.one_worker).args(self.safety_only);
        command.args(["--json", "--quiet"]);
        let done = measure::run(&mut command)?;
        let said: Json = serde_json::from_str(&done.stdout)
            .map_err(|error| format!("`host run {}` ends with {}: {error}", options.join(" "), done.exit_code))?;
        let count = |name: &str| said["counts"][name].as_u64();
        let verdict = match said["result"].as_str() {
            Some("incomplete") => "bounded",
            Some(result) => result,
            None => return Err(format!("`host run {}` gives no result", options.join(" "))),
        };
        let outcome = Outcome {
            verdict: verdict.to_owned(),
            states: count("global_states").or(count("events")).or(count("executions")).or(count("local_states")),
            transitions: count("transitions"),
            executions: count("executions"),
            seconds: said["seconds"]["search"].as_f64().unwrap_or(done.wall_seconds),
        };
        Ok((outcome, done))
    }
}

/// Whether `host list` has a paragraph about the strategy, which begins with its name.
fn is_listed(list: &str, name: &str) -> bool {
    let mut heads = list.lines().filter_map(|line| line.split_whitespace().next());
    heads.any(|head| head.trim_end_matches([':', ',']) == name)
}

/// The path in cargo's message about the binary.
fn executable(messages: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back()
}

fn child(checker: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a running program has a path"));
    command.args(["child", checker]);
    command
}

/// Runs this binary again; it prints one JSON object in its last line.
fn own(command: &mut Command) -> Result<(Outcome, Finished), String> {
    let done = measure::run(command)?;
    let last = done.stdout.lines().last().unwrap_or_default();
    let said: Json = serde_json::from_str(last).map_err(|error| format!("{command:?} prints `{last}`: {error}"))?;
    let outcome = Outcome {
        verdict: said["verdict"].as_str().unwrap_or("none").to_owned(),
        states: said["states"].as_u64(),
        transitions: said["transitions"].as_u64(),
        executions: said["executions"].as_u64(),
        seconds: said["seconds"].as_f64().unwrap_or(done.wall_seconds),
    };
    Ok((outcome, done))
}

/// Generates and compiles a verifier, once for each combination, and runs it.
fn spin(proposers: usize, init_by_event: bool, form: SpinForm, memory_mb: u64) -> Result<(Outcome, Finished), String> {
    let name = format!("paxos-{proposers}-{init_by_event}-{form:?}-{memory_mb}");
    let folder = here().join("target/spin").join(name);
    let verifier = folder.join("pan");
    if !verifier.exists() {
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut generate = Command::new("spin");
        generate.arg(format!("-DPROPOSERS={proposers}")).args(init_by_event.then_some("-DINIT_BY_EVENT"));
        succeed(generate.arg("-a").arg(here().join("spin/paxos.pml")).current_dir(&folder))?;
        let mut compile = Command::new("gcc");
        // `-w`: the generated C is not ours. No cycles are looked for, so `-DSAFETY`.
        compile.args(["-O2", "-w", "-DSAFETY"]).arg(format!("-DMEMLIM={memory_mb}"));
        compile.args((form == SpinForm::Full).then_some("-DNOREDUCE"));
        succeed(compile.args(["-o", "pan", "pan.c"]).current_dir(&folder))?;
    }
    // No execution is longer than 1,000 steps. `-w`: slots of the hash table, as a power of two; small for a small space,
    // so that the table is not what is measured.
    let slots = if proposers == 1 { "-w16" } else { "-w24" };
    let done = measure::run(Command::new(verifier).args(["-m1000", "-n", slots]).current_dir(&folder))?;
    Ok((understood(&done.stdout)?, done))
}

fn succeed(command: &mut Command) -> Result<(), String> {
    let done = measure::run(command)?;
    match done.exit_code {
        0 => Ok(()),
        code => Err(format!("{command:?} ends with {code}: {}", done.stdout)),
    }
}

/// The numbers in the output of a verifier of SPIN.
fn understood(printed: &str) -> Result<Outcome, String> {
    let number_before = |words: &str| {
        let line = printed.lines().find(|line| line.contains(words));
        line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok())
    };
    let number_after = |words: &str| {
        let rest = printed.split(words).nth(1);
        rest.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok())
    };
    let missing = || format!("not understood: what SPIN's verifier prints:\n{printed}");
    let errors = number_after("errors: ").ok_or_else(missing)?;
    let states = number_before("states, stored").ok_or_else(missing)?;
    let matched = number_before("states, matched").ok_or_else(missing)?;
    let bounded = printed.contains("reached -DMEMLIM bound") || printed.contains("max search depth too small");
    let verdict = if errors > 0.0 && !bounded {
        "violation"
    } else if bounded {
        "bounded"
    } else {
        "ok"
    };
    Ok(Outcome {
        verdict: verdict.to_owned(),
        states: Some(states as u64),
        // Each edge ends in a state that is stored or matched; so does the entry into the start state, which is none.
        transitions: Some((states + matched) as u64 - 1),
        executions: None,
        seconds: number_after("elapsed time ").unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_verifier_prints_is_understood() {
        let printed = "State-vector 68 byte, depth reached 22, errors: 0\n    15648 states, stored\n    58286 states, matched\n\
                       \n    73934 transitions (= stored+matched)\n\npan: elapsed time 0.02 seconds\n";
        let outcome = understood(printed).expect("it is complete");
        assert_eq!((outcome.states, outcome.transitions), (Some(15_648), Some(73_933)));
        assert_eq!((outcome.verdict.as_str(), outcome.seconds), ("ok", 0.02));
        assert_eq!(understood(&printed.replace("errors: 0", "errors: 1")).expect("too").verdict, "violation");
        assert!(understood("").is_err());
    }

    /// A verifier that is generated from spin/lock.pml with these definitions, run once.
    fn lock(definitions: &[&str], compiled: &[&str], options: &[&str]) -> Outcome {
        let folder = here().join("target/lock").join(definitions.concat() + &compiled.concat());
        std::fs::create_dir_all(&folder).expect("the target folder can be written");
        let model = here().join("spin/lock.pml");
        succeed(Command::new("spin").arg("-a").args(definitions).arg(model).current_dir(&folder))
            .expect("it is a model");
        let mut compile = Command::new("gcc");
        compile.args(["-O2", "-w", "-o", "pan", "pan.c"]).args(compiled).current_dir(&folder);
        succeed(&mut compile).expect("it compiles");
        let done = measure::run(Command::new(folder.join("pan")).args(options).current_dir(&folder)).expect("it runs");
        understood(&done.stdout).expect("it ends")
    }

    /// The table of docs/benchmarks.md: states and transitions, and whether the promise is broken with a process per node and with one
    /// per action.
    #[test]
    fn fairness_of_processes_is_too_coarse_for_messages() {
        if measure::run(Command::new("spin").arg("-V")).is_err() {
            eprintln!("{SPIN_REMEDY}");
            return;
        }
        let cases = [
            (&["-DLOCKED=DROP", "-DCLIENTS=1"][..], [8, 9], ["violation", "violation"]),
            (&["-DLOCKED=DENY"], [51, 102], ["violation", "violation"]),
            (&["-DLOCKED=QUEUE"], [36, 72], ["violation", "ok"]),
        ];
        for (definitions, space, verdicts) in cases {
            for (actions, verdict) in [&[][..], &["-DACTIONS"]].into_iter().zip(verdicts) {
                let definitions = [definitions, actions].concat();
                let all = lock(&definitions, &["-DSAFETY", "-DNOCLAIM", "-DNOREDUCE"], &["-n"]);
                let counts = [all.states, all.transitions].map(Option::unwrap_or_default);
                assert_eq!((all.verdict.as_str(), counts), ("ok", space), "{definitions:?}");
                let promise = lock(&definitions, &["-DNFAIR=6"], &["-a", "-f", "-n"]);
                assert_eq!(promise.verdict, verdict, "{definitions:?}");
            }
        }
    }

    #[test]
    fn a_strategy_is_listed_by_its_name() {
        let list = "strategies for --algo\n\n  bdfs: bounded, not dpor\n    sound\n\n  lmc-opt, also lmc: local\n";
        assert_eq!(["bdfs", "lmc-opt", "dpor"].map(|name| is_listed(list, name)), [true, true, false]);
    }

    #[test]
    fn the_binary_is_in_the_last_message_that_names_one() {
        let messages = "{\"executable\":null}\n{\"executable\":\"/a/b\"}\n{\"reason\":\"build-finished\"}\n";
        assert_eq!(executable(messages), Some(PathBuf::from("/a/b")));
        assert_eq!(executable(""), None);
    }
}
