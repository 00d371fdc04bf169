//! Simulated kills that lose what a node has not synced.

use serde_json::Value;

use super::{Place, bundled, schema};

/// Kills while messages take about as long as elections.
const CONDITIONS: [&str; 8] = ["--time", "5s", "--latency", "1ms..400ms", "--churn", "300/m", "--seed", "0"];

/// Raft forgets the vote that it has not synced, or the entry; with the cluster that has the mistake.
const MISTAKES: [(&str, [&str; 2], &str); 2] = [
    ("forget-sync-votes", ["--set", "requests=0"], "election-safety"),
    ("forget-sync-entries", ["--set", "terms=2"], "leader-completeness"),
];

/// Runs of raft-kv; both mistakes exist on either network, and on ordered links nodes that ship show them.
fn simulated(place: &Place, (nodes, runs): (&[&str], &str), bug: &str, cluster: [&str; 2], exit: u8) -> Value {
    let words = ["simulate", bundled("raft-kv"), "--json", "--out", "found", "--runs", runs];
    let bug = format!("bug={bug}");
    let options = ["--", "--nodes", "3", "--set", &bug];
    let network = ["--network", if nodes.is_empty() { "unordered" } else { "ordered" }];
    place.host(&[&words[..], &CONDITIONS, nodes, &options, &cluster, &network].concat()).exits(exit).json()
}

/// Both in the model and by the nodes that ship. The trace of what is found has an outage, and replays.
#[test]
fn simulated_kills_show_what_is_not_synced() {
    for nodes in [&[][..], &["--runtime"]] {
        for (bug, cluster, property) in MISTAKES {
            let place = Place::new();
            let said = simulated(&place, (nodes, "2000"), bug, cluster, 12);
            let violation = &said["violation"];
            assert!(violation["finding"]["name"] == property && violation["confirmed"] == true, "{said}");
            place.host(&["replay", "found/trace.json", "--plugin", bundled("raft-kv")]).exits(12);
            let trace = std::fs::read(place.path("found/trace.json")).expect("it was written");
            let trace: Value = serde_json::from_slice(&trace).expect("JSON");
            assert_eq!(schema::misfits(&trace), [""; 0], "{bug}");
            let steps = trace["steps"].as_array().expect("a list").iter();
            let lost: Vec<&Value> = steps.filter(|step| step["event"]["kind"] == "outage").collect();
            assert!(lost.iter().any(|step| step["event"]["unsynced"].as_u64() > Some(0)), "{bug}: {trace}");
        }
    }
}

/// The correct protocol loses nothing that matters in thousands of runs with the same kills.
#[test]
fn simulated_kills_lose_nothing_that_is_synced() {
    for (nodes, runs) in [(&[][..], "5000"), (&["--runtime"], "1000")] {
        for (_, cluster, _) in MISTAKES {
            let said = simulated(&Place::new(), (nodes, runs), "none", cluster, 0);
            assert!(said["result"] == "no-violation" && said["resets"].as_u64() > Some(3_000), "{said}");
        }
    }
}

/// A mistake that no loss of the latest writes shows, and that the loss of others does: in a search; simulated runs of the correct
/// protocol have them as well.
#[test]
fn some_mistakes_need_writes_that_are_lost_in_another_order() {
    let place = Place::new();
    let options = ["--nodes", "2", "--set", "records=true", "--set", "bug=forget-sync-commits"];
    let run = ["run", bundled("raft-kv"), "--json", "--algo", "bdfs", "--outages", "1", "--out", "found"];
    let said = place.host(&[&run[..], &options].concat()).exits(0).json();
    assert_eq!((&said["end"], &said["assumed"]["outage_writes"]), (&"space-exhausted".into(), &Value::Null));
    let said = place.host(&[&run[..], &options, &["--outage-writes", "any"]].concat()).exits(12).json();
    assert_eq!(said["assumed"]["outage_writes"], "any");
    assert_eq!(said["violations"][0]["property"], "state-machine-safety", "{said}");
    let trace = std::fs::read(place.path("found/trace.json")).expect("it was written");
    let trace: Value = serde_json::from_slice(&trace).expect("JSON");
    assert_eq!(schema::misfits(&trace), [""; 0]);
    let steps = trace["steps"].as_array().expect("a list").iter();
    assert!(
        steps.map(|step| &step["event"]).any(|event| event["kind"] == "outage" && event["disk"].as_u64() > Some(0))
    );
    let replayed = place.host(&["replay", "found/trace.json", "--plugin", bundled("raft-kv")]).exits(12);
    assert!(replayed.out.contains("loses power and some unsynced entries (disk "), "{}", replayed.out);

    let simulate = ["simulate", bundled("raft-kv"), "--json", "--runs", "50"];
    let any = ["--", "--nodes", "2", "--set", "records=true", "--outage-writes", "any"];
    let said = place.host(&[&simulate[..], &CONDITIONS, &any].concat()).exits(0).json();
    assert!(said["result"] == "no-violation" && said["resets"].as_u64() > Some(50), "{said}");
}

/// Where outages lose no writes, or the disk is that of a node that ships, the option is refused.
#[test]
fn writes_in_another_order_need_outages_of_the_model() {
    let place = Place::new();
    let any = ["--outage-writes", "any"];
    let run = ["run", bundled("raft-kv")];
    place.host(&[&run[..], &any].concat()).exits(151).says(&["no node loses power", "give --outages N"]);
    place.host(&[&run[..], &any, &["--resets", "1"]].concat()).exits(151).says(&["no node loses power"]);
    let reduced = ["--outages", "1", "--algo", "bdfs", "--reduce"];
    place.host(&[&run[..], &any, &reduced].concat()).exits(151).says(&["interchangeable", "give --no-symmetry"]);
    place.host(&[&run[..], &any, &reduced, &["--no-symmetry", "--states", "100"]].concat()).exits(0);
    place.host(&[&run[..], &["--outage-writes", "some"]].concat()).exits(2);
    let plain = ["run", bundled("paxos"), "--outages", "1", "--outage-writes", "any"];
    place.host(&plain).exits(151).says(&["does not call `sync`"]);
    let simulate = ["simulate", bundled("raft-kv"), "--churn", "1/m"];
    place
        .host(&[&simulate[..], &["--runtime", "--"], &any].concat())
        .exits(151)
        .says(&["data file is a log", "give --model"]);
    let scenario = format!("plugin = {:?}\n[faults]\noutages = 1\noutage-writes = \"some\"\n", bundled("raft-kv"));
    std::fs::write(place.path("wrong.toml"), scenario).expect("a new file");
    place.host(&["run", "wrong.toml"]).exits(151).says(&["wrong.toml", "4", "outage-writes"]);
}

/// Either budget bounds the restarts of a node that calls `sync`; both at once are refused.
#[test]
fn restarts_of_simulated_nodes_stay_within_their_budget() {
    let of = |options: &[&str]| {
        let words = ["simulate", bundled("raft-kv"), "--json", "--runs", "5", "--time", "20s", "--churn", "60/m"];
        let said = Place::new().host(&[&words[..], options].concat()).exits(0).json();
        said["resets"].as_u64().expect("a count")
    };
    for nodes in [&["--model"][..], &["--runtime"]] {
        let [resets, outages, free] = [&["--resets", "1"][..], &["--outages", "1"], &[]]
            .map(|budget| of(&[nodes, &["--", "--nodes", "3", "--set", "terms=0"], budget].concat()));
        assert!(0 < resets && resets == outages && resets <= 15 && free > 30, "{resets}, {outages} and {free}");
    }
    let words = ["simulate", bundled("raft-kv"), "--churn", "1/m", "--", "--resets", "1", "--outages", "1"];
    Place::new().host(&words).exits(151).says(&["bound the same restarts", "give one of them"]);
    let words = ["simulate", bundled("paxos"), "--churn", "1/m", "--", "--outages", "1"];
    Place::new().host(&words).exits(151).says(&["does not call `sync`", "use --resets"]);
}
