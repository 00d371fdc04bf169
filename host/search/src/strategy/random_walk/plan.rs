//! The scheduler of a walk, and the facts that it needs about each event.

use host_model::lts::LtsCache;
use rand_chacha::ChaCha8Rng;

use crate::global::cursor::Child;
use crate::kernel::schedule::Schedule;
use crate::strategy::random_walk::scheduler::{Candidate, Chains, Kind, Scheduler, scheduler};

/// The plan by which a walk chooses its events.
pub(super) struct Plan {
    scheduler: Box<dyn Scheduler>,
    chains: Chains,
    /// The last chosen event.
    chosen: Option<Candidate>,
    /// Reused, to spare allocations.
    candidates: Vec<Candidate>,
}

impl Plan {
    /// The plan of a walk of at most this many steps; none if it draws evenly.
    pub(super) fn new(schedule: Schedule, dice: &mut ChaCha8Rng, steps_max: u32) -> Option<Self> {
        let scheduler = scheduler(schedule, dice, steps_max)?;
        Some(Self { scheduler, chains: Chains::default(), chosen: None, candidates: Vec::new() })
    }

    /// The causal chains of the walk so far.
    pub(super) fn chains(&self) -> &Chains {
        &self.chains
    }

    /// Candidates to fill in, which [`choose`](Self::choose) takes.
    pub(super) fn take_candidates(&mut self) -> Vec<Candidate> {
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        candidates
    }

    /// Chooses an event.
    pub(super) fn choose(&mut self, dice: &mut ChaCha8Rng, candidates: Vec<Candidate>) -> Option<usize> {
        let chosen = self.scheduler.choose(dice, &candidates);
        self.chosen = chosen.map(|index| candidates[index]);
        self.candidates = candidates;
        chosen
    }

    /// Notes the step by the chosen event, taken after `steps` steps with `in_flight` messages in flight.
    pub(super) fn take(&mut self, known: &LtsCache, child: &Child, steps: u32, in_flight: usize) {
        let Some(chosen) = self.chosen.take() else { return };
        let fingerprint = |message| known.message(message).fingerprint;
        known.taken(child.step.trigger).for_each(|message| self.chains.take(fingerprint(message)));
        if chosen.kind != Kind::Delivery {
            self.chains.count(chosen.content);
        }
        let sent = known.sent(&known.edges(child.row)[child.step.outcome as usize]);
        sent.iter().for_each(|message| self.chains.send(fingerprint(*message), chosen.origin.chain, steps));
        self.chains.drop_stale(in_flight);
    }

    /// Bytes that it keeps.
    pub(super) fn bytes(&self) -> u64 {
        (size_of::<Self>() + self.candidates.capacity() * size_of::<Candidate>() + self.chains.bytes()) as u64
    }
}
