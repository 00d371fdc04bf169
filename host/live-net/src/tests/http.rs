//! Slow clients, and refused requests.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use host_model::contract::Response;

use crate::accept::Listening;
use crate::board::Board;
use crate::budget::{Account, Budget, CLIENTS_MAX};
use crate::http::{Limits, Server};
use crate::wire::{ARRIVALS_MAX, Arrival, Asked, Port};

/// The maximum time that a test waits for an immediate answer.
const PATIENCE: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(100);

/// A port for one connection at a time that answers each request at once.
struct Service {
    listening: Listening,
    budget: Budget,
}

impl Service {
    fn new(patience: Duration) -> Self {
        Self::with(patience, 1)
    }

    /// The same for this many connections at a time.
    fn with(patience: Duration, connections: usize) -> Self {
        let (sender, arrivals) = sync_channel(ARRIVALS_MAX);
        let (clients, board, budget) = (Arc::default(), Arc::new(Board::new(Instant::now())), Budget::new(1));
        let (stopped, shared) = (Arc::default(), budget.clone());
        let server = Server { port: Port::Clients, arrivals: sender, budget, stopped, clients, board, ready: None };
        let limits = Limits { connections, patience, hearing_out: SHORT };
        let listening = server.bind_within(SocketAddr::from(([127, 0, 0, 1], 0)), limits).expect("loopback has room");
        std::thread::spawn(move || {
            for arrival in arrivals {
                let Arrival::Asked(Asked { request, reply, .. }) = arrival else { continue };
                // The long body exceeds the buffers of both sockets.
                let body = if request.path == "/long" { vec![0; 32 << 20] } else { b"blue".to_vec() };
                let _ = reply.try_send(Response { status: 200, body, ask: None });
            }
        });
        Self { listening, budget: shared }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.listening.address()).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket can");
        stream
    }

    /// Sends a request and returns the whole answer. The connection may be cut off meanwhile.
    fn exchange(&self, request: &str) -> io::Result<String> {
        let (mut stream, mut answer) = (self.connect(), String::new());
        stream.write_all(request.as_bytes())?;
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// The whole answer, retried until the port has a place.
    fn told(&self, request: &str) -> String {
        until("there is no place", || self.exchange(request).ok().filter(|answer| !answer.is_empty()))
    }

    /// Waits until the port has a place for another client.
    fn wait(&self) {
        until("there is no place", || {
            let answer = self.exchange("GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
            answer.ok().filter(|answer| answer.ends_with("blue"))
        });
    }
}

/// Retries until a result is available.
fn until<T>(what: &str, mut once: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = once() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The deadline holds although a byte is always available, also while the rest of a refused request is read.
#[test]
fn a_client_that_trickles_bytes_is_late() {
    let service = Service::new(SHORT);
    // If the test thread itself is late, the client gets no answer.
    let status = until("there is no answer", || {
        let mut stream = service.connect();
        let mut sending = stream.try_clone().expect("a socket can");
        std::thread::spawn(move || {
            while sending.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let mut status = [0; 12];
        stream.read_exact(&mut status).is_ok().then_some(status)
    });
    assert_eq!(&status, b"HTTP/1.1 408");
    service.wait();
}

#[test]
fn a_client_that_does_not_read_gives_up_its_place() {
    let service = Service::new(SHORT);
    let mut idle = service.connect();
    idle.write_all(b"GET /long HTTP/1.1\r\n\r\n").expect("there is room");
    service.wait();
}

/// The length is that of the body for `GET`, so that clients learn it without the body.
#[test]
fn the_answer_to_head_is_that_to_get_without_the_body() {
    let service = Service::new(PATIENCE);
    let [head, get] =
        ["HEAD", "GET"].map(|method| service.told(&format!("{method} / HTTP/1.1\r\nConnection: close\r\n\r\n")));
    assert!(head.contains("\r\nContent-Length: 4\r\n"), "{head}");
    assert_eq!(format!("{head}blue"), get);
}

/// An intermediary between a client and a node may read another length, and mistake another position for the end of the request.
#[test]
fn a_length_has_digits_alone() {
    let service = Service::new(PATIENCE);
    for (length, status) in
        [("4", 200), ("04", 200), ("+4", 400), ("-4", 400), ("4 4", 400), ("\u{a0}4", 400), ("", 400)]
    {
        let put = format!("PUT / HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n\r\nblue");
        let answer = service.told(&put);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{length}: {answer}");
    }
}

/// A visitor of a page has not agreed to its requests here: neither from its origin, nor under a name that it resolves to this machine.
#[test]
fn requests_of_web_pages_are_refused() {
    let service = Service::new(PATIENCE);
    let cases = [
        ("Origin: http://localhost:8101", 403),
        ("Sec-Fetch-Site: cross-site", 403),
        ("Sec-Fetch-Site: same-site", 403),
        ("Sec-Fetch-Site: same-origin", 403),
        ("Host: pages.example:8101", 403),
        ("Host: pages:8101", 403),
        ("Host: pages", 403),
        ("Host: [pages]", 403),
        ("Host: localhost:pages", 403),
        ("Host: localhost.", 403),
        ("Host: ", 403),
        ("Host: pages.example", 403),
        ("Host: 127.0.0.1.pages.example", 403),
        ("Host: localhost\r\nHost: pages.example", 403),
        // A typed address, and the headers of curl.
        ("Sec-Fetch-Site: none", 200),
        ("Host: 127.0.0.1:8101", 200),
        ("Host: 127.0.0.1", 200),
        ("Host: [::1]:8101", 200),
        ("Host: [::1]", 200),
        ("Host: localhost:8101", 200),
        ("Host: LOCALHOST", 200),
        ("Host: my-machine:8101", 403),
        ("X: pages.example", 200),
    ];
    for (header, status) in cases {
        let answer = service.told(&format!("GET / HTTP/1.1\r\n{header}\r\nConnection: close\r\n\r\n"));
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{header}: {answer}");
    }
}

/// Many clients send most of a long request, but not its end: clients without room get an answer with the reason, and the total stays
/// within the budget.
#[test]
fn clients_that_do_not_end_their_requests_have_so_much_room_together() {
    let service = Service::with(PATIENCE, 64);
    let begun = [&b"PUT / HTTP/1.1\r\nContent-Length: 1048576\r\n\r\n"[..], &vec![0; (1 << 20) - 1]].concat();
    // Each request takes twice its bytes.
    let fitting = CLIENTS_MAX >> 21;
    let mut streams: Vec<TcpStream> = (0..fitting + 8).map(|_| service.connect()).collect();
    streams.iter_mut().for_each(|stream| drop(stream.write_all(&begun)));
    let holding = until("all are heard", || {
        let holding = service.budget.holding();
        holding.refused.get("clients").filter(|refused| **refused >= 8).map(|_| holding.clone())
    });
    assert!(holding.most <= CLIENTS_MAX, "{holding:?}");
    assert!(service.budget.take(Account::Metrics, 1 << 20).is_ok(), "who asks for metrics has room");
    // Clients with room end their requests, which frees the room.
    streams.iter_mut().for_each(|stream| drop(stream.write_all(&[0])));
    until("they are answered", || (service.budget.holding().bytes == 0).then_some(()));
    let mut answers = streams.into_iter().map(|mut stream| {
        let mut status = [0; 12];
        let _ = stream.read_exact(&mut status);
        status
    });
    assert!(answers.any(|status| &status == b"HTTP/1.1 200"));
}
