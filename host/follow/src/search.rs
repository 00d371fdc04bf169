//! Searches an execution that explains a log.
//!
//! A candidate is a global state together with the position of each node in its lines. From the start states, depth first, an event that
//! is enabled leads to another candidate if it explains the next lines of its node, or if it is hidden: it has no line. Three things keep
//! the search small, and none of them loses an explanation:
//!
//! - Candidates that were refused are kept, with the numbers of hidden events on the way to them: no other way to the same candidate with
//!   as many is tried.
//! - Of two orders of independent events one is tried: that in which the earlier line is first, and a hidden event last. Therefore hidden
//!   events are tried where a later event needs them.
//! - A node whose next event certainly has the next line, a local event for example, goes alone: no other node can enable or disable
//!   the events in question.
//!
//! The number of hidden events between two lines of a node is bounded, by 0, 1, 2, 4 and so on up to the bound of the caller. So the
//! explanation that is found has few of them, and a log is refused in the first round in which the bound left nothing out.
//!
//! Source: the idea of a search over hidden steps is that of trace validation, Cirstea, Kuppe, Loillier, Merz, "Validating traces of
//! distributed programs against TLA+ specifications", SEFM 2024; the order of independent events is that of Godefroid, "Partial-order
//! methods for the verification of concurrent systems", LNCS 1032.

use host_model::contract::{MachineError, NodeId, Stop, Stopped};
use host_model::lts::{MessageId, Step};
use host_model::trace::Origin;
use host_model::trace::start::Start;
use rustc_hash::FxHashMap;

use crate::candidate::{Candidate, Move};
use crate::explain::refusal;
use crate::facts::Facts;
use crate::line::{Event, LineId};
use crate::log::Log;
use crate::moves::{Gap, Mover};
use crate::verdict::{Bound, Bounds, Explanation, FURTHEST_MAX, Furthest, Judgement, Refusal, Verdict};

/// The number of candidates between two readings of the clock.
const POLL_INTERVAL: u64 = 64;

/// Bytes of a refused candidate without its gaps, and of a step, about.
const REFUSED_BYTES: usize = 64;

/// The monitor of a search: when to stop, and how many bytes are too many.
pub trait Monitor: Stop {
    /// Whether this number of bytes, kept for the search alone, is too much.
    fn is_too_much(&self, bytes: u64) -> bool;
}

/// Searches an execution that explains a log, from these start states.
///
/// # Errors
///
/// The host cannot provide an instance.
pub fn follow(
    facts: &mut Facts<'_>,
    starts: &[Start],
    log: &Log,
    bounds: Bounds,
    monitor: &dyn Monitor,
) -> Result<Judgement, MachineError> {
    let mut search = Search {
        facts,
        log,
        monitor,
        gaps: Vec::new(),
        refused: FxHashMap::default(),
        steps: Vec::new(),
        beginnings: Vec::new(),
        stack: Vec::new(),
        best: None,
        is_cut: false,
        candidates: 0,
        gap_bytes: 0,
    };
    let mut hidden = 0;
    let verdict = loop {
        search.begin(bounds, hidden);
        let end = match search.round(starts) {
            Ok(end) => end,
            Err(MachineError::Stopped(stopped)) => End::Stopped(stopped.into()),
            Err(error) => return Err(error),
        };
        match end {
            End::Explained(at) => break Verdict::Explained(Box::new(search.explanation(starts, at))),
            End::Refused => break Verdict::Refused(Box::new(search.furthest(starts)?)),
            End::Cut if hidden < bounds.hidden_max => hidden = (hidden * 2).max(1).min(bounds.hidden_max),
            End::Cut => {
                let furthest = Box::new(search.furthest(starts)?);
                break Verdict::Undecided { bound: Bound::Hidden(hidden), furthest };
            }
            End::Stopped(bound) => {
                break Verdict::Undecided { bound, furthest: Box::new(search.furthest_so_far(starts)) };
            }
        }
    };
    Ok(Judgement { verdict, candidates: search.candidates })
}

impl From<Stopped> for Bound {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Time => Self::Time,
            Stopped::Memory => Self::Memory,
            Stopped::Interrupted => Self::Interrupted,
        }
    }
}

/// The end of a round.
enum End {
    /// The candidate behind this step explains all lines.
    Explained(u32),
    /// No candidate does.
    Refused,
    /// No candidate does, and the bound on hidden events left some out.
    Cut,
    Stopped(Bound),
}

/// A step of the tree of candidates.
#[derive(Clone, Copy)]
struct Link {
    /// The step before it; its own number at a start.
    parent: u32,
    /// The number of the beginning.
    begun: u32,
    node: NodeId,
    step: Option<Step>,
    lines: u32,
}

/// A start state with the lines of each node that are about its `init`.
struct Beginning {
    start: u32,
    positions: Vec<u32>,
}

/// A candidate with the moves that are not tried yet, the last one first.
struct Frame {
    candidate: Candidate,
    at: u32,
    moves: Vec<Move>,
}

/// The candidates that came furthest.
struct Best {
    explained: u32,
    candidates: Vec<(u32, Candidate)>,
}

struct Search<'s, 'l> {
    facts: &'s mut Facts<'l>,
    log: &'s Log,
    monitor: &'s dyn Monitor,
    gaps: Vec<Gap>,
    /// By the key of a candidate, the gaps with which it was met; none stands for zeros alone.
    refused: FxHashMap<u128, Vec<Box<[u32]>>>,
    steps: Vec<Link>,
    beginnings: Vec<Beginning>,
    stack: Vec<Frame>,
    best: Option<Best>,
    is_cut: bool,
    candidates: u64,
    gap_bytes: usize,
}

impl Search<'_, '_> {
    /// Begins a round with this bound on hidden events.
    fn begin(&mut self, bounds: Bounds, hidden: u32) {
        let gap = |lines: &Vec<LineId>| match (lines.is_empty(), bounds.missing_max) {
            // A node that logs nothing has as many events per line of the others.
            (true, _) => Gap { events_max: hidden.saturating_mul(self.log.len().saturating_add(1)), is_assumed: false },
            (false, Some(missing)) if missing <= hidden => Gap { events_max: missing, is_assumed: true },
            (false, _) => Gap { events_max: hidden, is_assumed: false },
        };
        self.gaps = self.log.by_node.iter().map(gap).collect();
        self.refused.clear();
        self.steps.clear();
        self.beginnings.clear();
        self.stack.clear();
        (self.best, self.is_cut, self.gap_bytes) = (None, false, 0);
    }

    fn round(&mut self, starts: &[Start]) -> Result<End, MachineError> {
        for (number, start) in (0..).zip(starts) {
            for positions in self.begun(start)? {
                let (at, begun) = (self.steps.len() as u32, self.beginnings.len() as u32);
                self.steps.push(Link { parent: at, begun, node: 0, step: None, lines: 0 });
                self.beginnings.push(Beginning { start: number, positions: positions.clone() });
                let candidate = Candidate { positions, ..Candidate::new(start) };
                if let Some(end) = self.visit(candidate, at)? {
                    return Ok(end);
                }
                while let Some(frame) = self.stack.last_mut() {
                    let Some(taken) = frame.moves.pop() else {
                        self.stack.pop();
                        continue;
                    };
                    let next = frame.candidate.after(self.facts.stepper.known(), &taken);
                    let Move { node, step, lines, .. } = taken;
                    let link = Link { parent: frame.at, begun, node, step, lines };
                    if let Some(end) = self.go(next, link)? {
                        return Ok(end);
                    }
                }
            }
        }
        Ok(if self.is_cut { End::Cut } else { End::Refused })
    }

    fn go(&mut self, next: Candidate, link: Link) -> Result<Option<End>, MachineError> {
        if !self.is_new(&next) {
            return Ok(None);
        }
        let at = self.steps.len() as u32;
        self.steps.push(link);
        self.visit(next, at)
    }

    /// Visits a candidate; returns the end of the round if it is one.
    fn visit(&mut self, candidate: Candidate, at: u32) -> Result<Option<End>, MachineError> {
        self.candidates += 1;
        let explained = candidate.explained();
        self.note(explained, at, &candidate);
        if explained == self.log.len() {
            return Ok(Some(End::Explained(at)));
        }
        if self.candidates.is_multiple_of(POLL_INTERVAL) {
            if let Some(stopped) = self.monitor.reason() {
                return Ok(Some(End::Stopped(stopped.into())));
            }
            if self.monitor.is_too_much(self.bytes()) || self.steps.len() >= u32::MAX as usize - 1 {
                return Ok(Some(End::Stopped(Bound::Memory)));
            }
        }
        let mut mover = Mover { facts: self.facts, log: self.log, gaps: &self.gaps, is_cut: false };
        let mut moves = mover.moves(&candidate)?;
        self.is_cut |= mover.is_cut;
        if !moves.is_empty() {
            moves.reverse();
            self.stack.push(Frame { candidate, at, moves });
        }
        Ok(None)
    }

    /// Whether a candidate was not met yet with as few hidden events.
    fn is_new(&mut self, candidate: &Candidate) -> bool {
        let gaps = &candidate.gaps;
        let is_zero = gaps.iter().all(|gap| *gap == 0);
        let met = match self.refused.entry(candidate.key()) {
            std::collections::hash_map::Entry::Vacant(entry) => {
                let kept = if is_zero { Vec::new() } else { vec![gaps.clone().into()] };
                self.gap_bytes += size_of_val(&*kept) + kept.len() * size_of_val(&**gaps);
                entry.insert(kept);
                return true;
            }
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
        };
        let is_at_least = |known: &[u32]| known.iter().zip(gaps).all(|(known, gap)| known <= gap);
        if met.is_empty() || met.iter().any(|known| is_at_least(known)) {
            return false;
        }
        if is_zero {
            met.clear();
        } else {
            met.push(gaps.clone().into());
            self.gap_bytes += size_of::<Box<[u32]>>() + size_of_val(&**gaps);
        }
        true
    }

    fn note(&mut self, explained: u32, at: u32, candidate: &Candidate) {
        match &mut self.best {
            Some(best) if explained < best.explained => {}
            Some(best) if explained == best.explained => {
                let is_other = |(_, known): &(u32, Candidate)| known.locals != candidate.locals;
                if best.candidates.len() < FURTHEST_MAX && best.candidates.iter().all(is_other) {
                    best.candidates.push((at, candidate.clone()));
                }
            }
            _ => self.best = Some(Best { explained, candidates: vec![(at, candidate.clone())] }),
        }
    }

    /// Bytes kept, about.
    fn bytes(&self) -> u64 {
        let frames: usize = self.stack.last().map_or(0, |frame| {
            let Candidate { locals, in_flight, .. } = &frame.candidate;
            size_of::<Frame>() + locals.len() * 16 + in_flight.len() * 4 + frame.moves.capacity() * size_of::<Move>()
        });
        let own = frames * self.stack.len()
            + self.refused.len() * REFUSED_BYTES
            + self.gap_bytes
            + self.steps.capacity() * size_of::<Link>();
        let known = self.facts.stepper.lts().counts().bytes + self.facts.stepper.known().own_bytes();
        (own + self.facts.bytes + self.log.bytes) as u64 + known
    }

    /// The positions with which a start begins: each node has some of the lines about its `init`.
    fn begun(&mut self, start: &Start) -> Result<Vec<Vec<u32>>, MachineError> {
        let mut all: Vec<Vec<u32>> = vec![Vec::new()];
        for node in 0..start.locals.len() as NodeId {
            let lines_max = self.begun_at(start, node)?;
            let longer = |positions: &Vec<u32>| {
                let positions = positions.clone();
                (0..=lines_max).rev().map(move |lines| positions.iter().copied().chain([lines]).collect())
            };
            all = all.iter().flat_map(longer).collect();
        }
        Ok(all)
    }

    /// The most lines of a node that can be about its `init`.
    fn begun_at(&mut self, start: &Start, node: NodeId) -> Result<u32, MachineError> {
        let Some(first) = self.log.at(node, 0) else { return Ok(0) };
        let is_about_init = matches!(self.log.line(first).event, Event::Start | Event::Send(_));
        if !is_about_init || !start.path.is_empty() {
            return Ok(0);
        }
        let (local, mut unseen) = (start.locals[node as usize], self.sent_by_init(start, node)?);
        let mut lines_max = 0;
        while let Some(id) = self.log.at(node, lines_max) {
            let line = self.log.line(id);
            let fits = line.after.is_empty()
                && match &line.event {
                    Event::Start if lines_max == 0 => self.facts.is_in(line, local)?.is_ok(),
                    Event::Send(sending) => {
                        let mut found = None;
                        for (index, message) in unseen.iter().enumerate() {
                            if self.facts.sends("", sending, *message)?.is_ok() {
                                found = Some(index);
                                break;
                            }
                        }
                        found.map(|index| unseen.drain(..=index)).is_some()
                    }
                    _ => false,
                };
            if !fits {
                break;
            }
            lines_max += 1;
        }
        Ok(lines_max)
    }

    /// The messages that the `init` of a node has sent.
    fn sent_by_init(&mut self, start: &Start, node: NodeId) -> Result<Vec<MessageId>, MachineError> {
        let wanted = match &start.origin {
            Origin::Init(choices) => choices.get(node as usize).cloned().unwrap_or_default(),
            Origin::States(_) => return Ok(Vec::new()),
        };
        let outcomes = self.facts.stepper.init(node)?;
        let found = outcomes.iter().find(|outcome| {
            outcome.next == start.initial[node as usize] && (wanted.is_empty() || *outcome.choices == *wanted)
        });
        Ok(found.map(|outcome| outcome.sent.to_vec()).unwrap_or_default())
    }

    /// The execution that leads to a candidate.
    fn explanation(&self, starts: &[Start], at: u32) -> Explanation {
        let mut links = vec![self.steps[at as usize]];
        let mut place = at;
        while self.steps[place as usize].parent != place {
            place = self.steps[place as usize].parent;
            links.push(self.steps[place as usize]);
        }
        links.reverse();
        let Beginning { start, positions } = &self.beginnings[links[0].begun as usize];
        let mut positions = positions.clone();
        let at_start =
            (0..).zip(&positions).flat_map(|(node, count)| (0..*count).filter_map(move |at| self.log.at(node, at)));
        let at_start: Vec<LineId> = at_start.collect();
        let start = starts[*start as usize].clone();
        let mut found = Explanation { start, path: Vec::new(), lines: vec![at_start] };
        for link in &links[1..] {
            let node = link.node;
            let first = positions[node as usize];
            positions[node as usize] += link.lines;
            let lines: Vec<LineId> =
                (first..first + link.lines).filter_map(|position| self.log.at(node, position)).collect();
            match link.step {
                Some(step) => {
                    found.path.push(step);
                    found.lines.push(lines);
                }
                // The state after the last event of the node.
                None => {
                    let last = found.path.iter().rposition(|step| step.node == node).map_or(0, |index| index + 1);
                    found.lines[last].extend(lines);
                }
            }
        }
        found
    }

    fn furthest_so_far(&self, starts: &[Start]) -> Refusal {
        let Some(best) = &self.best else { return Default::default() };
        let furthest = best.candidates.iter().map(|(at, _)| Furthest {
            execution: self.explanation(starts, *at),
            blocked: Vec::new(),
            stuck: None,
        });
        Refusal { explained: best.explained, furthest: furthest.collect() }
    }

    fn furthest(&mut self, starts: &[Start]) -> Result<Refusal, MachineError> {
        let mut found = self.furthest_so_far(starts);
        let Some(best) = self.best.take() else { return Ok(found) };
        for (furthest, (_, candidate)) in found.furthest.iter_mut().zip(&best.candidates) {
            refusal(self.facts, self.log, candidate, furthest)?;
        }
        Ok(found)
    }
}
