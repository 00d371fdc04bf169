//! The reasons of refusals, and bounds.

use std::sync::Arc;

use host_model::contract::{MachineFactory, Stop, Stopped};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::toys::{Toy, ToyTrigger};
use host_model::trace::start;

use crate::facts::Facts;
use crate::line::{Content, Event, Line, Sending};
use crate::log::Log;
use crate::search::{Monitor, follow};
use crate::verdict::{Bound, Bounds, Judgement, Verdict};

struct Bounded(Option<Stopped>, u64);

impl Stop for Bounded {
    fn reason(&self) -> Option<Stopped> {
        self.0
    }
}

impl Monitor for Bounded {
    fn is_too_much(&self, bytes: u64) -> bool {
        bytes > self.1
    }
}

/// Node 0 counts: in state 0 and 1 a local event leads to the next state, and sends its number to node 1, which answers 7.
fn counter() -> Arc<Toy> {
    let toy = Toy::new(2)
        .rule(0, 0, ToyTrigger::Local(0), 1, &[(1, 1)])
        .rule(0, 1, ToyTrigger::Local(0), 2, &[(1, 2)])
        .rule(1, 0, ToyTrigger::Message(0, 1), 1, &[(0, 7)])
        .rule(1, 0, ToyTrigger::Message(0, 2), 2, &[(0, 7)]);
    Arc::new(toy)
}

fn line(node: u32, event: Event) -> Line {
    Line { place: Default::default(), node, event, sent: None, state: None, after: Vec::new() }
}

fn content(byte: u8) -> Content {
    Content { payload: Some(vec![byte]), description: None }
}

fn deliver(node: u32, from: u32, byte: u8) -> Line {
    line(node, Event::Deliver { from: Some(from), message: content(byte) })
}

fn local(node: u32) -> Line {
    line(node, Event::Local { name: Some("local0".to_owned()), cause: None, argument: Content::default() })
}

fn judge(lines: Vec<Line>, bounds: Bounds, monitor: &Bounded) -> Judgement {
    let toy = counter();
    let lts = Lts::new(&toy, Scenario::new(2)).expect("toys have no host");
    let mut stepper = Stepper::new(&lts).expect("toys have no host");
    let starts = start::initial(&mut stepper).expect("toys accept everything");
    let mut facts = Facts::new(stepper, toy.machine().expect("toys have no host"));
    follow(&mut facts, &starts, &Log::new(lines, 2), bounds, monitor).expect("toys have no host")
}

const FREE: Bounded = Bounded(None, u64::MAX);

/// The line, the closest event there, and its first difference.
#[test]
fn a_refusal_names_the_line_and_the_first_field_that_differs() {
    let refused = |lines: Vec<Line>| match judge(lines, Bounds { missing_max: Some(0), hidden_max: 8 }, &FREE).verdict {
        Verdict::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    };
    // Node 1 gets 1, and never 3.
    let refusal = refused(vec![local(0), deliver(1, 0, 3), deliver(0, 1, 7)]);
    assert_eq!(refusal.explained, 1);
    let blocked = &refusal.furthest[0].blocked[0];
    assert_eq!(blocked.line, 1);
    let closest = blocked.alternatives[0].difference.as_ref().expect("it differs");
    assert_eq!(closest.to_string(), "payload is \"01\", the line has \"03\"");
    // Three local events are too many; with an event of another kind there is nothing close.
    let refusal = refused(vec![local(0), local(0), local(0)]);
    assert_eq!((refusal.explained, refusal.furthest[0].blocked[0].line), (2, 2));
    // The messages that an event sends are compared after it, and its state last.
    let sending = |to, byte| Sending { to: Some(to), message: content(byte) };
    let wrong = Line { sent: Some(vec![sending(1, 2)]), ..local(0) };
    let refusal = refused(vec![wrong, local(0)]);
    let closest = refusal.furthest[0].blocked[0].alternatives[0].difference.as_ref().map(ToString::to_string);
    assert_eq!(closest.as_deref(), Some("sent[0].payload is \"01\", the line has \"02\""));
}

/// Without the line about the second local event, node 1 cannot get 2: only if a line may be missing.
#[test]
fn events_without_a_line_are_tried_as_far_as_the_log_may_lack_them() {
    let lines = || vec![local(0), deliver(1, 0, 2)];
    let with = |missing_max, hidden_max| judge(lines(), Bounds { missing_max, hidden_max }, &FREE).verdict;
    for (missing_max, hidden_max) in [(None, 1), (Some(1), 4), (None, 100)] {
        let Verdict::Explained(found) = with(missing_max, hidden_max) else { panic!("{missing_max:?}, {hidden_max}") };
        assert_eq!((found.path.len(), found.hidden()), (3, 1));
        assert_eq!(found.lines, [vec![], vec![0], vec![], vec![1]]);
    }
    assert!(matches!(with(Some(0), 100), Verdict::Refused(_)));
    let undecided = with(None, 0);
    assert!(matches!(undecided, Verdict::Undecided { bound: Bound::Hidden(0), .. }), "{undecided:?}");
}

/// A line that is known to follow another one does.
#[test]
fn the_order_that_lines_name_is_kept() {
    let bounds = Bounds { missing_max: Some(0), hidden_max: 8 };
    let with = |after: Vec<u32>| judge(vec![deliver(1, 0, 1), Line { after, ..local(0) }], bounds, &FREE).verdict;
    assert!(matches!(with(vec![]), Verdict::Explained(_)));
    let Verdict::Refused(refusal) = with(vec![0]) else { panic!("a message arrives before it is sent") };
    let waiting = refusal.furthest[0].blocked.iter().find(|blocked| blocked.line == 1).expect("it is blocked");
    assert_eq!(waiting.waits_for, [0]);
}

#[test]
fn bounds_leave_a_log_undecided() {
    // So much is explained that the bounds are asked.
    let lines: Vec<Line> = (0..200).map(|_| line(0, Event::State)).collect();
    let lines: Vec<Line> =
        lines.into_iter().map(|line| Line { state: None, ..line }).chain([deliver(1, 0, 3)]).collect();
    let bounds = Bounds { missing_max: None, hidden_max: 4 };
    for (monitor, expected) in [
        (Bounded(Some(Stopped::Time), u64::MAX), Bound::Time),
        (Bounded(Some(Stopped::Interrupted), u64::MAX), Bound::Interrupted),
        (Bounded(None, 10), Bound::Memory),
    ] {
        let judgement = judge(lines.clone(), bounds, &monitor);
        let Verdict::Undecided { bound, furthest } = judgement.verdict else { panic!("{:?}", judgement.verdict) };
        assert_eq!(bound, expected);
        assert!(furthest.explained > 60);
    }
}
