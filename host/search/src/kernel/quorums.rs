//! The quorums that can be delivered in a global state.

use host_model::contract::{MachineError, NodeId, Role};
use host_model::lts::quorum::{Member, for_each_set};
use host_model::lts::{LocalStateId, MessageId, Stepper, Trigger};

/// What a node can take of the messages in flight to it: those that it takes by themselves in their order, then the
/// quorums.
#[derive(Debug, Default)]
pub struct Inbox {
    members: Vec<(NodeId, Member<MessageId>)>,
}

impl Inbox {
    /// Adds the delivery of a message to `enabled` if its node, in a local state that is no fault, takes it by itself; keeps
    /// it if it is a member of a quorum.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn add(
        &mut self,
        stepper: &mut Stepper<'_>,
        (node, local): (NodeId, LocalStateId),
        message: MessageId,
        enabled: &mut Vec<(NodeId, Trigger)>,
    ) -> Result<(), MachineError> {
        match stepper.role(local, message)? {
            Role::Alone => enabled.push((node, Trigger::deliver(message))),
            Role::Held => {}
            Role::Member(kind) => self.members.push((node, stepper.known().member(kind, message, message))),
        }
        Ok(())
    }

    /// Adds the deliveries of all quorums of the messages that were kept, and forgets these. Nodes may decline some.
    pub fn add_quorums(&mut self, stepper: &mut Stepper<'_>, enabled: &mut Vec<(NodeId, Trigger)>) {
        self.members.sort_by_key(|(node, _)| *node);
        for members in self.members.chunk_by(|one, other| one.0 == other.0) {
            let node = members[0].0;
            let members: Vec<Member<MessageId>> = members.iter().map(|(_, member)| *member).collect();
            for_each_set(&members, &|_, _| true, &mut |set| {
                enabled.push((node, Trigger::deliver_quorum(stepper.quorum(&items(set)))));
            });
        }
        self.members.clear();
    }
}

/// What is known of the members of a set.
pub fn items<T: Copy>(set: &[Member<T>]) -> Vec<T> {
    set.iter().map(|member| member.item).collect()
}
