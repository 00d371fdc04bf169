//! The debugger at a terminal, and as a script.

use std::io::{Read, Write};
use std::process::Command;

use nix::pty::openpty;

use super::golden::repository;
use super::program;

#[test]
fn a_script_that_makes_no_sense_ends_with_one() {
    let place = repository();
    let debug = ["debug", "plugins/paxos", "--quiet", "--", "--set", "bug=last-response", "--nodes", "3"];
    let ran = place.host_reading(&debug, "enabled\nfly\nquit\n").exits(1);
    let expected = "0/0> enabled\n    0. node 0: propose (application)\n    1. node 1: propose (application)\n\
                    0/0> fly\nthere is no command `fly`; `help` lists them\n0/0> quit\n";
    assert!(ran.out.ends_with(expected), "{}", ran.out);
    let ran = place.host_reading(&debug, "take 0\nsave begun.json").exits(0);
    assert!(ran.out.ends_with("1 steps in begun.json\n"), "{}", ran.out);
    let ran =
        place.host_reading(&["debug", "begun.json", "--plugin", "plugins/paxos", "--quiet"], "n\nopen begun.json\n");
    assert!(ran.exits(0).out.contains("a branch of 1 steps"));
    let wrong = place.host(&["debug", "plugins/paxos", "--quiet", "--", "--fast"]).exits(2);
    wrong.says(&["unexpected argument '--fast'", "options of `host run`"]);
    place
        .host(&["debug", "begun.json", "--quiet", "--", "--nodes", "3"])
        .exits(151)
        .says(&["brings its cluster along"]);
}

/// The network makes it, so the protocol cannot describe it.
#[test]
fn a_notice_of_a_break_is_no_message() {
    let place = repository();
    let debug = ["debug", "plugins/rand-tree", "--quiet", "--", "--breaks", "1"];
    let script = "take 0\ntake 0\ntake 1\nmessages\nwhy 0 .\nquit\n";
    let ran = place.host_reading(&debug, script).exits(0);
    let shown = "messages\nnode 1 -> node 0: Join {joiner: 1, redirected_by: null}\n\
                 notice to node 0: the connection to node 1 is broken\n";
    assert!(ran.out.contains(shown) && !ran.out.contains("not a message"), "{}", ran.out);
}

/// A pseudo-terminal: a prompt, completion by the tabulator, the history by the arrow up, and an end by Ctrl-D.
#[test]
fn a_terminal_has_completion_and_history() {
    let place = repository();
    let Some(host) = program() else { return };
    let pty = openpty(None, None).expect("a pseudo-terminal");
    let stdin = pty.slave.try_clone().expect("a descriptor");
    let stdout = pty.slave.try_clone().expect("a descriptor");
    let mut child = Command::new(host)
        .args(["debug", "plugins/paxos", "--quiet"])
        .current_dir(place.path("."))
        .env("TERM", "xterm")
        .env("XDG_CACHE_HOME", place.path("cache"))
        .stdin(stdin)
        .stdout(stdout)
        .stderr(pty.slave)
        .spawn()
        .expect("the program runs");
    let mut terminal = std::fs::File::from(pty.master);
    let mut seen = String::new();
    let mut wait_for = |terminal: &mut std::fs::File, words: &str| {
        let mut buffer = [0; 4096];
        while !seen.contains(words) {
            match terminal.read(&mut buffer) {
                Ok(0) | Err(_) => panic!("no {words:?} in {seen:?}"),
                Ok(count) => seen.push_str(&String::from_utf8_lossy(&buffer[..count])),
            }
        }
        let end = seen.find(words).expect("it is there") + words.len();
        seen.drain(..end);
    };
    wait_for(&mut terminal, "0/0> ");
    terminal.write_all(b"enab\t\r").expect("the terminal is there");
    wait_for(&mut terminal, "0. node 0: propose (application)");
    wait_for(&mut terminal, "0/0> ");
    terminal.write_all(b"take 0\r").expect("the terminal is there");
    wait_for(&mut terminal, "1. node 0: propose (application)");
    wait_for(&mut terminal, "1/1> ");
    // The line before last again.
    terminal.write_all(b"\x1b[A\x1b[A\r").expect("the terminal is there");
    wait_for(&mut terminal, "node 0 <- node 0: Prepare {ballot: 1}");
    wait_for(&mut terminal, "1/1> ");
    terminal.write_all(b"\x04").expect("the terminal is there");
    assert!(child.wait().expect("it ends").success());
    assert!(place.path("cache/host/debug-history").exists());
}

/// A node has a name, and commands take it in place of its number.
#[test]
fn nodes_are_named_in_commands_and_answers() {
    let place = repository();
    let debug = ["debug", "plugins/two-phase-commit", "--quiet", "--", "--nodes", "3", "--set", "stops=coordinator"];
    let script = "take 0\nnode participant 1\nstate participant 2\nwhy participant 1 Prepare\nwatch coordinator /x\nstate 3\n\
                  state nothing\nwhy participant 1\nquit\n";
    let ran = place.host_reading(&debug, script).exits(1);
    for words in [
        "nothing happens at participant 1 after this on the branch",
        "state participant 2\n",
        "coordinator /x: nothing here",
        "there are only 3 nodes, counted from 0",
        "NODE, a name or number",
        "why needs NODE REGEX",
    ] {
        assert!(ran.out.contains(words), "{words}: {}", ran.out);
    }
}
