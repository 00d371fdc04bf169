//! Programs of Python packages: those of a virtual environment or on the path, or one version in the host's cache.

use std::path::Path;

use crate::BuildError;
use crate::install::{self, upward};
use crate::job::{Job, Say};
use crate::tool::{Tool, finish, on_path, tool};

/// A program of a package of PyPI.
pub(crate) struct Package {
    /// The package.
    pub name: &'static str,
    /// The version that the host installs. Another version that is installed is used as it is.
    pub version: &'static str,
    /// The program, relative to the folder that the package is installed in.
    pub program: &'static str,
    /// Its size on disk, for people.
    pub size: &'static str,
}

/// Finds or installs a program. `is_script` says whether Python's interpreter runs it.
pub(crate) fn find(job: &Job<'_>, package: &Package, is_script: bool, say: Say<'_>) -> Result<Tool, BuildError> {
    let file_name = Path::new(package.program).file_name().and_then(|name| name.to_str()).unwrap_or(package.name);
    if let Some(own) = upward(&job.source.folder, &Path::new(".venv/bin").join(file_name)) {
        return Ok(Tool::program(&own, &format!("{file_name} of the plugin's .venv")));
    }
    if let Some(global) = on_path(&[file_name]) {
        return Ok(Tool::program(&global, &format!("{}", global.display())));
    }
    cached(job, package, is_script, say)
}

/// A program of the host's own cache, which is filled if the user permits it.
pub(crate) fn cached(job: &Job<'_>, package: &Package, is_script: bool, say: Say<'_>) -> Result<Tool, BuildError> {
    let Package { name, version, program, size } = package;
    let missing = |reason: String| BuildError::NoTool {
        what: format!("`{name}` (Python package)"),
        reason,
        remedy: format!("pip install {name}=={version}"),
    };
    let python = on_path(&["python3"]);
    let place = install::cached(&format!("{name}-{version}"), job.options, |folder| {
        if python.is_none() {
            return Ok(Err("there is no python3 to install it".to_owned()));
        }
        say(&format!("installing {name} {version} (once, {size}, into the cache): pip install {name}=={version}"));
        let mut pip = tool("python3", folder);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--target", "."]);
        pip.arg(format!("{name}=={version}"));
        let output = finish(pip)?;
        Ok(if output.success { Ok(()) } else { Err(format!("pip cannot install it ({})", output.last_line())) })
    })?;
    let place = place.map_err(missing)?;
    let found = format!("{name} {version} from PyPI");
    let file = place.join(program);
    match (is_script, python) {
        // The folder was renamed, so the script's first line names a wrong interpreter.
        (true, Some(python)) => Ok(Tool::program(&python, &found)
            .with_words(&[&file.display().to_string()])
            .with_variable("PYTHONPATH", place)),
        _ => Ok(Tool::program(&file, &found)),
    }
}
