//! A trace in the build that it was recorded with, in other ones and in another plugin: the behaviour of every command that takes a trace.
//!
//! Another build in the trace has another digest, and if a mistake is mended, other parameters, with which the plugin behaves otherwise.

use serde_json::{Value, json};

use super::{Place, Ran, bundled, folder};

/// The relation of a trace to the plugin that it is used with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Build {
    /// The same build.
    Same,
    /// Another build with the same violation.
    Other,
    /// Another build without a violation.
    Mended,
    /// Another plugin with the same violation.
    OtherName,
    /// The same, with the user's consent.
    AnyPlugin,
}

use Build::{AnyPlugin, Mended, Other, OtherName, Same};

/// A trace and a mended cluster.
struct Case {
    name: &'static str,
    plugin: &'static str,
    options: &'static [&'static str],
    mended: Value,
    /// The number of events at the end that the mended cluster does not need.
    popped: usize,
    /// The exit code of the violation.
    code: u8,
    gone: &'static str,
}

/// A violation of safety, and one promise of each class.
fn cases() -> [Case; 4] {
    let of_lock = |name, options, mended| Case {
        name,
        plugin: "lock",
        options,
        mended,
        popped: 0,
        code: 13,
        gone: "gone: served is kept whatever follows step",
    };
    [
        Case {
            name: "safety",
            plugin: "paxos",
            options: &["--set", "bug=last-response"],
            mended: Value::Null,
            popped: 1,
            code: 12,
            gone: "gone: the same events happen, and no property is violated at the end",
        },
        of_lock("dead", &["--algo", "bdfs"], json!({ "locked": "queue" })),
        of_lock(
            "lasso",
            &["--algo", "bdfs", "--set", "locked=deny", "--set", "retry=timer", "--nodes", "3"],
            json!({ "locked": "queue" }),
        ),
        of_lock(
            "stuck",
            &["--algo", "bdfs", "--set", "locked=queue", "--set", "release=application", "--nodes", "3"],
            json!({ "locked": "queue" }),
        ),
    ]
}

/// The trace of a case as that of such a build.
fn of_build(place: &Place, case: &Case, build: Build) {
    let text = std::fs::read_to_string(place.path(&format!("{}/trace.json", case.name))).expect("it was written");
    let mut trace: Value = serde_json::from_str(&text).expect("JSON");
    if build != Same {
        trace["plugin"]["digest"] = json!("blake3:00");
    }
    if matches!(build, OtherName | AnyPlugin) {
        trace["plugin"]["name"] = json!("another");
    }
    if build == Mended {
        if !case.mended.is_null() {
            trace["scenario"]["parameters"] = case.mended.clone();
        }
        let steps = trace["steps"].as_array_mut().expect("a list");
        steps.truncate(steps.len() - case.popped);
    }
    place.put("t.json", trace.to_string());
}

/// The exit code of each command, and words of its output.
fn expected(command: &str, build: Build, case: &Case) -> (u8, &'static str) {
    let says = |code, words| (code, words);
    match (build, command) {
        (OtherName, "test") => says(1, "belongs to the plugin another"),
        (OtherName, _) => says(151, "belongs to the plugin another"),
        // A test takes no option for that: a trace in its place belongs to its plugin.
        (AnyPlugin, "test") => says(1, "belongs to the plugin another"),
        (Mended, "replay") => says(0, case.gone),
        (Mended, "draw" | "debug" | "export") => says(0, case.gone),
        (Mended, "minimize") => says(151, case.gone),
        (Mended, "test") => says(1, "expect = \"gone\""),
        (Same, "replay") => says(case.code, "replayed: "),
        (_, "replay") => says(case.code, "still violated: "),
        (_, "test") => says(0, "1 passed, 0 failed"),
        (_, _) => says(0, ""),
    }
}

/// Runs a command with the trace.
fn run(place: &Place, command: &str, plugin: &str, any: bool) -> Ran {
    let mut words = vec![command, "t.json", "--plugin", plugin];
    if any && command != "test" {
        words.push("--any-plugin");
    }
    match command {
        "draw" => words.extend(["--out", "d.svg"]),
        "minimize" => words.extend(["--out", "short.json"]),
        "export" => words.extend(["--format", "json", "--out", "e.json"]),
        _ => {}
    }
    place.host_reading(&words, if command == "debug" { "quit\n" } else { "" })
}

#[test]
fn every_command_follows_a_trace_of_another_build() {
    let place = Place::new();
    for case in cases() {
        let plugin = bundled(case.plugin);
        let search = [&["run", plugin, "--out", case.name], case.options].concat();
        place.host(&search).exits(case.code);
        for build in [Same, Other, Mended, OtherName, AnyPlugin] {
            of_build(&place, &case, build);
            for command in ["replay", "draw", "debug", "minimize", "export", "test"] {
                let what = format!("{command} of {} in {build:?}", case.name);
                let ran = run(&place, command, plugin, build == AnyPlugin);
                let (code, words) = expected(command, build, &case);
                assert_eq!(ran.code, code, "{what}: {ran:?}");
                assert!(format!("{}{}", ran.out, ran.err).contains(words), "{what}: no {words:?} in {ran:?}");
                // The written trace is one of this build, and replays as one.
                let written = match command {
                    "minimize" => "short.json",
                    "export" => "e.json",
                    _ => continue,
                };
                if code == 0 && build != Same {
                    let replayed = place.host(&["replay", written, "--plugin", plugin]);
                    let shows = if build == Mended { 0 } else { case.code };
                    assert_eq!(replayed.code, shows, "{what}: {replayed:?}");
                    assert!(replayed.out.contains("replayed: "), "{what}: {replayed:?}");
                }
            }
        }
    }
}

/// As a test: the mistake is there, so that the trace passes; it is mended, and a file says so; and it comes back.
#[test]
fn a_broken_promise_is_a_regression_test() {
    let place = Place::new();
    std::fs::create_dir(place.path("scenarios")).expect("writable");
    for case in &cases()[1..] {
        let plugin = bundled(case.plugin);
        place.host(&[&["run", plugin, "--out", case.name], case.options].concat()).exits(13);
        let test = ["test", "scenarios", "--plugin", plugin];
        let is_met = |build, expect: &str| {
            of_build(&place, case, build);
            std::fs::copy(place.path("t.json"), place.path("scenarios/t.json")).expect("writable");
            place.put("scenarios/t.toml", format!("trace = \"t.json\"\nexpect = \"{expect}\"\n"));
            let ran = place.host(&test);
            assert!(ran.out.contains("running 1 test\n"), "{ran:?}");
            ran.code == 0
        };
        for (expect, met) in
            [("violated", [true, true, false]), ("gone", [false, false, true]), ("impossible", [false, false, true])]
        {
            let now = [Same, Other, Mended].map(|build| is_met(build, expect));
            assert_eq!(now, met, "{} {expect}", case.name);
        }
    }
}

/// A search that is cut off decides no promise, neither as kept nor as broken.
#[test]
fn a_promise_that_is_not_decided_is_neither_kept_nor_broken() {
    let place = Place::new();
    let lock = bundled("lock");
    let case = &cases()[2];
    place.host(&[&["run", lock, "--out", case.name], case.options].concat()).exits(13);
    of_build(&place, case, Mended);
    let mut place = place;
    place.interrupted = Some(u64::MAX);
    place.host(&["replay", "t.json", "--plugin", lock]).exits(0);
    let asked = place.asked.load(std::sync::atomic::Ordering::Relaxed);
    place.interrupted = Some(asked / 2);
    place.host(&["replay", "t.json", "--plugin", lock]).exits(130).says(&["interrupted"]);
    let test = place.host(&["test", "t.json", "--plugin", lock]);
    assert!(test.code == 1 && test.out.contains("0 passed, 0 failed, 1 not run"), "{test:?}");
}

/// The user's limits apply to the examination of a built component, and to the compilation of an interpreter.
#[test]
fn a_build_takes_limits() {
    let place = Place::new();
    let text = folder("register-text");
    let build = ["build", text.to_str().expect("the path of this repository is text"), "--quiet"];
    place.host(&build).exits(0);
    let small = place.host(&[&build[..], &["--limit", "component=100"]].concat()).exits(150);
    assert!(small.err.contains("`--limit component=N` allows more"), "{small:?}");
    place.host(&[&build[..], &["--limit", "compile-time=0"]].concat()).exits(2);
    let small = place.host(&["doctor", build[1], "--quiet", "--limit", "component=100"]).exits(150);
    assert!(small.err.contains("`--limit component=N` allows more"), "{small:?}");
}
