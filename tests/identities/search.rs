//! The results of a search of a component.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

/// The results of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Searched {
    /// The bound that ended it before it was complete, `time` for example; none if it was complete, or ended at a depth.
    pub stopped_by: Option<String>,
    /// The result.
    pub result: String,
    /// The result: the reason of its end, and the status of each property; without a violation, the events that never happened as well.
    pub said: Value,
    /// Local states and global states.
    pub states: [u64; 2],
    /// The duration of the search.
    pub seconds: f64,
}

/// Searches the global states of a component with one worker, for this many seconds.
///
/// # Errors
///
/// There is no search: the component is refused, for example.
pub fn searched(wasm: &Path, seconds: u64, options: &[&str]) -> Result<Searched, String> {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut environment = host::Environment {
        stdout: &mut out,
        stderr: &mut err,
        stdin: &mut std::io::empty(),
        stdin_is_terminal: false,
        colours: false,
        stderr_columns: None,
        directory: PathBuf::new(),
        cache: host::default_cache(),
        interrupted: Arc::default(),
        clock: host::system_clock(),
        builds: Default::default(),
    };
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    let time = format!("{seconds}s");
    let words = ["host", "run"].into_iter().map(OsString::from).chain([wasm.into()]);
    let fixed = ["--algo", "bdfs", "--json", "--audit", "off", "--workers", "1", "--time", &time, "--no-minimize"];
    let words = words.chain(fixed.iter().chain(options).map(OsString::from));
    host::run(words.chain(["--out".into(), place.path().into()]), &mut environment);
    let report: Value = serde_json::from_slice(&out).unwrap_or_default();
    if report["counts"].is_null() {
        let err = String::from_utf8_lossy(&err);
        let said = err.lines().find(|line| line.starts_with("error: ")).unwrap_or(&err);
        return Err(said.split_once(&*format!("{}: ", wasm.display())).map_or(said, |(_, why)| why).to_owned());
    }
    let list = |name: &str| report[name].as_array().map_or(&[][..], Vec::as_slice).iter();
    let violated: Vec<&Value> = list("violations").map(|violation| &violation["property"]).collect();
    let properties: Vec<[&Value; 2]> = list("properties").map(|it| [&it["name"], &it["status"]]).collect();
    // The properties not reached before a violation depend on the order of the search.
    let unreached = if violated.is_empty() { &report["unreached"] } else { &Value::Null };
    let bound = report["end"].as_str().and_then(|end| end.strip_suffix("-bound"));
    let count = |name: &str| report["counts"][name].as_u64().unwrap_or_default();
    Ok(Searched {
        stopped_by: bound.filter(|bound| *bound != "depth").map(str::to_owned),
        result: report["result"].as_str().unwrap_or_default().to_owned(),
        said: json!([report["result"], report["end"], violated, properties, unreached]),
        states: [count("local_states"), count("global_states")],
        seconds: report["seconds"]["search"].as_f64().unwrap_or_default(),
    })
}
