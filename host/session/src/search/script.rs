//! Scripts of simulated runs, from files.

use std::path::Path;

use host_live::simulator::{Lost, Phase};
use host_model::contract::NodeId;
use serde::Deserialize;

use crate::base::text::on_one_line;
use crate::base::{Failure, files, units};

/// The maximum size of a script in bytes.
const BYTES_MAX: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    phase: Vec<WrittenPhase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPhase {
    lasts: Option<String>,
    #[serde(default)]
    cut: Vec<NodeId>,
    #[serde(default)]
    lost: Vec<Lost>,
    calls: Option<Vec<NodeId>>,
    #[serde(default)]
    resets: Vec<NodeId>,
}

/// The phases in a file. A relative path begins in `directory`.
///
/// # Errors
///
/// It cannot be read, or is no script.
pub fn read(given: &Path, directory: &Path) -> Result<Vec<Phase>, Failure> {
    let name = on_one_line(&given.display().to_string());
    let text = files::read_text_bounded(&directory.join(given), BYTES_MAX).map_err(|error| {
        Failure::configuration(format_args!("cannot read the script {name}: {error}"))
            .help("give the path of a file with phases: see docs/simulation.md")
    })?;
    let refuse = |why: &str| {
        let help = "a script is a list of [[phase]] with lasts, cut, lost, calls and resets: see docs/simulation.md";
        Failure::configuration(format_args!("{name} is no script: {}", on_one_line(why))).help(help)
    };
    let written: Written = toml::from_str(&text).map_err(|error| refuse(error.message()))?;
    let last = written.phase.len().saturating_sub(1);
    let mut phases = Vec::with_capacity(written.phase.len());
    for (place, phase) in written.phase.into_iter().enumerate() {
        let WrittenPhase { lasts, cut, lost, calls, resets } = phase;
        let lasts = match (lasts, place == last) {
            (Some(lasts), false) => lasts,
            (None, true) => "1ms".to_owned(),
            (None, false) => return Err(refuse(&format!("phase {} does not say how long it `lasts`", place + 1))),
            (Some(_), true) => {
                return Err(refuse("the last phase lasts to the end of the run, and `lasts` says otherwise"));
            }
        };
        let lasts = units::range(&lasts).map_err(|why| refuse(&format!("phase {} lasts {lasts}: {why}", place + 1)))?;
        phases.push(Phase { lasts, cut, lost, calls, resets });
    }
    if phases.is_empty() {
        return Err(refuse("it has no phase"));
    }
    Ok(phases)
}
