//! Requests of a task, one per parameter; `tests/cli/asynchronous.rs` runs it.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use guest_sdk::tasks::{self, Network, Program, Tasks};
use guest_sdk::{About, Never, ParameterError, Parameters, Properties};

/// Virtual time, but for the request `sleep`, which is refused.
const SECOND: Duration = Duration::from_secs(1);

/// The request.
struct Asks(String);

/// A task that asks when its timer fires.
async fn ask(what: String) {
    tasks::sleep_named("ask", SECOND).await;
    match &*what {
        "thread" => drop(std::thread::spawn(|| ()).join()),
        "sleep" => std::thread::sleep(SECOND),
        "clock" => drop(std::time::Instant::now()),
        "socket" => drop(std::net::TcpListener::bind("127.0.0.1:0").expect("a socket")),
        "file" => drop(std::fs::read("/etc/hostname").expect("a file")),
        "block-on" => futures_executor::block_on(tasks::sleep(SECOND)),
        "tokio-spawn" => drop(tokio::spawn(async {})),
        "tokio-sleep" => tokio::time::sleep(SECOND).await,
        "never-yields" => loop {
            std::hint::black_box(());
        },
        "wakes-itself" => loop {
            tasks::yield_now().await;
        },
        "timers" => {
            let storm = (0..100_000).map(|_| tasks::spawn(tasks::sleep(SECOND)));
            for timer in storm.collect::<Vec<_>>() {
                drop(timer.await);
            }
        }
        "channels" => {
            let (sender, receiver) = tokio::sync::oneshot::channel();
            let sends = tasks::spawn(async { sender.send(1) });
            let (sent, received) = tokio::join!(sends, receiver);
            assert_eq!((sent, received), (Ok(Ok(())), Ok(1)));
        }
        _ => unreachable!("the parameter is one of these"),
    }
}

impl Program for Asks {
    const ABOUT: About = guest_sdk::about!().nodes(1);
    type Message = Never;
    type Call = Never;
    type Durable = Never;
    type Shared = Rc<Cell<bool>>;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        parameters.get("for", "channels".to_owned(), "what is asked for").map(Self)
    }

    fn start(&self, _: Network<Never>, _: Option<Never>) -> Rc<Cell<bool>> {
        let is_answered = Rc::new(Cell::new(false));
        let (what, answered) = (self.0.clone(), Rc::clone(&is_answered));
        tasks::spawn(async move {
            ask(what).await;
            answered.set(true);
        });
        is_answered
    }

    fn properties(claims: &mut Properties<Tasks<Self>>) {
        claims.sometimes("answered").node(
            |_, node| Some(node.get()),
            |answered| if *answered { Ok(()) } else { Err("no answer yet".to_owned()) },
        );
    }
}

guest_sdk::arena!();
guest_sdk::export!(Tasks<Asks>);
