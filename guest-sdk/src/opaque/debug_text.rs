//! `Debug` text as `#[derive(Debug)]` and the standard library write it, in one line: fields cut out of it, and its JSON form.
//!
//! Text of hand-written implementations passes unchanged, as far as its brackets match.

use serde_json::{Map, Value, json};

/// Levels of brackets that are parsed; deeper text stays text.
const DEPTH_MAX: usize = 64;

/// The text without the fields of these names and their values.
pub(super) fn without(text: &str, fields: &[&str]) -> String {
    if fields.is_empty() {
        return text.to_owned();
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    // Whether a field name can begin here: after a bracket or a comma.
    let mut is_start = true;
    while let Some(letter) = rest.chars().next() {
        if is_start && let Some(value) = fields.iter().find_map(|field| rest.strip_prefix(field)?.strip_prefix(": ")) {
            rest = &value[end_of_value(value)..];
            is_start = false;
            continue;
        }
        let length = literal(rest).unwrap_or(letter.len_utf8());
        kept.push_str(&rest[..length]);
        rest = &rest[length..];
        is_start = matches!(letter, '{' | ',') || is_start && letter == ' ';
    }
    kept
}

/// The end of a value: before the comma or the bracket behind it.
fn end_of_value(text: &str) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while let Some(letter) = text[at..].chars().next() {
        match letter {
            ',' | ')' | ']' | '}' if depth == 0 => return at,
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        at += literal(&text[at..]).unwrap_or(letter.len_utf8());
    }
    at
}

/// The length in bytes of the string or character literal at the start of the text.
fn literal(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|letter| matches!(letter, '"' | '\''))?;
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        if letter == '\\' {
            letters.next();
        } else if letter == quote {
            return Some(at + 1);
        }
    }
    None
}

/// The text as JSON: fields are keys, the name of a struct or variant is the key of its content, except the outermost one.
pub(super) fn json(text: &str) -> Value {
    let mut reader = Reader { text, at: 0 };
    match reader.value(0) {
        Some(value) if reader.rest().trim().is_empty() => match value {
            Value::Object(mut only) if only.len() == 1 && text.starts_with(|letter: char| letter.is_alphabetic()) => {
                let name = only.keys().next().cloned().unwrap_or_default();
                only.remove(&name).unwrap_or_default()
            }
            value => value,
        },
        _ => Value::String(text.to_owned()),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Takes a piece of text if it comes next.
    fn take(&mut self, piece: &str) -> bool {
        let is_next = self.rest().starts_with(piece);
        self.at += if is_next { piece.len() } else { 0 };
        is_next
    }

    /// Takes a value; none if brackets do not match.
    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth == DEPTH_MAX {
            return None;
        }
        match self.rest().chars().next()? {
            '[' => self.list(']', depth).map(Value::Array),
            '(' => self.list(')', depth).map(Value::Array),
            '{' => self.entries(depth),
            _ => self.named(depth),
        }
    }

    /// Takes a bracket, values and the bracket that closes it.
    fn list(&mut self, end: char, depth: usize) -> Option<Vec<Value>> {
        self.at += 1;
        let mut values = Vec::new();
        loop {
            if self.take_end(end) {
                return Some(values);
            }
            values.push(self.value(depth + 1)?);
            if !self.take(", ") && !self.take(",") && !self.rest().trim_start().starts_with(end) {
                return None;
            }
        }
    }

    fn take_end(&mut self, end: char) -> bool {
        let rest = self.rest().trim_start();
        let is_next = rest.starts_with(end);
        if is_next {
            self.at = self.text.len() - rest.len() + end.len_utf8();
        }
        is_next
    }

    /// Takes a map, a set, or the fields of a struct.
    fn entries(&mut self, depth: usize) -> Option<Value> {
        self.at += 1;
        self.take(" ");
        let (mut fields, mut values) = (Map::new(), Vec::new());
        loop {
            if self.take_end('}') {
                return Some(if fields.is_empty() { Value::Array(values) } else { Value::Object(fields) });
            }
            if self.take("..") {
                continue;
            }
            let key = self.value(depth + 1)?;
            if self.take(": ") {
                let key = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
                let value = self.value(depth + 1)?;
                fields.insert(key, value);
            } else {
                values.push(key);
            }
            if !self.take(", ") && !self.rest().trim_start().starts_with('}') {
                return None;
            }
        }
    }

    /// Takes a literal, or a name with its content.
    fn named(&mut self, depth: usize) -> Option<Value> {
        if let Some(length) = literal(self.rest()) {
            let quoted = &self.rest()[..length];
            self.at += length;
            let inner = &quoted[1..length - 1];
            return Some(serde_json::from_str(quoted).unwrap_or_else(|_| Value::String(inner.to_owned())));
        }
        let rest = self.rest();
        let is_end = |at: usize, letter: char| {
            matches!(letter, ',' | ')' | ']' | '}' | '(' | '[' | '{') || rest[at..].starts_with(": ")
        };
        let end = rest.char_indices().find(|(at, letter)| is_end(*at, *letter)).map_or(rest.len(), |(at, _)| at);
        let name = rest[..end].trim();
        self.at += end;
        let next = self.rest().chars().next();
        Some(match next {
            Some('(') if !name.is_empty() => {
                let mut values = self.list(')', depth)?;
                let value = if values.len() == 1 { values.swap_remove(0) } else { Value::Array(values) };
                if name == "Some" { value } else { json!({ name: value }) }
            }
            Some('{') if !name.is_empty() => {
                let fields = self.entries(depth)?;
                json!({ name: fields })
            }
            Some('[') => return None,
            _ if name.is_empty() => return None,
            _ => plain(name),
        })
    }
}

/// A number, a truth, nothing, or a word.
fn plain(text: &str) -> Value {
    match text {
        "true" => true.into(),
        "false" => false.into(),
        "None" => Value::Null,
        _ => {
            let number = text.parse::<i64>().map(Value::from).or_else(|_| text.parse::<u64>().map(Value::from));
            number.unwrap_or_else(|_| Value::String(text.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[derive(Debug)]
    #[allow(dead_code, reason = "read by Debug alone")]
    enum Kind {
        Idle,
        Busy(u32, char),
        Waits { for_whom: Option<&'static str> },
    }

    #[derive(Debug)]
    #[allow(dead_code, reason = "read by Debug alone")]
    struct Node {
        kind: Kind,
        cache: BTreeMap<u8, Vec<&'static str>>,
        set: BTreeSet<i8>,
        pair: (f64, ()),
    }

    fn node(kind: Kind) -> String {
        let cache = BTreeMap::from([(1, vec!["a, cache: }\"", "b"]), (2, vec![])]);
        format!("{:?}", Node { kind, cache, set: BTreeSet::from([-1, 2]), pair: (1.5, ()) })
    }

    #[test]
    fn fields_are_cut_out_with_their_values() {
        let text = node(Kind::Busy(3, '}'));
        assert_eq!(
            without(&text, &["cache"]),
            "Node { kind: Busy(3, '}'), , set: {-1, 2}, pair: (1.5, ()) }",
            "of {text}"
        );
        assert_eq!(
            without(&text, &["kind", "pair", "set"]),
            r#"Node { , cache: {1: ["a, cache: }\"", "b"], 2: []}, , }"#
        );
        assert_eq!(without(&text, &[]), text);
        assert_eq!(without(&text, &["che"]), text, "the end of a name is no name");
        let waits = node(Kind::Waits { for_whom: Some("x") });
        assert!(without(&waits, &["for_whom"]).starts_with("Node { kind: Waits { }, cache"), "inside, too");
    }

    #[test]
    fn derived_text_has_a_json_form() {
        let of = |kind| json(&node(kind));
        let rest = json!({"cache": {"1": ["a, cache: }\"", "b"], "2": []}, "set": [-1, 2], "pair": ["1.5", []]});
        for (kind, expected) in [
            (Kind::Idle, json!("Idle")),
            (Kind::Busy(3, '}'), json!({"Busy": [3, "}"]})),
            (Kind::Waits { for_whom: Some("x") }, json!({"Waits": {"for_whom": "x"}})),
            (Kind::Waits { for_whom: None }, json!({"Waits": {"for_whom": null}})),
        ] {
            let mut expected_node = rest.clone();
            expected_node["kind"] = expected;
            assert_eq!(of(kind), expected_node);
        }
    }

    #[test]
    fn other_text_stays_text() {
        for text in ["", "a)", "(a", "[1, 2", "x[1]", "{a: }", "it's"] {
            assert_eq!(json(text), Value::String(text.to_owned()), "{text:?}");
        }
        assert_eq!(json(&"[".repeat(500)), Value::String("[".repeat(500)));
    }
}
