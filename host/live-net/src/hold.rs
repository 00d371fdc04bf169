//! Holding and looking ahead: a thread of a running node that explores from an event, while its effects are held.
//!
//! The node waits for the answer up to a deadline; then the effects leave. It asks no further question before the thread has answered, so
//! a thread that hangs or has ended delays the node only once.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};
use std::{io, thread};

use host_live::carried::Fork;
use host_live::checker::{CheckError, Checker, Limits};
use host_live::filter::Pattern;
use host_model::contract::MachineFactory;
use host_model::scenario::Scenario;
use rayon::ThreadPoolBuilder;

use crate::deadline::Deadline;

/// The share of the holding time for one exploration: from the event, and after a prediction also from its substitute. The rest is for
/// questions and answers.
const LOOK: f64 = 0.45;
/// The bound of an exploration, in events of the unfolding.
const EVENTS_MAX: u64 = 2_000;

/// The results of looking ahead from events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HoldCounts {
    /// Events whose exploration was complete within the bounds while their effects were held.
    pub looked: u64,
    /// Events whose effects left before that, or at once because the thread was still exploring from an earlier event.
    pub cut: u64,
    /// Events whose effects had left when the answer to hold them back arrived.
    pub too_late: u64,
    /// Whether the thread has ended, by a panic or since the host cannot continue.
    pub is_ended: bool,
}

/// A handled event, and the states after it and after its substitute.
struct Question {
    number: u64,
    event: Pattern,
    fork: Fork,
}

/// The result for an event.
struct Answer {
    number: u64,
    is_to_blame: bool,
    is_cut: bool,
}

/// The thread, as the node sees it.
#[derive(Debug)]
pub(crate) struct Hold {
    questions: SyncSender<Question>,
    answers: Receiver<Answer>,
    asked: u64,
    /// Whether the last question has no answer yet.
    waits: bool,
    patience: Duration,
    counts: HoldCounts,
}

impl Hold {
    /// Starts the thread for a cluster in this scenario; effects are held for at most `patience`.
    pub(crate) fn start(factory: Arc<dyn MachineFactory>, scenario: Scenario, patience: Duration) -> io::Result<Self> {
        let (questions, asked) = sync_channel(1);
        let (answer, answers) = sync_channel(1);
        // The thread is not joined: it ends when the node does.
        thread::Builder::new().name("look-ahead".to_owned()).spawn(move || {
            let alone = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
            if alone.is_ok() {
                look_ahead(&*factory, scenario, &asked, &answer, patience.mul_f64(LOOK));
            }
        })?;
        Ok(Self { questions, answers, asked: 0, waits: false, patience, counts: HoldCounts::default() })
    }

    /// The results so far.
    pub(crate) fn counts(&self) -> HoldCounts {
        self.counts
    }

    /// Whether an event leads to a violation, and its substitute does not; false if the answer comes too late.
    pub(crate) fn is_to_blame(&mut self, event: Pattern, fork: Fork) -> bool {
        self.hear();
        if self.waits || self.counts.is_ended {
            self.counts.cut += 1;
            return false;
        }
        let end = Instant::now() + self.patience;
        self.asked += 1;
        match self.questions.try_send(Question { number: self.asked, event, fork }) {
            Ok(()) => self.waits = true,
            Err(_) => {
                self.counts.is_ended = true;
                return false;
            }
        }
        match self.answers.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(Answer { is_to_blame, is_cut, .. }) => {
                self.waits = false;
                self.counts.looked += u64::from(!is_cut);
                self.counts.cut += u64::from(is_cut);
                is_to_blame
            }
            Err(error) => {
                self.counts.cut += 1;
                self.counts.is_ended |= error == RecvTimeoutError::Disconnected;
                false
            }
        }
    }

    /// Takes a late answer, if one has arrived.
    fn hear(&mut self) {
        match self.answers.try_recv() {
            Ok(Answer { number, is_to_blame, .. }) => {
                debug_assert_eq!(number, self.asked, "nothing was asked since");
                self.waits = false;
                self.counts.too_late += u64::from(is_to_blame);
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => self.counts.is_ended = true,
        }
    }
}

/// The thread: one question after the other, until the node ends or the host cannot continue.
fn look_ahead(
    factory: &dyn MachineFactory,
    scenario: Scenario,
    questions: &Receiver<Question>,
    answers: &SyncSender<Answer>,
    time: Duration,
) {
    let deadline = Deadline::new();
    let Ok(checker) = Checker::new(factory, scenario, Limits::of_an_event(EVENTS_MAX)) else { return };
    let mut checker = checker.stopped_by(&deadline);
    for question in questions {
        deadline.set(time);
        let answer = match checker.foresee(&question.event, &question.fork, &|| deadline.set(time)) {
            Ok(foreseen) => Answer {
                number: question.number,
                is_to_blame: foreseen.prediction.is_some(),
                is_cut: foreseen.is_cut && foreseen.prediction.is_none(),
            },
            Err(CheckError::Refused(_)) => Answer { number: question.number, is_to_blame: false, is_cut: false },
            Err(CheckError::Machine(_)) => return,
        };
        if answers.send(answer).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use host_live::filter::What;
    use host_model::contract::{Machine, MachineError};
    use host_model::trace::Beginning;

    use super::*;

    fn event() -> Pattern {
        Pattern { state: Some(1), what: What::Message { from: 1, payload: vec![7] } }
    }

    fn fork() -> Fork {
        let nowhere = Arc::new(Beginning::default());
        Fork { node: 0, after: Arc::clone(&nowhere), instead: nowhere }
    }

    /// A thread that explores gets no further question before it has answered; an answer after the effects have left is counted.
    #[test]
    fn who_is_late_is_not_waited_for_again() {
        let ((questions, asked), (answer, answers)) = (sync_channel(1), sync_channel(1));
        let counts = HoldCounts::default();
        let mut hold = Hold { questions, answers, asked: 0, waits: false, patience: Duration::ZERO, counts };
        assert!(!hold.is_to_blame(event(), fork()) && !hold.is_to_blame(event(), fork()));
        let numbers = || asked.try_iter().map(|question| question.number).collect::<Vec<u64>>();
        assert_eq!((numbers(), hold.counts()), (vec![1], HoldCounts { cut: 2, ..counts }));
        answer.send(Answer { number: 1, is_to_blame: true, is_cut: false }).expect("the node is there");
        assert!(!hold.is_to_blame(event(), fork()));
        assert_eq!((numbers(), hold.counts()), (vec![2], HoldCounts { cut: 3, too_late: 1, ..counts }));
        answer.send(Answer { number: 2, is_to_blame: false, is_cut: false }).expect("the node is there");
        assert!(!hold.is_to_blame(event(), fork()));
        assert_eq!((numbers(), hold.counts()), (vec![3], HoldCounts { cut: 4, too_late: 1, ..counts }));
    }

    /// Machines that cannot be made, so the thread cannot look ahead.
    struct Broken;

    impl MachineFactory for Broken {
        fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
            Err(MachineError::Host("there is no machine here".to_owned()))
        }
    }

    #[test]
    fn a_thread_that_has_ended_is_not_waited_for() {
        let hour = Duration::from_secs(3_600);
        let mut hold = Hold::start(Arc::new(Broken), Scenario::new(2), hour).expect("there are threads");
        assert!(!hold.is_to_blame(event(), fork()) && !hold.is_to_blame(event(), fork()));
        assert!(hold.counts().is_ended);
    }
}
