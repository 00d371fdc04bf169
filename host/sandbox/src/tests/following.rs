//! Machines that follow a node, compared with others.

use host_model::contract::{Machine, MachineFactory, Snapshot, StateOwner};

use super::snapshots::{Step, apply, well_behaved};
use super::{init, run};
use crate::fixtures::{self, Dice};
use crate::{Plugin, Sandbox, SandboxConfig};

fn following(machine: &mut dyn Machine, snapshot: Snapshot) -> Snapshot {
    machine.following().expect("each machine does").continue_from(snapshot).expect("an instance")
}

/// A node takes steps in a machine whose reference image moves at each one, and in one that never moves its own. They do and have the same,
/// also where the first one reads, judges, returns to another snapshot of the plugin, or loses its instance in between.
fn follow(name: &str, bytes: &[u8], seed: u64) {
    let config = SandboxConfig { verify_capture: true, moves_always: true, ..SandboxConfig::default() };
    let plugin = Plugin::load(&Sandbox::new(config, None).expect("an engine"), bytes).expect("a plugin");
    let (mut dice, owner) = (Dice::new(seed), StateOwner { node: 1, nodes: 2, config: "" });
    let [mut follower, mut other] = [0, 1].map(|_| plugin.machine().expect("an instance"));
    let start = |machine: &mut dyn Machine| {
        run(machine, init(1)).expect("init is fine");
        machine.capture()
    };
    // The image that instances share is that of the other machine.
    let mut expected = start(&mut *other);
    let mut here = start(&mut *follower);
    here = following(&mut *follower, here);
    for number in 0..40 {
        match dice.below(6) {
            0 => {
                follower.restore(Some(&expected)).expect("a snapshot of the plugin");
                assert_eq!(follower.serialize(), other.serialize(), "{name} {seed} {number}");
            }
            1 => {
                follower.restore_to_judge().expect("an instance");
                assert!(follower.properties().is_ok(), "{name} {seed} {number}");
            }
            2 => {
                // As after a fault: the instance is gone, and another one has the images of the plugin.
                let again = plugin.machine().expect("an instance");
                drop(std::mem::replace(&mut other, again));
                other.restore(Some(&expected)).expect("a snapshot of the plugin");
            }
            _ => {}
        }
        let step = Step::any(&mut dice);
        follower.restore(Some(&here)).expect("its own snapshot");
        other.restore(Some(&expected)).expect("a snapshot of the plugin");
        assert_eq!(apply(&mut *follower, &step), apply(&mut *other, &step), "{name} {seed} {number}: {step:?}");
        assert_eq!(follower.serialize(), other.serialize(), "{name} {seed} {number}");
        (here, expected) = (follower.capture(), other.capture());
        if dice.below(2) == 0 {
            apply(&mut *follower, &Step::Read);
        }
        let former = here.clone();
        here = following(&mut *follower, here);
        let exported = [follower.export(&here, owner), other.export(&expected, owner)];
        assert!(exported[0] == exported[1] && exported[0].is_ok(), "{name} {seed} {number}");
        assert!(number == 0 || follower.restore(Some(&former)).is_err(), "it is older than the image");
    }
}

#[test]
fn a_machine_that_follows_a_node_does_the_same() {
    for (name, bytes) in well_behaved() {
        (1..4).for_each(|seed| follow(name, &bytes, seed * 0x9e37_79b9));
    }
    for seed in 0..30 {
        follow(&format!("guest {seed}"), &fixtures::random(seed), seed * 0x9e37_79b9 + 1);
    }
}

/// A handler that traps takes the instance with it: the next one continues from the snapshot with the image that has moved.
#[test]
fn a_machine_that_follows_a_node_survives_a_fault() {
    use crate::fixtures::MapOperation;
    use host_model::contract::Input;
    let config = SandboxConfig { verify_capture: true, moves_always: true, ..SandboxConfig::default() };
    let sandbox = Sandbox::new(config, None).expect("an engine");
    let plugin = Plugin::load(&sandbox, &fixtures::stores("well")).expect("a plugin");
    let mut machine = plugin.machine().expect("an instance");
    run(&mut *machine, init(0)).expect("init is fine");
    let captured = machine.capture();
    let mut here = following(&mut *machine, captured);
    for number in 0..20_u8 {
        machine.restore(Some(&here)).expect("its own snapshot");
        let trap = MapOperation::PutAndTrap(b"a".to_vec(), b"b".to_vec()).payload();
        assert!(run(&mut *machine, Input::Message { src: 0, payload: &trap }).is_err());
        machine.restore(Some(&here)).expect("its own snapshot");
        let put = MapOperation::Put(b"a".to_vec(), vec![number; 3]).payload();
        run(&mut *machine, Input::Message { src: 0, payload: &put }).expect("no fault");
        assert_eq!(machine.view(0), Ok(Some(vec![number; 3])));
        let captured = machine.capture();
        here = following(&mut *machine, captured);
        assert_eq!(here.map().map(|map| map.len()), Some(1));
    }
}
