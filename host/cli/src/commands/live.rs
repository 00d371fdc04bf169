//! `host live`.
//!
//! | module | what it holds |
//! |---|---|
//! | `backup` | the state of a node as a file, and a new cluster from it |
//! | `replay` | recordings of nodes, replayed |
//! | `status` | the nodes of a cluster, from outside |
//! | `supervise` | the processes of a cluster: started, started again, and ended together |

mod backup;
mod replay;
mod status;
mod supervise;

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use host_inspect::escape::guarded;
use host_live::filter::Quota;
use host_live::node::Failure as NodeFailure;
use host_live_net::{
    CredentialFile, Credentials, DiskError, ENTRIES_MAX, Ended, MAP_MAX, Missing, Operations, PROTOCOL_MAX, Place,
    RecordError, Recording, RunError, Sink, Steer, Tls, Watch, Watched, Ways,
};
use host_model::contract::{Fault, FaultKind, MachineError};
use host_model::scenario::Network;
use host_session::base::{Exit, Failure, files};
use host_session::cluster::Watching;
use host_session::live::{Running, RunningSpec, Seat};
use host_session::search::finding;

use crate::commands::live::backup::{backup, restore};
use crate::commands::live::replay::replay;
use crate::commands::live::status::status;
use crate::commands::live::supervise::supervise;
use crate::environment::Environment;
use crate::options::live::{LiveArguments, LiveCommand, LogForm, NodeArguments, UpArguments, WatchArguments};
use crate::options::values::{LimitArguments, SourceArguments};

/// Runs a cluster, or a node of it. `program` is the first word of the command line, for the commands that nodes print.
pub fn run(arguments: &LiveArguments, program: &str, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    match &arguments.command {
        LiveCommand::Up(arguments) => up(arguments, program, environment),
        LiveCommand::Node(arguments) => node(arguments, program, environment),
        LiveCommand::Backup(arguments) => backup(arguments, environment),
        LiveCommand::Restore(arguments) => restore(arguments, environment),
        LiveCommand::Status(arguments) => status(arguments, environment),
        LiveCommand::Replay(arguments) => replay(arguments, environment),
    }
}

/// The cluster in a file, with given limits in place of the file's.
fn read(
    cluster: &Path,
    source: SourceArguments,
    limits: &LimitArguments,
    environment: &mut Environment<'_>,
) -> Result<RunningSpec, Failure> {
    let mut spec = RunningSpec::read(cluster, &environment.context())?;
    spec.recall_name(&environment.context())?;
    spec.run.cluster.limits.extend(limits.given());
    check_limits(&spec.run.cluster.limits)?;
    let own = &mut spec.run.process.source;
    (own.no_install, own.quiet) = (source.no_install, source.quiet);
    Ok(spec)
}

/// Refuses limits that allow messages or records longer than a node can send or keep.
fn check_limits(given: &BTreeMap<String, u64>) -> Result<(), Failure> {
    let bounds = [
        ("message", Network::Ordered.message_max() as u64, "the longest message between two nodes"),
        ("output", PROTOCOL_MAX as u64 - (4 << 10), "the longest state in a record on the disk of a node"),
        ("storage", MAP_MAX as u64, "the longest map in a record on the disk of a node"),
        ("storage-entries", ENTRIES_MAX as u64, "the longest map in a record on the disk of a node"),
    ];
    for (name, most, what) in bounds {
        if given.get(name).is_some_and(|value| *value > most) {
            let unit = if name == "storage-entries" { "" } else { " bytes" };
            let message = format_args!("the limit `{name}` of a node that runs must be at most {most}{unit}: {what}");
            return Err(Failure::configuration(message));
        }
    }
    Ok(())
}

/// Starts all nodes, restarts killed ones, and ends them all when a node ends by itself, or on a signal.
fn up(arguments: &UpArguments, program: &str, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let spec = read(&arguments.cluster, arguments.source, &arguments.limits, environment)?;
    check(&arguments.watch, spec.nodes.len())?;
    for id in 0..spec.nodes.len() {
        tls(&spec, id as u32, environment)?;
    }
    // Built and compiled once; the nodes find the result in the cache.
    let running = Running::open(&spec, &mut environment.context())?;
    check_cluster(&arguments.watch, &running)?;
    warn(&arguments.watch, arguments.log, &running, environment);
    spec.draw_name(RandomState::new().build_hasher().finish(), &environment.context())?;
    let executable = std::env::current_exe()
        .map_err(|error| Failure::system(format_args!("cannot find the program of the nodes: {error}")))?;
    let cluster = environment.path(&arguments.cluster);
    let mut start = |id: usize| {
        let mut command = Command::new(&executable);
        // Commands that a node prints begin with the program's name as typed here.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::arg0(&mut command, program);
        command.args(["live", "node"]).arg(&cluster).args(["--id", &id.to_string()]);
        for (name, value) in arguments.limits.given() {
            command.args(["--limit", &format!("{name}={value}")]);
        }
        if let Some(folder) = &arguments.recording.record {
            let size = format!("{}B", arguments.recording.record_size);
            command.arg("--record").arg(folder).args(["--record-size", &size]);
        }
        command.args(arguments.take_data.then_some("--take-data"));
        command.args(["--log", arguments.log.name()]);
        command.args(watch_words(&arguments.watch).unwrap_or_default());
        command.args(["--until-stdin-ends", "--quiet"]).stdin(Stdio::piped()).stdout(Stdio::null());
        command.spawn()
    };
    let (name, digest) = running.plugin();
    let mut news = vec![format!("{} nodes of {name} ({digest}); Ctrl-C ends them", spec.nodes.len())];
    news.extend(spec.nodes.iter().enumerate().map(|(id, node)| {
        let clients = node.clients.map(|at| format!(", clients at http://{at}"));
        format!("node {id} at {}{}", node.address, clients.unwrap_or_default())
    }));
    if arguments.source.quiet {
        news.clear();
    }
    let interrupted = Arc::clone(&environment.interrupted);
    let mut tell = |line: &str| environment.tell(&arguments.log.line(line));
    let restarts = !arguments.no_restart;
    supervise(spec.nodes.len(), restarts, &interrupted, &mut start, &news, &mut tell)
}

/// The options of a node for its checker.
fn watch_words(arguments: &WatchArguments) -> Option<Vec<String>> {
    let mode = arguments.watch.as_ref()?;
    let every = format!("{}ms", arguments.every.as_millis());
    let share = format!("{}%", f64::from(arguments.share.0) / 10_000.0);
    let round_time = format!("{}ms", arguments.round_time.as_millis());
    let bandwidth = format!("{}B", arguments.bandwidth);
    let words = ["--watch", mode, "--every", &every, "--share", &share, "--round-time", &round_time];
    let words = words.into_iter().chain(["--bandwidth", &bandwidth]).chain(arguments.hold.then_some("--hold"));
    let words = words.chain(arguments.break_connections.then_some("--break-connections"));
    Some(words.map(str::to_owned).collect())
}

fn node(arguments: &NodeArguments, program: &str, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let spec = read(&arguments.cluster, arguments.source, &arguments.limits, environment)?;
    spec.node(arguments.id)?;
    check(&arguments.watch, spec.nodes.len())?;
    let tls = tls(&spec, arguments.id, environment)?;
    let running = Running::open(&spec, &mut environment.context())?;
    check_cluster(&arguments.watch, &running)?;
    // The parent process has printed the warning for all nodes.
    if !arguments.until_stdin_ends {
        warn(&arguments.watch, arguments.log, &running, environment);
    }
    let session = RandomState::new().build_hasher().finish();
    let seat = running.seat(arguments.id, session, &environment.context())?;
    let folder = seat.disk.parent().expect("it is in the folder of the data");
    host_live_net::make_folder(folder)
        .map_err(|error| Failure::system(format_args!("cannot make {}: {error}", folder.display())))?;
    let all_end = Arc::<AtomicBool>::default();
    if arguments.until_stdin_ends {
        stop_with_stdin(Arc::clone(&environment.interrupted), Arc::clone(&all_end));
    }
    if !arguments.source.quiet {
        let (name, digest) = running.plugin();
        let over = match running.network() {
            Network::Ordered if tls.is_some() => "TCP with TLS",
            Network::Ordered => "TCP",
            _ => "UDP",
        };
        let address = &seat.addresses[arguments.id as usize];
        let mut tell = |line: &str| environment.tell(&arguments.log.untimed(Some(arguments.id), line));
        tell(&format!("node {} of {name} ({digest}) at {address} over {over}", arguments.id));
        if let Some(clients) = seat.clients.get(arguments.id as usize) {
            tell(&format!("clients ask at http://{clients}"));
        }
    }
    let Seat { identity, mut settings, addresses, clients, metrics, disk } = seat;
    (settings.bandwidth, settings.keeps_log) = (Some(arguments.watch.bandwidth), true);
    let (name, digest) = running.stated();
    let component = (name.to_owned(), digest.to_owned());
    let recording = recording(arguments, &spec, &running, environment);
    let ways = Ways { takes_over: arguments.take_data, rejoins: arguments.rejoin };
    let operations = Operations { ready: spec.operations.ready.clone(), hand_over: spec.operations.hand_over.clone() };
    let log = log(arguments.log);
    let place = Place {
        identity,
        settings,
        addresses,
        tls,
        clients,
        metrics,
        log,
        disk,
        component,
        recording,
        ways,
        operations,
        all_end,
    };
    let switch = environment.path(&spec.switch());
    let watch = arguments.watch.watch.is_some().then(|| watch(&running, arguments, program, switch, environment));
    let ended = host_live_net::run(running.factory(), &place, watch, &environment.interrupted);
    let ended = ended.map_err(|error| failure(arguments.id, &error))?;
    if !arguments.source.quiet {
        environment.tell(&arguments.log.untimed(Some(arguments.id), &summary(arguments.id, &ended)));
    }
    Ok(Exit::Ok)
}

/// The recording of a node, if it is recorded.
fn recording(
    arguments: &NodeArguments,
    spec: &RunningSpec,
    running: &Running<'_>,
    environment: &Environment<'_>,
) -> Option<Recording> {
    let folder = environment.path(arguments.recording.record.as_ref()?);
    // While the component is replaced, the data states another one than the one that runs.
    let (name, digest) = running.plugin();
    Some(Recording {
        folder,
        bytes_max: arguments.recording.record_size.max(RECORD_SIZE_MIN),
        component: (name.to_owned(), digest.to_owned()),
        limits: spec.run.cluster.limits.clone(),
    })
}

/// The log of a node goes to the standard error of the process itself: the node does not wait for a reader.
fn log(form: LogForm) -> Sink {
    Sink::new(move |line| {
        let text = match form {
            LogForm::Text => guarded(&line.to_string(), false),
            LogForm::Json => form.of(&line.time, Some(line.node), Some(line.kind), &line.words, line.left_out),
        };
        drop(std::io::stderr().write_all(format!("{text}\n").as_bytes()));
    })
}

/// The smallest bound on a recording, in bytes.
const RECORD_SIZE_MIN: u64 = 64 << 10;

/// The maximum size in bytes of a file with certificates or a key.
const PAPER_MAX: u64 = 1 << 20;

/// The credentials of a node and of its authority, if the cluster uses TLS.
fn tls(spec: &RunningSpec, id: u32, environment: &Environment<'_>) -> Result<Option<Tls>, Failure> {
    let node = spec.node(id)?;
    let (Some(authority), Some(certificate), Some(key)) = (&spec.authority, &node.certificate, &node.key) else {
        return Ok(None);
    };
    let read = |path: &Path| {
        let bytes = files::read_bounded(&environment.path(path), PAPER_MAX);
        bytes
            .map_err(|error| Failure::configuration(format_args!("node {id}: cannot read {}: {error}", path.display())))
    };
    let credentials = [read(authority)?, read(certificate)?, read(key)?];
    let nodes = u32::try_from(spec.nodes.len()).unwrap_or(u32::MAX);
    let tls = Tls::new(
        id,
        nodes,
        Credentials { authority: &credentials[0], certificate: &credentials[1], key: &credentials[2] },
    );
    tls.map(Some).map_err(|error| {
        let path = match error.file() {
            CredentialFile::Authority => authority,
            CredentialFile::Certificate => certificate,
            CredentialFile::Key => key,
        };
        Failure::configuration(format_args!("node {id}: {}: {error}", path.display()))
    })
}

/// The shortest time between two snapshots.
const EVERY_MIN: Duration = Duration::from_millis(50);
/// The shortest time of a round.
const ROUND_TIME_MIN: Duration = Duration::from_millis(10);

/// The maximum time for which effects are held.
const HOLD: Duration = Duration::from_millis(2);

/// Checks the options of `--watch` that do not depend on the plugin.
fn check(arguments: &WatchArguments, nodes: usize) -> Result<(), Failure> {
    let Some(watching) = arguments.watching() else { return Ok(()) };
    watching.check()?;
    match () {
        () if nodes < 2 => Err(Failure::configuration("`--watch` is for clusters of at least two nodes")
            .help("leave it out: what one node can do is explored before it runs, by `host run`")),
        () if arguments.every < EVERY_MIN => {
            let every = arguments.every.as_millis();
            Err(Failure::configuration(format_args!("`--every {every}ms`: between two snapshots are at least 50ms")))
        }
        () if arguments.round_time < ROUND_TIME_MIN => {
            let time = arguments.round_time.as_micros() as f64 / 1e3;
            Err(Failure::configuration(format_args!("`--round-time {time}ms`: a round takes 10ms at least")))
        }
        () if arguments.share.0 == 0 => Err(Failure::configuration("`--share 0%`: a checker that never works")
            .help("leave `--watch` out, or give it some of the time: --share 1%")),
        () => Ok(()),
    }
}

/// Checks the options of `--watch` for these nodes.
fn check_cluster(arguments: &WatchArguments, running: &Running<'_>) -> Result<(), Failure> {
    arguments.watching().map_or(Ok(()), |watching| running.check_watched(watching))
}

/// Warns of the violations that steering cannot prevent here.
fn warn(arguments: &WatchArguments, form: LogForm, running: &Running<'_>, environment: &mut Environment<'_>) {
    let warning = arguments.watching().and_then(|watching| running.unguarded(watching));
    warning.into_iter().for_each(|warning| environment.tell(&form.untimed(None, &warning)));
}

/// The checker of a node. It writes to the standard error of the process itself, so that the node never waits for a slow reader.
fn watch(
    running: &Running<'_>,
    arguments: &NodeArguments,
    program: &str,
    switch: PathBuf,
    environment: &mut Environment<'_>,
) -> Watch {
    let (id, form) = (arguments.id, arguments.log);
    let mut predictions = running.predictions(id, program, &environment.context());
    let steers = arguments.watch.watching().is_some_and(|watching| watching.steers);
    let watching = Watching { steers, holds: arguments.watch.hold, breaks: arguments.watch.break_connections };
    let Watching { holds, breaks, .. } = watching;
    if steers && switch.exists() {
        let warning = format!("warning: node {} is not steered: {} is there", arguments.id, switch.display());
        environment.tell(&arguments.log.untimed(Some(arguments.id), &warning));
    }
    Watch {
        factory: running.checking_factory(),
        scenario: running.ahead(),
        limits: Running::limits(watching),
        round_time: arguments.watch.round_time,
        every: arguments.watch.every,
        share: arguments.watch.share,
        report: Box::new(move |round, scenario, steering| {
            for line in predictions.lines(round, scenario, steering) {
                say(form, id, &line);
            }
        }),
        missing: Arc::new(move |missing| say(form, id, &missing_words(id, missing))),
        kept: running.kept_paths(&environment.context()),
        steer: steers.then(|| Steer { quota: Quota::default(), switch, hold: holds.then_some(HOLD), breaks }),
    }
}

/// Writes a line to the standard error of the process.
fn say(form: LogForm, node: u32, line: &str) {
    let text = match form {
        LogForm::Text => guarded(&form.line(line), false),
        LogForm::Json => form.untimed(Some(node), line),
    };
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// The line about another node that is missing in all snapshots of this one.
fn missing_words(id: u32, Missing { node, time, is_capped }: Missing) -> String {
    let why = match is_capped {
        true => "it sends no more checkpoints for now, see `--bandwidth`",
        false => "it is down, or its answers take longer than this node waits",
    };
    let seconds = time.as_secs();
    format!(
        "node {id} has had no snapshot of node {node} for {seconds} s: {why}; what takes node {node} is not predicted"
    )
}

/// Ends the node at the end of its standard input, which it shares with all nodes of the cluster.
fn stop_with_stdin(interrupted: Arc<AtomicBool>, all_end: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        let mut bytes = [0; 64];
        while !matches!(rustix::io::read(rustix::stdio::stdin(), &mut bytes), Ok(0) | Err(_)) {}
        all_end.store(true, Ordering::Relaxed);
        interrupted.store(true, Ordering::Relaxed);
    });
}

fn summary(id: u32, ended: &Ended) -> String {
    let counts = &ended.counts;
    let refused = [("refused", &counts.refused), ("connections refused", &ended.distrusted)].map(|(what, counts)| {
        let all: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        if all.is_empty() { String::new() } else { format!("; {what}: {}", all.join(", ")) }
    });
    let refused = refused.concat();
    let watched = ended.watched.map(|Watched { snapshots, checker, .. }| {
        let cut = if checker.cut > 0 { format!(" ({} cut short)", checker.cut) } else { String::new() };
        format!(
            "; {} snapshots, {} rounds{cut}, {} predictions",
            snapshots.complete, checker.rounds, checker.predictions
        )
    });
    let watched = watched.unwrap_or_default();
    let steered = ended.steered.map(|steered| {
        let end = if steered.is_off { ", switched off" } else { "" };
        let ahead = steered.hold.map(|hold| {
            let ended = if hold.is_ended { ", which has ended" } else { "" };
            format!(", {} by looking ahead from {} of them{ended}", counts.foreseen, hold.looked)
        });
        let ahead = ahead.unwrap_or_default();
        format!(
            "; steered: {} events filtered, {} refused by the immediate check{ahead}{end}",
            counts.filtered, counts.discarded
        )
    });
    let steered = steered.unwrap_or_default();
    let unusable = match counts.neighbours_unusable {
        0 => String::new(),
        count => format!("; {count} snapshots of all nodes, as its neighbours were of no use"),
    };
    format!(
        "node {id} has ended: start {}, {} messages, {} local events, {} requests{watched}{unusable}{steered}{refused}",
        ended.incarnation, counts.messages, counts.local, counts.requests
    )
}

/// The reason why a node does not run, as a failure with an exit code.
fn failure(id: u32, error: &RunError) -> Failure {
    let exit = match error {
        RunError::Node(NodeFailure::Machine(error @ MachineError::Stopped(_))) => return error.clone().into(),
        RunError::NotLoopback(_) | RunError::Datagrams | RunError::Addresses { .. } => Exit::Configuration,
        RunError::Disk(
            DiskError::Other { .. }
            | DiskError::Changed { .. }
            | DiskError::Lost { .. }
            | DiskError::Later { .. }
            | DiskError::OtherDisk(_),
        ) => Exit::Configuration,
        RunError::Node(NodeFailure::Fault(fault)) if fault.kind == FaultKind::Refused => Exit::Configuration,
        RunError::Node(NodeFailure::Fault(fault)) => finding::fault_exit(fault),
        RunError::Record(RecordError::Other { .. } | RecordError::Damaged(_)) => Exit::Configuration,
        RunError::Bind { .. }
        | RunError::Checker(_)
        | RunError::Disk(_)
        | RunError::Record(_)
        | RunError::Node(NodeFailure::Machine(_)) => Exit::System,
    };
    let failure = Failure::new(exit, format_args!("node {id}: {error}"));
    match error {
        RunError::Node(NodeFailure::Fault(fault)) => helped(failure, fault),
        _ => failure,
    }
}

/// A failure with the remedy of a fault. A handler that hits a limit is undone, so a limit can end a node only at its start.
fn helped(failure: Failure, fault: &Fault) -> Failure {
    match (fault.limit(), fault.kind) {
        (Some(limit), _) => failure.help(format_args!(
            "a node cannot run without a start: raise `{limit}` under `[limits]` in the file of the cluster, or by `--limit {limit}=N`; or \
             have `init` need less"
        )),
        (None, FaultKind::Trap) => {
            failure.help("a trap is a defect of the plugin: `host run` with the parameters of the cluster shows the way to it")
        }
        _ => failure,
    }
}
