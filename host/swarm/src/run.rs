//! The threads that take jobs from the schedule.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{scope, sleep};
use std::time::Duration;

use crate::error::SwarmError;
use crate::folder::Folder;
use crate::place::{Attempt, Place};
use crate::plan::Plan;
use crate::results::JobResult;
use crate::schedule::{Ended, Rules, Schedule};

/// The number of attempts at a job, and of failures of a machine in a row after which it gets no more jobs.
const ATTEMPTS: usize = 3;

/// The time between two looks of a process without a job.
const PAUSE: Duration = Duration::from_millis(50);

/// A swarm that runs.
#[derive(Clone, Copy, Debug)]
pub struct Swarm<'s> {
    /// The jobs.
    pub plan: &'s Plan,
    /// The folder of their results.
    pub folder: &'s Folder,
    /// The lock on it.
    pub lock: &'s File,
    /// The machines.
    pub places: &'s [Place],
    /// The rules by which they end early.
    pub rules: Rules,
    /// Set from outside, to end the swarm.
    pub stop: &'s AtomicBool,
}

/// The jobs that a report is about, as they are when a swarm ends.
#[derive(Debug)]
pub struct Over {
    /// Their numbers.
    pub jobs: Range<usize>,
    /// The results of those that have one.
    pub results: BTreeMap<usize, JobResult>,
    /// The reasons why others have none.
    pub failed: BTreeMap<usize, String>,
}

/// Something that happens while a swarm runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A job has a result, with this exit code.
    Ended(usize, i32),
    /// An attempt at a job has failed.
    Lost(usize, String),
    /// A place gets no more jobs: its name, and why.
    Gone(String),
}

/// The state that all threads share.
struct Shared {
    schedule: Schedule,
    results: BTreeMap<usize, JobResult>,
    failed: BTreeMap<usize, String>,
    attempts: BTreeMap<usize, usize>,
    refused: Option<String>,
    /// The failure of the last machine that gets no more jobs.
    gone: String,
}

impl Swarm<'_> {
    /// Runs those of these jobs that have no result yet.
    ///
    /// # Errors
    ///
    /// A job is refused, as each other one would be, or no place executes jobs.
    pub fn run(&self, jobs: Range<usize>, tell: &mut dyn FnMut(News)) -> Result<Over, SwarmError> {
        let shared = Shared {
            schedule: Schedule::new(jobs, self.rules),
            results: BTreeMap::new(),
            failed: BTreeMap::new(),
            attempts: BTreeMap::new(),
            refused: None,
            gone: String::new(),
        };
        let shared = Mutex::new(shared);
        let (sender, news) = mpsc::channel();
        scope(|scope| {
            for place in self.places {
                let failures = std::sync::Arc::new(AtomicUsize::new(0));
                for _ in 0..place.processes() {
                    let (shared, sender, failures) = (&shared, sender.clone(), std::sync::Arc::clone(&failures));
                    scope.spawn(move || self.work(place, shared, &failures, &sender));
                }
            }
            drop(sender);
            // Ends with the last thread.
            news.iter().for_each(tell);
        });
        self.places.iter().for_each(Place::clean);
        let Shared { schedule, mut results, mut failed, refused, gone, .. } =
            shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(refused) = refused {
            return Err(SwarmError::configuration(
                format_args!("no job can run: {refused}"),
                "`host run` with the same options ends alike; mend them there",
            ));
        }
        let jobs = schedule.jobs();
        results.retain(|job, _| jobs.contains(job));
        failed.retain(|job, _| jobs.contains(job));
        if !schedule.is_over() && !self.stop.load(Ordering::Relaxed) {
            return Err(SwarmError::system(
                format_args!("no machine executes jobs: {gone}"),
                "mend the machines, and repeat the command; it continues",
            ));
        }
        Ok(Over { jobs, results, failed })
    }

    /// Takes jobs until none is left, or the place fails.
    fn work(&self, place: &Place, shared: &Mutex<Shared>, failures: &AtomicUsize, tell: &Sender<News>) {
        let tell = |news: News| {
            // The receiver is there as long as a thread is.
            let _ = tell.send(news);
        };
        while !self.stop.load(Ordering::Relaxed) && failures.load(Ordering::Relaxed) < ATTEMPTS {
            let taken = {
                let mut shared = locked(shared);
                if shared.schedule.is_over() || shared.refused.is_some() {
                    return;
                }
                shared.schedule.take()
            };
            // One that runs elsewhere may come back.
            let Some(number) = taken else {
                sleep(PAUSE);
                continue;
            };
            let job = self.plan.job(number);
            if let Some(result) = JobResult::of_before(self.folder, &job) {
                locked(shared).end(number, result);
                continue;
            }
            let is_needed = || {
                let shared = locked(shared);
                shared.schedule.needs(number) && shared.refused.is_none() && !self.stop.load(Ordering::Relaxed)
            };
            let attempt = place.execute(self.plan, &job, self.folder, self.lock, &is_needed);
            let attempt = match attempt {
                Attempt::Result(exit) => match self.end(number, exit, place) {
                    Ok(result) => {
                        failures.store(0, Ordering::Relaxed);
                        locked(shared).end(number, result);
                        tell(News::Ended(number, exit));
                        continue;
                    }
                    Err(why) => Attempt::Lost(why),
                },
                other => other,
            };
            let mut shared = locked(shared);
            match attempt {
                Attempt::Result(_) => {}
                Attempt::Ended => shared.schedule.put_back(number),
                Attempt::Refused(why) => shared.refused = Some(format!("{}: {why}", job.name())),
                Attempt::Stopped(why) => shared.fail(number, why),
                Attempt::Lost(why) => {
                    let why = format!("{}: {why}", place.name());
                    let attempts = shared.attempts.entry(number).or_default();
                    *attempts += 1;
                    match *attempts {
                        ATTEMPTS => shared.fail(number, why.clone()),
                        _ => shared.schedule.put_back(number),
                    }
                    tell(News::Lost(number, why));
                }
                Attempt::Gone(why) => {
                    shared.schedule.put_back(number);
                    shared.gone = format!("{}: {why}", place.name());
                    if failures.fetch_add(1, Ordering::Relaxed) + 1 == ATTEMPTS {
                        tell(News::Gone(shared.gone.clone()));
                    }
                }
            }
        }
    }

    /// Checks a result and keeps it.
    fn end(&self, number: usize, exit: i32, place: &Place) -> Result<JobResult, String> {
        let result = JobResult::read(self.folder, &self.plan.job(number), exit)?;
        let kept = self.folder.end(number, exit, place.name());
        kept.map_err(|error| format!("its result cannot be kept: {error}"))?;
        Ok(result)
    }
}

impl Shared {
    fn end(&mut self, job: usize, result: JobResult) {
        let ended = Ended { has_finding: result.has_finding(), sketches: result.sketches.clone() };
        self.results.insert(job, result);
        self.schedule.end(job, ended);
    }

    fn fail(&mut self, job: usize, why: String) {
        self.failed.insert(job, why);
        self.schedule.fail(job);
    }
}

/// A thread that panicked while it held the lock has changed nothing by halves.
fn locked(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
