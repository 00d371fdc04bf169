//! Single executions, and the number of global states by an enumeration that shares no code with the host.

use std::collections::{BTreeSet, VecDeque};

use guest_sdk::test::{Cluster, Explored};
use guest_sdk::{NodeId, Role};
use regular_storage::{Read, Reader, RegularStorage, State, Writer};

/// A writer, a reader and three objects.
fn cluster(parameters: &[(&str, &str)]) -> Cluster<RegularStorage> {
    Cluster::new(5, parameters).expect("the parameters are known")
}

fn explore(parameters: &[(&str, &str)]) -> Explored {
    cluster(parameters).explore(100_000)
}

/// The oldest message of a node to another, and the answer.
fn ask(cluster: &mut Cluster<RegularStorage>, from: NodeId, to: NodeId) {
    cluster.deliver_where(|flight| (flight.from, flight.to) == (from, to));
    cluster.deliver_where(|flight| (flight.from, flight.to) == (to, from));
}

fn returned(cluster: &Cluster<RegularStorage>) -> Option<(u32, u32)> {
    match cluster.state(1) {
        State::Reader(Reader { read: Some(Read::Returned { floor, value }), .. }) => Some((*floor, *value)),
        _ => None,
    }
}

/// A write to objects 2 and 3, which the reader knows of; then a read from objects 3 and 4.
fn read_after_write(
    parameters: &[(&str, &str)],
    before_the_read: impl Fn(&mut Cluster<RegularStorage>),
) -> Cluster<RegularStorage> {
    let mut cluster = cluster(parameters);
    cluster.happen(0, "write");
    ask(&mut cluster, 0, 2);
    ask(&mut cluster, 0, 3);
    cluster.deliver_where(|flight| (flight.from, flight.to) == (0, 1));
    before_the_read(&mut cluster);
    cluster.happen(1, "read");
    ask(&mut cluster, 1, 3);
    ask(&mut cluster, 1, 4);
    cluster
}

#[test]
fn majorities_meet() {
    let cluster = read_after_write(&[], |_| {});
    assert_eq!(returned(&cluster), Some((1, 1)));
    assert_eq!(cluster.check(), Ok(()));
    assert_eq!((cluster.holds("write-is-read"), cluster.holds("read-knows-of-write")), (Ok(()), Ok(())));
}

#[test]
fn the_last_reply_may_be_old() {
    let cluster = read_after_write(&[("bug", "last-reply")], |_| {});
    assert_eq!(cluster.check(), Err("regular: node 1: write 1 was complete before a read that returns 0".to_owned()));
}

#[test]
fn what_an_object_keeps_survives_a_reset() {
    for (bug, value) in [("none", 1), ("forget-value", 0)] {
        let cluster = read_after_write(&[("bug", bug)], |cluster| cluster.reset(3));
        assert_eq!(returned(&cluster), Some((1, value)), "{bug}");
        assert_eq!(cluster.check().is_ok(), value == 1, "{bug}");
    }
}

#[test]
fn one_object_is_no_majority() {
    let mut cluster = cluster(&[("bug", "one-ack")]);
    cluster.happen(0, "write");
    ask(&mut cluster, 0, 2);
    let told = "stored-by-majority: write 1 is complete, and 1 of 3 objects have it";
    assert_eq!(cluster.check(), Err(told.to_owned()));
}

/// A reader that is reset reads again, and replies to its first read do not count.
#[test]
fn replies_to_another_read_do_not_count() {
    let mut cluster = cluster(&[]);
    cluster.happen(1, "read");
    ask(&mut cluster, 1, 2);
    cluster.reset(1);
    cluster.happen(1, "read");
    ask(&mut cluster, 1, 3);
    ask(&mut cluster, 1, 4);
    assert_eq!(returned(&cluster), None);
}

#[test]
fn there_is_an_object() {
    assert!(Cluster::<RegularStorage>::new(2, &[]).is_err());
    assert!(Cluster::<RegularStorage>::new(5, &[("readers", "4294967295")]).is_err());
}

/// One write and one read. The counts are those of an enumeration of the same model in another language, written from the
/// table in the README.
#[test]
fn one_read_without_notices() {
    let found = explore(&[("notices", "off")]);
    assert_eq!((found.global_states, found.transitions, found.broken), (1_988, 7_652, None));
    // `write` and `read`, and each of three objects receives two messages and answers both.
    assert_eq!(found.depth, 2 + 3 * 2 * 2);
}

/// Majorities are taken at once: the same enumeration with sets of two answers, 3 for each of the two operations, in place of
/// single answers; answers that are left over stay in flight. There are fewer events: two answers in one.
#[test]
fn one_read_by_quorums() {
    let found = explore(&[("quorum", "on"), ("notices", "off")]);
    assert_eq!((found.global_states, found.transitions, found.broken), (496, 1_368, None));
    assert_eq!(found.depth, 2 + 3 * 2 + 2);
    let found = explore(&[("quorum", "on")]);
    assert_eq!((found.global_states, found.transitions, found.broken), (838, 2_265, None));
}

/// The same, and a message to the reader when the write is complete. The scenario `one-read.toml` compares the counts with
/// those of the host.
#[test]
fn one_read() {
    let found = explore(&[]);
    assert_eq!((found.global_states, found.transitions, found.broken), (2_873, 10_782, None));
    assert_eq!(found.depth, 2 + 3 * 2 * 2 + 1);
}

/// The notes of an observer of all nodes: for each reader the write that was complete when its read began, and the write that
/// had begun when it returned.
type Notes = Vec<(Option<u32>, Option<u32>)>;

/// The changes of the readers between two global states.
fn observe(notes: &Notes, before: &Cluster<RegularStorage>, after: &Cluster<RegularStorage>) -> Notes {
    let State::Writer(Writer { begun, complete, .. }) = after.state(0) else { panic!("node 0 writes") };
    let of_reader = |(node, (floor, end)): (NodeId, &(Option<u32>, Option<u32>))| {
        let read = |cluster: &Cluster<RegularStorage>| match cluster.state(node) {
            State::Reader(Reader { read, .. }) => read.clone(),
            _ => None,
        };
        match (read(before), read(after)) {
            (None, Some(_)) => (Some(*complete), None),
            (Some(Read::Waiting { .. }), Some(Read::Returned { .. })) => (*floor, Some(*begun)),
            _ => (*floor, *end),
        }
    };
    (1..).zip(notes).map(of_reader).collect()
}

/// Global states, those of the observer included, and transitions; three objects, one write, no notices.
fn explore_observed(readers: u32, quorum: &str) -> (usize, usize) {
    let names = readers.to_string();
    let parameters = [("notices", "off"), ("readers", names.as_str()), ("quorum", quorum)];
    let cluster = Cluster::<RegularStorage>::new(1 + readers + 3, &parameters).expect("the parameters are known");
    let key = |cluster: &Cluster<RegularStorage>, notes: &Notes| {
        let states: Vec<State> = (0..cluster.nodes() as NodeId).map(|node| cluster.state(node).clone()).collect();
        let in_flight: BTreeSet<String> = cluster.in_flight().iter().map(|flight| format!("{flight:?}")).collect();
        assert_eq!(in_flight.len(), cluster.in_flight().len(), "no message is there twice");
        format!("{states:?} {in_flight:?} {notes:?}")
    };
    let start: Notes = vec![(None, None); readers as usize];
    let mut seen = BTreeSet::from([key(&cluster, &start)]);
    let mut queue = VecDeque::from([(cluster, start)]);
    let mut transitions = 0;
    while let Some((cluster, notes)) = queue.pop_front() {
        let mut successors = Vec::new();
        let mut after = |happen: &dyn Fn(&mut Cluster<RegularStorage>)| {
            let mut next = cluster.clone();
            happen(&mut next);
            successors.push(next);
        };
        (0..cluster.in_flight().len())
            .filter(|index| cluster.role(*index) == Role::Alone)
            .for_each(|index| after(&|next| next.deliver(index)));
        for quorum in cluster.quorums() {
            after(&|next| assert!(next.deliver_quorum(&quorum), "no quorum is declined"));
        }
        for node in 0..=readers {
            for event in cluster.local_events(node) {
                after(&|next| next.happen(node, event.name));
            }
        }
        transitions += successors.len();
        for next in successors {
            let noted = observe(&notes, &cluster, &next);
            if seen.insert(key(&next, &noted)) {
                queue.push_back((next, noted));
            }
        }
    }
    (seen.len(), transitions)
}

/// The counts of MP-Basset's protocol that were made elsewhere: there the specification reads all nodes when a read begins and
/// when it returns, and its observations are a part of the state.
#[test]
fn an_observer_tells_apart_what_nodes_do_not() {
    assert_eq!(explore_observed(1, "off"), (2_498, 9_098));
    assert_eq!(explore_observed(1, "on"), (706, 1_764));
    assert_eq!(explore_observed(2, "on"), (38_296, 137_180));
}

/// Object 2 has the new value when it is asked, objects 3 and 4 have the old one.
#[test]
fn who_has_begun_is_owed_a_majority() {
    let waits = Err("node 1: the node waits for a majority of objects".to_owned());
    for (bug, answered) in [("none", Ok(())), ("only-newest", waits)] {
        let mut cluster = cluster(&[("bug", bug)]);
        cluster.happen(0, "write");
        assert!(cluster.holds("answered").is_err());
        ask(&mut cluster, 0, 2);
        cluster.happen(1, "read");
        [2, 3, 4].iter().for_each(|object| ask(&mut cluster, 1, *object));
        cluster.settle();
        assert_eq!(cluster.holds("answered"), answered, "{bug}");
    }
}

/// A newer value begins the count again, an older one is not counted.
#[test]
fn only_newest_returns_what_a_majority_has() {
    let mut cluster = cluster(&[("bug", "only-newest")]);
    cluster.happen(1, "read");
    ask(&mut cluster, 1, 4);
    cluster.happen(0, "write");
    [2, 3].iter().for_each(|object| ask(&mut cluster, 0, *object));
    [2, 3].iter().for_each(|object| ask(&mut cluster, 1, *object));
    assert_eq!(returned(&cluster), Some((0, 1)));
}
