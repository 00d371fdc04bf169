//! Starts of nodes: their ends, their peers, and their knowledge of earlier starts.

use host_live::checkpoint::Durable;
use host_live::node::Record;
use host_live_net::{Disk, Owner, Ways};
use host_model::contract::{FaultKind, WrittenKeys};
use host_sandbox::fixtures::{self, Guest};

use super::client::ask_until_told;
use super::cluster::{Cluster, addresses, plugin};
use super::judge::{Operation, Outcome};
use super::watched::{put, wait};
use crate::cli::printed::Desk;
use crate::cli::{Place, bundled};

/// Two nodes of a plugin, with the lines in between.
fn two(plugin: &str, lines: &str) -> String {
    let node = |number| format!("[[node]]\naddress = \"127.0.0.1:{}\"\n", 7_101 + number);
    format!("plugin = {plugin:?}\nnetwork = \"ordered\"\n{lines}\n{}{}", node(0), node(1))
}

/// A node that cannot take its first step ends with 14, and reports the failed call, the limit that it hit, the setting and the remedy.
#[test]
fn a_start_that_fails_names_the_call_the_limit_and_the_remedy() {
    let place = Place::new();
    for (name, component) in [
        ("init.wasm", fixtures::loops_in("init")),
        ("serialize.wasm", fixtures::loops_in("serialize")),
        ("events.wasm", fixtures::loops_in("local-events")),
        ("trap.wasm", fixtures::traps_in_init()),
    ] {
        place.put(name, component);
        place.put(&format!("{name}.toml"), two(name, &format!("data = {:?}", format!("of {name}"))));
    }
    let fails = |name: &str, said: &[&str]| {
        let file = format!("{name}.toml");
        let words = ["live", "node", &file, "--id", "0", "--quiet", "--limit", "fuel=100000"];
        place.host(&words).exits(14).says(said);
    };
    let remedy = ["raise `fuel` under `[limits]` in the file of the cluster", "--limit fuel=N"];
    for (name, call) in [("init.wasm", "init"), ("serialize.wasm", "serialize"), ("events.wasm", "local-events")] {
        let what = format!("node 0: `{call}` does not end within 100000 units of fuel");
        fails(name, &[&what, remedy[0], remedy[1]]);
    }
    fails("trap.wasm", &["node 0: `init` trapped: ", "a trap is a defect of the plugin"]);
}

/// A parameter that sets the length of messages is refused at the start if no message may be so long, by `up` and `node`, before any
/// data exists; `doctor` reports it as well. The longest allowed value is accepted.
#[test]
fn messages_that_may_not_be_so_long_are_refused_at_the_start() {
    let place = Place::new();
    let store = bundled("raft-kv");
    let cases = [
        (
            "piece = 1_044_481",
            "",
            "the limit `message` is 1048576 bytes",
            "`piece = 1044480` or less, or raise the limit",
        ),
        (
            "",
            "message = \"50KiB\"",
            "`piece = 49152`: the limit `message` is 51200 bytes",
            "`message = 53248` under `[limits]`",
        ),
        (
            "piece = 57_345",
            "#unordered",
            "a message on links that are unordered has at most 61440 bytes",
            "`piece = 57344` or less",
        ),
    ];
    for (parameter, limit, what, remedy) in cases {
        let text = two(store, &format!("[parameters]\nterms = 0\n{parameter}\n[limits]\n{limit}"));
        place.put("c.toml", if limit == "#unordered" { text.replace("\"ordered\"", "\"unordered\"") } else { text });
        for command in [&["live", "up", "c.toml"][..], &["live", "node", "c.toml", "--id", "0"]] {
            place.host(command).exits(151).says(&["c.toml: ", what, remedy]);
        }
    }
    assert!(!place.list().iter().any(|name| name.starts_with("data")));
    let said = |set: &str| place.host(&["doctor", store, "--set", set]).exits(0).out;
    // By default, links of this plugin have no order.
    assert!(
        said("piece=57345").contains("`piece = 57345`: a message on links that are unordered has at most 61440 bytes")
    );
    assert!(!said("piece=49152").contains("`piece = "));
}

/// Two clusters of the same plugin, size and parameters, on each other's addresses: by their names they refuse each other, and report that.
/// They also refuse the disk of a node of the other cluster.
#[test]
fn clusters_with_other_names_refuse_each_other() {
    let parameters = "terms = 0\nkept = 20\nheartbeats = true\n";
    let (mut nodes, cluster) = Cluster::start_of(&format!("{}name = \"east\"\n", plugin()), "ordered", parameters, "");
    assert_eq!(ask_until_told(cluster.clients(), &put("value")), Outcome::Done);
    wait("node 1 hears nothing", || cluster.counted(1, "messages_total") > Some(0.0));
    nodes.kill(1);
    nodes.edit(1, "name = \"east\"", "name = \"west\"");
    let place = Place::new();
    let refused = place.host(&["live", "node", &nodes.cluster_file(1), "--id", "1", "--quiet"]).exits(151);
    refused.says(&["a cluster with the name \"east\", not \"west\"", "`--take-data`"]);
    nodes.edit(1, "name = \"west\"", "name = \"west\"\ndata = \"west\"");
    nodes.start(1);
    let refused = |node| cluster.counted(node, "frames_refused_total{reason=\"cluster\"}");
    wait("node 1 refuses nothing", || refused(1) > Some(0.0));
    wait("no node refuses node 1", || [0, 2].into_iter().any(|node| refused(node) > Some(0.0)));
    assert_eq!(cluster.counted(1, "messages_total"), Some(0.0));
    assert!(nodes.lines("it is from another cluster: another name, ").len() > 1);
}

/// All nodes end, and the whole data of one is gone, with the lock; it starts more often than before while no other node runs. By their
/// disks the others refuse it and report why; its next start is refused with the remedy, by which it joins the cluster again.
#[test]
fn data_that_is_lost_is_noticed_after_all_nodes_have_started_again() {
    let (mut nodes, cluster) = Cluster::start_with("ordered", "none", "");
    assert_eq!(ask_until_told(cluster.clients(), &put("value")), Outcome::Done);
    nodes.kill(1);
    nodes.start(1);
    // Without node 2, each of these needs both others: node 0 hears of the second start, and has it on disk with the second one.
    nodes.kill(2);
    for value in ["other", "another"] {
        assert_eq!(ask_until_told(cluster.clients(), &put(value)), Outcome::Done);
    }
    (0..2).for_each(|node| nodes.kill(node));
    for name in ["node-1.disk", "node-1.lock"] {
        std::fs::remove_file(nodes.file(name)).expect("it is there");
    }
    for _ in 0..2 {
        nodes.start(1);
        wait("node 1 does not start", || cluster.counted(1, "messages_total").is_some());
        nodes.kill(1);
    }
    (0..2).for_each(|node| nodes.start(node));
    let told = "node 1 has refused a frame: other nodes know this node by another data file";
    wait("node 1 does not hear of it", || !nodes.lines(told).is_empty());
    nodes.kill(1);
    let again = Place::new().host(&["live", "node", &nodes.cluster_file(1), "--id", "1", "--quiet"]).exits(151);
    again.says(&["`--rejoin`"]);
    nodes.start_with(1, " --rejoin");
    nodes.start(2);
    wait("node 1 hears nothing", || cluster.counted(1, "messages_total") > Some(0.0));
    assert_eq!(ask_until_told(cluster.clients(), &put("last")), Outcome::Done);
}

/// Two clusters without a `name` over UDP, each started by `up`: their random names distinguish them, also for a node that may rejoin. A
/// second `up` draws no other name, and ends. A name in the file is another one, and the data is
/// taken over by `--take-data`, by all nodes at once.
#[test]
fn clusters_without_a_name_draw_one() {
    let Some(desk) = Desk::new() else { return };
    desk.component("raft-kv");
    let all = addresses(9);
    let node = |of: usize, at: usize| {
        let (own, clients, metrics) = (all[of], all[at + 3], all[at + 6]);
        format!("[[node]]\naddress = \"{own}\"\nclients = \"{clients}\"\nmetrics = \"{metrics}\"\n")
    };
    let write = |file: &str, head: &str| {
        let head = format!("plugin = \"raft-kv.wasm\"\nnetwork = \"unordered\"\n{head}\n");
        let parameters = "[parameters]\nterms = 0\nkept = 20\nheartbeats = true\n";
        desk.put(file, format!("{head}{parameters}{}{}{}", node(0, 0), node(1, 1), node(2, 2)));
    };
    write("east.toml", "data = \"east\"");
    write("west.toml", "data = \"west\"");
    let name = |folder: &str| desk.read(&format!("{folder}/cluster-name"));
    let get = || ask_until_told(&all[3..6], &Operation::Get("key".into()));
    let kept = Outcome::Value(Some(b"kept".to_vec()));
    let up = desk.starts("host live up west.toml --quiet 2> west.txt");
    assert_eq!(ask_until_told(&all[3..6], &put("other")), Outcome::Done);
    drop(up);
    let up = desk.starts("host live up east.toml --quiet 2> first.txt");
    assert_eq!(ask_until_told(&all[3..6], &put("kept")), Outcome::Done);
    let drawn = name("east");
    let second = desk.types("host live up east.toml --quiet --no-restart");
    assert_eq!((second.status.success(), name("east")), (false, drawn.clone()), "{second:?}");
    assert_eq!(get(), kept);
    drop(up);
    // Started again one by one, they have the same name; node 2 is one of the other cluster, at an address of this one.
    let node = |file: &str, id: u32, words: &str| {
        desk.starts(&format!("host live node {file}.toml --id {id} --quiet {words} 2> {file}-{id}.txt"))
    };
    let nodes = [node("east", 0, ""), node("east", 1, "--rejoin"), node("west", 2, "")];
    assert_eq!(get(), kept);
    let said = || ["east-0.txt", "east-1.txt", "west-2.txt"].map(|file| desk.read(file)).concat();
    wait("the clusters do not refuse each other", || said().contains("it is from another cluster: another name, "));
    assert!(drawn.starts_with("drawn-") && drawn == name("east") && drawn != name("west"));
    drop(nodes);
    // With a name of its own it is another cluster, and all of its nodes take the data over.
    write("east.toml", "data = \"east\"\nname = \"east\"");
    let refused = desk.types("host live up east.toml --quiet");
    assert_eq!(refused.status.code(), Some(151), "{refused:?}");
    let words = format!("a cluster with the name \"{}\", not \"east\"", drawn.trim_end());
    assert!(String::from_utf8_lossy(&refused.stderr).contains(&words), "{words}: {refused:?}");
    let up = desk.starts("host live up east.toml --quiet --take-data 2> second.txt");
    assert_eq!(get(), kept);
    drop(up);
    // An invalid name is refused, with the remedy.
    write("west.toml", "data = \"west\"");
    desk.put("west/cluster-name", "\n");
    let refused = desk.types("host live up west.toml --quiet");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("holds no name of a cluster"), "{refused:?}");
}

/// `up` hands `--take-data` to its nodes: without it they refuse the data of another cluster, and all end.
#[test]
fn a_cluster_takes_data_over_as_a_whole() {
    let Some(desk) = Desk::new() else { return };
    desk.component("raft-kv");
    let all = addresses(6);
    let node = |at: usize| format!("[[node]]\naddress = \"{}\"\nclients = \"{}\"\n", all[at], all[at + 3]);
    let write = |kept: u32| {
        let head = "plugin = \"raft-kv.wasm\"\nnetwork = \"ordered\"\n";
        let parameters = format!("[parameters]\nterms = 0\nkept = {kept}\nheartbeats = true\n");
        desk.put("cluster.toml", format!("{head}{parameters}{}{}{}", node(0), node(1), node(2)));
    };
    write(20);
    let up = desk.starts("host live up cluster.toml --quiet 2> first.txt");
    assert_eq!(ask_until_told(&all[3..], &put("kept")), Outcome::Done);
    drop(up);
    write(21);
    let refused = desk.types("host live up cluster.toml --quiet");
    assert_eq!(refused.status.code(), Some(151), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("`--take-data`"), "{refused:?}");
    let up = desk.starts("host live up cluster.toml --quiet --take-data 2> second.txt");
    let read = ask_until_told(&all[3..], &Operation::Get("key".into()));
    assert_eq!(read, Outcome::Value(Some(b"kept".to_vec())));
    drop(up);
}

/// A table that a handler writes is an error of the platform where a node runs, as it is in a search.
#[test]
fn a_late_write_to_a_table_ends_a_node_as_it_ends_a_search() {
    let Some(desk) = Desk::new() else { return };
    desk.put("late.wasm", fixtures::writes_table_by_table());
    let node = |address| format!("[[node]]\naddress = \"{address}\"\n");
    let nodes: String = addresses(2).into_iter().map(node).collect();
    desk.put("c.toml", format!("plugin = \"late.wasm\"\nnetwork = \"ordered\"\n{nodes}"));
    let ended = desk.types("timeout 300 host live node c.toml --id 0 --quiet");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(said.contains("node 0: `handle-local` ran `table.set` after start-up"), "{ended:?}");
    assert_eq!(ended.status.code(), Some(150), "{said}");
}

/// Guests that end a node by a fault of this kind, with words of its message: at the start for a limit, as a handler that hits one later
/// is undone.
fn ends_by(kind: FaultKind) -> Vec<(&'static str, Vec<u8>)> {
    let init = |init: &str, memory: &str| {
        Guest { init: init.to_owned(), memory: memory.to_owned(), ..Guest::default() }.component()
    };
    match kind {
        FaultKind::Trap => vec![
            ("init", fixtures::traps_in_init()),
            ("handle-local", fixtures::traps()),
            ("handle-local", fixtures::panics()),
            ("handle-local", fixtures::reads_past_the_end()),
        ],
        FaultKind::Divergence => {
            ["init", "serialize", "local-events"].map(|function| (function, fixtures::loops_in(function))).into()
        }
        FaultKind::MemoryLimit => {
            let bomb = "(loop $again (br_if $again (i32.ne (memory.grow (i32.const 64)) (i32.const -1)))) unreachable";
            vec![("init", init(bomb, "1"))]
        }
        FaultKind::OutputLimit => vec![("serialize", fixtures::huge_output())],
        FaultKind::Malformed => vec![
            ("local-events", fixtures::malformed_string()),
            ("local-events", fixtures::malformed_enum()),
            ("serialize", fixtures::list_out_of_bounds()),
            ("sends a message to node 7", fixtures::wrong_node()),
        ],
        FaultKind::Choose => {
            vec![
                ("serialize", fixtures::chooses_in_serialize()),
                ("calls `choose` with no alternative", fixtures::chooses_from_nothing()),
            ]
        }
        FaultKind::Refused => vec![("init", fixtures::refuses_config())],
        FaultKind::Platform => vec![("handle-local", fixtures::writes_table_by_table())],
    }
}

/// For any fault of the plugin, a node and a search end with the same code.
#[test]
fn every_fault_ends_a_node_as_it_ends_a_search() {
    let Some(desk) = Desk::new() else { return };
    let limit = "--limit fuel=100000";
    let kinds = [
        FaultKind::Trap,
        FaultKind::Divergence,
        FaultKind::MemoryLimit,
        FaultKind::OutputLimit,
        FaultKind::Malformed,
        FaultKind::Choose,
        FaultKind::Refused,
        FaultKind::Platform,
    ];
    for kind in kinds {
        for (number, (name, component)) in ends_by(kind).into_iter().enumerate() {
            let case = format!("{kind:?} {number} with `{name}`");
            desk.put("x.wasm", component);
            let searched = desk.types(&format!("host run x.wasm --nodes 2 --algo bdfs --quiet {limit} --out found"));
            let said = String::from_utf8_lossy(&[&searched.stdout[..], &searched.stderr].concat()).into_owned();
            assert!(said.contains(name), "{case}: {said}");
            let node = |address| format!("[[node]]\naddress = \"{address}\"\n");
            let nodes: String = addresses(2).into_iter().map(node).collect();
            let data = format!("data = \"data of {case}\"\n").replace('`', "");
            desk.put("c.toml", format!("plugin = \"x.wasm\"\nnetwork = \"ordered\"\n{data}{nodes}"));
            let ended = desk.types(&format!("timeout 300 host live node c.toml --id 0 --quiet {limit}"));
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert!(said.contains("node 0: ") && said.contains(name), "{case}: {said}");
            let expected = match kind {
                FaultKind::Platform => 150,
                FaultKind::Refused => 151,
                _ => 14,
            };
            assert_eq!(
                (ended.status.code(), searched.status.code()),
                (Some(expected), Some(expected)),
                "{case}: {said}"
            );
        }
    }
}

/// Nodes with the data of a version that kept all of it as bytes find it, and keep it in their maps: also after a kill, without those bytes.
#[test]
fn data_of_a_version_without_a_map_moves_to_the_map() {
    let (mut nodes, cluster) = Cluster::start_with("ordered", "none", "");
    assert_eq!(ask_until_told(cluster.clients(), &put("value")), Outcome::Done);
    (0..3).for_each(|node| nodes.kill(node));
    // A term and no vote; an empty log behind entry 5 of term 2, all of it committed; a key with its value; no requests, and no history.
    let protocol = [&[2, 0, 2, 5, 0, 5, 1, 5][..], b"color", &[4], b"blue", &[0, 0]].concat();
    let [plugin, digest, network] = ["raft-kv", "0123", "ordered"].map(str::to_owned);
    for node in 0..3 {
        let [disk, lock] = ["disk", "lock"].map(|kind| nodes.file(&format!("node-{node}.{kind}")));
        [&disk, &lock].into_iter().for_each(|file| std::fs::remove_file(file).expect("it is there"));
        let (plugin, digest, network) = (plugin.clone(), digest.clone(), network.clone());
        let owner = Owner { node, plugin, digest, nodes: 3, config: String::new(), network, name: String::new() };
        let (mut file, _) = Disk::open(&disk, &owner, Ways::default()).expect("it is new");
        let (peers, disks, map) = Default::default();
        let numbers = Durable { incarnation: 1, reserved: 1 };
        let record = Record { numbers, protocol: Some(protocol.clone()), peers, disks, map };
        file.write(&record, &WrittenKeys::default()).expect("there is room");
    }
    let color = Operation::Get("color".to_owned());
    for words in [" --take-data", ""] {
        (0..3).for_each(|node| nodes.start_with(node, words));
        assert_eq!(ask_until_told(cluster.clients(), &color), Outcome::Value(Some(b"blue".to_vec())), "{words}");
        (0..3).for_each(|node| nodes.kill(node));
    }
}
