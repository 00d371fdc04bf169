//! The finding without WebAssembly and without the checker: the steps of the trace, against the crate alone.

use omnipaxos::messages::Message;
use omnipaxos::util::LogEntry;
use omnipaxos::{ClusterConfig, OmniPaxos, ServerConfig};
use omnipaxos_0_2_0_checked::{Command, Disk};

struct Cluster {
    servers: Vec<OmniPaxos<Command, Disk>>,
    in_flight: Vec<Message<Command>>,
}

impl Cluster {
    fn new() -> Self {
        let server = |pid| {
            let config = ServerConfig {
                pid,
                election_tick_timeout: 1,
                resend_message_tick_timeout: 1,
                ..ServerConfig::default()
            };
            let cluster = ClusterConfig { configuration_id: 1, nodes: vec![1, 2, 3], flexible_quorum: None };
            cluster.build_for_server(config, Disk::default()).expect("a configuration")
        };
        let mut cluster = Self { servers: (1..=3).map(server).collect(), in_flight: Vec::new() };
        (1..=3).for_each(|pid| cluster.collect(pid));
        cluster
    }

    fn server(&mut self, pid: u64) -> &mut OmniPaxos<Command, Disk> {
        &mut self.servers[pid as usize - 1]
    }

    fn collect(&mut self, pid: u64) {
        let sent = self.server(pid).outgoing_messages();
        self.in_flight.extend(sent);
    }

    fn tick(&mut self, pid: u64) {
        self.server(pid).tick();
        self.collect(pid);
    }

    fn append(&mut self, pid: u64, command: Command) {
        self.server(pid).append(command).expect("a leader is known");
        self.collect(pid);
    }

    /// Delivers the first message in flight from one server to another whose JSON form contains these words.
    fn deliver(&mut self, from: u64, to: u64, words: &str) {
        let is_it = |message: &Message<Command>| {
            let text = serde_json::to_string(message).expect("messages have a JSON form");
            message.get_sender() == from && message.get_receiver() == to && text.contains(words)
        };
        let at = self.in_flight.iter().position(is_it).unwrap_or_else(|| panic!("no {words} from {from} to {to}"));
        let message = self.in_flight.remove(at);
        self.server(to).handle_incoming(message);
        self.collect(to);
    }

    fn decided(&mut self, pid: u64) -> Vec<Command> {
        let entries = self.server(pid).read_decided_suffix(0).unwrap_or_default();
        entries
            .into_iter()
            .filter_map(|entry| if let LogEntry::Decided(command) = entry { Some(command) } else { None })
            .collect()
    }
}

/// Server 1 lacks an entry of its last round. The leader of the next round, which has the entry from server 2, brings server 1
/// up to date: it sends the entries behind that one, as if server 1 had it.
#[test]
fn servers_decide_different_commands_at_the_same_place() {
    let mut cluster = Cluster::new();
    cluster.tick(3);
    cluster.deliver(2, 3, r#""Request":{"round":1"#);
    cluster.deliver(3, 2, r#""Reply":{"round":1"#);
    cluster.tick(2);
    cluster.deliver(3, 2, r#""Request":{"round":2"#);
    cluster.deliver(2, 1, r#""Prepare":"#);
    cluster.deliver(2, 3, r#""Prepare":"#);
    cluster.append(3, Command(2, 1));
    cluster.deliver(2, 3, r#""Reply":{"round":2"#);
    cluster.tick(3);
    cluster.deliver(1, 2, r#""Promise":"#);
    cluster.deliver(3, 2, r#""ProposalForward":"#);
    cluster.deliver(3, 2, r#""Prepare":"#);
    cluster.deliver(2, 1, r#""AcceptSync":"#);
    cluster.deliver(3, 1, r#""Prepare":"#);
    cluster.append(1, Command(0, 1));
    cluster.deliver(2, 3, r#""Promise":"#);
    cluster.deliver(3, 2, r#""AcceptSync":"#);
    cluster.deliver(1, 3, r#""ProposalForward":"#);
    cluster.deliver(1, 3, r#""Promise":"#);
    cluster.deliver(2, 3, r#""Accepted":"#);
    cluster.deliver(3, 1, r#""AcceptSync":"#);
    cluster.deliver(3, 1, r#""Decide":"#);
    assert_eq!(cluster.decided(3), [Command(2, 1)]);
    assert_eq!(cluster.decided(1), [Command(0, 1)], "not what server 3 has decided at this place");
}
