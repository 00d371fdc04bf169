//! The environment of a session: folders, the clock, the user's request to stop.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::base::plugins::Plugins;
use crate::base::text::without_controls;
use crate::base::{Exit, Failure};

/// Everything that a session touches outside of itself.
pub struct Context<'a> {
    /// The log for steps of builds, progress and warnings, a line each.
    pub log: &'a mut (dyn Write + Send),
    /// The width of the terminal that shows the log to a person; none if it is no terminal.
    pub columns: Option<usize>,
    /// The folder in which relative paths begin; empty for the working directory of the process.
    pub directory: &'a Path,
    /// The folder for compiled code and the standard library for guests; none if there is no place.
    pub cache: Option<&'a Path>,
    /// Set from outside, by a signal for example, to end a search with what it has.
    pub interrupted: &'a Arc<AtomicBool>,
    /// The clock of bounds on time.
    pub clock: &'a Clock,
    /// The components and plugins of the command so far; new ones are added.
    pub builds: &'a Builds,
}

/// The components and plugins of a command: however many clusters it opens, it builds each of their components once, and loads it once
/// unless it opens many others in between.
#[derive(Debug, Default)]
pub struct Builds {
    /// The components, by the folders or files that they are made of; or the reason why a build failed.
    components: Mutex<BTreeMap<PathBuf, Result<PathBuf, Failure>>>,
    /// The loaded plugins.
    pub plugins: Plugins,
}

impl Builds {
    /// The same components for another cluster, which loads its plugins itself.
    #[must_use]
    pub fn of_components(&self) -> Self {
        let components = self.components.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Self { components: Mutex::new(components), plugins: Plugins::default() }
    }

    /// The component of a folder or file: the earlier one, or the result of `build`.
    ///
    /// # Errors
    ///
    /// Those of `build`. Only a stopped build is tried again: a failed build fails for each cluster that needs it.
    pub fn component(&self, of: &Path, build: impl FnOnce() -> Result<PathBuf, Failure>) -> Result<PathBuf, Failure> {
        let key = of.canonicalize().unwrap_or_else(|_| of.to_owned());
        let built = self.components.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(built) = built.filter(|built| built.as_ref().map_or(true, |built| built.is_file())) {
            return built;
        }
        let built = build();
        let is_final = |failure: &Failure| failure.exit != Exit::Stopped && failure.stopped.is_none();
        if built.as_ref().map_or_else(is_final, |_| true) {
            self.components.lock().unwrap_or_else(PoisonError::into_inner).insert(key, built.clone());
        }
        built
    }
}

/// Tells the time since some moment in the past. It is read before every call of a guest.
pub type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// The clock of this machine.
pub fn system_clock() -> Clock {
    let began = Instant::now();
    Arc::new(move || began.elapsed())
}

impl Context<'_> {
    /// A path that the user gave.
    pub fn path(&self, path: &Path) -> PathBuf {
        self.directory.join(path)
    }

    /// Writes a line for the user. A failure of that is not reported: there is no other stream.
    pub fn tell(&mut self, line: &str) {
        let _ = writeln!(self.log, "{}", without_controls(line));
    }

    /// Draws a line for the user, over the one that was drawn before; an empty one clears it. Only on a terminal.
    pub fn redraw(&mut self, line: &str) {
        let Some(columns) = self.columns else { return };
        // A line that is wrapped cannot be redrawn.
        let line: String = without_controls(line).chars().take(columns.saturating_sub(1)).collect();
        let _ = write!(self.log, "\r{line}\x1b[K").and_then(|()| self.log.flush());
    }

    /// Stops a build on an interrupt by the user.
    pub fn stops_builds(&self) -> host_build::Stop {
        let interrupted = Arc::clone(self.interrupted);
        host_build::Stop::new(move || interrupted.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_built_is_built_once() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (source, wasm) = (folder.path().join("ring"), folder.path().join("ring.wasm"));
        std::fs::create_dir(&source).expect("writable");
        let builds = Builds::default();
        let asked = std::cell::Cell::new(0);
        let failure = std::cell::RefCell::new(Failure::stopped("interrupted"));
        let component = |of: &Path, is_sound: bool| {
            builds.component(of, || {
                asked.set(asked.get() + 1);
                std::fs::write(&wasm, "").expect("writable");
                if is_sound { Ok(wasm.clone()) } else { Err(failure.borrow().clone()) }
            })
        };
        // A build that was stopped may succeed the next time.
        assert_eq!((component(&source, false), asked.get()), (Err(failure.borrow().clone()), 1));
        assert_eq!((component(&source, true), asked.get()), (Ok(wasm.clone()), 2));
        // The same folder by another name.
        assert_eq!((component(&source.join("../ring"), true), asked.get()), (Ok(wasm.clone()), 2));
        std::fs::remove_file(&wasm).expect("it is there");
        assert_eq!((component(&source, true), asked.get()), (Ok(wasm.clone()), 3));
        assert_eq!((component(folder.path(), true), asked.get()), (Ok(wasm.clone()), 4));
        // A failed build fails for every cluster that needs it, and another build does not repeat its message.
        *failure.borrow_mut() = Failure::plugin("it does not compile");
        let other = folder.path().join("other");
        for _ in 0..2 {
            assert_eq!((component(&other, false), asked.get()), (Err(failure.borrow().clone()), 5));
        }
    }
}
