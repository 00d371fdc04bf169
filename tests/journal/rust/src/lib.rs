//! A leader sends the entries of its journal to all others, which keep them in the durable map, acknowledge them, and delete those that all
//! have. `../c`, `../go`, `../python` and `../typescript` are the same protocol; `tests/cli/journals.rs` compares them.

use guest_sdk::storage::{self, Table};
use guest_sdk::{About, Context, LocalEvents, Never, NodeId, ParameterError, Parameters, Properties, Protocol};
use serde::{Deserialize, Serialize};

/// The entries of a follower, and those of the leader that not all others have.
const ENTRIES: Table<u64, u64> = Table::new("entries");
/// The first entry of a follower that is not deleted, and the number of entries of the leader.
const NUMBERS: Table<u64, u64> = Table::new("numbers");

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bug {
    None,
    ForgetSync,
    DeleteOneMore,
}

struct Journal {
    entries: u64,
    bug: Bug,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct State {
    /// The number of entries that each node has acknowledged.
    acknowledged: Vec<u64>,
    me: NodeId,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Message {
    Append { index: u64, value: u64 },
    Acknowledge { index: u64 },
    Compact { index: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Append;

/// The journal of a node, as properties see it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
struct Kept {
    acknowledged: Vec<u64>,
    base: u64,
    kept: Vec<u64>,
}

fn number() -> u64 {
    NUMBERS.get(&0).unwrap_or(0)
}

impl Journal {
    fn send(ctx: &mut Context<Message>, index: u64, value: u64) {
        for to in 1..ctx.nodes() {
            ctx.send(to, Message::Append { index, value });
        }
    }
}

impl Protocol for Journal {
    const ABOUT: About = guest_sdk::about!().nodes(2);
    type State = State;
    type Message = Message;
    type Local = Append;
    type Durable = Never;

    fn configure(parameters: &mut Parameters) -> Result<Self, ParameterError> {
        let entries = parameters.get("entries", 2, "the number of entries")?;
        let bugs =
            [("none", Bug::None), ("forget-sync", Bug::ForgetSync), ("delete-one-more", Bug::DeleteOneMore)];
        Ok(Self { entries, bug: parameters.choice("bug", &bugs, "what is wrong on purpose")? })
    }

    fn init(&self, ctx: &mut Context<Message>, _: Option<Never>) -> State {
        if ctx.me() == 0 {
            for (index, value) in ENTRIES.range(..) {
                Self::send(ctx, index, value);
            }
        }
        State { acknowledged: vec![0; ctx.nodes() as usize], me: ctx.me() }
    }

    fn handle_message(&self, ctx: &mut Context<Message>, state: &mut State, from: NodeId, message: Message) {
        match message {
            Message::Append { index, value } => {
                if index >= number() && ENTRIES.get(&index).is_none() {
                    ENTRIES.put(ctx, &index, &value);
                    if self.bug != Bug::ForgetSync {
                        storage::sync(ctx);
                    }
                }
                // All entries before this one are there.
                let mut next = number();
                for (index, _) in ENTRIES.range(next..) {
                    if index == next {
                        next += 1;
                    }
                }
                ctx.send(from, Message::Acknowledge { index: next });
            }
            Message::Acknowledge { index } => {
                let acknowledged = &mut state.acknowledged[from as usize];
                *acknowledged = index.max(*acknowledged);
                let all = state.acknowledged[1..].iter().copied().min().unwrap_or(0);
                let old: Vec<u64> = ENTRIES.range(..all).map(|(index, _)| index).collect();
                for index in &old {
                    ENTRIES.delete(ctx, index);
                }
                for to in 1..if old.is_empty() { 1 } else { ctx.nodes() } {
                    ctx.send(to, Message::Compact { index: all });
                }
            }
            Message::Compact { index } => {
                let more = u64::from(self.bug == Bug::DeleteOneMore);
                ENTRIES.delete_range(ctx, ..index + more);
                if index > number() {
                    NUMBERS.put(ctx, &0, &index);
                }
            }
        }
    }

    fn local_events(&self, state: &State, events: &mut LocalEvents<Append>) {
        if state.me == 0 && number() < self.entries {
            events.application("append", Append);
        }
    }

    fn handle_local(&self, ctx: &mut Context<Message>, _: &mut State, _: Append) {
        let index = number();
        ENTRIES.put(ctx, &index, &(100 + index));
        NUMBERS.put(ctx, &0, &(index + 1));
        storage::sync(ctx);
        Self::send(ctx, index, 100 + index);
    }

    fn properties(claims: &mut Properties<Self>) {
        claims.always("acknowledged-is-kept").system(
            |_, state| {
                let kept = ENTRIES.range(..).map(|(index, _)| index).collect();
                Some(Kept { acknowledged: state.acknowledged.clone(), base: number(), kept })
            },
            |views| {
                let Some(leader) = &views[0] else { return Ok(()) };
                for (node, view) in views.iter().enumerate().skip(1) {
                    let Some(view) = view else { continue };
                    let lost = (view.base..leader.acknowledged[node]).find(|index| !view.kept.contains(index));
                    if let Some(index) = lost {
                        return Err(format!("node {node} has acknowledged entry {index} and lost it"));
                    }
                }
                Ok(())
            },
        );
        claims.sometimes("more-after-deleted").node(
            |_, state| (state.me != 0).then(|| [number(), ENTRIES.last().map_or(0, |(index, _)| index)]),
            |[base, last]| if *base > 0 && last >= base { Ok(()) } else { Err("none yet".to_owned()) },
        );
    }
}

guest_sdk::export!(Journal);
