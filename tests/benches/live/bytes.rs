//! The length of checkpoints, compared with the figures of the thesis, which are for compressed ones.

use host_live::gate::Open;
use host_model::scenario::{Network, Scenario};
use host_sandbox::{Plugin, Sandbox, SandboxConfig};

use crate::component;
use crate::memory::Cluster;
use crate::tables::{at, median};

/// Events between two snapshots.
const EVENTS: u64 = 50;
const SNAPSHOTS: u64 = 20;

/// Plugin, nodes, parameters, network, and the figure of the thesis.
type Row = (&'static str, u32, &'static [(&'static str, &'static str)], Network, &'static str);

const ROWS: [Row; 5] = [
    ("rand-tree", 6, &[], Network::Ordered, "176"),
    ("chord", 6, &[], Network::Ordered, "1,028"),
    ("bullet-prime", 6, &[("blocks", "16"), ("mesh", "full")], Network::Ordered, "3,000"),
    ("paxos", 3, &[("proposers", "3")], Network::Unordered, ""),
    ("raft-kv", 3, &[("terms", "0"), ("kept", "20"), ("heartbeats", "true")], Network::Ordered, ""),
];

pub(crate) fn table() {
    println!("| plugin | nodes | checkpoints | bytes, median | longest | on the wire, per checkpoint | thesis |");
    println!("|---|---|---|---|---|---|---|");
    let sandbox = Sandbox::new(SandboxConfig::default(), None).expect("the engine starts");
    for (name, nodes, parameters, network, thesis) in ROWS {
        let bytes = std::fs::read(component(name)).expect("the component is there");
        let plugin = Plugin::load(&sandbox, &bytes).expect("it loads");
        let parameters = parameters.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let scenario = Scenario { network, parameters, ..Scenario::new(nodes) };
        let mut cluster = Cluster::new(&plugin, &scenario, 1, |_| Open);
        let (mut wire, mut asked) = (0, 0);
        for round in 1..=SNAPSHOTS {
            cluster.run_until(round * EVENTS);
            // Nothing else is in flight after this.
            while cluster.deliver() {}
            let before = cluster.bytes;
            cluster.gather();
            wire += cluster.bytes - before;
            asked += u64::from(nodes) * u64::from(nodes - 1);
        }
        let contents = cluster.snapshots.iter().flat_map(|snapshot| snapshot.checkpoints.values());
        let mut lengths: Vec<f64> = contents.map(|checkpoint| checkpoint.content.len() as f64).collect();
        println!(
            "| {name} | {nodes} | {} | {} | {} | {:.0} | {thesis} |",
            lengths.len(),
            median(&mut lengths),
            at(&mut lengths, 1.0),
            wire as f64 / asked as f64
        );
    }
}
