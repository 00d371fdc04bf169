//! Clusters whose checkers steer the nodes.

use std::time::{Duration, Instant};

use host_sandbox::fixtures;

use super::client::{ask, ask_until_told};
use super::cluster::{Cluster, Nodes, plugin};
use super::judge::{Answer, Judge, Operation, Outcome};
use super::watched::{put, wait};
use crate::cli::{Place, folder};

/// The patience of the store: an election follows after 1.5 to 3 s.
const PATIENCE: u32 = 10;

fn get() -> Operation {
    Operation::Get("key".into())
}

/// The time until all running nodes know the committed entries, also with lost datagrams: four heartbeats of 50 ms, per unit of patience.
const HEARTBEATS: Duration = Duration::from_millis(200);

/// Rounds within which the node that is behind is almost surely the first to stand for election once.
const ROUNDS_MAX: u32 = 20;

/// A cluster in which a node that is behind can become the leader.
struct Trial {
    nodes: Nodes,
    cluster: Cluster,
    judge: Judge,
    heartbeats: Duration,
    round: u32,
    /// Events that steering prevented.
    kept: f64,
    /// The latency of the last answer that shows whether a write is lost.
    took: Duration,
}

impl Trial {
    /// With the bug that a node votes for any candidate.
    fn new(network: &str, patience: u32, words: &'static str) -> Self {
        let parameters = format!("bug = \"no-log-check\"\nrequests = 0\npatience = {patience}\n");
        let (nodes, cluster) = Cluster::start_as(network, &parameters, words);
        Self::of(nodes, cluster, patience)
    }

    fn of(nodes: Nodes, cluster: Cluster, patience: u32) -> Self {
        Self {
            nodes,
            cluster,
            judge: Judge::default(),
            heartbeats: HEARTBEATS * patience,
            round: 0,
            kept: 0.0,
            took: Duration::ZERO,
        }
    }

    /// The outcome of an operation.
    fn told(&mut self, operation: &Operation) -> Outcome {
        self.told_or(operation, |_| false).expect("nothing ends it")
    }

    /// The outcome of an operation; none if `ends` holds first.
    fn told_or(&mut self, operation: &Operation, ends: impl Fn(&Nodes) -> bool) -> Option<Outcome> {
        let (begun, mut node) = (Instant::now(), 0);
        while !ends(&self.nodes) {
            let call = self.judge.call(operation.clone());
            let answer = ask(self.cluster.clients(), &mut node, operation);
            self.judge.told(call, answer.clone());
            if let Answer::Outcome(outcome) = answer {
                return Some(outcome);
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "no node answers {operation:?}");
            node = (node + 1) % 3;
            std::thread::sleep(Duration::from_millis(50));
        }
        None
    }

    /// Whether a write is lost. One node misses a write that the others have. They are killed, and that node and another one with the write
    /// are started: one of the two stands for election first. If it is the node that is behind, the other one votes for it.
    fn loses_a_write(&mut self) -> bool {
        self.round += 1;
        let value = self.round.to_string();
        self.told(&put("old"));
        let mut leader = 0;
        wait("no node leads", || matches!(ask(self.cluster.clients(), &mut leader, &get()), Answer::Outcome(_)));
        std::thread::sleep(self.heartbeats);
        let (behind, other) = ((leader + 1) % 3, (leader + 2) % 3);
        self.nodes.kill(behind);
        self.told(&put(&value));
        std::thread::sleep(self.heartbeats);
        self.nodes.kill(leader);
        self.nodes.kill(other);
        self.nodes.start(behind);
        self.nodes.start(other);
        let sees = |nodes: &Nodes| !nodes.lines(" sees that ").is_empty();
        let begun = Instant::now();
        let outcome = self.told_or(&get(), sees);
        self.took = begun.elapsed();
        self.kept += ["filtered_total", "discarded_total", "foreseen_total"]
            .map(|name| self.cluster.counted_by_all(name))
            .iter()
            .sum::<f64>();
        self.nodes.start(leader);
        outcome != Some(Outcome::Value(Some(value.into_bytes())))
    }
}

#[test]
fn a_write_is_lost_with_a_leader_that_is_behind() {
    let mut trial = Trial::new("unordered", PATIENCE, " --watch observe --every 200ms --share 100%");
    assert!((0..ROUNDS_MAX).any(|_| trial.loses_a_write()));
}

/// The node that is behind does not stand for election, or the vote for it is dropped, so the other one leads. Ends once two events were
/// prevented; the error is the round in which a write is lost.
fn keeps_writes(network: &str, patience: u32) -> Result<(), u32> {
    let mut trial = Trial::new(network, patience, " --watch steer --every 200ms --share 100% --round-time 1m");
    while trial.kept < 2.0 {
        assert!(trial.round < ROUNDS_MAX, "{} after {} rounds", trial.kept, trial.round);
        if trial.loses_a_write() {
            return Err(trial.round);
        }
        trial.told(&put("new"));
        assert_eq!(trial.told(&get()), Outcome::Value(Some(b"new".to_vec())));
    }
    let told = trial.judge.verdict().unwrap_or_else(|why| panic!("{why}"));
    assert!(told.answered >= 5 * trial.round as usize, "{told:?}");
    let predicted = trial.nodes.lines("predicts that leader-completeness is violated");
    assert!(predicted.iter().any(|line| line.contains(", and filters events of ")), "{predicted:?}");
    assert_eq!(trial.nodes.lines(" sees that "), Vec::<String>::new());
    Ok(())
}

/// Steering prevents violations that checkers predict in time. Checkers are slow on a busy machine, so there timers are longer.
fn no_write_is_lost(network: &str) {
    let lost: Vec<u32> = [1, 2, 4].iter().map_while(|times| keeps_writes(network, times * PATIENCE).err()).collect();
    assert!(lost.len() < 3, "in rounds {lost:?}");
}

/// The parameters of the bundled cluster file, with the bug.
fn shipped() -> String {
    let text = std::fs::read_to_string(folder("raft-kv").join("cluster.toml")).expect("it ships");
    let (_, behind) = text.split_once("[parameters]\n").expect("it has some");
    let parameters = behind.split("\n\n").next().expect("there is a part");
    assert!(parameters.contains("pre-vote = true") && parameters.contains("steps-down = true"), "{parameters}");
    format!("{parameters}\nbug = \"no-log-check\"\n")
}

/// Networks and options of checkers, the rows of a table.
const SHIPPED_ROWS: [(&str, &str); 8] = [
    ("ordered", " --watch observe"),
    ("ordered", " --watch steer"),
    ("ordered", " --watch steer --break-connections"),
    ("ordered", " --watch steer --break-connections --share 100%"),
    ("unordered", " --watch observe"),
    ("unordered", " --watch steer"),
    ("unordered", " --watch steer --hold"),
    ("unordered", " --watch steer --hold --share 100%"),
];

/// The results of the clusters of a row.
#[derive(Default)]
struct Tried {
    lost: usize,
    took: Vec<Duration>,
    kept: f64,
    suspended: f64,
}

/// The number of clusters that lose the write, with the bundled parameters, timers and options: a table for docs/steering.md. The rows take
/// turns, so that each has the same load.
#[test]
#[ignore = "it measures, for minutes; HOST_STEERING_TRIES=20 says how many clusters of each row, HOST_STEERING=ordered which rows"]
#[expect(clippy::print_stderr, reason = "a measurement is for people")]
fn what_steering_does_at_shipped_timers() {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let (tries, only): (usize, String) =
        (variable("HOST_STEERING_TRIES").parse().unwrap_or(3), variable("HOST_STEERING"));
    let rows = SHIPPED_ROWS.iter().filter(|(network, words)| format!("{network}{words}").contains(&only));
    let mut rows: Vec<(&(&str, &str), Tried)> = rows.map(|row| (row, Tried::default())).collect();
    for turn in 0..tries {
        for ((network, words), tried) in &mut rows {
            let (nodes, cluster) = Cluster::start_of(&plugin(), network, &shipped(), words);
            let mut trial = Trial::of(nodes, cluster, 1);
            let is_lost = trial.loses_a_write();
            tried.lost += usize::from(is_lost);
            tried.took.push(trial.took);
            tried.kept += trial.kept;
            tried.suspended += trial.cluster.counted_by_all("steering_suspensions_total");
            let lines = if is_lost { trial.nodes.lines("") } else { Vec::new() };
            eprintln!("  {turn} {network}{words}: lost {is_lost}, {:?}, kept {}, {lines:#?}", trial.took, trial.kept);
        }
    }
    for ((network, words), Tried { lost, mut took, kept, suspended }) in rows {
        took.sort();
        let (half, most) = (took[tries / 2], took[tries - 1]);
        eprintln!(
            "| {network} | `{}` | {lost} of {tries} | {half:.1?} | {most:.1?} | {kept} | {suspended} |",
            words.trim()
        );
    }
}

/// The predictions of a checker arm its node at the next start, over connections with TLS, before the node knows the states of the others;
/// with `steering-off` in the data folder they do not.
#[test]
fn what_was_predicted_arms_a_node_at_its_next_start() {
    let mut trial = Trial::new("encrypted", PATIENCE, " --watch observe --every 200ms --share 100%");
    let has_predicted = |nodes: &Nodes| !nodes.lines(" predicts that leader-completeness is violated").is_empty();
    while !has_predicted(&trial.nodes) {
        assert!(trial.round < ROUNDS_MAX, "nothing is predicted");
        trial.loses_a_write();
    }
    let Trial { mut nodes, cluster, .. } = trial;
    (0..3).for_each(|node| nodes.kill(node));
    // Each node has the paths that any of them has kept, and no snapshot of the others.
    let mut armed = |node, is_off: bool| {
        let switch = nodes.file("steering-off");
        if is_off {
            std::fs::write(&switch, "").expect("writable");
        }
        nodes.start_with(node, " --watch steer --every 10m");
        let is_there = Some(if is_off { 0.0 } else { 1.0 });
        wait("it does not run", || cluster.counted(node, "steering_active") == is_there);
        let filters = cluster.counted(node, "filters");
        nodes.kill(node);
        if is_off {
            std::fs::remove_file(&switch).expect("it is there");
        }
        filters
    };
    let is_armed: Vec<bool> = (0..3).map(|node| armed(node, false) > Some(0.0)).collect();
    assert!(is_armed.contains(&true), "{is_armed:?}");
    assert_eq!([0, 1, 2].map(|node| armed(node, true)), [Some(0.0); 3]);
    (0..3).for_each(|node| nodes.start_with(node, ""));
}

#[test]
fn a_steered_store_loses_no_write_over_datagrams() {
    no_write_is_lost("unordered");
}

#[test]
fn a_steered_store_loses_no_write_over_connections() {
    no_write_is_lost("ordered");
}

/// Killing a node cannot be refused, and its durable state is wrong then: the checkers report that they can do nothing. With the file that
/// ends steering, nodes are not steered from the start.
#[test]
fn what_a_kill_does_cannot_be_filtered() {
    let (mut nodes, cluster) =
        Cluster::start_with("ordered", "forget-store", " --watch steer --every 200ms --share 100% --round-time 1m");
    assert_eq!(ask_until_told(cluster.clients(), &put("value")), Outcome::Done);
    wait("no node predicts it", || {
        let lines = nodes.lines("predicts that state-machine-safety is violated");
        lines.iter().any(|line| line.contains(", and can do nothing about it"))
    });
    wait("no node counts it", || cluster.counted_by_all("steering_unhelpful_total") > 0.0);
    nodes.kill(0);
    std::fs::write(nodes.file("steering-off"), "").expect("writable");
    let active = |node| cluster.counted(node, "steering_active");
    wait("a node still steers", || [1, 2].map(active) == [Some(0.0); 2]);
    nodes.start(0);
    wait("no node sees it", || !nodes.lines(" sees that ").is_empty());
    assert_eq!(active(0), Some(0.0));
}

/// Each refusal for all nodes together and for one.
#[test]
fn clusters_that_cannot_be_watched_or_steered_are_refused() {
    let place = Place::new();
    place.put("guest.wasm", fixtures::ping_pong());
    place.put("silent.wasm", fixtures::growing());
    let node = |number| format!("[[node]]\naddress = \"127.0.0.1:{}\"\n", 7_101 + number);
    let cluster = |head: &str, nodes| head.to_owned() + "\n" + &(0..nodes).map(node).collect::<String>();
    place.put("one.toml", cluster("plugin = \"guest.wasm\"", 1));
    place.put("two.toml", cluster("plugin = \"guest.wasm\"", 2));
    place.put("twice.toml", cluster("plugin = \"guest.wasm\"\nnetwork = \"unordered-duplicating\"", 2));
    place.put("ordered.toml", cluster("plugin = \"guest.wasm\"\nnetwork = \"ordered\"", 2));
    place.put("silent.toml", cluster("plugin = \"silent.wasm\"", 2));
    let cases: [(&str, &[&str], u8, &str); 27] = [
        ("one", &["--watch", "observe"], 151, "`--watch` is for clusters of at least two nodes"),
        ("one", &["--watch", "steer"], 151, "`--watch` is for clusters of at least two nodes"),
        (
            "two",
            &["--watch", "observe", "--every", "49ms"],
            151,
            "`--every 49ms`: between two snapshots are at least 50ms",
        ),
        ("two", &["--watch", "steer", "--every", "49.9ms"], 151, "between two snapshots are at least 50ms"),
        ("two", &["--watch", "steer", "--every", "0s"], 2, "expected a time more than zero with a unit"),
        ("two", &["--watch", "steer", "--every", "5"], 2, "expected a time more than zero with a unit"),
        ("two", &["--watch", "steer", "--every", "-1s"], 2, "-1"),
        ("two", &["--every", "1s"], 2, "--watch <MODE>"),
        ("two", &["--round-time", "1s"], 2, "--watch <MODE>"),
        (
            "two",
            &["--watch", "observe", "--round-time", "9.5ms"],
            151,
            "`--round-time 9.5ms`: a round takes 10ms at least",
        ),
        ("two", &["--watch", "steer", "--round-time", "0s"], 2, "expected a time more than zero with a unit"),
        ("two", &["--share", "50%"], 2, "--watch <MODE>"),
        ("two", &["--watch", "observe", "--share", "0%"], 151, "`--share 0%`: a checker that never works"),
        ("two", &["--watch", "steer", "--share", "101%"], 2, "expected 0% to 100%"),
        ("two", &["--bandwidth", "1MB"], 2, "--watch <MODE>"),
        ("two", &["--watch", "observe", "--bandwidth", "0MB"], 2, "expected a size more than zero with a unit"),
        ("two", &["--watch", "observe", "--bandwidth", "1"], 2, "expected a size more than zero with a unit"),
        ("two", &["--hold"], 2, "--watch <MODE>"),
        ("two", &["--watch", "observe", "--hold"], 151, "`--hold` is for nodes that are steered"),
        ("ordered", &["--watch", "steer", "--hold"], 151, "on a link with an order a message cannot be lost"),
        ("ordered", &["--break-connections"], 2, "--watch <MODE>"),
        (
            "ordered",
            &["--watch", "observe", "--break-connections"],
            151,
            "`--break-connections` is for nodes that are steered",
        ),
        (
            "two",
            &["--watch", "steer", "--break-connections"],
            151,
            "on links without an order there are no connections",
        ),
        ("two", &["--watch", "drive"], 2, "[possible values: observe, steer]"),
        ("twice", &["--watch", "observe"], 151, "does not follow messages that are delivered twice"),
        ("twice", &["--watch", "steer"], 151, "does not follow messages that are delivered twice"),
        ("silent", &["--watch", "steer"], 151, "has no property that is to hold always"),
    ];
    for (name, words, code, said) in cases {
        let file = format!("{name}.toml");
        for command in [&["live", "up", &file][..], &["live", "node", &file, "--id", "0"]] {
            let ran = place.host(&[command, words].concat()).exits(code);
            assert!(ran.err.contains(said), "no {said:?} in {ran:?}");
        }
    }
    let left = place.list();
    assert!(!left.iter().any(|name| name.starts_with("data")), "{left:?}");
}
