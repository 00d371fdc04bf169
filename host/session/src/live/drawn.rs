//! The name of a cluster whose file gives it none: drawn when its data begins, and kept in the folder of the data.
//!
//! Clusters of one plugin with the same size and parameters differ only in their names. The nodes of one folder find
//! the drawn name there. Nodes on several machines have folders of their own, so no name is drawn for nodes that authenticate each
//! other by TLS.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::base::{Context, Failure, files};
use crate::live::file::{RunningSpec, checked_name};

/// The file with the name.
const FILE: &str = "cluster-name";

/// The maximum size of that file in bytes.
const FILE_MAX: u64 = 1 << 10;

impl RunningSpec {
    /// Draws a name for the nodes if the cluster has no name and no data yet; `random` is a number that no other start has. An earlier
    /// name stays.
    ///
    /// # Errors
    ///
    /// The folder of the data cannot be written.
    pub fn draw_name(&self, random: u64, context: &Context<'_>) -> Result<(), Failure> {
        let (folder, path) = (context.path(&self.data), context.path(&self.name_file()));
        let has_data = (0..self.nodes.len()).any(|node| context.path(&self.disk(node as u32)).exists());
        if self.name.is_empty() && self.authority.is_none() && !has_data && !path.exists() {
            let failed = |error| Failure::system(format_args!("cannot write {}: {error}", path.display()));
            write_once(&folder, &path, &format!("drawn-{random:016x}\n")).map_err(failed)?;
        }
        Ok(())
    }

    /// Gives the cluster the drawn name, if it has none of its own.
    ///
    /// # Errors
    ///
    /// The file of the name has other content.
    pub fn recall_name(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        let path = context.path(&self.name_file());
        if !self.name.is_empty() || self.authority.is_some() || !path.exists() {
            return Ok(());
        }
        let text = files::read_text_bounded(&path, FILE_MAX)
            .map_err(|error| Failure::configuration(format_args!("cannot read {}: {error}", path.display())))?;
        let name = checked_name(text.trim_end().to_owned()).ok().filter(|name| !name.is_empty());
        self.name = name.ok_or_else(|| {
            let failure = Failure::configuration(format_args!("{} holds no name of a cluster", path.display()));
            failure.help("give the cluster a `name` in its file, or restore this one")
        })?;
        Ok(())
    }

    /// The file with the drawn name, relative to the working directory.
    pub fn name_file(&self) -> PathBuf {
        self.data.join(FILE)
    }
}

/// Writes a file as a whole, unless another start has written it meanwhile.
fn write_once(folder: &Path, path: &Path, text: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Err(error) if error.error.kind() != std::io::ErrorKind::AlreadyExists => Err(error.error),
        _ => Ok(()),
    }
}
