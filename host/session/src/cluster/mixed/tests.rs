//! The configuration of a node of a mixed cluster, and its names.

use host_model::contract::PropertyKind;

use super::*;

/// A component that remembers its identity and its last input, and sends one message to node 0 for each handler.
struct Echo {
    /// Added to its identity in the encoding, to tell components apart.
    base: u64,
    identity: u64,
    told: u64,
    config: Vec<String>,
}

struct Echoes(u64);

impl MachineFactory for Echoes {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        Ok(Box::new(Echo { base: self.0, identity: 0, told: 0, config: Vec::new() }))
    }
}

impl Machine for Echo {
    fn restore(&mut self, snapshot: Option<&Snapshot>) -> Result<(), MachineError> {
        let words = snapshot.map_or(&[self.base, 0, 0][..], Snapshot::words).to_vec();
        assert_eq!(words[0], self.base, "a snapshot of another component");
        (self.identity, self.told) = (words[1], words[2]);
        Ok(())
    }

    fn handle(&mut self, input: Input<'_>, _: &[u32], effects: &mut Effects) -> Result<(), Fault> {
        match input {
            Input::Init { node, nodes, config, .. } => {
                self.identity = node.into();
                self.told = nodes.into();
                self.config = config.lines().map(str::to_owned).collect();
            }
            Input::Message { src: peer, .. } | Input::TransportError { peer } => self.told = peer.into(),
            Input::Quorum { .. } | Input::Local(_) => {}
        }
        effects.sent = vec![Envelope { to: 0, payload: vec![1] }];
        Ok(())
    }

    fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
        Ok(format!("{} told {} {:?}", self.base + self.identity, self.told, self.config).into_bytes())
    }

    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
        Ok(Vec::new())
    }

    fn view(&mut self, property: u32) -> Result<Option<Vec<u8>>, Fault> {
        Ok(Some(format!("{} {property}", self.base).into_bytes()))
    }

    fn capture(&mut self) -> Snapshot {
        Snapshot::new(&[self.base, self.identity, self.told])
    }

    fn properties(&mut self) -> Result<Vec<Property>, Fault> {
        Ok(vec![property("first"), property("second")])
    }

    fn invariant(&mut self, _: u32, views: &[Option<&[u8]>]) -> Result<Result<(), String>, Fault> {
        Ok(Err(format!("{} judges {} views", self.base, views.len())))
    }

    fn aspect(&mut self, name: AspectName) -> Option<Aspect<'_>> {
        match name {
            AspectName::Transfer => Some(Aspect::Transfer(self)),
            _ => None,
        }
    }
}

impl Transfer for Echo {
    fn export(&mut self, snapshot: &Snapshot, owner: StateOwner<'_>) -> Result<Vec<u8>, TransferError> {
        Ok(snapshot.words().iter().map(|word| *word as u8).chain(owner.config.bytes()).collect())
    }

    fn import(&mut self, exported: &[u8], owner: StateOwner<'_>) -> Result<Snapshot, TransferError> {
        let (state, config) = exported.split_at(3);
        let words: Vec<u64> = state.iter().map(|byte| u64::from(*byte)).collect();
        let is_of = words[..2] == [self.base, u64::from(owner.node)] && config == owner.config.as_bytes();
        match is_of && owner.nodes == 2 {
            true => Ok(Snapshot::new(&words)),
            false => Err(TransferError::Refused(format!("it is no state of {owner:?}"))),
        }
    }
}

fn property(name: &str) -> Property {
    Property { name: name.to_owned(), kind: PropertyKind::Always, scope: PropertyScope::System }
}

fn instance(component: usize, identity: NodeId, is_judged: bool) -> Instance {
    Instance { component, identity, is_judged, parameters: BTreeMap::new() }
}

/// Node 0 runs the first component, node 1 the second one; instance 2 is a twin of node 0.
fn cluster() -> Box<dyn Machine> {
    let keys = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    let components = vec![
        Component { factory: Arc::new(Echoes(100)), keys: keys(&["a"]), properties: vec![Some(0), Some(1)] },
        Component { factory: Arc::new(Echoes(200)), keys: keys(&["b", "c"]), properties: vec![Some(1), None] },
    ];
    let mut instances = vec![instance(0, 0, false), instance(1, 1, true), instance(0, 0, false)];
    instances[1].parameters.insert("c".to_owned(), "9".to_owned());
    MixedFactory::new(components, instances, &[property("first"), property("second")])
        .machine()
        .expect("machines of our own")
}

fn init(machine: &mut dyn Machine, node: NodeId) -> Effects {
    let mut effects = Effects::default();
    machine.restore(None).expect("machines of our own");
    let input = Input::Init { node, nodes: 3, config: "a=1\nb=2\nc=3\n", durable: None };
    machine.handle(input, &[], &mut effects).expect("no fault");
    effects
}

fn shown(machine: &mut dyn Machine) -> String {
    String::from_utf8(machine.serialize().expect("no fault")).expect("text")
}

#[test]
fn each_node_runs_its_component_under_its_identity() {
    let mut machine = cluster();
    for (node, expected) in [
        (0, r#"100 told 2 ["a=1"]"#),
        (1, r#"201 told 2 ["b=2", "c=9"]"#),
        // The twin of node 0 believes that it is node 0.
        (2, r#"100 told 2 ["a=1"]"#),
    ] {
        init(&mut *machine, node);
        assert_eq!(shown(&mut *machine), expected);
    }
}

#[test]
fn a_state_goes_back_to_its_component() {
    let mut machine = cluster();
    let mut captured = Vec::new();
    for node in 0..3 {
        init(&mut *machine, node);
        captured.push(machine.capture());
    }
    for (node, base) in [(1, 201), (0, 100), (2, 100), (1, 201)] {
        machine.restore(Some(&captured[node])).expect("its own snapshot");
        assert!(shown(&mut *machine).starts_with(&base.to_string()), "instance {node}");
        assert_eq!(machine.capture().words(), captured[node].words());
    }
}

#[test]
fn an_exported_state_enters_its_component_under_its_identity() {
    let mut machine = cluster();
    let owner = |node| StateOwner { node, nodes: 3, config: "a=1\nb=2\nc=3\n" };
    for node in 0..3 {
        init(&mut *machine, node);
        let captured = machine.capture();
        let exported = machine.export(&captured, owner(node)).expect("it can leave");
        machine.restore(None).expect("machines of our own");
        let imported = machine.import(&exported, owner(node)).expect("the state of this instance");
        assert_eq!(imported.words(), captured.words(), "instance {node}");
        let other = if node == 1 { 0 } else { 1 };
        assert!(machine.import(&exported, owner(other)).is_err(), "instance {other} runs another component");
        // The instances 0 and 2 get only `a`, and 1 only `b`, with a `c` of its own.
        for (config, is_other) in [("a=9\nb=2\n", node != 1), ("a=1\nb=9\n", node == 1), ("a=1\nb=2\nc=9\n", false)] {
            let imported = machine.import(&exported, StateOwner { config, ..owner(node) });
            assert_eq!(imported.is_err(), is_other, "instance {node} with {config}");
        }
    }
}

#[test]
fn twins_share_what_is_sent_to_them_and_who_they_are() {
    let mut machine = cluster();
    let to = |effects: &Effects| effects.sent.iter().map(|envelope| envelope.to).collect::<Vec<_>>();
    assert_eq!(to(&init(&mut *machine, 1)), [0, 2]);
    let mut effects = Effects::default();
    // Messages from instance 2 come from node 0.
    machine.handle(Input::Message { src: 2, payload: &[1] }, &[], &mut effects).expect("no fault");
    assert!(shown(&mut *machine).contains("told 0"));
    assert_eq!(to(&effects), [0, 2]);
    // A broken connection to it is one to node 0.
    init(&mut *machine, 1);
    machine.handle(Input::TransportError { peer: 2 }, &[], &mut effects).expect("no fault");
    assert!(shown(&mut *machine).contains("told 0"));
}

/// Machines around a mixed one ask for the aspects that they pass on, whatever its state.
#[test]
fn aspects_can_be_asked_for_before_a_node_is_there() {
    let mut machine = cluster();
    machine.stand_at(1);
    let offered = AspectName::ALL.iter().filter(|name| machine.aspect(**name).is_some()).count();
    init(&mut *machine, 1);
    assert!(AspectName::ALL.iter().filter(|name| machine.aspect(**name).is_some()).count() >= offered);
    assert!(offered > 0 && machine.symmetry().is_none());
}

#[test]
fn properties_are_asked_of_the_first_component() {
    let mut machine = cluster();
    init(&mut *machine, 1);
    // Its own index differs, and it does not have the second property.
    assert_eq!(machine.view(0), Ok(Some(b"200 1".to_vec())));
    assert_eq!(machine.view(1), Ok(None));
    assert_eq!(machine.invariant(0, &[None, Some(b"x"), None]), Ok(Err("100 judges 2 views".to_owned())));
    init(&mut *machine, 2);
    assert_eq!(machine.view(0), Ok(None), "a twin");
}
