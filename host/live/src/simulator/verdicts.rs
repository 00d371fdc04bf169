//! The results of a run so far: promises kept, properties reached and violated, and a digest of its events.

use std::collections::BTreeMap;

use host_model::contract::fingerprint::Fingerprint;
use host_model::contract::{Judgement, MachineError, NodeId, Severity};
use host_model::lts::{LocalStateId, Lts, Step, Stepper};
use host_model::trace::start::Start;
use host_search::kernel::{FoundViolation, judge_system_state};

use crate::simulator::finished::{Counts, End, Finished};
use crate::simulator::kept::Keeping;
use crate::time::Time;

/// A state of a run.
#[derive(Clone, Copy)]
pub(crate) struct Here<'r> {
    /// The start state of the run.
    pub(crate) start: &'r Start,
    /// The steps from there.
    pub(crate) path: &'r [Step],
    /// The local states after them.
    pub(crate) locals: &'r [LocalStateId],
}

/// The verdicts on a run in progress.
pub(crate) struct Verdicts {
    keeping: Keeping,
    witnessed: BTreeMap<u32, Time>,
    /// The first violation, and its time.
    violation: Option<(Time, FoundViolation)>,
    /// States that violate a property.
    violating: u64,
    /// Whether the run continues after a violation.
    continues: bool,
    is_violated: bool,
}

impl Verdicts {
    /// The verdicts before the first state.
    pub(crate) fn new(lts: &Lts<'_>, continues: bool) -> Self {
        Self {
            keeping: Keeping::new(lts),
            witnessed: BTreeMap::new(),
            violation: None,
            violating: 0,
            continues,
            is_violated: false,
        }
    }

    /// Whether the run ends here because of a violation.
    pub(crate) fn is_violated(&self) -> bool {
        self.is_violated
    }

    /// Judges a state, in which the run may end. A node that has failed ends every run.
    pub(crate) fn judge(&mut self, stepper: &mut Stepper<'_>, here: Here<'_>, now: Time) -> Result<(), MachineError> {
        self.keeping.judge(stepper, here.locals, now)?;
        let mut is_violated = false;
        let judged = judge_system_state(stepper, here.locals);
        for (node, judgement) in judged.judgements {
            match judgement.severity() {
                Severity::Violation => {
                    let continues = self.continues && matches!(judgement, Judgement::Violated { .. });
                    self.violating += u64::from(!std::mem::replace(&mut is_violated, true));
                    if self.violation.is_none() {
                        self.violation = Some((now, FoundViolation::new(here.start, here.path, node, judgement)));
                    }
                    self.is_violated |= !continues;
                    if !continues {
                        return Ok(());
                    }
                }
                Severity::Witness(property) => _ = self.witnessed.entry(property).or_insert(now),
            }
        }
        judged.stopped.map_or(Ok(()), Err)
    }

    /// The results of the run, which ends at `at` for this reason.
    pub(crate) fn finish(self, seed: u64, end: End, at: Time, counts: Counts, log: &Log) -> Finished {
        let counts = Counts { violating: self.violating, ..counts };
        let (violated, violation) = self.violation.unzip();
        let (witnessed, kept) = (self.witnessed.into_iter().collect(), self.keeping.finish(at));
        Finished { seed, end, at, counts, digest: log.digest(), violated, violation, witnessed, kept }
    }
}

/// A hash of all events of a run and their times.
#[derive(Default)]
pub(crate) struct Log(blake3::Hasher);

impl Log {
    /// Adds an event of a node, as the local state after it.
    pub(crate) fn note(&mut self, now: Time, node: NodeId, state: Fingerprint) {
        self.0.update(&now.0.to_le_bytes());
        self.0.update(&node.to_le_bytes());
        self.0.update(&state.to_le_bytes());
    }

    fn digest(&self) -> u128 {
        let mut digest = [0; 16];
        digest.copy_from_slice(&self.0.finalize().as_bytes()[..16]);
        u128::from_le_bytes(digest)
    }
}
