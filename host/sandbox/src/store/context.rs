//! The state of the host for an instance while a call runs.

use std::sync::Arc;

use host_model::contract::{Aside, Choice, Draws, Fault, FaultKind, Likelihood, NodeMap, Response};
use wasmtime::{ResourceLimiter, StoreContextMut, Trap};

use crate::contract::limits::{GuestLimits, allows_more, at_limit, within};
use crate::store::memory::Budget;

/// The prefix of a line that a guest logs right before a trap: the text of a panic, and the unavailable function that it called.
pub(crate) const PANIC_PREFIX: &str = "panic: ";
pub(crate) const PLATFORM_PREFIX: &str = "host:platform ";

/// The current work of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Instantiation.
    Start,
    /// `init`, `handle-message` or `handle-local`.
    Handler,
    /// A function that only reads the state, by name.
    Reading(&'static str),
}

/// The data of a store.
pub(crate) struct Context {
    limits: GuestLimits,
    budget: Arc<Budget>,
    phase: Phase,
    script: Vec<u32>,
    pub choices: Vec<Choice>,
    pub likelihood: Likelihood,
    pub draws: Draws,
    pub log: Vec<String>,
    pub aside: Aside,
    /// The durable map of the node; none before `init`, and in a component that does not import one.
    pub storage: Option<NodeMap>,
    /// The fuel of the current call in addition to the limit.
    pub extra_fuel: u64,
    log_bytes: usize,
    keep_log: bool,
    pub panic_line: Option<String>,
    /// The fault that made a host function trap.
    pub fault: Option<Fault>,
    pub table_refused: bool,
    /// Elements of all tables of the instance. A table that grows and is then refused elsewhere stays counted.
    table_elements: usize,
}

/// Carries a fault of a host function through the guest; the fault itself is in the context.
#[derive(Debug, thiserror::Error)]
#[error("the host refused a call")]
struct Refused;

impl Context {
    pub(crate) fn new(limits: GuestLimits, budget: Arc<Budget>) -> Self {
        Self {
            limits,
            budget,
            phase: Phase::Start,
            script: Vec::new(),
            choices: Vec::new(),
            likelihood: Likelihood::CERTAIN,
            draws: Draws::default(),
            log: Vec::new(),
            aside: Aside::default(),
            storage: None,
            extra_fuel: 0,
            log_bytes: 0,
            keep_log: false,
            panic_line: None,
            fault: None,
            table_refused: false,
            table_elements: 0,
        }
    }

    /// The current work of the guest.
    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// The limits of the guest.
    pub(super) fn limits(&self) -> &GuestLimits {
        &self.limits
    }

    /// Prepares for a function that only reads: it may not choose, and its log is dropped.
    pub(crate) fn begin_reading(&mut self, function: &'static str) {
        self.phase = Phase::Reading(function);
        self.extra_fuel = 0;
        self.keep_log = false;
        self.panic_line = None;
        self.table_refused = false;
    }

    /// Prepares for a handler, and forgets the previous one.
    pub(crate) fn begin_handler(&mut self, script: &[u32], keep_log: bool) {
        self.phase = Phase::Handler;
        self.extra_fuel = 0;
        self.script.clear();
        self.script.extend_from_slice(script);
        self.choices.clear();
        self.likelihood = Likelihood::CERTAIN;
        self.draws = Draws::default();
        self.log.clear();
        self.aside.clear();
        self.log_bytes = 0;
        self.keep_log = keep_log;
        self.panic_line = None;
        self.table_refused = false;
    }

    /// Answers `choose`.
    pub(crate) fn choose(&mut self, alternatives: u32) -> wasmtime::Result<u32> {
        self.allow_choice("choose", alternatives as usize)?;
        let picked = self.pick(alternatives)?;
        self.choices.push(Choice::among(alternatives, picked));
        self.likelihood = self.likelihood.and(1, alternatives.into());
        Ok(picked)
    }

    /// Answers `can-send`.
    pub(crate) fn can_send(&mut self, to: u32) -> wasmtime::Result<bool> {
        self.allow_choice("can-send", 2)?;
        let picked = self.pick(2)?;
        self.choices.push(Choice::sending(to, picked));
        self.likelihood = self.likelihood.and(1, 2);
        Ok(picked == 0)
    }

    /// Answers `choose-weighted`, which must be [allowed](Self::allow_choice) before.
    pub(crate) fn choose_weighted(&mut self, weights: &[u32]) -> wasmtime::Result<u32> {
        let sum = weights.iter().map(|weight| u64::from(*weight)).sum();
        if sum == 0 {
            return Err(self
                .refuse_choice(Fault::new(FaultKind::Choose, "calls `choose-weighted` with weights that are all 0")));
        }
        let picked = self.pick(weights.len() as u32)?;
        self.draws.note(self.choices.len(), weights[picked as usize]);
        self.choices.push(Choice::among(weights.len() as u32, picked));
        self.likelihood = self.likelihood.and(weights[picked as usize].into(), sum);
        Ok(picked)
    }

    /// Refuses a choice where none may be made, without alternatives, or beyond the limits.
    pub(crate) fn allow_choice(&mut self, function: &str, alternatives: usize) -> wasmtime::Result<()> {
        match self.wrong_choice(function, alternatives) {
            None => Ok(()),
            Some(fault) => Err(self.refuse_choice(fault)),
        }
    }

    fn refuse_choice(&mut self, fault: Fault) -> wasmtime::Error {
        self.fault = Some(fault);
        Refused.into()
    }

    /// Records an answer to a client.
    pub(crate) fn answer(&mut self, number: u64, content: Response) -> wasmtime::Result<()> {
        let result =
            self.check_aside("answer", self.aside.answers.len()).and_then(|()| self.limits.check_answer(&content));
        self.refuse(result)?;
        self.aside.answers.push((number, content));
        Ok(())
    }

    /// Records the name of local events that wait again.
    pub(crate) fn restart(&mut self, name: String) -> wasmtime::Result<()> {
        let result = self
            .check_aside("restart", self.aside.restarted.len())
            .and_then(|()| self.limits.check_name(&name, "a local event"));
        self.refuse(result)?;
        self.aside.restarted.push(name);
        Ok(())
    }

    /// Whether a handler runs, and has not called this function too often.
    fn check_aside(&self, function: &str, calls: usize) -> Result<(), Fault> {
        let place = match self.phase {
            Phase::Handler => {
                let limit = self.limits.items_per_call;
                return within(calls + 1, limit, "items", || {
                    format!("calls `{function}` {} times in one handler", calls + 1)
                });
            }
            Phase::Start => "while it starts".to_owned(),
            Phase::Reading(reader) => format!("in `{reader}`"),
        };
        let message = format!("calls `{function}` {place}; only handlers may");
        Err(Fault::new(FaultKind::Malformed, message))
    }

    /// Carries a fault through the guest.
    pub(super) fn refuse(&mut self, result: Result<(), Fault>) -> wasmtime::Result<()> {
        result.map_err(|fault| {
            self.fault = Some(fault);
            Refused.into()
        })
    }

    fn pick(&mut self, alternatives: u32) -> wasmtime::Result<u32> {
        let made = self.choices.len();
        let picked = self.script.get(made).copied().unwrap_or(0);
        if picked >= alternatives {
            // The script was made for other alternatives: the guest is not deterministic, and the caller compares
            // the offered alternatives with the expected ones.
            let message =
                format!("offers {alternatives} alternatives to choose from where it offered more than {picked} before");
            return Err(self.refuse_choice(Fault::new(FaultKind::Choose, message)));
        }
        Ok(picked)
    }

    fn wrong_choice(&self, function: &str, alternatives: usize) -> Option<Fault> {
        let wrong = |what| Some(Fault::new(FaultKind::Choose, what));
        match self.phase {
            Phase::Start => return wrong(format!("calls `{function}` while it starts; only handlers may choose")),
            Phase::Reading(reader) => {
                return wrong(format!("calls `{function}` in `{reader}`; only handlers may choose"));
            }
            Phase::Handler => {}
        }
        if alternatives == 0 {
            wrong(format!("calls `{function}` with no alternative"))
        } else if alternatives > self.limits.alternatives as usize {
            let limit = self.limits.alternatives;
            let what =
                format_args!("calls `{function}` with {alternatives} alternatives, more than the limit of {limit}");
            Some(at_limit(FaultKind::Choose, "alternatives", what))
        } else if self.choices.len() >= self.limits.choices_per_call {
            let limit = self.limits.choices_per_call;
            let what = format_args!("calls `{function}` more often than the limit of {limit} in one handler");
            Some(at_limit(FaultKind::Choose, "choices", what))
        } else {
            None
        }
    }

    /// The number of bytes of the next line of `log` to keep.
    pub(crate) fn log_wanted(&self) -> usize {
        let kept = if self.keep_log { self.limits.log_bytes.saturating_sub(self.log_bytes) } else { 0 };
        kept.max(self.limits.text_bytes)
    }

    /// Records a line of `log`, given by its [wanted](Self::log_wanted) bytes.
    pub(crate) fn log(&mut self, line: String, bytes: usize) {
        if [PANIC_PREFIX, PLATFORM_PREFIX].iter().any(|prefix| line.starts_with(prefix)) {
            self.panic_line = Some(shortened(&line, bytes, self.limits.text_bytes));
        }
        if !self.keep_log || self.log_bytes > self.limits.log_bytes {
            return;
        }
        self.log_bytes = self.log_bytes.saturating_add(bytes).saturating_add(1);
        if self.log_bytes > self.limits.log_bytes {
            let limit = self.limits.log_bytes;
            self.log.push(format!("(log cut off here: more than {limit} bytes in one call; {})", allows_more("log")));
        } else {
            self.log.push(line);
        }
    }
}

/// Consumes fuel for work of the host.
pub(crate) fn burn(store: &mut StoreContextMut<'_, Context>, fuel: u64) -> wasmtime::Result<()> {
    match store.get_fuel()?.checked_sub(fuel) {
        Some(left) => store.set_fuel(left),
        None => Err(Trap::OutOfFuel.into()),
    }
}

/// The longest prefix of a text with at most this many bytes.
pub(crate) fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// A text of this many bytes, given by its start, cut to a number of bytes with a note.
pub(crate) fn shortened(start: &str, bytes: usize, bytes_max: usize) -> String {
    if bytes <= bytes_max {
        return start.to_owned();
    }
    format!("{}... (cut: {bytes} bytes)", cut(start, bytes_max))
}

/// A guest's text for people, which may be cut.
pub(crate) fn explanation(text: String, limits: &GuestLimits) -> String {
    let limit = limits.text_bytes;
    if text.len() <= limit { text } else { shortened(&text, text.len(), limit) }
}

impl ResourceLimiter for Context {
    fn memory_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        // The memories themselves keep to their shared budget.
        Ok(true)
    }

    /// Without this, the guest would see a failure that depends on the machine.
    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        if self.budget.trouble().is_some() { Err(error) } else { Ok(()) }
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.table_elements.saturating_add(desired.saturating_sub(current));
        let allowed = total <= self.limits.table_elements;
        if allowed {
            self.table_elements = total;
        }
        self.table_refused |= !allowed;
        Ok(allowed)
    }

    // The number of instances is known, and checked, before instantiation.
    fn instances(&self) -> usize {
        usize::MAX
    }

    fn tables(&self) -> usize {
        usize::MAX
    }

    fn memories(&self) -> usize {
        usize::MAX
    }
}
