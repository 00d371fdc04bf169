//! The behaviour of Byzantine nodes. They cannot forge the signature of another node, so of all messages to correct nodes
//! only these have an effect, with two values in play.

use std::collections::BTreeSet;

use guest_sdk::Context;

use crate::{INITIATOR, Message, Value, to_receivers};

/// The initiator sends each of these to all. Messages can be lost, so this includes one value for some and the other
/// for the rest.
pub(crate) const VALUES: [Value; 2] = [0, 1];

/// A receiver signs every message.
pub(crate) fn receive(ctx: &mut Context<Message>, message: &Message) {
    if let Message::Init(value) = message {
        ctx.send(INITIATOR, Message::Echo(*value));
    }
}

/// Sends commits that correct receivers refuse: useful only if a receiver is wrong.
pub(crate) fn commit_without_signatures(ctx: &mut Context<Message>) {
    for value in VALUES {
        to_receivers(ctx, &Message::Commit { value, signatures: BTreeSet::new() });
    }
}
