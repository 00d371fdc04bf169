//! `host run --watch`: a run whenever its inputs change.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use host_build::SourceState;
use host_session::base::context::Builds;
use host_session::base::{Exit, Failure};

use crate::environment::Environment;

/// The poll interval of the sources. If two polls agree, the writer has finished.
const LOOKED_AT_EVERY: Duration = Duration::from_millis(200);

/// Runs `once`, and again whenever a file at these paths changes, until the user ends it. Changes during a run count as well.
///
/// # Errors
///
/// None: a failed run is shown, since the next edit may mend it.
pub fn run(
    paths: &[PathBuf],
    environment: &mut Environment<'_>,
    mut once: impl FnMut(&mut Environment<'_>) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let paths: Vec<PathBuf> = paths.iter().map(|path| environment.path(path)).collect();
    loop {
        let before = look(&paths);
        // The sources may have changed since the last build.
        environment.builds = Builds::default();
        if let Err(failure) = once(environment) {
            environment.fail(&failure);
        }
        if !is_stopped(environment) {
            environment.tell("watch: waiting for a change of the sources; Ctrl-C ends");
        }
        // Editors write a new file and rename it: for a moment the file is missing.
        let mut last = look(&paths);
        loop {
            if is_stopped(environment) {
                return Ok(Exit::Stopped);
            }
            std::thread::sleep(LOOKED_AT_EVERY);
            let now = look(&paths);
            if now != before && now == last {
                break;
            }
            last = now;
        }
        environment.tell("watch: the sources have changed");
    }
}

fn look(paths: &[PathBuf]) -> Vec<SourceState> {
    paths.iter().map(|path| SourceState::of(path)).collect()
}

fn is_stopped(environment: &Environment<'_>) -> bool {
    // The clock of the test interrupts.
    (environment.clock)();
    environment.interrupted.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use host_session::base::context::system_clock;

    use super::*;

    #[test]
    fn each_change_is_run_until_the_user_ends_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("plugin/target")).expect("writable");
        fs::write(path("plugin/a.py"), "1").expect("writable");
        fs::write(path("other.wasm"), "1").expect("writable");
        // The folder of another node, with a header named by its flags.
        fs::create_dir_all(path("node/include")).and_then(|()| fs::create_dir_all(path("headers"))).expect("writable");
        fs::write(path("node/host.toml"), "[build]\nflags = [\"-I../headers\"]\n").expect("writable");
        fs::write(path("headers/a.h"), "1").expect("writable");
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut environment = Environment {
            stdout: &mut out,
            stderr: &mut err,
            stdin: &mut std::io::empty(),
            stdin_is_terminal: false,
            colours: false,
            stderr_columns: None,
            directory: folder.path().to_owned(),
            cache: None,
            interrupted: std::sync::Arc::default(),
            clock: system_clock(),
            builds: Builds::default(),
        };
        let (mut rounds, mut builds) = (0, 0);
        let exit = run(&["plugin".into(), "other.wasm".into(), "node".into()], &mut environment, |environment| {
            rounds += 1;
            let build = || Ok::<_, Failure>(path("plugin/a.py")).inspect(|_| builds += 1);
            environment.builds.component(&path("plugin"), build)?;
            // Files made by tools are no sources.
            fs::write(path("plugin/target/made"), rounds.to_string()).expect("writable");
            match rounds {
                1 => fs::write(path("plugin/a.py"), "22").expect("writable"),
                2 => {
                    // By a rename, with the same size as before.
                    fs::write(path("new"), "33").expect("writable");
                    fs::rename(path("new"), path("plugin/a.py")).expect("writable");
                    return Err(Failure::plugin("it does not build").help("mend it"));
                }
                3 => fs::write(path("plugin/b.py"), "").expect("writable"),
                4 => fs::remove_file(path("other.wasm")).expect("writable"),
                5 => fs::write(path("headers/a.h"), "22").expect("writable"),
                _ => environment.interrupted.store(true, Ordering::Relaxed),
            }
            Ok(Exit::Safety)
        });
        assert_eq!((exit.expect("no failure"), rounds, builds), (Exit::Stopped, 6, 6));
        let err = String::from_utf8(err).expect("text");
        assert_eq!(err.matches("watch: waiting").count(), 5, "{err}");
        assert_eq!(err.matches("watch: the sources have changed").count(), 5, "{err}");
        assert!(err.contains("error: it does not build\nhelp: mend it\n"), "{err}");
    }
}
