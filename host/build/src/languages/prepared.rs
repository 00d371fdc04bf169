//! An interpreter that is prepared once and loads the text of a plugin after each edit.
//!
//! Linking and starting an interpreter takes a hundred times longer than loading the user's text. So the host does it once, for a
//! program that waits; [`Initialise`] passes it the text of the plugin and keeps the resulting memory.
//!
//! This is a faster way to the same plugin, or to none: wherever the late text could make a difference, the plugin is built as a
//! whole. Only the whole build reports errors of a plugin.
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
    /// Its text.
    pub program: String,
    /// The world that it is made for.
    pub wit_text: &'w str,
    pub compiler: &'w Tool,
}

/// The last step from a compiler's component to the plugin.
type Finishing<'f> = &'f dyn Fn(&[u8]) -> Result<Vec<u8>, BuildError>;

impl Waiting<'_> {
    /// The plugin with this text as a component; none if it needs the whole build. `arguments` are for the compiler, which makes a
    /// component of the file in a folder; `finished` completes that component.
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
