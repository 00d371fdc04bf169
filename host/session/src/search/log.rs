//! Logs of a running cluster, followed by the model, and the executions that explain them.

use host_follow::{Bounds, Explanation, Facts, Judgement, Log, Monitor, Nodes, Verdict, follow};
use host_inspect::recording::Recording;
use host_inspect::words;
use host_model::contract::{Machine, MachineError, NodeId, Stop, Stopped};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::NodeNames;
use host_model::trace::start::Start;
use host_model::trace::{self, Standing, Trace, TraceEvent, TraceStep};

use crate::base::{Context, Failure};
use crate::cluster::Cluster;
use crate::search::run::starts;
use crate::spec::RunSpec;

/// The most lines of a log that is tried without one of them.
const TRIED_LINES_MAX: u32 = 100_000;

/// A cluster at its start, ready to follow logs.
pub struct Follower<'l> {
    cluster: &'l Cluster,
    lts: &'l Lts<'l>,
    starts: Vec<Start>,
    memory: Option<u64>,
    describer: Box<dyn Machine>,
    /// The names of the nodes.
    pub names: NodeNames,
}

/// A log that was followed.
pub struct Followed {
    /// The verdict.
    pub judgement: Judgement,
    /// The execution that explains it, or those that came furthest.
    pub executions: Vec<Recording>,
    /// Whether the log without the first line that is not explained is, for a log that is refused and not too long.
    pub is_explained_without: Option<bool>,
}

/// The bounds of a command, as a search of `host-follow` asks for them.
struct Watch<'w>(&'w crate::base::bounds::Bounds);

impl Stop for Watch<'_> {
    fn reason(&self) -> Option<Stopped> {
        self.0.reason()
    }
}

impl Monitor for Watch<'_> {
    fn is_too_much(&self, bytes: u64) -> bool {
        self.0.is_too_much(bytes)
    }
}

impl<'l> Follower<'l> {
    /// Starts the cluster. The bound on time begins here, and that on memory with the search.
    ///
    /// # Errors
    ///
    /// The request does not fit the cluster, or the host cannot provide an instance.
    pub fn new(spec: &RunSpec, cluster: &'l Cluster, lts: &'l Lts<'l>) -> Result<Self, Failure> {
        cluster.plugin.bounds.search(spec.process.time, None);
        let starts = starts(lts, cluster, spec)?;
        let mut describer = cluster.factory().machine()?;
        let stepper = Stepper::new(lts)?;
        let locals = starts.first().map_or(&[][..], |start| &start.locals);
        let names = trace::node_names(&mut *describer, &stepper, locals)?;
        Ok(Self { cluster, lts, starts, memory: spec.process.memory, describer, names })
    }

    /// The nodes as a log names them.
    pub fn nodes(&self) -> Nodes {
        let name = |node| self.names.get(node).map(str::to_owned);
        Nodes { names: (0..self.cluster.scenario.nodes).map(name).collect() }
    }

    /// The number of bytes that a log may take; none without a bound.
    pub fn memory_max(&self) -> Option<u64> {
        self.memory.or_else(|| self.cluster.plugin.bounds.memory_max())
    }

    /// Whether reading has to end.
    pub fn stopped(&self) -> Option<Stopped> {
        self.cluster.plugin.bounds.reason()
    }

    /// Searches an execution that explains a log. An execution that is found runs again from the start, in fresh instances.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance, or the plugin is not deterministic.
    pub fn follow(&mut self, log: &Log, bounds: Bounds, _context: &mut Context<'_>) -> Result<Followed, Failure> {
        let clock = &self.cluster.plugin.bounds;
        clock.search(clock.left(), self.memory);
        let mut facts = Facts::new(Stepper::new(self.lts)?, self.cluster.factory().machine()?);
        let judgement = follow(&mut facts, &self.starts, log, bounds, &Watch(clock))?;
        let is_explained_without = self.is_explained_without(&mut facts, log, bounds, &judgement)?;
        clock.record();
        let mut stepper = facts.into_stepper();
        let found: Vec<&Explanation> = match &judgement.verdict {
            Verdict::Explained(found) => vec![&**found],
            Verdict::Refused(refusal) | Verdict::Undecided { furthest: refusal, .. } => {
                refusal.furthest.iter().map(|furthest| &furthest.execution).collect()
            }
        };
        let traces = found.into_iter().map(|found| self.trace(&mut stepper, found));
        let traces = traces.collect::<Result<Vec<Trace>, _>>()?;
        clock.close();
        let mut executions = Vec::new();
        for trace in &traces {
            let (recording, result) = Recording::new(self.cluster.factory(), trace);
            result.map_err(|error| {
                Failure::configuration(format_args!("the execution does not run again: {error}"))
                    .help("`host doctor` finds out whether the plugin is deterministic")
            })?;
            executions.push(recording);
        }
        Ok(Followed { judgement, executions, is_explained_without })
    }

    /// Tries a refused log without the line that is not explained; none if a bound was hit.
    fn is_explained_without(
        &self,
        facts: &mut Facts<'_>,
        log: &Log,
        bounds: Bounds,
        judgement: &Judgement,
    ) -> Result<Option<bool>, MachineError> {
        let Verdict::Refused(refusal) = &judgement.verdict else { return Ok(None) };
        let line = refusal.furthest.first().and_then(|furthest| furthest.blocked.first()).map(|blocked| blocked.line);
        let Some(line) = line.filter(|_| (2..=TRIED_LINES_MAX).contains(&log.len())) else { return Ok(None) };
        let without = follow(facts, &self.starts, &log.without(line), bounds, &Watch(&self.cluster.plugin.bounds))?;
        Ok(match without.verdict {
            Verdict::Explained(_) => Some(true),
            Verdict::Refused(_) => Some(false),
            Verdict::Undecided { .. } => None,
        })
    }

    fn trace(&self, stepper: &mut Stepper<'_>, found: &Explanation) -> Result<Trace, MachineError> {
        let start = &found.start;
        let path = [&start.path[..], &found.path].concat();
        let steps = trace::record(stepper, &start.initial, &path)?;
        let trace = self.cluster.empty_trace().beginning_at(start.origin.clone());
        Ok(Trace { steps, ..trace }.with_version())
    }

    /// An event of a node in words.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn event(&mut self, node: NodeId, event: &TraceEvent) -> Result<String, MachineError> {
        let mut said = Vec::new();
        for (_, payload) in event.received() {
            self.describer.restore(None)?;
            let described = self.describer.describe_message(payload).ok().flatten();
            let words = described.map_or_else(|| words::payload(payload), |json| words::compact(&json));
            said.push((payload.to_vec(), words));
        }
        let argument = match event.to_local() {
            None => None,
            Some(event) => {
                self.describer.restore(None)?;
                let described = self.describer.describe_local(&event).ok().flatten();
                Some(words::argument(&event, described.map(|json| words::parsed(&json)).as_ref()))
            }
        };
        let step = TraceStep { node, event: event.clone(), choices: Vec::new(), sent: None, state: None };
        let of = |payload: &[u8]| said.iter().find(|(known, _)| known == payload).map(|(_, words)| words.clone());
        Ok(words::event(&step, &self.names, argument, |payload| of(payload).unwrap_or_default()))
    }
}

/// A violation of an `always` property by an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violated {
    /// The property.
    pub property: String,
    /// The node, of a property of node scope.
    pub node: Option<NodeId>,
    /// The step after which it is violated first, 0 for the start.
    pub step: usize,
    /// The reason, in words.
    pub why: String,
}

/// The `always` properties that an execution violates.
pub fn violated(recording: &Recording) -> Vec<Violated> {
    let mut found = Vec::new();
    for course in &recording.courses {
        let first = course.standings.iter().find_map(|(step, standing)| match standing {
            Standing::Violated(why) => Some((*step, why.clone())),
            _ => None,
        });
        if let Some((step, why)) = first {
            let property = recording.properties[course.property].name.clone();
            found.push(Violated { property, node: course.node, step, why });
        }
    }
    found
}
