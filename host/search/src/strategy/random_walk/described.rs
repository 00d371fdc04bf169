//! Reads the fields of a state that a protocol describes as JSON, as far as an archive uses them.

use crate::strategy::random_walk::scheduler::mixed;

/// Maximum depth of nested objects and arrays.
const NESTED_MAX: u32 = 8;

/// Maximum number of bytes of a text; longer texts differ if their beginnings do.
const TEXT_MAX: usize = 24;

/// The value at the end of a path of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// An integer.
    Number(i64),
    /// A hash of any other value.
    Other(u64),
}

/// The fields of a JSON text, each with a hash of its path. Of an array these are its length and the fields of its last element. Fields
/// after a mistake in the text are left out: the text is for people, and only the choice of where to walk depends on it.
pub(super) fn fields(text: &str) -> Vec<(u64, Field)> {
    let mut reader = Reader { rest: text.as_bytes(), fields: Vec::new() };
    reader.value(1, NESTED_MAX);
    reader.fields
}

struct Reader<'t> {
    rest: &'t [u8],
    fields: Vec<(u64, Field)>,
}

impl<'t> Reader<'t> {
    /// The next byte that is no space, without consuming it.
    fn next(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_ascii_start();
        self.rest.first().copied()
    }

    /// Consumes a byte if it is the next one.
    fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.next() == Some(byte);
        if is_next {
            self.rest = &self.rest[1..];
        }
        is_next
    }

    /// Reads a value; none if there is a mistake.
    fn value(&mut self, path: u64, nested: u32) -> Option<()> {
        match self.next()? {
            b'{' => self.object(path, nested.checked_sub(1)?),
            b'[' => self.array(path, nested.checked_sub(1)?),
            b'"' => {
                let text = self.text()?;
                self.fields.push((path, Field::Other(content(&text[..text.len().min(TEXT_MAX)]))));
                Some(())
            }
            _ => {
                let end = self.rest.iter().position(|byte| b",]} \n\t\r".contains(byte)).unwrap_or(self.rest.len());
                let (word, rest) = self.rest.split_at(end);
                self.rest = rest;
                let number = str::from_utf8(word).ok().and_then(|word| word.parse().ok());
                self.fields.push((path, number.map_or_else(|| Field::Other(content(word)), Field::Number)));
                (end > 0).then_some(())
            }
        }
    }

    fn object(&mut self, path: u64, nested: u32) -> Option<()> {
        self.takes(b'{');
        if self.takes(b'}') {
            return Some(());
        }
        loop {
            self.next().filter(|byte| *byte == b'"')?;
            let key = self.text()?;
            self.takes(b':').then_some(())?;
            self.value(mixed(path, content(key)), nested)?;
            if !self.takes(b',') {
                return self.takes(b'}').then_some(());
            }
        }
    }

    fn array(&mut self, path: u64, nested: u32) -> Option<()> {
        self.takes(b'[');
        let before = self.fields.len();
        let mut length = 0;
        if !self.takes(b']') {
            loop {
                // Only the last element stays.
                self.fields.truncate(before);
                self.value(mixed(path, 2), nested)?;
                length += 1;
                if !self.takes(b',') {
                    self.takes(b']').then_some(())?;
                    break;
                }
            }
        }
        self.fields.push((mixed(path, 3), Field::Other(length)));
        Some(())
    }

    /// Reads a text in quotes; its escapes stay.
    fn text(&mut self) -> Option<&'t [u8]> {
        let rest = &self.rest[1..];
        let (mut end, mut is_escaped) = (0, false);
        while is_escaped || *rest.get(end)? != b'"' {
            is_escaped = !is_escaped && *rest.get(end)? == b'\\';
            end += 1;
        }
        self.rest = &rest[end + 1..];
        Some(&rest[..end])
    }
}

/// A hash of bytes.
fn content(bytes: &[u8]) -> u64 {
    bytes.iter().fold(bytes.len() as u64, |sum, byte| mixed(sum, u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether an archive that sees one node finds two descriptions the same.
    fn is_same(one: &str, other: &str) -> bool {
        fields(one) == fields(other)
    }

    #[test]
    fn of_arrays_the_length_and_the_last_element_count() {
        assert!(is_same(r#"{"log":[1,2,7]}"#, r#"{ "log" : [3, 4, 7] }"#));
        assert!(!is_same(r#"{"log":[1,2,7]}"#, r#"{"log":[1,2,8]}"#));
        assert!(!is_same(r#"{"log":[2,7]}"#, r#"{"log":[1,2,7]}"#));
        assert!(!is_same(r#"{"log":[]}"#, r#"{"log":[[]]}"#));
        assert!(is_same(r#"[{"a":1},{"a":2}]"#, r#"[{"b":"x"},{"a":2}]"#));
    }

    #[test]
    fn numbers_and_other_values_differ_by_their_paths() {
        let numbers =
            |text: &str| fields(text).into_iter().filter(|(_, field)| matches!(field, Field::Number(_))).count();
        assert_eq!(numbers(r#"{"term":-3,"role":"leader","vote":null,"inner":{"term":2},"share":0.5}"#), 2);
        assert!(!is_same(r#"{"term":3}"#, r#"{"vote":3}"#));
        assert!(!is_same(r#"{"term":3}"#, r#"{"term":"3"}"#));
        assert!(!is_same(r#"{"a":{"term":3}}"#, r#"{"b":{"term":3}}"#));
        assert!(!is_same(r#"{"role":"leader"}"#, r#"{"role":"follower"}"#));
        assert!(!is_same(r#"{"vote":null}"#, r#"{"vote":true}"#));
        // Only the beginning of a long text counts.
        let long = |end: &str| format!(r#"{{"text":"{}{end}"}}"#, "a".repeat(TEXT_MAX));
        assert!(is_same(&long("x"), &long("yz")));
        assert!(is_same(r#"{"text":"a\"b","term":3}"#, r#"{"text":"a\"b","term":3}"#));
    }

    #[test]
    fn what_is_no_json_has_the_fields_before_the_mistake() {
        assert_eq!(fields(""), []);
        assert_eq!(fields("{"), []);
        for broken in [r#"{"term":3,"#, r#"{"term":3,"vote"}"#, r#"{"term":3,"vote":}"#, r#"{"term":3,"text":"abc"#] {
            assert_eq!(fields(broken)[..1], fields(r#"{"term":3}"#)[..], "{broken}");
        }
        // Nested values are read up to a bound.
        let nested = |levels: usize| fields(&format!("{}1{}", "[".repeat(levels), "]".repeat(levels))).len();
        assert_eq!((nested(8), nested(9)), (1 + 8, 0));
    }
}
