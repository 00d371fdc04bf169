//! File and line of each line of a bundle, so that a failure names its place in the plugin.
//!
//! esbuild appends to a bundle the origin of each piece of it. An engine names lines of the bundle in a failure, so a table
//! of its lines replaces that; `failures.js` reads the table.

use std::fmt::Write;
use std::path::Path;

/// The start of the comment that esbuild appends.
const COMMENT: &str = "//# sourceMappingURL=data:application/json;base64,";

/// A bundle without esbuild's comment about its sources.
pub(super) fn without(bundle: &str) -> &str {
    bundle.rfind(COMMENT).map_or(bundle, |start| &bundle[..start])
}

/// A bundle with the table of its lines appended, or without a table if its sources are unknown. `before` is the number of lines
/// that the engine inserts before it. The plugin is in `folder`, its bundle in `work`.
pub(super) fn behind(bundle: &str, folder: &Path, work: &Path, before: usize) -> String {
    let text = without(bundle);
    let Some(map) = bundle.rfind(COMMENT).and_then(|start| Map::read(bundle[start..].strip_prefix(COMMENT)?.trim()))
    else {
        return text.to_owned();
    };
    let files: Vec<String> = map.files.iter().map(|file| shown(file, folder, work)).collect();
    let mut lines = String::new();
    for place in &map.lines {
        let _ = match place {
            // The host's own parts of a bundle are no place in the plugin.
            Some((file, line)) if files.get(*file).is_some_and(|file| !file.is_empty()) => {
                write!(lines, "{file}:{} ", line + 1)
            }
            _ => write!(lines, "- "),
        };
    }
    // The engine names a function from text like that, and otherwise the module by the name of its file.
    let file = if before > 0 { "<input>" } else { "plugin.js" };
    let table = serde_json::json!({ "file": file, "files": files, "lines": lines.trim_end(), "before": before });
    format!("{text}\nglobalThis[Symbol.for(\"host:sources\")] = {table};\n")
}

/// A file as the user knows it: relative to the folder of the plugin. Empty if it is one of the host.
fn shown(file: &str, folder: &Path, work: &Path) -> String {
    let path = work.join(file);
    // The path is relative to the bundle, which lies in the folder.
    let mut parts = std::path::PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(parts.pop()),
            std::path::Component::CurDir => {}
            other => parts.push(other),
        }
    }
    if parts.starts_with(work) {
        return String::new();
    }
    parts.strip_prefix(folder).map_or(file, |path| path.to_str().unwrap_or(file)).to_owned()
}

/// The source map that esbuild writes.
struct Map {
    files: Vec<String>,
    /// File and line, counted from 0, of the first piece of each line.
    lines: Vec<Option<(usize, usize)>>,
}

impl Map {
    fn read(base64: &str) -> Option<Self> {
        let map: serde_json::Value = serde_json::from_slice(&decoded(base64)?).ok()?;
        let files = map.get("sources")?.as_array()?;
        let files = files.iter().map(|file| file.as_str().unwrap_or_default().to_owned()).collect();
        let (mut file, mut line) = (0, 0);
        let mut lines = Vec::new();
        for pieces in map.get("mappings")?.as_str()?.split(';') {
            let mut first = None;
            for piece in pieces.split(',').filter(|piece| !piece.is_empty()) {
                // The column in the bundle, then the changes of file, line and column in the sources.
                let numbers = numbers(piece)?;
                if let [_, files, by, ..] = numbers[..] {
                    (file, line) = (file + files, line + by);
                    first = first.or(Some((usize::try_from(file).ok()?, usize::try_from(line).ok()?)));
                }
            }
            lines.push(first);
        }
        Some(Self { files, lines })
    }
}

/// The value of a base64 digit.
fn value(sign: u8) -> Option<u32> {
    let value = match sign {
        b'A'..=b'Z' => sign - b'A',
        b'a'..=b'z' => sign - b'a' + 26,
        b'0'..=b'9' => sign - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

/// The bytes of a base64 text.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for sign in text.trim_end_matches('=').bytes() {
        bits = bits << 6 | value(sign)?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    Some(bytes)
}

/// The numbers of a piece: five bits per digit, the lowest first, with the sign of the number in its lowest bit.
fn numbers(piece: &str) -> Option<Vec<i64>> {
    let (mut numbers, mut number, mut shift) = (Vec::new(), 0_i64, 0);
    for sign in piece.bytes() {
        let bits = i64::from(value(sign)?);
        number |= (bits & 31).checked_shl(shift)?;
        shift += 5;
        if bits & 32 == 0 {
            numbers.push(if number & 1 == 0 { number >> 1 } else { -(number >> 1) });
            (number, shift) = (0, 0);
        }
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_gets_the_table_of_its_lines() {
        // Two lines of a.ts, one of the host, and one line without an origin.
        let map = r#"{"version":3,"sources":["../../../src/a.ts","base.js"],"mappings":"AAEA;AACA,GAAG;ACFA;;"}"#;
        let text = "one\ntwo\nthree\n\n";
        let bundle = format!("{text}{COMMENT}{}\n", encoded(map.as_bytes()));
        assert_eq!(without(&bundle), text);
        let behind = behind(&bundle, Path::new("/p"), Path::new("/p/target/guests/javascript"), 2);
        let (program, table) = behind.split_once("globalThis[Symbol.for(\"host:sources\")] = ").expect("a table");
        assert_eq!(program, format!("{text}\n"));
        let table: serde_json::Value = serde_json::from_str(table.trim_end().trim_end_matches(';')).expect("JSON");
        assert_eq!(table["files"], serde_json::json!(["src/a.ts", ""]));
        assert_eq!((&table["lines"], &table["before"]), (&"0:3 0:4 - - -".into(), &2.into()));
    }

    #[test]
    fn a_bundle_of_unknown_sources_stays_as_it_is() {
        for bundle in ["text", "text\n//# sourceMappingURL=data:application/json;base64,!!"] {
            assert!(!behind(bundle, Path::new("/p"), Path::new("/p/work"), 0).contains("host:sources"));
        }
    }

    fn encoded(bytes: &[u8]) -> String {
        const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for piece in bytes.chunks(3) {
            let bits = piece.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - piece.len()));
            for at in 0..=piece.len() {
                text.push(SIGNS[(bits >> (18 - 6 * at) & 63) as usize].into());
            }
        }
        text
    }
}
