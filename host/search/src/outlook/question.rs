//! The question about one promise, asked of states one by one.

use host_model::lts::{Promise, Stepper};
use host_model::trace::start::Start;

use crate::kernel::rules::Rules;
use crate::kernel::{EndCondition, Progress, Search, SearchError};
use crate::outlook::Outlook;
use crate::outlook::certificate::certify;
use crate::outlook::guided::search_guided;
use crate::outlook::nearby::look_around;

/// Whether a promise can still be kept.
#[derive(Clone, Copy)]
pub struct Question<'q, 's> {
    /// The search that asks; its start states do not matter.
    pub search: &'q Search<'s>,
    /// The progress of that search.
    pub progress: &'q Progress,
    /// The index of the promise in the local transition system.
    pub index: usize,
    /// The promise itself.
    pub promise: Promise,
    /// Its assumptions.
    pub rules: Rules,
}

impl Question<'_, '_> {
    /// The outlook of a state where the promise is not kept, and the work for it: by the certificate, then by the states close by,
    /// then by a guided search.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance, or has to stop.
    pub fn ask(&self, stepper: &mut Stepper<'_>, state: &Start) -> Result<(Outlook, u64), SearchError> {
        let mut ask = |bytes| self.stopped(bytes);
        let certified = certify(stepper, state, self.promise, self.rules.recovery, &mut ask)?;
        let work = certified.work;
        if certified.is_dead {
            return Ok((Outlook::Dead, work));
        }
        let (outlook, steps) = self.look_around(state)?;
        if outlook != Outlook::Open {
            return Ok((outlook, work + steps));
        }
        let (outlook, guided) = search_guided(stepper, state, self.promise, self.rules.recovery, &mut ask)?;
        Ok((outlook, work + steps + guided))
    }

    /// The reason to stop, if there is one, with this many more bytes.
    pub fn stopped(&self, bytes: u64) -> Option<EndCondition> {
        let Self { search, progress, .. } = self;
        search.monitor.check(&Progress { bytes: progress.bytes.saturating_add(bytes), ..**progress })
    }

    /// The same, by the states close by alone.
    ///
    /// # Errors
    ///
    /// As for [`ask`](Self::ask).
    pub fn look_around(&self, state: &Start) -> Result<(Outlook, u64), SearchError> {
        look_around(self.search, state, self.index, self.rules, self.progress)
    }
}
