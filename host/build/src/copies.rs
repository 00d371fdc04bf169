//! Files of other folders that are copied into that of a plugin before each build, such as those of an SDK.
//!
//! A copy overwrites local edits without a question: edit the folder that it comes from.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::manifest::{Copies, MANIFEST};
use crate::{BuildError, files};

/// The maximum number of files copied from one folder.
const FILES_MAX: usize = 1_000;

/// The maximum size in bytes of one of them.
const BYTES_MAX: u64 = 16 << 20;

/// A file and its copy.
pub(crate) struct Copy {
    /// The path of the copy, from the folder of the plugin.
    pub to: PathBuf,
    pub from: PathBuf,
}

/// Copies files that differ. A folder that was moved away from its originals is built with its copies.
///
/// # Errors
///
/// A destination is outside of the folder, neither a folder to copy nor a copy exists, or a file can be neither read nor written.
pub(crate) fn bring(folder: &Path, copies: &Copies) -> Result<(), BuildError> {
    for (to, from) in copies {
        let wrong = |what: String| BuildError::BadManifest { path: folder.join(MANIFEST), what };
        if !to.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(wrong(format!("[build.copies] has \"{}\", which is outside of the folder", to.display())));
        }
        let found = copied(folder, to, from);
        if found.is_empty() && !has_files(&folder.join(to)) {
            return Err(wrong(format!("[build.copies] names {}, where no file is", folder.join(from).display())));
        }
        if found.len() > FILES_MAX {
            return Err(BuildError::TooManyFiles { folder: folder.join(from), limit: FILES_MAX });
        }
        for file in found {
            let content = files::read_bounded(&file.from, BYTES_MAX).map_err(BuildError::io("read", &file.from))?;
            let place = folder.join(&file.to);
            if !files::read_bounded(&place, BYTES_MAX).is_ok_and(|there| there == content) {
                files::write(&place, &content)?;
            }
        }
    }
    Ok(())
}

/// All files with a copy. Subfolders and hidden files are not copied.
pub(crate) fn all(folder: &Path, copies: &Copies) -> Vec<Copy> {
    copies.iter().flat_map(|(to, from)| copied(folder, to, from)).collect()
}

fn copied(folder: &Path, to: &Path, from: &Path) -> Vec<Copy> {
    let entries = fs::read_dir(folder.join(from)).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.is_file() && !is_hidden(path)).collect();
    files.sort_unstable();
    let to =
        |file: &Path| to.components().filter(|part| *part != Component::CurDir).collect::<PathBuf>().join(name(file));
    files.into_iter().map(|from| Copy { to: to(&from), from }).collect()
}

fn has_files(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|entries| entries.flatten().any(|entry| entry.path().is_file()))
}

fn is_hidden(file: &Path) -> bool {
    name(file).as_encoded_bytes().starts_with(b".")
}

fn name(file: &Path) -> &std::ffi::OsStr {
    file.file_name().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SourceState;
    use crate::source::Source;

    struct Place(tempfile::TempDir);

    impl Place {
        fn put(&self, name: &str, text: &str) {
            let path = self.0.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a new folder");
            fs::write(path, text).expect("a new file");
        }

        fn text(&self, name: &str) -> Option<String> {
            fs::read_to_string(self.0.path().join(name)).ok()
        }

        fn open(&self) -> Result<Source, String> {
            Source::open(&self.0.path().join("plugin")).map_err(|error| error.to_string())
        }
    }

    fn place(copies: &str) -> Place {
        let place = Place(tempfile::tempdir().expect("a temporary folder"));
        place.put("plugin/app.py", "");
        place.put("plugin/host.toml", &format!("[build.copies]\n{copies}\n"));
        place.put("sdk/one.py", "1");
        place.put("sdk/.hidden", "");
        place.put("sdk/tests/test_one.py", "");
        place
    }

    #[test]
    fn files_are_copied_before_a_build_and_again_after_an_edit() {
        let place = place("\"host\" = \"../sdk\"");
        let state = || SourceState::of(&place.0.path().join("plugin"));
        let before = state();
        let source = place.open().expect("a folder");
        assert!(source.has("host/one.py") && !source.has("host/tests/test_one.py") && !source.has("host/.hidden"));
        assert_eq!(place.text("plugin/host/one.py").as_deref(), Some("1"));
        let digest = source.digest().expect("readable");
        assert_eq!(state(), before, "a copy that is made is no edit");

        place.put("sdk/one.py", "12");
        let edited = state();
        assert_ne!(edited, before);
        assert_ne!(place.open().expect("a folder").digest().expect("readable"), digest);
        assert_eq!((place.text("plugin/host/one.py").as_deref(), state()), (Some("12"), edited));
        // The other direction: an edited copy is replaced.
        place.put("plugin/host/one.py", "mine");
        place.open().expect("a folder");
        assert_eq!(place.text("plugin/host/one.py").as_deref(), Some("12"));
    }

    #[test]
    fn a_file_of_the_folder_is_built_with_the_copies() {
        let place = place("\".\" = \"../sdk\"");
        let file = place.0.path().join("plugin/app.py");
        let state = SourceState::of(&file);
        let open = || Source::open(&file).expect("a file");
        let digest = open().digest().expect("readable");
        assert_eq!(place.text("plugin/one.py").as_deref(), Some("1"));
        assert!(!open().has("one.py"), "only the file itself is compiled");
        assert_eq!(SourceState::of(&file), state, "a copy that is made is no edit");

        place.put("sdk/one.py", "12");
        assert_ne!(SourceState::of(&file), state);
        assert_ne!(open().digest().expect("readable"), digest);
        assert_eq!(place.text("plugin/one.py").as_deref(), Some("12"));
    }

    #[test]
    fn a_copy_that_is_excluded_is_there_and_no_source() {
        let place = place("\"lib\" = \"../sdk\"\n[build]\nexclude = [\"lib/two.c\", \"lib/old\"]");
        for name in ["sdk/one.c", "sdk/two.c", "plugin/app.c"] {
            place.put(name, "");
        }
        let source = place.open().expect("a folder");
        let sources: Vec<&Path> = source.sources(&["c"]);
        assert_eq!(sources, ["app.c", "lib/one.c"].map(Path::new));
        assert!(source.has("lib/two.c") && place.text("plugin/lib/two.c").is_some());
        let digest = source.digest().expect("readable");
        // Others can include it.
        place.put("sdk/two.c", "int two;");
        assert_ne!(place.open().expect("a folder").digest().expect("readable"), digest);
    }

    #[test]
    fn copies_that_are_there_do_without_their_source() {
        let place = place("\".\" = \"../sdk\"");
        assert!(place.open().expect("a folder").has("one.py"));
        fs::rename(place.0.path().join("sdk"), place.0.path().join("elsewhere")).expect("writable");
        assert!(place.open().expect("a folder").has("one.py"));
    }

    #[test]
    fn destinations_outside_and_folders_without_files_are_refused() {
        for (copies, words) in [
            ("\"../other\" = \"../sdk\"", "has \"../other\", which is outside of the folder"),
            ("\"/tmp\" = \"../sdk\"", "has \"/tmp\", which is outside of the folder"),
            ("\"host\" = \"../nowhere\"", "nowhere, where no file is"),
        ] {
            let error = place(copies).open().err().expect("refused");
            assert!(error.contains("host.toml") && error.contains(words), "{error}");
        }
    }
}
