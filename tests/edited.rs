//! An edited line of Python or TypeScript, without another interpreter: the one that was prepared for the plugin is given its text.

use std::path::{Path, PathBuf};

use host_build::{BuildError, Built, Initialise, Options};
use host_model::contract::{Effects, Input, MachineFactory};
use host_sandbox::{Plugin, Sandbox, SandboxConfig};

use super::languages::{all_languages, copy, folder, load, run, scenario, skipped};

/// A plugin and edits of it.
struct Edits {
    plugin: &'static str,
    /// The folder in which the toolchain keeps its prepared files.
    prepared: &'static str,
    file: &'static str,
    /// The line with the majority, another way to write it, and a wrong one.
    line: &'static str,
    alike: &'static str,
    wrong: &'static str,
    /// A line that is no program, instead of the wrong line, and the words of its compiler.
    broken: &'static str,
    words: [&'static str; 2],
    /// The host's report of an unreadable message: the exception, and its place.
    failure: [&'static str; 2],
}

const PYTHON: Edits = Edits {
    plugin: "register-python",
    prepared: "target/guests/python/register-python/base",
    file: "register.py",
    line: "return 1 if self.settings.bug == \"one-ack\" else self.nodes // 2 + 1",
    alike: "return self.nodes // 2 + 1 if self.settings.bug != \"one-ack\" else 1",
    wrong: "return 1\n",
    broken: "return (1\n",
    words: ["SyntaxError", "/0/register.py"],
    failure: ["(panic: JSONDecodeError: ", " (host/encoding.py:20))"],
};

const TYPESCRIPT: Edits = Edits {
    plugin: "register-typescript",
    prepared: "target/guests/javascript/register-typescript/base",
    file: "src/register.ts",
    line: "return this.settings.bug === \"one-ack\" ? 1 : Math.floor(this.nodes / 2) + 1;",
    alike: "return this.settings.bug !== \"one-ack\" ? Math.floor(this.nodes / 2) + 1 : 1;",
    wrong: "return 1;\n",
    broken: "return (1;\n",
    words: ["Expected \")\"", "register.ts"],
    failure: ["(panic: SyntaxError: ", " (src/host/json.ts:21))"],
};

/// Builds a plugin, with an interpreter that is prepared or as a whole; none if its toolchain is not there.
fn build(folder: &Path, is_whole: bool) -> Result<Option<Built>, BuildError> {
    let initialise = Initialise::new(|component, program| {
        let sandbox = Sandbox::new(SandboxConfig::default(), host::default_cache()).expect("the engine starts");
        host_sandbox::initialised(&sandbox, component, program).ok()
    });
    let options = Options { install: false, initialise: (!is_whole).then_some(initialise), ..Options::default() };
    match host_build::build(folder, &options, &mut |_| ()) {
        Err(BuildError::NoTool { .. }) => Ok(None),
        result => result.map(Some),
    }
}

fn plugin(built: &Built) -> Plugin {
    load(&std::fs::read(&built.wasm).expect("just built"), SandboxConfig::default())
}

/// A copy of the plugin in a folder, with its prepared files, if any.
fn copied(edits: &Edits, place: &Path) -> PathBuf {
    let (from, to) = (folder(edits.plugin), place.join(edits.plugin));
    std::fs::create_dir(&to).expect("a new folder");
    copy(&from, &to);
    if from.join(edits.prepared).is_dir() {
        std::fs::create_dir_all(to.join(edits.prepared)).expect("a new folder");
        copy(&from.join(edits.prepared), &to.join(edits.prepared));
    }
    to
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

/// The report of an unreadable message.
fn failure(plugin: &Plugin) -> String {
    let mut machine = plugin.machine().expect("an instance");
    let mut effects = Effects::default();
    machine.handle(Input::Init { node: 0, nodes: 3, config: "", durable: None }, &[], &mut effects).expect("no fault");
    let message = Input::Message { src: 0, payload: b"{" };
    machine.handle(message, &[], &mut effects).expect_err("it is no JSON").message
}

/// Both ways lead to the same states, verdicts and counts, to the last byte of an encoding, and report mistakes in the same way.
fn is_the_same_plugin(edits: &Edits) {
    let place = tempfile::tempdir().expect("a temporary folder");
    let later = copied(edits, place.path());
    let Some(first) = build(&later, false).expect("it is built") else {
        return skipped(edits.plugin, &"there is no toolchain");
    };
    assert!(begins(&first, "giving") && !begins(&first, "compiling"), "{:?}", first.steps);
    let whole = place.path().join("whole");
    std::fs::create_dir(&whole).expect("a new folder");
    copy(&folder(edits.plugin), &whole);
    let whole = build(&whole, true).expect("it is built").expect("it was there");
    assert!(begins(&whole, "compiling"), "{:?}", whole.steps);
    let whole = plugin(&whole);

    let file = later.join(edits.file);
    edit(&file, edits.line, edits.alike);
    let again = || build(&later, false).map(|built| built.expect("the toolchain is there"));
    let edited = again().expect("it is built");
    assert!(begins(&edited, "giving") && !begins(&edited, "preparing"), "{:?}", edited.steps);
    assert!(!begins(&edited, "compiling"), "{:?}", edited.steps);
    let edited = plugin(&edited);
    let cases: [&[(&str, &str)]; 2] = [&[("reads", "1")], &[("bug", "one-ack"), ("reads", "0")]];
    for parameters in cases {
        let outcomes = [&whole, &edited].map(|plugin| run(plugin, &scenario(parameters), "bdfs").expect("it runs"));
        assert_eq!(outcomes[0], outcomes[1], "{parameters:?}");
    }
    for failure in [&whole, &edited].map(failure) {
        let [error, place] = edits.failure;
        assert!(failure.contains(error) && failure.ends_with(place), "{failure}");
    }
    let sizes = [&whole, &edited].map(snapshots);
    for (whole, later) in sizes[0].iter().zip(&sizes[1]) {
        assert!(*later < 2 * whole, "{sizes:?}");
    }

    edit(&file, &format!("{}\n", edits.alike), edits.wrong);
    let wrong = again().expect("it is built");
    assert!(!begins(&wrong, "compiling"), "{:?}", wrong.steps);
    let outcome = run(&plugin(&wrong), &scenario(&[("reads", "0")]), "bdfs").expect("it runs");
    assert!(outcome.is_violated(), "{outcome:?}");

    edit(&file, &format!("  {}", edits.wrong), &format!("  {}", edits.broken));
    match again() {
        Err(BuildError::Compile { output, .. }) => {
            assert!(edits.words.iter().all(|word| output.contains(word)), "{output}");
        }
        other => panic!("{other:?}"),
    }
}

/// To build it as a whole takes half a minute of processor time.
#[test]
fn modules_of_python_that_come_later_are_the_same_plugin() {
    if !all_languages() {
        return skipped(PYTHON.plugin, &"HOST_LANGUAGES=all builds it in both ways");
    }
    is_the_same_plugin(&PYTHON);
}

#[test]
fn text_of_typescript_that_comes_later_is_the_same_plugin() {
    is_the_same_plugin(&TYPESCRIPT);
}

/// Text that means something else inside a function, or that acts too early, is built as a whole.
#[test]
fn text_of_typescript_that_would_notice_is_built_as_a_whole() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let folder = copied(&TYPESCRIPT, place.path());
    let file = folder.join(TYPESCRIPT.file);
    edit(&file, TYPESCRIPT.line, &format!("if (typeof module === \"undefined\") {}", TYPESCRIPT.line));
    let Some(built) = build(&folder, false).expect("it is built") else { return };
    assert!(begins(&built, "compiling") && !begins(&built, "giving"), "{:?}", built.steps);
    let text = std::fs::read_to_string(&file).expect("a file of this test");
    let chooses = "import { choose } from \"host:protocol/environment@0.1.0\";\nchoose(2);\n";
    std::fs::write(&file, format!("{chooses}{}", text.replace("typeof module", "typeof nothing"))).expect("a file");
    let Err(BuildError::Compile { output, .. }) = build(&folder, false) else {
        panic!("there is nothing to choose yet")
    };
    assert!(!output.is_empty());
}
