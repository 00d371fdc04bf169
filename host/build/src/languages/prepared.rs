//! An interpreter that is prepared once and given the text of a plugin after each edit.
//!
//! To link and start an interpreter takes a hundred times longer than to load what a user writes. So that is done once for a program
//! that waits; [`Initialise`] gives it the text of the plugin and keeps the memory that results.
//!
//! This is the faster way to the same plugin, or none: wherever it could make a difference that the text comes later, the plugin is
//! built as a whole. That build also reports the errors of a plugin.
//!
//! [`Initialise`]: crate::Initialise

use std::path::Path;

use crate::job::{Job, Say};
use crate::source::{read, read_text};
use crate::tool::{Tool, finish};
use crate::{BuildError, files, wasi};

/// A program that waits for the text of a plugin.
pub(super) struct Waiting<'w> {
    /// The name of its file.
    pub file: &'w str,
    /// What it does.
    pub program: String,
    /// The world that it is made for.
    pub wit_text: &'w str,
    pub compiler: &'w Tool,
}

/// What becomes of a component that a compiler has made.
type Finishing<'f> = &'f dyn Fn(&[u8]) -> Result<Vec<u8>, BuildError>;

impl Waiting<'_> {
    /// The plugin of this text as a component; none if it has to be built as a whole. `arguments` are those of the compiler, which
    /// makes a component of the file in a folder; `finished` is what becomes of that.
    pub fn given(
        &self,
        job: &Job<'_>,
        work: &Path,
        text: &str,
        arguments: impl FnOnce(&Path, &Path) -> Vec<std::ffi::OsString>,
        finished: Finishing<'_>,
        say: Say<'_>,
    ) -> Result<Option<Vec<u8>>, BuildError> {
        let Some(initialise) = &job.options.initialise else { return Ok(None) };
        let folder = work.join("base");
        let (wasm, stamp) = (folder.join("base.wasm"), folder.join("base.stamp"));
        let made_of = blake3::Hasher::new()
            .update(self.compiler.identity().as_bytes())
            .update(self.wit_text.as_bytes())
            .update(self.program.as_bytes())
            .update(wasi::FUNCTIONS.as_bytes())
            .finalize();
        let stamp_of = |base: &[u8]| format!("{made_of} {}\n", blake3::hash(base));
        let kept = read(&wasm).ok().filter(|base| read_text(&stamp).is_ok_and(|stamp| stamp == stamp_of(base)));
        let base = match kept {
            Some(base) => base,
            None => {
                say(&format!("preparing an interpreter for {} with {}", job.source.name, self.compiler.found));
                files::write(&folder.join(self.file), self.program.as_bytes())?;
                let mut command = self.compiler.command(&folder);
                command.args(arguments(&folder, &wasm));
                if !finish(command)?.success {
                    return Ok(None);
                }
                let base = finished(&read(&wasm)?)?;
                files::write(&wasm, &base)?;
                files::write(&stamp, stamp_of(&base).as_bytes())?;
                base
            }
        };
        say(&format!("giving {} to its interpreter", job.source.name));
        Ok(initialise.call(&base, text))
    }
}
