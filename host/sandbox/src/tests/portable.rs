//! A state that leaves one process and enters another is the same state there.

use host_model::contract::{Input, Machine, MachineFactory, Snapshot, StateOwner, TransferError};

use crate::fixtures::{self, Dice};
use crate::rewrite::{REWRITING, rewrite};
use crate::{Libraries, Plugin, Sabotage, Sandbox, SandboxConfig};

use super::snapshots::{Step, apply, audited, well_behaved};
use super::{go, init, machine, run};

/// The owner of the exported states.
const OWNER: StateOwner<'static> = StateOwner { node: 1, nodes: 2, config: "" };

/// The machine of a plugin loaded again, with its own engine, images and numbers, as in another process. Its reference
/// image is another state than that of the first one.
fn elsewhere(bytes: &[u8]) -> Box<dyn Machine> {
    let mut machine = audited(Sabotage::None, bytes).machine().expect("an instance");
    run(&mut *machine, init(0)).expect("init is fine");
    run(&mut *machine, Input::Local(&go())).expect("fine");
    machine.capture();
    machine
}

fn refusal(result: Result<Snapshot, TransferError>) -> String {
    match result {
        Err(TransferError::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// Exports states along a random path, imports them in another process, and continues in both: all observations and the whole
/// memory stay equal.
fn continues_alike(name: &str, bytes: &[u8], seed: u64) {
    let mut random = Dice::new(seed);
    let mut here = audited(Sabotage::None, bytes).machine().expect("an instance");
    let mut there = elsewhere(bytes);
    run(&mut *here, init(1)).expect("init is fine");
    for _ in 0..4 {
        for _ in 0..random.below(4) {
            apply(&mut *here, &Step::any(&mut random));
        }
        let state = here.capture();
        let exported = here.export(&state, OWNER).expect("a state that can leave");
        here.restore(Some(&state)).expect("an instance");
        let imported = there.import(&exported, OWNER).expect("a state of this guest");
        there.restore(Some(&imported)).expect("an instance");
        assert_eq!(here.serialize(), there.serialize(), "{name}");
        for _ in 0..3 {
            let step = Step::any(&mut random);
            assert_eq!(apply(&mut *here, &step), apply(&mut *there, &step), "{name}: {step:?}");
        }
        let (one, other) = (here.capture(), there.capture());
        assert_eq!(here.export(&one, OWNER), there.export(&other, OWNER), "{name}: whole memories");
        here.restore(Some(&one)).expect("an instance");
    }
}

#[test]
fn a_state_continues_elsewhere_as_it_would_here() {
    for (name, bytes) in well_behaved() {
        (1..3).for_each(|seed| continues_alike(name, &bytes, seed * 0x9e37_79b9));
    }
    continues_alike("grows to judge", &fixtures::grows_to_judge(), 0x9e37_79b9);
    for name in fixtures::results() {
        continues_alike(name, &fixtures::returned(name, true), 0x9e37_79b9);
    }
    for seed in 0..8 {
        continues_alike(&format!("guest {seed}"), &fixtures::random(seed), seed * 0x9e37_79b9 + 1);
    }
}

/// State that an import does not restore is noticed at once.
#[test]
fn canary_a_hole_in_an_import_is_refused() {
    for (sabotage, bytes) in
        [(Sabotage::SkipGlobals, fixtures::global_counter()), (Sabotage::SkipSizes, fixtures::growing())]
    {
        let mut here = machine(&bytes);
        run(&mut *here, init(1)).expect("init is fine");
        run(&mut *here, Input::Local(&go())).expect("fine");
        let state = here.capture();
        let exported = here.export(&state, OWNER).expect("a state that can leave");
        let config = SandboxConfig { sabotage, ..SandboxConfig::default() };
        let plugin = Plugin::load(&Sandbox::new(config, None).expect("an engine"), &bytes).expect("a plugin");
        let imported = plugin.machine().expect("an instance").import(&exported, OWNER);
        assert_eq!(refusal(imported), "the encoding of the state is not the one that it was exported with");
    }
}

/// A state with a larger memory, exported.
fn exported() -> Vec<u8> {
    let mut machine = machine(&fixtures::growing());
    run(&mut *machine, init(1)).expect("init is fine");
    run(&mut *machine, Input::Local(&go())).expect("fine");
    let state = machine.capture();
    machine.export(&state, OWNER).expect("a state that can leave")
}

/// With a checksum that fits.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.truncate(bytes.len() - 32);
    let checksum = blake3::hash(&bytes);
    bytes.extend_from_slice(checksum.as_bytes());
    bytes
}

#[test]
fn no_damaged_byte_goes_unnoticed() {
    let (exported, mut machine) = (exported(), elsewhere(&fixtures::growing()));
    machine.import(&exported, OWNER).expect("it is not damaged yet");
    for (at, flipped) in (0..exported.len()).flat_map(|at| [(at, 1), (at, 0x80)]) {
        let mut damaged = exported.clone();
        damaged[at] ^= flipped;
        refusal(machine.import(&damaged, OWNER));
    }
    for length in 0..exported.len() {
        refusal(machine.import(&exported[..length], OWNER));
    }
}

/// Forged bytes are refused, or are a state with the promised encoding from which the guest continues.
#[test]
fn forged_states_do_no_harm() {
    let (exported, mut machine) = (exported(), elsewhere(&fixtures::growing()));
    let state = machine.import(&exported, OWNER).expect("a state of this guest");
    machine.restore(Some(&state)).expect("an instance");
    let encoding = machine.serialize();
    let (mut refused, mut taken) = (0, 0);
    for (at, flipped) in (0..exported.len() - 32).flat_map(|at| [(at, 1), (at, 0x80)]) {
        let mut forged = exported.clone();
        forged[at] ^= flipped;
        match machine.import(&sealed(forged), OWNER) {
            Ok(state) => {
                machine.restore(Some(&state)).expect("an instance");
                assert_eq!(machine.serialize(), encoding, "byte {at}");
                taken += 1;
            }
            Err(TransferError::Refused(_)) => refused += 1,
            Err(error) => panic!("byte {at}: {error}"),
        }
    }
    assert!(refused > 2 * 124, "the header and the state: {refused}, {taken}");
    machine.import(&exported, OWNER).expect("the machine is as good as before");
}

#[test]
fn each_misfit_has_its_words() {
    let exported = exported();
    let mut machine = elsewhere(&fixtures::growing());
    let mut forged = |at: usize, bytes: &[u8]| {
        let mut forged = exported.clone();
        forged[at..at + bytes.len()].copy_from_slice(bytes);
        refusal(machine.import(&sealed(forged), OWNER))
    };
    assert_eq!(forged(0, b"hostpage"), "these bytes are no exported state");
    assert_eq!(forged(8, &[1]), "it is an exported state of version 1, and this build reads version 2");
    assert_eq!(
        forged(12, &[9]),
        format!(
            "it was captured after a rewriting of version 9, not {REWRITING}: memory may have another layout there"
        )
    );
    assert_eq!(forged(48, &[0; 32]), "the encoding of the state is not the one that it was exported with");
    assert_eq!(forged(120, &[7]), "it has 7 memories, and the component has 1");
    assert_eq!(forged(124, &[1]), "its memory 0 has 131073 bytes, which it can never have");
    assert_eq!(forged(124, &[0, 0, 0]), "its memory 0 has 0 bytes, which it can never have");
    assert_eq!(forged(128, &[0xff; 3]), "its memories are larger than the limit `memory` allows");
    // A granule behind the end of the memory, and a memory that is not there.
    assert_eq!(forged(132, &[255; 5]), "the exported state has an entry where none can be");
    assert_eq!(forged(138, &[200]), "the exported state has an entry where none can be");
    assert_eq!(refusal(machine.import(b"host", OWNER)), "these bytes are no exported state");
    let mut of = |owner| refusal(machine.import(&exported, owner));
    assert_eq!(of(StateOwner { nodes: 3, ..OWNER }), "it is a state in a cluster of 2 nodes, and this one has 3");
    assert_eq!(of(StateOwner { node: 0, ..OWNER }), "it is a state of node 1");
    assert_eq!(of(StateOwner { config: "votes=2\n", ..OWNER }), "it was exported with other parameters");
    let other = refusal(elsewhere(&fixtures::ping_pong()).import(&exported, OWNER));
    assert!(other.starts_with("it is a state of the component blake3:"), "{other}");
    let mut config = SandboxConfig::default();
    config.limits.memory_bytes = 1 << 16;
    let plugin = Plugin::load(&Sandbox::new(config, None).expect("an engine"), &fixtures::growing()).expect("a plugin");
    let small = refusal(plugin.machine().expect("an instance").import(&exported, OWNER));
    assert_eq!(small, "its memories are larger than the limit `memory` allows");
}

/// States that were exported before a change of the rewriting must not be read after it: if this fails, raise `REWRITING` along
/// with the digest, unless only the fixtures have changed.
#[test]
fn the_rewriting_is_the_one_of_its_version() {
    let mut hasher = blake3::Hasher::new();
    for (_, bytes) in well_behaved() {
        hasher.update(
            &rewrite(&bytes, &SandboxConfig { libraries: Libraries::None, ..SandboxConfig::default() }, &())
                .expect("a component that can be rewritten")
                .bytes,
        );
    }
    let digest = hasher.finalize().to_hex();
    assert_eq!((REWRITING, digest.as_str()), (1, "8a92c327b72044f033c440367f9353d0123756f7a9633410d4355c4349633a6a"));
}
