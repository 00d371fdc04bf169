//! Options for finding and loading a plugin.

/// The way to find and load a plugin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Install no toolchain when a folder has to be built; say what is missing instead.
    pub no_install: bool,
    /// Report only errors: neither steps of the build nor progress.
    pub quiet: bool,
    /// Take components as they were built: the user has not named the folder to build.
    pub finished: bool,
    /// Another component of the same command: reports that concern all of them came with the first.
    pub is_further: bool,
}
