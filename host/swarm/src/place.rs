//! A process here or on another machine, which executes a job.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::Duration;

use crate::folder::Folder;
use crate::hosts::Host;
use crate::plan::{Job, Plan};
use crate::results::WITH_VIOLATIONS;

/// The exit codes of `host run` that come with a result.
const WITH_RESULT: [i32; 7] = [0, 11, 12, 13, 14, 15, 75];

/// The exit codes of a refused command line, plugin or option, which every other process would have as well.
const REFUSED: [i32; 3] = [2, 150, 151];

/// The exit code of a run that was stopped before a result.
const STOPPED: i32 = 130;

/// The exit code of `ssh` where it does not reach a machine.
const NOT_REACHED: i32 = 255;

/// Maximum bytes of the messages of a process in a report.
const MESSAGE_MAX: u64 = 4_096;

/// Maximum bytes of the result of a job on another machine.
const ARCHIVE_MAX: u64 = 1 << 30;

/// The shortest and the longest time between two looks at a process.
const LOOKS: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));

/// The files of a job that come from another machine: others are not asked for.
const FILES: [&str; 4] = ["stats", "sketch", "trace", "found"];

/// The end of an attempt at a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// It has a result, in its folder.
    Result(i32),
    /// It was ended because it is no longer needed.
    Ended,
    /// The process has failed; another attempt may succeed.
    Lost(String),
    /// The machine has failed, whatever the job.
    Gone(String),
    /// Every other attempt would end alike.
    Stopped(String),
    /// No job can run.
    Refused(String),
}

/// The name of this machine for people.
pub const THIS_MACHINE: &str = "this machine";

/// A place where jobs run.
#[derive(Debug)]
pub enum Place {
    /// This machine.
    Here(Here),
    /// Another machine.
    There(There),
}

/// This machine.
#[derive(Clone, Debug)]
pub struct Here {
    /// The program.
    pub program: PathBuf,
    /// The working directory of the processes; the current one if it is empty.
    pub directory: PathBuf,
    /// The number of processes.
    pub processes: usize,
    /// Options of `host run` for each of them.
    pub options: Vec<String>,
}

/// Another machine.
#[derive(Debug)]
pub struct There {
    /// The machine.
    pub host: Host,
    /// The program that reaches it, with its options.
    pub ssh: Vec<String>,
    /// The working directory of that program.
    pub directory: PathBuf,
    /// The folder there, once it has the components.
    ready: Mutex<Option<Result<String, String>>>,
}

impl There {
    /// A machine that was not reached yet.
    pub fn new(host: Host, ssh: Vec<String>, directory: PathBuf) -> Self {
        Self { host, ssh, directory, ready: Mutex::default() }
    }
}

/// A process and the file with its messages.
struct Process {
    child: Child,
    messages: File,
}

impl Place {
    /// Its name for people.
    pub fn name(&self) -> &str {
        match self {
            Self::Here(_) => THIS_MACHINE,
            Self::There(there) => &there.host.address,
        }
    }

    /// The number of its processes.
    pub fn processes(&self) -> usize {
        match self {
            Self::Here(here) => here.processes,
            Self::There(there) => there.host.processes,
        }
    }

    /// Executes a job while it is needed. The lock on the folder of the swarm becomes its standard input, so it is held until the job ends.
    pub fn execute(
        &self,
        plan: &Plan,
        job: &Job<'_>,
        folder: &Folder,
        lock: &File,
        is_needed: &dyn Fn() -> bool,
    ) -> Attempt {
        let done = match self {
            Self::Here(here) => here.execute(job, folder, lock, is_needed),
            Self::There(there) => there.execute(plan, job, folder, lock, is_needed),
        };
        done.unwrap_or_else(Attempt::Lost)
    }

    /// Removes what it has left on another machine.
    pub fn clean(&self) {
        let Self::There(there) = self else { return };
        let ready = there.ready.lock().map(|mut ready| ready.take());
        if let Ok(Some(Ok(folder))) = ready {
            // A folder that cannot be removed is one for temporary files.
            let _ = there.told(&format!("rm -rf {}", quoted(&folder)), None);
        }
    }
}

impl Here {
    /// Replays a trace in a component: it must lead to a violation here.
    ///
    /// # Errors
    ///
    /// It does not: a phrase.
    pub fn replays(&self, trace: &Path, component: &Path) -> Result<(), String> {
        let mut command = Command::new(&self.program);
        command.arg("replay").arg(trace).arg("--plugin").arg(component).arg("--quiet");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        enter(&mut command, &self.directory);
        let mut process = Process::start(&mut command)?;
        match process.wait(&|| true)?.and_then(|status| status.code()) {
            Some(code) if WITH_VIOLATIONS.contains(&code) => Ok(()),
            Some(code) => Err(format!("`replay` ends with {code}: {}", process.messages())),
            None => Err(process.messages()),
        }
    }

    fn execute(
        &self,
        job: &Job<'_>,
        folder: &Folder,
        lock: &File,
        is_needed: &dyn Fn() -> bool,
    ) -> Result<Attempt, String> {
        let out = folder.job(job.number);
        let target = match job.target.is_component {
            true => folder.path().join(&job.target.path),
            false => PathBuf::from(&job.target.path),
        };
        // Of an earlier attempt.
        let _ = fs::remove_dir_all(self.directory.join(&out));
        let mut command = Command::new(&self.program);
        command.arg("run").arg(target).args(&job.target.options).args(&self.options);
        command.args(fixed(job)).arg("--out").arg(&out).stdout(Stdio::null());
        command.stdin(lock.try_clone().map_err(|error| format!("the lock cannot be handed over: {error}"))?);
        enter(&mut command, &self.directory);
        let mut process = Process::start(&mut command)?;
        Ok(match process.wait(is_needed)? {
            Some(status) => process.attempt(status),
            None => Attempt::Ended,
        })
    }
}

/// The options of each job.
fn fixed(job: &Job<'_>) -> [String; 8] {
    let seed = job.seed.to_string();
    ["--seed", &seed, "--workers", "1", "--json", "--quiet", "--sketch", "--no-install"].map(str::to_owned)
}

impl There {
    fn execute(
        &self,
        plan: &Plan,
        job: &Job<'_>,
        folder: &Folder,
        lock: &File,
        is_needed: &dyn Fn() -> bool,
    ) -> Result<Attempt, String> {
        let there = match self.ready(plan, folder) {
            Ok(there) => there,
            Err(why) => return Ok(Attempt::Gone(why)),
        };
        let name = format!("{:06}", job.number);
        let mut words: Vec<String> = vec![self.host.program.clone(), "run".to_owned(), job.target.path.clone()];
        words.extend(job.target.options.iter().cloned());
        words.extend(fixed(job));
        words.extend(["--out".to_owned(), name.clone()]);
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let files: Vec<String> = FILES.iter().map(|file| format!("{name}/{file}*.json")).collect();
        // The result comes back as an archive on standard output, the exit code as that of the command.
        let script = format!(
            "cd {} && {{ {} > /dev/null; code=$?; tar -cf - $(ls -d {} 2> /dev/null); rm -rf {name}; exit $code; }}",
            quoted(&there),
            words.join(" "),
            files.join(" ")
        );
        let archive = tempfile::tempfile().map_err(|error| format!("no file for its result: {error}"))?;
        let mut command = self.command(&script);
        let cloned = |file: &File| file.try_clone().map_err(|error| format!("a file cannot be handed over: {error}"));
        command.stdin(cloned(lock)?).stdout(cloned(&archive)?);
        let mut process = Process::start(&mut command)?;
        let is_bounded = || archive.metadata().is_ok_and(|archive| archive.len() <= ARCHIVE_MAX);
        let Some(status) = process.wait(&|| is_needed() && is_bounded())? else {
            return match is_bounded() {
                true => Ok(Attempt::Ended),
                false => Err(format!("its result has more than {} MiB", ARCHIVE_MAX >> 20)),
            };
        };
        if status.code() == Some(NOT_REACHED) {
            return Ok(Attempt::Gone(process.messages()));
        }
        let attempt = process.attempt(status);
        if let Attempt::Result(_) = attempt {
            self.unpack(archive, &name, &folder.job(job.number))?;
        }
        Ok(attempt)
    }

    /// The files of a job out of an archive, which another machine could have forged: known names alone, and no links.
    fn unpack(&self, mut archive: File, name: &str, out: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("its result cannot be written: {error}");
        archive.seek(SeekFrom::Start(0)).map_err(failed)?;
        let out = self.directory.join(out);
        let parent = out.parent().ok_or("a job has a folder")?;
        let inside = tempfile::tempdir_in(parent).map_err(failed)?;
        let mut command = Command::new("tar");
        command.args(["-xf", "-", "--no-same-owner", "-C"]).arg(inside.path()).stdin(archive).stdout(Stdio::null());
        let mut process = Process::start(&mut command)?;
        if !process.wait(&|| true)?.is_some_and(|status| status.success()) {
            return Err(format!("its result is no archive: {}", process.messages()));
        }
        let _ = fs::remove_dir_all(&out);
        fs::create_dir_all(&out).map_err(failed)?;
        for entry in fs::read_dir(inside.path().join(name)).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_known = FILES.iter().any(|file| name.starts_with(file)) && name.ends_with(".json");
            if is_known && entry.file_type().map_err(failed)?.is_file() {
                fs::rename(entry.path(), out.join(name)).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// The folder there, with the components. The first process of the machine makes it, and the others wait.
    fn ready(&self, plan: &Plan, folder: &Folder) -> Result<String, String> {
        let mut ready = self.ready.lock().map_err(|_| "a process of this machine has failed".to_owned())?;
        ready.get_or_insert_with(|| self.prepare(plan, folder)).clone()
    }

    fn prepare(&self, plan: &Plan, folder: &Folder) -> Result<String, String> {
        let program = &self.host.program;
        let version = self.told(&format!("{} --version", quoted(program)), None)?;
        if version.trim() != plan.host {
            return Err(format!("{program} there is \"{}\", and this one is \"{}\"", version.trim(), plan.host));
        }
        let there = self.told("mktemp -d && command -v tar > /dev/null", None)?.trim().to_owned();
        for target in &plan.targets {
            let path = self.directory.join(folder.path()).join(&target.path);
            let component = File::open(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            let to = quoted(&target.path);
            self.told(&format!("cd {} && mkdir -p components && cat > {to}", quoted(&there)), Some(component))?;
        }
        Ok(there)
    }

    /// The output of a short command there.
    fn told(&self, script: &str, input: Option<File>) -> Result<String, String> {
        let mut output = tempfile::tempfile().map_err(|error| format!("no file for its answer: {error}"))?;
        let mut command = self.command(script);
        command.stdin(input.map_or_else(Stdio::null, Stdio::from));
        command.stdout(output.try_clone().map_err(|error| format!("a file cannot be handed over: {error}"))?);
        let mut process = Process::start(&mut command)?;
        match process.wait(&|| true)? {
            Some(status) if status.success() => {
                let mut text = String::new();
                let read =
                    output.seek(SeekFrom::Start(0)).and_then(|_| output.take(MESSAGE_MAX).read_to_string(&mut text));
                read.map_err(|error| format!("its answer cannot be read: {error}"))?;
                Ok(text)
            }
            _ => Err(format!("it does not answer: {}", process.messages())),
        }
    }

    fn command(&self, script: &str) -> Command {
        // A file with machines names a program.
        let program = self.ssh.first().map_or("ssh", String::as_str);
        let mut command = Command::new(program);
        command.args(self.ssh.iter().skip(1)).arg(&self.host.address).arg(script);
        enter(&mut command, &self.directory);
        command
    }
}

impl Process {
    fn start(command: &mut Command) -> Result<Self, String> {
        let program = command.get_program().display().to_string();
        let failed = |error: std::io::Error| format!("cannot start {program}: {error}");
        let messages = tempfile::tempfile().map_err(|error| format!("no file for messages: {error}"))?;
        command.stderr(messages.try_clone().map_err(|error| format!("no file for messages: {error}"))?);
        // A signal from the terminal is for the swarm, which ends its jobs.
        std::os::unix::process::CommandExt::process_group(command, 0);
        Ok(Self { child: command.spawn().map_err(failed)?, messages })
    }

    /// Its end; none if it was killed because it is not needed.
    fn wait(&mut self, is_needed: &dyn Fn() -> bool) -> Result<Option<ExitStatus>, String> {
        let failed = |error: std::io::Error| format!("a process is lost: {error}");
        let mut pause = LOOKS.0;
        loop {
            if let Some(status) = self.child.try_wait().map_err(failed)? {
                return Ok(Some(status));
            }
            if !is_needed() {
                // It may have ended by now, which is as well.
                let _ = self.child.kill();
                self.child.wait().map_err(failed)?;
                return Ok(None);
            }
            sleep(pause);
            pause = (pause * 2).min(LOOKS.1);
        }
    }

    fn attempt(mut self, status: ExitStatus) -> Attempt {
        match status.code() {
            Some(code) if WITH_RESULT.contains(&code) => Attempt::Result(code),
            Some(code) if REFUSED.contains(&code) => Attempt::Refused(self.messages()),
            Some(STOPPED) => Attempt::Stopped("--time or --memory ended it before it had a result".to_owned()),
            _ => Attempt::Lost(format!("it has ended with {status}: {}", self.messages())),
        }
    }

    /// The last lines on its standard error, in one.
    fn messages(&mut self) -> String {
        let mut bytes = Vec::new();
        let size = self.messages.seek(SeekFrom::End(0)).unwrap_or_default();
        let read = self.messages.seek(SeekFrom::Start(size.saturating_sub(MESSAGE_MAX)));
        let _ = read.and_then(|_| (&self.messages).take(MESSAGE_MAX).read_to_end(&mut bytes));
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().map(|line| line.trim().trim_start_matches("error: "));
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        match lines.is_empty() {
            true => "it said nothing".to_owned(),
            false => lines.join("; "),
        }
    }
}

/// Runs a command in a folder; in the current one if it has no name.
fn enter(command: &mut Command, directory: &Path) {
    if !directory.as_os_str().is_empty() {
        command.current_dir(directory);
    }
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
