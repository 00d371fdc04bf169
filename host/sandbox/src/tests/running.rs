//! The functions that matter only in a running node: durations, requests, answers and neighbours.

use std::time::Duration;

use host_model::contract::{Aside, FaultKind, Input, Machine, Request, Response};

use super::{go, init, machine, run};
use crate::fixtures;

fn ready(what: &str) -> Box<dyn Machine> {
    let mut machine = machine(&fixtures::runs(what));
    run(&mut *machine, init(0)).expect("init is fine");
    machine
}

fn request(body: &[u8]) -> Request {
    Request { method: "PUT".into(), path: "/key".into(), body: body.to_vec() }
}

#[test]
fn durations_requests_answers_and_neighbours_cross_the_boundary() {
    let mut machine = ready("well");
    let before = machine.serialize().expect("an encoding");
    let millisecond = Duration::from_millis(1);
    assert_eq!(machine.duration(&go()), Ok(Some((millisecond, 2 * millisecond))));
    assert_eq!(machine.request(7, &request(b"x")), Ok(Ok(go())));
    // The caller decides which nodes are not in the cluster.
    assert_eq!(machine.neighbours(), Ok(Some(vec![1, 7])));
    assert_eq!(ready("neighbours: nothing").neighbours(), Ok(None));
    let response = |status, ask| Response { status, body: b"go".to_vec(), ask: Some(ask) };
    assert_eq!(machine.request(7, &request(b"")), Ok(Err(response(404, 0))));
    assert_eq!(machine.serialize().expect("an encoding"), before, "these only read");
    let said = Aside { answers: vec![(7, response(201, 1))], restarted: vec!["go".into()] };
    assert_eq!(run(&mut *machine, Input::Local(&go())).expect("it is well").aside, said);
    // The answers of one handler are gone in the next one.
    let message = Input::Message { src: 0, payload: b"x" };
    assert_eq!(run(&mut *machine, message).expect("it is well").aside, Aside::default());
}

#[test]
fn a_component_without_any_of_it_says_nothing() {
    let mut machine = machine(&fixtures::ping_pong());
    run(&mut *machine, init(0)).expect("init is fine");
    assert_eq!((machine.duration(&go()), machine.neighbours()), (Ok(None), Ok(None)));
    let refused = machine.request(1, &request(b"x")).expect("no fault").expect_err("none is taken");
    assert_eq!(refused.status, 501);
}

#[test]
fn misbehaviour_is_a_fault_that_says_so() {
    use FaultKind::{Divergence, Malformed, OutputLimit, Trap};
    let cases = [
        ("duration: trap", Trap, "`timing.duration` trapped"),
        ("duration: loop", Divergence, "`timing.duration` does not end"),
        ("duration: answer", Malformed, "calls `answer` in `timing.duration`; only handlers may"),
        ("duration: backwards", Malformed, "says that `go` takes at least 2µs and at most 1µs"),
        ("request: trap", Trap, "`clients.accept` trapped"),
        ("request: answer", Malformed, "calls `answer` in `clients.accept`; only handlers may"),
        ("request: status", Malformed, "answers with status 600, which is none of 200 to 599"),
        ("request: node", Malformed, "sends a client to node 2 of a cluster of 2, numbered from 0"),
        ("request: long name", OutputLimit, "gives a local event a name of 5000 bytes, more than the limit of 4096"),
        ("neighbours: trap", Trap, "`neighbourhood.neighbours` trapped"),
        ("neighbours: loop", Divergence, "`neighbourhood.neighbours` does not end"),
        ("neighbours: answer", Malformed, "calls `answer` in `neighbourhood.neighbours`; only handlers may"),
        ("neighbours: list", Malformed, "out of bounds"),
        ("neighbours: many", OutputLimit, "returns 5000 neighbours from one call, more than the limit of"),
        ("handle-local: answer status", Malformed, "answers with status 199"),
        ("handle-local: answer node", Malformed, "sends a client to node 2 of a cluster of 2"),
        (
            "handle-local: answer for ever",
            OutputLimit,
            "calls `answer` 4097 times in one handler, more than the limit of 4096",
        ),
        ("handle-local: restart for ever", OutputLimit, "calls `restart` 4097 times in one handler"),
        ("handle-local: restart long name", OutputLimit, "gives a local event a name of 5000 bytes"),
    ];
    for (what, kind, words) in cases {
        let mut machine = ready(what);
        let state = machine.capture();
        let result = match what.split_once(':').expect("a function").0 {
            "duration" => machine.duration(&go()).map(drop),
            "neighbours" => machine.neighbours().map(drop),
            "request" => machine.request(7, &request(b"x")).map(drop),
            _ => run(&mut *machine, Input::Local(&go())).map(drop),
        };
        let fault = result.expect_err(what);
        assert_eq!(fault.kind, kind, "{what}: {fault}");
        assert!(fault.message.contains(words), "{what}: {fault}");
        // The machine continues.
        machine.restore(Some(&state)).expect("an instance");
        machine.serialize().expect("it is well");
    }
}
