//! Time, memory and interrupts in every phase of every command.
//!
//! | phase | `--time` | `--memory` | an interrupt |
//! |---|---|---|---|
//! | compilation | begins afterwards | by the limits on components | [`an_interrupt_ends_a_compilation`] |
//! | build, and the examination after it | begins afterwards | - | [`an_interrupt_ends_what_is_no_search`] |
//! | `init` | [`time_ends_the_exploration_of_one_handler`] | [`memory_ends_what_comes_before_the_search`] | [`time_and_interrupts_end_every_phase_of_a_run`] |
//! | a prefix | [`time_and_interrupts_end_the_following_of_a_prefix`] | it keeps one state | as for `--time` |
//! | one handler of the search | [`time_ends_the_exploration_of_one_handler`] | [`memory_ends_the_exploration_of_one_handler`] | [`time_and_interrupts_end_every_phase_of_a_run`] |
//! | the search | [`time_and_interrupts_end_every_phase_of_a_run`], [`walks_have_a_time_or_a_number`] | [`memory_ends_a_flood`], `peaks` | as for `--time` |
//! | ends after crashes | [`time_ends_the_search_for_ends_after_crashes`] | `peaks` | as for `--time` |
//! | confirmation, shortening, audit | [`time_and_interrupts_end_every_phase_of_a_run`] | they keep one path | as for `--time` |
//! | checkpoints | between two of them | [`memory_ends_what_comes_before_the_search`] | [`an_interrupt_ends_the_keeping_of_checkpoints`] |
//! | `replay`, `minimize`, `doctor`, `graph`, `languages` | for `graph` as for the search | for `graph` by `graphs` | [`an_interrupt_ends_what_is_no_search`] |
//! | `simulate` | between two runs | likewise | [`an_interrupt_ends_simulations`] |
//! | `test` | of each scenario: [`each_test_has_bounds_of_its_own`] | likewise | [`an_interrupt_ends_the_tests`] |
//! | `run --watch` | of each run | of each run | [`a_watched_run_ends_with_130`] |
//!
//! An interrupt is Ctrl-C or SIGTERM; `signals` tests that the program receives both.
//!
//! No test reads a real clock: the clock of these commands advances by 10 ms per poll, so each
//! call of a guest takes as long. The tests count the polls after the one that stops.

use std::sync::atomic::Ordering;

use host_sandbox::fixtures::{self, Guest, Hidden, Identity};
use serde_json::{Value, json};

use super::Place;

/// The work after a stopped search has a second, which is 100 polls; each phase also polls once more.
const LATE_MAX: u64 = 100 + 10;

/// Calls `choose(2)` 15 times: a handler with 32,768 resolutions.
const FIFTEEN_CHOICES: &str = "
    (i32.store (i32.const 1032) (i32.const 15))
    (loop $again
      (i32.store (i32.const 1036)
        (i32.add (i32.mul (i32.load (i32.const 1036)) (i32.const 2)) (call $choose (i32.const 2))))
      (i32.store (i32.const 1032) (i32.sub (i32.load (i32.const 1032)) (i32.const 1)))
      (br_if $again (i32.load (i32.const 1032))))";

/// A handler with hours of executions.
fn branching() -> Vec<u8> {
    let local = format!("{FIFTEEN_CHOICES} (call $list (i32.const 0) (i32.const 0))");
    Guest { local, ..Guest::default() }.component()
}

/// The same in `init`.
fn branching_at_start() -> Vec<u8> {
    let init = format!("{FIFTEEN_CHOICES} (call $tagged (i32.const 0) (i32.const 0) (i32.const 0))");
    Guest { init, ..Guest::default() }.component()
}

/// A place without interrupts, where polls are counted.
fn counting() -> Place {
    Place { interrupted: Some(u64::MAX), ..Place::new() }
}

fn asked(place: &Place) -> u64 {
    place.asked.load(Ordering::Relaxed)
}

/// The number of polls after the interrupt. A command that waits for a compiler or another process polls while it waits, so two
/// runs of it do not poll equally often; one that ended before the interrupt has none.
fn late(place: &Place, after: u64) -> u64 {
    asked(place).saturating_sub(after)
}

const STRATEGIES: [&str; 6] = ["bdfs", "consequence", "walk", "unfold", "lmc-opt", "dpor"];

/// The component takes seconds to compile, and the interrupt is set at the first poll of the compiler.
#[test]
fn an_interrupt_ends_a_compilation() {
    let place = Place { interrupted: Some(1), cache: None, ..Place::new() };
    place.put("slow.wasm", fixtures::slow_to_compile(100_000));
    for command in ["run", "inspect", "doctor"] {
        place.host(&[command, "slow.wasm"]).exits(130).says(&["interrupted"]);
        assert!(asked(&place) <= 3, "{command}: {} questions", asked(&place));
    }
}

#[test]
fn time_ends_the_exploration_of_one_handler() {
    let place = counting();
    place.put("step.wasm", branching()).put("init.wasm", branching_at_start());
    for guest in ["step.wasm", "init.wasm"] {
        for algo in STRATEGIES {
            let run = ["run", guest, "--nodes", "1", "--algo", algo, "--time", "2s", "--json"];
            let result = place.host(&run).exits(0).json();
            assert_eq!((&result["result"], &result["end"]), (&json!("incomplete"), &json!("time-bound")), "{run:?}");
            // 200 polls until the time is up, and those before the search began.
            assert!(asked(&place) <= 200 + LATE_MAX, "{run:?}: {} questions", asked(&place));
            place.host(&[&run[..], &["--require-complete"]].concat()).exits(152);
        }
    }
}

/// Walks continue until the time is up, unless their number is given.
#[test]
fn walks_have_a_time_or_a_number() {
    let place = counting();
    let run = |options: &[&str]| {
        let result = place.run_json("query", &[&["--algo", "walk"], options].concat());
        (result["end"].clone(), result["counts"]["walks"].as_u64().expect("walks are counted"))
    };
    assert_eq!(run(&[]), (json!("walks-done"), 1_000));
    assert_eq!(run(&["--time", "60s", "--walks", "3"]), (json!("walks-done"), 3));
    let (end, walks) = run(&["--time", "5s"]);
    // The clock advances once in a few thousand steps that execute no handler.
    assert!(end == "time-bound" && walks > 1_000, "{end} after {walks} walks");
    assert_eq!(run(&["--time", "5s", "--memory", "1TiB"]), (end, walks), "the same steps take the same time");
}

/// The cause of the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// Ctrl-C, or a signal that asks to end.
    Interrupt,
    /// `--time`.
    Time,
}

/// The number of unfinished runs, by phase: none, the search, a confirmation or minimisation, the audit.
type Unfinished = [u32; 4];

/// In each of its phases a run ends soon after a request, and claims no more than it knows.
fn ended_anywhere(ended: Ended, guest: Vec<u8>, options: &[&str]) {
    let run = [&["run", "guest.wasm", "--nodes", "2", "--json", "--workers", "1"], options].concat();
    let mut place = counting();
    place.put("guest.wasm", guest);
    let whole = place.host(&run).json();
    let all = asked(&place);
    let mut unfinished = Unfinished::default();
    for after in (0..all).step_by((all as usize / 40).max(1)) {
        let time = format!("{}ms", 10 * after.max(1));
        // Time begins with the search.
        let (words, begin) = match ended {
            Ended::Interrupt => (run.clone(), 0),
            Ended::Time => ([&run[..], &["--time", &time]].concat(), 30),
        };
        place.interrupted = Some(if ended == Ended::Interrupt { after } else { u64::MAX });
        let ran = place.host(&words);
        let what = format!("{words:?}, {ended:?} after {after} of {all}: {}", ran.err);
        let late = late(&place, after + begin);
        assert!(late <= LATE_MAX, "{late} questions too many, {what}");
        let result = ran.json();
        if ended == Ended::Interrupt && (ran.code, &result["result"]) == (130, &json!("error")) {
            unfinished[0] += 1;
            continue;
        }
        assert_eq!(result["exit_code"], ran.code, "{what}");
        says_no_more(ended, (&result, &whole), &mut unfinished, &what);
    }
    let needed: &[usize] = match (ended, whole["violations"] == json!([])) {
        // The phases after a search have a moment of their own, which is long enough here.
        (Ended::Time, _) => &[1],
        (Ended::Interrupt, true) => &[1, 3],
        (Ended::Interrupt, false) => &[1, 2, 3],
    };
    for phase in needed {
        assert!(unfinished[*phase] > 0, "{run:?}: no {ended:?} in phase {phase}: {unfinished:?} of {all}");
    }
}

/// A run ended on request claims no more than it knows, and loses nothing, compared with the whole run.
fn says_no_more(ended: Ended, (result, whole): (&Value, &Value), unfinished: &mut Unfinished, what: &str) {
    let found = |result: &Value| result["violations"].as_array().expect("a list").len();
    if result["end"] != whole["end"] {
        let end = if ended == Ended::Interrupt { "interrupted" } else { "time-bound" };
        assert_eq!(result["end"], end, "{what}");
        assert_ne!(result["result"], "ok", "{what}");
        unfinished[1] += 1;
    } else {
        // A run that has ended its search reports its findings, confirmed or not.
        assert_eq!((found(result), &result["result"]), (found(whole), &whole["result"]), "{what}");
    }
    for violation in result["violations"].as_array().expect("a list") {
        let is_confirmed = violation["confirmed"] == true;
        let title = violation["unfinished"].as_str().unwrap_or_default();
        assert_eq!(!is_confirmed, title.starts_with("not run again"), "{what}: {violation}");
        unfinished[2] += u32::from(!title.is_empty());
    }
    unfinished[3] += u32::from(result["audit"]["finished"] == false);
}

#[test]
fn time_and_interrupts_end_every_phase_of_a_run() {
    let all = &["auto", "bdfs", "consequence", "unfold", "lmc-opt", "dpor"][..];
    for (ended, strategies) in [(Ended::Interrupt, all), (Ended::Time, &["auto", "lmc-opt"])] {
        for algo in strategies {
            ended_anywhere(ended, fixtures::ping_pong_too_far(), &["--algo", algo]);
            ended_anywhere(ended, fixtures::ping_pong(), &["--algo", algo, "--audit", "full"]);
        }
    }
}

#[test]
fn an_interrupt_ends_what_is_no_search() {
    let mut place = counting();
    place.put("guest.wasm", fixtures::ping_pong_too_far());
    place.put("hides.wasm", fixtures::hides(Hidden::Data, Identity::Serialized));
    place.host(&["run", "guest.wasm", "--nodes", "2", "--no-minimize", "--out", "found"]).exits(12);
    // Made by a command that has no effect.
    for name in ["made", "other"] {
        std::fs::create_dir(place.path(name)).expect("writable");
        place.put(&format!("{name}/guest.wasm"), fixtures::ping_pong_too_far());
        place.put(&format!("{name}/host.toml"), "[build]\ncommand = \"true\"\noutput = \"guest.wasm\"\n");
    }
    let commands: [(&[&str], u64); 7] = [
        (&["replay", "found/trace.json", "--plugin", "guest.wasm"], 10),
        (&["minimize", "found/trace.json", "--plugin", "guest.wasm", "--out", "short.json"], 10),
        (&["doctor", "guest.wasm", "--nodes", "2", "--steps", "50"], 10),
        (&["doctor", "hides.wasm", "--why-different"], 10),
        // The built component is examined.
        (&["build", "made", "--quiet"], 10),
        (&["graph", "guest.wasm", "--quiet", "--", "--nodes", "2"], 10),
        // Examinations and searches; a search has its moment for its findings.
        (&["languages", "made", "other", "--quiet"], LATE_MAX),
    ];
    for (command, late_max) in commands {
        place.interrupted = Some(u64::MAX);
        let code = place.host(command).code;
        let all = asked(&place).min(60);
        assert!(all >= 6, "{command:?} asks {all} times");
        let mut stopped = 0;
        for after in 0..all {
            place.interrupted = Some(after);
            let ran = place.host(command);
            let late = late(&place, after);
            assert!(late <= late_max, "{command:?}: {late} questions after the interrupt");
            assert!(asked(&place) > after || ran.code == code, "{command:?} was not interrupted: {ran:?}");
            // The last polls are for descriptions, which are left out.
            if ran.code != code {
                assert_eq!(ran.code, 130, "{command:?}, interrupted after {after} of {all}: {ran:?}");
                assert!(ran.err.starts_with("error: stopped before there was a result: interrupted"), "{ran:?}");
                stopped += 1;
            }
        }
        assert!(stopped > all / 2, "{command:?}: {stopped} of {all}");
    }
}

/// A simulation that a signal ends has its exit code, whatever was over by then: each of 40 runs asks, and the interrupt comes before the
/// last ones.
#[test]
fn an_interrupt_ends_simulations() {
    let mut place = counting();
    place.put("guest.wasm", fixtures::ping_pong());
    for nodes in ["--runtime", "--model"] {
        let words = ["simulate", "guest.wasm", "--runs", "40", nodes, "--json", "--", "--nodes", "2"];
        // A compilation asks as long as it takes, so it comes before a command whose questions are counted.
        place.interrupted = Some(u64::MAX);
        place.host(&words).exits(0);
        assert_eq!(place.host(&words).exits(0).json()["runs"], 40, "{nodes}");
        place.interrupted = Some(asked(&place) - 20);
        let stopped = place.host(&words).exits(130);
        assert!(stopped.err.contains("interrupted"), "{nodes}: {stopped:?}");
    }
}

/// The report lists the tests that were run, and those that were not.
#[test]
fn an_interrupt_ends_the_tests() {
    let mut place = counting();
    place.put("guest.wasm", fixtures::ping_pong());
    for name in ["a", "b", "c"] {
        let scenario = "plugin = \"guest.wasm\"\nnodes = 2\n[strategy]\nalgo = \"bdfs\"\n";
        place.put(&format!("{name}.scenario.toml"), scenario);
    }
    let test = ["test", "."];
    assert!(place.host(&test).exits(0).out.contains("3 passed, 0 failed in"));
    let all = asked(&place);
    let mut partly = 0;
    for after in (0..all).step_by((all as usize / 60).max(1)) {
        place.interrupted = Some(after);
        let ran = place.host(&test).exits(1);
        let late = late(&place, after);
        assert!(late <= LATE_MAX, "{late} questions after the interrupt at {after} of {all}");
        let passed = ran.out.matches("\nok  ").count();
        let expected = format!("\n{passed} passed, 0 failed, {} not run in", 3 - passed);
        assert!(ran.out.contains(&expected), "no {expected:?} in {ran:?}");
        partly += u64::from(passed > 0);
    }
    assert!(partly > 0, "no test was over before the interrupt");
}

/// The tests share what the first of them loaded, and no bound that ends one.
#[test]
fn each_test_has_bounds_of_its_own() {
    let place = counting();
    place.put("guest.wasm", fixtures::ping_pong());
    let tests = [
        ("time = \"10ms\"", "time-bound"),
        ("", "space-exhausted"),
        ("memory = \"1KiB\"", "memory-bound"),
        ("", "space-exhausted"),
        ("time = \"20ms\"", "time-bound"),
    ];
    for (index, (bound, end)) in tests.iter().enumerate() {
        let expect = format!("[bounds]\n{bound}\n[expect]\nend = \"{end}\"\n");
        let scenario = format!("plugin = \"guest.wasm\"\nnodes = 2\n[strategy]\nalgo = \"bdfs\"\n{expect}");
        place.put(&format!("{index}.scenario.toml"), scenario);
    }
    let out = place.host(&["test", "."]).exits(0).out;
    assert!(out.contains("5 passed, 0 failed in"), "{out}");
}

/// Counts its `go` events.
fn counts() -> Vec<u8> {
    let local = "
        (i32.store (i32.const 1040) (i32.add (i32.load (i32.const 1040)) (i32.const 1)))
        (call $list (i32.const 0) (i32.const 0))";
    Guest { local: local.into(), ..Guest::default() }.component()
}

/// A prefix is followed event by event, and each polls.
#[test]
fn time_and_interrupts_end_the_following_of_a_prefix() {
    const STEPS: u64 = 300;
    let mut place = counting();
    place.put("guest.wasm", counts());
    let go = json!({ "node": 0, "event": { "kind": "local", "name": "go", "cause": "internal", "payload": "" } });
    let prefix = json!({
        "trace_version": 1,
        "plugin": { "name": "guest" },
        "scenario": { "nodes": 2, "parameters": {}, "network": "unordered" },
        "steps": vec![go; STEPS as usize],
    });
    place.put("p.json", prefix.to_string());
    let run = ["run", "guest.wasm", "--prefix", "p.json", "--any-plugin", "--algo", "bdfs", "--depth", "2", "--json"];
    assert_eq!(place.host(&run).exits(0).json()["end"], "depth-bound");
    let all = asked(&place);
    assert!(all > STEPS, "{all} questions");
    for after in (30..STEPS).step_by(27) {
        place.interrupted = Some(after);
        let result = place.host(&run).exits(130).json();
        assert_eq!((&result["result"], &result["end"]), (&json!("incomplete"), &json!("interrupted")));
        assert_eq!(result["counts"]["global_states"], Value::Null, "it has not begun at {after}");
        assert!(late(&place, after) <= LATE_MAX, "{} questions, interrupted after {after}", asked(&place));
    }
    place.interrupted = Some(u64::MAX);
    for questions in [10, 100, STEPS - 50] {
        let time = format!("{}ms", 10 * questions);
        let result = place.host(&[&run[..], &["--time", &time]].concat()).exits(0).json();
        assert_eq!((&result["result"], &result["end"]), (&json!("incomplete"), &json!("time-bound")));
        // The polls before the search began, those in time, and those of the moment afterwards.
        assert!(asked(&place) <= 30 + questions + LATE_MAX, "{} questions in {time}", asked(&place));
    }
}

/// With a checkpoint after each wave a run ends as soon, and each of its checkpoints leads to the same end; so does one that is
/// kept while the checkpoint is read.
#[test]
fn an_interrupt_ends_the_keeping_of_checkpoints() {
    let mut place = counting();
    place.put("guest.wasm", fixtures::ping_pong());
    let run = ["run", "guest.wasm", "--nodes", "2", "--algo", "bdfs", "--json", "--workers", "1", "--audit", "off"];
    let whole = place.host(&run).exits(0).json();
    let kept = [&run[..], &["--checkpoint", "kept", "--every", "0.001ms"]].concat();
    let resume = ["run", "--resume", "kept", "--json", "--every", "0.001ms", "--audit", "off"];
    place.host(&kept).exits(0);
    let all = asked(&place);
    let mut resumed = 0;
    for after in 0..all {
        let _ = std::fs::remove_dir_all(place.path("kept"));
        for command in [&kept[..], &resume[..], &resume[..]] {
            place.interrupted = Some(after);
            let ran = place.host(command);
            let late = late(&place, after);
            assert!(late <= LATE_MAX, "{late} questions after the interrupt at {after} of {all}");
            assert!([0, 130].contains(&ran.code), "{command:?} at {after} of {all}: {ran:?}");
            assert!(!ran.err.contains("could not be written"), "{ran:?}");
            if !place.path("kept/checkpoint").exists() {
                break;
            }
            assert_eq!(std::fs::read_dir(place.path("kept")).expect("readable").count(), 1, "nothing else is left");
            let checkpoint = std::fs::read(place.path("kept/checkpoint")).expect("it is there");
            place.interrupted = None;
            let last = place.host(&resume).exits(0).json();
            for what in ["result", "end", "counts", "depth"] {
                assert_eq!(last[what], whole[what], "stopped at {after} of {all}: {what}");
            }
            place.put("kept/checkpoint", checkpoint);
            resumed += 1;
        }
    }
    assert!(resumed > all / 4, "{resumed} of {all}");
}

/// If two of the nodes may have crashed, one execution of some hundred events has tens of thousands of ends.
#[test]
fn time_ends_the_search_for_ends_after_crashes() {
    let place = counting();
    place.put("guest.wasm", counts());
    for algo in ["dpor", "dpor-ds", "dpor-ds-tree"] {
        let run =
            ["run", "guest.wasm", "--nodes", "3", "--algo", algo, "--depth", "200", "--deadlock", "--crashes", "2"];
        let result = place.host(&[&run[..], &["--time", "40s", "--json"]].concat()).exits(0).json();
        assert_eq!((&result["result"], &result["end"]), (&json!("incomplete"), &json!("time-bound")), "{run:?}");
        assert_eq!(result["counts"]["executions"], 1, "{run:?}: it was to be stopped among the ends of the first one");
        assert!(asked(&place) <= 4_000 + LATE_MAX, "{run:?}: {} questions", asked(&place));
    }
}

/// The bound is checked between the resolutions of one handler.
#[test]
fn memory_ends_the_exploration_of_one_handler() {
    let place = counting();
    place.put("step.wasm", branching());
    for algo in ["bdfs", "unfold", "lmc-opt"] {
        // The process has more than that already.
        let run = ["run", "step.wasm", "--nodes", "1", "--algo", algo, "--memory", "1MiB", "--json"];
        let result = place.host(&run).exits(0).json();
        assert_eq!((&result["result"], &result["end"]), (&json!("incomplete"), &json!("memory-bound")), "{run:?}");
        // With this clock, each poll measures the process.
        assert!(asked(&place) <= LATE_MAX, "{run:?}: {} questions", asked(&place));
    }
}

/// The bound on memory also stops a flood of the host, whether or not it would end.
#[test]
fn memory_ends_a_flood() {
    let place = counting();
    for (name, guest) in [
        ("events.wasm", fixtures::many_events(4096)),
        ("growing.wasm", fixtures::growing()),
        ("floods.wasm", fixtures::floods(4096, 1000)),
        ("branches.wasm", fixtures::branches(4096)),
    ] {
        place.put(name, guest);
        let run = ["run", name, "--nodes", "2", "--algo", "bdfs", "--memory", "1MiB", "--json"];
        let result = place.host(&run).exits(0).json();
        assert_eq!(result["end"], "memory-bound", "{run:?}");
    }
}

/// The bound on memory is checked in each phase before the search, too.
#[test]
fn memory_ends_what_comes_before_the_search() {
    let place = counting();
    place.put("init.wasm", branching_at_start()).put("step.wasm", counts());
    for (guest, options) in [("init.wasm", &["--workers", "1"][..]), ("step.wasm", &["--checkpoint", "kept"])] {
        let run = [&["run", guest, "--nodes", "1", "--algo", "bdfs", "--memory", "1MiB", "--json"], options].concat();
        let result = place.host(&run).exits(0).json();
        assert_eq!((&result["result"], &result["end"]), (&json!("incomplete"), &json!("memory-bound")), "{run:?}");
        assert!(asked(&place) <= LATE_MAX, "{run:?}: {} questions", asked(&place));
    }
}

/// A watched run ends when the user stops it, with any result, and at once if it cannot begin.
#[test]
fn a_watched_run_ends_with_130() {
    let place = Place { interrupted: Some(11), ..Place::new() };
    place.put("guest.wasm", fixtures::ping_pong());
    let ran = place.host(&["run", "guest.wasm", "--nodes", "2", "--watch"]).exits(130);
    assert!(!ran.err.contains("watch: waiting"), "{ran:?}");
    let refused = place.host(&["run", "guest.wasm", "--watch", "--algo", "walk", "--reduce"]).exits(151);
    assert!(!refused.err.contains("watch:"), "{refused:?}");
}
