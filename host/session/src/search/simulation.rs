//! Simulated runs, to a confirmed finding.

use std::collections::BTreeMap;
use std::time::Duration;

use host_inspect::minimize::Options;
use host_live::simulator::{
    Conditions, ConditionsError, Counts, End, Finished, Phase, ScriptError, Simulator, SimulatorError,
};
use host_live::time::Time;
use host_live::world::{Checkers, Firsts, Predicted, Profile, Runtime, RuntimeError, Troubles, Watched};
use host_model::contract::{MachineError, NodeId, Stop, Stopped};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::Faults;
use serde::{Deserialize, Serialize, Serializer};

use crate::base::{Context, Failure};
use crate::cluster::Cluster;
use crate::search::engine::{Engine, Twins, WatchedNodes};
use crate::search::finding::{self, Violation};
use crate::search::run::starts;
pub use crate::search::watch::WatchSpec;
use crate::spec::RunSpec;

/// Bytes of a local transition system in which no further run begins: the next one has an empty one.
const MEMO_MAX: u64 = 256 << 20;

/// The ways out where the nodes that ship are refused, without checkers and with them.
const INSTEAD: &str = "simulate the model: --model, without --runtime";
const INSTEAD_OF_CHECKERS: &str =
    "let all links be the same: without --link; or simulate the model: --model, without --watch";

/// Which runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulationSpec {
    /// The seed of the first run; each other one has the next seed.
    pub seed: u64,
    /// The number of runs; the first one with a violation is the last one.
    pub runs: u64,
    /// The conditions of each.
    pub conditions: Conditions,
    /// Phases of each, if it follows a script.
    pub script: Vec<Phase>,
    /// The tasks and settings of the nodes' checkers, if there are any. Then the nodes that ship run.
    pub watch: Option<WatchSpec>,
    /// The faults of the nodes that ship, if these run instead of the model.
    pub runtime: Option<Troubles>,
}

/// The results of the checkers of all runs. Each run has a control run with the same seed, in which they only report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Control runs in which a property is violated.
    pub violating: u64,
    /// States of control runs that violate a property.
    pub violating_states: u64,
    /// States of runs with steering that violate a property.
    pub steered_states: u64,
    /// Violating control runs in which the violation was predicted in time.
    pub predicted: u64,
    /// Violating control runs in which it was not: too late.
    pub too_late: u64,
    /// Control runs without a violation in which one was predicted.
    pub false_alarms: u64,
    /// Control runs in which a dead state was predicted.
    pub dying: u64,
    /// Runs without the violation of their control run, by filters alone.
    pub steered: u64,
    /// Runs without the violation of their control run because steering stopped them: for at least the last tenth of their time no event
    /// happens, and the enabled ones are postponed.
    pub stopped: u64,
    /// Those where the immediate check was needed.
    pub immediate: u64,
    /// Those where looking ahead from an event was needed, and the immediate check was not.
    pub foreseen: u64,
    /// Runs with a violation, like their control run.
    pub missed: u64,
    /// Runs with a violation whose control run has none.
    pub caused: u64,
    /// Rounds of checkers.
    pub rounds: u64,
    /// Rounds in runs with steering that predict a violation.
    pub predictions: u64,
    /// Events prevented by filters.
    pub filtered_events: u64,
    /// Events prevented by the immediate check.
    pub refused_events: u64,
    /// Events prevented by looking ahead from them.
    pub foreseen_events: u64,
    /// Predictions for which the node has no filters that help.
    pub unhelpful: u64,
    /// Predictions for which the node has filters.
    pub helped: u64,
    /// The number of times that steering suspended itself.
    pub suspensions: u64,
    /// Rounds from the states of all nodes because the named neighbours were unusable.
    pub neighbours_unusable: u64,
    /// The first node that named them, and the reason.
    #[serde(skip)]
    pub unusable: Option<(NodeId, String)>,
    /// The time of the first prediction of all runs, in milliseconds, as if they followed each other.
    pub first_prediction_ms: Option<u64>,
    /// The time of the first prediction in each control run that has one, in milliseconds of its own time, by seed.
    pub first_predictions_ms: Vec<u64>,
    /// As [`Simulated::witnessed`], of the control runs.
    pub witnessed_ms: Witnessed,
    /// As [`Simulated::kept`], of the control runs.
    pub kept: KeptShares,
    /// The total virtual time of the control runs so far, in milliseconds.
    #[serde(skip)]
    passed_ms: u64,
}

impl Tally {
    /// Counts the rounds of a run.
    fn note(&mut self, watched: &Watched, nodes: &WatchedNodes<'_, '_>) {
        self.rounds += watched.rounds;
        self.neighbours_unusable += watched.unusable;
        self.unusable = self.unusable.take().or_else(|| nodes.unusable.clone());
    }
}

/// When each `sometimes` property was reached for the first time in a run, by name, in milliseconds: one number for each run in which it
/// was, by seed.
pub type Witnessed = BTreeMap<String, Vec<u64>>;

/// The share of the time of all runs in which each `eventually` property was kept, by name; of node scope, of the time of all nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptShares(BTreeMap<String, (Duration, Duration)>);

impl KeptShares {
    fn add(&mut self, run: &Finished, lts: &Lts<'_>) {
        for one in &run.kept {
            let name = lts.properties()[one.property as usize].name.clone();
            let (kept, whole) = self.0.entry(name).or_default();
            (*kept, *whole) = (*kept + one.kept, *whole + one.whole);
        }
    }

    /// Each with its share; runs in which no time passes have none.
    pub fn shares(&self) -> BTreeMap<&str, f64> {
        let passed = self.0.iter().filter(|(_, (_, whole))| !whole.is_zero());
        passed.map(|(name, (kept, whole))| (&**name, kept.as_secs_f64() / whole.as_secs_f64())).collect()
    }
}

impl Serialize for KeptShares {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.shares().serialize(serializer)
    }
}

/// The results of simulated runs.
pub struct Simulated {
    /// Number of runs.
    pub runs: u64,
    /// Number of runs per reason of their end.
    pub ends: BTreeMap<&'static str, u64>,
    /// Events, totalled over the runs.
    pub counts: Counts,
    /// The `sometimes` properties that were reached, and when.
    pub witnessed: Witnessed,
    /// The share of the time in which each promise was kept.
    pub kept: KeptShares,
    /// The combined digest of the runs: equal digests mean equal runs.
    pub digest: u128,
    /// The last run, and its violation.
    pub violation: Option<(Finished, Violation)>,
    /// Why there are fewer runs than requested, if they were stopped.
    pub stopped: Option<Stopped>,
    /// The results of the checkers, if there are any: then a violation does not end the runs.
    pub tally: Option<Tally>,
    /// The first predicted violation in a run where the checkers only report, and the seed of that run.
    pub prediction: Option<(u64, Predicted)>,
    /// The first predicted dead state, likewise.
    pub dead: Option<(u64, Predicted)>,
}

/// The cluster of such a request. Where the plugin calls `sync`, each restart is an outage.
///
/// # Errors
///
/// As for [`Cluster::open`].
pub fn open(spec: &RunSpec, context: &mut Context<'_>) -> Result<Cluster, Failure> {
    let mut cluster = Cluster::open(spec, context)?;
    let faults = &mut cluster.scenario.faults;
    if cluster.plugin.plugin.has_sync() && faults.have_restarts() {
        let given = (faults.outages > 0).then_some(faults.outages);
        *faults = Faults { outages: given.unwrap_or(faults.resets), resets: 0, ..*faults };
    }
    Ok(cluster)
}

/// Runs a cluster again and again, until a property is violated, and confirms what it finds.
///
/// # Errors
///
/// The conditions do not fit the cluster, or the host cannot provide an instance.
pub fn run(
    spec: &RunSpec,
    asked: &SimulationSpec,
    cluster: &Cluster,
    context: &mut Context<'_>,
) -> Result<Simulated, Failure> {
    if let Some(watch) = asked.watch {
        let watching = watch.watching();
        watching.check_network(&cluster.scenario, &|network| format!("-- --network {network}"))?;
        let warning = watching.unguarded(&cluster.plugin.reference.name, &cluster.properties);
        warning.filter(|_| !watch.safety_only).into_iter().for_each(|warning| context.tell(&warning));
    }
    let bounds = &cluster.plugin.bounds;
    bounds.search(spec.process.time, spec.process.memory);
    let mut simulated = Simulated {
        runs: 0,
        ends: BTreeMap::new(),
        counts: Counts::default(),
        witnessed: Witnessed::new(),
        kept: KeptShares::default(),
        digest: 0,
        violation: None,
        stopped: None,
        tally: asked.watch.map(|_| Tally::default()),
        prediction: None,
        dead: None,
    };
    let continues = |simulated: &Simulated| simulated.violation.is_none() || simulated.tally.is_some();
    while simulated.runs < asked.runs && simulated.stopped.is_none() && continues(&simulated) {
        match batch(spec, asked, cluster, &mut simulated) {
            Err(Failure { stopped: Some(stopped), .. }) => simulated.stopped = Some(stopped),
            result => result?,
        }
    }
    if let Some((node, why)) = simulated.tally.as_ref().and_then(|tally| tally.unusable.as_ref()) {
        context.tell(&format!("warning: the neighbours of node {node} are of no use, so all nodes are taken: {why}"));
    }
    if let Some(stopped) = simulated.stopped {
        context.tell(&format!("warning: fewer runs than were asked for: {stopped}"));
    }
    Ok(simulated)
}

/// Runs in one local transition system, until it is large.
fn batch(spec: &RunSpec, asked: &SimulationSpec, cluster: &Cluster, simulated: &mut Simulated) -> Result<(), Failure> {
    let lts = cluster.lts(cluster.factory())?;
    let starts = starts(&lts, cluster, spec)?;
    let mut stepper = Stepper::new(&lts)?;
    let simulator = Simulator::new(&mut stepper, &starts, asked.conditions);
    let simulator = simulator.and_then(|simulator| simulator.scripted(&asked.script)).map_err(refused)?;
    let runtime = asked.runtime.map(|troubles| {
        let stepper = Stepper::new(&lts).map_err(SimulatorError::from)?;
        Runtime::new(stepper, cluster.factory(), &starts, asked.conditions, troubles)?.scripted(&asked.script)
    });
    let runtime = runtime.transpose().map_err(|error| refused_nodes(error, asked.watch.is_some()))?;
    let (factory, bounds) = (cluster.factory(), &*cluster.plugin.bounds);
    let mut engine = match (runtime, asked.watch) {
        (None, _) => Engine::Model(Box::new(simulator)),
        (Some(runtime), None) => Engine::Nodes(Box::new(runtime)),
        (Some(runtime), Some(watch)) => {
            // Properties from outside are judged where all nodes are known, as everywhere.
            let profile = Profile { neighbours: !cluster.has_outside(), ..watch.profile() };
            let checkers = Checkers::new(factory, lts.scenario(), profile)?.stopped_by(bounds);
            let (firsts, unusable) = (Firsts::default(), None);
            Engine::Watched(Box::new(WatchedNodes { runtime, checkers, steers: watch.steers, firsts, unusable }))
        }
    };
    while simulated.runs < asked.runs {
        // A run whose handlers are all in the local transition system polls no bound itself.
        simulated.stopped = cluster.plugin.bounds.reason();
        if simulated.stopped.is_some() {
            return Ok(());
        }
        let seed = asked.seed.wrapping_add(simulated.runs);
        let finished = match &mut engine {
            Engine::Model(simulator) => simulator.run(seed)?,
            Engine::Nodes(runtime) => runtime.run(seed)?,
            Engine::Watched(nodes) => watched_run(nodes, &lts, seed, simulated)?,
        };
        simulated.add(&finished, &lts);
        if finished.violation.is_some() && simulated.violation.is_none() {
            simulated.violation = Some(confirmed(&lts, cluster, finished)?);
        }
        if simulated.violation.is_some() && simulated.tally.is_none() {
            return Ok(());
        }
        if lts.counts().bytes > MEMO_MAX {
            return Ok(());
        }
    }
    Ok(())
}

/// Executes a run with checkers, and with steering also its control run, where they only report; adds the results of both to the tally.
fn watched_run(
    nodes: &mut WatchedNodes<'_, '_>,
    lts: &Lts<'_>,
    seed: u64,
    simulated: &mut Simulated,
) -> Result<Finished, MachineError> {
    let Twins { reported: (twin, seen), steered } = nodes.run(seed)?;
    let Firsts { violation, dead } = &nodes.firsts;
    for (first, found) in [(&mut simulated.prediction, violation), (&mut simulated.dead, dead)] {
        if first.is_none() {
            *first = found.as_ref().map(|found| (seed, found.clone()));
        }
    }
    let tally = simulated.tally.as_mut().expect("runs with checkers have a tally");
    let is_violated = twin.violation.is_some();
    // A run that continues after its first violation may have its first prediction after it, of another violation.
    let is_predicted = seen.first.is_some_and(|first| twin.violated.is_none_or(|violated| first <= violated));
    tally.violating += u64::from(is_violated);
    tally.violating_states += twin.counts.violating;
    tally.predicted += u64::from(is_violated && is_predicted);
    tally.too_late += u64::from(is_violated && !is_predicted);
    tally.false_alarms += u64::from(!is_violated && is_predicted);
    tally.dying += u64::from(seen.dying > 0);
    if let Some(first) = seen.first.map(milliseconds) {
        tally.first_prediction_ms.get_or_insert(tally.passed_ms + first);
        tally.first_predictions_ms.push(first);
    }
    tally.passed_ms += milliseconds(twin.at);
    add_reached(&mut tally.witnessed_ms, &twin, lts);
    tally.kept.add(&twin, lts);
    let Some((run, done)) = steered else {
        tally.note(&seen, nodes);
        return Ok(twin);
    };
    tally.note(&done, nodes);
    match (is_violated, run.violation.is_some()) {
        (true, false) if done.is_stopped => tally.stopped += 1,
        (true, false) if done.immediate + done.foreseen == 0 => tally.steered += 1,
        (true, false) if done.immediate == 0 => tally.foreseen += 1,
        (true, false) => tally.immediate += 1,
        (true, true) => tally.missed += 1,
        (false, true) => tally.caused += 1,
        (false, false) => {}
    }
    tally.filtered_events += done.filtered;
    tally.refused_events += done.immediate;
    tally.foreseen_events += done.foreseen;
    tally.steered_states += run.counts.violating;
    tally.predictions += done.predicting;
    tally.unhelpful += done.unhelpful;
    tally.helped += done.helped;
    tally.suspensions += done.suspensions;
    Ok(run)
}

/// A violation, run again in fresh machines and made short.
fn confirmed(lts: &Lts<'_>, cluster: &Cluster, finished: Finished) -> Result<(Finished, Violation), Failure> {
    let bounds = &cluster.plugin.bounds;
    let found = finished.violation.as_ref().expect("callers pass runs with a violation alone");
    // A finding is written down whatever the time.
    bounds.record();
    let trace = finding::record(lts, cluster, found)?;
    bounds.close();
    let violation = finding::confirm(lts, cluster, found, trace, Some(Options::default()))?;
    Ok((finished, violation))
}

impl Simulated {
    fn add(&mut self, run: &Finished, lts: &Lts<'_>) {
        self.runs += 1;
        let end = match run.end {
            End::Violation => "violation",
            End::Quiet => "quiet",
            End::Time => "time",
            End::Events => "events",
        };
        *self.ends.entry(end).or_default() += 1;
        let Counts { events, delivered, lost, local, resets, partitions, violating } = run.counts;
        let all = &mut self.counts;
        all.events += events;
        all.delivered += delivered;
        all.lost += lost;
        all.local += local;
        all.resets += resets;
        all.partitions += partitions;
        all.violating += violating;
        self.digest = self.digest.rotate_left(1) ^ run.digest;
        add_reached(&mut self.witnessed, run, lts);
        self.kept.add(run, lts);
    }
}

/// Adds what was reached in a run.
fn add_reached(witnessed: &mut Witnessed, run: &Finished, lts: &Lts<'_>) {
    for (property, at) in &run.witnessed {
        let name = &lts.properties()[*property as usize].name;
        witnessed.entry(name.clone()).or_default().push(milliseconds(*at));
    }
}

fn milliseconds(time: Time) -> u64 {
    time.0 / 1_000_000
}

fn refused(error: SimulatorError) -> Failure {
    let help = match &error {
        SimulatorError::Machine(error) => return MachineError::clone(error).into(),
        SimulatorError::Script(ScriptError::NoResets(_)) => "let nodes be reset: -- --resets 1",
        SimulatorError::Script(_) => "change the script",
        SimulatorError::Quorums(_) => "explore it: host run",
        SimulatorError::Conditions(ConditionsError::NoLoss) => {
            "leave --loss out, or give some links no order: -- --network unordered"
        }
        SimulatorError::Conditions(ConditionsError::NoDuplicates) => {
            "leave --duplicate out, or give links that duplicate: -- --network unordered-duplicating"
        }
        SimulatorError::Conditions(_) => "give another value",
    };
    Failure::configuration(error).help(help)
}

fn refused_nodes(error: RuntimeError, has_checkers: bool) -> Failure {
    match error {
        RuntimeError::Simulator(error) => refused(error),
        error => Failure::configuration(error).help(if has_checkers { INSTEAD_OF_CHECKERS } else { INSTEAD }),
    }
}
