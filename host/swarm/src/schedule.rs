//! The next job, and those that are no longer needed.

use std::ops::Range;

use crate::results::Sketches;

/// The rules by which the jobs end early. Both depend on the order of the jobs alone, not on the times of their ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// The first job with a finding is the last one.
    pub first: bool,
    /// After this many jobs in a row that added nothing to the sketches, no other one is needed.
    pub flat: Option<usize>,
}

/// The facts of a result that decide about other jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// It has a finding.
    pub has_finding: bool,
    /// Its local states and messages.
    pub sketches: Sketches,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    Ended(Ended),
    /// No place could execute it.
    Failed,
    /// Ended or failed, and so has each job before it.
    Passed,
}

/// The jobs of a swarm, or a part of them, while they run.
#[derive(Debug)]
pub struct Schedule {
    rules: Rules,
    /// The jobs; those beyond the end of this range are not needed.
    jobs: Range<usize>,
    /// The number of the first state.
    first: usize,
    states: Vec<State>,
    /// All jobs before this one are over.
    passed: usize,
    /// The union of what they have seen, and the number of jobs in a row that added nothing.
    seen: Sketches,
    unchanged: usize,
}

impl Schedule {
    /// All these jobs wait.
    pub fn new(jobs: Range<usize>, rules: Rules) -> Self {
        let states = vec![State::Waiting; jobs.len()];
        let (first, passed) = (jobs.start, jobs.start);
        Self { rules, jobs, first, states, passed, seen: Sketches::default(), unchanged: 0 }
    }

    /// The first job that waits; it runs now.
    pub fn take(&mut self) -> Option<usize> {
        let job = self.jobs.clone().find(|job| self.states[job - self.first] == State::Waiting)?;
        self.states[job - self.first] = State::Running;
        Some(job)
    }

    /// The result of this job is part of the report, as far as is known.
    pub fn needs(&self, job: usize) -> bool {
        self.jobs.contains(&job)
    }

    /// The jobs that are needed, as far as is known.
    pub fn jobs(&self) -> Range<usize> {
        self.jobs.clone()
    }

    /// Each job that is needed is over.
    pub fn is_over(&self) -> bool {
        self.passed >= self.jobs.end
    }

    /// A job that runs has ended.
    pub fn end(&mut self, job: usize, ended: Ended) {
        if self.rules.first && ended.has_finding {
            self.jobs.end = self.jobs.end.min(job + 1);
        }
        self.states[job - self.first] = State::Ended(ended);
        self.pass();
    }

    /// A job is executed by no place.
    pub fn fail(&mut self, job: usize) {
        self.states[job - self.first] = State::Failed;
        self.pass();
    }

    /// A job that runs waits again.
    pub fn put_back(&mut self, job: usize) {
        self.states[job - self.first] = State::Waiting;
    }

    fn pass(&mut self) {
        while self.passed < self.jobs.end {
            let state = &mut self.states[self.passed - self.first];
            match state {
                State::Waiting | State::Running => break,
                State::Ended(ended) => {
                    let has_grown = self.seen.add_all(&ended.sketches);
                    self.unchanged = if has_grown { 0 } else { self.unchanged + 1 };
                }
                // Nothing is known of it, so it says nothing of the others.
                State::Failed | State::Passed => {}
            }
            *state = State::Passed;
            self.passed += 1;
            if self.rules.flat.is_some_and(|flat| self.unchanged >= flat) {
                self.jobs.end = self.passed;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *state >> 33
    }

    /// Results of jobs that see fewer and fewer new things.
    fn results(seed: &mut u64) -> Vec<Option<Ended>> {
        (0..random(seed) % 20 + 1)
            .map(|_| {
                let numbers = (0..random(seed) % 4).map(|_| u128::from(random(seed) % 12) << 12 | 1 << 64);
                let mut sketches = Sketches::default();
                numbers.for_each(|number| sketches.local_states.add(number | number >> 12));
                let ended = Ended { has_finding: random(seed).is_multiple_of(8), sketches };
                (!random(seed).is_multiple_of(10)).then_some(ended)
            })
            .collect()
    }

    /// The number of jobs that count, one job after the other.
    fn one_by_one(results: &[Option<Ended>], rules: Rules) -> usize {
        let (mut seen, mut unchanged) = (Sketches::default(), 0);
        for (index, result) in results.iter().enumerate() {
            let Some(ended) = result else { continue };
            unchanged = if seen.add_all(&ended.sketches) { 0 } else { unchanged + 1 };
            let is_flat = rules.flat.is_some_and(|flat| unchanged >= flat);
            if is_flat || rules.first && ended.has_finding {
                return index + 1;
            }
        }
        results.len()
    }

    /// The same jobs count in each order of their ends, and if some are put back.
    #[test]
    fn the_jobs_that_count_do_not_depend_on_when_they_end() {
        let mut seed = 1;
        let mut cut_short = 0;
        for case in 0..3_000 {
            let results = results(&mut seed);
            let flat = random(&mut seed).is_multiple_of(2).then(|| random(&mut seed) as usize % 4 + 1);
            let rules = Rules { first: random(&mut seed).is_multiple_of(2), flat };
            let offset = random(&mut seed) as usize % 5;
            let mut schedule = Schedule::new(offset..offset + results.len(), rules);
            let slots = random(&mut seed) as usize % 4 + 1;
            let mut running: Vec<usize> = Vec::new();
            loop {
                while running.len() < slots
                    && let Some(job) = schedule.take()
                {
                    running.push(job);
                }
                if running.is_empty() {
                    break;
                }
                let job = running.swap_remove(random(&mut seed) as usize % running.len());
                match &results[job - offset] {
                    _ if random(&mut seed).is_multiple_of(5) => schedule.put_back(job),
                    _ if !schedule.needs(job) => {}
                    Some(ended) => schedule.end(job, ended.clone()),
                    None => schedule.fail(job),
                }
            }
            assert!(schedule.is_over(), "case {case}");
            let expected = one_by_one(&results, rules);
            assert_eq!(schedule.jobs(), offset..offset + expected, "case {case}: {rules:?}");
            cut_short += usize::from(expected < results.len());
        }
        assert!(cut_short > 500, "{cut_short}");
    }
}
