//! Histories of simulated objects: thousands of operations, mistakes, bounds.

use std::cell::Cell;
use std::time::Duration;

use super::{history_of, judged, reading};
use crate::generate::{Mistake, Plan, generate};
use crate::{Bound, Bounds, Verdict, judge};

fn plan(model: &'static str) -> Plan {
    Plan { model, operations: 5_000, clients: 10, values: 5, open_per_mille: 0, seed: 1, mistake: None }
}

/// The histories of measurements: the hardness of published ones, and more.
fn plans() -> Vec<Plan> {
    let mut plans: Vec<Plan> = ["register", "cas-register", "kv", "counter", "set", "mutex"].map(plan).to_vec();
    plans.push(Plan { values: 0, clients: 30, ..plan("queue") });
    plans.push(Plan { values: 0, clients: 50, ..plan("register") });
    plans.push(Plan { values: 0, ..plan("queue") });
    plans.push(Plan { values: 0, open_per_mille: 2, ..plan("queue") });
    plans.push(Plan { open_per_mille: 20, ..plan("cas-register") });
    plans.push(Plan { open_per_mille: 20, values: 0, ..plan("register") });
    plans.push(Plan { open_per_mille: 20, ..plan("kv") });
    plans.push(Plan { clients: 50, values: 10, ..plan("kv") });
    plans
}

#[test]
fn histories_of_simulated_objects_are_linearizable() {
    for plan in plans() {
        let plan = Plan { operations: 1_000, ..plan };
        let generated = generate(&plan);
        let mut history = history_of(&generated.text, &reading(plan.model)).expect("it is well formed");
        let judgement = judged(&mut history, None);
        assert!(matches!(judgement.verdict, Verdict::Linearizable), "{plan:?}: {judgement:?}");
    }
}

/// A stale read is at the read itself; a lost change is at the first read that misses it.
#[test]
fn mistakes_are_found_at_the_operation_that_shows_them() {
    let of = |model, mistake| Plan { mistake: Some(mistake), ..plan(model) };
    let plans = [
        Plan { values: 0, ..of("register", Mistake::StaleRead) },
        of("kv", Mistake::StaleRead),
        Plan { open_per_mille: 5, ..of("kv", Mistake::LostWrite) },
        of("kv", Mistake::LostWrite),
        of("set", Mistake::StaleRead),
        of("set", Mistake::LostWrite),
    ];
    let mut found = 0;
    for plan in plans {
        for seed in 0..8 {
            let plan = Plan { seed, operations: 400, clients: 4, ..plan };
            let generated = generate(&plan);
            let Some(line) = generated.mistake_line else { continue };
            let mut history = history_of(&generated.text, &reading(plan.model)).expect("it is well formed");
            let Verdict::NotLinearizable(why) = judged(&mut history, None).verdict else { panic!("{plan:?}") };
            assert_eq!(why.blocked.return_line, Some(line), "{plan:?}: {why:?}");
            assert!(!why.order.is_empty(), "{plan:?}: {why:?}");
            found += 1;
        }
    }
    assert!(found > 30, "{found} histories have a mistake");
}

#[test]
fn a_bound_that_is_hit_is_the_answer() {
    // A hard history: many adds of different amounts at once, and a read of what no choice of them makes.
    let mut text = String::new();
    for process in 0..60 {
        let amount = 2 * (1_000 + process);
        text += &format!("{{\"process\": {process}, \"type\": \"invoke\", \"f\": \"add\", \"value\": {amount}}}\n");
    }
    text += "{\"process\": 99, \"type\": \"invoke\", \"f\": \"read\"}\n";
    text += "{\"process\": 99, \"type\": \"ok\", \"f\": \"read\", \"value\": 60001}\n";
    let mut history = history_of(&text, &reading("counter")).expect("it is well formed");
    let ticks = Cell::new(0u64);
    let elapsed = || {
        ticks.set(ticks.get() + 1);
        Duration::from_millis(ticks.get())
    };
    let bounds = |memory_bytes, time| Bounds { memory_bytes, elapsed: &elapsed, time, is_interrupted: &|| false };
    let within = |history: &mut _, memory_bytes, seconds| {
        judge(history, None, &bounds(memory_bytes, Duration::from_secs(seconds))).expect("it can begin so").verdict
    };
    let verdict = within(&mut history, 1 << 20, 1 << 20);
    assert!(matches!(verdict, Verdict::Undecided { bound: Bound::Memory, decided: 0 }), "{verdict:?}");
    let verdict = within(&mut history, 1 << 30, 10);
    assert!(matches!(verdict, Verdict::Undecided { bound: Bound::Time, decided: 0 }), "{verdict:?}");
    let bounds = Bounds { is_interrupted: &|| true, ..bounds(1 << 30, Duration::from_secs(60)) };
    let verdict = judge(&mut history, None, &bounds).expect("it can begin so").verdict;
    assert!(matches!(verdict, Verdict::Undecided { bound: Bound::Interrupted, decided: 0 }), "{verdict:?}");
}

/// One object that takes too long does not hide that another one is wrong, wherever they are in the history.
#[test]
fn a_hard_object_does_not_hide_a_wrong_one() {
    let mut text = String::new();
    for process in 0..60 {
        let amount = 2 * (1_000 + process);
        text += &format!(
            "{{\"process\": {process}, \"type\": \"invoke\", \"f\": \"add\", \"key\": \"hard\", \"value\": {amount}}}\n"
        );
    }
    for (key, value) in [("hard", 60_001), ("wrong", 1), ("right", 0)] {
        text += &format!("{{\"process\": 99, \"type\": \"invoke\", \"f\": \"read\", \"key\": \"{key}\"}}\n");
        text += &format!("{{\"process\": 99, \"type\": \"ok\", \"f\": \"read\", \"value\": {value}}}\n");
    }
    let mut history = history_of(&text, &reading("counter")).expect("it is well formed");
    let elapsed = || Duration::ZERO;
    let bounds =
        Bounds { memory_bytes: 1 << 22, elapsed: &elapsed, time: Duration::from_secs(1), is_interrupted: &|| false };
    let Verdict::NotLinearizable(why) = judge(&mut history, None, &bounds).expect("it can begin so").verdict else {
        panic!("a counter that begins at 0 has been read as 1")
    };
    assert_eq!((why.key.as_deref(), &why.possible[..]), (Some("\"wrong\""), &["0".to_owned()][..]));
    let text = text.replace("\"wrong\"", "\"fine\"").replace("\"value\": 1}", "\"value\": 0}");
    let mut history = history_of(&text, &reading("counter")).expect("it is well formed");
    let verdict = judge(&mut history, None, &bounds).expect("it can begin so").verdict;
    assert!(matches!(verdict, Verdict::Undecided { bound: Bound::Memory, decided: 2 }), "{verdict:?}");
}
