//! Networks that differ from link to link: reports, traces, scenarios.

use host_sandbox::fixtures;
use serde_json::{Value, json};

use super::{Place, bundled};

fn link(from: u32, to: u32, network: &str) -> Value {
    json!({ "from": from, "to": to, "network": network })
}

/// A server that knows its last request only is correct if requests arrive in order, regardless of answers; and wrong if
/// only answers do: the late old request is the seventh event (scenarios/last-only.toml of the plugin).
#[test]
fn a_link_is_part_of_what_is_reported_recorded_and_replayed() {
    let place = Place::new();
    let plugin = bundled("retransmission");
    let run = |link: &str, algo: &str| {
        place.host(&["run", plugin, "--set", "bug=last-only", "--link", link, "--algo", algo, "--out", "found"])
    };
    // Only the first decides promises, for which each message arrives.
    for (algo, scope) in [("bdfs", "for always and sometimes properties, "), ("unfold", "")] {
        let ran = run("0>1=ordered", algo).exits(0);
        let faults = format!("  faults      none; {scope}on links without order a message may never arrive\n");
        for words in ["  links       0>1 ordered\n", &faults, " --link '0>1=ordered' "] {
            assert!(ran.out.contains(words), "no {words:?} in {}", ran.out);
        }
    }
    let ran = run("1>0=ordered", "unfold").exits(12);
    assert!(ran.out.contains("after 7 steps"), "{}", ran.out);
    let text = std::fs::read_to_string(place.path("found/trace.json")).expect("the trace is there");
    let mut trace: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(trace["scenario"]["links"], json!([link(1, 0, "ordered")]));
    let replayed = place.host(&["replay", "found/trace.json", "--plugin", plugin]).exits(12);
    assert!(
        replayed.out.starts_with("retransmission 0.1.0, 2 nodes, network unordered, 1>0 ordered, "),
        "{replayed:?}"
    );

    // Were requests in order, the late one could not come.
    let mut in_order = trace.clone();
    in_order["scenario"]["links"] = json!([link(0, 1, "ordered")]);
    place.put("in-order.json", in_order.to_string());
    let replayed = place.host(&["replay", "in-order.json", "--plugin", plugin]).exits(151);
    replayed.says(&["no such message from node 0 to node 1 is next"]);

    // A prefix brings its links along: here all but the last event.
    trace.as_object_mut().expect("an object").remove("finding");
    trace["steps"].as_array_mut().expect("a list").pop();
    place.put("prefix.json", trace.to_string());
    let after = |options: &[&str]| {
        let run = ["run", plugin, "--prefix", "prefix.json", "--algo", "bdfs", "--depth", "1", "--json"];
        place.host(&[&run[..], options].concat())
    };
    assert_eq!(after(&[]).json()["assumed"]["links"], json!([link(1, 0, "ordered")]));
    after(&["--link", "1>0=ordered"]).exits(12);
    let contradiction = after(&["--link", "0-1=ordered"]).exits(151);
    let message = contradiction.json()["error"]["message"].clone();
    let expected = "`--link 0-1=ordered` contradicts the prefix, which has unordered from node 0 to node 1";
    assert!(message.as_str().is_some_and(|message| message.contains(expected)), "{message}");
}

/// From two fresh nodes ping-pong has 5 global states in a line, on every network without duplicates.
fn ping_pong(links: &str) -> Place {
    let place = Place::new();
    place.put("guest.wasm", fixtures::ping_pong());
    let expected = "[expect]\nresult = \"ok\"\n[expect.counts]\nglobal_states = 5\n";
    let scenario = format!("plugin = \"guest.wasm\"\nnodes = 2\n[strategy]\nalgo = \"bdfs\"\n{links}{expected}");
    place.put("s.toml", scenario);
    place
}

/// The command line overrides the file link by link, and settings of a link that hold anyway are left out.
#[test]
fn links_of_a_scenario_are_replaced_one_by_one() {
    let place = ping_pong("[[link]]\nbetween = [0, 1]\nnetwork = \"ordered\"\n");
    let links = |options: &[&str]| {
        let json = place.host(&[&["run", "s.toml", "--json"], options].concat()).exits(0).json();
        assert_eq!(json["unmet"], json!([]));
        assert_eq!(json["assumed"].get("links"), json["scenario"].get("links"));
        json["assumed"].get("links").cloned()
    };
    let (forth, back) = (link(0, 1, "ordered"), link(1, 0, "ordered"));
    assert_eq!(links(&[]), Some(json!([forth, back])));
    assert_eq!(links(&["--link", "0>1=unordered"]), Some(json!([back])));
    assert_eq!(links(&["--link", "0-1=unordered"]), None);
    assert_eq!(links(&["--network", "ordered"]), None);
    let own = link(1, 1, "unordered");
    assert_eq!(links(&["--network", "ordered", "--link", "1-1=unordered"]), Some(json!([own])));
    let passed = place.host(&["test", "s.toml"]).exits(0);
    assert!(passed.out.contains("1 passed, 0 failed"), "{passed:?}");
}

#[test]
fn what_is_wrong_with_a_link_is_named_with_file_and_line() {
    let check = |links: &str, words: &[&str]| ping_pong(links).host(&["run", "s.toml"]).exits(151).says(words);
    let link = |ends: &str, network: &str| format!("[[link]]\n{ends}\nnetwork = \"{network}\"\n");
    check(&link("between = [0, 2]", "ordered"), &["s.toml:6: ", "there is no node 2 in a cluster of 2"]);
    check(
        &link("between = [0, 1]", "telegraph"),
        &["s.toml:7: there is no network \"telegraph\"; there are: unordered"],
    );
    let both = link("between = [0, 1]", "ordered") + &link("from = 1\nto = 0", "unordered");
    check(&both, &["s.toml:9: the network from node 1 to node 0 is given twice"]);
    let one_way = link("from = 1\nto = 0", "ordered") + "[faults]\nbreaks = 1\n";
    check(&one_way, &["s.toml:10: `--breaks`: messages from node 1 to node 0 are ordered", "--link 1-0=KIND"]);
}

/// Instance 3 is the twin of node 1: settings of node 1 hold for both.
#[test]
fn twins_share_their_links() {
    let json = Place::new()
        .run_json("paxos", &["--twin", "1", "--link", "0-1=ordered", "--algo", "walk", "--walks", "1", "--depth", "5"]);
    let ways = [(0, 1), (0, 3), (1, 0), (3, 0)].map(|(from, to)| link(from, to, "ordered"));
    assert_eq!(json["assumed"]["links"], json!(ways));
}

/// A search with links that differ continues only with the same ones.
#[test]
fn a_checkpoint_keeps_its_links() {
    let mut place = Place { interrupted: Some(9), ..Place::new() };
    place.put("guest.wasm", fixtures::ping_pong());
    let search = ["guest.wasm", "--nodes", "2", "--algo", "bdfs", "--link", "0>1=unordered-duplicating", "--json"];
    let stopped = place.host(&[&["run"], &search[..], &["--checkpoint", "kept"]].concat()).exits(130).json();
    assert_eq!(stopped["end"], "interrupted");
    place.interrupted = None;
    let resumed = place.host(&["run", "--resume", "kept", "--json"]).exits(0).json();
    let whole = place.host(&[&["run"], &search[..]].concat()).exits(0).json();
    for what in ["result", "end", "scenario", "counts"] {
        assert_eq!(resumed[what], whole[what], "{what}");
    }
    assert_eq!(whole["scenario"]["links"], json!([link(0, 1, "unordered-duplicating")]));
    assert_eq!(whole["scenario"]["faults"], json!({ "duplicates": 1 }));
    place.host(&["run", "--resume", "kept", "--link", "0-1=ordered"]).exits(151);
}

/// A message that only an ordered link carries, with none, one or both of two links ordered: the limit is that of the link that carries it.
#[test]
fn the_longest_message_is_that_of_its_link() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::floods(1, 70_000));
    for (links, expected) in [
        (&[][..], Some("node 0")),
        (&["--link", "0>1=ordered"], Some("node 1")),
        (&["--link", "1>0=ordered"], Some("node 0")),
        (&["--link", "0-1=ordered"], None),
        (&["--network", "ordered", "--link", "0>1=unordered"], Some("node 0")),
        (&["--network", "ordered"], None),
    ] {
        let base = ["run", "guest.wasm", "--nodes", "2", "--algo", "bdfs", "--depth", "2", "--json", "--out", "found"];
        let ran = place.host(&[&base[..], links].concat());
        let json = ran.json();
        let Some(node) = expected else {
            assert!(ran.code != 14 && json["result"] != "violation", "{links:?}: {ran:?}");
            continue;
        };
        assert_eq!(ran.code, 14, "{links:?}: {ran:?}");
        let trace = std::fs::read_to_string(place.path("found/trace.json")).expect("the trace is there");
        let trace: Value = serde_json::from_str(&trace).expect("JSON");
        assert_eq!(format!("node {}", trace["finding"]["node"]), node, "{links:?}");
        let words = trace["finding"]["fault"]["message"].to_string();
        assert!(words.contains("a message of 70000 bytes, and a link without an order takes 61440 at most"), "{words}");
        place.host(&["replay", "found/trace.json", "--plugin", "guest.wasm"]).exits(14);
    }
}
