//! Checkers of the nodes of a run: their predictions, and the events that they prevent.
//!
//! Each node has its own checker. It takes a cluster snapshot and looks ahead for a span of virtual time; then its filters are in force. A
//! round begins after an event, at the earliest an interval after the last round. Without an event, another round would have the same
//! result, so the filters stay.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use host_model::contract::{ClassId, Judgement, MachineError, NodeId, Severity, TransferError};
use host_model::lts::{LocalStateId, MessageId, Outcome, Stepper};
use host_model::trace::Beginning;
use host_model::trace::start::Start;

use crate::checker::Round;
use crate::filter::{FilterTable, Pattern};
use crate::gate::{Cause, Event, Gate, Side, Substitute, Verdict};
use crate::neighbourhood::Neighbourhood;
use crate::simulator::cut::{Cut, History};
use crate::simulator::hold::Horizon;
use crate::simulator::watching::Watching;
use crate::steered::Steered;
use crate::time::Time;

/// The mode of the checkers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They report.
    Observe,
    /// They prevent what they predict, and the immediate check is on.
    Steer,
}

/// The results of a run's checkers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// Rounds.
    pub rounds: u64,
    /// Rounds that predicted a violation.
    pub predicting: u64,
    /// The time of the first prediction.
    pub first: Option<Time>,
    /// Rounds that predicted no violation, but a dead state.
    pub dying: u64,
    /// Predictions for which the node has no filters that help.
    pub unhelpful: u64,
    /// Predictions for which the node has filters.
    pub helped: u64,
    /// Events prevented by a filter.
    pub filtered: u64,
    /// Events prevented by the immediate check.
    pub immediate: u64,
    /// Events prevented by looking ahead from them.
    pub foreseen: u64,
    /// The number of times that steering suspended itself.
    pub suspensions: u64,
    /// Whether steering has stopped the run: for at least the last tenth of its time no event happened, and the enabled ones were
    /// postponed.
    pub is_stopped: bool,
    /// Rounds from the states of all nodes because the named neighbours were unusable.
    pub unusable: u64,
}

impl Watched {
    /// Whether an event was prevented.
    pub fn has_prevented(&self) -> bool {
        self.filtered + self.immediate + self.foreseen > 0
    }
}

/// The checker of one node.
struct NodeChecker {
    gate: Steered<LocalStateId>,
    /// The knowledge of the node between snapshots, if effects are held.
    horizon: Option<Horizon>,
    /// The nodes asked for the last complete snapshot. The immediate check ignores the states of others, which are out of date.
    asked: Vec<bool>,
    /// The round in progress: its snapshot, its predictions and its filters.
    in_progress: Option<RoundInProgress>,
    /// Whether a round is scheduled or in progress.
    is_busy: bool,
    /// The start of the last round.
    began: Option<Time>,
    /// The number of changes in the run at that time.
    seen: u64,
}

impl NodeChecker {
    /// Adopts the states of a snapshot that is complete by now.
    fn take_views(&mut self, now: Time) {
        let Some(round) = self.in_progress.as_mut().filter(|round| round.gathered <= now) else { return };
        self.gate.take_views(round.views.iter_mut().map(Option::take));
        self.asked.clone_from(&round.asked);
        if let (Some(horizon), Some((number, beginning))) = (&mut self.horizon, round.snapshot.take()) {
            horizon.renew(number, beginning);
        }
    }
}

struct RoundInProgress {
    /// The nodes in the snapshot, and the time of its completion: the immediate check does not wait for the end of the round.
    views: Vec<Option<LocalStateId>>,
    asked: Vec<bool>,
    gathered: Time,
    /// The snapshot, and the number of the node's checkpoint in it, if effects are held.
    snapshot: Option<(u64, Beginning)>,
    /// The round, if it predicts a violation or a dead state.
    predicting: Option<Arc<Round>>,
    is_unhelpful: bool,
    patterns: BTreeSet<Pattern>,
}

/// The checkers of a run in progress.
pub(super) struct Watch<'w, 'f> {
    watching: &'w mut Watching<'f>,
    mode: Mode,
    checkers: Vec<NodeChecker>,
    pub(super) history: History,
    pub(super) watched: Watched,
}

impl<'w, 'f> Watch<'w, 'f> {
    pub(super) fn new(watching: &'w mut Watching<'f>, mode: Mode, start: &Start) -> Self {
        // Filters end with the next round, see above.
        let lasting = Duration::from_secs(100 * 365 * 86_400);
        let quota = watching.profile.quota;
        let checker = |node| NodeChecker {
            gate: Steered::new(
                FilterTable::new(node, quota, lasting).with_kinds(Arc::clone(watching.kinds())),
                start.locals.iter().copied().map(Some).collect(),
            ),
            horizon: watching.hold.is_some().then(|| Horizon::new(node)),
            asked: vec![true; start.locals.len()],
            in_progress: None,
            is_busy: false,
            began: None,
            seen: 0,
        };
        let nodes = 0..start.locals.len() as NodeId;
        Self {
            mode,
            checkers: nodes.map(checker).collect(),
            history: History::new(start),
            watched: Watched::default(),
            watching,
        }
    }

    /// After an event: the nodes that begin a round, and when.
    pub(super) fn due(&mut self, now: Time, seen: u64) -> Vec<(NodeId, Time)> {
        let interval = self.watching.profile.interval;
        let mut due = Vec::new();
        for (node, checker) in (0..).zip(&mut self.checkers) {
            if !checker.is_busy && (checker.began.is_none() || checker.seen != seen) {
                checker.is_busy = true;
                let at = checker.began.map_or(now, |began| began.after(interval).max(now));
                due.push((node, at));
            }
        }
        due
    }

    /// Begins a round in a node's knowledge of the run, in which it now reaches some nodes. Returns the end of the round.
    pub(super) fn begin(
        &mut self,
        stepper: &mut Stepper<'_>,
        node: NodeId,
        now: Time,
        seen: u64,
        locals: &[LocalStateId],
        reached: &[bool],
    ) -> Result<Time, MachineError> {
        let asked = self.asked(stepper, node, locals)?;
        let cut = self.history.cut(stepper, node, locals, &asked, reached);
        let checker = &mut self.checkers[node as usize];
        (checker.began, checker.seen) = (Some(now), seen);
        let profile = self.watching.profile;
        let mut in_progress = RoundInProgress {
            views: cut.views(),
            asked,
            gathered: now.after(profile.gathering),
            snapshot: None,
            predicting: None,
            is_unhelpful: false,
            patterns: BTreeSet::new(),
        };
        if let Some(horizon) = &mut checker.horizon {
            let number = horizon.begin();
            in_progress.snapshot = exported(cut.beginning(stepper, self.watching.used_up))?.map(|cut| (number, cut));
        }
        let key = cut.key(stepper);
        let mut work = 0;
        if let Some(round) = self.round_of(stepper, key, &cut)? {
            work += round.work;
            let predicts = !round.predictions.is_empty();
            if predicts && self.mode == Mode::Steer {
                let steering = self.watching.steer(key, node, &round)?;
                (in_progress.patterns, in_progress.is_unhelpful) = (steering.patterns, steering.is_unhelpful);
                work += steering.work;
            }
            in_progress.predicting = (predicts || !round.dead.is_empty()).then_some(round);
        }
        self.checkers[node as usize].in_progress = Some(in_progress);
        let taken = profile.each.saturating_mul(u32::try_from(work).unwrap_or(u32::MAX));
        Ok(now.after(profile.gathering).after(profile.base).after(taken))
    }

    /// For each node, whether this node asks it for a snapshot.
    fn asked(
        &mut self,
        stepper: &mut Stepper<'_>,
        node: NodeId,
        locals: &[LocalStateId],
    ) -> Result<Vec<bool>, MachineError> {
        let nodes = locals.len() as NodeId;
        let neighbourhood = match self.watching.profile.neighbours {
            true => Neighbourhood::of(stepper.neighbours(locals[node as usize])?, node, nodes),
            false => Neighbourhood::All,
        };
        let asked = (0..nodes).map(|other| neighbourhood.has(other)).collect();
        if let Neighbourhood::Unusable(why) = neighbourhood {
            self.watched.unusable += 1;
            self.watching.unusable.get_or_insert((node, why));
        }
        Ok(asked)
    }

    fn round_of(
        &mut self,
        stepper: &mut Stepper<'_>,
        key: [u8; 32],
        cut: &Cut,
    ) -> Result<Option<Arc<Round>>, MachineError> {
        if let Some(known) = self.watching.rounds.get(&key) {
            return Ok(Some(Arc::clone(known)));
        }
        match exported(cut.beginning(stepper, self.watching.used_up))? {
            Some(beginning) => self.watching.round(key, &Arc::new(beginning)),
            None => Ok(None),
        }
    }

    /// Ends a round.
    pub(super) fn end(&mut self, node: NodeId, now: Time) {
        let checker = &mut self.checkers[node as usize];
        checker.is_busy = false;
        checker.take_views(now);
        let Some(RoundInProgress { predicting, is_unhelpful, patterns, .. }) = checker.in_progress.take() else {
            return;
        };
        self.watched.rounds += 1;
        if let Some(round) = predicting {
            if round.predictions.is_empty() {
                self.watched.dying += 1;
            } else {
                self.watched.predicting += 1;
                self.watched.first.get_or_insert(now);
            }
            if self.mode == Mode::Observe {
                self.watching.note(node, now, round);
            }
        }
        self.watched.unhelpful += u64::from(is_unhelpful);
        self.watched.helped += u64::from(!patterns.is_empty());
        if self.mode == Mode::Steer {
            checker.gate.table.replace(now, node, patterns);
        }
    }

    /// Whether connections may be broken instead of messages on ordered links.
    pub(super) fn breaks(&self) -> bool {
        self.watching.profile.limits.breaks
    }

    /// The substitute for an event that a filter matches.
    pub(super) fn before(&mut self, now: Time, node: NodeId, event: &Event<'_>) -> Option<Substitute> {
        if self.mode == Mode::Observe {
            return None;
        }
        let checker = &mut self.checkers[node as usize];
        if let (Some(horizon), Cause::Message { from, payload, .. }) = (&mut checker.horizon, event.cause) {
            horizon.take(from, payload);
        }
        let Verdict::Instead(substitute) = checker.gate.before(now, event) else { return None };
        self.watched.filtered += 1;
        Some(substitute)
    }

    /// The substitute for an event whose handler has run, if the immediate check refuses it.
    pub(super) fn after(
        &mut self,
        stepper: &mut Stepper<'_>,
        now: Time,
        node: NodeId,
        before: LocalStateId,
        after: LocalStateId,
        event: Event<'_>,
    ) -> Result<Option<Substitute>, MachineError> {
        if self.mode == Mode::Observe || before == after {
            return Ok(None);
        }
        let mut trouble = None;
        let checker = &mut self.checkers[node as usize];
        checker.take_views(now);
        let asked = &checker.asked;
        let mut judge = |side, latest: &[Option<LocalStateId>]| {
            let known = latest.iter().zip(asked).map(|(local, is_asked)| local.filter(|_| *is_asked));
            let mut known: Vec<_> = known.collect();
            known[node as usize] = Some(if side == Side::Before { before } else { after });
            is_wrong(stepper, &known).unwrap_or_else(|error| {
                trouble = Some(error);
                false
            })
        };
        let verdict = checker.gate.after(now, &event, &mut judge);
        if let Some(error) = trouble {
            return Err(error);
        }
        let Verdict::Instead(substitute) = verdict else { return Ok(None) };
        self.watched.immediate += 1;
        Ok(Some(substitute))
    }

    /// The same by looking ahead from the event, if its effects are held.
    pub(super) fn ahead(
        &mut self,
        stepper: &mut Stepper<'_>,
        now: Time,
        node: NodeId,
        before: LocalStateId,
        outcome: &Outcome,
        event: Event<'_>,
    ) -> Result<Option<Substitute>, MachineError> {
        let checker = &mut self.checkers[node as usize];
        let (Some(hold), Some(horizon)) = (&mut self.watching.hold, &mut checker.horizon) else { return Ok(None) };
        let changes = before != outcome.next || !outcome.sent.is_empty();
        if self.mode == Mode::Observe || !changes || !checker.gate.table.is_active(now) {
            return Ok(None);
        }
        let Some(pattern) = Pattern::of(&event) else { return Ok(None) };
        let fork = horizon.fork(stepper, before, outcome.next, &outcome.sent)?;
        if fork.map_or(Ok(false), |fork| hold.is_to_blame(&pattern, &fork))?
            && let Verdict::Instead(substitute) = checker.gate.refuse(now, &event)
        {
            self.watched.foreseen += 1;
            return Ok(Some(substitute));
        }
        Ok(None)
    }

    /// After a step of a node, with the states after it.
    pub(super) fn step(
        &mut self,
        stepper: &Stepper<'_>,
        locals: &[LocalStateId],
        node: NodeId,
        taken: Vec<MessageId>,
        sent: &[MessageId],
    ) {
        if let Some(horizon) = &mut self.checkers[node as usize].horizon {
            horizon.send(stepper, sent);
        }
        self.history.step(stepper, locals, node, taken, sent);
    }

    /// The results so far.
    pub(super) fn finish(mut self) -> Watched {
        self.watched.suspensions = self.checkers.iter().map(|checker| checker.gate.table.suspensions()).sum();
        self.watched
    }
}

/// The exported state; none if the protocol does not export it.
fn exported(result: Result<Beginning, TransferError>) -> Result<Option<Beginning>, MachineError> {
    match result {
        Ok(beginning) => Ok(Some(beginning)),
        Err(TransferError::Refused(_)) => Ok(None),
        Err(TransferError::Machine(error)) => Err(error),
    }
}

/// Whether these states violate a property. Properties have no view of an unknown node.
fn is_wrong(stepper: &mut Stepper<'_>, locals: &[Option<LocalStateId>]) -> Result<bool, MachineError> {
    let (mut classes, mut is_wrong) = (Vec::with_capacity(locals.len()), false);
    let mut is_violation = |judgement: &Judgement| is_wrong |= judgement.severity() == Severity::Violation;
    for local in locals {
        let state = local.map(|local| stepper.state(local));
        classes.push(state.map_or(ClassId::NEUTRAL, |state| state.protocol.class));
        state.into_iter().flat_map(|state| &state.protocol.judgements).for_each(&mut is_violation);
    }
    stepper.judge(&classes)?.iter().for_each(is_violation);
    Ok(is_wrong)
}
