//! A command of the plugin's own, from its manifest.

use super::{Tier, Toolchain};
use crate::job::{Job, Made, Say};
use crate::tool::{Tool, tool};
use crate::{BuildError, update};

pub(super) const ROW: Toolchain = Toolchain {
    name: "command",
    language: "any",
    detected_by: "host.toml with `command` and `output` in [build]",
    needs: "what the command needs",
    tier: Tier::Maintained,
    recognises: |source| source.manifest.build.command.is_some(),
    build,
};

const HINT: &str = "`output` in host.toml must be a core module or a component of wit/protocol.wit";

fn build(job: &Job<'_>, say: Say<'_>) -> Result<Made, BuildError> {
    let source = job.source;
    let build = &source.manifest.build;
    let (Some(command), Some(output)) = (&build.command, &build.output) else {
        return Err(BuildError::BadManifest {
            path: source.folder.join(crate::manifest::MANIFEST),
            what: "the toolchain `command` needs `command` and `output` in [build]".to_owned(),
        });
    };
    let found = Tool::none(&format!("`{command}`"));
    update::unless_current(job, ROW.name, &found, HINT, say, |_, say| {
        say(&format!("running {command}"));
        let mut shell = tool("sh", &source.folder);
        shell.args(["-c", command]);
        job.run(shell)?;
        let path = source.folder.join(output);
        let bytes = crate::source::read(&path)?;
        Ok(wat::parse_bytes(&bytes).map(std::borrow::Cow::into_owned).unwrap_or(bytes))
    })
}
