//! Requests of clients, answers to them, and durations.

use std::time::Duration;

use host_model::contract::aspects::{Clients, Durable, Timing, Transfer};
use host_model::contract::{
    Effects, Fault, Input, LocalEvent, LocalKind, Machine, MachineError, MachineFactory, Request, Response, Snapshot,
    Span, StateOwner, TransferError,
};
use host_model::scenario::Network;

use super::pair::{identity, settings};
use crate::gate::{Event, Gate, Judge, Open, Substitute, Verdict};
use crate::node::{Node, NotNow, Output, Record};
use crate::time::Time;

/// A counter on disk. Clients add to it and get the sum, twice. A timer adds to it as well, after 40 ms per earlier tick. The request
/// `again` restarts the timer, and `old` answers the request before.
struct Sum(u64);

struct Sums;

impl MachineFactory for Sums {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        Ok(Box::new(Sum(0)))
    }
}

fn event(name: &str, kind: LocalKind, number: u64) -> LocalEvent {
    LocalEvent { name: name.to_owned(), kind, payload: number.to_le_bytes().to_vec() }
}

impl Machine for Sum {
    fn restore(&mut self, snapshot: Option<&Snapshot>) -> Result<(), MachineError> {
        self.0 = snapshot.map_or(0, |snapshot| snapshot.words()[0]);
        Ok(())
    }

    fn handle(&mut self, input: Input<'_>, _: &[u32], effects: &mut Effects) -> Result<(), Fault> {
        *effects = Effects::default();
        match input {
            Input::Init { durable, .. } => {
                self.0 = durable.map_or(0, |durable| durable.persisted.as_ref().expect("it persists")[0].into());
            }
            Input::Local(event) => {
                let number = u64::from_le_bytes(event.payload[..].try_into().expect("there are eight"));
                match &event.name[..] {
                    "again" => effects.aside.restarted.push("tick".into()),
                    name => {
                        self.0 += 1;
                        let number = if name == "old" { number - 1 } else { number };
                        let response = Response::words(200, self.0.to_string());
                        effects.aside.answers = vec![(number, response.clone()), (number, response)];
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
        Ok(vec![self.0 as u8])
    }

    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
        Ok(vec![event("tick", LocalKind::Timer, u64::MAX), event("add", LocalKind::Application, u64::MAX)])
    }

    fn capture(&mut self) -> Snapshot {
        Snapshot::new(&[self.0])
    }

    host_model::without_properties!();

    host_model::offers!(Durable, Timing, Clients, Transfer);
}

impl Durable for Sum {
    fn persist(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        Ok(Some(vec![self.0 as u8]))
    }
}

impl Timing for Sum {
    fn duration(&mut self, event: &LocalEvent) -> Result<Option<Span>, Fault> {
        let span = Duration::from_millis(40 * (self.0 + 1));
        Ok((event.name == "tick").then_some((span, span)))
    }
}

impl Clients for Sum {
    fn request(&mut self, number: u64, request: &Request) -> Result<Result<LocalEvent, Response>, Fault> {
        Ok(match &request.method[..] {
            "GET" => Err(Response::words(200, self.0.to_string())),
            method => Ok(event(method, LocalKind::Application, number)),
        })
    }
}

impl Transfer for Sum {
    fn export(&mut self, _: &Snapshot, _: StateOwner<'_>) -> Result<Vec<u8>, TransferError> {
        Ok(Vec::new())
    }
}

/// A node, the record on its disk, and the answers that it has sent.
struct World<G> {
    node: Node<'static, G>,
    disk: Option<Record>,
    answers: Vec<(u64, String)>,
}

impl<G: Gate> World<G> {
    fn start(gate: G, disk: Option<Record>) -> Self {
        let settings = settings(Network::Unordered);
        let node = Node::start(&Sums, identity(0, 1), settings, gate, disk.clone(), Time(0)).expect("it starts");
        let mut world = Self { node, disk, answers: Vec::new() };
        world.settle();
        world
    }

    /// Takes outputs up to the next record, which it returns with its ticket.
    fn take(&mut self) -> Option<(u64, Record)> {
        while let Some(output) = self.node.next_output() {
            match output {
                Output::Persist { ticket, record, .. } => return Some((ticket, record)),
                Output::Answer { number, response } => {
                    self.answers.push((number, String::from_utf8(response.body).expect("it is text")));
                }
                other => panic!("{other:?}"),
            }
        }
        None
    }

    fn settle(&mut self) {
        while let Some((ticket, record)) = self.take() {
            self.disk = Some(record);
            self.node.persisted(ticket);
        }
    }

    fn ask(&mut self, at: u64, method: &str) -> u64 {
        let request = Request { method: method.into(), path: "/".into(), body: Vec::new() };
        self.node.request(milliseconds(at), &request).expect("it is taken")
    }

    fn sum(&self) -> u8 {
        self.disk.as_ref().and_then(|record| record.protocol.as_ref()).expect("it is there")[0]
    }
}

fn milliseconds(at: u64) -> Time {
    Time(at * 1_000_000)
}

#[test]
fn an_answer_leaves_once_and_after_the_disk_has_what_it_depends_on() {
    let mut world = World::start(Open, None);
    let number = world.ask(0, "add");
    let (ticket, record) = world.take().expect("the sum has changed");
    assert_eq!((world.take(), &world.answers[..]), (None, &[][..]), "the disk is not ready");
    (world.disk, _) = (Some(record), world.node.persisted(ticket));
    world.settle();
    assert_eq!((&world.answers[..], world.sum()), (&[(number, "1".to_owned())][..], 1));
    // A request that needs no event is answered at once.
    let next = world.ask(0, "GET");
    assert_eq!((world.take(), &world.answers[1..]), (None, &[(next, "1".to_owned())][..]));
}

#[test]
fn an_answer_without_a_waiting_client_is_dropped_also_after_a_restart() {
    let told = |forgets: bool| {
        let mut world = World::start(Open, None);
        let first = world.ask(0, "again");
        if forgets {
            world.node.forget(first);
        }
        assert_eq!(world.ask(0, "old"), first + 1);
        world.settle();
        assert_eq!(world.sum(), 1, "it has happened all the same");
        let told = world.answers.len();
        // The next start does not reuse these numbers, and knows none of them.
        let mut again = World::start(Open, world.disk);
        assert!(again.ask(0, "old") > first + 1);
        again.settle();
        assert_eq!((&again.answers[..], again.sum(), again.node.incarnation()), (&[][..], 2, 2));
        told
    };
    assert_eq!([told(false), told(true)], [1, 0]);
}

#[test]
fn a_timer_keeps_its_duration_until_it_is_restarted() {
    let mut world = World::start(Open, None);
    let tick = |world: &mut World<Open>, at| {
        world.node.elapse(milliseconds(at));
        world.settle();
        world.sum()
    };
    assert_eq!([tick(&mut world, 39), tick(&mut world, 40)], [0, 1]);
    // From then on, the next tick takes 80 ms, whatever happens meanwhile.
    world.ask(60, "add");
    assert_eq!([tick(&mut world, 119), tick(&mut world, 120)], [2, 3]);
    // It was due at 280; at 200, its 160 ms start again.
    world.ask(200, "again");
    assert_eq!([tick(&mut world, 359), tick(&mut world, 360)], [3, 4]);
}

/// Postpones every call of the application once.
#[derive(Default)]
struct Waits(Vec<LocalEvent>);

impl Gate for Waits {
    fn before(&mut self, _: Time, event: &Event<'_>) -> Verdict {
        match event.cause {
            crate::gate::Cause::Local(event) if event.kind == LocalKind::Application && !self.0.contains(event) => {
                self.0.push(event.clone());
                Verdict::Instead(Substitute::Delay)
            }
            _ => Verdict::Pass,
        }
    }

    fn after(&mut self, _: Time, _: &Event<'_>, _: &mut Judge<'_>) -> Verdict {
        Verdict::Pass
    }
}

/// The event is in no list of local events, and the state changes meanwhile.
#[test]
fn a_request_that_a_gate_has_wait_is_not_lost() {
    let mut world = World::start(Waits::default(), None);
    let number = world.ask(0, "add");
    world.settle();
    assert_eq!((&world.answers[..], world.sum()), (&[][..], 0));
    world.node.elapse(milliseconds(999));
    world.settle();
    // The tick was due long before, and the next one is due in 80 ms.
    assert_eq!((&world.answers[..], world.sum()), (&[][..], 1));
    world.node.elapse(milliseconds(1_000));
    world.settle();
    assert_eq!(world.answers, [(number, "2".to_owned())]);
}

#[test]
fn a_node_that_has_failed_takes_no_requests() {
    let mut world = World::start(Open, None);
    world.node.is_failed = true;
    let request = Request { method: "add".into(), path: "/".into(), body: Vec::new() };
    assert_eq!(world.node.request(Time(0), &request), Err(NotNow::Failed));
}
