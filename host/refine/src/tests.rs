//! Differences known by hand.

use std::sync::Arc;

use host_model::contract::aspects::{Aspect, AspectName, Describe};
use host_model::contract::{
    Effects, Fault, Input, LocalEvent, Machine, MachineError, MachineFactory, Property, Snapshot, Stop, Stopped,
};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::{Faults, Scenario};
use host_model::toys::{Toy, ToyTrigger};
use host_model::trace::start;
use serde_json::{Value, json};

use crate::{Bound, Bounds, Field, Judgement, Monitor, Side, Verdict, View, refine};

/// A bound on memory alone, in bytes.
struct Memory(u64);

impl Stop for Memory {
    fn reason(&self) -> Option<Stopped> {
        None
    }
}

impl Monitor for Memory {
    fn is_too_much(&self, bytes: u64) -> bool {
        bytes > self.0
    }
}

/// A toy whose states are described, or not.
struct Described(Arc<Toy>, bool);

struct DescribedMachine(Box<dyn Machine>, bool);

impl MachineFactory for Described {
    fn machine(&self) -> Result<Box<dyn Machine>, MachineError> {
        Ok(Box::new(DescribedMachine(self.0.machine()?, self.1)))
    }
}

impl Machine for DescribedMachine {
    fn restore(&mut self, snapshot: Option<&Snapshot>) -> Result<(), MachineError> {
        self.0.restore(snapshot)
    }

    fn handle(&mut self, input: Input<'_>, script: &[u32], effects: &mut Effects) -> Result<(), Fault> {
        self.0.handle(input, script, effects)
    }

    fn serialize(&mut self) -> Result<Vec<u8>, Fault> {
        self.0.serialize()
    }

    fn local_events(&mut self) -> Result<Vec<LocalEvent>, Fault> {
        self.0.local_events()
    }

    fn view(&mut self, property: u32) -> Result<Option<Vec<u8>>, Fault> {
        self.0.view(property)
    }

    fn capture(&mut self) -> Snapshot {
        self.0.capture()
    }

    fn properties(&mut self) -> Result<Vec<Property>, Fault> {
        self.0.properties()
    }

    fn invariant(&mut self, property: u32, views: &[Option<&[u8]>]) -> Result<Result<(), String>, Fault> {
        self.0.invariant(property, views)
    }

    fn aspect(&mut self, name: AspectName) -> Option<Aspect<'_>> {
        match name {
            AspectName::Describe if self.1 => Some(Aspect::Describe(self)),
            other => self.0.aspect(other),
        }
    }
}

impl Describe for DescribedMachine {
    fn describe_state(&mut self) -> Result<Option<String>, Fault> {
        let state = self.0.serialize()?.first().copied().unwrap_or_default();
        // The low bits are of no interest to the tests that ask for `tens`.
        Ok(Some(format!(r#"{{"tens": {}, "all": [{state}, "x"]}}"#, state / 10)))
    }

    fn describe_message(&mut self, _: &[u8]) -> Result<Option<String>, Fault> {
        Ok(None)
    }
}

fn compared(toys: [(Toy, bool); 2], fields: &[&str], bounds: Bounds, memory: u64) -> Judgement {
    let factories = toys.map(|(toy, describes)| Described(Arc::new(toy), describes));
    let scenario = || Scenario { faults: Faults::default(), ..Scenario::new(2) };
    let ltses = [0, 1].map(|side| Lts::new(&factories[side], scenario()).expect("toys have no host"));
    let [mut new, mut old] = [0, 1].map(|side| Stepper::new(&ltses[side]).expect("toys have no host"));
    let new_starts = start::initial(&mut new).expect("toys accept everything");
    let old_starts = start::initial(&mut old).expect("toys accept everything");
    let new = Side { stepper: &mut new, starts: &new_starts };
    let old = Side { stepper: &mut old, starts: &old_starts };
    let fields = fields.iter().map(|field| Field::parse(field).expect("it has keys")).collect();
    refine(new, old, fields, bounds, &Memory(memory)).expect("toys have no host")
}

fn of(new: Toy, old: Toy, fields: &[&str]) -> Judgement {
    compared([(new, true), (old, true)], fields, Bounds::default(), u64::MAX)
}

/// Node 0 goes along these states by itself.
fn along(states: &[u8]) -> Toy {
    states.windows(2).fold(Toy::new(2), |toy, pair| toy.rule(0, pair[0], ToyTrigger::Local(1), pair[1], &[]))
}

/// Steps between states with one view are stuttering, in both systems, before and after a change.
#[test]
fn stuttering_makes_no_difference() {
    let (few, many) = (along(&[0, 10, 20]), along(&[0, 1, 2, 10, 11, 20, 21]));
    for [new, old] in [[&few, &many], [&many, &few], [&few, &few]] {
        let judgement = of(new.clone(), old.clone(), &["tens"]);
        assert!(matches!(judgement.verdict, Verdict::Refines), "{judgement:?}");
        assert_eq!((judgement.unknown_fields.len(), judgement.are_described), (0, [true, true]));
    }
    // With all fields, each state has a view of its own.
    assert!(matches!(of(few, many, &[]).verdict, Verdict::Differs(_)));
}

/// The choice in the old system is between 11 and 12, which have one view; only one of them leads on.
#[test]
fn the_old_system_may_be_in_several_states() {
    let old = Toy::new(2)
        .rule(0, 0, ToyTrigger::Local(1), 11, &[])
        .rule(0, 0, ToyTrigger::Local(2), 12, &[])
        .rule(0, 11, ToyTrigger::Local(1), 20, &[])
        .rule(0, 12, ToyTrigger::Local(1), 30, &[]);
    for last in [20, 30] {
        assert!(matches!(of(along(&[0, 10, last]), old.clone(), &["tens"]).verdict, Verdict::Refines), "{last}");
    }
    let Verdict::Differs(difference) = of(along(&[0, 10, 13, 40, 50]), old, &["tens"]).verdict else {
        panic!("40 is new")
    };
    let tens = |tens: u8| View::Described(json!({ "tens": tens }));
    assert_eq!((difference.path.len(), difference.old_states), (3, 2));
    assert_eq!(difference.views, [tens(4), tens(0)]);
    assert_eq!(difference.before, Some((0, tens(1))));
    assert_eq!(difference.alternatives, [(0, tens(2)), (0, tens(3))]);
}

/// A difference at the start, and handlers that fail.
#[test]
fn starts_and_failures_count() {
    let judgement = of(Toy::new(2).start(0, 30, &[]), Toy::new(2), &["tens"]);
    let Verdict::Differs(difference) = judgement.verdict else { panic!("{judgement:?}") };
    assert_eq!((difference.path.len(), difference.before.is_none(), difference.old_states), (0, true, 1));
    let fails = |fails: bool| {
        let toy = along(&[0, 10, 11]);
        if fails { toy.trap(0, 11, ToyTrigger::Local(1)) } else { toy.rule(0, 11, ToyTrigger::Local(1), 20, &[]) }
    };
    assert!(matches!(of(fails(true), fails(true), &["tens"]).verdict, Verdict::Refines));
    let Verdict::Differs(difference) = of(fails(true), fails(false), &["tens"]).verdict else { panic!("it fails") };
    assert_eq!((difference.path.len(), &difference.views[0]), (3, &View::Failed));
    assert!(matches!(of(fails(false), fails(true), &["tens"]).verdict, Verdict::Differs(_)));
}

/// A system without end is undecided within each bound, and the bound on events says how far it was compared.
#[test]
fn bounds_are_named() {
    // Each event of node 0 sends node 1 a message that nothing takes.
    let endless = || Toy::new(2).rule(0, 0, ToyTrigger::Local(1), 0, &[(1, 7)]);
    let judge = |bounds, memory| compared([(endless(), true), (endless(), true)], &[], bounds, memory);
    let judgement = judge(Bounds { events_max: Some(5) }, 1 << 14);
    assert!(!matches!(judgement.verdict, Verdict::Refines | Verdict::Differs(_)), "{judgement:?}");
    assert!(matches!(judge(Bounds::default(), 1 << 16).verdict, Verdict::Undecided(Bound::Memory)));
    let long = || along(&[0, 10, 20, 30, 40, 50, 60]);
    let judgement = compared([(long(), true), (long(), true)], &[], Bounds { events_max: Some(4) }, u64::MAX);
    assert!(matches!(judgement.verdict, Verdict::Undecided(Bound::Events(4))), "{judgement:?}");
    assert_eq!(judgement.counts.events, 4);
}

/// Fields that no state has, fields of lists, and a system without descriptions.
#[test]
fn comparisons_that_say_nothing_are_seen() {
    let judgement = of(along(&[0, 10]), along(&[0, 10]), &["tens", "all.0", "all.7", "none.at.all"]);
    let unknown: Vec<String> = judgement.unknown_fields.iter().map(ToString::to_string).collect();
    assert_eq!(unknown, ["all.7", "none.at.all"]);
    let silent = compared([(along(&[0, 10]), false), (along(&[0, 10]), true)], &[], Bounds::default(), u64::MAX);
    assert_eq!(silent.are_described, [false, true]);
    assert!(Field::parse("a..b").is_err() && Field::parse("").is_err());
    assert_eq!(Value::from("a.b"), Field::parse("a.b").expect("it has keys").to_string());
}
