//! Options for finding and loading a plugin.

/// How a plugin is found and loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Install no toolchain when a folder has to be built; say what is missing instead.
    pub no_install: bool,
    /// Tell nothing but errors: neither steps of the build nor progress.
    pub quiet: bool,
    /// Take components as they were built: the user has not named what would be built.
    pub finished: bool,
    /// Another component of the same command: what concerns all of them was said with the first.
    pub is_further: bool,
}
