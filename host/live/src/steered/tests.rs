//! The gate as a protocol: every schedule of events, rounds, snapshots and time, up to a number of steps, compared with the rules.

use std::time::Duration;

use host_model::contract::{
    Effects, Fault, Input, LocalEvent, LocalKind, Machine, MachineError, MachineFactory, Property, PropertyKind,
    PropertyScope, Snapshot as Captured,
};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Network, Scenario};
use host_model::trace::start;
use host_search::kernel::{EndCondition, Search, SearchBounds, Unmonitored};
use host_search::strategy::find;
use serde::{Deserialize, Serialize};

use super::Steered;
use crate::filter::{FilterTable, Pattern, Quota, What};
use crate::gate::{Cause, Event, Gate, Side, Substitute, Verdict};
use crate::native::{captured, decode, encode, released};
use crate::time::Time;

/// The length of a step of time, in seconds.
const STEP: u64 = 30;

/// The time between two rounds: filters that are not replaced stay in force for twice as long.
const INTERVAL: u64 = 30;

/// A node with events of each kind, and the other inputs of its gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Happens {
    /// A message of node 1 on an unordered link, with this content.
    Message(u8),
    /// A message on an ordered link.
    InOrder,
    Timer,
    Call,
    Internal,
    /// A round of the node's own checker ends, with the filter at this index of [`FILTERS`], or without a filter.
    Round(Option<usize>),
    /// The checker of node 1 sends the first filter to this node.
    Foreign,
    /// A snapshot has node 1 in this state.
    Snapshot(u8),
    Time,
    Kill,
}

/// The state in which a filter applies, none for all states, and the event that it matches.
type Filter = (Option<u8>, Happens);

const FILTERS: [Filter; 4] =
    [(None, Happens::Message(1)), (Some(0), Happens::Message(1)), (None, Happens::Call), (None, Happens::Timer)];

/// The number of steps, and the possible steps.
#[derive(Clone, Debug)]
struct Plan {
    steps: usize,
    quota: Quota,
    all: Vec<Happens>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Node {
    gate: Steered<u8>,
    now: u64,
    state: u8,
    past: Vec<Entry>,
    /// A deviation from the rules, if any.
    trouble: Option<String>,
}

/// A past step and its time; for an event of the node, also the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    at: u64,
    /// The state of the node before it.
    state: u8,
    happens: Happens,
    answer: Answer,
}

/// The answer to an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Answer {
    #[default]
    Passed,
    /// Passed, because steering suspended itself.
    Suspended,
    Filtered,
    /// Filtered again: a local event that waits, or a message that is sent again.
    StillFiltered,
    Refused,
    /// Refused again: a local event that waits in the same state, or a message that is sent again.
    StillRefused,
}

/// The state after an event: the content of a message, the next state for a call, and no change otherwise.
fn next(state: u8, event: Happens) -> u8 {
    match event {
        Happens::Message(content) => content,
        Happens::InOrder => 2,
        Happens::Call => (state + 1) % 3,
        _ => state,
    }
}

/// The node must be neither in state 2 nor in the state of node 1.
fn is_wrong(own: u8, other: Option<u8>) -> bool {
    own == 2 || Some(own) == other
}

fn substitute(event: Happens) -> Option<Substitute> {
    match event {
        Happens::Message(_) => Some(Substitute::Drop),
        Happens::Timer => Some(Substitute::Postpone),
        Happens::Call => Some(Substitute::Delay),
        _ => None,
    }
}

/// The rules of steering, evaluated on the whole past.
struct Rules<'p> {
    plan: &'p Plan,
    past: &'p [Entry],
    now: u64,
}

impl Rules<'_> {
    fn has(&self, happens: Happens) -> bool {
        self.past.iter().any(|past| past.happens == happens)
    }

    fn is_active(&self) -> bool {
        let is_suspension = |past: &Entry| past.answer == Answer::Suspended && past.at + 60 > self.now;
        !self.has(Happens::Kill) && !self.past.iter().any(is_suspension)
    }

    /// The filter in force, and the steps since it is in force without a break.
    fn in_force(&self) -> Option<(Filter, &[Entry])> {
        let rounds = self.past.iter().enumerate().rev().filter_map(|(place, past)| match past.happens {
            Happens::Round(filter) => Some((place, past.at, filter)),
            _ => None,
        });
        let (mut later, mut since, mut latest) = (self.now, None, None);
        for (place, at, filter) in rounds {
            if later >= at + 2 * INTERVAL || *latest.get_or_insert(filter) != filter {
                break;
            }
            (later, since) = (at, Some(place));
        }
        Some((FILTERS[latest??], &self.past[since?..]))
    }

    /// Whether the quota allows one more filtered event, by the events of the last minute. An event that waits counts once.
    fn is_within(&self) -> bool {
        let is_event = |happens: Happens| {
            use Happens::{Foreign, Kill, Round, Snapshot, Time};
            !matches!(happens, Round(_) | Foreign | Snapshot(_) | Time | Kill)
        };
        let recent = self.past.iter().filter(|past| past.at + 60 > self.now && is_event(past.happens));
        let (mut all, mut kept) = (1, 0);
        let waits = |answer| matches!(answer, Answer::StillFiltered | Answer::StillRefused);
        for Entry { answer, .. } in recent.filter(|past| !waits(past.answer)) {
            all += 1;
            kept += u64::from(matches!(answer, Answer::Filtered | Answer::Refused));
        }
        let Quota { percent, always } = self.plan.quota;
        (kept + 1) * 100 <= percent * all || kept < always
    }

    /// Whether a message was filtered or refused within the last minute.
    fn was_dropped(&self, message: Happens) -> bool {
        use Answer::{Filtered, Refused, StillFiltered, StillRefused};
        let is_dropped = |answer| matches!(answer, Filtered | StillFiltered | Refused | StillRefused);
        let mut same = self.past.iter().filter(|past| past.happens == message && is_dropped(past.answer));
        same.any(|past| past.at + 60 > self.now)
    }

    /// The answer to an event in a state, given the state of node 1 in the last snapshot.
    fn answer(&self, state: u8, event: Happens, other: Option<u8>) -> Answer {
        if self.has(Happens::Kill) || substitute(event).is_none() {
            return Answer::Passed;
        }
        let is_local = matches!(event, Happens::Call | Happens::Timer);
        if let Some(((only, filtered), since)) = self.in_force()
            && filtered == event
            && only.is_none_or(|only| only == state)
        {
            let is_filtered = |past: &Entry| past.happens == event && past.answer == Answer::Filtered;
            let has_waited = if is_local { since.iter().any(is_filtered) } else { self.was_dropped(event) };
            return match (self.is_active(), has_waited) {
                (true, true) => Answer::StillFiltered,
                (true, false) if self.is_within() => Answer::Filtered,
                (true, false) => Answer::Suspended,
                (false, _) => Answer::Passed,
            };
        }
        let after = next(state, event);
        if after == state || !is_wrong(after, other) || is_wrong(state, other) || !self.is_active() {
            return Answer::Passed;
        }
        // An event that was refused in this state within the last minute, and is due again, has waited.
        let is_refusal = |past: &&Entry| matches!(past.answer, Answer::Refused | Answer::StillRefused);
        let same = self.past.iter().filter(|past| (past.happens, past.state) == (event, state));
        let waits = || same.filter(is_refusal).any(|past| past.at + 60 > self.now);
        let was_refused = if is_local { waits() } else { self.was_dropped(event) };
        if was_refused {
            return Answer::StillRefused;
        }
        if self.is_within() { Answer::Refused } else { Answer::Suspended }
    }
}

impl Node {
    fn happen(&mut self, plan: &Plan, happens: Happens) {
        let (now, state) = (Time(self.now * 1_000_000_000), self.state);
        let mut answer = Answer::Passed;
        match happens {
            Happens::Time => self.now += STEP,
            Happens::Kill => self.gate.table.kill(),
            Happens::Snapshot(other) => self.gate.latest[1] = Some(other),
            Happens::Round(filter) => {
                self.gate.table.replace(now, 0, filter.map(pattern));
            }
            Happens::Foreign => {
                let refused = self.gate.table.replace(now, 1, [pattern(0)]);
                self.trouble = (refused != 1).then(|| "a filter of another node was taken".to_owned());
            }
            event => {
                let suspensions = self.gate.table.suspensions();
                let rules = Rules { plan, past: &self.past, now: self.now };
                let expected = rules.answer(state, event, self.gate.latest[1]);
                answer = self.ask(now, event);
                if self.gate.table.suspensions() > suspensions {
                    answer = Answer::Suspended;
                }
                // The gate does not report whether an event was filtered or refused before; the rules do.
                let before = (answer, expected);
                if [(Answer::Filtered, Answer::StillFiltered), (Answer::Refused, Answer::StillRefused)]
                    .contains(&before)
                {
                    answer = expected;
                }
                if answer != expected {
                    self.trouble = Some(format!("{event:?} is {answer:?} and should be {expected:?}"));
                }
            }
        }
        // A step that advances the time is logged with the time before it.
        self.past.push(Entry { at: now.0 / 1_000_000_000, state, happens, answer });
    }

    /// Calls the gate as a node does, and changes the state if the event passes.
    fn ask(&mut self, now: Time, happens: Happens) -> Answer {
        with_cause(happens, |cause| {
            let event = Event { state: self.state.into(), cause, may_break: false };
            if let Verdict::Instead(substitute) = self.gate.before(now, &event) {
                return self.check_substitute(substitute, happens, Answer::Filtered);
            }
            let after = next(self.state, happens);
            let before = self.state;
            let own = |side| if side == Side::Before { before } else { after };
            let mut judge = |side, views: &[Option<u8>]| is_wrong(own(side), views[1]);
            if let Verdict::Instead(substitute) = self.gate.after(now, &event, &mut judge) {
                return self.check_substitute(substitute, happens, Answer::Refused);
            }
            self.state = after;
            Answer::Passed
        })
    }

    fn check_substitute(&mut self, taken: Substitute, happens: Happens, answer: Answer) -> Answer {
        if Some(taken) != substitute(happens) {
            self.trouble = Some(format!("{taken:?} in place of {happens:?}"));
        }
        answer
    }
}

fn with_cause<R>(happens: Happens, then: impl FnOnce(Cause<'_>) -> R) -> R {
    let local = |name: &str, kind| LocalEvent { name: name.to_owned(), kind, payload: Vec::new() };
    match happens {
        Happens::Message(content) => then(Cause::Message { from: 1, network: Network::Unordered, payload: &[content] }),
        Happens::InOrder => then(Cause::Message { from: 1, network: Network::Ordered, payload: &[2] }),
        Happens::Timer => then(Cause::Local(&local("timer", LocalKind::Timer))),
        Happens::Call => then(Cause::Local(&local("call", LocalKind::Application))),
        Happens::Internal => then(Cause::Local(&local("internal", LocalKind::Internal))),
        other => unreachable!("{other:?} is no event of the node"),
    }
}

fn pattern(place: usize) -> Pattern {
    let (state, event) = FILTERS[place];
    let what = with_cause(event, |cause| match cause {
        Cause::Message { from, payload, .. } => What::Message { from, payload: payload.to_vec() },
        Cause::Local(local) => What::Local { name: local.name.clone(), payload: local.payload.clone() },
    });
    Pattern { state: state.map(u128::from), what }
}

struct GateMachine {
    plan: Plan,
    node: Option<Node>,
}

impl GateMachine {
    fn node(&self) -> &Node {
        self.node.as_ref().expect("it has begun")
    }
}

impl MachineFactory for Plan {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        Ok(Box::new(GateMachine { plan: self.clone(), node: None }))
    }
}

impl Machine for GateMachine {
    fn restore(&mut self, snapshot: Option<&Captured>) -> Result<(), MachineError> {
        self.node = snapshot.map(released);
        Ok(())
    }

    fn capture(&mut self) -> Captured {
        captured(self.node())
    }

    fn handle(&mut self, input: Input<'_>, _script: &[u32], effects: &mut Effects) -> Result<(), Fault> {
        *effects = Effects::default();
        match input {
            Input::Init { .. } => {
                let table = FilterTable::new(0, self.plan.quota, Duration::from_secs(INTERVAL));
                let gate = Steered::new(table, vec![None, None]);
                self.node = Some(Node { gate, now: 0, state: 0, past: Vec::new(), trouble: None });
            }
            Input::Local(event) => {
                let Self { plan, node } = self;
                node.as_mut().expect("it has begun").happen(plan, decode(&event.payload));
            }
            _ => unreachable!("nothing else is asked for"),
        }
        Ok(())
    }

    fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
        Ok(encode(self.node()))
    }

    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
        if self.node().past.len() == self.plan.steps {
            return Ok(Vec::new());
        }
        let event = |happens| LocalEvent {
            name: format!("{happens:?}"),
            kind: LocalKind::Application,
            payload: encode(happens),
        };
        Ok(self.plan.all.iter().map(event).collect())
    }

    fn view(&mut self, _property: u32) -> Result<Option<Vec<u8>>, Fault> {
        Ok(Some(encode(&self.node().trouble)))
    }

    fn properties(&mut self) -> Result<Vec<Property>, Fault> {
        let (kind, scope) = (PropertyKind::Always, PropertyScope::Node);
        Ok(vec![Property { name: "the gate keeps to the rules".to_owned(), kind, scope }])
    }

    fn invariant(&mut self, _property: u32, views: &[Option<&[u8]>]) -> Result<Result<(), String>, Fault> {
        Ok(decode::<Option<String>>(views[0].expect("each node has a view")).map_or(Ok(()), Err))
    }
}

/// Explores every schedule. Returns the number of states.
fn explore(plan: &Plan) -> u64 {
    let lts = Lts::new(plan, Scenario::new(1)).expect("it is native");
    let mut stepper = Stepper::new(&lts).expect("it is native");
    let starts = start::initial(&mut stepper).expect("nothing is refused");
    let bounds = SearchBounds::default();
    let search = Search { lts: &lts, starts: &starts, bounds, monitor: &Unmonitored, collect_system_states: false };
    let bdfs = find("bdfs").expect("it is a row");
    let report = (bdfs.run)(&search).expect("the host does not fail");
    let trouble = report.violations.first().map(|found| {
        let last = found.path.iter().fold(found.initial[0], |local, step| {
            let row = stepper.step(local, step.trigger).expect("it is native");
            stepper.outcomes(row)[step.outcome as usize].next
        });
        let node: Node = released(stepper.state(last).protocol.snapshot.as_ref().expect("it has no fault"));
        (node.trouble, node.past)
    });
    assert_eq!((trouble, report.end), (None, EndCondition::SpaceExhausted));
    report.counts.global_states.unwrap_or(0)
}

/// The number of schedules of up to `n` steps of `k` kinds: 1 + k + k^2 + ... + k^n. Each is a state, since a state contains its past.
fn schedules(plan: &Plan) -> u64 {
    let things = plan.all.len() as u64;
    (0..=plan.steps as u32).map(|steps| things.pow(steps)).sum()
}

/// All kinds of steps, and longer schedules of the kinds that matter for the end of filters, quotas and waiting.
#[test]
fn the_gate_keeps_to_the_rules_in_every_schedule() {
    use Happens::{Call, Foreign, InOrder, Internal, Kill, Message, Round, Snapshot, Time, Timer};
    let all = vec![
        Message(1),
        Message(2),
        InOrder,
        Timer,
        Call,
        Internal,
        Round(None),
        Round(Some(0)),
        Round(Some(1)),
        Round(Some(2)),
        Round(Some(3)),
        Foreign,
        Snapshot(0),
        Snapshot(1),
        Time,
        Kill,
    ];
    let half = Quota { percent: 50, always: 1 };
    let plans = [
        (4, Quota { percent: 0, always: 1 }, all.clone()),
        (4, half, all),
        (7, half, vec![Message(1), Internal, Round(Some(0)), Time]),
        (7, half, vec![Call, Message(2), Round(Some(2)), Time]),
        (7, Quota { percent: 50, always: 0 }, vec![Call, Round(Some(2)), Time]),
    ];
    for (steps, quota, all) in plans {
        let plan = Plan { steps, quota, all };
        assert_eq!(explore(&plan), schedules(&plan));
    }
}
