//! Two-phase commit for TraceForge: the protocol of `plugins/two-phase-commit` as communicating threads.
//!
//! The local event `begin` is the message of the main thread that names the participants to the coordinator. A participant
//! returns how the transaction ended for it, and the main thread asserts that all ended alike.

use std::time::Instant;

use serde_json::{Value as Json, json};
use traceforge::thread::{self, ThreadId};
use traceforge::{Config, ConsType, nondet, recv_msg_block, send_msg, verify};

#[derive(Clone, PartialEq, Debug)]
enum ToCoordinator {
    Begin(Vec<ThreadId>),
    Vote { yes: bool },
}

#[derive(Clone, PartialEq, Debug)]
enum ToParticipant {
    Prepare(ThreadId),
    Decide { commit: bool },
}

fn coordinator() -> bool {
    let ToCoordinator::Begin(participants) = recv_msg_block() else { panic!("no vote before Prepare") };
    let me = thread::current().id();
    participants.iter().for_each(|id| send_msg(*id, ToParticipant::Prepare(me)));
    let mut commit = true;
    for _ in &participants {
        let ToCoordinator::Vote { yes } = recv_msg_block() else { panic!("there is one transaction") };
        commit &= yes;
    }
    participants.iter().for_each(|id| send_msg(*id, ToParticipant::Decide { commit }));
    commit
}

fn participant() -> bool {
    let ToParticipant::Prepare(coordinator) = recv_msg_block() else { panic!("no decision before all have voted") };
    let yes = nondet();
    send_msg(coordinator, ToCoordinator::Vote { yes });
    let ToParticipant::Decide { commit } = recv_msg_block() else { panic!("Prepare comes once") };
    // A participant that has voted no has aborted.
    yes && commit
}

/// All executions with that many participants. Returns one JSON object.
///
/// # Panics
///
/// The participants do not agree.
pub fn check(participants: u32) -> Json {
    let config = Config::builder().with_cons_type(ConsType::Bag).build();
    let began = Instant::now();
    let stats = verify(config, move || {
        let coordinator = thread::spawn(coordinator);
        let threads: Vec<_> = (0..participants).map(|_| thread::spawn(participant)).collect();
        let ids = threads.iter().map(|thread| thread.thread().id()).collect();
        send_msg(coordinator.thread().id(), ToCoordinator::Begin(ids));
        let commit = coordinator.join().expect("the coordinator ends");
        for thread in threads {
            traceforge::assert(thread.join().expect("a participant ends") == commit);
        }
    });
    let seconds = began.elapsed().as_secs_f64();
    json!({ "verdict": "ok", "executions": stats.execs, "blocked": stats.block, "seconds": seconds })
}
