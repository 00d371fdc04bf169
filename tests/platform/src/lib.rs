//! Requests that a plugin has no system for, one per parameter; `tests/cli/platform.rs` runs it.

use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use guest_sdk::{About, Context, LocalEvents, Never, NodeId, ParameterError, Parameters, Properties, Protocol};
use serde::{Deserialize, Serialize};

/// The request.
struct Asks(String);

/// The answers, twice in a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Answers(Vec<String>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Ask;

fn number<E: std::fmt::Debug>(fill: impl Fn(&mut [u8]) -> Result<(), E>) -> String {
    let mut bytes = [0; 8];
    fill(&mut bytes).expect("there is randomness");
    u64::from_le_bytes(bytes).to_string()
}

// Not a part of the handler, as a function of a library need not be.
#[inline(never)]
fn ask(what: &str) -> String {
    match what {
        "getrandom-02" => number(getrandom_02::getrandom),
        "getrandom-03" => number(getrandom_03::fill),
        "getrandom-04" => number(getrandom_04::fill),
        "thread-rng" => rand::random::<u64>().to_string(),
        "uuid" => uuid::Uuid::new_v4().to_string(),
        "random-state" => {
            let map: HashMap<u32, ()> = (0..9).map(|key| (key, ())).collect();
            format!("{:?}", map.keys().collect::<Vec<_>>())
        }
        "instant" => format!("{:?}", Instant::now().elapsed()),
        "system-time" => format!("{:?}", SystemTime::now().duration_since(UNIX_EPOCH).expect("later").as_secs()),
        "sleep" => {
            std::thread::sleep(Duration::from_millis(1));
            "slept".to_owned()
        }
        "thread" => std::thread::spawn(|| "ran".to_owned()).join().expect("no panic"),
        "socket" => format!("{:?}", std::net::TcpListener::bind("127.0.0.1:0").expect("a socket")),
        "file" => std::fs::read_to_string("/etc/hostname").expect("a file"),
        "futures" => futures_executor::block_on(async { "awaited".to_owned() }),
        "tokio" => {
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            runtime.block_on(async {
                let (sender, receiver) = tokio::sync::oneshot::channel();
                tokio::spawn(async { sender.send("received".to_owned()) });
                receiver.await.expect("it was sent")
            })
        }
        "overflow" => {
            let most = std::hint::black_box(u8::MAX);
            (most + std::hint::black_box(1)).to_string()
        }
        _ => unreachable!("the parameter is one of these"),
    }
}

impl Protocol for Asks {
    const ABOUT: About = guest_sdk::about!().nodes(2);
    type State = Answers;
    type Message = Never;
    type Local = Ask;
    type Durable = Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        parameters.get("for", "uuid".to_owned(), "what is asked for").map(Self)
    }

    fn init(&self, _: &mut Context<Never>, _: Option<Never>) -> Answers {
        Answers::default()
    }

    fn handle_message(&self, _: &mut Context<Never>, _: &mut Answers, _: NodeId, message: Never) {
        match message {}
    }

    fn local_events(&self, state: &Answers, events: &mut LocalEvents<Ask>) {
        if state.0.len() < 2 {
            events.application("ask", Ask);
        }
    }

    fn handle_local(&self, _: &mut Context<Never>, state: &mut Answers, _: Ask) {
        let what = match self.0.as_str() {
            "late-instant" if state.0.is_empty() => "futures",
            "late-instant" => "instant",
            what => what,
        };
        state.0.push(ask(what));
    }

    fn properties(claims: &mut Properties<Self>) {
        claims.sometimes("answered").node(
            |_, state| Some(state.0.len()),
            |answers| if *answers == 2 { Ok(()) } else { Err(format!("{answers} of 2 answers")) },
        );
    }
}

guest_sdk::export!(Asks);
