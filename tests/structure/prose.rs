//! The lines of documents: one sentence per line, so that a diff shows the sentence that changed.

/// Words that end with a full stop and no sentence.
const ABBREVIATIONS: [&str; 7] = ["e.g.", "i.e.", "et al.", "vs.", "cf.", "No.", "pp."];

/// Lines of prose with more than one sentence, and sentences with more than one line.
pub fn wrong_lines(path: &str, document: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let mut is_code = false;
    // Whether the line before is prose that goes on.
    let mut is_open = false;
    for (number, line) in (1..).zip(document.lines()) {
        let text = line.trim_start_matches('>').trim();
        if text.starts_with("```") {
            is_code = !is_code;
        }
        let is_prose = !is_code && !text.is_empty() && !text.starts_with(['|', '#', '<']) && !text.starts_with("```");
        if !is_prose {
            is_open = false;
            continue;
        }
        let item = without_mark(text);
        if is_open && item.is_none() {
            findings.push(format!("{path}:{number}: one line per sentence, and this one began above"));
        }
        let text = without_code(item.unwrap_or(text));
        if has_two_sentences(&text) {
            findings.push(format!("{path}:{number}: one sentence per line, and here are several"));
        }
        is_open = !text.trim_end_matches(['"', ')', '*', '_']).ends_with(['.', '!', '?', ':', ';']);
    }
    findings
}

/// The text behind the mark of a list; none if there is no mark.
fn without_mark(text: &str) -> Option<&str> {
    let number = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let number = number.strip_prefix(". ").filter(|_| number.len() < text.len());
    text.strip_prefix("- ").or_else(|| text.strip_prefix("* ")).or(number)
}

/// The text with one word in place of each span of code.
fn without_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(index, part)| if index % 2 == 0 { part } else { "`code`" }).collect()
}

fn has_two_sentences(text: &str) -> bool {
    let ends = text.match_indices(['.', '!', '?']);
    ends.map(|(at, end)| (&text[..at + end.len()], &text[at + end.len()..])).any(|(before, after)| {
        let next = after.trim_start_matches(['"', ')']);
        let word = next.trim_start();
        let begins = word.len() < next.len()
            && word.starts_with(|letter: char| letter.is_uppercase() || "`[(\"".contains(letter));
        begins && !ABBREVIATIONS.iter().any(|word| before.ends_with(word)) && !is_initial(before)
    })
}

/// Whether a text ends with the first letter of a name.
fn is_initial(text: &str) -> bool {
    let mut letters = text.chars().rev().skip(1);
    let (letter, before) = (letters.next(), letters.next());
    letter.is_some_and(char::is_uppercase) && before.is_none_or(|letter| !letter.is_alphanumeric())
}

/// Lines that the diffs of a document leave as they are or take away, and that are not in the tree in this order. `read` has the text
/// of a file, if it is there; new files must not be.
pub fn stale_diffs(path: &str, document: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut findings = Vec::new();
    for block in document.split("\n```diff\n").skip(1) {
        let block = block.split("\n```").next().unwrap_or_default();
        let mut file = (String::new(), Vec::new());
        for line in block.lines() {
            if let Some(name) = line.strip_prefix("+++ b/") {
                let is_new = block.contains(&format!("--- /dev/null\n{line}"));
                let text = read(name);
                if text.is_some() == is_new {
                    findings.push(format!("{path}: {name} is {}there", if is_new { "" } else { "not " }));
                }
                file = (name.to_owned(), text.unwrap_or_default().lines().map(str::to_owned).collect());
            } else if let Some(kept) = line.strip_prefix([' ', '-']).filter(|kept| !kept.starts_with("-- ")) {
                match file.1.iter().position(|other| other == kept) {
                    Some(at) => drop(file.1.drain(..=at)),
                    None => findings.push(format!("{path}: {} has no line `{kept}` there", file.0)),
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_that_fits_no_more_is_found() {
        let read = |name: &str| (name == "a.rs").then(|| "one\ntwo\nthree\n".to_owned());
        let stale = |diff: &str| stale_diffs("d.md", &format!("text\n\n```diff\n{diff}\n```\n one\n"), read);
        assert_eq!(stale("--- a/a.rs\n+++ b/a.rs\n@@\n one\n+new\n-three\n--- /dev/null\n+++ b/b.rs\n+x"), [""; 0]);
        assert_eq!(stale("--- a/a.rs\n+++ b/a.rs\n two\n one"), ["d.md: a.rs has no line `one` there"]);
        assert_eq!(stale("--- a/b.rs\n+++ b/b.rs\n+x"), ["d.md: b.rs is not there"]);
        assert_eq!(stale("--- /dev/null\n+++ b/a.rs\n+x"), ["d.md: a.rs is there"]);
    }

    fn wrong(document: &str) -> Vec<String> {
        let lines = wrong_lines("a.md", document);
        lines.iter().map(|line| line.split(": one ").collect::<Vec<_>>()[0].to_owned()).collect()
    }

    #[test]
    fn two_sentences_on_a_line_are_found_and_one_on_two() {
        assert_eq!(wrong("One. Two.\n"), ["a.md:1"]);
        assert_eq!(wrong("One `a`. `b` is two.\n"), ["a.md:1"]);
        assert_eq!(wrong("- One (one.) [Two](x.md).\n"), ["a.md:1"]);
        assert_eq!(wrong("One\ngoes on.\n"), ["a.md:2"]);
        assert_eq!(wrong("1. One\n   goes on.\n"), ["a.md:2"]);
    }

    #[test]
    fn other_lines_are_left_alone() {
        let documents = [
            "# One. Two\n\nOne.\nTwo:\n\n- three\n- four\n",
            "| One. Two. | x |\n",
            "```sh\none. Two. # Three\ngoes on\n```\nOne.\n",
            "*Heads.* And `a. B` in code, J. Smith et al. Two of \"a. b\" v1.2 too.\n",
            "[one](x.md) and ... two\n",
        ];
        for document in documents {
            assert_eq!(wrong(document), [""; 0], "{document}");
        }
    }
}
