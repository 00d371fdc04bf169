//! The knowledge of a node about a run: a consistent cut, in which the nodes that it does not reach are in their last reached states.

use std::collections::BTreeSet;

use host_model::contract::{NodeId, TransferError};
use host_model::lts::{LocalStateId, MessageId, Stepper};
use host_model::scenario::{Faults, InFlight};
use host_model::trace::Beginning;
use host_model::trace::start::{self, Start};

/// The maximum number of remembered steps since some node last reached all that it asked. Beyond it, nodes that are not reached are absent.
const STEPS_MAX: usize = 10_000;

/// A step of a node.
struct Taken {
    node: NodeId,
    next: LocalStateId,
    taken: Vec<MessageId>,
    sent: Vec<MessageId>,
}

/// The global state of a run, and its history as far as some node needs it.
pub(super) struct History {
    /// All messages that can still be delivered, as far as the nodes know; messages that the network has lost are among them.
    pub(super) in_flight: InFlight<MessageId>,
    steps: Vec<Taken>,
    /// By node: the state in which it last reached all that it asked, and up to which step it knows each.
    known: Vec<Option<Known>>,
}

struct Known {
    locals: Vec<LocalStateId>,
    in_flight: InFlight<MessageId>,
    /// The number of steps that it includes.
    at: usize,
    /// The number of steps when the node last reached each other node; none if it never did.
    until: Vec<Option<usize>>,
}

/// A consistent global state of the known nodes.
pub(super) struct Cut {
    pub(super) locals: Vec<LocalStateId>,
    /// Whether a node is in it.
    pub(super) is_known: Vec<bool>,
    /// The messages in flight between these nodes.
    pub(super) in_flight: InFlight<MessageId>,
}

impl Cut {
    /// The states of the nodes that are in the cut.
    pub(super) fn views(&self) -> Vec<Option<LocalStateId>> {
        self.locals.iter().zip(&self.is_known).map(|(local, is_known)| is_known.then_some(*local)).collect()
    }

    /// The cut as a beginning, in which each node has used up these faults. Nodes that are not known are absent, and
    /// so are messages to or from them.
    ///
    /// # Errors
    ///
    /// As for [`start::export`].
    pub(super) fn beginning(&self, stepper: &mut Stepper<'_>, used_up: Faults) -> Result<Beginning, TransferError> {
        let here = Start { locals: self.locals.clone(), in_flight: self.in_flight.clone(), ..Start::default() };
        let mut beginning = start::export(stepper, &here)?;
        for state in &mut beginning.states {
            // The ends of connections are included, even if nothing has gone wrong yet.
            state.fault_state = stepper.state(self.locals[state.node as usize]).fault_state.clone();
            state.fault_state.counts = used_up;
        }
        beginning.states.retain(|state| self.is_known[state.node as usize]);
        Ok(beginning)
    }

    /// A hash that identifies the cut.
    pub(super) fn key(&self, stepper: &Stepper<'_>) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        for (local, is_known) in self.locals.iter().zip(&self.is_known) {
            hasher.update(&[u8::from(*is_known)]);
            if *is_known {
                hasher.update(&stepper.state(*local).fingerprint.to_le_bytes());
            }
        }
        let mut messages: Vec<u128> = self.in_flight.iter().map(|id| stepper.message(*id).fingerprint).collect();
        if !stepper.known().is_ordered() {
            messages.sort_unstable();
        }
        for message in messages {
            hasher.update(&message.to_le_bytes());
        }
        *hasher.finalize().as_bytes()
    }
}

impl History {
    pub(super) fn new(start: &Start) -> Self {
        let nodes = start.locals.len();
        let known = || Known {
            locals: start.locals.clone(),
            in_flight: start.in_flight.clone(),
            at: 0,
            until: vec![None; nodes],
        };
        let known = (0..nodes).map(|_| Some(known())).collect();
        Self { in_flight: start.in_flight.clone(), steps: Vec::new(), known }
    }

    /// A node has taken a step; the states are those after it.
    pub(super) fn step(
        &mut self,
        stepper: &Stepper<'_>,
        locals: &[LocalStateId],
        node: NodeId,
        taken: Vec<MessageId>,
        sent: &[MessageId],
    ) {
        let links = stepper.known().links(locals);
        self.in_flight.step(&links, node, taken.iter().copied(), sent.iter().copied());
        self.steps.push(Taken { node, next: locals[node as usize], taken, sent: sent.to_vec() });
        if self.steps.len() > STEPS_MAX {
            self.steps.clear();
            self.known.fill_with(|| None);
        }
    }

    /// The next notice on a link with an order, if one is in flight.
    pub(super) fn notice(&self, stepper: &Stepper<'_>, from: NodeId, to: NodeId) -> Option<MessageId> {
        let is_notice = |id: &&MessageId| {
            let message = stepper.message(**id);
            message.is_notice && (message.from, message.to) == (from, to)
        };
        self.in_flight.iter().find(is_notice).copied()
    }

    /// The cut that a node knows of the nodes that it asks, some of them reachable now. Nodes that are not asked are not in it.
    pub(super) fn cut(
        &mut self,
        stepper: &Stepper<'_>,
        node: NodeId,
        locals: &[LocalStateId],
        asked: &[bool],
        reached: &[bool],
    ) -> Cut {
        let known = &mut self.known[node as usize];
        let (at, in_flight) = (self.steps.len(), &self.in_flight);
        let answers: Vec<bool> =
            asked.iter().zip(reached).map(|(is_asked, is_reached)| *is_asked && *is_reached).collect();
        let until = |answers: &bool| answers.then_some(at);
        let mut cut = match known {
            _ if answers == asked => {
                let until = answers.iter().map(until).collect();
                *known = Some(Known { locals: locals.to_vec(), in_flight: in_flight.clone(), at, until });
                Cut { locals: locals.to_vec(), is_known: answers, in_flight: in_flight.clone() }
            }
            Some(known) => {
                let latest = known.until.iter_mut().zip(&answers);
                latest.for_each(|(latest, answers)| *latest = until(answers).or(*latest));
                known.replay(stepper, &self.steps, asked)
            }
            None => Cut { locals: locals.to_vec(), is_known: answers, in_flight: in_flight.clone() },
        };
        self.forget();
        let is_between = |id: &&MessageId| {
            let message = stepper.message(**id);
            cut.is_known[message.from as usize] && cut.is_known[message.to as usize]
        };
        cut.in_flight = cut.in_flight.iter().filter(is_between).copied().collect::<Vec<_>>().into();
        cut
    }

    /// Forgets the steps that every node has seen.
    fn forget(&mut self) {
        let oldest = self.known.iter().flatten().map(|known| known.at).min().unwrap_or(0);
        self.steps.drain(..oldest);
        for known in self.known.iter_mut().flatten() {
            known.at -= oldest;
            known.until.iter_mut().flatten().for_each(|until| *until -= oldest);
        }
    }
}

impl Known {
    /// Advances each node that is asked to its last known state. A node that has sent later what another one has received is not in the
    /// cut: its state is too old to go together with that of the other.
    fn replay(&self, stepper: &Stepper<'_>, steps: &[Taken], asked: &[bool]) -> Cut {
        let is_asked = |(until, is_asked): (&Option<usize>, &bool)| until.filter(|_| *is_asked);
        let until: Vec<Option<usize>> = self.until.iter().zip(asked).map(is_asked).collect();
        let (mut locals, mut in_flight) = (self.locals.clone(), self.in_flight.clone());
        let mut too_old = BTreeSet::new();
        for (number, Taken { node, next, taken, sent }) in steps.iter().enumerate().skip(self.at) {
            if until[*node as usize].is_none_or(|until| until <= number) {
                continue;
            }
            locals[*node as usize] = *next;
            let is_there = |id: &&MessageId| in_flight.contains(*id);
            let (there, missing): (Vec<&MessageId>, Vec<_>) = taken.iter().partition(is_there);
            too_old.extend(missing.into_iter().map(|id| stepper.message(*id).from));
            let links = stepper.known().links(&locals);
            in_flight.step(&links, *node, there.into_iter().copied(), sent.iter().copied());
        }
        let is_known = (0..).zip(&until).map(|(node, until)| until.is_some() && !too_old.contains(&node));
        Cut { is_known: is_known.collect(), locals, in_flight }
    }
}
