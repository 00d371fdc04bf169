//! The search against the reference, on random histories of each model.
//!
//! The verdict, the operation that nothing explains and the values that are possible there are those of the reference; an
//! order that the search finds is executed.

use std::collections::BTreeMap;
use std::fmt::Write;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use super::reference::{Call, End, Judged, Object, Output, judge};
use super::{history_of, judged, reading};
use crate::{MODELS, Verdict};

/// The number of histories of each model, unless `HOST_FUZZ_HISTORIES` says another one.
const HISTORIES: u64 = 4_000;

fn histories() -> u64 {
    std::env::var("HOST_FUZZ_HISTORIES").ok().map_or(HISTORIES, |text| text.parse().expect("a number of histories"))
}

struct Random(ChaCha8Rng);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A random history: its calls, and its lines.
fn random(model: &str, seed: u64) -> (Vec<Call>, String) {
    let mut random = Random(ChaCha8Rng::seed_from_u64(seed));
    let (processes, length) = (2 + random.below(3), 3 + random.below(5));
    let values = 2 + random.below(2) as i64;
    let keys: &[&str] = if random.below(3) == 0 { &["x", "y"] } else { &["x"] };
    let keys = if ["kv", "register", "queue"].contains(&model) { keys } else { &["x"] };
    // Few open calls in some histories, many in others.
    let open = random.below(4);
    let mut objects: BTreeMap<&str, Object> = keys.iter().map(|key| (*key, Object::start(model))).collect();
    let (mut calls, mut text): (Vec<Call>, String) = (Vec::new(), String::new());
    let mut running: BTreeMap<u64, usize> = BTreeMap::new();
    let mut names: Vec<u32> = (0..processes as u32).collect();
    let mut event = 0;
    for _ in 0..4 * length {
        let process = random.below(processes);
        if let Some(index) = running.remove(&process) {
            let end = end(&mut random, &mut objects, &calls[index], values, open);
            let call = &mut calls[index];
            (call.end, call.returned) = (end, event);
            line(&mut text, model, call, true);
            if call.end == End::Info && random.below(2) == 0 {
                names[process as usize] += 10;
            }
        } else if calls.len() < length as usize {
            let call =
                called(&mut random, model, names[process as usize], random_key(event, keys, seed), values, event);
            line(&mut text, model, &call, false);
            running.insert(process, calls.len());
            calls.push(call);
        } else {
            continue;
        }
        event += 1;
    }
    (calls, text)
}

fn random_key(event: usize, keys: &[&'static str], seed: u64) -> &'static str {
    keys[(event as u64 * 7 + seed) as usize % keys.len()]
}

fn called(random: &mut Random, model: &str, process: u32, key: &'static str, values: i64, event: usize) -> Call {
    let changes_only_grow = random.below(2) == 0;
    let function = random.pick(match model {
        "register" => &["read", "read", "write"][..],
        "cas-register" => &["read", "write", "cas", "cas"],
        "kv" => &["read", "read", "write", "append", "append", "delete", "cas"],
        "queue" => &["enqueue", "dequeue"],
        "counter" => &["add", "add", "read"],
        "set" if changes_only_grow => &["add", "read"],
        "set" => &["add", "remove", "contains", "read"],
        _ => &["acquire", "release"],
    });
    let mut value = || random.below(values as u64) as i64 - i64::from(model == "counter");
    let arguments = match function {
        "cas" => vec![value(), value()],
        "read" | "dequeue" | "delete" | "acquire" | "release" => Vec::new(),
        _ => vec![value()],
    };
    Call { process, key, function, arguments, end: End::Never, called: event, returned: usize::MAX }
}

/// The end of a call: mostly that of an object on which each call takes effect when it ends, so that many histories are
/// linearizable; sometimes a random result.
fn end(random: &mut Random, objects: &mut BTreeMap<&str, Object>, call: &Call, values: i64, open: u64) -> End {
    let object = objects.get_mut(call.key).expect("each key has an object");
    if random.below(8) < open {
        // It has happened, or not.
        if random.below(2) == 0
            && let Some((next, _)) = object.after(call)
        {
            *object = next;
        }
        return End::Info;
    }
    if call.function == "cas" && random.below(4) == 0 {
        return End::Ok(Output::Bool(false));
    }
    let Some((next, output)) = object.after(call) else {
        return if random.below(6) == 0 { End::Ok(Output::Nothing) } else { End::Fail };
    };
    if random.below(8) != 0 {
        *object = next;
    }
    let other = random.below(values as u64) as i64;
    match output {
        Output::Nothing => End::Ok(Output::Nothing),
        _ if random.below(16) == 0 => End::Ok(Output::Unknown),
        Output::Number(_) | Output::Nil if random.below(5) == 0 => End::Ok(Output::Number(other)),
        Output::Bool(has) => End::Ok(Output::Bool(has ^ (random.below(6) == 0))),
        Output::List(mut list) => {
            match random.below(8) {
                0 => list.retain(|element| *element != other),
                1 if !list.contains(&other) => list.push(other),
                _ => {}
            }
            list.sort_unstable_by_key(|element| if matches!(object, Object::Set(_)) { *element } else { 0 });
            End::Ok(Output::List(list))
        }
        output => End::Ok(output),
    }
}

fn line(text: &mut String, model: &str, call: &Call, is_end: bool) {
    let kind = match (&call.end, is_end) {
        (_, false) => "invoke",
        (End::Ok(_), true) => "ok",
        (End::Fail, true) => "fail",
        (End::Info | End::Never, true) => "info",
    };
    let key = if model == "kv" || call.key == "y" { format!(r#", "key": "{}""#, call.key) } else { String::new() };
    let argument = match &call.arguments[..] {
        [] => String::new(),
        [value] => format!(r#", "value": {value}"#),
        all => format!(r#", "value": {all:?}"#),
    };
    let result = match (&call.end, is_end) {
        (End::Ok(Output::Nil), true) => r#", "result": null"#.to_owned(),
        (End::Ok(Output::Bool(has)), true) => format!(r#", "result": {has}"#),
        (End::Ok(Output::Number(value)), true) => format!(r#", "result": {value}"#),
        (End::Ok(Output::List(all)), true) => format!(r#", "result": {all:?}"#),
        _ => String::new(),
    };
    let Call { process, function, .. } = call;
    writeln!(text, r#"{{"process": {process}, "type": "{kind}", "f": "{function}"{key}{argument}{result}}}"#)
        .expect("a string takes every line");
}

/// The number of histories of a model with each verdict.
#[derive(Debug, Default)]
struct Counts {
    linearizable: u64,
    others: u64,
    possible: u64,
}

fn compare(model: &str, seed: u64, counts: &mut Counts) {
    let (calls, text) = random(model, seed);
    if calls.iter().all(|call| call.end == End::Fail) {
        return;
    }
    let mut history =
        history_of(&text, &reading(model)).unwrap_or_else(|error| panic!("{model} {seed}: {error}\n{text}"));
    let judgement = judged(&mut history, None);
    let by_key = |key: &str| calls.iter().filter(|call| call.key == key).cloned().collect::<Vec<_>>();
    let expected = ["x", "y"].map(|key| (key, judge(model, &by_key(key))));
    match judgement.verdict {
        Verdict::Linearizable => {
            counts.linearizable += 1;
            for (key, judged) in expected {
                assert_eq!(judged, Judged::Linearizable, "{model} {seed}: {key} is not\n{text}");
            }
            execute(model, &calls, &text, seed);
        }
        Verdict::NotLinearizable(why) => {
            counts.others += 1;
            let line = why.blocked.return_line.expect("it has returned") as usize;
            let key = calls.iter().find(|call| call.returned == line - 1).expect("each line is an event").key;
            let (_, judged) = expected.into_iter().find(|(other, _)| *other == key).expect("it is a key");
            let Judged::Not { returned, possible } = judged else { panic!("{model} {seed}: it is\n{text}\n{why:?}") };
            assert_eq!(line, returned + 1, "{model} {seed}\n{text}\n{why:?}");
            let possible: Vec<String> =
                possible.iter().map(Object::shown).collect::<std::collections::BTreeSet<_>>().into_iter().collect();
            match why.has_more {
                true => assert!(
                    possible.len() > 12 && why.possible.iter().all(|shown| possible.contains(shown)),
                    "{model} {seed}"
                ),
                false => assert_eq!(why.possible, possible, "{model} {seed}: the values before line {line}\n{text}"),
            }
            counts.possible += u64::from(possible.len() > 1);
        }
        Verdict::Undecided { .. } => panic!("{model} {seed}: the bounds are wide"),
    }
}

/// Executes the orders that the search finds, which must explain each result and keep the order in time.
fn execute(model: &str, calls: &[Call], text: &str, seed: u64) {
    let mut history = history_of(text, &reading(model)).expect("it was read before");
    for order in crate::judge::orders(&mut history, None) {
        let order = order.expect("it is linearizable");
        // The line of a call is its event.
        let call_of = |number: u32| {
            let line = history.operations[number as usize].call_line as usize;
            calls.iter().find(|call| call.called == line - 1).expect("each line is an event")
        };
        let order: Vec<&Call> = order.into_iter().map(call_of).collect();
        let mut object = Object::start(model);
        for (index, call) in order.iter().enumerate() {
            object = object.explains(call).unwrap_or_else(|| panic!("{model} {seed}: {call:?} in {order:?}\n{text}"));
            let is_late = |later: &&Call| matches!(later.end, End::Ok(_)) && later.returned < call.called;
            assert!(!order[index + 1..].iter().any(is_late), "{model} {seed}: {order:?}\n{text}");
        }
        let key = order.first().map(|call| call.key);
        let must = |call: &&Call| {
            matches!(&call.end, End::Ok(output) if *output != Output::Unknown || call.function == "dequeue")
                && Some(call.key) == key
        };
        for call in calls.iter().filter(must) {
            assert!(order.iter().any(|other| other.called == call.called), "{model} {seed}: without {call:?}\n{text}");
        }
    }
}

#[test]
fn small_histories_have_the_verdict_the_operation_and_the_values_of_the_reference() {
    for model in MODELS {
        let mut counts = Counts::default();
        for seed in 0..histories() {
            compare(model.name, seed, &mut counts);
        }
        println_counts(model.name, &counts);
        let enough = histories() / 20;
        assert!(counts.linearizable > enough && counts.others > enough, "{}: {counts:?}", model.name);
    }
}

#[expect(clippy::print_stdout, reason = "the counts of a long run are its result")]
fn println_counts(model: &str, counts: &Counts) {
    println!("{model}: {counts:?}");
}
