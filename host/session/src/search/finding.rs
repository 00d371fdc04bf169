//! From a finding of a search to a confirmed, reported and saved one.

use std::fmt;

use host_inspect::minimize::{MinimizeError, Minimized, Options};
use host_inspect::recording::Recording;
use host_inspect::shape::shape;
use host_model::contract::{Fault, FaultKind, MachineError, NodeId, PropertyKind, Stopped};
use host_model::lts::{Lts, Stepper};
use host_model::trace::replay::ReplayError;
use host_model::trace::start::StartError;
use host_model::trace::{self, Finding, Trace};
use host_search::kernel::FoundViolation;

use crate::base::{Exit, Failure};
use crate::cluster::Cluster;
use crate::search::minimizing;

/// The maximum work for a broken promise of progress: each query about a state may be a search of its own, in which handlers are
/// executed.
const PROMISE_WORK_MAX: u64 = 2_000_000;

/// A finding that was run again from the start, in fresh machines.
pub struct Violation {
    /// The path to the finding, and the finding: the short path, if there is one.
    pub trace: Trace,
    /// The path that the search found, and how it was shortened; none if it was not.
    pub found: Option<(Trace, Minimized)>,
    /// The recording of that path.
    pub recording: Recording,
    /// The recording of the alternative path that keeps the promise, for a promise that is broken by its last step.
    pub sibling: Option<Recording>,
    /// One continuation from its end, and whether it ends, for a promise that is broken by a call of the application.
    pub way_on: Option<(Recording, bool)>,
    /// The node that it is about, if it is about one.
    pub node: Option<NodeId>,
    /// The [shape](host_inspect::shape) of the trace, which distinguishes findings.
    pub shape: String,
    /// The number of further findings of this shape.
    pub alike: usize,
    /// Whether there may be more of this shape: the maximum number of violations of its kind was kept.
    pub is_capped: bool,
    /// Whether no shorter path from the start of the search leads to a violation of its kind: of the same property, in the same words up to
    /// numbers.
    pub shortest: bool,
    /// The reason why the second run differs from the first one: the plugin is not deterministic. None if it does not differ.
    pub nondeterminism: Option<String>,
    /// Work that was stopped before it was done; none if all was done.
    pub unfinished: Option<Unfinished>,
}

/// Work on a finding that was omitted because of a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// It was not run again from the start: only the search reports it.
    Confirming(Stopped),
    /// It was run again, and not shortened.
    Minimizing(Stopped),
}

impl fmt::Display for Unfinished {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Confirming(why) => write!(formatter, "not run again from the start: {why}"),
            Self::Minimizing(why) => write!(formatter, "not made short: {why}"),
        }
    }
}

impl Violation {
    /// Whether it was run again from the start, with the same result.
    pub fn is_confirmed(&self) -> bool {
        self.nondeterminism.is_none() && !matches!(self.unfinished, Some(Unfinished::Confirming(_)))
    }

    /// Its exit code.
    pub fn exit(&self) -> Exit {
        match (&self.nondeterminism, &self.trace.finding) {
            (None, Some(finding)) => exit(finding),
            _ => Exit::GuestFault,
        }
    }
}

/// The exit code for the finding of a trace.
pub fn exit(finding: &Finding) -> Exit {
    match finding {
        Finding::Property { kind: PropertyKind::Always, .. } => Exit::Safety,
        Finding::Property { kind: PropertyKind::Eventually, .. } => Exit::Liveness,
        Finding::Property { kind: PropertyKind::Sometimes, .. } => Exit::Ok,
        Finding::Broken { .. } => Exit::Evaluation,
        Finding::Fault { fault, .. } => fault_exit(fault),
        Finding::Deadlock { .. } => Exit::Deadlock,
        Finding::Promise(_) => Exit::Liveness,
    }
}

/// The exit code for a fault of a plugin, in a search as in operation.
pub fn fault_exit(fault: &Fault) -> Exit {
    match fault.kind {
        FaultKind::Platform => Exit::Plugin,
        _ => Exit::GuestFault,
    }
}

/// A finding of a search as a trace. Its steps were executed in the search, so no guest runs.
pub fn record(lts: &Lts<'_>, cluster: &Cluster, found: &FoundViolation) -> Result<Trace, Failure> {
    let mut stepper = Stepper::new(lts)?;
    let steps = trace::record(&mut stepper, &found.initial, &found.path)?;
    let trace = cluster.empty_trace().beginning_at(found.origin.clone());
    let finding = found.finding(&mut stepper)?;
    Ok(Trace { finding: Some(finding), steps, ..trace }.with_version())
}

/// A violation of a search that continues: executed again from the start, and not minimised.
pub struct Early {
    /// The path, and the finding at its end.
    pub trace: Trace,
    /// The observations on the path.
    pub recording: Recording,
    /// The node of the finding; none if it is one of several nodes.
    pub node: Option<NodeId>,
}

/// Executes a violation of a search that continues; none if the execution differs or is stopped.
pub fn early(lts: &Lts<'_>, cluster: &Cluster, found: &FoundViolation) -> Option<Early> {
    let trace = record(lts, cluster, found).ok()?;
    let (recording, result) = Recording::new(cluster.factory(), &trace);
    result.ok().map(|()| Early { trace, recording, node: found.node })
}

/// Runs a finding of a search once more, without its memo and its snapshots, and shortens it if there are options for
/// that. A finding is marked if this is stopped, and kept as it was found.
pub fn confirm(
    lts: &Lts<'_>,
    cluster: &Cluster,
    found: &FoundViolation,
    mut trace: Trace,
    shorter: Option<Options>,
) -> Result<Violation, Failure> {
    let finding = trace.finding.clone().expect("what a search found is a finding");
    let (mut nondeterminism, mut unfinished) = (None, None);
    let confirmed = trace::confirm(cluster.factory(), &trace.scenario, &trace.origin(), &trace.steps, &finding);
    match confirmed.and_then(|steps| trace::check_sibling(cluster.factory(), &trace).map(|()| steps)) {
        Ok(steps) => trace.steps = steps,
        Err(ReplayError::Machine(MachineError::Stopped(why))) => unfinished = Some(Unfinished::Confirming(why)),
        Err(ReplayError::Machine(error)) => return Err(error.into()),
        Err(differs) => nondeterminism = Some(differs.to_string()),
    }
    let short = match shorter {
        Some(options) if nondeterminism.is_none() && unfinished.is_none() => {
            let is_promise = found.breach.is_some();
            let work_max = if is_promise { options.work_max.min(PROMISE_WORK_MAX) } else { options.work_max };
            let options = Options { is_shortest: found.shortest, work_max, ..options };
            match minimizing::shorten(lts, cluster, &trace, options) {
                Ok(short) => Some(short),
                Err(
                    MinimizeError::Machine(MachineError::Stopped(why))
                    | MinimizeError::Start(StartError::Machine(MachineError::Stopped(why))),
                ) => {
                    unfinished = Some(Unfinished::Minimizing(why));
                    None
                }
                Err(MinimizeError::Machine(error)) => return Err(error.into()),
                // A trace that cannot be shortened is reported as found.
                Err(_) => None,
            }
        }
        _ => None,
    };
    let mut original = None;
    let mut node = found.node;
    if let Some((short, minimized)) = short
        && short.steps != trace.steps
    {
        original = Some((std::mem::replace(&mut trace, short), minimized));
    }
    let (recording, result) = Recording::new(cluster.factory(), &trace);
    if result.is_ok() && nondeterminism.is_none() {
        node = recording.finding().and_then(|(node, _)| node);
    }
    // Unconfirmed findings are shown without them.
    let sibling = Recording::of_sibling(cluster.factory(), &trace).unwrap_or_default();
    let way_on = Recording::of_way_on(cluster.factory(), &trace).unwrap_or_default();
    let shape = shape(&recording, trace.finding.as_ref().unwrap_or(&finding));
    // A shortened path ends in another state than the one that the search reached first.
    let shortest = found.shortest && trace.steps.len() == found.path.len();
    let found = original;
    Ok(Violation {
        trace,
        found,
        recording,
        sibling,
        way_on,
        node,
        shape,
        alike: 0,
        is_capped: false,
        shortest,
        nondeterminism,
        unfinished,
    })
}

/// The findings among violations: of those with the same shape the shortest, and of equally long ones the first.
pub fn grouped(violations: Vec<Violation>) -> Vec<Violation> {
    let mut groups: Vec<Violation> = Vec::new();
    for mut violation in violations {
        // Nondeterministic behaviour of a plugin is no variant of other findings.
        let key = |it: &Violation| (it.shape.clone(), it.nondeterminism.is_some());
        match groups.iter_mut().find(|group| key(group) == key(&violation)) {
            Some(first) => {
                let (alike, is_capped) = (first.alike + 1, first.is_capped || violation.is_capped);
                if violation.trace.steps.len() < first.trace.steps.len() {
                    std::mem::swap(first, &mut violation);
                }
                (first.alike, first.is_capped) = (alike, is_capped);
            }
            None => groups.push(violation),
        }
    }
    groups
}
