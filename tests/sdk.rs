//! The SDKs of Python, Go and TypeScript against that of Rust: parameters, timers, clocks and histories of clients.
//!
//! A plugin per language, in `tests/sdk`, executes a script in `init` and has its results as its state. The same scripts are
//! executed by the Rust SDK, natively. Verdicts on histories are compared with all orders besides, one by one. The same plugin is
//! a store that clients ask.
//!
//! | module | what it holds |
//! |---|---|
//! | `native` | the tests of the SDKs in their own languages |
//! | `orders` | histories in scripts, judged by trying all orders |
//! | `store` | a store with clients, by the Rust SDK, compared with the stores of the others |

mod native;
mod orders;
pub mod store;

use std::path::Path;
use std::sync::LazyLock;

use guest_sdk::linearizability::{Client, History, Log, LogCall, LogReturn, NotLinearizable};
use guest_sdk::linearizability::{Register, RegisterCall, RegisterReturn};
use guest_sdk::test::Cluster;
use guest_sdk::{About, Clock, Context, LocalEvents, Never, NodeId, ParameterError, Parameters, Properties, Protocol};
use guest_sdk::{TimedTimers, Timers};
use host_model::contract::{Choice, Effects, Input, Likelihood, LocalEvent, LocalKind, MachineFactory};
use host_model::toys;
use host_sandbox::SandboxConfig;
use serde_json::{Map, Value, json};

use orders::{explains, is_linearizable, on_log, on_register, spans};

use crate::languages::{all_languages, built, copy, load};

/// A language: its register, the folder of the SDK in the probe, and the other files of the probe.
type Language = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// The languages and where their SDK lies in the probe.
const PROBES: [Language; 3] = [
    ("register-python", "host", &[("app.py", include_str!("sdk/app.py")), ("store.py", include_str!("sdk/store.py"))]),
    (
        "register-go",
        "host",
        &[
            ("main.go", include_str!("sdk/main.go")),
            ("store.go", include_str!("sdk/store.go")),
            ("go.mod", "module probe\n\ngo 1.24\n"),
        ],
    ),
    (
        "register-typescript",
        "src/host",
        &[
            ("src/index.ts", include_str!("sdk/index.ts")),
            ("src/store.ts", include_str!("sdk/store.ts")),
            ("package.json", "{\"name\": \"probe\"}\n"),
        ],
    ),
];

/// A probe in the Rust SDK that executes a script.
struct Probe {
    script: String,
}

impl Protocol for Probe {
    const ABOUT: About = guest_sdk::about!().nodes(1);
    type State = String;
    type Message = Never;
    type Local = Never;
    type Durable = Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let script = parameters.get("script", "[]".to_owned(), "the operations to execute")?;
        parameters.get("retries", 3, "how often")?;
        parameters.choice("mode", &[("safe", ()), ("fast", ())], "what to prefer")?;
        parameters.get("give-up", false, "whether to give up")?;
        store::Store::configure(parameters)?;
        Ok(Self { script })
    }

    fn init(&self, ctx: &mut Context<Never>, _: Option<Never>) -> String {
        let script: Vec<Vec<Value>> = serde_json::from_str(&self.script).expect("a script");
        executed(&script, ctx).to_string()
    }

    fn handle_message(&self, _: &mut Context<Never>, _: &mut String, _: NodeId, message: Never) {
        match message {}
    }

    fn properties(_: &mut Properties<Self>) {}
}

type Operations = History<RegisterCall<u64>, RegisterReturn<u64>>;

/// The state of the Rust SDK while it executes a script.
#[derive(Default)]
struct Bench {
    clock: Clock<String>,
    timed: TimedTimers<String>,
    timers: Timers<String>,
    register: Operations,
    clients: Vec<Client<RegisterCall<u64>, RegisterReturn<u64>>>,
    log: History<LogCall<u64>, LogReturn<u64>>,
    said: Vec<Value>,
}

fn executed(script: &[Vec<Value>], ctx: &mut Context<Never>) -> Value {
    let mut bench = Bench { clients: (0..3).map(Client::new).collect(), ..Bench::default() };
    for operation in script {
        let name = operation[0].as_str().expect("a name");
        bench.keep_time(name, &operation[1..], ctx);
        bench.keep_history(name, &operation[1..]);
    }
    let together = History::of((0..).zip(bench.clients.iter().map(|client| client.operations().to_vec())));
    json!({
        "after": after(&bench.register),
        "after-together": after(&together),
        "clock": bench.clock,
        "log": verdict(bench.log.linearize(&Log::default())),
        "register": verdict(bench.register.linearize(&Register(0))),
        "said": bench.said,
        "timed": bench.timed,
        "timers": bench.timers,
        "together": verdict(together.linearize(&Register(0))),
    })
}

impl Bench {
    /// Clocks and timers.
    fn keep_time(&mut self, name: &str, rest: &[Value], ctx: &mut Context<Never>) {
        let text = |place: usize| rest[place].as_str().expect("a name").to_owned();
        let number = |place: usize| rest[place].as_u64().expect("a number") as u32;
        match name {
            "read" => self.clock.read(text(0)),
            "forget" => self.said.push(self.clock.forget(&text(0)).into()),
            "passed" => self.said.push(self.clock.has_passed(ctx, &text(0), number(1)).into()),
            "later" => self.said.push(self.clock.is_later(ctx, &text(0), &text(1), number(2)).into()),
            "arm" => self.timed.set(text(0), number(1)),
            "disarm" => self.said.push(self.timed.cancel(&text(0)).into()),
            "fire" => {
                let due = due(&self.timed);
                if !due.is_empty() {
                    self.timed.fired(&due[number(0) as usize % due.len()]);
                }
                self.said.push(json!(due));
            }
            "set" => drop(self.timers.set(text(0))),
            "cancel" => self.said.push(self.timers.cancel(&text(0)).into()),
            "fired" => self.timers.fired(&text(0)),
            _ => {}
        }
    }

    /// Calls and returns.
    fn keep_history(&mut self, name: &str, rest: &[Value]) {
        let client = rest[0].as_u64().unwrap_or_default() as u32;
        let value = || rest[1].as_u64().expect("a number");
        match name {
            "call-list" => self.log.call(client, LogCall::Read),
            "call-append" => self.log.call(client, LogCall::Append(value())),
            "return-appended" => self.log.returned(client, LogReturn::Appended(value() as u32)),
            "return-entries" => {
                let entries = rest[1].as_array().expect("a list").iter().map(|one| one.as_u64().expect("a number"));
                self.log.returned(client, LogReturn::Entries(entries.collect()));
            }
            "call-read" => self.called(client, RegisterCall::Read),
            "call-write" => self.called(client, RegisterCall::Write(value())),
            "return-value" => self.returned(client, RegisterReturn::Value(value())),
            "return-written" => self.returned(client, RegisterReturn::Written),
            _ => {}
        }
    }

    fn called(&mut self, client: u32, call: RegisterCall<u64>) {
        self.register.call(client, call);
        self.clients[client as usize].call(call);
    }

    fn returned(&mut self, client: u32, result: RegisterReturn<u64>) {
        self.register.returned(client, result);
        let completed = self.clients[client as usize].returned(result);
        self.clients.iter_mut().for_each(|one| one.learn(client, completed));
    }
}

/// The timers that can be the next to fire. Only a protocol lists them, so this asks one.
fn due(timers: &TimedTimers<String>) -> Vec<String> {
    /// Has the timers of a parameter as its state.
    struct Listing(String);

    impl Protocol for Listing {
        const ABOUT: About = guest_sdk::about!().nodes(1);
        type State = TimedTimers<String>;
        type Message = Never;
        type Local = String;
        type Durable = Never;

        fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
            Ok(Self(parameters.get("timers", String::new(), "what is set")?))
        }

        fn init(&self, _: &mut Context<Never>, _: Option<Never>) -> TimedTimers<String> {
            serde_json::from_str(&self.0).expect("timers")
        }

        fn handle_message(&self, _: &mut Context<Never>, _: &mut TimedTimers<String>, _: NodeId, message: Never) {
            match message {}
        }

        fn local_events(&self, state: &TimedTimers<String>, events: &mut LocalEvents<String>) {
            state.list(events, |_| "due", |timer| timer);
        }

        fn properties(_: &mut Properties<Self>) {}
    }

    let timers = json!(timers).to_string();
    let cluster = Cluster::<Listing>::new(1, &[("timers", &timers)]).expect("timers are a text");
    cluster.local_events(0).into_iter().map(|listed| listed.event).collect()
}

/// The operations that had returned before each call.
fn after(history: &Operations) -> Value {
    let history = json!(history);
    let clients = history["clients"].as_object().expect("a map").iter().map(|(client, operations)| {
        let operations = operations.as_array().expect("a list");
        (client.clone(), operations.iter().map(|operation| operation["after"].clone()).collect())
    });
    Value::Object(clients.collect::<Map<String, Value>>())
}

fn verdict(result: Result<Vec<(u32, usize)>, NotLinearizable>) -> Value {
    match result {
        Ok(order) => json!({ "order": order }),
        Err(why) => json!({ "longest": why.longest() }),
    }
}

/// Draws below a bound.
struct Dice(toys::Dice);

impl Dice {
    fn draw(&mut self, below: u64) -> u64 {
        self.0.number() % below
    }

    fn name(&mut self) -> &'static str {
        ["a", "b", "c"][self.draw(3) as usize]
    }
}

/// Readings, comparisons and timers of all kinds.
fn times(dice: &mut Dice) -> Vec<Value> {
    let mut script: Vec<Value> = ["a", "b", "c"].iter().map(|name| json!(["read", name])).collect();
    let mut set = std::collections::BTreeSet::new();
    for _ in 0..24 {
        let (one, other, by) = (dice.name(), dice.name(), dice.draw(4));
        script.push(match dice.draw(9) {
            0 => json!(["read", one]),
            1 | 2 => json!(["passed", one, by]),
            3 => json!(["later", one, other, by]),
            4 => json!(["arm", one, by]),
            5 => json!(["fire", by]),
            6 => json!(["disarm", one]),
            7 if set.contains(one) => json!(["fired", set.take(one).expect("it is set")]),
            7 => {
                set.remove(one);
                json!(["cancel", one])
            }
            _ => {
                set.insert(one);
                json!(["set", one])
            }
        });
    }
    // A forgotten operation can be read again.
    script.extend([json!(["forget", "b"]), json!(["forget", "b"]), json!(["read", "b"]), json!(["passed", "a", 2])]);
    script
}

/// Operations of three clients on a register and on a log. Results of the register may fit or not; those of the log are mostly
/// the ones of operations that take effect when they return.
fn operations(dice: &mut Dice, is_log: bool) -> Vec<Value> {
    let mut pending = [None; 3];
    let (mut script, mut calls, mut log) = (Vec::new(), 0, Vec::new());
    while calls < 6 || dice.draw(3) > 0 {
        let client = dice.draw(3) as usize;
        let Some((changes, value)) = pending[client].take() else {
            if calls < 6 {
                let (changes, value) = (dice.draw(2) == 0, dice.draw(3));
                pending[client] = Some((changes, value));
                calls += 1;
                let name = [["call-read", "call-write"], ["call-list", "call-append"]][usize::from(is_log)];
                script.push(json!([name[usize::from(changes)], client, value]));
            }
            continue;
        };
        let is_wrong = dice.draw(8) == 0;
        script.push(match (is_log, changes) {
            (false, false) => json!(["return-value", client, dice.draw(3)]),
            (false, true) => json!(["return-written", client, 0]),
            (true, true) => {
                log.push(value);
                json!(["return-appended", client, log.len() - usize::from(!is_wrong)])
            }
            (true, false) => json!(["return-entries", client, &log[usize::from(is_wrong).min(log.len())..]]),
        });
    }
    script
}

/// Scripts with answers to their comparisons, and the results of the Rust SDK.
fn cases() -> Vec<(String, Vec<u32>, Value)> {
    let mut dice = Dice(toys::Dice(1));
    let mut explained = [0; 2];
    let cases: Vec<_> = (0..120)
        .map(|case| {
            let mut script = if case < 60 { times(&mut dice) } else { operations(&mut dice, false) };
            if case >= 60 {
                script.extend(operations(&mut dice, true));
            }
            let answers: Vec<u32> = (0..40).map(|_| dice.draw(2) as u32).collect();
            let text = Value::Array(script.clone()).to_string();
            let cluster = Cluster::<Probe>::scripted(1, &[("script", &text)], &answers).expect("a script fits");
            let found: Value = serde_json::from_str(cluster.state(0)).expect("JSON");
            let (register, log) = (spans(&script, on_register), spans(&script, on_log));
            for key in ["register", "together"] {
                let order = &found[key]["order"];
                assert_eq!(order.is_array(), is_linearizable(&Register(0), &register), "{text}");
                assert!(!order.is_array() || explains(&Register(0), &register, order), "{text}");
            }
            let order = &found["log"]["order"];
            assert_eq!(order.is_array(), is_linearizable(&Log::default(), &log), "{text}");
            assert!(!order.is_array() || explains(&Log::default(), &log, order), "{text}");
            explained[0] += u32::from(case >= 60 && found["register"]["order"].is_array());
            explained[1] += u32::from(case >= 60 && order.is_array());
            (text, answers, found)
        })
        .collect();
    assert!(explained.iter().all(|count| (5..55).contains(count)), "both verdicts are frequent: {explained:?}");
    cases
}

/// The plugin that executes scripts and is a store, in each language whose toolchain is there.
pub(crate) fn probes() -> &'static [(&'static str, Vec<u8>)] {
    static BUILT: LazyLock<Vec<(&str, Vec<u8>)>> =
        LazyLock::new(|| PROBES.iter().filter_map(|language| Some((language.0, probe(language)?))).collect());
    &BUILT
}

fn probe((register, sdk, files): &Language) -> Option<Vec<u8>> {
    let all = all_languages();
    let place = tempfile::tempdir().expect("a temporary folder");
    let folder = place.path().join("probe");
    std::fs::create_dir_all(folder.join(sdk)).expect("a new folder");
    let language = register.trim_start_matches("register-");
    copy(&crate::languages::folder("../guest-sdk").join(language).join("host"), &folder.join(sdk));
    for (path, content) in *files {
        std::fs::write(folder.join(path), content).expect("a new file");
    }
    built(register, Path::new(&folder), all)
}

/// The `why` of a verdict has values as the language shows them.
fn without_reasons(mut found: Value) -> Value {
    for key in ["register", "log", "together"] {
        found[key].as_object_mut().expect("a verdict").remove("why");
    }
    found
}

#[test]
fn every_sdk_finds_what_that_of_rust_finds() {
    let cases = cases();
    for (name, component) in probes() {
        let plugin = load(component, SandboxConfig::default());
        let mut machine = plugin.machine().expect("an instance");
        let mut effects = Effects::default();
        for (script, answers, expected) in &cases {
            machine.restore(None).expect("an instance");
            let config = format!("script={script}");
            let init = Input::Init { node: 0, nodes: 1, config: &config, durable: None };
            machine.handle(init, answers, &mut effects).expect("no fault");
            let state = machine.serialize().expect("no fault");
            let mut state: Value = serde_json::from_slice(&state).expect("JSON");
            let found = state["found"].take();
            for key in ["register", "log", "together"] {
                let why = found[key]["why"].as_str().unwrap_or_default();
                let is_explained = why.starts_with("no order of the operations explains what they returned: ");
                assert_eq!(is_explained, found[key]["longest"].is_array(), "{name} {script}: {why}");
            }
            assert_eq!(&without_reasons(found), expected, "{name} {script}");
        }
        assert_parameters(&plugin, name);
    }
}

/// Before `init`, of an event of the protocol as of bytes that are none.
#[test]
fn every_sdk_describes_local_events() {
    let event =
        |payload: &[u8]| LocalEvent { name: "put".into(), kind: LocalKind::Application, payload: payload.into() };
    for (name, component) in probes() {
        let plugin = load(component, SandboxConfig::default());
        let mut machine = plugin.machine().expect("an instance");
        let mut said = |payload| -> Value {
            machine.restore(None).expect("an instance");
            let said = machine.describe_local(&event(payload)).expect("no fault").expect("it describes them");
            serde_json::from_str(&said).expect("JSON")
        };
        assert_eq!(said(br#"{"key":"k"}"#), json!({"about": {"key": "k"}, "name": "put"}), "{name}");
        assert_eq!(said(&[1, 5]), json!({"about": null, "name": "put"}), "{name}");
    }
}

/// With the weights 1 and 9, and a message to node 2. A walk draws the answers of `can-send` evenly.
#[test]
fn every_sdk_weighs_and_asks_whether_a_message_can_be_sent() {
    let likely = |weight| Likelihood::CERTAIN.and(weight, 10).and(1, 2);
    let cases = [
        (&[][..], [Choice::among(2, 0), Choice::sending(2, 0)], likely(1), json!([0, true])),
        (&[0, 1][..], [Choice::among(2, 0), Choice::sending(2, 1)], likely(1), json!([0, false])),
        (&[1][..], [Choice::among(2, 1), Choice::sending(2, 0)], likely(9), json!([1, true])),
    ];
    for (name, component) in probes() {
        let plugin = load(component, SandboxConfig::default());
        let mut machine = plugin.machine().expect("an instance");
        let mut effects = Effects::default();
        for (answers, choices, likelihood, said) in &cases {
            machine.restore(None).expect("an instance");
            let config = r#"script=[["weigh",1,9],["can-send",2]]"#;
            let init = Input::Init { node: 0, nodes: 3, config, durable: None };
            machine.handle(init, answers, &mut effects).expect("no fault");
            assert_eq!((&effects.choices[..], effects.likelihood), (&choices[..], *likelihood), "{name} {answers:?}");
            let state: Value = serde_json::from_slice(&machine.serialize().expect("no fault")).expect("JSON");
            assert_eq!(&state["found"]["said"], said, "{name} {answers:?}");
        }
    }
}

/// They are listed as in Rust, and errors have the same words; those about numbers say more than Rust's.
fn assert_parameters(plugin: &host_sandbox::Plugin, name: &str) {
    let listed = &plugin.about().expect("it says what it is").parameters;
    let listed: Vec<_> = listed.iter().map(|one| (&*one.name, &*one.default_value, &*one.meaning)).collect();
    let expected = Parameters::of::<Probe>();
    let expected: Vec<_> = expected.iter().map(|one| (&*one.name, &*one.default_value, &*one.meaning)).collect();
    assert_eq!(listed, expected, "{name}");

    let mut machine = plugin.machine().expect("an instance");
    let mut effects = Effects::default();
    let mut refusal = |config: &str| {
        machine.restore(None).expect("an instance");
        let init = Input::Init { node: 0, nodes: 1, config, durable: None };
        machine.handle(init, &[], &mut effects).err().map(|fault| fault.message)
    };
    for config in ["", "retries=0\nmode=fast\ngive-up=true", "retries=4294967295"] {
        assert_eq!(refusal(config), None, "{name}");
    }
    for (key, value) in [("mode", "slow"), ("mode", "\"a\\b\""), ("colour", "red")] {
        let said = refusal(&format!("{key}={value}")).expect("it is refused");
        let expected = Cluster::<Probe>::new(1, &[(key, value)]).err().expect("Rust refuses it, too").to_string();
        assert!(said.contains(&expected), "{name}: {said}, and not {expected}");
    }
    for (config, expected) in [
        ("retries=x", r#"parameter retries cannot be "x": it is a whole number from 0 to 4294967295"#),
        ("retries=-1", r#"parameter retries cannot be "-1": it is a whole number"#),
        ("retries=4294967296", r#"parameter retries cannot be "4294967296": it is a whole number"#),
        ("give-up=yes", r#"parameter give-up cannot be "yes": it is true or false"#),
        ("retries", r#"configuration line "retries" is not key=value"#),
        ("mode=safe\nmode=safe", "parameter mode is given twice"),
    ] {
        let said = refusal(config).expect("it is refused");
        assert!(said.contains(expected), "{name}: {said}, and not {expected}");
    }
}
