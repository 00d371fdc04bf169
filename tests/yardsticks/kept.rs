//! The file with the runs that were done.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::{Ended, Run};

/// The runs that were done, as JSON lines in a file.
#[derive(Debug)]
pub struct Kept {
    path: PathBuf,
    runs: Vec<Run>,
}

impl Kept {
    /// Reads the file; a missing one is empty.
    ///
    /// # Errors
    ///
    /// It cannot be read, or has something else in it.
    pub fn open(path: PathBuf) -> Result<Self, String> {
        let text = if path.exists() { fs::read_to_string(&path) } else { Ok(String::new()) };
        let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
        let runs = text.lines().map(serde_json::from_str).collect::<Result<_, _>>();
        let runs = runs.map_err(|error| format!("{}: {error}; remove it to begin again", path.display()))?;
        Ok(Self { path, runs })
    }

    /// The run of the same mistake, way, seed and limit by the same build; else does it, and keeps it.
    pub(super) fn or_run(&mut self, wanted: Run, run: impl FnOnce(Run) -> Result<Run, String>) -> Result<Run, String> {
        let key = |run: &Run| Run { seconds: 0.0, ended: Ended::Limit, ..run.clone() };
        if let Some(done) = self.runs.iter().find(|run| key(run) == key(&wanted)) {
            return Ok(done.clone());
        }
        let done = run(wanted)?;
        self.add(&done).map_err(|error| format!("{}: {error}", self.path.display()))?;
        Ok(done)
    }

    fn add(&mut self, run: &Run) -> std::io::Result<()> {
        fs::create_dir_all(self.path.parent().unwrap_or(Path::new(".")))?;
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.path)?;
        writeln!(file, "{}", serde_json::to_string(run)?)?;
        self.runs.push(run.clone());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yardsticks::{Choice, MISTAKES, WAYS};

    #[test]
    fn a_run_that_is_kept_is_not_repeated() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let path = place.path().join("kept/runs.jsonl");
        let choice = Choice { mistakes: vec![], ways: vec![], seeds: 2, seconds: 9, build: "one".to_owned() };
        let wanted = Run::wanted(&choice, &MISTAKES[0], &WAYS[0]);
        let found = |run| {
            let ended = Ended::Found { steps: 5, events: 34, reported: 20, is_shortest: false };
            Ok(Run { seconds: 2.5, ended, ..run })
        };
        let mut kept = Kept::open(path.clone()).expect("a missing file is empty");
        let done = kept.or_run(wanted[0].clone(), found).expect("it is written");
        let mut kept = Kept::open(path).expect("it was written here");
        assert_eq!(kept.or_run(wanted[0].clone(), |_| Err(String::new())), Ok(done));
        let others = [
            wanted[1].clone(),
            Run { seconds_max: 10, ..wanted[0].clone() },
            Run { build: "two".to_owned(), ..wanted[0].clone() },
            Run { way: "other".to_owned(), ..wanted[0].clone() },
            Run { mistake: "other".to_owned(), ..wanted[0].clone() },
        ];
        for other in others {
            assert_eq!(kept.or_run(other, |_| Err("not kept".to_owned())), Err("not kept".to_owned()));
        }
    }
}
