//! Machines that execute handlers, as many as there are workers.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::contract::{Machine, MachineError};
use crate::lts::handler::{Executed, Execution, Job, run};
use crate::lts::system::Lts;

/// Maximum number of handlers that a worker takes at a time: executing one costs about a microsecond.
const JOBS_A_GRAB: usize = 8;

/// Approximate bytes of the outcomes of the handlers that a worker takes at a time.
const GRAB_BYTES: usize = 1 << 20;

/// Approximate bytes of the outcomes that wait to be interned. One handler alone can have more.
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
        Ok(Self { lts, machines: vec![lts.machine()?] })
    }

    /// One of the machines, in any state.
    pub(crate) fn first(&mut self) -> &mut dyn Machine {
        &mut *self.machines[0]
    }

    /// Runs the handlers of the first jobs for every resolution of their choices: at least one job, and at most as many as
    /// take [`UNINTERNED_BYTES`]. The results are in the order of the jobs.
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
            self.machines.push(self.lts.machine()?);
        }
        let lts = self.lts;
        let next = AtomicUsize::new(0);
        let work = |machine: &mut Box<dyn Machine>| {
            let mut done = Vec::new();
            loop {
                // A job that was taken is always finished, so the finished jobs are the first ones.
                if is_full() {
                    return Ok(done);
                }
                let so_far = next.load(Ordering::Relaxed);
                let grab = match bytes.load(Ordering::Relaxed) {
                    // The size of an outcome is still unknown.
                    0 => 1,
                    bytes => (GRAB_BYTES * so_far / bytes).clamp(1, JOBS_A_GRAB),
                };
                let first = next.fetch_add(grab, Ordering::Relaxed);
                let Some(grabbed) = jobs.get(first..) else { return Ok(done) };
                if grabbed.is_empty() {
                    return Ok(done);
                }
                for (index, job) in (first..).zip(grabbed.iter().take(grab)) {
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

impl Drop for MachinePool<'_> {
    fn drop(&mut self) {
        self.lts.idle.put(self.machines.drain(..));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Effects, Envelope, Fault, Input, LocalEvent, LocalKind, MachineFactory, Property, Snapshot};
    use crate::lts::handler::Cause;
    use crate::scenario::{Network, Scenario};
    use std::sync::Arc;

    const MESSAGE_BYTES: usize = UNINTERNED_BYTES / 4;

    /// Sends a long message with each handler.
    struct Long;

    struct LongMachines;

    impl MachineFactory for LongMachines {
        fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
            Ok(Box::new(Long))
        }
    }

    impl Machine for Long {
        fn restore(&mut self, _: Option<&Snapshot>) -> Result<(), MachineError> {
            Ok(())
        }

        fn handle(&mut self, _: Input<'_>, _: &[u32], effects: &mut Effects) -> Result<(), Fault> {
            effects.sent = vec![Envelope { to: 0, payload: vec![0; MESSAGE_BYTES] }];
            Ok(())
        }

        fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
            Ok(Vec::new())
        }

        fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
            Ok(Vec::new())
        }

        fn view(&mut self, _: u32) -> Result<Option<Vec<u8>>, Fault> {
            Ok(None)
        }

        fn capture(&mut self) -> Snapshot {
            Snapshot::new(&[])
        }

        fn properties(&mut self) -> Result<Vec<Property>, Fault> {
            Ok(Vec::new())
        }

        fn invariant(&mut self, _: u32, _: &[Option<&[u8]>]) -> Result<Result<(), String>, Fault> {
            Ok(Ok(()))
        }
    }

    /// Four handlers fill the room, and each worker may be in the middle of one more.
    #[test]
    fn what_waits_to_be_interned_is_bounded() {
        const WORKERS: usize = 3;
        // On links without order, messages are shorter.
        let scenario = Scenario { network: Network::Ordered, ..Scenario::new(1) };
        let lts = Lts::new(&LongMachines, scenario).expect("it lists its properties");
        let event = Arc::new(LocalEvent { name: String::new(), kind: LocalKind::Internal, payload: Vec::new() });
        let job = |_| Job { node: 0, from: Snapshot::new(&[]), cause: Cause::Local(Arc::clone(&event)) };
        let jobs: Vec<Job> = (0..100).map(job).collect();
        let threads = rayon::ThreadPoolBuilder::new().num_threads(WORKERS).build().expect("threads can be started");
        let mut pool = MachinePool::new(&lts).expect("machines of our own");
        let executed = threads.install(|| pool.execute(&jobs)).expect("machines of our own");
        assert!((4..=4 + WORKERS).contains(&executed.len()), "{} handlers at once", executed.len());
    }
}
