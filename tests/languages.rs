//! One protocol in many languages: the same states, to the last byte, for guests in any language.
//!
//! A language whose toolchain is not installed is skipped, and the output says so; `host build plugins/register-<language>`
//! installs it. `HOST_LANGUAGES=all cargo test -p host-tests languages` installs all, and runs those of the community, too.

use std::io::Write;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{LazyLock, Mutex};

use host_build::{BuildError, Options, TOOLCHAINS, Tier};
use host_model::contract::fingerprint::Fingerprint;
use host_model::contract::{
    Choice, Effects, FaultKind, Input, Likelihood, LocalEvent, LocalKind, MachineFactory, Snapshot,
};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::trace::start;
use host_sandbox::{Plugin, Sabotage, Sandbox, SandboxConfig};
use host_search::kernel::{Counts, EndCondition, Monitor, Report, Search, SearchBounds, Unmonitored};
use host_search::strategy;

use host_agreement::stopping::Stopping;

/// The folders with the register, the yardstick first.
const LANGUAGES: [&str; 9] = [
    "register",
    "register-assemblyscript",
    "register-c",
    "register-cpp",
    "register-go",
    "register-python",
    "register-text",
    "register-typescript",
    "register-zig",
];

/// Those that are tested only on request.
const COMMUNITY: [&str; 3] = ["register-assemblyscript", "register-cpp", "register-zig"];

pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins").join(name)
}

/// Says that something is skipped, also where the output of tests is kept back.
pub(crate) fn skipped(name: &str, why: &dyn std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "skipped {name}: {why}");
}

/// Whether community languages are requested too, and slow tests of the others.
pub(crate) fn all_languages() -> bool {
    std::env::var_os("HOST_LANGUAGES").is_some_and(|value| value == "all")
}

/// Builds a plugin; none if its toolchain is missing, which is reported.
pub(crate) fn component(name: &str) -> Option<Vec<u8>> {
    let all = all_languages();
    if COMMUNITY.contains(&name) && !all {
        skipped(name, &"it is a language of the community; HOST_LANGUAGES=all runs it");
        return None;
    }
    built(name, &folder(name), all || name == "register")
}

pub(crate) fn built(name: &str, folder: &Path, install: bool) -> Option<Vec<u8>> {
    let options = Options { install, ..Options::default() };
    match host_build::build(folder, &options, &mut |_| ()) {
        Ok(built) => Some(std::fs::read(built.wasm).expect("the component was just built")),
        Err(error @ BuildError::NoTool { .. }) => {
            skipped(name, &error);
            None
        }
        Err(error) => panic!("{name}: {error}"),
    }
}

pub(crate) fn load(component: &[u8], config: SandboxConfig) -> Plugin {
    // Machine code of an interpreter takes long to make, and several tests load it, as do those of the command line.
    static CACHE: LazyLock<Option<PathBuf>> = LazyLock::new(host::default_cache);
    // One after the other, so that the second test finds in the cache what the first one compiles.
    static LOADING: Mutex<()> = Mutex::new(());
    let _loading = LOADING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let sandbox = Sandbox::new(config, CACHE.clone()).expect("the engine starts");
    Plugin::load(&sandbox, component).expect("the plugin loads")
}

pub(crate) fn scenario(parameters: &[(&str, &str)]) -> Scenario {
    let parameters = parameters.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario { parameters, ..Scenario::new(3) }
}

/// The result of a run: end, counts, violated properties and the encodings of all local states, sorted by content.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    end: EndCondition,
    counts: Counts,
    violated: Vec<String>,
    local_states: Vec<Fingerprint>,
}

impl Outcome {
    pub(crate) fn is_violated(&self) -> bool {
        !self.violated.is_empty()
    }
}

pub(crate) fn run(plugin: &Plugin, scenario: &Scenario, algo: &str) -> Result<Outcome, String> {
    run_watched(plugin, scenario, algo, &Unmonitored)
}

fn run_watched(
    plugin: &Plugin,
    scenario: &Scenario,
    algo: &str,
    monitor: &(dyn Monitor + Sync),
) -> Result<Outcome, String> {
    let lts = Lts::new(plugin, scenario.clone()).map_err(|error| error.to_string())?;
    let mut stepper = Stepper::new(&lts).map_err(|error| error.to_string())?;
    let starts = start::initial(&mut stepper).map_err(|error| error.to_string())?;
    let limits = SearchBounds { states: Some(200_000), ..SearchBounds::default() };
    let search = Search { lts: &lts, starts: &starts, bounds: limits, monitor, collect_system_states: true };
    let strategy = strategy::find(algo).expect("a strategy");
    let report: Report = (strategy.run)(&search).map_err(|error| error.to_string())?;
    let states = report.system_states.iter().flatten().flatten();
    let mut local_states: Vec<Fingerprint> = states.map(|id| lts.state(*id).fingerprint).collect();
    local_states.sort_unstable();
    local_states.dedup();
    let violated = report.violations.iter().map(|found| format!("{:?} at {:?}", found.judgement, found.node)).collect();
    Ok(Outcome { end: report.end, counts: report.counts, violated, local_states })
}

/// The yardstick has counts of its own, which native exploration confirms in plugins/register; here the others are compared with
/// it. Fingerprints are hashes of the encodings, so equal ones mean equal bytes.
/// The table of toolchains agrees with the documents, with the languages that the tests skip, and with those that `.ci/run` builds.
#[test]
fn maintained_languages_are_those_that_each_change_is_tested_with() {
    let text = |path: &str| std::fs::read_to_string(folder(path)).expect("the file is there");
    let (document, tier_of_all) = (text("../docs/languages.md"), text("../.ci/run"));
    let built = tier_of_all.lines().find_map(|line| line.strip_prefix("for language in ")?.strip_suffix("; do"));
    let built: Vec<&str> = built.expect("`.ci/run` builds languages").split(' ').collect();
    for row in TOOLCHAINS.iter().filter(|row| row.name != "command") {
        // The name of a folder, where one is not that of its toolchain.
        let name = if row.name == "javascript" { "typescript" } else { row.name };
        let is_maintained = row.tier == Tier::Maintained;
        let here = format!("register-{name}");
        assert_eq!(COMMUNITY.contains(&here.as_str()), !is_maintained, "{name}");
        // Those without a toolchain are built by the tests that need them.
        let is_built = built.contains(&name) || (is_maintained && ["rust", "text"].contains(&name));
        assert_eq!(is_built, is_maintained, "{name} in .ci/run");
        let told = document.lines().find(|line| line.starts_with('|') && line.contains(&format!("plugins/{here}")));
        let told = told.or_else(|| document.lines().find(|line| line.starts_with("| Rust |")));
        let told = told.unwrap_or_else(|| panic!("{name} is in the table of docs/languages.md"));
        assert!(told.contains(&format!("| {} |", row.tier.name())), "{name}: {told}");
    }
}

#[test]
fn every_language_reaches_the_same_states_and_finds_the_same_bugs() {
    let cases: [(&[(&str, &str)], &str); 3] = [
        (&[("reads", "1")], "bdfs"),
        (&[("bug", "no-write-back")], "lmc"),
        (&[("bug", "one-ack"), ("reads", "0")], "bdfs"),
    ];
    let yardstick = load(&component(LANGUAGES[0]).expect("Rust is there"), SandboxConfig::default());
    let expected: Vec<Outcome> = cases
        .iter()
        .map(|(parameters, algo)| run(&yardstick, &scenario(parameters), algo).expect("the yardstick runs"))
        .collect();
    assert!(expected[0].violated.is_empty() && expected[0].local_states.len() > 10, "{:?}", expected[0]);
    assert!(expected[1..].iter().all(|outcome| !outcome.violated.is_empty()));
    for name in &LANGUAGES[1..] {
        let Some(component) = component(name) else { continue };
        let plugin = load(&component, SandboxConfig::default());
        for ((parameters, algo), expected) in cases.iter().zip(&expected) {
            let outcome = run(&plugin, &scenario(parameters), algo).expect("the plugin runs");
            assert_eq!(&outcome, expected, "{name} {parameters:?} {algo}");
        }
    }
}

/// Nothing that a register can read, as a message and as a view: where a handler or an invariant fails, it traps, and never answers.
#[test]
fn a_failure_is_a_trap_in_every_language() {
    const BROKEN: &[u8] = b"{";
    for name in LANGUAGES {
        let Some(component) = component(name) else { continue };
        let plugin = load(&component, SandboxConfig::default());
        let mut machine = plugin.machine().expect("an instance");
        let mut effects = Effects::default();
        let init = Input::Init { node: 0, nodes: 3, config: "", durable: None };
        machine.handle(init, &[], &mut effects).expect("no fault");
        let message = Input::Message { src: 0, payload: BROKEN };
        let fault = machine.handle(message, &[], &mut effects).expect_err(name);
        assert_eq!(fault.kind, FaultKind::Trap, "{name}: {fault}");
        // A number that is missing in a view is 0 in C++.
        if name == "register-cpp" {
            continue;
        }
        machine.restore(None).expect("an instance");
        let fault = machine.invariant(1, &[Some(BROKEN), None, None]).expect_err(name);
        assert_eq!(fault.kind, FaultKind::Trap, "{name}: {fault}");
    }
}

/// A line added to the register in a language: the handler of local events first draws with the weights 1 and 9, and then asks whether
/// a message to node 2 can be sent. The text has its imports in the open. Languages with a probe in `sdk` are asked there.
struct Asking {
    name: &'static str,
    file: &'static str,
    /// The original lines, and the lines to insert behind them.
    lines: &'static [(&'static str, &'static str)],
}

const ASKING: [Asking; 4] = [
    Asking {
        name: "register-assemblyscript",
        file: "assembly/register.ts",
        lines: &[
            ("import * as json from \"./json\";\n", "import { canSend, chooseWeighted } from \"./abi\";\n"),
            (
                "export function handleLocal(event: LocalEvent): Envelope[] {\n",
                "  if (chooseWeighted([1, 9]) == 1 || !canSend(2)) return [];\n",
            ),
        ],
    },
    Asking {
        name: "register-c",
        file: "register.c",
        lines: &[
            (
                "void exports_node_handle_local(exports_node_local_event_t *event, exports_node_list_envelope_t *ret) {\n",
                "    plugin_list_u32_t weights = {(uint32_t[]){1, 9}, 2};\n\
                 if (odds_choose_weighted(&weights) == 1 || !environment_can_send(2)) {\n\
                 flush(ret);\n\
                 return;\n\
                 }\n",
            ),
            (
                "// ---- what people are told; optional\n",
                "void exports_events_describe_local(exports_events_local_event_t *event, plugin_string_t *ret) {\n\
                 plugin_string_dup(ret, event->payload.len == 2 ? \"{\\\"waiter\\\":5}\" : \"\\\"no event\\\"\");\n\
                 exports_events_local_event_free(event);\n\
                 }\n",
            ),
        ],
    },
    Asking {
        name: "register-cpp",
        file: "register.cpp",
        lines: &[(
            "    host::Envelopes happen(const host::LocalEvent &event) {\n",
            "        if (host::choose_weighted({1, 9}) == 1 || !host::can_send(2)) return {};\n",
        )],
    },
    Asking {
        name: "register-zig",
        file: "src/register.zig",
        lines: &[(
            "    pub fn happen(register: *Register, ctx: *Context, event: host.LocalEvent) !void {\n",
            "        if (host.chooseWeighted(&.{ 1, 9 }) == 1 or !host.canSend(2)) return;\n",
        )],
    },
];

#[test]
fn languages_without_a_probe_can_weigh_and_ask_whether_a_message_can_be_sent() {
    let all = all_languages();
    for Asking { name, file, lines } in ASKING {
        if COMMUNITY.contains(&name) && !all {
            skipped(name, &"it is a language of the community; HOST_LANGUAGES=all runs it");
            continue;
        }
        let place = tempfile::tempdir().expect("a temporary folder");
        copy(&folder(name), place.path());
        let mut text = std::fs::read_to_string(place.path().join(file)).expect("the file is there");
        for (before, added) in lines {
            assert!(text.contains(before), "{name}: no {before:?} in {file}");
            text = text.replacen(before, &format!("{before}{added}"), 1);
        }
        std::fs::write(place.path().join(file), text).expect("a file of this test");
        let Some(component) = built(name, place.path(), all) else { continue };
        let plugin = load(&component, SandboxConfig::default());
        let mut machine = plugin.machine().expect("an instance");
        let expire = LocalEvent { name: "expire".into(), kind: LocalKind::Timer, payload: vec![1, 5] };
        let described = machine.describe_local(&expire).expect("no fault");
        assert_eq!(described.as_deref(), (name == "register-c").then_some("{\"waiter\":5}"), "{name}");
        // In a cluster of 3, node 0 writes, and a write goes to every node. A walk draws the answers of `can-send` evenly.
        let drawn = Likelihood::CERTAIN.and(1, 10).and(1, 2);
        let cases = [
            (&[][..], vec![Choice::among(2, 0), Choice::sending(2, 0)], drawn, 3),
            (&[0, 1][..], vec![Choice::among(2, 0), Choice::sending(2, 1)], drawn, 0),
            (&[1][..], vec![Choice::among(2, 1)], Likelihood::CERTAIN.and(9, 10), 0),
        ];
        for (script, choices, likelihood, sent) in cases {
            machine.restore(None).expect("an instance");
            let mut effects = Effects::default();
            let init = Input::Init { node: 0, nodes: 3, config: "", durable: None };
            machine.handle(init, &[], &mut effects).expect("no fault");
            let event = machine.local_events().expect("no fault").remove(0);
            machine.handle(Input::Local(&event), script, &mut effects).expect("no fault");
            assert_eq!((effects.choices, effects.likelihood), (choices, likelihood), "{name} {script:?}");
            assert_eq!(effects.sent.len(), sent, "{name} {script:?}");
        }
    }
}

/// Copies the sources of a plugin.
/// Copies a folder of sources. Where its SDK comes from by a relative path, the copy has the whole path.
pub(crate) fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("a folder") {
        let path = entry.expect("readable").path();
        let to = to.join(path.file_name().expect("an entry has a name"));
        if path.ends_with("host.toml") {
            let manifest = std::fs::read_to_string(&path).expect("a manifest is text");
            let sdk = folder("../guest-sdk").canonicalize().expect("the SDKs are there");
            let manifest = manifest.replace("../../guest-sdk", sdk.to_str().expect("the tree lies at a path of text"));
            std::fs::write(to, manifest).expect("a file can be copied");
        } else if !path.is_dir() {
            std::fs::copy(&path, to).expect("a file can be copied");
        } else if !path.ends_with("target") && !path.ends_with("node_modules") {
            std::fs::create_dir(&to).expect("a new folder");
            copy(&path, &to);
        }
    }
}

/// AssemblyScript keeps its variables, and the roots of its allocator, in globals. A snapshot without them mixes up states.
#[test]
fn snapshots_without_globals_are_noticed() {
    let Some(component) = component("register-assemblyscript") else { return };
    let parameters = scenario(&[("reads", "1")]);
    let sound = run(&load(&component, SandboxConfig::default()), &parameters, "bdfs");
    let sabotage = SandboxConfig { sabotage: Sabotage::SkipGlobals, ..SandboxConfig::default() };
    let unsound = run(&load(&component, sabotage), &parameters, "bdfs");
    assert!(sound.is_ok());
    assert_ne!(sound, unsound);
}

/// State in globals alone, memory that grows while the protocol runs: the same with one worker, with two, and in a search that is
/// stopped after every wave and continues from its checkpoint in fresh instances. `snapshots_without_globals_are_noticed` shows
/// that this would fail.
#[test]
fn globals_and_growing_memory_survive_workers_and_checkpoints() {
    let parameters = scenario(&[("reads", "1")]);
    for name in ["register-assemblyscript", "register-text", "register-typescript", "register-zig", "register-go"] {
        let Some(component) = component(name) else { continue };
        let plugin = load(&component, SandboxConfig::default());
        let with = |workers: usize, monitor: &(dyn Monitor + Sync)| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().expect("threads can be started");
            pool.install(|| run_watched(&plugin, &parameters, "bdfs", monitor)).expect("the plugin runs")
        };
        let one = with(1, &Unmonitored);
        assert_eq!(one.end, EndCondition::SpaceExhausted, "{name}");
        assert_eq!(with(2, &Unmonitored), one, "{name}");
        let keeper = Stopping::default();
        let mut pieces = 0;
        let last = loop {
            pieces += 1;
            keeper.checks_left.store(1, Ordering::Relaxed);
            let outcome = with(2, &keeper);
            if outcome.end != EndCondition::Interrupted {
                break outcome;
            }
        };
        assert!(pieces > 3, "{name}: {pieces} pieces say little");
        assert_eq!((last.end, last.counts), (one.end, one.counts), "{name} in {pieces} pieces");
    }
}

/// Languages that collect garbage: a long run of a cluster, twice, takes the same course to the last byte, and the contents of a snapshot
/// takes stays bounded. `HOST_SOAK_STEPS=1000000` makes it long.
#[test]
#[expect(clippy::print_stdout, reason = "of a long run one wants to see where it is, and what snapshots take")]
fn garbage_does_not_add_up() {
    let steps = std::env::var("HOST_SOAK_STEPS").ok().and_then(|steps| steps.parse().ok()).unwrap_or(3_000);
    for name in ["register-typescript", "register-python", "register-assemblyscript", "register-go"] {
        let Some(component) = component(name) else { continue };
        let plugin = load(&component, SandboxConfig::default());
        let (digest, [first, second]) = long_run(&plugin, steps);
        assert_eq!(long_run(&plugin, steps).0, digest, "{name}");
        println!("{name}: {steps} steps twice, snapshots of at most {first} and {second} bytes in the halves of a run");
        assert!(second < 2 * first, "{name}: snapshots of up to {first} bytes became {second}");
    }
}

/// A collector runs when it likes, and so does the scheduler that goes with it: calls without a snapshot in between, as many as a
/// heap needs to settle.
#[test]
fn a_collector_that_polls_does_not_wait() {
    let Some(component) = component("register-go") else { return };
    let plugin = load(&component, SandboxConfig::default());
    let mut machine = plugin.machine().expect("an instance");
    let mut effects = Effects::default();
    machine.restore(None).expect("an instance");
    machine.handle(Input::Init { node: 2, nodes: 3, config: "", durable: None }, &[], &mut effects).expect("no fault");
    for call in 0..5_000 {
        let query = Input::Message { src: 2, payload: br#"{"kind":"query","op":1}"# };
        machine.handle(query, &[], &mut effects).unwrap_or_else(|fault| panic!("call {call}: {fault}"));
    }
}

/// Writes and reads one after the other, for this many steps, each from a snapshot; restarts when nothing is left to do. Returns a
/// digest of all that was sent and of all states, and the largest snapshots of both halves, in bytes.
fn long_run(plugin: &Plugin, steps: u64) -> (u64, [usize; 2]) {
    const NODES: u32 = 3;
    const CONFIG: &str = "reads=60\nwrites=60\n";
    let mut machine = plugin.machine().expect("an instance");
    let mut hasher = DefaultHasher::new();
    let mut largest = [0; 2];
    let mut effects = Effects::default();
    let mut nodes: Vec<(Snapshot, Vec<LocalEvent>)> = Vec::new();
    let mut in_flight = std::collections::VecDeque::new();
    for step in 0..steps {
        let due = nodes.iter().position(|(_, local_events)| !local_events.is_empty());
        let delivery: Option<(u32, u32, Vec<u8>)> = in_flight.pop_front();
        let (at, from) = match (&delivery, due) {
            _ if nodes.len() < NODES as usize => (nodes.len() as u32, None),
            (Some((_, to, _)), _) => (*to, Some(nodes[*to as usize].clone())),
            (None, Some(at)) => (at as u32, Some(nodes[at].clone())),
            (None, None) => {
                nodes.clear();
                (0, None)
            }
        };
        machine.restore(from.as_ref().map(|(snapshot, _)| snapshot)).expect("an instance");
        let input = match (&from, &delivery) {
            (None, _) => Input::Init { node: at, nodes: NODES, config: CONFIG, durable: None },
            (Some(_), Some((src, _, payload))) => Input::Message { src: *src, payload },
            (Some((_, local_events)), None) => Input::Local(&local_events[0]),
        };
        machine.handle(input, &[], &mut effects).expect("no fault");
        let local_events = machine.local_events().expect("no fault");
        (at, machine.serialize().expect("no fault"), &effects.sent).hash(&mut hasher);
        in_flight.extend(effects.sent.drain(..).map(|envelope| (at, envelope.to, envelope.payload)));
        let snapshot = machine.capture();
        let half = &mut largest[usize::from(step >= steps / 2)];
        *half = (*half).max(snapshot.bytes());
        match nodes.get_mut(at as usize) {
            Some(node) => *node = (snapshot, local_events),
            None => nodes.push((snapshot, local_events)),
        }
    }
    (hasher.finish(), largest)
}

/// The whole memory is compared with the tracked parts, at every capture.
#[test]
fn tracking_misses_no_write_in_any_language() {
    for name in LANGUAGES {
        let Some(component) = component(name) else { continue };
        let config = SandboxConfig { verify_capture: true, ..SandboxConfig::default() };
        let outcome = run(&load(&component, config), &scenario(&[("reads", "1")]), "lmc").expect("the plugin runs");
        assert_eq!(outcome.end, EndCondition::SpaceExhausted, "{name}");
    }
}
