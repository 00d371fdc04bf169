//! Histories that are wrong, in all formats, and forms of histories that are right.

use std::io::{BufReader, Read as _};

use super::{history_of, judged, reading};
use crate::{Accepted, HistoryError, Order, Read, Reading, Verdict, read};

/// The line, the column, the problem and the remedy of an error.
fn wrong(text: &str, how: &Reading) -> (u32, u32, String, String) {
    match history_of(text, how) {
        Err(HistoryError::Entry { place, problem, remedy }) => (place.line, place.column, problem, remedy),
        other => panic!("{text}: {other:?}"),
    }
}

const INVOKE: &str = "{\"process\": 0, \"type\": \"invoke\", \"f\": \"read\"}\n";

#[test]
fn wrong_lines_have_a_place_and_a_remedy() {
    let lines = |rest: &str| format!("{INVOKE}{rest}");
    for (text, line, column, problem, remedy) in [
        (lines("{\"process\": 0, \"type\": \"o"), 2, 25, "this line is no JSON: EOF", "the last line is torn"),
        (lines("{\"process\": 0,, }\n"), 2, 15, "this line is no JSON", "one JSON object"),
        (lines("[1]\n"), 2, 1, "[1] is no operation", "an operation is a map"),
        (lines("{\"type\": \"ok\"}\n"), 2, 1, "no `process`", "an operation is a map"),
        (lines("{\"process\": 0, \"f\": \"read\"}\n"), 2, 1, "no `type`", "an operation is a map"),
        (lines("{\"process\": 0, \"type\": \"ok\"}\n"), 2, 1, "no `f`", "an operation is a map"),
        (
            lines("{\"process\": 0, \"type\": \"yes\", \"f\": \"read\"}\n"),
            2,
            1,
            "\"yes\" is no type",
            "invoke, ok, fail",
        ),
        (
            lines("  {\"process\": 1, \"type\": \"ok\", \"f\": \"read\"}\n"),
            2,
            3,
            "did not begin",
            "`invoke` is missing",
        ),
        (lines(INVOKE), 2, 1, "process 0 calls again before its call in line 1 has ended", "`info`"),
        (lines("{\"process\": 0, \"type\": \"ok\", \"f\": \"write\"}\n"), 2, 1, "another function", "the same `f`"),
        (
            lines("{\"process\": 1, \"type\": \"invoke\", \"f\": \"cas\"}\n"),
            2,
            1,
            "`cas` is no function",
            "--model cas-register or kv",
        ),
        (
            lines("{\"process\": 1, \"type\": \"invoke\", \"f\": \"drain\"}\n"),
            2,
            1,
            "`drain` is no function",
            "no model has it",
        ),
        (
            lines("{\"process\": 1, \"f\": \"read\", \"call\": 1, \"return\": 2}\n"),
            2,
            1,
            "others operations",
            "one of the two shapes",
        ),
    ] {
        let found = wrong(&text, &reading("register"));
        assert_eq!((found.0, found.1), (line, column), "{text}: {found:?}");
        assert!(found.2.contains(problem) && found.3.contains(remedy), "{text}: {found:?}");
    }
    assert!(matches!(history_of("", &reading("register")), Err(HistoryError::Empty)));
    assert!(matches!(history_of(" \n\n", &reading("register")), Err(HistoryError::Empty)));
    let nemesis = "{\"process\": \"nemesis\", \"type\": \"info\", \"f\": \"start\"}\n";
    assert!(matches!(history_of(nemesis, &reading("register")), Err(HistoryError::Empty)));
}

#[test]
fn wrong_arguments_and_results_have_a_place_and_a_remedy() {
    let call = |f: &str, value: &str, end: &str| {
        format!(
            "{{\"process\": 0, \"type\": \"invoke\", \"f\": \"{f}\"{value}}}\n{{\"process\": 0, \"type\": \"ok\", \"f\": \"{f}\"{end}}}\n"
        )
    };
    for (model, text, line, problem) in [
        ("register", call("write", "", ""), 1, "no `value`"),
        ("register", call("write", ", \"value\": 1", ", \"value\": 2"), 2, "the value 1, and its end 2"),
        ("cas-register", call("cas", ", \"value\": 3", ""), 1, "no [old, new]"),
        ("kv", call("get", "", ""), 1, "this get has no key"),
        ("counter", call("add", ", \"value\": \"x\"", ""), 1, "an integer"),
        ("counter", call("read", "", ", \"value\": \"x\""), 2, "returns an integer, not \"x\""),
        ("set", call("contains", ", \"value\": 1", ", \"value\": 2"), 2, "true or false"),
        ("set", call("read", "", ", \"value\": 1"), 2, "a list of its elements"),
    ] {
        let found = wrong(&text, &reading(model));
        assert!(found.0 == line && found.2.contains(problem) && !found.3.is_empty(), "{text}: {found:?}");
    }
}

#[test]
fn times_that_go_back_need_a_decision() {
    let line = |process: u32, kind: &str, f: &str, value: u32, time: u32| {
        format!(
            "{{\"process\": {process}, \"type\": \"{kind}\", \"f\": \"{f}\", \"value\": {value}, \"time\": {time}}}\n"
        )
    };
    // By their times, the read comes behind the write; in the file it has returned before.
    let text = line(0, "invoke", "read", 0, 20)
        + &line(0, "ok", "read", 7, 30)
        + &line(1, "invoke", "write", 7, 5)
        + &line(1, "ok", "write", 7, 10);
    let found = wrong(&text, &reading("register"));
    assert_eq!((found.0, found.2.as_str()), (3, "the time goes back from 30 to 5"), "{found:?}");
    assert!(found.3.contains("--order file") && found.3.contains("--order time"), "{found:?}");
    for (order, is_right) in [(Order::File, false), (Order::Time, true)] {
        let mut history = history_of(&text, &Reading { order, ..reading("register") }).expect("the order is decided");
        assert_eq!(matches!(judged(&mut history, None).verdict, Verdict::Linearizable), is_right, "{order:?}");
    }
    let found = wrong(INVOKE, &Reading { order: Order::Time, ..reading("register") });
    assert!(found.2.contains("no `time`"), "{found:?}");
}

/// One history, in each of the formats: the second read is stale.
#[test]
fn formats_say_the_same() {
    let edn = "{:process 0, :type :invoke, :f :write, :value 7}\n{:process 0, :type :ok, :f :write, :value 7}\n\
        {:process :nemesis, :type :info, :f :start, :value nil}\n{:process 1, :type :invoke, :f :read, :value nil}\n\
        {:process 1, :type :ok, :f :read, :value nil}\n";
    let in_one = format!("[{edn}]");
    let tagged = format!("#jepsen.history.DenseHistory [{}]", edn.replace("{:process", "#jepsen.history.Op{:process"));
    let pairs = edn
        .replace(":f :write, :value 7", ":f :write, :value [3 7]")
        .replace("read, :value nil", "read, :value [3 nil]");
    let text = "0\t:invoke\t:write\t7\n0\t:ok\t:write\t7\n:nemesis\t:info\t:start\tnil\n1\t:invoke\t:read\tnil\n1\t:ok\t:read\tnil\n";
    let log = "INFO  jepsen.core - nothing of interest\nINFO  jepsen.util - 0\t:invoke\t:write\t7\nINFO  jepsen.util - 0\t:ok\t:write\t7\n\
        INFO  jepsen.util - 1\t:invoke\t:read\tnil\nINFO  jepsen.util - 1\t:ok\t:read\tnil\n";
    let whole = "{\"client\": 1, \"op\": \"read\", \"output\": null, \"call\": 20, \"return\": 30}\n\
        {\"client\": 0, \"op\": \"write\", \"value\": 7, \"call\": 0, \"return\": 10}\n";
    let lines = "{\"process\": 0, \"type\": \"invoke\", \"f\": \"write\", \"value\": 7}\n\
        {\"process\": 0, \"type\": \"ok\", \"f\": \"write\"}\n\n{\"process\": 1, \"type\": \"invoke\", \"f\": \"read\"}\n\
        {\"process\": 1, \"type\": \"ok\", \"f\": \"read\", \"value\": null}\n";
    let how = reading("register");
    let jepsen = Reading { accepted: Accepted::Jepsen, ..how };
    for (text, how, line) in [
        (edn, how, Some(5)),
        (edn, jepsen, Some(5)),
        (&in_one, how, Some(5)),
        (&tagged, how, Some(5)),
        (&pairs, Reading { is_independent: true, ..how }, Some(5)),
        (text, how, Some(5)),
        (log, how, Some(5)),
        (whole, how, None),
        (lines, how, Some(5)),
        (&format!("\u{FEFF}{lines}"), Reading { accepted: Accepted::Lines, ..how }, Some(5)),
    ] {
        let mut history = history_of(text, &how).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!((history.operations(), history.open(), history.processes()), (2, 0, 2), "{text}");
        let Verdict::NotLinearizable(why) = judged(&mut history, None).verdict else { panic!("{text}") };
        assert_eq!((why.blocked.return_line, why.possible.join(" ")), (line, "7".to_owned()), "{text}");
    }
    // A call at the time of a return runs with it, as nothing says which came first.
    let at_once = whole.replace("\"call\": 20", "\"call\": 10");
    let mut history = history_of(&at_once, &how).expect("it is a history");
    assert!(matches!(judged(&mut history, None).verdict, Verdict::Linearizable));
    // Pairs without the option are values; with the model `kv` they are keys and values.
    let mut history = history_of(&pairs, &reading("kv")).expect("each value has a key");
    assert!(
        matches!(judged(&mut history, None).verdict, Verdict::NotLinearizable(why) if why.key.as_deref() == Some("3"))
    );
}

#[test]
fn calls_that_fail_or_stay_open_have_the_semantics_of_jepsen() {
    let of = |middle: &str, last: &str| {
        format!(
            "{{:process 0, :type :invoke, :f :write, :value 7}}\n{middle}{{:process 1, :type :invoke, :f :read, :value nil}}\n\
             {{:process 1, :type :ok, :f :read, :value {last}}}\n"
        )
    };
    let info = "{:process 0, :type :info, :f :write, :value :timed-out, :error [:x 1]}\n";
    let fail = "{:process 0, :type :fail, :f :write, :value 7}\n";
    for (text, is_right) in [
        (of(info, "7"), true),
        (of(info, "nil"), true),
        (of("", "7"), true),
        (of("", "nil"), true),
        (of(fail, "nil"), true),
        (of(fail, "7"), false),
        (of(info, "8"), false),
    ] {
        let mut history = history_of(&text, &reading("register")).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(matches!(judged(&mut history, None).verdict, Verdict::Linearizable), is_right, "{text}");
    }
}

#[test]
fn an_endless_history_is_undecided_within_its_memory() {
    /// Lines of new writes without an end.
    struct Endless {
        left: Vec<u8>,
        count: u64,
    }
    impl std::io::Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if self.left.is_empty() {
                let kind = if self.count.is_multiple_of(2) { "invoke" } else { "ok" };
                let value = self.count / 2;
                self.left = format!("{{:process 0, :type :{kind}, :f :write, :value {value}}}\n").into_bytes();
                self.count += 1;
            }
            let length = self.left.len().min(buffer.len());
            buffer[..length].copy_from_slice(&self.left[..length]);
            self.left.drain(..length);
            Ok(length)
        }
    }
    let how = Reading { memory_bytes: 8 << 20, ..reading("register") };
    let mut input = BufReader::new(Endless { left: Vec::new(), count: 0 });
    let found = read(&mut input, &how, &mut || false).expect("every line is right");
    // An operation takes between 64 and 512 bytes with its value, and there are two lines of each.
    assert!(matches!(found, Read::TooLarge { lines: 32_000..=262_144 }), "{found:?}");
    let mut input = BufReader::new(Endless { left: Vec::new(), count: 0 });
    let found = read(&mut input, &reading("register"), &mut || true).expect("every line is right");
    assert!(matches!(found, Read::Stopped { lines: 4096 }), "{found:?}");
    // A line without an end is an error, not a reason to take all memory.
    let mut input = BufReader::new(std::io::repeat(b'x').take(1 << 40));
    let found = read(&mut input, &how, &mut || false);
    assert!(matches!(found, Err(HistoryError::Entry { problem, .. }) if problem.contains("more than 16 MiB")));
}
