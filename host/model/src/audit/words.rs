//! A protocol's descriptions of its bytes, for findings: states, messages, local events, views. A description changes the machine's state.

use crate::audit::notes::Cause;
use crate::contract::hex::shown;
use crate::contract::{LocalEvent, Machine, Snapshot};

/// Maximum number of letters of a description.
const LETTERS_MAX: usize = 300;

/// Bytes for people, if the protocol has no description.
pub(crate) fn bytes(bytes: &[u8]) -> String {
    if bytes.is_empty() { "(empty)".to_owned() } else { shown(bytes) }
}

/// A description, if the protocol gives one.
fn said(description: Option<String>, of: &[u8]) -> String {
    let Some(text) = description else { return bytes(of) };
    let text: String = text.chars().filter(|letter| !letter.is_control()).collect();
    match text.char_indices().nth(LETTERS_MAX) {
        Some((end, _)) => format!("{}... ({} letters)", &text[..end], text.chars().count()),
        None => text,
    }
}

/// A state, described from this memory of it.
pub(crate) fn state(machine: &mut dyn Machine, memory: &Snapshot, encoding: &[u8]) -> String {
    let restored = machine.restore(Some(memory)).ok();
    said(restored.and_then(|()| machine.describe_state().ok().flatten()), encoding)
}

/// A message.
pub(crate) fn message(machine: &mut dyn Machine, payload: &[u8]) -> String {
    let restored = machine.restore(None).ok();
    said(restored.and_then(|()| machine.describe_message(payload).ok().flatten()), payload)
}

/// A view of a property.
pub(crate) fn view(machine: &mut dyn Machine, property: u32, view: &[u8]) -> String {
    let restored = machine.restore(None).ok();
    said(restored.and_then(|()| machine.describe_view(property, view).ok().flatten()), view)
}

/// A local event.
pub(crate) fn local(machine: &mut dyn Machine, event: &LocalEvent) -> String {
    let restored = machine.restore(None).ok();
    let said = said(restored.and_then(|()| machine.describe_local(event).ok().flatten()), &event.payload);
    format!("`{}` ({said})", event.name)
}

/// The cause of a call.
pub(crate) fn cause(machine: &mut dyn Machine, cause: &Cause) -> String {
    match cause {
        Cause::Message(src, payload) => format!("the message {} from node {src}", message(machine, payload)),
        Cause::Quorum(name, messages) => {
            let messages: Vec<String> = messages
                .iter()
                .map(|(src, payload)| format!("{} from node {src}", message(machine, payload)))
                .collect();
            format!("the quorum `{name}` of the messages {}", messages.join(", "))
        }
        Cause::Local(event) => format!("the local event {}", local(machine, event)),
    }
}
