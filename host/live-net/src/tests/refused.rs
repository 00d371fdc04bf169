//! Configurations that a node refuses.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use host_live::address::Address;
use host_live::node::{Identity, Settings};
use host_model::scenario::Network;
use host_model::toys::Toy;

use super::certificates::Authority;
use super::processes::component;
use crate::{Place, Sink, Tls, Ways, run};

fn refused(addresses: &[SocketAddr]) -> String {
    refused_with(addresses, |place| place)
}

fn refused_with(addresses: &[SocketAddr], change: impl Fn(Place) -> Place) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = change(place(folder.path(), addresses, Sink::none()));
    let toy = Arc::new(Toy::new(1));
    run(&toy, &place, None, &AtomicBool::new(true)).expect_err("it does not run").to_string()
}

/// The place of a node without peers, with its file in this folder.
pub(super) fn place(folder: &Path, addresses: &[SocketAddr], log: Sink) -> Place {
    let identity =
        Identity { node: 0, nodes: 1, config: String::new(), name: String::new(), cluster: [0; 16], session: 1 };
    Place {
        identity,
        settings: Settings::default(),
        addresses: addresses.iter().copied().map(Address::from).collect(),
        tls: None,
        clients: Vec::new(),
        metrics: None,
        log,
        disk: folder.join("node-0.disk"),
        component: component(),
        recording: None,
        ways: Ways::default(),
        operations: Default::default(),
        all_end: Default::default(),
    }
}

#[test]
fn addresses_that_others_reach_or_have_are_refused() {
    let all = "0.0.0.0:0".parse().expect("an address");
    assert!(refused(&[all]).starts_with("0.0.0.0:0 is no loopback address"));
    let loopback = "127.0.0.1:0".parse().expect("an address");
    assert_eq!(refused(&[loopback, loopback]), "there are 2 addresses for 1 nodes");
    let taken = TcpListener::bind(loopback).expect("loopback has room");
    let address = taken.local_addr().expect("it is bound");
    let error = refused(&[address]);
    assert!(error.starts_with(&format!("cannot listen at {address}: Address already in use")), "{error}");
}

/// With TLS, a node may have any address: the one in this test belongs to no machine. Its clients may not.
#[test]
fn addresses_that_others_reach_take_tls_and_tls_takes_connections() {
    let (here, elsewhere) = ("127.0.0.1:0".parse().expect("an address"), "192.0.2.1:7431".parse().expect("an address"));
    let authority = Authority::new();
    let tls = |node: u32| Tls::new(node, 1, authority.credentials(&[&format!("node-{node}")]).of()).expect("they fit");
    let encrypted = |place: Place| Place { tls: Some(tls(0)), ..place };
    let error = refused_with(&[elsewhere], encrypted);
    assert!(error.starts_with("cannot listen at 192.0.2.1:7431: "), "{error}");
    for change in [
        |place: Place| Place { clients: vec!["192.0.2.1:8431".parse().expect("an address")], ..place },
        |place: Place| Place { metrics: Some("192.0.2.1:8431".parse().expect("an address")), ..place },
    ] {
        let error = refused_with(&[here], |place| change(encrypted(place)));
        assert!(error.starts_with("192.0.2.1:8431 is no loopback address"), "{error}");
    }
    let error = refused_with(&[here], |place| {
        let mut place = encrypted(place);
        place.settings.network = Network::Unordered;
        place
    });
    assert_eq!(error, "TLS is for links with an order: there is none over UDP");
}
