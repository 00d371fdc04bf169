//! The differences between two states, field by field.

use serde_json::Value;

use crate::words::{clipped, on_one_line, shortened, value_on_one_line, variant};

/// The maximum length of lists that are compared element by element.
const ELEMENTS_MAX: usize = 1000;

/// The maximum number of differences shown.
const CHANGES_MAX: usize = 10_000;

/// The maximum length in letters of the path to a field.
const PATH_LETTERS_MAX: usize = 512;

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The names on the path to it, separated by dots; empty for the whole state.
    pub path: String,
    /// The old and the new value, such as `0 -> 1`; or only the added and removed elements, for lists.
    pub what: String,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.path.is_empty() {
            true => f.write_str(&self.what),
            false => write!(f, "{}: {}", self.path, self.what),
        }
    }
}

/// All fields that differ, in the order of the second state. Names of enum variants that both states have are left out
/// of the paths.
pub fn changes(before: &Value, after: &Value) -> Vec<Change> {
    let mut changes = Vec::new();
    compare(before, after, "", &mut changes);
    if changes.len() >= CHANGES_MAX {
        changes.truncate(CHANGES_MAX);
        changes.push(Change { path: String::new(), what: "and more".to_owned() });
    }
    changes
}

fn compare(before: &Value, after: &Value, path: &str, changes: &mut Vec<Change>) {
    if changes.len() >= CHANGES_MAX || before == after {
        return;
    }
    if let (Some((name, before)), Some((other, after))) = (variant(before), variant(after)) {
        if name == other {
            // Fields with names make the name of the variant redundant.
            let path = if has_names(before) && has_names(after) { path.to_owned() } else { join(path, name) };
            return compare(before, after, &path, changes);
        }
    } else if let (Value::Object(before), Value::Object(after)) = (before, after)
        && variant(&Value::Object(before.clone())).is_none()
        && variant(&Value::Object(after.clone())).is_none()
    {
        for (name, value) in after {
            let path = join(path, name);
            match before.get(name) {
                Some(before) => compare(before, value, &path, changes),
                None if changes.len() >= CHANGES_MAX => return,
                None => changes.push(Change { path, what: format!("+ {}", value_on_one_line(value)) }),
            }
        }
        let gone = before.iter().filter(|(name, _)| !after.contains_key(*name)).take(CHANGES_MAX);
        changes.extend(
            gone.map(|(name, value)| Change {
                path: join(path, name),
                what: format!("- {}", value_on_one_line(value)),
            }),
        );
        return;
    } else if let (Value::Array(before), Value::Array(after)) = (before, after) {
        if before.len() == after.len() && before.len() > 1 {
            for (index, (before, after)) in before.iter().zip(after).enumerate() {
                compare(before, after, &join(path, &index.to_string()), changes);
            }
            return;
        }
        if let Some(what) = list_changes(before, after) {
            changes.push(Change { path: path.to_owned(), what });
            return;
        }
    }
    let what = format!("{} -> {}", value_on_one_line(before), value_on_one_line(after));
    changes.push(Change { path: path.to_owned(), what });
}

/// The added or removed elements, if one list is the other one with additional elements.
fn list_changes(before: &[Value], after: &[Value]) -> Option<String> {
    if before.len().max(after.len()) > ELEMENTS_MAX {
        return None;
    }
    let said = |sign: char, values: Vec<&Value>| {
        let said = values.iter().map(|value| format!("{sign} {}", value_on_one_line(value)));
        shortened(said.collect::<Vec<_>>().join(" "))
    };
    if let Some(added) = between(before, after) {
        return Some(said('+', added));
    }
    between(after, before).map(|removed| said('-', removed))
}

/// The elements of `long` that are missing in `short`, if removing them from `long` gives `short`.
fn between<'v>(short: &[Value], long: &'v [Value]) -> Option<Vec<&'v Value>> {
    let mut rest = short.iter().peekable();
    let mut others = Vec::new();
    for value in long {
        if rest.peek() == Some(&value) {
            rest.next();
        } else {
            others.push(value);
        }
    }
    rest.peek().is_none().then_some(others)
}

fn has_names(value: &Value) -> bool {
    let is_name = |name: &String| name.starts_with(|letter: char| letter.is_ascii_lowercase());
    value.as_object().is_some_and(|fields| !fields.is_empty() && fields.keys().all(is_name))
}

fn join(path: &str, name: &str) -> String {
    let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    clipped(&on_one_line(&path), PATH_LETTERS_MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(before: &Value, after: &Value) -> Vec<String> {
        changes(before, after).iter().map(Change::to_string).collect()
    }

    #[test]
    fn only_differences_are_listed() {
        let before = json!({ "Running": { "acceptor": { "promised": 0, "accepted": null }, "votes": [1], "x": 1 } });
        let after = json!({ "Running": { "acceptor": { "promised": 1, "accepted": null }, "votes": [1, 2], "x": 1 } });
        assert_eq!(texts(&before, &after), ["acceptor.promised: 0 -> 1", "votes: + 2"]);
        assert_eq!(texts(&after, &before), ["acceptor.promised: 1 -> 0", "votes: - 2"]);
        assert!(texts(&before, &before).is_empty());
    }

    #[test]
    fn numbers_that_floating_point_does_not_tell_apart_differ() {
        let large = |text: &str| serde_json::from_str::<Value>(&format!(r#"{{"id": {text}}}"#)).expect("JSON");
        let (one, next) = ("1267650600228229401496703205376", "1267650600228229401496703205377");
        assert_eq!(texts(&large(one), &large(next)), [format!("id: {one} -> {next}")]);
        assert!(texts(&large(one), &large(one)).is_empty());
    }

    #[test]
    fn another_variant_is_shown_in_full() {
        let before = json!({ "proposer": "Ready" });
        let after = json!({ "proposer": { "Collecting": { "responders": [] } } });
        assert_eq!(texts(&before, &after), ["proposer: Ready -> Collecting {responders: []}"]);
        assert_eq!(texts(&json!({ "A": 1 }), &json!({ "B": 1 })), ["A 1 -> B 1"]);
    }

    #[test]
    fn a_variant_without_names_of_fields_is_named() {
        let with = |votes: Value| json!({ "Collecting": votes });
        assert_eq!(texts(&with(json!({})), &with(json!({ "1": "Yes" }))), ["Collecting.1: + Yes"]);
        assert_eq!(texts(&with(json!(1)), &with(json!(2))), ["Collecting: 1 -> 2"]);
    }

    #[test]
    fn elements_and_fields_come_and_go() {
        assert_eq!(texts(&json!([1, 3]), &json!([1, 2, 3, 4])), ["+ 2 + 4"]);
        assert_eq!(texts(&json!([1, 2]), &json!([1, 5])), ["1: 2 -> 5"]);
        assert_eq!(texts(&json!({ "a": 1 }), &json!({ "b": 2 })), ["b: + 2", "a: - 1"]);
        assert_eq!(texts(&json!([1, 2, 3]), &json!([4])), ["[1, 2, 3] -> [4]"]);
    }
}
