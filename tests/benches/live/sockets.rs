//! A cluster over loopback with disks and clients: `raft-kv`, three nodes in this process, with the checkers in threads of their own.
//!
//! Clients write one value after the other, each to a key of its own. They are threads of this process, too, so their processor time is
//! part of that per answer.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use host_live::filter::Quota;
use host_live::time::Share;
use host_live_net::{Ended, Place, Sink, Steer, Watch, Ways, run};
use host_model::scenario::Network;
use host_session::base::Context;
use host_session::base::context::system_clock;
use host_session::cluster::Watching;
use host_session::live::{Running, RunningSpec, Seat};
use nix::sys::resource::UsageWho;

use crate::tables::{at, median, processor, processor_of_threads};
use crate::{Mode, component, http};

/// Connections and datagrams with the modes of each, in turns. On ordered links there is no look-ahead from single events.
const ROWS: [(Network, Mode); 7] = [
    (Network::Ordered, Mode::Off),
    (Network::Ordered, Mode::Observe),
    (Network::Ordered, Mode::Steer),
    (Network::Unordered, Mode::Off),
    (Network::Unordered, Mode::Observe),
    (Network::Unordered, Mode::Steer),
    (Network::Unordered, Mode::Hold),
];
/// Turns per row.
const TURNS: usize = 5;
/// The time of a turn, once there is a leader.
const TURN: Duration = Duration::from_secs(5);
/// Upper bound for the time of an election.
const ELECTION: Duration = Duration::from_secs(2);
const CLIENTS: usize = 6;
/// The time between two snapshots of a node, the default of `host live`.
const EVERY: Duration = Duration::from_secs(1);
/// The share of time that a checker may work, also the default.
const SHARE: Share = Share(100_000);
/// The longest time that effects are held.
const HOLD: Duration = Duration::from_millis(2);
/// The longest time of a round, also the default.
const ROUND_TIME: Duration = Duration::from_secs(1);

/// The result of a turn.
#[derive(Default)]
struct Turn {
    seconds: f64,
    events: u64,
    /// Processor time of the checkers, and of everything else.
    checkers: f64,
    others: f64,
    /// The time that clients waited, in milliseconds.
    waited: Vec<f64>,
    /// Rounds of the checkers since the start, and their processor time since then.
    rounds: u64,
    checked: f64,
    kept: u64,
}

pub(crate) fn table() {
    let mut turns = ROWS.map(|_| Vec::new());
    for number in 0..TURNS {
        for (place, row) in ROWS.into_iter().enumerate() {
            turns[place].push(measure(row, (number * ROWS.len() + place) as u8));
        }
    }
    println!(
        "| over | checkers | events/s of a node | answers/s | median ms | 99 % ms | processor ms an answer, checkers left out | to `off` | checkers, of one core | ms a round | kept from happening |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let each = |turn: &Turn| turn.others / turn.waited.len() as f64 * 1e3;
    let of = |turns: &[Turn], value: &dyn Fn(&Turn) -> f64| median(&mut turns.iter().map(value).collect::<Vec<_>>());
    for ((network, mode), turns_of_row) in ROWS.into_iter().zip(&turns) {
        let off = ROWS.iter().position(|row| *row == (network, Mode::Off)).expect("each network has this row");
        let (off, turns) = (of(&turns[off], &each), turns_of_row);
        let mut waited: Vec<f64> = turns.iter().flat_map(|turn| turn.waited.iter().copied()).collect();
        println!(
            "| {} | {} | {:.0} | {:.0} | {:.2} | {:.2} | {:.3} | {:.3} | {:.1} % | {:.1} | {} |",
            if network == Network::Ordered { "TCP" } else { "UDP" },
            mode.name(),
            of(turns, &|turn| turn.events as f64 / turn.seconds / 3.0),
            of(turns, &|turn| turn.waited.len() as f64 / turn.seconds),
            at(&mut waited, 0.5),
            at(&mut waited, 0.99),
            of(turns, &each),
            of(turns, &each) / off,
            of(turns, &|turn| turn.checkers / turn.seconds / 3.0 * 100.0),
            of(turns, &|turn| turn.checked / turn.rounds.max(1) as f64 * 1e3),
            turns.iter().map(|turn| turn.kept).sum::<u64>(),
        );
    }
}

/// The address of a node, or of its clients.
fn address(number: u8, last: u8) -> SocketAddr {
    SocketAddr::from(([127, 99, number, last + 1], 7_433))
}

/// The file of a cluster.
fn cluster(network: Network, number: u8) -> String {
    let mut text = format!(
        "plugin = {:?}\nnetwork = \"{network}\"\n[parameters]\nterms = 0\nrequests = 0\nkept = 20\nheartbeats = true\n",
        component("raft-kv")
    );
    for node in 0..3 {
        let (address, clients) = (address(number, node), address(number, node + 3));
        text += &format!("[[node]]\naddress = \"{address}\"\nclients = \"{clients}\"\n");
    }
    text
}

/// Runs a cluster for a while.
fn measure((network, mode): (Network, Mode), number: u8) -> Turn {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("cluster.toml"), cluster(network, number)).expect("writable");
    std::fs::create_dir_all(folder.path().join("data")).expect("writable");
    let (interrupted, clock, log) = (Default::default(), system_clock(), &mut std::io::sink());
    let context = &mut Context {
        log,
        columns: None,
        directory: folder.path(),
        cache: None,
        interrupted: &interrupted,
        clock: &clock,
        builds: &Default::default(),
    };
    let spec = RunningSpec::read(Path::new("cluster.toml"), context).unwrap_or_else(|why| panic!("{}", why.message));
    let running = Running::open(&spec, context).unwrap_or_else(|why| panic!("{}", why.message));
    let seat = |id: u32| running.seat(id, id.into(), context).unwrap_or_else(|why| panic!("{}", why.message));
    let seats: Vec<Seat> = (0..3).map(seat).collect();
    let clients: Vec<SocketAddr> = (3..6).map(|last| address(number, last)).collect();
    let (stop, begins, ends) = (AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false));
    let factory = running.factory();
    let mut turn = Turn::default();
    thread::scope(|scope| {
        let start = |seat| {
            let Seat { identity, settings, addresses, clients, metrics, disk } = seat;
            let (name, digest) = running.plugin();
            let (component, ways) = ((name.to_owned(), digest.to_owned()), Ways::default());
            let (tls, log) = (None, Sink::none());
            let (operations, all_end) = Default::default();
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
                recording: None,
                ways,
                operations,
                all_end,
            };
            let (watch, stop) = (watch(mode, &running, folder.path()), &stop);
            scope.spawn(move || run(factory, &place, watch, stop).unwrap_or_else(|error| panic!("{error}")))
        };
        let nodes: Vec<_> = seats.into_iter().map(start).collect();
        let ask = |client| {
            let (clients, begins, ends) = (&clients, &begins, &ends);
            scope.spawn(move || ask_on(client, clients, begins, ends))
        };
        let asking: Vec<_> = (0..CLIENTS).map(ask).collect();
        thread::sleep(ELECTION);
        let time = || (processor(UsageWho::RUSAGE_SELF), processor_of_threads("checker"));
        let (begun, before) = (Instant::now(), time());
        begins.store(true, Ordering::Relaxed);
        thread::sleep(TURN);
        ends.store(true, Ordering::Relaxed);
        asking.into_iter().for_each(|client| turn.waited.extend(client.join().expect("no client panics")));
        let after = time();
        turn.seconds = begun.elapsed().as_secs_f64();
        turn.checkers = (after.1 - before.1).as_secs_f64();
        turn.checked = after.1.as_secs_f64();
        turn.others = (after.0 - before.0).as_secs_f64() - turn.checkers;
        stop.store(true, Ordering::Relaxed);
        for node in nodes {
            let Ended { counts, watched, .. } = node.join().expect("no node panics");
            turn.events += counts.messages + counts.local;
            turn.kept += counts.filtered + counts.discarded + counts.foreseen;
            turn.rounds += watched.map_or(0, |watched| watched.checker.rounds);
        }
    });
    turn
}

/// A checker as in `host live`.
fn watch(mode: Mode, running: &Running<'_>, folder: &Path) -> Option<Watch> {
    let steers = matches!(mode, Mode::Steer | Mode::Hold);
    (mode != Mode::Off).then(|| Watch {
        factory: running.checking_factory(),
        scenario: running.ahead(),
        limits: Running::limits(Watching { steers, holds: mode == Mode::Hold, breaks: false }),
        round_time: ROUND_TIME,
        every: EVERY,
        share: SHARE,
        report: Box::new(|_, _, _| {}),
        missing: Arc::new(|_| {}),
        kept: Vec::new(),
        steer: steers.then(|| Steer {
            quota: Quota::default(),
            switch: folder.join("steering-off"),
            hold: (mode == Mode::Hold).then_some(HOLD),
            breaks: false,
        }),
    })
}

/// Writes one value after the other, at the node that leads. Returns the time that each took, in milliseconds.
fn ask_on(client: usize, clients: &[SocketAddr], begins: &AtomicBool, ends: &AtomicBool) -> Vec<f64> {
    let (mut waited, mut node, mut count) = (Vec::new(), client % clients.len(), 0_u64);
    while !ends.load(Ordering::Relaxed) {
        if !begins.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(5));
            continue;
        }
        count += 1;
        let begun = Instant::now();
        match http::request(clients[node], "PUT", &format!("/{client}"), count.to_string().as_bytes()) {
            Ok(answer) if answer.status == 204 => waited.push(begun.elapsed().as_secs_f64() * 1e3),
            _ => node = (node + 1) % clients.len(),
        }
    }
    waited
}
