//! The state of a node before and after a step as one tree, row by row.

use serde_json::Value;

use crate::words::{clipped, on_one_line, value_on_one_line};

/// The maximum number of rows of a tree, and of letters of a name and of a value in it.
const ROWS_MAX: usize = 1_000;
const NAME_LETTERS_MAX: usize = 120;
const VALUE_LETTERS_MAX: usize = 240;

/// The maximum length of an unchanged value on one line.
const SHORT: usize = 56;

/// The fate of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Unchanged.
    Same,
    /// It has another value, or a row below it has changed.
    Changed,
    /// It is new.
    Added,
    /// It is gone.
    Removed,
}

/// A row of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The depth in the tree.
    pub depth: usize,
    /// The change of the row.
    pub mark: Mark,
    /// The name of the field; empty for elements of lists.
    pub name: String,
    /// The value; empty if the rows below contain it.
    pub value: String,
    /// The value before.
    pub old: Option<String>,
}

/// The rows of a state after a step, compared with the state before it.
pub fn rows(before: &Value, after: &Value) -> Vec<Row> {
    let mut rows = Vec::new();
    match (before, after) {
        // The fields of the state itself have no row above them.
        (Value::Object(_), Value::Object(_)) => children(&mut rows, 0, Some(before), Some(after)),
        _ => walk(&mut rows, 0, "", Some(before), Some(after)),
    }
    if rows.len() >= ROWS_MAX {
        rows.truncate(ROWS_MAX);
        rows.push(row(0, Mark::Same, "", "and more".to_owned()));
    }
    rows
}

fn row(depth: usize, mark: Mark, name: &str, value: String) -> Row {
    let name = clipped(&on_one_line(&clipped(name, NAME_LETTERS_MAX)), NAME_LETTERS_MAX);
    Row { depth, mark, name, value, old: None }
}

fn walk(rows: &mut Vec<Row>, depth: usize, name: &str, before: Option<&Value>, after: Option<&Value>) {
    if rows.len() >= ROWS_MAX {
        return;
    }
    let mark = match (before, after) {
        (None, _) => Mark::Added,
        (_, None) => Mark::Removed,
        (before, after) if before == after => Mark::Same,
        _ => Mark::Changed,
    };
    if mark == Mark::Changed
        && let (Some(before), Some(after)) = (before, after)
        && !is_nested(before, after)
    {
        rows.push(Row { old: Some(text(before)), ..row(depth, mark, name, text(after)) });
        return;
    }
    let Some(value) = after.or(before) else { return };
    // A text is a leaf, whatever its length.
    let is_leaf = !value.is_array() && !value.is_object();
    if mark != Mark::Changed && (is_leaf || fits(value, &mut SHORT.clone())) {
        rows.push(row(depth, mark, name, text(value)));
        return;
    }
    rows.push(row(depth, mark, name, String::new()));
    children(rows, depth + 1, before, after);
}

/// Whether both are lists, or both are objects, so that the difference lies deeper.
fn is_nested(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Array(before), Value::Array(after)) => !before.is_empty() || !after.is_empty(),
        (Value::Object(before), Value::Object(after)) => !before.is_empty() || !after.is_empty(),
        _ => false,
    }
}

fn children(rows: &mut Vec<Row>, depth: usize, before: Option<&Value>, after: Option<&Value>) {
    match (before, after) {
        (before @ (Some(Value::Object(_)) | None), after @ (Some(Value::Object(_)) | None)) => {
            let [before, after] = [before, after].map(|value| value.and_then(Value::as_object));
            for (name, value) in after.into_iter().flatten().take(ROWS_MAX) {
                walk(rows, depth, name, before.and_then(|before| before.get(name)), Some(value));
            }
            let is_there = |name: &str| after.is_some_and(|after| after.contains_key(name));
            let gone = before.into_iter().flatten().filter(|(name, _)| !is_there(name));
            gone.take(ROWS_MAX).for_each(|(name, value)| walk(rows, depth, name, Some(value), None));
        }
        (before @ (Some(Value::Array(_)) | None), after @ (Some(Value::Array(_)) | None)) => {
            let [before, after] = [before, after].map(|value| value.and_then(Value::as_array).map_or(&[][..], |it| it));
            elements(rows, depth, before, after);
        }
        _ => rows.push(row(depth, Mark::Same, "", after.or(before).map(text).unwrap_or_default())),
    }
}

/// The elements of two lists: the common prefix and suffix are unchanged, and the elements between are changed, added or removed.
fn elements(rows: &mut Vec<Row>, depth: usize, before: &[Value], after: &[Value]) {
    let shorter = before.len().min(after.len());
    let begin = before.iter().zip(after).take_while(|(before, after)| before == after).count();
    let both = before.iter().rev().zip(after.iter().rev()).take(shorter - begin);
    let end = both.take_while(|(before, after)| before == after).count();
    let (old, new) = (&before[begin..before.len() - end], &after[begin..after.len() - end]);
    let mut same = |values: &[Value]| {
        for value in values.iter().take(ROWS_MAX) {
            walk(rows, depth, "", Some(value), Some(value));
        }
    };
    same(&after[..begin]);
    match old.len() == new.len() {
        true => {
            for pair in old.iter().zip(new).take(ROWS_MAX) {
                walk(rows, depth, "", Some(pair.0), Some(pair.1));
            }
        }
        false => {
            old.iter().take(ROWS_MAX).for_each(|value| walk(rows, depth, "", Some(value), None));
            new.iter().take(ROWS_MAX).for_each(|value| walk(rows, depth, "", None, Some(value)));
        }
    }
    for value in after[after.len() - end..].iter().take(ROWS_MAX) {
        walk(rows, depth, "", Some(value), Some(value));
    }
}

fn text(value: &Value) -> String {
    clipped(&value_on_one_line(value), VALUE_LETTERS_MAX)
}

/// Whether a value fits on a line; reads no further than that.
fn fits(value: &Value, room: &mut usize) -> bool {
    let needed = match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(number) => number.to_string().len(),
        Value::String(word) => word.len(),
        Value::Array(values) => return take(room, 2) && values.iter().all(|value| take(room, 2) && fits(value, room)),
        Value::Object(fields) => {
            let mut fields = fields.iter();
            return take(room, 2) && fields.all(|(name, value)| take(room, name.len() + 3) && fits(value, room));
        }
    };
    take(room, needed)
}

fn take(room: &mut usize, letters: usize) -> bool {
    *room = room.saturating_sub(letters);
    *room > 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Rows as text: a sign, two blanks per level, name and values.
    fn shown(before: &Value, after: &Value) -> Vec<String> {
        let sign = |mark| match mark {
            Mark::Same => ' ',
            Mark::Changed => '~',
            Mark::Added => '+',
            Mark::Removed => '-',
        };
        let line = |row: Row| {
            let old = row.old.map(|old| format!("{old} -> ")).unwrap_or_default();
            format!("{}{}{}: {old}{}", sign(row.mark), "  ".repeat(row.depth), row.name, row.value)
        };
        rows(before, after).into_iter().map(line).collect()
    }

    #[test]
    fn fields_keep_their_place_and_say_what_became_of_them() {
        let before = json!({ "term": 0, "role": "Follower", "log": [1], "gone": true });
        let after = json!({ "term": 1, "role": "Follower", "log": [1, 2], "new": {} });
        let expected = ["~term: 0 -> 1", " role: Follower", "~log: ", "   : 1", "+  : 2", "+new: {}", "-gone: true"];
        assert_eq!(shown(&before, &after), expected);
        assert_eq!(shown(&before, &before), [" term: 0", " role: Follower", " log: [1]", " gone: true"]);
    }

    #[test]
    fn another_variant_comes_and_goes_as_a_whole() {
        let before = json!({ "role": { "Candidate": { "votes": [0] } } });
        let after = json!({ "role": "Leader" });
        assert_eq!(shown(&before, &after), ["~role: Candidate {votes: [0]} -> Leader"]);
        let after = json!({ "role": { "Leader": 1 } });
        assert_eq!(shown(&before, &after), ["~role: ", "+  Leader: 1", "-  Candidate: {votes: [0]}"]);
    }

    #[test]
    fn elements_change_come_and_go() {
        assert_eq!(shown(&json!([1, 2, 3]), &json!([1, 5, 3])), ["~: ", "   : 1", "~  : 2 -> 5", "   : 3"]);
        assert_eq!(shown(&json!([1, 2, 3]), &json!([1, 3])), ["~: ", "   : 1", "-  : 2", "   : 3"]);
        assert_eq!(shown(&json!([]), &json!([1])), ["~: ", "+  : 1"]);
        assert_eq!(shown(&json!(1), &json!([1])), ["~: 1 -> [1]"]);
    }

    #[test]
    fn long_values_have_rows_and_there_are_not_too_many() {
        let long = json!({ "names": ["a".repeat(30), "b".repeat(30)] });
        assert_eq!(shown(&long, &long).len(), 3);
        let wide: Value = (0..5_000).map(|it| json!("x".repeat(it % 90))).collect();
        let rows = rows(&wide, &wide);
        assert_eq!(rows.len(), ROWS_MAX + 1);
        assert_eq!(rows[ROWS_MAX].value, "and more");
        let deep = (0..60).fold(json!("x".repeat(60)), |inside, _| json!({ "a": inside }));
        assert_eq!(super::rows(&deep, &deep).len(), 60);
    }
}
