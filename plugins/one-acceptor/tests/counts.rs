//! The number of global states, by an enumeration that shares no code with the host.

use guest_sdk::test::{Cluster, Explored};
use one_acceptor::OneAcceptor;

fn explore(parameters: &[(&str, &str)]) -> Explored {
    Cluster::<OneAcceptor>::new(3, parameters).expect("the parameters are known").explore(100_000)
}

/// The steady state: a command in flight, the acceptor's three Learn each in flight or not, and the start.
#[test]
fn one_command_has_ten_global_states() {
    let found = explore(&[("takeovers", "0"), ("switches", "0")]);
    assert_eq!(found.broken, None);
    // Nothing, AcceptRequest, and the subsets of three Learn; edges: 1 + 1 + 3 * 2^2.
    assert_eq!((found.global_states, found.transitions), (1 + 1 + 8, 1 + 1 + 12));
    // Node 0: ready, has asked, has learned. Node 1: ready, has accepted, has learned. Node 2: ready, has learned.
    assert_eq!(found.local_states, [3, 3, 2]);
    assert_eq!(found.depth, 1 + 1 + 3);
}

/// Node 2 alone takes over, and no node proposes before; the scenario `takeover.toml` compares the counts with the host's.
#[test]
fn one_takeover() {
    let found = explore(&[("rival", "2"), ("commands", "0"), ("switches", "0")]);
    assert_eq!(found.broken, None);
    assert_eq!((found.global_states, found.transitions, found.system_states), (1_576, 6_074, 145));
}

/// Node 0 replaces the acceptor, and no node proposes before: the same steps in other roles (`switch.toml`).
#[test]
fn one_switch() {
    let found = explore(&[("takeovers", "0"), ("commands", "0")]);
    assert_eq!(found.broken, None);
    assert_eq!((found.global_states, found.transitions, found.system_states), (1_576, 6_074, 145));
}
