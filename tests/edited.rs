//! An edited line of Python, without another interpreter: the one that was prepared for the plugin is given its modules.

use std::path::Path;

use host_build::{BuildError, Built, Initialise, Options};
use host_model::contract::{Effects, Input, MachineFactory};
use host_sandbox::{Plugin, Sandbox, SandboxConfig};

use super::languages::{component, copy, folder, load, run, scenario};

const NAME: &str = "register-python";

/// The line with the majority, and another way to write it.
const LINE: &str = "return 1 if self.settings.bug == \"one-ack\" else self.nodes // 2 + 1";
const ALIKE: &str = "return self.nodes // 2 + 1 if self.settings.bug != \"one-ack\" else 1";

/// Builds with interpreters that are prepared.
fn build(folder: &Path) -> Result<Built, BuildError> {
    let initialise = Initialise::new(|component, program| {
        let sandbox = Sandbox::new(SandboxConfig::default(), host::default_cache()).expect("the engine starts");
        host_sandbox::initialised(&sandbox, component, program).ok()
    });
    host_build::build(
        folder,
        &Options { install: false, initialise: Some(initialise), ..Options::default() },
        &mut |_| (),
    )
}

fn edit(file: &Path, before: &str, after: &str) {
    let text = std::fs::read_to_string(file).expect("a file of the plugin");
    assert_eq!(text.matches(before).count(), 1, "{before}");
    std::fs::write(file, text.replace(before, after)).expect("a file of this test");
}

fn begins(built: &Built, words: &str) -> bool {
    built.steps.iter().any(|step| step.starts_with(words))
}

/// Bytes of the snapshots along a path: after `init`, and after the write begins.
fn snapshots(plugin: &Plugin) -> Vec<usize> {
    let mut machine = plugin.machine().expect("an instance");
    let mut effects = Effects::default();
    let mut sizes = Vec::new();
    machine.handle(Input::Init { node: 0, nodes: 3, config: "", durable: None }, &[], &mut effects).expect("no fault");
    sizes.push(machine.capture().bytes());
    let event = machine.local_events().expect("no fault").remove(0);
    machine.handle(Input::Local(&event), &[], &mut effects).expect("no fault");
    sizes.push(machine.capture().bytes());
    sizes
}

/// Both ways lead to the same states, verdicts and counts, to the last byte of an encoding; a mistake is told as by the other way.
#[test]
fn modules_that_come_later_are_the_same_plugin() {
    let Some(whole) = component(NAME) else { return };
    let whole = load(&whole, SandboxConfig::default());
    let place = tempfile::tempdir().expect("a temporary folder");
    copy(&folder(NAME), place.path());
    let first = build(place.path()).expect("it is built");
    assert!(begins(&first, "preparing") && !begins(&first, "compiling"), "{:?}", first.steps);

    let file = place.path().join("register.py");
    edit(&file, LINE, ALIKE);
    let edited = build(place.path()).expect("it is built");
    assert!(begins(&edited, "giving") && !begins(&edited, "preparing"), "{:?}", edited.steps);
    assert!(!begins(&edited, "compiling"), "{:?}", edited.steps);
    let plugin = load(&std::fs::read(&edited.wasm).expect("just built"), SandboxConfig::default());
    let cases: [(&[(&str, &str)], &str); 2] =
        [(&[("reads", "1")], "bdfs"), (&[("bug", "one-ack"), ("reads", "0")], "bdfs")];
    for (parameters, algo) in cases {
        let outcomes = [&whole, &plugin].map(|plugin| run(plugin, &scenario(parameters), algo).expect("it runs"));
        assert_eq!(outcomes[0], outcomes[1], "{parameters:?}");
    }
    let sizes = [&whole, &plugin].map(snapshots);
    for (whole, later) in sizes[0].iter().zip(&sizes[1]) {
        assert!(*later < 2 * whole, "{sizes:?}");
    }

    edit(&file, ALIKE, "return 1");
    let wrong = build(place.path()).expect("it is built");
    assert!(!begins(&wrong, "compiling"), "{:?}", wrong.steps);
    let plugin = load(&std::fs::read(&wrong.wasm).expect("just built"), SandboxConfig::default());
    let outcome = run(&plugin, &scenario(&[("reads", "0")]), "bdfs").expect("it runs");
    assert!(outcome.is_violated(), "{outcome:?}");

    edit(&file, "        return 1\n", "        return (1\n");
    match build(place.path()) {
        Err(BuildError::Compile { output, .. }) => {
            assert!(output.contains("SyntaxError") && output.contains("/0/register.py"), "{output}");
        }
        other => panic!("{other:?}"),
    }
}
