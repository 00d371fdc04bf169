//! Promises and connections that break: in searches, compared with a naive model of the lock, and where steering breaks connections in
//! place of messages.

use std::collections::{BTreeMap, BTreeSet};

use host_sandbox::fixtures::{EVENT_GO, Guest};
use serde_json::{Value, json};

use super::Place;

/// The state of the client of a lock without retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Client {
    Idle,
    Waiting,
    Holding,
}

/// A message or a notice in flight, with the incarnation of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Request(u32),
    Release(u32),
    Grant(u32),
    Notice(u32),
}

impl Item {
    fn incarnation(self) -> u32 {
        match self {
            Self::Request(number) | Self::Release(number) | Self::Grant(number) | Self::Notice(number) => number,
        }
    }
}

/// The end of the connection at a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    incarnation: u32,
    is_open: bool,
    breaks_left: u32,
}

/// A global state of the lock with node 0, the server, and node 1, its only client, written from docs/semantics.md alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Lock {
    client: Client,
    is_locked: bool,
    ends: [End; 2],
    /// Whether connections can break: only then is it known whether an end is open.
    tracks: bool,
    /// Messages and notices in flight to each node.
    to: [Vec<Item>; 2],
}

impl Lock {
    fn new(breaks: u32) -> Self {
        let end = End { breaks_left: breaks, ..End::default() };
        Self { client: Client::Idle, is_locked: false, ends: [end; 2], tracks: breaks > 0, to: Default::default() }
    }

    /// A node sends over its end, which opens; if the peer has broken the connection, the message is lost.
    fn send(&mut self, node: usize, message: fn(u32) -> Item) {
        let end = &mut self.ends[node];
        end.is_open = self.tracks;
        if end.incarnation >= self.ends[1 - node].incarnation {
            self.to[1 - node].push(message(self.ends[node].incarnation));
        }
    }

    /// All states after one event. The nodes ignore transport errors, so an error that is lost changes nothing else.
    fn next(&self) -> Vec<Self> {
        let mut all = Vec::new();
        let mut then = |change: &dyn Fn(&mut Self)| {
            let mut next = self.clone();
            change(&mut next);
            all.push(next);
        };
        match self.client {
            Client::Idle => then(&|next| {
                next.client = Client::Waiting;
                next.send(1, Item::Request);
            }),
            Client::Waiting => {}
            Client::Holding => then(&|next| {
                next.client = Client::Idle;
                next.send(1, Item::Release);
            }),
        }
        for node in 0..2 {
            let end = self.ends[node];
            let first = self.to[node].first().copied();
            if let Some(message) =
                first.filter(|item| !matches!(item, Item::Notice(_)) && item.incarnation() == end.incarnation)
            {
                then(&|next| {
                    next.to[node].remove(0);
                    next.ends[node].is_open = next.tracks;
                    next.take(node, message);
                });
            }
            // A notice may overtake the messages before it, which are lost then.
            let notice = self.to[node].iter().position(|item| matches!(item, Item::Notice(_)));
            if let Some(place) = notice {
                then(&|next| {
                    next.ends[node].incarnation = next.to[node][place].incarnation();
                    next.ends[node].is_open = false;
                    next.to[node].drain(..=place);
                });
            }
            if end.breaks_left > 0 && end.is_open {
                then(&|next| next.break_off(node));
            }
        }
        all
    }

    fn take(&mut self, node: usize, message: Item) {
        match message {
            Item::Request(_) if !self.is_locked => {
                self.is_locked = true;
                self.send(node, Item::Grant);
            }
            // The server drops it.
            Item::Request(_) => {}
            Item::Release(_) => self.is_locked = false,
            Item::Grant(_) if self.client == Client::Waiting => self.client = Client::Holding,
            Item::Grant(_) => {}
            Item::Notice(_) => panic!("a notice is no message"),
        }
    }

    /// A node breaks the connection: messages to it are lost, and its peer gets a notice, unless it has broken the same incarnation.
    fn break_off(&mut self, node: usize) {
        let end = &mut self.ends[node];
        end.breaks_left -= 1;
        end.is_open = false;
        end.incarnation += 1;
        let incarnation = end.incarnation;
        let is_over = |item: &Item| match item {
            Item::Notice(number) => *number <= incarnation,
            message => message.incarnation() < incarnation,
        };
        self.to[node].retain(|item| !is_over(item));
        if self.ends[1 - node].incarnation < incarnation {
            self.to[1 - node].push(Item::Notice(incarnation));
        }
    }
}

/// Counts of a promise: states in which it holds, states from which one of these can be reached, and all others.
fn counts(breaks: u32, holds: impl Fn(&Lock) -> bool) -> [usize; 4] {
    let mut before: BTreeMap<Lock, BTreeSet<Lock>> = BTreeMap::from([(Lock::new(breaks), BTreeSet::new())]);
    let mut waiting = vec![Lock::new(breaks)];
    while let Some(state) = waiting.pop() {
        for next in state.next() {
            if !before.contains_key(&next) {
                waiting.push(next.clone());
            }
            before.entry(next).or_default().insert(state.clone());
        }
    }
    let mut live: BTreeSet<&Lock> = before.keys().filter(|state| holds(state)).collect();
    let kept = live.len();
    let mut waiting: Vec<&Lock> = live.iter().copied().collect();
    while let Some(state) = waiting.pop() {
        waiting.extend(before[state].iter().filter(|earlier| live.insert(earlier)));
    }
    [before.len(), kept, live.len(), before.len() - live.len()]
}

/// A client that asks once is served where each message arrives, and may wait for ever where a connection breaks. A client that has the lock
/// gives it back in any case. Each count is that of a naive model.
#[test]
fn a_promise_is_broken_by_a_broken_connection_alone() {
    let place = Place::new();
    let served = |state: &Lock| state.client != Client::Waiting;
    let given = |state: &Lock| state.client != Client::Holding;
    let outside = "given=has(node.Server) || node.Client != 'Holding'";
    for breaks in 0..=3 {
        let text = breaks.to_string();
        let words =
            ["--network", "ordered", "--breaks", &text, "--eventually", outside, "--algo", "bdfs", "--continue"];
        let run = place.run_json("lock", &words);
        let of = |name: &str| {
            let properties = run["properties"].as_array().expect("a list");
            let property = properties.iter().find(|property| property["name"] == name).expect("it is judged");
            let promise = &property["promises"][1];
            let counts = ["kept_states", "live_states", "dead_states"].map(|count| promise[count].as_u64());
            (property["status"].clone(), run["counts"]["global_states"].as_u64(), counts)
        };
        let expected = |holds: &dyn Fn(&Lock) -> bool| {
            let [states, counts @ ..] = counts(breaks, holds).map(|count| Some(count as u64));
            let status = if counts[2] == Some(0) { "holds" } else { "violated" };
            (Value::from(status), states, counts)
        };
        assert_eq!(of("served"), expected(&served), "{breaks} breaks: {run:#}");
        assert_eq!(of("given"), expected(&given), "{breaks} breaks: {run:#}");
        let classes: Vec<&Value> =
            run["violations"].as_array().expect("a list").iter().map(|it| &it["class"]).collect();
        let dead = json!("dead");
        assert_eq!(
            (run["exit_code"].as_u64(), classes),
            if breaks == 0 { (Some(0), vec![]) } else { (Some(13), vec![&dead]) }
        );
    }
}

/// Node 1 sends node 0 a message, and takes its next step after a while, with another message if it sends again. If the first message arrives
/// between the two steps, `patient` is violated; if no message ever arrives, node 0 owes `told` for ever.
fn hasty(sends_again: bool) -> Vec<u8> {
    let state = "(i32.load8_u (i32.const 1040))";
    let again = if sends_again {
        "(call $send (i32.const 0) (i32.const 2))"
    } else {
        "(call $list (i32.const 0) (i32.const 0))"
    };
    let view = |node: u32| format!("(i32.load (i32.add (local.get $at) (i32.const {})))", 12 * node + 4);
    Guest {
        fields: r#"(data (i32.const 512) "patienttold") (data (i32.const 640) "not yet")"#.into(),
        message: "(i32.store8 (i32.const 1040) (i32.const 2)) (call $list (i32.const 0) (i32.const 0))".into(),
        // The kind of `go` is a timer here.
        events: format!(
            "(if (result i32) (i32.or (i32.eqz (i32.load (i32.const 1024))) (i32.eq {state} (i32.const 2)))
               (then (call $list (i32.const 0) (i32.const 0)))
               (else {}))",
            EVENT_GO
                .replace("(i32.store8 (i32.const 2104) (i32.const 2))", "(i32.store8 (i32.const 2104) (i32.const 0))")
        ),
        local: format!(
            "(i32.store8 (i32.const 1040) (i32.add {state} (i32.const 1)))
            (if (result i32) (i32.eq {state} (i32.const 1))
              (then (call $send (i32.const 0) (i32.const 1)))
              (else {again}))"
        ),
        serialize: format!(
            "(i32.store8 (i32.const 2176) (i32.load (i32.const 1024)))
            (i32.store8 (i32.const 2177) {state})
            (call $list (i32.const 2176) (i32.const 2))"
        ),
        properties: "
            (i32.store (i32.const 2192) (i32.const 512)) (i32.store (i32.const 2196) (i32.const 7))
            (i32.store8 (i32.const 2200) (i32.const 0)) (i32.store8 (i32.const 2201) (i32.const 1))
            (i32.store (i32.const 2204) (i32.const 519)) (i32.store (i32.const 2208) (i32.const 4))
            (i32.store8 (i32.const 2212) (i32.const 2)) (i32.store8 (i32.const 2213) (i32.const 0))
            (call $list (i32.const 2192) (i32.const 2))"
            .into(),
        // Node 1 owes nothing.
        view: "(call $tagged (i32.or (i32.eqz (local.get $property)) (i32.eqz (i32.load (i32.const 1024))))
            (i32.const 1040) (i32.const 1))"
            .into(),
        invariant: format!(
            "(if (result i32)
               (if (result i32) (local.get $property)
                 (then (i32.ne (i32.load8_u {}) (i32.const 2)))
                 (else (i32.and (i32.eq (i32.load8_u {}) (i32.const 2)) (i32.eq (i32.load8_u {}) (i32.const 1)))))
              (then (call $tagged (i32.const 1) (i32.const 640) (i32.const 7)))
              (else (call $tagged (i32.const 0) (i32.const 0) (i32.const 0))))",
            view(0),
            view(0),
            view(1)
        ),
        ..Guest::default()
    }
    .component()
}

/// Where node 0 needs the one message, no filter takes it, and the immediate check breaks the connection once at most. Another message that
/// follows makes no filter safe, since after a reset of node 1 it can arrive too early as well. Without promises, filters take the message,
/// also from runs that violate nothing.
#[test]
fn steering_breaks_no_connection_that_a_promise_needs() {
    let place = Place::new();
    place.put("once.wasm", hasty(false)).put("again.wasm", hasty(true));
    let run = |plugin: &str, seed: u64, more: &[&str]| {
        let seed = seed.to_string();
        let times = ["--time", "5m", "--timers", "5s..20s"];
        let words = [&["simulate", plugin, "--runs", "1", "--seed", &seed, "--json"], &times[..], more].concat();
        place.host(&[&words[..], &["--", "--nodes", "2", "--network", "ordered"]].concat()).json()
    };
    let steer = ["--watch", "steer", "--break-connections", "--interval", "200ms"];
    let counts = |said: &Value| {
        let of_checkers = |name: &str| said["checkers"][name].as_u64().expect("a count");
        (said["result"] == "violation", of_checkers("filtered_events"), of_checkers("refused_events"))
    };
    for seed in 1..=6 {
        for plugin in ["once.wasm", "again.wasm"] {
            let careful = run(plugin, seed, &steer);
            let (_, filtered, refused) = counts(&careful);
            let is_unhelpful = careful["checkers"]["unhelpful"].as_u64() > Some(0);
            assert!(filtered == 0 && refused <= 1 && is_unhelpful, "{seed}, {plugin}: {careful}");
        }
        let careless = run("once.wasm", seed, &[&steer[..], &["--safety-only"]].concat());
        let (violates, filtered, _) = counts(&careless);
        assert!(!violates && filtered > 0, "{seed}: {careless}");
        assert_eq!(run("once.wasm", seed, &["--runtime"])["result"], "violation", "{seed}");
    }
}
