//! EDN, as Jepsen writes histories.
//!
//! Tags such as `#jepsen.history.Op` are skipped, and `#_` and comments with what they hide.

use crate::error::{HistoryError, Place};
use crate::source::Source;
use crate::value::Value;

/// The deepest nesting of forms.
const DEPTH_MAX: usize = 64;

const REMEDY: &str = "a history is a sequence of maps such as {:process 0, :type :invoke, :f :read, :value nil}";

/// The next form; none at the end of the input.
pub(crate) fn form(source: &mut Source<'_>) -> Result<Option<Value>, HistoryError> {
    source.begin();
    skip_blanks(source)?;
    match source.peek()? {
        None => Ok(None),
        Some(_) => nested(source, 0).map(Some),
    }
}

/// Skips blanks, commas, comments and discarded forms.
pub(crate) fn skip_blanks(source: &mut Source<'_>) -> Result<(), HistoryError> {
    while let Some(byte) = source.peek()? {
        match byte {
            b' ' | b',' | b'\t' | b'\r' | b'\n' | 0x0C => {
                source.next()?;
            }
            b';' => while source.next()?.is_some_and(|byte| byte != b'\n') {},
            b'#' if source.peek_at(1)? == Some(b'_') => {
                source.next()?;
                source.next()?;
                skip_blanks(source)?;
                nested(source, 0)?;
            }
            _ => break,
        }
    }
    Ok(())
}

fn nested(source: &mut Source<'_>, depth: usize) -> Result<Value, HistoryError> {
    if depth > DEPTH_MAX {
        return Err(source.wrong(format!("forms are nested more than {DEPTH_MAX} deep"), REMEDY));
    }
    let begin = source.place;
    match source.peek()? {
        None => Err(torn(source, begin, "a form")),
        Some(b'{') => {
            let all = until(source, b'}', depth)?;
            if all.len() % 2 == 1 {
                return Err(HistoryError::at(begin, "this map has a key without a value", REMEDY));
            }
            let mut all = all.into_iter();
            let pairs = std::iter::from_fn(|| Some((all.next()?, all.next()?)));
            Ok(Value::map(pairs.collect()))
        }
        Some(b'[') => until(source, b']', depth).map(Value::List),
        Some(b'(') => until(source, b')', depth).map(Value::List),
        Some(b'"') => text(source).map(Value::Text),
        Some(b'#') => {
            source.next()?;
            if source.peek()? == Some(b'{') {
                return until(source, b'}', depth).map(Value::set);
            }
            // The tag says how the next form is meant; what it holds is the same.
            token(source)?;
            skip_blanks(source)?;
            nested(source, depth + 1)
        }
        Some(b'^') => {
            source.next()?;
            nested(source, depth + 1)?;
            skip_blanks(source)?;
            nested(source, depth + 1)
        }
        Some(b'\'') => {
            source.next()?;
            nested(source, depth + 1)
        }
        Some(b'\\') => {
            source.next()?;
            let first = source.next()?.map(char::from).unwrap_or_default();
            Ok(Value::Symbol(format!("\\{first}{}", token(source)?)))
        }
        Some(byte @ (b'}' | b']' | b')')) => {
            Err(source.wrong(format!("`{}` closes nothing", char::from(byte)), REMEDY))
        }
        Some(_) => {
            let token = token(source)?;
            atom(&token).ok_or_else(|| HistoryError::at(begin, format!("`{token}` is no form of EDN"), REMEDY))
        }
    }
}

/// The forms of a list, vector, set or map whose first byte is next.
fn until(source: &mut Source<'_>, end: u8, depth: usize) -> Result<Vec<Value>, HistoryError> {
    let begin = source.place;
    source.next()?;
    let mut all = Vec::new();
    loop {
        skip_blanks(source)?;
        match source.peek()? {
            Some(byte) if byte == end => {
                source.next()?;
                return Ok(all);
            }
            Some(_) => all.push(nested(source, depth + 1)?),
            None => return Err(torn(source, begin, &format!("the form that `{}` would close", char::from(end)))),
        }
    }
}

fn torn(source: &Source<'_>, begin: Place, what: &str) -> HistoryError {
    source.wrong(
        format!("the history ends within {what}, which begins in line {}, column {}", begin.line, begin.column),
        "its last entry is torn: copy the file again, or remove the entry: its call then counts as open",
    )
}

fn text(source: &mut Source<'_>) -> Result<String, HistoryError> {
    let begin = source.place;
    source.next()?;
    let mut bytes = Vec::new();
    loop {
        match source.next()? {
            None => return Err(torn(source, begin, "a text")),
            Some(b'"') => break,
            Some(b'\\') => match source.next()? {
                Some(b'n') => bytes.push(b'\n'),
                Some(b't') => bytes.push(b'\t'),
                Some(b'r') => bytes.push(b'\r'),
                Some(b'u') => {
                    let mut digits = String::new();
                    for _ in 0..4 {
                        digits.push(source.next()?.map(char::from).unwrap_or_default());
                    }
                    let letter = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                    bytes.extend(letter.unwrap_or('\u{FFFD}').to_string().bytes());
                }
                Some(byte) => bytes.push(byte),
                None => return Err(torn(source, begin, "a text")),
            },
            Some(byte) => bytes.push(byte),
        }
    }
    String::from_utf8(bytes)
        .map_err(|_| HistoryError::at(begin, "this text is not UTF-8", "write the history as UTF-8"))
}

/// The bytes up to the next blank or delimiter.
fn token(source: &mut Source<'_>) -> Result<String, HistoryError> {
    let begin = source.place;
    let mut bytes = Vec::new();
    while let Some(byte) = source.peek()? {
        if byte.is_ascii_whitespace() || b",;{}[]()\"\\".contains(&byte) {
            break;
        }
        bytes.push(byte);
        source.next()?;
    }
    String::from_utf8(bytes)
        .map_err(|_| HistoryError::at(begin, "these bytes are not UTF-8", "write the history as UTF-8"))
}

fn atom(token: &str) -> Option<Value> {
    let number = token.strip_suffix('N').unwrap_or(token);
    let digits = number.strip_prefix(['+', '-']).unwrap_or(number);
    Some(match token {
        "" => return None,
        "nil" => Value::Nil,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ if digits.starts_with(|letter: char| letter.is_ascii_digit()) => match number.parse() {
            Ok(integer) => Value::Integer(integer),
            // A float, a ratio or a long integer. A number that continues as a name is a mistake.
            Err(_) if digits.chars().all(|letter| letter.is_ascii_digit() || ".eE+-/MN".contains(letter)) => {
                Value::Number(token.to_owned())
            }
            Err(_) => return None,
        },
        _ => Value::Symbol(token.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Value>, String> {
        let mut bytes = text.as_bytes();
        form(&mut Source::new(&mut bytes)).map_err(|error| error.to_string())
    }

    #[test]
    fn forms_that_jepsen_writes_are_read() {
        let shown = |text: &str| read(text).expect("it is EDN").expect("there is a form").to_string();
        assert_eq!(
            shown("#jepsen.history.Op{:process 3, :type :ok, :value [1 nil], :time 12N}"),
            "{:process: 3, :time: 12, :type: :ok, :value: [1, nil]}"
        );
        assert_eq!(shown("; a comment\n #_ (a b) #{3 1 2 1}"), "{1, 2, 3}");
        assert_eq!(shown(r#"("a\n\u0041" \c -1 +7 1.5 2/3 #inst "2020")"#), r#"["a\nA", \c, -1, 7, 1.5, 2/3, "2020"]"#);
        assert_eq!(read(" ,, ; only a comment"), Ok(None));
    }

    #[test]
    fn what_is_no_edn_has_a_place() {
        for (text, line, column, part) in [
            ("{:a 1", 1, 6, "begins in line 1, column 1"),
            ("\n  [1 \"x", 2, 8, "within a text, which begins in line 2, column 6"),
            ("{:a}", 1, 1, "a key without a value"),
            ("]", 1, 1, "closes nothing"),
            ("[1 3x]", 1, 4, "`3x` is no form"),
        ] {
            let mut bytes = text.as_bytes();
            match form(&mut Source::new(&mut bytes)) {
                Err(HistoryError::Entry { place, problem, .. }) => {
                    assert_eq!((place.line, place.column), (line, column), "{text}: {problem}");
                    assert!(problem.contains(part), "{text}: {problem}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
        assert!(read(&"[".repeat(1000)).is_err_and(|error| error.contains("nested")));
    }
}
