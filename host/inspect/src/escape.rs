//! Escapes foreign text for terminals, logs, JSON, XML and HTML: it is shown, never obeyed.
//!
//! Text of a plugin or a file is not trusted. It must not move the cursor, recolour or reorder the text around it, look like
//! another line of the program's own, or be a command to readers of the log: runners of workflows obey lines that begin with
//! `::`, and `##[` or `##vso[` anywhere. [`escape`] treats each text that is put into a sentence, and [`guarded`] once more
//! each text that leaves the program.

use std::fmt::Write;

/// Whether a letter affects the text around it instead of being shown: controls (C0, DEL, C1), line separators, marks that
/// reorder text, and invisible letters that can hide text.
pub fn acts(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Escapes all letters that affect other text, except line breaks and tabs.
pub fn without_controls(text: &str) -> String {
    escape(text, |letter| letter != '\n' && letter != '\t')
}

/// Escapes all letters that affect other text, so that the text stays on its line.
pub fn on_one_line(text: &str) -> String {
    escape(text, |_| true)
}

/// Escapes unwanted control letters, and the beginnings of commands that a log could contain.
fn escape(text: &str, is_unwanted: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        let is_doubled = letters.peek() == Some(&letter);
        // The beginning of a word suffices, since lines are broken between words.
        let is_command = is_doubled && (letter == '#' || letter == ':' && (before.is_whitespace() || acts(before)));
        if is_command {
            escaped.extend(letter.escape_unicode());
        } else if acts(letter) && is_unwanted(letter) {
            escaped.extend(letter.escape_default());
        } else {
            escaped.push(letter);
        }
        before = letter;
    }
    escaped
}

/// A text that leaves the program, with a second line of defence: without letters that affect other text, and without
/// lines that are commands. With `colours`, sequences that only choose a colour stay.
pub fn guarded(text: &str, colours: bool) -> String {
    let mut guarded = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let words = line.trim_start();
        let mut rest = line;
        while let Some(letter) = rest.chars().next() {
            let colour = if colours { colour_len(rest) } else { 0 };
            let (part, after) = rest.split_at(colour.max(letter.len_utf8()));
            if rest.len() == words.len() && words.starts_with("::") {
                guarded.extend(letter.escape_unicode());
            } else if colour == 0 && acts(letter) && letter != '\n' && letter != '\t' {
                guarded.extend(letter.escape_default());
            } else {
                guarded.push_str(part);
            }
            rest = after;
        }
    }
    guarded
}

/// The length in bytes of the sequence at the beginning that chooses a colour; 0 if there is none.
fn colour_len(text: &str) -> usize {
    let Some(parameters) = text.strip_prefix("\u{1b}[") else { return 0 };
    let digits = parameters.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    if parameters.as_bytes().get(digits) == Some(&b'm') { 2 + digits + 1 } else { 0 }
}

/// Equivalent JSON in which all letters that affect other text, and all commands, are escaped; parsing it gives the same value.
pub fn json(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        // Line breaks are between values: within texts they are escaped already. All other such letters are within texts.
        let is_doubled = letter == '#' && letters.peek() == Some(&'#');
        if letter == '\n' || !(acts(letter) || is_doubled) {
            escaped.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    }
    escaped
}

/// Equivalent JSON for an element of HTML or XML: nothing in it is markup.
pub fn json_in_markup(text: &str) -> String {
    let escaped = json(text);
    let mut inside = String::with_capacity(escaped.len());
    for letter in escaped.chars() {
        // These letters occur only within texts.
        match letter {
            '<' | '>' | '&' => {
                let _ = write!(inside, "\\u{:04x}", u32::from(letter));
            }
            letter => inside.push(letter),
        }
    }
    inside
}

/// Text that XML 1.0 accepts in elements and in attributes, on one line.
pub fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in escape(text, |letter| letter != '\n' && letter != '\t').chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\u{fffe}' | '\u{ffff}' => escaped.extend(letter.escape_unicode()),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use host_model::toys::Dice;

    use super::*;

    /// Letters of all kinds; the important ones are more frequent than by chance.
    fn text(dice: &mut Dice) -> String {
        const OFTEN: [&str; 24] = [
            "\n",
            "\r\n",
            "\t",
            "\u{0}",
            "\u{7}",
            "\u{1b}[31m",
            "\u{1b}]0;x\u{7}",
            "\u{7f}",
            "\u{80}",
            "\u{85}",
            "\u{9b}2J",
            "\u{9f}",
            "\u{61c}",
            "\u{200f}",
            "\u{2028}",
            "\u{2029}",
            "\u{202e}",
            "\u{2066}",
            "\u{feff}",
            "\u{e0041}",
            "::error::",
            "##[x]",
            "\\",
            "\"",
        ];
        let mut text = String::new();
        for _ in 0..dice.below(40) {
            match dice.below(3) {
                0 => text.push_str(OFTEN[dice.below(OFTEN.len() as u32) as usize]),
                1 => text.push((b' ' + dice.below(95) as u8).into()),
                _ => text.extend(char::from_u32(dice.below(0x11_0000))),
            }
        }
        text
    }

    fn is_command(line: &str) -> bool {
        line.trim_start().starts_with("::") || line.contains("##[") || line.contains("##vso")
    }

    #[test]
    fn nothing_of_any_text_acts() {
        let mut dice = Dice(18);
        for _ in 0..20_000 {
            let text = text(&mut dice);
            let line = on_one_line(&text);
            assert!(!line.chars().any(acts) && !line.split(' ').any(is_command), "{text:?} becomes {line:?}");
            let lines = without_controls(&text);
            let is_left = |letter: char| acts(letter) && letter != '\n' && letter != '\t';
            assert!(!lines.chars().any(is_left) && !lines.lines().any(is_command), "{text:?} becomes {lines:?}");
            for colours in [false, true] {
                let guarded = guarded(&text, colours);
                let plain = guarded.replace("\u{1b}[31m", "");
                assert!(!plain.chars().any(is_left), "{text:?} becomes {guarded:?}");
                assert!(
                    !guarded.lines().any(|line| line.trim_start().starts_with("::")),
                    "{text:?} becomes {guarded:?}"
                );
            }
            // Escaped text is not escaped again.
            assert_eq!(guarded(&lines, false), lines, "{text:?}");
            let xml = xml(&text);
            assert!(!xml.chars().any(|letter| is_left(letter) || matches!(letter, '<' | '>' | '"' | '\n')), "{xml:?}");
        }
    }

    #[test]
    fn json_says_the_same() {
        let mut dice = Dice(19);
        for _ in 0..20_000 {
            let value = serde_json::json!({ text(&mut dice): [text(&mut dice), { "a": text(&mut dice) }] });
            let pretty = serde_json::to_string_pretty(&value).expect("a value");
            let escaped = json(&pretty);
            assert!(!escaped.chars().any(|letter| acts(letter) && letter != '\n'), "{escaped:?}");
            assert!(!escaped.lines().any(is_command), "{escaped:?}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).expect("still JSON"), value);
            assert_eq!(guarded(&escaped, true), escaped, "it leaves the program as it is");
            let inside = json_in_markup(&pretty);
            assert!(!inside.contains(['<', '>', '&']) && !inside.chars().any(|letter| acts(letter) && letter != '\n'));
            assert_eq!(serde_json::from_str::<serde_json::Value>(&inside).expect("still JSON"), value);
        }
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        for text in ["a::b::c", "node 1: x", "ä 日本 🙂", "#1 of #2", "std::vec![1]", "a: ::"] {
            let expected = if text == "a: ::" { r"a: \u{3a}:" } else { text };
            assert_eq!(on_one_line(text), expected);
        }
        assert_eq!(guarded("\u{1b}[1;31mred\u{1b}[0m \u{1b}[2J", true), "\u{1b}[1;31mred\u{1b}[0m \\u{1b}[2J");
        assert_eq!(guarded("\u{1b}[31m", false), r"\u{1b}[31m");
        assert_eq!(json("\"\u{e0041}\u{9b}\""), "\"\\udb40\\udc41\\u009b\"");
        assert_eq!(xml("a<\u{1b}\n\"\u{ffff}"), "a&lt;\\u{1b}&#10;&quot;\\u{ffff}");
    }
}
