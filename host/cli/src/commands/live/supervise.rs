//! The processes of a cluster: started, restarted after a kill, and ended together.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use host_session::base::{Exit, Failure, exit};

/// The interval between checks whether the cluster should end.
const PAUSE: Duration = Duration::from_millis(50);
/// The minimum and the maximum delay before the restart of a killed node.
const AWAY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));
/// A node that has run for this time was not killed by its own start.
const STEADY: Duration = Duration::from_secs(60);

/// The process of a node.
struct Node {
    id: usize,
    /// None while the node is down.
    child: Option<Child>,
    /// The time of the last start or kill.
    since: Instant,
    /// The delay before the last restart.
    away: Duration,
}

/// The processes of the nodes, which end with this one: each reads the end of its standard input.
struct Nodes(Vec<Node>);

/// Starts `count` nodes, and ends them when one of them ends or `interrupted`
/// is set. With `restarts`, a killed node is restarted. Each start and end is
/// a line for `tell`, after the `news` once all have started.
pub(super) fn supervise(
    count: usize,
    restarts: bool,
    interrupted: &AtomicBool,
    start: &mut dyn FnMut(usize) -> std::io::Result<Child>,
    news: &[String],
    tell: &mut dyn FnMut(&str),
) -> Result<Exit, Failure> {
    let mut start =
        |id: usize| start(id).map_err(|error| Failure::system(format_args!("cannot start node {id}: {error}")));
    let mut nodes = Nodes(Vec::new());
    for id in 0..count {
        nodes.0.push(Node { id, child: Some(start(id)?), since: Instant::now(), away: Duration::ZERO });
    }
    news.iter().for_each(|line| tell(line));
    while !interrupted.load(Ordering::Relaxed) {
        for node in &mut nodes.0 {
            if let Some(status) = node.ended()? {
                if let Some(exit) = node.take_leave(status, restarts, tell) {
                    return Ok(exit);
                }
            } else if node.child.is_none() && node.since.elapsed() >= node.away {
                tell(&format!("node {} is started again", node.id));
                (node.child, node.since) = (Some(start(node.id)?), Instant::now());
            }
        }
        std::thread::sleep(PAUSE);
    }
    Ok(Exit::Ok)
}

impl Node {
    /// Its exit status, if it has ended.
    fn ended(&mut self) -> Result<Option<ExitStatus>, Failure> {
        let ended = self.child.as_mut().map_or(Ok(None), Child::try_wait);
        ended.map_err(|error| Failure::system(format_args!("node {} is lost: {error}", self.id)))
    }

    /// Handles the end of the node. Returns the exit of the whole cluster, if the node is not restarted.
    fn take_leave(&mut self, status: ExitStatus, restarts: bool, tell: &mut dyn FnMut(&str)) -> Option<Exit> {
        let (id, how) = (self.id, words(status));
        if status.signal().is_some() && restarts {
            self.away = away(self.since.elapsed(), self.away);
            (self.child, self.since) = (None, Instant::now());
            let away = self.away.as_secs_f64();
            tell(&format!("node {id} {how}; it is started again in {away} s, with what is on its disk"));
            return None;
        }
        tell(&format!("node {id} {how}; the others end with it"));
        Some(status.code().and_then(Exit::of_code).unwrap_or(Exit::System))
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.0.iter_mut().filter_map(|node| node.child.as_mut()).for_each(|child| drop(child.stdin.take()));
        for child in self.0.iter_mut().filter_map(|node| node.child.as_mut()) {
            // Acknowledged writes are on the disks in any case.
            let _ = child.wait();
        }
    }
}

/// The delay before the restart of a node that ran for this time: twice the last delay if it was killed soon.
fn away(ran: Duration, last: Duration) -> Duration {
    if ran >= STEADY { AWAY.0 } else { (last * 2).clamp(AWAY.0, AWAY.1) }
}

/// The cause of a node's end, with a remedy.
fn words(status: ExitStatus) -> String {
    if let Some(signal) = status.signal() {
        let (name, remedy) = signal_words(signal);
        let name = name.map_or_else(|| format!("signal {signal}"), |name| format!("signal {signal} ({name})"));
        return format!("was ended by {name}: {remedy}");
    }
    let Some(code) = status.code() else { return "has ended".to_owned() };
    let Some(what) = Exit::of_code(code) else { return format!("has ended with exit code {code}") };
    let remedy = match what {
        Exit::Ok => "as a signal has asked it to",
        Exit::GuestFault => "its plugin has failed, and would again: mend it; `host run` may find out why",
        Exit::System => "see above what is in its way, and start the cluster again",
        _ => exit::TABLE.iter().find(|(exit, _)| *exit == what).map_or("", |(_, words)| *words),
    };
    format!("has ended with exit code {code}: {remedy}")
}

/// The name of a signal, if it is a known one, and a remedy.
fn signal_words(signal: i32) -> (Option<&'static str>, &'static str) {
    const KILLED: &str = "by hand, or by the system for want of memory, as `dmesg` then says";
    const CRASHED: &str = "a mistake of `host` or of this machine; please report it, with the last lines of the node";
    const SENT: &str = "another process has sent it";
    match signal {
        1 => (Some("SIGHUP"), SENT),
        2 => (Some("SIGINT"), SENT),
        3 => (Some("SIGQUIT"), SENT),
        4 => (Some("SIGILL"), CRASHED),
        6 => (Some("SIGABRT"), CRASHED),
        8 => (Some("SIGFPE"), CRASHED),
        9 => (Some("SIGKILL"), KILLED),
        11 => (Some("SIGSEGV"), CRASHED),
        13 => (Some("SIGPIPE"), SENT),
        15 => (Some("SIGTERM"), SENT),
        _ => (None, SENT),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// Runs nodes that are shell scripts: the first one at its first start, and so on; after the last script, a node waits until it is
    /// ended. Returns the exit and the lines; the cluster is interrupted once these contain `until`.
    fn run(scripts: &[&[&str]], restarts: bool, until: &str) -> (Exit, Vec<String>) {
        let mut starts = vec![0; scripts.len()];
        let mut start = |id: usize| {
            let script: &str = scripts[id].get(starts[id]).copied().unwrap_or("cat");
            starts[id] += 1;
            Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).spawn()
        };
        let (interrupted, mut told) = (AtomicBool::new(false), Vec::new());
        let mut tell = |line: &str| {
            interrupted.fetch_or(!until.is_empty() && line.contains(until), Ordering::Relaxed);
            told.push(line.to_owned());
        };
        let news = ["all run".to_owned()];
        let exit = supervise(scripts.len(), restarts, &interrupted, &mut start, &news, &mut tell);
        (exit.expect("a shell starts"), told)
    }

    #[test]
    fn a_node_that_is_killed_is_started_again_and_its_signal_is_named() {
        let (exit, told) = run(&[&["cat"], &["kill -KILL $$", "kill -ABRT $$"]], true, "SIGABRT");
        assert_eq!(exit, Exit::Ok);
        assert_eq!(told.len(), 4, "{told:?}");
        let killed = "node 1 was ended by signal 9 (SIGKILL): by hand, or by the system for want of memory";
        assert!(told[1].starts_with(killed), "{told:?}");
        assert!(told[1].ends_with("; it is started again in 0.1 s, with what is on its disk"), "{told:?}");
        assert_eq!(told[2], "node 1 is started again");
        assert!(
            told[3].contains("signal 6 (SIGABRT): a mistake of `host`") && told[3].contains("in 0.2 s"),
            "{told:?}"
        );
    }

    #[test]
    fn all_end_with_one_that_is_killed_where_none_is_started_again() {
        let (exit, told) = run(&[&["cat"], &["kill -KILL $$"]], false, "");
        assert_eq!(exit, Exit::System);
        assert!(told[1].contains("signal 9") && told[1].ends_with("; the others end with it"), "{told:?}");
    }

    /// A restarted node would end in the same way again.
    #[test]
    fn all_end_with_one_that_ends_by_itself() {
        for (code, exit, words) in [
            (0, Exit::Ok, "as a signal has asked it to"),
            (14, Exit::GuestFault, "its plugin has failed"),
            (151, Exit::Configuration, "an option, the scenario"),
            (153, Exit::System, "see above"),
            (77, Exit::System, ""),
        ] {
            for restarts in [true, false] {
                let (ended, told) = run(&[&[&format!("exit {code}")], &["cat"]], restarts, "");
                assert_eq!(ended, exit);
                assert!(told[1].starts_with(&format!("node 0 has ended with exit code {code}")), "{told:?}");
                assert!(told[1].contains(words) && told[1].ends_with("; the others end with it"), "{told:?}");
            }
        }
    }

    #[test]
    fn a_node_that_is_killed_again_and_again_stays_away_longer_each_time() {
        let second = Duration::from_secs(1);
        let mut last = Duration::ZERO;
        let mut all = Vec::new();
        for ran in [0, 1, 59, 0, 60, 0, 0] {
            last = away(second * ran, last);
            all.push(last.as_millis());
        }
        assert_eq!(all, [100, 200, 400, 800, 100, 200, 400]);
        assert_eq!(away(Duration::ZERO, second * 20), second * 30);
    }
}
