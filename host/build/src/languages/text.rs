//! Finished modules and components, binary or in text: no tool is needed.

use std::borrow::Cow;

use super::{Tier, Toolchain};
use crate::job::{Job, Made, Say};
use crate::source::Source;
use crate::tool::{Tool, unless_stopped};
use crate::{BuildError, update};

pub(super) const ROW: Toolchain = Toolchain {
    name: "text",
    language: "WebAssembly text or binary",
    detected_by: "one *.wat or *.wasm",
    needs: "nothing",
    tier: Tier::Maintained,
    recognises: |source| files(source).len() == 1,
    build,
};

const HINT: &str = "it must export the functions of wit/protocol.wit, by their full names or plain (`handle_message`)";

fn files(source: &Source) -> Vec<&std::path::Path> {
    source.sources(&["wat", "wasm"])
}

fn build(job: &Job<'_>, say: Say<'_>) -> Result<Made, BuildError> {
    let source = job.source;
    let [file] = files(source)[..] else {
        return Err(BuildError::NotRecognised {
            path: source.folder.clone(),
            wanted: "one *.wat or *.wasm; name the file if there are several".to_owned(),
        });
    };
    let tool = Tool::none("the host itself");
    update::unless_current(job, ROW.name, &tool, HINT, say, |_, _| {
        let path = source.folder.join(file);
        let bytes = crate::source::read(&path)?;
        let refused = |error: wat::Error| BuildError::Compile {
            name: source.name.clone(),
            output: error.to_string().trim_end().to_owned(),
        };
        let parse = move || wat::Parser::new().parse_bytes(Some(&path), &bytes).map(Cow::into_owned);
        unless_stopped(parse)?.map_err(refused)
    })
}
