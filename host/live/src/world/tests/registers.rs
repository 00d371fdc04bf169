//! A register that clients write and read: linearizable, and nothing acknowledged is lost.

use std::time::Duration;

use host_model::contract::{LocalKind, Request};
use host_model::scenario::Network;
use host_model::trace::{TraceEvent, TraceStep};
use host_search::kernel::dice::below;
use rand_chacha::ChaCha8Rng;

use super::linearizable::{Operation, is_linearizable};
use super::register::Registers;
use super::{seeds, traces};
use crate::gate::Open;
use crate::native::encode;
use crate::world::{Plan, World};

/// The request with a number: half of them write, and the value is the number plus one.
fn request(dice: &mut ChaCha8Rng, number: u64) -> Request {
    let method = if below(dice, 2) == 0 { "PUT" } else { "GET" };
    Request { method: method.into(), path: "/".into(), body: encode(&(number + 1)) }
}

fn plan(seed: u64) -> Plan {
    let plan = seeds::plan(seed, 3, Network::Unordered);
    Plan { requests: Some(Duration::from_millis(80)), calm: Duration::from_secs(2), ..plan }
}

/// The operations of clients.
fn operations(world: &World<'_, Open>) -> Vec<Operation> {
    let seen = (1..).zip(&world.requests).filter_map(|(own, request)| {
        let is_write = request.request.method == "PUT";
        let (asked, answered) = (request.asked, request.answer.as_ref().map(|(at, _)| *at));
        let read = || {
            let (_, response) = request.answer.as_ref()?;
            String::from_utf8(response.body.clone()).ok()?.parse().ok()
        };
        Some(Operation { is_write, value: if is_write { own } else { read()? }, asked, answered })
    });
    seen.collect()
}

/// Runs one world. Returns the number of answered requests.
fn world(seed: u64, registers: &Registers) -> Result<u64, String> {
    let plan = plan(seed);
    let world = World::new(registers, plan.clone(), |_| Open).map_err(|broken| broken.to_string())?;
    let mut world = world.asking(request);
    world.run().map_err(|broken| broken.to_string())?;
    if !is_linearizable(&operations(&world)) {
        return Err(format!("what clients have seen is not that of one register: {:?}", operations(&world)));
    }
    let offer = |step: &TraceStep| {
        let offered = match &step.event {
            TraceEvent::Local { name, cause: LocalKind::Application, payload } => Some((name, payload)),
            _ => None,
        };
        let event = offered.map(|(name, payload)| host_model::contract::LocalEvent {
            name: name.clone(),
            kind: LocalKind::Application,
            payload: payload.0.clone(),
        });
        *registers.offered.lock().expect("no test panics with it in hand") = event;
    };
    traces::replay((&world.history, &plan), registers, &offer)?;
    Ok(operations(&world).iter().filter(|operation| operation.answered.is_some()).count() as u64)
}

#[test]
fn nothing_that_was_acknowledged_is_lost() {
    let mut answered = 0;
    seeds::each("nothing_that_was_acknowledged_is_lost", 100, |seed| {
        for (is_in_map, syncs) in [(false, None), (true, None), (true, Some(true))] {
            answered += world(seed, &Registers { is_in_map, syncs, ..Registers::default() })?;
        }
        Ok(())
    });
    assert!(answered > 0, "no client has an answer");
}

/// A node that does not sync what it acknowledges loses it when it is killed. Its runs are those of the model with outages, and no register.
#[test]
fn a_write_without_a_sync_is_lost() {
    let forgetful = || Registers { is_in_map: true, syncs: Some(false), ..Registers::default() };
    let lost = (0..200).filter_map(|seed| world(seed, &forgetful()).err());
    let first = lost.into_iter().next().expect("some seed loses a write");
    assert!(first.contains("is not that of one register"), "{first}");
}
