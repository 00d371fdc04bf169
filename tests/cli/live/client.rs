//! Clients of the store.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::http::{Response, request};
use super::judge::{Answer, Operation, Outcome};

/// Redirections that a client follows before it gives up.
const HOPS: usize = 3;

/// Sends a request to a node, and follows redirections.
pub fn ask(clients: &[SocketAddr], node: &mut usize, operation: &Operation) -> Answer {
    let (method, key, body) = match operation {
        Operation::Get(key) => ("GET", key, &[][..]),
        Operation::Put(key, value) => ("PUT", key, &value[..]),
        Operation::Delete(key) => ("DELETE", key, &[][..]),
    };
    for _ in 0..HOPS {
        let Response { status, head, body } = match request(clients[*node], method, &format!("/{key}"), body) {
            Ok(response) => response,
            Err(true) => return Answer::Unknown,
            Err(false) => return Answer::Refused,
        };
        match (status, operation) {
            (200, Operation::Get(_)) => return Answer::Outcome(Outcome::Value(Some(body))),
            (404, Operation::Get(_)) => return Answer::Outcome(Outcome::Value(None)),
            (200 | 204, Operation::Put(..) | Operation::Delete(_)) => return Answer::Outcome(Outcome::Done),
            (503, _) => return Answer::Refused,
            (504, _) => return Answer::Unknown,
            (307, _) => {
                let is_there = |address: &SocketAddr| head.contains(&format!("Location: http://{address}/{key}\r\n"));
                *node = clients.iter().position(is_there).expect("it is one of the nodes");
            }
            _ => panic!("{operation:?}: {head}"),
        }
    }
    Answer::Refused
}

/// Tries one node after the other until there is an answer; gives up after a minute.
pub fn ask_until_told(clients: &[SocketAddr], operation: &Operation) -> Outcome {
    let mut next = 0..;
    until_told(operation, || ask(clients, &mut (next.next().expect("it has no end") % clients.len()), operation))
}

/// Tries one node until there is an answer, following redirections; gives up after a minute. Returns the node that answered.
pub fn ask_one_until_told(clients: &[SocketAddr], first: usize, operation: &Operation) -> (usize, Outcome) {
    let mut node = first;
    let outcome = until_told(operation, || {
        node = first;
        ask(clients, &mut node, operation)
    });
    (node, outcome)
}

fn until_told(operation: &Operation, mut asked: impl FnMut() -> Answer) -> Outcome {
    let begun = Instant::now();
    loop {
        if let Answer::Outcome(outcome) = asked() {
            return outcome;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "no node answers {operation:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
