//! Single executions, and the effect of each mistake. `none` is the protocol without a mistake, on the same path.

use bullet_prime::{BulletPrime, Message};
use guest_sdk::test::Cluster;

fn with(nodes: u32, parameters: &[(&str, &str)]) -> Cluster<BulletPrime> {
    Cluster::new(nodes, parameters).expect("the parameters fit")
}

/// Each receiver has its sender, and nothing was announced.
fn peered(nodes: u32, bug: &str) -> Cluster<BulletPrime> {
    let mut cluster = with(nodes, &[("bug", bug)]);
    for node in 1..nodes {
        cluster.happen(node, "peer");
    }
    cluster.settle();
    cluster
}

/// Executes possible events, in some order, until none is left.
fn run(cluster: &mut Cluster<BulletPrime>) {
    loop {
        cluster.settle();
        let next = (0..cluster.nodes()).find_map(|node| Some((node, cluster.local_events(node).first()?.name)));
        let Some((node, name)) = next else { return };
        cluster.happen(node, name);
    }
}

/// One block and one receiver: peer, tell, request and serve, each followed by the delivery of its message.
#[test]
fn one_block_has_nine_states() {
    let found = with(2, &[("blocks", "1")]).explore(100);
    assert_eq!((found.global_states, found.transitions, found.broken), (9, 8, None));
    assert_eq!(found.terminal_states, 1);
}

#[test]
fn every_node_gets_the_file() {
    for mesh in ["line", "full"] {
        let mut cluster = with(4, &[("mesh", mesh), ("blocks", "3")]);
        run(&mut cluster);
        assert_eq!(cluster.holds("complete"), Ok(()), "{mesh}");
        assert_eq!(cluster.check(), Ok(()));
    }
}

#[test]
fn rare_blocks_are_asked_for_first() {
    let mut cluster = with(3, &[("mesh", "full")]);
    cluster.happen(1, "peer");
    cluster.settle();
    cluster.happen(0, "tell");
    cluster.settle();
    cluster.happen(1, "request");
    cluster.settle();
    cluster.happen(0, "serve");
    cluster.settle();
    assert!(cluster.state(1).blocks.contains(&0));
    // Node 2 hears of block 0 from both, and of block 1 from the source alone.
    for _ in 0..2 {
        cluster.happen(2, "peer");
    }
    cluster.settle();
    cluster.happen(0, "tell");
    cluster.happen(1, "tell");
    cluster.settle();
    cluster.happen(2, "request");
    assert_eq!(cluster.state(2).requested.keys().copied().collect::<Vec<_>>(), [1]);
}

#[test]
fn bul1_forgets_a_difference_that_is_refused() {
    for bug in ["none", "BUL1"] {
        let mut cluster = peered(2, bug);
        cluster.refuse(&[true]);
        cluster.happen(0, "tell");
        assert_eq!(cluster.holds("file-map").is_err(), bug == "BUL1");
        run(&mut cluster);
        assert_eq!(cluster.holds("complete").is_err(), bug == "BUL1");
    }
}

/// Node 1 has its first block, which it cannot announce to node 2, and then its second one.
#[test]
fn stale_differences_hide_newer_blocks() {
    for bug in ["none", "stale"] {
        let mut cluster = peered(3, bug);
        cluster.happen(0, "tell");
        cluster.settle();
        for round in 0..2 {
            cluster.happen(1, "request");
            cluster.settle();
            cluster.happen(0, "serve");
            cluster.settle();
            if round == 0 {
                cluster.refuse(&[true]);
                cluster.happen(1, "tell");
            }
        }
        cluster.happen(1, "tell");
        let told = cluster.in_flight().iter().find_map(|flight| match &flight.message {
            Message::Difference(_, blocks) => Some(blocks.len()),
            _ => None,
        });
        assert_eq!(told, Some(if bug == "none" { 2 } else { 1 }));
        cluster.settle();
        assert_eq!(cluster.holds("file-map").is_err(), bug == "stale");
        run(&mut cluster);
        assert_eq!(cluster.holds("complete").is_err(), bug == "stale");
    }
}

#[test]
fn blocks_announced_over_an_old_connection_do_not_count() {
    for bug in ["none", "kept"] {
        let mut cluster = peered(2, bug);
        cluster.happen(0, "tell");
        cluster.settle();
        cluster.transport_error(1, 0);
        cluster.transport_error(0, 1);
        cluster.happen(1, "peer");
        cluster.settle();
        assert_eq!(cluster.state(0).receivers[&1].shadow.is_empty(), bug == "kept");
        assert_eq!(cluster.holds("file-map").is_err(), bug == "kept");
        run(&mut cluster);
        assert_eq!(cluster.holds("complete").is_err(), bug == "kept");
    }
}

/// A sender that does not know a receiver replies so, and the receiver restarts.
#[test]
fn who_was_started_again_is_asked_again() {
    let mut cluster = peered(3, "none");
    cluster.happen(0, "tell");
    cluster.settle();
    cluster.reset(0);
    cluster.happen(1, "request");
    cluster.settle();
    assert!(cluster.state(1).senders.is_empty());
    run(&mut cluster);
    assert_eq!(cluster.holds("complete"), Ok(()));
}

#[test]
fn mistakes_are_combined_with_commas() {
    assert!(Cluster::<BulletPrime>::new(3, &[("bug", "BUL1,kept")]).is_ok());
    let refused = Cluster::<BulletPrime>::new(3, &[("bug", "BUL2")]).err().expect("there is no such mistake");
    assert!(refused.to_string().contains("\"BUL2\""), "{refused}");
    assert!(Cluster::<BulletPrime>::new(3, &[("blocks", "0")]).is_err());
}
