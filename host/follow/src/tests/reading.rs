//! Logs as text, wrong ones among them.

use crate::error::LogError;
use crate::fields::Nodes;
use crate::line::{Event, Sending};
use crate::log::Log;
use crate::read::{Input, Read, read};

fn nodes() -> Nodes {
    Nodes { names: vec![None, Some("server".to_owned()), None] }
}

fn read_all(texts: &[&str], memory_bytes: usize) -> Result<Read, LogError> {
    let mut readers: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
    let files = readers.iter_mut().map(|reader| reader as &mut dyn std::io::BufRead).collect();
    read(Input { files, stop: &mut || false, memory_bytes }, &nodes())
}

fn log(texts: &[&str]) -> Log {
    match read_all(texts, usize::MAX) {
        Ok(Read::Whole(log)) => log,
        other => panic!("{other:?}"),
    }
}

#[test]
fn fields_say_which_event_it_is() {
    let text = "{\"node\": 0, \"from\": \"server\", \"message\": {\"term\": 3}}\n\n\
        {\"node\": 1, \"to\": 2}\r\n{\"node\": 2, \"name\": \"elect\"}\n{\"node\": 0, \"state\": {}}\n\
        {\"node\": 0, \"event\": \"reset\", \"note\": {\"at\": 12.5}}\n{\"node\": \"node 2\", \"event\": \"break\", \"peer\": 0}\n\
        {\"node\": 0}";
    let log = log(&[text]);
    let kinds: Vec<Option<&str>> = log.lines.iter().map(|line| line.event.name()).collect();
    let expected = ["deliver", "send", "local", "state", "reset", "break"].map(Some);
    assert_eq!(kinds, [&expected[..], &[None]].concat());
    assert!(matches!(log.lines[0].event, Event::Deliver { from: Some(1), .. }));
    assert!(matches!(log.lines[1].event, Event::Send(Sending { to: Some(2), .. })));
    assert_eq!((log.lines[1].place.line, log.lines[5].node), (3, 2));
    assert_eq!(log.by_node, [vec![0, 3, 4, 6], vec![1], vec![2, 5]]);
}

/// The order of a node is that of `seq`; several files are one log; a line can follow one of another node.
#[test]
fn lines_are_in_the_order_of_their_nodes() {
    let first = "{\"node\": 0, \"seq\": 7, \"state\": {\"a\": 2}, \"after\": \"x\"}\n{\"node\": 0, \"seq\": 3, \"state\": {\"a\": 1}}\n";
    let second = "{\"node\": 1, \"id\": \"x\", \"state\": {}}\n";
    let log = log(&[first, second]);
    // The first line of each file, then the second.
    assert_eq!(log.by_node, [vec![2, 0], vec![1], vec![]]);
    assert_eq!((log.lines[0].after.as_slice(), log.lines[1].place.file), (&[1][..], 1));
    let without = log.without(1);
    assert_eq!((without.len(), without.lines[0].after.len(), without.by_node[1].len()), (2, 0, 0));
}

#[test]
fn a_wrong_line_is_named_with_its_place_and_a_remedy() {
    let right = "{\"node\": 0, \"state\": {}}\n";
    for (text, line, column, parts) in [
        ("{\"node\": 0, \"event\": \"deli", 2, 26, ["no JSON: EOF", "torn"]),
        ("{\"node\": 0,, }", 2, 12, ["no JSON", "one object"]),
        ("[1]", 2, 1, ["no object", "\"node\": 0"]),
        ("{\"event\": \"reset\"}", 2, 1, ["no `node`", "\"node\": 0"]),
        ("{\"node\": 3}", 2, 2, ["there is no node 3 in a cluster of 3", "0 to 2, or \"server\""]),
        ("{\"node\": 0, \"from\": \"client\"}", 2, 13, ["there is no node \"client\"", "--nodes"]),
        ("{\"node\": 0, \"event\": \"explode\"}", 2, 13, ["there is no event `explode`", "transport-error"]),
        ("{\"node\": 0, \"term\": 3}", 2, 1, ["`term` is no field of a line", "\"note\""]),
        ("{\"node\": 0, \"event\": \"reset\", \"from\": 1}", 2, 31, ["`from` is no field of reset", "\"note\""]),
        ("{\"node\": 0, \"message\": 1}", 2, 13, ["`message` without `event`", "\"deliver\""]),
        ("{\"node\": 0, \"from\": 1, \"payload\": \"abc\"}", 2, 24, ["hexadecimal", "00ff"]),
        ("{\"node\": 0, \"event\": \"state\"}", 2, 1, ["no `state`", "add"]),
        ("{\"node\": 0, \"to\": 1, \"state\": {}}", 2, 1, ["has a `state`", "line of its own"]),
        ("{\"node\": 0, \"seq\": 1, \"state\": {}}", 1, 1, ["no `seq`", "to all lines"]),
        ("{\"node\": 1, \"after\": \"y\", \"state\": {}}", 2, 1, ["no line has this id", "remove it"]),
        ("{\"node\": 0, \"seq\": -1, \"state\": {}}", 2, 13, ["no number from 0", "\"seq\": 0"]),
        ("{\"node\": 0, \"cause\": \"clock\"}", 2, 13, ["no cause `clock`", "timer"]),
        ("{\"node\": 0, \"event\": \"local\", \"sent\": 1}", 2, 31, ["no list", "in order"]),
    ] {
        let Err(LogError::Line { place, problem, remedy }) = read_all(&[&format!("{right}{text}\n")], usize::MAX)
        else {
            panic!("{text} is read");
        };
        assert_eq!((place.line, place.column), (line, column), "{text}: {problem}");
        assert!(problem.contains(parts[0]) && remedy.contains(parts[1]), "{text}: {problem}; {remedy}");
    }
    let again = "{\"node\": 0, \"id\": 1, \"state\": {}}\n{\"node\": 1, \"id\": \"1\", \"state\": {}}";
    let back = "{\"node\": 0, \"after\": \"a\", \"state\": {}}\n{\"node\": 0, \"id\": \"a\", \"state\": {}}";
    let same = "{\"node\": 0, \"seq\": 4, \"state\": {}}\n{\"node\": 0, \"seq\": 4, \"state\": {}}";
    for (text, part) in [(again, "two lines with the id"), (back, "not an earlier line"), (same, "have the `seq` 4")] {
        let error = read_all(&[text], usize::MAX).expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    }
    assert!(matches!(read_all(&["\n \n"], usize::MAX), Err(LogError::Empty)));
}

/// A log that is larger than the memory is not read to its end.
#[test]
fn memory_is_bounded() {
    let many = "{\"node\": 0, \"state\": {}}\n".repeat(1_000);
    let Ok(Read::TooLarge { lines }) = read_all(&[&many], 20_000) else { panic!("it is read whole") };
    assert!((20..200).contains(&lines), "{lines}");
    let mut reader = many.as_bytes();
    let mut left = 5;
    let mut stop = || {
        left -= 1;
        left == 0
    };
    let input = Input { files: vec![&mut reader], stop: &mut stop, memory_bytes: usize::MAX };
    assert!(matches!(read(input, &nodes()), Ok(Read::Stopped { lines: 4 })));
}
