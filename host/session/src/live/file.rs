//! A cluster in a file: addresses, plugin, parameters, data.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use host_live::address::Address;
use host_model::contract::PropertyKind;
use host_model::scenario::Network;
use host_model::trace::Expressed;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::base::names::{meant_field, with_closest_path};
use crate::base::text::on_one_line;
use crate::base::{Context, Failure, files};
use crate::spec::{ClusterSpec, ProcessSpec, RunSpec, Source, limits, values};

/// The maximum size of a file in bytes.
const FILE_MAX: u64 = 1 << 20;

/// A cluster that runs, as described in its file.
#[derive(Clone, Debug, PartialEq)]
pub struct RunningSpec {
    /// The file, as the user named it.
    pub path: PathBuf,
    /// The name that distinguishes it from others of the same plugin, size and parameters; empty if it has none.
    pub name: String,
    /// Plugin, nodes, parameters and network.
    pub run: RunSpec,
    /// The digests that the component may have; empty if any component will do. The first one is the digest by which nodes and data of
    /// the cluster recognise each other.
    pub digests: Vec<String>,
    /// The folder with the files of the nodes, relative to the working directory.
    pub data: PathBuf,
    /// The certificates of the authorities that may sign a node's certificate, if nodes authenticate each other by TLS.
    pub authority: Option<PathBuf>,
    /// The requests that the host makes of nodes by itself.
    pub operations: OperationsSpec,
    /// The nodes, by their numbers.
    pub nodes: Vec<NodeSpec>,
}

/// The requests that the host makes of nodes by itself, as their clients would: paths that the protocol documents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OperationsSpec {
    /// GET: the status of the node, a JSON object.
    pub status: Option<String>,
    /// The member of this object that is a number and grows with the work of the node.
    pub progress: Option<String>,
    /// GET: a status code from 200 to 299 says that the node is ready.
    pub ready: Option<String>,
    /// POST, when the node is about to end: it hands over what only one node does.
    pub hand_over: Option<String>,
}

/// A node of it. All addresses are on loopback, but for those for other nodes under TLS.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeSpec {
    /// The address for other nodes.
    #[serde(deserialize_with = "address")]
    pub address: Address,
    /// Its certificate, if there is an authority.
    pub certificate: Option<PathBuf>,
    /// Its private key, if there is an authority.
    pub key: Option<PathBuf>,
    /// The address for its clients; all nodes have one, or none has.
    #[serde(default, deserialize_with = "some_address")]
    pub clients: Option<SocketAddr>,
    /// The address at which it reports its metrics.
    #[serde(default, deserialize_with = "some_address")]
    pub metrics: Option<SocketAddr>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    plugin: PathBuf,
    #[serde(default)]
    name: String,
    #[serde(default)]
    digest: Digests,
    network: Option<String>,
    #[serde(default = "data")]
    data: PathBuf,
    tls: Option<Tls>,
    #[serde(default)]
    operations: OperationsSpec,
    #[serde(default)]
    parameters: BTreeMap<String, toml::Value>,
    #[serde(default)]
    limits: BTreeMap<String, toml::Value>,
    #[serde(default)]
    always: BTreeMap<String, String>,
    #[serde(default)]
    eventually: BTreeMap<String, String>,
    #[serde(default)]
    spec: Specs,
    node: Vec<NodeSpec>,
}

/// Specifications from outside: one, or some.
#[derive(Deserialize)]
#[serde(untagged, expecting = "`spec` is the path of a component, or a list of such paths")]
enum Specs {
    One(PathBuf),
    Some(Vec<PathBuf>),
}

impl Default for Specs {
    fn default() -> Self {
        Self::Some(Vec::new())
    }
}

/// Digests of components: one, or several while a component is replaced.
#[derive(Deserialize)]
#[serde(untagged, expecting = "`digest` is the digest of a component, or a list of digests")]
enum Digests {
    One(String),
    Some(Vec<String>),
}

impl Default for Digests {
    fn default() -> Self {
        Self::Some(Vec::new())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tls {
    authority: PathBuf,
}

fn data() -> PathBuf {
    "data".into()
}

fn address<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Address, D::Error> {
    let text = String::deserialize(deserializer)?;
    Address::parse(&text).ok_or_else(|| {
        let port = text.rsplit(':').next().and_then(|port| port.parse::<u16>().ok()).unwrap_or(7101);
        D::Error::custom(format_args!(
            "{text:?} is neither an IP address nor the name of a host with a port; write 127.0.0.1:{port}, [::1]:{port}, \
             localhost:{port}, or what you mean"
        ))
    })
}

fn some_address<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Option<SocketAddr>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(|_| {
        let port = text.rsplit(':').next().and_then(|port| port.parse::<u16>().ok()).unwrap_or(8101);
        D::Error::custom(format_args!(
            "{text:?} is no IP address with a port, and clients are not sent to names; write 127.0.0.1:{port}, or what you mean"
        ))
    })
}

impl RunningSpec {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// It cannot be read, is no such file, or its settings contradict each other.
    pub fn read(path: &Path, context: &Context<'_>) -> Result<Self, Failure> {
        let text = files::read_text_bounded(&context.path(path), FILE_MAX);
        let text = text.map_err(|error| {
            let failure = Failure::configuration(format_args!("cannot read {}: {error}", path.display()));
            match context.path(path).is_dir() {
                true => {
                    failure.help(format_args!("give the file of a cluster, {}", path.join("cluster.toml").display()))
                }
                false => failure.help(with_closest_path(
                    path,
                    &context.path(Path::new("")),
                    "give the file of a cluster, such as plugins/raft-kv/cluster.toml: see docs/running.md",
                )),
            }
        })?;
        let file: File = toml::from_str(&text).map_err(|error| {
            let line = error.span().map(|span| 1 + text[..span.start].matches('\n').count());
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            let failure =
                Failure::configuration(format_args!("{}{line}: {}", path.display(), on_one_line(error.message())));
            match meant_field(error.message()) {
                Some(field) => failure.help(format_args!("write `{field}`")),
                None => failure,
            }
        })?;
        Self::new(path, file).map_err(|failure| located(path, failure))
    }

    fn new(path: &Path, file: File) -> Result<Self, Failure> {
        check(&file.node, file.tls.is_some())?;
        check_operations(&file.operations, &file.node)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let network = file.network.map(|name| network(&name)).transpose()?;
        if let (true, Some(network)) = (file.tls.is_some(), network) {
            check_encrypted(network)?;
        }
        let plugin = folder.join(&file.plugin);
        // A build runs commands of the folder, and running a cluster does not express trust in a folder somewhere else.
        let finished = !matches!(file.plugin.to_str(), Some("." | ".." | "../"));
        let stated = [(PropertyKind::Always, file.always), (PropertyKind::Eventually, file.eventually)];
        let expressed = stated.into_iter().flat_map(|(kind, all)| {
            all.into_iter().map(move |(name, expression)| Expressed { name, kind, expression })
        });
        let specs = match file.spec {
            Specs::One(path) => vec![path],
            Specs::Some(paths) => paths,
        };
        let cluster = ClusterSpec {
            plugin,
            nodes: Some(u32::try_from(file.node.len()).unwrap_or(u32::MAX)),
            parameters: file
                .parameters
                .into_iter()
                .map(|(key, value)| parameter(key, value))
                .collect::<Result<_, _>>()?,
            network,
            limits: file.limits.into_iter().map(|(name, value)| limit(&name, value)).collect::<Result<_, _>>()?,
            expressed: expressed.collect(),
            specs: specs.into_iter().map(|path| folder.join(path)).collect(),
            ..ClusterSpec::default()
        };
        let process = ProcessSpec { source: Source { finished, ..Source::default() }, ..ProcessSpec::default() };
        Ok(Self {
            path: path.to_owned(),
            name: checked_name(file.name)?,
            run: RunSpec { cluster, process, ..RunSpec::default() },
            digests: match file.digest {
                Digests::One(digest) => vec![digest],
                Digests::Some(digests) => digests,
            },
            data: folder.join(file.data),
            authority: file.tls.map(|tls| folder.join(tls.authority)),
            operations: file.operations,
            nodes: file.node.into_iter().map(|node| node.below(folder)).collect(),
        })
    }

    /// Names the file in a failure.
    pub(super) fn locate(&self, failure: Failure) -> Failure {
        located(&self.path, failure)
    }

    /// The file of a node.
    pub fn disk(&self, node: u32) -> PathBuf {
        self.data.join(format!("node-{node}.disk"))
    }

    /// The file whose existence ends all steering of nodes with this data.
    pub fn switch(&self) -> PathBuf {
        self.data.join("steering-off")
    }

    /// One of the nodes.
    ///
    /// # Errors
    ///
    /// There is no such node.
    pub fn node(&self, node: u32) -> Result<&NodeSpec, Failure> {
        self.nodes.get(node as usize).ok_or_else(|| {
            let (path, nodes) = (self.path.display(), self.nodes.len());
            Failure::configuration(format_args!("`--id {node}`: {path} has {nodes} nodes, numbered from 0"))
        })
    }
}

fn located(path: &Path, mut failure: Failure) -> Failure {
    failure.message = format!("{}: {}", path.display(), failure.message);
    failure
}

fn network(name: &str) -> Result<Network, Failure> {
    values::network(name).map_err(|why| Failure::configuration(format_args!("`network = {name:?}`: {why}")))
}

fn parameter(key: String, value: toml::Value) -> Result<(String, String), Failure> {
    match value {
        toml::Value::String(text) if !text.contains('\n') => Ok((key, text)),
        toml::Value::Integer(number) => Ok((key, number.to_string())),
        toml::Value::Boolean(value) => Ok((key, value.to_string())),
        _ => Err(Failure::configuration(format_args!(
            "the parameter `{}` must be a text on one line, a whole number, true or false",
            on_one_line(&key)
        ))),
    }
}

fn limit(name: &str, value: toml::Value) -> Result<(String, u64), Failure> {
    let text = match value {
        toml::Value::String(text) => text,
        toml::Value::Integer(number) => number.to_string(),
        _ => "".to_owned(),
    };
    let limit = limits::value(name, &text)
        .map_err(|why| Failure::configuration(format_args!("`{}` under `[limits]`: {why}", on_one_line(name))))?;
    Ok((limit.0.to_owned(), limit.1))
}

impl NodeSpec {
    /// The node with its files in this folder.
    fn below(self, folder: &Path) -> Self {
        let below = |path: Option<PathBuf>| path.map(|path| folder.join(path));
        Self { certificate: below(self.certificate), key: below(self.key), ..self }
    }
}

/// The maximum length of the path of a request.
const PATH_MAX: usize = 1_000;

/// The maximum number of letters in the name of a cluster.
const NAME_MAX: usize = 100;

/// The name of a cluster, which stands in logs and in the files of its nodes.
pub(super) fn checked_name(name: String) -> Result<String, Failure> {
    if name.chars().count() <= NAME_MAX && !name.chars().any(char::is_control) {
        return Ok(name);
    }
    let message = format_args!("`name`: the name of a cluster has at most {NAME_MAX} letters, all on one line");
    Err(Failure::configuration(message))
}

/// Checks that nodes can authenticate each other over this network.
///
/// # Errors
///
/// They cannot.
pub(super) fn check_encrypted(network: Network) -> Result<(), Failure> {
    if network == Network::Ordered {
        return Ok(());
    }
    Err(Failure::configuration(format_args!("`[tls]` is for TCP, and over a network that is {network} nodes use UDP"))
        .help("say `network = \"ordered\"`; or leave out `[tls]`, and keep all addresses on loopback"))
}

/// Checks the requests that the host makes of nodes.
fn check_operations(operations: &OperationsSpec, nodes: &[NodeSpec]) -> Result<(), Failure> {
    let OperationsSpec { status, progress, ready, hand_over } = operations;
    for (key, path) in [("status", status), ("ready", ready), ("hand-over", hand_over)] {
        let Some(path) = path else { continue };
        let is_visible = |byte: u8| byte.is_ascii_graphic();
        if path.len() > PATH_MAX || !path.starts_with('/') || path.starts_with("/-/") || !path.bytes().all(is_visible) {
            return Err(Failure::configuration(format_args!(
                "`{key}` under `[operations]`: a path of requests to the protocol begins with `/` and not with `/-/`, and has at most \
                 {PATH_MAX} letters of ASCII without spaces"
            )));
        }
        if nodes.iter().any(|node| node.clients.is_none()) {
            let what = format_args!(
                "`{key}` under `[operations]` is a request of a client, and nodes have no address for clients"
            );
            return Err(Failure::configuration(what).help("give each `[[node]]` an address `clients`"));
        }
    }
    match (progress, status) {
        (Some(_), None) => {
            Err(Failure::configuration("`progress` under `[operations]` names a member of the answer to `status`")
                .help("give the path `status`, too"))
        }
        _ => Ok(()),
    }
}

/// Checks that the nodes go together.
fn check(nodes: &[NodeSpec], is_encrypted: bool) -> Result<(), Failure> {
    if !(1..=values::NODES_MAX as usize).contains(&nodes.len()) {
        return Err(Failure::configuration(format_args!("a cluster has between 1 and {} nodes", values::NODES_MAX)));
    }
    let mut taken = BTreeSet::new();
    for (id, node) in nodes.iter().enumerate() {
        let papers = [&node.certificate, &node.key].into_iter().flatten().count();
        if papers != if is_encrypted { 2 } else { 0 } {
            let what = format_args!("node {id}: under `[tls]` each node has `certificate` and `key`, else none has");
            return Err(Failure::configuration(what));
        }
        let own = [node.clients, node.metrics].into_iter().flatten().map(|address| (Address::from(address), false));
        for (address, is_for_nodes) in [(node.address.clone(), true)].into_iter().chain(own) {
            let is_proven = is_for_nodes && is_encrypted;
            if !(is_proven || address.is_loopback()) {
                return Err(not_loopback(id, &address, is_for_nodes));
            }
            if address.ip().is_some_and(|ip| ip.is_unspecified() || ip.is_multicast()) {
                let what = format_args!("node {id}: {address} is no address by which others find it");
                return Err(Failure::configuration(what));
            }
            if address.port() == 0 {
                let what = format_args!("node {id}: {address} has no port by which others find it");
                return Err(Failure::configuration(what));
            }
            if !taken.insert(address.clone()) {
                return Err(Failure::configuration(format_args!("node {id}: {address} is there twice")));
            }
        }
    }
    let with_clients = nodes.iter().filter(|node| node.clients.is_some()).count();
    match with_clients {
        0 => Ok(()),
        all if all == nodes.len() => Ok(()),
        _ => {
            Err(Failure::configuration("some nodes have an address for clients and others do not, who are sent there"))
        }
    }
}

fn not_loopback(id: usize, address: &Address, is_for_nodes: bool) -> Failure {
    let (who, how) = if is_for_nodes {
        (
            "peer",
            "use 127.0.0.1 or [::1]; for nodes on other machines, give each a certificate, and say under `[tls]` who signs them",
        )
    } else {
        (
            "client",
            "use 127.0.0.1 or [::1], and forward that port to other machines by what asks who comes, such as ssh",
        )
    };
    let what = format_args!("node {id}: {address} is no loopback address, and nothing here proves who a {who} is");
    Failure::configuration(what).help(how)
}
