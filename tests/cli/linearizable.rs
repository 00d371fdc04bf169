//! `host linearizable`: verdicts, explanations, exit codes, wrong histories.
//!
//! The search itself is compared with a reference in `host/linearizable`.

use super::Place;

/// Two calls of one process, as JSON lines.
fn lines(events: &[(u32, &str, &str, &str)]) -> String {
    let line = |(process, kind, function, value): &(u32, &str, &str, &str)| {
        format!("{{\"process\": {process}, \"type\": \"{kind}\", \"f\": \"{function}\", \"value\": {value}}}\n")
    };
    events.iter().map(line).collect()
}

fn right() -> String {
    lines(&[
        (0, "invoke", "write", "7"),
        (1, "invoke", "read", "null"),
        (1, "ok", "read", "7"),
        (0, "info", "write", "7"),
    ])
}

fn wrong() -> String {
    right() + &lines(&[(1, "invoke", "read", "null"), (1, "ok", "read", "8")])
}

/// Sums that no choice of the calls makes: undecided for a while.
fn hard() -> String {
    let adds: Vec<String> = (0..60).map(|process| (2 * (1_000 + process)).to_string()).collect();
    let mut events: Vec<(u32, &str, &str, &str)> =
        adds.iter().enumerate().map(|(process, amount)| (process as u32, "invoke", "add", amount.as_str())).collect();
    events.extend([(99, "invoke", "read", "null"), (99, "ok", "read", "60001")]);
    lines(&events)
}

#[test]
fn a_history_is_judged_and_explained() {
    let place = Place::new();
    place.put("right.ndjson", right()).put("wrong.ndjson", wrong());
    let ran = place.host(&["linearizable", "right.ndjson", "--model", "register"]).exits(0);
    assert!(ran.out.starts_with("right.ndjson: linearizable\n"), "{ran:?}");
    let ran = place.host(&["linearizable", "right.ndjson", "wrong.ndjson", "--model", "register"]).exits(12);
    let expected = [
        "wrong.ndjson: not-linearizable",
        "no order explains   process 1: read -> 8, lines 5 to 6",
        "possible before it  7",
        "1 operation returned before it and can be in this order:",
        "process 0: write 7 (open), line 1",
        "process 1: read -> 7, lines 2 to 3",
    ];
    for part in expected {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    let json = place.host(&["linearizable", "wrong.ndjson", "--model", "register", "--json"]).exits(12).json();
    let history = &json["histories"][0];
    assert_eq!((json["exit_code"].as_u64(), history["result"].as_str()), (Some(12), Some("not-linearizable")));
    let explanation = &history["explanation"];
    assert_eq!(explanation["operation"]["return_line"], 6);
    assert_eq!(explanation["possible"], serde_json::json!(["7"]));
    assert_eq!(
        (explanation["possible_complete"].as_bool(), explanation["returned_before"].as_u64()),
        (Some(true), Some(1))
    );
    // A history from a pipe, in the format of Jepsen, with another value at the start.
    let edn = "{:process 0, :type :invoke, :f :read, :value nil}\n{:process 0, :type :ok, :f :read, :value 3}\n";
    let words = ["linearizable", "-", "--model", "cas-register"];
    assert!(place.host_reading(&words, edn).exits(12).out.starts_with("-: not-linearizable\n"));
    place.host_reading(&[&words[..], &["--initial", "3", "--format", "jepsen"]].concat(), edn).exits(0);
}

#[test]
fn a_bound_leaves_a_history_undecided_and_says_so() {
    let place = Place::new();
    place
        .put("hard.ndjson", hard())
        .put("right.ndjson", lines(&[(0, "invoke", "read", "null"), (0, "ok", "read", "0")]));
    let words = ["linearizable", "right.ndjson", "hard.ndjson", "--model", "counter", "--memory", "8MiB"];
    let ran = place.host(&words).exits(130);
    assert!(ran.out.contains("right.ndjson: linearizable\n"), "{}", ran.out);
    assert!(
        ran.out.contains("hard.ndjson: undecided: the bound of 8.0 MiB on memory was hit; a larger --memory"),
        "{}",
        ran.out
    );
    let json = place.host(&[&words[..], &["--json"]].concat()).exits(130).json();
    assert_eq!(json["histories"][1]["bound"], "memory");
    // Already while it is read.
    let long = lines(&[(0, "invoke", "add", "1"), (0, "ok", "add", "1")]).repeat(2_000);
    place.put("long.ndjson", long);
    let ran = place.host(&["linearizable", "long.ndjson", "--model", "counter", "--memory", "100kB"]).exits(130);
    assert!(ran.out.contains("undecided: the bound of ") && ran.out.contains(" lines had been read"), "{}", ran.out);
}

#[test]
fn a_wrong_history_is_named_with_its_place_and_a_remedy() {
    let place = Place::new();
    let torn = right() + "{\"process\": 3, \"type\": \"inv";
    let alone = lines(&[(0, "ok", "read", "1")]);
    let twice = lines(&[(0, "invoke", "read", "1"), (0, "invoke", "read", "1")]);
    let unknown = lines(&[(0, "invoke", "enqueue", "1")]);
    let back = "{\"process\": 0, \"type\": \"invoke\", \"f\": \"read\", \"time\": 5}\n{\"process\": 0, \"type\": \"ok\", \"f\": \"read\", \"time\": 4}\n";
    let edn = "{:process 0, :type :invoke, :f :read}\n{:process 0, :type";
    for (text, parts) in [
        (torn.as_str(), ["line 5, column 27: this line is no JSON", "the last line is torn"]),
        (&alone, ["line 1, column 1: process 0 ends a call that it did not begin", "its `invoke` is missing"]),
        (&twice, ["line 2, column 1: process 0 calls again before its call in line 1", "`info`"]),
        (&unknown, ["line 1, column 1: `enqueue` is no function of a register", "--model queue has it"]),
        (back, ["line 2, column 1: the time goes back from 5 to 4", "--order file"]),
        (edn, ["line 2, column 19: the history ends within", "its last entry is torn"]),
        ("", ["it has no operations of clients", "at least one line"]),
    ] {
        place.put("history", text);
        let ran = place.host(&["linearizable", "history", "--model", "register"]).exits(151);
        assert_eq!(ran.out, "", "{text}");
        ran.says(&parts);
    }
    place.host(&["linearizable", "nowhere", "--model", "register"]).exits(153).says(&["cannot read nowhere"]);
    std::fs::create_dir(place.path("folder")).expect("writable");
    place.host(&["linearizable", "folder", "--model", "register"]).exits(153).says(&["it is a folder"]);
    place.put("history", right());
    let initial = ["linearizable", "history", "--model", "register", "--initial"];
    for (words, part) in [
        ([&initial[..], &["x"]].concat(), "expected JSON"),
        (vec!["linearizable", "history"], "--model"),
        (vec!["linearizable", "history", "--model", "stack"], "[possible values: register, cas-register, kv, queue"),
    ] {
        let ran = place.host(&words).exits(2);
        assert!(ran.err.starts_with("error: ") && ran.err.contains(part), "{ran:?}");
    }
    let counter = lines(&[(0, "invoke", "read", "null")]);
    place.put("history", counter);
    let initial = ["linearizable", "history", "--model", "counter", "--initial", "[]"];
    place.host(&initial).exits(151).says(&["--initial", "a counter begins with an integer"]);
}

/// An interrupt ends a command that waits for a silent pipe.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_wait_for_a_silent_pipe() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};

    use nix::sys::signal::{Signal, kill};

    let Some(program) = super::program() else { return };
    let place = Place::new();
    place.put("right.ndjson", right());
    let mut command = Command::new(program);
    command.arg("linearizable").arg(place.path("right.ndjson")).args(["-", "--model", "register"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it is a program");
    let mut out = BufReader::new(child.stdout.take().expect("it is a pipe"));
    let (mut first, mut rest) = (String::new(), String::new());
    out.read_line(&mut first).expect("it is text");
    assert!(first.ends_with(": linearizable\n"), "{first}");
    // Whether the wait for the pipe has begun does not matter: the interrupt is kept.
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).expect("an id"));
    kill(pid, Signal::SIGINT).expect("it runs");
    out.read_to_string(&mut rest).expect("it is text");
    assert!(rest.contains("-: undecided: it was interrupted"), "{rest}");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
}
