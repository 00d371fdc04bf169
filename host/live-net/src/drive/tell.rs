//! The log and the metrics of a node.

use std::collections::BTreeMap;
use std::time::Instant;

use host_live::checkpoint::Dropped;
use host_live::node::{Refusal, Undone};

use crate::drive::Running;
use crate::metrics::Measured;
use crate::watch::CheckerThread;

impl Running {
    /// Publishes the counts; `waits` if the node has nothing to do now.
    pub(super) fn publish(&mut self, waits: bool) {
        self.published = Instant::now();
        self.board.publish(self.measured(), waits);
    }

    fn measured(&self) -> Measured {
        Measured {
            counts: self.node.counts().clone(),
            incarnation: self.node.incarnation(),
            unsent: self.unsent,
            holding: self.budget.holding(),
            distrusted: self.distrusted.clone(),
            seconds: 0.0,
            busy: 0.0,
            requests_refused: BTreeMap::new(),
            written: self.written.0,
            write_seconds: self.written.1.as_secs_f64(),
            waiting: self.waiting.len() as u64,
            watched: self.checker.as_ref().map(CheckerThread::watched),
            steered: self.steered(),
        }
    }

    pub(super) fn tell_start(&mut self) {
        let start = self.node.incarnation();
        self.log.tell("start", &format_args!("runs: start {start}, process {}", std::process::id()));
        let torn = self.disk.torn();
        if torn > 0 {
            let words = format_args!(
                "has cut {torn} bytes off the end of its file: a record that was not complete, and so never acknowledged"
            );
            self.log.tell("torn", &words);
        }
    }

    pub(super) fn tell_refused(&mut self, refusal: Refusal) {
        // Late and duplicate frames are normal in a network.
        let is_usual = match refusal {
            Refusal::Dropped(dropped) => !matches!(dropped, Dropped::LaterStart(_) | Dropped::Malformed),
            refusal => matches!(refusal, Refusal::Overtaken | Refusal::NoBase),
        };
        if !is_usual {
            self.log.tell(refusal.name(), &format_args!("has refused a frame: {refusal}"));
        }
    }

    pub(super) fn tell_undone(&mut self, undone: &Undone) {
        let kind = format!("undone {} {}", undone.cause.name(), undone.limit);
        let words = format!("has undone a handler ({}): {}", undone.cause.name(), undone.fault);
        self.log.tell(&kind, &format_args!("{words}; the limit is `{}` under `[limits]`", undone.limit));
    }
}
