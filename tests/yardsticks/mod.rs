//! The rate, the work and the time with which each way to search finds mistakes that are far from the start.
//!
//! Rows of the table are mistakes, columns ways to search, cells the runs of several seeds. Each result is saved to a file at once, and a
//! run that is in the file is not repeated: so the table can be made in parts, and continued.
//!
//! | module | what it holds |
//! |---|---|
//! | `cells` | the runs of a cell in a few words |
//! | `kept` | the file with the runs that were done |
//! | `rows` | the mistakes and the ways to search, as data |
//! | `runs` | a run of `host`, and its result |

mod cells;
mod kept;
mod rows;
mod runs;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub use cells::cell;
pub use kept::Kept;
pub use rows::{MISTAKES, Mistake, WAYS, Way};
pub use runs::{Ended, Finished, Run, in_this_process, processor_clock};

/// The choice of runs.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Rows.
    pub mistakes: Vec<&'static Mistake>,
    /// Columns.
    pub ways: Vec<&'static Way>,
    /// The number of seeds, from 0 on.
    pub seeds: u64,
    /// The limit of each run, in seconds of the clock of `host`.
    pub seconds: u64,
    /// Names this build of `host`: runs of other builds are repeated.
    pub build: String,
}

/// Runs `host` with these words, `host` itself first.
pub type Runner<'a> = dyn Fn(&[String]) -> Result<Finished, String> + 'a;

/// Does all runs of a choice that are not kept, keeps them, and returns the table in Markdown.
///
/// # Errors
///
/// A plugin does not build, a run cannot be started or understood, the file cannot be written, or a run contradicts the shortest length of
/// a mistake.
pub fn table(choice: &Choice, kept: &mut Kept, host: &Runner<'_>) -> Result<String, String> {
    let mut components = BTreeMap::new();
    let heads = choice.ways.iter().map(|way| format!(" `{}` |", way.name));
    let mut text = format!("| subject | mistake | shortest |{}\n", heads.collect::<String>());
    text += &format!("|---|---|---|{}\n", "---|".repeat(choice.ways.len()));
    for mistake in &choice.mistakes {
        let component: &PathBuf = match components.entry(mistake.folder) {
            std::collections::btree_map::Entry::Occupied(built) => built.into_mut(),
            std::collections::btree_map::Entry::Vacant(free) => free.insert(built(mistake)?),
        };
        let shortest = mistake.shortest.map_or_else(String::new, |events| events.to_string());
        let subject = mistake.folder.rsplit('/').next().unwrap_or_default();
        text += &format!("| {subject} | {} | {shortest} |", mistake.name);
        for way in &choice.ways {
            let wanted = Run::wanted(choice, mistake, way);
            let runs =
                wanted.into_iter().map(|wanted| kept.or_run(wanted, |run| run.take(component, mistake, way, host)));
            let runs = runs.collect::<Result<Vec<_>, _>>()?;
            runs.iter().try_for_each(|run| run.agrees_with(mistake))?;
            text += &format!(" {} |", cell(&runs, choice.seconds));
        }
        text.push('\n');
    }
    Ok(text)
}

fn built(mistake: &Mistake) -> Result<PathBuf, String> {
    let built = host_build::build(&mistake.path(), &host_build::Options::default(), &mut |_| {});
    built.map(|component| component.wasm).map_err(|error| format!("cannot build {}: {error}", mistake.folder))
}
