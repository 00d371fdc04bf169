//! The answers to clients once an operation is done.

use guest_sdk::Context;

use crate::{Message, Outcome, State, http, others};

/// Answers an operation that this node was asked for, once it is done.
pub(crate) fn answer(ctx: &mut Context<Message>, state: &mut State, number: u64, outcome: Outcome) {
    if let Some(history) = &mut state.disk.history
        && number + 1 == state.disk.asked
        && history.is_pending()
    {
        let returned = history.returned(outcome.clone());
        others(ctx).for_each(|node| ctx.send(node, Message::Returned(returned)));
    }
    ctx.answer(number, http::response(outcome));
}
