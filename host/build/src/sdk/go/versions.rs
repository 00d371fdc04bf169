//! Versions of modules of Go.

use std::cmp::Ordering;

/// The later one of two versions, such as `v1.2.3`, `v0.0.0-20190430140413-ec5e00d3c878` or `1.24`; the first if they are equal.
pub fn later<'a>(one: &'a str, other: &'a str) -> &'a str {
    if compare(one, other) == Ordering::Less { other } else { one }
}

/// The least version of a module with this path: its major number is the end of the path.
pub fn least(path: &str) -> String {
    let last = path.rsplit(['/', '.']).next().unwrap_or_default();
    let is_named = is_major(last) && (path.starts_with("gopkg.in/") || path.ends_with(&format!("/{last}")));
    let major = if is_named { last } else { "v0" };
    format!("{major}.0.0")
}

/// Whether it is a major version, such as `v2`.
pub fn is_major(part: &str) -> bool {
    part.strip_prefix('v').is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Compares as the specification of semantic versions does: by numbers, and a version with a suffix behind a hyphen precedes the one
/// without.
fn compare(one: &str, other: &str) -> Ordering {
    let split = |version: &str| {
        let version = version.trim_start_matches('v').split('+').next().unwrap_or_default().to_owned();
        match version.split_once('-') {
            Some((numbers, early)) => (numbers.to_owned(), Some(early.to_owned())),
            None => (version, None),
        }
    };
    let ((one, one_early), (other, other_early)) = (split(one), split(other));
    parts(&one).cmp(&parts(&other)).then_with(|| match (one_early, other_early) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(one), Some(other)) => parts(&one).cmp(&parts(&other)),
    })
}

/// Parts between dots. Numbers are compared as such and precede words.
fn parts(text: &str) -> Vec<(bool, u64, String)> {
    let part = |part: &str| match part.parse() {
        Ok(number) => (false, number, String::new()),
        Err(_) => (true, 0, part.to_owned()),
    };
    text.split('.').filter(|text| !text.is_empty()).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_an_order() {
        let ascending = [
            "v0.0.0-20190430140413-ec5e00d3c878",
            "v0.0.0-20200430140413-aaaaaaaaaaaa",
            "v0.0.0",
            "v0.9.1",
            "v0.10.0",
            "v1.0.0-rc.2",
            "v1.0.0-rc.10",
            "v1.0.0",
            "v3.2.1+incompatible",
        ];
        for (place, earlier) in ascending.iter().enumerate() {
            for version in &ascending[place..] {
                assert_eq!((later(earlier, version), later(version, earlier)), (*version, *version));
            }
        }
        assert_eq!(later("1.24", "1.9"), "1.24");
        assert_eq!(later("1.24", ""), "1.24");
    }

    #[test]
    fn a_path_can_name_its_major_number() {
        for (path, version) in [
            ("example.org/a", "v0.0.0"),
            ("example.org/a/v2", "v2.0.0"),
            ("gopkg.in/yaml.v3", "v3.0.0"),
            ("example.org/a.v3", "v0.0.0"),
        ] {
            assert_eq!(least(path), version);
        }
    }
}
