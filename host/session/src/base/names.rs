//! Names and digests of plugins, as they are shown and as parts of paths.

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
    fn a_digest_is_shortened_behind_its_algorithm() {
        assert_eq!(short_digest("blake3:0123456789abcdef"), "blake3:0123456789ab");
        assert_eq!(short_digest("abc"), "abc");
    }
}
