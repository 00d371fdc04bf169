//! From what a search found to what is confirmed, told and saved.

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

/// Work for a broken promise of progress: each question about a state may be a search of its own, in which handlers are executed.
const PROMISE_WORK_MAX: u64 = 2_000_000;

/// A finding that was run again from the start, in fresh machines.
pub struct Violation {
    /// The way there, and what is there: the short one, if there is one.
    pub trace: Trace,
    /// The way that the search found, and how it became shorter; none if it did not.
    pub found: Option<(Trace, Minimized)>,
    /// All that can be seen on the way.
    pub recording: Recording,
    /// The same on the way that keeps the promise, of a promise that is broken by its last step.
    pub sibling: Option<Recording>,
    /// One way on from its end, and whether that ends, of a promise that is broken by a call of the application.
    pub way_on: Option<(Recording, bool)>,
    /// The node that it is about, if it is about one.
    pub node: Option<NodeId>,
    /// The [shape](host_inspect::shape) of the trace, which tells findings apart.
    pub shape: String,
    /// How many more were found that have this shape.
    pub alike: usize,
    /// Whether there may be more of this shape: as many violations of its kind were kept as are kept of any.
    pub is_capped: bool,
    /// Whether no shorter path from the start of the search leads to a violation of its kind: of the same property, in the same words up to
    /// numbers.
    pub shortest: bool,
    /// Why the second run differs from the first one: the plugin is not deterministic. None if it does not differ.
    pub nondeterminism: Option<String>,
    /// Work that was stopped before it was done; none if there is none.
    pub unfinished: Option<Unfinished>,
}

/// Work on a finding that was omitted because of a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// It was not run again from the start: the search says so, and nothing else.
    Confirming(Stopped),
    /// It was run again, and not made short.
    Minimizing(Stopped),
}

impl Violation {
    /// The exit code that stands for it.
    pub fn exit(&self) -> Exit {
        match (&self.nondeterminism, &self.trace.finding) {
            (None, Some(finding)) => exit(finding),
            _ => Exit::GuestFault,
        }
    }
}

/// The exit code for what a trace shows at its end.
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

/// The exit code for a fault of a plugin, in a search as where it runs.
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

/// Runs what a search found once more, without its memo and its snapshots, and makes it short if there are options for
/// that. What is stopped meanwhile is marked, and kept as it was found.
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
    // What was not confirmed is shown without.
    let sibling = Recording::of_sibling(cluster.factory(), &trace).unwrap_or_default();
    let way_on = Recording::of_way_on(cluster.factory(), &trace).unwrap_or_default();
    let shape = shape(&recording, trace.finding.as_ref().unwrap_or(&finding));
    // What became shorter on the way is another state than the one that the search has reached first.
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
        // Whatever a plugin that is not deterministic does is no variant of what others do.
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
