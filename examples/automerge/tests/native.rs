//! The finding without WebAssembly and without the checker: the steps of the trace, against the crate alone.

use automerge::sync::{Message, State, SyncDoc};
use automerge::transaction::Transactable;
use automerge::{ActorId, AutoCommit, ROOT};

fn replica(actor: u8) -> (AutoCommit, State) {
    let mut document = AutoCommit::new();
    document.set_actor(ActorId::from([actor]));
    (document, State::new())
}

fn tell((document, peer): &mut (AutoCommit, State)) -> Message {
    document.sync().generate_sync_message(peer).expect("something to tell")
}

fn hear((document, peer): &mut (AutoCommit, State), message: Message) {
    document.sync().receive_sync_message(peer, message).expect("a message of the library");
}

/// A user deletes a key that does not exist, which is no change. The second change from another replica ends this replica.
#[test]
#[should_panic = "PatchLogMismatch"]
fn a_deletion_of_nothing_ends_the_replica_two_changes_later() {
    let (mut zero, mut one) = (replica(1), replica(2));
    one.0.put(ROOT, "key", "1.1").expect("a value");
    hear(&mut zero, tell(&mut one));
    let asked = tell(&mut zero);
    zero.0.delete(ROOT, "key").expect("no error");
    hear(&mut one, asked);
    let first = tell(&mut one);
    one.0.delete(ROOT, "key").expect("it is there");
    let second = tell(&mut one);
    hear(&mut zero, first);
    tell(&mut zero);
    hear(&mut zero, second);
}
