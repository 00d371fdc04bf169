//! Global states where no event can happen any more although a node still waits.
//!
//! A global state is an *end* if no message in flight can be delivered and no node lists a local event. Faults do
//! not count: a protocol cannot rely on them. An end is a *deadlock* if some node is not done there. Only the
//! protocol knows this: an idle acceptor is done, and a client without an answer is not.
//!
//! Crashes do count, up to [their budget](crate::scenario::Faults::crashes): no event happens at a node that has crashed, and it
//! waits for nothing. A crash changes nothing else, so it is no event: the same global state is an end with some nodes
//! crashed if these are the nodes at which an event could still happen.

use crate::contract::{Fault, Judgement, MachineError, NodeId};
use crate::lts::cache::LtsCache;
use crate::lts::ids::LocalStateId;
use crate::lts::stepper::Stepper;
use crate::scenario::NodeNames;

/// The nodes that have crashed if a global state is an end although a local event is possible at these nodes, or
/// messages are in flight to them. None if they are more than `crashes_max`.
pub fn crashed(
    has_local_event: impl IntoIterator<Item = bool>,
    addressees: impl IntoIterator<Item = NodeId>,
    crashes_max: u32,
) -> Option<Vec<NodeId>> {
    let mut is_busy: Vec<bool> = has_local_event.into_iter().collect();
    for node in addressees {
        is_busy[node as usize] = true;
    }
    let busy: Vec<NodeId> = (0..).zip(is_busy).filter(|(_, is_busy)| *is_busy).map(|(node, _)| node).collect();
    (busy.len() <= crashes_max as usize).then_some(busy)
}

/// The same for these local states, one per node; none also if a node is stuck.
pub fn crashed_in(
    known: &LtsCache,
    locals: &[LocalStateId],
    addressees: impl IntoIterator<Item = NodeId>,
    crashes_max: u32,
) -> Option<Vec<NodeId>> {
    if known.is_over(locals) {
        return None;
    }
    let states = locals.iter().map(|local| known.state(*local));
    crashed(states.map(|state| !state.protocol.local_events.is_empty()), addressees, crashes_max)
}

/// The message about an end, from the answers of the nodes in their order and the crashed nodes; none if all others are done. A node that
/// fails to answer is not done.
pub fn message(answers: &[Result<bool, Fault>], crashed: &[NodeId]) -> Option<String> {
    let numbered = || (0..).zip(answers).filter(|(node, _)| !crashed.contains(node));
    let waiting: Vec<NodeId> =
        numbered().filter(|(_, answer)| !matches!(answer, Ok(true))).map(|(node, _)| node).collect();
    let waiting = name(&waiting, "is", "are")?;
    let after = name(crashed, "has", "have").map_or(String::new(), |nodes| format!(" after {nodes} crashed"));
    let faults = numbered().filter_map(|(node, answer)| Some((node, answer.as_ref().err()?)));
    let faults: String = faults.map(|(node, fault)| format!("; node {node} was asked: {fault}")).collect();
    Some(format!("nothing can happen any more{after}, and {waiting} not done{faults}"))
}

/// These nodes with a verb; none for an empty list.
fn name(nodes: &[NodeId], one: &str, many: &str) -> Option<String> {
    let (last, others) = nodes.split_last()?;
    let others: Vec<String> = others.iter().map(NodeId::to_string).collect();
    Some(match others.is_empty() {
        true => format!("node {last} {one}"),
        false => format!("nodes {} and {last} {many}", others.join(", ")),
    })
}

/// A [`message`] with names in place of the numbers of nodes.
pub fn with_names(message: &str, names: &NodeNames) -> String {
    let mut parts = message.split("; ");
    let mut named = in_names(parts.next().unwrap_or_default(), names);
    for part in parts {
        // The answer of a node must stay as it is.
        let asked = part.strip_prefix("node ").and_then(|it| it.split_once(" was asked: "));
        named += "; ";
        named += &match asked.and_then(|(node, answer)| Some((node.parse().ok()?, answer))) {
            Some((node, answer)) => format!("{} was asked: {answer}", names.of(node)),
            None => part.to_owned(),
        };
    }
    named
}

/// Words with names in place of `node 1` and `nodes 0, 1 and 3`.
fn in_names(text: &str, names: &NodeNames) -> String {
    let (mut said, mut is_list): (Vec<String>, bool) = (Vec::new(), false);
    for word in text.split(' ') {
        let number = word.trim_end_matches(',');
        match number.parse::<NodeId>().ok().filter(|_| is_list) {
            Some(node) => said.push(names.of(node) + &word[number.len()..]),
            None if matches!(word, "node" | "nodes") => is_list = true,
            None => {
                is_list &= word == "and";
                said.push(word.to_owned());
            }
        }
    }
    said.join(" ")
}

impl Stepper<'_> {
    /// The deadlock in an end with these local states, one per node, after some of the nodes have crashed; none if all others
    /// are done.
    pub fn judge_end(
        &mut self,
        locals: &[LocalStateId],
        crashed: &[NodeId],
    ) -> Result<Option<Judgement>, MachineError> {
        let is_done = |(node, local): (NodeId, &LocalStateId)| match crashed.contains(&node) {
            true => Ok(Ok(true)),
            false => self.is_done(*local),
        };
        let answers = (0..).zip(locals).map(is_done).collect::<Result<Vec<_>, _>>()?;
        Ok(message(&answers, crashed).map(|message| Judgement::Deadlock { message }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::FaultKind;

    #[test]
    fn who_waits_is_named() {
        assert_eq!(message(&[Ok(true), Ok(true)], &[]), None);
        let one = "nothing can happen any more, and node 1 is not done";
        assert_eq!(message(&[Ok(true), Ok(false), Ok(true)], &[]).as_deref(), Some(one));
        let fault = Fault::new(FaultKind::Trap, "unreachable");
        let three = "nothing can happen any more, and nodes 0, 1 and 3 are not done; node 3 was asked: unreachable";
        assert_eq!(message(&[Ok(false), Ok(false), Ok(true), Err(fault)], &[]).as_deref(), Some(three));
        assert_eq!(message(&[Ok(false), Ok(true)], &[0]), None);
        let without = "nothing can happen any more after nodes 0 and 2 have crashed, and node 1 is not done";
        assert_eq!(message(&[Ok(false), Ok(false), Ok(true)], &[0, 2]).as_deref(), Some(without));
    }

    #[test]
    fn who_waits_has_a_name() {
        let names = NodeNames::new(["server", "client 1", ""].map(|name| Some(name.to_owned())));
        let fault = Fault::new(FaultKind::Trap, "it is at; node 1 was asked: no");
        let said = message(&[Ok(false), Ok(false), Err(fault), Ok(false)], &[1]).expect("some are not done");
        let named = "nothing can happen any more after client 1 has crashed, and server, node 2 and node 3 are not done; node 2 was \
                     asked: it is at; client 1 was asked: no";
        assert_eq!(with_names(&said, &names), named);
        let numbers = NodeNames::default();
        let plain = "nothing can happen any more, and node 0, node 1 and node 3 are not done";
        assert_eq!(with_names("nothing can happen any more, and nodes 0, 1 and 3 are not done", &numbers), plain);
        let one = "nothing can happen any more, and client 1 is not done";
        assert_eq!(with_names(&message(&[Ok(true), Ok(false)], &[]).expect("it is not"), &names), one);
    }
}
