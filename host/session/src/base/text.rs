//! Helpers for text that people read.

use host_inspect::escape;
pub use host_inspect::words::{bytes, on_one_line, shortened, without_controls};

/// A number with a comma after each three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1 event`, `2 events`.
pub fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

/// The text of an error about a number: the words of the standard library do not tell people how to correct it.
pub fn of_numbers(text: &str) -> String {
    let whole = "this is no whole number; write digits alone, such as 1000000";
    text.replace("invalid digit found in string", whole)
        .replace("cannot parse integer from empty string", whole)
        .replace("number too large to fit in target type", "this number is too large")
}

/// A word of a command line, quoted if a shell would take it apart.
pub fn shell_quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:=@%+,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Letters in a line of a paragraph.
const WIDTH: usize = 110;

/// A text behind a heading, in lines that are not too long.
pub fn paragraph(heading: &str, text: &str) -> String {
    let indent = " ".repeat(12);
    let mut lines = vec![format!("{heading:12}")];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("the first line is the heading");
        let is_first = last.chars().count() == indent.len();
        if !is_first && last.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(format!("{indent}{word}"));
        } else {
            last.push_str(if is_first { "" } else { " " });
            last.push_str(word);
        }
    }
    lines.join("\n") + "\n"
}

/// A table of two columns under a heading, the first as wide as its widest entry; an entry wider than any screen does not move the
/// others.
pub fn table<L: AsRef<str>, R: AsRef<str>>(heading: &str, rows: &[(L, R)]) -> String {
    const WIDTH_MAX: usize = 200;
    let width = rows.iter().map(|(left, _)| left.as_ref().chars().count()).max().unwrap_or(0).min(WIDTH_MAX);
    let line =
        |(left, right): &(L, R)| format!("  {:width$}  {}", left.as_ref(), right.as_ref()).trim_end().to_owned() + "\n";
    format!("{heading}\n{}", rows.iter().map(line).collect::<String>())
}

/// Seconds to the microsecond.
pub fn rounded(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}

/// A value as it is printed: indented, with a line break at the end.
pub fn json_text(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(value).expect("keys are strings, and nothing else can fail in memory");
    escape::json(&text) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three_digits() {
        let cases = [(0, "0"), (999, "999"), (1_000, "1,000"), (37_012, "37,012"), (1_234_567, "1,234,567")];
        for (number, expected) in cases {
            assert_eq!(grouped(number), expected);
        }
    }

    #[test]
    fn paragraphs_are_broken_between_words() {
        let text = paragraph("assumed", &["twelve words!"; 10].join(" "));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].starts_with("assumed     twelve")
                && lines[0].len() <= WIDTH
                && lines[1].starts_with("            ")
        );
    }

    #[test]
    fn words_that_a_shell_would_take_apart_are_quoted() {
        assert_eq!(shell_quoted("out/a-b.json"), "out/a-b.json");
        assert_eq!(shell_quoted("my plugins/it's"), r"'my plugins/it'\''s'");
        assert_eq!(shell_quoted(""), "''");
    }
}
