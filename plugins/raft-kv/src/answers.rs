//! The answers to clients once an operation is done.

use guest_sdk::Context;

use crate::{Message, Outcome, State, http, others};

/// Answers an operation that this node was asked for, once it is done.
pub(crate) fn answer(ctx: &mut Context<Message>, state: &mut State, number: u64, outcome: Outcome) {
    if let Some(history) = &mut state.disk.history
        && number + 1 == state.disk.asked
        && is_result(&outcome)
        && history.is_pending()
    {
        let returned = history.returned(outcome.clone());
        others(ctx).for_each(|node| ctx.send(node, Message::Returned(returned)));
    }
    if let Outcome::Opened(session) = outcome
        && state.disk.history.is_some()
    {
        state.disk.client.session = Some(session);
    }
    ctx.answer(number, http::response(outcome));
}

/// Whether a client knows by this outcome what its operation did: not of a write that its session refuses, since it may have happened
/// before.
fn is_result(outcome: &Outcome) -> bool {
    !matches!(outcome, Outcome::Opened(_) | Outcome::NoSession(_) | Outcome::Late(_) | Outcome::Members(_))
}
