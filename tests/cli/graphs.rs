//! `host graph`: the states of small clusters, in the numbers that were derived.

use super::{Place, bundled, folder};

/// The output of the command with the numbers of states and steps, and the drawing.
fn graph(place: &Place, words: &[&str]) -> (String, String) {
    let said = place.host(&[&["graph"], words].concat()).exits(0).out;
    let first = said.lines().next().expect("a line for each file");
    let (file, counts) = first.split_once(": ").expect("FILE: COUNTS");
    (counts.to_owned(), std::fs::read_to_string(place.path(file)).expect("the drawing is there"))
}

/// The number of states in a DOT file with this attribute.
fn with(dot: &str, attribute: &str) -> usize {
    dot.lines().filter(|line| line.starts_with("    s") && line.contains(attribute)).count()
}

#[test]
fn a_graph_has_the_states_and_steps_of_its_derivation() {
    let place = Place::new();
    // Three nodes with a message to themselves: 2^3 global states and 3 * 2^2 steps, one end.
    let words = [bundled("fanout"), "--out", "f.dot", "--", "--nodes", "3"];
    let (counts, dot) = graph(&place, &words);
    assert_eq!(counts, "8 states, 12 steps");
    assert_eq!((with(&dot, "label="), with(&dot, "peripheries=2"), with(&dot, "darkgreen")), (8, 1, 1), "{dot}");
    assert_eq!(dot.lines().filter(|line| line.contains(" -> s")).count(), 12, "no two steps join the same states");
    assert!(dot.contains("label=\"node 0 <- node 0: "), "{dot}");
    // Each node by itself has received its message or not.
    let (counts, dot) = graph(&place, &[bundled("fanout"), "--local", "--out", "l.dot", "--", "--nodes", "3"]);
    assert_eq!(counts, "6 states, 3 steps");
    assert_eq!((with(&dot, "peripheries=2"), with(&dot, "darkgreen"), with(&dot, "dashed")), (3, 3, 0), "{dot}");
    // One of them alone, and in the title.
    let of = [bundled("fanout"), "--node", "2", "--out", "o.dot", "--out", "o.svg", "--", "--nodes", "3"];
    let (counts, dot) = graph(&place, &of);
    assert_eq!(counts, "2 states, 1 step");
    assert!(dot.contains("local states of node 2, 3 nodes") && dot.contains("label=\"node 2 <- node 2: "), "{dot}");
    assert!(!dot.contains("node 0") && !dot.contains("node 1"), "{dot}");
    let svg = std::fs::read_to_string(place.path("o.svg")).expect("the drawing is there");
    assert_eq!((svg.matches("class=\"box").count(), svg.matches("class=\"arrow\"").count()), (2, 1));
    // The token is at one of three nodes or on one of three ways: a circle.
    let circle = folder("template").join("scenarios/three-nodes.toml");
    let (counts, svg) = graph(&place, &[circle.to_str().expect("text"), "--format", "svg", "--out", "circle"]);
    assert_eq!(counts, "6 states, 6 steps");
    assert!(svg.starts_with("<svg ") && svg.matches("class=\"box").count() == 6, "{svg}");
    assert_eq!((svg.matches("class=\"arrow\"").count(), svg.matches("class=\"inner\"").count()), (6, 0));
}

/// Two nodes with a message to themselves; each is received, lost, or in flight: 3^2 global states, and from the 3 in which a
/// node has it in flight two steps of that node.
#[test]
fn faults_are_steps_of_a_graph() {
    let place = Place::new();
    let of = ["--nodes", "2", "--losses", "1"];
    let (counts, dot) = graph(&place, &[&[bundled("fanout"), "--out", "f.dot", "--"], &of[..]].concat());
    assert_eq!(counts, "9 states, 12 steps");
    let losses = dot.lines().filter(|line| line.contains(" -> s") && line.contains("is lost")).count();
    assert_eq!((losses, with(&dot, "peripheries=2")), (6, 4), "{dot}");
    let (counts, dot) = graph(&place, &[&[bundled("fanout"), "--local", "--out", "l.dot", "--"], &of[..]].concat());
    assert_eq!(counts, "6 states, 4 steps", "{dot}");
}

/// In graphs and in the debugger as in traces.
#[test]
fn nodes_have_their_names() {
    let place = Place::new();
    let of = [bundled("lock"), "--local", "--out", "n.dot", "--", "--nodes", "2"];
    let (_, dot) = graph(&place, &of);
    assert!(
        dot.contains("server: Server") && dot.contains("client 1: Client Idle") && !dot.contains("node 1"),
        "{dot}"
    );
    let debugged = place.host_reading(&["debug", bundled("lock"), "--", "--nodes", "2"], "state\nenabled\nstate 1\n");
    for line in ["server (node 0): ", "client 1 (node 1): Client Idle", "client 1: ask (application)"] {
        assert!(debugged.out.contains(line), "{line} in {debugged:?}");
    }
}

#[test]
fn violations_are_marked() {
    let place = Place::new();
    let keep = folder("template").join("scenarios/keep.toml");
    let (_, dot) = graph(&place, &[keep.to_str().expect("text"), "--out", "k.dot"]);
    let red: Vec<&str> = dot.lines().filter(|line| line.contains("ffd6d6")).collect();
    assert!(!red.is_empty() && red.iter().all(|line| line.contains("(violation")), "{dot}");
    let ignored = [keep.to_str().expect("text"), "--out", "i.dot", "--", "--ignore", "one-holder"];
    assert_eq!(with(&graph(&place, &ignored).1, "ffd6d6"), 0, "what is not judged is not marked");
}

#[test]
fn a_cut_is_reported() {
    let place = Place::new();
    let words = ["graph", bundled("fanout"), "--states", "5", "--out", "f.dot", "--out", "f.svg", "--", "--nodes", "3"];
    let ran = place.host(&words).exits(0);
    assert!(ran.out.starts_with("f.dot: 5 states, "), "{ran:?}");
    assert!(ran.out.ends_with("is not drawn in full, if anything does\n"), "{ran:?}");
    assert!(ran.out.contains("the bound on states was reached: what follows "), "{ran:?}");
    let drawn = |name| std::fs::read_to_string(place.path(name)).expect("it is there");
    assert!(drawn("f.dot").contains("the bound on states was reached") && drawn("f.dot").contains("not explored"));
    assert!(drawn("f.svg").contains("the bound on states was reached") && drawn("f.svg").contains("box open"));
    // The start has three steps; none of the three states after it is expanded.
    let (counts, dot) = graph(&place, &[bundled("fanout"), "--out", "d.dot", "--", "--nodes", "3", "--depth", "1"]);
    assert_eq!((counts.as_str(), with(&dot, "dashed")), ("4 states, 3 steps", 3), "{dot}");
}

#[test]
fn options_of_a_search_are_refused() {
    let place = Place::new();
    for options in [&["--algo", "walk"][..], &["--reduce"], &["--continue"], &["--seed", "1"], &["--checkpoint", "c"]] {
        let words = [&["graph", bundled("fanout"), "--"], options].concat();
        place.host(&words).exits(151).says(&["it takes no strategy"]);
    }
    place.host(&["graph", bundled("fanout"), "--out", "f.png"]).exits(151).says(&["`--out f.png` does not say"]);
    place.host(&["graph", "nothing.wasm"]).exits(150);
    let far = ["graph", bundled("fanout"), "--node", "3", "--", "--nodes", "3"];
    place.host(&far).exits(151).says(&["`--node 3`: there is no node 3 in a cluster of 3", "from 0 to 2"]);
    assert!(place.list().is_empty(), "{:?}", place.list());
}

/// A drawing ends at its limit, and reports that: 600 states of 1,000 nodes with 64 bytes each, as hexadecimal digits, exceed 64 MiB.
#[test]
fn a_drawing_has_so_much_text() {
    let place = Place::new();
    place.put("counts.wasm", host_sandbox::fixtures::counts());
    let words = ["graph", "counts.wasm", "--states", "600", "--out", "g.dot", "--", "--nodes", "1000"];
    let said = place.host(&words).exits(0).out;
    let counts: Vec<u64> = said.split([' ', '\n']).filter_map(|word| word.replace(',', "").parse().ok()).collect();
    assert!(said.contains("the drawing is full: ") && counts[0] < 600 && counts[1] == 0, "{said}");
    let dot = std::fs::metadata(place.path("g.dot")).expect("it is there").len();
    assert!(dot < 100 << 20, "{dot} bytes");
    // A complete drawing has all its steps.
    let (counts, dot) = graph(&place, &["counts.wasm", "--states", "60", "--out", "g.dot", "--", "--nodes", "50"]);
    assert!(counts.starts_with("60 states") && with(&dot, "label=") == 60, "{counts}");
}

/// Each of the two instances of node 1 receives the messages of both, in either order: 3 states. The others have a message
/// each.
#[test]
fn twins_have_graphs_of_their_own() {
    let place = Place::new();
    let of = |options: &[&str]| {
        let words = [&["graph", bundled("fanout"), "--out", "t.dot"], options, &["--", "--nodes", "3", "--twin", "1"]];
        place.host(&words.concat())
    };
    let counts = |options: &[&str]| of(options).exits(0).out;
    for node in ["1", "3"] {
        assert_eq!(counts(&["--node", node]), "t.dot: 3 states, 4 steps\n", "node {node}");
        assert_eq!(counts(&["--node", node, "--local"]), "t.dot: 3 states, 4 steps\n", "it is local anyway");
    }
    for node in ["0", "2"] {
        assert_eq!(counts(&["--node", node]), "t.dot: 2 states, 1 step\n", "node {node}");
    }
    assert_eq!(counts(&["--local"]), "t.dot: 10 states, 10 steps\n");
    of(&["--node", "4"]).exits(151).says(&["`--node 4`: there is no node 4 in a cluster of 4"]);
}

/// After `begin`, with participant 1 voting no and participant 2 yes, the votes of two are settled, and that of participant 3 decides.
#[test]
fn a_graph_begins_after_a_prefix() {
    let place = Place::new();
    let (plugin, bug) = (bundled("two-phase-commit"), ["--nodes", "4", "--set", "bug=majority"]);
    let run = ["run", plugin, "--algo", "bdfs", "--property", "atomicity", "--out", "o"];
    place.host(&[&run[..], &bug].concat()).exits(12);
    let text = std::fs::read_to_string(place.path("o/trace.json")).expect("the trace is there");
    let mut trace: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    trace["steps"].as_array_mut().expect("a list").truncate(3);
    trace.as_object_mut().expect("an object").remove("finding");
    place.put("p.json", trace.to_string());
    let counts = |options: &[&str]| {
        let words = [&["graph", plugin, "--out", "g.dot"], options, &["--", "--prefix", "p.json"], &bug].concat();
        place.host(&words).exits(0).out
    };
    // The coordinator has the first vote or not, the second or not, and one of two third ones or not: 2 * 2 * 3; the two with all
    // three are the decisions. Steps are 6 votes of the first, 6 of the second, and 4 * 2 of the third.
    assert_eq!(counts(&["--node", "0"]), "g.dot: 12 states, 20 steps\n");
    // It has aborted, and learns of either decision.
    assert_eq!(counts(&["--node", "1"]), "g.dot: 1 state, 2 steps\n");
    // It waits, and learns of either.
    assert_eq!(counts(&["--node", "2"]), "g.dot: 3 states, 2 steps\n");
    // It votes, and learns: yes leads to a commit, no to an abort, which changes nothing.
    assert_eq!(counts(&["--node", "3"]), "g.dot: 4 states, 4 steps\n");
    assert_eq!(counts(&["--local"]), "g.dot: 20 states, 28 steps\n");
}
