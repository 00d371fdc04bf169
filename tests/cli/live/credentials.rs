//! Certificates in the file of a cluster, and their errors.

use super::cluster::write_credentials;
use crate::cli::{Place, bundled};

/// Two nodes on two machines, and a component that is not there.
const CLUSTER: &str = r#"plugin = "none.wasm"
network = "ordered"
[tls]
authority = "ca.pem"
[[node]]
address = "192.0.2.1:7101"
clients = "127.0.0.1:8101"
certificate = "node-0.pem"
key = "node-0.key"
[[node]]
address = "192.0.2.2:7101"
clients = "127.0.0.1:8102"
certificate = "node-1.pem"
key = "node-1.key"
"#;

#[test]
fn credentials_that_do_not_fit_are_named_before_the_component_is_looked_for() {
    let place = Place::new();
    write_credentials(&place.path(""));
    let node = ["live", "node", "c.toml", "--id", "0"];
    let up = ["live", "up", "c.toml"];
    let put = |from: &str, to: &str| {
        assert_eq!(CLUSTER.matches(from).count(), 1, "{from}");
        place.put("c.toml", CLUSTER.replace(from, to));
    };
    place.put("c.toml", CLUSTER);
    for command in [&up[..], &node] {
        place.host(command).exits(150).says(&["none.wasm"]);
    }
    let cases = [
        ("ca.pem", "none.pem", "node 0: cannot read none.pem: "),
        ("ca.pem", "/dev/zero", "node 0: cannot read /dev/zero: "),
        ("ca.pem", "node-0.key", "node 0: node-0.key: there is no certificate in it"),
        ("node-0.pem", "node-1.pem", "node 0: node-1.pem: the certificate does not say that it is for node 0 alone"),
        ("node-0.key", "node-1.key", "node 0: node-1.key: the key does not fit the certificate"),
        ("node-0.key", "ca.pem", "node 0: ca.pem: there is no private key in it"),
        ("key = \"node-1.key\"\n", "", "c.toml: node 1: under `[tls]` each node has `certificate` and `key`"),
        ("[tls]\nauthority = \"ca.pem\"\n", "", "c.toml: node 0: under `[tls]` each node has `certificate` and `key`"),
        ("ca.pem\"\n", "ca.pem\"\npassword = 1\n", "c.toml:5: unknown field `password`"),
        (
            "\"ordered\"",
            "\"unordered\"",
            "c.toml: `[tls]` is for TCP, and over a network that is unordered nodes use UDP",
        ),
        (
            "127.0.0.1:8102",
            "192.0.2.2:8102",
            "192.0.2.2:8102 is no loopback address, and nothing here proves who a client is",
        ),
        ("192.0.2.2:7101", "0.0.0.0:7101", "node 1: 0.0.0.0:7101 is no address by which others find it"),
    ];
    for (from, to, words) in cases {
        put(from, to);
        for command in [&up[..], &node] {
            place.host(command).exits(151).says(&[words]);
        }
    }
    // The operator of one node has no key of another one.
    put("node-1.key", "node-0.key");
    place.host(&up).exits(151).says(&["node 1: node-0.key: the key does not fit the certificate"]);
    place.host(&node).exits(150).says(&["none.wasm"]);
    // The plugin decides the settings that the file leaves out.
    put("network = \"ordered\"\n", "");
    let text = std::fs::read_to_string(place.path("c.toml")).expect("it is text");
    place.put("c.toml", text.replace("none.wasm", bundled("paxos")));
    place
        .host(&node)
        .exits(151)
        .says(&["c.toml: `[tls]` is for TCP, and over a network that is unordered nodes use UDP"]);
    // Without certificates there is only this machine.
    let plain: String = CLUSTER
        .lines()
        .filter(|line| !line.contains(".pem\"") && !line.contains(".key\""))
        .fold(String::new(), |text, line| text + line.replace("[tls]", "").as_str() + "\n");
    place.put("c.toml", plain);
    place.host(&node).exits(151).says(&["192.0.2.1:7101 is no loopback address", "say under `[tls]` who signs them"]);
}
