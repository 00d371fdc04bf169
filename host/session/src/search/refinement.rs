//! Two components compared by their sequences of views, and the execution at which they part.

use host_inspect::recording::Recording;
use host_model::contract::{MachineError, Stop, Stopped};
use host_model::lts::Stepper;
use host_model::scenario::NodeNames;
use host_model::trace::start::Start;
use host_model::trace::{self, Trace};
use host_refine::{Bounds, Difference, Field, Judgement, Monitor, Side, Verdict, refine};

use crate::base::Failure;
use crate::cluster::Cluster;
use crate::search::run::starts;
use crate::spec::RunSpec;
use crate::spec::placement::PlacementSpec;

/// Two components that were compared.
pub struct Compared {
    /// The verdict.
    pub judgement: Judgement,
    /// The execution at which they part, if they do.
    pub execution: Option<Recording>,
    /// The names of the nodes.
    pub names: NodeNames,
}

/// The bounds of a command, as a search of `host-refine` asks for them.
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

/// Refuses what a comparison does not honour: parts of a cluster that one of two components cannot have.
///
/// # Errors
///
/// The request has such a part.
pub fn check(spec: &RunSpec) -> Result<(), Failure> {
    let cluster = &spec.cluster;
    let refused = [
        ("a prefix", cluster.prefix.is_some(), "its states and events belong to one of the components"),
        (
            "nodes with components of their own",
            cluster.placement != PlacementSpec::default(),
            "compare them by themselves",
        ),
        ("specifications", !cluster.specs.is_empty(), "views are what the components describe, see --fields"),
        (
            "properties from outside",
            !cluster.expressed.is_empty(),
            "views are what the components describe, see --fields",
        ),
        (
            "a selection of properties",
            !cluster.property.is_empty() || !cluster.ignore.is_empty(),
            "views are what the components describe, see --fields",
        ),
    ];
    match refused.iter().find(|(_, is_given, _)| *is_given) {
        Some((what, _, help)) => {
            Err(Failure::configuration(format_args!("`host refine` takes no cluster with {what}")).help(help))
        }
        None => Ok(()),
    }
}

/// The request of the old component: the cluster of the new one, with other parameters.
pub fn of_old(new: &RunSpec, cluster: &Cluster, old: &std::path::Path, parameters: &[(String, String)]) -> RunSpec {
    let mut spec = new.clone();
    spec.cluster.plugin = old.to_owned();
    // The defaults of the new component are those of both.
    spec.cluster.nodes = Some(cluster.scenario.nodes);
    spec.cluster.network = Some(cluster.scenario.network);
    spec.cluster.parameters = parameters.to_vec();
    spec
}

/// Compares two clusters of one scenario. The execution at which they part runs again from the start, in fresh instances.
///
/// # Errors
///
/// The request does not fit a cluster, the host cannot provide an instance, or the new component is not deterministic.
pub fn compare(
    specs: [&RunSpec; 2],
    clusters: [&Cluster; 2],
    fields: Vec<Field>,
    bounds: Bounds,
) -> Result<Compared, Failure> {
    let [new, old] = clusters;
    let [new_lts, old_lts] = [new.lts(new.factory())?, old.lts(old.factory())?];
    let process = &specs[0].process;
    clusters.iter().for_each(|cluster| cluster.plugin.bounds.search(process.time, process.memory));
    let new_starts = starts(&new_lts, new, specs[0])?;
    let old_starts = starts(&old_lts, old, specs[1])?;
    let [mut new_stepper, mut old_stepper] = [Stepper::new(&new_lts)?, Stepper::new(&old_lts)?];
    let clock = &new.plugin.bounds;
    let judgement = refine(
        Side { stepper: &mut new_stepper, starts: &new_starts },
        Side { stepper: &mut old_stepper, starts: &old_starts },
        fields,
        bounds,
        &Watch(clock),
    )?;
    clusters.iter().for_each(|cluster| cluster.plugin.bounds.record());
    let locals = new_starts.first().map_or(&[][..], |start| &start.locals);
    let names = trace::node_names(&mut *new.factory().machine()?, &new_stepper, locals)?;
    let trace = match &judgement.verdict {
        Verdict::Differs(difference) => Some(trace_of(new, &mut new_stepper, &new_starts, difference)?),
        _ => None,
    };
    clusters.iter().for_each(|cluster| cluster.plugin.bounds.close());
    let execution = trace.map(|trace| {
        let (recording, result) = Recording::new(new.factory(), &trace);
        result.map(|_| recording).map_err(|error| {
            Failure::configuration(format_args!("the execution does not run again: {error}"))
                .help("`host doctor` finds out whether the plugin is deterministic")
        })
    });
    Ok(Compared { judgement, execution: execution.transpose()?, names })
}

fn trace_of(
    new: &Cluster,
    stepper: &mut Stepper<'_>,
    starts: &[Start],
    difference: &Difference,
) -> Result<Trace, MachineError> {
    let start = &starts[difference.start];
    let steps = trace::record(stepper, &start.initial, &difference.path)?;
    let trace = new.empty_trace().beginning_at(start.origin.clone());
    Ok(Trace { steps, ..trace }.with_version())
}
