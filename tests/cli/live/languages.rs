//! Clusters of a store in other languages: the plugin that `sdk` compares with one in Rust.

use std::time::{Duration, Instant};

use guest_sdk::test::Cluster as Native;

use super::client::{ask_one_until_told, ask_until_told};
use super::cluster::Cluster;
use super::http::request;
use super::judge::{Operation, Outcome};
use crate::cli::Place;
use crate::languages::component;
use crate::sdk::probes;
use crate::sdk::store::Store;

/// More than the second after which the host lets timers without a duration happen.
const PATIENCE: Duration = Duration::from_millis(1_200);

fn put(value: &str) -> Operation {
    Operation::Put("key".into(), value.into())
}

/// Clients read their writes, requests to the wrong node are redirected, malformed ones are refused, and an impossible one
/// gets an answer with that error after the time that the plugin sets.
#[test]
fn clients_ask_stores_in_other_languages() {
    for (name, component) in probes() {
        let place = Place::new();
        place.put("probe.wasm", component);
        let plugin = format!("plugin = {:?}\n", place.path("probe.wasm"));
        let parameters = format!("patience = {}\n", PATIENCE.as_millis());
        let (mut nodes, cluster) = Cluster::start_of(&plugin, "ordered", &parameters, "");
        let clients = cluster.clients();
        for value in ["red", "blue", "\u{1f980}"] {
            assert_eq!(ask_until_told(clients, &put(value)), Outcome::Done, "{name}");
            // A node that is slow to start refuses at first.
            let (node, read) = ask_one_until_told(clients, 2, &Operation::Get("key".into()));
            assert_eq!(read, Outcome::Value(Some(value.into())), "{name}");
            assert_eq!(node, 0, "{name}: it was sent there");
        }
        let other = ask_until_told(clients, &Operation::Get("another".into()));
        assert_eq!(other, Outcome::Value(None), "{name}");
        for (method, body, status, said) in
            [("POST", &b"red"[..], 405, "there are GET and PUT\n"), ("PUT", b"\xff", 400, "a value is text\n")]
        {
            let response = request(clients[0], method, "/key", body).unwrap_or_else(|_| panic!("{name}: no answer"));
            assert_eq!((response.status, &response.body[..]), (status, said.as_bytes()), "{name}");
        }
        nodes.kill(1);
        nodes.kill(2);
        let begun = Instant::now();
        let response = request(clients[0], "PUT", "/key", b"green").unwrap_or_else(|_| panic!("{name}: no answer"));
        assert_eq!((response.status, &response.body[..]), (503, &b"too few nodes have it so far\n"[..]), "{name}");
        assert!(begun.elapsed() >= PATIENCE, "{name}: after {:?}", begun.elapsed());
    }
}

/// The durations, requests and answers of a plugin change nothing in a search: the counts are those of the Rust SDK, by native
/// enumeration, and audits find nothing.
#[test]
fn stores_in_other_languages_are_fit_for_a_search() {
    let native = Native::<Store>::new(3, &[]).expect("the defaults fit").explore(100_000);
    assert_eq!(native.broken, None);
    for (name, component) in probes() {
        let place = Place::new();
        place.put("probe.wasm", component);
        let report = place.host(&["run", "probe.wasm", "--algo", "bdfs", "--json"]).exits(0).json();
        let counts = (&report["counts"]["global_states"], &report["counts"]["transitions"]);
        assert_eq!(counts, (&native.global_states.into(), &native.transitions.into()), "{name}");
        assert_eq!(report["result"], "ok", "{name}: {report:#}");
        let ran = place.host(&["doctor", "probe.wasm", "--quiet"]).exits(0);
        assert!(ran.out.contains("wrong\n  none"), "{name}: {ran:?}");
    }
}

/// This feature of the SDK changes no plugin that does not use it. In Go all exports are always there, and the types of the protocol
/// decide its behaviour.
#[test]
fn a_plugin_without_clients_imports_what_it_did() {
    for name in ["register-python", "register-typescript", "register-go"] {
        let Some(component) = component(name) else { continue };
        let place = Place::new();
        place.put("register.wasm", component);
        let shown = place.host(&["inspect", "register.wasm", "--json"]).exits(0).json();
        let (imports, exports) = (shown["imports"].to_string(), shown["exports"].to_string());
        assert!(imports.contains("/environment@") && !imports.contains("/live@"), "{name}: {imports}");
        let has = ["/timing@", "/clients@", "/neighbourhood@"].map(|interface| exports.contains(interface));
        assert_eq!(has, [name == "register-go"; 3], "{name}: {exports}");
    }
}
