//! The component of each node: mixed clusters, adversaries and twins.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use host_model::contract::{NodeId, Stoppable};
use host_model::scenario::Scenario;
use host_model::trace::{Placement, PluginRef, Trace};
use host_sandbox::GuestLimits;

use crate::base::names::{known_names, short_digest};
use crate::base::{Context, Failure};
use crate::cluster::mixed::{Component, Instance, MixedFactory};
use crate::cluster::numbered;
use crate::cluster::plugin_source::{self, LoadedPlugin};
use crate::spec::Source;
use crate::spec::placement::PlacementSpec;

/// The settings of one node.
#[derive(Clone, Debug, Default)]
struct NodePlacement {
    path: Option<PathBuf>,
    is_adversary: bool,
    parameters: BTreeMap<String, String>,
}

/// The requirements of the nodes of a cluster.
#[derive(Clone, Debug, Default)]
pub struct PlacedNodes {
    places: BTreeMap<NodeId, NodePlacement>,
    /// The nodes with a twin; the first twin is the first node after all others.
    twins: Vec<NodeId>,
    /// Paths that the user has not named: their components are taken as they were built.
    unnamed: BTreeSet<PathBuf>,
}

/// The components other than the plugin, and the nodes that run them.
#[derive(Default)]
pub struct Components {
    wanted: PlacedNodes,
    /// Each path once.
    loaded: Vec<LoadedPlugin>,
}

/// A cluster that is not the same component on every node.
pub struct MixedCluster {
    /// The nodes that differ from the others, as traces have them.
    pub placements: Vec<Placement>,
    /// Further options of a replay of a trace.
    pub replay_options: Vec<String>,
    pub(crate) factory: Arc<Stoppable<MixedFactory>>,
}

impl PlacedNodes {
    /// The placement of a request.
    ///
    /// # Errors
    ///
    /// Two options contradict each other.
    pub fn new(spec: &PlacementSpec) -> Result<Self, Failure> {
        let mut places: BTreeMap<NodeId, NodePlacement> = BTreeMap::new();
        let honest = spec.node.iter().map(|place| (place, false));
        for ((node, path), is_adversary) in honest.chain(spec.adversary.iter().map(|place| (place, true))) {
            let place = NodePlacement { path: Some(path.clone()), is_adversary, ..NodePlacement::default() };
            if places.insert(*node, place).is_some() {
                return Err(Failure::configuration(format_args!("node {node} is given two components; keep one")));
            }
        }
        for (node, key, value) in &spec.parameters {
            let place = places.entry(*node).or_default();
            if place.parameters.insert(key.clone(), value.clone()).is_some() {
                let what = format_args!("`--set-on {node}:{key}` is given twice; keep one");
                return Err(Failure::configuration(what).about(format_args!("set-on {node}:{key}")));
            }
        }
        if let Some(node) = spec.twins.iter().find(|node| places.get(node).is_some_and(|place| place.is_adversary)) {
            let failure = Failure::configuration(format_args!("node {node} is an adversary and has a twin"));
            return Err(failure.help("give one of --adversary and --twin: no property reads either"));
        }
        Ok(Self { places, twins: spec.twins.clone(), unnamed: BTreeSet::new() })
    }

    /// The cluster of a trace, where `paths` say which components its digests stand for.
    ///
    /// # Errors
    ///
    /// The path of a component is neither given nor `plugins/NAME`.
    pub fn of_trace(trace: &Trace, paths: &[(NodeId, PathBuf)], context: &Context<'_>) -> Result<Self, Failure> {
        let mut wanted = Self::default();
        for placement in &trace.placements {
            if let Some(original) = placement.twin_of {
                wanted.twins.push(original);
                continue;
            }
            let node = placement.node;
            let given = paths.iter().find(|(given, _)| *given == node).map(|(_, path)| path.clone());
            let path = match (&placement.plugin, given) {
                (Some(_), Some(path)) => Some(path),
                (Some(plugin), None) => {
                    let name = &plugin.name;
                    let path = plugin_source::bundled(name, context).map_err(|missing| {
                        let missing = missing.display();
                        let what =
                            format_args!("node {node} of this trace runs {name}, and there is no plugin {missing}");
                        Failure::configuration(what).help(format_args!("name it with --node {node}=PLUGIN"))
                    })?;
                    wanted.unnamed.insert(path.clone());
                    Some(path)
                }
                (None, _) => None,
            };
            let place =
                NodePlacement { path, is_adversary: placement.adversary, parameters: placement.parameters.clone() };
            wanted.places.insert(node, place);
        }
        Ok(wanted)
    }

    /// The nodes that have a twin, in the order of the twins.
    pub fn twins(&self) -> &[NodeId] {
        &self.twins
    }
}

/// Loads the components other than the plugin.
///
/// # Errors
///
/// As for [`plugin_source::load`].
pub fn load(
    wanted: PlacedNodes,
    source: Source,
    limits: &GuestLimits,
    context: &mut Context<'_>,
) -> Result<Components, Failure> {
    let paths: BTreeSet<PathBuf> = wanted.places.values().filter_map(|place| place.path.clone()).collect();
    let load = |path: PathBuf| {
        let finished = source.finished || wanted.unnamed.contains(&path);
        let source = Source { finished, is_further: true, ..source };
        plugin_source::load(&path, source, limits.clone(), context)
    };
    let loaded = paths.into_iter().map(load).collect::<Result<_, _>>()?;
    Ok(Components { wanted, loaded })
}

impl Components {
    /// The components.
    pub fn loaded(&self) -> &[LoadedPlugin] {
        &self.loaded
    }

    /// The request for these components.
    pub fn spec(&self) -> PlacementSpec {
        let PlacedNodes { places, twins, .. } = &self.wanted;
        let mut spec = PlacementSpec { twins: twins.clone(), ..PlacementSpec::default() };
        for (node, place) in places {
            let list = if place.is_adversary { &mut spec.adversary } else { &mut spec.node };
            list.extend(place.path.iter().map(|path| (*node, path.clone())));
            let own = place.parameters.iter().map(|(key, value)| (*node, key.clone(), value.clone()));
            spec.parameters.extend(own);
        }
        spec
    }

    /// Number of nodes in addition to those that the protocol knows.
    pub fn twins(&self) -> u32 {
        self.wanted.twins().len() as u32
    }

    /// The nodes that have a twin, in the order of the twins, which come after all other nodes.
    pub fn have_twins(&self) -> &[NodeId] {
        self.wanted.twins()
    }

    /// The component on a node of a cluster of `all` nodes, twins included; none where it is the plugin.
    pub fn on(&self, node: NodeId, all: u32) -> Option<&LoadedPlugin> {
        let twin = node.checked_sub(all.saturating_sub(self.twins()));
        let identity = twin.and_then(|nth| self.have_twins().get(nth as usize)).copied().unwrap_or(node);
        self.instance(identity).component.checked_sub(1).map(|index| &self.loaded[index])
    }

    /// Puts the components in their places; `None` if every node runs the plugin.
    ///
    /// # Errors
    ///
    /// A node does not exist, or a component cannot take part.
    pub fn arrange(&self, plugin: &LoadedPlugin, scenario: &Scenario) -> Result<Option<MixedCluster>, Failure> {
        let PlacedNodes { places, twins, .. } = &self.wanted;
        if places.is_empty() && twins.is_empty() {
            return Ok(None);
        }
        let nodes = scenario.nodes.saturating_sub(self.twins());
        if let Some(node) = places.keys().chain(twins).find(|node| **node >= nodes) {
            let failure = Failure::configuration(format_args!("there is no node {node} in a cluster of {nodes}"));
            let about = if places.contains_key(node) { format!("id {node}") } else { "twin".to_owned() };
            let help = numbered::with_names_of(plugin, nodes, &scenario.parameters);
            return Err(failure.about(&about).help(help));
        }
        if let Some(node) = twins.iter().find(|node| twins.iter().filter(|twin| twin == node).count() > 1) {
            let what = format_args!("`--twin {node}` is given twice; keep one");
            return Err(Failure::configuration(what).about("twin"));
        }
        let all: Vec<&LoadedPlugin> = std::iter::once(plugin).chain(&self.loaded).collect();
        let instances: Vec<Instance> =
            (0..nodes).chain(twins.iter().copied()).map(|identity| self.instance(identity)).collect();
        for (node, instance) in (0..).zip(&instances) {
            check_parameters(node, all[instance.component], &instance.parameters)?;
        }
        let parts = (0..all.len()).map(|index| {
            let is_judged = instances.iter().any(|instance| instance.component == index && instance.is_judged);
            component(plugin, all[index], is_judged, scenario)
        });
        let parts = parts.collect::<Result<_, Failure>>()?;
        Ok(Some(MixedCluster {
            placements: self.placements(&all, &instances, nodes),
            replay_options: self.replay_options(),
            factory: Arc::new(Stoppable::new(
                MixedFactory::new(parts, instances, &plugin.properties),
                Arc::clone(&plugin.bounds) as _,
            )),
        }))
    }

    fn instance(&self, identity: NodeId) -> Instance {
        let PlacedNodes { places, twins, .. } = &self.wanted;
        let place = places.get(&identity).cloned().unwrap_or_default();
        let index = |path: &PathBuf| self.loaded.iter().position(|loaded| loaded.given == *path);
        Instance {
            component: place.path.as_ref().and_then(index).map_or(0, |index| index + 1),
            identity,
            is_judged: !place.is_adversary && !twins.contains(&identity),
            parameters: place.parameters,
        }
    }

    fn placements(&self, all: &[&LoadedPlugin], instances: &[Instance], nodes: u32) -> Vec<Placement> {
        let placement = |(node, instance): (NodeId, &Instance)| {
            let place = self.wanted.places.get(&instance.identity);
            let twin_of = (node >= nodes).then_some(instance.identity);
            (place.is_some() || twin_of.is_some()).then(|| Placement {
                node,
                plugin: (instance.component > 0).then(|| all[instance.component].reference.clone()),
                parameters: instance.parameters.clone(),
                adversary: place.is_some_and(|place| place.is_adversary),
                twin_of,
            })
        };
        (0..).zip(instances).filter_map(placement).collect()
    }

    fn replay_options(&self) -> Vec<String> {
        let with_path = self.wanted.places.iter().filter_map(|(node, place)| Some((node, place.path.as_ref()?)));
        with_path.flat_map(|(node, path)| ["--node".to_owned(), format!("{node}={}", path.display())]).collect()
    }
}

/// The requirements of a component that takes part.
fn component(
    plugin: &LoadedPlugin,
    other: &LoadedPlugin,
    is_judged: bool,
    scenario: &Scenario,
) -> Result<Component, Failure> {
    let own = |wanted: &host_model::contract::Property| {
        (0..).zip(&other.properties).find(|(_, property)| *property == wanted).map(|(index, _)| index)
    };
    let properties: Vec<Option<u32>> = plugin.properties.iter().map(own).collect();
    let (name, there) = (&plugin.reference.name, &other.reference.name);
    if let Some(missing) = properties.iter().position(Option::is_none).filter(|_| is_judged) {
        let what = format_args!("{there} has no property `{}` as {name} has it", plugin.properties[missing].name);
        let failure = Failure::configuration(what);
        return Err(failure.help(
            "nodes in one cluster have the same properties; --adversary runs a component that no property reads",
        ));
    }
    let defaults = |loaded: &LoadedPlugin| -> BTreeMap<String, String> {
        let parameters = loaded.plugin.about().map_or(&[][..], |about| &about.parameters).iter();
        parameters.map(|parameter| (parameter.name.clone(), parameter.default_value.clone())).collect()
    };
    let (ours, theirs) = (defaults(plugin), defaults(other));
    for (key, value) in theirs.iter().filter(|(key, _)| is_judged && !scenario.parameters.contains_key(*key)) {
        if let Some(expected) = ours.get(key).filter(|expected| *expected != value) {
            let what = format_args!("by default {key} is {expected} in {name} and {value} in {there}");
            return Err(Failure::configuration(what).help(format_args!("say which with --set {key}={expected}")));
        }
    }
    let keys = other.plugin.about().map(|_| theirs.into_keys().collect());
    Ok(Component { factory: Arc::new(other.plugin.clone()), keys, properties })
}

fn check_parameters(node: NodeId, loaded: &LoadedPlugin, parameters: &BTreeMap<String, String>) -> Result<(), Failure> {
    let Some(about) = loaded.plugin.about() else { return Ok(()) };
    let is_known = |key: &String| about.parameters.iter().any(|parameter| parameter.name == *key);
    match parameters.keys().find(|key| !is_known(key)) {
        None => Ok(()),
        Some(key) => {
            let name = &loaded.reference.name;
            let known: Vec<&str> = about.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
            let failure =
                Failure::configuration(format_args!("{name}, which runs on node {node}, has no parameter `{key}`"));
            let failure = failure.about(format_args!("set-on {node}:{key}"));
            Err(failure.help(known_names(key, &known)))
        }
    }
}

/// One line about a node that differs from the others.
pub fn describe(placement: &Placement) -> String {
    let mut parts = Vec::new();
    if let Some(original) = placement.twin_of {
        parts.push(format!("twin of node {original}, no property reads them"));
    }
    if let Some(plugin) = &placement.plugin {
        let version = plugin.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        let digest = short_digest(plugin.digest.as_deref().unwrap_or_default());
        parts.push(format!("{}{version}, {digest}", plugin.name));
    }
    if placement.adversary {
        parts.push("adversary, no property reads it".to_owned());
    }
    parts.extend(placement.parameters.iter().map(|(key, value)| format!("{key}={value}")));
    parts.join(", ")
}

/// Refuses a trace in which a node ran another component than the present one.
///
/// # Errors
///
/// A digest differs.
pub fn check_trace(trace: &Trace, given: &Path, ours: &[Placement], any_plugin: bool) -> Result<(), Failure> {
    if any_plugin || trace.placements == ours {
        return Ok(());
    }
    let differs = |placement: &&Placement| !ours.contains(placement);
    let node = trace.placements.iter().find(differs).or(ours.first()).map_or(0, |placement| placement.node);
    let theirs = trace.placements.iter().find(|placement| placement.node == node).map(describe);
    let ours = ours.iter().find(|placement| placement.node == node).map(describe);
    let words = |place: Option<String>| place.unwrap_or_else(|| "the plugin of the others".to_owned());
    let what = format!(
        "the trace {} was recorded with another node {node}: {}; here it is {}",
        given.display(),
        words(theirs),
        words(ours)
    );
    Err(Failure::configuration(what).help("give the same components as when it was recorded"))
}

/// Whether placements are the same but for the builds of their components.
pub fn are_alike(ones: &[Placement], others: &[Placement]) -> bool {
    let without_build = |placement: &Placement| {
        let plugin =
            placement.plugin.as_ref().map(|plugin| PluginRef { digest: None, version: None, ..plugin.clone() });
        Placement { plugin, ..placement.clone() }
    };
    ones.iter().map(without_build).eq(others.iter().map(without_build))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_has_one_component() {
        let a = PathBuf::from("a");
        let arguments =
            PlacementSpec { node: vec![(1, a.clone())], adversary: vec![(1, a.clone())], ..PlacementSpec::default() };
        assert!(PlacedNodes::new(&arguments).is_err_and(|failure| failure.message.contains("two components")));
        let arguments = PlacementSpec { adversary: vec![(1, a)], twins: vec![1], ..PlacementSpec::default() };
        assert!(
            PlacedNodes::new(&arguments).is_err_and(|failure| failure.message.contains("adversary and has a twin"))
        );
    }
}
