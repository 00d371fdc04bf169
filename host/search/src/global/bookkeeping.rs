//! What a search of global states has seen, counted and found.

use std::collections::BTreeSet;

use host_model::contract::fingerprint::Fingerprint;
use host_model::lts::{LocalStateId, Step, Stepper};
use host_model::trace::start::Start;
use rustc_hash::FxHashSet;

use crate::global::cursor::{Child, Cursor};
use crate::global::judge::judge_start;
use crate::global::visited::{Seen, Visited};
use crate::kernel::{Counts, End, Progress, Report, Search, SearchError, table_bytes};

/// The books of one search.
pub struct Ledger<'s> {
    /// What the search was asked.
    pub search: &'s Search<'s>,
    /// The global states seen.
    pub visited: Visited,
    /// Executed edges.
    pub transitions: u64,
    /// What was found.
    pub report: Report,
    states_max: u64,
    system_states: FxHashSet<Fingerprint>,
    collected: BTreeSet<Box<[LocalStateId]>>,
}

impl<'s> Ledger<'s> {
    /// Empty books; the search ends at `states_max` global states.
    pub fn new(search: &'s Search<'s>, states_max: Option<u64>) -> Self {
        Self {
            search,
            visited: Visited::new(),
            transitions: 0,
            report: Report::new(search.lts).collecting(&search.limits),
            states_max: states_max.unwrap_or(u64::MAX),
            system_states: FxHashSet::default(),
            collected: BTreeSet::new(),
        }
    }

    /// Counts and judges a start state. Returns false if it was seen before, and the end if it is a violation.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    pub fn enter_start(
        &mut self,
        stepper: &mut Stepper<'_>,
        start: &Start,
        cursor: &Cursor,
    ) -> Result<(bool, Option<End>), SearchError> {
        if self.visited.insert(cursor.fingerprint(), 0) != Seen::New {
            return Ok((false, None));
        }
        self.note_system_state(stepper, cursor, None);
        let judgements = judge_start(self.search, stepper, start)?;
        let is_bad = self.report.note(start, cursor.path(), judgements);
        Ok((true, is_bad.then_some(End::Violation)))
    }

    /// Counts the step to a child of the current state, and judges the child if it is new; returns whether it is, and why to
    /// end the search, if there is a reason.
    ///
    /// # Errors
    ///
    /// The host cannot provide an instance.
    #[inline]
    pub fn enter(
        &mut self,
        stepper: &mut Stepper<'_>,
        start: &Start,
        cursor: &Cursor,
        child: &Child,
    ) -> Result<(bool, Option<End>), SearchError> {
        self.transitions += 1;
        // A search that goes level by level has no use for depths.
        if self.visited.insert(cursor.fingerprint_of(stepper, child), 0) != Seen::New {
            return Ok((false, None));
        }
        self.report.depth = self.report.depth.max(cursor.depth() + 1);
        self.note_system_state(stepper, cursor, Some(child));
        let mut judgements = cursor.judge_child(stepper, child)?;
        if self.search.limits.deadlock {
            judgements.extend(cursor.judge_end_of(stepper, child)?.map(|judgement| (None, judgement)));
        }
        if !judgements.is_empty() {
            let path: Vec<Step> = cursor.path().iter().copied().chain([child.step]).collect();
            if self.report.note(start, &path, judgements) {
                return Ok((true, Some(End::Violation)));
            }
        }
        Ok((true, (self.visited.len() >= self.states_max).then_some(End::StateBound)))
    }

    fn note_system_state(&mut self, stepper: &mut Stepper<'_>, cursor: &Cursor, child: Option<&Child>) {
        let collected = self.search.collect_system_states.then_some(&mut self.collected);
        cursor.note_system_state(stepper, child, &mut self.system_states, collected);
    }

    /// How far the search is; `queue` states take `queue_bytes` until they are expanded.
    pub fn progress(&self, queue: usize, queue_bytes: u64) -> Progress {
        let counts = Counts {
            global_states: Some(self.visited.len()),
            transitions: Some(self.transitions),
            system_states: Some(self.system_states.len() as u64),
            ..Counts::default()
        };
        let bytes = self.visited.bytes()
            + table_bytes::<Fingerprint>(self.system_states.capacity()) as u64
            + (self.collected.len() * self.collected_bytes()) as u64
            + queue_bytes
            + self.search.lts.counts().bytes;
        Progress { counts, depth: self.report.depth, queue: queue as u64, bytes }
    }

    /// Bytes of a system state that was asked for: a B-tree is at least half full.
    fn collected_bytes(&self) -> usize {
        let nodes = self.search.lts.scenario().nodes as usize;
        2 * size_of::<Box<[LocalStateId]>>() + nodes * size_of::<LocalStateId>()
    }

    /// Closes the books.
    pub fn finish(self, end: End) -> Report {
        let counts = self.progress(0, 0).counts;
        let system_states = self.search.collect_system_states.then(|| self.collected.into_iter().collect());
        Report { end, counts, system_states, fingerprints: counts.global_states, ..self.report }
    }
}
