//! The nodes of a cluster, ready to run.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use host_live::address::Address;
use host_live::checker::Limits;
use host_live::node::{Identity, Settings, VERSION};
use host_model::contract::{Judgement, MachineFactory, PropertyKind};
use host_model::lts::Stepper;
use host_model::scenario::{Faults, Network, Scenario};
use host_model::trace::{TraceStep, start};
use host_search::kernel::judge_system_state;
use host_search::kernel::rules::Rules;

use crate::base::text::shell_quoted;
use crate::base::{Context, Failure};
use crate::cluster::{Cluster, Watching, pieces, plugin_source};
use crate::live::file::{RunningSpec, check_encrypted};
use crate::live::predictions::{self, Predictions};
use crate::spec::limits;

/// A cluster whose nodes can run.
pub struct Running<'s> {
    spec: &'s RunningSpec,
    cluster: Cluster,
    factory: Arc<dyn MachineFactory>,
}

/// The identity of a node, its settings, and its addresses and file.
#[derive(Clone, Debug)]
pub struct Seat {
    /// The identity.
    pub identity: Identity,
    /// The settings.
    pub settings: Settings,
    /// The addresses of all nodes.
    pub addresses: Vec<Address>,
    /// The addresses for their clients; empty if they serve none.
    pub clients: Vec<SocketAddr>,
    /// The address at which the node reports its metrics.
    pub metrics: Option<SocketAddr>,
    /// Its file.
    pub disk: PathBuf,
}

impl<'s> Running<'s> {
    /// Loads the plugin of a cluster.
    ///
    /// # Errors
    ///
    /// It cannot be loaded, differs from the one that the file names, or does not fit the file.
    pub fn open(spec: &'s RunningSpec, context: &mut Context<'_>) -> Result<Self, Failure> {
        check_specs(spec, context).map_err(|failure| spec.locate(failure))?;
        let about_the_file = |failure: Failure| if failure.about.is_some() { spec.locate(failure) } else { failure };
        let cluster = Cluster::open(&spec.run, context).map_err(about_the_file)?;
        let digest = cluster.plugin.plugin.digest();
        if !spec.digests.is_empty() && !spec.digests.iter().any(|allowed| allowed == digest) {
            let (path, plugin) = (spec.path.display(), cluster.plugin.given.display());
            let allowed = spec.digests.join(" or ");
            return Err(Failure::configuration(format_args!(
                "{path}: the cluster runs the component {allowed}, and {plugin} is {digest}"
            ))
            .help(
                "all nodes run the same component: build that one, or change `digest` for all of them; to replace it node by node, make \
                 `digest` a list of the former and the new one",
            ));
        }
        if spec.authority.is_some() {
            // The network may be the plugin's default.
            check_encrypted(cluster.scenario.network).map_err(|failure| spec.locate(failure))?;
        }
        pieces::check(&cluster.plugin, &cluster.scenario, &limits::effective(&spec.run.cluster.limits))
            .map_err(|failure| spec.locate(failure))?;
        check_outside(&cluster).map_err(|failure| spec.locate(failure))?;
        let factory = cluster.unstopped_factory();
        Ok(Self { spec, cluster, factory })
    }

    /// Refuses checkers with these tasks where they are unsound or useless.
    ///
    /// # Errors
    ///
    /// As for [`Watching::check_network`]; or they are to steer, and the cluster has no `always` property.
    pub fn check_watched(&self, watching: Watching) -> Result<(), Failure> {
        let cluster = &self.cluster;
        let words = |network: Network| format!("`network = \"{network}\"` in the file of the cluster");
        watching.check_network(&cluster.scenario, &words)?;
        if self.spec.digests.len() > 1 {
            return Err(Failure::configuration(
                "`--watch`: a checker reads the states of other nodes, which may have another component",
            )
            .help("leave it out while `digest` has several components"));
        }
        if !watching.steers {
            return Ok(());
        }
        if cluster.properties.iter().any(|property| property.kind == PropertyKind::Always) {
            return Ok(());
        }
        let name = &cluster.plugin.reference.name;
        Err(Failure::configuration(format_args!(
            "`--watch steer`: {name} has no property that is to hold always, so there is nothing to steer by"
        ))
        .help("give it one, or use `--watch observe`, which tells of handlers that will fail"))
    }

    /// Makes the machines of its nodes. Unlike those of a search they do not stop between two calls; their judges from outside may.
    pub fn factory(&self) -> &dyn MachineFactory {
        &*self.factory
    }

    /// Makes the machines of a node's checker, which stop when the program is to end.
    pub fn checking_factory(&self) -> Arc<dyn MachineFactory> {
        self.cluster.shared_factory()
    }

    /// The scenario that a node's checker explores: at most one restart of each node, and no other fault. A kill of a node that calls `sync`
    /// is an outage.
    pub fn ahead(&self) -> Scenario {
        let faults = match self.cluster.plugin.plugin.has_sync() {
            true => Faults { outages: 1, ..Faults::default() },
            false => Faults { resets: 1, ..Faults::default() },
        };
        Scenario { faults, ..self.cluster.scenario.clone() }
    }

    /// The limits of a round of a node's checker. An observer needs one path to each violation, steering needs more.
    pub fn limits(watching: Watching) -> Limits {
        let Watching { steers, breaks, .. } = watching;
        let (violations_max, promises) = (if steers { 16 } else { 1 }, Some(Rules::default()));
        Limits { events_max: 1_000, states_max: 500, violations_max, promises, breaks, ..Limits::default() }
    }

    /// Reports the predictions of a node's checker; traces go to the folder of the data. `program` is the first word of a command line.
    pub fn predictions(&self, node: u32, program: &str, context: &Context<'_>) -> Predictions {
        Predictions {
            node,
            empty: self.cluster.empty_trace(),
            folder: self.spec.data.clone(),
            directory: context.directory.to_owned(),
            program: program.to_owned(),
            words: self.cluster.replay_words(),
            told: BTreeSet::new(),
        }
    }

    /// The paths to violations that checkers of these nodes have predicted and written to the folder of the data, the latest last.
    pub fn kept_paths(&self, context: &Context<'_>) -> Vec<Vec<TraceStep>> {
        predictions::kept(&self.spec.data, context.directory, &self.cluster.empty_trace())
    }

    /// The warning for nodes that are steered without a promise of progress, which filters must not break.
    pub fn unguarded(&self, watching: Watching) -> Option<String> {
        watching.unguarded(self.plugin().0, &self.cluster.properties)
    }

    /// Name and digest of the component.
    pub fn plugin(&self) -> (&str, &str) {
        (&self.cluster.plugin.reference.name, self.cluster.plugin.plugin.digest())
    }

    /// Name and digest of the component as nodes and data of the cluster state them: while the component is replaced, the first digest
    /// of the file stands for all of them.
    pub fn stated(&self) -> (&str, &str) {
        let (name, digest) = self.plugin();
        (name, self.spec.digests.first().map_or(digest, String::as_str))
    }

    /// The network, which decides between TCP and UDP.
    pub fn network(&self) -> Network {
        self.cluster.scenario.network
    }

    /// The seat of a node; `session` is a random number of its process, which other processes do not have.
    ///
    /// # Errors
    ///
    /// There is no such node.
    pub fn seat(&self, node: u32, session: u64, context: &Context<'_>) -> Result<Seat, Failure> {
        let here = self.spec.node(node)?;
        let nodes = &self.spec.nodes;
        let scenario = &self.cluster.scenario;
        let config = scenario.config();
        let addresses = nodes.iter().map(|node| node.address.clone()).collect();
        // The settings that nodes must agree on. Their addresses may differ between nodes, for example with a proxy in between.
        let (digest, name) = (self.stated().1, &self.spec.name);
        let common = format!("{VERSION}\n{digest}\n{}\n{}\n{name}\n{config}", nodes.len(), scenario.network);
        let mut cluster = [0; 16];
        cluster.copy_from_slice(&blake3::hash(common.as_bytes()).as_bytes()[..16]);
        Ok(Seat {
            identity: Identity { node, nodes: scenario.nodes, config, name: name.clone(), cluster, session },
            settings: Settings {
                network: scenario.network,
                // Properties from outside are judged where all nodes are known, as everywhere.
                neighbours: !self.cluster.has_outside(),
                seed: session,
                ..Settings::default()
            },
            addresses,
            clients: nodes.iter().filter_map(|node| node.clients).collect(),
            metrics: here.metrics,
            disk: context.path(&self.spec.disk(node)),
        })
    }
}

/// Refuses specifications that would have to be built: a build runs commands of their folder, and running a cluster does not express
/// trust in it.
fn check_specs(spec: &RunningSpec, context: &Context<'_>) -> Result<(), Failure> {
    let needs_build = |named: &&PathBuf| plugin_source::needs_build(&context.path(named));
    let Some(named) = spec.run.cluster.specs.iter().find(needs_build) else { return Ok(()) };
    let what = format!("the spec {} would have to be built", named.display());
    let named = shell_quoted(&named.to_string_lossy());
    Err(Failure::configuration(what).help(format_args!("build it with `host build {named}`, and name the component")))
}

/// Refuses properties from outside that cannot be evaluated when all nodes have just started: mostly because a field does not exist.
fn check_outside(cluster: &Cluster) -> Result<(), Failure> {
    if !cluster.has_outside() {
        return Ok(());
    }
    let lts = cluster.lts(cluster.factory())?;
    let mut stepper = Stepper::new(&lts)?;
    // Nodes that do not start report the reason themselves.
    for start in start::initial(&mut stepper).unwrap_or_default() {
        for (_, judgement) in judge_system_state(&mut stepper, &start.locals).all()? {
            if let Judgement::Broken { property, fault } = judgement
                && property as usize >= cluster.plugin.properties.len()
            {
                let name = &cluster.properties[property as usize].name;
                return Err(Failure::configuration(format_args!("{name} cannot be evaluated: {fault}")));
            }
        }
    }
    Ok(())
}
