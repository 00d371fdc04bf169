//! Every printed command line runs where it was printed: from a relative folder, in a folder whose name contains a
//! blank.
//!
//! The tests run the program as users do, since a test in this process has an absolute folder. [`PLACES`] lists where sources print command
//! lines, and a scan of the sources keeps it complete.

use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output};

use super::{Place, bundled, folder, program};

/// The test of a place that prints a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// A case of this module.
    Case,
    /// Another test.
    Test(&'static str),
    /// None: a pattern that names options or a command, for words that only the reader knows.
    Pattern,
    /// None: a helper that other places print by.
    Below,
}

/// Where sources print command lines: the file, a part of the line, and how it is tested.
const PLACES: &[(&str, &str, How)] = &[
    ("cli/src/options/mod.rs", "Begin with: host run plugins/paxos", How::Test("cli::results, of the same plugin")),
    (
        "cli/src/options/mod.rs",
        "`host {command} --help` lists all",
        How::Test("options, in the crate of the command line"),
    ),
    ("cli/src/output/run_files.rs", "let replay = self.cluster.replay_command(program, Path::new(&trace));", How::Case),
    ("cli/src/output/run_files.rs", "let replay = self.cluster.replay_command(program, Path::new(&path));", How::Case),
    ("cli/src/commands/build.rs", "`host run PLUGIN --spec {folder}`", How::Pattern),
    ("cli/src/commands/build.rs", "`host doctor {folder}` says more", How::Case),
    ("cli/src/commands/draw.rs", "cluster.replay_command(program, given)", How::Case),
    ("cli/src/commands/minimize.rs", "cluster.replay_command(program, &out)", How::Case),
    ("cli/src/commands/refine.rs", "`host debug PLUGIN` shows the descriptions of states", How::Pattern),
    (
        "cli/src/commands/refine.rs",
        "self.new.replay_command(self.program, out)",
        How::Test("cli::refine, of the same trace"),
    ),
    ("cli/src/commands/live/backup.rs", "`host live backup` has written", How::Pattern),
    ("cli/src/commands/follow.rs", "self.cluster.replay_command(self.program, out)", How::Test("cli::follow")),
    ("cli/src/commands/new/mod.rs", "`host new {language} NAME`", How::Pattern),
    ("cli/src/commands/new/mod.rs", "`host new wrap --go PACKAGE` a wrapper", How::Test("cli::new")),
    ("cli/src/commands/new/mod.rs", "host build .   compiles it", How::Test("cli::new")),
    ("cli/src/commands/new/mod.rs", "host run .     explores its states", How::Test("cli::new")),
    ("cli/src/commands/new/mod.rs", "host run . --network unordered-duplicating", How::Test("cli::new")),
    ("cli/src/commands/new/mod.rs", "host run . --set bug=no-write-back", How::Test("cli::new")),
    ("cli/src/commands/new/mod.rs", "host build .\\nhost run .", How::Test("cli::new")),
    ("cli/src/commands/new/mod.rs", "`host test .`", How::Test("cli::new")),
    ("cli/src/commands/new/mod.rs", "`host doctor .` says", How::Test("cli::new")),
    ("cli/src/commands/new/wrap.rs", "host run .     runs it as it is", How::Test("cli::new")),
    ("cli/src/commands/new/wrap.rs", "`host new wrap raft@0.7.0`", How::Pattern),
    ("cli/src/commands/new/wrap.rs", "`host new wrap --go {text}`", How::Test("cli::new")),
    ("cli/src/commands/new/wrap.rs", "`host new wrap {library}@{version} --name my-wrapper`", How::Pattern),
    ("cli/src/commands/new/wrap_go.rs", "host run .     runs it as it is", How::Test("cli::new")),
    ("cli/src/commands/new/wrap_go.rs", "`host new wrap --go {package} --name my-wrapper`", How::Test("cli::new")),
    ("cli/src/commands/new/wrap_go.rs", "`host new wrap --go go.etcd.io/etcd/raft`", How::Test("cli::new")),
    ("cli/src/commands/test/mod.rs", "\"{} run {}\"", How::Case),
    ("session/src/scenario_file/trust.rs", "`host build {}`", How::Case),
    ("session/src/search/run.rs", "`host inspect {given}` lists the parameters", How::Case),
    ("session/src/search/simulated_cluster.rs", "explore from there: host run --prefix", How::Pattern),
    ("session/src/search/simulated_cluster.rs", "explore a cluster whose nodes differ: host run", How::Pattern),
    ("session/src/search/simulation.rs", "explore it: host run", How::Pattern),
    ("session/src/live/open.rs", "`host build {named}`", How::Case),
    (
        "session/src/live/predictions.rs",
        "replay_command(&self.program, &path, &self.words)",
        How::Test("cli::live::watched"),
    ),
    ("session/src/cluster/expressed.rs", "`host run --help` has the language", How::Case),
    ("session/src/cluster/open.rs", "replay_command(", How::Below),
    ("session/src/cluster/plugin_source.rs", "`host build {given}`", How::Case),
    ("session/src/cluster/trace_file.rs", "`host export --format itf`", How::Pattern),
    ("build/src/languages/rust/remedies.rs", "`host new wrap CRATE@VERSION`", How::Pattern),
    ("build/src/sdk.rs", "`host new --update`", How::Test("cli::new")),
];

/// The lines of sources that print a command line, with their files.
fn printing() -> Vec<(String, String)> {
    let root = folder("../host").canonicalize().expect("the sources are there");
    let mut printing = Vec::new();
    for part in ["cli/src", "session/src", "inspect/src", "build/src"] {
        let mut left = vec![root.join(part)];
        while let Some(path) = left.pop() {
            if path.is_dir() {
                let entries = std::fs::read_dir(&path).expect("it is a folder");
                left.extend(entries.map(|entry| entry.expect("readable").path()));
            } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs") {
                let text = std::fs::read_to_string(&path).expect("sources are text");
                let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
                let name = path.strip_prefix(&root).expect("it is below").display().to_string();
                let lines = text.lines().map(str::trim).filter(|line| !line.starts_with("//") && prints(line));
                printing.extend(lines.map(|line| (name.clone(), line.to_owned())));
            }
        }
    }
    printing
}

/// Whether a line of a source prints a command with something behind its name, or makes one.
fn prints(line: &str) -> bool {
    let quoted = line.split("`host ").skip(1).filter_map(|rest| rest.split('`').next());
    let is_line = quoted.into_iter().any(|command| command.trim().contains(' '));
    let is_shown =
        [": host ", " host build .", " host run .", " host test .", "\"host run .", "\"host build .", "\\nhost run ."];
    is_line
        || line.contains("replay_command(")
        || line.contains("{} run {}")
        || is_shown.iter().any(|it| format!(" {line}").contains(it))
}

#[test]
fn every_place_that_prints_a_command_line_is_tested() {
    let printing = printing();
    for (file, line) in &printing {
        let is_listed = PLACES.iter().any(|(place, part, _)| place == file && line.contains(part));
        assert!(is_listed, "{file} prints a command line that no row of PLACES has: {line}");
    }
    for (place, part, how) in PLACES {
        let is_there = printing.iter().any(|(file, line)| file == place && line.contains(part));
        assert!(is_there, "{place} does not print {part:?} any more ({how:?})");
    }
}

/// A folder `my work` in which the program is run by its name.
pub(super) struct Desk {
    place: Place,
    here: PathBuf,
    path: String,
}

impl Desk {
    /// None if the program is not built.
    pub(super) fn new() -> Option<Self> {
        let (program, place) = (program()?, Place::new());
        let (here, bin) = (place.path("my work"), place.path("bin"));
        for folder in [&here, &bin] {
            std::fs::create_dir(folder).expect("a temporary folder can be written");
        }
        std::os::unix::fs::symlink(program, bin.join("host")).expect("a temporary folder can be written");
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
        Some(Self { place, here, path })
    }

    pub(super) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        self.place.put(&format!("my work/{name}"), content);
    }

    pub(super) fn component(&self, name: &str) {
        self.put(&format!("{name}.wasm"), std::fs::read(bundled(name)).expect("it is built"));
    }

    pub(super) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.here.join(name)).unwrap_or_default()
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.here.join(name)
    }

    fn shell(&self, line: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(&self.here).env("PATH", &self.path);
        shell
    }

    /// The result of typing a command line there.
    pub(super) fn types(&self, line: &str) -> Output {
        self.shell(line).output().expect("there is a shell")
    }

    /// The same of one that does not end by itself.
    pub(super) fn starts(&self, line: &str) -> Started {
        Started(self.shell(&format!("exec {line}")).spawn().expect("there is a shell"))
    }

    /// Types a command line, and each that it prints, in the expected number; command lines printed by these are not typed.
    fn prints(&self, line: &str, count: usize) {
        let output = self.types(line);
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let commands = commands(&text);
        assert_eq!(commands.len(), count, "{line}: {commands:?} in {text}");
        for command in commands {
            let ran = self.types(&command);
            let (code, told) = (ran.status.code(), String::from_utf8_lossy(&ran.stderr).into_owned());
            // Most of them exist to show a finding.
            let is_run = matches!(code, Some(0 | 11..=14)) && !told.contains("error: ");
            assert!(is_run, "`{line}` prints `{command}`, which ends with {code:?}: {told}");
        }
    }
}

/// A program that runs until this is dropped.
pub(super) struct Started(Child);

impl Started {
    /// Ends the program by SIGTERM, and waits for its end.
    pub(super) fn end(mut self) -> ExitStatus {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        self.0.wait().expect("it is a child")
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // The number of a process that has ended may be that of another one.
        if matches!(self.0.try_wait(), Ok(Some(_))) {
            return;
        }
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

/// The command lines in a text: in backticks, on a line of their own, or in a page.
pub(super) fn commands(text: &str) -> Vec<String> {
    let in_backticks = text.split('`').skip(1).step_by(2);
    let on_lines = text.lines().map(|line| line.trim().trim_start_matches("replay with: "));
    let in_pages = text.split("<code>").skip(1).filter_map(|rest| rest.split("</code>").next());
    let all = in_backticks.chain(on_lines).chain(in_pages).filter(|line| line.starts_with("host "));
    let mut commands: Vec<String> = all.filter(|line| line.split(' ').count() > 2).map(unescaped).collect();
    commands.sort();
    commands.dedup();
    commands
}

fn unescaped(text: &str) -> String {
    let marks = [("&#39;", "'"), ("&#x27;", "'"), ("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")];
    marks.iter().fold(text.to_owned(), |text, (mark, letter)| text.replace(mark, letter))
}

const MISTAKE: &str = "--set bug=last-response --set proposers=2";

#[test]
fn what_a_search_prints_and_what_is_made_of_its_traces_runs() {
    let Some(desk) = Desk::new() else { return };
    ["paxos", "paxos-spec"].iter().for_each(|name| desk.component(name));
    desk.prints(&format!("host run paxos.wasm --algo unfold --out 'what is found' {MISTAKE}"), 1);
    desk.prints(&format!("host run paxos.wasm --algo unfold {MISTAKE} --spec paxos-spec.wasm"), 1);
    let trace = "'what is found/trace.json' --plugin paxos.wasm";
    desk.prints(&format!("host minimize {trace} --out short.json"), 1);
    desk.prints(&format!("host draw {trace} --format html && cat 'what is found/trace.html'"), 1);
    std::fs::create_dir_all(desk.here.join("my tests/scenarios")).expect("a temporary folder can be written");
    let scenario = "plugin = \"../../paxos.wasm\"\n[parameters]\nbug = \"last-response\"\nproposers = 2\n[expect]\nresult = \"ok\"\n";
    desk.put("my tests/scenarios/wrong.toml", scenario);
    desk.prints("host test 'my tests'", 1);
}

#[test]
fn what_simulated_runs_print_runs() {
    let Some(desk) = Desk::new() else { return };
    ["paxos", "lock"].iter().for_each(|name| desk.component(name));
    desk.prints(
        &format!("host simulate paxos.wasm --seed 100 --runs 40 --loss 30% --application 1ms..20s -- {MISTAKE}"),
        1,
    );
    desk.prints("host simulate lock.wasm --seed 1 --runs 2 --watch observe --out dying -- --nodes 2", 1);
}

/// Each error here has a command line that helps.
#[test]
fn what_errors_and_builds_print_runs() {
    let Some(desk) = Desk::new() else { return };
    desk.component("paxos");
    desk.prints("host run paxos.wasm --set bug=nonsense", 1);
    desk.prints("host run paxos.wasm --always 'a=nothing('", 1);
    // Folders that have to be built, by names with a blank.
    for (from, to) in [("lock", "a lock"), ("paxos-spec", "a spec")] {
        let target = folder(from).canonicalize().expect("it is there");
        std::os::unix::fs::symlink(target, desk.here.join(to)).expect("a temporary folder can be written");
    }
    desk.prints("host build 'a lock'", 1);
    std::fs::create_dir(desk.here.join("elsewhere")).expect("a temporary folder can be written");
    desk.put("elsewhere/one.toml", "plugin = \"../a lock\"\n");
    desk.prints("host run elsewhere/one.toml", 1);
    let node = |number| format!("[[node]]\naddress = \"127.0.0.1:{}\"\n", 7_101 + number);
    let nodes = node(0) + &node(1);
    std::fs::create_dir(desk.here.join("a new")).expect("a temporary folder can be written");
    desk.put("a new/register.wat", std::fs::read(folder("register-text").join("register.wat")).expect("it is there"));
    desk.put("cluster.toml", format!("plugin = \"a new\"\n{nodes}"));
    desk.prints("host live node cluster.toml --id 0", 1);
    desk.put("judged.toml", format!("plugin = \"paxos.wasm\"\nspec = \"a spec\"\n{nodes}"));
    desk.prints("host live node judged.toml --id 0", 1);
}

#[test]
fn command_lines_are_found_in_texts() {
    let text = "error: `host run` and `host build 'a b'` help\n  host replay x.json --plugin p\n<dd><code>host replay &#39;y z&#39;</code>\nhost list\n";
    assert_eq!(commands(text), ["host build 'a b'", "host replay 'y z'", "host replay x.json --plugin p"]);
    assert!(
        prints("help(\"`host build {given}`, or\")")
            && !prints("\"only `host run` tells\"")
            && prints("= self.replay_command(a)")
    );
}
