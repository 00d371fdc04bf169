//! States that are identified by the whole memory.

use host_model::contract::{Input, Machine, MachineFactory, StateOwner};

use super::{go, init, plugin, run, sandbox};
use crate::{LoadError, Plugin, fixtures};

/// The identities of the states after `init` and each of five counts. Reading calls come in between, more and more.
fn identities(machine: &mut dyn Machine, reads: usize) -> Vec<Vec<u8>> {
    run(machine, init(1)).expect("init is fine");
    let mut found = Vec::new();
    for step in 0..6 {
        for _ in 0..reads * step {
            machine.serialize().expect("an identity");
            machine.local_events().expect("events");
            machine.view(0).expect("a view");
        }
        found.push(machine.serialize().expect("an identity"));
        run(machine, Input::Local(&go())).expect("it counts");
    }
    found
}

/// The counter has two values. The encoding that the guest returns is always empty.
#[test]
fn what_a_handler_changes_counts_and_nothing_else() {
    let plugin = plugin(&fixtures::by_memory("__stack_pointer"));
    let found = identities(&mut *plugin.machine().expect("an instance"), 0);
    assert_ne!(found[1], found[2], "the counter is state");
    assert_eq!([&found[1], &found[3], &found[5]], [&found[1]; 3], "the stack is dead");
    assert_eq!([&found[2], &found[4]], [&found[2]; 2]);
    for reads in 1..3 {
        let after_reads = identities(&mut *plugin.machine().expect("an instance"), reads);
        assert_eq!(found, after_reads, "calls that read leave nothing behind");
    }
}

/// The state that is captured first becomes the base of all later comparisons, here one of six.
#[test]
fn it_does_not_depend_on_the_state_that_is_captured_first() {
    let bytes = fixtures::by_memory("__stack_pointer");
    let found = identities(&mut *plugin(&bytes).machine().expect("an instance"), 0);
    for first in 1..6 {
        let plugin = plugin(&bytes);
        let mut machine = plugin.machine().expect("an instance");
        run(&mut *machine, init(1)).expect("init is fine");
        for (step, expected) in found.iter().enumerate().take(6) {
            if step >= first {
                assert_eq!(machine.serialize().expect("an identity"), *expected, "step {step}, first {first}");
            }
            run(&mut *machine, Input::Local(&go())).expect("it counts");
        }
        // Another instance has been nowhere.
        assert_eq!(identities(&mut *plugin.machine().expect("an instance"), 1), found, "first {first}");
    }
}

#[test]
fn a_captured_state_is_the_one_at_rest() {
    let plugin = plugin(&fixtures::by_memory("__stack_pointer"));
    let (mut one, mut other) = (plugin.machine().expect("an instance"), plugin.machine().expect("an instance"));
    let found = identities(&mut *one, 1);
    run(&mut *other, init(1)).expect("init is fine");
    run(&mut *other, Input::Local(&go())).expect("it counts");
    other.serialize().expect("an identity");
    other.view(0).expect("a view");
    let state = other.capture();
    run(&mut *other, Input::Local(&go())).expect("it counts");
    for machine in [&mut one, &mut other] {
        machine.restore(Some(&state)).expect("it can be restored");
        machine.local_events().expect("events");
        assert_eq!(machine.serialize().expect("an identity"), found[1]);
        run(&mut **machine, Input::Local(&go())).expect("it counts");
        assert_eq!(machine.serialize().expect("an identity"), found[2]);
    }
}

#[test]
fn it_is_the_same_in_another_process() {
    let bytes = fixtures::by_memory("__stack_pointer");
    let (here, there) = (plugin(&bytes), plugin(&bytes));
    let mut machine = here.machine().expect("an instance");
    let found = identities(&mut *machine, 0);
    let owner = StateOwner { node: 1, nodes: 2, config: "" };
    let exported = machine.export(&machine_state(&here), owner).expect("it can be exported");
    let mut other = there.machine().expect("an instance");
    let state = other.import(&exported, owner).expect("it can be imported");
    other.restore(Some(&state)).expect("it can be restored");
    assert_eq!(other.serialize().expect("an identity"), found[1]);
}

/// The state after one count.
fn machine_state(plugin: &Plugin) -> host_model::contract::Snapshot {
    let mut machine = plugin.machine().expect("an instance");
    run(&mut *machine, init(1)).expect("init is fine");
    run(&mut *machine, Input::Local(&go())).expect("it counts");
    machine.capture()
}

#[test]
fn without_a_stack_that_is_known_it_is_refused() {
    let refused = Plugin::load(&sandbox(), &fixtures::by_memory("top")).expect_err("the global could be anything");
    assert!(matches!(&refused, LoadError::MemoryIdentity { why } if why.contains("`__stack_pointer`")), "{refused}");
    assert!(refused.to_string().ends_with("have `about` say that `serialize` tells states apart"), "{refused}");
}
