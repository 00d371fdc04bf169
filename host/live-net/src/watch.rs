//! A checker beside a node: a thread of its own, for which the node never waits.
//!
//! The node collects a snapshot where the checker wants one, and puts it into a [`Slot`], in place of one that the checker has not begun.
//! So a checker that rests, hangs or has ended costs the node nothing; one that never rests wants a new one all the time. Where it steers
//! the node, it leaves what it has found in an [`Inbox`].

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{io, thread};

use host_live::checker::{self, CheckError, Checker, Limits, Round, Steering};
use host_live::checkpoint::Outcome;
use host_live::filter::Pattern;
use host_live::node::Backoff;
use host_live::simulator::Share;
use host_live::time::Time;
use host_model::contract::{MachineError, MachineFactory, NodeId};
use host_model::scenario::Scenario;
use host_model::trace::Beginning;
use rayon::ThreadPoolBuilder;

use crate::pace::{Deadline, Pace};
use crate::slot::Slot;
use crate::steer::{Inbox, Steer};

/// Hears of a round, of the scenario in which what is predicted replays, and of the filters that the node has against it, if it is steered.
pub type Report = dyn FnMut(&Round, &Scenario, Option<&Steering>) + Send;

/// What watches a node.
pub struct Watch {
    /// Makes the machines of the checker, which shares none with the node.
    pub factory: Arc<dyn MachineFactory>,
    /// The cluster as one look ahead has it.
    pub scenario: Scenario,
    /// How far a round looks at most; less far after one that was cut short.
    pub limits: Limits,
    /// How long it may look: where it steers, half of that for what is about to go wrong, and the rest for filters.
    pub round_time: Duration,
    /// The time between two snapshots at least, which is also the longest that one may take.
    pub every: Duration,
    /// How much of the time the checker may work; after a round it rests accordingly. At most all of it.
    pub share: Share,
    /// Hears of each round, in the thread of the checker.
    pub report: Box<Report>,
    /// How the node is steered, if it is.
    pub steer: Option<Steer>,
}

/// What a checker has counted.
#[derive(Default)]
struct Tally {
    rounds: AtomicU64,
    unchanged: AtomicU64,
    cut: AtomicU64,
    refused: AtomicU64,
    predictions: AtomicU64,
    dead: AtomicU64,
    violated: AtomicU64,
    unhelpful: AtomicU64,
    nanoseconds: AtomicU64,
    /// 1 once the checker has ended.
    ended: AtomicU64,
}

impl Tally {
    fn took(&self, time: Duration) {
        self.nanoseconds.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// What has come of snapshots and rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// Snapshots that are consistent.
    pub complete: u64,
    /// Those that are not.
    pub inconsistent: u64,
    /// Those that some node refused, having discarded its checkpoint.
    pub refused: u64,
    /// Those for which some node had no bandwidth left.
    pub capped: u64,
    /// Those for which some node did not answer in time.
    pub timed_out: u64,
    /// Bytes of the states in the consistent ones.
    pub bytes: u64,
    /// Rounds of the checker.
    pub rounds: u64,
    /// Snapshots that say what the last one did, so that what its round has found stands.
    pub unchanged: u64,
    /// Those that were cut short, as they took too long.
    pub cut: u64,
    /// Snapshots that the checker refused: states that are none of this cluster.
    pub rejected: u64,
    /// Violations that rounds predicted; one that several rounds predict counts in each.
    pub predictions: u64,
    /// Promises of progress that cannot be kept any more in a state ahead, counted in the same way.
    pub dead: u64,
    /// Rounds that began where a property was violated already.
    pub violated: u64,
    /// Time that the checker took.
    pub checked: Duration,
    /// Whether the checker has ended, by a panic or since the host cannot go on.
    pub is_ended: bool,
}

/// The node's side of it.
pub(crate) struct Beside {
    every: Duration,
    asked: Time,
    backoff: Backoff,
    /// Who did not answer in time and is left out once, so that there is a snapshot of the others.
    silent: BTreeSet<NodeId>,
    slot: Arc<Slot>,
    tally: Arc<Tally>,
    watched: Watched,
}

impl Beside {
    /// Starts the checker of a node, which leaves filters and views in the inbox if it steers.
    pub(crate) fn start(watch: Watch, me: NodeId, inbox: Arc<Inbox>) -> io::Result<Self> {
        let (slot, tally, every) = (Arc::<Slot>::default(), Arc::<Tally>::default(), watch.every);
        let (taken, counted) = (Arc::clone(&slot), Arc::clone(&tally));
        // Nobody waits for its end: a round may be going on when the process ends.
        thread::Builder::new().name("checker".to_owned()).spawn(move || {
            let _ending = Ending(&counted);
            // Searches spread over the threads of the pool that they are in. The node and others need the rest of the machine.
            let alone = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
            if alone.is_ok() {
                check(watch, me, (&taken, &inbox), &counted);
            }
        })?;
        let (asked, backoff, silent, watched) = (Time(0), Backoff::default(), BTreeSet::new(), Watched::default());
        Ok(Self { every, asked, backoff, silent, slot, tally, watched })
    }

    /// When the next snapshot is due; none as long as the checker wants none.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.slot.is_wanted().then(|| self.asked.after(self.backoff.wait(self.every)))
    }

    /// Whether a snapshot is due now: who is to be left out of it.
    pub(crate) fn due(&mut self, now: Time) -> Option<BTreeSet<NodeId>> {
        if now < self.deadline()? {
            return None;
        }
        self.asked = now;
        Some(std::mem::take(&mut self.silent))
    }

    /// The collection of a snapshot has ended.
    pub(crate) fn gathered(&mut self, outcome: Outcome) {
        let watched = &mut self.watched;
        match outcome {
            Outcome::Complete(snapshot) => {
                watched.complete += 1;
                self.backoff.complete();
                watched.bytes += snapshot.checkpoints.values().map(|at| at.content.len() as u64).sum::<u64>();
                self.slot.put(snapshot);
            }
            Outcome::Inconsistent(..) => watched.inconsistent += 1,
            Outcome::Refused => watched.refused += 1,
            Outcome::Capped(_) => {
                watched.capped += 1;
                self.backoff.capped();
            }
            Outcome::TimedOut(silent) => {
                watched.timed_out += 1;
                self.silent = silent;
            }
        }
    }

    /// Rounds that predicted what the node cannot keep from happening.
    pub(crate) fn unhelpful(&self) -> u64 {
        self.tally.unhelpful.load(Ordering::Relaxed)
    }

    /// What has come of it so far.
    pub(crate) fn watched(&self) -> Watched {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Watched {
            rounds: of(&self.tally.rounds),
            unchanged: of(&self.tally.unchanged),
            cut: of(&self.tally.cut),
            rejected: of(&self.tally.refused),
            predictions: of(&self.tally.predictions),
            dead: of(&self.tally.dead),
            violated: of(&self.tally.violated),
            checked: Duration::from_nanos(of(&self.tally.nanoseconds)),
            is_ended: of(&self.tally.ended) > 0,
            ..self.watched
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.slot.close();
    }
}

/// Says that the checker has ended, however it does.
struct Ending<'t>(&'t Tally);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.ended.store(1, Ordering::Relaxed);
    }
}

/// What a round is asked. The answer to the same question is the same, if it was not cut short.
#[derive(PartialEq, Eq)]
struct Question {
    beginning: Arc<Beginning>,
    is_partial: bool,
    reach: (u64, u64),
}

/// The checker: one round after the other, until the node ends.
fn check(watch: Watch, me: NodeId, (slot, inbox): (&Slot, &Inbox), tally: &Tally) {
    let Watch { factory, scenario, limits, round_time, mut report, steer, every, share } = watch;
    let (deadline, mut pace) = (Deadline::new(), Pace::new(&limits, round_time));
    let Ok(checker) = Checker::new(&*factory, scenario, limits) else { return };
    let mut checker = checker.stopped_by(&deadline);
    let mut last: Option<(Question, Option<BTreeSet<Pattern>>, Duration)> = None;
    while let Some(snapshot) = slot.take(share == Share::ALL) {
        let begun = Instant::now();
        // What may be in flight, or not, counts as lost. It could be what a promise needs.
        let (beginning, is_partial) = checker::beginning(&snapshot);
        let question = Question { beginning: Arc::new(beginning), is_partial, reach: pace.reach() };
        if let Some((_, patterns, interval)) = last.as_ref().filter(|(last, ..)| *last == question) {
            tally.unchanged.fetch_add(1, Ordering::Relaxed);
            patterns.iter().for_each(|patterns| inbox.put_filters(patterns.clone(), *interval));
            slot.rest(Duration::ZERO, every);
            continue;
        }
        last = None;
        checker.set_reach(question.reach);
        let beginning = &question.beginning;
        let result = if steer.is_some() {
            round_and_steer(&mut checker, me, beginning, (inbox, &deadline, round_time / 2))
        } else {
            deadline.set(round_time);
            checker.round(beginning).map(|round| (round, None))
        };
        let result = result.and_then(|(mut round, steering)| {
            if !is_partial {
                checker.find_dead_ahead(&mut round)?;
            }
            Ok((round, steering))
        });
        let taken = begun.elapsed();
        let rest = rest_after(taken, share);
        tally.took(taken);
        match result {
            Ok((round, steering)) => {
                let is_cut = round.is_cut || steering.as_ref().is_some_and(|steering| steering.is_cut);
                pace.took(taken, is_cut);
                tally.rounds.fetch_add(1, Ordering::Relaxed);
                tally.cut.fetch_add(is_cut.into(), Ordering::Relaxed);
                tally.predictions.fetch_add(round.predictions.len() as u64, Ordering::Relaxed);
                tally.dead.fetch_add(round.dead.len() as u64, Ordering::Relaxed);
                tally.violated.fetch_add(round.is_violated.into(), Ordering::Relaxed);
                let interval = every.max(taken + rest);
                if let Some(Steering { patterns, is_unhelpful, .. }) = &steering {
                    tally.unhelpful.fetch_add((*is_unhelpful).into(), Ordering::Relaxed);
                    inbox.put_filters(patterns.clone(), interval);
                }
                report(&round, checker.lts().scenario(), steering.as_ref());
                if !is_cut {
                    last = Some((question, steering.map(|steering| steering.patterns), interval));
                }
            }
            Err(CheckError::Refused(_)) => _ = tally.refused.fetch_add(1, Ordering::Relaxed),
            Err(CheckError::Machine(_)) => return,
        }
        if steer.is_none() || rest.is_zero() {
            slot.rest(rest, every);
        } else if rest_and_tell(&mut checker, (slot, inbox), (rest, share, every), tally).is_err() {
            return;
        }
    }
}

/// How long a checker that rests waits for what it tells of the others: each snapshot is work for all nodes.
const RENEWAL: Duration = Duration::from_secs(1);

/// Rests, and has the node hear of the others meanwhile: what it knows of them must not become as old as a rest is long. That is work, too.
fn rest_and_tell(
    checker: &mut Checker<'_>,
    (slot, inbox): (&Slot, &Inbox),
    (rest, share, every): (Duration, Share, Duration),
    tally: &Tally,
) -> Result<(), MachineError> {
    let mut end = Instant::now() + rest;
    loop {
        slot.rest(RENEWAL.min(end.saturating_duration_since(Instant::now())), every);
        let Some(snapshot) = slot.take_until(end) else { return Ok(()) };
        let begun = Instant::now();
        match checker.views(&Arc::new(checker::beginning(&snapshot).0)) {
            Ok(views) => inbox.put_views(views),
            Err(CheckError::Refused(_)) => _ = tally.refused.fetch_add(1, Ordering::Relaxed),
            Err(CheckError::Machine(error)) => return Err(error),
        }
        let taken = begun.elapsed();
        tally.took(taken);
        end += taken + rest_after(taken, share);
    }
}

/// How long to rest after so much work, so that the work is that share of the time.
fn rest_after(taken: Duration, share: Share) -> Duration {
    taken.mul_f64(f64::from(Share::ALL.0.saturating_sub(share.0)) / f64::from(share.0.max(1)))
}

/// A round, and the filters of the node against what it predicts, in so much time for each. What the snapshot says of the others the node
/// hears at once.
fn round_and_steer(
    checker: &mut Checker<'_>,
    me: NodeId,
    beginning: &Arc<Beginning>,
    (inbox, deadline, time): (&Inbox, &Deadline, Duration),
) -> Result<(Round, Option<Steering>), CheckError> {
    inbox.put_views(checker.views(beginning)?);
    deadline.set(time);
    let round = checker.round(beginning)?;
    deadline.set(time);
    let steering = match checker.steer(me, &round) {
        Ok(steering) => steering,
        Err(CheckError::Refused(_)) => Steering { is_unhelpful: true, ..Steering::default() },
        Err(error) => return Err(error),
    };
    Ok((round, Some(steering)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;
    use std::sync::mpsc::{Sender, channel};

    use host_live::checkpoint::{Checkpoint, Snapshot};
    use host_live::filter::Quota;
    use host_model::contract::{LocalKind, Machine};
    use host_model::toys::{Toy, ToyTrigger};

    use super::*;

    #[test]
    fn who_has_worked_rests_so_that_its_share_comes_out() {
        let taken = Duration::from_millis(30);
        let rests = [100, 50, 25, 10, 1].map(|percent| rest_after(taken, Share(percent * 10_000)).as_millis());
        assert_eq!(rests, [0, 30, 90, 270, 2_970]);
    }

    /// The state of two nodes; node 0 may go from 0 to 1 by a timer, and must not.
    fn states(states: [u8; 2]) -> Snapshot {
        let checkpoint = |(node, state)| {
            let checkpoint =
                Checkpoint { number: 1, incarnation: 1, content: vec![node, state], channels: BTreeMap::new() };
            (node.into(), checkpoint)
        };
        Snapshot { number: 1, checkpoints: (0..).zip(states).map(checkpoint).collect(), absent: BTreeSet::new() }
    }

    /// Ends a checker, also if what is done with it fails.
    struct Closing<'s>(&'s Slot);

    impl Drop for Closing<'_> {
        fn drop(&mut self) {
            self.0.close();
        }
    }

    /// Does something with a checker that steers node 0: how long its rounds may take, and its share.
    fn beside<R>((round_time, share): (Duration, Share), then: impl FnOnce(&Slot, &Inbox, &Tally) -> R) -> R {
        let toy = Toy::new(2).of_kind(0, LocalKind::Timer).rule(0, 0, ToyTrigger::Local(0), 1, &[]);
        let toy = Arc::new(toy.forbid(&[Some(1), None]));
        let watch = Watch {
            factory: Arc::new(toy),
            scenario: Scenario::new(2),
            limits: Limits::default(),
            round_time,
            every: Duration::ZERO,
            share,
            report: Box::new(|_, _, _| {}),
            steer: Some(Steer { quota: Quota::default(), switch: Default::default(), hold: None }),
        };
        let (slot, inbox, tally) = (&Slot::default(), &Inbox::default(), &Tally::default());
        thread::scope(|scope| {
            scope.spawn(move || check(watch, 0, (slot, inbox), tally));
            let _closing = Closing(slot);
            then(slot, inbox, tally)
        })
    }

    /// Rounds and unchanged snapshots.
    fn counts(tally: &Tally) -> (u64, u64) {
        (tally.rounds.load(Ordering::Relaxed), tally.unchanged.load(Ordering::Relaxed))
    }

    /// The checker looks at a snapshot, after so many others.
    fn look_at(snapshot: [u8; 2], others: u64, (slot, tally): (&Slot, &Tally)) {
        slot.put(states(snapshot));
        while counts(tally).0 + counts(tally).1 <= others || !slot.is_wanted() {
            thread::yield_now();
        }
    }

    /// A round is for what is new. What it has found is handed over again, so that it stays in force; after one without enough time there
    /// is nothing to hand over, and the next one goes less far.
    #[test]
    fn what_is_unchanged_is_not_explored_again() {
        // A checker that does not work all the time wants a snapshot once it is through with the last one.
        let share = Share(Share::ALL.0 - 1);
        let looked_at = |round_time| {
            beside((round_time, share), |slot, inbox, tally| {
                let (before, after) = ([0, 0], [0, 1]);
                let all = (0..).zip([before, before, after, before, before]);
                let looked_at = all.map(|(others, snapshot)| {
                    look_at(snapshot, others, (slot, tally));
                    let filters = inbox.news().1.expect("there are some, or it is said that there are none");
                    (counts(tally), filters.len())
                });
                looked_at.collect::<Vec<_>>()
            })
        };
        let expected = [((1, 0), 1), ((1, 1), 1), ((2, 1), 1), ((3, 1), 1), ((3, 2), 1)];
        assert_eq!(looked_at(Duration::from_secs(3_600)), expected);
        assert_eq!(looked_at(Duration::ZERO), (1..=5).map(|round| ((round, 0), 0)).collect::<Vec<_>>());
    }

    /// A round of a tenth of a millisecond has a rest of a hundred seconds.
    #[test]
    fn what_is_known_of_the_others_is_renewed_while_a_checker_rests() {
        beside((Duration::from_secs(3_600), Share(1)), |slot, inbox, tally| {
            look_at([0, 0], 0, (slot, tally));
            let (before, _) = inbox.news();
            slot.put(states([1, 0]));
            let later = || {
                thread::sleep(Duration::from_millis(1));
                inbox.news().0
            };
            let after = std::iter::repeat_with(later).take(60_000).find(|views| !views.is_empty()).unwrap_or_default();
            assert!(!after.is_empty(), "nothing is told in a minute");
            assert!(before[0] != after[0] && before[1] == after[1], "{before:?}, {after:?}");
            assert_eq!(counts(tally), (1, 0));
        });
    }

    /// Searches of a checker use one thread, its own.
    #[test]
    fn a_checker_takes_no_other_thread() {
        struct Tells(Mutex<Sender<usize>>);

        impl MachineFactory for Tells {
            fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
                let _ = self.0.lock().expect("nobody panics with it in hand").send(rayon::current_num_threads());
                Err(MachineError::Host("there are none".to_owned()))
            }
        }

        let (sender, told) = channel();
        let watch = Watch {
            factory: Arc::new(Tells(Mutex::new(sender))),
            scenario: Scenario::new(2),
            limits: Limits::default(),
            round_time: Duration::ZERO,
            every: Duration::ZERO,
            share: Share::ALL,
            report: Box::new(|_, _, _| {}),
            steer: None,
        };
        let _beside = Beside::start(watch, 0, Arc::default()).expect("a thread");
        assert_eq!(told.recv().expect("it begins"), 1);
    }
}
