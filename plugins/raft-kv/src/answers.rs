//! The answers to clients once an operation is done.

use guest_sdk::{Context, Response};

use crate::{Message, Outcome, State, others};

/// Answers an operation that this node was asked for, once it is done.
pub(crate) fn answer(ctx: &mut Context<Message>, state: &mut State, number: u64, outcome: Outcome) {
    if let Some(history) = &mut state.disk.history
        && number + 1 == state.disk.asked
        && history.is_pending()
    {
        let returned = history.returned(outcome.clone());
        others(ctx).for_each(|node| ctx.send(node, Message::Returned(returned)));
    }
    let response = match outcome {
        Outcome::Value(Some(value)) => Response::new(200).body(value),
        Outcome::Value(None) => Response::new(404).body("there is no such key\n"),
        Outcome::Done => Response::new(204),
    };
    ctx.answer(number, response);
}
