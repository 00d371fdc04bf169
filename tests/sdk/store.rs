//! A store that clients ask, by the Rust SDK: those of the other languages say, send and answer the same, and wait as long.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::time::Duration;

use guest_sdk::test::Cluster;
use guest_sdk::{About, Context, Encoding, LocalEvent, LocalEvents, LocalKind, Never, NodeId, ParameterError};
use guest_sdk::{Parameters, Place, Properties, Protocol, Request, Response};
use host_model::contract::{self, Effects, Input, Machine, MachineFactory};
use host_model::toys;
use host_sandbox::{Plugin, SandboxConfig};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Dice, probes};
use crate::languages::load;

const NODES: u32 = 3;

/// Node 0 gives a value to all nodes, and answers when a majority has it.
pub struct Store {
    requests: u32,
    patience: Duration,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct State {
    /// The number of writes begun, which is the number of the last one.
    asked: u32,
    copies: BTreeMap<String, Copy>,
    /// The latest write of each key that a client knows of.
    told: BTreeMap<String, u32>,
    waiting: Vec<Write>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Copy {
    value: String,
    version: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Write {
    acks: BTreeSet<NodeId>,
    key: String,
    number: u64,
    version: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Message {
    Store { key: String, value: String, version: u32 },
    Stored { version: u32 },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Local {
    Put { key: String, number: u64, value: String },
    GiveUp { version: u32 },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct View {
    copies: BTreeMap<String, u32>,
    told: BTreeMap<String, u32>,
}

impl Store {
    /// Declared last by each probe.
    pub fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let requests = parameters.get("requests", 1, "how often clients write in a search")?;
        let meaning = "milliseconds without news after which a client may be asked to retry";
        let patience: u32 = parameters.get("patience", 500, meaning)?;
        Ok(Self { requests, patience: Duration::from_millis(patience.into()) })
    }
}

impl Protocol for Store {
    const ABOUT: About = guest_sdk::about!().nodes(NODES);
    const ENCODING: Encoding = Encoding::Json;
    type State = State;
    type Message = Message;
    type Local = Local;
    type Durable = Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        Store::configure(parameters)
    }

    fn init(&self, _: &mut Context<Message>, _: Option<Never>) -> State {
        State::default()
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        match message {
            Message::Store { key, value, version } => {
                let copy = state.copies.entry(key).or_default();
                if copy.version < version {
                    *copy = Copy { value, version };
                }
                ctx.send(from, Message::Stored { version });
            }
            Message::Stored { version } => {
                let Some(place) = state.waiting.iter().position(|write| write.version == version) else { return };
                let write = &mut state.waiting[place];
                write.acks.insert(from);
                if write.acks.len() < ctx.majority() {
                    // There is news, so patience restarts.
                    ctx.restart("give-up");
                    return;
                }
                let Write { key, number, .. } = state.waiting.remove(place);
                let told = state.told.entry(key).or_default();
                *told = version.max(*told);
                ctx.answer(number, Response::new(204));
            }
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Local>) {
        if events.me() == 0 && state.asked < self.requests {
            let (number, value) = (state.asked.into(), format!("v{}", state.asked));
            events.application("put", Local::Put { key: "k".into(), number, value });
        }
        state.waiting.iter().for_each(|write| events.timer("give-up", Local::GiveUp { version: write.version }));
    }

    fn handle_local(&self, ctx: &mut Context<Message>, state: &mut State, event: Local) {
        match event {
            Local::Put { key, number, value } => {
                state.asked += 1;
                let version = state.asked;
                state.waiting.push(Write { acks: BTreeSet::new(), key: key.clone(), number, version });
                ctx.broadcast(Message::Store { key, value, version });
            }
            Local::GiveUp { version } => {
                let place = state.waiting.iter().position(|write| write.version == version).expect("it is listed");
                let number = state.waiting.remove(place).number;
                ctx.answer(number, Response::new(503).body("too few nodes have it so far\n"));
            }
        }
    }

    fn duration(&self, _: Place, _: &State, event: &Local) -> Option<RangeInclusive<Duration>> {
        matches!(event, Local::GiveUp { .. }).then_some(self.patience..=2 * self.patience)
    }

    /// The nodes that have not acknowledged some write, or the leader; all nodes if the next write goes to all.
    fn neighbours(&self, place: Place, state: &State) -> Option<Vec<NodeId>> {
        let is_awaited = |node: &NodeId| state.waiting.iter().any(|write| !write.acks.contains(node));
        match (place.me, state.waiting.is_empty()) {
            (0, true) => None,
            (0, false) => Some((0..place.nodes).filter(is_awaited).collect()),
            _ => Some(vec![0]),
        }
    }

    fn request(&self, place: Place, state: &State, number: u64, asked: Request) -> Result<LocalEvent<Local>, Response> {
        let key = asked.path.trim_start_matches('/').to_owned();
        if place.me != 0 {
            return Err(Response::ask(0));
        }
        match asked.method.as_str() {
            "GET" => Err(match state.copies.get(&key) {
                Some(copy) => Response::new(200).body(copy.value.clone()),
                None => Response::new(404).body("there is nothing here\n"),
            }),
            "PUT" => match String::from_utf8(asked.body) {
                Ok(value) => Ok(LocalEvent::application("put", Local::Put { key, number, value })),
                Err(_) => Err(Response::new(400).body("a value is text\n")),
            },
            _ => Err(Response::new(405).body("there are GET and PUT\n")),
        }
    }

    fn properties(claims: &mut Properties<Self>) {
        claims.always("told-is-stored").system(
            |_, State { copies, told, .. }| {
                let copies: BTreeMap<_, _> = copies.iter().map(|(key, copy)| (key.clone(), copy.version)).collect();
                (copies.len() + told.len() > 0).then(|| View { copies, told: told.clone() })
            },
            |views| {
                for (key, version) in views.iter().flatten().flat_map(|view| &view.told) {
                    let has = |view: &View| view.copies.get(key) >= Some(version);
                    let holders = views.iter().flatten().filter(|view| has(view)).count();
                    if holders <= views.len() / 2 {
                        let nodes = views.len();
                        return Err(format!(
                            "write {version} was acknowledged, and {holders} of {nodes} nodes have it"
                        ));
                    }
                }
                Ok(())
            },
        );
    }
}

/// The first number of requests: beyond signed numbers, and in JavaScript, which rejects larger ones, near its limit.
fn first(language: &str) -> u64 {
    if language == "register-typescript" { (1 << 53) - 1_000 } else { u64::MAX - 1_000 }
}

/// The messages and events of nodes in a language, in the terms of the Rust SDK.
struct Nodes {
    machines: Vec<Box<dyn Machine>>,
    in_flight: Vec<(NodeId, NodeId, Vec<u8>)>,
    answers: Vec<(u64, contract::Response)>,
    restarted: Vec<String>,
    /// This many requests, numbered from the one after this.
    requests: u64,
    first: u64,
}

impl Nodes {
    fn new(plugin: &Plugin, config: &str, first: u64) -> Self {
        let machines = (0..NODES).map(|_| plugin.machine().expect("an instance")).collect();
        let (answers, restarted) = (Vec::new(), Vec::new());
        let mut nodes = Self { machines, in_flight: Vec::new(), answers, restarted, requests: 0, first };
        for node in 0..NODES {
            nodes.machines[node as usize].restore(None).expect("an instance");
            nodes.handle(node, Input::Init { node, nodes: NODES, config, durable: None });
        }
        nodes
    }

    fn handle(&mut self, node: NodeId, input: Input<'_>) {
        let mut effects = Effects::default();
        self.machines[node as usize].handle(input, &[], &mut effects).expect("no fault");
        self.in_flight.extend(effects.sent.into_iter().map(|sent| (node, sent.to, sent.payload)));
        let answers = effects.aside.answers.into_iter();
        self.answers.extend(answers.map(|(number, answer)| (number - self.first, answer)));
        self.restarted.extend(effects.aside.restarted);
    }

    fn deliver(&mut self, index: usize) {
        let (src, to, payload) = self.in_flight.remove(index);
        self.handle(to, Input::Message { src, payload: &payload });
    }

    /// The event that a request becomes.
    fn ask(&mut self, node: NodeId, request: &contract::Request) -> Option<contract::LocalEvent> {
        self.requests += 1;
        let asked = self.machines[node as usize].request(self.first + self.requests, request);
        match asked.expect("no fault") {
            Ok(event) => {
                self.handle(node, Input::Local(&event));
                Some(event)
            }
            Err(answer) => {
                self.answers.push((self.requests, answer));
                None
            }
        }
    }

    /// The state of a node, its local events and their durations, its neighbours, and the messages, answers and restarts of all of them.
    fn shown(&mut self, node: NodeId) -> Value {
        let machine = &mut self.machines[node as usize];
        let state: Value = serde_json::from_slice(&machine.serialize().expect("no fault")).expect("JSON");
        let events = machine.local_events().expect("no fault");
        let events: Vec<_> =
            events.iter().map(|event| (shown(event), machine.duration(event).expect("no fault"))).collect();
        let in_flight: Vec<_> = self.in_flight.iter().map(|(from, to, payload)| (from, to, parsed(payload))).collect();
        let answers = self.answers.iter().map(|(number, it)| (number, it.status, text(&it.body), it.ask));
        let answers: BTreeSet<_> = answers.collect();
        let neighbours = self.machines[node as usize].neighbours().expect("no fault");
        plain(json!([state["store"], events, neighbours, in_flight, answers, self.restarted]), self.first)
    }
}

fn shown(event: &contract::LocalEvent) -> Value {
    json!([event.name, format!("{:?}", event.kind), parsed(&event.payload)])
}

fn parsed(payload: &[u8]) -> Value {
    serde_json::from_slice(payload).expect("JSON")
}

fn text(body: &[u8]) -> &str {
    std::str::from_utf8(body).expect("it is text")
}

/// With the numbers of requests as Rust has them, which counts from 1. Those in a search are small.
fn plain(mut shown: Value, first: u64) -> Value {
    match &mut shown {
        Value::Array(items) => items.iter_mut().for_each(|item| *item = plain(item.take(), first)),
        Value::Object(fields) => fields.iter_mut().for_each(|(key, field)| {
            let number = field.as_u64().filter(|_| key == "number").and_then(|number| number.checked_sub(first));
            *field = number.map_or_else(|| plain(field.take(), first), Value::from);
        }),
        _ => {}
    }
    shown
}

/// The same of nodes in Rust.
fn expected(cluster: &Cluster<Store>, store: &Store, node: NodeId, requests: u64) -> Value {
    let state = cluster.state(node);
    let place = Place { me: node, nodes: NODES };
    let events = cluster.local_events(node).into_iter().map(|listed| {
        let span = store.duration(place, state, &listed.event).map(RangeInclusive::into_inner);
        (of_rust(&listed), span)
    });
    let events: Vec<_> = events.collect();
    let in_flight: Vec<_> = cluster.in_flight().iter().map(|one| (one.from, one.to, &one.message)).collect();
    let neighbours = store.neighbours(place, state);
    json!([state, events, neighbours, in_flight, answers(cluster, requests), cluster.restarted()])
}

/// The answers to this many requests, by their numbers.
fn answers(cluster: &Cluster<Store>, requests: u64) -> Vec<(u64, u16, &str, Option<NodeId>)> {
    let answer = |number| cluster.response(number).map(|it| (number, it.status, text(&it.body), it.ask));
    (1..=requests).filter_map(answer).collect()
}

fn of_rust(event: &LocalEvent<Local>) -> Value {
    let kind = match event.kind {
        LocalKind::Timer => "Timer",
        LocalKind::Application => "Application",
        LocalKind::Internal => "Internal",
    };
    json!([event.name, kind, event.event])
}

/// Requests of clients: to the leader or not, for existing keys or not, well-formed or not.
fn drawn(dice: &mut Dice) -> contract::Request {
    let method = ["GET", "GET", "PUT", "PUT", "POST"][dice.draw(5) as usize];
    let path = ["/a", "/b?c", "//constructor", "/\u{fc}", "/d", "/e"][dice.draw(6) as usize];
    let body: &[u8] = [&b"red"[..], b"", "\u{1f980}\"\\\n".as_bytes(), b"\xff\xfe"][dice.draw(4) as usize];
    contract::Request { method: method.into(), path: path.into(), body: body.into() }
}

#[test]
fn every_sdk_waits_asks_and_answers_as_that_of_rust() {
    const CONFIG: &str = "patience=20\nrequests=2";
    let parameters = [("patience", "20"), ("requests", "2")];
    for (name, component) in probes() {
        let plugin = load(component, SandboxConfig::default());
        let store = Store { requests: 2, patience: Duration::from_millis(20) };
        let mut cluster = Cluster::<Store>::new(NODES, &parameters).expect("the parameters are known");
        let mut nodes = Nodes::new(&plugin, CONFIG, first(name));
        let mut dice = Dice(toys::Dice(3));
        for step in 0..200 {
            let node = [0, 0, 0, 1, 2][dice.draw(5) as usize];
            let events = cluster.local_events(node);
            let in_flight = cluster.in_flight().len() as u64;
            match dice.draw(6) {
                0 | 1 => {
                    let request = drawn(&mut dice);
                    let contract::Request { method, path, body } = request.clone();
                    let asked = Request { method, path, body };
                    // The state shows its effect, but not its name and kind.
                    let place = Place { me: node, nodes: NODES };
                    let becomes = store.request(place, cluster.state(node), nodes.requests + 1, asked.clone()).ok();
                    cluster.request(node, asked);
                    let event = nodes.ask(node, &request).map(|event| plain(shown(&event), nodes.first));
                    assert_eq!(event, becomes.as_ref().map(of_rust), "{name} step {step}");
                }
                // The writes that are listed are for a search: their numbers are those of other requests.
                2 if events.iter().any(|event| event.name == "give-up") => {
                    let listed = nodes.machines[node as usize].local_events().expect("no fault");
                    let event = listed.into_iter().find(|event| event.name == "give-up").expect("it is listed, too");
                    nodes.handle(node, Input::Local(&event));
                    cluster.happen(node, "give-up");
                }
                _ if in_flight > 0 => {
                    let index = dice.draw(in_flight) as usize;
                    cluster.deliver(index);
                    nodes.deliver(index);
                }
                _ => {}
            }
            for node in 0..NODES {
                let expected = expected(&cluster, &store, node, nodes.requests);
                assert_eq!(nodes.shown(node), expected, "{name} step {step}");
            }
        }
        let answers = answers(&cluster, nodes.requests);
        let statuses: BTreeSet<u16> = answers.iter().map(|(_, status, ..)| *status).collect();
        assert_eq!(statuses, BTreeSet::from([200, 204, 307, 400, 404, 405, 503]), "all kinds of answers were met");
        assert!(!cluster.restarted().is_empty());
        if *name == "register-typescript" {
            // One number would stand for two requests.
            let asked = nodes.machines[0].request(1 << 53, &drawn(&mut dice)).expect("no fault");
            assert_eq!(asked.map_err(|answer| answer.status), Err(503));
        }
    }
}
