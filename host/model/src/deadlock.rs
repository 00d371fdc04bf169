//! Global states where nothing can happen any more although a node still waits for something.
//!
//! A global state is an *end* if no message is in flight that can be delivered and no node lists a local event. Faults do
//! not count: nobody can rely on them. An end is a *deadlock* if some node does not say that it is done there. Only the
//! protocol knows: an acceptor that has nothing to do is where it should be, and a client without an answer is not.

use crate::lts::LocalStateId;
use crate::machine::{Fault, MachineError, NodeId};
use crate::property::Judgement;
use crate::stepper::Stepper;

/// What is wrong at an end where the nodes gave these answers, in the order of the nodes; none if all are done. A node
/// that misbehaves when it is asked does not say that it is done.
pub fn message(answers: &[Result<bool, Fault>]) -> Option<String> {
    let numbered = || (0..).zip(answers);
    let waiting: Vec<NodeId> =
        numbered().filter(|(_, answer)| !matches!(answer, Ok(true))).map(|(node, _)| node).collect();
    let (last, others) = waiting.split_last()?;
    let others: Vec<String> = others.iter().map(NodeId::to_string).collect();
    let (nodes, are) = match others.is_empty() {
        true => (format!("node {last}"), "is"),
        false => (format!("nodes {} and {last}", others.join(", ")), "are"),
    };
    let faults = numbered().filter_map(|(node, answer)| Some((node, answer.as_ref().err()?)));
    let faults: String = faults.map(|(node, fault)| format!("; node {node} was asked: {fault}")).collect();
    Some(format!("nothing can happen any more, and {nodes} {are} not done{faults}"))
}

impl Stepper<'_> {
    /// What is wrong with an end with these local states, one a node; none if all are done.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn judge_end(&mut self, locals: &[LocalStateId]) -> Result<Option<Judgement>, MachineError> {
        let answers = locals.iter().map(|local| self.is_done(*local)).collect::<Result<Vec<_>, _>>()?;
        Ok(message(&answers).map(|message| Judgement::Deadlock { message }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::FaultKind;

    #[test]
    fn who_waits_is_named() {
        assert_eq!(message(&[Ok(true), Ok(true)]), None);
        let one = "nothing can happen any more, and node 1 is not done";
        assert_eq!(message(&[Ok(true), Ok(false), Ok(true)]).as_deref(), Some(one));
        let fault = Fault { kind: FaultKind::Trap, message: "unreachable".to_owned() };
        let three = "nothing can happen any more, and nodes 0, 1 and 3 are not done; node 3 was asked: unreachable";
        assert_eq!(message(&[Ok(false), Ok(false), Ok(true), Err(fault)]).as_deref(), Some(three));
    }
}
