//! A cluster that is ready to run.

use std::path::Path;
use std::sync::Arc;

use host_model::contract::{MachineError, MachineFactory, NodeId, Observed, Outside, Property, Selected};
use host_model::lts::Lts;
use host_model::scenario::Scenario;
use host_model::trace::{Expressed, Placement, PluginRef, TRACE_VERSION, Trace};

use crate::base::text::shell_quoted;
use crate::base::{Context, Failure};
use crate::cluster::placement::{self, Components, MixedCluster, PlacedNodes};
use crate::cluster::plugin_source::{self, LoadedPlugin};
use crate::cluster::spec_source::{self, LoadedSpec};
use crate::cluster::{expressed, judged, prefix, scenario, trace_file};
use crate::expression::Judge;
use crate::spec::limits;
use crate::spec::{RunSpec, Source};

/// A cluster that is ready to run.
pub struct Cluster {
    /// The plugin, whose properties decide.
    pub plugin: LoadedPlugin,
    /// The components of nodes that run another one.
    pub components: Components,
    /// The component of each node; none if every node runs the plugin.
    mixed: Option<MixedCluster>,
    /// Nodes, parameters, networks and faults.
    pub scenario: Scenario,
    /// The properties of the plugin, and those from outside behind them.
    pub properties: Vec<Property>,
    /// The properties from outside.
    pub expressed: Vec<Expressed>,
    /// The specifications from outside, whose properties come last.
    pub specs: Vec<Arc<LoadedSpec>>,
    /// The indices of the properties that are judged, in their order; none if all are.
    pub judged: Option<Vec<u32>>,
    /// The judges of the properties from outside, each behind this number of other properties.
    outside: Vec<(u32, Arc<dyn Outside>)>,
    /// Makes machines with these properties.
    factory: Arc<dyn MachineFactory>,
    /// The trace that the search begins after, if it does not begin after `init`.
    pub prefix: Option<Trace>,
}

impl Cluster {
    /// Opens the requested cluster: loads its components, and builds them first where needed.
    ///
    /// # Errors
    ///
    /// A component cannot be built or loaded, or the request does not fit it or the prefix.
    pub fn open(spec: &RunSpec, context: &mut Context<'_>) -> Result<Self, Failure> {
        // Errors that need no plugin are reported before it is built.
        let asked = &spec.cluster;
        let (expressed, judge) = expressed::read(asked.expressed.clone())?;
        let wanted = PlacedNodes::new(&asked.placement)?;
        let prefix = asked.prefix.as_deref();
        let read = |path| Ok::<_, Failure>((path, trace_file::read(path, context.directory)?));
        let prefix = prefix.map(read).transpose()?;
        let guest = match &prefix {
            Some((path, trace)) => {
                let file = format_args!("the trace {}", path.display());
                limits::over_recorded(&asked.limits, &trace.limits, file)?
            }
            None => asked.limits.clone(),
        };
        let source = spec.process.source;
        let plugin = plugin_source::load(&asked.plugin, source, limits::effective(&guest), context)?;
        let components = Source { finished: spec.resumes(), ..source };
        let specs = spec_source::load_all(&asked.specs, components, &plugin, context)?;
        let components = placement::load(wanted, components, &plugin.limits, context)?;
        if let Some((path, trace)) = &prefix {
            trace_file::check_plugin(trace, path, &plugin.reference, asked.any_plugin)?;
        }
        let scenario = scenario::scenario(spec, &plugin, &components, prefix.as_ref().map(|(_, trace)| trace))?;
        let mut cluster = Self::new(plugin, components, scenario)?;
        cluster.add_expressed(expressed, judge)?;
        cluster.add_specs(specs)?;
        let judged = judged::judged(spec, &cluster.plugin.reference.name, &cluster.properties)?;
        if let Some(judged) = &judged {
            cluster.factory = Arc::new(Selected::new(cluster.factory, judged.clone()));
        }
        cluster.judged = judged;
        if let Some((path, trace)) = prefix {
            placement::check_trace(&trace, path, cluster.placements(), asked.any_plugin)?;
            prefix::check_path(&cluster, path, &trace)?;
            cluster.prefix = Some(trace);
        }
        Ok(cluster)
    }

    /// A cluster of components that are loaded.
    ///
    /// # Errors
    ///
    /// A component cannot take part.
    pub fn new(plugin: LoadedPlugin, components: Components, scenario: Scenario) -> Result<Self, Failure> {
        let mixed = components.arrange(&plugin, &scenario)?;
        let factory = match &mixed {
            Some(mixed) => Arc::clone(&mixed.factory) as _,
            None => plugin.shared_factory(),
        };
        let properties = plugin.properties.clone();
        Ok(Self {
            plugin,
            components,
            mixed,
            scenario,
            properties,
            expressed: Vec::new(),
            specs: Vec::new(),
            judged: None,
            outside: Vec::new(),
            factory,
            prefix: None,
        })
    }

    /// Adds properties from outside behind those of the plugin.
    ///
    /// # Errors
    ///
    /// A name is taken, or states are not described.
    pub(super) fn add_expressed(&mut self, expressed: Vec<Expressed>, judge: Judge) -> Result<(), Failure> {
        if expressed.is_empty() {
            return Ok(());
        }
        expressed::check(&expressed, self)?;
        self.add_outside(Arc::new(judge));
        self.expressed = expressed;
        Ok(())
    }

    /// Adds the properties of specifications from outside behind all others.
    ///
    /// # Errors
    ///
    /// As for [`add_expressed`](Self::add_expressed).
    pub(super) fn add_specs(&mut self, specs: Vec<Arc<LoadedSpec>>) -> Result<(), Failure> {
        for spec in specs {
            let stated = spec.properties();
            expressed::check_spec(&spec, &stated, self)?;
            self.add_outside(Arc::clone(&spec) as _);
            self.specs.push(spec);
        }
        Ok(())
    }

    fn add_outside(&mut self, outside: Arc<dyn Outside>) {
        let own = self.properties.len() as u32;
        self.properties.extend(outside.properties());
        self.factory = observed(Arc::clone(&self.factory), own, &outside);
        self.outside.push((own, outside));
    }

    /// Whether it has properties from outside.
    pub fn has_outside(&self) -> bool {
        !self.outside.is_empty()
    }

    /// The specification from outside that states the property of this name; none if it is stated elsewhere.
    pub fn spec_of(&self, name: &str) -> Option<&LoadedSpec> {
        let states = |spec: &&Arc<LoadedSpec>| spec.properties().iter().any(|property| property.name == name);
        self.specs.iter().find(states).map(|spec| &**spec)
    }

    /// The specifications from outside, as traces have them.
    pub fn spec_references(&self) -> Vec<PluginRef> {
        self.specs.iter().map(|spec| spec.reference.clone()).collect()
    }

    /// Makes the machines of the cluster, which show the properties that are judged and no others.
    pub fn factory(&self) -> &dyn MachineFactory {
        &*self.factory
    }

    /// The same for an owner.
    pub fn shared_factory(&self) -> Arc<dyn MachineFactory> {
        Arc::clone(&self.factory)
    }

    /// Makes machines of the plugin that, unlike those of a search, do not stop between two calls, with all of its properties and those
    /// from outside.
    pub fn unstopped_factory(&self) -> Arc<dyn MachineFactory> {
        let plugin: Arc<dyn MachineFactory> = Arc::new(self.plugin.plugin.clone());
        self.outside.iter().fold(plugin, |factory, (own, outside)| observed(factory, *own, outside))
    }

    /// Makes its machines with one property alone, the negation of the judged one at this place.
    pub fn negating(&self, place: u32) -> Selected {
        Selected::negating(Arc::clone(&self.factory), place)
    }

    /// The place of a property among those that are judged; none if it is not judged.
    pub fn place_of(&self, property: u32) -> Option<u32> {
        let Some(judged) = &self.judged else { return Some(property) };
        (0..).zip(judged).find(|(_, index)| **index == property).map(|(place, _)| place)
    }

    /// The nodes that differ from the others.
    pub fn placements(&self) -> &[Placement] {
        self.mixed.as_ref().map_or(&[], |mixed| &mixed.placements)
    }

    /// Whether its nodes differ.
    pub fn is_mixed(&self) -> bool {
        self.mixed.is_some()
    }

    /// The nodes that run another component, twins among them, and that component.
    pub fn placed(&self) -> impl Iterator<Item = (NodeId, &LoadedPlugin)> {
        let nodes = 0..self.scenario.nodes;
        nodes.filter_map(|node| Some((node, self.components.on(node, self.scenario.nodes)?)))
    }

    /// Events of the prefix; 0 without one.
    pub fn prefix_steps(&self) -> usize {
        self.prefix.as_ref().map_or(0, |trace| trace.steps.len())
    }

    /// The options of a replay of a trace, without the plugin, as words of a command line.
    pub fn replay_options(&self) -> Vec<String> {
        let placed = self.mixed.iter().flat_map(|mixed| mixed.replay_options.clone());
        let raised = limits::raised(&limits::changed(&self.plugin.limits));
        let specs = self.specs.iter().flat_map(|spec| ["--spec".to_owned(), spec.given.display().to_string()]);
        placed.chain(specs).chain(raised.into_iter().flat_map(|limit| ["--limit".to_owned(), limit])).collect()
    }

    /// The command that replays a trace of it, for a shell. `program` is the first word of a command line.
    pub fn replay_command(&self, program: &str, trace: &Path) -> String {
        replay_command(program, trace, &self.replay_words())
    }

    /// The words of that command behind the trace.
    pub fn replay_words(&self) -> Vec<String> {
        let plugin = ["--plugin".to_owned(), self.plugin.given.display().to_string()];
        plugin.into_iter().chain(self.replay_options()).collect()
    }

    /// Its local transition system, still empty. `machines` are those of its [`factory`](Self::factory), or others
    /// around them.
    pub fn lts<'m>(&self, machines: &'m dyn MachineFactory) -> Result<Lts<'m>, MachineError> {
        Lts::new(machines, self.scenario.clone())
    }

    /// A trace of it in which nothing has happened yet.
    pub fn empty_trace(&self) -> Trace {
        Trace {
            trace_version: TRACE_VERSION,
            plugin: self.plugin.reference.clone(),
            placements: self.placements().to_vec(),
            scenario: self.scenario.clone(),
            limits: limits::changed(&self.plugin.limits),
            expressed: self.expressed.clone(),
            specs: self.spec_references(),
            init_choices: Vec::new(),
            beginning: None,
            finding: None,
            steps: Vec::new(),
        }
    }
}

/// The machines of `factory`, which have `own` properties, with those from outside behind them.
fn observed(factory: Arc<dyn MachineFactory>, own: u32, outside: &Arc<dyn Outside>) -> Arc<dyn MachineFactory> {
    Arc::new(Observed::new(factory, own, Arc::clone(outside)))
}

/// The command that replays a trace, for a shell, with these words behind it.
pub fn replay_command(program: &str, trace: &Path, words: &[String]) -> String {
    let first = [program.to_owned(), "replay".to_owned(), trace.display().to_string()];
    first.iter().chain(words).map(|word| shell_quoted(word)).collect::<Vec<_>>().join(" ")
}
