//! The tree over MaceTransport, against the tree on ordered channels.

use std::collections::BTreeSet;

use guest_sdk::test::Cluster;
use guest_sdk::{Canonical, Encoding, NodeState, Payload, Protocol};
use rand_tree::{RandTree, Stack, State};

const OVER_MACE: [(&str, &str); 3] = [("transport", "mace"), ("mace-early", "0"), ("mace-give-up", "0")];

/// The states of the tree that two nodes can reach together without failures, where `is_next` selects the deliverable messages.
fn reached<P: Protocol>(
    parameters: &[(&str, &str)],
    is_next: impl Fn(&Cluster<P>, usize) -> bool,
    tree: impl Fn(&P::State) -> &State,
) -> BTreeSet<Vec<Vec<u8>>> {
    let start = Cluster::<P>::new(2, &[parameters, &[("start", "rooted"), ("contact", "last")]].concat())
        .expect("the parameters fit");
    let (mut all, mut seen, mut stack) = (BTreeSet::new(), BTreeSet::new(), vec![start]);
    while let Some(cluster) = stack.pop() {
        let states = |encode: &dyn Fn(u32) -> Vec<u8>| (0..2).map(encode).collect::<Vec<_>>();
        let whole = states(&|node| cluster.state(node).identity(Encoding::Postcard));
        let mut messages: Vec<_> = cluster
            .in_flight()
            .iter()
            .map(|flight| (flight.from, flight.to, flight.message.to_bytes(Encoding::Postcard)))
            .collect();
        // In order of links, and on each link in that of sending.
        messages.sort_by_key(|(from, to, _)| (*from, *to));
        if !seen.insert((whole, messages)) {
            continue;
        }
        all.insert(states(&|node| tree(cluster.state(node)).encode(Encoding::Postcard)));
        for place in (0..cluster.in_flight().len()).filter(|place| is_next(&cluster, *place)) {
            let mut next = cluster.clone();
            next.deliver(place);
            stack.push(next);
        }
        for node in 0..2 {
            for event in cluster.local_events(node) {
                let mut next = cluster.clone();
                next.happen(node, event.name);
                stack.push(next);
            }
        }
    }
    all
}

#[test]
fn over_mace_transport_the_tree_has_the_states_that_it_has_on_an_ordered_network() {
    let is_first = |cluster: &Cluster<RandTree>, place: usize| {
        let link = |place: usize| (cluster.in_flight()[place].from, cluster.in_flight()[place].to);
        (0..place).all(|earlier| link(earlier) != link(place))
    };
    let ordered = reached::<RandTree>(&[], is_first, |state| state);
    assert_eq!(reached::<Stack>(&OVER_MACE, |_, _| true, |state| state.protocol()), ordered);
    // The transport is needed for that.
    let unordered = reached::<RandTree>(&[], |_, _| true, |state| state);
    assert!(ordered.is_subset(&unordered) && unordered != ordered);
}
