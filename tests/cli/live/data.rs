//! The data file of a node: its owner, the files that a start refuses, and the remedies.

use std::path::PathBuf;

use host_live_net::{Disk, DiskId, Owner, Ways};

use crate::cli::{Place, bundled};

const NODES: &str = r#"network = "ordered"
[parameters]
terms = 0
kept = 20
heartbeats = true
[[node]]
address = "127.0.0.1:7101"
[[node]]
address = "127.0.0.1:7102"
[[node]]
address = "127.0.0.1:7103"
"#;

/// Each is refused before anything listens, by `node`, and the existing files stay as they are.
#[test]
fn data_that_is_not_the_nodes_own_is_refused_with_the_way_out() {
    let place = Place::new();
    place.put("c.toml", format!("plugin = {:?}\n{NODES}", bundled("raft-kv")));
    let [plugin, digest, network] = ["raft-kv", "0123", "ordered"].map(str::to_owned);
    let owner = Owner { node: 0, plugin, digest, nodes: 3, config: String::new(), network, name: String::new() };
    let path: PathBuf = place.path("data/node-0.disk");
    host_live_net::make_folder(path.parent().expect("it is in a folder")).expect("there is room");
    let refused = |words: &[&str]| {
        let before = std::fs::read(&path).ok();
        let ran = place.host(&["live", "node", "c.toml", "--id", "0", "--quiet"]);
        ran.exits(151).says(words);
        assert_eq!(std::fs::read(&path).ok(), before);
    };
    let made = |owner: &Owner, known: Option<(u64, DiskId)>| {
        let _ = std::fs::remove_file(&path).and_then(|()| std::fs::remove_file(path.with_extension("lock")));
        let (mut disk, _) = Disk::open(&path, owner, Ways::default()).expect("it is new");
        known.into_iter().for_each(|(start, other)| disk.note_known(start, other).expect("there is room"));
    };
    made(&owner, None);
    refused(&["node 0: ", "component 0123, not component ", "parameters \"\", not ", "`--take-data`"]);
    made(&Owner { node: 1, ..owner.clone() }, None);
    refused(&["is the file of node 1 of raft-kv, and this is node 0 of raft-kv"]);
    made(&Owner { plugin: "lock".into(), ..owner.clone() }, None);
    refused(&["is the file of node 0 of lock, and this is node 0 of raft-kv"]);
    made(&owner, Some((9, DiskId::default())));
    refused(&["who have met start 9", "`--rejoin`"]);
    made(&owner, Some((0, DiskId { rejoins: 0, drawn: 7 })));
    refused(&["is not the file by which the other nodes know the node", "`--rejoin`"]);
    made(&owner, None);
    std::fs::remove_file(&path).expect("it is there");
    refused(&["is lost: what the node has acknowledged is not there any more", "remove `", "node-0.lock` as well"]);
}
