//! The form of CHANGELOG.md: short versions, short bullets, and the thing first in each.

/// Lines of a bullet.
const BULLET_LINES_MAX: usize = 2;

/// Letters of a line.
const LINE_LETTERS_MAX: usize = 240;

/// Words that delay the verb, or the noun that users see, at the start of a bullet.
const DELAYS: [&str; 24] = [
    "after", "all", "before", "below", "beyond", "by", "each", "for", "if", "in", "it", "its", "of", "on", "once",
    "so", "that", "there", "what", "when", "where", "who", "with", "without",
];

/// The defects of a changelog: versions with more lines than `lines_max`, long bullets and lines, delayed beginnings.
pub fn wrong_versions(changelog: &str, lines_max: usize) -> Vec<String> {
    let mut findings = Vec::new();
    for version in changelog.split("\n## ").skip(1) {
        let name = version.lines().next().unwrap_or_default();
        let lines = version.trim_end().lines().count();
        if lines > lines_max {
            findings.push(format!("{name} has {lines} lines, more than {lines_max}: join bullets, or cut a version"));
        }
        for bullet in version.split("\n- ").skip(1) {
            let lines: Vec<&str> = bullet.lines().take_while(|line| !line.is_empty()).collect();
            findings.extend(wrong_bullet(&lines).map(|why| format!("{name}: \"- {}\" {why}", lines[0])));
        }
    }
    findings
}

fn wrong_bullet(lines: &[&str]) -> Option<String> {
    let first = lines[0].split(' ').next().unwrap_or_default().trim_end_matches([',', ':']).to_lowercase();
    if DELAYS.contains(&first.as_str()) {
        return Some(format!("begins with \"{first}\", not with a verb or the noun that users see"));
    }
    if lines.len() > BULLET_LINES_MAX {
        return Some(format!("has {} lines, more than {BULLET_LINES_MAX}", lines.len()));
    }
    let longest = lines.iter().map(|line| line.chars().count()).max()?;
    (longest > LINE_LETTERS_MAX)
        .then(|| format!("has a line of {longest} letters, more than {LINE_LETTERS_MAX}: docs have the details"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# Changelog\n\nIntroduction.\n\n## Unreleased\n\n### Added\n\n";

    #[test]
    fn short_bullets_that_name_the_thing_are_right() {
        let changelog =
            format!("{HEAD}- `host run` prints more.\n  And faster.\n- Traces replay.\n\n## 0.1.0\n\n- A tool.\n");
        assert_eq!(wrong_versions(&changelog, 7), Vec::<String>::new());
    }

    #[test]
    fn long_versions_bullets_and_lines_and_delayed_beginnings_are_found() {
        let long = "x".repeat(LINE_LETTERS_MAX + 1);
        let changelog = format!("{HEAD}- One.\n  Two.\n  Three.\n- Where it is, it is.\n- {long}\n");
        let found = wrong_versions(&changelog, 8);
        let has = |words: &str| found.iter().filter(|finding| finding.contains(words)).count();
        assert_eq!(has("Unreleased has 9 lines, more than 8"), 1, "{found:?}");
        assert_eq!(has("\"- One.\" has 3 lines"), 1, "{found:?}");
        assert_eq!(has("begins with \"where\""), 1, "{found:?}");
        assert_eq!(has("has a line of 241 letters"), 1, "{found:?}");
        assert_eq!(found.len(), 4, "{found:?}");
    }
}
