//! The debugger's cursor and commands, without a terminal.

use std::sync::Arc;

use host_inspect::debug::{Console, Cursor, CursorError, Moments, Reply};
use host_model::lts::{Lts, Stepper};
use host_model::scenario::Scenario;
use host_model::toys::{Toy, ToyOutcome, ToyTrigger};
use host_model::trace::replay::Replay;
use host_model::trace::{PluginRef, TRACE_VERSION, Trace, TraceStep};

/// Node 0 can go from 0 to 1 by itself and sends to node 1, which then goes from 0 to 1, or by its own choice to 2. Both
/// in state 1 is forbidden.
fn toy() -> Arc<Toy> {
    let mut toy = Toy::new(2).rule(0, 0, ToyTrigger::Local(0), 1, &[(1, 7)]).forbid(&[Some(1), Some(1)]);
    let go = |next| ToyOutcome::Go(next, Vec::new());
    toy.rules.insert((1, 0, ToyTrigger::Message(0, 7)), vec![go(1), go(2)]);
    Arc::new(toy)
}

fn trace(steps: Vec<TraceStep>) -> Trace {
    Trace {
        trace_version: TRACE_VERSION,
        plugin: PluginRef { name: "toy".to_owned(), version: None, digest: None },
        scenario: Scenario::new(2),
        placements: Vec::new(),
        limits: Default::default(),
        init_choices: Vec::new(),
        expressed: Vec::new(),
        specs: Vec::new(),
        beginning: None,
        finding: None,
        steps,
    }
}

/// Runs a session from the start of the toy, or from the end of these steps; returns the replies to the lines.
fn session(steps: Vec<TraceStep>, lines: &[&str]) -> Vec<Reply> {
    let toy = toy();
    let lts = Lts::new(&toy, Scenario::new(2)).expect("toys work");
    let cursor =
        Cursor::new(&toy, Stepper::new(&lts).expect("toys work"), &trace(steps)).expect("the steps can happen");
    let mut console = Console::new(cursor);
    lines.iter().map(|line| console.execute(line)).collect()
}

#[track_caller]
fn text(reply: &Reply) -> &str {
    match reply {
        Reply::Text(text) => text,
        other => panic!("{other:?} is no text"),
    }
}

/// The steps of a session from the start to the violation.
fn violation() -> Vec<TraceStep> {
    match session(Vec::new(), &["take 0", "take 0", "save x.json"]).pop() {
        Some(Reply::Save(file, steps)) if file == "x.json" && steps.len() == 2 => steps,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_can_happen_is_listed_and_taken() {
    let replies =
        session(Vec::new(), &["enabled", "take 0", "messages", "enabled", "check", "take 0", "check", "enabled"]);
    assert_eq!(text(&replies[0]), "    0. node 0: local0 (internal)\n");
    assert_eq!(
        text(&replies[1]),
        "   1. node 0: local0 (internal)\n      \"00\" -> \"01\"\n      sends 07 to node 1\n"
    );
    assert_eq!(text(&replies[2]), "node 0 -> node 1: 07\n");
    assert_eq!(text(&replies[3]), "    0. node 1 <- node 0: 07, 2 outcomes\n");
    assert_eq!(text(&replies[4]), "every property holds here\n");
    assert_eq!(text(&replies[5]), "   2. node 1 <- node 0: 07, choosing 0 of 2\n      \"00\" -> \"01\"\n");
    assert_eq!(text(&replies[6]), "forbidden is violated: [1, 1] is forbidden\n");
    assert_eq!(text(&replies[7]), "nothing can happen here\n");
}

#[test]
fn a_trace_is_gone_along_in_both_directions() {
    let lines = ["list", "next", "next", "next", "back 2", "back", "jump end", "jump 1", "undo", "undo", "jump 3"];
    let replies = session(violation(), &lines);
    let first = ">   0. start\n    1. node 0: local0 (internal)\n    2. node 1 <- node 0: 07, choosing 0 of 2\n";
    assert_eq!(text(&replies[0]), first);
    assert!(text(&replies[1]).starts_with("   1. node 0"));
    assert!(text(&replies[2]).starts_with("   2. node 1"));
    assert!(matches!(&replies[3], Reply::Wrong(why) if why.contains("the end of the branch")));
    assert_eq!(text(&replies[4]), "   0. start\n");
    assert!(matches!(&replies[5], Reply::Wrong(why) if why == "this is the start"));
    for (index, depth) in [(6, 2), (7, 1), (8, 2), (9, 0)] {
        assert!(text(&replies[index]).starts_with(&format!("   {depth}. ")), "{:?}", replies[index]);
    }
    assert!(matches!(&replies[10], Reply::Wrong(why) if why == "the branch has only 2 steps"));
}

#[test]
fn another_outcome_is_another_branch() {
    let lines =
        ["jump 1", "take 0 1", "check", "branches", "diff 0:2", "branch 0", "diff 1:2 2", "take 0 2", "branch 7"];
    let replies = session(violation(), &lines);
    assert_eq!(text(&replies[1]), "   2. node 1 <- node 0: 07, choosing 1 of 2\n      \"00\" -> \"02\"\n");
    assert_eq!(text(&replies[2]), "every property holds here\n");
    let branches = "    0. 2 steps, ends with node 1 <- node 0: 07, choosing 0 of 2; leaves this one after step 1\n\
                    >   1. 2 steps, ends with node 1 <- node 0: 07, choosing 1 of 2; this one\n";
    assert_eq!(text(&replies[3]), branches);
    assert_eq!(text(&replies[4]), "node 1\n      \"01\" -> \"02\"\n");
    // The session switches to the other branch where that leaves this one.
    assert!(text(&replies[5]).starts_with("a branch of 2 steps\n   1. "));
    assert_eq!(text(&replies[6]), "node 1\n      \"02\" -> \"01\"\n");
    assert!(matches!(&replies[7], Reply::Wrong(why) if why == "this event has 2 outcomes, counted from 0"));
    assert!(matches!(&replies[8], Reply::Wrong(why) if why.starts_with("there are 2 branches")));
}

#[test]
fn events_are_looked_for() {
    let lines = ["node 1", "jump start", "find 07", "find choosing", "find nothing", "list local"];
    let replies = session(violation(), &lines);
    assert!(text(&replies[0]).starts_with("   2. node 1"));
    // The step that sends the message comes before the one that receives it.
    assert!(text(&replies[2]).starts_with("   1. node 0"));
    assert!(text(&replies[3]).starts_with("   2. node 1"));
    assert!(matches!(&replies[4], Reply::Wrong(why) if why == "nothing after this on the branch matches"));
    assert_eq!(text(&replies[5]), "    1. node 0: local0 (internal)\n");
}

#[test]
fn an_event_that_is_not_enabled_says_why() {
    let lines =
        ["why 1 07", "next", "why 1 07", "why 0 local", "next", "why 1 07", "why 0 09", "jump 0", "why 0 local"];
    let replies = session(violation(), &lines);
    let sends = "07 from node 0 is not sent yet: step 1 sends it (node 0: local0 (internal))\n";
    assert_eq!(text(&replies[0]), sends);
    assert_eq!(text(&replies[2]), "07 from node 0 is in flight: it is enabled\n");
    assert_eq!(text(&replies[3]), "`local0` was possible at node 0 until step 1: node 0: local0 (internal)\n");
    assert_eq!(text(&replies[5]), "07 from node 0 was delivered in step 2\n");
    assert!(text(&replies[6]).starts_with("no message to node 0 that fits was sent on any branch"));
    assert_eq!(text(&replies[8]), "the local event `local0` is enabled at node 0\n");
}

#[test]
fn a_watch_shows_changes_only() {
    // Toys describe themselves by their bytes, which are one string: only the empty pointer, to the whole, would fit.
    let replies = session(violation(), &["watch 1 /x", "watch 1 x", "watch 9 /x", "state", "state 1", "unwatch"]);
    assert_eq!(text(&replies[0]), "node 1 /x: nothing here\n");
    assert!(matches!(&replies[1], Reply::Wrong(why) if why.starts_with("a pointer begins with /")));
    assert!(matches!(&replies[2], Reply::Wrong(why) if why == "there are only 2 nodes, counted from 0"));
    assert_eq!(text(&replies[3]), "node 0: \"00\"\nnode 1: \"00\"\n");
    assert_eq!(text(&replies[4]), "\"00\"\n");
}

#[test]
fn every_command_has_help_and_nonsense_is_refused() {
    let lines = ["help", "help take", "h", "", "# a comment", "fly", "take x", "find (", "jump", "quit"];
    let replies = session(Vec::new(), &lines);
    for command in host_inspect::debug::COMMANDS {
        assert!(text(&replies[0]).contains(command.name) && command.help.len() > 10, "{}", command.name);
    }
    assert!(text(&replies[1]).starts_with("take, t K [OUTCOME]"));
    assert_eq!(replies[2], replies[0]);
    assert_eq!((text(&replies[3]), text(&replies[4])), ("", ""));
    for (index, words) in
        [(5, "there is no command `fly`"), (6, "expected K"), (7, "no regular expression"), (8, "expected N")]
    {
        assert!(matches!(&replies[index], Reply::Wrong(why) if why.contains(words)), "{:?}", replies[index]);
    }
    assert_eq!(replies[9], Reply::Quit);
    assert_eq!(Console::complete("he"), ["help"]);
    assert_eq!(Console::complete("help bra"), ["branches", "branch"]);
}

/// Both outcomes of a step are places; a third place is one too many, and changes none of the existing ones.
#[test]
fn a_full_tree_refuses_places_and_keeps_those_that_are_there() {
    let toy = toy();
    let lts = Lts::new(&toy, Scenario::new(2)).expect("toys work");
    let stepper = Stepper::new(&lts).expect("toys work");
    let moments = Moments::new(&toy, stepper, &trace(Vec::new())).expect("toys start");
    let mut moments = moments.with_places_max(3);
    let first = moments.enabled(0).expect("toys work").remove(0);
    let sent = moments.take(0, &first, 0).expect("room for it").expect("it changes something");
    let received = moments.enabled(sent).expect("toys work").remove(0);
    let one = moments.take(sent, &received, 0).expect("room for it");
    assert_eq!((sent, one), (1, Some(2)));
    assert_eq!(moments.take(sent, &received, 1), Err(CursorError::Full(3)));
    // A step that was taken before needs no room.
    assert_eq!(moments.take(sent, &received, 0), Ok(one));
    assert_eq!((moments.places(), moments.children(sent)), (3, &[2][..]));
}

/// The naive reference of the standings: a replay from the start in fresh machines.
#[test]
fn properties_stand_as_in_a_replay() {
    let toy = toy();
    let steps = violation();
    let lts = Lts::new(&toy, Scenario::new(2)).expect("toys work");
    let stepper = Stepper::new(&lts).expect("toys work");
    let mut moments = Moments::new(&toy, stepper, &trace(Vec::new())).expect("toys start");
    let line = moments.open(&trace(steps.clone())).unwrap_or_else(|(_, error)| panic!("{error}"));
    assert_eq!(line.len(), 3);
    for (number, place) in line.iter().enumerate() {
        let (mut replay, _) = Replay::new(&toy, &Scenario::new(2), &trace(Vec::new()).origin()).expect("toys start");
        for step in &steps[..number] {
            replay.step(step).expect("it happened before");
        }
        let traced = moments.traced(*place).clone();
        let standings = moments.standings(&traced).expect("toys work");
        assert!(!standings.is_empty());
        for stands in standings {
            let expected = replay.standing(stands.property as u32, stands.node).expect("toys work");
            assert_eq!(stands.standing, expected, "after step {number}");
        }
    }
}
