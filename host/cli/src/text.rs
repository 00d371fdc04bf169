//! Small things about text for people.

/// Letters of a description that are shown.
const LETTERS_MAX: usize = 4096;

/// Escapes control characters except line breaks and tabs.
///
/// What a plugin says about itself is not trusted: it must not move the cursor or recolour the terminal.
pub fn without_controls(text: &str) -> String {
    escape(text, |letter| letter != '\n' && letter != '\t')
}

/// Escapes all control characters, so that the text stays on its line.
pub fn on_one_line(text: &str) -> String {
    escape(text, |_| true)
}

/// Cuts a text that nobody would read to its end, and says so. What a plugin says can have megabytes.
pub fn shortened(text: String) -> String {
    match text.char_indices().nth(LETTERS_MAX) {
        None => text,
        Some((end, _)) => format!("{}... ({} in all)", &text[..end], bytes(text.len() as u64)),
    }
}

fn escape(text: &str, is_unwanted: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        // Besides control characters, those that reorder the text around them.
        let is_control = letter.is_control() || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if is_control && is_unwanted(letter) {
            escaped.extend(letter.escape_default());
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

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

/// Bytes in the largest unit that leaves at least one.
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = number as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{number} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// A word of a command line, quoted if a shell would take it apart.
pub fn shell_quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:=@%+,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A rule of two columns under a heading, the first as wide as its widest entry.
pub fn table(heading: &str, rows: &[(String, String)]) -> String {
    let width = rows.iter().map(|(left, _)| left.chars().count()).max().unwrap_or(0);
    let line = |(left, right): &(String, String)| format!("  {left:width$}  {right}").trim_end().to_owned() + "\n";
    format!("{heading}\n{}", rows.iter().map(line).collect::<String>())
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
    fn words_that_a_shell_would_take_apart_are_quoted() {
        assert_eq!(shell_quoted("out/a-b.json"), "out/a-b.json");
        assert_eq!(shell_quoted("my plugins/it's"), r"'my plugins/it'\''s'");
        assert_eq!(shell_quoted(""), "''");
    }

    #[test]
    fn escape_sequences_are_shown_not_obeyed() {
        assert_eq!(on_one_line("a\u{1b}[31m\nok"), r"a\u{1b}[31m\nok");
        assert_eq!(without_controls("a\n\tb\r"), "a\n\tb\\r");
    }

    #[test]
    fn texts_without_end_are_cut() {
        assert_eq!(shortened("a".repeat(LETTERS_MAX)), "a".repeat(LETTERS_MAX));
        assert!(shortened("ä".repeat(LETTERS_MAX + 1)).ends_with("ä... (8.0 KiB in all)"));
    }
}
