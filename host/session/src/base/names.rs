//! Names: of plugins, as they are shown and as parts of paths, and corrections of mistyped ones.

use std::path::{Path, PathBuf};

/// Entries of a folder that are compared with a mistyped one.
const ENTRIES_MAX: usize = 1_000;

/// A plugin's name as part of a path: it must not lead anywhere else.
pub fn safe_name(name: &str) -> String {
    let is_safe = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let safe: String = name.chars().take(64).map(|letter| if is_safe(letter) { letter } else { '-' }).collect();
    if safe.is_empty() { "plugin".to_owned() } else { safe }
}

/// The start of a digest, enough to tell builds apart.
pub fn short_digest(digest: &str) -> String {
    let digits = digest.find(':').map_or(0, |colon| colon + 1);
    digest.chars().take(digits + 12).collect()
}

/// The known word that differs in the fewest letters from a mistyped one; none if all differ in more than a third of it.
pub fn closest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let letters_max = (word.chars().count() / 3).max(1);
    let distances = known.iter().map(|name| (distance(word, name), *name));
    distances
        .filter(|(distance, _)| *distance <= letters_max)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The closest path to one that does not exist: it exists, and differs in a mistyped name. Relative paths begin in `directory`.
pub fn closest_path(given: &Path, directory: &Path) -> Option<PathBuf> {
    let parts: Vec<_> = given.components().collect();
    let is_there = |length: usize| directory.join(parts[..length].iter().collect::<PathBuf>()).exists();
    let wrong = (1..=parts.len()).find(|length| !is_there(*length))? - 1;
    let folder: PathBuf = parts[..wrong].iter().collect();
    let entries = std::fs::read_dir(directory.join(&folder)).ok()?.take(ENTRIES_MAX);
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let meant = closest(parts[wrong].as_os_str().to_str()?, &names)?;
    let path: PathBuf = folder.join(meant).join(parts[wrong + 1..].iter().collect::<PathBuf>());
    // Without a separator at the end, where nothing followed.
    let path: PathBuf = path.components().collect();
    directory.join(&path).exists().then_some(path)
}

/// A remedy with the closest path, if there is one.
pub fn with_closest_path(given: &Path, directory: &Path, remedy: &str) -> String {
    match closest_path(given, directory) {
        Some(path) => format!("there is {}; {remedy}", path.display()),
        None => remedy.to_owned(),
    }
}

/// A remedy that lists the known names, the closest one first.
pub fn known_names(word: &str, known: &[&str]) -> String {
    let all = format!("it has: {}", known.join(", "));
    closest(word, known).map_or_else(|| all.clone(), |meant| format!("write `{meant}`; {all}"))
}

/// The closest known field where a reader of TOML refuses one: its message lists the known fields in backticks.
pub fn meant_field(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("unknown field `")?;
    let (word, known) = rest.split_once('`')?;
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    closest(word, &known)
}

/// The minimum number of letters to add, remove, replace, or exchange with their neighbour (Damerau and Levenshtein; no letter
/// takes part twice).
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (at, letter) in one.iter().enumerate() {
        let mut row = vec![at + 1];
        for (place, theirs) in other.iter().enumerate() {
            let replaced = rows[at][place] + usize::from(letter != theirs);
            let mut least = replaced.min(rows[at][place + 1] + 1).min(row[place] + 1);
            if at > 0 && place > 0 && one[at - 1] == *theirs && *letter == other[place - 1] {
                least = least.min(rows[at - 1][place - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_cannot_choose_another_folder() {
        assert_eq!(safe_name("paxos_2-b"), "paxos_2-b");
        assert_eq!(safe_name("../../etc"), "------etc");
        assert_eq!(safe_name(""), "plugin");
    }

    #[test]
    fn a_mistyped_word_is_recognised() {
        let known = ["depth", "local-events", "states", "time", "memory"];
        let cases = [("depht", Some("depth")), ("dept", Some("depth")), ("state", Some("states")), ("mem", None)];
        for (word, meant) in
            cases.into_iter().chain([("local_event", Some("local-events")), ("width", None), ("", None)])
        {
            assert_eq!(closest(word, &known), meant, "{word}");
        }
        assert_eq!((distance("ab", "ba"), distance("kitten", "sitting"), distance("", "abc")), (1, 3, 3));
    }

    #[test]
    fn a_mistyped_path_is_recognised() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir_all(folder.path().join("plugins/paxos")).expect("writable");
        std::fs::write(folder.path().join("plugins/paxos/trace.json"), "").expect("writable");
        let meant = |path: &str| closest_path(Path::new(path), folder.path()).map(|path| path.display().to_string());
        for path in ["plugins/paxso", "plugin/paxos", "plugins/paxso/"] {
            assert_eq!(meant(path).as_deref(), Some("plugins/paxos"), "{path}");
        }
        assert_eq!(meant("plugins/paxso/trace.json").as_deref(), Some("plugins/paxos/trace.json"));
        assert_eq!(meant("plugins/paxos/trace.jsn").as_deref(), Some("plugins/paxos/trace.json"));
        for path in ["plugins/raft", "nothing", "", "plugins/paxos", "plugins/paxso/other.json"] {
            assert_eq!(meant(path), None, "{path}");
        }
        assert_eq!(known_names("depht", &["depth", "time"]), "write `depth`; it has: depth, time");
        assert_eq!(known_names("x", &["depth"]), "it has: depth");
    }

    #[test]
    fn the_field_that_was_meant_is_found_in_a_message() {
        let message = "unknown field `nodse`, expected one of `plugin`, `node`, `data`";
        assert_eq!(meant_field(message), Some("node"));
        assert_eq!((meant_field("unknown field `x`, expected `id`"), meant_field("no field")), (None, None));
    }

    #[test]
    fn a_digest_is_shortened_behind_its_algorithm() {
        assert_eq!(short_digest("blake3:0123456789abcdef"), "blake3:0123456789ab");
        assert_eq!(short_digest("abc"), "abc");
    }
}
