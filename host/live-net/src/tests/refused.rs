//! Places where no node runs.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use host_live::node::{Identity, Settings};
use host_model::toys::Toy;

use crate::{Place, run};

fn refused(addresses: &[SocketAddr]) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let identity = Identity { node: 0, nodes: 1, config: String::new(), cluster: [0; 16], session: 1 };
    let disk = folder.path().join("node-0.disk");
    let place = Place {
        identity,
        settings: Settings::default(),
        addresses: addresses.to_vec(),
        clients: Vec::new(),
        metrics: None,
        disk,
    };
    let toy = Arc::new(Toy::new(1));
    run(&toy, &place, None, &AtomicBool::new(true)).expect_err("it does not run").to_string()
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
