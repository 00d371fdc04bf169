//! `host live`.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use host_live::gate::Open;
use host_live::node::Failure as NodeFailure;
use host_live_net::{Ended, Place, RunError, Status};
use host_model::contract::FaultKind;
use host_model::scenario::Network;
use host_session::base::text::json_text;
use host_session::base::{Exit, Failure};
use host_session::live::{Running, RunningSpec, Seat};
use serde_json::json;

use crate::environment::Environment;
use crate::options::live::{LiveArguments, LiveCommand, NodeArguments, StatusArguments, UpArguments};
use crate::options::values::SourceArguments;

/// How often a cluster is looked at whether it is to end.
const PAUSE: Duration = Duration::from_millis(50);

/// Runs a cluster, or a node of it.
pub fn run(arguments: &LiveArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    match &arguments.command {
        LiveCommand::Up(arguments) => up(arguments, environment),
        LiveCommand::Node(arguments) => node(arguments, environment),
        LiveCommand::Status(arguments) => status(arguments, environment),
    }
}

fn read(cluster: &Path, source: SourceArguments, environment: &mut Environment<'_>) -> Result<RunningSpec, Failure> {
    let mut spec = RunningSpec::read(cluster, &environment.context())?;
    let own = &mut spec.run.process.source;
    (own.no_install, own.quiet) = (source.no_install, source.quiet);
    Ok(spec)
}

/// Starts all nodes, and ends them when one of them ends, or a signal says so.
fn up(arguments: &UpArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let spec = read(&arguments.cluster, arguments.source, environment)?;
    // Built and compiled once; the nodes find it.
    let running = Running::open(&spec, &mut environment.context())?;
    let program = std::env::current_exe()
        .map_err(|error| Failure::system(format_args!("cannot find the program of the nodes: {error}")))?;
    let mut nodes = Nodes(Vec::new());
    for id in 0..spec.nodes.len() {
        let mut command = Command::new(&program);
        command.args(["live", "node"]).arg(environment.path(&arguments.cluster)).args(["--id", &id.to_string()]);
        command.args(["--until-stdin-ends", "--quiet"]).stdin(Stdio::piped()).stdout(Stdio::null());
        let started = command.spawn();
        nodes.0.push(started.map_err(|error| Failure::system(format_args!("cannot start node {id}: {error}")))?);
    }
    if !arguments.source.quiet {
        let (name, digest) = running.plugin();
        environment.tell(&format!("{} nodes of {name} ({digest}); Ctrl-C ends them", spec.nodes.len()));
        for (id, node) in spec.nodes.iter().enumerate() {
            let clients = node.clients.map(|at| format!(", clients at http://{at}"));
            environment.tell(&format!("node {id} at {}{}", node.address, clients.unwrap_or_default()));
        }
    }
    while !environment.interrupted.load(Ordering::Relaxed) {
        if let Some((id, code)) = nodes.ended()? {
            // It has said why.
            environment.tell(&format!("node {id} has ended, and so do the others"));
            return Ok(code.unwrap_or(Exit::System));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(Exit::Ok)
}

/// The processes of the nodes, which end with this one: each sees the end of its standard input.
struct Nodes(Vec<Child>);

impl Nodes {
    /// A node that has ended, and how.
    fn ended(&mut self) -> Result<Option<(usize, Option<Exit>)>, Failure> {
        for (id, child) in self.0.iter_mut().enumerate() {
            let ended = child.try_wait();
            if let Some(status) = ended.map_err(|error| Failure::system(format_args!("node {id} is lost: {error}")))? {
                return Ok(Some((id, status.code().and_then(Exit::of_code))));
            }
        }
        Ok(None)
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(|child| drop(child.stdin.take()));
        for child in &mut self.0 {
            // What they have acknowledged is on their disks in any case.
            let _ = child.wait();
        }
    }
}

fn node(arguments: &NodeArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let spec = read(&arguments.cluster, arguments.source, environment)?;
    spec.node(arguments.id)?;
    let running = Running::open(&spec, &mut environment.context())?;
    let session = RandomState::new().build_hasher().finish();
    let seat = running.seat(arguments.id, session, &environment.context())?;
    let folder = seat.disk.parent().expect("it is in the folder of the data");
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::system(format_args!("cannot make {}: {error}", folder.display())))?;
    if arguments.until_stdin_ends {
        stop_with_stdin(Arc::clone(&environment.interrupted));
    }
    if !arguments.source.quiet {
        let (name, digest) = running.plugin();
        let over = if running.network() == Network::Ordered { "TCP" } else { "UDP" };
        let address = seat.addresses[arguments.id as usize];
        environment.tell(&format!("node {} of {name} ({digest}) at {address} over {over}", arguments.id));
        if let Some(clients) = seat.clients.get(arguments.id as usize) {
            environment.tell(&format!("clients ask at http://{clients}"));
        }
    }
    let Seat { identity, settings, addresses, clients, metrics, disk } = seat;
    let place = Place { identity, settings, addresses, clients, metrics, disk };
    let ended = host_live_net::run(running.factory(), &place, Open, &environment.interrupted);
    let ended = ended.map_err(|error| failure(arguments.id, &error))?;
    if !arguments.source.quiet {
        environment.tell(&summary(arguments.id, &ended));
    }
    Ok(Exit::Ok)
}

/// Ends the node when its standard input does.
fn stop_with_stdin(interrupted: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        let mut bytes = [0; 64];
        while !matches!(rustix::io::read(rustix::stdio::stdin(), &mut bytes), Ok(0) | Err(_)) {}
        interrupted.store(true, Ordering::Relaxed);
    });
}

fn summary(id: u32, ended: &Ended) -> String {
    let counts = &ended.counts;
    let refused: Vec<String> = counts.refused.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    let refused = if refused.is_empty() { String::new() } else { format!("; refused: {}", refused.join(", ")) };
    format!(
        "node {id} has ended: start {}, {} messages, {} local events, {} requests{refused}",
        ended.incarnation, counts.messages, counts.local, counts.requests
    )
}

/// Why a node does not run, as the shell sees it.
fn failure(id: u32, error: &RunError) -> Failure {
    let exit = match error {
        RunError::NotLoopback(_) | RunError::Addresses { .. } => Exit::Configuration,
        RunError::Node(NodeFailure::Fault(fault)) if fault.kind == FaultKind::Refused => Exit::Configuration,
        RunError::Node(NodeFailure::Fault(_)) => Exit::GuestFault,
        RunError::Bind { .. } | RunError::Disk(_) | RunError::Node(NodeFailure::Machine(_)) => Exit::System,
    };
    Failure::new(exit, format_args!("node {id}: {error}"))
}

fn status(arguments: &StatusArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let spec = RunningSpec::read(&arguments.cluster, &environment.context())?;
    let of = |id: u32| host_live_net::status(&environment.path(&spec.disk(id)), spec.nodes[id as usize].metrics);
    let all: Vec<Status> = (0..spec.nodes.len() as u32).map(of).collect();
    let is_up = |status: &Status| *status != Status::Down;
    let text = match arguments.json {
        true => json_text(&json!({
            "nodes": all.iter().zip(&spec.nodes).map(|(status, node)| json!({
                "address": node.address.to_string(),
                "up": is_up(status),
                "metrics": if let Status::Up(metrics) = status { json!(metrics) } else { json!({}) },
            })).collect::<Vec<_>>(),
        })),
        false => all
            .iter()
            .zip(&spec.nodes)
            .enumerate()
            .map(|(id, (status, node))| format!("node {id} at {}: {}\n", node.address, words(status)))
            .collect(),
    };
    environment.print(&text)?;
    Ok(if all.iter().all(is_up) { Exit::Ok } else { Exit::Unexpected })
}

/// What is known of a node, for people.
fn words(status: &Status) -> String {
    let Status::Up(metrics) = status else { return "does not run".to_owned() };
    let value = |name: &str| metrics.get(&format!("host_live_{name}")).copied();
    let Some(seconds) = value("up_seconds") else { return "runs".to_owned() };
    let of = |name| value(name).unwrap_or_default();
    format!(
        "runs for {seconds:.0} s, start {}; {} messages, {} local events, {} requests",
        of("incarnation"),
        of("messages_total"),
        of("local_events_total"),
        of("requests_total")
    )
}
