//! A component that begins with the memory of another one after `init`.

use host_model::contract::Input;

use crate::fixtures::{self, Guest};
use crate::rewrite::rewrite;
use crate::{InitialiseError, SandboxConfig, initialised};

use super::{machine, run, sandbox};

/// The configuration of `init` of node 0 of 0.
const TEXT: &str = "seven bytes and more";

/// The error for a component that changes more of a memory than its data.
const OTHERS: &str = "what a memory holds at the start is not the data of one module alone";

fn begun(guest: &Guest) -> Result<Vec<u8>, InitialiseError> {
    initialised(&sandbox(), &guest.component(), TEXT)
}

fn refusal(guest: &Guest) -> String {
    begun(guest).expect_err("a guest that is refused").to_string()
}

/// Adds a page in `init`, and writes the length of the text there; another `init` leaves both as they are.
fn grows() -> Guest {
    Guest {
        memory: "1 8".into(),
        init: "
            (if (i32.eq (memory.size) (i32.const 1)) (then
              (drop (memory.grow (i32.const 1)))
              (i32.store (i32.const 130000) (local.get $config_length))))
            (call $tagged (i32.const 0) (i32.const 0) (i32.const 0))"
            .into(),
        serialize: "
            (i32.store (i32.const 2176) (memory.size))
            (i32.store (i32.const 2180) (i32.load (i32.const 130000)))
            (i32.store (i32.const 2184) (i32.load (i32.const 1028)))
            (call $list (i32.const 2176) (i32.const 12))"
            .into(),
        ..Guest::default()
    }
}

#[test]
fn it_begins_where_the_other_one_is() {
    let init = Input::Init { node: 0, nodes: 0, config: TEXT, durable: None };
    let mut before = machine(&grows().component());
    run(&mut *before, init).expect("init is fine");
    let expected = before.serialize().expect("fine").to_vec();
    assert_eq!(expected[..8], [2, 0, 0, 0, TEXT.len() as u8, 0, 0, 0]);

    let bytes = begun(&grows()).expect("one memory");
    let mut after = machine(&bytes);
    after.restore(None).expect("an instance");
    assert_eq!(after.serialize().expect("fine"), expected);
    // It is initialised as a node like any other, starting from this memory.
    run(&mut *after, Input::Init { node: 1, nodes: 3, config: "", durable: None }).expect("init is fine");
    let state = after.serialize().expect("fine").to_vec();
    assert_eq!((&state[..8], state[8]), (&expected[..8], 3));
}

/// The library of an interpreter, and so its machine code, is that of the original component.
#[test]
fn all_else_is_the_same() {
    let before = fixtures::interpreted(1);
    let after = initialised(&sandbox(), &before, TEXT).expect("one memory");
    assert_ne!(before, after);
    let rewritten = [before, after].map(|bytes| rewrite(&bytes, &SandboxConfig::default(), &()).expect("a plugin"));
    assert_eq!(rewritten[0].libraries.len(), 1);
    assert_eq!(rewritten[0].libraries, rewritten[1].libraries);
    let functions =
        rewritten.each_ref().map(|one| one.modules.iter().map(|facts| facts.functions.len()).collect::<Vec<_>>());
    assert_eq!(functions[0], functions[1]);
}

#[test]
fn what_is_not_in_the_one_memory_is_refused() {
    let global = Guest {
        fields: "(global $written (mut i32) (i32.const 0))".into(),
        init: "
            (global.set $written (i32.add (global.get $written) (i32.const 1)))
            (call $tagged (i32.const 0) (i32.const 0) (i32.const 0))"
            .into(),
        ..Guest::default()
    };
    assert_eq!(refusal(&global), "`init` changes globals");
    let start =
        Guest { fields: "(start $begin) (func $begin (i32.store8 (i32.const 300) (i32.const 1)))".into(), ..grows() };
    assert_eq!(refusal(&start), OTHERS);
    let named = Guest {
        fields: r#"(data $named "abc") (func (memory.init $named (i32.const 0) (i32.const 0) (i32.const 1)))"#.into(),
        ..grows()
    };
    assert_eq!(refusal(&named), OTHERS);
    let several = Guest {
        fields: "(memory $second 1)".into(),
        init: "
            (i32.store8 (i32.const 300) (i32.const 1))
            (i32.store8 $second (i32.const 300) (i32.const 1))
            (call $tagged (i32.const 0) (i32.const 0) (i32.const 0))"
            .into(),
        ..Guest::default()
    };
    assert_eq!(refusal(&several), "`init` does not change one memory and no other");
    let chooses = Guest {
        init: "(drop (call $choose (i32.const 2))) (call $tagged (i32.const 0) (i32.const 0) (i32.const 0))".into(),
        ..Guest::default()
    };
    assert!(refusal(&chooses).contains("choose"), "{}", refusal(&chooses));
}

/// A start function is allowed if it leaves the memory after `init` as it is, and refused if it changes it.
#[test]
fn a_start_function_is_tried() {
    let begins = |begin: &str| Guest { fields: format!("(start $begin) (func $begin {begin})"), ..grows() };
    let bytes = begun(&begins("")).expect("it does nothing");
    assert_eq!(state(&bytes)[..8], state(&begun(&grows()).expect("one memory"))[..8]);
    let meddles =
        begins("(if (i32.gt_u (memory.size) (i32.const 1)) (then (i32.store8 (i32.const 130000) (i32.const 0))))");
    assert_eq!(refusal(&meddles), OTHERS);
}

/// The result of `serialize` in a fresh instance.
fn state(bytes: &[u8]) -> Vec<u8> {
    let mut machine = machine(bytes);
    machine.restore(None).expect("an instance");
    machine.serialize().expect("fine").clone()
}

/// Another memory, of a library inside, is not changed.
#[test]
fn other_memories_stay_as_they_are() {
    let bytes = initialised(&sandbox(), &fixtures::with_unused_library(grows()), TEXT).expect("one memory changes");
    assert_eq!(state(&bytes), state(&begun(&grows()).expect("one memory")));
}

#[test]
fn a_failing_init_is_reported() {
    let refuses = Guest {
        fields: r#"(data (i32.const 512) "no such program")"#.into(),
        init: "(call $tagged (i32.const 1) (i32.const 512) (i32.const 15))".into(),
        ..Guest::default()
    };
    assert_eq!(refusal(&refuses), "`init` refuses it: no such program");
    let traps = Guest { init: "(unreachable)".into(), ..Guest::default() };
    assert!(refusal(&traps).contains("unreachable"), "{}", refusal(&traps));
}
