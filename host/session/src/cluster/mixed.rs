//! A cluster whose nodes run different components, as one [`MachineFactory`].
//!
//! The search numbers *instances*. Each runs one component under one *identity*, by which the protocol knows it. As a rule identity and
//! instance are the same number; *twins* are two instances of one identity: both get every message that is sent to it, and no other node
//! can tell from which of them a message comes (Bano, Sonnino, Chursin, Perelman, Li, Ching, Malkhi, "Twins: BFT Systems Made Robust",
//! OPODIS 2021; there partitions are drawn, here every loss and order of messages is explored).
//!
//! Local states of different instances are never compared, so those of different components are not either. A snapshot begins
//! with the number of its instance, and restores the machine of that instance's component.
//!
//! | module | what it holds |
//! |---|---|
//! | `tests` | the configuration of a node, and its names |
//! | `written_out` | random clusters compared with the same protocols without mixed machines |

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use host_model::contract::aspects::{
    Aspect, AspectName, Completion, Describe, Events, Judging, Logging, Quorums, Transfer, Views,
};
use host_model::contract::{
    Effects, Envelope, Fault, Input, LocalEvent, Machine, MachineError, MachineFactory, NodeId, Property,
    PropertyScope, Quorum, Role, Snapshot, StateOwner, TransferError,
};

/// One component of the cluster.
pub struct Component {
    /// Makes its machines.
    pub factory: Arc<dyn MachineFactory>,
    /// The parameters that it knows; none if it does not list them, and gets all.
    pub keys: Option<BTreeSet<String>>,
    /// For each property of the cluster, the index at which this component has it.
    pub properties: Vec<Option<u32>>,
}

/// One node as the search sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Index of its component.
    pub component: usize,
    /// Its number in the protocol.
    pub identity: NodeId,
    /// Whether properties read its state; they do not read that of an adversary or a twin.
    pub is_judged: bool,
    /// Parameters that it has for itself.
    pub parameters: BTreeMap<String, String>,
}

/// Components, and the one that each node runs. The first component declares and judges the properties.
pub struct MixedFactory(Arc<ComponentTable>);

struct ComponentTable {
    components: Vec<Component>,
    instances: Vec<Instance>,
    scopes: Vec<PropertyScope>,
    /// Number of identities: the size of the cluster that the protocol sees.
    nodes: u32,
}

impl MixedFactory {
    /// A cluster; `properties` are those of the first component.
    ///
    /// # Panics
    ///
    /// There is no component, an instance runs a component that does not exist, or the identities are not numbered from 0.
    pub fn new(components: Vec<Component>, instances: Vec<Instance>, properties: &[Property]) -> Self {
        let identities: BTreeSet<NodeId> = instances.iter().map(|instance| instance.identity).collect();
        let nodes = identities.len() as u32;
        assert!(identities.into_iter().eq(0..nodes), "identities are numbered from 0");
        assert!(
            instances.iter().all(|instance| instance.component < components.len()),
            "every instance runs a component"
        );
        let scopes = properties.iter().map(|property| property.scope).collect();
        Self(Arc::new(ComponentTable { components, instances, scopes, nodes }))
    }
}

impl MachineFactory for MixedFactory {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        let machines =
            self.0.components.iter().map(|component| component.factory.machine()).collect::<Result<_, _>>()?;
        let judge = self.0.components[0].factory.machine()?;
        Ok(Box::new(MixedMachine { cluster: Arc::clone(&self.0), machines, judge, judge_failed: false, active: None }))
    }

    /// A component without a handler ignores the error.
    fn hears_errors(&self) -> bool {
        self.0.components.iter().any(|component| component.factory.hears_errors())
    }
}

/// One machine of each component, and one that answers questions about the protocol as a whole.
struct MixedMachine {
    cluster: Arc<ComponentTable>,
    machines: Vec<Box<dyn Machine>>,
    judge: Box<dyn Machine>,
    /// Whether the judge must be restored before its next use.
    judge_failed: bool,
    /// The instance whose state the machine has; none before `init`.
    active: Option<usize>,
}

impl MixedMachine {
    fn instance(&self) -> &Instance {
        &self.cluster.instances[self.active.expect("a node is asked after its `init` or after a restore")]
    }

    /// The configuration of the active instance, in a cluster with these parameters: its identity, the number of nodes and its
    /// own parameters.
    fn told(&self, config: &str) -> (NodeId, u32, String) {
        let instance = self.instance();
        (instance.identity, self.cluster.nodes, self.cluster.config(instance, config))
    }

    /// The machine with the state of the active instance.
    fn machine(&mut self) -> &mut dyn Machine {
        let component = self.instance().component;
        &mut *self.machines[component]
    }

    fn judged<R>(&mut self, ask: impl FnOnce(&mut dyn Machine) -> Result<R, Fault>) -> Result<R, Fault> {
        let answer = ask(&mut *self.judge);
        self.judge_failed = answer.is_err();
        answer
    }

    /// Turns the destinations of messages into instances.
    fn address(&self, effects: &mut Effects) {
        let instances = &self.cluster.instances;
        if instances.len() == self.cluster.nodes as usize {
            return;
        }
        for Envelope { to, payload } in std::mem::take(&mut effects.sent) {
            let twins = (0..).zip(instances).filter(|(_, instance)| instance.identity == to);
            effects.sent.extend(twins.map(|(to, _)| Envelope { to, payload: payload.clone() }));
        }
    }
}

impl ComponentTable {
    /// The configuration of an instance: the parameters of the cluster that its component knows, and its own instead of them.
    fn config(&self, instance: &Instance, config: &str) -> String {
        let is_known =
            |key: &str| self.components[instance.component].keys.as_ref().is_none_or(|keys| keys.contains(key));
        let of_all = config.lines().filter_map(|line| line.split_once('=')).filter(|(key, _)| is_known(key));
        let own = instance.parameters.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let merged: BTreeMap<&str, &str> = of_all.chain(own).collect();
        merged.iter().map(|(key, value)| format!("{key}={value}\n")).collect()
    }
}

/// The snapshot of an instance.
fn tagged(instance: usize, captured: &Snapshot) -> Snapshot {
    let words: Vec<u64> = std::iter::once(instance as u64).chain(captured.words().iter().copied()).collect();
    captured.with_words(&words)
}

impl Machine for MixedMachine {
    fn restore(&mut self, snapshot: Option<&Snapshot>) -> Result<(), MachineError> {
        if self.judge_failed {
            self.judge.restore(None)?;
            self.judge_failed = false;
        }
        let Some(snapshot) = snapshot else {
            self.active = None;
            return self.machines.iter_mut().try_for_each(|machine| machine.restore(None));
        };
        let (instance, words) = snapshot.words().split_first().expect("it begins with the number of its instance");
        self.active = Some(*instance as usize);
        let of_instance = snapshot.with_words(words);
        self.machine().restore(Some(&of_instance))
    }

    fn confirm_fault(&self) -> Result<(), MachineError> {
        self.machines.iter().chain([&self.judge]).try_for_each(|machine| machine.confirm_fault())
    }

    fn handle(&mut self, input: Input<'_>, script: &[u32], effects: &mut Effects) -> Result<(), Fault> {
        let cluster = Arc::clone(&self.cluster);
        let result = match input {
            Input::Init { node, config, durable, .. } => {
                self.active = Some(node as usize);
                let (node, nodes, config) = self.told(config);
                self.machine().handle(Input::Init { node, nodes, config: &config, durable }, script, effects)
            }
            Input::Message { src, payload } => {
                let src = cluster.instances[src as usize].identity;
                self.machine().handle(Input::Message { src, payload }, script, effects)
            }
            Input::Quorum { name, messages } => {
                let identity = |src: NodeId| cluster.instances[src as usize].identity;
                let mut messages: Vec<(NodeId, Vec<u8>)> =
                    messages.iter().map(|(src, payload)| (identity(*src), payload.clone())).collect();
                messages.sort_unstable();
                // Two messages from twins are two from one node.
                if messages.windows(2).any(|pair| pair[0].0 == pair[1].0) {
                    *effects = Effects { is_declined: true, ..Effects::default() };
                    return Ok(());
                }
                self.machine().handle(Input::Quorum { name, messages: &messages }, script, effects)
            }
            Input::TransportError { peer } => {
                let peer = cluster.instances[peer as usize].identity;
                self.machine().handle(Input::TransportError { peer }, script, effects)
            }
            local @ Input::Local(_) => self.machine().handle(local, script, effects),
        };
        self.address(effects);
        result
    }

    fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
        self.machine().serialize()
    }

    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
        self.machine().local_events()
    }

    fn view(&mut self, property: u32) -> Result<Option<Vec<u8>>, Fault> {
        let Instance { component, is_judged, .. } = *self.instance();
        match self.cluster.components[component].properties[property as usize] {
            Some(own) if is_judged => self.machine().view(own),
            _ => Ok(None),
        }
    }

    fn capture(&mut self) -> Snapshot {
        let instance = self.active.expect("a node is captured after its `init` or after a restore");
        tagged(instance, &self.machine().capture())
    }

    fn properties(&mut self) -> Result<Vec<Property>, Fault> {
        self.judged(|judge| judge.properties())
    }

    fn invariant(&mut self, property: u32, views: &[Option<&[u8]>]) -> Result<Result<(), String>, Fault> {
        let nodes = self.cluster.nodes as usize;
        // A protocol of three nodes must not see four views. Twins come last, and have none.
        let views = match self.cluster.scopes[property as usize] {
            PropertyScope::System => &views[..nodes.min(views.len())],
            PropertyScope::Node => views,
        };
        self.judged(|judge| judge.invariant(property, views))
    }

    fn aspect(&mut self, name: AspectName) -> Option<Aspect<'_>> {
        match name {
            AspectName::Describe => Some(Aspect::Describe(self)),
            AspectName::Views => Some(Aspect::Views(self)),
            AspectName::Events => Some(Aspect::Events(self)),
            AspectName::Quorums => Some(Aspect::Quorums(self)),
            AspectName::Completion => Some(Aspect::Completion(self)),
            AspectName::Transfer => Some(Aspect::Transfer(self)),
            AspectName::Judging => Some(Aspect::Judging(self)),
            AspectName::Logging => Some(Aspect::Logging(self)),
            // Nodes that differ cannot be exchanged, whatever a component declares.
            AspectName::Symmetry => None,
            // Their answers name identities, and no mixed cluster runs for clients.
            AspectName::Clients | AspectName::Neighbourhood => None,
            // No node of one runs for long.
            AspectName::Following => None,
            // Before `init` there is no node that could have one.
            of_node => self.active.and_then(|_| self.machine().aspect(of_node)),
        }
    }
}

impl Describe for MixedMachine {
    fn describe_state(&mut self) -> Result<Option<String>, Fault> {
        self.machine().describe_state()
    }

    fn describe_message(&mut self, payload: &[u8]) -> Result<Option<String>, Fault> {
        self.judged(|judge| judge.describe_message(payload))
    }
}

impl Views for MixedMachine {
    fn describe_view(&mut self, property: u32, view: &[u8]) -> Result<Option<String>, Fault> {
        self.judged(|judge| judge.describe_view(property, view))
    }
}

impl Events for MixedMachine {
    fn describe_local(&mut self, event: &LocalEvent) -> Result<Option<String>, Fault> {
        self.judged(|judge| judge.describe_local(event))
    }
}

impl Quorums for MixedMachine {
    fn takes_quorums(&mut self) -> Result<bool, Fault> {
        self.machine().takes_quorums()
    }

    fn role(&mut self, src: NodeId, payload: &[u8]) -> Result<Role<Quorum>, Fault> {
        let src = self.cluster.instances[src as usize].identity;
        self.machine().role(src, payload)
    }
}

impl Completion for MixedMachine {
    /// The end of a cluster does not wait for an adversary.
    fn is_done(&mut self) -> Result<bool, Fault> {
        if self.instance().is_judged { self.machine().is_done() } else { Ok(true) }
    }
}

impl Transfer for MixedMachine {
    fn export(&mut self, snapshot: &Snapshot, owner: StateOwner<'_>) -> Result<Vec<u8>, TransferError> {
        let (instance, words) = snapshot.words().split_first().expect("it begins with the number of its instance");
        self.active = Some(*instance as usize);
        let (node, nodes, config) = self.told(owner.config);
        self.machine().export(&snapshot.with_words(words), StateOwner { node, nodes, config: &config })
    }

    fn import(&mut self, exported: &[u8], owner: StateOwner<'_>) -> Result<Snapshot, TransferError> {
        let instance = owner.node as usize;
        self.active = Some(instance);
        let (node, nodes, config) = self.told(owner.config);
        let imported = self.machine().import(exported, StateOwner { node, nodes, config: &config })?;
        Ok(tagged(instance, &imported))
    }
}

impl Judging for MixedMachine {
    fn restore_to_judge(&mut self) -> Result<(), MachineError> {
        self.judge.restore_to_judge()?;
        self.judge_failed = false;
        Ok(())
    }

    fn is_read(&mut self) -> Result<bool, Fault> {
        Ok(self.instance().is_judged)
    }
}

impl Logging for MixedMachine {
    fn keep_log(&mut self, keep: bool) {
        self.machines.iter_mut().for_each(|machine| machine.keep_log(keep));
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod written_out;
