//! The findings without WebAssembly and without the checker: the steps of the traces, against the crate alone.

use viewstamped_replication::buffer::{BufferedMailbox, ProtocolPayload};
use viewstamped_replication::{Client, Configuration, Replica};
use viewstamped_replication_checked::Invoked;

struct Node {
    replica: Replica<Invoked>,
    mailbox: BufferedMailbox<Invoked>,
    client: Client,
}

/// Three replicas, each with a client, and the messages in flight: from, to, message.
struct Cluster {
    nodes: Vec<Node>,
    in_flight: Vec<(usize, usize, ProtocolPayload<Invoked>)>,
}

impl Cluster {
    fn new() -> Self {
        let configuration = Configuration::from(3);
        let node = |index| Node {
            replica: Replica::new(configuration, index, Invoked::default()),
            mailbox: BufferedMailbox::default(),
            client: Client::new(configuration),
        };
        Self { nodes: (0..3).map(node).collect(), in_flight: Vec::new() }
    }

    fn collect(&mut self, from: usize) {
        let mailbox = &mut self.nodes[from].mailbox;
        self.in_flight.extend(mailbox.drain_send().map(|envelope| (from, envelope.destination, envelope.payload)));
        for message in mailbox.drain_broadcast() {
            self.in_flight.extend((0..3).filter(|to| *to != from).map(|to| (from, to, message.clone())));
        }
        mailbox.drain_replies().for_each(drop);
    }

    fn request(&mut self, at: usize, payload: u32) {
        let Node { replica, mailbox, client } = &mut self.nodes[at];
        replica.handle_request(client.new_request(payload), mailbox);
        self.collect(at);
    }

    fn idle(&mut self, at: usize) {
        let Node { replica, mailbox, .. } = &mut self.nodes[at];
        replica.idle(mailbox);
        self.collect(at);
    }

    /// Delivers the first message in flight from one replica to another of this kind whose JSON form contains these words.
    fn deliver(&mut self, from: usize, to: usize, kind: &str, words: &str) {
        let is_it = |(sender, receiver, message): &(usize, usize, ProtocolPayload<Invoked>)| {
            let (its_kind, text) = shown(message);
            (*sender, *receiver, its_kind) == (from, to, kind) && text.contains(words)
        };
        let at = self.in_flight.iter().position(is_it);
        let (_, _, message) = self.in_flight.remove(at.unwrap_or_else(|| panic!("no {kind} from {from} to {to}")));
        // "The protocol requires returned messages to be re-queued for later (i.e. after a new message comes in)."
        let returned: Vec<_> = self.nodes[to].mailbox.drain_inbound().collect();
        for message in std::iter::once(message).chain(returned) {
            let Node { replica, mailbox, .. } = &mut self.nodes[to];
            handle(replica, message, mailbox);
            self.collect(to);
        }
    }

    fn invoked(&self, at: usize) -> Vec<u32> {
        self.nodes[at].replica.checkpoint().state.0
    }
}

macro_rules! kinds {
    ($($kind:ident $handle:ident),+) => {
        fn shown(message: &ProtocolPayload<Invoked>) -> (&'static str, String) {
            match message {
                $(ProtocolPayload::$kind(it) => (stringify!($kind), serde_json::to_string(it).expect("it has a JSON form")),)+
            }
        }

        fn handle(
            replica: &mut Replica<Invoked>,
            message: ProtocolPayload<Invoked>,
            mailbox: &mut BufferedMailbox<Invoked>,
        ) {
            match message {
                $(ProtocolPayload::$kind(it) => replica.$handle(it, mailbox),)+
            }
        }
    };
}

kinds!(
    Prepare handle_prepare,
    PrepareOk handle_prepare_ok,
    Commit handle_commit,
    GetState handle_get_state,
    NewState handle_new_state,
    StartViewChange handle_start_view_change,
    DoViewChange handle_do_view_change,
    StartView handle_start_view,
    Recovery handle_recovery,
    RecoveryResponse handle_recovery_response
);

/// The primary of a view that has not started takes a request into its log. That log counts as newer than the one in which the view
/// before has committed a request.
#[test]
fn a_request_in_a_view_that_has_not_started_replaces_one_that_is_committed() {
    let mut cluster = Cluster::new();
    cluster.request(0, 11);
    cluster.idle(1);
    cluster.deliver(0, 2, "Prepare", "");
    cluster.deliver(2, 0, "PrepareOk", "");
    assert_eq!(cluster.invoked(0), [11]);
    cluster.deliver(1, 0, "StartViewChange", "");
    cluster.request(1, 21);
    cluster.deliver(0, 1, "DoViewChange", "");
    cluster.deliver(0, 1, "StartViewChange", "");
    cluster.deliver(1, 1, "DoViewChange", "");
    assert_eq!((cluster.invoked(0), cluster.invoked(1)), (vec![11], vec![21]));
}

/// "Selects as the new log the one with the largest v'", the last view in which the replica's status was normal: the crate compares
/// the view in which a log was last appended to. A log that a replica has from the primary of a later view counts as old.
#[test]
fn a_log_from_an_older_view_replaces_one_that_is_committed() {
    let mut cluster = Cluster::new();
    // View 1 starts without replica 0, which has a request of its own.
    cluster.idle(2);
    cluster.deliver(2, 1, "StartViewChange", "");
    cluster.request(0, 11);
    cluster.deliver(1, 0, "StartViewChange", "");
    cluster.idle(0);
    cluster.deliver(1, 2, "StartViewChange", "");
    // View 2 starts with the log of replica 0, which no other replica has been in view 2 with.
    cluster.deliver(0, 2, "StartViewChange", "\"view\":2");
    cluster.deliver(2, 0, "StartViewChange", "\"view\":2");
    cluster.deliver(1, 1, "DoViewChange", "");
    cluster.deliver(2, 1, "DoViewChange", "");
    cluster.request(1, 21);
    cluster.deliver(0, 1, "StartViewChange", "\"view\":2");
    cluster.idle(1);
    cluster.deliver(2, 2, "DoViewChange", "");
    cluster.deliver(0, 2, "DoViewChange", "\"view\":2");
    cluster.deliver(2, 0, "StartView", "\"view\":2");
    // View 3 starts with the log of replica 1, although replica 0 has been in view 2 since.
    cluster.deliver(1, 0, "StartViewChange", "\"view\":3");
    cluster.deliver(0, 1, "StartViewChange", "\"view\":3");
    cluster.deliver(0, 0, "DoViewChange", "\"view\":3");
    cluster.deliver(1, 0, "DoViewChange", "\"view\":3");
    cluster.deliver(0, 1, "StartView", "\"view\":3");
    cluster.deliver(1, 0, "PrepareOk", "\"view\":3");
    assert_eq!(cluster.invoked(0), [21]);
    // The request that replica 0 acknowledged in view 2 is committed there.
    cluster.deliver(0, 2, "PrepareOk", "\"view\":2");
    assert_eq!((cluster.invoked(0), cluster.invoked(2)), (vec![21], vec![11]));
}

/// A primary that hears of a later view drops its uncommitted requests, and remains primary of its own view: the answer to a
/// dropped request counts.
#[test]
#[should_panic = "Out of bounds access"]
#[cfg(not(debug_assertions))]
fn an_answer_to_a_request_that_was_dropped_ends_the_primary() {
    let mut cluster = hear_of_a_later_view();
    cluster.deliver(2, 0, "PrepareOk", "\"view\":0");
}

/// Dropping uncommitted requests when none is committed subtracts one operation number from a smaller one.
#[test]
#[should_panic = "attempt to subtract with overflow"]
#[cfg(debug_assertions)]
fn to_hear_of_a_later_view_with_nothing_committed_ends_the_primary() {
    hear_of_a_later_view();
}

/// Replicas 1 and 2 start view 1 with the request of replica 0, which hears of it by a `Prepare`.
fn hear_of_a_later_view() -> Cluster {
    let mut cluster = Cluster::new();
    cluster.request(0, 11);
    cluster.deliver(0, 2, "Prepare", "");
    cluster.idle(2);
    cluster.deliver(2, 1, "StartViewChange", "");
    cluster.deliver(1, 2, "StartViewChange", "");
    cluster.deliver(2, 1, "DoViewChange", "");
    cluster.deliver(1, 1, "DoViewChange", "");
    cluster.deliver(1, 0, "Prepare", "\"view\":1");
    cluster
}
