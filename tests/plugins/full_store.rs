//! A node of raft-kv whose store is full starts again under the limits that `host` has by default.

use host_model::contract::{Effects, Input, LocalEvent, Machine, MachineFactory, Request, Response};

use crate::plugins::plugin;

/// The only node of its cluster, with the other parameters of `cluster.toml`.
const CONFIG: &str = "batches=true\nheartbeats=true\nkept=100\nreads=index\nrevisions=true\nsteps-down=true\nterms=0";

fn handle(machine: &mut dyn Machine, input: Input<'_>) -> Effects {
    let mut effects = Effects::default();
    machine.handle(input, &[], &mut effects).unwrap_or_else(|fault| panic!("{fault}"));
    effects
}

/// The local event of a request, or the answer of a node that does not take it.
fn event(machine: &mut dyn Machine, number: u64, request: &Request) -> Result<LocalEvent, Response> {
    machine.request(number, request).expect("no fault")
}

/// The default `room` of 4 MiB, with 64 bytes for each key, has some 59,000 short keys. To read and index one takes a few thousand units of
/// fuel, so that all of them take more than the limit of a call, 200 million: a start has more.
#[test]
fn a_node_with_a_full_store_starts_again() {
    let mut machine = plugin("raft-kv").machine().expect("an instance");
    let init = |durable| Input::Init { node: 0, nodes: 1, config: CONFIG, durable };
    machine.restore(None).expect("an instance");
    handle(&mut *machine, init(None));
    let timeout = machine.local_events().expect("no fault").remove(0);
    handle(&mut *machine, Input::Local(&timeout));
    let mut keys = 0;
    for number in 1.. {
        let request = Request { method: "PUT".into(), path: format!("/{number}"), body: b"1".to_vec() };
        match event(&mut *machine, number, &request) {
            Ok(event) => drop(handle(&mut *machine, Input::Local(&event))),
            Err(full) => {
                assert_eq!(full.status, 507, "{full:?}");
                break;
            }
        }
        keys = number;
    }
    assert!(keys > 55_000, "{keys} keys");
    let durable = machine.durable_state().expect("no fault");
    machine.restore(None).expect("an instance");
    handle(&mut *machine, init(durable.as_ref()));
    assert_eq!(machine.durable_state().expect("no fault"), durable, "it has what it had");
}
