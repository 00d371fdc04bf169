//! Machines that execute handlers, as many as there are workers.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::contract::{Machine, MachineError};
use crate::lts::handler::{Executed, Execution, Job, run};
use crate::lts::system::Lts;

/// How many handlers a worker takes at a time: executing one costs about a microsecond.
const JOBS_A_GRAB: usize = 8;

/// Bytes of what came out of handlers that wait to be interned, about. One handler alone can have more.
const UNINTERNED_BYTES: usize = 16 << 20;

/// Machines of one stepper.
pub(crate) struct MachinePool<'l> {
    lts: &'l Lts<'l>,
    /// One per worker, made when there is work for it; at least one.
    machines: Vec<Box<dyn Machine>>,
}

impl<'l> MachinePool<'l> {
    /// A pool of one machine.
    pub(crate) fn new(lts: &'l Lts<'l>) -> Result<Self, MachineError> {
        Ok(Self { lts, machines: vec![lts.factory.machine()?] })
    }

    /// One of the machines, in any state.
    pub(crate) fn first(&mut self) -> &mut dyn Machine {
        &mut *self.machines[0]
    }

    /// Runs the handlers of the first jobs for every resolution of their choices, at least one job and at most as many as
    /// take [`UNINTERNED_BYTES`]; the results stand in the order of the jobs.
    pub(crate) fn execute(&mut self, jobs: &[Job]) -> Result<Vec<Executed>, MachineError> {
        let bytes = AtomicUsize::new(0);
        let is_full = || bytes.load(Ordering::Relaxed) >= UNINTERNED_BYTES;
        let count = |executed: &Executed| {
            let all = executed.executions.iter().map(Execution::bytes).sum();
            bytes.fetch_add(all, Ordering::Relaxed);
        };
        let workers = rayon::current_num_threads().min(jobs.len().div_ceil(JOBS_A_GRAB));
        if workers <= 1 {
            let machine = &mut *self.machines[0];
            let executed = jobs.iter().map_while(|job| (!is_full()).then(|| run(self.lts, machine, job)));
            return executed.inspect(|executed| executed.iter().for_each(&count)).collect();
        }
        while self.machines.len() < workers {
            self.machines.push(self.lts.factory.machine()?);
        }
        let lts = self.lts;
        let next = AtomicUsize::new(0);
        let work = |machine: &mut Box<dyn Machine>| {
            let mut done = Vec::new();
            loop {
                // What is taken up is done to its end, so the jobs that are done are the first ones.
                if is_full() {
                    return Ok(done);
                }
                let first = next.fetch_add(JOBS_A_GRAB, Ordering::Relaxed);
                let Some(grabbed) = jobs.get(first..) else { return Ok(done) };
                if grabbed.is_empty() {
                    return Ok(done);
                }
                for (index, job) in (first..).zip(grabbed.iter().take(JOBS_A_GRAB)) {
                    let executed = run(lts, &mut **machine, job)?;
                    count(&executed);
                    done.push((index, executed));
                }
            }
        };
        let parts: Vec<Result<Vec<_>, MachineError>> = self.machines[..workers].par_iter_mut().map(work).collect();
        let mut ordered: Vec<Option<Executed>> = jobs.iter().map(|_| None).collect();
        for part in parts {
            for (index, executed) in part? {
                ordered[index] = Some(executed);
            }
        }
        Ok(ordered.into_iter().map_while(|executed| executed).collect())
    }
}
